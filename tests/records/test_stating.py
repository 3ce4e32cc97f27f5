import numpy as np

from nearkin.pairs.answers import IntervalEstimate
from nearkin.records.decisions import estimate_figures
from nearkin.records.model import chances_by, likely_curves

NOTHING = IntervalEstimate(0.0, 0.0, 0.0)


def figures(scores, called, draws, missed=NOTHING):
    return estimate_figures(draws, scores, called, np.ones(len(scores)), 0, 40, 0, missed)


def test_intervals_hold_the_truth():
    held = []
    for seed in range(40):
        rng = np.random.RandomState(seed)
        scores = np.concatenate([rng.normal(3, 1.2, 300), rng.normal(-4, 1.2, 2000)])
        same = rng.uniform(size=2300) < chances_by(np.array([[2.0, 0.3]]), scores)[0]
        asked = rng.permutation(2300)[:60]
        others = np.delete(scores, asked)
        likely = likely_curves(scores[asked], same[asked].astype(float), others, 300)
        found = figures(scores, scores > 0, likely.draws)
        # Forty more are known to be right.
        right = ((scores > 0) & same).sum() + 40
        truth = right / ((scores > 0).sum() + 40), right / (same.sum() + 40)
        held.append([e.low <= t <= e.high for e, t in zip(found, truth, strict=True)])
    assert (np.mean(held, axis=0) >= 0.85).all()


def test_what_was_never_met_lowers_recall_alone():
    draws = likely_curves(np.zeros(0), np.zeros(0), np.zeros(0), 0).draws
    scores = np.full(100, 9.0)
    called = np.ones(100, dtype=bool)
    before = figures(scores, called, draws)
    after = figures(scores, called, draws, IntervalEstimate(50.0, 40.0, 60.0))
    assert after.precision == before.precision
    assert after.recall.high < 0.8 < before.recall.low


def test_nothing_called_the_same():
    found = estimate_figures(
        np.ones((10, 2)), np.zeros(0), np.zeros(0, bool), np.zeros(0), 0, 0, 3, NOTHING
    )
    assert (found.precision.low, found.precision.high) == (0, 1)
    assert found.recall.high == 0


def test_right_ones_that_were_drawn_for_it_do_not_vouch_for_others():
    draws = np.tile([2.5, 0.0], (100, 1))
    scores, called = np.full(100, 9.0), np.ones(100, dtype=bool)
    asked, by_kind = (
        estimate_figures(draws, scores, called, np.ones(100), 0, 60, 0, NOTHING, by_kind=share)
        for share in (0.0, 1.0)
    )
    assert by_kind.precision.low < asked.precision.low - 0.02
    assert by_kind.recall.low > 0.9
