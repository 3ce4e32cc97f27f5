"""Tables as they are given, as columns that can be compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nearkin.errors import InputError, InputTypeError
from nearkin.tables.reading import (
    Cells,
    Column,
    Order,
    Reading,
    column_of,
    columns_of,
    kinds_of,
    present,
    read_table,
    words_of,
)


def are_columns(table: Any) -> bool:
    """Whether a table is given as columns whose kinds are known."""
    return isinstance(table, list) and bool(table) and all(isinstance(c, Column) for c in table)


def columns_given(
    table: Any, kinds: Mapping[str, str] | None = None, dates: Order | None = None
) -> list[Column]:
    """The columns of a table.

    Parameters
    ----------
    table : data frame, dict of lists, or list of Column
    kinds : mapping, optional
        What columns hold, where it is stated.
    dates : {"day first", "month first", "year first"}, optional
    """
    if not are_columns(table):
        _refuse_dask(table)
        return columns_of(table, kinds, dates)
    if len({len(column) for column in table}) > 1:
        raise InputError("columns of the table differ in length.")
    return list(table)


def columns_known(
    table: Any, kinds: Mapping[str, str], orders: Mapping[str, Reading]
) -> list[Column]:
    """The columns of a table that are known from another one, read as they were there.

    Columns that are not there are left out, and so are all others.

    Parameters
    ----------
    table : data frame, dict of lists, or list of Column
    kinds : mapping
        What columns hold, by their names.
    orders : mapping
        Of day, month and year, where that is known.
    """
    if are_columns(table):
        return [column for column in columns_given(table) if column.name in kinds]
    _refuse_dask(table)
    cells = [one for one in read_table(table) if kinds.get(one.name, "ignored") != "ignored"]
    found = kinds_of(cells, {one.name: kinds[one.name] for one in cells})
    return [column_of(one, found[one.name], orders.get(one.name)) for one in cells]


def columns_of_both(
    left: Any,
    right: Any,
    kinds: Mapping[str, str] | None = None,
    dates: Order | None = None,
) -> tuple[list[Column], list[Column]]:
    """The columns that two tables have in common, in the order of the first.

    What a column holds is recognised in each table, and by the cells of both where that differs.

    Parameters
    ----------
    left, right, kinds, dates
        As of :func:`columns_given`.
    """
    if are_columns(left) or are_columns(right):
        return columns_given(left, kinds, dates), columns_given(right, kinds, dates)
    for table in (left, right):
        _refuse_dask(table)
    first, second = ({one.name: one for one in read_table(table)} for table in (left, right))
    both = _in_common(list(first), list(second))
    found, there = (kinds_of([one[n] for n in both], kinds, dates) for one in (first, second))
    differ = [name for name in both if found[name] != there[name]]
    found |= kinds_of([_beneath(first[name], second[name]) for name in differ], None, dates)
    columns = []
    for side, cells in (("left", first), ("right", second)):
        try:
            columns.append([column_of(cells[name], found[name], dates) for name in both])
        except InputError as error:
            raise InputError(f"the {side} table: {error}") from None
    return columns[0], columns[1]


def _refuse_dask(table: Any) -> None:
    if is_on_dask(table):
        raise InputTypeError(
            "of tables on dask fit and duplicates find what is the same within one; for all else "
            "give table.compute(), which brings it into memory."
        )


def is_on_dask(table: Any) -> bool:
    """Whether a table is of dask, which need not be installed for that."""
    # Of the class: an object of dask.delayed has any attribute.
    return hasattr(type(table), "__dask_graph__")


def joined(left: Sequence[Column], right: Sequence[Column]) -> list[Column]:
    """The rows of one table and then those of another, by columns that both have."""
    of_right = {column.name: column for column in right}
    both = _in_common([column.name for column in left], list(of_right))
    return [_joined(column, of_right[column.name]) for column in left if column.name in both]


def _in_common(left: list[str], right: list[str]) -> list[str]:
    both = [name for name in left if name in right]
    if not both:
        raise InputError(
            f"the two tables have no column in common: {left} and {right}. Rename columns that "
            "hold the same things alike."
        )
    return both


def _joined(left: Column, right: Column) -> Column:
    if left.kind != right.kind:
        raise InputError(
            f"column {left.name!r} is a {left.kind} in the one table and a {right.kind} in the "
            "other: say in kinds= what it is."
        )
    parts = [left.values, right.values]
    if left.kind == "vector" and parts[0].shape[1] != parts[1].shape[1]:
        width = max(part.shape[1] for part in parts)
        parts = [_wide(part, width, left.name) for part in parts]
    order = left.order if left.order == right.order else None
    return Column(left.name, left.kind, np.concatenate(parts), order)


def _wide(vectors: Any, width: int, name: str) -> Any:
    """Missing vectors, as wide as others are."""
    if vectors.shape[1] == width:
        return vectors
    if np.isfinite(vectors).any():
        raise InputError(
            f"column {name!r} holds vectors of {width} numbers in the one table and of "
            f"{vectors.shape[1]} in the other."
        )
    return np.full((len(vectors), width), np.nan)


def _beneath(left: Cells, right: Cells) -> Cells:
    """Cells of two tables, one beneath the other; as texts where their forms differ."""
    there = [one for one in (left, right) if present(one).any()]
    if len(there) == 1:
        return there[0]
    if left.form == right.form != "vector":
        return Cells(left.name, left.form, np.concatenate([left.values, right.values]))
    if left.form == right.form:
        return left  # vectors, whose widths are compared later
    return Cells(left.name, "text", np.concatenate([words_of(left), words_of(right)]))
