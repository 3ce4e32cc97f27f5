"""Marks of rows, by which rows are known again."""

from functools import reduce

import numpy as np
import pytest

from nearkin.cli.models import MOST_MARKS, add_marks, count_known, mark_rows


def smallest_marks(blocks):
    return reduce(add_marks, blocks, np.empty(0, dtype=np.uint32))


@pytest.fixture(scope="module")
def X():
    return np.random.default_rng(0).normal(size=(500, 3))


def test_a_mark_is_the_sum_of_products_that_it_is_said_to_be(X):
    factors = [int(f) for f in np.random.PCG64(7).random_raw(4)]
    bits = X[0].astype(np.float32).view(np.uint32).tolist()
    total = (factors[0] + sum(f * b for f, b in zip(factors[1:], bits, strict=True))) % 2**64
    assert mark_rows(X[:1]).tolist() == [total >> 32]


def test_rows_are_known_by_their_content(X):
    marks = smallest_marks([X[:200], X[200:300]])
    assert count_known(marks, X) == 300
    assert count_known(marks, X[300:]) == 0
    assert count_known(marks, X[:100].astype(np.float32)) == 100
    assert count_known(marks, np.asfortranarray(X)[::-1][:250]) == 50
    assert count_known(marks, X[:100] + 1e-3) == 0


def test_equal_rows_have_one_mark():
    assert len(smallest_marks([np.zeros((10, 2)), -np.zeros((10, 2))])) == 1


def test_columns_and_numbers_that_do_not_fit_are_told_apart():
    large = np.array([[1e300, 1.0], [1.0, 1e300], [0.0, 1.0], [1.0, 0.0]])
    assert len(set(mark_rows(large).tolist())) == 4


def test_of_many_rows_a_share_is_estimated():
    X = np.random.default_rng(0).normal(size=(5 * MOST_MARKS, 2))
    marks = smallest_marks(np.array_split(X, 7))
    assert len(marks) == MOST_MARKS
    assert marks.tolist() == np.unique(mark_rows(X))[:MOST_MARKS].tolist()
    new = np.random.default_rng(1).normal(size=(1000, 2))
    assert count_known(marks, np.concatenate([X[:1000], new])) == pytest.approx(1000, rel=0.2)
    assert count_known(marks, new) == 0
    unmarked = X[mark_rows(X) > marks[-1]][:5]
    assert count_known(marks, unmarked) is None
