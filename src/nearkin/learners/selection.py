"""Choose among metrics by pairs that they were not learned from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn import config_context
from sklearn.base import clone

from nearkin._types import Floats, Ints, Mask
from nearkin.learners.compositions import Chain
from nearkin.learners.incremental import TeachableMixin
from nearkin.learners.selection_report import EUCLIDEAN, Candidate, Recipe, SelectionReport
from nearkin.learners.two_steps import embedding
from nearkin.messages import leaving_out
from nearkin.pairs.closure import random_pairs
from nearkin.pairs.pairs import Pairs
from nearkin.pairs.supervision import Evidence
from nearkin.rows.distances import linked_distances
from nearkin.rows.memo import once
from nearkin.rows.parallel import one_core
from nearkin.scores.held_out import Comparison, compare, new_point_folds, ranks
from nearkin.scores.shares import learned_shares

BLEND = "blend"
# Below this many pairs there is nothing to choose by.
LEAST_PAIRS = 10
N_FOLDS = 5
# A blend has no more parts: those of small shares cost as much as others and gain nothing.
_MOST_PARTS = 8
# Pairs whose rows become landmarks of kernels while learners are compared.
_MOST_NAMED = 60
# Probability of a gain before any pair is seen, as on data whose classes were to be told apart.
_LEARNING_HELPS = 0.95
# It is this one where distances are seen to tell nothing, that is not to separate at least so many
# held-out pairs by so many standard errors.
_NOTHING_TO_LEARN = 0.1
_ENOUGH_TO_SEE, _NOTHING_TOLD = 80, 1.5
# The blend was chosen to suit these pairs, which is worth about so many.
_MADE_TO_SUIT = 1.0
# And this one where must-links are one thing rather than one class, nearer than all but this share
# of random pairs: the distance at hand is very good then, and what is lost in a few directions,
# identity.
_NOTHING_KNOWN = 0.5
_ONE_THING = 0.005
# Probability of a gain over the Euclidean distance above which that is not blended in, and below
# which it is kept as it is; and its share in between.
_SURE, _DOUBTFUL = 0.95, 0.5
# One learner takes the place of the blend if, on so many held-out pairs, it is better by so many
# standard errors.
_ENOUGH_TO_TELL, _CLEARLY_BETTER = 100, 2.0
_SHARE_IN_DOUBT = 0.25
_SHARE_FOR_NEW_CLASSES = 0.15
# Its share when there is nothing to choose by.
_SHARE_UNSEEN = 0.5
# A gain of so many standard errors is shown by the held-out pairs themselves.
_SHOWN = 2.0
# A loss of so many is worth a warning, though the metric is kept.
_DOUBTED = 1.5


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
    links, random_links : int ndarray of shape (k, 2)
        The rows of these pairs, and of random ones.
    """

    judged: list[Mask]
    distances: dict[str, list[Floats]]
    random: dict[str, list[Floats]]
    same: Mask
    links: Ints
    random_links: Ints

    def ranks(self, recipe: Recipe) -> Floats:
        """Rank of each pair among random ones under a blend of learners; NaN if not judged.

        Of a pair that several folds judge, the mean.
        """
        total, count = np.zeros(len(self.same)), np.zeros(len(self.same))
        for fold, judged in enumerate(self.judged):
            blended, among = (
                np.sum([share * part[name][fold] for name, share in recipe.items()], axis=0)
                for part in (self.distances, self.random)
            )
            total[judged] += ranks(blended, among)
            count[judged] += 1
        out = np.full(len(total), np.nan)
        np.divide(total, count, out=out, where=count > 0)
        return out

    def squared(self, names: list[str]) -> tuple[Floats, Mask]:
        """Squared distances of judged pairs, a column for each learner, and which are judged.

        Of a pair that several folds judge, the mean.
        """
        total, count = np.zeros((len(self.same), len(names))), np.zeros(len(self.same))
        for fold, judged in enumerate(self.judged):
            total[judged] += np.column_stack([self.distances[name][fold] for name in names])
            count[judged] += 1
        known = count > 0
        return total[known] / count[known, None], known

    def shares(self, usual: Recipe, weight: Floats) -> Recipe:
        """The blend of eight at most that tells judged pairs apart best, near the usual one.

        Random pairs stand for a kind of pair of which none is judged.

        Parameters
        ----------
        usual : Recipe
        weight : ndarray of shape (k,)
            How much each pair counts.
        """
        names = list(self.distances)
        distances, known = self.squared(names)
        same, weight = self.same[known], weight[known]
        if same.all() or not same.any():
            random = np.column_stack([self.random[name][0] for name in names])
            distances = np.concatenate([distances, random])
            weight = np.append(weight, np.full(len(random), weight.sum() / len(random)))
            same = np.append(same, np.full(len(random), not same.all()))
        start = np.array([usual.get(name, 0.0) for name in names])
        found = learned_shares(distances, same, weight, start / start.sum())
        largest = np.argsort(-found, kind="stable")[:_MOST_PARTS]
        kept = {names[i]: float(found[i]) for i in largest if found[i] > 0}
        return {name: share / sum(kept.values()) for name, share in kept.items()}


def hold_out(
    learners: Iterable[tuple[str, Any, Floats]],
    n_rows: int,
    pairs: Pairs,
    rng: np.random.RandomState,
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

    Notes
    -----
    Of each pair that is measured, one row is in no pair learned from.

    A learner that refuses a part of the pairs, such as RCA without must-links, is left out.
    """
    folds = new_point_folds(pairs, N_FOLDS, rng)
    named = Evidence(_some(pairs, rng), None)
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
                embeddings = [_embedded(learner, rows, part, named) for part in learned_from]
        except ValueError:
            continue
        squared = [linked_distances(Z, random_links) ** 2 for Z in embeddings]
        scales = [float(one.mean()) or 1.0 for one in squared]
        random[name] = [one / scale for one, scale in zip(squared, scales, strict=True)]
        distances[name] = [
            linked_distances(Z, links[judge]) ** 2 / scale
            for Z, scale, judge in zip(embeddings, scales, judged, strict=True)
        ]
    return HeldOut(judged, distances, random, same, links, random_links)


def _some(pairs: Pairs, rng: np.random.RandomState) -> Pairs:
    """A few of the pairs, whose rows become landmarks while learners are compared."""
    if len(pairs) <= _MOST_NAMED:
        return pairs
    kept = np.zeros(len(pairs), dtype=bool)
    kept[rng.choice(len(pairs), _MOST_NAMED, replace=False)] = True
    return pairs.subset(kept)


def _embedded(learner: Any, rows: Floats, pairs: Pairs, named: Evidence) -> Floats:
    """Rows under what a learner makes of some pairs; first steps that chains share are taken once.

    Where to learn is found once for all parts of the pairs: it depends on which rows they name, not
    on what is said of these.
    """
    first, *others = learner.steps if isinstance(learner, Chain) else [learner]
    # What is worth a warning shows in the final fit.
    with leaving_out(Warning):
        rows = once(_taught, first, rows, pairs, named)
        for step in others:
            rows = _taught(step, rows, pairs, named)
    return rows


def _taught(learner: Any, rows: Floats, pairs: Pairs, named: Evidence) -> Floats:
    if isinstance(learner, TeachableMixin):
        return np.asarray(embedding(learner, rows, pairs, named))
    return np.asarray(clone(learner).fit(rows, pairs=pairs).transform(rows))


def choose(
    held_out: HeldOut,
    usual: Recipe,
    weight: Floats,
    *,
    new_classes: bool = False,
    of_triplets: bool = False,
) -> SelectionReport:
    """The blend that held-out pairs ask for, with as much Euclidean as is prudent.

    From a hundred held-out pairs on, one learner alone takes its place that is clearly better. The
    outcome is compared with the Euclidean distance
    (:meth:`nearkin.scores.comparison.Comparison.chance_of_gain`): kept, blended with it, or given
    up for it.

    Parameters
    ----------
    held_out : HeldOut
        Of learners, of which one is named "Euclidean".
    usual : Recipe
        Of the blend, before any pair is looked at.
    weight : ndarray of shape (k,)
        How much each pair counts in the choice of the blend.
    new_classes : bool, default=False
        Whether there will be classes that held-out pairs cannot speak of: some of the Euclidean
        distance is kept then in any case.
    of_triplets : bool, default=False
        Whether all pairs are the two of triplets.
    """
    same = held_out.same
    recipe = held_out.shares(usual, weight)
    recipes = {**{name: {name: 1.0} for name in held_out.distances}, BLEND: recipe}
    rank = {name: held_out.ranks(one) for name, one in recipes.items()}
    beside = {name: compare(rank[name], rank[EUCLIDEAN], same) for name in recipes}
    n_judged = int((~np.isnan(rank[BLEND])).sum())
    before, remark = _prior_belief(rank[BLEND], rank[EUCLIDEAN], same)
    best = BLEND
    if n_judged >= _ENOUGH_TO_TELL:
        alone = [name for name in recipes if name != EUCLIDEAN]
        best = max(alone, key=lambda name: beside[name].auc)
        if compare(rank[best], rank[BLEND], same).t < _CLEARLY_BETTER:
            best = BLEND
    comparison, recipe = beside[best], recipes[best]
    chance = comparison.chance_of_gain(before)
    judged = f"{n_judged // 2} held-out triplets" if of_triplets else f"{n_judged} held-out pairs"
    seen = f"{comparison.gain:+.3f} ± {comparison.error:.3f} pair AUC on {judged}"
    if chance < _DOUBTFUL:
        reason = _why_euclidean(best, comparison, n_judged, remark)
        best, recipe = EUCLIDEAN, recipes[EUCLIDEAN]
    else:
        what = f"A {BLEND} of {_parts(recipe)}" if best == BLEND else best
        reason = f"{what}, {_why(comparison, seen)}"
        if new_classes:
            recipe = with_euclidean(recipe, _SHARE_FOR_NEW_CLASSES)
            reason += (
                f" For classes that no pair told of, a share of {_SHARE_FOR_NEW_CLASSES:.0%} of "
                "the Euclidean distance is blended in."
            )
        elif chance < _SURE:
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


def _parts(recipe: Recipe) -> str:
    """The largest shares of a blend, in words."""
    largest = sorted(recipe, key=lambda name: -recipe[name])[:3]
    named = [f"{recipe[name]:.0%} {name}" for name in largest]
    others = [] if len(recipe) <= 3 else [f"{len(recipe) - 3} more"]
    return ", ".join([*named, *others])


def _prior_belief(blend: Floats, euclidean: Floats, same: Mask) -> tuple[float, str]:
    """Probability of a gain before pairs are looked at, and why if it is not the usual one."""
    judged = ~np.isnan(blend)
    if judged.sum() >= _ENOUGH_TO_SEE:
        by_blend, by_euclidean = (compare(rank, 0 * rank, same).t for rank in (blend, euclidean))
        if max(by_blend - _MADE_TO_SUIT, by_euclidean) <= _NOTHING_TOLD:
            return _NOTHING_TO_LEARN, "no distance tells these pairs apart better than chance would"
    must = euclidean[judged & same]
    if len(must) and is_one_thing(must):
        return _NOTHING_KNOWN, "it has must-links nearer than nearly all random pairs already"
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
    return f"which gains on most data, though it was no better on the held-out pairs ({seen})."


def _why_euclidean(best: str, comparison: Comparison, n_judged: int, remark: str) -> str:
    """Why the Euclidean distance is kept: what was better by luck, or worse."""
    what = f"the best {BLEND} of learned metrics" if best == BLEND else best
    how = "better" if comparison.gain > 0 else "worse"
    seen = f"{abs(comparison.gain):.3f} ± {comparison.error:.3f} in pair AUC"
    because = f": {remark}" if remark else ""
    if comparison.gain > 0:
        because = f", which is taken for luck{because}"
    return (
        f"The Euclidean distance is kept. On {n_judged} held-out pairs, {what} was {how} by {seen}"
        f"{because}."
    )


def doubt_of(report: SelectionReport) -> str | None:
    """What is to be said of a choice that was worse than the Euclidean distance; None if not.

    By 1.5 standard errors at least: less is often seen where both are equally good.
    """
    chosen = next((line for line in report.candidates if line.chosen), None)
    if chosen is None or chosen.gain > -_DOUBTED * chosen.error:
        return None
    return (
        f"The chosen {chosen.name} was worse than the Euclidean distance on {report.n_judged} "
        f"held-out pairs, by {-chosen.gain:.3f} ± {chosen.error:.3f} in pair AUC. It is kept since "
        "learned metrics are better on most data, and so few pairs may mislead. Give more pairs, "
        "or compare both on pairs of your own."
    )


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


def unseen_contradictions() -> SelectionReport:
    """The Euclidean distance, where answers say nothing together."""
    reason = (
        "Answers contradict each other so that nothing follows from them: the Euclidean distance "
        "is kept."
    )
    return SelectionReport(reason, recipe={EUCLIDEAN: 1.0})


def with_euclidean(recipe: Recipe, share: float) -> Recipe:
    """A recipe with some of the Euclidean distance in it."""
    rest = {name: (1 - share) * w for name, w in recipe.items()}
    return {**rest, EUCLIDEAN: share + rest.get(EUCLIDEAN, 0.0)}
