"""What squares rows must not see where zero is: all rows moved, nothing else changes."""

import numpy as np
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

import nearkin as nk
from nearkin.datasets import make_xor
from nearkin.rows.distances import centre, middle, squared_distances
from nearkin.scores import separability
from nearkin.spaces.graph import ball_graph, neighbor_graph
from nearkin.spaces.kernels import resolve_gamma
from tests.cases import each

# Rows of few binary digits, so that moving them rounds nothing.
X, Y = make_xor(60, random_state=0)
X = np.round(np.column_stack([X, X[:, 0] * X[:, 1]]) * 2**12) / 2**12
FAR = np.array([2.0**30, -(2.0**28), 2.0**29])
PAIRS = nk.Pairs.from_labels(Y, 24, random_state=0)
KINDS = {"dense": np.asarray, "sparse": sp.csr_array}
each_kind = each("kind", KINDS.values(), ids=KINDS)


def test_middle_is_where_most_rows_are():
    rows = np.full((200, 2), 7.0)
    rows[:60] = 1e12, -3
    assert_array_equal(middle(rows), [7, 7])
    assert_array_equal(middle(rows.astype(np.float32)), [7, 7])


def test_sparse_rows_are_filled_up_only_where_they_are_far():
    rows = np.zeros((100, 3))
    rows[:, 0] = 1e6 + np.arange(100)
    rows[:60, 1] = 1.0 + np.arange(60)
    rows[:30, 2] = 1e6
    moved = centre(sp.csr_array(rows), middle(sp.csr_array(rows)))
    assert_array_equal(middle(sp.csr_array(rows))[1:], [0, 0])
    assert moved.nnz <= np.count_nonzero(rows)
    assert_array_equal(moved.toarray(), rows - middle(sp.csr_array(rows)))


def test_far_only_if_asked_for_spares_rows_near_zero():
    rows = np.random.default_rng(0).normal(5, 1, (300, 2))
    assert centre(rows, middle(rows, if_far=True)) is rows
    assert_allclose(middle(rows + 1e5, if_far=True), 1e5 + 5, atol=0.5)


@each_kind
@each("dtype", [np.float64, np.float32])
def test_squared_distances_far_from_zero(kind, dtype):
    rows = np.round(X * 16) / 16
    moved = kind((rows + 2.0**17).astype(dtype))
    assert_allclose(squared_distances(moved, moved), squared_distances(rows, rows), atol=1e-12)


def learned(learner, as_rows=np.asarray):
    """Distances of a metric that is learned from these rows."""
    return lambda rows: clone(learner).fit(as_rows(rows), pairs=PAIRS).distance(as_rows(rows))


def asked_about(rows):
    metric = nk.Euclidean(random_state=0).fit(rows, pairs=PAIRS)
    return nk.suggest_pairs(metric, rows, PAIRS, strategy="uncertainty", random_state=0)


def decided(classifier, as_rows=np.asarray):
    """What a classifier that knows forty rows says of all."""
    return lambda rows: (
        clone(classifier).fit(as_rows(rows[:40]), Y[:40]).decision_function(as_rows(rows))
    )


def clustered(rows):
    return nk.MPCKMeans(4, random_state=0).fit(rows, pairs=PAIRS).transform(rows)


# What is made of rows, dense or sparse, and by how much it may differ, relatively or absolutely.
OF_ALL_ROWS = {
    "neighbors": (lambda X: neighbor_graph(X, 5, weight="heat").toarray(), {"rtol": 1e-12}),
    "balls": (lambda X: ball_graph(X, 1.0, weight="heat").toarray(), {"rtol": 1e-12}),
    "mean bandwidth": (lambda X: resolve_gamma("mean", X), {"rtol": 1e-9}),
    "median bandwidth": (lambda X: resolve_gamma("median", X), {"rtol": 1e-9}),
    "spread pairs": (lambda X: nk.spread_pairs(X, PAIRS).must_link, {"rtol": 0}),
    "their weights": (lambda X: nk.spread_pairs(X, PAIRS).must_weight, {"rtol": 1e-9}),
    "MPCKMeans": (clustered, {"rtol": 1e-7, "atol": 1e-5}),
    "separability": (lambda X: separability(X, Y), {"rtol": 1e-9}),
}
OF_DENSE_ROWS = {
    **{
        name: learned(
            nk.GeometryAware(coordinates=name, graph_neighbors=20, n_iter=2, random_state=0)
        )
        for name in ("lle", "isomap")
    },
    "questions": asked_about,
    "k-means of new rows": lambda X: nk.MetricKMeans(4, random_state=0).fit(X[:40]).predict(X),
    **{
        f"{kernels} kernels": decided(
            nk.MultipleKernelClassifier(kernels=kernels, bandwidths=(0.5, 2.0), random_state=0)
        )
        for kernels in ("regional", "rbf")
    },
}


@each_kind
@each("name", OF_ALL_ROWS)
def test_what_is_made_of_rows_does_not_see_where_zero_is(kind, name):
    make, tolerance = OF_ALL_ROWS[name]
    assert_allclose(make(kind(X + FAR)), make(kind(X)), **tolerance)


@each("name", OF_DENSE_ROWS)
def test_what_is_made_of_dense_rows_does_not_see_where_zero_is(name):
    near, far = OF_DENSE_ROWS[name](X), OF_DENSE_ROWS[name](X + FAR)
    atol = {"lle": 1e-9 * near.max(), "isomap": 1e-9 * near.max()}.get(name, 0)
    if name.endswith("kernels"):
        assert_allclose(far, near, atol=1e-5)
    else:
        assert_allclose(far, near, rtol=1e-7 if atol else 0, atol=atol)


@each_kind
@each(
    "learner",
    [
        nk.GeometryAware(n_iter=2, random_state=0),
        nk.GeometryAware(family="data_dependent", n_iter=2, random_state=0),
        nk.KernelBeta(random_state=0),
        nk.KernelBeta(kernel="linear", extension="nystroem", n_landmarks=30, random_state=0),
        nk.KernelBeta(kernel="linear", landmarks="farthest", n_landmarks=30, random_state=0),
    ],
    ids=lambda learner: f"{type(learner).__name__} {learner.kernel}",
)
def test_learners(kind, learner):
    near, far = (learned(learner, kind)(rows) for rows in (X, X + FAR))
    assert_allclose(far, near, atol=1e-9 * near.max())


@each_kind
def test_energy_classifier(kind):
    near, far = (decided(nk.EnergyClassifier(), kind)(rows) for rows in (X, X + FAR))
    assert_allclose(far, near, atol=1e-9)


@each_kind
def test_neighbor_index(kind):
    near, far = (nk.NeighborIndex().fit(kind(rows)) for rows in (X, X + FAR))
    assert_array_equal(far.query(kind(X + FAR), 4)[1], near.query(kind(X), 4)[1])
    assert_allclose(far.radius_for(), near.radius_for(), rtol=1e-9)
    assert_array_equal(far.group_labels(0.2), near.group_labels(0.2))
    assert_array_equal(far.group_labels(precision=0.9), near.group_labels(precision=0.9))


def test_cells_of_the_approximate_search():
    rows = np.random.default_rng(0).normal(size=(3000, 4)).round(3) + 2.0**30
    index = nk.NeighborIndex(search="approximate", random_state=0).fit(rows)
    assert index.recall() > 0.9
    assert index._cells is not None
    assert index._cells.n_probes(11) < index._cells.n_cells / 4


def test_images_do_not_depend_on_which_rows_are_asked_for():
    metric = nk.KernelBeta(n_landmarks=20, random_state=0).fit(X + FAR, pairs=PAIRS)
    alone = metric.transform(X[:1] + FAR)
    assert_allclose(metric.transform(np.vstack([X[:1] + FAR, X * 1e12]))[:1], alone, rtol=1e-12)
