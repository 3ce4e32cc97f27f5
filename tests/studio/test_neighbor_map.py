import numpy as np
from numpy.testing import assert_array_equal
from sklearn.neighbors import NearestNeighbors

from nearkin.datasets import make_xor
from nearkin.studio import metric
from nearkin.studio.lesson import Lesson
from nearkin.studio.metric import PlainView, lay_out, scale_to_unit_size
from nearkin.studio.records import records_of
from tests.cases import each


def last(pictures):
    """The map at the end of the way."""
    *_, found = pictures
    return found


def begun(X, seed=0):
    view = PlainView(np.asarray(X, dtype=float))
    return last(lay_out(view, scale_to_unit_size(view.coordinates()), None, seed))


def clouds(n, n_clouds=8):
    rng = np.random.RandomState(1)
    cloud = np.arange(n) % n_clouds
    return 4 * rng.normal(size=(n_clouds, 10))[cloud] + rng.normal(size=(n, 10)), cloud


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
