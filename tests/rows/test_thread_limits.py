import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from nearkin import ITML, KernelBeta, NeighborIndex
from nearkin.datasets import make_xor
from nearkin.rows.parallel import one_blas_thread, one_thread
from tests.waiting import PATIENCE


def threads_of(user_api):
    return {lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == user_api}


@pytest.fixture
def two_threads():
    """For all threads: within the limit's own block, only this one could change it."""
    before = threadpool_limits(2, user_api="blas")
    with threadpool_limits(None):
        pass
    yield
    before.restore_original_limits()
    with threadpool_limits(None):
        pass


@contextmanager
def held_elsewhere(block):
    """The block is entered by another thread, and left by it at the end."""
    entered, leave = threading.Event(), threading.Event()

    def work():
        with block:
            entered.set()
            leave.wait(PATIENCE)

    thread = threading.Thread(target=work)
    thread.start()
    assert entered.wait(PATIENCE)
    try:
        yield
    finally:
        leave.set()
        thread.join()


@pytest.mark.usefixtures("two_threads")
def test_limits_that_overlap_are_all_taken_away_in_the_end():
    first = held_elsewhere(one_blas_thread())
    first.__enter__()
    with one_blas_thread():
        first.__exit__(None, None, None)  # which was there first
        assert threads_of("blas") == {1}
    assert threads_of("blas") == {2}


@pytest.mark.usefixtures("two_threads")
def test_limits_may_be_nested_and_end_by_errors():
    with pytest.raises(ZeroDivisionError), one_blas_thread(), one_blas_thread():
        1 / 0  # noqa: B018
    assert threads_of("blas") == {2}
    with one_blas_thread(wanted=False):
        assert threads_of("blas") == {2}


@pytest.mark.usefixtures("two_threads")
def test_open_mp_is_limited_in_the_thread_that_asks():
    with threadpool_limits(2, user_api="openmp"):
        with one_thread():
            assert threads_of("openmp") == {1}
            assert threads_of("blas") == {1}
        assert threads_of("openmp") == {2}


@pytest.mark.usefixtures("two_threads")
def test_fits_and_searches_in_several_threads_leave_blas_as_it_was():
    X, y = make_xor(60, random_state=0)

    def work(seed):
        metric = (KernelBeta if seed % 2 else ITML)(random_state=0).fit(X, y)
        return NeighborIndex(metric).add(X).query(X[:5], 3)[0]

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(work, range(12)))
    assert threads_of("blas") == {2}
    for one, other in zip(found[2:], found, strict=False):
        np.testing.assert_array_equal(one, other)
