import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import expm
from scipy.optimize import minimize

from nearkin.spaces.graph import laplacian, neighbor_graph
from nearkin.spaces.spectral import (
    SPECTRAL_KERNELS,
    diffusion,
    eigenmaps,
    improved_order_alignment,
    maximal_alignment,
    ordered_alignment,
    smoothest_functions,
)
from tests.cases import each


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
    found = alignment(V, weights, classes)

    def loss(increments):
        return -alignment(V, np.cumsum(increments[::-1] ** 2)[::-1] + 1e-12, classes)

    rng = np.random.default_rng(1)
    others = [-minimize(loss, rng.random(8)).fun for _ in range(3)]
    assert found >= max(others) - 1e-7


def test_the_improved_order_is_that_of_all_but_the_constant_function(graph):
    _, values, V, classes = graph
    weights = improved_order_alignment(values, V, classes)
    assert (np.diff(weights[1:]) <= 1e-12).all()
    assert (weights >= 0).all()
    assert weights[0] < weights[1]  # which plain order forbids
    found = alignment(V, weights, classes)
    assert found > alignment(V, ordered_alignment(values, V, classes), classes)

    def loss(squares):
        ordered = np.cumsum(squares[:0:-1] ** 2)[::-1]
        return -alignment(V, np.append(squares[0] ** 2, ordered) + 1e-12, classes)

    rng = np.random.default_rng(1)
    others = [-minimize(loss, rng.random(8)).fun for _ in range(3)]
    assert found >= max(others) - 1e-7


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
