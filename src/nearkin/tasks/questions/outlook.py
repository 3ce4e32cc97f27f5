"""What the next answers will gain, and whether they are worth the asking."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from sklearn.utils import check_random_state

from nearkin._types import Floats, Ints, Mask
from nearkin.learners.itml import ITML
from nearkin.learners.live_view import LiveView
from nearkin.learners.teachable import begun, retaught
from nearkin.messages import noticed
from nearkin.pairs.answers import Estimate
from nearkin.pairs.closure import draw_numbers, random_pairs
from nearkin.pairs.pairs import Pairs
from nearkin.rows import access, validation
from nearkin.rows.distances import linked_distances
from nearkin.rows.parallel import pause
from nearkin.rows.scaling import differing_units
from nearkin.rows.validation import n_rows_of
from nearkin.scores.held_out import ranks
from nearkin.scores.learning_curve import (
    STEP,
    TOLERANCE,
    Halves,
    LearningCurve,
    curve_of,
    rank_correlation,
)
from nearkin.scores.quality import quality_of
from nearkin.tasks.questions.inferred import with_inferred
from nearkin.tasks.questions.suggest import checked_knowledge

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
    :mod:`nearkin.scores.learning_curve`. Of more than 300 answers, and of more than 400 rows where
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
    with noticed():  # what is worth a note is one of the learner that is asked for
        taken = validation.checked_rows(access.take_home(X, rows), accept_sparse="csr")
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
    both = np.concatenate([links, random_pairs(n_rows_of(X), rng)])
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
    scale = differing_units(X) is not None
    return ITML(kernel="rbf", n_landmarks=_MOST_ROWS, scale=scale, random_state=0)


def _dealt(pairs: Pairs, rng: np.random.RandomState) -> Mask:
    """Half of the must-links and half of the cannot-links."""
    half = np.zeros(len(pairs), dtype=bool)
    n_same = len(pairs.must_link)
    for kind in (np.arange(n_same), np.arange(n_same, len(pairs))):
        half[rng.permutation(kind)[: (len(kind) + rng.randint(2)) // 2]] = True
    return half
