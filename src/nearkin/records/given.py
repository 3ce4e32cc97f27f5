"""Tables as they are given, as columns that can be compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nearkin.errors import InputError, InputTypeError
from nearkin.tables.columns import Column
from nearkin.tables.values import columns_of


def columns_given(table: Any, kinds: Mapping[str, str] | None = None) -> list[Column]:
    """The columns of a table.

    Parameters
    ----------
    table : data frame, dict of lists, or list of Column
    kinds : mapping, optional
        What columns hold, where it is known.
    """
    if is_on_dask(table):
        raise InputTypeError(
            "of tables on dask fit and duplicates find what is the same within one; for all else "
            "give table.compute(), which brings it into memory."
        )
    if isinstance(table, list) and table and all(isinstance(part, Column) for part in table):
        if len({len(column) for column in table}) > 1:
            raise InputError("columns of the table differ in length.")
        return list(table)
    return columns_of(table, kinds)


def is_on_dask(table: Any) -> bool:
    """Whether a table is of dask, which need not be installed for that."""
    # Of the class: an object of dask.delayed has any attribute.
    return hasattr(type(table), "__dask_graph__")


def joined(left: Sequence[Column], right: Sequence[Column]) -> list[Column]:
    """The rows of one table and then those of another, by columns that both have."""
    of_right = {column.name: column for column in right}
    both = [column for column in left if column.name in of_right]
    if not both:
        raise InputError(
            f"the two tables have no column in common: {[column.name for column in left]} and "
            f"{list(of_right)}. Rename columns that hold the same things alike."
        )
    for column in both:
        if column.kind != of_right[column.name].kind:
            raise InputError(
                f"column {column.name!r} is a {column.kind} in the one table and a "
                f"{of_right[column.name].kind} in the other: say in kinds= what it is."
            )
    return [
        Column(c.name, c.kind, np.concatenate([c.values, of_right[c.name].values])) for c in both
    ]
