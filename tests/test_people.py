from itertools import pairwise

import numpy as np
import pytest

from nearkin.datasets import make_records
from nearkin.errors import InputError
from tests.cases import each


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
