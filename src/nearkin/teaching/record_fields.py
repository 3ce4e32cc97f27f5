"""What a record shows: its fields, always in the same order, with what differs from another's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from nearkin._types import Doubles
from nearkin.rows.access import evenly_spaced
from nearkin.tables.differences import differing_spans, marked_parts, plain
from nearkin.tables.roles import names_rows
from nearkin.teaching.thumbnails import PixelPictures

# Characters of a value that are shown at first, and where all of it is asked for.
MOST_CHARACTERS = 2000
MOST_OF_ALL = 200_000
# Characters in which differences are looked for.
MOST_MARKED = 20_000
# Fields of a record.
MOST_FIELDS = 100
# Rows that tell where a number stands among all.
_MOST_RANKED = 20_000
# Numbers of fewer values are kinds of things.
_FEWEST_VALUES = 5


class Fields:
    """The fields of all records: columns first, then features, the same ones for every record.

    Features that are only numbered, such as those of vectors, are left out where there is anything
    else to show.

    Parameters
    ----------
    records : Records
    """

    def __init__(self, records: Records) -> None:
        self._records = records
        self._ranked: dict[str, Doubles | None] = {}

    @cached_property
    def names(self) -> list[str]:
        """Names of all fields, in their order."""
        return self.all_names[:MOST_FIELDS]

    @cached_property
    def _features(self) -> Mapping[str, int]:
        """Features that people can read, and their numbers."""
        records = self._records
        seen = any(name not in records.hidden for name in records.columns)
        seen |= records.pictures is not None
        if records.of_words or isinstance(records.pictures, PixelPictures):
            return {}
        if seen and not records.named:
            return {}
        return {name: j for j, name in enumerate(records.features)}

    @cached_property
    def all_names(self) -> list[str]:
        """Names of all columns and features that people can read, also where there are many."""
        columns = [name for name in self._records.columns if name not in self._records.hidden]
        return [*columns, *(name for name in self._features if name not in columns)]

    def cell(self, name: str, row: int) -> Any:
        """What is in a field of a row."""
        if name in self._records.columns:
            return self._records.columns[name][row]
        return self._records.X[row, self._features[name]].item()

    def of(self, row: int, beside: int | None = None, whole: bool = False) -> list[dict[str, Any]]:
        """The fields of a row, see :meth:`nearkin.teaching.records.Records.record`."""
        marked = {*self._records.columns, *self._records.compared}
        most = MOST_OF_ALL if whole else MOST_CHARACTERS
        found = []
        for name in self.names:
            here = self.cell(name, row)
            there = self.cell(name, beside) if beside is not None and name in marked else None
            field = _field(name, here, there, most)
            rank = self._rank(name, here)
            found.append(field if rank is None else field | {"rank": rank})
        return found

    def _rank(self, name: str, value: Any) -> float | None:
        """Share of all rows below a number, those that have it counted half; None of all else."""
        if not _is_number(value):
            return None
        if name not in self._ranked:
            self._ranked[name] = self._sorted(name)
        among = self._ranked[name]
        if among is None:
            return None
        below, with_equal = (np.searchsorted(among, value, side) for side in ("left", "right"))
        return round(float(below + with_equal) / 2 / len(among), 4)

    def _sorted(self, name: str) -> Doubles | None:
        """Numbers of a field, sorted; of more than 20 000 rows, so many. None if they are names."""
        if names_rows(name) is not None:
            return None
        rows = evenly_spaced(len(self._records), _MOST_RANKED).tolist()
        cells = [self.cell(name, row) for row in rows]
        told = [cell for cell in cells if not is_missing(cell)]
        if not all(map(_is_number, told)) or len(set(told)) < _FEWEST_VALUES:
            return None
        return np.sort(np.array(told, dtype=np.float64))


def _field(name: str, value: Any, beside: Any, most: int) -> dict[str, Any]:
    text = as_text(value)
    found: dict[str, Any] = {"name": name, "value": text[:most], "cut": len(text) > most}
    compared = min(most, MOST_MARKED)
    text, rest, other = text[:compared], text[compared:most], as_text(beside)[:compared]
    if text and other and plain(text) != plain(other):
        found["parts"] = marked_parts(text, differing_spans(text, other)[0])
        if rest:
            found["parts"].append((rest, False))
            found["marked"] = compared
    return found


def is_missing(value: Any) -> bool:
    """Whether a cell is empty."""
    return value is None or (isinstance(value, (float, np.floating)) and bool(np.isnan(value)))


def as_text(value: Any) -> str:
    """A cell as people read it; empty if it is."""
    if is_missing(value):
        return ""
    return f"{value:.6g}" if isinstance(value, (float, np.floating)) else str(value)


def in_file(value: Any) -> Any:
    """A cell as it is written to a file: numbers with all their digits, else what people read."""
    if is_missing(value):
        return ""
    return value if isinstance(value, (int, float, np.number)) else str(value)


def in_short(values: Sequence[Any], row: int) -> str:
    """The beginning of a row's cell."""
    return as_text(values[row])[:MOST_CHARACTERS]


def _is_number(value: Any) -> bool:
    is_one = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    return is_one and bool(np.isfinite(value))
