"""Rows wherever they are do the same three things: take some, sum over all, map all."""

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from numpy.testing import assert_allclose, assert_array_equal

from nearkin import open_rows
from nearkin.rows import access, backends
from nearkin.rows.streams import RowStream

X = np.random.default_rng(0).standard_normal((150, 3))
WEIGHTS = np.arange(150.0)


def on_dask(X):
    da = pytest.importorskip("dask.array")
    return open_rows(da.from_array(X, chunks=(40, 3)))


def of_another_library(X):
    return pytest.importorskip("array_api_strict").asarray(X)


KINDS = {
    "NumPy": np.array,
    "sparse": sp.csr_array,
    "stream": lambda X: open_rows([X[:70], X[70:]]),
    "dask": on_dask,
    "another library": of_another_library,
}


@pytest.fixture(params=KINDS)
def rows(request, monkeypatch):
    if backends.array_api_compat is None and request.param == "another library":
        pytest.skip("dispatch needs scikit-learn 1.7 or later")
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    monkeypatch.setattr(backends, "LIBRARIES", (*backends.LIBRARIES, "array_api_strict"))
    monkeypatch.setattr(access, "_SUMMED_ROWS", 64)
    found = KINDS[request.param](X)
    dispatch = request.param == "another library"
    with sklearn.config_context(array_api_dispatch=dispatch):
        yield found


def at_home(found):
    if isinstance(found, RowStream):
        found = found.to_numpy()
    if hasattr(found, "compute"):
        found = found.compute()
    return found.toarray() if sp.issparse(found) else backends.to_numpy(found)


def test_some_are_taken_by_their_numbers_in_any_order(rows):
    numbers = np.array([149, 0, 75, 0])
    assert_array_equal(at_home(access.take(rows, numbers)), X[numbers])
    assert_array_equal(at_home(access.take_to_host(rows, numbers)), X[numbers])
    assert_array_equal(access.takeable_numbers(rows), np.arange(150))


def test_sums_over_all_go_along_with_what_is_aligned(rows):
    def weighted(block, weights):
        return (weights @ at_home(block), len(weights))

    total, n = access.reduce_rows(rows, weighted, WEIGHTS)
    assert_allclose(total, WEIGHTS @ X)
    assert n == 150


def test_moments_of_dense_rows(rows):
    if sp.issparse(rows):
        pytest.skip("sparse rows are never centred")
    mean, covariance = access.moments(rows)
    assert_allclose(mean, X.mean(axis=0), atol=1e-15)
    assert_allclose(covariance, np.cov(X.T, bias=True), atol=1e-14)


def test_data_frames_and_lists_give_rows_too():
    pd = pytest.importorskip("pandas")
    numbers = np.array([3, 1])
    assert_array_equal(access.take(pd.DataFrame(X), numbers), X[numbers])
    assert access.take(["a", "b", "c", "d"], numbers) == ["d", "b"]


def test_blocks_are_gone_over_where_rows_are(rows):
    if backends.is_remote(rows):
        pytest.skip("remote rows come in blocks of their own")
    out = np.zeros(150)

    def work(block):
        out[block] += 1

    access.for_each_block(work, rows, 2**40)
    assert (out == 1).all()
