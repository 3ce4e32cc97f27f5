import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from nearkin.spaces.neighbors import find_nearest_others
from nearkin.studio import metric
from nearkin.studio.metric import (
    EPOCHS,
    average_neighbors,
    closeness,
    edges_between,
    run_epochs,
)
from tests.cases import each


def clouds(n, n_clouds, seed=0):
    """Clouds far apart, and the cloud of each row."""
    rng = np.random.RandomState(seed)
    cloud = np.arange(n) % n_clouds
    return 8 * rng.normal(size=(n_clouds, 6))[cloud] + rng.normal(size=(n, 6)), cloud


def test_closeness_is_that_of_a_slow_version():
    distances = np.sort(np.random.RandomState(0).rand(20, 5), axis=1)
    distances[3, :2] = 0.0
    for row, found in zip(distances, closeness(distances), strict=True):
        nearest = min(d for d in row if d > 0)
        beyond = [max(d - nearest, 0) for d in row]
        width = 0.7 * sum(beyond) / len(beyond)
        assert_allclose(found, [np.exp(-b / width) for b in beyond])


def test_edges_are_the_same_from_both_ends_and_those_of_either():
    Z, _ = clouds(60, 3)
    starts, ends, weights = edges_between(Z, find_nearest_others(Z, 4))
    W = np.zeros((60, 60))
    for i in range(60):
        W[i, ends[starts[i] : starts[i + 1]]] = weights[starts[i] : starts[i + 1]]
    assert_allclose(W, W.T, rtol=1e-6)
    own = np.zeros((60, 60))
    distances = np.linalg.norm(Z[:, None] - Z, axis=2) + np.diag(np.full(60, np.inf))
    for i, row in enumerate(distances):
        near = np.argsort(row)[:4]
        own[i, near] = closeness(row[near][None])[0]
    assert_allclose(W, own + own.T - own * own.T, atol=1e-6)


def test_steps_go_down_the_gradient():
    """Of one edge and many that repel: the mean of the moves is that of the closed form."""
    places = np.array([[0.0, 0.0], [1.5, 0.0], [0.0, 2.0]], dtype=np.float32)
    edges = metric.Edges(
        np.array([0, 1, 1, 1], dtype=np.int32), np.array([1], dtype=np.int32), np.ones(1, "f4")
    )
    a, epoch = 1.6, EPOCHS - 1  # where steps are short, so that what is drawn first changes little
    step = 1 - epoch / EPOCHS
    moves = [run_epochs(places, edges, epoch, epoch + 1, seed) - places for seed in range(400)]
    away = places[0] - places[1]
    pull = -2 * a * away / (1 + a * away @ away)
    push = np.zeros(2)
    for j in (1, 2):
        apart = places[0] - places[j]
        squared = apart @ apart
        push += 5 / 3 * 2 * apart / ((1e-3 + squared) * (1 + a * squared))
    found = np.mean(moves, axis=0) / step
    assert_allclose(found[0], pull + push, atol=0.15)
    assert_allclose(found[1], -pull, atol=1e-3)
    assert_array_equal(found[2], 0)


def test_clouds_are_apart_and_epochs_may_be_taken_in_parts():
    Z, cloud = clouds(300, 6)
    edges = edges_between(Z, find_nearest_others(Z, 10))
    start = np.random.RandomState(0).normal(size=(300, 2)).astype(np.float32)
    places = run_epochs(start, edges, 0, EPOCHS, 7)
    in_parts = run_epochs(run_epochs(start, edges, 0, 100, 7), edges, 100, EPOCHS, 7)
    assert_array_equal(places, in_parts)
    assert not np.array_equal(places, run_epochs(start, edges, 0, EPOCHS, 8))
    apart = np.linalg.norm(places[:, None] - places, axis=2)
    np.fill_diagonal(apart, np.inf)
    assert (cloud[apart.argmin(axis=1)] == cloud).all()


@each("seed", [0, -1, 2**63])
def test_any_seed_will_do(seed):
    Z, _ = clouds(8, 2)
    found = run_epochs(
        np.zeros((8, 2), "f4") + Z[:, :2], edges_between(Z, find_nearest_others(Z, 7)), 0, 5, seed
    )
    assert np.isfinite(found).all()


def test_average_neighbors():
    layout = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 8.0]], dtype=np.float32)
    weights = np.array([[3.0, 1.0], [0.5, 0.5]])
    found = average_neighbors(layout, np.array([[0, 1], [2, 2]]), weights)
    assert_allclose(found, [[1, 0], [0, 8]])
