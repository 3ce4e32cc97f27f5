"""What one pass leaves of rows that can be read only once: some of them, and the moments of all."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearkin.errors import InputError, InputIndexError
from nearkin.rows.arrays import Floats
from nearkin.rows.base import Block, Parts, RemoteRows, added, block_moments, merged_moments

# Rows that are kept, beside those that are asked for.
SAMPLE_ROWS = 50_000


def gathered(
    blocks: Iterable[Block],
    n_columns: int,
    names: list[str] | None,
    keep: Iterable[int],
    size: int,
    random_state: Any,
    source: str,
) -> GatheredRows:
    """Pass over blocks once, and keep some of their rows.

    Parameters
    ----------
    blocks : iterable of Block
        In the order of their rows.
    n_columns : int
    names : list of str or None
        Of the columns.
    keep : row numbers
        Rows that are kept in any case.
    size : int
        Rows drawn beside them, each with the same chance.
    random_state : int, RandomState or None
    source : str
        Where blocks come from, for messages.
    """
    from sklearn.utils import check_random_state  # for which files that are opened do not wait

    wanted = np.unique(np.fromiter(keep, dtype=np.int64))
    sample = Sample(size, check_random_state(random_state))
    named: list[Floats] = []
    total: Parts | None = None
    n_rows = 0
    for block in blocks:
        n_rows = block.start + len(block.rows)
        first, last = np.searchsorted(wanted, [block.start, n_rows])
        if first < last:
            named.append(block.rows[wanted[first:last] - block.start])
        sample.add(block)
        moments = block_moments(block.rows)
        total = moments if total is None else merged_moments(total, moments)
    if total is None:
        raise InputError(f"{source} has no rows.")
    if len(wanted) and not 0 <= wanted[0] <= wanted[-1] < n_rows:
        outside = wanted[0] if wanted[0] < 0 else wanted[-1]
        raise InputIndexError(
            f"row {outside} is named in pairs or to be kept, but {source} has {n_rows} rows."
        )
    numbers, first_at = np.unique(np.concatenate([wanted, sample.numbers]), return_index=True)
    rows = np.concatenate([*named, sample.rows])[first_at]
    return GatheredRows((n_rows, n_columns), names, numbers, rows, total)


class GatheredRows(RemoteRows):
    """Some rows of many, and the moments of all: what one pass leaves to learn from.

    Attributes
    ----------
    numbers : int ndarray of shape (k,)
        Of the rows that were kept.
    """

    def __init__(
        self,
        shape: tuple[int, int],
        names: list[str] | None,
        numbers: NDArray[np.int64],
        rows: Floats,
        moments: Parts,
    ) -> None:
        self.shape = shape
        self.dtype = rows.dtype
        self.names = names
        self.numbers = numbers
        self._rows = rows
        self._moments = moments

    def take(self, rows: NDArray[np.integer]) -> Floats:
        """Some of the rows that were kept."""
        assert self.numbers is not None
        places = np.searchsorted(self.numbers, rows)
        places = np.minimum(places, len(self.numbers) - 1)
        absent = self.numbers[places] != rows
        if absent.any():
            raise InputIndexError(
                f"row {np.asarray(rows)[absent][0]} was not kept: name it in gathered(keep=...)."
            )
        return self._rows[places]

    def reduced(
        self,
        function: Callable[..., Parts],
        *aligned: NDArray[Any],
        combine: Callable[[Parts, Parts], Parts] = added,
    ) -> Parts:
        """Not possible: the rows have passed."""
        raise InputError(
            "this needs a second pass over the rows, as labels do, but they could be read only "
            "once. Give a list of blocks, or a function that returns a new iterable of them."
        )

    def mapped(self, function: Callable[[Floats], Floats], names: list[str]) -> Any:
        """Not possible: the rows have passed."""
        return self.reduced(lambda rows: (function(rows),))

    def moments(self) -> tuple[Floats, Floats]:
        """Mean and covariance of all rows."""
        n, mean, scatter = self._moments
        return mean, scatter / n

    def squared_deviations(self) -> float:
        """Sum of squared distances from the mean, of all rows."""
        return float(np.trace(self._moments[2]))


class Sample:
    """A uniform sample without replacement of rows that pass by: those of the smallest lots."""

    def __init__(self, size: int, rng: np.random.RandomState) -> None:
        self._size, self._rng = size, rng
        self._lots = np.empty(0)
        self._parts: list[tuple[NDArray[np.int64], Floats]] = []
        self._limit = np.inf

    def add(self, block: Block) -> None:
        """Draw lots for further rows."""
        lots = self._rng.uniform(size=len(block.rows))
        drawn = np.flatnonzero(lots < self._limit)
        if not len(drawn):
            return
        self._lots = np.concatenate([self._lots, lots[drawn]])
        self._parts.append((block.start + drawn, block.rows[drawn]))
        if len(self._lots) > 2 * self._size:
            self._shrink()

    def _shrink(self) -> None:
        numbers = np.concatenate([numbers for numbers, _ in self._parts])
        rows = np.concatenate([rows for _, rows in self._parts])
        if len(numbers) > self._size:
            kept = np.sort(np.argpartition(self._lots, self._size)[: self._size])
            self._lots, numbers, rows = self._lots[kept], numbers[kept], rows[kept]
            self._limit = float(self._lots.max(initial=0.0))
        self._parts = [(numbers, rows)]

    @property
    def numbers(self) -> NDArray[np.int64]:
        """Row numbers of the sample, increasing."""
        self._shrink()
        return self._parts[0][0]

    @property
    def rows(self) -> Floats:
        """The sample, in the order of its numbers."""
        self._shrink()
        return self._parts[0][1]
