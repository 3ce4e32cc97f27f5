from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from nearkin import scores
from nearkin.datasets import make_records, make_three_normal, make_xor
from nearkin.errors import InputError
from tests.cases import each

makers = each("make", [make_xor, make_three_normal])


@makers
def test_same_seed_same_data_other_seed_other_data(make):
    X, y = make(50, random_state=3)
    again, labels = make(50, random_state=3)
    assert_array_equal(X, again)
    assert_array_equal(y, labels)
    assert not np.array_equal(make(50, random_state=4)[0], X)


@each(
    ("make", "n_samples", "counts"),
    [(make_xor, 400, [200, 200]), (make_three_normal, 600, [200, 200, 200])],
)
def test_classes_are_equally_large_and_mixed(make, n_samples, counts):
    X, y = make(random_state=0)
    assert X.shape == (n_samples, 2)
    assert np.bincount(y).tolist() == counts
    assert (np.diff(y) != 0).sum() > n_samples / 4


@makers
@each("n_samples", [1, 7, 101])
def test_odd_numbers_are_shared_as_evenly_as_possible(make, n_samples):
    X, y = make(n_samples, random_state=0)
    assert X.shape == (n_samples, 2)
    clouds = y if make is make_three_normal else 2 * y + (X[:, 0] > 0)
    counts = np.bincount(clouds, minlength=3 if make is make_three_normal else 4)
    assert counts.max() - counts.min() <= 1


def test_xor_puts_opposite_corners_in_one_class():
    X, y = make_xor(400, noise=0.1, random_state=0)
    assert_array_equal(y, (X[:, 0] * X[:, 1] < 0).astype(int))
    assert_allclose(np.abs(X).mean(axis=0), 1, atol=0.02)
    assert_allclose((X - np.sign(X)).std(axis=0), 0.1, rtol=0.1)


def test_xor_has_the_separability_that_the_paper_reports():
    found = np.mean([scores.separability(*make_xor(random_state=seed)) for seed in range(5)])
    assert_allclose(found, 1.246, atol=0.01)


def test_three_normal_classes_differ_along_the_first_axis_only():
    X, y = make_three_normal(3000, n_features=4, random_state=0)
    means = np.array([X[y == label].mean(axis=0) for label in range(3)])
    # Means of 1000 numbers: four standard errors, the second axis six times as wide.
    assert_allclose(means[:, 0], [-3, 0, 3], atol=0.13)
    assert_allclose(means[:, 1], 0, atol=0.76)
    assert_allclose(means[:, 2:], 0, atol=0.13)
    assert_allclose((X - means[y]).std(axis=0), [1, 6, 1, 1], rtol=0.05)


def test_three_normal_noise_is_that_of_the_first_axis():
    X, y = make_three_normal(3000, noise=0.2, random_state=0)
    assert_allclose((X[:, 0] - 3 * (y - 1)).std(), 0.2, rtol=0.05)


def test_three_normal_needs_two_features():
    with pytest.raises(ValueError, match=r"n_features=1.* at least 2"):
        make_three_normal(n_features=1)


def test_copies_differ_a_little_and_the_seed_repeats_them():
    table, person = make_records(2000, duplicates=0.4, random_state=1)
    again, _ = make_records(2000, duplicates=0.4, random_state=1)
    assert all(np.array_equal(table[name], again[name]) for name in table)
    assert len(person) == 2000
    assert len(set(person.tolist())) == 1200
    assert np.bincount(person).max() <= 4
    order = np.argsort(person, kind="stable")
    pairs = [(i, j) for i, j in pairwise(order) if person[i] == person[j]]
    equal = np.mean([[table[name][i] == table[name][j] for name in table] for i, j in pairs])
    assert 0.5 < equal < 0.95


def test_no_mistakes_and_no_gaps_leave_copies_as_they_are():
    table, person = make_records(500, mistakes=0, missing=0, random_state=0)
    for values in table.values():
        assert all(len(set(values[person == who])) == 1 for who in set(person.tolist()))
        assert None not in values


@each("options", [{"duplicates": 1}, {"missing": -0.1}, {"n_records": 0}])
def test_shares_that_cannot_be(options):
    with pytest.raises(InputError):
        make_records(**options)
