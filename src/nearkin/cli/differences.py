"""Two records side by side, with what differs marked."""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import Any

_DIFFERENT = "bold red"
_MISSING = "—"


def marked_cells(name: str, left: Any, right: Any) -> tuple[Any, Any, Any]:
    """A line of a grid: the name of a column, and its two cells, as texts of rich.

    A name has ≠ before it if the cells differ, for whoever sees no colours; what has no
    counterpart in the other cell is in colour. Upper case and spaces around make no difference.
    """
    from rich.text import Text

    a, b = (_MISSING if cell is None else str(cell) for cell in (left, right))
    shown = Text(a), Text(b)
    if left is None or right is None or _plain(a) == _plain(b):
        return Text(f"  {name}"), *shown
    matched = SequenceMatcher(None, a.lower(), b.lower(), autojunk=False)
    for what, *places in matched.get_opcodes():
        if what != "equal":
            shown[0].stylize(_DIFFERENT, *places[:2])
            shown[1].stylize(_DIFFERENT, *places[2:])
    return Text(f"≠ {name}"), *shown


def _plain(text: str) -> str:
    return " ".join(text.lower().split())
