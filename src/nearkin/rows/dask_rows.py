"""Rows of dask arrays and data frames, which stay on the workers."""

from __future__ import annotations

import asyncio
import functools
import pydoc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import cloudpickle
import dask
import dask.array as da
import numpy as np
from numpy.typing import NDArray

from nearkin._types import Floats
from nearkin._version import __version__
from nearkin.errors import ClusterError, InputError, InputTypeError, few
from nearkin.rows.backends import Combine, OfBlock, Parts, RememberingRows, add_parts
from nearkin.rows.parallel import one_core
from nearkin.rows.validation import check_dtype, require_finite_block


def find_client(client: Any = None) -> Any:
    """Client of dask to use: the given one, or dask's default; None for local schedulers."""
    if client is None:
        if dask.config.get("scheduler", None) not in (None, "dask.distributed", "distributed"):
            return None
        try:
            from distributed import default_client

            client = default_client()
        except (ImportError, ValueError):  # not installed, or no client
            return None
    if not hasattr(client, "scheduler_info"):
        raise InputTypeError(
            f"client must be a distributed.Client or None, got {type(client).__name__}."
        )
    if client.asynchronous:
        raise InputTypeError(
            "the client is asynchronous, but fit waits for its result: use "
            "Client(..., asynchronous=False)."
        )
    return client


def check_processes(client: Any) -> None:
    """Raise unless the scheduler and all workers have this version of nearkin.

    The scheduler unpacks the tasks and the workers run them, both by their names in this package.
    """
    # Functions of the standard library, which need no nearkin to be unpacked. They import in a
    # thread, so that the process answers meanwhile.
    question = (asyncio.to_thread, pydoc.locate, "nearkin._version.__version__")
    found = {"the scheduler": client.run_on_scheduler(*question)}
    answers = client.run(*question, on_error="return")
    found |= {f"worker {address}": answer for address, answer in answers.items()}
    for name, answer in found.items():
        if isinstance(answer, OSError):  # it has just gone; others do its work
            continue
        if answer is None:
            raise ClusterError(
                f"{name} has no nearkin: install nearkin {__version__} there, as in this process."
            )
        if isinstance(answer, BaseException):
            raise ClusterError(f"{name} cannot import nearkin: {answer}") from answer
        if answer != __version__:
            raise ClusterError(
                f"{name} has nearkin {answer}, but this process has {__version__}: install the "
                "same version there."
            )


@contextmanager
def explain_failures(client: Any) -> Iterator[None]:
    """Explain failures of work on workers that have joined without nearkin.

    Such a worker ends when it is sent a task, and others do its work, unless that was tried often.
    """
    try:
        yield
    except Exception as error:
        missing = isinstance(error, ModuleNotFoundError) and "nearkin" in str(error.name)
        if client is not None and (missing or type(error).__name__ == "KilledWorker"):
            check_processes(client)
            error.add_note("Has every worker the same nearkin? One without it ends at a task.")
        raise


# Results that are combined in one task.
_FAN_IN = 8
# What goes along with one graph of tasks; distributed warns from 10 MB on.
_GRAPH_BYTES = 8 * 10**6
_SOURCE = "X"


@dataclass(frozen=True)
class _Work:
    """What all tasks of one pass share: sent once rather than with every task.

    ``starts`` are the numbers of each chunk's first row, and at the end that of all rows; None if
    not known. ``function`` is called with a block of rows and aligned entries.
    """

    dtype: np.dtype[Any]
    names: list[str] | None
    n_columns: int
    starts: NDArray[np.int64] | None
    function: Callable[..., Any] | None = None

    def check_chunk(self, chunk: Any, number: int) -> Floats:
        """Rows (k, d) of a chunk, checked, in float32 or float64."""
        where = f"chunk {number} of {_SOURCE}"
        rows = np.asarray(chunk)
        found = check_dtype(rows.dtype, where)
        if found != self.dtype:
            raise InputTypeError(
                f"{where} is of type {rows.dtype}, but {_SOURCE} is declared as {self.dtype}: give "
                f"all chunks one type, for example with X.astype({self.dtype.name!r})."
            )
        expected = None if self.starts is None else int(np.diff(self.starts)[number])
        if rows.shape[1:] != (self.n_columns,) or expected not in (None, len(rows)):
            raise InputError(
                f"{where} has shape {rows.shape}, but {_SOURCE} is declared to have "
                f"{expected or 'some'} rows of {self.n_columns} columns there."
            )
        rows = rows.astype(self.dtype, copy=False)
        if self.starts is None:
            return require_finite_block(rows, 0, where, self.names)
        return require_finite_block(rows, int(self.starts[number]), _SOURCE, self.names)


# The workers run these. They change nothing, so that a lost worker's tasks can run again elsewhere.


def _reduce_chunk(
    work: _Work, chunk: Any, number: int, *aligned: tuple[NDArray[Any], Any]
) -> Parts:
    """Task: apply the function to a chunk and to entries aligned with its rows."""
    assert work.function is not None
    with one_core():
        rows = work.check_chunk(chunk, number)
        found: Parts = work.function(rows, *(values.astype(dtype) for values, dtype in aligned))
    return found


def _combine_parts(combine: Combine, *parts: Parts) -> Parts:
    """Task: combine some results in their order."""
    with one_core():
        return functools.reduce(combine, parts)


def _take_of_chunk(work: _Work, chunk: Any, number: int, positions: NDArray[np.int64]) -> Floats:
    """Task: take rows of a chunk by their positions in it."""
    return work.check_chunk(chunk, number)[positions]


def _map_chunk(chunk: Any, *, work: _Work, n_out: int, block_id: tuple[int, ...]) -> Floats:
    """Task: apply the function to the rows of a chunk."""
    assert work.function is not None
    rows = work.check_chunk(chunk, block_id[0])
    if len(rows) == 0:
        return np.empty((0, n_out), dtype=work.dtype)
    with one_core():
        return np.asarray(work.function(rows), dtype=work.dtype)


def _convert_partition(part: Any, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Task: a partition of a data frame as an array, missing cells as NaN."""
    return np.asarray(part.to_numpy(dtype=dtype, na_value=np.nan))


class DaskRows(RememberingRows):
    """Rows of a dask array or data frame, for the ``fit`` of learners that take rows elsewhere.

    Some rows come to this process by their numbers; sums over all of them are made by the workers.
    Numbers are checked there too.

    Parameters
    ----------
    X : dask array of shape (n, d) or dask data frame
        In chunks of rows; chunks of columns are joined. Nothing of it is computed yet.
    client : distributed.Client or None, default=None
        None is the client that dask would use, or dask's own threads where there is none.

    Attributes
    ----------
    shape : (int, int)
    dtype : float32 or float64
    names : list of str or None
        Of a data frame's columns.

    Notes
    -----
    A learner passes over the rows a few times: ``X.persist()`` saves computing them each time, if
    the workers' memory has room. A pass needs memory for one chunk in every thread of a worker,
    and the learner's working memory. A worker that is lost costs its part of the work, not the
    result: all that is needed to do it again is with the scheduler.

    Examples
    --------
    >>> import dask.array as da
    >>> from nearkin import Euclidean, Pairs
    >>> from nearkin.dask import DaskRows
    >>> rows = DaskRows(da.arange(12.0, chunks=4).reshape(12, 1))
    >>> rows.take([11, 0]).tolist()
    [[11.0], [0.0]]
    >>> Euclidean().fit(rows, pairs=Pairs([(0, 1)], [(0, 4)])).threshold_
    2.5
    >>> rows.reduced(lambda block: (block.sum(axis=0),))
    (array([66.]),)
    >>> rows.mapped(lambda block: -block, names=["x"]).compute()[-1].tolist()
    [-11.0]
    >>> rows.moments()
    (array([5.5]), array([[11.91666667]]))
    >>> rows.squared_deviations()
    143.0
    """

    _source = _SOURCE

    def __init__(self, X: Any, *, client: Any = None) -> None:
        self._client = find_client(client)
        if self._client is not None:
            check_processes(self._client)
        self._given = X
        self._array, self._work = _open_collection(X, None)
        self.dtype, self.names = self._work.dtype, self._work.names
        self.n_columns = self._work.n_columns

    @property
    def shape(self) -> tuple[int, int]:  # type: ignore[override]
        """Rows and columns; the lengths of a data frame's partitions are computed for it, once."""
        return int(self._starts[-1]), self.n_columns

    @cached_property
    def _starts(self) -> NDArray[np.int64]:
        """Number of each chunk's first row, and at the end that of all rows; computed once."""
        if self._work.starts is None and not isinstance(self._given, da.Array):
            lengths = self._compute(self._given.map_partitions(len, enforce_metadata=False))[0]
            self._array, self._work = _open_collection(self._given, lengths)
        starts = self._work.starts
        if starts is None:
            raise InputError(
                "the sizes of X's chunks are not known: call X.compute_chunk_sizes() first."
            )
        if starts[-1] == 0:
            raise InputError(f"{_SOURCE} has no rows.")
        return starts

    @cached_property
    def _chunks(self) -> list[Any]:
        """The chunks, one delayed object for each."""
        return list(self._array.to_delayed().ravel())

    def __repr__(self) -> str:
        n = "?" if self._work.starts is None else self._work.starts[-1]
        return f"<DaskRows of {n} × {self.n_columns} {self.dtype} in {len(self._chunks)} chunks>"

    def _read_rows(self, wanted: NDArray[np.int64]) -> Floats:
        """Rows (k, d) by their increasing numbers; tasks are sent in graphs of limited size."""
        ends = np.searchsorted(wanted, self._starts)
        work = _share_work(self._work, self._client)
        found = [np.empty((0, self.shape[1]), dtype=self.dtype)]
        tasks: list[Any] = []
        size = 0
        for i in np.flatnonzero(np.diff(ends)).tolist():
            positions = _narrow_integers(wanted[ends[i] : ends[i + 1]] - self._starts[i])
            if tasks and size + positions.nbytes > _GRAPH_BYTES:
                found += self._compute(*tasks)
                tasks, size = [], 0
            tasks.append(_make_task(_take_of_chunk, work, self._chunks[i], i, positions))
            size += positions.nbytes
        return np.concatenate([*found, *self._compute(*tasks)])

    def reduced(
        self, function: OfBlock, *aligned: NDArray[Any], combine: Combine = add_parts
    ) -> Parts:
        """Apply ``function`` to each chunk on the workers, and combine results there in order."""
        starts = self._starts
        work = _share_work(replace(self._work, function=function), self._client)
        narrow = [(_narrow_integers(array), array.dtype) for array in aligned]
        totals = []
        for group in self._group_chunks([array for array, _ in narrow]):
            parts = []
            for i in group:
                rows = slice(*starts[i : i + 2])
                along = [(array[rows], dtype) for array, dtype in narrow]
                parts.append(_make_task(_reduce_chunk, work, self._chunks[i], i, *along))
            totals.append(_combine_all(combine, parts))
        if len(totals) > 1 and self._client is not None:
            totals = [self._client.persist(total) for total in totals]
        found: Parts = self._compute(_combine_all(combine, totals))[0]
        return found

    def mapped(self, function: Callable[[Floats], Floats], names: list[str]) -> Any:
        """Lazy dask array of the rows after a function of blocks."""
        work = replace(self._work, function=function)
        # In the graph if it fits, so that the result needs nothing but itself.
        client = self._client if _pickled_bytes(work) > _GRAPH_BYTES else None
        return da.map_blocks(
            _map_chunk,
            self._array,
            work=_share_work(work, client),
            n_out=len(names),
            chunks=(self._array.chunks[0], (len(names),)),
            dtype=work.dtype,
            meta=np.empty((0, 0), dtype=work.dtype),
        )

    def _group_chunks(self, aligned: Sequence[NDArray[Any]]) -> Iterator[list[int]]:
        """Numbers of chunks, in groups whose aligned entries fit into one graph."""
        group: list[int] = []
        size = 0
        per_row = sum(array[:1].nbytes for array in aligned)
        for i, n_rows in enumerate(np.diff(self._starts).tolist()):
            if group and size + n_rows * per_row > _GRAPH_BYTES:
                yield group
                group, size = [], 0
            if n_rows:
                group.append(i)
                size += n_rows * per_row
        if group:
            yield group

    def _compute(self, *tasks: Any) -> tuple[Any, ...]:
        """Compute tasks on the workers; returns their results."""
        with explain_failures(self._client):
            return tuple(dask.compute(*tasks, scheduler=self._client))


def is_dask(X: Any) -> bool:
    """Whether X is a dask array, data frame or series."""
    # Of the class: an object of dask.delayed has any attribute.
    return bool(dask.is_dask_collection(X)) and hasattr(type(X), "ndim")


def check_frame(X: Any) -> None:
    """Raise unless X is a dask data frame of numbers."""
    if not (is_dask(X) and hasattr(X, "map_partitions") and X.ndim == 2):
        raise InputTypeError(
            f"X must be a dask array or a dask data frame, got {type(X).__name__}. For rows in "
            "memory use the learner without Dask in its name."
        )
    wrong = [name for name, dtype in X.dtypes.items() if _number_type(dtype) is None]
    if wrong:
        types = few(f"{name!r} ({X.dtypes[name]})" for name in wrong)
        raise InputTypeError(
            f"columns of {_SOURCE} are not of numbers: {types}. Leave them out, or encode them."
        )
    text = [isinstance(name, str) for name in X.columns]
    if any(text) and not all(text):
        raise InputTypeError(
            f"names of {_SOURCE}'s columns must be all text or all something else, got both: use "
            "X.rename(columns=str)."
        )


def _number_type(dtype: Any) -> np.dtype[Any] | None:
    """NumPy's type of a numeric column, None for others."""
    found = getattr(dtype, "numpy_dtype", dtype)  # of columns that can have missing entries
    return found if isinstance(found, np.dtype) and found.kind in "biuf" else None


def _open_collection(X: Any, lengths: Sequence[int] | None) -> tuple[Any, _Work]:
    """The collection as a dask array in chunks of rows, and the work shared by its tasks.

    ``lengths`` are those of a data frame's partitions, None if not known.
    """
    names = None
    if isinstance(X, da.Array):
        if X.ndim != 2 or X.shape[1] == 0:
            raise InputError(f"rows must have shape (n, d), got {X.shape}.")
        dtype = check_dtype(X.dtype, _SOURCE)
        if np.isnan(X.shape[1]):
            raise InputError(
                "the number of X's columns is not known: call X.compute_chunk_sizes() first."
            )
        if len(X.chunks[1]) > 1:
            X = X.rechunk({1: -1})
    else:
        check_frame(X)
        if X.shape[1] == 0:
            raise InputError(f"{_SOURCE} has no columns.")
        types = [_number_type(dtype) for dtype in X.dtypes]
        for name, found in zip(X.columns, types, strict=True):
            check_dtype(np.dtype(found), f"column {name!r} of {_SOURCE}")
        dtype = check_dtype(np.result_type(*types), _SOURCE)
        if isinstance(X.columns[0], str):
            names = list(X.columns)
        meta = np.empty((0, len(types)), dtype=dtype)
        X = X.map_partitions(_convert_partition, dtype, meta=meta)
        n_rows = (np.nan,) * X.npartitions if lengths is None else tuple(map(int, lengths))
        X._chunks = (n_rows, (len(types),))
    starts = None
    if not np.isnan(X.shape[0]):
        starts = np.concatenate([[0], np.cumsum(X.chunks[0], dtype=np.int64)])
    return X, _Work(dtype, names, int(X.shape[1]), starts)


def _share_work(work: _Work, client: Any) -> Any:
    """One delayed task that hands the work to all others.

    With a client it is sent to the scheduler now, which keeps it: data scattered to workers would
    be gone with a worker that is lost.
    """
    shared = dask.delayed(work, traverse=False, pure=False)
    if client is None:
        return shared
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TB"}):
        return client.persist(shared)


def _make_task(function: Callable[..., Any], *arguments: Any) -> Any:
    """Delayed call of a function."""
    return dask.delayed(function, pure=False)(*arguments)


def _combine_all(combine: Combine, parts: list[Any]) -> Any:
    """Tree of delayed tasks that combine results in order, a few in each."""
    while len(parts) > 1:
        parts = [
            _make_task(_combine_parts, combine, *parts[i : i + _FAN_IN])
            for i in range(0, len(parts), _FAN_IN)
        ]
    return parts[0]


def _narrow_integers(array: NDArray[Any]) -> NDArray[Any]:
    """An integer array in the smallest type that holds it; other arrays as they are."""
    if array.dtype.kind != "i" or array.size == 0:
        return array
    for dtype in (np.int8, np.int16, np.int32):
        limits = np.iinfo(dtype)
        if limits.min <= array.min() and array.max() <= limits.max:
            return array.astype(dtype)
    return array


def _pickled_bytes(what: Any) -> int:
    """Size in bytes of an object once pickled for workers."""
    buffers: list[Any] = []
    head = cloudpickle.dumps(what, protocol=5, buffer_callback=buffers.append)
    return len(head) + sum(int(buffer.raw().nbytes) for buffer in buffers)
