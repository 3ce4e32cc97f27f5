"""Two records side by side, with what differs marked."""

from __future__ import annotations

from typing import Any

from nearkin.tables.differences import differing_spans, plain

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
    if left is None or right is None or plain(a) == plain(b):
        return Text(f"  {name}"), *shown
    for text, spans in zip(shown, differing_spans(a, b), strict=True):
        for span in spans:
            text.stylize(_DIFFERENT, *span)
    return Text(f"≠ {name}"), *shown
