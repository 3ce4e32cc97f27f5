"""Approximate search: coded cells and their means, against plain distances."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist

from nearkin import GeometryAware, KernelA, Pairs
from nearkin.rows.parallel import one_core
from nearkin.spaces import neighbors
from nearkin.spaces.neighbors import (
    CellIndex,
    assign_to_means,
    encode_cells,
    find_cell_means,
    find_nearest_by_cells,
    find_nearest_means,
    find_nearest_others,
    order_along_path,
    scan_cells,
)
from tests.cases import each


def in_cells(Z, n_cells, seed=0):
    """Rows in any cells, around the mean of each."""
    cell = np.random.default_rng(seed).integers(n_cells, size=len(Z))
    cell[:n_cells] = np.arange(n_cells)
    places = np.array([Z[cell == c].mean(axis=0, dtype=np.float64) for c in range(n_cells)])
    return cell, places


def plainly(Z, Q, cell, probes, k):
    """All distances from rows of the cells, sorted; of equal ones, the lower number first."""
    found = np.full((len(Q), k), -1)
    for i, q in enumerate(Q):
        rows = np.flatnonzero(np.isin(cell, probes[i]))
        squared = ((Z[rows].astype(np.float64) - q) ** 2).sum(axis=1)
        best = rows[np.argsort(squared, kind="stable")][:k]
        found[i, : len(best)] = best
    return found


def random_probes(m, n_cells, n_probes, seed=0):
    rng = np.random.default_rng(seed)
    return np.array([rng.permutation(n_cells)[:n_probes] for _ in range(m)])


def assert_scanned(Z, Q, cell, places, probes, k):
    """The nearest rows of the cells are those that all distances show."""
    found = scan_cells(encode_cells(Z, cell, places), Z, Q, probes, k)
    assert_array_equal(found, plainly(Z, Q, cell, probes, k))


@each(
    ("q", "dtype"),
    [(1, np.float64), (3, np.float32), (4, np.float64), (7, np.float64), (50, np.float32)],
)
def test_the_nearest_rows_of_the_cells_are_found(q, dtype):
    rng = np.random.default_rng(q)
    Z, Q = (rng.standard_normal((n, q)).astype(dtype) for n in (700, 25))
    assert_scanned(Z, Q, *in_cells(Z, 4), random_probes(25, 4, 3), 9)


def test_of_rows_equally_far_those_with_lower_numbers_are_found():
    Z = np.random.default_rng(0).integers(-2, 3, size=(600, 2)).astype(np.float64)
    assert_scanned(Z, Z[:25], *in_cells(Z, 3), random_probes(25, 3, 3), 40)
    # More equal rows than can wait.
    Z = np.repeat(np.eye(2), 700, axis=0)
    probes = np.array([[0, 1], [0, 1]])
    assert_scanned(Z, np.eye(2), np.repeat([0, 1], 700), np.eye(2), probes, 2)


def test_cells_with_fewer_rows_than_are_asked_for():
    Z = np.arange(5.0)[:, None]
    codes = encode_cells(Z, np.array([0, 0, 0, 1, 1]), np.array([[1.0], [3.5]]))
    assert_array_equal(scan_cells(codes, Z, Z[:1], np.array([[1]]), 4), [[3, 4, -1, -1]])


@each("scale", [1e-60, 1e-30, 1e30, 1e100])
@each("far", [0.0, 1e7])
def test_numbers_of_any_size(scale, far):
    rng = np.random.default_rng(0)
    Z = scale * (rng.standard_normal((500, 6)) * 10.0 ** -np.arange(6) + far)
    Q = np.concatenate([Z[:20], 1e20 * Z[20:25], Z[25:30] + scale])
    assert_scanned(Z, Q, *in_cells(Z, 4), random_probes(len(Q), 4, 2), 5)


def test_codes_stand_for_rows_up_to_the_error():
    Z = np.random.default_rng(0).standard_normal((400, 5))
    cell, places = in_cells(Z, 3)
    found = encode_cells(Z, cell, places)
    for c in range(3):
        rows = found.order[found.starts[c] : found.starts[c + 1]]
        assert_array_equal(rows, np.flatnonzero(cell == c))
        numbers, start = np.empty((len(rows), 5)), found.starts[c] * 5
        for first in range(0, len(rows), 128):
            wide = min(128, len(rows) - first)
            tile = found.codes[start + first * 5 : start + (first + wide) * 5]
            numbers[first : first + wide] = tile.reshape(5, wide).T
        stands_for = places[c] + found.units[c] * found.steps[c].astype(np.float64) * numbers
        missed = np.linalg.norm(Z[rows] - stands_for, axis=1).max() / found.units[c]
        assert_allclose(missed, found.errors[c], rtol=1e-9)
        lengths = np.linalg.norm(stands_for - places[c], axis=1) / found.units[c]
        assert_allclose(found.lengths[found.starts[c] : found.starts[c + 1]], lengths**2, rtol=1e-6)
        assert_allclose(lengths.max(), found.radii[c], rtol=1e-9)
        assert missed < 0.01 * lengths.max()


def test_a_query_finds_the_same_alone_as_among_others_on_several_cores():
    rng = np.random.default_rng(0)
    Z, Q = rng.standard_normal((1000, 8)), rng.standard_normal((100, 8))
    cell, places = in_cells(Z, 6)
    codes, probes = encode_cells(Z, cell, places), random_probes(100, 6, 2)
    together = scan_cells(codes, Z, Q, probes, 10)
    with one_core():
        alone = [scan_cells(codes, Z, Q[[i]], probes[[i]], 10)[0] for i in range(100)]
    assert_array_equal(together, alone)


# ---- where cells are


@each("far", [0.0, 1000.0])
def test_rows_go_to_the_nearest_of_the_means(far):
    Z = np.random.default_rng(0).standard_normal((900, 4)) + far
    origin = np.full(4, far)
    means = find_cell_means(Z, origin, 20, np.random.RandomState(0))
    distances = cdist(Z - far, means)
    assert_array_equal(assign_to_means(Z, origin, means), distances.argmin(axis=1))
    found = np.empty((900, 7), dtype=np.int64)
    find_nearest_means(np.ascontiguousarray(means.T), Z - far, found)
    assert_array_equal(found, np.argsort(distances, axis=1)[:, :7])


def test_a_path_passes_every_mean_once_and_mostly_near_ones():
    means = np.random.default_rng(0).uniform(size=(200, 2))
    path = order_along_path(means)
    assert_array_equal(np.sort(path), np.arange(200))
    step, any_two = (
        np.linalg.norm(np.diff(means[p], axis=0), axis=1).mean() for p in (path, range(200))
    )
    assert step < any_two / 3


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
    for rows in (X, sp.csr_array(X)):
        assert_array_equal(find_nearest_others(rows, 7, search=search), slow_nearest_others(X, 7))


@each("dtype", [np.float64, np.float32])
def test_cells_find_nearly_all_and_the_same_each_time(dtype):
    X = rows_in_groups().astype(dtype)
    found, again = (
        find_nearest_others(X, 10, search="approximate", random_state=3) for _ in range(2)
    )
    assert_array_equal(found, again)
    assert not (found == np.arange(len(X))[:, None]).any()
    assert 0.97 < shared_share(found, slow_nearest_others(X, 10)) < 1
    X[:40] = X[0]  # there many times
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
    more = CellIndex(X, 0.98, rng, earlier=grown)
    assert more.n_cells > first.n_cells  # far more rows: new means
    X[1500:] += 100  # as where later rows lie elsewhere
    assert np.diff(CellIndex(X[:2000], 0.98, rng, earlier=first).codes.starts).max() < 200


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
