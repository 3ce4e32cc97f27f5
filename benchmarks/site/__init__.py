"""Regions of README.md and of the site that hold what was measured, each made by a function.

A region stands between two comments, each on a line of its own::

    <!-- measured: few_pairs_table -->
    | learner | ... |
    <!-- /measured -->

Its text is what the function of that name returns: Markdown without a line break at the end, from
stored results. Modules of this package have such functions in ``BLOCKS``, by name.
``python -m benchmarks papers --check`` says which regions differ, ``--write`` puts them right.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

from benchmarks.record import ROOT, stored

Block = Callable[[], str]
Row = dict[str, Any]

_WIDTH = 110
_OPENED = re.compile(r"<!-- measured: (\S+) -->")
_CLOSED = "<!-- /measured -->"
_MADE_BY_THE_BUILD = (
    Path("docs/gallery"),
    Path("docs/api/generated"),
    Path("docs/api/backreferences"),
)


class BrokenRegion(ValueError):
    """A comment that opens or closes a region, and does not."""


@dataclass(frozen=True)
class Region:
    """Lines of a page, from the one after the first comment up to the second comment."""

    name: str
    first: int
    end: int


@cache
def rows_of(path: str) -> list[Row]:
    """Stored rows of a file under ``benchmarks/``; read once, so leave them as they are."""
    return stored(ROOT / "benchmarks" / path)[1]


def wrapped(sentences: str) -> str:
    """Sentences in lines as people write them."""
    return textwrap.fill(sentences, _WIDTH, break_long_words=False, break_on_hyphens=False)


def blocks() -> dict[str, Block]:
    """Functions of all modules of this package, by the names of regions."""
    found: dict[str, Block] = {}
    for module in sorted(info.name for info in iter_modules(__path__)):
        for name, block in import_module(f"{__name__}.{module}").BLOCKS.items():
            if name in found:
                raise ValueError(f"{module}.py has {name!r}, and another module has it too")
            found[name] = block
    return found


def pages(root: Path = ROOT) -> list[Path]:
    """README.md and what people wrote of the site."""
    written = (
        path
        for path in sorted((root / "docs").rglob("*.md"))
        if not any(path.is_relative_to(root / folder) for folder in _MADE_BY_THE_BUILD)
    )
    return [root / "README.md", *written]


def regions(lines: list[str]) -> list[Region]:
    """Regions of a page. Comments that are shown as code are none."""
    found: list[Region] = []
    name, first, fence = None, 0, ""
    for i, line in enumerate(lines):
        opened = _OPENED.fullmatch(line)
        if name is None and (mark := re.match(r"`{3,}|~{3,}", line)):
            if not fence:
                fence = mark[0]
            elif line.startswith(fence) and not line.strip(fence[0]):
                fence = ""
        elif fence:
            continue
        elif opened:
            if name is not None:
                raise BrokenRegion(f"line {i + 1}: {name!r} is still open")
            name, first = opened[1], i + 1
        elif line == _CLOSED:
            if name is None:
                raise BrokenRegion(f"line {i + 1}: no region is open")
            found.append(Region(name, first, i))
            name = None
        elif "<!-- measured" in line or "<!-- /measured" in line:
            raise BrokenRegion(f"line {i + 1} is like a region's comment, and is none: {line}")
    if name is not None:
        raise BrokenRegion(f"line {first}: {name!r} is left open")
    return found


def filled(text: str, known: dict[str, Block]) -> tuple[str, list[str]]:
    """A page as the stored results have it, and the names of regions that differ."""
    lines = text.split("\n")
    differ = []
    for region in reversed(regions(lines)):
        if region.name not in known:
            raise BrokenRegion(
                f"line {region.first}: nothing in benchmarks/site is {region.name!r}"
            )
        right = known[region.name]().split("\n")
        if lines[region.first : region.end] != right:
            differ.append(region.name)
            lines[region.first : region.end] = right
    return "\n".join(lines), differ[::-1]


def problems(*, write: bool = False, root: Path = ROOT) -> Iterator[str]:
    """Where regions differ from what the stored results give; ``write`` puts right what can be."""
    known = blocks()
    for path in pages(root):
        if not path.is_file():
            continue
        name = path.relative_to(root).as_posix()
        try:
            right, differ = filled(path.read_text(encoding="utf-8"), known)
        except BrokenRegion as error:
            yield f"{name}, {error}"
            continue
        if differ and write:
            path.write_text(right, encoding="utf-8")
            print(f"written: {name}: {', '.join(differ)}")
        elif differ:
            yield f"{name} is not what the stored results give: {', '.join(differ)}"
