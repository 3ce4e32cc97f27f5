"""Formulas as MathML, made while the site is built: pages need no script and no font from afar."""

import re

from docutils import nodes
from docutils.utils.math import MathError, latex2mathml
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number

log = logging.getLogger(__name__)
# What docutils knows by another name.
_SAME = {r"\dots": r"\ldots", r"\lVert": r"\|", r"\rVert": r"\|"}


def converted(node, *, as_block):
    """MathML of a formula, or its source where LaTeX has what docutils does not know."""
    tex = re.sub(r"\\[A-Za-z]+", lambda found: _SAME.get(found[0], found[0]), node.astext())
    if as_block and r"\\" in tex and r"\begin{" not in tex:
        tex = rf"\begin{{align*}}{tex}\end{{align*}}"
    try:
        return latex2mathml.tex2mathml(tex, as_block=as_block)
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
