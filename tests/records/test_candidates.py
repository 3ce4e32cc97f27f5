from time import process_time

import numpy as np

from nearkin.pairs.closure import keys_of
from nearkin.records.blocking import Candidates, candidates_of, first_of_equal, missed
from nearkin.tables.reading import Column
from tests.cases import each
from tests.records.conftest import columns_of_people, words


def test_every_pair_of_a_person_is_found(people):
    columns, person = people
    found = candidates_of(columns)
    first = first_of_equal(columns)
    i, j = np.triu_indices(len(person), 1)
    same = person[i] == person[j]
    same &= first[i] != first[j]
    pairs = np.column_stack([first[i], first[j]])[same]
    assert np.isin(keys_of(pairs), keys_of(found.pairs)).all()


def test_pairs_are_there_once_and_in_order(people):
    found = candidates_of(people[0])
    assert (found.pairs[:, 0] < found.pairs[:, 1]).all()
    assert (np.diff(keys_of(found.pairs)) > 0).all()
    assert len(found) <= (10 + 0.5 * len(people[0])) * len(people[1])


def test_another_order_of_rows_gives_the_same_pairs(people):
    columns, person = people
    order = np.random.RandomState(1).permutation(len(person))
    turned = [Column(c.name, c.kind, c.values[order]) for c in columns]
    kept = first_of_equal(columns) == np.arange(len(person))
    kept &= ~np.isin(np.arange(len(person)), first_of_equal(columns)[~kept])
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
    name = words("name", ["anna"] * 3000)
    code = words("code", [f"{number:06d}" for number in rng.permutation(3000)], "code")
    assert len(candidates_of([name, code])) <= 30_000


def test_what_is_missed_is_estimated_from_what_was_met_once_and_twice():
    met = np.repeat([1, 2, 9], [40, 40, 900])
    views = np.repeat([0, 1, 0], [50, 20, 910])
    pairs, overlap = np.zeros((980, 2), dtype=int), np.zeros(980, np.float32)
    # Meeting once in an order and once in a column is meeting twice.
    found = Candidates(pairs, overlap, met - views, views, 1000)
    never = missed(found, np.ones(980))
    assert never.low < 40**2 / 80 < never.value < 40 < never.high
    nothing = missed(found, np.where(met == 9, 1.0, 0.001))
    assert (nothing.value, nothing.low) == (0, 0)
    assert 0 < nothing.high < 5


def test_much_that_was_met_once_and_nothing_twice_gives_an_interval_in_order():
    met, none = np.ones(500, dtype=int), np.zeros(500, dtype=int)
    pairs, overlap = np.zeros((500, 2), dtype=int), np.zeros(500, np.float32)
    never = missed(Candidates(pairs, overlap, met, none, 1000), np.ones(500))
    assert never.low < never.value < never.high


def test_the_interval_of_what_is_missed_holds_the_truth(monkeypatch):
    from nearkin.records import blocking

    monkeypatch.setattr(blocking, "_FEW", 0)
    monkeypatch.setattr(blocking, "_ORDERS", 6)
    held = []
    for seed in range(8):
        columns, person = columns_of_people(500, seed, mistakes=3.0)
        found = candidates_of(columns, seed=seed)
        first = first_of_equal(columns)
        kept = np.unique(first)
        sizes = np.bincount(person[kept])
        same = (person[found.pairs[:, 0]] == person[found.pairs[:, 1]]) & (
            found.met + found.views > 0
        )
        lost = (sizes * (sizes - 1) // 2).sum() - same.sum()
        never = missed(found, same.astype(float))
        held.append(never.low <= lost <= never.high)
    assert np.mean(held) >= 0.75
