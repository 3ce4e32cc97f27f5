"""Ranks of held-out pairs, and what they tell of metrics and of pairs."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm
from sklearn.metrics import average_precision_score, roc_auc_score

from nearkin.scores.held_out import (
    USUAL_GAIN,
    AnswerModel,
    AucComparison,
    average_precision,
    compare_auc,
    model_answers,
    placements,
    rank_among,
    rank_within,
    share_below,
)
from tests.cases import each


def test_shares_below_count_ties_by_half():
    among = np.array([3.0, 1.0, 2.0, 2.0])
    values = np.array([0.0, 1.0, 2.0, 2.5, 9.0])
    assert_array_equal(share_below(values, among), [0, 0.125, 0.5, 0.75, 1])


def test_ranks_are_shares_below_interpolated():
    among = np.array([3.0, 1.0, 2.0, 2.0])
    found = rank_among(np.array([1.0, 2.0, 2.5, 3.0]), among)
    assert_allclose(found, [0.125, 0.5, (0.5 + 0.875) / 2, 0.875])
    rng = np.random.RandomState(0)
    among, values = rng.exponential(size=(2, 4000))
    assert_allclose(rank_among(values, among), share_below(values, among), atol=1e-3)
    assert_allclose(rank_among(1e6 * values, 1e6 * among), rank_among(values, among))


@each("among", [[5.0, 6.0, 7.0], [0.0, 0.0], [1e-6, 1e6]])
def test_different_distances_have_different_ranks_between_0_and_1(among):
    distances = np.array([0.0, 1e-9, 0.1, 0.2, 5.5, 8.0, 1e5])
    found = rank_among(distances, np.array(among))
    assert (np.diff(found) > 0).all()
    assert found.min() >= 0
    assert found.max() < 1


def test_standing_spreads_pairs_evenly_wherever_they_are():
    rng = np.random.RandomState(0)
    same = np.arange(300) < 100
    rank = 1e-6 * rng.rand(300)  # all nearer than nearly all random pairs
    rank[7] = np.nan
    found = rank_within(rank, same)
    assert np.isnan(found[7])
    assert_array_equal(np.argsort(np.delete(found, 7)), np.argsort(np.delete(rank, 7)))
    kinds = rank[same & ~np.isnan(rank)], rank[~same]
    assert_allclose(found[8], np.mean([share_below(rank[8:9], kind) for kind in kinds]))
    assert_array_equal(rank_within(np.full(3, np.nan), same[:3]), np.full(3, np.nan))


def test_mean_placements_are_the_area_under_the_curve():
    rng = np.random.RandomState(1)
    rank = np.round(rng.rand(60), 1)  # with ties
    same = rng.rand(60) < 0.4
    above, below = placements(rank, same)
    expected = roc_auc_score(same, -rank)
    assert_allclose([above.mean(), below.mean()], expected)
    loops = [np.mean([(c > m) + (c == m) / 2 for c in rank[~same]]) for m in rank[same]]
    assert_allclose(above, loops)


def test_average_precision_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    rank, same = rng.integers(30, size=200) / 30, rng.random(200) < 0.2
    expected = average_precision_score(same, -rank)
    assert_allclose(average_precision(np.sort(rank), same[np.argsort(rank)]), expected)
    assert average_precision(np.array([0.1, 0.2, 0.3]), np.array([True, True, False])) == 1
    near, far = (average_precision(np.full(3, at), np.ones(3, dtype=bool)) for at in (0.05, 0.9))
    assert near > 0.3 > far  # beside random pairs


def test_standard_error_is_that_of_repeated_draws():
    rng = np.random.RandomState(2)
    same = np.arange(120) < 60

    def one_draw():
        signal = np.where(same, 0.0, 1.0)
        common = rng.normal(size=120)
        return compare_auc(
            signal + common, 0.5 * signal + common + 0.5 * rng.normal(size=120), same
        )

    draws = [one_draw() for _ in range(300)]
    assert_allclose(np.mean([d.error for d in draws]), np.std([d.gain for d in draws]), rtol=0.15)


def test_comparisons_that_are_plain():
    rank = np.random.RandomState(3).rand(20)
    found = compare_auc(rank, rank, np.arange(20) < 10)  # with itself
    assert found.gain == found.t == 0 < found.error
    # Pairs that were not held out do not count.
    rng = np.random.RandomState(4)
    one, two, same = rng.rand(30), rng.rand(30), np.arange(30) % 2 == 0
    with_gaps = np.where(np.arange(30) < 20, one, np.nan)
    assert compare_auc(with_gaps, two, same) == compare_auc(one[:20], two[:20], same[:20])
    # Random pairs stand for a kind that is missing.
    near, far = np.full(8, 0.01), np.full(8, 0.5)
    found = compare_auc(near, far, np.ones(8, dtype=bool))
    assert_allclose([found.auc, found.other_auc], [0.99, 0.5])
    assert_allclose(compare_auc(far, near, np.zeros(8, dtype=bool)).gain, 0.49)


def test_chance_of_gain_follows_what_is_seen_and_else_what_is_believed():
    mean, deviation = USUAL_GAIN  # by the odds of two hypotheses
    usual = norm.pdf(0.05, mean, np.sqrt(0.04**2 + deviation**2))
    odds = 0.9 * usual / (0.1 * norm.pdf(0.05, 0, 0.04))
    assert_allclose(AucComparison(0.85, 0.8, 0.04).chance_of_gain(0.9), odds / (1 + odds))
    assert AucComparison(0.9, 0.8, 0.01).chance_of_gain(0.9) > 0.999
    assert AucComparison(0.8, 0.8, 0.01).chance_of_gain(0.9) < 0.5
    assert AucComparison(0.7, 0.8, 0.02).chance_of_gain(0.9) < 0.1
    assert_allclose(AucComparison(0.8, 0.8, 100.0).chance_of_gain(0.7), 0.7, atol=1e-3)
    assert AucComparison(1.0, 0.0, 1e-4).chance_of_gain(0.9) == 1
    assert AucComparison(0.0, 1.0, 1e-4).chance_of_gain(0.9) < 1e-9


def answered(n, slope, wrong, seed=0):
    """Ranks, and what was said by a curve and some mistakes."""
    rng = np.random.RandomState(seed)
    rank = rng.rand(n)
    same = rng.rand(n) < 1 / (1 + np.exp(-slope * (rank - 0.5)))
    return rank, same ^ (rng.rand(n) < wrong)


@each(("slope", "wrong"), [(-12.0, 0.0), (-12.0, 0.2), (-8.0, 0.1)])
def test_the_curve_and_the_share_of_mistakes_are_found(slope, wrong):
    found = model_answers(*answered(6000, slope, wrong))
    assert_allclose(found.slope, slope, rtol=0.15)
    assert_allclose(found.level, 0, atol=0.4)
    assert_allclose(found.wrong, wrong, atol=0.03)


def test_mistakes_are_told_from_a_flat_curve_by_extreme_ranks():
    rank, same = answered(2000, -15.0, 0.2)
    found = model_answers(rank, same)
    chance = found.chance_wrong(np.array([0.02, 0.98, 0.02]), np.array([True, True, False]))
    assert chance[0] < 0.01
    assert chance[1] > 0.9
    assert chance[2] > 0.9
    clean = model_answers(*answered(2000, -15.0, 0.0))
    assert clean.wrong < 0.02


def test_kinds_count_the_same_whatever_their_numbers():
    rank, same = answered(4000, -6.0, 0.1)
    many = np.concatenate([np.arange(4000), np.flatnonzero(same), np.flatnonzero(same)])
    one, two = model_answers(rank, same), model_answers(rank[many], same[many])
    assert_allclose(one.chance_same(rank), two.chance_same(rank), atol=0.02)


def test_with_few_answers_some_mistakes_are_expected():
    found = model_answers(np.array([0.1, 0.9]), np.array([True, False]))
    assert 0.02 < found.wrong < 0.2
    assert found.chance_same(np.array([0.0]))[0] > 0.5
    for same in (True, False):  # one kind says nothing
        assert model_answers(np.array([0.1, 0.2, np.nan, 0.9]), np.full(4, same)) is None


def test_chance_wrong_is_bayes_rule():
    answers = AnswerModel(0.5, -3.0, 0.1)
    rank, same = np.array([0.2, 0.9]), np.array([True, False])
    p = 1 / (1 + np.exp(-(0.5 - 3.0 * (rank - 0.5))))
    said = np.where(same, p, 1 - p)
    assert_allclose(answers.chance_same(rank), p)
    expected = 0.1 * (1 - said) / (0.1 * (1 - said) + 0.9 * said)
    assert_allclose(answers.chance_wrong(rank, same), expected)
