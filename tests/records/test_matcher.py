from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import nearkin as nk
from nearkin.errors import InputError, InputTypeError
from nearkin.tables.reading import Column
from tests.cases import each
from tests.records.conftest import columns_of_people, words

pytest.importorskip("rapidfuzz")


def f1(labels, person):
    i, j = np.triu_indices(len(person), 1)
    found, true = labels[i] == labels[j], person[i] == person[j]
    return 2 * (found & true).sum() / (found.sum() + true.sum())


def answers(pairs, person):
    same = person[pairs[:, 0]] == person[pairs[:, 1]]
    return nk.Pairs(pairs[same], pairs[~same], n_rows=len(person))


@pytest.fixture(scope="module")
def fitted(people):
    return nk.RecordMatcher(random_state=0).fit(people[0])


def test_duplicates_without_and_with_answers(people, fitted):
    columns, person = people
    assert f1(fitted.duplicates().labels, person) > 0.9
    known = answers(fitted.suggest(30), person)
    taught = clone(fitted).fit(columns, pairs=known)
    assert f1(taught.duplicates().labels, person) > 0.97
    found = taught.duplicates()
    assert all(found.labels[i] == found.labels[j] for i, j in known.must_link)
    assert all(found.labels[i] != found.labels[j] for i, j in known.cannot_link)
    assert "precision" in str(found)
    assert "recall of candidates" in str(taught.report_)
    assert sum(taught.report_.importances.values()) == pytest.approx(1)
    again = nk.RecordMatcher(random_state=0).fit(columns).teach(known)
    assert np.array_equal(again.duplicates().labels, found.labels)


def test_questions_are_new_and_the_same_for_a_seed(people, fitted):
    asked = fitted.suggest(20)
    assert np.array_equal(asked, fitted.suggest(20))
    taught = nk.RecordMatcher(random_state=0).fit(people[0], pairs=answers(asked, people[1]))
    more = taught.suggest(20)
    assert not {*map(tuple, asked.tolist())} & {*map(tuple, more.tolist())}
    doubtful, chance = taught.review(5)
    assert doubtful.shape == (5, 2)
    assert ((chance >= 0) & (chance <= 1)).all()


@each(
    ("must", "cannot"),
    [([(0, 1)], []), ([], [(0, 1)]), ([(0, 1)], [(0, 1)]), ([(0, 1), (1, 2)], [(0, 2), (3, 4)])],
)
def test_few_answers_of_one_kind_or_against_each_other(must, cannot):
    columns, _ = columns_of_people(60, 1)
    matcher = nk.RecordMatcher(random_state=0).fit(columns, pairs=nk.Pairs(must, cannot))
    chance = matcher.candidates()[1]
    assert ((chance >= 0) & (chance <= 1)).all()


def test_labels_are_answers_too(people):
    columns, person = people
    y = np.where(np.arange(300) < 150, person, -1)
    matcher = nk.RecordMatcher(random_state=0).fit(columns, y=y)
    assert matcher.report_.n_same > 0 < matcher.report_.n_different
    assert f1(matcher.duplicates().labels, person) > 0.97


def test_more_precision_makes_fewer_pairs(fitted):
    usual, sure = fitted.duplicates(), fitted.duplicates(precision=0.999)
    assert sure.labels.max() >= usual.labels.max()
    with pytest.raises(InputError, match="precision=2"):
        fitted.duplicates(precision=2)


def test_another_order_of_rows_gives_the_same_groups(people):
    columns = people[0]
    order = np.random.RandomState(2).permutation(300)
    turned = [Column(c.name, c.kind, c.values[order]) for c in columns]
    found = [
        nk.RecordMatcher(random_state=0).fit(table).duplicates().labels
        for table in (columns, turned)
    ]
    assert f1(found[1], found[0][order]) > 0.98


def test_two_tables_one_to_one(people):
    columns, person = people
    _, first = np.unique(person, return_index=True)
    second = np.setdiff1d(np.arange(300), first)
    _, once = np.unique(person[second], return_index=True)
    second = second[once]
    left, right = (
        [Column(c.name, c.kind, c.values[rows]) for c in columns] for rows in (first, second)
    )
    links = nk.link(left, right, random_state=0)
    right_links = person[first[links.pairs[:, 0]]] == person[second[links.pairs[:, 1]]]
    assert right_links.mean() > 0.95
    assert right_links.sum() > 0.9 * len(second)
    assert len(set(links.pairs[:, 0])) == len(links) == len(set(links.pairs[:, 1]))
    assert "link" in str(links)
    known = nk.pairs_between([first, second], [(0, *links.pairs[0, :1], 1, *links.pairs[0, 1:])])
    matcher = nk.RecordMatcher(random_state=0).fit_link(left, right, known)
    assert len(matcher.link(one_to_one=False)) >= len(second) // 2
    assert len(matcher.link(left, right)) > len(second) // 2


def test_a_file_gives_the_same_chances(people, fitted, tmp_path):
    columns = people[0]
    left, right = ([Column(c.name, c.kind, c.values[rows]) for c in columns] for rows in
                   (slice(0, 50), slice(50, 100)))  # fmt: skip
    fitted.save(tmp_path / "matcher.nearkin")
    loaded = nk.RecordMatcher.load(tmp_path / "matcher.nearkin")
    assert np.array_equal(loaded.chance_same(left, right), fitted.chance_same(left, right))
    assert str(loaded.report_) == str(fitted.report_)
    assert np.array_equal(loaded.same(left, left), np.ones(50, bool))
    with pytest.raises(InputError, match="give one"):
        loaded.duplicates()
    by_the_door = nk.load(tmp_path / "matcher.nearkin")
    assert np.array_equal(by_the_door.chance_same(left, right), fitted.chance_same(left, right))
    with pytest.raises(nk.StorageError, match="is a nearkin record matcher file"):
        nk.model_file.load(tmp_path / "matcher.nearkin")
    nk.RCA().fit([[0.0], [1.0]], pairs=nk.Pairs([(0, 1)])).save(tmp_path / "metric.nearkin")
    with pytest.raises(nk.StorageError):
        nk.RecordMatcher.load(tmp_path / "metric.nearkin")


def test_forged_parts_are_refused(fitted):
    plan, matching = fitted.comparisons_, fitted.matching_
    for part, change in [
        (plan.columns[0], {"parts": ("letters", "spells", "rarity", "missing")}),
        (plan.columns[0], {"counts": np.ones(3)}),
        (matching.agreement, {"same": np.ones((7, 2))}),
    ]:
        with pytest.raises(nk.StorageError):
            replace(part, **change)


def test_another_table_takes_the_place_of_that_of_the_fit(people, fitted, tmp_path):
    columns = people[0]
    fitted.save(tmp_path / "matcher.nearkin")
    loaded = nk.load(tmp_path / "matcher.nearkin")
    again = loaded.on(columns)
    assert np.array_equal(again.duplicates().labels, fitted.duplicates().labels)
    assert np.array_equal(again.suggest(5), fitted.suggest(5))
    assert not hasattr(loaded, "_judged")
    # Answers are kept: those that go against the groups change them.
    pairs, chance = again.candidates()
    sure = nk.Pairs(pairs[chance.argmin()][None], pairs[chance.argmax()][None])
    told = again.on(pairs=sure)
    labels = told.duplicates().labels
    assert np.ptp(labels[sure.must_link]) == 0 < np.ptp(labels[sure.cannot_link])
    assert {0.0, 1.0} == {*told.chance_of_pairs(np.vstack([sure.must_link, sure.cannot_link]))}
    assert np.array_equal(again.duplicates().labels, fitted.duplicates().labels)


def test_chances_of_any_pairs(people, fitted):
    columns = people[0]
    pairs, chance = fitted.candidates()
    assert np.allclose(fitted.chance_of_pairs(pairs[:50]), chance[:50])
    assert np.allclose(fitted.chance_of_pairs(pairs[:50], columns), chance[:50])
    assert fitted.chance_of_pairs([(3, 3)])[0] > 0.9
    assert fitted.chance_of_pairs([]).shape == (0,)
    with pytest.raises(InputError, match=r"pair 1 names row 300, but the table has rows 0 to 299"):
        fitted.chance_of_pairs([(0, 1), (2, 300)])
    with pytest.raises(InputError, match=r"shape \(k, 2\)"):
        fitted.chance_of_pairs([0, 1])


def test_neighbors_are_the_likeliest_candidates(people, fitted):
    columns, person = people
    rows, chance = fitted.neighbors(n_neighbors=3)
    assert rows.shape == chance.shape == (300, 3)
    assert (np.diff(chance, axis=1) <= 1e-12).all()
    pairs, chances = fitted.candidates()
    for record in (0, 7, 100):
        best = np.sort(chances[(pairs == record).any(axis=1)])[::-1][:3]
        assert np.allclose(best, chance[record, : len(best)])
    copies = np.bincount(person)[person] > 1
    assert (person[rows[copies, 0]] == person[copies]).mean() > 0.9
    more = fitted.neighbors(n_neighbors=25)[0]
    assert (more >= 0).sum(axis=1).max() > 13
    # Of other records, and by a matcher that has another table.
    asked = [Column(c.name, c.kind, c.values[:40]) for c in columns]
    found, likely = fitted.neighbors(columns, 2, queries=asked)
    assert found.shape == (40, 2)
    assert (person[found[likely[:, 0] > 0.5, 0]] == person[:40][likely[:, 0] > 0.5]).mean() > 0.95
    assert np.array_equal(fitted.neighbors(queries=asked, n_neighbors=2)[0], found)


def test_columns_of_new_tables_are_known_by_name():
    table, _ = nk.datasets.make_records(80, random_state=0)
    frame = {"id": [f"p{i}" for i in range(80)], **table}
    matcher = nk.RecordMatcher(kinds={"born": "name"}, random_state=0).fit(frame)
    other = {"note": ["x", "y"] * 40, **dict(reversed(table.items()))}
    assert np.array_equal(matcher.duplicates(other).labels, matcher.duplicates().labels)
    less = {name: values for name, values in other.items() if name != "born"}
    with pytest.raises(InputError, match="no column 'born', which records are compared by"):
        matcher.duplicates(less)
    unknown = {**less, "born": [None] * 80}
    assert len(matcher.duplicates(unknown).labels) == 80


def test_the_order_of_dates_is_kept(tmp_path):
    table, _ = nk.datasets.make_records(80, random_state=0)
    days = np.random.RandomState(0).randint(1, 13, size=(80, 2))
    told = {"name": table["surname"], "born": [f"{m}/{d}/1970" for m, d in days]}
    matcher = nk.RecordMatcher(dates="month first", random_state=0).fit(told)
    matcher.save(tmp_path / "matcher.nearkin")
    loaded = nk.load(tmp_path / "matcher.nearkin")
    assert loaded.orders_ == {"born": "month first"}
    assert loaded.dates == "month first"
    one = {"name": ["ann"] * 2, "born": ["1/2/1970"] * 2}
    other = {"name": ["ann"] * 2, "born": ["2 January 1970", "1 February 1970"]}
    near = loaded.compare(one, other)[0][:, loaded.comparisons_.names.index("born: near")]
    assert near[0] == 1 > near[1]


def test_rows_of_nothing_but_gaps_are_like_no_other():
    table, _ = nk.datasets.make_records(80, random_state=0)
    gaps = {name: [None if i in (3, 9) else v for i, v in enumerate(table[name])] for name in table}
    matcher = nk.RecordMatcher(kinds={"born": "name"}, random_state=0).fit(gaps)
    labels = matcher.duplicates().labels
    assert (np.bincount(labels)[labels[[3, 9]]] == 1).all()


def test_given_name_and_surname_exchanged():
    table, _ = nk.datasets.make_records(120, random_state=3)
    kinds = {"born": "name"}
    given, family = table["given_name"], table["surname"]
    turned = {**table, "given_name": family[:15], "surname": given[:15]}
    both = {name: [*table[name], *values[:15]] for name, values in turned.items()}
    matcher = nk.RecordMatcher(kinds=kinds, random_state=0).fit(both)
    whole = [i for i in range(15) if given[i] and family[i]]
    chance = matcher.chance_of_pairs([(i, 120 + i) for i in whole])
    assert (chance > 0.5).mean() > 0.9


def test_bad_input(people):
    columns, person = people
    matcher = nk.RecordMatcher()
    with pytest.raises(InputTypeError, match=r"nearkin\.Pairs"):
        matcher.fit(columns, pairs=[(0, 1)])
    with pytest.raises(InputError, match="names row 900"):
        matcher.fit(columns, pairs=nk.Pairs([(0, 900)]))
    with pytest.raises(InputError, match="y has 5 labels, but there are 300 records"):
        matcher.fit(columns, y=person[:5])
    with pytest.raises(InputError, match="differ in length"):
        matcher.fit([columns[0], words("short", ["a"])])
    with pytest.raises(InputError, match="no column in common"):
        nk.link(columns[:1], columns[1:2])
    with pytest.raises(InputError, match="the table has 1 row: two are needed"):
        matcher.fit({"name": ["ann"]})
    with pytest.raises(InputError, match="the table has 0 rows"):
        matcher.fit({})
    with pytest.raises(InputError, match="two columns of the table are called 'a'"):
        matcher.fit(pd.DataFrame([["x", "y"], ["z", "w"]], columns=["a", "a"]))
    with pytest.raises(ValueError, match="n_candidates"):
        nk.RecordMatcher(n_candidates=0).fit(columns)
