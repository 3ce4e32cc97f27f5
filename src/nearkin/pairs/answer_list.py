"""Answers as people and programs write them: same, different or unsure."""

from __future__ import annotations

from typing import Any

# In lower case.
ANSWERS: dict[str, bool | None] = {
    "true": True, "1": True, "1.0": True, "yes": True, "y": True, "same": True,
    "false": False, "0": False, "0.0": False, "no": False, "n": False, "different": False,
    "": None, "unsure": None, "nan": None, "null": None, "none": None,
}  # fmt: skip
EXPECTED = "true or false, yes or no, 1 or 0, same or different, or empty for unsure"


def plain_answer(cell: Any) -> str:
    """A cell as :data:`ANSWERS` may have it; None is empty."""
    return "" if cell is None else str(cell).strip().lower()

