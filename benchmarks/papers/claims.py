"""Sentences with numbers: each number is computed from stored results when the sentence is checked.

A paper's folder has the tables (RESULTS.md), notes (NOTES.md) whose section "What was seen" is made
of claims, and claims that stand in the project's README or on a page of its site.
``python -m benchmarks papers --check`` says where a page differs from what the stored results give,
``--write`` puts it right. (Tables and sentences of the site itself: benchmarks/site.)
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from benchmarks.record import Page, stored
from benchmarks.site import pages

if TYPE_CHECKING:
    from benchmarks.papers.overview import Line

Row = dict[str, Any]
SECTION = "## What was seen"
_WIDTH = 110


@dataclass(frozen=True)
class Claim:
    """A sentence, or several.

    Attributes
    ----------
    text : str
        With numbers as in ``str.format``: ``"KernelBeta has {beta:.2f}."``
    numbers : callable, optional
        Their values, by name, from all rows of the paper's stored results.
    """

    text: str
    numbers: Callable[[list[Row]], dict[str, Any]] = lambda rows: {}

    def sentence(self, rows: list[Row]) -> str:
        return plain(self.text.format(**self.numbers(rows)))


class Paper(Protocol):
    """What the ``run`` module of a paper's folder has."""

    FOLDER: Path
    RAW: Path
    TITLE: str
    TIME: str  # how long all of it takes, in words
    SEEN: Sequence[Claim]  # all of NOTES.md's section
    ON_SITE: Sequence[Claim]  # or in README.md

    def page(self) -> Page: ...

    def overview(self, rows: list[Row]) -> list[Line]: ...


def plain(text: str) -> str:
    """Text without line breaks, to be compared."""
    return " ".join(text.split())


def is_right(paper: Paper) -> bool:
    """Whether the page of tables is what the stored results give."""
    return (paper.FOLDER / "RESULTS.md").read_text() == paper.page().markdown()


def problems(paper: Paper) -> Iterator[str]:
    """Where the pages differ from what the stored results give."""
    name = paper.FOLDER.name
    if not is_right(paper):
        yield f"{name}/RESULTS.md is not what the stored results give"
    missing = [part for part in ("SEEN", "ON_SITE", "overview") if not hasattr(paper, part)]
    if missing:
        yield f"{name}/run.py has no {', '.join(missing)} yet: its NOTES.md is not checked"
        return
    rows = stored(paper.RAW)[1]
    found = items(paper.FOLDER / "NOTES.md")
    expected = [claim.sentence(rows) for claim in paper.SEEN]
    for text in found:
        if text not in expected:
            yield f"{name}/NOTES.md says what the stored results do not: {text}"
    for text in expected:
        if text not in found:
            yield f"{name}/NOTES.md does not say: {text}"
    said = [plain(page.read_text()) for page in pages() if page.is_file()]
    for claim in paper.ON_SITE:
        sentence = claim.sentence(rows)
        if not any(sentence in text for text in said):
            yield f"neither README.md nor a page of the site says: {sentence}"


def items(notes: Path) -> list[str]:
    """Items of the list in the section, each in one line, and what stands before the list."""
    _, _, section = notes.read_text().partition(SECTION)
    section = re.split(r"^## ", section, flags=re.MULTILINE)[0]
    found = [plain(item) for item in re.split(r"^- ", section, flags=re.MULTILINE)]
    return [text for text in found if text]


def write(paper: Paper) -> None:
    """The section anew, from the claims."""
    notes = paper.FOLDER / "NOTES.md"
    before, _, rest = notes.read_text().partition(SECTION)
    after = "".join(re.findall(r"^## .*", rest, flags=re.MULTILINE | re.DOTALL))
    rows = stored(paper.RAW)[1]
    wrapped = [
        textwrap.fill(
            f"- {claim.sentence(rows)}",
            _WIDTH,
            subsequent_indent="  ",
            break_long_words=False,
            break_on_hyphens=False,
        )
        for claim in paper.SEEN
    ]
    section = SECTION + "\n\n" + "\n".join(wrapped) + "\n"
    notes.write_text(before + section + (f"\n{after}" if after else ""))
