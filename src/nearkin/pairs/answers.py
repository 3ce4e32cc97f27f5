"""Answers of several people: where they disagree, and how often each errs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import CubicHermiteSpline
from scipy.sparse import csr_array
from scipy.special import expit, logit

from nearkin._types import Floats, Ints, Mask
from nearkin.errors import InputError, counted
from nearkin.pairs.closure import ends_of, keys_of
from nearkin.pairs.pairs import (
    Pairs,
    check_count,
    check_pairs,
    read_frame,
    refuse_difference_from_itself,
)
from nearkin.storage.schema import a, real, stored, text, whole

# Intervals hold the true figure with this probability: enough to rely on, by convention.
CONFIDENCE = 0.9
# Whoever is wrong this often at least should be looked at; of whoever's rate may be anything in an
# interval so wide, too little is known. Chosen by hand.
_OFTEN_WRONG, _WIDE = 0.2, 0.3
# Who answered where nobody is named.
UNNAMED = "unnamed"
# Lines of a table, and names of a sentence.
_MOST_LISTED, _MOST_NAMED = 10, 3
# The share of wrong answers is thought to be Beta(a, b) before any is seen: a fifth or so, which
# ten answers outweigh. Chosen by hand; how often intervals hold then is in benchmarks/answerers.
_IMAGINED_ANSWERS = (2.0, 8.0)
# Nothing is believed more than this, so that no answer is beyond correction.
_MOST_CERTAIN = 1 - 1e-6
# Triangles share answers, so that what several of them say of a pair is not independent: each
# counts this much, and of a pair no more than so many are looked at. Chosen by hand.
_FROM_TRIANGLES = 0.5
_MOST_TRIANGLES = 50
# If more answers are wrong by triangles, chains of wrong ones have led astray. Chosen by hand.
_MOST_WRONG = 1 / 3
# Rates are at rest when none changes by more, or after so many rounds. Not tuned.
_ROUNDS, _AT_REST = 100, 1e-4
# Likelihoods are followed in steps of so many standard errors of a rate whose truth is known, each
# larger than the one before, down to exp(-_FAR) of the highest, so that intervals show no step.
_STEP, _GROWTH, _FAR = 0.5, 1.3, 5.0
# Places between which a likelihood is summed up. Not tuned.
_FINE = 500
# No pair is quite without weight.
_LEAST_WEIGHT = 1e-3
# Pairs of less weight are open; where the mean is less, nothing follows from answers at all. Chosen
# by hand: as much is told by an answer that is right in two cases of three.
LEAST_TELLING = 0.1


@dataclass(frozen=True)
class IntervalEstimate:
    """A figure, and the interval in which the true one lies in nine cases of ten."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.3f} ({self.low:.3f} to {self.high:.3f})"


IntervalEstimate.__name__ = "Estimate"  # as it is called in model files
stored(value=real, low=real, high=real)(IntervalEstimate)


@stored(name=text, n_answers=whole, wrong=a("Estimate"))
class Answerer(NamedTuple):
    """A person, rule or program that answers, with its estimated error rate.

    Attributes
    ----------
    name : str
    n_answers : int
    wrong : IntervalEstimate
        Share of answers that are wrong, with its 90 % interval.

    Examples
    --------
    >>> from nearkin import Answers
    >>> links = [(i, i + 1) for i in range(20)]
    >>> answers = Answers(
    ...     3 * links, 20 * [1] + 20 * [1] + 10 * [0, 1], by=20 * ["A"] + 20 * ["B"] + 20 * ["C"]
    ... )
    >>> [(one.name, one.n_answers) for one in answers.answerers]
    [('A', 20), ('B', 20), ('C', 20)]
    >>> answers.answerers[-1].wrong.value > 0.3
    True
    """

    name: str
    n_answers: int
    wrong: IntervalEstimate

    def __str__(self) -> str:
        return f"{self.name}: {counted(self.n_answers, 'answer')}, wrong {self.wrong}"


def advise_on_answerers(answerers: list[Answerer]) -> str:
    """Advise in a sentence or two whose answers to look at; empty if nobody answered."""
    if not answerers:
        return ""
    reversed_ = [one for one in answerers if one.wrong.low > 0.5]
    often = [one for one in answerers if _OFTEN_WRONG < one.wrong.low <= 0.5]
    named = [one for one in answerers if one.name != UNNAMED]
    unknown = [one for one in named if one.wrong.high - one.wrong.low > _WIDE]
    said = {
        "Mostly wrong: {}. What they say counts as the opposite; ask whether they took same for "
        "different.": reversed_,
        "Look at answers of {}: many are wrong.": often,
        "Too little is known of {}: more answers to pairs that others answer too would "
        "tell.": unknown,
    }
    told = [text.format(_join_names(some)) for text, some in said.items() if some]
    return " ".join(told) or "Nobody stands out."


def format_answerers(answerers: list[Answerer]) -> str:
    """Format error rates as a text table, least reliable last, with :func:`advise_on_answerers`."""
    shown = answerers[-_MOST_LISTED:]
    width = max(len("who"), *(len(one.name) for one in shown))
    lines = [f"  {'who':{width}}  answers  wrong, with 90 % interval"]
    if len(shown) < len(answerers):
        lines.append(f"  ({len(answerers) - len(shown)} more reliable ones)")
    lines += [f"  {one.name:{width}}  {one.n_answers:7}  {one.wrong}" for one in shown]
    return "\n".join([*lines, advise_on_answerers(answerers)])


def format_answerers_as_html(answerers: list[Answerer]) -> str:
    """Format the error rates of all answerers as an HTML table for notebooks."""
    head = "<tr><th>who</th><th>answers</th><th>wrong, with 90 % interval</th></tr>"
    body = "".join(
        f"<tr><td>{escape(one.name)}</td><td>{one.n_answers}</td><td>{one.wrong}</td></tr>"
        for one in answerers
    )
    return f"<table>{head}{body}</table><p>{escape(advise_on_answerers(answerers))}</p>"


def _join_names(some: list[Answerer]) -> str:
    """Join the names of the last three answerers for a sentence, and count the others."""
    names = [one.name for one in some[-_MOST_NAMED:]]
    if len(some) > _MOST_NAMED:
        return f"{', '.join(names)} and {len(some) - _MOST_NAMED} more"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


class AnswerEstimates(NamedTuple):
    """Chance of each of k pairs that it is the same, and the rate of wrong answers by answerer."""

    chance_same: Floats
    wrong: list[IntervalEstimate]


class _Known(NamedTuple):
    """All that rates and truth are estimated from: a answers by w people to k pairs."""

    pair: Ints  # of each answer
    sign: Floats  # of each answer: 1 for "same", -1 for "different"
    who: Ints  # of each answer
    n_answers: Ints  # by person
    odds: Floats  # log-odds of each pair by something else than answers
    triangles: Ints  # numbers of three pairs that form one, (t, 3)


class _Belief(NamedTuple):
    """Rates, chances and what each triangle says of its pairs, in some round."""

    wrong: Floats
    chance_same: Floats
    told: Floats


def estimate_truth_and_errors(
    pair: Ints, same: Mask, who: Ints, links: Ints, before: Floats | None = None
) -> AnswerEstimates:
    """Estimate which pairs are the same and how often each answerer errs, in turn to convergence.

    Answer i, by ``who[i]``, says of pair ``pair[i]`` whether it is the ``same``. The pairs are in
    ``links``, of shape (k, 2), each once, the smaller row first; ``before`` is the prior
    probability that each is the same, ½ by default and where it is NaN.

    O(a + t) time for each round, with a answers and t triangles of pairs, 50 for each pair at most;
    some dozens of rounds for the interval of each answerer.
    """
    prior = np.full(len(links), 0.5) if before is None else np.nan_to_num(before, nan=0.5)
    prior = np.clip(prior, 1 - _MOST_CERTAIN, _MOST_CERTAIN)
    sign = np.where(same, 1.0, -1.0)
    known = _Known(pair, sign, who, np.bincount(who), logit(prior), _find_triangles(links))
    belief = _converge(known)
    if np.average(belief.wrong, weights=known.n_answers) > _MOST_WRONG:
        known = known._replace(triangles=np.empty((0, 3), dtype=np.int64))
        belief = _converge(known)
    wrong = [_estimate_rate(known, belief, who) for who in range(len(known.n_answers))]
    return AnswerEstimates(belief.chance_same, wrong)


def _converge(known: _Known) -> _Belief:
    """Estimate error rates and chances of the pairs, starting from usual error rates."""
    usual = np.full(len(known.n_answers), _IMAGINED_ANSWERS[0] / sum(_IMAGINED_ANSWERS))
    belief = _Belief(usual, expit(known.odds), np.zeros(known.triangles.shape))
    # Most are right more often than not; only then is it seen who is not.
    for most in (0.5, _MOST_CERTAIN):
        belief = _iterate(known, belief, most)
    return belief


def _iterate(known: _Known, belief: _Belief, most: float, held: int | None = None) -> _Belief:
    """Update chances and rates, up to ``most``, that of ``held`` fixed, in turn to convergence."""
    wrong, chance, told = belief
    rate = None if held is None else wrong[held]
    for _ in range(_ROUNDS):
        chance, told = _update_chances(known, wrong, told)
        # The most likely rate of each answerer, given chances of the pairs.
        a, b = _IMAGINED_ANSWERS
        likeliest = (_count_mistakes(known, chance) + a - 1) / (known.n_answers + a + b - 2)
        previous, wrong = wrong, np.clip(likeliest, 1 - _MOST_CERTAIN, most)
        if held is not None:
            wrong[held] = rate
        if np.abs(wrong - previous).max() < _AT_REST:
            break
    return _Belief(wrong, chance, told)


def _update_chances(known: _Known, wrong: Floats, told: Floats) -> tuple[Floats, Floats]:
    """Return each pair's chance to be the same by these rates, and the triangles' log-odds.

    ``told``, of shape (t, 3), is what each triangle says of its three pairs, as log-odds.
    """
    said = np.bincount(known.pair, known.sign * -logit(wrong)[known.who], len(known.odds))
    heard = np.bincount(known.triangles.ravel(), told.ravel(), len(known.odds))
    odds = known.odds + said + _FROM_TRIANGLES * heard
    # What a triangle says of a pair must not come from that pair itself.
    told = (told + _combine_triangles(odds[known.triangles] - _FROM_TRIANGLES * told)) / 2
    return np.clip(expit(odds), 1 - _MOST_CERTAIN, _MOST_CERTAIN), told


def _count_mistakes(known: _Known, chance: Floats) -> Floats:
    """Expected number of wrong answers of each answerer, given chances of the pairs."""
    mistaken = 0.5 - known.sign * (chance[known.pair] - 0.5)
    return np.asarray(np.bincount(known.who, mistaken), dtype=np.float64)


def _estimate_rate(known: _Known, belief: _Belief, who: int) -> IntervalEstimate:
    r"""Estimate the error rate of answerer ``who`` with its interval, by profile likelihood.

    The value is the median of the likelihood. The slope of its logarithm along :math:`\theta`, the
    log-odds of the rate, is what the expected mistakes, m of n answers, are more than the rate asks
    for (Fisher's identity):
    :math:`m + a - (n + a + b) \sigma(\theta)`, with Beta(a, b) before. Truth that is not certain
    follows the rate, so that m does, and the likelihood is as flat as it should be.
    """
    rate = float(belief.wrong[who])
    n_known = known.n_answers[who] + sum(_IMAGINED_ANSWERS)
    step = _STEP / np.sqrt(n_known * rate * (1 - rate))
    down, up = (_follow_likelihood(known, belief, who, sign * step) for sign in (-1, 1))
    places, heights, slopes = np.concatenate([down[:0:-1], up]).T
    fine = np.linspace(places[0], places[-1], _FINE)
    below = np.cumsum(np.exp(CubicHermiteSpline(places, heights - heights.max(), slopes)(fine)))
    shares = np.array([0.5, (1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return IntervalEstimate(*expit(np.interp(shares * below[-1], below, fine)).tolist())


def _follow_likelihood(known: _Known, belief: _Belief, who: int, step: float) -> Floats:
    """Trace log-odds of a rate, profile log-likelihood and slope from its maximum to one side."""
    wrong, right = _IMAGINED_ANSWERS
    place, height, slope = float(logit(belief.wrong[who])), 0.0, 0.0
    passed: list[tuple[float, float, float]] = []
    while True:
        mistakes = float(_count_mistakes(known, belief.chance_same)[who])
        here = mistakes + wrong - (known.n_answers[who] + wrong + right) * float(expit(place))
        if passed:
            height += (slope + here) / 2 * (place - passed[-1][0])
        passed.append((place, height, here))
        if height < -_FAR:
            return np.array(passed)
        slope, place, step = here, place + step, step * _GROWTH
        rates = belief.wrong.copy()
        rates[who] = np.clip(expit(place), 1 - _MOST_CERTAIN, _MOST_CERTAIN)
        belief = _iterate(known, belief._replace(wrong=rates), _MOST_CERTAIN, held=who)


def _find_triangles(links: Ints) -> Ints:
    """Find triangles among the pairs, as pair numbers of shape (t, 3); 50 for a pair at most."""
    n = int(links.max(initial=-1)) + 1
    numbers = np.arange(len(links)) + 1
    both = (np.concatenate([numbers] * 2), np.concatenate([links.T, links.T[::-1]], axis=1))
    number = csr_array(both, shape=(n, n))
    found = []
    for here, (i, j) in enumerate(links.tolist()):
        of_i = slice(number.indptr[i], number.indptr[i + 1])
        of_j = slice(number.indptr[j], number.indptr[j + 1])
        _, first, second = np.intersect1d(
            number.indices[of_i], number.indices[of_j], assume_unique=True, return_indices=True
        )
        sides = np.column_stack([number.data[of_i][first], number.data[of_j][second]]) - 1
        once = sides[(sides > here).all(axis=1)][:_MOST_TRIANGLES]
        found += [(here, p, q) for p, q in once.tolist()]
    return np.array(found, dtype=np.int64).reshape(-1, 3)


def _combine_triangles(odds: Floats) -> Floats:
    """Log-odds of each pair of a triangle by those of the two others, of shape (t, 3).

    If both others are the same, so is the pair; if one is, it is not; neither says nothing.
    """
    chance = np.clip(expit(odds), 1 - _MOST_CERTAIN, _MOST_CERTAIN)
    p, q = np.roll(chance, 1, axis=1), np.roll(chance, 2, axis=1)
    neither = 0.5 * (1 - p) * (1 - q)
    return np.asarray(np.log(p * q + neither) - np.log(p * (1 - q) + (1 - p) * q + neither))


class Agreement(NamedTuple):
    """Pairs and error rates that follow from answers.

    Each pair once, as it probably is, with a weight that says how much that tells (1 if it is
    certain); and who answered, the most reliable first.
    """

    pairs: Pairs
    answerers: list[Answerer]


class Answers:
    """Answers about pairs from several people, programs or rules, who may disagree.

    Whoever answers is wrong sometimes, some more often than others. How often each is, and what is
    the same, is estimated from all answers together: from those to one pair, and from those to
    pairs that form triangles, as two rows that are the same as a third are the same.
    :class:`MetricLearner` also asks the metric that it learns from other pairs.

    Give them to ``fit`` as ``pairs=answers``. The same answerer may answer a pair twice, and say
    something else. Whoever is wrong more often than right tells something too: what they say counts
    as the opposite. Answers of whoever shares no pair with others, and no triangle of pairs, tell
    little of who is right, so that intervals of their rates are wide.

    Parameters
    ----------
    links : array-like of int, shape (a, 2)
        The rows that each answer is about, counted from 0.
    same : array-like of bool, shape (a,)
        What it says.
    by : sequence, length a
        Who says it; names are taken as text.
    n_rows : int, default=None
        How many rows X has, when known.

    Attributes
    ----------
    links : read-only int64 array of shape (k, 2)
        The pairs, each once.
    names : list of str
        Who answered, each once.
    n_rows : int or None

    Examples
    --------
    >>> from nearkin import Answers
    >>> links = [(0, 1), (0, 1), (0, 1), (1, 2), (1, 2), (0, 2)]
    >>> answers = Answers(links, [1, 1, 0, 1, 1, 1], by=["Ann", "Bob", "Cy", "Ann", "Cy", "Bob"])
    >>> answers
    Answers(6 answers by 3 to 3 pairs)
    >>> answers.pairs
    Pairs(3 must-links, 0 cannot-links)
    >>> answers.answerers[-1].name
    'Cy'
    >>> import numpy as np
    >>> answers.restrict(np.array([False, True, True])).links.tolist()  # of the last two rows
    [[0, 1]]
    """

    def __init__(
        self, links: ArrayLike, same: ArrayLike, by: Iterable[Any], *, n_rows: int | None = None
    ) -> None:
        self.n_rows = None if n_rows is None else check_count(n_rows, "n_rows", least=0)
        ends = check_pairs(links, "answer", self.n_rows)
        said = np.asarray(same)
        names = [str(name) for name in by]
        for name, length in (("same", len(said)), ("by", len(names))):
            if length != len(ends):
                raise InputError(f"there are {len(ends)} answers, but {name} has {length}.")
        if not np.isin(said, (0, 1)).all():
            raise InputError("same must be true or false for each answer: leave out unsure ones.")
        said = said.astype(bool)
        refuse_difference_from_itself(ends, "answer", ~said)
        telling = ends[:, 0] != ends[:, 1]
        keys, self._pair = np.unique(keys_of(np.sort(ends[telling], axis=1)), return_inverse=True)
        self.links: Ints = ends_of(keys)
        self.links.setflags(write=False)
        self._same: Mask = said[telling]
        told = [name for name, tells in zip(names, telling, strict=True) if tells]
        self.names: list[str] = list(dict.fromkeys(told))
        number = {name: i for i, name in enumerate(self.names)}
        self._who: Ints = np.array([number[name] for name in told], dtype=np.int64)
        if not len(self._same):
            raise InputError("there are no answers about two different rows.")

    @classmethod
    def from_frame(
        cls, frame: Any, *, by: str = "by", ids: Any = None, n_rows: int | None = None
    ) -> Answers:
        """Read answers from a dataframe with the columns left, right, same and who answered.

        Parameters
        ----------
        frame : dataframe
            As for :meth:`Pairs.from_frame`; weights are not read, since they are estimated.
        by : str, default="by"
            The column that says who answered.
        ids : sequence of hashable, default=None
        n_rows : int, default=None

        Examples
        --------
        >>> import pandas as pd
        >>> from nearkin import Answers
        >>> said = {"left": [0, 0, 1], "right": [1, 1, 2], "same": ["yes", "no", "yes"]}
        >>> Answers.from_frame(pd.DataFrame({**said, "by": ["Ann", "Bob", "Ann"]}))
        Answers(3 answers by 2 to 2 pairs)
        """
        ends, same, _, names, n_rows = read_frame(frame, ids, n_rows, by)
        return cls(ends, same, names, n_rows=n_rows)

    @property
    def n_answers(self) -> int:
        """Number of answers about two different rows."""
        return len(self._same)

    def __repr__(self) -> str:
        answers, pairs = counted(self.n_answers, "answer"), counted(len(self.links), "pair")
        known = "" if self.n_rows is None else f", n_rows={self.n_rows}"
        return f"Answers({answers} by {len(self.names)} to {pairs}{known})"

    def restrict(self, rows: Mask) -> Answers | None:
        """Return the answers about rows of ``X[rows]``, for a mask ``rows``; None without any."""
        kept = np.asarray(rows[self.links].all(axis=1))[self._pair]
        if not kept.any():
            return None
        ends = (np.cumsum(rows) - 1)[self.links[self._pair[kept]]]
        names = [self.names[who] for who in self._who[kept]]
        return Answers(ends, self._same[kept], names, n_rows=int(rows.sum()))

    @cached_property
    def _own_agreement(self) -> Agreement:
        """Agreement of the answers by themselves, estimated once."""
        return self.agreed()

    @property
    def pairs(self) -> Pairs:
        """Must-links and cannot-links that the answers agree on, before a metric is learned."""
        return self._own_agreement.pairs

    @property
    def tell_nothing(self) -> bool:
        """Whether the answers contradict each other so much that nothing follows from them."""
        return bool(_join_weights(self.pairs).mean() < LEAST_TELLING)

    @property
    def telling(self) -> Pairs:
        """Those of ``pairs`` that are certain enough for metrics to be judged by."""
        return self.pairs.subset(_join_weights(self.pairs) >= LEAST_TELLING)

    @property
    def answerers(self) -> list[Answerer]:
        """Error rate of each answerer, from the answers alone, the most reliable first."""
        return self._own_agreement.answerers

    def agreed(self, before: Floats | None = None) -> Agreement:
        """Estimate pairs and error rates from the answers and a prior probability of each pair.

        Parameters
        ----------
        before : ndarray of shape (k,), optional
            Probability that each of ``links`` is the same by something else, NaN if unknown.

        Examples
        --------
        >>> import numpy as np
        >>> from nearkin import Answers
        >>> answers = Answers([(0, 1), (0, 1)], [True, False], by=["Ann", "Bob"])
        >>> answers.agreed(before=np.array([0.9])).pairs  # a metric is for Ann
        Pairs(1 must-link, 0 cannot-links)
        >>> answers.agreed(before=np.array([0.1])).pairs
        Pairs(0 must-links, 1 cannot-link)
        """
        found = estimate_truth_and_errors(self._pair, self._same, self._who, self.links, before)
        # What is right with probability p tells (2 p - 1)² of what a certain answer tells.
        sure = np.maximum((2 * found.chance_same - 1) ** 2, _LEAST_WEIGHT)
        must = found.chance_same >= 0.5
        pairs = Pairs(
            self.links[must],
            self.links[~must],
            must_weight=sure[must],
            cannot_weight=sure[~must],
            n_rows=self.n_rows,
        )
        n_answers = np.bincount(self._who).tolist()
        listed = map(Answerer, self.names, n_answers, found.wrong)
        # Rates that differ by rounding alone leave people in the order of their first answers.
        return Agreement(pairs, sorted(listed, key=lambda one: round(one.wrong.value, 9)))


def _join_weights(pairs: Pairs) -> Floats:
    """Weights of must-links, then of cannot-links."""
    return np.concatenate([pairs.must_weight, pairs.cannot_weight])
