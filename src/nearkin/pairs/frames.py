"""Pairs as the rows of a dataframe: left, right, same, weight; triplets as those of another."""

from __future__ import annotations

import importlib.util
import itertools
from collections.abc import Hashable
from typing import Any

import narwhals as nw
import numpy as np

from nearkin._types import Doubles, Ints, Mask
from nearkin.errors import InputError, InputTypeError, MissingPackageError
from nearkin.pairs.answer_list import ANSWERS, EXPECTED, plain_answer
from nearkin.pairs.checks import (
    checked_count,
    checked_pairs,
    checked_triplets,
    checked_weights,
    first_true,
    refuse_difference_from_itself,
)
from nearkin.pairs.triplets import refuse_repeated_points
from nearkin.rows.ids import plain_values
from nearkin.rows.validation import refuse_what_is_no_table

BACKENDS = ("pandas", "polars", "pyarrow")
# The columns of a table of triplets.
TRIPLET = ("anchor", "closer", "farther")


def read_frame(frame: Any, ids: Any, n_rows: int | None) -> tuple[Ints, Mask, Doubles, int | None]:
    """Give the ends, kinds and weights of the pairs in a dataframe, and how many rows X has.

    Rows that say nothing of ``same`` are left out: whoever answered was unsure.
    """
    table = _table(frame, ("left", "right", "same"))
    ends, weights, n_rows = _numbers_and_weights(table, ("left", "right"), ids, n_rows)
    same, sure = _answers(table["same"])
    refuse_difference_from_itself(ends, "frame row", sure & ~same)
    return ends[sure], same[sure], weights[sure], n_rows


def read_answers(
    frame: Any, by: str, ids: Any, n_rows: int | None
) -> tuple[Ints, Mask, list[Any], int | None]:
    """The same with who answered, in the column ``by``, in place of weights."""
    table = _table(frame, ("left", "right", "same", by))
    ends, _, n_rows = _numbers_and_weights(
        table.drop("weight", strict=False), ("left", "right"), ids, n_rows
    )
    if (row := first_true(table[by].is_null().to_numpy())) is not None:
        raise InputError(f"frame row {row} is null in column {by!r}: it must say who answered")
    same, sure = _answers(table["same"])
    refuse_difference_from_itself(ends, "frame row", sure & ~same)
    names = [name for name, told in zip(table[by].to_list(), sure, strict=True) if told]
    return ends[sure], same[sure], names, n_rows


def read_triplets(
    frame: Any, ids: Any, n_rows: int | None
) -> tuple[Ints, Doubles, int | None] | None:
    """Give the triplets in a dataframe, their weights and how many rows X has; None if of pairs."""
    table = _table(frame)
    missing = [name for name in TRIPLET if name not in table.columns]
    if len(missing) == len(TRIPLET):
        return None
    if missing:
        raise InputError(
            f"frame has no column {missing}, which triplets need; its columns are {table.columns}"
        )
    triplets, weights, n_rows = _numbers_and_weights(table, TRIPLET, ids, n_rows)
    refuse_repeated_points(triplets, "frame row")
    return triplets, weights, n_rows


def _table(frame: Any, needed: tuple[str, ...] = ()) -> nw.DataFrame[Any]:
    refuse_what_is_no_table(frame, "frame")
    table = nw.from_native(frame, pass_through=True)
    if not isinstance(table, nw.DataFrame):
        raise InputTypeError(
            f"frame is of type {type(frame).__name__}, not a data frame with the columns left, "
            "right and same: use Pairs(must_link=..., cannot_link=...) for pairs of row numbers"
        )
    missing = [name for name in needed if name not in table.columns]
    if missing:
        raise InputError(f"frame has no column {missing}; its columns are {table.columns}")
    return table


def _numbers_and_weights(
    table: nw.DataFrame[Any], names: tuple[str, ...], ids: Any, n_rows: int | None
) -> tuple[Ints, Doubles, int | None]:
    """Row numbers of the columns so named, side by side, the weights, and how many rows X has."""
    for name in (*names, "weight"):
        nulls = table[name].is_null().to_numpy() if name in table.columns else np.False_
        if (row := first_true(nulls)) is not None:
            raise InputError(f"frame row {row} is null in column {name!r}; a value is needed")

    columns = [table[name] for name in names]
    if ids is not None:
        position = row_of_id(ids)
        if n_rows not in (None, len(position)):
            raise InputError(f"n_rows={n_rows}, but there are {len(position)} ids")
        n_rows = len(position)
        numbers = _look_up_rows({column.name: column.to_list() for column in columns}, position)
    else:
        for column in columns:
            if len(table) and not column.dtype.is_integer():
                raise InputTypeError(
                    f"column {column.name!r} is {column.dtype}, but without ids= it must hold "
                    "integer row numbers"
                )
        n_rows = None if n_rows is None else checked_count(n_rows, "n_rows", least=0)
        stacked = np.column_stack([column.to_numpy() for column in columns])
        checked = checked_pairs if len(names) == 2 else checked_triplets
        numbers = checked(stacked, "frame row", n_rows)
    weight = table["weight"].to_numpy() if "weight" in table.columns else None
    return numbers, checked_weights(weight, len(table), "weight of frame row"), n_rows


def _answers(column: nw.Series[Any]) -> tuple[Mask, Mask]:
    """Which pairs are the same, and of which something is said."""
    told, nulls = column.to_list(), column.is_null().to_list()
    said = ["" if null else plain_answer(cell) for cell, null in zip(told, nulls, strict=True)]
    if (
        row := first_true(np.array([word not in ANSWERS for word in said], dtype=bool))
    ) is not None:
        raise InputError(f"frame row {row} has same={told[row]!r}; it must be {EXPECTED}")
    answers = [ANSWERS[word] for word in said]
    same = np.array([answer is True for answer in answers], dtype=bool)
    return same, np.array([answer is not None for answer in answers], dtype=bool)


def write_frame(
    ends: Ints,
    same: Mask,
    weights: Doubles,
    ids: list[Hashable] | None,
    backend: str | None,
) -> Any:
    """Make a dataframe that :func:`read_frame` reads back."""
    left, right = _named(ends, ids)
    columns = {"left": left, "right": right, "same": same, "weight": weights}
    return _written(columns, backend)


def write_triplets(
    triplets: Ints, weights: Doubles, ids: list[Hashable] | None, backend: str | None
) -> Any:
    """Make a dataframe that :func:`read_triplets` reads back."""
    columns = dict(zip(TRIPLET, _named(triplets, ids), strict=True))
    return _written({**columns, "weight": weights}, backend)


def _named(rows: Ints, ids: list[Hashable] | None) -> list[list[Any]]:
    """Row numbers or identifiers, by columns."""
    columns: list[list[Any]] = rows.T.tolist()
    if ids is None:
        return columns
    return [[ids[row] for row in column] for column in columns]


def _written(columns: dict[str, Any], backend: str | None) -> Any:
    if backend not in (None, *BACKENDS):
        raise InputError(f"backend must be one of {', '.join(BACKENDS)}, not {backend!r}")
    installed = (name for name in BACKENDS if importlib.util.find_spec(name))
    into: Any = backend or next(installed, None)
    if into is None:
        raise MissingPackageError(
            f"to_frame needs one of {', '.join(BACKENDS)}, and none is installed"
        )
    return nw.from_dict(columns, backend=into).to_native()


def row_of_id(ids: Any) -> dict[Hashable, int]:
    """Map each identifier to its row number, in order."""
    position: dict[Hashable, int] = {}
    for row, name in enumerate(plain_values(ids)):
        if position.setdefault(name, row) != row:
            raise InputError(
                f"ids must differ, but {name!r} is both row {position[name]} and {row}"
            )
    return position


def _look_up_rows(columns: dict[str, list[Hashable]], position: dict[Hashable, int]) -> Ints:
    """Give the row numbers of columns of identifiers, side by side."""
    every_name = itertools.chain.from_iterable(columns.values())
    unknown = list(dict.fromkeys(name for name in every_name if name not in position))
    if unknown:
        first_five = ", ".join(map(repr, unknown[:5])) + ", ..." * (len(unknown) > 5)
        raise InputError(
            f"{len(unknown)} identifiers in {' and '.join(columns)} are not in ids: {first_five}"
        )
    rows = [[position[name] for name in names] for names in columns.values()]
    return np.array(rows, dtype=np.int64).T
