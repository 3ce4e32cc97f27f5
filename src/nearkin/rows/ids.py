"""Names of rows: integers or strings, checked when they come in."""

from __future__ import annotations

from numbers import Integral
from typing import Any, TypeAlias

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from nearkin.errors import InputError, InputTypeError

Ids: TypeAlias = NDArray[Any]  # int64, or object with str in it


def check_ids(ids: Any, n_rows: int, n_before: int, earlier: Ids | None) -> Ids:
    """Check ids of new rows: all int64, or all str in an object array.

    Parameters
    ----------
    ids : array, list, series or None
        None for row numbers, which go on from ``n_before``.
    n_rows : int
        How many there must be.
    earlier : ndarray or None
        Ids of earlier rows, of the same kind.
    """
    strings = earlier is not None and earlier.dtype.kind == "O"
    if ids is None:
        if strings:
            raise InputError("ids are needed: those of earlier rows are strings.")
        return np.arange(n_before, n_before + n_rows, dtype=np.int64)
    array = _id_array(ids)
    if array.shape != (n_rows,):
        raise InputError(f"ids have shape {array.shape}: needed is one for each of {n_rows} rows.")
    if earlier is not None and strings != (array.dtype.kind == "O"):
        kinds = ("strings", "integers") if strings else ("integers", "strings")
        raise InputTypeError(
            f"ids must be {kinds[0]}, as those of earlier rows are, not {kinds[1]}."
        )
    return array


def _id_array(ids: Any) -> Ids:
    """Ids as int64, or as str in an object array, where nothing is cut off."""
    if isinstance(ids, np.ndarray) and ids.dtype.kind == "i":
        return ids.astype(np.int64)
    names = list_values(ids)
    kind = str if names and isinstance(names[0], str) else Integral
    for row, name in enumerate(names):
        if not isinstance(name, kind) or isinstance(name, bool):
            raise InputTypeError(
                f"ids[{row}] is {name!r}: ids must be all integers or all strings, and ids[0] is "
                f"{names[0]!r}."
            )
    try:
        return np.array(names, dtype=object if kind is str else np.int64)
    except OverflowError:
        raise InputError("ids must fit into 64 bits with a sign; make strings of them.") from None


def list_values(values: Any) -> list[Any]:
    """Values of a list, an array or a data frame's column, as plain Python has them."""
    series = nw.from_native(values, series_only=True, pass_through=True)
    if isinstance(series, nw.Series):
        return series.to_list()
    return list(values.tolist() if hasattr(values, "tolist") else values)


def are_distinct(ids: Ids) -> bool:
    """Whether all ids differ; takes memory for two numbers an id."""
    numbers = ids
    if ids.dtype.kind == "O":
        numbers = np.fromiter(map(hash, ids), dtype=np.int64, count=len(ids))
    ordered = np.sort(numbers)
    if (ordered[1:] != ordered[:-1]).all():
        return True
    # Two texts may have one hash.
    return ids.dtype.kind == "O" and len(set(ids)) == len(ids)


def add_new_ids(known: set[Any] | range, new: Ids, *, numbered: bool) -> set[Any] | range:
    """Add ids to those known; an error if one of them is not new.

    Row numbers, as long as there is nothing else, are a range, which takes no memory. A set is
    changed in place.
    """
    if numbered and isinstance(known, range):
        return range(len(known) + len(new))
    names = new.tolist()
    seen: dict[Any, int] = {}
    for row, name in enumerate(names):
        if name in known:
            raise InputError(
                f"ids[{row}] is {name!r}, which the index holds already: ids must differ. By "
                "default they are row numbers, counted on."
            )
        if seen.setdefault(name, row) != row:
            raise InputError(f"ids must differ, but {name!r} is both row {seen[name]} and {row}.")
    known = set(known) if isinstance(known, range) else known
    known.update(names)
    return known
