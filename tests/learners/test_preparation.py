"""Scales of columns and numbers of axes, decided by pairs."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from nearkin import Pairs
from nearkin.learners.selection import SeenRows, choose_axes, compare_after_change
from nearkin.rows.scaling import choose_scales, column_scales
from nearkin.scores import pair_auc


@pytest.fixture(scope="module")
def classes():
    """Two classes that the second column tells apart, and pairs of them."""
    rng = np.random.RandomState(0)
    y = rng.randint(2, size=300)
    X = np.column_stack([rng.normal(size=300), 3 * y + rng.normal(size=300)])
    return X, y, Pairs.from_labels(y, 100, random_state=0)


def test_a_change_is_judged_by_plain_distances_of_all_pairs(classes):
    X, _, pairs = classes
    found = compare_after_change(lambda rows: rows[:, :1], X, pairs)
    assert_allclose(found.auc, pair_auc(X[:, :1], pairs=pairs))
    assert_allclose(found.other_auc, pair_auc(X, pairs=pairs))
    assert found.t < -3


def test_differing_units_are_brought_to_one_scale_and_named(classes):
    wide = classes[0] * [1e6, 1]
    scales, why = choose_scales(wide, ["grams", "length"])
    assert_array_equal(scales, column_scales(wide))
    assert "column 'grams' reaches" in why
    assert "as far as column 'length'" in why
    assert "column 0" in choose_scales(wide)[1]
    assert_allclose(choose_scales(sparse.csr_array(wide))[0], scales)


def test_equal_units_are_left_as_they_are(classes):
    assert choose_scales(classes[0]) == (None, "")
    assert choose_scales(classes[0] * [20, 1]) == (None, "")


def test_few_axes_are_taken_unless_they_lose_what_pairs_tell_of(classes):
    X, _, pairs = classes
    rng = np.random.RandomState(1)
    noise = rng.normal(size=(300, 60))
    one_large_axis = np.column_stack([5 * X[:, 1], noise])
    # Two rows of a thing agree in many columns, none of which is wide.
    things = rng.normal(size=(150, 60))
    many_small_axes = np.hstack([2 * noise[:, :6], np.repeat(things, 2, axis=0)])
    twins = Pairs([(i, i + 1) for i in range(0, 100, 2)], [(i, i + 2) for i in range(100, 200, 2)])
    for rows, told, kept in ((one_large_axis, pairs, True), (many_small_axes, twins, False)):
        whole = SeenRows(rows, 300, 0)
        assert whole.reduction is None
        found = choose_axes(rows, 5, told, whole, 0)
        assert (found is whole) != kept
        assert found.rows.shape[1] == (5 if kept else rows.shape[1])
    assert choose_axes(rows, 5, Pairs(), whole, 0).rows.shape[1] == 5
