import numpy as np

from nearkin.pairs.closure import ends_of, keys_of
from nearkin.records import blocking
from nearkin.records.blocking import (
    ValueKeys,
    candidates_of,
    find_value_keys,
    pairs_of_rare_values,
    value_keys,
)
from nearkin.tables.reading import Column
from tests.cases import each
from tests.records.conftest import columns_of_people, words


def broken(n, seed):
    """People of whom a hundred have a second record, in which the phone number alone is theirs."""
    columns, _ = columns_of_people(n, seed, duplicates=0.0, missing=0.0)
    rng = np.random.RandomState(seed)
    copied, strangers = rng.permutation(n // 2)[:100], rng.permutation(n)[:100]
    cells = {c.name: np.append(c.values, c.values[strangers]) for c in columns}
    cells["phone"][n:] = cells["phone"][copied]
    table = [Column(c.name, c.kind, cells[c.name]) for c in columns]
    return table, np.column_stack([copied, n + np.arange(100)])


@each("two_tables", [False, True])
def test_a_rare_value_is_enough_where_all_else_is_another_persons(two_tables, monkeypatch):
    monkeypatch.setattr(blocking, "_FEW", 0)  # as in large tables
    table, pairs = broken(3000, 0)
    side = np.arange(3100) >= 1500 if two_tables else None
    found = candidates_of(table, side=side)
    assert np.isin(keys_of(pairs), keys_of(found.pairs)).all()
    assert side is None or (side[found.pairs[:, 0]] != side[found.pairs[:, 1]]).all()
    monkeypatch.setattr(blocking, "_MOST_PAIRS_PER_RECORD", 0)
    without = candidates_of(table, side=side)
    assert np.isin(keys_of(pairs), keys_of(without.pairs)).mean() < 0.95


def test_candidates_are_the_same_every_time_and_hold_those_of_orders(people, monkeypatch):
    found, again = candidates_of(people[0], seed=1), candidates_of(people[0], seed=1)
    assert np.array_equal(found.pairs, again.pairs)
    assert np.array_equal(found.overlap, again.overlap)
    monkeypatch.setattr(blocking, "_MOST_PAIRS_PER_RECORD", 0)
    of_orders = candidates_of(people[0], seed=1)
    among = np.isin(keys_of(found.pairs), keys_of(of_orders.pairs))
    assert np.array_equal(found.overlap[among], of_orders.overlap)
    assert (found.views[~among] > 0).all()
    assert (found.met[~among] == 0).all()


@each("two_tables", [False, True])
def test_values_are_taken_from_the_rarest_on_as_many_as_there_is_room_for(two_tables, monkeypatch):
    monkeypatch.setattr(blocking, "_PAIRS_OF_FEW", 0)
    rng = np.random.RandomState(0)
    keys = rng.randint(0, 60, size=200).astype(np.uint64) ** 2 // 50
    sides = rng.randint(1, 3, size=200).astype(np.int32) * two_tables
    i, j = np.triu_indices(200, 1)
    may = (keys[i] == keys[j]) & (keys[i] > 0) & ((sides[i] != sides[j]) | (not two_tables))
    count = np.bincount(keys[i[may]].astype(int))
    expected = set()
    for limit in range(1, 100):
        rare = may & (count[keys[i].astype(int).clip(max=len(count) - 1)] <= limit)
        if rare.sum() <= 100:
            expected = set(zip(i[rare].tolist(), j[rare].tolist(), strict=True))
    found = pairs_of_rare_values(ValueKeys(keys, np.arange(200)), sides)
    assert {*map(tuple, ends_of(found).tolist())} == expected
    assert expected


def test_a_value_of_twenty_records_is_rare_where_there_is_room():
    keys = np.repeat(np.arange(1, 202), [20, *[1] * 200]).astype(np.uint64)
    found = ends_of(pairs_of_rare_values(ValueKeys(keys, np.arange(220)), np.zeros(220, np.int32)))
    assert len(found) == 190
    assert found.max() == 19


def test_common_and_missing_values_show_nothing():
    column = words("state", ["nsw", None] * 500, "category")
    [keys, _] = find_value_keys([column])
    assert len(pairs_of_rare_values(keys, np.zeros(1000, dtype=np.int32))) == 0


def test_records_meet_by_a_rare_word_of_several():
    names = words("name", ["inn of quixote", "quixote & sons", "inn of two", "inn", "quixote"])
    _, keys = find_value_keys([names])
    found = ends_of(pairs_of_rare_values(keys, np.zeros(5, dtype=np.int32)))
    assert (0, 1) in {*map(tuple, found.tolist())}
    assert 4 not in found  # it has no other word beside


def test_equal_values_have_equal_keys_and_others_do_not():
    values = ["anna", "ann", "nna", "anna ", "a", "aa", "ä", None, "", "anna", "0", "00"]
    keys = value_keys(words("name", values))
    assert keys[0] == keys[9]
    assert keys[7] == keys[8] == 0
    assert len(set(keys.tolist())) == len(values) - 2
