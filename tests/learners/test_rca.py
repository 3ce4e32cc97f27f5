import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from nearkin import RCA, Pairs
from nearkin.datasets import make_three_normal
from nearkin.learners.rca import whitening, within_chunklet_covariance
from nearkin.pairs.closure import find_chunklets
from tests import oracles
from tests.cases import each

X, Y = make_three_normal(90, n_features=3, random_state=0)
X += [100, 0, -7]
PAIRS = Pairs.from_labels(Y, 40, kind="must", random_state=0)


@given(st.lists(st.integers(0, 4), min_size=1, max_size=20), st.integers(0, 10**6))
def test_covariance_equals_the_double_loop(chunklet, seed):
    X = np.random.RandomState(seed).standard_normal((len(chunklet), 3))
    found = within_chunklet_covariance(X, np.array(chunklet))
    assert_allclose(found, oracles.rca_covariance(X, chunklet), atol=1e-12)


@each("shrinkage", [0.0, 0.3, 1.0])
def test_whitening_makes_the_shrunk_covariance_the_identity(shrinkage):
    F = np.random.RandomState(0).standard_normal((20, 4))
    C = F.T @ F / 20
    L = whitening(C, shrinkage)
    shrunk = (1 - shrinkage) * C + shrinkage * np.trace(C) / 4 * np.eye(4)
    assert_allclose(L @ shrunk @ L.T, np.eye(4), atol=1e-12)


def test_directions_of_least_variance_come_first_and_those_of_none_are_left_out():
    L = whitening(np.diag([4.0, 1.0, 9.0]), 0.0)
    assert_allclose(L, [[0, 1, 0], [0.5, 0, 0], [0, 0, 1 / 3]], atol=1e-15)
    assert_allclose(whitening(np.diag([4.0, 0.0, 9.0]), 0.0), L[1:], atol=1e-15)


def test_distance_is_the_mahalanobis_distance_of_the_chunklets():
    metric = RCA(shrinkage=0).fit(X, pairs=PAIRS)
    rows, chunklet = find_chunklets(PAIRS.must_link, None)
    inverse = np.linalg.inv(oracles.rca_covariance(X[rows], chunklet))
    difference = X[:10] - X[10:20]
    expected = np.sqrt([d @ inverse @ d for d in difference])
    assert_allclose(metric.pair_distance(X[:10], X[10:20]), expected)
    centred = X - X.mean(axis=0)
    assert_allclose(metric.transform(X), centred @ metric.components_.T, atol=1e-10)


def test_published_method_does_not_depend_on_linear_maps_of_the_data():
    A = np.random.RandomState(0).standard_normal((3, 3))
    D = RCA(shrinkage=0).fit(X, pairs=PAIRS).distance(X)
    mapped = RCA(shrinkage=0).fit(X @ A + 5, pairs=PAIRS).distance(X @ A + 5)
    assert_allclose(mapped, D, atol=1e-8)


def test_full_shrinkage_is_euclidean_up_to_scale_and_automatic_one_falls_with_links():
    euclidean = RCA(shrinkage=1).fit(X, pairs=PAIRS)
    D = np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2))
    found = euclidean.distance(X)
    assert_allclose(found / found.max(), D / D.max(), atol=1e-12)
    assert RCA().fit(X, pairs=Pairs([(0, 1)])).shrinkage_ == 3 / (3 + 1)
    # A triangle holds two independent links.
    assert RCA().fit(X, pairs=Pairs([(0, 1), (1, 2), (0, 2)])).shrinkage_ == 3 / (3 + 2)
    assert RCA().fit(X, Y).shrinkage_ == 3 / (3 + 87)
    assert RCA(random_state=0).fit(X, pairs=PAIRS).score(X, Y) > euclidean.score(X, Y) + 0.1


def test_labels_equal_all_must_links_they_imply_and_cannot_links_are_not_used():
    by_pairs = RCA().fit(X, pairs=Pairs.from_labels(Y, kind="must"))
    assert_allclose(RCA().fit(X, Y).components_, by_pairs.components_)
    found = RCA().fit(X, pairs=PAIRS).components_
    more = PAIRS + Pairs(cannot_link=[(0, 1)] if [0, 1] not in PAIRS.must_link else [(0, 2)])
    assert_array_equal(RCA().fit(X, pairs=more).components_, found)


def test_n_components_keeps_the_most_relevant():
    full = RCA().fit(X, pairs=PAIRS)
    few = RCA(n_components=2).fit(X, pairs=PAIRS)
    assert few.n_components_ == 2
    # Those along which the learned configuration is widest.
    axes = np.linalg.eigh(np.cov(full.transform(X).T))[1][:, :0:-1]
    along = full.transform(X) @ axes
    assert_allclose(few.distance(X), np.linalg.norm(along[:, None] - along, axis=2), atol=1e-9)
    assert RCA(n_components=10).fit(X, pairs=PAIRS).n_components_ == 3


@each("kind", [np.asarray, sp.csr_array])
def test_n_components_keeps_no_direction_without_variance(kind):
    constant = np.column_stack([np.full(90, 5.0), X, X[:, 0] - X[:, 1]])
    few, alone = (RCA(n_components=1).fit(kind(Z), pairs=PAIRS) for Z in (constant, X))
    assert few.score(kind(constant), Y) > alone.score(kind(X), Y) - 0.05
    assert few.score(kind(constant), Y) > 0.75


@each("shrinkage", ["auto", 0.0, 0.5])
def test_rank_deficient_data_give_finite_distances(shrinkage):
    rows = np.column_stack([X, X[:, 0] + X[:, 1], np.ones(90), np.zeros(90)])
    metric = RCA(shrinkage=shrinkage).fit(rows, pairs=PAIRS)
    assert np.isfinite(metric.transform(rows)).all()
    assert metric.n_components_ == (3 if shrinkage == 0 else 6)
    # The copies change no order of distances for the published method.
    if shrinkage == 0:
        plain = RCA(shrinkage=0).fit(X, pairs=PAIRS)
        assert_allclose(metric.distance(rows), plain.distance(X), atol=1e-7)


@each("size", [2, 3, 6, 7, 11])
def test_links_between_equal_rows_leave_the_euclidean_metric(size):
    # A mean of equal numbers may differ from them by rounding, which is no variation.
    rows = X.copy()
    rows[:size] = [0.1, 0.7, 0.3]
    metric = RCA().fit(rows, pairs=Pairs([(i, i + 1) for i in range(size - 1)]))
    assert_array_equal(metric.components_, np.eye(3))


def test_many_columns_are_seen_along_axes_found_once():
    rng = np.random.RandomState(0)
    X, y = rng.standard_normal((1001, 1001)).astype(np.float32), np.arange(1001) % 2
    with pytest.warns(UserWarning, match="seen along 300 axes") as heard:
        metric = RCA(n_components=2, random_state=0).fit(X, y)
    assert len(heard) == 1
    assert metric.components_.shape == (2, 1001)
