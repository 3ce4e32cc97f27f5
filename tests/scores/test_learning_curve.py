import numpy as np
import pytest
from scipy.stats import spearmanr

from nearkin.pairs.answers import Estimate
from nearkin.questions.outlook import (
    DECLINE,
    DEVIATION,
    SKEW,
    TOLERANCE,
    WEIGHTS,
    Halves,
    LearningCurve,
    curve_of,
    features_of,
    rank_correlation,
)
from tests.cases import each


def halves(k=40, kept=0.8, auc=0.75):
    return Halves(k, kept, Estimate(auc, auc - 0.1, min(auc + 0.1, 1.0)), k)


def test_the_gain_falls_with_a_power_of_the_number_of_answers():
    curve = LearningCurve(40, np.log(0.021), room=1.0)
    later = curve.moved_to(80)
    assert later.n_answers == 80
    assert later.gain.value == pytest.approx(curve.gain.value / 2**DECLINE)
    assert later.moved_to(40).log_gain == pytest.approx(curve.log_gain)


def test_answers_until_the_gain_is_small_are_where_the_curve_says():
    curve = LearningCurve(40, np.log(0.021), room=1.0)
    more = curve.answers_until(TOLERANCE)
    assert curve.moved_to(40 + more).gain.value <= TOLERANCE * (1 + 1e-12)
    assert curve.moved_to(40 + more - 1).gain.value > TOLERANCE
    assert curve.moved_to(50 + more).answers_until(TOLERANCE) == 0


def test_the_rise_is_the_sum_of_gains_and_never_beyond_what_is_left():
    curve = LearningCurve(40, np.log(0.002), room=0.4)
    gains = [curve.moved_to(40 + n).gain.value for n in range(0, 100, 10)]
    assert curve.rise(0) == 0
    assert curve.rise(10) == pytest.approx(curve.gain.value)
    assert curve.rise(100) == pytest.approx(sum(gains))
    steep = LearningCurve(10, np.log(0.2), room=0.1)
    assert steep.gain.high <= 0.1
    assert steep.rise(200) <= 0.1


def test_more_is_expected_where_answers_move_the_metric():
    assert curve_of(halves(kept=0.5)).gain.value > curve_of(halves(kept=0.9)).gain.value
    assert curve_of(halves(k=20)).gain.value > curve_of(halves(k=200)).gain.value


def test_little_is_expected_near_guessing_and_near_perfection():
    usual = curve_of(halves(400, auc=0.8)).gain.value
    assert curve_of(halves(400, auc=0.5)).gain.value < usual
    assert curve_of(halves(400, auc=1.0)).gain.value < usual


@each("kept", [1.0, -1.0])
@each("auc", [0.0, 0.5, 1.0])
def test_nothing_leaves_the_numbers(kept, auc):
    gain = curve_of(halves(10, kept=kept, auc=auc)).gain
    assert 0 < gain.low <= gain.value <= gain.high < 1


def test_nine_of_ten_gains_are_in_the_interval():
    gain = LearningCurve(40, np.log(0.01), room=1.0).gain
    errors = np.random.RandomState(0).normal(0, DEVIATION, 20_000)
    real = gain.value * np.exp(errors - SKEW)
    assert np.mean((gain.low <= real) & (real <= gain.high)) == pytest.approx(0.9, abs=0.01)


def test_the_gain_that_is_expected_is_the_mean_not_the_middle():
    curve = curve_of(halves())
    assert curve.log_gain == pytest.approx(features_of(halves()) @ WEIGHTS + SKEW)
    assert np.sqrt(curve.gain.low * curve.gain.high) == pytest.approx(
        curve.gain.value * np.exp(-SKEW)
    )
    # Of errors such as these the mean is larger than the middle, by no more than that.
    assert 0 < SKEW <= DEVIATION**2 / 2


def test_rank_correlation_is_spearman_s():
    rng = np.random.RandomState(0)
    a, b = rng.rand(50).round(1), rng.rand(50).round(1)
    assert rank_correlation(a, b) == pytest.approx(spearmanr(a, b).statistic)
    assert rank_correlation(a, np.ones(50)) == 1.0
