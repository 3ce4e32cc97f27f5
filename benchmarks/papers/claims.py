"""Sentences with numbers: each number is computed from stored results when the sentence is checked.

A paper's folder has the tables (RESULTS.md), notes (NOTES.md) whose section "What was seen" is made
of claims, and claims that stand in the project's README. ``python -m benchmarks papers --check``
says where a page differs from what the stored results give, ``--write`` puts it right.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from benchmarks.record import ROOT, Page, stored

if TYPE_CHECKING:
    from benchmarks.papers.overview import Line

Row = dict[str, Any]
README = ROOT / "README.md"
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
    IN_README: Sequence[Claim]

    def page(self) -> Page: ...

    def overview(self, rows: list[Row]) -> list[Line]: ...


def plain(text: str) -> str:
    """Text without line breaks, to be compared."""
    return " ".join(text.split())


def problems(paper: Paper) -> Iterator[str]:
    """Where the pages differ from what the stored results give."""
    name = paper.FOLDER.name
    if (paper.FOLDER / "RESULTS.md").read_text() != paper.page().markdown():
        yield f"{name}/RESULTS.md is not what the stored results give"
    missing = [part for part in ("SEEN", "IN_README", "overview") if not hasattr(paper, part)]
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
    readme = plain(README.read_text())
    for claim in paper.IN_README:
        if claim.sentence(rows) not in readme:
            yield f"README.md does not say: {claim.sentence(rows)}"


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
