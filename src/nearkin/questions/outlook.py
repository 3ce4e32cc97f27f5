"""What the next answers will gain, by metrics that are learned from halves of those there are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import norm, rankdata
from sklearn.utils import check_random_state

from nearkin._types import Floats, Rng
from nearkin.learners.itml import ITML
from nearkin.learners.live_view import LiveView
from nearkin.learners.teachable import find_space_only, learn_again
from nearkin.messages import collect_notices
from nearkin.pairs.answers import CONFIDENCE, IntervalEstimate
from nearkin.pairs.closure import draw_links, draw_numbers
from nearkin.pairs.pairs import Pairs
from nearkin.questions.strategies import add_inferred, check_knowledge
from nearkin.rows import access, validation
from nearkin.rows.distances import linked_distances
from nearkin.rows.scaling import find_differing_units
from nearkin.rows.validation import count_rows
from nearkin.scores.held_out import rank_among
from nearkin.scores.quality import estimate_quality

# The gain is that of so many further answers: enough to show, and few enough to look ahead to.
STEP = 10
# Weights of 1, log k, log(1 - ρ), log zφ(z) and log(1 - A) in the logarithm of the gain; deviation
# of its errors on data left out; and the logarithm of the mean gain over that of the middle one. By
# benchmarks/stopping (weights()), on its sets to tune on.
WEIGHTS = (-0.71, -0.81, 0.34, 0.32, 0.29)
DEVIATION = 1.0
SKEW = 0.3
# The gain of ten answers falls with this power of their number.
DECLINE = -WEIGHTS[1]
# A usual pair AUC, and how many answers it counts as: chosen by hand.
USUAL_AUC = (0.75, 20)
# Distances that moved less, or AUC nearer to ½ or 1, are beyond what can be told. Not tuned.
_LEAST_MOVED = 1e-3
_LEAST_AUC, _MOST_AUC = 0.51, 0.999
# Fewer answers than this are no evidence, not even of what further ones would be worth: the
# learning curves of benchmarks/outlook begin there.
LEAST_ANSWERS = 10
# Answers and rows that are looked at, at most: this is asked after every answer.
MOST_ANSWERS = 300
_MOST_ROWS = 400
# Pairs of each kind that a metric is told, of those that follow.
_MOST_TOLD = 500
# Times that answers are dealt into halves: each costs two small fits. Not tuned.
_DEALS = 4


@dataclass(frozen=True)
class Halves:
    """What metrics learned from halves of the answers show."""

    n_answers: int  # in both halves together
    # Rank correlation of distances with those of a metric that was told nothing, of random pairs.
    kept: float
    auc: IntervalEstimate  # pair AUC on answers that they were not told
    n_judged: int  # so many answers it is as good as, half of them same


@dataclass(frozen=True)
class Outlook:
    """How much further answers are expected to gain. Print it.

    Attributes
    ----------
    n_answers : int
    halves : Halves or None
        What metrics learned from halves of the answers have shown, if it is not too early.
    too_early : str
        Why it is too early to tell; empty if it is not.

    Examples
    --------
    >>> from nearkin import Pairs, outlook
    >>> from nearkin.datasets import make_xor
    >>> X, y = make_xor(400, random_state=0)
    >>> print(outlook(X, Pairs.from_labels(y, 6, random_state=0)))
    too early to tell: it takes 10 answers to see what further ones are worth.
    >>> found = outlook(X, Pairs.from_labels(y, 60, random_state=0))
    >>> found.gain_of(30).value > 2 * found.gain.value
    True
    """

    n_answers: int
    halves: Halves | None
    too_early: str = ""

    @property
    def gain(self) -> IntervalEstimate | None:
        """Expected gain in pair AUC from the next ten answers; None if it is too early to tell."""
        return None if self.halves is None else self.gain_of(STEP)

    def gain_of(self, n_more: float) -> IntervalEstimate:
        """Expected gain in pair AUC on new rows from ``n_more`` answers, best about ten.

        Nine of ten gains of ``ITML`` lie in the interval. Each further answer gains less than the
        one before; here all of them count as the one in the middle.
        """
        assert self.halves is not None
        room = 1 - np.clip(_shrink_auc(self.halves), 0.5, _MOST_AUC)
        log_gain = min(list_features(self.halves) @ WEIGHTS + SKEW, np.log(room))
        middle = self.n_answers + (n_more - STEP) / 2
        log_gain -= DECLINE * np.log(middle / self.halves.n_answers) - np.log(n_more / STEP)
        width = DEVIATION * norm.ppf((1 + CONFIDENCE) / 2)
        logs = log_gain + np.array([0, -SKEW - width, -SKEW + width])
        value, low, high = np.minimum(np.exp(logs), room)
        return IntervalEstimate(float(value), float(low), float(high))

    def __str__(self) -> str:
        return describe_outlook(self, STEP)


def describe_outlook(found: Outlook, n_more: float) -> str:
    """Describe the gain of the next ten answers, which imply ``n_more`` pairs, in words."""
    if found.halves is None:
        return f"too early to tell: {found.too_early}"
    return (
        f"the next {STEP} answers are expected to raise pair AUC by {found.gain_of(n_more)}. "
        f"Learned from halves of the answers, it is {found.halves.auc} on the other half, where "
        "guessing has 0.5."
    )


def list_features(halves: Halves) -> Floats:
    """Features (5,) of the expected gain: 1, log k, log(1 - ρ), log zφ(z), log(1 - A)."""
    auc = np.clip(_shrink_auc(halves), _LEAST_AUC, _MOST_AUC)
    z = norm.ppf(auc)
    moved = max(1 - halves.kept, _LEAST_MOVED)
    return np.log([np.e, halves.n_answers, moved, z * norm.pdf(z), 1 - auc])


def _shrink_auc(halves: Halves) -> float:
    """Pair AUC of the halves, shrunk towards a usual one where few answers were judged."""
    usual, imagined = USUAL_AUC
    n = halves.n_judged
    return (n * halves.auc.value + imagined * usual) / (n + imagined)


def rank_correlation(first: Floats, second: Floats) -> float:
    """Spearman's correlation of two arrays; 1 where either is constant."""
    a, b = (rankdata(values) - (len(values) + 1) / 2 for values in (first, second))
    size = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / size if size else 1.0


def outlook(X: Any, pairs: Pairs, *, random_state: Any = 0) -> Outlook:
    """Predict by how much the next ten answers will raise pair AUC on new rows.

    Parameters
    ----------
    X : array, sparse matrix or frame of shape (n, d)
    pairs : Pairs
        What was answered.
    random_state : int, RandomState or None, default=0
        Splits the answers into halves, and draws rows.

    Notes
    -----
    ``ITML`` in a kernel's feature space stands for the learner that is used in the end. It learns
    from halves of the answers: how far that changes its distances, and how well they tell pairs of
    the other half apart, predicts the gain, by measurements on fifteen data sets
    (:mod:`nearkin.questions.outlook`). At most 300 answers are used, drawn at random, and random
    rows beside those they name, up to 400: it takes a fraction of a second.

    Examples
    --------
    >>> from nearkin import Pairs, outlook
    >>> from nearkin.datasets import make_xor
    >>> X, y = make_xor(400, random_state=0)
    >>> early, late = (outlook(X, Pairs.from_labels(y, n, random_state=0)).gain for n in (20, 200))
    >>> early.value > 2 * late.value
    True
    """
    return predict_outlook(X, pairs, lambda: None, random_state=random_state)


def predict_outlook(
    X: Any, pairs: Pairs, before_each_fit: Callable[[], object], *, random_state: Any = 0
) -> Outlook:
    """As :func:`outlook`, calling ``before_each_fit``, where the studio waits for urgent work."""
    n_rows, known, _ = check_knowledge(None, X, pairs)
    if (too_early := _explain_too_early(known)) is not None:
        return Outlook(len(known), None, too_early)
    rng = check_random_state(random_state)
    some = known
    if len(known) > MOST_ANSWERS:
        drawn = draw_numbers(len(known), MOST_ANSWERS, rng)
        some = known.subset(np.isin(np.arange(len(known)), drawn))
    # The rows that answers name, and random ones.
    others = np.setdiff1d(np.arange(n_rows), some.points, assume_unique=True)
    wanted = min(max(_MOST_ROWS - len(some.points), 0), len(others))
    rows = np.sort(np.concatenate([some.points, others[draw_numbers(len(others), wanted, rng)]]))
    some = some.restrict(rows)
    with collect_notices():  # what is worth a note is one of the learner that is asked for
        taken = validation.check_input(access.take_to_host(X, rows), accept_sparse="csr")
        halves = _learn_from_halves(taken, some, rng, before_each_fit)
    too_early = "" if halves else "halves of the answers are too few to learn from."
    return Outlook(len(known), halves, too_early)


def _explain_too_early(pairs: Pairs) -> str | None:
    """Return why the answers say nothing of further ones, or None if they do."""
    kinds = (pairs.must_link, pairs.cannot_link)
    if len(pairs) < LEAST_ANSWERS:
        return f"it takes {LEAST_ANSWERS} answers to see what further ones are worth."
    if min(len(kind) for kind in kinds) < 2:
        missing = "same" if len(pairs.must_link) < 2 else "different"
        return f"hardly any answer is {missing}, and it takes both kinds."
    links = np.concatenate(kinds)
    if any((links == row).any(axis=1).all() for row in links[0]):
        return "all answers are about one row, which says little of the others."
    return None


def _learn_from_halves(
    X: Any, pairs: Pairs, rng: Rng, before_each_fit: Callable[[], object]
) -> Halves | None:
    """Learn from halves of the answers and judge by the others; None where that cannot be done.

    Pairs to judge by are answers, and what follows from them, with at least one row that the half
    does not name, so that they do not follow from it.
    """
    told = add_inferred(pairs, rng, _MOST_TOLD)
    links = np.concatenate([told.must_link, told.cannot_link])
    n = len(links)
    both = np.concatenate([links, draw_links(count_rows(X), rng)])
    scale = find_differing_units(X) is not None
    # A learner that takes milliseconds, for whichever is used in the end.
    stand_in = ITML(kernel="rbf", n_landmarks=_MOST_ROWS, scale=scale, random_state=0)
    metric = find_space_only(stand_in, X, pairs)
    view = LiveView(metric, X)

    def learn_distances(part: Pairs) -> Floats:
        before_each_fit()
        taught = learn_again(metric, X, add_inferred(part, rng, _MOST_TOLD))
        return linked_distances(view.seen_by(taught).embedding(), both)

    total, count, kept = np.zeros(n), np.zeros(n), []
    try:
        untaught = learn_distances(Pairs(n_rows=pairs.n_rows))[n:]
        for _ in range(_DEALS):
            for part in pairs.split(0.5, rng):
                learned = learn_distances(part)
                kept.append(rank_correlation(learned[n:], untaught))
                new = ~np.isin(links, part.points).all(axis=1)
                total[new] += rank_among(learned[:n], learned[n:])[new]
                count[new] += 1
    except (ValueError, np.linalg.LinAlgError):
        return None  # the learner can make nothing of a half
    judged = count > 0
    rank, same = total[judged] / count[judged], (np.arange(n) < len(told.must_link))[judged]
    fewest = int(min(same.sum(), (~same).sum()))
    auc = IntervalEstimate(0.5, 0.0, 1.0)
    if fewest:
        auc = estimate_quality(rank, same, np.ones(len(rank)), links[judged], 0.5, 0.5).auc
    return Halves(len(pairs), float(np.mean(kept)), auc, min(2 * fewest, len(pairs)))
