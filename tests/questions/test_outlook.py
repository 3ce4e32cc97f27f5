"""What further answers are expected to gain, and answers that tell nothing of that."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.stats import spearmanr

from nearkin import Pairs, learn_actively, outlook
from nearkin.datasets import make_xor
from nearkin.pairs.answers import IntervalEstimate
from nearkin.questions.outlook import (
    DECLINE,
    DEVIATION,
    SKEW,
    WEIGHTS,
    Halves,
    Outlook,
    list_features,
    rank_correlation,
)
from tests.cases import each

X, Y = make_xor(300, random_state=0)


def answers(n, y=Y, seed=0):
    return Pairs.from_labels(y, n, random_state=seed)


def expected(k=40, kept=0.8, auc=0.75):
    """What is expected after k answers by what their halves showed."""
    return Outlook(
        k, Halves(k, kept, IntervalEstimate(auc, auc - 0.1, min(auc + 0.1, 1.0)), k)
    ).gain


def test_early_answers_are_worth_more_than_late_ones():
    early, late = (outlook(X, answers(n)) for n in (20, 240))
    assert early.gain.value > 2 * late.gain.value
    assert early.gain.low < early.gain.value < early.gain.high
    assert f"answers are expected to raise pair AUC by {early.gain}. Learned" in str(early)
    assert f"halves of the answers, it is {late.halves.auc} on the other half" in str(late)
    assert outlook(X, answers(20)) == early  # by the seed


def test_halves_tell_each_other_apart():
    halves = outlook(X, answers(120)).halves
    assert halves.n_answers == 120
    assert halves.auc.value > 0.8
    assert halves.kept < 0.9  # xor is learned against the Euclidean distance
    shuffled = np.random.RandomState(0).permutation(Y)
    assert outlook(X, answers(300, shuffled)).halves.auc.high < 0.6


@each(
    ("pairs", "reason"),
    [
        (Pairs(), "it takes 10 answers"),
        (answers(4), "it takes 10 answers"),
        (Pairs.from_labels(Y, 30, kind="must", random_state=0), "hardly any answer is different"),
        (Pairs.from_labels(Y, 30, kind="cannot", random_state=0), "hardly any answer is same"),
        (Pairs([(0, i) for i in range(1, 9)], [(0, i) for i in range(9, 20)]), "about one row"),
    ],
)
def test_answers_that_tell_nothing_of_further_ones(pairs, reason):
    found = outlook(X, pairs)
    assert found.gain is found.halves is None
    assert str(found).startswith(f"too early to tell: {found.too_early}")
    assert reason in found.too_early


def test_contradictions_and_equal_rows_do_no_harm():
    pairs = answers(40)
    opposite = Pairs(pairs.cannot_link[:10], pairs.must_link[:10])
    assert np.isfinite(outlook(X, pairs + opposite).gain.value)
    assert np.isfinite(outlook(np.ones((300, 3)), pairs).gain.value)
    # Few answers of one kind leave the usual expectation.
    found = outlook(X, Pairs([(0, 1), (3, 4)], [(3 * i, 3 * i + 30) for i in range(60)]))
    assert found.halves.n_judged <= 4
    assert found.gain.value > 0


def test_rows_of_any_kind_and_of_any_scale():
    usual = outlook(X, answers(60))
    assert outlook(pd.DataFrame(X), answers(60)) == usual
    scaled = outlook(X * [1e-5, 1e5], answers(60))
    assert scaled.gain.value == pytest.approx(usual.gain.value, rel=0.01)
    assert outlook(sp.csr_array(np.abs(X)), answers(60)).gain is not None


def test_of_many_answers_some_are_looked_at():
    found = outlook(X, answers(2000))
    assert found.n_answers == 2000
    assert found.halves.n_answers == 300
    assert found.gain.value < outlook(X, answers(240)).gain.value
    # That of questions is that of their answers.
    result = learn_actively(X, lambda i, j: bool(Y[i] == Y[j]), 30, random_state=0)
    assert result.outlook == outlook(X, result.pairs)


def test_the_gain_falls_with_a_power_of_the_number_of_answers():
    halves = Halves(40, 0.8, IntervalEstimate(0.75, 0.65, 0.85), 40)
    now, later = (Outlook(n, halves).gain for n in (40, 80))
    assert now.value == pytest.approx(np.exp(list_features(halves) @ WEIGHTS + SKEW))
    assert later.value == pytest.approx(now.value / 2**DECLINE)
    # It goes by what was seen.
    assert expected(kept=0.5).value > expected(kept=0.9).value
    assert expected(k=20).value > expected(k=200).value
    usual = expected(400, auc=0.8).value
    assert expected(400, auc=0.5).value < usual  # as guessing does
    assert expected(400, auc=1.0).value < usual


def test_more_answers_gain_more_and_never_beyond_what_is_left():
    found = Outlook(40, Halves(40, 0.8, IntervalEstimate(0.75, 0.65, 0.85), 40))
    each_ten = [Outlook(n, found.halves).gain.value for n in range(40, 90, 10)]
    assert found.gain_of(10) == found.gain
    assert found.gain_of(50).value == pytest.approx(sum(each_ten), rel=0.05)
    assert found.gain_of(5000).high <= 1 - 0.75


@each("kept", [1.0, -1.0])
@each("auc", [0.0, 0.5, 1.0])
def test_nothing_leaves_the_numbers(kept, auc):
    gain = expected(10, kept, auc)
    assert 0 < gain.low <= gain.value <= gain.high < 1


def test_nine_of_ten_gains_are_in_the_interval_of_their_mean():
    gain = expected()
    errors = np.random.RandomState(0).normal(0, DEVIATION, 20_000)
    real = gain.value * np.exp(errors - SKEW)
    assert np.mean((gain.low <= real) & (real <= gain.high)) == pytest.approx(0.9, abs=0.01)
    # Of errors such as these the mean is larger than the middle, by no more than that.
    assert 0 < SKEW <= DEVIATION**2 / 2


def test_rank_correlation_is_spearman_s():
    rng = np.random.RandomState(0)
    a, b = rng.rand(50).round(1), rng.rand(50).round(1)
    assert rank_correlation(a, b) == pytest.approx(spearmanr(a, b).statistic)
    assert rank_correlation(a, np.ones(50)) == 1.0
