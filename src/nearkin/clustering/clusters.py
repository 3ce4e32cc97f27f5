"""Clusters: groups of rows that agree with pairs, and their number."""

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
from sklearn.decomposition import PCA
from sklearn.metrics import pairwise_distances_argmin
from sklearn.utils import Tags, check_random_state
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from nearkin._types import Floats, Ints
from nearkin.clustering.choice import CandidateSearch, JudgedCandidate, count_groups, make_folds
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
    find_affinities,
    fit_metric,
    fit_sharpness,
    grow_tree,
    score_others,
    split_groups,
)
from nearkin.errors import InputError
from nearkin.learners.base import WholeState, replace_state
from nearkin.messages import show_progress, tell
from nearkin.pairs.closure import number_by_appearance
from nearkin.pairs.labels import number_classes, renumber_classes
from nearkin.pairs.pairs import Pairs
from nearkin.pairs.supervision import Evidence, check_roles, draw_example_pairs, refuse_triplets
from nearkin.rows import access
from nearkin.rows.parallel import one_thread
from nearkin.rows.validation import count_rows

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
# Pairs of either kind that labels are judged by.
_MOST_EXAMPLES = 500
# Lines of a table that is printed.
_MOST_LINES = 10
LINKAGE = "linkage"
# Families that take part if nothing else is said: with pairs, as good as five that there were, and
# shapes in the plane are lost without linkage (``benchmarks/clusters/RESULTS.md``).
USUAL_FAMILIES = ("k-means", "linkage")


def gather_pairs(n_rows: int, y: Any, pairs: Pairs | None) -> Pairs:
    """Gather pairs, and labels as such: each row with the first of its class, and these apart."""
    check_roles(y, pairs)
    known = Pairs(n_rows=n_rows)
    if pairs is not None:
        refuse_triplets(pairs)
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
    """Find the row of each group that is nearest to its mean."""
    k = int(labels.max(initial=-1)) + 1
    means = np.zeros((k, Z.shape[1]))
    np.add.at(means, labels, Z)
    means /= np.bincount(labels, minlength=k)[:, None]
    away = ((Z - means[labels]) ** 2).sum(axis=1)
    order = np.lexsort([away, labels])
    return np.asarray(order[np.searchsorted(labels[order], np.arange(k))])


def draw_named_rows(pairs: Pairs, n_rows: int, most: int, rng: np.random.RandomState) -> Ints:
    """Draw up to so many rows: both ends of some pairs of either kind, and others at random."""
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
    """Some rows, and their groups.

    Attributes
    ----------
    numbers : int ndarray of shape (m,)
        Which rows they are, increasing.
    X : rows
    Z : ndarray of shape (m, q)
        Where the metric puts them.
    partitions : Partitions
        Told of the pairs among them.
    """

    numbers: Ints
    X: Any
    Z: Floats
    partitions: Partitions


def _in_parts(work: Callable[[Ints], Floats], n: int) -> Floats:
    """Work on some rows at a time, by their numbers."""
    parts = np.array_split(np.arange(n), max(1, -(-n // _ROWS_AT_A_TIME)))
    return np.concatenate([work(rows) for rows in parts])


def score_all_rows(some: DrawnRows, found: MemberScores, Z: Floats) -> Floats:
    """Score groups for all rows by the groups of some; these are scored by the others of them."""
    if len(some.numbers) == len(Z):
        return found.scores
    features = some.partitions.features
    scores = _in_parts(lambda rows: score_others(features, Z[rows], found.coefficients), len(Z))
    scores[some.numbers] = found.scores
    return scores


def group_all_rows(some: DrawnRows, labels: Ints, Z: Floats, known: Pairs, blocks: Blocks) -> Ints:
    """Group all rows by groups of some, such that all pairs are kept, or broken at a cost."""
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
    """A line of the report.

    Attributes
    ----------
    family : str
    asked, found : int
        Number of groups that it was asked for, and that it has with the pairs kept.
    index : float
        Adjusted Rand index, as expected from held-out pairs; NaN where there are none.
    stability : float
        Adjusted Rand index with what was found when some pairs, or rows, were left out.
    score : float
        What candidates are compared by.
    chosen : bool
    """

    family: str
    asked: int
    found: int
    index: float
    stability: float
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
    interval : tuple of (int, int)
        Number of groups: between which it is in nine of ten cases, if other pairs had been held
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
        for line in self._shown:
            mark = "→" if line.chosen else " "
            lines.append(
                f"{mark} {line.family:{width}}  {line.found:6}  {line.index:5.2f}"
                f"  {line.stability:9.2f}  {line.score:5.2f}"
            )
        left = len(self.candidates) - len(self._shown)
        if left:
            lines.append(f"  … and {left} more")
        return "\n".join([*lines, f"{self.summary}. {self.reason}"])

    @property
    def _shown(self) -> list[GroupingCandidate]:
        first = self.candidates[:_MOST_LINES]
        return first + [line for line in self.candidates[_MOST_LINES:] if line.chosen]

    def _repr_html_(self) -> str:
        head = "".join(
            f"<th>{title}</th>" for title in ("", "family", "groups", "index", "stability", "score")
        )
        body = "".join(
            f"<tr><td>{'→' if line.chosen else ''}</td><td>{escape(line.family)}</td>"
            f"<td>{line.found}</td><td>{line.index:.2f}</td><td>{line.stability:.2f}</td>"
            f"<td>{line.score:.2f}</td></tr>"
            for line in self._shown
        )
        table = f"<table><tr>{head}</tr>{body}</table>" if body else ""
        return f"{table}<p>{escape(self.summary)}. {escape(self.reason)}</p>"


def make_report(
    comparison: CandidateSearch, best: JudgedCandidate, given: bool, rng: np.random.RandomState
) -> GroupingReport:
    """Report what was compared, and why the best is that."""
    held_out = comparison.held_out
    n_judged = min(int(held_out.same.sum()), int((~held_out.same).sum()))
    indices = held_out.estimate_indices()
    scores = comparison.score(indices)
    if not n_judged:
        indices = np.full(len(indices), np.nan)
    candidates = [
        GroupingCandidate(*one.key, one.found, index, one.stability, score, one is best)
        for one, index, score in zip(
            comparison.candidates, indices.tolist(), scores.tolist(), strict=True
        )
    ]
    by_score = sorted(candidates, key=lambda line: -line.score)
    # Of candidates of one family that came to have one number of groups, the best.
    once = {(line.family, line.found): line for line in reversed(by_score)}
    return GroupingReport(
        _say_reason(comparison.n_judged if n_judged else 0, given),
        best.key.family,
        best.found,
        (best.found, best.found) if given else comparison.estimate_interval(rng),
        [line for line in by_score if line is once[line.family, line.found]],
        comparison.n_judged,
        held_out.estimate_prevalence() if n_judged else None,
    )


def _say_reason(n_judged: int, given: bool) -> str:
    number = "The number was given; the family was chosen" if given else "They were chosen"
    if n_judged:
        return f"{number} by {n_judged} held-out pairs, and by how stable groups are."
    return (
        f"{number} by how stable groups are, and how far apart, since no pairs of both kinds could "
        "be held out: ten of either kind would tell more."
    )


def report_no_choice(n_groups: int) -> GroupingReport:
    """Report that there was nothing to choose among."""
    reason = "There was no choice: pairs, equal rows or the number given leave no other groups."
    return GroupingReport(reason, "no family", n_groups, (n_groups, n_groups))


class Clusters(WholeState, ClusterMixin, BaseEstimator):
    """Cluster rows in agreement with known pairs, and find the number of clusters.

    A metric is learned from the pairs. In its coordinates k-means and average linkage are tried
    with several numbers of groups; pairs that were held out of the metric and of the groups tell
    which is best, together with how stable each is. In every grouping rows then go to where they
    fit best by the groups of rows in pairs, and pairs are kept. In the end, groups are what the
    best candidate finds most often, whichever pairs are held out.

    Parameters
    ----------
    n_clusters : int, (int, int) or None, default=None
        How many groups; the least and the most; or None, then it is found out.
    metric : learner, optional
        :class:`nearkin.MetricLearner` by default. A copy is learned; a metric that is learned
        already is taken as it is inside scikit-learn's ``FrozenEstimator``: its pairs should be
        others than those given here, or candidates look better than they are.
    families : sequence of str, optional
        Which of ``"k-means"`` and ``"linkage"`` (the average) are tried: both by default.
    keep : {"hard", "soft"}, default="hard"
        Whether pairs are never broken, and contradictions are errors; or broken where that costs
        less than keeping them.
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
    pairs of either kind at most.

    Labels given as ``y`` act as pairs: rows of one class together, of two apart.

    The index of a candidate is the adjusted Rand index that held-out pairs let expect: see
    :mod:`nearkin.clustering.choice`.

    Examples
    --------
    >>> from nearkin import Clusters, Pairs
    >>> from nearkin.datasets import make_three_normal
    >>> X, y = make_three_normal(300, random_state=2)
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
        """Find groups.

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
        least, most = self._bounds(blocks, n, strength)
        families = self._checked_families()
        self.metric_ = fit_metric(self.metric, X, y, pairs, seed)
        wanted = GroupingRules(
            families, strength, *((1, None) if self.n_clusters is None else (least, most))
        )
        with one_thread():  # many small pieces of work
            some = self._draw(_MOST_ROWS, X, known, wanted, seed, rng)
            best = None
            if np.ptp(some.Z, axis=0).any() and most > 1 and least <= _MOST_BY_SCORES:
                comparison = self._compare(some, y, rng)
                best = comparison.search(least, most, self._show)
            if best is None:
                self.report_ = report_no_choice(least)
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
        axes = some.partitions.axes
        self._embed = partial(_embed_along, self.metric_, axes, seed)
        Z = _in_parts(lambda rows: self._embed(access.take(X, rows)), n)
        self.tree_ = None
        if least > _MOST_BY_SCORES or families == (LINKAGE,):
            self.tree_ = grow_tree(Z, find_affinities(Z), blocks)
        number = max(least, count_groups(found))
        if self.tree_ is not None and (self.tree_.fewest <= number or least > _MOST_BY_SCORES):
            labels = self.tree_.cut(number)
        else:  # of a tree, where it ends with more
            labels = group_all_rows(some, found, Z, known, blocks)
        self._keep(some, Z, labels, known)
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
        """Draw up to so many rows, to find groups among them."""
        numbers = draw_named_rows(known, int(known.n_rows or 0), most, rng)
        X = access.take(X, numbers)
        Z = embed_rows(self.metric_, X, seed)
        wanted = replace(wanted, least=min(wanted.least, len(Z)))
        return DrawnRows(numbers, X, Z, Partitions(Z, known.restrict(numbers), wanted, seed))

    def _compare(self, some: DrawnRows, y: Any, rng: np.random.RandomState) -> CandidateSearch:
        """Hold out pairs, to judge candidates by, that neither metric nor groups are told of."""
        whole = some.partitions
        classes = None if y is None else renumber_classes(number_classes(y)[some.numbers])
        examples = draw_example_pairs(Evidence(whole.pairs, classes), rng, most=_MOST_EXAMPLES)
        folds = make_folds(whole, examples, self.metric_, self.metric, some.X, some.Z, rng)
        share = estimate_share_of_same(self.metric_, some.Z, whole.seed)
        return CandidateSearch(whole, folds, share)

    def _keep(self, some: DrawnRows, Z: Floats, labels: Ints, known: Pairs) -> None:
        """Keep what is known of the groups, and what new rows are placed by."""
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

    def _bounds(self, blocks: Blocks, n: int, strength: float | None) -> tuple[int, int]:
        """Least and most number of groups; an error if pairs do not allow them."""
        given = self.n_clusters
        if given is None:
            least, most = min(2, n), max(min(2, n), n // _LEAST_ROWS)
        elif isinstance(given, Integral):
            least = most = int(given)
        else:
            least, most = _check_bounds(given)
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
            assign_keeping_pairs(
                np.zeros((n, 1)), blocks, most_groups=most
            )  # or an error that says why not
        needed = len(find_clique(blocks.apart, blocks.count))
        least = min(max(least, needed), blocks.count)
        return least, min(max(most, least), blocks.count)

    def _checked_families(self) -> tuple[str, ...]:
        if self.families is None:
            return USUAL_FAMILIES
        names = [self.families] if isinstance(self.families, str) else list(self.families)
        unknown = [name for name in names if name not in FAMILIES]
        if unknown or not names:
            raise InputError(f"families={self.families!r}: use some of {', '.join(FAMILIES)}.")
        return tuple(names)

    def _show(self, numbers: Sequence[int]) -> Iterable[int]:
        return show_progress(numbers, "comparing groups", shown=self.verbose)

    def predict(self, X: Any) -> Ints:
        """Group of each row, by the groups of the rows that were given to ``fit``.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n, d)

        Returns
        -------
        int ndarray of shape (n,)
            Of the rows given to ``fit`` it may differ from ``labels_``, which keep the pairs.

        Examples
        --------
        >>> import numpy as np
        >>> from nearkin import Clusters, Euclidean, Pairs
        >>> X = np.repeat([[0.0], [9.0]], 20, axis=0) + np.random.default_rng(0).normal(
        ...     size=(40, 1)
        ... )
        >>> clusters = Clusters(2, metric=Euclidean(), families=["k-means"], random_state=0)
        >>> clusters.fit(X, pairs=Pairs([(0, 1)], [(0, 39)])).predict([[1.0], [8.0], [10.0]])
        array([0, 1, 1])
        """
        check_is_fitted(self)
        Z = self._embed(X)
        if self._coefficients is None:
            return np.asarray(pairwise_distances_argmin(Z, self._medoids))
        scores = score_others(self._features, Z, self._coefficients)
        return np.asarray(scores.argmax(axis=1))

    def predict_proba(self, X: Any) -> Floats:
        """Chance that each row belongs to each group.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n, d)

        Returns
        -------
        ndarray of shape (n, n_clusters_)
            Rows sum to 1; the highest chance is that of :meth:`predict`.

        Examples
        --------
        >>> import numpy as np
        >>> from nearkin import Clusters, Euclidean, Pairs
        >>> X = np.repeat([[0.0], [9.0]], 20, axis=0) + np.random.default_rng(0).normal(
        ...     size=(40, 1)
        ... )
        >>> clusters = Clusters(2, metric=Euclidean(), families=["k-means"], random_state=0)
        >>> chance = clusters.fit(X, pairs=Pairs([(0, 1)], [(0, 39)])).predict_proba([[1.0], [8.0]])
        >>> bool(chance[0, 0] > 0.5 > chance[1, 0])
        True
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
        >>> import numpy as np
        >>> from nearkin import Clusters, Euclidean, Pairs
        >>> X = np.repeat([[0.0], [9.0]], 20, axis=0) + np.random.default_rng(0).normal(
        ...     size=(40, 1)
        ... )
        >>> clusters = Clusters(2, metric=Euclidean(), families=["k-means"], random_state=0)
        >>> clusters.fit_predict(X, pairs=Pairs([(0, 1)], [(0, 39)]))[[0, 1, 38, 39]]
        array([0, 0, 1, 1])
        """
        return np.asarray(self.fit(X, y, pairs=pairs).labels_)

    @property
    def n_features_in_(self) -> int:
        """Columns of the rows."""
        return int(self.metric_.n_features_in_)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _embed_along(metric: Any, axes: PCA, seed: int, X: Any) -> Floats:
    """Map rows by the metric, and along the axes of rows that groups were found among."""
    return np.asarray(axes.transform(embed_rows(metric, X, seed)))


def _check_bounds(given: Any) -> tuple[int, int]:
    """Check the least and the most number of groups that are given."""
    bounds = tuple(given)
    if len(bounds) != 2 or not all(isinstance(k, Integral) for k in bounds):
        raise InputError(f"n_clusters={given!r}: give a number, or the least and the most.")
    least, most = map(int, bounds)
    if not 1 <= least <= most:
        raise InputError(
            f"n_clusters={given!r}: the least must be 1 or more, and the most no less."
        )
    return least, most
