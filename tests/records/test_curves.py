import numpy as np
import pytest

from nearkin.records.model import chances_by, likely_curves
from tests.cases import each

NONE = np.zeros(0)
CURVE = np.array([[2.5, 1.0]])


@pytest.fixture(scope="module")
def candidates():
    """Scores of pairs most of which differ, some of them nearly the same, and whether they are."""
    rng = np.random.RandomState(0)
    parts = [(-6, 2.0, 4000), (0, 0.6, 200), (4, 1.2, 120)]
    scores = np.concatenate([rng.normal(*part) for part in parts])
    return scores, (rng.uniform(size=len(scores)) < chances_by(CURVE, scores)[0]).astype(float)


def curves_by(candidates, asked):
    scores, same = candidates
    others = np.delete(scores, asked)
    return likely_curves(scores[asked], same[asked], others, same.sum())


def test_curves_follow_answers():
    rng = np.random.RandomState(0)
    scores = rng.uniform(-4, 4, size=400)
    same = (rng.uniform(size=400) < chances_by(np.array([[1.5, 1.0]]), scores)[0]).astype(float)
    draws = likely_curves(scores, same, NONE, same.sum()).draws
    slope, middle = draws.mean(axis=0)
    assert abs(slope - 1.5) < 0.5
    assert abs(middle - 1) < 0.4
    assert draws.std(axis=0).max() < likely_curves(NONE, NONE, NONE, 0).draws.std()


@each("n", [10, 40])
def test_answers_by_kind_are_told_from_answers_to_questions(candidates, n):
    scores, same = candidates
    rng = np.random.RandomState(1)
    by_kind = np.concatenate([rng.permutation(np.flatnonzero(same == k))[:n] for k in (0, 1)])
    doubtful = np.argsort(np.abs(scores - 0.7))[: 2 * n]
    assert curves_by(candidates, by_kind).by_kind > 0.9
    assert curves_by(candidates, doubtful).by_kind < 0.1


def test_answers_by_kind_say_that_most_pairs_in_the_middle_differ(candidates):
    scores, same = candidates
    rng = np.random.RandomState(2)
    asked = np.concatenate([rng.permutation(np.flatnonzero(same == k))[:40] for k in (0, 1)])
    found = curves_by(candidates, asked)
    doubt = np.abs(scores) < 0.5
    share = chances_by(found.draws, scores[doubt]).mean()
    assert abs(share - same[doubt].mean()) < 0.15
    # Without the others nothing is known of how these were chosen, and they are taken as they are.
    alone = likely_curves(scores[asked], same[asked], NONE, same.sum())
    assert alone.by_kind < 0.1
    assert chances_by(alone.draws, scores[doubt]).mean() > share + 0.1
