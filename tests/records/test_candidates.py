from time import process_time

import numpy as np
import pytest

from nearkin.pairs.closure import keys_of
from nearkin.records.blocking import (
    Candidates,
    candidates_of,
    estimate_missed,
    first_of_equal,
    pairs_within_groups,
    record_keys,
)
from nearkin.tables.reading import Column
from tests.cases import each
from tests.records.conftest import words


def test_every_pair_of_a_person_is_found(people):
    columns, person = people
    found = candidates_of(columns)
    first = first_of_equal(record_keys(columns))
    i, j = np.triu_indices(len(person), 1)
    same = person[i] == person[j]
    same &= first[i] != first[j]
    pairs = np.column_stack([first[i], first[j]])[same]
    assert np.isin(keys_of(pairs), keys_of(found.pairs)).all()


def test_pairs_are_there_once_and_in_order(people):
    found = candidates_of(people[0])
    assert (found.pairs[:, 0] < found.pairs[:, 1]).all()
    assert (np.diff(keys_of(found.pairs)) > 0).all()
    assert len(found) <= (10 + 5 * 2 * len(people[0])) * len(people[1])


def test_another_order_of_rows_gives_the_same_pairs(people):
    columns, person = people
    order = np.random.RandomState(1).permutation(len(person))
    turned = [Column(c.name, c.kind, c.values[order]) for c in columns]
    kept = first_of_equal(record_keys(columns)) == np.arange(len(person))
    kept &= ~np.isin(np.arange(len(person)), first_of_equal(record_keys(columns))[~kept])
    found = [candidates_of(columns).pairs, order[candidates_of(turned).pairs]]
    # Of equal records another one stands for them.
    keys = [set(keys_of(pairs[kept[pairs].all(axis=1)]).tolist()) for pairs in found]
    assert len(keys[0] & keys[1]) > 0.99 * len(keys[0] | keys[1])


def test_pairs_of_two_tables_are_of_one_record_from_each(people):
    side = np.arange(len(people[1])) % 2 == 0
    pairs = candidates_of(people[0], side=side).pairs
    assert len(pairs)
    assert (side[pairs[:, 0]] != side[pairs[:, 1]]).all()


def test_copies_in_a_table_are_paired_with_what_their_original_is():
    names = ["anna moll", "bert", "anna moll", "anna moll", "anna mol", "bertram"]
    side = np.array([False, False, False, True, True, True])
    found = {*map(tuple, candidates_of([words("name", names)], side=side).pairs.tolist())}
    assert {(0, 3), (2, 3), (0, 4), (2, 4), (1, 5)} <= found


def test_many_equal_rows_take_no_time():
    same = words("name", ["anna"] * 100_000)
    also = words("empty", [None] * 100_000)
    candidates_of([words("name", ["a", "b"])])  # compiled
    start = process_time()
    found = candidates_of([same, also])
    assert process_time() - start < 5
    assert len(found) == 99_999


@each("values", [[], [None] * 5, [""] * 4, ["anna"]])
def test_tables_with_next_to_nothing_in_them(values):
    found = candidates_of([words("name", values)])
    assert found.n_records == len(values)
    assert len(found) == max(len(values) - 1, 0)


def test_large_blocks_of_equal_values_stay_small():
    rng = np.random.RandomState(0)
    name = words("name", ["anna"] * 5000)
    code = words("code", [f"{number:06d}" for number in rng.permutation(5000)], "code")
    assert len(candidates_of([name, code])) <= 75_000  # of 12.5 million


def searched(n, by_grams, by_values):
    """Candidates that one of the two searches, or both, have found."""
    both = sorted({*by_grams, *by_values})
    met, views = (np.array([pair in found for pair in both]) for found in (by_grams, by_values))
    pairs = np.array(both).reshape(-1, 2)
    return Candidates(pairs, np.ones(len(both), np.float32), met.astype(int), views.astype(int), n)


def test_what_is_missed_is_estimated_from_what_each_search_alone_has_missed():
    pairs = [(2 * k, 2 * k + 1) for k in range(500)]
    found = searched(1200, pairs[:400], pairs[100:500])
    never = estimate_missed(found, np.ones(500, dtype=bool), 500)
    # Each misses a fifth of what the other has.
    assert never.low < 100 * 100 / 500 < never.high
    assert never.value == pytest.approx(20, rel=0.05)
    nothing = estimate_missed(searched(1200, pairs, pairs), np.ones(500, dtype=bool), 500)
    assert nothing.value < 0.01
    assert estimate_missed(searched(4, [], []), np.ones(0, dtype=bool), 0).value >= 0


def test_the_estimate_of_what_is_missed_is_of_the_right_size():
    ratios = []
    for seed in range(20):
        rng = np.random.RandomState(seed)
        pairs = [(2 * k, 2 * k + 1) for k in range(400)]
        one, other = (
            [p for p, seen in zip(pairs, rng.uniform(size=400) < share, strict=True) if seen]
            for share in (0.8, 0.7)
        )
        found = searched(800, one, other)
        never = estimate_missed(found, np.ones(len(found), dtype=bool), len(found))
        ratios.append(never.low <= 400 - len(found) <= never.high)
    assert np.mean(ratios) >= 0.85


def test_pairs_within_groups_are_all_of_small_ones_and_some_of_large_ones():
    labels = np.repeat([0, 1, 2], [3, 1, 200])
    pairs = pairs_within_groups(labels, 20, np.random.RandomState(0))
    assert {(0, 1), (0, 2), (1, 2)} <= {*map(tuple, pairs.tolist())}
    assert (labels[pairs[:, 0]] == labels[pairs[:, 1]]).all()
    assert np.bincount(pairs.ravel()).max() <= 20
    assert np.bincount(pairs.ravel(), minlength=204)[4:].min() == 20
