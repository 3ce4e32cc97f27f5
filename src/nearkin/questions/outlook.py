"""What the next answers will gain, and whether they are worth the asking."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from scipy.stats import norm, rankdata
from sklearn.utils import check_random_state

from nearkin._types import Floats, Ints, Mask
from nearkin.learners.itml import ITML
from nearkin.learners.live_view import LiveView
from nearkin.learners.teachable import begun, retaught
from nearkin.messages import collect_notices
from nearkin.pairs.answers import CONFIDENCE, Estimate
from nearkin.pairs.closure import draw_numbers, random_pairs
from nearkin.pairs.pairs import Pairs
from nearkin.questions.strategies import checked_knowledge, with_inferred
from nearkin.rows import access, validation
from nearkin.rows.distances import linked_distances
from nearkin.rows.parallel import pause
from nearkin.rows.scaling import find_differing_units
from nearkin.rows.validation import count_rows
from nearkin.scores.held_out import ranks
from nearkin.scores.quality import quality_of

# What further answers will gain, by metrics that are learned from halves of those there are.


# Gains are told for so many answers at a time, and are worth the asking down to this.
STEP = 10
TOLERANCE = 0.005
# Weights of 1, log k, log(1 - ρ), log zφ(z) and log(1 - A), the deviation of errors, and the
# logarithm of the mean gain over that of the middle one.
WEIGHTS = (-0.71, -0.81, 0.34, 0.32, 0.29)
DEVIATION = 1.0
SKEW = 0.3
# The gain of ten answers falls with this power of their number.
DECLINE = -WEIGHTS[1]
# A usual AUC, and how many answers it counts as.
USUAL_AUC = (0.75, 20)
# Distances that moved less than this, or AUC nearer to ½ or 1, are beyond what can be told.
_LEAST_MOVED = 1e-3
_LEAST_AUC, _MOST_AUC = 0.51, 0.999


@dataclass(frozen=True)
class Halves:
    """What metrics learned from halves of the answers show.

    Attributes
    ----------
    n_answers : int
        In both halves together.
    kept : float
        Rank correlation of distances under these metrics with those under one that was told
        nothing, over random pairs of rows.
    auc : Estimate
        Their pair AUC on answers that they were not told.
    n_judged : int
        So many answers it is as good as, half of them same.
    """

    n_answers: int
    kept: float
    auc: Estimate
    n_judged: int


@dataclass(frozen=True)
class LearningCurve:
    """Pair AUC from some number of answers on.

    Attributes
    ----------
    n_answers : int
        Those that there are.
    log_gain : float
        Logarithm of what the next ten raise it by in the mean.
    room : float
        What it can be raised by at most.
    """

    n_answers: int
    log_gain: float
    room: float

    @property
    def gain(self) -> Estimate:
        """By how much the next ten answers raise it."""
        width = DEVIATION * norm.ppf((1 + CONFIDENCE) / 2)
        logs = self.log_gain + np.array([0, -SKEW - width, -SKEW + width])
        value, low, high = np.minimum(np.exp(logs), self.room)
        return Estimate(float(value), float(low), float(high))

    def moved_to(self, n_answers: int) -> LearningCurve:
        """The same curve seen from another number of answers."""
        fall = DECLINE * np.log(n_answers / self.n_answers)
        return replace(self, n_answers=n_answers, log_gain=float(self.log_gain - fall))

    def answers_until(self, tolerance: float) -> int:
        """How many more answers until ten raise it by less than this; 0 if they do already."""
        times = np.exp((self.log_gain - np.log(tolerance)) / DECLINE)
        return max(0, int(np.ceil(self.n_answers * (times - 1))))

    def rise(self, n_more: int) -> float:
        """By how much so many more answers raise it."""
        steps = self.n_answers + STEP * np.arange(n_more // STEP)
        gains = np.exp(self.log_gain) * (steps / self.n_answers) ** -DECLINE
        return float(min(gains.sum(), self.room))


def curve_of(halves: Halves) -> LearningCurve:
    """The curve that is expected by metrics learned from halves of the answers."""
    room = 1 - np.clip(_believed(halves), 0.5, _MOST_AUC)
    log_gain = features_of(halves) @ WEIGHTS + SKEW
    return LearningCurve(halves.n_answers, float(min(log_gain, np.log(room))), float(room))


def features_of(halves: Halves) -> Floats:
    """What the expected gain is reckoned from: 1, log k, log(1 - ρ), log zφ(z), log(1 - A)."""
    auc = np.clip(_believed(halves), _LEAST_AUC, _MOST_AUC)
    z = norm.ppf(auc)
    moved = max(1 - halves.kept, _LEAST_MOVED)
    return np.log([np.e, halves.n_answers, moved, z * norm.pdf(z), 1 - auc])


def _believed(halves: Halves) -> float:
    """The AUC that is believed, between a usual one and that which was seen."""
    usual, imagined = USUAL_AUC
    n = halves.n_judged
    return (n * halves.auc.value + imagined * usual) / (n + imagined)


def rank_correlation(first: Floats, second: Floats) -> float:
    """Correlation of the ranks of numbers; 1 where either are all the same."""
    a, b = (rankdata(values) - (len(values) + 1) / 2 for values in (first, second))
    size = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / size if size else 1.0


Verdict = Literal["too early", "more", "enough", "no use"]

# Fewer answers than this are no evidence, not even of what further ones would be worth.
LEAST_ANSWERS = 10
# Answers and rows that are looked at, at most: this is asked after every answer.
MOST_ANSWERS = 300
_MOST_ROWS = 400
# Pairs of each kind that it is told, of those that follow.
_MOST_TOLD = 500
# Times that answers are dealt into halves.
_DEALS = 4
# Columns do not tell pairs apart where pair AUC is below this, nearly for certain, by so many.
_NEAR_CHANCE, _LEAST_JUDGED = 0.6, 40
# Numbers of further answers that the expected curve has points at.
_AHEAD = (0, 10, 20, 50, 100, 200)


@dataclass(frozen=True)
class Outlook:
    """Whether further answers are worth asking for. Print it.

    Attributes
    ----------
    n_answers : int
    verdict : {"too early", "more", "enough", "no use"}
        ``"enough"`` where the next ten answers are expected to raise pair AUC by less than 0.005;
        ``"no use"`` where columns do not tell same from different, whatever is answered.
    n_more : int or None
        About how many more answers until there are enough; None where it is too early to say.
    gain : Estimate or None
        By how much the next ten answers will raise pair AUC on new rows.
    halves : Halves or None
        What metrics learned from halves of the answers have shown.
    curve : tuple of (int, float)
        Numbers of answers, and by how much pair AUC will have risen by then; none where it is too
        early to say.
    reason : str

    Examples
    --------
    >>> from nearkin import Pairs, outlook
    >>> from nearkin.datasets import make_xor
    >>> X, y = make_xor(400, random_state=0)
    >>> found = outlook(X, Pairs.from_labels(y, 6, random_state=0))
    >>> found.n_answers, found.advice
    (6, 'too early to tell')
    """

    n_answers: int
    verdict: Verdict
    n_more: int | None
    gain: Estimate | None
    halves: Halves | None
    curve: tuple[tuple[int, float], ...]
    reason: str

    @property
    def advice(self) -> str:
        """The verdict in a word or two."""
        return {
            "too early": "too early to tell",
            "more": f"about {self.n_more} more",
            "enough": "enough",
            "no use": "more answers will not help",
        }[self.verdict]

    def __str__(self) -> str:
        return f"{self.advice}: {self.reason}"


def outlook(X: Any, pairs: Pairs, *, random_state: Any = 0) -> Outlook:
    """Predict whether further answers are worth asking for, and about how many.

    Parameters
    ----------
    X : array, sparse matrix or frame of shape (n, d)
    pairs : Pairs
        What was answered.
    random_state : int, RandomState or None, default=0
        Deals the answers into halves, and draws rows to look at.

    Returns
    -------
    Outlook

    Notes
    -----
    ``ITML`` in a kernel's feature space stands for whatever is learned in the end. It learns from
    halves of the answers: how far does that move it, and does it tell the other half apart? By how
    much metrics improve after that was measured on fifteen data sets, see
    :mod:`nearkin.questions.outlook`. Of more than 300 answers, and of more than 400 rows where
    answers name fewer, random ones are looked at: it takes a fraction of a second.

    Examples
    --------
    >>> from nearkin import Pairs, outlook
    >>> from nearkin.datasets import make_xor
    >>> X, y = make_xor(400, random_state=0)
    >>> outlook(X, Pairs.from_labels(y, 6, random_state=0)).verdict
    'too early'
    >>> outlook(X, Pairs.from_labels(y, 200, random_state=0)).verdict
    'enough'
    """
    n_rows, known, _ = checked_knowledge(None, X, pairs)
    if (early := _too_early(known)) is not None:
        return early
    rng = check_random_state(random_state)
    some = _some_answers(known, rng)
    rows = _some_rows(some, n_rows, rng)
    some = some.restrict(rows)
    with collect_notices():  # what is worth a note is one of the learner that is asked for
        taken = validation.check_input(access.take_to_host(X, rows), accept_sparse="csr")
        halves = _halves(taken, some, rng)
    if halves is None:
        return _open(len(known), "halves of the answers are too few to learn from.")
    return verdict_of(curve_of(halves).moved_to(len(known)), halves)


def _too_early(pairs: Pairs) -> Outlook | None:
    """The outlook of answers that say nothing of further ones, or None."""
    n, kinds = len(pairs), (pairs.must_link, pairs.cannot_link)
    if n < LEAST_ANSWERS:
        return _open(n, f"it takes {LEAST_ANSWERS} answers to see what further ones are worth.")
    if min(len(kind) for kind in kinds) < 2:
        missing = "same" if len(pairs.must_link) < 2 else "different"
        return _open(n, f"hardly any answer is {missing}, and it takes both kinds.")
    if _share_a_row(np.concatenate(kinds)):
        return _open(n, "all answers are about one row, which says little of the others.")
    return None


def _open(n_answers: int, reason: str) -> Outlook:
    return Outlook(n_answers, "too early", None, None, None, (), reason)


def _share_a_row(links: Ints) -> bool:
    return any((links == row).any(axis=1).all() for row in links[0])


def _some_answers(pairs: Pairs, rng: np.random.RandomState) -> Pairs:
    if len(pairs) <= MOST_ANSWERS:
        return pairs
    kept = np.zeros(len(pairs), dtype=bool)
    kept[draw_numbers(len(pairs), MOST_ANSWERS, rng)] = True
    return pairs.subset(kept)


def _some_rows(pairs: Pairs, n_rows: int, rng: np.random.RandomState) -> Ints:
    """The rows that pairs name, and random ones."""
    others = np.setdiff1d(np.arange(n_rows), pairs.points, assume_unique=True)
    wanted = min(max(_MOST_ROWS - len(pairs.points), 0), len(others))
    return np.sort(np.concatenate([pairs.points, others[draw_numbers(len(others), wanted, rng)]]))


def verdict_of(curve: LearningCurve, halves: Halves) -> Outlook:
    """What follows from the expected curve, and from whether anything was learned so far."""
    told = f"pair AUC {halves.auc} on answers held out, where guessing has 0.5."
    verdict: Verdict = "more"
    n_more: int | None = _rounded(curve.answers_until(TOLERANCE))
    reason = f"the next {STEP} answers are expected to raise pair AUC by {curve.gain}"
    if halves.auc.high < _NEAR_CHANCE and halves.n_judged >= _LEAST_JUDGED:
        verdict, n_more, reason = "no use", 0, f"columns do not tell these apart: {told}"
    elif n_more:
        reason += "."
    elif halves.auc.low < 0.5:
        verdict, n_more = "too early", None
        reason = f"it is not seen yet whether columns tell these apart: {told}"
    else:
        verdict = "enough"
        reason += f", a hundred more by {curve.rise(100):.3f}."
    told_ahead = () if verdict == "too early" else _AHEAD
    ahead = tuple((curve.n_answers + n, curve.rise(n)) for n in told_ahead)
    return Outlook(curve.n_answers, verdict, n_more, curve.gain, halves, ahead, reason)


def _rounded(n: int) -> int:
    """As people say numbers that they are not sure of; 0 stays."""
    step = 5 if n < 40 else 10 if n < 200 else 50
    return -(-n // step) * step


def _halves(X: Any, pairs: Pairs, rng: np.random.RandomState) -> Halves | None:
    """Learn from halves of the answers, and compare; None where that cannot be done.

    They are judged by answers, and by what follows from these, about rows of which they were told
    nothing: of two rows one at least, so that it does not follow from what they know.
    """
    judged = with_inferred(pairs, rng, _MOST_TOLD)
    links = np.concatenate([judged.must_link, judged.cannot_link])
    n = len(links)
    both = np.concatenate([links, random_pairs(count_rows(X), rng)])
    metric = begun(_stand_in(X), X, pairs)
    view = LiveView(metric, X)

    def distances(told: Pairs) -> Floats:
        pause()
        taught = retaught(metric, X, with_inferred(told, rng, _MOST_TOLD))
        return linked_distances(view.seen_by(taught).embedding(), both)

    total, count, kept = np.zeros(n), np.zeros(n), []
    try:
        untaught = distances(Pairs(n_rows=pairs.n_rows))[n:]
        for _ in range(_DEALS):
            half = _dealt(pairs, rng)
            for part in (pairs.subset(half), pairs.subset(~half)):
                learned = distances(part)
                kept.append(rank_correlation(learned[n:], untaught))
                new = ~np.isin(links, part.points).all(axis=1)
                total[new] += ranks(learned[:n], learned[n:])[new]
                count[new] += 1
    except (ValueError, np.linalg.LinAlgError):
        return None  # the learner can make nothing of a half
    auc, n_judged = _auc(total, count, np.arange(n) < len(judged.must_link), links)
    return Halves(len(pairs), float(np.mean(kept)), auc, min(n_judged, len(pairs)))


def _auc(total: Floats, count: Floats, same: Mask, links: Ints) -> tuple[Estimate, int]:
    """Pair AUC by mean ranks of the pairs that were judged, and how many that is as good as."""
    judged = count > 0
    rank, same = total[judged] / count[judged], same[judged]
    fewest = int(min(same.sum(), (~same).sum()))
    if not fewest:
        return Estimate(0.5, 0.0, 1.0), 0
    return quality_of(rank, same, np.ones(len(rank)), links[judged], 0.5, 0.5).auc, 2 * fewest


def _stand_in(X: Any) -> ITML:
    """A learner that takes milliseconds, for whichever is used in the end."""
    scale = find_differing_units(X) is not None
    return ITML(kernel="rbf", n_landmarks=_MOST_ROWS, scale=scale, random_state=0)


def _dealt(pairs: Pairs, rng: np.random.RandomState) -> Mask:
    """Half of the must-links and half of the cannot-links."""
    half = np.zeros(len(pairs), dtype=bool)
    n_same = len(pairs.must_link)
    for kind in (np.arange(n_same), np.arange(n_same, len(pairs))):
        half[rng.permutation(kind)[: (len(kind) + rng.randint(2)) // 2]] = True
    return half


# What further answers are worth, as the page shows it.


# Answers ahead at which the curve has points; it is flat beyond what is known.
_AHEAD_ON_PAGE = (0, 10, 20, 50, 100)
# Answers ahead that are looked at.
_FARTHEST = 200


def outlook_of(X: Floats, pairs: Pairs, n_answers: int) -> dict[str, Any]:
    """The outlook as plain values.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    pairs : Pairs
        What was answered.
    n_answers : int
        To how many questions: one answer may speak of several pairs.

    Returns
    -------
    dict
        ``verdict``, ``advice`` and ``reason``; ``gain``, ``low`` and ``high`` of the next ten
        answers, None where it is too early; ``curve``, numbers of answers with the rise of pair AUC
        expected by then.
    """
    seen = outlook(X, pairs)
    each = len(pairs) / n_answers if n_answers else 1.0
    verdict, n_more, reason = seen.verdict, seen.n_more, seen.reason
    gain, curve = seen.gain, [[n, rise] for n, rise in seen.curve]
    scale = 1.0
    if gain is not None and curve and each > 1 and verdict in ("more", "enough"):
        ahead = [[(n - len(pairs)) / each, rise] for n, rise in curve]
        verdict, n_more, rise = _by_answers(ahead)
        scale = rise / gain.value if gain.value > 0 else 1.0
        curve = [[n_answers + n, float(np.interp(n, *np.transpose(ahead)))] for n in _AHEAD_ON_PAGE]
        reason = f"the next {STEP} answers are expected to raise pair AUC by {rise:.3f}."
    return {
        "verdict": verdict,
        "advice": advice(verdict, n_more, seen),
        "reason": reason,
        "gain": None if gain is None else gain.value * scale,
        "low": None if gain is None else gain.low * scale,
        "high": None if gain is None else gain.high * scale,
        "curve": curve,
    }


def advice(verdict: Verdict, n_more: int | None, seen: Outlook) -> str:
    """The verdict in a few words."""
    if verdict == "more":
        return f"about {n_more} more answers"
    return "no longer improving" if verdict == "enough" else seen.advice


def _by_answers(ahead: list[list[float]]) -> tuple[Verdict, int, float]:
    """Whether there are enough, about how many more it takes, and the gain of the next ten."""
    n = np.arange(0, _FARTHEST + 1, 5)
    rise = np.interp([n, n + STEP], *np.transpose(ahead))
    gains = rise[1] - rise[0]
    enough = np.flatnonzero(gains < TOLERANCE)
    more = int(n[enough[0]]) if len(enough) else _FARTHEST
    return ("more" if more else "enough"), more, float(gains[0])
