"""Clusters: groups of rows that agree with pairs, and how many there are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from html import escape
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClusterMixin, _fit_context
from sklearn.metrics import adjusted_rand_score, pairwise_distances_argmin, silhouette_score
from sklearn.utils import Tags, check_random_state
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from nearkin._types import Floats, Ints, Mask
from nearkin.clustering.constraints import (
    Blocks,
    PairsError,
    assign_keeping_pairs,
    assign_softly,
    costs_of_scores,
    find_clique,
    list_broken,
    tie_blocks,
)
from nearkin.clustering.partitions import (
    FAMILIES,
    GroupingRules,
    MemberScores,
    Partitions,
    embed_rows,
    estimate_share_of_same,
    fit_metric,
    fit_metric_again,
    fit_sharpness,
    grow_tree,
    score_others,
    split_groups,
    vote_on_groups,
)
from nearkin.errors import InputError
from nearkin.learners.base import WholeState, replace_state
from nearkin.messages import show_progress, tell
from nearkin.pairs.closure import keys_of, number_by_appearance
from nearkin.pairs.labels import number_classes, renumber_classes
from nearkin.pairs.pairs import Pairs
from nearkin.pairs.supervision import Evidence, check_roles, draw_example_pairs, draw_of_each_kind
from nearkin.rows import access
from nearkin.rows.parallel import one_thread
from nearkin.rows.validation import count_rows
from nearkin.scores.held_out import make_pair_folds

# Numbers by which candidates are compared were chosen by hand on the sets that settings are tuned
# on (``benchmarks/few_pairs/data.py``), with ``benchmarks/clusters``, but for those said otherwise.

# Pairs of either kind that are imagined beside those judged, together as often as any two rows.
_IMAGINED = 1.0
# Between which the share of same pairs is always.
_LEAST_SHARE, _MOST_SHARE = 1e-3, 0.95
# How much the share of same pairs that is known beforehand counts, as the mean of (T − F)² does:
# more where few pairs are judged, since errors of F are part of both sides; and how many times
# larger or smaller the share may be than that.
_BEFOREHAND, _BY_PAIRS = 0.05, 4.0
_WITHIN = 3.0
# Numbers that are tried first; then those around the best, and further ones if that is the last.
_FIRST_NUMBERS = (2, 3, 4, 5, 7, 10, 14, 20, 28, 40)
_FURTHER = 1.4
_AROUND = 3
# Judged pairs that stability counts as much as.
_STABILITY_COUNTS = 10.0
# What twice as many groups must gain where one pair is judged, and what it costs to have twice as
# many groups, or half as many, as there would be if all were of one size; of n pairs, 1 / √n of it.
_PRICE_OF_MORE = 0.1
_PRICE_OF_UNEVEN = 0.2
# A candidate must have this share of the groups that it was asked for.
_LEAST_FOUND = 0.6
# Times that judged pairs are drawn anew for the number's interval, and its share: by convention.
_N_DRAWS = 200
_CONFIDENCE = 0.9
# Parts of the pairs, of which each is held out once; or of the rows, with their share in each.
_N_FOLDS = 4
_SHARE = 0.8
# Pairs of either kind that labels are judged by, and that folds learn and judge by, at most.
_MOST_PAIRS = 500
# How often the grouping by all pairs votes, beside those of folds.
_OWN_VOTES = 2
# Rows that are mapped, or placed, at a time, which bounds memory; it changes no result.
_ROWS_AT_A_TIME = 8192
# Share of a sample that is filled with rows in pairs. Chosen by hand.
_NAMED_SHARE = 0.7
# Rows that families are tried on, and rows that groups are found among in the end, at most; others
# are placed by these. By time: some seconds on two cores (``benchmarks/clusters``).
_MOST_ROWS = 1200
_MOST_GROUPED = 4000
# Rows that a group has in the mean, at least, where their number is to be found. Chosen by hand.
_LEAST_ROWS = 3
# Groups that rows are placed in by scores, which bounds memory; into more, linkage joins rows.
_MOST_BY_SCORES = 500
# Lines of a table that is printed.
_MOST_LINES = 10
_NO_CHOICE = "There was no choice: pairs, equal rows or the number given leave no other groups."
LINKAGE = "linkage"
# Families that take part if nothing else is said: with pairs, as good as five that there were, and
# shapes in the plane are lost without linkage (``benchmarks/clusters/RESULTS.md``).
USUAL_FAMILIES = ("k-means", LINKAGE)


@dataclass(frozen=True)
class HeldOutRates:
    """Which held-out pairs, ``same`` or different, groupings put together; pairs have weights."""

    together: Floats  # (n_groupings, n_pairs): 1 where both rows of a pair are in one group, else 0
    same: Mask
    weights: Floats
    shares: Floats  # (n_groupings,), of all pairs of rows, that are in one group
    usual_share: float  # of all pairs, that are the same, estimated without held-out pairs

    def estimate_rates(self, weights: Floats | None = None) -> tuple[Floats, Floats]:
        """Shares (n_groupings,) T of same and F of different pairs that groupings join."""
        weights = self.weights if weights is None else weights
        found = []
        for kind in (self.same, ~self.same):
            counted = weights * kind
            total = self.together @ counted + _IMAGINED * self.shares
            found.append(total / (counted.sum() + _IMAGINED))
        return found[0], found[1]

    def estimate_prevalence(self, weights: Floats | None = None) -> float:
        """Share of all pairs of rows that are the same, by least squares over groupings."""
        T, F = self.estimate_rates(weights)
        counts = _BEFOREHAND + _BY_PAIRS / max(self.n_balanced, 1.0)
        told = float(((self.shares - F) * (T - F)).mean()) + counts * self.usual_share
        share = told / (float(((T - F) ** 2).mean()) + counts)
        share = np.clip(share, self.usual_share / _WITHIN, self.usual_share * _WITHIN)
        return float(np.clip(share, _LEAST_SHARE, _MOST_SHARE))

    @property
    def n_balanced(self) -> float:
        """Effective number of pairs: as many, half of either kind, would tell as much."""
        same = float(self.weights[self.same].sum())
        return 2 * min(same, float(self.weights.sum()) - same)

    def estimate_indices(self, weights: Floats | None = None) -> Floats:
        """Adjusted Rand index (n_groupings,) expected of each grouping."""
        return expected_index(*self.estimate_rates(weights), self.estimate_prevalence(weights))


def expected_index(together: Floats, mistaken: Floats, prevalence: float) -> Floats:
    """Adjusted Rand index of a grouping, from the shares of same and different pairs it joins."""
    q = prevalence * together + (1 - prevalence) * mistaken
    most = (prevalence + q) / 2 - prevalence * q
    return np.asarray(prevalence * (together - q) / np.maximum(most, 1e-12))


def count_groups(labels: Ints) -> int:
    """Number of groups of labels that count from 0."""
    return int(labels.max(initial=-1)) + 1


def share_together(labels: Ints) -> float:
    """Share of all pairs of rows that are in one group."""
    sizes = np.bincount(labels).astype(float)
    n = len(labels)
    return float((sizes * (sizes - 1)).sum() / max(n * (n - 1), 1))


class Key(NamedTuple):
    """A candidate: family of methods, "k-means" or "linkage", and number of groups asked for."""

    family: str
    number: int


@dataclass(frozen=True)
class Fold:
    """Partitions of some rows, and the pairs held out from them, as positions in ``rows``."""

    partitions: Partitions
    rows: Ints
    judged: Pairs


@dataclass(frozen=True)
class JudgedCandidate:
    """A candidate: the number of groups that it found, and how it does on held-out pairs."""

    key: Key
    found: int
    together: Floats  # (n_pairs,), and the next, as in HeldOutRates
    share: float
    stability: float
    apart: float  # mean silhouette; 0 where pairs of both kinds are held out


class CandidateSearch:
    """Search for the best family and number of groups; candidates are evaluated lazily."""

    def __init__(self, whole: Partitions, folds: Sequence[Fold], usual_share: float) -> None:
        self.whole, self.folds, self.usual_share = whole, folds, usual_share
        kinds = [fold.judged for fold in folds]
        same = [np.repeat([True, False], [len(p.must_link), len(p.cannot_link)]) for p in kinds]
        self.same = np.concatenate([np.zeros(0, dtype=bool), *same])
        weights = [weight for p in kinds for weight in (p.must_weight, p.cannot_weight)]
        self.weights = np.concatenate([np.zeros(0), *weights])
        self._links = [np.concatenate([p.must_link, p.cannot_link]) for p in kinds]
        ends = [fold.rows[link] for fold, link in zip(folds, self._links, strict=True)]
        # Folds may hold out a pair more than once.
        self.n_judged = len(np.unique(keys_of(np.concatenate(ends)))) if ends else 0
        self.judged: dict[Key, JudgedCandidate | None] = {}

    def evaluate(self, numbers: Iterable[int]) -> None:
        """Evaluate all families with these numbers of groups, unless they were before."""
        families = self.whole.wanted.families
        for key in (Key(family, number) for number in numbers for family in families):
            if key not in self.judged:
                self.judged[key] = self._evaluate(key)

    def _evaluate(self, key: Key) -> JudgedCandidate | None:
        """The candidate with its results on held-out pairs; None if it finds far fewer groups."""
        found = self.whole.find(*key)
        if found is None or (n_found := count_groups(found)) < _LEAST_FOUND * key.number:
            return None
        together, shares, stable = [np.zeros(0)], [], []
        for fold, ends in zip(self.folds, self._links, strict=True):
            labels = fold.partitions.find(*key)
            if labels is None:
                return None
            together.append((labels[ends[:, 0]] == labels[ends[:, 1]]).astype(float))
            shares.append(share_together(labels))
            stable.append(adjusted_rand_score(found[fold.rows], labels))
        stability = float(np.mean(stable)) if stable else 0.0
        share = float(np.mean(shares or [share_together(found)]))
        apart = 0.0
        if (self.same.all() or not self.same.any()) and 1 < n_found < len(found):
            apart = max(float(silhouette_score(self.whole.Z, found)), 0.0)
        return JudgedCandidate(key, n_found, np.concatenate(together), share, stability, apart)

    @property
    def candidates(self) -> list[JudgedCandidate]:
        """Candidates evaluated so far."""
        return [one for one in self.judged.values() if one is not None]

    @property
    def held_out(self) -> HeldOutRates:
        """Which held-out pairs the candidates put together."""
        together = np.array([one.together for one in self.candidates])
        shares = np.array([one.share for one in self.candidates])
        return HeldOutRates(together, self.same, self.weights, shares, self.usual_share)

    def score(self, indices: Floats) -> Floats:
        """Scores (n_candidates,) by expected index and stability, less a price for many groups.

        Where no pairs of both kinds are held out: stability times silhouette.
        """
        held_out = self.held_out
        n = held_out.n_balanced
        if not n:
            return np.array([one.stability * one.apart for one in self.candidates])
        stability = np.array([one.stability for one in self.candidates])
        groups = np.array([one.found for one in self.candidates])
        uneven = np.abs(np.log2(groups * held_out.estimate_prevalence()))
        price = _PRICE_OF_MORE * np.log2(groups) + _PRICE_OF_UNEVEN * uneven
        good = (n * indices + _STABILITY_COUNTS * stability) / (n + _STABILITY_COUNTS)
        return np.asarray(good - price / np.sqrt(n))

    def choose(self) -> JudgedCandidate:
        """The candidate with the best score."""
        return self.candidates[int(np.argmax(self.score(self.held_out.estimate_indices())))]

    def search(
        self, least: int, most: int, show: Callable[[Sequence[int]], Iterable[int]] = iter
    ) -> JudgedCandidate | None:
        """Best candidate with ``least`` to ``most`` groups, searched coarse to fine.

        None if no family finds groups, as of equal rows. ``show`` wraps numbers in a progress bar.
        """
        first = sorted({least, *(k for k in _FIRST_NUMBERS if least <= k <= most)})
        if first[-1] < min(most, 2 * least):
            first = _space_numbers(least, min(most, 2 * least))
        self.evaluate(show(first))
        while self.candidates:
            numbers = sorted({key.number for key in self.judged})
            best = self.choose().key.number
            place = numbers.index(best)
            if best == numbers[-1] < most:
                new = [min(most, max(best + 1, round(best * _FURTHER)))]
            else:
                below = numbers[max(place - 1, 0)]
                above = numbers[min(place + 1, len(numbers) - 1)]
                near = (*_space_numbers(below, best), *_space_numbers(best, above))
                new = [k for k in near if k not in numbers]
            if not new:
                return self.choose()
            self.evaluate(show(new))
        return None

    def vote(self, best: JudgedCandidate) -> Ints:
        """Labels (n,) by majority over the best candidate's groupings of all folds and of all rows.

        The grouping by all pairs counts twice, and is taken alone where folds have some rows only.
        """
        own = self.whole.get(*best.key)
        if not all(len(fold.rows) == len(own) for fold in self.folds):
            return own
        others = [fold.partitions.get(*best.key) for fold in self.folds]
        voted = vote_on_groups([own] * _OWN_VOTES + others, best.found, self.whole.seed)
        return self.whole.repair(voted, best.found, turns=1)

    def estimate_interval(self, rng: np.random.RandomState) -> tuple[int, int]:
        """Least and most number of groups that nine of ten bootstrap samples of pairs choose."""
        found = np.array([one.found for one in self.candidates])
        held_out, n = self.held_out, len(self.same)
        size = (_N_DRAWS, n)
        draws = rng.multinomial(n, np.full(n, 1 / n), size=_N_DRAWS) if n else np.zeros(size)
        indices = [held_out.estimate_indices(self.weights * draw) for draw in draws]
        chosen = found[[int(np.argmax(self.score(draw))) for draw in indices]]
        ends = np.quantile(chosen, [(1 - _CONFIDENCE) / 2, (1 + _CONFIDENCE) / 2], method="nearest")
        own = self.choose().found
        return min(int(ends[0]), own), max(int(ends[1]), own)


def _space_numbers(low: int, high: int) -> list[int]:
    """A few whole numbers evenly spaced from low to high, both included."""
    return sorted({round(k) for k in np.linspace(low, high, _AROUND)})


def make_folds(
    some: DrawnRows, pairs: Pairs, metric: Any, given: Any, rng: np.random.RandomState
) -> list[Fold]:
    """Folds that hold out parts of the pairs from metric and groups, or of the rows without pairs.

    The metric is fitted; ``given`` is the user's parameter.
    """
    n, Z, whole, folds = len(some.Z), some.Z, some.partitions, []
    pairs = draw_of_each_kind(pairs, _MOST_PAIRS, rng)
    for learn, judge in make_pair_folds(pairs, _N_FOLDS, rng, unseen="one"):
        told = pairs.subset(learn)
        without = fit_metric_again(metric, given, some.X, told)
        there = Z if without is metric else embed_rows(without, some.X, whole.seed)
        partitions = Partitions(there, told, whole.wanted, whole.seed)
        folds.append(Fold(partitions, np.arange(n), pairs.subset(judge)))
    for _ in range(0 if folds else _N_FOLDS):
        rows = np.sort(rng.choice(n, max(2, round(_SHARE * n)), replace=False))
        told = pairs.restrict(rows)
        folds.append(Fold(Partitions(Z[rows], told, whole.wanted, whole.seed), rows, Pairs()))
    return folds


def gather_pairs(n_rows: int, y: Any, pairs: Pairs | None) -> Pairs:
    """The user's pairs, and labels as pairs: must-links within classes, cannot-links between."""
    check_roles(y, pairs)
    known = Pairs(n_rows=n_rows)
    if pairs is not None:
        pairs.check_rows(n_rows)
        known = known + pairs
    if y is None:
        return known
    classes = number_classes(y)
    if len(classes) != n_rows:
        raise InputError(f"y has {len(classes)} labels, but X has {n_rows} rows.")
    labelled = np.flatnonzero(classes >= 0)
    _, first, of = np.unique(classes[labelled], return_index=True, return_inverse=True)
    heads = labelled[first]
    must = np.column_stack([heads[of], labelled])
    cannot = heads[np.column_stack(np.triu_indices(len(heads), 1))]
    return known + Pairs(must, cannot, n_rows=n_rows)


def find_medoids(Z: Floats, labels: Ints) -> Ints:
    """Row number (k,) of the row nearest to the mean of each group."""
    k = count_groups(labels)
    means = np.zeros((k, Z.shape[1]))
    np.add.at(means, labels, Z)
    means /= np.bincount(labels, minlength=k)[:, None]
    away = ((Z - means[labels]) ** 2).sum(axis=1)
    order = np.lexsort([away, labels])
    return np.asarray(order[np.searchsorted(labels[order], np.arange(k))])


def draw_named_rows(pairs: Pairs, n_rows: int, most: int, rng: np.random.RandomState) -> Ints:
    """Draw at most ``most`` rows: those in pairs of either kind first, then others; sorted."""
    if n_rows <= most:
        return np.arange(n_rows)
    room = int(_NAMED_SHARE * most)
    kinds = [rng.permutation(links) for links in (pairs.must_link, pairs.cannot_link)]
    turns = min(max(map(len, kinds)), room)
    ends = [kind[:turns] for kind in kinds]
    order = np.argsort(np.concatenate([np.arange(len(kind)) for kind in ends]), kind="stable")
    named = np.concatenate(ends)[order].ravel()
    _, first = np.unique(named, return_index=True)
    chosen = named[np.sort(first)][:room]
    others = np.setdiff1d(np.arange(n_rows), chosen)
    more = rng.choice(others, most - len(chosen), replace=False)
    return np.sort(np.concatenate([chosen, more]))


class DrawnRows(NamedTuple):
    """A sample of rows: sorted numbers, rows X, mapped rows Z, and partitions of these."""

    numbers: Ints
    X: Any
    Z: Floats
    partitions: Partitions


def _apply_by_parts(work: Callable[[Ints], Floats], n: int) -> Floats:
    """Concatenate the results of ``work`` for row numbers 0 to n − 1, some at a time."""
    parts = np.array_split(np.arange(n), max(1, -(-n // _ROWS_AT_A_TIME)))
    return np.concatenate([work(rows) for rows in parts])


def score_all_rows(some: DrawnRows, found: MemberScores, Z: Floats) -> Floats:
    """Scores (n, k) of all rows in the groups of a sample; ``found`` has those of the sample."""
    if len(some.numbers) == len(Z):
        return found.scores
    features = some.partitions.features
    scores = _apply_by_parts(
        lambda rows: score_others(features, Z[rows], found.coefficients), len(Z)
    )
    scores[some.numbers] = found.scores
    return scores


def group_all_rows(some: DrawnRows, labels: Ints, Z: Floats, known: Pairs, blocks: Blocks) -> Ints:
    """Labels (n,) of all rows by the groups of a sample; pairs are kept, or broken at a cost."""
    if len(labels) == len(Z):
        return labels
    wanted = some.partitions.wanted
    found = some.partitions.regression.score(labels, count_groups(labels))
    scores = score_all_rows(some, found, Z)
    if wanted.strength is not None:
        labels = assign_softly(costs_of_scores(scores), known, wanted.strength)
    else:
        labels = assign_keeping_pairs(costs_of_scores(scores), blocks, most_groups=wanted.most)
    if len(np.unique(labels)) < wanted.least:  # nobody was placed in some
        labels = split_groups(labels, scores, blocks, wanted.least)
    return number_by_appearance(labels)


@dataclass(frozen=True)
class GroupingCandidate:
    """A line of the report: a candidate grouping, and its results."""

    family: str
    asked: int  # number of groups, before rows were moved to keep pairs
    found: int  # and after
    index: float  # adjusted Rand index expected from held-out pairs, NaN without these
    stability: float  # mean adjusted Rand index with groupings that lack some pairs, or rows
    score: float
    chosen: bool = False


@dataclass(frozen=True)
class GroupingReport:
    """How groups were chosen. Print it.

    Attributes
    ----------
    reason : str
        Why these, in a sentence or two.
    family : str
    n_clusters : int
    interval : (int, int)
        Numbers of groups between which it is in nine of ten cases, if other pairs had been held
        out.
    candidates : list of GroupingCandidate
        Best first.
    n_judged : int
        Held-out pairs that candidates were judged by.
    prevalence : float or None
        Share of all pairs of rows that are the same, as estimated from these.
    """

    reason: str
    family: str
    n_clusters: int
    interval: tuple[int, int]
    candidates: list[GroupingCandidate] = field(default_factory=list)
    n_judged: int = 0
    prevalence: float | None = None

    @property
    def summary(self) -> str:
        """Family, number and interval in a few words."""
        low, high = self.interval
        sure = "" if low == high else f" (90 % interval {low} to {high})"
        return f"{self.n_clusters} groups{sure} by {self.family}"

    def __str__(self) -> str:
        if not self.candidates:
            return f"{self.summary}. {self.reason}"
        width = max(len(line.family) for line in self.candidates)
        lines = [f"  {'family':{width}}  groups  index  stability  score"]
        for line in self._printed_lines:
            mark = "→" if line.chosen else " "
            lines.append(
                f"{mark} {line.family:{width}}  {line.found:6}  {line.index:5.2f}"
                f"  {line.stability:9.2f}  {line.score:5.2f}"
            )
        left = len(self.candidates) - len(self._printed_lines)
        if left:
            lines.append(f"  … and {left} more")
        return "\n".join([*lines, f"{self.summary}. {self.reason}"])

    @property
    def _printed_lines(self) -> list[GroupingCandidate]:
        """Candidates that are printed: the best ten, and the chosen one."""
        first = self.candidates[:_MOST_LINES]
        return first + [line for line in self.candidates[_MOST_LINES:] if line.chosen]

    def _repr_html_(self) -> str:
        """The report as an HTML table, for notebooks."""
        titles = ("", "family", "groups", "index", "stability", "score")
        head = "".join(f"<th>{title}</th>" for title in titles)
        body = "".join(
            f"<tr><td>{'→' if line.chosen else ''}</td><td>{escape(line.family)}</td>"
            f"<td>{line.found}</td><td>{line.index:.2f}</td><td>{line.stability:.2f}</td>"
            f"<td>{line.score:.2f}</td></tr>"
            for line in self._printed_lines
        )
        table = f"<table><tr>{head}</tr>{body}</table>" if body else ""
        return f"{table}<p>{escape(self.summary)}. {escape(self.reason)}</p>"


def make_report(
    comparison: CandidateSearch, best: JudgedCandidate, given: bool, rng: np.random.RandomState
) -> GroupingReport:
    """Report candidates and why one is best; ``given`` if the user set the number of groups."""
    held_out = comparison.held_out
    n_judged = min(int(held_out.same.sum()), int((~held_out.same).sum()))
    indices = held_out.estimate_indices()
    scores = comparison.score(indices)
    if not n_judged:
        indices = np.full(len(indices), np.nan)
    judged = zip(comparison.candidates, indices.tolist(), scores.tolist(), strict=True)
    candidates = [
        GroupingCandidate(*one.key, one.found, index, one.stability, score, one is best)
        for one, index, score in judged
    ]
    by_score = sorted(candidates, key=lambda line: -line.score)
    # Of candidates of one family that came to have one number of groups, the best.
    once = {(line.family, line.found): line for line in reversed(by_score)}
    reason = "The number was given; the family was chosen" if given else "They were chosen"
    if n_judged:
        reason += f" by {comparison.n_judged} held-out pairs, and by how stable groups are."
    else:
        reason += (
            " by how stable groups are, and how far apart, since no pairs of both kinds could be "
            "held out: ten of either kind would tell more."
        )
    return GroupingReport(
        reason,
        best.key.family,
        best.found,
        (best.found, best.found) if given else comparison.estimate_interval(rng),
        [line for line in by_score if line is once[line.family, line.found]],
        comparison.n_judged,
        held_out.estimate_prevalence() if n_judged else None,
    )


class Clusters(WholeState, ClusterMixin, BaseEstimator):
    """Cluster rows in agreement with known pairs, and find the number of clusters.

    A metric is learned from the pairs. In its coordinates k-means and average linkage are tried
    with several numbers of groups, and rows moved such that pairs are kept. Pairs that were held
    out of the metric and of the groups tell which is best, together with how stable each is. In the
    end, groups are what the best candidate finds most often, whichever pairs are held out.

    Parameters
    ----------
    n_clusters : int, (int, int) or None, default=None
        How many groups; the least and the most; or None, then it is found out.
    metric : learner, optional
        :class:`nearkin.MetricLearner` by default. A copy is learned, unless it is inside
        scikit-learn's ``FrozenEstimator``: its pairs should then be others than those given here,
        or candidates look better than they are.
    families : sequence of str, optional
        Which of ``"k-means"`` and ``"linkage"`` (the average) are tried: both by default.
    keep : {"hard", "soft"}, default="hard"
        Never break pairs, and raise an error of contradictions; or break them where that costs less
        than keeping them.
    strength : float, default=1.0
        What a broken pair of weight 1 costs with ``keep="soft"``: 1 is the difference between
        scores of a row that belongs to a group for sure and of one that does not.
    verbose : bool, default=False
        Show a bar while candidates are compared, and the report.
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    labels_ : int ndarray of shape (n,)
        Group of each row, from 0 in the order of first rows.
    n_clusters_ : int
    metric_ : fitted metric
        Rows as they are, divided by the spreads of columns where units differ, if nothing is known.
    report_ : GroupingReport
        What was compared, and how sure the number is: print it, or draw it with
        :func:`nearkin.plot.grouping`.
    medoids_ : int ndarray of shape (n_clusters_,)
        Row nearest to the mean of each group: an example of it.
    broken_ : Broken
        Pairs that are not kept, with what keeping each would have cost (NaN where there are no
        scores: of one group, or of more than 500); none with ``keep="hard"``.
    tree_ : Tree or None
        With ``families=["linkage"]``: who joined whom. ``tree_.cut(k)`` gives k groups that keep
        the pairs, for any k of ``tree_.fewest`` or more: with fewer, some that differ had joined.

    Notes
    -----
    Families are tried on 1200 rows at most, of which up to 840 are in pairs. With the best one,
    groups are found among 4000 rows at most, and all others are placed by these: time and memory
    grow linearly with the rows and the pairs, O(n k) numbers for k groups, 100 for each row, and
    200 for each of 8192 rows at a time. Linkage alone joins all rows. A metric is learned from 5000
    pairs of either kind at most. Labels given as ``y`` act as pairs: rows of one class together, of
    two apart.

    Examples
    --------
    >>> from nearkin import Clusters, Pairs
    >>> from nearkin.datasets import make_three_normal
    >>> X, y = make_three_normal(300, random_state=4)
    >>> pairs = Pairs.from_labels(y, 60, random_state=0)
    >>> clusters = Clusters((2, 5), random_state=0).fit(X, pairs=pairs)
    >>> clusters.n_clusters_
    3
    >>> clusters.predict(X[:3]).tolist() == clusters.labels_[:3].tolist()
    True
    >>> clusters.predict_proba(X[:3]).shape
    (3, 3)
    """

    __metadata_request__fit: ClassVar[dict[str, bool]] = {"pairs": True}

    def __init__(
        self,
        n_clusters: int | tuple[int, int] | None = None,
        *,
        metric: Any = None,
        families: Sequence[str] | None = None,
        keep: str = "hard",
        strength: float = 1.0,
        verbose: bool = False,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.metric = metric
        self.families = families
        self.keep = keep
        self.strength = strength
        self.verbose = verbose
        self.random_state = random_state

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left"), tuple, list, None],
        "metric": [HasMethods(["fit"]), None],
        "families": ["array-like", None],
        "keep": [StrOptions({"hard", "soft"})],
        "strength": [Interval(Real, 0, None, closed="left")],
        "verbose": ["boolean"],
        "random_state": ["random_state"],
    }

    @replace_state
    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any = None, *, pairs: Pairs | None = None) -> Self:
        """Learn the metric, and find groups.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n, d)
        y : array of shape (n,), optional
            Labels; negative means unknown.
        pairs : Pairs, optional
            Pairs of rows of X.

        Returns
        -------
        self
        """
        rng = check_random_state(self.random_state)
        seed = int(rng.randint(2**31 - 1))
        n = count_rows(X)
        known = gather_pairs(n, y, pairs)
        strength = self.strength if self.keep == "soft" else None
        blocks = tie_blocks(known, n, strict=strength is None)
        least, most = self._find_bounds(blocks, n, strength)
        families = self._check_families()
        self.metric_ = fit_metric(self.metric, X, y, pairs, seed)
        bounds = (1, None) if self.n_clusters is None else (least, most)
        wanted = GroupingRules(families, strength, *bounds)
        with one_thread():  # many small pieces of work
            some = self._draw(_MOST_ROWS, X, known, wanted, seed, rng)
            best = None
            if np.ptp(some.Z, axis=0).any() and most > 1 and least <= _MOST_BY_SCORES:
                comparison = self._compare(some, y, rng)
                show = partial(show_progress, what="comparing groups", shown=self.verbose)
                best = comparison.search(least, most, show)
            if best is None:
                self.report_ = GroupingReport(_NO_CHOICE, "no family", least, (least, least))
                found = some.partitions.group_as_one()
            else:
                given = self.n_clusters is not None and least == most
                self.report_ = make_report(comparison, best, given, rng)
                if len(some.numbers) == n:
                    found = comparison.vote(best)
                else:  # with the choice made, there is time for more rows
                    some = self._draw(_MOST_GROUPED, X, known, wanted, seed, rng)
                    more = some.partitions.find(*best.key)
                    found = some.partitions.group_as_one() if more is None else more
        self._axes, self._seed = some.partitions.axes, seed
        Z = _apply_by_parts(lambda rows: self._embed(access.take(X, rows)), n)
        self.tree_ = None
        if least > _MOST_BY_SCORES or families == (LINKAGE,):
            self.tree_ = grow_tree(Z, blocks)
        number = max(least, count_groups(found))
        if self.tree_ is not None and (self.tree_.fewest <= number or least > _MOST_BY_SCORES):
            labels = self.tree_.cut(number)
        else:  # of a tree, where it ends with more
            labels = group_all_rows(some, found, Z, known, blocks)
        self._store_groups(some, Z, labels, known)
        if self.verbose:
            tell(f"{self.report_}\n")
        return self

    def _draw(
        self,
        most: int,
        X: Any,
        known: Pairs,
        wanted: GroupingRules,
        seed: int,
        rng: np.random.RandomState,
    ) -> DrawnRows:
        """Draw at most ``most`` rows to find groups among, mapped by the metric."""
        numbers = draw_named_rows(known, int(known.n_rows or 0), most, rng)
        X = access.take(X, numbers)
        Z = embed_rows(self.metric_, X, seed)
        wanted = replace(wanted, least=min(wanted.least, len(Z)))
        return DrawnRows(numbers, X, Z, Partitions(Z, known.restrict(numbers), wanted, seed))

    def _compare(self, some: DrawnRows, y: Any, rng: np.random.RandomState) -> CandidateSearch:
        """Set up the search: folds hold out example pairs from metric and groups."""
        whole = some.partitions
        classes = None if y is None else renumber_classes(number_classes(y)[some.numbers])
        examples = draw_example_pairs(Evidence(whole.pairs, classes), rng, most=_MOST_PAIRS)
        folds = make_folds(some, examples, self.metric_, self.metric, rng)
        share = estimate_share_of_same(self.metric_, some.Z, whole.seed)
        return CandidateSearch(whole, folds, share)

    def _store_groups(self, some: DrawnRows, Z: Floats, labels: Ints, known: Pairs) -> None:
        """Set the fitted attributes for these labels, and store what new rows are assigned by."""
        k = count_groups(labels)
        self.labels_ = labels
        self.n_clusters_ = k
        self.report_ = replace(self.report_, n_clusters=k)
        self.medoids_ = find_medoids(Z, labels)
        self._medoids = Z[self.medoids_]
        self._coefficients = costs = None
        if 1 < k <= _MOST_BY_SCORES:
            there = labels[some.numbers]
            found = some.partitions.regression.score(there, k)
            self._features, self._coefficients = some.partitions.features, found.coefficients
            self._sharpness = fit_sharpness(found.scores, there)
            if some.partitions.wanted.strength is not None:
                costs = costs_of_scores(score_all_rows(some, found, Z))
        self.broken_ = list_broken(costs, known, labels)

    def _embed(self, X: Any) -> Floats:
        """Map rows by the metric, and along the principal axes of the sample's rows."""
        return np.asarray(self._axes.transform(embed_rows(self.metric_, X, self._seed)))

    def _find_bounds(self, blocks: Blocks, n: int, strength: float | None) -> tuple[int, int]:
        """Least and most number of groups; an error if pairs do not allow them."""
        given: Any = self.n_clusters
        if given is None:
            least, most = min(2, n), max(min(2, n), n // _LEAST_ROWS)
        elif isinstance(given, Integral):
            least = most = int(given)
        else:
            bounds = tuple(given)
            if len(bounds) != 2 or not all(isinstance(k, Integral) for k in bounds):
                raise InputError(f"n_clusters={given!r}: give a number, or the least and the most.")
            least, most = map(int, bounds)
            if not 1 <= least <= most:
                raise InputError(
                    f"n_clusters={given!r}: the least must be 1 or more, and the most no less."
                )
        if least > n:
            raise InputError(
                f"n_clusters={given}: {least} clusters cannot be made of n_samples={n} rows. Ask "
                f"for {n} or less."
            )
        if strength is not None:
            return min(least, n), min(most, n)
        if given is not None:
            if least > blocks.count:
                raise PairsError(
                    lambda _, number, soft: (
                        f"{number}{given}: must-links leave {blocks.count} groups at most. Ask for "
                        f"fewer, leave out a must-link, or let pairs be broken with {soft}."
                    )
                )
            # An error says why pairs do not allow so few.
            assign_keeping_pairs(np.zeros((n, 1)), blocks, most_groups=most)
        needed = len(find_clique(blocks.apart, blocks.count))
        least = min(max(least, needed), blocks.count)
        return least, min(max(most, least), blocks.count)

    def _check_families(self) -> tuple[str, ...]:
        """Names of the families to try; an error for unknown ones."""
        if self.families is None:
            return USUAL_FAMILIES
        names = list(self.families)
        if not names or any(name not in FAMILIES for name in names):
            raise InputError(f"families={self.families!r}: use some of {', '.join(FAMILIES)}.")
        return tuple(names)

    def predict(self, X: Any) -> Ints:
        """Group of each row, by the groups of the rows given to ``fit``.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n, d)

        Returns
        -------
        int ndarray of shape (n,)
            Of the rows given to ``fit`` it may differ from ``labels_``, which keep the pairs.
        """
        check_is_fitted(self)
        Z = self._embed(X)
        if self._coefficients is None:
            return np.asarray(pairwise_distances_argmin(Z, self._medoids))
        scores = score_others(self._features, Z, self._coefficients)
        return np.asarray(scores.argmax(axis=1))

    def predict_proba(self, X: Any) -> Floats:
        """Estimate the chance that each row belongs to each group.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n, d)

        Returns
        -------
        ndarray of shape (n, n_clusters_)
            Rows sum to 1; the highest chance is that of :meth:`predict`.
        """
        check_is_fitted(self)
        Z = self._embed(X)
        if self._coefficients is None:
            nearest = pairwise_distances_argmin(Z, self._medoids)
            return np.asarray(np.eye(self.n_clusters_)[nearest])
        scores = score_others(self._features, Z, self._coefficients)
        return np.asarray(softmax(self._sharpness * scores, axis=1))

    def fit_predict(self, X: Any, y: Any = None, *, pairs: Pairs | None = None) -> Ints:
        """Find groups and give the group of each row: ``labels_``.

        Parameters
        ----------
        X, y, pairs
            As for :meth:`fit`.

        Returns
        -------
        int ndarray of shape (n,)

        Examples
        --------
        >>> from nearkin import Clusters, Pairs
        >>> X = [[0.0], [1.0], [8.0], [9.0]]
        >>> Clusters(2, random_state=0).fit_predict(X, pairs=Pairs([(0, 1)], [(0, 3)]))
        array([0, 0, 1, 1])
        """
        return np.asarray(self.fit(X, y, pairs=pairs).labels_)

    @property
    def n_features_in_(self) -> int:
        """Number of columns of the rows."""
        return int(self.metric_.n_features_in_)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
