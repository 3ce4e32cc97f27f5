import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.linalg import orthogonal_procrustes

from nearkin.studio.metric import aligned, of_unit_size
from tests.cases import each


def points(seed=0, n=50):
    return np.random.RandomState(seed).standard_normal((n, 2)) * [3, 1]


@given(st.floats(0, 2 * np.pi), st.booleans(), st.floats(0.01, 100), st.integers(0, 1000))
def test_turns_reflections_shifts_and_sizes_are_undone(angle, mirrored, scale, seed):
    before = aligned(points(seed), None)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    turn[:, 0] *= -1 if mirrored else 1
    moved = scale * before @ turn + [5, -7]
    assert_allclose(aligned(moved, before), before, atol=1e-5)


def test_no_turn_brings_the_points_nearer():
    before, now = aligned(points(0), None), points(1)
    R, _ = orthogonal_procrustes(of_unit_size(now), before)
    assert_allclose(aligned(now, before), of_unit_size(now) @ R, atol=1e-6)


def test_there_and_back_again_is_where_it_was():
    # Undo: the picture before, aligned to the picture after, which was aligned to it.
    before = aligned(points(0), None)
    between = aligned(points(0) + 0.5 * points(1), before)
    assert_allclose(aligned(points(0), between), before, atol=1e-6)


def test_size_is_one():
    size = (of_unit_size(1e6 + points()) ** 2).sum(axis=1).mean()
    assert size == pytest.approx(1)


@each("value", [0.0, 0.1, 1e9])
def test_equal_points(value):
    same = np.full((5, 2), value)
    assert not of_unit_size(same).any()
    assert not aligned(same, points(n=5)).any()
    assert np.isfinite(aligned(points(n=5), np.zeros((5, 2)))).all()


def test_it_is_small():
    assert aligned(points(), None).dtype == np.float32
