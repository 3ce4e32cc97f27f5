"""The plane that rows are shown in: axes, and maps of neighbours."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import orthogonal_procrustes
from sklearn.neighbors import NearestNeighbors

from nearkin import KernelBeta
from nearkin.datasets import make_xor
from nearkin.spaces.neighbors import find_nearest_others
from nearkin.studio import metric
from nearkin.studio.lesson import Lesson
from nearkin.studio.metric import (
    EPOCHS,
    PlainView,
    average_neighbors,
    closeness,
    edges_between,
    lay_out,
    run_epochs,
    scale_to_unit_size,
    turn_towards,
)
from nearkin.studio.records import records_of
from tests.cases import each


def clouds(n, n_clouds=8):
    """Clouds far apart, and the cloud of each row."""
    rng = np.random.RandomState(1)
    cloud = np.arange(n) % n_clouds
    return 4 * rng.normal(size=(n_clouds, 10))[cloud] + rng.normal(size=(n, 10)), cloud


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


def test_middles():
    places = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 8.0]], dtype=np.float32)
    found = average_neighbors(
        places, np.array([[0, 1], [2, 2]]), np.array([[3.0, 1.0], [0.5, 0.5]])
    )
    assert_allclose(found, [[1, 0], [0, 8]])


def last(pictures):
    """The map at the end of the way."""
    *_, found = pictures
    return found


def begun(X, seed=0):
    view = PlainView(np.asarray(X, dtype=float))
    return last(lay_out(view, scale_to_unit_size(view.coordinates()), None, seed))


def accuracy(places, labels):
    """Share of the rows that most of the 10 nearest in the plane are like."""
    near = NearestNeighbors(n_neighbors=10).fit(places).kneighbors(return_distance=False)
    return np.mean(np.array([np.bincount(labels[some]).argmax() for some in near]) == labels)


def test_the_same_seed_gives_the_same_map_and_another_a_like_one():
    X, cloud = clouds(400)
    assert_array_equal(begun(X).layout, begun(X).layout)
    for seed in (0, 1):
        assert accuracy(begun(X, seed).layout, cloud) > 0.98
    assert accuracy(PlainView(X).coordinates(), cloud) < 0.9


@each(
    "X",
    [
        np.arange(4.0).reshape(2, 2),
        np.arange(6.0).reshape(3, 2),
        np.arange(10.0)[:, None],
        np.zeros((50, 3)),
        np.repeat(np.arange(3.0), 40)[:, None],
        np.r_[np.ones((60, 2)), [[1e150, -1e150]]],
        1e-150 * np.random.RandomState(0).normal(size=(40, 2)),
        np.c_[np.ones(30), np.random.RandomState(0).normal(size=30)],
    ],
    ids=["two", "three", "ten on a line", "constant", "duplicates", "far", "tiny", "one varies"],
)
def test_finite_rows_have_finite_places(X):
    found = begun(X)
    assert found.share == 1.0
    assert found.layout.shape == (len(X), 2)
    assert np.isfinite(found.layout).all()


def test_a_map_that_goes_on_stays_where_it_was():
    X, cloud = clouds(400)
    first = begun(X)
    moved = PlainView(X * np.r_[np.full(5, 1.05), np.ones(5)])
    steps = list(lay_out(moved, nowhere(first), first, 0))
    size = first.layout.std()
    assert np.median(np.linalg.norm(steps[0].layout - first.layout, axis=1)) < 0.1 * size
    assert np.median(np.linalg.norm(steps[-1].layout - first.layout, axis=1)) < 0.2 * size
    assert accuracy(steps[-1].layout, cloud) > 0.98


def nowhere(found):
    """A plane that is not to be looked at."""
    return np.random.RandomState(3).normal(size=found.layout.shape)


def test_a_map_that_was_not_finished_is_gone_on_with_where_it_ended():
    X, _ = clouds(300)
    view, plane = PlainView(X), scale_to_unit_size(PlainView(X).coordinates())
    first = next(lay_out(view, plane, None, 0))
    assert first.share < 0.1
    assert_array_equal(last(lay_out(view, plane, first, 0)).layout, begun(X).layout)


def test_of_many_rows_a_sample_is_laid_out_and_the_others_put_among_it(monkeypatch):
    monkeypatch.setattr(metric, "_MOST_ROWS", 500)
    monkeypatch.setattr(metric, "_SAMPLE", 400)
    X, cloud = clouds(2000)
    first = begun(X)
    assert accuracy(first.layout, cloud) > 0.98
    assert first.among.near.shape == (1600, 3)
    # Whoever changes sides is among others at the end, not on the way.
    changed = X.copy()
    changed[:3] = X[[3, 4, 5]]
    pictures = list(lay_out(PlainView(changed), nowhere(first), first, 0))
    assert pictures[-1].share == 1.0
    assert all(one.share < 1 and one.among is first.among for one in pictures[:-1])
    cloud[:3] = cloud[[3, 4, 5]]
    assert accuracy(pictures[-1].layout, cloud) > 0.98


def test_a_lesson_arranges_what_it_has_learned_last():
    X, y = make_xor(200, random_state=0)
    lesson = Lesson(records_of(X))
    first = last(lesson.arrange())
    assert (first["version"], first["share"]) == (0, 1.0)
    # Nothing is learned from what one cannot tell: the map stays.
    lesson.answer(0, 1, None)
    lesson.place()
    [same] = lesson.arrange()
    assert same["version"] == 1
    assert_array_equal(same["coordinates"], first["coordinates"])
    lesson.answer(2, 3, bool(y[2] == y[3]))
    lesson.place()
    pictures = lesson.arrange()
    assert next(pictures)["version"] == 2
    # While it was at that, something else was learned.
    lesson.answer(4, 5, bool(y[4] == y[5]))
    lesson.place()
    assert list(pictures) == []
    assert last(lesson.arrange())["version"] == 3


# Pictures that follow one another, turned so that points move little


def points(seed=0, n=50):
    return scale_to_unit_size(np.random.RandomState(seed).standard_normal((n, 2)) * [3, 1])


def aligned(now, before):
    now = scale_to_unit_size(now)
    return now @ turn_towards(now, before)


@given(st.floats(0, 2 * np.pi), st.booleans(), st.floats(0.01, 100), st.integers(0, 1000))
def test_turns_reflections_shifts_and_sizes_are_undone(angle, mirrored, scale, seed):
    before = points(seed)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    turn[:, 0] *= -1 if mirrored else 1
    assert_allclose(aligned(scale * before @ turn + [5, -7], before), before, atol=1e-5)


def test_no_turn_brings_the_points_nearer():
    before, now = points(0), points(1)
    R, _ = orthogonal_procrustes(now, before)
    assert_allclose(aligned(now, before), now @ R, atol=1e-6)


def test_size_is_one():
    size = (scale_to_unit_size(1e6 + 3 * points()) ** 2).sum(axis=1).mean()
    assert size == pytest.approx(1)


@each("value", [0.0, 0.1, 1e9])
def test_equal_points(value):
    same = np.full((5, 2), value)
    assert not scale_to_unit_size(same).any()
    assert not aligned(same, points(n=5)).any()
    assert np.isfinite(aligned(points(n=5), np.zeros((5, 2)))).all()


@each("seed", range(4))
def test_undo_and_redo_bring_each_picture_back(seed):
    # Two axes of this metric vary alike, so that any turn of them would do.
    X, y = make_xor(80, random_state=seed)
    lesson = Lesson(records_of(X), learner=KernelBeta(random_state=0))
    seen = [lesson.place()["coordinates"]]
    for i, j in np.random.RandomState(seed).permutation(80)[:24].reshape(-1, 2).tolist():
        lesson.answer(i, j, bool(y[i] == y[j]))
        seen.append(lesson.place()["coordinates"])
    # Some at once, as when keys come faster than pictures.
    at = len(seen) - 1
    for n in (-1, -5, 3, -4, -2, 8):
        at += n
        for _ in range(abs(n)):
            lesson.undo() if n < 0 else lesson.redo()
        assert_array_equal(lesson.place()["coordinates"], seen[at])
