"""Choose among metrics by pairs that they were not learned from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from html import escape
from typing import Any

import numpy as np
from sklearn import config_context
from sklearn.base import clone

from nearkin.learners.compositions import Chain
from nearkin.learners.incremental import TeachableMixin
from nearkin.learners.two_steps import embedding
from nearkin.pairs.numbering import random_pairs
from nearkin.pairs.pairs import Pairs
from nearkin.rows.arrays import Floats, Mask
from nearkin.rows.blocks import one_core
from nearkin.rows.distances import linked_distances
from nearkin.rows.notices import leaving_out
from nearkin.rows.once import once
from nearkin.scores.comparison import Comparison, compare, ranks
from nearkin.scores.pair_folds import pair_folds
from nearkin.storage.schema import a, dict_of, list_of, maybe, real, stored, text, truth, whole

# Shares of learners by name: a blend of their squared distances, each of mean 1.
Recipe = dict[str, float]

EUCLIDEAN = "Euclidean"
# Below this many pairs there is nothing to choose by.
LEAST_PAIRS = 10
N_FOLDS = 5
# A candidate takes the place of the usual one if it is better by so many standard errors, depending
# on the number of held-out pairs: the best of many candidates on few pairs is the luckiest.
_CLEARLY_BETTER = ((100, 1.5), (50, 2.5), (0, np.inf))
# Probability of a gain before any pair is seen, as on data whose classes were to be told apart.
_LEARNING_HELPS = 0.95
# It is this one where nothing is known of what learning gains: where distances are seen to tell
# nothing, that is not to separate at least so many held-out pairs by so many standard errors; and
# where must-links are one thing rather than one class, nearer than all but this share of random
# pairs: the distance at hand is very good then, and what is lost in a few directions, identity.
_NOTHING_KNOWN = 0.5
_ENOUGH_TO_TELL, _NOTHING_TOLD = 100, 1.5
_ONE_THING = 0.005
# Probability of a gain over the Euclidean distance above which that is not blended in, and below
# which it is kept as it is; and its share in between.
_SURE, _DOUBTFUL = 0.95, 0.5
_SHARE_IN_DOUBT = 0.25
# Its share when there is nothing to choose by.
_SHARE_UNSEEN = 0.5
# A gain of so many standard errors is shown by the held-out pairs themselves.
_SHOWN = 2.0


class SelectionWarning(UserWarning):
    """No learned metric was chosen by its merits; the message says why."""


@stored(name=text, auc=real, gain=real, error=real, chosen=truth)
@dataclass(frozen=True)
class Candidate:
    """A line of the report.

    Attributes
    ----------
    name : str
    auc : float
        Pair AUC on held-out pairs.
    gain, error : float
        Over the Euclidean distance, and its standard error.
    chosen : bool
    """

    name: str
    auc: float
    gain: float
    error: float
    chosen: bool = False


@stored(
    reason=text,
    candidates=list_of(a("Candidate")),
    n_judged=whole,
    chance_of_gain=maybe(real),
    recipe=dict_of(real),
    columns=maybe(text),
)
@dataclass(frozen=True)
class SelectionReport:
    """How a metric was chosen. Print it.

    Attributes
    ----------
    reason : str
        Why this one, in a sentence.
    candidates : list of Candidate
        Best first; empty if there was nothing to choose by.
    n_judged : int
        Held-out pairs that candidates were judged by.
    chance_of_gain : float or None
        Probability that the choice is better than the Euclidean distance.
    recipe : dict
        Shares of the learners that the metric is a blend of.
    columns : str
        What was done to the columns first, and why; empty if nothing was.
    """

    reason: str
    candidates: list[Candidate] = field(default_factory=list)
    n_judged: int = 0
    chance_of_gain: float | None = None
    recipe: Recipe = field(default_factory=dict)
    columns: str = ""

    @property
    def _said(self) -> str:
        return " ".join(part for part in (self.reason, self.columns) if part)

    def __str__(self) -> str:
        if not self.candidates:
            return self._said
        width = max(len(line.name) for line in self.candidates)
        lines = [f"  {'candidate':{width}}  pair AUC  gain over Euclidean"]
        for line in self.candidates:
            mark = "→" if line.chosen else " "
            gain = "" if line.name == EUCLIDEAN else f"{line.gain:+.3f} ± {line.error:.3f}"
            lines.append(f"{mark} {line.name:{width}}  {line.auc:8.3f}  {gain}".rstrip())
        return "\n".join([*lines, self._said])

    def _repr_html_(self) -> str:
        head = "<tr><th></th><th>candidate</th><th>pair AUC</th><th>gain over Euclidean</th></tr>"
        body = "".join(
            f"<tr><td>{'→' if line.chosen else ''}</td><td>{escape(line.name)}</td>"
            f"<td>{line.auc:.3f}</td><td>{line.gain:+.3f} ± {line.error:.3f}</td></tr>"
            for line in self.candidates
        )
        table = f"<table>{head}{body}</table>" if body else ""
        return f"{table}<p>{escape(self._said)}</p>"


@dataclass(frozen=True)
class HeldOut:
    """Squared distances under learners that did not see the pairs they are of.

    Attributes
    ----------
    judged : list of bool ndarray of shape (k,)
        Which of the k pairs each fold judges: those given, and after them those of triplets, all
        that are to be nearer and then all that are to be farther.
    distances, random : dict of list of ndarray
        For each learner and fold, those of the judged pairs and of random pairs of rows, whose
        mean is 1.
    same : bool ndarray of shape (k,)
        Which pairs are must-links, or the nearer ones of triplets.
    """

    judged: list[Mask]
    distances: dict[str, list[Floats]]
    random: dict[str, list[Floats]]
    same: Mask

    def ranks(self, recipe: Recipe) -> Floats:
        """Rank of each pair among random ones under a blend of learners; NaN if not judged."""
        out = np.full(len(self.same), np.nan)
        for fold, judged in enumerate(self.judged):
            blended, among = (
                np.sum([share * part[name][fold] for name, share in recipe.items()], axis=0)
                for part in (self.distances, self.random)
            )
            out[judged] = ranks(blended, among)
        return out


def hold_out(
    learners: Iterable[tuple[str, Any, Floats]],
    n_rows: int,
    pairs: Pairs,
    rng: np.random.RandomState,
    *,
    every_pair: bool = False,
) -> HeldOut:
    """Fit every learner to parts of the pairs, and measure those that are left out.

    Parameters
    ----------
    learners : iterable of (str, estimator, ndarray of shape (n, d))
        Name, learner, and the rows as it is to see them.
    n_rows : int
    pairs : Pairs
    rng : RandomState
        Draws folds and random pairs of rows.
    every_pair : bool, default=False
        Measure pairs that no fold can judge too, under what is learned from all of them.

    Notes
    -----
    A learner that refuses a part of the pairs, such as RCA without must-links, is left out.
    """
    folds = pair_folds(pairs, N_FOLDS, rng)
    if every_pair:
        everything = np.ones(len(pairs), dtype=bool)
        rest = ~np.any([judge for _, judge in folds], axis=0) if folds else everything
        if rest.any():
            folds = [*folds, (everything, rest)]
    learned_from = [pairs.subset(learn) for learn, _ in folds]
    n_must, n_cannot, n_triplets = map(len, (pairs.must_link, pairs.cannot_link, pairs.closer))
    near, far = pairs.closer[:, [0, 1]], pairs.closer[:, [0, 2]]
    links = np.concatenate([pairs.must_link, pairs.cannot_link, near, far])
    same = np.repeat([True, False, True, False], [n_must, n_cannot, n_triplets, n_triplets])
    judged = [np.concatenate([judge, judge[n_must + n_cannot :]]) for _, judge in folds]
    random_links = random_pairs(n_rows, rng)
    distances: dict[str, list[Floats]] = {}
    random: dict[str, list[Floats]] = {}
    for name, learner, rows in learners:
        try:
            # Many small matrices, and parameters that are known to be right.
            with one_core(), config_context(skip_parameter_validation=True):
                embeddings = [_embedded(learner, rows, part) for part in learned_from]
        except ValueError:
            continue
        squared = [linked_distances(Z, random_links) ** 2 for Z in embeddings]
        scales = [float(one.mean()) or 1.0 for one in squared]
        random[name] = [one / scale for one, scale in zip(squared, scales, strict=True)]
        distances[name] = [
            linked_distances(Z, links[judge]) ** 2 / scale
            for Z, scale, judge in zip(embeddings, scales, judged, strict=True)
        ]
    return HeldOut(judged, distances, random, same)


def _embedded(learner: Any, rows: Floats, pairs: Pairs) -> Floats:
    """Rows under what a learner makes of pairs; first steps that chains share are taken once."""
    first, *others = learner.steps if isinstance(learner, Chain) else [learner]
    # What is worth a warning shows in the final fit.
    with leaving_out(Warning):
        rows = once(_taught, first, rows, pairs)
        for step in others:
            rows = _taught(step, rows, pairs)
    return rows


def _taught(learner: Any, rows: Floats, pairs: Pairs) -> Floats:
    if isinstance(learner, TeachableMixin):
        return np.asarray(embedding(learner, rows, pairs))
    return np.asarray(clone(learner).fit(rows, pairs=pairs).transform(rows))


def choose(held_out: HeldOut, recipes: dict[str, Recipe], usual: str) -> SelectionReport:
    """The usual recipe unless another is clearly better, with as much Euclidean as is prudent.

    With few held-out pairs differences between candidates are mostly chance; what is best on other
    data is the better guess then. From 50 of them on, the usual recipe is left for the best of
    those that are better by 2.5 standard errors, from 100 on by 1.5 (and, where the usual one gains
    nothing, as much better than the Euclidean distance). The outcome is compared with that distance
    (:meth:`nearkin.scores.comparison.Comparison.chance_of_gain`): kept, blended with it, or given
    up for it.

    Parameters
    ----------
    held_out : HeldOut
    recipes : dict of Recipe
        By name, with one named "Euclidean"; of learners that ``held_out`` has.
    usual : str
        Name of the recipe to take unless another is better.
    """
    same = held_out.same
    rank = {name: held_out.ranks(recipe) for name, recipe in recipes.items()}
    beside = {name: compare(rank[name], rank[EUCLIDEAN], same) for name in recipes}
    better = {name: compare(rank[name], rank[usual], same).t for name in recipes}
    n_judged = int((~np.isnan(rank[usual])).sum())
    before, remark = _prior_belief(rank[usual], rank[EUCLIDEAN], same)
    best, clearly = usual, next(t for least, t in _CLEARLY_BETTER if n_judged >= least)
    # Where the usual recipe gains nothing, another must show that it does.
    doubted = beside[usual].chance_of_gain(before) < _DOUBTFUL
    for name, found in beside.items():
        shown = min(better[name], found.t) if doubted else better[name]
        if name != EUCLIDEAN and shown >= clearly and found.auc > beside[best].auc:
            best = name
    comparison = beside[best]
    chance = comparison.chance_of_gain(before)
    seen = f"{comparison.gain:+.3f} ± {comparison.error:.3f} pair AUC on {n_judged} held-out pairs"
    recipe = recipes[best]
    if chance < _DOUBTFUL:
        reason = f"Nothing is gained over the Euclidean distance ({best}: {seen}), which is kept."
        reason += remark
        best, recipe = EUCLIDEAN, recipes[EUCLIDEAN]
    else:
        reason = f"{best}, {_why(comparison, seen)}"
        if chance < _SURE:
            recipe = with_euclidean(recipe, _SHARE_IN_DOUBT)
            reason += (
                f" That is not certain: a share of {_SHARE_IN_DOUBT:.0%} of the Euclidean distance "
                "is blended in."
            )
    lines = [
        Candidate(name, found.auc, found.gain, found.error, chosen=name == best)
        for name, found in beside.items()
    ]
    lines.sort(key=lambda line: -line.auc)
    return SelectionReport(reason, lines, n_judged, chance, recipe)


def _prior_belief(usual: Floats, euclidean: Floats, same: Mask) -> tuple[float, str]:
    """Probability of a gain before pairs are looked at, and a remark if it is not the usual one."""
    judged = ~np.isnan(usual)
    if judged.sum() >= _ENOUGH_TO_TELL:
        tells = [compare(rank, 0 * rank, same).t for rank in (usual, euclidean)]
        if max(tells) <= _NOTHING_TOLD:
            return _NOTHING_KNOWN, " Held-out pairs show no relation to the columns of X at all."
    must = euclidean[judged & same]
    if len(must) and is_one_thing(must):
        return _NOTHING_KNOWN, " It has must-links nearer than nearly all random pairs already."
    return _LEARNING_HELPS, ""


def is_one_thing(rank: Floats) -> bool:
    """Whether must-links of these ranks are one thing rather than one class."""
    return bool(np.median(rank) < _ONE_THING)


def _why(comparison: Comparison, seen: str) -> str:
    """What a metric is preferred to the Euclidean distance for: what was seen, or belief."""
    if comparison.t >= _SHOWN:
        return f"better than the Euclidean distance ({seen})."
    if comparison.gain > 0:
        return f"which gains on most data; held-out pairs say so too, but do not prove it ({seen})."
    return f"which gains on most data; held-out pairs do not show it here ({seen})."


def unseen_choice(recipe: Recipe, why: str) -> SelectionReport:
    """The usual recipe, blended with the Euclidean distance, where nothing can be compared."""
    reason = f"{why}: the usual metric is blended half and half with the Euclidean distance."
    return SelectionReport(reason, recipe=with_euclidean(recipe, _SHARE_UNSEEN))


def unseen_copies(why: str) -> SelectionReport:
    """The Euclidean distance, where nothing can be compared and it finds copies already."""
    reason = (
        f"{why}: the Euclidean distance is kept, which has must-links nearer than nearly all "
        "random pairs already."
    )
    return SelectionReport(reason, recipe={EUCLIDEAN: 1.0})


def with_euclidean(recipe: Recipe, share: float) -> Recipe:
    """A recipe with some of the Euclidean distance in it."""
    return {EUCLIDEAN: share, **{name: (1 - share) * w for name, w in recipe.items()}}
