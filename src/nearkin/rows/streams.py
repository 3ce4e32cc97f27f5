"""Rows that are read block by block, as often as a learner needs, in memory that does not grow."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, nullcontext
from copy import copy
from dataclasses import replace
from itertools import chain, starmap
from pathlib import Path
from tokenize import TokenError
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from nearkin._types import Floats
from nearkin.errors import InputError, InputIndexError, InputTypeError, explain_missing_package
from nearkin.messages import show_progress
from nearkin.rows.backends import (
    Block,
    Combine,
    OfBlock,
    Parts,
    RememberingRows,
    RemoteRows,
    add_parts,
    block_moments,
    force_dispatch,
    merge_moments,
    namespace,
    to_numpy,
)
from nearkin.rows.parallel import close_after, prefetch
from nearkin.rows.parquet import ParquetFiles, write_parquet
from nearkin.rows.validation import check_dtype, require_finite_block, rows_per_read
from nearkin.storage.files import StrPath, whole_file

if TYPE_CHECKING:
    from nearkin.rows.dask_rows import DaskRows


# Rows that are kept, beside those that are asked for.
SAMPLE_ROWS = 50_000


class GatheredRows(RemoteRows):
    """A sample of a stream's rows, ``numbers``, and the moments of all, gathered in one pass."""

    def __init__(
        self,
        shape: tuple[int, int],
        names: list[str] | None,
        numbers: NDArray[np.int64],
        rows: Floats,
        moments: Parts,
    ) -> None:
        self.shape, self.dtype, self.names = shape, rows.dtype, names
        self.numbers: NDArray[np.int64] = numbers
        self._rows, self._moments = rows, moments

    def take(self, rows: NDArray[np.integer]) -> Floats:
        """Rows (k, d) of the sample by their numbers."""
        places = np.searchsorted(self.numbers, rows)
        places = np.minimum(places, len(self.numbers) - 1)
        absent = self.numbers[places] != rows
        if absent.any():
            raise InputIndexError(
                f"row {np.asarray(rows)[absent][0]} was not kept: name it in gathered(keep=...)."
            )
        return self._rows[places]

    def reduced(
        self, function: OfBlock, *aligned: NDArray[Any], combine: Combine = add_parts
    ) -> Parts:
        """Raise: the stream cannot be read again."""
        raise InputError(
            "this needs a second pass over the rows, as labels do, but they could be read only "
            "once. Give a list of blocks, or a function that returns a new iterable of them."
        )

    def mapped(self, function: Callable[[Floats], Floats], names: list[str]) -> Any:
        """Raise: the stream cannot be read again."""
        return self.reduced(lambda rows: (function(rows),))

    def moments(self) -> tuple[Floats, Floats]:
        """Mean (d,) and covariance (d, d) of all rows of the stream."""
        n, mean, scatter = self._moments
        return mean, scatter / n

    def squared_deviations(self) -> float:
        """Sum of squared distances of all rows of the stream from their mean."""
        return float(np.trace(self._moments[2]))


class UniformSample:
    """Uniform sample of rows from a stream, without replacement: those of the smallest keys."""

    def __init__(self, size: int, rng: np.random.RandomState) -> None:
        self._size, self._rng = size, rng
        self._keys = np.empty(0)
        self._parts: list[tuple[NDArray[np.int64], Floats]] = []
        self._largest_key = np.inf

    def add(self, block: Block) -> None:
        """Draw a random key for each row of a block, and keep rows of small keys."""
        keys = self._rng.uniform(size=len(block.rows))
        drawn = np.flatnonzero(keys < self._largest_key)
        if not len(drawn):
            return
        self._keys = np.concatenate([self._keys, keys[drawn]])
        self._parts.append((block.start + drawn, block.rows[drawn]))
        if len(self._keys) > 2 * self._size:
            self._shrink()

    def _shrink(self) -> None:
        """Keep the ``size`` rows of the smallest keys."""
        numbers = np.concatenate([numbers for numbers, _ in self._parts])
        rows = np.concatenate([rows for _, rows in self._parts])
        if len(numbers) > self._size:
            kept = np.sort(np.argpartition(self._keys, self._size)[: self._size])
            self._keys, numbers, rows = self._keys[kept], numbers[kept], rows[kept]
            self._largest_key = float(self._keys.max(initial=0.0))
        self._parts = [(numbers, rows)]

    @property
    def numbers(self) -> NDArray[np.int64]:
        """Row numbers (k,) of the sample, increasing."""
        self._shrink()
        return self._parts[0][0]

    @property
    def rows(self) -> Floats:
        """Rows (k, d) of the sample, in the order of their numbers."""
        self._shrink()
        return self._parts[0][1]


Tensor = Any


class Feed:
    """Transfer of blocks of rows to a device of torch and back, beside the computation.

    The device is ``"cuda"``, ``"cuda:1"`` or ``"cpu"``. At most three blocks are on it at a time,
    beside results, and four blocks and as many results in pinned memory.
    """

    def __init__(self, device: str) -> None:
        self._torch = _import_torch()
        self.device = _find_device(self._torch, device)
        self._is_cuda = self.device.type == "cuda"

    def empty(self, n_rows: int, n_columns: int, dtype: np.dtype[Any]) -> Floats:
        """Uninitialised column-major array on the host, pinned for CUDA: torch keeps the memory."""
        kind = getattr(self._torch, dtype.name)
        columns = self._torch.empty((n_columns, n_rows), dtype=kind, pin_memory=self._is_cuda)
        found: Floats = columns.numpy().T
        return found

    def map(self, blocks: Iterable[Block], function: Callable[[Tensor], Tensor]) -> Iterator[Block]:
        """Apply a function to blocks on the device; yields blocks of results on the host."""
        outward = self._new_stream()
        with closing(self.send(blocks)) as all_sent:
            leaving = (
                (block, *self._start_fetching(self.call(function, rows), outward))
                for block, rows in all_sent
            )
            yield from starmap(self._finish_fetching, _lag(leaving))

    def send(self, blocks: Iterable[Block]) -> Generator[tuple[Block, Tensor]]:
        """Yield blocks with their rows on the device, each sent while the one before is used."""
        inward = self._new_stream()
        with close_after(blocks):
            laid_out = (replace(block, rows=self._lay_out(block.rows)) for block in blocks)
            coming = ((block, *self._start_sending(block.rows, inward)) for block in laid_out)
            yield from starmap(self._finish_sending, _lag(coming))

    def call(self, function: Callable[..., Any], rows: Tensor, *aligned: NDArray[Any]) -> Any:
        """Call a function with rows on the device and aligned entries, with dispatch on."""
        here = self._torch.cuda.device(self.device) if self._is_cuda else nullcontext()
        with force_dispatch(), here:
            return function(rows, *aligned)

    def call_once(self, function: Callable[[Tensor], Tensor], rows: Floats) -> Floats:
        """Result, on the host, of a function applied on the device to a few rows of the host."""
        with force_dispatch():
            (_, there), *_ = self.send([Block(0, rows)])
            return to_numpy(self.call(function, there))

    def _lay_out(self, rows: Floats) -> Floats:
        """Rows in column-major, writable memory; copied unless they are."""
        if rows.flags.f_contiguous and rows.flags.writeable:
            return rows
        copied = self.empty(len(rows), rows.shape[1], rows.dtype)
        copied[...] = rows
        return copied

    def _start_sending(self, rows: Floats, inward: Any) -> tuple[Tensor, Any]:
        """Start to copy rows to the device: columns there, and an event for the end, or None."""
        columns = self._torch.from_numpy(rows.T)
        if inward is None:
            return columns, None
        with self._torch.cuda.stream(inward):
            return columns.to(self.device, non_blocking=True), inward.record_event()

    def _finish_sending(self, block: Block, columns: Tensor, there: Any) -> tuple[Block, Tensor]:
        """Wait until the columns of a block are on the device; the block, and rows of these."""
        if there is not None:
            current = self._torch.cuda.current_stream(self.device)
            current.wait_event(there)
            columns.record_stream(current)  # which it was not made for
        # A copy, so that no function can write to rows of the host.
        return block, columns.T.clone(memory_format=self._torch.contiguous_format)

    def _start_fetching(self, result: Tensor, outward: Any) -> tuple[Tensor, Any]:
        """Start to copy a result to the host: columns there, and an event for the end, or None."""
        columns = result.T.contiguous()
        if outward is None:
            return columns, None
        outward.wait_stream(self._torch.cuda.current_stream(self.device))
        with self._torch.cuda.stream(outward):
            home = self._torch.empty(columns.shape, dtype=columns.dtype, pin_memory=True)
            home.copy_(columns, non_blocking=True)
            columns.record_stream(outward)
            return home, outward.record_event()

    def _finish_fetching(self, block: Block, columns: Tensor, home: Any) -> Block:
        """Wait until a result is on the host; the block with it as its rows."""
        if home is not None:
            home.synchronize()
        return replace(block, rows=columns.numpy().T)

    def _new_stream(self) -> Any:
        """A CUDA stream for copies beside the computation, or None on the host."""
        return self._torch.cuda.Stream(self.device) if self._is_cuda else None


Item = TypeVar("Item")


def _lag(items: Iterable[Item]) -> Iterator[Item]:
    """The same items, each yielded only once the next one has been made."""
    waiting: deque[Item] = deque()
    for item in items:
        waiting.append(item)
        if len(waiting) > 1:
            yield waiting.popleft()
    yield from waiting


def copy_to_device(rows: Any, device: str) -> Any:
    """Copy a NumPy array to a device of torch, as a tensor."""
    torch = _import_torch()
    return torch.tensor(rows, device=_find_device(torch, device))


def _import_torch() -> Any:
    """Import torch; an error says how to install it."""
    with explain_missing_package("rows on a device need torch", "torch"):
        import torch
    namespace(torch.empty(0))  # or what it needs besides
    return torch


def _find_device(torch: Any, device: str) -> Any:
    """A device of torch by its name; an error says which there are."""
    try:
        found = torch.device(device)
    except (RuntimeError, TypeError):
        found = None
    if found is None or found.type not in ("cuda", "cpu"):
        raise InputError(
            f"device={device!r} is not known: use 'cuda', 'cuda:1' (the second one) or 'cpu', or "
            "None to work with NumPy on the host."
        )
    if found.type == "cpu":
        return found
    n_there = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if n_there == 0:
        raise InputError(
            f"device={device!r}, but torch {torch.__version__} finds no CUDA device: install a "
            "torch that was built for CUDA on a machine that has one, or leave device out to work "
            "on the host."
        )
    if found.index is not None and found.index >= n_there:
        raise InputError(
            f"device={device!r}, but torch finds {n_there} CUDA device(s), the last of which is "
            f"'cuda:{n_there - 1}'."
        )
    return torch.device("cuda", torch.cuda.current_device() if found.index is None else found.index)


# Blocks that are read, and those that are computed, before they are asked for.
_BLOCKS_AHEAD = 2


class RowStream(RememberingRows):
    """Rows that are read block by block; made by :func:`nearkin.open_rows`.

    Learners pass over them as often as they need, and hold a block at a time beside the rows they
    learn from. ``transform`` gives another stream, which is computed as it is read: iterate over it
    for blocks of rows, or let it :meth:`write` itself to a file. ``device`` is where blocks are
    worked on, None for the host.
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
        """``read(wanted)`` goes through the blocks in order.

        It may leave out blocks that have none of the wanted rows, sorted numbers, if these are
        given. ``n_rows`` is None for blocks that can be read only once. A ``feed`` brings blocks to
        a device, where functions of them work.
        """
        self._read = read
        self._n_rows = n_rows
        self.n_columns = n_columns
        self.dtype = np.dtype(dtype)
        self.names = names
        self._source = source
        self._feed = feed
        self.device = None if feed is None else str(feed.device)

    @property
    def shape(self) -> tuple[int, int]:  # type: ignore[override]
        """Rows and columns."""
        if self._n_rows is None:
            raise InputError(self._explain_unknown_length())
        return self._n_rows, self.n_columns

    def __len__(self) -> int:
        if self._n_rows is None:
            # Which list(rows) takes for no answer.
            raise InputTypeError(self._explain_unknown_length())
        return self._n_rows

    def _explain_unknown_length(self) -> str:
        """Message of the error that the number of rows is not known."""
        return (
            f"{self._source} can be read only once, so that the number of rows is not known "
            "before. Give a list of blocks, or a function that returns a new iterable of them."
        )

    @property
    def is_read_once(self) -> bool:
        """Whether the blocks come from an iterator that cannot start again."""
        return self._n_rows is None

    def __repr__(self) -> str:
        n = "?" if self._n_rows is None else self._n_rows
        return f"<RowStream of {n} × {self.n_columns} {self.dtype} from {self._source}>"

    def __iter__(self) -> Iterator[Floats]:
        return (block.rows for block in self.blocks())

    def blocks(self, wanted: NDArray[np.int64] | None = None) -> Generator[Block]:
        """Iterate over blocks in order; those without ``wanted`` row numbers may be left out."""
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
        """The same stream, with its blocks worked on on a device."""
        return self._with_changes(_feed=feed, device=str(feed.device))

    def read_by(
        self,
        read: Callable[[NDArray[np.int64] | None], Iterator[Block]],
        n_rows: int,
        source: str | None = None,
    ) -> RowStream:
        """A stream of the same columns, read by another function."""
        return self._with_changes(_read=read, _n_rows=n_rows, _source=source or self._source)

    def _with_changes(self, **changes: Any) -> RowStream:
        """A copy of the stream with other attributes, which remembers no rows."""
        changed = copy(self)
        vars(changed).update(changes, _remembered=None)
        return changed

    def _read_rows(self, wanted: NDArray[np.int64]) -> Floats:
        """Rows (k, d) by their numbers, which increase."""
        out = np.empty((len(wanted), self.n_columns), dtype=self.dtype)
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
        self, function: OfBlock, *aligned: NDArray[Any], combine: Combine = add_parts
    ) -> Parts:
        """Apply ``function`` to each block of rows, and combine all results in order.

        On a device, the next block is read and sent while the one before is worked on.
        """
        total: Parts | None = None
        with closing(self._call_on_blocks(function, aligned)) as parts:
            for found in parts:
                total = found if total is None else combine(total, found)
        if total is None:
            raise InputError(f"{self._source} has no rows.")
        return total

    def _call_on_blocks(
        self, function: OfBlock, aligned: Sequence[NDArray[Any]]
    ) -> Generator[Parts]:
        """Results of the function for each block of rows and their aligned entries."""

        def entries(block: Block) -> list[NDArray[Any]]:
            return [array[block.start : block.start + len(block.rows)] for array in aligned]

        if self._feed is None:
            for block in self.blocks():
                yield function(block.rows, *entries(block))
            return
        with closing(self._feed.send(prefetch(self.blocks(), _BLOCKS_AHEAD))) as blocks:
            for block, rows in blocks:
                yield self._feed.call(function, rows, *entries(block))

    def mapped(self, function: Callable[[Floats], Floats], names: list[str]) -> RowStream:
        """Stream of the rows after a function of blocks, which is called when they are read.

        On a device blocks are read in one thread and computed in another, ahead of their use.
        """
        feed = self._feed

        def read(wanted: NDArray[np.int64] | None) -> Iterator[Block]:
            if wanted is not None:
                return some(wanted)
            if feed is None:
                return (replace(block, rows=function(block.rows)) for block in self.blocks())
            return prefetch(
                feed.map(prefetch(self.blocks(), _BLOCKS_AHEAD), function), _BLOCKS_AHEAD
            )

        def some(wanted: NDArray[np.int64]) -> Iterator[Block]:
            """Mapped rows of the wanted numbers only, one to a block."""
            for block in self.blocks(wanted):
                first, last = np.searchsorted(wanted, [block.start, block.start + len(block.rows)])
                if first < last:  # of a block that may be large, only these
                    numbers = wanted[first:last]
                    chosen = block.rows[numbers - block.start]
                    rows = function(chosen) if feed is None else feed.call_once(function, chosen)
                    for number, row in zip(numbers.tolist(), rows, strict=True):
                        yield Block(number, row[None])

        return self._with_changes(_read=read, n_columns=len(names), names=names)

    def gathered(
        self,
        keep: Iterable[int] = (),
        *,
        size: int = SAMPLE_ROWS,
        random_state: Any = None,
    ) -> GatheredRows:
        """Draw a sample and sum up moments in one pass, for streams that can be read only once.

        ``keep`` are numbers of rows that are kept in any case, such as those in pairs; ``size``
        rows beside them are drawn, each with the same chance. Learners find landmarks among what
        was kept; means and covariances are those of all rows.
        """
        from sklearn.utils import check_random_state  # for which files that are opened do not wait

        wanted = np.unique(np.fromiter(keep, dtype=np.int64))
        sample = UniformSample(size, check_random_state(random_state))
        named: list[Floats] = []
        total: Parts | None = None
        n_rows = 0
        for block in self.blocks():
            n_rows = block.start + len(block.rows)
            first, last = np.searchsorted(wanted, [block.start, n_rows])
            if first < last:
                named.append(block.rows[wanted[first:last] - block.start])
            sample.add(block)
            moments = block_moments(block.rows)
            total = moments if total is None else merge_moments(total, moments)
        if total is None:
            raise InputError(f"{self._source} has no rows.")
        if len(wanted) and not 0 <= wanted[0] <= wanted[-1] < n_rows:
            outside = wanted[0] if wanted[0] < 0 else wanted[-1]
            raise InputIndexError(
                f"row {outside} is named in pairs or to be kept, but {self._source} has {n_rows} "
                "rows."
            )
        numbers, first_at = np.unique(np.concatenate([wanted, sample.numbers]), return_index=True)
        rows = np.concatenate([*named, sample.rows])[first_at]
        return GatheredRows((n_rows, self.n_columns), self.names, numbers, rows, total)

    def write(self, path: StrPath, *, verbose: bool = False) -> Path:
        """Write all rows to a .parquet or .npy file, whole or not at all.

        ``.parquet``, with a column for each, after those carried along; or ``.npy``, an array of
        the rows alone. Rows go to a file of another name, which is renamed in the end: an error or
        an interruption leaves no file that looks complete, and an old file as it was.
        """
        path = Path(path)
        if path.suffix not in (".parquet", ".npy"):
            raise InputError(f"path must end in .parquet or .npy, got {os.fspath(path)!r}.")
        with whole_file(path) as unfinished, closing(self.blocks()) as all_blocks:
            blocks = show_progress(
                all_blocks,
                f"writing {path.name}",
                shown=verbose,
                total=self._n_rows,
                amount=lambda block: len(block.rows),
            )
            if path.suffix == ".npy":
                header = {"descr": self.dtype.str, "fortran_order": False, "shape": self.shape}
                with open(unfinished, "wb") as file:
                    np.lib.format.write_array_header_2_0(file, header)
                    for block in blocks:
                        file.write(np.ascontiguousarray(block.rows).data)
            else:
                names = self.names or [f"x{i}" for i in range(self.n_columns)]
                write_parquet(unfinished, names, blocks)
        return path

    def to_numpy(self) -> Floats:
        """All rows (n, d) in memory."""
        blocks = list(self)
        if not blocks:
            raise InputError(f"{self._source} has no rows.")
        return np.concatenate(blocks)


def open_rows(
    source: Any,
    *,
    columns: Sequence[str] | None = None,
    carry: Sequence[str] = (),
    client: Any = None,
    device: str | None = None,
) -> RowStream | DaskRows:
    """Open rows that need not fit into memory, for ``fit`` and ``transform``.

    Parameters
    ----------
    source : path, pyarrow dataset, dask collection, array or iterable of arrays
        - ``.parquet``, a folder of such files, or a pyarrow dataset of them (needs pyarrow).
          Columns of numbers, or one of vectors (lists of one length).
        - ``.npy``, or an array such as ``numpy.memmap``.
        - A list of blocks, arrays of shape (k, d), or a function without arguments that returns a
          new iterable of blocks each time it is called.
        - An iterator of blocks, which can be read only once: a learner keeps 50 000 rows of it at
          random, those named in pairs, and the moments of all rows.
        - A dask array or data frame (needs dask): its rows stay on the workers.
    columns : list of str, optional
        Columns of a Parquet file to use, in this order; all by default but what was the index of a
        data frame of pandas.
    carry : list of str, optional
        Columns of a Parquet file that are no features but go along into files written from the
        stream, such as an id.
    client : distributed.Client, optional
        Of a dask collection; the one that dask would use by default.
    device : str, optional
        Where ``fit`` sums over rows and ``transform`` maps them, block by block: ``"cuda"``,
        ``"cuda:1"`` or ``"cpu"``, devices of torch (needs torch and scikit-learn 1.7). NumPy on the
        host by default.

    Returns
    -------
    RowStream, or DaskRows for a dask collection
        Of these ``transform`` gives a stream, or a dask array; neither is computed yet.

    Notes
    -----
    KernelBeta, ITML, GMML, CosineMetric, PLDA, ColumnWeights, RCA, Euclidean and Generative learn
    from streams. They pass over the rows two to five times and give what they would for the same
    rows in memory. Memory holds a few blocks of 65 536 rows, or 32 MB if that is less (or of the
    largest that is given), and what the learner needs: landmarks, rows of pairs, and with labels
    the rows of up to 10 000 pairs, which ``threshold_`` looks at, or for ITML of about ten pairs
    for each labelled row. MetricLearner passes once and learns from 5000 rows.

    With a device, rows are read, worked on and written at the same time, each in a thread, in the
    order of the rows; memory holds up to sixteen blocks and as many of what ``transform`` makes of
    them, pinned for a CUDA device, which itself holds three. Results are those of the host up to
    rounding. Rows that are taken by their numbers, and what is learned from them, stay on the host.

    Examples
    --------
    >>> import numpy as np
    >>> from nearkin import KernelBeta, Pairs, open_rows
    >>> rng = np.random.default_rng(0)
    >>> rows = open_rows([rng.normal(size=(500, 3)) for _ in range(4)])
    >>> metric = KernelBeta(n_landmarks=50, random_state=0).fit(rows, pairs=Pairs([(0, 1700)]))
    >>> Z = metric.transform(rows)  # computed as it is read
    >>> sum(len(block) for block in Z)
    2000
    """
    if hasattr(type(source), "__dask_graph__"):
        from nearkin.rows.dask_rows import DaskRows

        _refuse_choice(columns, carry)
        if device is not None:
            raise InputError("device is for rows that this machine reads, not for those of dask.")
        return DaskRows(source, client=client)
    if client is not None:
        raise InputError("client is for the rows of dask arrays and data frames only.")
    return open_stream(source, columns=columns, carry=carry, device=device)


def open_stream(
    source: Any,
    *,
    columns: Sequence[str] | None = None,
    carry: Sequence[str] = (),
    device: str | None = None,
) -> RowStream:
    """As :func:`open_rows`, for all sources but dask collections."""
    feed = None if device is None else Feed(device)
    is_path = isinstance(source, str | os.PathLike)
    is_npy = is_path and Path(source).suffix == ".npy"
    if (is_path and not is_npy) or type(source).__module__.startswith("pyarrow"):
        files = ParquetFiles(source, columns, carry, None if feed is None else feed.empty)
        return RowStream(
            files.read,
            n_rows=files.n_rows,
            n_columns=files.n_columns,
            dtype=files.dtype,
            names=files.names,
            source=files.name,
            feed=feed,
        )
    _refuse_choice(columns, carry)
    if isinstance(source, RowStream):
        rows = source
    elif is_npy:
        rows = open_npy(source)
    elif isinstance(source, np.ndarray):
        rows = _stream_array(source)
    elif callable(source):
        rows = _stream_blocks(
            lambda: _call_for_blocks(source), "the blocks that the function gives"
        )
    elif isinstance(source, Sequence) and not isinstance(source, bytes):
        rows = _stream_blocks(lambda: source, "the list of blocks")
    elif isinstance(source, Iterator):
        rows = _stream_once(source)
    elif isinstance(source, Iterable) and not hasattr(source, "shape"):
        rows = _stream_blocks(lambda: source, "the blocks")
    else:
        raise InputTypeError(
            f"rows cannot be opened from {type(source).__name__}: give a path to .parquet or .npy, "
            "a pyarrow dataset, a dask array or data frame, an array, or blocks of rows in a list, "
            "an iterator or a function."
        )
    return rows if feed is None else rows.on(feed)


def _refuse_choice(columns: Sequence[str] | None, carry: Sequence[str]) -> None:
    """Raise if ``columns`` or ``carry`` are given for a source without column names."""
    if columns is not None or carry:
        raise InputError("columns and carry choose columns of Parquet files only.")


def open_npy(path: StrPath) -> RowStream:
    """Stream of the rows of an array file, whatever the file's suffix."""
    name = os.fspath(path)
    X = map_array_file(path, name)
    found = _stamp(name)

    def refuse_changed() -> None:
        """Raise if the file was changed: a map of a shortened file would end the process."""
        if _stamp(name) != found:
            raise InputError(f"{name} has changed since it was opened: open it again.")

    return _stream_array(X, name, refuse_changed)


def map_array_file(path: StrPath, name: str) -> NDArray[Any]:
    """Map an array file to memory; ``name`` is for errors."""
    try:
        return np.lib.format.open_memmap(path, mode="r")
    except (ValueError, SyntaxError, TokenError, TypeError, OverflowError) as error:
        raise InputError(f"{name} cannot be read as an array of numbers: {error}") from error


def _stamp(name: str) -> tuple[int, int, int]:
    """Size, time and inode of a file, which differ once it is written anew."""
    status = os.stat(name)
    return status.st_size, status.st_mtime_ns, status.st_ino


def _call_for_blocks(function: Callable[[], Any]) -> Iterable[Any]:
    """Call the user's function; an error unless it returns an iterable of blocks."""
    made = function()
    if not isinstance(made, Iterable) or hasattr(made, "shape"):
        raise InputTypeError(
            f"the function must return an iterable of blocks, got {type(made).__name__}."
        )
    return made


def _stream_array(
    X: NDArray[Any], source: str = "the array", check: Callable[[], None] = lambda: None
) -> RowStream:
    """Stream of the rows of an array; ``check`` is called before each pass."""
    if X.ndim != 2 or X.shape[1] == 0:
        raise InputError(f"{source} must have shape (n, d), got {X.shape}.")
    if len(X) == 0:
        raise InputError(f"{source} has no rows.")
    dtype = check_dtype(X.dtype, source)

    def read(wanted: NDArray[np.int64] | None) -> Iterator[Block]:
        check()
        size = rows_per_read(X.shape[1], dtype)
        for start in range(0, len(X), size):
            if wanted is not None:
                inside = wanted[slice(*np.searchsorted(wanted, [start, start + size]))]
                # One by one, so that of a file only their pages are read.
                for number in inside.tolist():
                    row = np.asarray(X[number : number + 1], dtype=dtype)
                    yield Block(number, require_finite_block(row, number, source))
                continue
            rows = np.asarray(X[start : start + size], dtype=dtype)
            yield Block(start, require_finite_block(rows, start, source))

    return RowStream(read, n_rows=len(X), n_columns=X.shape[1], dtype=dtype, source=source)


def _stream_blocks(make: Callable[[], Iterable[Any]], source: str) -> RowStream:
    """Stream of blocks that can be iterated over again; one pass checks and counts the rows now."""
    last = next(iter(deque(_check_blocks(make(), source), maxlen=1)), None)
    n_rows = 0 if last is None else last.start + len(last.rows)
    if last is None or n_rows == 0:
        raise InputError(f"{source} has no rows.")
    width, dtype = last.rows.shape[1], last.rows.dtype

    def read(wanted: NDArray[np.int64] | None) -> Iterator[Block]:
        """All blocks, checked anew."""
        return _check_blocks(make(), source, width, dtype)

    return RowStream(read, n_rows=n_rows, n_columns=width, dtype=dtype, source=source)


def _stream_once(given: Iterator[Any]) -> RowStream:
    """Stream of blocks from an iterator, which can be read only once."""
    source = "the iterator of blocks"
    blocks = _check_blocks(given, source)
    first = next(blocks, None)
    if first is None:
        raise InputError(f"{source} has no rows.")
    left = [chain([first], blocks)]

    def read(wanted: NDArray[np.int64] | None) -> Iterator[Block]:
        """All blocks, the first time; then an error."""
        if not left:
            raise InputError(
                f"{source} has been read already, and can be read only once. Give a list of "
                "blocks, or a function that returns a new iterable of them."
            )
        yield from left.pop()

    width, dtype = first.rows.shape[1], first.rows.dtype
    return RowStream(read, n_rows=None, n_columns=width, dtype=dtype, source=source)


def _check_blocks(
    blocks: Iterable[Any], source: str, width: int | None = None, dtype: Any = None
) -> Iterator[Block]:
    """Iterate over blocks in float32 or float64; an error unless widths and types are equal."""
    start = 0
    for number, block in enumerate(blocks):
        given = np.asarray(block)
        where = f"block {number} of {source}"
        if given.ndim != 2 or given.shape[1] == 0:
            raise InputError(f"{where} has shape {given.shape}: blocks are arrays of shape (k, d).")
        if width is not None and given.shape[1] != width:
            raise InputError(
                f"{where} has {given.shape[1]} columns, but those before have {width}: all blocks "
                "must have the same columns."
            )
        found = check_dtype(given.dtype, where)
        if dtype is not None and found != dtype:
            raise InputTypeError(
                f"{where} is of type {given.dtype}, but those before are {dtype}: give all blocks "
                "in one type, for example with block.astype(numpy.float32)."
            )
        width, dtype = given.shape[1], found
        rows = require_finite_block(given.astype(found, copy=False), start, source)
        yield Block(start, rows)
        start += len(rows)
