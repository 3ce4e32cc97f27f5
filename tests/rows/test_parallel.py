import os
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from threadpoolctl import threadpool_info, threadpool_limits

from nearkin import ITML, KernelBeta, NeighborIndex
from nearkin.datasets import make_xor
from nearkin.rows import parallel as module
from nearkin.rows.parallel import (
    one_blas_thread,
    one_core,
    one_thread,
    rows_per_block,
    run_in_blocks,
    split_range,
)
from tests.cases import each
from tests.waiting import PATIENCE


@given(st.integers(0, 500), st.integers(1, 200))
def test_blocks_cover_every_row_once_and_in_order(n_rows, size):
    slices = list(split_range(n_rows, size))
    covered = [row for rows in slices for row in range(rows.start, rows.stop)]
    assert covered == list(range(n_rows))
    assert all(0 < rows.stop - rows.start <= size for rows in slices)


@each(("bytes_per_row", "rows"), [(0, 65536), (1, 65536), (8192, 512), (10**12, 64)])
def test_block_rows_fit_the_memory_within_bounds(bytes_per_row, rows):
    assert rows_per_block(bytes_per_row) == rows


@each(("n_rows", "size"), [(0, 10), (7, 10), (10, 10), (103, 10)])
def test_every_row_is_worked_on_once(n_rows, size):
    visits = np.zeros(n_rows, dtype=int)

    def work(rows):
        visits[rows] += 1

    run_in_blocks(work, n_rows, size)
    assert_array_equal(visits, np.ones(n_rows))


def threads_of(user_api):
    return {lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == user_api}


def test_blas_is_single_threaded_meanwhile():
    seen = []
    with threadpool_limits(limits=2, user_api="blas"):
        run_in_blocks(lambda rows: seen.append(threads_of("blas")), 20, 10)
        assert threads_of("blas") == {2}
    assert seen == [{1}, {1}]


def test_on_one_core_blocks_run_in_the_thread_of_the_caller(monkeypatch):
    monkeypatch.setattr(module, "cpu_count", lambda: 2)
    seen = []
    with threadpool_limits(limits=2, user_api="blas"):
        with one_core():
            run_in_blocks(lambda rows: seen.append(threading.get_ident()), 100, 10)
            assert threads_of("blas") == {1}
        assert threads_of("blas") == {2}
    assert seen == 10 * [threading.get_ident()]


def test_of_several_errors_the_first_is_raised(monkeypatch):
    monkeypatch.setattr(module, "cpu_count", lambda: 4)
    together = threading.Barrier(4, timeout=PATIENCE)

    def work(rows):
        together.wait()
        raise ValueError(f"block at {rows.start}")

    for _ in range(5):
        with pytest.raises(ValueError, match="block at 0"):
            run_in_blocks(work, 40, 10)


def test_blocks_within_blocks_end(monkeypatch):
    monkeypatch.setattr(module, "cpu_count", lambda: 2)
    visits = np.zeros((20, 20), dtype=int)

    def work(rows):
        def inner(columns):
            visits[rows, columns] += 1

        run_in_blocks(inner, 20, 2)

    run_in_blocks(work, 20, 2)
    assert (visits == 1).all()


def test_a_forked_child_has_threads_of_its_own(monkeypatch):
    monkeypatch.setattr(module, "cpu_count", lambda: 2)
    together = threading.Barrier(2, timeout=PATIENCE)
    run_in_blocks(lambda rows: together.wait() and None, 20, 10)
    child = os.fork()
    if child == 0:
        together = threading.Barrier(2, timeout=PATIENCE)
        try:
            run_in_blocks(lambda rows: together.wait() and None, 20, 10)
            os._exit(0)
        except BaseException:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0


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
