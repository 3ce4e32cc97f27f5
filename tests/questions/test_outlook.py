"""Whether further answers are worth the asking: verdicts, and answers that tell nothing."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from nearkin import Pairs, learn_actively, outlook
from nearkin.datasets import make_xor
from nearkin.pairs.answers import Estimate
from nearkin.questions.outlook import Halves, LearningCurve, verdict_of
from tests.cases import each

X, Y = make_xor(300, random_state=0)


def answers(n, y=Y, seed=0):
    return Pairs.from_labels(y, n, random_state=seed)


def test_early_answers_are_worth_more_than_late_ones():
    early, late = (outlook(X, answers(n)) for n in (20, 240))
    assert early.verdict == "more"
    assert early.n_more >= 5
    assert early.gain.value > 2 * late.gain.value
    assert early.gain.low < early.gain.value < early.gain.high
    assert "the next 10 answers are expected to raise pair AUC by 0.0" in late.reason
    assert str(early).startswith(f"about {early.n_more} more: ")


def test_the_curve_starts_now_and_rises():
    found = outlook(X, answers(40))
    numbers, rises = zip(*found.curve, strict=True)
    assert numbers[0] == found.n_answers == 40
    assert rises[0] == 0
    assert rises[1] == pytest.approx(found.gain.value)
    assert list(rises) == sorted(rises)


def test_halves_tell_each_other_apart():
    halves = outlook(X, answers(120)).halves
    assert halves.n_answers == 120
    assert halves.auc.value > 0.8
    assert halves.kept < 0.9  # xor is learned against the Euclidean distance


def test_the_same_seed_gives_the_same():
    assert outlook(X, answers(40)) == outlook(X, answers(40))


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
    assert found.verdict == "too early"
    assert found.n_more is found.gain is found.halves is None
    assert found.curve == ()
    assert reason in found.reason
    assert str(found).startswith("too early to tell: ")


def test_shuffled_answers_show_no_relation_to_the_columns():
    shuffled = np.random.RandomState(0).permutation(Y)
    some, many = (outlook(X, answers(n, shuffled)) for n in (60, 300))
    assert some.verdict in ("too early", "more")
    assert many.verdict == "no use"
    assert many.n_more == 0
    assert "more answers will not help: columns do not tell these apart" in str(many)


def test_a_few_answers_do_not_show_that_more_will_not_help():
    curve, auc = LearningCurve(60, np.log(0.01), 0.4), Estimate(0.5, 0.4, 0.59)
    assert verdict_of(curve, Halves(60, 0.9, auc, 40)).verdict == "no use"
    assert verdict_of(curve, Halves(60, 0.9, auc, 38)).verdict == "more"


def test_nothing_seen_so_far_is_not_enough():
    halves = Halves(40, 0.99, Estimate(0.55, 0.4, 0.7), 40)
    found = verdict_of(LearningCurve(40, np.log(1e-4), 0.4), halves)
    assert found.verdict == "too early"
    assert "not seen yet whether columns tell these apart" in found.reason
    assert found.curve == ()


def test_few_answers_of_one_kind_leave_the_usual_expectation():
    pairs = Pairs([(0, 1), (3, 4)], [(3 * i, 3 * i + 30) for i in range(60)])
    found = outlook(X, pairs)
    assert found.halves.n_judged <= 4
    assert found.gain.value > 0


def test_contradictions_and_equal_rows_do_no_harm():
    pairs = answers(40)
    opposite = Pairs(pairs.cannot_link[:10], pairs.must_link[:10])
    assert np.isfinite(outlook(X, pairs + opposite).gain.value)
    assert outlook(np.ones((300, 3)), pairs).verdict in ("too early", "no use", "enough")


def test_rows_of_any_kind_and_of_any_scale():
    expected = outlook(X, answers(60))
    assert outlook(pd.DataFrame(X), answers(60)) == expected
    scaled = outlook(X * [1e-5, 1e5], answers(60))
    assert scaled.gain.value == pytest.approx(expected.gain.value, rel=0.01)
    assert outlook(sp.csr_array(np.abs(X)), answers(60)).gain is not None


def test_of_many_answers_some_are_looked_at():
    found = outlook(X, answers(2000))
    assert found.n_answers == 2000
    assert found.halves.n_answers == 300
    assert found.verdict == "enough"
    assert found.n_more == 0
    assert str(found).startswith("enough: ")
    assert found.gain.value < outlook(X, answers(240)).gain.value


@pytest.mark.night
@each(("verdict", "n_asked"), [("enough", 20), ("no use", 20), ("more", 40)])
def test_questions_end_when_there_are_enough(verdict, n_asked, monkeypatch):
    def from_twenty_on(X, pairs):
        found = outlook(X, pairs)
        return replace(found, verdict=verdict if len(pairs) >= 20 else "too early")

    monkeypatch.setattr("nearkin.questions.active.outlook", from_twenty_on)
    settings = {"strategy": "random", "random_state": 0}
    result = learn_actively(X, oracle, 40, stop="enough", **settings)
    assert result.n_asked == n_asked
    assert result.outlook.verdict == verdict
    assert learn_actively(X, oracle, n_asked, **settings).history == result.history


def oracle(i, j):
    return bool(Y[i] == Y[j])


def test_the_outlook_of_questions_is_that_of_their_answers():
    result = learn_actively(X, oracle, 30, random_state=0)
    assert result.outlook == outlook(X, result.pairs)
    with pytest.raises(ValueError, match="stop must be None or 'enough', not 'now'"):
        learn_actively(X, oracle, 5, stop="now")
