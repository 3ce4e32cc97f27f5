"""Pictures that follow one another, turned so that points move little."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import orthogonal_procrustes

from nearkin import KernelBeta
from nearkin.datasets import make_xor
from nearkin.studio.lesson import Lesson
from nearkin.studio.metric import scale_to_unit_size, turn_towards
from nearkin.studio.records import records_of
from tests.cases import each


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
