"""Mathematics of benchmarks/papers/lu2009_geometry_aware that the library has not."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import check_grad
from sklearn.datasets import make_blobs
from sklearn.metrics import euclidean_distances

from benchmarks.papers.lu2009_geometry_aware import coloured_mvu as mvu
from benchmarks.papers.lu2009_geometry_aware.learned_width import PublishedWidth, learned_width
from nearkin.solvers.logdet import divergence


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(60, centers=3, n_features=4, center_box=(-2, 2), random_state=0)


def test_no_other_width_and_size_are_nearer(blobs):
    squared = euclidean_distances(blobs[0][:12], squared=True)
    family = PublishedWidth(squared, gamma=0.05)
    noise = 0.2 * np.random.RandomState(0).randn(12, 12)
    B = np.eye(12) + noise @ noise.T
    K = family.coordinates @ B @ family.coordinates.T
    found = family.nearest_to(B)

    def distance(size, gamma):
        M = size * np.exp(-gamma * squared) + 1e-6 * size * np.eye(12)
        return divergence(K, M)

    best = distance(found.size, found.gamma)
    for factor in (0.9, 1.1):
        assert best < distance(factor * found.size, found.gamma)
        assert best < distance(found.size, factor * found.gamma)


def test_rows_that_were_learned_from_are_where_the_kernel_puts_them(blobs):
    X, y = blobs
    learned = learned_width(X[:20], y[:20], n_iter=3)
    family, R = learned.family, learned.components
    expected = euclidean_distances(family.coordinates @ R)
    assert_allclose(euclidean_distances(learned.transform(X[:20])), expected, atol=1e-4)


@pytest.fixture(scope="module")
def unfolding(blobs):
    X, y = blobs
    return mvu.Unfolding.of(X, y, 4, 10)


def objective(problem, Z):
    """Of an embedding, by its definition."""
    squared = ((Z[problem.first] - Z[problem.second]) ** 2).sum(axis=1)
    L = problem.members @ problem.members.T
    return np.trace(Z @ Z.T @ L) - mvu.PENALTY * np.mean((squared - problem.squared) ** 2)


def test_no_other_kernel_unfolds_better(unfolding):
    Q = unfolding.kernel()
    values, vectors = np.linalg.eigh(Q)
    assert values[0] > -1e-9
    R = vectors * np.sqrt(np.maximum(values, 0))
    best = objective(unfolding, unfolding.V @ R)
    rng = np.random.RandomState(0)
    for size in (1e-3, 1e-1, 1.0):
        others = [R + size * rng.randn(4, 4) for _ in range(20)]
        assert max(objective(unfolding, unfolding.V @ other) for other in others) < best + 1e-9


def test_refinement_follows_the_slope_uphill(unfolding):
    Z = np.random.RandomState(0).randn(60, 2)

    def value(flat):
        return unfolding.value_and_slope(flat.reshape(60, 2))[0]

    def slope(flat):
        return unfolding.value_and_slope(flat.reshape(60, 2))[1].ravel()

    assert_allclose(value(Z.ravel()), -objective(unfolding, Z))
    assert check_grad(value, slope, Z.ravel()) < 1e-4
    assert objective(unfolding, unfolding.refined(Z)) > objective(unfolding, Z)
