"""Rows from files and iterables, opened for learners to read block by block."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from tokenize import TokenError
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nearkin.errors import InputError, InputTypeError
from nearkin.rows.arrays import Floats
from nearkin.rows.base import Block
from nearkin.rows.checks import checked_dtype, checked_rows, rows_of_a_block
from nearkin.rows.parquet import ParquetFiles
from nearkin.rows.streams import RowStream
from nearkin.storage.whole_file import StrPath

if TYPE_CHECKING:
    from nearkin.rows.dask import DaskRows
    from nearkin.rows.feed import Feed


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
        Columns of a Parquet file that are not rows' features but go along with them into files
        written from the stream, such as an id.
    client : distributed.Client, optional
        Of a dask collection; the one that dask would use by default.
    device : str, optional
        Where ``fit`` sums over rows and ``transform`` maps them: ``"cuda"``, ``"cuda:1"`` or
        ``"cpu"``, devices of torch (needs torch and scikit-learn 1.7). NumPy on the host by
        default. Rows go there block by block, and may be more than it holds.

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
        from nearkin.rows.dask import DaskRows

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
    """What :func:`open_rows` gives for all but dask collections."""
    if device is None:
        return _opened(source, columns, carry, None)
    from nearkin.rows.feed import Feed

    feed = Feed(device)
    return _opened(source, columns, carry, feed).on(feed)


def _opened(
    source: Any, columns: Sequence[str] | None, carry: Sequence[str], feed: Feed | None
) -> RowStream:
    if isinstance(source, RowStream):
        _refuse_choice(columns, carry)
        return source
    if isinstance(source, str | os.PathLike) and Path(source).suffix == ".npy":
        _refuse_choice(columns, carry)
        return npy_rows(source)
    if isinstance(source, str | os.PathLike) or _is_arrow(source):
        files = ParquetFiles(source, columns, carry, None if feed is None else feed.empty)
        return RowStream(
            files.read,
            n_rows=files.n_rows,
            n_columns=files.n_columns,
            dtype=files.dtype,
            names=files.names,
            source=files.name,
        )
    _refuse_choice(columns, carry)
    if isinstance(source, np.ndarray):
        return _array_rows(source)
    if callable(source):
        return _block_rows(lambda: _made_by(source), "the blocks that the function gives")
    if isinstance(source, Sequence) and not isinstance(source, str | bytes):
        return _block_rows(lambda: source, "the list of blocks")
    if isinstance(source, Iterator):
        return _passing_rows(source)
    if isinstance(source, Iterable) and not hasattr(source, "shape"):
        return _block_rows(lambda: source, "the blocks")
    raise InputTypeError(
        f"rows cannot be opened from {type(source).__name__}: give a path to .parquet or .npy, a "
        "pyarrow dataset, a dask array or data frame, an array, or blocks of rows in a list, an "
        "iterator or a function."
    )


def _refuse_choice(columns: Sequence[str] | None, carry: Sequence[str]) -> None:
    if columns is not None or carry:
        raise InputError("columns and carry choose columns of Parquet files only.")


def _is_arrow(source: Any) -> bool:
    return type(source).__module__.startswith("pyarrow")


def npy_rows(path: StrPath) -> RowStream:
    """Rows of an array in a file, whatever its name ends in."""
    name = os.fspath(path)
    X = mapped_array(path, name)
    found = _stamp(name)

    def refuse_changed() -> None:
        # A map of a file that became shorter would end the process.
        if _stamp(name) != found:
            raise InputError(f"{name} has changed since it was opened: open it again.")

    return _array_rows(X, name, refuse_changed)


def mapped_array(path: StrPath, name: str) -> NDArray[Any]:
    """An array in a file, of which nothing is read yet; its name is for errors."""
    try:
        return np.lib.format.open_memmap(path, mode="r")
    except (ValueError, SyntaxError, TokenError, TypeError, OverflowError) as error:
        raise InputError(f"{name} cannot be read as an array of numbers: {error}") from error


def _stamp(name: str) -> tuple[int, int, int]:
    status = os.stat(name)
    return status.st_size, status.st_mtime_ns, status.st_ino


def _made_by(function: Callable[[], Any]) -> Iterable[Any]:
    made = function()
    if not isinstance(made, Iterable) or hasattr(made, "shape"):
        raise InputTypeError(
            f"the function must return an iterable of blocks, got {type(made).__name__}."
        )
    return made


def _array_rows(
    X: NDArray[Any], source: str = "the array", check: Callable[[], None] = lambda: None
) -> RowStream:
    """Rows of an array in memory or in a file, which ``check`` looks at before each pass."""
    if X.ndim != 2 or X.shape[1] == 0:
        raise InputError(f"{source} must have shape (n, d), got {X.shape}.")
    if len(X) == 0:
        raise InputError(f"{source} has no rows.")
    dtype = checked_dtype(X.dtype, source)

    def read(wanted: NDArray[np.int64] | None) -> Iterator[Block]:
        check()
        size = rows_of_a_block(X.shape[1], dtype)
        for start in range(0, len(X), size):
            if wanted is not None:
                inside = wanted[slice(*np.searchsorted(wanted, [start, start + size]))]
                # One by one, so that of a file only their pages are read.
                for number in inside.tolist():
                    row = np.asarray(X[number : number + 1], dtype=dtype)
                    yield Block(number, checked_rows(row, number, source))
                continue
            rows = np.asarray(X[start : start + size], dtype=dtype)
            yield Block(start, checked_rows(rows, start, source))

    return RowStream(read, n_rows=len(X), n_columns=X.shape[1], dtype=dtype, source=source)


def _block_rows(make: Callable[[], Iterable[Any]], source: str) -> RowStream:
    """Blocks that can be gone through again: once now, to count the rows and check them."""
    n_rows, width, dtype = 0, None, None
    for number, block in enumerate(make()):
        rows = _checked_block(block, number, n_rows, width, dtype, source)
        width, dtype = rows.shape[1], rows.dtype
        n_rows += len(rows)
    if width is None or n_rows == 0:
        raise InputError(f"{source} has no rows.")

    def read(wanted: NDArray[np.int64] | None) -> Iterator[Block]:
        start = 0
        for number, block in enumerate(make()):
            rows = _checked_block(block, number, start, width, dtype, source)
            yield Block(start, rows)
            start += len(rows)

    return RowStream(read, n_rows=n_rows, n_columns=width, dtype=dtype, source=source)


def _passing_rows(blocks: Iterator[Any]) -> RowStream:
    source = "the iterator of blocks"
    try:
        first = _checked_block(next(blocks), 0, 0, None, None, source)
    except StopIteration:
        raise InputError(f"{source} has no rows.") from None
    left = [chain([first], blocks)]

    def read(wanted: NDArray[np.int64] | None) -> Iterator[Block]:
        if not left:
            raise InputError(
                f"{source} has been read already, and can be read only once. Give a list of "
                "blocks, or a function that returns a new iterable of them."
            )
        start = 0
        for number, block in enumerate(left.pop()):
            rows = _checked_block(block, number, start, first.shape[1], first.dtype, source)
            yield Block(start, rows)
            start += len(rows)

    return RowStream(read, n_rows=None, n_columns=first.shape[1], dtype=first.dtype, source=source)


def _checked_block(
    block: Any, number: int, start: int, width: int | None, dtype: Any, source: str
) -> Floats:
    """A block in float32 or float64, as wide and of the same type as those before."""
    given = np.asarray(block)
    where = f"block {number} of {source}"
    if given.ndim != 2 or given.shape[1] == 0:
        raise InputError(f"{where} has shape {given.shape}: blocks are arrays of shape (k, d).")
    if width is not None and given.shape[1] != width:
        raise InputError(
            f"{where} has {given.shape[1]} columns, but those before have {width}: all blocks must "
            "have the same columns."
        )
    found = checked_dtype(given.dtype, where)
    if dtype is not None and found != dtype:
        raise InputTypeError(
            f"{where} is of type {given.dtype}, but those before are {dtype}: give all blocks in "
            "one type, for example with block.astype(numpy.float32)."
        )
    return checked_rows(given.astype(found, copy=False), start, source)
