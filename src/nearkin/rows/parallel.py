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
from types import SimpleNamespace
from typing import Any, TypeVar, cast

# Both bring a BLAS of their own, which must be loaded before it can be limited.
import numpy.linalg  # noqa: F401
import scipy.linalg  # noqa: F401
from joblib import cpu_count
from threadpoolctl import ThreadpoolController, threadpool_limits

# The limit of BLAS to one thread, which several threads can ask for at once: how many do, and how
# many threads its libraries had before.
_limit = SimpleNamespace(lock=threading.Lock(), wanted_by=0, before=[])
# A child that is forked while another thread counts must not inherit a lock held for ever.
os.register_at_fork(
    before=_limit.lock.acquire,
    after_in_parent=_limit.lock.release,
    after_in_child=_limit.lock.release,
)


@cache
def _find_blas() -> ThreadpoolController:
    """BLAS libraries of NumPy and SciPy; cached, since looking for them takes long."""
    return ThreadpoolController().select(user_api="blas")


@cache
def _select_no_library() -> ThreadpoolController:
    """An empty selection of threadpoolctl's; a limit on it resets what that stores per thread."""
    return _find_blas().select(user_api="openmp")


def _set_blas_threads(counts: Iterable[int]) -> None:
    """Set the number of threads of each BLAS, such that any thread of the process may change it.

    threadpoolctl (3.8) ignores other threads until the one that set a limit has left it; but here
    the thread that leaves last is the one to put things back. A limit of nothing is left at once.
    (Limits of BLAS, by threadpoolctl, ask it for its version and more every time.)
    """
    for library, count in zip(_find_blas().lib_controllers, counts, strict=True):
        library.set_num_threads(count)
    with _select_no_library().limit(limits=None):
        pass


@contextmanager
def one_blas_thread(wanted: bool = True) -> Iterator[None]:
    """Limit BLAS to one thread, in the whole process, during a ``with`` block, if ``wanted``.

    Of several such blocks at once the last to end restores the threads.
    """
    if not wanted:
        yield
        return
    with _limit.lock:
        if _limit.wanted_by == 0:
            _limit.before = [library.num_threads for library in _find_blas().lib_controllers]
            _set_blas_threads(1 for _ in _limit.before)
        _limit.wanted_by += 1
    try:
        yield
    finally:
        with _limit.lock:
            _limit.wanted_by -= 1
            if _limit.wanted_by == 0:
                _set_blas_threads(_limit.before)


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit BLAS and OpenMP to one thread each, so that sums always have one order.

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
_rows_of_all: ContextVar[int] = ContextVar("rows_of_all", default=0)


def rows_per_block(bytes_per_row: int) -> int:
    """Number of rows in a block when each needs ``bytes_per_row`` of working memory."""
    return max(_LEAST_ROWS, min(_MOST_ROWS, _BLOCK_BYTES // max(1, bytes_per_row)))


def split_range(n_rows: int, size: int) -> Iterator[slice]:
    """Consecutive slices that cover ``range(n_rows)``."""
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))


def run_in_blocks(work: Callable[[slice], None], n_rows: int, size: int) -> None:
    """Call ``work`` on every block of at most ``size`` rows, in as many threads as there are cores.

    ``work`` must write to its own rows only, so that the result does not depend on the order. BLAS
    has one thread meanwhile. Within :func:`one_core` all is done in the caller's thread. Of several
    errors that of the first block is raised.
    """
    slices = list(split_range(n_rows, size))
    helpers = 0 if len(slices) <= 1 or _on_one_core.get() else min(cpu_count(), len(slices)) - 1
    if helpers == 0:
        for rows in slices:
            work(rows)
        return
    left = iter(enumerate(slices))
    errors: dict[int, BaseException] = {}

    def take_blocks() -> None:
        """Work on blocks until none is left, or one has raised an error."""
        for number, rows in left:
            try:
                work(rows)
            except BaseException as error:
                errors[number] = error
            if errors:
                return

    with one_blas_thread():
        pool = _thread_pool(helpers)
        started = [pool.submit(take_blocks) for _ in range(helpers)]
        take_blocks()
        for helper in started:  # one that has not begun has nothing left to do
            if not helper.cancel():
                helper.result()
        if errors:
            raise errors[min(errors)]


@cache
def _thread_pool(count: int) -> ThreadPoolExecutor:
    """A pool of threads, cached since starting a thread takes a millisecond."""
    return ThreadPoolExecutor(count, "nearkin")


os.register_at_fork(after_in_child=_thread_pool.cache_clear)  # where they are not


@contextmanager
def one_core() -> Iterator[None]:
    """Keep what the calling thread does to one core, for tasks that run once per core."""
    before = _on_one_core.set(True)
    try:
        with one_blas_thread():
            yield
    finally:
        _on_one_core.reset(before)


@contextmanager
def block_of(n_rows: int) -> Iterator[None]:
    """Keep to one core, and let :func:`count_all_rows` know how many rows this block is of."""
    before = _rows_of_all.set(count_all_rows(n_rows))
    try:
        with one_core():
            yield
    finally:
        _rows_of_all.reset(before)


def count_all_rows(n_rows: int) -> int:
    """How many rows a call is about, of which these may be a block (:func:`block_of`)."""
    return max(n_rows, _rows_of_all.get())


Item = TypeVar("Item")
Made = TypeVar("Made")
_END: Any = object()


def prefetch(items: Iterable[Item], most: int = 1) -> Iterator[Item]:
    """Iterate in a separate thread, up to ``most`` items ahead of the consumer.

    An error is raised where its item would have been. Once the result is closed, the thread
    finishes its current item, closes the items, and ends.
    """
    iterator, context = iter(items), copy_context()
    with ThreadPoolExecutor(1) as thread:

        def another() -> Future[Item]:
            """Submit the making of the next item, or of the end mark."""
            return thread.submit(context.run, lambda: next(iterator, _END))

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
    """Results, in order, of a function applied to items in ``n_threads`` threads.

    Items are made in the consumer's thread; one more than there are threads is in memory. Of
    several errors that of the first item is raised.
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
    for future in waiting:
        future.cancel()


@contextmanager
def close_after(items: Any) -> Iterator[None]:
    """Close a generator at the end of a ``with`` block; other iterables are left alone."""
    try:
        yield
    finally:
        _close(items)


def _close(items: Any) -> None:
    """Close a generator; other iterables are left alone."""
    if hasattr(items, "close"):
        items.close()


# Sums may be reordered for speed; infinities and NaN keep their meaning.
REORDER = frozenset({"reassoc", "contract", "nsz"})

_Function = TypeVar("_Function", bound=Callable[..., Any])
_LOCK = threading.RLock()


def compiled(*, fastmath: Collection[str] = ()) -> Callable[[_Function], _Function]:
    """Decorator of functions that Numba compiles at their first call, cached on disk.

    ``fastmath`` are LLVM's flags of floating-point liberties, such as :data:`REORDER`. The function
    releases Python's lock. Where no folder can be written, every process compiles anew.
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
        """Type of the loop in Numba's code, where another loop calls it."""
        return self.dispatcher()._numba_type_

    def __reduce__(self) -> str:
        return self.py_func.__qualname__

    def dispatcher(self) -> Any:
        """Numba's dispatcher of the function, made at the first call."""
        from nearkin.rows.numba_loops import make_dispatcher

        with _LOCK:
            if self._made is None:
                self._made = make_dispatcher(self.py_func, self._options)
            return self._made


def start_loading_numba() -> threading.Thread:
    """Import and initialise Numba in a thread: half a second of a core."""

    def load() -> None:
        from nearkin.rows.numba_loops import load_numba

        load_numba()

    thread = threading.Thread(target=load, name="nearkin-compiled")
    thread.start()
    return thread
