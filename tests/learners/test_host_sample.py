"""Which rows come to the host, of rows elsewhere, and what MetricLearner makes of them."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.stats import chi2

from nearkin import Answers, MetricLearner, Pairs, open_rows
from nearkin.learners import metric_learner as module
from nearkin.learners.metric_learner import SAMPLE_ROWS, take_host_sample
from nearkin.pairs.supervision import Evidence
from nearkin.rows.backends import RemoteRows
from tests.cases import each

N = 500
CLASSES = np.random.default_rng(1).integers(3, size=N)
PAIRS = Pairs.from_labels(CLASSES, 60, random_state=0)


class Numbered(RemoteRows):
    """Rows without end, each its own number."""

    def __init__(self, n):
        self.shape, self.dtype = (n, 1), np.dtype(float)

    def take(self, rows):
        return rows[:, None].astype(float)

    def reduced(self, function, *aligned, combine=None):
        raise AssertionError("rows are passed over")

    mapped = reduced


@pytest.fixture
def fewer(monkeypatch):
    """A sample that is smaller than the data of these tests."""
    monkeypatch.setattr(module, "SAMPLE_ROWS", 200)
    monkeypatch.setattr(module, "_LABELLED_ROWS", 100)


def make_rows():
    """Three classes in the first two columns, of eight of which six are wide and say nothing."""
    rng = np.random.default_rng(0)
    middles = np.array([[0.0, 4.0], [3.0, -2.0], [-3.0, -2.0]])
    return np.hstack([rng.normal(size=(N, 2)) + middles[CLASSES], 4 * rng.normal(size=(N, 6))])


def sampled(n, pairs=None, classes=None, seed=0):
    evidence = Evidence(Pairs() if pairs is None else pairs, classes)
    return take_host_sample(Numbered(n), evidence, np.random.RandomState(seed))


def test_few_rows_are_all_taken_in_their_order_and_nothing_is_drawn():
    rng = np.random.RandomState(0)
    found = take_host_sample(Numbered(SAMPLE_ROWS), Evidence(PAIRS, None), rng)
    assert_array_equal(found.X[:, 0], np.arange(SAMPLE_ROWS))
    assert_array_equal(found.numbers, np.arange(SAMPLE_ROWS))
    X = make_rows()
    found = take_host_sample(X, Evidence(PAIRS, None), rng)  # in memory they stay as they are
    assert found.X is X
    assert found.numbers is None
    assert found.renumbered(PAIRS) is PAIRS
    assert rng.randint(10**6) == np.random.RandomState(0).randint(10**6)


def test_of_more_rows_those_of_pairs_some_labelled_ones_and_others():
    n = 100_000
    pairs = Pairs([(7, 99_999), (50_000, 50_001)], [(3, 4)])
    few = np.full(n, -1)
    few[60_000:60_040] = 0
    for classes in (None, few, np.zeros(n, dtype=int)):
        found = sampled(n, pairs, classes)
        assert len(found.numbers) == SAMPLE_ROWS
        assert (np.diff(found.numbers) > 0).all()
        assert_array_equal(found.X[:, 0], found.numbers)
        assert set(pairs.points) <= set(found.numbers)
        assert found.n_given == n
        known = found.renumbered(Evidence(pairs, classes))
        assert_array_equal(found.numbers[known.pairs.must_link], pairs.must_link)
        if classes is not None:
            assert_array_equal(known.classes, classes[found.numbers])
    assert set(range(60_000, 60_040)) <= set(sampled(n, pairs, few).numbers)


def test_half_of_the_rows_have_labels_where_many_do_and_pairs_may_name_more():
    classes = np.where(np.arange(1_000_000) < 5000, 0, -1)
    found = sampled(1_000_000, classes=classes)
    assert len(found.numbers) == SAMPLE_ROWS
    assert 2500 <= (found.numbers < 5000).sum() <= 2560
    pairs = Pairs(np.arange(2 * SAMPLE_ROWS + 2).reshape(-1, 2))
    assert_array_equal(sampled(10**6, pairs).numbers, pairs.points)


def test_all_other_rows_have_the_same_chance(fewer):
    n, n_draws = 1000, 400
    pairs = Pairs([(0, 999)], [(500, 501)])
    count = np.zeros(n)
    for seed in range(n_draws):
        count[sampled(n, pairs, seed=seed).numbers] += 1
    assert (count[pairs.points] == n_draws).all()
    others = np.delete(count, pairs.points)
    share = 196 / 996
    statistic = ((others - n_draws * share) ** 2).sum() / (n_draws * share * (1 - share))
    assert chi2.ppf(1e-4, 995) < statistic < chi2.ppf(1 - 1e-4, 995)


def test_memory_does_not_grow_with_the_number_of_rows():
    tracemalloc.start()
    try:
        found = sampled(10**12, PAIRS)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(found.numbers) == SAMPLE_ROWS
    assert peak < 2**21


def as_answers(pairs):
    """What one person said, and another who denies some."""
    links = np.concatenate([pairs.must_link, pairs.cannot_link])
    same = np.arange(len(links)) < len(pairs.must_link)
    wrong = np.arange(len(links)) % 5 == 0
    names = ["Ann"] * len(links) + ["Bob"] * len(links)
    return Answers(np.tile(links, (2, 1)), np.concatenate([same, same ^ wrong]), names)


SOME_LABELS = np.where(np.arange(N) % 3 == 0, CLASSES, -1)


@each(
    "told", [{"pairs": PAIRS, "y": SOME_LABELS}, {"y": CLASSES}], ids=["pairs and labels", "labels"]
)
def test_the_metric_is_that_of_the_sample_in_memory(fewer, told):
    X, rng = make_rows(), np.random.RandomState(0)
    rows = open_rows(np.split(X, [100, 350]))
    sample = take_host_sample(rows, Evidence(told.get("pairs", Pairs()), told.get("y")), rng)
    within = {
        "y": told["y"][sample.numbers] if "y" in told else None,
        "pairs": told["pairs"].restrict(sample.numbers) if "pairs" in told else None,
    }
    learner = MetricLearner(time_budget=0.3, random_state=rng)
    expected = learner.fit(X[sample.numbers], **within)
    found, again = (
        MetricLearner(time_budget=0.3, random_state=0).fit(rows, **told) for _ in range(2)
    )
    assert_array_equal(found.transform(X), expected.transform(X))
    assert_array_equal(found.transform(rows).to_numpy(), again.transform(rows).to_numpy())
    assert found.report_ == expected.report_
    assert found.threshold_ == expected.threshold_
    assert found.learned_from_["rows"] == N
    assert found.learned_from_["labels"] == (told.get("y", np.full(1, -1)) >= 0).sum()


def test_suspects_are_named_by_their_rows_among_all(fewer):
    X = make_rows()
    swapped = Pairs(PAIRS.must_link[5:], PAIRS.must_link[:5]) + Pairs(
        cannot_link=PAIRS.cannot_link, n_rows=N
    )
    rows = open_rows([X])
    found = MetricLearner(time_budget=0.3, random_state=0).fit(rows, pairs=swapped).suspects_
    assert found
    given = set(map(tuple, np.concatenate([swapped.must_link, swapped.cannot_link]).tolist()))
    assert {suspect.pair for suspect in found} <= given
    wrong = set(map(tuple, PAIRS.must_link[:5].tolist()))
    assert len(wrong & {suspect.pair for suspect in found}) >= 3


def test_answers_of_several_people_about_a_stream(fewer):
    X, answers = make_rows(), as_answers(PAIRS)
    metric = MetricLearner(time_budget=0.3, random_state=0)
    metric.fit(open_rows(iter(np.array_split(X, 3))), pairs=answers)
    assert [one.name for one in metric.answerers_] == ["Ann", "Bob"]
    assert metric.score(X, CLASSES) > 0.9
    assert metric.learned_from_["rows"] == N


def test_pairs_are_spread_among_the_sample(fewer):
    metric = MetricLearner(time_budget=0.3, spread=True, random_state=0)
    metric.fit(open_rows([make_rows()]), pairs=PAIRS)
    assert metric.score(make_rows(), CLASSES) > 0.9
