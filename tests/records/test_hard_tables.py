"""Tables and answers of kinds that matching once failed on, each as a user gives them."""

import numpy as np
import pandas as pd
import pytest

import nearkin as nk
from benchmarks.records.judging import quality
from benchmarks.records.made import organisations
from tests.cases import each

NONE = np.empty((0, 2), dtype=int)


def random_words(n, seed=0):
    rng = np.random.RandomState(seed)
    return ["".join(rng.choice(list("abcdefghijklmnop"), 8)) for _ in range(n)]


def fit(table, pairs=None):
    return nk.RecordMatcher(random_state=0).fit(table, pairs)


def told(pairs, same, n):
    return nk.Pairs(pairs[same], pairs[~same], n_rows=n)


@pytest.fixture(scope="module")
def people():
    table, person = nk.datasets.make_records(400, mistakes=3.0, random_state=0)
    table = {**table, "born": [None if one is None else f"d{one}" for one in table["born"]]}
    matcher = fit(table)
    pairs = np.random.RandomState(0).permutation(matcher.candidates()[0])
    return table, person, pairs, person[pairs[:, 0]] == person[pairs[:, 1]]


@each("beside", [False, True])
def test_exact_copies_are_found_by_one_column_too(beside):
    names = random_words(300)
    table = {"name": names + names[:100]}
    if beside:
        towns = np.random.RandomState(1).choice(random_words(20, 2), 300).tolist()
        table["town"] = towns + towns[:100]
    found = fit(table).duplicates()
    assert len(found.groups) == 100
    assert all((group[1] - group[0]) == 300 for group in found.groups)


@each("n", [2, 50])
def test_rows_that_are_all_equal_are_one_group(n):
    found = fit({"name": ["anna smith"] * n, "town": ["bonn"] * n}).duplicates()
    assert [len(group) for group in found.groups] == [n]


def test_one_thing_written_in_many_ways_is_one_group():
    written = ["Imperial College London", "IMPERIAL COLLEGE, London", "Imperial College (London)"]
    found = fit({"name": [written[i % 3] + "." * (i % 5) for i in range(60)]}).duplicates()
    assert [len(group) for group in found.groups] == [60]


def test_no_two_alike_are_no_groups_and_nothing_is_stated():
    found = fit({"name": random_words(200)}).duplicates()
    assert not found.groups
    assert "not known yet" in str(found)


def test_answers_that_are_all_different_do_not_turn_the_verdict(people):
    table, person, pairs, same = people
    before = quality(fit(table).duplicates().labels, person)
    found = fit(table, told(pairs[~same][:60], same[~same][:60], 400)).duplicates()
    assert quality(found.labels, person)["f1"] > before["f1"] - 0.05
    assert found.precision.more > 0


def test_answers_to_a_review_of_doubtful_pairs_do_no_harm(people):
    table, person, _, _ = people
    matcher = fit(table)
    before = quality(matcher.duplicates().labels, person)
    asked = matcher.review(60)[0]
    found = matcher.teach(told(asked, person[asked[:, 0]] == person[asked[:, 1]], 400)).duplicates()
    after = quality(found.labels, person)
    assert after["f1"] > before["f1"] - 0.02
    assert found.precision.more or found.precision.low <= after["precision"]
    assert found.recall.more or found.recall.low <= after["recall"]


def test_one_wrong_answer_of_fifty_costs_next_to_nothing(people):
    table, person, pairs, same = people
    some = np.concatenate([np.flatnonzero(same)[:25], np.flatnonzero(~same)[:25]])
    said = same[some].copy()
    right = quality(fit(table, told(pairs[some], said, 400)).duplicates().labels, person)["f1"]
    said[0] ^= True
    matcher = fit(table, told(pairs[some], said, 400))
    found = matcher.duplicates().labels
    assert quality(found, person)["f1"] > right - 0.02
    # It is not followed, and that is said.
    i, j = pairs[some][0]
    assert found[i] == found[j]
    assert (i, j) in matcher.report_.doubted
    assert "look again at 1 answer" in str(matcher.report_)


def test_wrong_answers_among_large_groups_cost_little():
    table, thing = organisations(120, 60, 3, one_column=False)
    matcher, pairs = fit(table), NONE
    for _ in range(5):
        pairs = np.concatenate([pairs, matcher.suggest(20)])
        same = thing[pairs[:, 0]] == thing[pairs[:, 1]]
        matcher.teach(told(pairs, same, len(thing)))
    right = quality(matcher.duplicates().labels, thing)["f1"]
    found = []
    for seed in range(3):
        wrong = np.random.RandomState(seed).permutation(100) < 5
        matcher.teach(told(pairs, same ^ wrong, len(thing)))
        found.append(quality(matcher.duplicates().labels, thing)["f1"])
    assert np.mean(found) > right - 0.05


def test_large_groups_are_learned_from_candidates_most_of_which_are_the_same():
    table, thing = organisations(120, 60, 20, one_column=True)
    matcher = fit(table)
    pairs = np.random.RandomState(0).permutation(matcher.candidates()[0])[:100]
    same = thing[pairs[:, 0]] == thing[pairs[:, 1]]
    matcher.teach(told(pairs, same, len(thing)))
    assert quality(matcher.duplicates().labels, thing)["f1"] > 0.7
    assert matcher.report_.candidate_recall.more > 0
    # What is no candidate at first is one when its group is known.
    found = matcher.candidates()[0]
    true = thing[found[:, 0]] == thing[found[:, 1]]
    size = np.bincount(thing)
    assert true.sum() > 0.6 * (size * (size - 1) // 2).sum()


def test_recall_of_candidates_is_stated_by_checks_and_holds_the_truth():
    table, thing = organisations(120, 60, 12, one_column=False)
    matcher, asked = fit(table), NONE
    assert "recall of candidates  not known yet" in str(matcher.report_)
    for _ in range(6):
        asked = np.concatenate([asked, matcher.suggest(10)])
        matcher.teach(told(asked, thing[asked[:, 0]] == thing[asked[:, 1]], len(thing)))
    pairs = matcher.candidates()[0]
    size = np.bincount(thing)
    met = (thing[pairs[:, 0]] == thing[pairs[:, 1]]).sum() / (size * (size - 1) // 2).sum()
    share = matcher.report_.candidate_recall
    assert share.more == 0
    assert share.low <= met <= share.high


def test_contradicting_answers_are_kept_as_far_as_can_be_and_named(people):
    table, _, _, _ = people
    matcher = fit(table, nk.Pairs([(0, 1), (1, 5)], [(0, 5)], n_rows=400))
    labels = matcher.duplicates().labels
    assert labels[0] != labels[5]
    [chain] = matcher.report_.contradictions
    assert {chain[0], chain[-1]} == {0, 5}
    assert "contradicting answers" in str(matcher.report_)
    both = fit(table, nk.Pairs([(0, 1)], [(0, 1)], n_rows=400))
    assert both.report_.contradictions


def test_twenty_pairs_answered_both_ways_change_nothing_and_are_named():
    names = random_words(300)
    pairs = [(i, i + 300) for i in range(20)]
    matcher = fit({"name": names + names[:100]}, nk.Pairs(pairs, pairs, n_rows=400))
    assert len(matcher.report_.contradictions) == 20
    found = matcher.duplicates()
    assert len(found.groups) == 100
    assert found.precision.more > 0


def test_a_column_that_names_the_source_is_set_aside_and_said():
    table, person = nk.datasets.make_records(200, duplicates=0.0, random_state=0)
    copies = {name: [*cells, *cells[:100]] for name, cells in table.items() if name != "born"}
    rng = np.random.RandomState(0)
    copies["phone"][200:] = ["".join(rng.choice(list("0123456789"), 8)) for _ in range(100)]
    copies["found_in"] = ["fodors"] * 200 + ["zagats"] * 100
    matcher = fit(copies)
    assert matcher.report_.set_aside == ["found_in"]
    assert "found_in" in str(matcher.report_)
    who = np.append(person, person[:100])
    assert quality(matcher.duplicates().labels, who)["f1"] > 0.95


def test_answers_that_are_all_wrong_are_noticed(people):
    table, _, pairs, same = people
    some = np.concatenate([np.flatnonzero(same)[:20], np.flatnonzero(~same)[:20]])
    with pytest.warns(nk.TableWarning, match="was same taken for different"):
        fit(table, told(pairs[some], ~same[some], 400))


@pytest.mark.filterwarnings("ignore:answers say the opposite")
@each("one_column", [True, False])
def test_nothing_is_stated_by_own_questions_whose_answers_are_all_wrong(one_column):
    table, thing = organisations(120, 60, 20, one_column=one_column)
    matcher = fit(table)
    asked = matcher.suggest(40)
    same = thing[asked[:, 0]] == thing[asked[:, 1]]
    found = matcher.teach(told(asked, ~same, len(thing))).duplicates()
    assert found.precision.more > 0 < found.recall.more


def test_long_texts_are_no_trouble():
    rng = np.random.RandomState(0)
    vocabulary = random_words(20_000)
    texts = [" ".join(rng.choice(vocabulary, 2000)) for _ in range(30)]
    found = fit(pd.DataFrame({"text": [*texts, *texts[:3]]})).duplicates()
    assert {(0, 30), (1, 31), (2, 32)} <= {
        (i, j) for group in found.groups for i in group.tolist() for j in group.tolist()
    }


def register_of_persons(n, n_copies, seed):
    """Names that many share and a day of birth; in each copy one cell is wrong."""
    rng = np.random.RandomState(seed)

    def names(many, syllables):
        pool = ["".join(rng.choice(syllables.split(), rng.randint(2, 4))) for _ in range(many)]
        share = 1 / (np.arange(many) + 5)
        return np.array(pool, object)[rng.choice(many, n, p=share / share.sum())]

    columns = {
        "first": names(150, "ka ro min tel va sen du bri lo mar ti gen hans pet wil hel"),
        "last": names(1500, "schm eit fis wag bec hof kra zim neu sch arz ner mann berg"),
        "year": rng.randint(1930, 2000, n).astype(object),
        "month": rng.randint(1, 13, n).astype(object),
        "day": rng.randint(1, 29, n).astype(object),
    }
    who = rng.permutation(n)[:n_copies]
    copies = {name: cells[who].copy() for name, cells in columns.items()}
    for i in range(n_copies):
        cells = copies[rng.choice(list(copies))]
        if isinstance(cells[i], str):
            at = rng.randint(len(cells[i]))
            cells[i] = cells[i][:at] + rng.choice(list("aeiort")) + cells[i][at + 1 :]
        else:
            cells[i] += int(rng.choice([-1, 1, 10]))
    table = {name: [*cells, *copies[name]] for name, cells in columns.items()}
    return table, np.append(np.arange(n), who)


def test_a_register_of_persons_is_matched_without_answers():
    table, person = register_of_persons(1800, 200, 1)
    assert quality(fit(table).duplicates().labels, person)["f1"] > 0.95
    left, right = (
        {name: cells[rows] for name, cells in table.items()}
        for rows in (slice(1800), slice(1800, None))
    )
    links = nk.link(left, right, random_state=0)
    right_ones = links.pairs[:, 0] == person[1800 + links.pairs[:, 1]]
    assert right_ones.mean() > 0.9
    assert right_ones.sum() > 0.9 * 200
    assert links.recall.more > 0


def test_ten_million_pairs_of_one_block_are_no_group():
    n = 4500
    matcher = fit({"name": random_words(n), "town": ["bonn"] * n})
    assert not matcher.duplicates().groups
    assert matcher.report_.n_candidates < 20 * n


def test_many_people_are_not_taken_for_few():
    table, person = nk.datasets.make_records(8000, random_state=0)
    table = {**table, "born": [None if one is None else f"d{one}" for one in table["born"]]}
    assert quality(fit(table).duplicates().labels, person)["f1"] > 0.98


def test_figures_are_stated_for_own_questions_and_hold_the_truth(people):
    table, person, pairs, same = people
    matcher, asked = fit(table), NONE
    for _ in range(5):
        asked = np.concatenate([asked, matcher.suggest(10)])
        matcher.teach(told(asked, person[asked[:, 0]] == person[asked[:, 1]], 400))
    found = matcher.duplicates()
    true = quality(found.labels, person)
    assert found.precision.more == found.recall.more == 0
    assert found.precision.low - 1e-5 <= true["precision"] <= found.precision.high + 1e-5
    assert found.recall.low - 1e-5 <= true["recall"] <= found.recall.high + 1e-5
    # The same number of answers to pairs that somebody else has chosen says nothing of all.
    chosen = np.concatenate([np.flatnonzero(same)[:25], np.flatnonzero(~same)[:25]])
    other = fit(table, told(pairs[chosen], same[chosen], 400)).duplicates()
    assert other.recall.more > 0


def test_answers_drawn_by_what_they_are_do_not_make_matches_of_doubtful_pairs():
    rng = np.random.RandomState(0)
    given, last = random_words(40, 1), random_words(60, 2)
    rows = [
        [rng.choice(given), rng.choice(last), str(rng.randint(1930, 1990)), str(rng.randint(1, 29))]
        for _ in range(900)
    ]
    for row in rows[:100]:
        other = list(row)
        place = rng.randint(4)
        other[place] = [rng.choice(given), rng.choice(last), "1900", "30"][place]
        rows.append(other)
    person = np.append(np.arange(900), np.arange(100))
    names = ["first", "last", "year", "day"]
    matcher = fit({name: [row[k] for row in rows] for k, name in enumerate(names)})
    pairs = rng.permutation(matcher.candidates()[0])
    same = person[pairs[:, 0]] == person[pairs[:, 1]]
    some = np.concatenate([np.flatnonzero(same)[:50], np.flatnonzero(~same)[:50]])
    matcher.teach(told(pairs[some], same[some], len(person)))
    assert quality(matcher.duplicates().labels, person)["f1"] > 0.8


def test_answers_without_any_match_make_large_groups_no_smaller():
    table, thing = organisations(120, 60, 3, one_column=False)
    matcher = fit(table)
    before = quality(matcher.duplicates().labels, thing)["f1"]
    pairs = np.random.RandomState(0).permutation(matcher.candidates()[0])
    differ = pairs[thing[pairs[:, 0]] != thing[pairs[:, 1]]][:50]
    matcher.teach(nk.Pairs([], differ, n_rows=len(thing)))
    assert quality(matcher.duplicates().labels, thing)["f1"] > before - 0.02
