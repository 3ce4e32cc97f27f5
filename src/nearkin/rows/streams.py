"""Rows that are read block by block, as often as a learner needs, in memory that does not grow."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nearkin.errors import InputError, InputTypeError
from nearkin.rows.ahead import ahead
from nearkin.rows.arrays import Floats
from nearkin.rows.base import Block, Parts, RememberingRows, added
from nearkin.rows.gathered import SAMPLE_ROWS, GatheredRows, gathered
from nearkin.rows.parquet_writing import write_parquet
from nearkin.rows.progress import progress
from nearkin.storage.whole_file import StrPath, whole_file

if TYPE_CHECKING:
    from nearkin.rows.feed import Feed

# Blocks that are read, and those that are computed, before they are asked for.
_BLOCKS_AHEAD = 2


class RowStream(RememberingRows):
    """Rows that are read block by block; :func:`nearkin.open_rows` makes one.

    Learners that take it pass over the rows as often as they need, and hold a block at a time
    beside the rows they learn from. ``transform`` gives another stream, which is computed as it is
    read: iterate over it for blocks of rows, or let it :meth:`write` itself to a file.

    Attributes
    ----------
    shape : (int, int)
        Rows and columns.
    dtype : float32 or float64
    names : list of str or None
        Of the columns.
    device : str or None
        Where blocks are worked on; None for the host.
    """

    def __init__(
        self,
        read: Callable[[NDArray[np.int64] | None], Iterator[Block]],
        *,
        n_rows: int | None,
        n_columns: int,
        dtype: Any,
        names: list[str] | None = None,
        source: str = "the rows",
        feed: Feed | None = None,
    ) -> None:
        """A stream from a function.

        ``read(wanted)`` goes through the blocks in order; it may leave out blocks that have none of
        the wanted rows, sorted numbers, if these are given. ``n_rows`` is None for blocks that can
        be read only once. A ``feed`` brings blocks to a device, where functions of them work.
        """
        self._read = read
        self._n_rows = n_rows
        self._n_columns = n_columns
        self.dtype = np.dtype(dtype)
        self.names = names
        self._source = source
        self._feed = feed
        self.device = None if feed is None else str(feed.device)

    @property
    def shape(self) -> tuple[int, int]:  # type: ignore[override]
        """Rows and columns."""
        if self._n_rows is None:
            raise InputError(self._why_not_known())
        return self._n_rows, self._n_columns

    def __len__(self) -> int:
        if self._n_rows is None:
            raise InputTypeError(self._why_not_known())  # which list(rows) takes for no answer
        return self._n_rows

    def _why_not_known(self) -> str:
        return (
            f"{self._source} can be read only once, so that the number of rows is not known "
            "before. Give a list of blocks, or a function that returns a new iterable of them."
        )

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return self._n_columns

    @property
    def is_read_once(self) -> bool:
        """Whether the blocks come from an iterator that cannot start again."""
        return self._n_rows is None

    def __repr__(self) -> str:
        n = "?" if self._n_rows is None else self._n_rows
        return f"<RowStream of {n} × {self._n_columns} {self.dtype} from {self._source}>"

    def __iter__(self) -> Iterator[Floats]:
        return (block.rows for block in self.blocks())

    def blocks(self, wanted: NDArray[np.int64] | None = None) -> Generator[Block]:
        """All blocks in order, or those with wanted rows and perhaps others."""
        n_seen = 0
        for block in self._read(wanted):
            if len(block.rows):
                n_seen = block.start + len(block.rows)
                yield block
        if wanted is None and self._n_rows is not None and n_seen != self._n_rows:
            raise InputError(
                f"{self._source} had {self._n_rows} rows when it was opened, and {n_seen} now: "
                "each pass must find the same rows. A function must return a new iterable each "
                "time."
            )

    def on(self, feed: Feed) -> RowStream:
        """The same rows, whose blocks are worked on on a device."""
        return RowStream(
            self._read,
            n_rows=self._n_rows,
            n_columns=self._n_columns,
            dtype=self.dtype,
            names=self.names,
            source=self._source,
            feed=feed,
        )

    def read_by(
        self,
        read: Callable[[NDArray[np.int64] | None], Iterator[Block]],
        n_rows: int,
        source: str | None = None,
    ) -> RowStream:
        """Rows of the same columns, which another function reads."""
        return RowStream(
            read,
            n_rows=n_rows,
            n_columns=self._n_columns,
            dtype=self.dtype,
            names=self.names,
            source=self._source if source is None else source,
            feed=self._feed,
        )

    def _fetched(self, wanted: NDArray[np.int64]) -> Floats:
        out = np.empty((len(wanted), self._n_columns), dtype=self.dtype)
        n_found = 0
        if len(wanted):
            for block in self.blocks(wanted):
                first, last = np.searchsorted(wanted, [block.start, block.start + len(block.rows)])
                out[first:last] = block.rows[wanted[first:last] - block.start]
                n_found += last - first
        if n_found < len(wanted):
            raise InputError(f"{self._source} has changed while it was read: rows are missing.")
        return out

    def reduced(
        self,
        function: Callable[..., Parts],
        *aligned: NDArray[Any],
        combine: Callable[[Parts, Parts], Parts] = added,
    ) -> Parts:
        """``function`` of each block of rows, all results combined in their order.

        On a device blocks are read ahead, and come one while the one before is summed up.
        """
        total: Parts | None = None
        with closing(self._called(function, aligned)) as parts:
            for found in parts:
                total = found if total is None else combine(total, found)
        if total is None:
            raise InputError(f"{self._source} has no rows.")
        return total

    def _called(
        self, function: Callable[..., Parts], aligned: Sequence[NDArray[Any]]
    ) -> Generator[Parts]:
        def entries(block: Block) -> list[NDArray[Any]]:
            return [array[block.start : block.start + len(block.rows)] for array in aligned]

        if self._feed is None:
            for block in self.blocks():
                yield function(block.rows, *entries(block))
            return
        with closing(self._feed.sent(ahead(self.blocks(), _BLOCKS_AHEAD))) as blocks:
            for block, rows in blocks:
                yield self._feed.call(function, rows, *entries(block))

    def mapped(self, function: Callable[[Floats], Floats], names: list[str]) -> RowStream:
        """The same rows after a function of blocks of them, which is called when they are read.

        On a device blocks are read in one thread and computed in another, ahead of their use.
        """
        feed = self._feed

        def read(wanted: NDArray[np.int64] | None) -> Iterator[Block]:
            if wanted is not None:
                return some(wanted)
            if feed is None:
                return (replace(block, rows=function(block.rows)) for block in self.blocks())
            return ahead(feed.mapped(ahead(self.blocks(), _BLOCKS_AHEAD), function), _BLOCKS_AHEAD)

        def some(wanted: NDArray[np.int64]) -> Iterator[Block]:
            for block in self.blocks(wanted):
                first, last = np.searchsorted(wanted, [block.start, block.start + len(block.rows)])
                if first < last:  # of a block that may be large, only these
                    numbers = wanted[first:last]
                    chosen = block.rows[numbers - block.start]
                    rows = function(chosen) if feed is None else feed.call_once(function, chosen)
                    for number, row in zip(numbers.tolist(), rows, strict=True):
                        yield Block(number, row[None])

        return RowStream(
            read,
            n_rows=self._n_rows,
            n_columns=len(names),
            dtype=self.dtype,
            names=names,
            source=self._source,
            feed=self._feed,
        )

    def gathered(
        self,
        keep: Iterable[int] = (),
        *,
        size: int = SAMPLE_ROWS,
        random_state: Any = None,
    ) -> GatheredRows:
        """What a learner needs of blocks that can be read only once, in one pass.

        Parameters
        ----------
        keep : row numbers, optional
            Rows that are kept in any case: those named in pairs (``pairs.points``).
        size : int, default=50 000
            Rows drawn beside them, each with the same chance.
        random_state : int, RandomState or None, default=None

        Returns
        -------
        GatheredRows
            To fit a learner to: its landmarks are of the rows that were kept, its means and
            covariances those of all rows.
        """
        return gathered(
            self.blocks(), self.n_columns, self.names, keep, size, random_state, self._source
        )

    def write(self, path: StrPath, *, verbose: bool = False) -> Path:
        """Write all rows to a file, whole or not at all.

        Parameters
        ----------
        path : path
            ``.parquet``, with a column for each, after those carried along; or ``.npy``, an array
            of the rows alone.
        verbose : bool, default=False
            Show how far it is.

        Returns
        -------
        Path

        Notes
        -----
        Rows go to a file of another name, which is renamed in the end: an error or an interruption
        leaves no file that looks complete, and an old file as it was.
        """
        path = Path(path)
        if path.suffix not in (".parquet", ".npy"):
            raise InputError(f"path must end in .parquet or .npy, got {os.fspath(path)!r}.")
        with whole_file(path) as unfinished, closing(self.blocks()) as all_blocks:
            blocks = progress(
                all_blocks,
                f"writing {path.name}",
                shown=verbose,
                total=self._n_rows,
                amount=lambda block: len(block.rows),
            )
            if path.suffix == ".npy":
                _write_npy(unfinished, self.shape, self.dtype, blocks)
            else:
                names = self.names or [f"x{i}" for i in range(self._n_columns)]
                write_parquet(unfinished, names, blocks)
        return path

    def to_numpy(self) -> Floats:
        """All rows in one array, in memory."""
        blocks = list(self)
        if not blocks:
            raise InputError(f"{self._source} has no rows.")
        return np.concatenate(blocks)


def _write_npy(
    path: Path, shape: tuple[int, int], dtype: np.dtype[Any], blocks: Iterable[Block]
) -> None:
    with open(path, "wb") as file:
        header = {"descr": dtype.str, "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_2_0(file, header)
        for block in blocks:
            file.write(np.ascontiguousarray(block.rows).data)
