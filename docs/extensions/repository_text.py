"""Pages that show a Markdown file of the repository: ``<!-- file: CHANGELOG.md -->``.

The comment, on a line of its own, becomes the text of the file, or with ``<!-- file: X without
heading -->`` all but its first line. Links to files of the repository, in such texts and in all
pages, are turned to where these are on the site: to the page that shows the file, or to the example
in the gallery. Other files can be downloaded; folders are named and not linked.
"""

import os
import re
from functools import cache
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
_FILE = re.compile(r"^<!-- file: (\S+)( without heading)? -->$", re.MULTILINE)
_LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)")
_FENCED = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)


@cache
def shown_on():
    """The page of each file, both as paths from the root."""
    pages = (path for path in DOCS.rglob("*.md") if "generated" not in path.parts)
    return {
        found[1]: page.relative_to(ROOT).as_posix()
        for page in sorted(pages)
        for found in _FILE.finditer(page.read_text(encoding="utf-8"))
    }


def place_of(file):
    """Where the site has a file of the repository, as a path from the root; None if it has not."""
    if file in shown_on():
        return shown_on()[file]
    if re.fullmatch(r"examples/(?:.+/)?plot_\w+\.py", file):
        return f"docs/gallery/{file.removeprefix('examples/').removesuffix('.py')}.rst"
    return None if (ROOT / file).is_dir() else file


def linked(match, file, page):
    """A link of the file as the page has it."""
    mark, text, target = match.groups()
    path, hash_, anchor = target.partition("#")
    if not path or path.startswith("/") or re.match(r"[a-z]+:", target):
        return match[0]
    meant = os.path.normpath(PurePosixPath(file).parent / path)
    place = place_of(meant)
    if place is None:
        return text if text.strip("`/") == meant else f"{text} (`{meant}`)"
    nearer = os.path.relpath(place, PurePosixPath(page).parent)
    return f"{mark}[{text}]({PurePosixPath(nearer)}{hash_}{anchor})"


def relinked(text, file, page):
    """The text of a file, with its links as the page needs them; code is left alone."""
    return "".join(
        part if part.startswith("```") else _LINK.sub(lambda m: linked(m, file, page), part)
        for part in _FENCED.split(text)
    )


def put_in(app, docname, source):
    path = Path(app.env.doc2path(docname))
    if path.suffix != ".md":
        return
    page = path.relative_to(ROOT).as_posix()

    def text(match):
        file = ROOT / match[1]
        app.env.note_dependency(str(file), docname=docname)
        shown = relinked(file.read_text(encoding="utf-8"), match[1], page)
        return shown.partition("\n")[2] if match[2] else shown

    source[0] = _FILE.sub(text, relinked(source[0], page, page))


def setup(app):
    app.connect("source-read", put_in)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
