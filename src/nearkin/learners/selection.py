"""Choose among metrics by pairs that they were not learned from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from html import escape
from typing import Any

import numpy as np
from sklearn import config_context
from sklearn.base import clone
from sklearn.decomposition import PCA

from nearkin._types import Floats, Ints, Mask, Rng
from nearkin.learners.column_weights import ColumnWeights
from nearkin.learners.compositions import Chain
from nearkin.learners.cosine_metric import CosineMetric
from nearkin.learners.euclidean import Euclidean
from nearkin.learners.fit_steps import call_once, embed_by_pairs
from nearkin.learners.geometry_aware import GeometryAware
from nearkin.learners.itml import ITML
from nearkin.learners.kernel_beta import KernelBeta
from nearkin.learners.plda import PLDA
from nearkin.learners.teachable import TeachableMixin
from nearkin.messages import mute_categories
from nearkin.pairs import answers as who
from nearkin.pairs.answers import Answerer
from nearkin.pairs.closure import draw_links
from nearkin.pairs.pairs import Pairs
from nearkin.pairs.supervision import Evidence
from nearkin.rows.distances import linked_distances
from nearkin.rows.parallel import one_core
from nearkin.scores.held_out import (
    AucComparison,
    compare_auc,
    make_pair_folds,
    rank_among,
    weaken_doubtful_pairs,
)
from nearkin.scores.quality import Quality, compare_neighbors, estimate_quality
from nearkin.scores.verdicts import fit_logistic_verdicts, name_verdicts, shrink_verdicts
from nearkin.storage.schema import a, dict_of, list_of, maybe, real, stored, text, truth, whole

# Shares of learners by name: a blend of their squared distances, each of mean 1.
Recipe = dict[str, float]

EUCLIDEAN, BLEND = "Euclidean", "blend"

# Where nothing else is said, these numbers were chosen by hand while the whole was judged on the
# tables of benchmarks/few_pairs that settings are chosen on (``TUNED_ON``), not tuned one by one.

# The usual blend, before any pair is looked at: half of it the cosine metric in an rbf kernel, and
# the other candidates in equal parts, but for that on a graph, for which only pairs can speak.
# Where columns belong together, weights of their groups have most of the blend.
_SHARE_OF_COSINE, _SHARE, _SHARE_OF_GROUPS = 3.0, 1.0, 60.0
# ITML stops here sooner than by itself: shares hardly notice.
_TOLERANCE = 1e-3
# Rounds of GeometryAware, and landmarks of a metric on a graph at least: as many rows as there are
# in each draw of benchmarks/few_pairs. With a thousand or 400 pair AUC on eight larger sets was the
# same to 0.001.
_ROUNDS_ON_GRAPH, _LEAST_ON_GRAPH = 3, 600
# Seconds that a candidate takes for a fit to 1000 rows, as seen on a slow core: a fit takes longer
# by its own time for so many rows, and pairs.
_SECONDS, _ROWS_OF_A_SECOND, _PAIRS_OF_A_SECOND = 0.03, 1000, 1000

# Below so many pairs there is nothing to choose by; folds that they are dealt into.
LEAST_PAIRS, N_FOLDS = 10, 5
# Rows and pairs that candidates are compared on, at most, and landmarks of kernels meanwhile; pairs
# whose rows become landmarks. They bound time.
_MOST_ROWS, _MOST_PAIRS = 600, 1000
_FEW_LANDMARKS, _MOST_NAMED = 120, 60
# Principal axes that rows are reduced to before anything is learned from them: some, and so many
# for the root of the pairs' weight, a hundred at most; 300 where pairs tell that those are too few.
_LEAST_AXES, _AXES_BY_ROOT, _MOST_AXES, _MOST_COLUMNS = 10, 2, 100, 300
# Axes are too few if pairs are told apart worse by so many standard errors than by all columns.
_CLEARLY_WORSE = 2.5

# A share is added in steps of one; what there is before any pair is looked at weighs as many.
_INERTIA, _MOST_STEPS = 20.0, 30
# A blend has no more parts: two more bring 0.002 in pair AUC (benchmarks/few_pairs, candidates),
# and take as long again to map rows.
_MOST_PARTS = 3
# One learner takes the place of the blend if, on so many held-out pairs, it is better by so many
# standard errors.
_ENOUGH_TO_TELL, _CLEARLY_BETTER = 100, 2.0

# Probability of a gain before any pair is seen, as on data whose classes were to be told apart.
_LEARNING_HELPS = 0.95
# It is this one where distances are seen to tell nothing, that is not to separate at least so many
# held-out pairs by so many standard errors; the blend was chosen to suit these pairs, which is
# worth about one.
_NOTHING_TO_LEARN = 0.1
_ENOUGH_TO_SEE, _NOTHING_TOLD, _MADE_TO_SUIT = 80, 1.5, 1.0
# And this one where must-links are one thing rather than one class, nearer than all but this share
# of random pairs: the distance at hand is very good then, and what is lost in a few directions,
# identity.
_NOTHING_KNOWN, _ONE_THING = 0.5, 0.005
# Probability of a gain over the Euclidean distance above which that is not blended in, and below
# which it is kept as it is; its share in between, and where there is nothing to choose by.
_SURE, _DOUBTFUL = 0.95, 0.2
_SHARE_IN_DOUBT, _SHARE_UNSEEN = 0.1, 0.5
# Its share where nearest neighbours count, among classes too that no pair told of: most of these
# keep the precision of plain neighbourhoods then (benchmarks/few_pairs, neighbours).
_SHARE_FOR_SEARCH = 0.7
# A gain of so many standard errors is shown by the held-out pairs themselves; a loss of so many is
# worth a warning, though the metric is kept. By custom.
_SHOWN, _DOUBTED = 2.0, 1.5

# From this share on a part is most of the metric, in words.
_MOSTLY = 0.5

# Held-out pairs of either kind that verdicts take.
_LEAST_JUDGED = 10
# Rows, named by pairs or not, that are too few to tell how far apart others like them are.
_FEW_ROWS = 30
# Distances of new pairs differ by about this share from those of held-out ones: that much is a
# radius uncertain which the latter are judged by. Taken to be exact, it left intervals of recall
# that held the truth in 78 % of cases, not in 90 (benchmarks/calibration).
_RADIUS_ERROR = 0.05


class SelectionWarning(UserWarning):
    """No learned metric was chosen by its merits; the message says why.

    Examples
    --------
    >>> import nearkin as nk
    >>> issubclass(nk.SelectionWarning, UserWarning)
    True
    """


@stored(name=text, auc=real, gain=real, error=real, chosen=truth)
@dataclass(frozen=True)
class Candidate:
    """A line of the report."""

    name: str
    auc: float  # pair AUC on held-out pairs
    gain: float  # over the Euclidean distance
    error: float  # standard error of the gain
    chosen: bool = False


@stored(
    reason=text,
    candidates=list_of(a("Candidate")),
    n_judged=whole,
    chance_of_gain=maybe(real),
    recipe=dict_of(real),
    columns=maybe(text),
    answerers=maybe(list_of(a("Answerer"))),
    quality=maybe(a("Quality")),
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
    answerers : list of Answerer
        Who answered, the most reliable first; empty where pairs do not say who told them.
    quality : Quality or None
        How well the metric tells same from different, by held-out pairs and with 90 % intervals;
        None if there are none of either kind.
    """

    reason: str
    candidates: list[Candidate] = field(default_factory=list)
    n_judged: int = 0
    chance_of_gain: float | None = None
    recipe: Recipe = field(default_factory=dict)
    columns: str = ""
    answerers: list[Answerer] = field(default_factory=list)
    quality: Quality | None = None

    @property
    def _said(self) -> str:
        return " ".join(part for part in (self.reason, self.columns) if part)

    def __str__(self) -> str:
        lines = [self._said]
        if self.candidates:
            compared = ", ".join(f"{line.name} {line.auc:.3f}" for line in self.candidates)
            lines.append(f"Pair AUC on held-out pairs: {compared}.")
        if self.quality is not None:
            lines += [f"{self.quality.brief}.", self.quality.terms]
        if self.answerers:
            lines.append(who.format_answerers(self.answerers))
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        judged = "" if self.quality is None else self.quality._repr_html_()
        judged += who.format_answerers_as_html(self.answerers) if self.answerers else ""
        head = "<tr><th></th><th>candidate</th><th>pair AUC</th><th>gain over Euclidean</th></tr>"
        body = "".join(
            f"<tr><td>{'→' if line.chosen else ''}</td><td>{escape(line.name)}</td>"
            f"<td>{line.auc:.3f}</td><td>{line.gain:+.3f} ± {line.error:.3f}</td></tr>"
            for line in self.candidates
        )
        table = f"<table>{head}{body}</table>" if body else ""
        return f"{table}<p>{escape(self._said)}</p>{judged}"


@dataclass(frozen=True)
class Ingredient:
    """A learner that may be a part of the metric."""

    learner: Any
    share: float = _SHARE  # in proportion to that in the usual blend
    needs_must_links: bool = False
    takes_triplets: bool = True
    keeps_columns: bool = False  # where others see the leading principal axes


def make_ingredients(
    n_landmarks: int, n_rows: int, seed: int, *, groups: Any = None
) -> dict[str, Ingredient]:
    """Make the learners to choose among, by name.

    They were left of sixteen by backward elimination (benchmarks/few_pairs, candidates); RCA, then
    KernelA, gains nothing beside them (constants).
    ``groups`` names for each column what it belongs to, where columns belong together.
    """
    some: dict[str, Any] = {"random_state": seed}

    def landmarks(most: int) -> dict[str, Any]:
        return {"n_landmarks": most if most < n_rows else None, **some}

    few = landmarks(n_landmarks)
    # Rows far from all landmarks keep their distance to them by the Nyström formula only.
    far = {"extension": "nystroem", **few}
    itml = ITML(tol=_TOLERANCE, **some)
    in_kernel = ITML(kernel="rbf", tol=_TOLERANCE, **far)
    on_graph = landmarks(max(n_landmarks, _LEAST_ON_GRAPH))
    found = {
        EUCLIDEAN: Ingredient(Euclidean(**some), 0.0, keeps_columns=True),
        "CosineMetric": Ingredient(
            CosineMetric(kernel="rbf", **far), _SHARE_OF_COSINE, takes_triplets=False
        ),
        "PLDA": Ingredient(PLDA(**some), needs_must_links=True, takes_triplets=False),
        "KernelBeta after ITML": Ingredient(Chain([itml, KernelBeta(kernel="cosine", **few)])),
        "kernel ITML after ITML": Ingredient(Chain([itml, in_kernel])),
        "GeometryAware": Ingredient(GeometryAware(n_iter=_ROUNDS_ON_GRAPH, **on_graph), 0.0),
    }
    if groups is None:
        return found
    # Learners that know which columns belong together: few pairs can tell little else.
    weights, rbf = ColumnWeights(groups=groups, **some), KernelBeta(gamma="median", **far)
    options: dict[str, Any] = {"takes_triplets": False, "keeps_columns": True}
    return {
        **found,
        "ColumnWeights": Ingredient(weights, _SHARE_OF_GROUPS, **options),
        "KernelBeta after group weights": Ingredient(Chain([weights, rbf]), 0.0, **options),
    }


def usual_blend(ingredients: dict[str, Ingredient]) -> Recipe:
    """Return the shares of candidates before any pair is looked at, of sum 1."""
    total = sum(one.share for one in ingredients.values())
    return {name: one.share / total for name, one in ingredients.items() if one.share}


def learn_shares(distances: Floats, same: Mask, weight: Floats, usual: Floats) -> Floats:
    """Learn shares whose sum of squared distances has the largest pair AUC, near the usual ones.

    Step by step, that distance is added which raises the AUC most, each as often as it does so,
    until none does (after R. Caruana and others, 2004). The usual shares weigh as much as twenty
    steps: with few pairs, of which many blends tell all apart, shares stay near them.

    ``distances`` (k, l) are squared ones of k pairs, of both kinds, by l metrics that did not see
    them, of one scale; ``weight`` (k,) is how much a pair counts. Shares sum to 1, the ``usual``
    (l,) ones too. At most 30 steps of O(l k log k) time.
    """
    counts = _INERTIA * usual
    blended = distances @ counts
    best = weighted_auc(blended, same, weight)
    for _ in range(_MOST_STEPS):
        found = [weighted_auc(blended + one, same, weight) for one in distances.T]
        chosen = int(np.argmax(found))
        if found[chosen] <= best:
            break
        best = found[chosen]
        counts[chosen] += 1
        blended += distances[:, chosen]
    return np.asarray(counts / counts.sum())


def weighted_auc(distances: Floats, same: Mask, weight: Floats) -> float:
    """Share of must-links below cannot-links, by weight; ties count half."""
    order = np.argsort(distances, kind="stable")
    values, kinds, counted = distances[order], same[order], weight[order]
    different = np.where(kinds, 0.0, counted)
    below = np.cumsum(different)
    # Of equal distances the first and the last.
    first = np.searchsorted(values, values, side="left")
    last = np.searchsorted(values, values, side="right")
    sums = np.concatenate([[0.0], below])
    farther = below[-1] - (sums[first] + sums[last]) / 2
    must = counted[kinds]
    return float(must @ farther[kinds] / (must.sum() * below[-1]))


@dataclass(frozen=True)
class HeldOutDistances:
    """Squared distances under learners that did not see the k pairs they are of.

    Pairs are those given, and after them those of triplets: first all that are to be nearer.
    """

    judged: list[Mask]  # which pairs each fold judges
    distances: dict[str, list[Floats]]  # of these, by learner and fold
    random: dict[str, list[Floats]]  # of random pairs, whose mean is 1
    same: Mask  # which pairs are must-links, or the nearer ones of triplets
    links: Ints  # rows of the pairs
    random_links: Ints

    def ranks(self, recipe: Recipe) -> Floats:
        """Mean rank of each pair among random ones under a blend of learners; NaN if not judged."""
        total, count = np.zeros(len(self.same)), np.zeros(len(self.same))
        for fold, judged in enumerate(self.judged):
            blended, among = (
                np.sum([share * part[name][fold] for name, share in recipe.items()], axis=0)
                for part in (self.distances, self.random)
            )
            total[judged] += rank_among(blended, among)
            count[judged] += 1
        out = np.full(len(total), np.nan)
        np.divide(total, count, out=out, where=count > 0)
        return out

    def squared(self, names: list[str]) -> tuple[Floats, Mask]:
        """Mean squared distances of judged pairs, a column a learner, and which these are."""
        total, count = np.zeros((len(self.same), len(names))), np.zeros(len(self.same))
        for fold, judged in enumerate(self.judged):
            total[judged] += np.column_stack([self.distances[name][fold] for name in names])
            count[judged] += 1
        known = count > 0
        return total[known] / count[known, None], known

    def shares(self, usual: Recipe, weight: Floats) -> Recipe:
        """Return the blend of three at most that tells judged pairs apart best, near the usual one.

        ``weight`` (k,) is how much each pair counts. Random pairs stand for a kind of pair of which
        none is judged.
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
        found = learn_shares(distances, same, weight, start / start.sum())
        largest = np.argsort(-found, kind="stable")[:_MOST_PARTS]
        if np.count_nonzero(found) > _MOST_PARTS:
            start = found[largest] / found[largest].sum()
            found[largest] = learn_shares(distances[:, largest], same, weight, start)
        largest = largest[np.argsort(-found[largest], kind="stable")]
        return {names[i]: float(found[i]) for i in largest if found[i] > 0}


def hold_out(
    learners: Iterable[tuple[str, Any, Floats]], n_rows: int, pairs: Pairs, rng: Rng
) -> HeldOutDistances:
    """Fit every learner to parts of the pairs, and measure those that are left out.

    ``learners`` are names, learners, and the rows as they are to see them; ``rng`` draws folds and
    random pairs of rows. Of each pair that is measured, one row is in no pair learned from. A
    learner that refuses a part of the pairs, such as PLDA without must-links, is left out.
    """
    folds = make_pair_folds(pairs, N_FOLDS, rng, unseen="one")
    # Of few pairs rows become landmarks meanwhile.
    named = Evidence(_draw_some(pairs, _MOST_NAMED, rng), None)
    learned_from = [pairs.subset(learn) for learn, _ in folds]
    n_must, n_cannot, n_triplets = map(len, (pairs.must_link, pairs.cannot_link, pairs.closer))
    near, far = pairs.closer[:, [0, 1]], pairs.closer[:, [0, 2]]
    links = np.concatenate([pairs.must_link, pairs.cannot_link, near, far])
    same = np.repeat([True, False, True, False], [n_must, n_cannot, n_triplets, n_triplets])
    judged = [np.concatenate([judge, judge[n_must + n_cannot :]]) for _, judge in folds]
    random_links = draw_links(n_rows, rng)
    distances: dict[str, list[Floats]] = {}
    random: dict[str, list[Floats]] = {}
    for name, learner, rows in learners:
        try:
            # Many small matrices, and parameters that are known to be right.
            with (
                one_core(),
                config_context(skip_parameter_validation=True),
                mute_categories(Warning),  # what is worth one shows in the final fit
            ):
                embeddings = [
                    call_once(_embed, learner, rows, part, named) for part in learned_from
                ]
        except ValueError:
            continue
        squared = [linked_distances(Z, random_links) ** 2 for Z in embeddings]
        scales = [float(one.mean()) or 1.0 for one in squared]
        random[name] = [one / scale for one, scale in zip(squared, scales, strict=True)]
        distances[name] = [
            linked_distances(Z, links[judge]) ** 2 / scale
            for Z, scale, judge in zip(embeddings, scales, judged, strict=True)
        ]
    return HeldOutDistances(judged, distances, random, same, links, random_links)


def _draw_some(pairs: Pairs, most: int, rng: Rng) -> Pairs:
    """Return ``most`` of the pairs, or all if they are no more."""
    if len(pairs) <= most:
        return pairs
    kept = np.zeros(len(pairs), dtype=bool)
    kept[rng.choice(len(pairs), most, replace=False)] = True
    return pairs.subset(kept)


def _embed(learner: Any, rows: Floats, pairs: Pairs, named: Evidence) -> Floats:
    """Rows under what a learner makes of some pairs; first steps that chains share are taken once.

    Where to learn is found once for all parts of the pairs: it depends on which rows they name, not
    on what is said of these.
    """
    if isinstance(learner, Chain):
        first, *others = learner.steps
        rows = call_once(_embed, first, rows, pairs, named)
        for step in others:
            rows = _embed(step, rows, pairs, named)
        return rows
    if isinstance(learner, TeachableMixin):
        return np.asarray(embed_by_pairs(learner, rows, pairs, named))
    return np.asarray(clone(learner).fit(rows, pairs=pairs).transform(rows))


def choose(
    held_out: HeldOutDistances,
    usual: Recipe,
    weight: Floats,
    *,
    for_search: bool = False,
    of_triplets: bool = False,
) -> SelectionReport:
    """Choose a blend, one learner or the Euclidean distance by held-out pairs.

    From a hundred held-out pairs on, one learner alone takes its place that is clearly better. The
    outcome is compared with the Euclidean distance
    (:meth:`nearkin.scores.held_out.AucComparison.chance_of_gain`): kept, blended with it, or given
    up for it.

    One of the held-out learners is named "Euclidean"; ``usual`` is the blend before any pair is
    looked at, in whose choice each pair counts by its ``weight`` (k,). With ``for_search`` nearest
    neighbours count, among classes too that held-out pairs cannot speak of: most of the Euclidean
    distance is kept then. ``of_triplets`` is whether all pairs are the two of triplets.
    """
    same = held_out.same
    recipe = held_out.shares(usual, weight)
    recipes = {**{name: {name: 1.0} for name in held_out.distances}, BLEND: recipe}
    rank = {name: held_out.ranks(one) for name, one in recipes.items()}
    beside = {name: compare_auc(rank[name], rank[EUCLIDEAN], same) for name in recipes}
    n_judged = int((~np.isnan(rank[BLEND])).sum())
    before, remark = _prior_belief(rank[BLEND], rank[EUCLIDEAN], same)
    best = BLEND
    if n_judged >= _ENOUGH_TO_TELL:
        alone = [name for name in recipes if name != EUCLIDEAN]
        best = max(alone, key=lambda name: beside[name].auc)
        if compare_auc(rank[best], rank[BLEND], same).t < _CLEARLY_BETTER:
            best = BLEND
    comparison, recipe = beside[best], recipes[best]
    chance = comparison.chance_of_gain(before)
    judged = f"{n_judged // 2} held-out triplets" if of_triplets else f"{n_judged} held-out pairs"
    seen = f"{comparison.gain:+.3f} ± {comparison.error:.3f} pair AUC on {judged}"
    if chance < _DOUBTFUL:
        reason = _why_euclidean(best, comparison, n_judged, remark)
        best, recipe = EUCLIDEAN, recipes[EUCLIDEAN]
    else:
        # What it is preferred to the Euclidean distance for: what was seen, or belief.
        if comparison.t >= _SHOWN:
            why = f"Better than the Euclidean distance ({seen})."
        elif comparison.gain > 0:
            why = f"It gains on most data; held-out pairs say so too, but do not prove it ({seen})."
        else:
            why = f"It gains on most data, though it was no better on the held-out pairs ({seen})."
        reason = f"{describe_recipe(recipe)}. {why}"
        if for_search:
            recipe = blend_in_euclidean(recipe, _SHARE_FOR_SEARCH)
            reason += (
                f" To keep near rows near, a share of {_SHARE_FOR_SEARCH:.0%} of the Euclidean "
                "distance is blended in."
            )
        elif chance < _SURE:
            recipe = blend_in_euclidean(recipe, _SHARE_IN_DOUBT)
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


def describe_recipe(recipe: Recipe) -> str:
    """Say in words what a metric is made of: mostly this, with some of that."""
    names = sorted(recipe, key=lambda name: -recipe[name])
    shares = [recipe[name] for name in names]
    if len(names) == 1:
        return names[0]
    if shares[0] > _MOSTLY:
        some = " and ".join(names[1:])
        return f"Mostly {names[0]}, with some {some}"
    return f"{', '.join(names[:-1])} and {names[-1]} together"


def _prior_belief(blend: Floats, euclidean: Floats, same: Mask) -> tuple[float, str]:
    """Probability of a gain before pairs are looked at, and why if it is not the usual one."""
    judged = ~np.isnan(blend)
    if judged.sum() >= _ENOUGH_TO_SEE:
        by_blend, by_euclidean = (
            compare_auc(rank, 0 * rank, same).t for rank in (blend, euclidean)
        )
        if max(by_blend - _MADE_TO_SUIT, by_euclidean) <= _NOTHING_TOLD:
            return _NOTHING_TO_LEARN, "no distance tells these pairs apart better than chance would"
    must = euclidean[judged & same]
    if len(must) and np.median(must) < _ONE_THING:
        return _NOTHING_KNOWN, "it has must-links nearer than nearly all random pairs already"
    return _LEARNING_HELPS, ""


def _why_euclidean(best: str, comparison: AucComparison, n_judged: int, remark: str) -> str:
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


def describe_doubt(report: SelectionReport) -> str | None:
    """Say that the choice was worse than the Euclidean distance; None if it was not.

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


def report_uncompared(recipe: Recipe, why: str) -> SelectionReport:
    """Report the usual blend, half of it Euclidean, where nothing can be compared."""
    reason = f"{why}: the usual metric is blended half and half with the Euclidean distance."
    largest = sorted(recipe, key=lambda name: -recipe[name])[:_MOST_PARTS]
    total = sum(recipe[name] for name in largest)
    recipe = {name: recipe[name] / total for name in largest}
    return SelectionReport(reason, recipe=blend_in_euclidean(recipe, _SHARE_UNSEEN))


def keep_euclidean(reason: str) -> SelectionReport:
    """Report the Euclidean distance, for a reason that no comparison gave."""
    return SelectionReport(reason, recipe={EUCLIDEAN: 1.0})


def blend_in_euclidean(recipe: Recipe, share: float) -> Recipe:
    """Give the Euclidean distance a share of a recipe."""
    rest = {name: (1 - share) * w for name, w in recipe.items()}
    return {**rest, EUCLIDEAN: share + rest.get(EUCLIDEAN, 0.0)}


def plain_ranks(X: Floats, pairs: Pairs, *changes: Callable[[Floats], Floats]) -> list[Floats]:
    """Rank pairs by plain distances between rows as they are, and after each of some changes.

    Plain distances need no learning, so that all pairs can judge them. They are ranked among those
    of random pairs, always the same ones: all of them would give nearly the same. Changes are
    functions of some rows.
    """
    told = np.concatenate([pairs.must_link, pairs.cannot_link])
    at_random = draw_links(len(X), np.random.RandomState(0))
    rows, ends = np.unique(np.concatenate([told, at_random]), return_inverse=True)
    some, ends = X[rows], ends.reshape(-1, 2)
    found = []
    for part in (some, *(change(some) for change in changes)):
        distances = linked_distances(part, ends)
        found.append(rank_among(distances[: len(told)], distances[len(told) :]))
    return found


def compare_after_change(
    change: Callable[[Floats], Floats], X: Floats, pairs: Pairs
) -> AucComparison:
    """Compare the pair AUC of plain distances after a change of rows with that before."""
    plain, changed = plain_ranks(X, pairs, change)
    return compare_auc(changed, plain, np.arange(len(plain)) < len(pairs.must_link))


def finds_copies(X: Floats, pairs: Pairs) -> bool:
    """Whether plain distances have must-links nearer than nearly all random pairs."""
    must = Pairs(pairs.must_link)
    return len(must) > 0 and bool(np.median(plain_ranks(X, must)[0]) < _ONE_THING)


class SeenRows:
    """Rows as they are, or by leading principal axes, ``reduction``, if they have more columns."""

    def __init__(self, X: Floats, n_axes: int, seed: int) -> None:
        cut = n_axes < min(X.shape) and not (X[:1] == X).all()
        self.reduction = PCA(n_axes, random_state=seed) if cut else None
        self.rows = X if self.reduction is None else self.reduction.fit_transform(X)


def choose_axes(X: Floats, n_axes: int, pairs: Pairs, otherwise: SeenRows, seed: int) -> SeenRows:
    """See rows along their leading principal axes, unless these tell pairs apart too badly."""
    view = SeenRows(X, n_axes, seed)
    if view.reduction is None or not len(pairs):
        return view
    found = compare_after_change(view.reduction.transform, X, pairs)
    return otherwise if found.t < -_CLEARLY_WORSE else view


class SelectionSample:
    """Some of the rows and pairs, on which candidates are compared."""

    def __init__(
        self, X: Floats, pairs: Pairs, rng: Rng, *, for_search: bool = False, groups: Any = None
    ) -> None:
        self.for_search = for_search
        self.groups = groups
        strength = float(pairs.must_weight.sum() + pairs.cannot_weight.sum())
        strength += float(pairs.closer_weight.sum())
        pairs = _draw_some(pairs, _MOST_PAIRS, rng)
        rows = pairs.points
        if len(rows) < min(_MOST_ROWS, len(X)):
            others = np.setdiff1d(np.arange(len(X)), rows, assume_unique=True)
            more = rng.choice(others, min(_MOST_ROWS, len(X)) - len(rows), replace=False)
            rows = np.sort(np.concatenate([rows, more]))
        self.seed = int(rng.randint(2**31 - 1))
        self.n_rows = len(X)
        self.held_out: HeldOutDistances | None = None
        self.sampled = pairs
        self.X = X if len(rows) == len(X) else X[rows]
        self.pairs = pairs.restrict(rows)
        all_columns = SeenRows(self.X, _MOST_COLUMNS, self.seed)
        # So many as pairs of this weight can tell apart, unless these pairs need more.
        n_axes = int(min(_LEAST_AXES + _AXES_BY_ROOT * np.sqrt(strength), _MOST_AXES))
        judges = self.pairs.as_weak_pairs()
        self.axes = choose_axes(self.X, n_axes, judges, all_columns, self.seed)
        self.learners = {
            name: ingredient
            for name, ingredient in self.make_ingredients(_FEW_LANDMARKS, len(rows)).items()
            if (len(pairs.must_link) or not ingredient.needs_must_links)
            and (ingredient.takes_triplets or not len(pairs.closer))
        }

    def make_ingredients(self, n_landmarks: int, n_rows: int) -> dict[str, Ingredient]:
        """Learners to choose among, for so many rows."""
        return make_ingredients(n_landmarks, n_rows, self.seed, groups=self.groups)

    def view(self, ingredient: Ingredient) -> SeenRows:
        """The rows as a learner sees them."""
        if ingredient.keeps_columns:
            return SeenRows(self.X, self.X.shape[1], self.seed)
        return self.axes

    def affordable(self, budget: float) -> list[str]:
        """Return the learners that can be compared within some seconds, by a prediction."""
        size = len(self.X) / _ROWS_OF_A_SECOND * (1 + len(self.pairs) / _PAIRS_OF_A_SECOND)
        n_most = int(budget / (N_FOLDS * _SECONDS * size))
        names = list(self.learners)[:n_most]
        return names if len(names) > 1 else []

    def choice(self, names: Iterator[str]) -> SelectionReport:
        """Compare learners on held-out pairs, and choose."""
        chosen = (
            (name, self.learners[name].learner, self.view(self.learners[name]).rows)
            for name in names
        )
        held_out = hold_out(chosen, len(self.X), self.pairs, np.random.RandomState(self.seed))
        self.held_out = held_out
        compared = {name: self.learners[name] for name in held_out.distances}
        usual = usual_blend(compared)
        return choose(
            held_out,
            usual,
            _weights(self.pairs),
            for_search=self.for_search,
            of_triplets=not _statements(self.pairs),
        )

    def judgement(
        self, recipe: Recipe, Z: Floats, usual_threshold: float
    ) -> tuple[dict[str, float | None], Quality | None]:
        """Fit threshold and sharpness, and measure their quality, by held-out pairs.

        Each pair counts twice: with its distance under the final metric, by which verdicts would
        be too sure, and under that of the fold that did not see it, by which they would not be
        sure enough. They are limited to what held-out pairs support. Nothing is found where there
        are few pairs, and nothing by triplets, which say no more than what is nearer.

        Z are the rows that took part in the comparison, under the metric; ``usual_threshold`` is
        the metric's, if there are too few pairs for another.
        """
        if self.held_out is None:
            return {}, None
        squared, known = self.held_out.squared(list(recipe))
        # Triplets come last: they do not tell whether two rows are the same.
        pairs = np.arange(len(known)) < len(_statements(self.pairs))
        squared, known = squared[pairs[known]], known & pairs
        same, links = self.held_out.same[known], self.held_out.links[known]
        if min(same.sum(), (~same).sum()) == 0:
            return {}, None
        # Learners' squared distances have a mean of 1 between random rows.
        unit = np.sqrt(2 * Z.var(axis=0, dtype=np.float64).sum())
        nearer = _new_rows_beside_named(self.held_out, recipe, len(self.X))
        unseen = nearer * unit * np.sqrt(squared @ np.array(list(recipe.values())))
        seen = nearer * linked_distances(Z, links)
        found: dict[str, float | None] = {}
        if min(same.sum(), (~same).sum()) >= _LEAST_JUDGED:
            rank = self.held_out.ranks(recipe)[: len(_statements(self.pairs))]
            weight = _weights(weaken_doubtful_pairs(self.pairs, rank))[known]
            both = np.concatenate([unseen, seen])
            verdicts = fit_logistic_verdicts(both, np.tile(same, 2), np.tile(weight, 2))
            verdicts = shrink_verdicts(verdicts, unseen[same], unseen[~same])
            found = name_verdicts(verdicts, float(np.median(seen[same])))
        radius = found.get("threshold_") or usual_threshold
        weight = _weights(self.pairs)[known]
        quality = estimate_quality(
            unseen, same, weight, links, radius, 0.5, seen=seen, radius_error=_RADIUS_ERROR
        )
        return found, replace(quality, neighbors=compare_neighbors(Z, self.X))

    def ranks(self, recipe: Recipe, given: Pairs) -> Floats:
        """Rank given pairs by metrics that did not see them.

        Must-links and cannot-links only. NaN for pairs that took no part in the comparison.
        """
        nothing = np.full(len(_statements(self.sampled)), np.nan)
        return self._of_given(
            given, nothing if self.held_out is None else self.held_out.ranks(recipe)
        )

    def distances(self, Z: Floats, given: Pairs) -> Floats:
        """Distances of given pairs in an embedding of the rows that took part in the comparison.

        As of :meth:`ranks`.
        """
        links = np.concatenate([self.pairs.must_link, self.pairs.cannot_link])
        return self._of_given(given, linked_distances(Z, links))

    def _of_given(self, given: Pairs, values: Floats) -> Floats:
        """Values of given pairs, by those of the pairs that took part in the comparison."""
        of_sampled = dict(zip(_statements(self.sampled), values, strict=False))
        # Others were drawn from labels, or are too many.
        return np.array([of_sampled.get(said, np.nan) for said in _statements(given)])


def _new_rows_beside_named(held_out: HeldOutDistances, recipe: Recipe, n_rows: int) -> float:
    """Estimate how far apart rows are that no pair names, as a share of those that pairs name.

    Rows that pairs name are landmarks of kernels, which lie farther apart than new rows do. The
    mean squared distance of two rows is a sum over both, of as much as rows of their kind are away
    from the middle: random pairs of all kinds tell it. 1 where there are few rows of either kind.
    """
    named = np.unique(held_out.links)
    if min(len(named), n_rows - len(named)) < _FEW_ROWS:
        return 1.0
    squared = np.sum(
        [share * np.mean(held_out.random[name], axis=0) for name, share in recipe.items()], axis=0
    )
    n_named = np.isin(held_out.random_links, named).sum(axis=1)
    kinds = np.column_stack([n_named, 2.0 - n_named])
    of_named, of_new = np.linalg.lstsq(kinds, squared, rcond=None)[0]
    return float(np.sqrt(of_new / of_named)) if min(of_named, of_new) > 0 else 1.0


def _weights(pairs: Pairs) -> Floats:
    """How much each pair counts, in the order in which they are held out."""
    of_triplets = [pairs.closer_weight] * 2
    return np.concatenate([pairs.must_weight, pairs.cannot_weight, *of_triplets])


def _statements(pairs: Pairs) -> list[tuple[int, int, bool]]:
    """Pairs and what was said of them, in their order."""
    must, cannot = pairs.must_link.tolist(), pairs.cannot_link.tolist()
    return [(i, j, True) for i, j in must] + [(i, j, False) for i, j in cannot]
