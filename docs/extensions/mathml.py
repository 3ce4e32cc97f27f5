"""Formulas as MathML, made while the site is built: pages need no script and no font from afar."""

import re

from docutils import nodes
from docutils.utils.math import MathError, latex2mathml
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number

log = logging.getLogger(__name__)
# What docutils does not know in every version, as it does: dots, delimiters of a size but without a
# side, and bars; and fractions of two digits, which it takes for one number.
_AS_KNOWN = [
    (re.compile(r"\\dots(?![a-zA-Z])"), r"\\ldots"),
    (re.compile(r"\\(big|Big|bigg|Bigg)(?=\s*(?:[)\]]|\\[}]|\\(?:rangle|rvert|rVert)))"), r"\\\1r"),
    (re.compile(r"\\(big|Big|bigg|Bigg)(?![a-zA-Z])"), r"\\\1l"),
    (re.compile(r"\\([dt]?frac)\s*(\d)\s*(\d)"), r"\\\1{\2}{\3}"),
    (re.compile(r"\\[lr]Vert(?![a-zA-Z])"), r"\\|"),
]
# Names of functions stand off what follows, unless that is a bracket.
_NAMED = re.compile(
    r"(\\(?:log|exp|det|operatorname\{\w+\}))\s+(?=[A-Za-z]|\\(?!big|Big|left|[lr]?[vV]ert|q?quad)[A-Za-z])"
)
# What would grow with what it stands beside, and downwards if it has an exponent.
_STEADY = re.compile('<mo( class="[a-z]+")?>([‖⟨⟩])</mo>')


def converted(node, *, as_block):
    """MathML of a formula, or its source where LaTeX has what docutils does not know."""
    tex = node.astext()
    for pattern, known in _AS_KNOWN:
        tex = pattern.sub(known, tex)
    tex = _NAMED.sub(r"\1\\, ", tex)
    try:
        found = latex2mathml.tex2mathml(tex, as_block=as_block)
        return _STEADY.sub(r'<mo\1 stretchy="false" lspace="0" rspace="0">\2</mo>', found)
    except MathError as error:
        log.warning("formula: %s", error, location=node)
        return nodes.Text(tex).astext()


def visit_inline(writer, node):
    writer.body.append(converted(node, as_block=False))
    raise nodes.SkipNode


def visit_block(writer, node):
    writer.body.append(writer.starttag(node, "div", CLASS="math", tabindex="0"))
    if node["number"]:
        number = get_node_equation_number(writer, node)
        writer.body.append(f'<span class="eqno">({number})')
        writer.add_permalink_ref(node, "Link to this equation")
        writer.body.append("</span>")
    writer.body.append(converted(node, as_block=True) + "</div>\n")
    raise nodes.SkipNode


def setup(app):
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
