"""Every row's nearest others: exact where there are few rows, nearly all where there are many."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from scipy.spatial.distance import cdist

from nearkin import GeometryAware, KernelA, Pairs
from nearkin.spaces import neighbors
from nearkin.spaces.neighbors import CellIndex, find_nearest_by_cells, find_nearest_others
from tests.cases import each


def rows_in_groups(n=1500, seed=0):
    rng = np.random.default_rng(seed)
    return 4 * rng.standard_normal((30, 6))[rng.integers(30, size=n)] + rng.standard_normal((n, 6))


def slow_nearest_others(X, k):
    distances = cdist(X, X)
    np.fill_diagonal(distances, np.inf)
    return np.argsort(distances, axis=1)[:, :k]


def shared_share(found, true):
    shared = [len(np.intersect1d(*rows)) for rows in zip(found, true, strict=True)]
    return np.mean(shared) / true.shape[1]


@each("search", ["exact", "auto"])
def test_few_rows_are_compared_with_all(search):
    X = rows_in_groups(200)
    assert_array_equal(find_nearest_others(X, 7, search=search), slow_nearest_others(X, 7))
    assert_array_equal(
        find_nearest_others(sp.csr_array(X), 7, search=search), slow_nearest_others(X, 7)
    )


@each("dtype", [np.float64, np.float32])
def test_cells_find_nearly_all_and_the_same_each_time(dtype):
    X = rows_in_groups().astype(dtype)
    found, again = (
        find_nearest_others(X, 10, search="approximate", random_state=3) for _ in range(2)
    )
    assert_array_equal(found, again)
    assert not (found == np.arange(len(X))[:, None]).any()
    assert 0.97 < shared_share(found, slow_nearest_others(X, 10)) < 1


def test_rows_that_are_there_many_times_have_as_many_others():
    X = rows_in_groups(1000)
    X[:40] = X[0]
    found = find_nearest_others(X, 10, search="approximate", random_state=0)
    assert (found[:40] < 40).all()
    assert all(len(set(rows)) == 10 for rows in found.tolist())


@each("kind", [sp.csr_array, np.asarray], ids=["sparse", "without structure"])
def test_where_cells_do_not_help_all_rows_are_compared(kind):
    X = kind(np.random.default_rng(0).standard_normal((400, 30)))
    assert_array_equal(find_nearest_others(X, 5, search="approximate"), find_nearest_others(X, 5))


def test_cells_grow_with_the_means_that_are_there():
    X = rows_in_groups(4000)
    rng = np.random.RandomState(0)
    first = CellIndex(X[:1500], 0.98, rng)
    grown = CellIndex(X[:2500], 0.98, rng, earlier=first)
    assert grown.n_rows == 2500
    assert grown.n_cells == first.n_cells
    _, found = find_nearest_by_cells(grown, X[:2500], X[:300], 10)
    true = np.argsort(cdist(X[:300], X[:2500]), axis=1)[:, :10]
    assert 0.96 < shared_share(found, true) < 1
    assert (
        CellIndex(X, 0.98, rng, earlier=grown).n_cells > first.n_cells
    )  # far more rows: new means


def test_cells_are_made_anew_where_later_rows_lie_elsewhere():
    X = rows_in_groups(2000)
    X[1500:] += 100
    rng = np.random.RandomState(0)
    grown = CellIndex(X, 0.98, rng, earlier=CellIndex(X[:1500], 0.98, rng))
    assert np.diff(grown._codes.starts).max() < 200


@pytest.mark.night
@each(
    "learner",
    [KernelA(n_landmarks=40, window_neighbors=15), GeometryAware(n_iter=2)],
    ids=["KernelA", "GeometryAware"],
)
def test_learners_look_into_cells_where_there_are_many_rows(learner, monkeypatch):
    X = rows_in_groups()
    pairs = Pairs.from_labels(np.arange(len(X)) % 3, 60, random_state=0)
    exact = learner.set_params(random_state=0).fit(X, pairs=pairs).transform(X[:200])
    monkeypatch.setattr(neighbors, "_MANY_ROWS", len(X))
    found, again = (learner.fit(X, pairs=pairs).transform(X[:200]) for _ in range(2))
    assert_array_equal(found, again)
    assert not np.array_equal(found, exact)
    distances, others = (np.linalg.norm(Z[:100] - Z[100:], axis=1) for Z in (exact, found))
    assert np.corrcoef(distances, others)[0, 1] > 0.98
