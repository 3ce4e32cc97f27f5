"""Tables as they stand on a page of results, which a benchmark made from its stored rows."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from benchmarks.record import ROOT, Table


def published(page: str, title: str) -> Table:
    """The only table of a page whose title begins like this.

    Parameters
    ----------
    page : str
        Path from ``benchmarks/``, such as ``"speed/ITML.md"``.
    title : str
        How the bold line above the table begins.
    """
    found = [
        table for table in _tables(ROOT / "benchmarks" / page) if table.title.startswith(title)
    ]
    if len(found) != 1:
        raise ValueError(f"{page} has {len(found)} tables whose title begins with {title!r}.")
    return found[0]


def rows_where(table: Table, column: int, *begins: str) -> Table:
    """The rows in which the text of a column begins with any of these."""
    rows = [row for row in table.rows if row[column].startswith(begins)]
    if not rows:
        raise ValueError(f"no row of {table.title!r} begins with {begins}.")
    return Table(table.title, table.columns, rows, table.n_words)


def without_title(table: Table) -> str:
    """Markdown of the table alone."""
    return table.markdown().partition("\n\n")[2].rstrip("\n")


@cache
def _tables(path: Path) -> list[Table]:
    lines = path.read_text().splitlines()
    starts = [i for i, line in enumerate(lines) if line.startswith("| ---")]
    return [_table(lines, i) for i in starts]


def _table(lines: list[str], rule: int) -> Table:
    """The table with the rule between head and body in this line; its title is two lines above."""
    last = next((i for i in range(rule, len(lines)) if not lines[i].startswith("|")), len(lines))
    n_words = sum(cell == "---" for cell in _cells(lines[rule]))
    body = [_cells(line) for line in lines[rule + 1 : last]]
    return Table(lines[rule - 3].strip("*"), _cells(lines[rule - 1]), body, n_words)


def _cells(line: str) -> list[str]:
    bar = "\0"  # stands for bars within cells
    return [c.strip().replace(bar, "|") for c in line.replace(r"\|", bar).split("|")[1:-1]]
