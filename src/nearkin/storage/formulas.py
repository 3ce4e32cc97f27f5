"""Cells that a spreadsheet would take for formulas.

A table that is opened in a spreadsheet can compute, and ask for more than its reader wants, if a
text in it begins with a sign of formulas. A quotation mark before it makes it a text again.
"""

from __future__ import annotations

import re

# As pyarrow and Python both read them. Numbers are no formulas, whatever their sign.
FORMULA = r"^[=+\-@\t\r]"
NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
MARK = "'"

_FORMULA, _NUMBER = re.compile(FORMULA), re.compile(NUMBER)


def is_formula(text: str) -> bool:
    """Whether a spreadsheet would take a text for a formula."""
    return _FORMULA.match(text) is not None and _NUMBER.fullmatch(text) is None


def quoted(text: str) -> str:
    """A text that no spreadsheet takes for a formula.

    Examples
    --------
    >>> from nearkin.storage.formulas import quoted, unquoted
    >>> quoted("=1+1"), quoted("-3.5"), quoted("a text")
    ("'=1+1", '-3.5', 'a text')
    >>> unquoted("'=1+1"), unquoted("'tis")
    ('=1+1', "'tis")
    """
    return MARK + text if is_formula(text) else text


def unquoted(text: str) -> str:
    """The text that :func:`quoted` made this of."""
    return text[1:] if text[:1] == MARK and is_formula(text[1:]) else text
