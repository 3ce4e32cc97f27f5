"""Missing cells: counted, filled with medians, or left out with their rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nearkin._types import Floats
from nearkin.cli.failures import UserError

# Values that medians are found from, in all columns together: 64 MB.
_MOST_VALUES = 2**23
_FEWEST_VALUES = 1000
# Columns that a message names.
_MOST_NAMED = 20

Blocks = Iterable[Floats]


@dataclass(frozen=True)
class Missing:
    """Which cells are missing.

    Attributes
    ----------
    n_rows : int
        All rows.
    counts : dict
        Number of rows that lack a column, by what messages call it.
    first : int or None
        The first row that lacks something.
    rows : int ndarray
        Numbers of all rows that lack something.
    """

    n_rows: int
    counts: dict[str, int]
    first: int | None
    rows: NDArray[np.int64]

    def shown(self) -> str:
        """All columns with their counts."""
        named = list(self.counts.items())
        text = ", ".join(f"{count} in {column}" for column, count in named[:_MOST_NAMED])
        more = len(named) - _MOST_NAMED
        return text + (f" and some in {more} columns more" if more > 0 else "")


def count_missing(
    blocks: Blocks, columns: Sequence[str], refuse_infinite: Callable[[int, str, float], None]
) -> Missing:
    """Go through rows in which missing cells are NaN.

    Parameters
    ----------
    blocks : iterable of arrays of shape (k, d)
    columns : d texts
        What messages call the column that each number is of; several may be of one.
    refuse_infinite : callable
        Called with row, column and value if a number is infinite.
    """
    names = np.array(columns, dtype=object)
    counts: dict[str, int] = dict.fromkeys(columns, 0)
    incomplete: list[NDArray[np.int64]] = []
    start = 0
    for rows in blocks:
        with np.errstate(over="ignore", invalid="ignore"):
            suspicious = not np.isfinite(rows.sum())
        if suspicious:
            infinite = np.argwhere(np.isinf(rows))
            if len(infinite):
                row, j = infinite[0].tolist()
                refuse_infinite(start + row, columns[j], float(rows[row, j]))
            missing = np.isnan(rows)
            of = names[missing.any(axis=0)]
            for name in dict.fromkeys(of.tolist()):
                counts[name] += int(missing[:, names == name].any(axis=1).sum())
            incomplete.append(start + np.flatnonzero(missing.any(axis=1)))
        start += len(rows)
    found = np.concatenate([np.empty(0, dtype=np.int64), *incomplete])
    return Missing(
        start,
        {name: count for name, count in counts.items() if count},
        int(found[0]) if len(found) else None,
        found,
    )


def medians(blocks: Blocks, columns: Sequence[str], missing: Missing) -> Floats:
    """Median of each column's values, NaN where there are none.

    Of many values some are drawn at random, a thousand of each column at least.
    """
    most = max(_FEWEST_VALUES, _MOST_VALUES // len(columns))
    rng = np.random.default_rng(0)
    drawn: list[list[Floats]] = [[] for _ in columns]
    for rows in blocks:
        for j, name in enumerate(columns):
            values = rows[:, j]
            values = values[~np.isnan(values)]
            n_values = missing.n_rows - missing.counts.get(name, 0)
            if n_values > most:
                values = values[rng.random(len(values)) < most / n_values]
            drawn[j].append(values)
    return np.array([_median(np.concatenate(parts)) for parts in drawn])


def _median(values: Floats) -> float:
    return float(np.median(values)) if len(values) else np.nan


def filled(rows: Floats, values: Floats) -> Floats:
    """Rows with a column's value wherever a cell is missing."""
    missing = np.isnan(rows)
    return np.where(missing, values.astype(rows.dtype), rows) if missing.any() else rows


class MissingCells(UserError):
    """Cells are missing, and nobody has said what is to become of them."""


def refusal(missing: Missing, file: str, first: str, *, can_be_filled: bool) -> MissingCells:
    """What to say where missing cells are not wanted; ``first`` is where the first of them is."""
    fill = (
        "--missing fill puts the median of the column there"
        if can_be_filled
        else "To fill them, the model must be fitted with --missing fill"
    )
    return MissingCells(
        f"{file} has missing cells: {missing.shown()}; the first is in {first}.\n{fill}; --missing "
        "drop leaves such rows out."
    )
