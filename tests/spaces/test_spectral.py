"""Smooth functions on graphs and kernels of them, against dense decompositions."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import expm
from scipy.optimize import minimize
from sklearn.datasets import make_swiss_roll
from sklearn.exceptions import ConvergenceWarning
from sklearn.manifold import Isomap, LocallyLinearEmbedding

from nearkin.spaces import graph as graphs
from nearkin.spaces.feature_space import LocalExtension
from nearkin.spaces.graph import (
    SPECTRAL_KERNELS,
    diffusion,
    eigenmaps,
    improved_order_alignment,
    isomap_coordinates,
    iterate_eigenvectors,
    laplacian,
    lle_coordinates,
    maximal_alignment,
    neighbor_graph,
    ordered_alignment,
    smoothest_functions,
)
from nearkin.spaces.kernels import Kernel
from nearkin.spaces.landmarks import KernelLandmarks
from nearkin.spaces.linalg import fix_signs
from tests.cases import each


def slow_eigenvalues(W, normalized):
    W = np.asarray(W.toarray() if sp.issparse(W) else W)
    degree = W.sum(axis=1)
    L = np.diag(degree) - W
    if normalized:
        root = np.array([1 / np.sqrt(d) if d > 0 else 0.0 for d in degree])
        L = root[:, None] * L * root
    return np.linalg.eigvalsh(L)


def path(n):
    return sp.diags_array([np.ones(n - 1)] * 2, offsets=(-1, 1))


def cycle(n):
    return sp.csr_array(path(n) + sp.coo_array(([1, 1], ([0, n - 1], [n - 1, 0])), shape=(n, n)))


def assert_eigenpairs(W, values, V, *, normalized=False, tol=1e-9):
    """Orthonormal, in order, with signs fixed, and eigenpairs up to a share of the last value."""
    assert_allclose(V.T @ V, np.eye(V.shape[1]), atol=1e-10)
    assert (np.diff(values) >= -1e-12).all()
    assert (values >= 0).all()
    assert_array_equal(V, fix_signs(V))
    L = laplacian(W, normalized=normalized)
    residuals = np.linalg.norm(L @ V - V * values, axis=0)
    assert residuals.max() <= tol * max(values[-1], 1e-3 * L.diagonal().max())


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(1, 45), st.booleans(), st.booleans())
def test_small_graphs_agree_with_a_dense_decomposition(seed, k, r, mutual, normalized):
    X = np.random.default_rng(seed).standard_normal((40, 2))
    W = neighbor_graph(X, k, weight="heat", mutual=mutual)
    values, V = smoothest_functions(W, r, normalized=normalized)
    assert V.shape == (40, min(r, 40))
    assert_allclose(values, slow_eigenvalues(W, normalized)[:r], atol=1e-10)
    assert_eigenpairs(W, values, V, normalized=normalized)


@each("n", [30, 1600])
def test_path_in_closed_form(n):
    values, V = smoothest_functions(path(n), 6, random_state=0, tol=1e-7)
    j = np.arange(6)
    assert_allclose(values, 2 - 2 * np.cos(np.pi * j / n), rtol=1e-6, atol=1e-12)
    expected = np.cos(np.pi * j * (np.arange(n)[:, None] + 0.5) / n)
    expected /= np.linalg.norm(expected, axis=0)
    assert_allclose(np.abs((expected * V).sum(axis=0)), 1, atol=1e-8)
    # A cycle has each value twice.
    values, V = smoothest_functions(cycle(n), 7, random_state=0, tol=1e-7)
    j = np.array([0, 1, 1, 2, 2, 3, 3])
    assert_allclose(values, 2 - 2 * np.cos(2 * np.pi * j / n), rtol=1e-6, atol=1e-12)
    assert_allclose(V.T @ V, np.eye(7), atol=1e-10)


def curved_rows(n, seed=0):
    return make_swiss_roll(n, noise=0.0, random_state=seed)[0]


def groups_of_rows(sizes, seed=0):
    """Far apart from each other: as many components."""
    rng = np.random.default_rng(seed)
    return np.concatenate(
        [rng.standard_normal((size, 3)) + 1000 * i for i, size in enumerate(sizes)]
    )


def star_and_curve():
    W = neighbor_graph(curved_rows(800), 5).tolil()
    for j in range(2, 800, 3):
        W[0, j] = W[j, 0] = 1
    return W.tocsr()


LARGE_GRAPHS = {
    "curved": lambda: neighbor_graph(curved_rows(800), 8),
    "weighted": lambda: neighbor_graph(curved_rows(800), 8, weight="heat"),
    "in clusters": lambda: neighbor_graph(
        np.random.default_rng(0).standard_normal((800, 30))
        + 3 * np.repeat(np.random.default_rng(1).standard_normal((10, 30)), 80, axis=0),
        8,
    ),
    "in parts": lambda: neighbor_graph(groups_of_rows([480, 200, 100, 8, 6, 4, 2]), 3),
    "in crumbs": lambda: neighbor_graph(curved_rows(800), 2, mutual=True),
    "with a hub": star_and_curve,
}


@each(("name", "normalized"), [(name, i % 2 == 1) for i, name in enumerate(LARGE_GRAPHS)])
def test_iteration_agrees_with_a_full_decomposition(name, normalized, monkeypatch):
    """Which graphs of so few rows need not: the limit is lowered for them."""
    iterated = []

    def counted(*given):
        iterated.append(1)
        return iterate_eigenvectors(*given)

    monkeypatch.setattr(graphs, "iterate_eigenvectors", counted)
    monkeypatch.setattr(graphs, "FULL_EIGH_ROWS", 100)
    W = LARGE_GRAPHS[name]()
    n_components = sp.csgraph.connected_components(W)[0]
    r = n_components + 12
    found, V = smoothest_functions(W, r, normalized=normalized, random_state=0, tol=1e-6)
    assert_eigenpairs(W, found, V, normalized=normalized, tol=1e-5)
    monkeypatch.setattr(graphs, "FULL_EIGH_ROWS", 10**6)
    expected, U = smoothest_functions(W, r, normalized=normalized)
    assert len(iterated) == 1
    assert_array_equal(found[:n_components], 0)
    assert_allclose(found, expected, rtol=1e-6, atol=1e-12)
    # The same spaces, whatever the basis within each multiple eigenvalue.
    complete = expected < expected[-1] * (1 - 1e-3)
    assert_allclose(np.linalg.norm(U.T @ V[:, complete], axis=0), 1, atol=1e-5)


def test_many_small_components_at_once():
    triangles = sp.block_diag([sp.csr_array(1 - np.eye(3))] * 1000, format="csr")
    values, V = smoothest_functions(triangles, 1010, random_state=0)
    assert_allclose(values, [0] * 1000 + [3] * 10)
    assert_allclose(V.T @ V, np.eye(1010), atol=1e-10)


@each("normalized", [False, True])
def test_null_vectors_are_indicators_from_the_largest_component_down(normalized):
    parts = [np.ones((2, 2)) - np.eye(2), path(5), np.zeros((1, 1)), cycle(3)]
    W = sp.block_diag([sp.csr_array(part) for part in parts])
    _, V = smoothest_functions(W, 4, normalized=normalized)
    supports = [np.flatnonzero(v).tolist() for v in V.T]
    assert supports == [[2, 3, 4, 5, 6], [8, 9, 10], [0, 1], [7]]
    for size, v in zip([5, 3, 2, 1], V.T, strict=True):
        root = np.sqrt([1, 2, 2, 2, 1]) if normalized and size == 5 else np.ones(size)
        assert_allclose(v[v != 0], root / np.linalg.norm(root))
    values, few = smoothest_functions(W, 2, normalized=normalized)
    assert_array_equal(values, 0)
    assert_array_equal(few, V[:, :2])


@pytest.fixture(scope="module")
def curve():
    return neighbor_graph(curved_rows(2000), 8)


def test_isolated_points_take_no_part_in_other_vectors(curve):
    padded = sp.block_diag([sp.csr_array((3, 3)), sp.csr_array(curve)], format="csr")
    values, V = smoothest_functions(padded, 8, random_state=0)
    alone, U = smoothest_functions(curve, 5, random_state=0)
    assert_array_equal(V[:3, 4:], 0)
    assert_array_equal(values[4:], alone[1:])
    assert_array_equal(V[3:, 4:], U[:, 1:])


def test_the_same_seed_gives_the_same_and_another_nearly_so(curve):
    (first, V), (again, U), (other, _) = (
        smoothest_functions(curve, 8, random_state=seed) for seed in (0, 0, 1)
    )
    assert_array_equal(first, again)
    assert_array_equal(V, U)
    assert_allclose(first, other, rtol=1e-6)


def test_weights_of_any_size_and_index_type_do(curve):
    W, (values, V) = curve, smoothest_functions(curve, 6, random_state=0)
    places = W.indices.astype(np.int64), W.indptr.astype(np.int64)
    scaled = sp.csr_array((1e-9 * W.data, *places), shape=W.shape)
    found, U = smoothest_functions(scaled, 6, random_state=0)
    assert_allclose(found, 1e-9 * values, rtol=1e-6, atol=1e-20)
    assert_allclose(np.abs((V * U).sum(axis=0)), 1, atol=1e-6)


def test_parts_joined_by_next_to_nothing():
    parts = [neighbor_graph(curved_rows(1000, seed), 8) for seed in range(3)]
    W = sp.block_diag([sp.csr_array(part) for part in parts], format="lil")
    for i, j in [(0, 1000), (1000, 2000)]:
        W[i, j] = W[j, i] = 1e-10
    values, V = smoothest_functions(W, 5, random_state=0)
    assert_allclose(values[:3], 0, atol=1e-12)
    assert values[3] > 1e-4
    indicators = np.repeat(np.eye(3), 1000, axis=0) / np.sqrt(1000)
    assert_allclose(spans(indicators, V[:, :3]), 1, atol=1e-6)
    assert_eigenpairs(W, values, V, tol=2e-4)


def test_what_did_not_converge_is_told(curve, monkeypatch):
    monkeypatch.setattr(graphs, "_MOST_ITERATIONS", 1)
    with pytest.warns(ConvergenceWarning, match="residuals up to .* after 1 iterations"):
        smoothest_functions(curve, 6, random_state=0)


@each(
    "ask",
    [
        lambda r: smoothest_functions(path(4), r),
        lambda r: lle_coordinates(np.eye(4), 2, r),
        lambda r: isomap_coordinates(np.eye(4), 2, r),
    ],
)
def test_at_least_one_vector(ask):
    with pytest.raises(ValueError, match="n_vectors must be at least 1, got 0"):
        ask(0)
    with pytest.raises(ValueError, match="W must be symmetric"):
        smoothest_functions([[0, 1], [0, 0]], 1)


def test_eigenvectors_extend_to_new_points():
    rng = np.random.default_rng(0)
    t = np.sort(rng.uniform(4, 14, 1500))
    X = np.column_stack([t * np.cos(t), t * np.sin(t)]) / 10
    X += 0.001 * rng.standard_normal(X.shape)
    held_out = np.arange(len(X)) % 5 == 2
    _, all_vectors = smoothest_functions(neighbor_graph(X, 10), 5)
    _, V = smoothest_functions(neighbor_graph(X[~held_out], 10), 5)
    extension = LocalExtension(KernelLandmarks(Kernel("linear"), X[~held_out]), 5)
    extended = extension.embed(X[held_out], V)
    for j in range(1, 5):
        correlation = np.corrcoef(extended[:, j], all_vectors[held_out, j])[0, 1]
        assert abs(correlation) > 0.99


each_method = each("coordinates", [lle_coordinates, isomap_coordinates])


@each_method
@each("dtype", [np.float64, np.float32])
def test_coordinates_have_the_form_of_eigenvectors(coordinates, dtype):
    roughness, V = coordinates(curved_rows(400).astype(dtype), 10, 6)
    assert_allclose(V.T @ V, np.eye(6), atol=1e-6)
    assert_allclose(V[:, 0], 400**-0.5)
    assert roughness[0] == 0
    assert (np.diff(roughness) > 0).all()
    assert (V[np.abs(V).argmax(axis=0), np.arange(6)] > 0).all()


def spans(U, V):
    """Cosines of the angles between two spaces."""
    return np.linalg.svd(np.linalg.qr(U)[0].T @ np.linalg.qr(V)[0])[1]


def test_lle_is_that_of_scikit_learn():
    X = curved_rows(300)
    peer = LocallyLinearEmbedding(
        n_neighbors=10, n_components=3, eigen_solver="dense", neighbors_algorithm="brute"
    )
    roughness, V = lle_coordinates(X, 10, 4)
    assert_allclose(spans(peer.fit_transform(X), V[:, 1:]), 1, atol=1e-6)
    assert_allclose(roughness.sum(), peer.reconstruction_error_, rtol=1e-6)


def test_isomap_is_that_of_scikit_learn():
    X = curved_rows(300)
    peer = Isomap(n_neighbors=10, n_components=3, neighbors_algorithm="brute").fit(X)
    roughness, V = isomap_coordinates(X, 10, 4)
    unit = peer.embedding_ / np.linalg.norm(peer.embedding_, axis=0)
    assert_allclose(np.abs(unit), np.abs(V[:, 1:]), atol=1e-6)
    variances = (peer.embedding_**2).sum(axis=0)
    assert_allclose(roughness[1:], variances[0] / variances, rtol=1e-6)


@each_method
def test_parts_that_hang_loose_are_told_in_our_words(coordinates):
    X = groups_of_rows([30, 20])
    with pytest.warns(UserWarning, match="falls into 2 parts") as caught:
        _, V = coordinates(X, 5, 4)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert_allclose(V.T @ V, np.eye(4), atol=1e-8)


@each_method
def test_coordinates_of_few_points_and_of_duplicates(coordinates):
    for n, r in [(1, 3), (2, 5), (4, 9)]:
        roughness, V = coordinates(np.random.default_rng(n).standard_normal((n, 3)), 10, r)
        assert len(roughness) == V.shape[1] <= n
        assert_allclose(V.T @ V, np.eye(V.shape[1]), atol=1e-8)
    roughness, V = coordinates(np.ones((6, 2)), 10, 3)
    assert np.isfinite(V).all()
    assert roughness[0] == 0


@pytest.fixture(scope="module")
def graph():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 12)
    X = rng.standard_normal((36, 3)) + 2 * np.eye(3)[y]
    W = neighbor_graph(X, 6)
    classes = np.where(rng.random(36) < 0.5, y, -1)
    return W, *smoothest_functions(W, 8), classes


def alignment(V, weights, classes):
    known = classes >= 0
    K = (V[known] * weights) @ V[known].T
    n_classes = len(np.unique(classes[known]))
    T = np.where(classes[known][:, None] == classes[known], 1, -1 / (n_classes - 1))
    return (K * T).sum() / np.linalg.norm(K) / np.linalg.norm(T)


def best_alignment(V, classes, weights_of):
    """The best that a general solver finds from three starts, for weights of squares."""
    rng = np.random.default_rng(1)
    starts = [rng.random(8) for _ in range(3)]

    def loss(roots):
        return -alignment(V, weights_of(roots**2) + 1e-12, classes)

    return max(-minimize(loss, start).fun for start in starts)


def test_diffusion_is_the_matrix_exponential(graph):
    W, *_ = graph
    values, V = smoothest_functions(W, 36)
    weights = diffusion(values, V, np.full(36, -1), time=0.7)
    assert_allclose((V * weights) @ V.T, expm(-0.7 * laplacian(W).toarray()), atol=1e-10)


def test_eigenmaps_leaves_out_what_is_constant(graph):
    _, values, V, classes = graph
    assert eigenmaps(values, V, classes).tolist() == [0, 1, 1, 1, 1, 1, 1, 1]


def test_ordered_weights_decrease_and_no_others_of_that_kind_align_better(graph):
    _, values, V, classes = graph
    weights = ordered_alignment(values, V, classes)
    assert (np.diff(weights) <= 1e-12).all()
    assert (weights >= 0).all()
    decreasing = best_alignment(V, classes, lambda increments: np.cumsum(increments[::-1])[::-1])
    assert alignment(V, weights, classes) >= decreasing - 1e-7


def test_the_improved_order_is_that_of_all_but_the_constant_function(graph):
    _, values, V, classes = graph
    weights = improved_order_alignment(values, V, classes)
    assert (np.diff(weights[1:]) <= 1e-12).all()
    assert (weights >= 0).all()
    assert weights[0] < weights[1]  # which plain order forbids
    found = alignment(V, weights, classes)
    assert found > alignment(V, ordered_alignment(values, V, classes), classes)
    improved = best_alignment(V, classes, lambda a: np.append(a[0], np.cumsum(a[:0:-1])[::-1]))
    assert found >= improved - 1e-7


def test_without_the_order_alignment_can_only_gain(graph):
    _, values, V, classes = graph
    free = maximal_alignment(values, V, classes)
    assert (free >= 0).all()
    ordered = ordered_alignment(values, V, classes)
    assert alignment(V, free, classes) >= alignment(V, ordered, classes) - 1e-12
    rng = np.random.default_rng(2)
    assert all(
        alignment(V, free, classes) >= alignment(V, rng.random(8), classes) for _ in range(50)
    )


@each("name", SPECTRAL_KERNELS)
def test_scale_of_the_vectors_does_not_decide(graph, name):
    _, values, V, classes = graph
    once = SPECTRAL_KERNELS[name](values, V, classes)
    again = SPECTRAL_KERNELS[name](values, 1e-4 * V, classes)
    assert_allclose(again / again.max(), once / once.max(), atol=1e-9)


def test_one_class_cannot_be_aligned_with(graph):
    _, values, V, _ = graph
    with pytest.raises(ValueError, match="two known classes"):
        ordered_alignment(values, V, np.zeros(36, dtype=int))
