"""Figures by pairs and their intervals: src/nearkin/scores/quality.py."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_wine
from sklearn.metrics import f1_score, precision_score, recall_score, roc_auc_score

from nearkin import ITML, Euclidean, Pairs
from nearkin.pairs.answers import IntervalEstimate
from nearkin.scores.quality import (
    _f1,
    _precision,
    _recall,
    count_pairs_to_promise,
    dyadic_variance,
    estimate_quality,
    logistic_interval,
)
from tests.cases import each


@pytest.fixture
def wine():
    X, y = load_wine(return_X_y=True)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def judged(k=60, n=25, seed=0):
    rng = np.random.RandomState(seed)
    links = np.column_stack(np.triu_indices(n, 1))[rng.permutation(n * (n - 1) // 2)[:k]]
    same = rng.rand(k) < 0.5
    return rng.gamma(2.0, np.where(same, 0.7, 1.5)), same, links


def test_figures_are_those_of_scikit_learn():
    distances, same, links = judged()
    found = estimate_quality(distances, same, np.ones(len(same)), links, 1.5, same.mean())
    called = distances <= 1.5
    assert_allclose(found.auc.value, roc_auc_score(same, -distances))
    assert_allclose(found.precision.value, precision_score(same, called))
    assert_allclose(found.recall.value, recall_score(same, called))
    assert_allclose(found.f1.value, f1_score(same, called))
    assert (found.n_same, found.n_different) == (same.sum(), (~same).sum())


def test_weights_are_repetitions_and_prevalence_reweighs_kinds():
    distances, same, links = judged()
    weight = np.random.RandomState(1).randint(1, 4, len(same))
    found = estimate_quality(distances, same, weight.astype(float), links, 1.5, 0.2)
    often = np.repeat(np.arange(len(same)), weight)
    assert_allclose(found.auc.value, roc_auc_score(same[often], -distances[often]))
    kinds = [0.2 / weight[same].sum(), 0.8 / weight[~same].sum()]
    counted = weight * np.where(same, *kinds)
    expected = precision_score(same, distances <= 1.5, sample_weight=counted)
    assert_allclose(found.precision.value, expected)


@each("figure", [_precision, _recall, _f1])
def test_slopes_of_figures_are_those_by_finite_differences(figure):
    at, step = (0.7, 0.2, 0.3), 1e-6
    ahead = [figure(0.7 + step, 0.2, 0.3)[0], figure(0.7, 0.2 + step, 0.3)[0]]
    value, *slopes = figure(*at)
    assert_allclose((np.array(ahead) - value) / step, slopes, atol=1e-5)


def test_what_a_metric_has_learned_from_widens_its_intervals():
    distances, same, links = judged()
    arguments = distances, same, np.ones(len(same)), links, 1.5, 0.5
    before = estimate_quality(*arguments)
    assert estimate_quality(*arguments, seen=distances) == before
    after = estimate_quality(*arguments, seen=np.where(same, distances / 2, 2 * distances))
    for one, other in ((before.auc, after.auc), (before.recall, after.recall)):
        assert one.value == other.value
        assert other.low < one.low < one.high < other.high


def test_intervals_hold_where_new_distances_are_a_little_larger_or_smaller():
    rng = np.random.RandomState(0)
    n, same = 100, np.arange(200) < 100
    links, weight = np.arange(400).reshape(200, 2), np.ones(200)
    held = {0.0: [], 0.1: []}
    for _ in range(150):
        # Uniform on 0 to 1, or on 1 to 2, both beside a radius that is off by a tenth.
        distances = rng.rand(2 * n) + ~same
        off = 0.8 * np.exp(0.1 * rng.normal())
        for error, found in held.items():
            one = estimate_quality(distances, same, weight, links, 0.8, 0.5, radius_error=error)
            found.append(one.recall.low <= min(off, 1.0) <= one.recall.high)
            assert one.auc.value == 1
    assert np.mean(held[0.0]) < 0.8
    assert 0.84 <= np.mean(held[0.1]) <= 0.97


def test_variance_is_that_of_pairs_that_share_rows_by_the_definition():
    _, _, links = judged(k=30, n=9)
    influence = np.random.RandomState(2).normal(size=30)
    sharing = [[bool(set(p) & set(q)) for q in links.tolist()] for p in links.tolist()]
    assert_allclose(dyadic_variance(influence, links), influence @ np.array(sharing) @ influence)
    apart = np.arange(60).reshape(30, 2)  # without common rows: the sum of squares
    assert_allclose(dyadic_variance(influence, apart), (influence**2).sum())


@pytest.mark.night
def test_intervals_hold_the_truth_about_nine_times_in_ten():
    rng = np.random.RandomState(0)
    X = rng.normal(size=(600, 2)) + 1.2 * rng.randint(2, size=600)[:, None]
    y = (X.sum(axis=1) > 1.2).astype(int)

    def found(pairs):
        return Euclidean(random_state=0).fit(X, pairs=pairs).quality(X, pairs=pairs).auc

    truth = found(Pairs.from_labels(y, 50_000, random_state=0)).value
    held = 0
    for seed in range(150):
        # Few rows and many pairs among them: taken as independent, these would say far too much.
        rows = rng.permutation(600)[:30]
        pairs = Pairs.from_labels(y[rows], 150, random_state=seed)
        one = found(Pairs(rows[pairs.must_link], rows[pairs.cannot_link]))
        held += one.low <= truth <= one.high
    assert 0.82 <= held / 150 <= 0.96


def test_nothing_is_certain_after_a_few_pairs():
    links = np.arange(8).reshape(4, 2)
    same = np.array([True, True, False, False])
    few = estimate_quality(np.array([1.0, 1, 2, 2]), same, np.ones(4), links, 1.5, 0.5)
    assert few.auc.value == few.precision.value == 1
    assert few.auc.low < 0.6
    assert few.auc.high == 1
    assert logistic_interval(1.0, 0.0, 1000).low > 0.99


def test_where_nothing_is_called_the_same_precision_is_unknown():
    distances, same, links = judged()
    found = estimate_quality(distances, same, np.ones(len(same)), links, -1.0, 0.3)
    assert found.precision == IntervalEstimate(0.3, 0, 1)
    assert found.recall.value == found.f1.value == 0


def test_quality_of_a_metric_is_that_of_its_verdicts(wine):
    X, y = wine
    metric = ITML(random_state=0).fit(X[::2], y[::2])
    found = metric.quality(X[1::2], y[1::2], prevalence=0.3)
    assert_allclose(found.auc.value, metric.score(X[1::2], y[1::2]), atol=0.02)  # some pairs
    assert found.radius == metric.threshold_for(0.5, prevalence=0.3)
    assert "90%" in str(found)
    assert "auc" in str(found)
    assert "<table>" in found._repr_html_()
    with pytest.raises(ValueError, match="quality needs both"):
        metric.quality(X, pairs=Pairs([(0, 1)]))
    for wrong in (0, 1, 1.5):
        with pytest.raises(ValueError, match="share of the pairs that are the same"):
            metric.quality(X, y, prevalence=wrong)


def test_a_threshold_for_precision_has_that_chance(wine):
    X, y = wine
    metric = ITML(random_state=0).fit(X, y)
    for precision, prevalence in [(0.9, None), (0.7, 0.1), (0.2, 0.5)]:
        radius = metric.threshold_for(precision, prevalence)
        a, b = np.zeros((1, X.shape[1])), np.zeros((1, X.shape[1]))
        b[0, 0] = radius / metric.pair_distance(a, a + np.eye(1, X.shape[1]))[0]
        assert_allclose(metric.chance_same(a, b, prevalence), precision, rtol=1e-6)
    with pytest.raises(ValueError, match="nowhere the same with such a chance"):
        metric.threshold_for(0.999999, prevalence=1e-9)
    with pytest.raises(ValueError, match="precision must lie between 0 and 1"):
        metric.threshold_for(1.0)


def test_precision_of_what_is_rare_cannot_be_promised_by_a_few_pairs():
    k = 60
    distances, same = np.repeat([1.0, 3.0], k), np.repeat([True, False], k)
    links = np.arange(4 * k).reshape(-1, 2)

    def low(prevalence, n_different):
        some = np.arange(2 * k) < k + n_different
        arguments = distances[some], same[some], np.ones(some.sum()), links[some]
        return estimate_quality(*arguments, 2.0, prevalence).precision.low

    assert low(0.5, 50) > 0.93
    assert low(0.01, 50) < 0.2
    assert low(0.5, 50) > low(0.5, 20) > low(0.3, 20)


@each(("precision", "prevalence"), [(0.99, 0.5), (0.9, 0.1)])
def test_as_many_pairs_as_a_promise_takes(precision, prevalence):
    n = count_pairs_to_promise(precision, prevalence, 1.0)

    def low(n_different):
        same = np.arange(n_different + 400) < 400
        links = np.arange(2 * len(same)).reshape(-1, 2)
        return estimate_quality(~same * 2.0, same, np.ones(len(same)), links, 1.0, prevalence)

    assert low(n // 2).precision.low < precision
    assert_allclose(low(n).precision.low, precision, atol=0.01)
