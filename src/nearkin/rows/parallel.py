"""Threads over blocks of rows, prefetching, limits of BLAS threads, and compiled loops."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from functools import cache, update_wrapper
from typing import Any, TypeVar, cast

# Both bring a BLAS of their own, which must be loaded before it can be limited.
import numpy.linalg  # noqa: F401
import scipy.linalg  # noqa: F401
from joblib import cpu_count
from threadpoolctl import ThreadpoolController, threadpool_limits

# How many threads BLAS may use: a limit that several threads can ask for at once.


class _CountedLimit:
    """Counts who wants BLAS in one thread; the last to leave restores its threads."""

    def __init__(self) -> None:
        """Count from 0, also in a process that is forked."""
        self._lock = threading.Lock()
        self._wanted_by = 0
        self._before: list[int] = []
        # A child that is forked while another thread counts must not inherit a lock held for ever.
        os.register_at_fork(
            before=self._lock.acquire,
            after_in_parent=self._lock.release,
            after_in_child=self._lock.release,
        )

    def enter(self) -> None:
        """Set the limit, unless it is there already."""
        with self._lock:
            if self._wanted_by == 0:
                self._before = [library.num_threads for library in _find_blas().lib_controllers]
                _set_blas_threads(1 for _ in self._before)
            self._wanted_by += 1

    def leave(self) -> None:
        """Take the limit away, unless somebody else wants it still."""
        with self._lock:
            self._wanted_by -= 1
            if self._wanted_by == 0:
                _set_blas_threads(self._before)


@cache
def _find_blas() -> ThreadpoolController:
    """BLAS of NumPy and SciPy: looking for it takes longer than many a use of it."""
    return ThreadpoolController().select(user_api="blas")


@cache
def _select_no_library() -> ThreadpoolController:
    """An empty selection of threadpoolctl's, whose limit resets what it has kept of a thread."""
    return _find_blas().select(user_api="openmp")


def _set_blas_threads(counts: Iterable[int]) -> None:
    """Give each BLAS its number of threads, and let any thread change that, not only this one.

    threadpoolctl (3.8) ignores other threads until the one that set a limit has left it; but here
    the thread that leaves last is the one to put things back. A limit of nothing is left at once.
    (Limits of BLAS, by threadpoolctl, ask it for its version and more every time.)
    """
    for library, count in zip(_find_blas().lib_controllers, counts, strict=True):
        library.set_num_threads(count)
    with _select_no_library().limit(limits=None):
        pass


_blas_limit = _CountedLimit()


@contextmanager
def one_blas_thread(wanted: bool = True) -> Iterator[None]:
    """Keep BLAS to one thread, in the whole process, while this or another such block lasts.

    Unless it is not ``wanted``, as where products gain by threads from some size on.
    """
    if not wanted:
        yield
        return
    _blas_limit.enter()
    try:
        yield
    finally:
        _blas_limit.leave()


@contextmanager
def one_thread() -> Iterator[None]:
    """Keep BLAS and OpenMP to one thread each: sums in one order, always.

    OpenMP has a number for each thread that calls it, so that there is nothing to count. Several
    libraries may bring an OpenMP, at any time.
    """
    with one_blas_thread(), threadpool_limits(1, user_api="openmp"):
        yield


# A block's working matrix should stay in a core's cache.
_BLOCK_BYTES = 4 * 2**20
# Rows of a block at least and at most, chosen by hand.
_LEAST_ROWS, _MOST_ROWS = 64, 65_536
_on_one_core: ContextVar[bool] = ContextVar("on_one_core", default=False)


def rows_per_block(bytes_per_row: int) -> int:
    """How many rows make a block when each needs so many bytes of working memory."""
    return max(_LEAST_ROWS, min(_MOST_ROWS, _BLOCK_BYTES // max(1, bytes_per_row)))


def split_range(n_rows: int, size: int) -> Iterator[slice]:
    """Consecutive slices that cover ``range(n_rows)``."""
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))


def run_in_blocks(work: Callable[[slice], None], n_rows: int, size: int) -> None:
    """Call ``work`` on every block of rows, in as many threads as there are cores.

    ``work`` must write to its own rows only, so that the result does not depend on the order. BLAS
    has one thread meanwhile. Within :func:`one_core` all is done in the caller's thread.
    """
    slices = list(split_range(n_rows, size))
    helpers = 0 if len(slices) <= 1 or _on_one_core.get() else min(cpu_count(), len(slices)) - 1
    if helpers == 0:
        for rows in slices:
            work(rows)
        return
    with one_blas_thread():
        _SharedBlocks(work, slices).work_with(helpers)


class _SharedBlocks:
    """Blocks that several threads take one after the other, the first ones first."""

    def __init__(self, work: Callable[[slice], None], slices: list[slice]) -> None:
        self._work = work
        self._left = iter(enumerate(slices))
        self._errors: dict[int, BaseException] = {}

    def _take_blocks(self) -> None:
        """Work on blocks until none is left, or one has failed."""
        for number, rows in self._left:
            try:
                self._work(rows)
            except BaseException as error:
                self._errors[number] = error
            if self._errors:
                return

    def work_with(self, helpers: int) -> None:
        """Work with so many threads beside the caller's; of several errors raise the first."""
        pool = _thread_pool(helpers)
        started = [pool.submit(self._take_blocks) for _ in range(helpers)]
        self._take_blocks()
        for helper in started:  # one that has not begun has nothing left to do
            if not helper.cancel():
                helper.result()
        if self._errors:
            raise self._errors[min(self._errors)]


@cache
def _thread_pool(count: int) -> ThreadPoolExecutor:
    """Threads that wait for work as long as the program runs: to start one takes a millisecond."""
    return ThreadPoolExecutor(count, "nearkin")


os.register_at_fork(after_in_child=_thread_pool.cache_clear)  # where they are not


@contextmanager
def one_core() -> Iterator[None]:
    """Keep what this thread does to one core: for tasks of which every core has one already."""
    before = _on_one_core.set(True)
    try:
        with one_blas_thread():
            yield
    finally:
        _on_one_core.reset(before)


Item = TypeVar("Item")
Made = TypeVar("Made")
_END: Any = object()


def prefetch(items: Iterable[Item], most: int = 1) -> Iterator[Item]:
    """Make items in a thread of its own, up to ``most`` before they are asked for.

    An error comes where its item would have been. Once the result is closed, as at an error of who
    uses it, the thread finishes the item that it is at, closes the items, and is gone.
    """
    iterator, context = iter(items), copy_context()
    with ThreadPoolExecutor(1) as thread:

        def made() -> Item:
            return next(iterator, _END)

        def another() -> Future[Item]:
            return thread.submit(context.run, made)

        waiting = deque(another() for _ in range(most))
        try:
            while (item := waiting.popleft().result()) is not _END:
                waiting.append(another())
                yield item
        finally:
            _cancel(waiting)
            thread.submit(context.run, _close, iterator)  # where it runs


def map_ahead(
    function: Callable[[Item], Made], items: Iterable[Item], n_threads: int
) -> Iterator[Made]:
    """Apply a function to items in some threads at a time; results come in their order.

    Items are made in the thread of who asks for the results; as many as there are threads, and one
    more, are in memory. Of several errors the one of the first item is raised.
    """
    iterator = iter(items)
    waiting: deque[Future[Made]] = deque()
    failed: Exception | None = None
    with close_after(iterator), ThreadPoolExecutor(n_threads) as threads:
        try:
            while True:
                try:
                    item = next(iterator, _END)
                except Exception as error:  # which comes after all items before it
                    failed = error
                    break
                if item is _END:
                    break
                waiting.append(threads.submit(copy_context().run, function, item))
                if len(waiting) > n_threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            _cancel(waiting)
    if failed is not None:
        raise failed


def _cancel(waiting: Iterable[Future[Any]]) -> None:
    """Cancel what has not begun."""
    for future in waiting:
        future.cancel()


@contextmanager
def close_after(items: Any) -> Iterator[None]:
    """Close items after a block, if they are a generator's, rather than when nobody holds them."""
    try:
        yield
    finally:
        _close(items)


def _close(items: Any) -> None:
    """Close items if they are a generator's."""
    if hasattr(items, "close"):
        items.close()


# Sums may be reordered for speed; infinities and NaN keep their meaning.
REORDER = frozenset({"reassoc", "contract", "nsz"})

_Function = TypeVar("_Function", bound=Callable[..., Any])
_LOCK = threading.RLock()


def compiled(*, fastmath: Collection[str] = ()) -> Callable[[_Function], _Function]:
    """Decorate a function so that Numba compiles it at its first call, and keeps that on disk.

    ``fastmath`` are liberties with floating-point numbers, by LLVM's names; such as
    :data:`REORDER`. The function does not hold Python's lock. Where no folder can be written,
    nothing is kept, and every process compiles anew.
    """

    def decorate(function: _Function) -> _Function:
        return cast(_Function, _Loop(function, {"nogil": True, "fastmath": set(fastmath)}))

    return decorate


class _Loop:
    """A function that Numba compiles when it is first called, by Python or by another loop."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        update_wrapper(self, function)
        self.py_func = function
        self._options = options
        self._made: Any = None

    def __call__(self, *arguments: Any) -> Any:
        return (self._made or self.dispatcher())(*arguments)

    @property
    def _numba_type_(self) -> Any:
        """What Numba asks for, where one loop calls another."""
        return self.dispatcher()._numba_type_

    def __reduce__(self) -> str:
        return self.py_func.__qualname__

    def dispatcher(self) -> Any:
        """Numba's object for the function, made at the first call."""
        from nearkin.rows.numba_loops import make_dispatcher

        with _LOCK:
            if self._made is None:
                self._made = make_dispatcher(self.py_func, self._options)
            return self._made


def start_loading_numba() -> threading.Thread:
    """Import Numba in a thread, with all that loops need at first: half a second of a core."""

    def load() -> None:
        from nearkin.rows.numba_loops import load_numba

        load_numba()

    thread = threading.Thread(target=load, name="nearkin-compiled")
    thread.start()
    return thread
