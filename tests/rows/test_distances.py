"""What squares rows must not see where zero is: all rows moved, nothing else changes."""

import numpy as np
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from nearkin import (
    EnergyClassifier,
    Euclidean,
    GeometryAware,
    KernelBeta,
    MetricKMeans,
    MPCKMeans,
    MultipleKernelClassifier,
    NeighborIndex,
    Pairs,
    spread_pairs,
    suggest_pairs,
)
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
PAIRS = Pairs.from_labels(Y, 24, random_state=0)
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


@each_kind
def test_graphs(kind):
    for graph in (
        lambda rows: neighbor_graph(kind(rows), 5, weight="heat"),
        lambda rows: ball_graph(kind(rows), 1.0, weight="heat"),
    ):
        near, far = graph(X), graph(X + FAR)
        assert_allclose(far.toarray(), near.toarray(), rtol=1e-12)


@each_kind
@each(
    "learner",
    [
        GeometryAware(n_iter=2, random_state=0),
        GeometryAware(family="data_dependent", n_iter=2, random_state=0),
        KernelBeta(random_state=0),
        KernelBeta(kernel="linear", extension="nystroem", n_landmarks=30, random_state=0),
        KernelBeta(kernel="linear", landmarks="farthest", n_landmarks=30, random_state=0),
    ],
    ids=lambda learner: f"{type(learner).__name__} {learner.kernel}",
)
def test_learners(kind, learner):
    near, far = (
        clone(learner).fit(kind(rows), pairs=PAIRS).distance(kind(rows)) for rows in (X, X + FAR)
    )
    assert_allclose(far, near, atol=1e-9 * near.max())


@each("coordinates", ["lle", "isomap"])
def test_other_coordinates_of_geometry_aware(coordinates):
    learner = GeometryAware(coordinates=coordinates, graph_neighbors=20, n_iter=2, random_state=0)
    near, far = (clone(learner).fit(rows, pairs=PAIRS).distance(rows) for rows in (X, X + FAR))
    assert_allclose(far, near, atol=1e-9 * near.max())


@each_kind
@each("rule", ["mean", "median"])
def test_bandwidths(kind, rule):
    assert_allclose(resolve_gamma(rule, kind(X + FAR)), resolve_gamma(rule, X), rtol=1e-9)


@each_kind
def test_spread_pairs(kind):
    near, far = (spread_pairs(kind(rows), PAIRS) for rows in (X, X + FAR))
    assert_array_equal(far.must_link, near.must_link)
    assert_allclose(far.must_weight, near.must_weight, rtol=1e-9)


def test_questions():
    near, far = (
        suggest_pairs(
            Euclidean(random_state=0).fit(rows, pairs=PAIRS),
            rows,
            PAIRS,
            strategy="uncertainty",
            random_state=0,
        )
        for rows in (X, X + FAR)
    )
    assert_array_equal(far, near)


def _clusters(rows, kind):
    return MPCKMeans(4, random_state=0).fit(kind(rows), pairs=PAIRS).transform(kind(rows))


@each_kind
def test_mpck_means(kind):
    assert_allclose(_clusters(X + FAR, kind), _clusters(X, kind), atol=1e-5)


def test_metric_k_means_of_new_rows():
    near, far = (
        MetricKMeans(4, random_state=0).fit(rows[:40]).predict(rows) for rows in (X, X + FAR)
    )
    assert_array_equal(far, near)


@each("kernels", ["regional", "rbf"])
def test_multiple_kernel_classifier_of_new_rows(kernels):
    near, far = (
        MultipleKernelClassifier(kernels=kernels, bandwidths=(0.5, 2.0), random_state=0)
        .fit(rows[:40], Y[:40])
        .decision_function(rows)
        for rows in (X, X + FAR)
    )
    assert_allclose(far, near, atol=1e-5)


@each_kind
def test_energy_classifier(kind):
    near, far = (
        EnergyClassifier().fit(kind(rows[:40]), Y[:40]).decision_function(kind(rows))
        for rows in (X, X + FAR)
    )
    assert_allclose(far, near, atol=1e-9)


@each_kind
def test_separability(kind):
    assert_allclose(separability(kind(X + FAR), Y), separability(X, Y), rtol=1e-9)


@each_kind
def test_neighbor_index(kind):
    near, far = (NeighborIndex().fit(kind(rows)) for rows in (X, X + FAR))
    assert_array_equal(far.query(kind(X + FAR), 4)[1], near.query(kind(X), 4)[1])
    assert_allclose(far.radius_for(), near.radius_for(), rtol=1e-9)
    assert_array_equal(far.group_labels(0.2), near.group_labels(0.2))
    assert_array_equal(far.group_labels(precision=0.9), near.group_labels(precision=0.9))


def test_cells_of_the_approximate_search():
    rows = np.random.default_rng(0).normal(size=(3000, 4)).round(3) + 2.0**30
    index = NeighborIndex(search="approximate", random_state=0).fit(rows)
    assert index.recall() > 0.9
    assert index._cells is not None
    assert index._cells.n_probes(11) < index._cells.n_cells / 4


def test_images_do_not_depend_on_which_rows_are_asked_for():
    metric = KernelBeta(n_landmarks=20, random_state=0).fit(X + FAR, pairs=PAIRS)
    alone = metric.transform(X[:1] + FAR)
    assert_allclose(metric.transform(np.vstack([X[:1] + FAR, X * 1e12]))[:1], alone, rtol=1e-12)
