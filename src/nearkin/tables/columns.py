"""A column of a table with what kind of thing it holds, in one form whatever it came from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

from numpy.typing import NDArray

Kind = Literal[
    "number", "date", "yes or no", "category", "name", "text", "code", "vector", "ignored"
]
KINDS: tuple[str, ...] = get_args(Kind)
Order = Literal["day first", "month first", "year first"]
ORDERS: tuple[str, ...] = get_args(Order)
Decimal = Literal["decimal point", "decimal comma"]
# How cells that are texts are read: dates and numbers.
Reading = Order | Decimal
DECIMALS: tuple[str, ...] = get_args(Decimal)
READINGS = (*ORDERS, *DECIMALS)
# Values of a category that have a coordinate each.
MOST_CATEGORIES = 50
# Kinds whose values are texts.
WORDS = ("yes or no", "category", "name", "text", "code")


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes
    ----------
    name : str
    kind : str
        What it holds: a ``number``, a ``date``, ``yes or no``, a ``category`` of few values, a
        ``name`` (a short text, in which typos happen), a ``text`` of many words, a ``code`` such as
        a phone number or a postcode, a ``vector`` of numbers; or it is ``ignored``, as ids are.
    values : ndarray of shape (n,)
        Numbers in float64, and dates in days since 1970 in float64, with NaN where a cell is
        missing; words as an array of ``str`` objects, in lower case and with single spaces, with
        None where a cell is missing. Of vectors, an array of shape (n, w) with rows of NaN.
    order : str or None
        In which day, month and year were read, of dates that were written as texts; what sets off
        decimals, of such numbers.
    """

    name: str
    kind: Kind
    values: NDArray[Any]
    order: Reading | None = None

    def __len__(self) -> int:
        return len(self.values)
