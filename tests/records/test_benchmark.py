from itertools import combinations

import numpy as np
import pytest

from benchmarks.records import publications
from benchmarks.records.judging import quality, quality_of_pairs
from benchmarks.records.rivals import Refused, by_trees, in_time
from tests.records.conftest import columns_of_people


def test_pairs_of_groups_are_judged_as_the_groups_are():
    rng = np.random.RandomState(0)
    labels, entity = rng.randint(30, size=(2, 60))
    pairs = [(j, i) for i, j in combinations(range(60), 2) if labels[i] == labels[j]]
    assert quality_of_pairs(np.array(pairs), entity) == quality(labels, entity)


def test_no_pairs_at_all_are_never_wrong_and_find_nothing():
    found = quality_of_pairs(np.empty((0, 2), dtype=int), np.array([0, 0, 1]))
    assert (found["precision"], found["recall"], found["f1"]) == (1, 0, 0)


def test_only_labelled_pairs_are_judged():
    pairs = np.array([[0, 5], [1, 6], [2, 7], [3, 8]])
    same = np.array([True, True, False, False])
    found = publications.quality(np.array([[0, 5], [2, 7], [4, 9]]), pairs, same)
    assert (found["precision"], found["recall"], found["f1"]) == (0.5, 0.5, 0.5)
    assert (found["n_called"], found["n_same"]) == (2, 2)


def test_trees_need_answers_of_both_kinds():
    columns, _ = columns_of_people(60, 0)
    pairs = np.array([[0, 1], [2, 3]])
    with pytest.raises(Refused, match="one kind"):
        by_trees(columns, pairs, np.array([True, True]))


def test_who_refuses_is_reported_with_the_reason():
    def refuse() -> dict[str, float]:
        raise Refused("more than 120 s")

    assert in_time(refuse) == [{"refused": "more than 120 s"}]
