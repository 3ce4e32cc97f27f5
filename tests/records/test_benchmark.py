from itertools import combinations

import numpy as np
import pytest

from benchmarks.records.judging import quality, quality_of_pairs
from benchmarks.records.rivals import Refused, _reason, by_plain_cosines, in_time
from nearkin import datasets


def test_pairs_of_groups_are_judged_as_the_groups_are():
    rng = np.random.RandomState(0)
    labels, entity = rng.randint(30, size=(2, 60))
    pairs = [(j, i) for i, j in combinations(range(60), 2) if labels[i] == labels[j]]
    assert quality_of_pairs(np.array(pairs), entity) == quality(labels, entity)


def test_no_pairs_at_all_are_never_wrong_and_find_nothing():
    found = quality_of_pairs(np.empty((0, 2), dtype=int), np.array([0, 0, 1]))
    assert (found["precision"], found["recall"], found["f1"]) == (1, 0, 0)


def test_the_plain_baseline_finds_copies_and_needs_answers_of_both_kinds():
    table, person = datasets.make_records(80, mistakes=0.5, random_state=0)
    i, j = np.triu_indices(80, 1)
    same = person[i] == person[j]
    asked = np.concatenate([np.flatnonzero(same)[:10], np.flatnonzero(~same)[:10]])
    pairs = np.column_stack([i, j])[asked]
    found = quality_of_pairs(by_plain_cosines(table, pairs, same[asked]), person)
    assert found["f1"] > 0.5
    with pytest.raises(Refused, match="one kind"):
        by_plain_cosines(table, pairs[:5], same[asked][:5])


def test_who_refuses_is_reported_with_the_reason():
    def refuse() -> dict[str, float]:
        raise Refused("more than 120 s")

    assert in_time(refuse) == [{"refused": "more than 120 s"}]


def test_a_package_that_fails_is_reported_by_the_line_that_says_why():
    errors = "Traceback\n  File x\n    f(a) + b\n           ^^\nlib.SomeError: no blocks\n     ^^"
    assert _reason(errors) == "lib.SomeError: no blocks"
    assert _reason("EM needs a second column\n") == "EM needs a second column"
    assert _reason("") == "no reason given"
