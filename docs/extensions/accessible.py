"""Puts right what the theme and Markdown give that keeps some people from reading pages.

Empty cells at the head of a table name nothing, so that they are no headings; and buttons that
unfold a part of the list of pages say so to those who hear them.
"""

import re
from pathlib import Path

_EMPTY_HEADING = re.compile(r"<th([^>]*)>\s*(?:<p>\s*</p>)?\s*</th>")
_UNFOLDS = re.compile(r"<summary>(?=\s*<span class=\"toctree-toggle)")


def put_right(page):
    page = _EMPTY_HEADING.sub(r"<td\1></td>", page)
    return _UNFOLDS.sub('<summary aria-label="Show or hide the pages below">', page)


def put_all_right(app, error):
    if error or app.builder.format != "html":
        return
    for path in Path(app.outdir).rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        if (right := put_right(text)) != text:
            path.write_text(right, encoding="utf-8")


def setup(app):
    app.connect("build-finished", put_all_right)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
