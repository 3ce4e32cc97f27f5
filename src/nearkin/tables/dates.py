"""Dates that are written as texts: in what order, and which day they name."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable
from dataclasses import dataclass

from nearkin.tables.columns import Order
from nearkin.tables.reading import days_of

_TIME = r"(?:[t ,]+(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,]\d+)?)? ?(?:z|utc|[+-]\d{2}:?\d{2})?)?"
_BY_YEAR = re.compile(r"(\d{4})[-/. ](\d{1,2})[-/. ](\d{1,2})" + _TIME)
_DIGITS = re.compile(r"(1[5-9]\d\d|20\d\d)(\d\d)(\d\d)()()()")
_THREE = re.compile(r"(\d{1,2})[-/. ](\d{1,2})[-/. ](\d{4}|\d{1,2})" + _TIME)
_NAMED = re.compile(r"(\d{1,2})(?:st|nd|rd|th|\.)?[- /]*([a-z]{3,9})\.?,?[- /]*(\d{4})" + _TIME)
_NAMED_FIRST = re.compile(r"([a-z]{3,9})\.? *(\d{1,2})(?:st|nd|rd|th)?,? *(\d{4})" + _TIME)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
# Years of two digits from here on are of the last century, as C and Python have it.
_LAST_CENTURY = 69


@dataclass(frozen=True)
class Dates:
    """What is known of the texts of a column of dates.

    Attributes
    ----------
    days : dict
        Days since 1970 of the texts that are dates, by text.
    order : str
        In which day, month and year are read where that is not plain.
    is_ambiguous : bool
        Whether no text tells day from month, though some could be read either way.
    matters : bool
        Whether some text would be another day, or none, in another order; so it is if an order was
        stated.
    otherwise : str
        The first text that can only be read in the other order of day and month, if there are some
        that could be read in either; or nothing.
    """

    days: dict[str, float]
    order: Order
    is_ambiguous: bool
    matters: bool
    otherwise: str


def read_dates(texts: Iterable[str], order: Order | None = None) -> Dates:
    """Days that texts name, and the order they are read in.

    Parameters
    ----------
    texts : iterable of str
        In lower case, such as ``"2024-03-31"``, ``"31.3.2024"``, ``"20240331"``,
        ``"31 march 2024"`` or ``"2024-03-31 12:30"``.
    order : {"day first", "month first", "year first"}, optional
        How to read ``"3/4/2024"``. By default as most texts allow it; day first if all do. Texts
        that are a date only if day and month are exchanged are read so.

    Examples
    --------
    >>> from nearkin.tables.dates import read_dates
    >>> found = read_dates(["3/4/1970", "3/25/1970"])
    >>> found.order, found.days
    ('month first', {'3/4/1970': 62.0, '3/25/1970': 83.0})
    """
    unique = list(dict.fromkeys(texts))
    if order == "year first":
        return Dates(
            _days_of_texts(unique, order), order, is_ambiguous=False, matters=True, otherwise=""
        )
    day, month = _days_of_texts(unique, "day first"), _days_of_texts(unique, "month first")
    found: Order = order or ("month first" if len(month) > len(day) else "day first")
    known, other = (month, day) if found == "month first" else (day, month)
    # What is a date in the other order only, as the 31st of December is, can be nothing else.
    otherwise = [text for text in other if text not in known]
    # A dot is how those write who put the day first.
    differ = any("." not in text and month.get(text, days) != days for text, days in day.items())
    return Dates(
        {**other, **known},
        found,
        is_ambiguous=order is None and differ and day.keys() == month.keys(),
        matters=order is not None or day != month,
        otherwise=otherwise[0] if otherwise and differ else "",
    )


def date_of(text: str, order: Order) -> float | None:
    """Days since 1970 that a text names, or None if it is no date."""
    parts = _parts(text, order)
    if parts is None:
        return None
    year, month, day, *clock = parts
    try:
        hour, minute, second = (int(one or 0) for one in clock)
        return days_of(datetime.datetime(year, month, day, hour, minute, second))
    except ValueError:  # the 31st of February
        return None


def _days_of_texts(texts: list[str], order: Order) -> dict[str, float]:
    read = ((text, date_of(text, order)) for text in texts)
    return {text: days for text, days in read if days is not None}


def _parts(text: str, order: Order) -> tuple[int, int, int, str, str, str] | None:
    """Year, month and day, and hours, minutes and seconds as they are written."""
    if match := _BY_YEAR.fullmatch(text) or _DIGITS.fullmatch(text):
        return int(match[1]), int(match[2]), int(match[3]), match[4], match[5], match[6]
    if match := _THREE.fullmatch(text):
        one, two, three = int(match[1]), int(match[2]), int(match[3])
        if order == "year first" and len(match[3]) <= 2:
            return _year(one, match[1]), two, three, match[4], match[5], match[6]
        if len(match[3]) == 1:
            return None
        day, month = (two, one) if order == "month first" else (one, two)
        return _year(three, match[3]), month, day, match[4], match[5], match[6]
    if match := _NAMED.fullmatch(text):
        day, name = int(match[1]), match[2]
    elif match := _NAMED_FIRST.fullmatch(text):
        day, name = int(match[2]), match[1]
    else:
        return None
    if name[:3] not in _MONTHS:
        return None
    month = _MONTHS.index(name[:3]) + 1
    return int(match[3]), month, day, match[4], match[5], match[6]


def _year(number: int, written: str) -> int:
    if len(written) > 2:
        return number
    return number + (1900 if number >= _LAST_CENTURY else 2000)
