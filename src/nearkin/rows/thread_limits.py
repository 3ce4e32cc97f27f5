"""How many threads BLAS may use: a limit that several threads can ask for at once.

BLAS has one number of threads for the whole process. Whoever lowers it for a while and then puts
back what was there before goes wrong when two do so at the same time: the second finds the first
one's limit, and leaves it behind for good. Here those that want the limit are counted: the first
sets it and the last takes it away.

scikit-learn lowers the number likewise within k-means and searches for neighbours, without
counting. Called within :func:`one_blas_thread`, it finds 1 and leaves 1.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache

# Both have a BLAS of their own, and it must be there before it can be limited.
import numpy.linalg  # noqa: F401
import scipy.linalg  # noqa: F401
from threadpoolctl import ThreadpoolController, threadpool_limits


class _CountedLimit:
    """One thread for BLAS while anybody wants that."""

    def __init__(self) -> None:
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
                self._before = [library.num_threads for library in _blas().lib_controllers]
                _set(1 for _ in self._before)
            self._wanted_by += 1

    def leave(self) -> None:
        """Take it away, unless somebody else wants it still."""
        with self._lock:
            self._wanted_by -= 1
            if self._wanted_by == 0:
                _set(self._before)


@cache
def _blas() -> ThreadpoolController:
    """BLAS of NumPy and SciPy: looking for it takes longer than many a use of it."""
    return ThreadpoolController().select(user_api="blas")


@cache
def _no_library() -> ThreadpoolController:
    return _blas().select(user_api="openmp")


def _set(counts: Iterable[int]) -> None:
    """Give each BLAS its number of threads, and let any thread change that, not only this one.

    threadpoolctl (3.8) ignores other threads until the one that set a limit has left it; but here
    the thread that leaves last is the one to put things back. A limit of nothing is left at once.
    (Limits of BLAS, by threadpoolctl, ask it for its version and more every time.)
    """
    for library, count in zip(_blas().lib_controllers, counts, strict=True):
        library.set_num_threads(count)
    with _no_library().limit(limits=None):
        pass


_one_blas_thread = _CountedLimit()


@contextmanager
def one_blas_thread(wanted: bool = True) -> Iterator[None]:
    """Keep BLAS to one thread, in the whole process, while this or another such block lasts.

    Parameters
    ----------
    wanted : bool, default=True
        Without, nothing is done: for what gains by threads from some size on.

    Examples
    --------
    >>> from nearkin.rows.thread_limits import one_blas_thread
    >>> with one_blas_thread():
    ...     pass  # many small products
    """
    if not wanted:
        yield
        return
    _one_blas_thread.enter()
    try:
        yield
    finally:
        _one_blas_thread.leave()


@contextmanager
def one_thread() -> Iterator[None]:
    """Keep BLAS and OpenMP to one thread each: sums in one order, always.

    OpenMP has a number for each thread that calls it, so that there is nothing to count. Several
    libraries may bring an OpenMP, at any time.
    """
    with one_blas_thread(), threadpool_limits(1, user_api="openmp"):
        yield
