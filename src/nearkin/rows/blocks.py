"""Work on the rows of large arrays block by block, on every core."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache

from joblib import cpu_count

from nearkin.rows.thread_limits import one_blas_thread

# A block's working matrix should stay in a core's cache.
_BLOCK_BYTES = 4 * 2**20
_on_one_core: ContextVar[bool] = ContextVar("on_one_core", default=False)


def block_rows(bytes_per_row: int) -> int:
    """How many rows make a block when each needs so many bytes of working memory."""
    return max(64, min(65536, _BLOCK_BYTES // max(1, bytes_per_row)))


def blocks(n_rows: int, size: int) -> Iterator[slice]:
    """Consecutive slices that cover ``range(n_rows)``."""
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))


def for_each_block(work: Callable[[slice], None], n_rows: int, size: int) -> None:
    """Call ``work`` on every block of rows, in as many threads as there are cores.

    ``work`` must write to its own rows only, so that the result does not depend on the order.
    BLAS runs single-threaded meanwhile: the blocks already keep all cores busy. Within
    :func:`one_core` there is one thread, the caller's.
    """
    slices = list(blocks(n_rows, size))
    helpers = 0 if len(slices) <= 1 or _on_one_core.get() else min(cpu_count(), len(slices)) - 1
    if helpers == 0:
        for rows in slices:
            work(rows)
        return
    with one_blas_thread():
        _Shared(work, slices).done_by(helpers)


class _Shared:
    """Blocks that several threads take one after the other, the first ones first."""

    def __init__(self, work: Callable[[slice], None], slices: list[slice]) -> None:
        self._work = work
        self._left = iter(enumerate(slices))
        self._errors: dict[int, BaseException] = {}

    def _take(self) -> None:
        for number, rows in self._left:
            try:
                self._work(rows)
            except BaseException as error:
                self._errors[number] = error
            if self._errors:
                return

    def done_by(self, helpers: int) -> None:
        """Work with so many threads beside the caller's; of several errors raise the first."""
        pool = _threads(helpers)
        started = [pool.submit(self._take) for _ in range(helpers)]
        self._take()
        for helper in started:  # one that has not begun has nothing left to do
            if not helper.cancel():
                helper.result()
        if self._errors:
            raise self._errors[min(self._errors)]


@cache
def _threads(count: int) -> ThreadPoolExecutor:
    """Threads that wait for work as long as the program runs: to start one takes a millisecond."""
    return ThreadPoolExecutor(count, "nearkin")


os.register_at_fork(after_in_child=_threads.cache_clear)  # where they are not


@contextmanager
def one_core() -> Iterator[None]:
    """Keep what this thread does to one core: for tasks of which every core has one already."""
    before = _on_one_core.set(True)
    try:
        with one_blas_thread():
            yield
    finally:
        _on_one_core.reset(before)
