import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from nearkin.spaces.feature_space import LocalExtension
from nearkin.spaces.kernels import Kernel
from nearkin.spaces.landmarks import KernelLandmarks
from nearkin.spaces.local_weights import NearLandmarks, Preparation
from tests.cases import each

each_type = each("dtype", [np.float32, np.float64])


def near(landmarks, n_neighbors=5, saturating=True):
    preparation = Preparation(np.zeros(landmarks.shape[1]), 0.5)
    return NearLandmarks(landmarks, preparation, n_neighbors, saturating)


def in_clusters(n, d=6):
    """Rows of few possible values, so that many distances are equal, around a dozen places."""
    rng = np.random.RandomState(0)
    places = rng.randint(-40, 41, (12, d))
    return (places[rng.randint(12, size=n)] + rng.randint(-2, 3, (n, d))).astype(np.float64)


def nearest_by_sorting(X, landmarks, k):
    squared = ((X[:, None] - landmarks[None]) ** 2).sum(axis=2)
    return np.sort(np.argsort(squared, axis=1, kind="stable")[:, :k], axis=1)


@each(
    ("dtype", "by_pivots", "n_neighbors"),
    [
        *((np.float64, False, 1), (np.float32, False, 12)),
        *((np.float64, True, 12), (np.float32, True, 1), (np.float64, True, 5)),
    ],
)
def test_nearest_are_found_and_of_those_equally_far_the_first(dtype, by_pivots, n_neighbors):
    rows = in_clusters(550)
    X, landmarks = rows[:250], rows[250:]
    neighbors, weights = near(landmarks, n_neighbors).weights(X.astype(dtype), by_pivots)
    assert_array_equal(neighbors, nearest_by_sorting(X, landmarks, n_neighbors))
    assert_allclose(weights.sum(axis=1), 1, atol=1e-5)


@each_type
@each("saturating", [False, True])
def test_what_pivots_leave_out_changes_nothing(dtype, saturating):
    rng = np.random.RandomState(0)
    X = (in_clusters(3000) + rng.standard_normal((3000, 6))).astype(dtype)
    X[7] = 1e12  # far from all of them
    search = near(X[::10], saturating=saturating)
    plain, by_pivots = search.weights(X, False), search.weights(X, True)
    assert_array_equal(by_pivots[0], plain[0])
    assert_array_equal(by_pivots[1], plain[1])


def test_pivots_pay_where_rows_lie_in_clusters_and_not_for_noise():
    rng = np.random.RandomState(0)
    noise, clusters = rng.standard_normal((20_000, 30)), in_clusters(20_000)
    assert near(clusters[::50]).pivots_pay(clusters)
    assert not near(noise[::50]).pivots_pay(noise)
    assert not near(clusters[::50]).pivots_pay(clusters[:1000])  # too few to be worth while


def test_landmarks_that_are_all_the_same_have_pivots():
    X = np.concatenate([np.ones((300, 2)), np.zeros((5, 2))])
    neighbors, weights = near(X[:300]).weights(X, True)
    assert_array_equal(neighbors, np.tile(np.arange(5), (305, 1)))
    assert_allclose(weights, 0.2)


@each("name", ["rbf", "linear", "cosine"])
def test_rows_of_a_large_array_are_embedded_as_the_few_are(name):
    X = in_clusters(20_500).astype(np.float32) + 0.25
    X += np.random.RandomState(0).uniform(-0.2, 0.2, X.shape).astype(np.float32)
    landmarks, coordinates = X[::70], np.random.RandomState(1).standard_normal((293, 3))
    extension = LocalExtension(KernelLandmarks(Kernel(name, gamma=0.01), landmarks), 5)
    few = np.concatenate([extension.embed(part, coordinates) for part in np.split(X, 50)])
    assert_allclose(extension.embed(X, coordinates), few, atol=1e-6)
