"""Which parts of an entry name rows, and the same entry with other names for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from nearkin.errors import InputError

# A row, several, and several times several.
_ROW = ("left", "right")
_ROWS = ("first", "second", "rows", "triplet")
_LISTS = ("triplets", "pairs")
_NO_ROWS = (
    *("do", "same", "origin", "by", "at", "weights", "given", "name", "instead", "beside", "step"),
    "settles",
)


def renamed(entry: Mapping[str, Any], name: Callable[[Any], Any]) -> dict[str, Any]:
    """An entry with other names of its rows.

    Examples
    --------
    >>> from nearkin.teaching.entry_rows import renamed
    >>> renamed({"do": "withdraw", "triplet": [3, 1, 2]}, "row {}".format)
    {'do': 'withdraw', 'triplet': ['row 3', 'row 1', 'row 2']}
    """
    found = dict(entry)
    for part, value in entry.items():
        if part in _ROW:
            found[part] = name(value)
        elif part in _ROWS and isinstance(value, list | tuple):
            found[part] = [name(one) for one in value]
        elif part in _LISTS and isinstance(value, list | tuple):
            found[part] = [[name(one) for one in some] for some in value]
    return found


def rows_in(entry: Mapping[str, Any]) -> Iterator[Any]:
    """The rows that an entry names, in their order."""
    found: list[Any] = []
    renamed(entry, found.append)
    return iter(found)


def check_parts(entry: Mapping[str, Any]) -> None:
    """Raise if it is not known whether a part of an entry names rows."""
    unknown = [part for part in entry if part not in (*_ROW, *_ROWS, *_LISTS, *_NO_ROWS)]
    if unknown:
        raise InputError(f"an entry says {unknown[0]!r:.60}, which no journal knows.")


def in_order(entry: Mapping[str, Any]) -> dict[str, Any]:
    """An entry whose groups of rows are in the order of their numbers.

    Which pairs are made of groups depends on the order: it is to be the same wherever somebody
    began to select them.
    """
    if entry.get("do") not in ("groups", "split"):
        return dict(entry)
    return {
        **entry,
        **{part: sorted(set(entry[part])) for part in ("first", "second") if part in entry},
    }


def as_once_linked(entry: Mapping[str, Any]) -> dict[str, Any]:
    """An entry of the first format, in which rows of both groups were linked as one series."""
    entry = in_order(entry)
    if entry.get("do") == "groups" and entry.get("same") is True:
        entry |= {"first": sorted({*entry["first"], *entry["second"]}), "second": []}
    return entry
