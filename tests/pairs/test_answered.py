"""Answers of several people."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose
from scipy.stats import beta
from sklearn.datasets import load_wine

from nearkin import ITML, Answers, MetricLearner, Pairs, load
from nearkin.learners.selection import SelectionReport, SelectionWarning
from nearkin.pairs.answers import _IMAGINED_ANSWERS as IMAGINED
from nearkin.pairs.answers import Answerer, IntervalEstimate, estimate_truth_and_errors
from tests.cases import each


def asked(y, n_pairs, rates, seed, *, overlap=None, n_rows=None):
    """Answers of people with these error rates, and what is true of their pairs."""
    rng = np.random.RandomState(seed)
    rows = rng.permutation(len(y))[: n_rows or len(y)]
    pairs = Pairs.from_labels(y[rows], n_pairs, random_state=seed)
    links = rows[np.concatenate([pairs.must_link, pairs.cannot_link])]
    asked = [
        (pair, who)
        for pair in range(len(links))
        for who in rng.permutation(len(rates))[: overlap or len(rates)]
    ]
    pair, who = np.array(asked).T
    true = y[links[:, 0]] == y[links[:, 1]]
    said = true[pair] ^ (rng.rand(len(pair)) < np.array(rates)[who])
    names = [f"person {w}" for w in who]
    return Answers(links[pair], said, names, n_rows=len(y)), true, links


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def right(pairs, y):
    links = np.concatenate([pairs.must_link, pairs.cannot_link])
    said = np.arange(len(links)) < len(pairs.must_link)
    return np.mean(said == (y[links[:, 0]] == y[links[:, 1]]))


def test_rates_are_found_and_truth_is_better_than_the_majority():
    y = np.random.RandomState(0).randint(4, size=60)
    rates, held = {"person 0": 0.1, "person 1": 0.2, "person 2": 0.35}, []
    for seed in range(12):
        answers, true, links = asked(y, 300, tuple(rates.values()), seed)
        held += [one.wrong.low <= rates[one.name] <= one.wrong.high for one in answers.answerers]
    assert 0.8 <= np.mean(held) <= 0.98  # of 90 % intervals
    votes = np.zeros(len(links))
    order = {tuple(sorted(link)): i for i, link in enumerate(links.tolist())}
    for pair, said in zip(answers._pair, answers._same, strict=True):
        votes[order[tuple(answers.links[pair].tolist())]] += 1 if said else -1
    assert right(answers.pairs, y) > np.mean((votes > 0) == true) + 0.03


def test_where_truth_is_certain_a_rate_is_that_of_counts():
    # 7 wrong of 40, and what is imagined beside them.
    links = np.column_stack([np.arange(40), np.arange(40) + 40])
    true = np.arange(40) % 2 == 0
    said = true ^ (np.arange(40) < 7)
    found = estimate_truth_and_errors(
        np.arange(40), said, np.zeros(40, dtype=int), links, true * 1.0
    )
    expected = beta.ppf([0.5, 0.05, 0.95], 7 + IMAGINED[0], 33 + IMAGINED[1])
    (rate,) = found.wrong
    assert_allclose([rate.value, rate.low, rate.high], expected, atol=0.003)


def test_a_rate_follows_the_likelihood_with_all_others_at_their_best():
    rng = np.random.RandomState(0)
    rates, n = np.array([0.1, 0.25, 0.3]), 80
    true = rng.rand(n) < 0.5
    said = true ^ (rng.rand(3, n) < rates[:, None])
    links = np.column_stack([np.arange(n), np.arange(n) + n])
    found = estimate_truth_and_errors(
        np.tile(np.arange(n), 3), said.ravel(), np.repeat(np.arange(3), n), links
    )
    # By the sum over both truths of every pair, on a grid of all rates.
    grid = np.linspace(0.0025, 0.6, 80)
    wrong = np.meshgrid(grid, grid, grid, indexing="ij")
    total = sum((IMAGINED[0] - 1) * np.log(e) + (IMAGINED[1] - 1) * np.log(1 - e) for e in wrong)
    kinds, counts = np.unique(said.T, axis=0, return_counts=True)
    for kind, count in zip(kinds, counts, strict=True):
        same = np.prod([np.where(k, 1 - e, e) for k, e in zip(kind, wrong, strict=True)], axis=0)
        other = np.prod([np.where(k, e, 1 - e) for k, e in zip(kind, wrong, strict=True)], axis=0)
        total += count * np.log(same / 2 + other / 2)
    for who, rate in enumerate(found.wrong):
        profile = np.exp(total.max(axis=tuple({0, 1, 2} - {who})) - total.max())
        below = np.cumsum(profile) / profile.sum()
        expected = np.interp([0.5, 0.05, 0.95], below, grid)
        assert_allclose([rate.value, rate.low, rate.high], expected, atol=0.012)


def test_one_who_says_the_opposite_of_all_others_is_seen_through():
    y = np.random.RandomState(0).randint(3, size=50)
    answers, _, _ = asked(y, 150, (0.05, 0.1, 0.95), seed=0)
    assert answers.answerers[-1].name == "person 2"
    assert answers.answerers[-1].wrong.low > 0.6
    assert right(answers.pairs, y) > 0.95


def test_nothing_tells_which_of_two_is_right_who_contradict_each_other(wine):
    X, y = wine
    answers, _, _ = asked(y, 60, (0.0, 1.0), seed=0)
    metric = MetricLearner(random_state=0)
    with pytest.warns(SelectionWarning, match="contradict each other so that nothing"):
        metric.fit(X, pairs=answers)
    for one in metric.answerers_:
        assert one.wrong.low < 0.2
        assert one.wrong.high > 0.8
    assert "Too little is known of person" in str(metric.report_)


def test_who_contradicts_themselves_is_wrong_half_of_the_time():
    links = np.column_stack([np.arange(40), np.arange(40) + 40])
    answers = Answers(np.repeat(links, 2, axis=0), [True, False] * 40, ["me"] * 80)
    (me,) = answers.answerers
    assert me.wrong.low < 0.5 < me.wrong.high < 0.7
    assert max(answers.pairs.must_weight) < 0.1  # nothing follows from it


def test_report_says_who_should_be_looked_at():
    def someone(name, value, low, high):
        return Answerer(name, 50, IntervalEstimate(value, low, high))

    good, bad = someone("Ann", 0.1, 0.05, 0.15), someone("<Bob>", 0.3, 0.25, 0.4)
    turned, unknown = someone("Cy", 0.9, 0.8, 0.95), someone("Di", 0.2, 0.05, 0.5)
    report = SelectionReport("Why.", answerers=[good, unknown, bad, turned])
    assert str(report).splitlines() == [
        "Why.",
        "  who    answers  wrong, with 90 % interval",
        "  Ann         50  0.100 (0.050 to 0.150)",
        "  Di          50  0.200 (0.050 to 0.500)",
        "  <Bob>       50  0.300 (0.250 to 0.400)",
        "  Cy          50  0.900 (0.800 to 0.950)",
        "Mostly wrong: Cy. What they say counts as the opposite; ask whether they took same for "
        "different. Look at answers of <Bob>: many are wrong. Too little is known of Di: more "
        "answers to pairs that others answer too would tell.",
    ]
    assert "<td>&lt;Bob&gt;</td><td>50</td><td>0.300" in report._repr_html_()
    assert str(SelectionReport("Why.", answerers=[good])).endswith("\nNobody stands out.")
    many = str(SelectionReport("Why.", answerers=[good] * 20 + [bad] * 5))
    assert "(15 more reliable ones)" in many
    assert "answers of <Bob>, <Bob>, <Bob> and 2 more" in many


def test_triangles_overrule_a_single_wrong_answer():
    # Six rows of one kind, all pairs asked once; one answer is wrong.
    links = np.column_stack(np.triu_indices(6, 1))
    said = np.ones(15, dtype=bool)
    said[4] = False
    assert not len(Answers(links, said, ["me"] * 15).pairs.cannot_link)
    # Without triangles nothing speaks against it.
    path = Answers([(0, 1), (2, 3), (4, 5)], [1, 0, 1], ["me"] * 3)
    assert path.pairs.cannot_link.tolist() == [[2, 3]]


def test_what_else_is_known_counts_as_evidence():
    links = np.array([[0, 1], [2, 3]])
    pair, who = np.array([0, 1]), np.array([0, 0])
    said = np.array([True, True])
    plain = estimate_truth_and_errors(pair, said, who, links).chance_same
    doubted = estimate_truth_and_errors(
        pair, said, who, links, np.array([np.nan, 0.01])
    ).chance_same
    assert doubted[1] < 0.5 < plain[1]
    assert (plain > 0.5).all()


def test_answers_of_people_who_never_overlap_are_as_likely_as_usual():
    answers = Answers([(0, 1), (2, 3)], [True, False], ["Ann", "Bob"])
    assert len(answers.pairs) == 2
    for one in answers.answerers:
        assert one.n_answers == 1
        assert one.wrong.low < 0.1
        assert one.wrong.high > 0.3  # nothing is known of either


def test_the_metric_helps_to_find_out_who_is_wrong(wine):
    X, y = wine
    # Nobody overlaps: answers alone say next to nothing of who is right.
    answers, _, _ = asked(y, 150, (0.05, 0.1, 0.4), seed=0, overlap=1)
    metric = MetricLearner(random_state=0).fit(X, pairs=answers)
    assert [one.name for one in metric.answerers_][-1] == "person 2"
    worst, best = metric.answerers_[-1].wrong, metric.answerers_[0].wrong
    assert worst.value > 2 * best.value
    # Answers alone do not tell them apart.
    alone = {one.name: one.wrong.value for one in answers.answerers}
    assert alone["person 2"] < worst.value - 0.05
    # Whatever they are told by, verdicts are better than by what was said.
    assert metric.score(X, y) > 0.9


def test_answerers_are_kept_in_files(wine, tmp_path):
    X, y = wine
    answers, _, _ = asked(y, 30, (0.1, 0.2), seed=0)
    metric = MetricLearner(time_budget=0, random_state=0)
    with pytest.warns(SelectionWarning):
        metric.fit(X, pairs=answers)
    metric.save(tmp_path / "model.nearkin")
    assert load(tmp_path / "model.nearkin").answerers_ == metric.answerers_ == answers.answerers
    with pytest.warns(SelectionWarning):
        metric.fit(X, pairs=answers.pairs)
    assert metric.answerers_ == []


def test_frames_are_read_with_names(wine):
    columns = {
        "left": ["a", "a", "b", "a"],
        "right": ["b", "b", "c", "c"],
        "same": ["yes", "no", "yes", "unsure"],
        "by": ["Ann", "rule 1", "Ann", "rule 1"],
        "weight": [1, 2, 3, 4],
    }
    for frame in (pd.DataFrame(columns), pl.DataFrame(columns)):
        answers = Answers.from_frame(frame, ids=["a", "b", "c"])
        assert repr(answers) == "Answers(3 answers by 2 to 2 pairs, n_rows=3)"
        assert answers.names == ["Ann", "rule 1"]
    assert Answers([(0, 1), (0, 1)], [True, True], [1, "1"]).names == ["1"]
    with pytest.raises(ValueError, match=r"no column \['who'\]"):
        Answers.from_frame(pd.DataFrame(columns), by="who", ids=["a", "b", "c"])
    columns["by"][1] = None
    with pytest.raises(ValueError, match="row 1 is null in column 'by': it must say who"):
        Answers.from_frame(pl.DataFrame(columns), ids=["a", "b", "c"])


@each(
    ("links", "same", "by", "said"),
    [
        ([(0, 1)], [True, False], ["me"], "there are 1 answers, but same has 2"),
        ([(0, 1)], [True], [], "there are 1 answers, but by has 0"),
        ([(0, 1)], [2], ["me"], "must be true or false"),
        ([(0, 0)], [False], ["me"], "differ"),
        ([(0, 0)], [True], ["me"], "no answers about two different rows"),
    ],
)
def test_bad_answers_are_refused(links, same, by, said):
    with pytest.raises(ValueError, match=said):
        Answers(links, same, by)


def test_other_learners_say_what_to_give_them(wine):
    X, _ = wine
    answers = Answers([(0, 1), (0, 100)], [True, False], ["me", "you"])
    with pytest.raises(TypeError, match=r"give what they come to here, answers\.pairs"):
        ITML().fit(X, pairs=answers)
    assert ITML(random_state=0).fit(X, pairs=answers.pairs).n_components_ > 0
