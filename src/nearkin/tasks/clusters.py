"""Clusters: groups of rows that agree with pairs, and their number."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClusterMixin, _fit_context
from sklearn.metrics import pairwise_distances_argmin
from sklearn.utils import Tags, check_random_state
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from nearkin._types import Floats, Ints
from nearkin.errors import InputError
from nearkin.learners.base import WholeState
from nearkin.messages import progress, tell
from nearkin.pairs.labels import class_numbers, renumbered
from nearkin.pairs.pairs import Pairs
from nearkin.pairs.supervision import Evidence, example_pairs
from nearkin.rows.parallel import one_thread
from nearkin.rows.validation import n_rows_of
from nearkin.tasks.grouping.affinities import affinities_of
from nearkin.tasks.grouping.agglomeration import joined_tree
from nearkin.tasks.grouping.choice import Comparison, search
from nearkin.tasks.grouping.colouring import all_differ
from nearkin.tasks.grouping.everyone import groups_of_all, mapped, medoids, scores_of_all
from nearkin.tasks.grouping.families import FAMILIES
from nearkin.tasks.grouping.folds import folds_of
from nearkin.tasks.grouping.grouped import AGREEMENT, Grouping, Groupings
from nearkin.tasks.grouping.kept_pairs import Blocks, PairsError, blocks_of, kept
from nearkin.tasks.grouping.known import known_pairs
from nearkin.tasks.grouping.metrics import learned_metric, share_of_same
from nearkin.tasks.grouping.placing import costs_of, sharpness_of
from nearkin.tasks.grouping.report import report_of, unchosen
from nearkin.tasks.grouping.sampling import Sample, Sampling
from nearkin.tasks.grouping.soft_pairs import broken_by

LINKAGE = "linkage"
# Families that take part if nothing else is said.
USUAL_FAMILIES = ("k-means", "ward", "spectral", LINKAGE, AGREEMENT)
# Rows that families are tried on, and rows that groups are found among in the end, at most; others
# are placed by these.
_MOST_ROWS = 1200
_MOST_GROUPED = 4000
# Rows that a group has in the mean, at least, where their number is to be found.
_LEAST_ROWS = 3
# Groups that rows are placed in by scores; of more, rows are joined by linkage.
_MOST_BY_SCORES = 500
# Pairs of either kind that labels are judged by.
_MOST_EXAMPLES = 500


class Clusters(WholeState, ClusterMixin, BaseEstimator):
    """Cluster rows in agreement with known pairs, and find the number of clusters.

    A metric is learned from the pairs. In its coordinates several families of groupings are tried
    with several numbers of groups; pairs that were held out of the metric and of the groups tell
    which is best, together with how stable each is. In every grouping rows are then placed by the
    groups of rows in pairs, and pairs are kept. In the end, groups are what the best candidate
    finds most often, whichever pairs are held out.

    Parameters
    ----------
    n_clusters : int, (int, int) or None, default=None
        How many groups; the least and the most; or None, then it is found out.
    metric : learner, optional
        :class:`nearkin.MetricLearner` by default. A copy is learned; a metric that is learned
        already is taken as it is inside scikit-learn's ``FrozenEstimator``: its pairs should be
        others than those given here, or candidates look better than they are.
    families : sequence of str, optional
        Which of ``"k-means"``, ``"ward"``, ``"spectral"``, ``"linkage"`` (the average),
        ``"complete linkage"``, ``"hdbscan"``, ``"mixture"`` and ``"agreement"``, which is what the
        others agree on. The first four and the last by default.
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
    outliers_ : bool ndarray of shape (n,)
        Rows that HDBSCAN, if it was chosen, calls outliers. They have the group that they fit best.
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
    :mod:`nearkin.tasks.grouping.held_out`.

    Examples
    --------
    >>> from nearkin import Clusters, Pairs
    >>> from nearkin.datasets import make_three_normal
    >>> X, y = make_three_normal(300, random_state=0)
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
        n = n_rows_of(X)
        known = known_pairs(n, y, pairs)
        strength = self.strength if self.keep == "soft" else None
        blocks = blocks_of(known, n, strict=strength is None)
        least, most = self._bounds(blocks, n, strength)
        families = self._checked_families()
        self.metric_ = learned_metric(self.metric, X, y, pairs, seed)
        bounds = (1, None) if self.n_clusters is None else (least, most)
        sampling = Sampling(self.metric_, X, known, families, seed, strength, bounds)
        with one_thread():  # many small pieces of work
            some = sampling.sample(_MOST_ROWS, rng)
            comparison = None
            if some.differ and most > 1 and least <= _MOST_BY_SCORES:
                comparison = self._comparison(some, y, rng)
            best = None if comparison is None else search(comparison, least, most, self._shown)
            if comparison is None or best is None:
                grouping, self.report_ = some.groupings.alone(), unchosen(least)
            else:
                given = self.n_clusters is not None and least == most
                self.report_ = report_of(comparison, best, given, rng)
                if len(some.numbers) == n:
                    grouping = comparison.agreed(best)
                else:  # with the choice made, there is time for more rows
                    some = sampling.sample(_MOST_GROUPED, rng)
                    grouping = some.groupings.found(*best.key) or some.groupings.alone()
        whole = some.groupings
        Z = whole.there.Z if len(some.numbers) == n else mapped(whole, self.metric_, X, n)
        self.tree_ = None
        if least > _MOST_BY_SCORES or families == (LINKAGE,):
            self.tree_ = joined_tree(Z, affinities_of(Z), blocks)
        number = max(least, grouping.n_groups)
        if self.tree_ is not None and (self.tree_.fewest <= number or least > _MOST_BY_SCORES):
            labels = self.tree_.cut(number)
        else:  # of a tree, where it ends with more
            labels = groups_of_all(whole, grouping, Z, some.numbers, known, blocks)
        self._keep(whole, Z, some.numbers, labels, grouping, known)
        if self.verbose:
            tell(f"{self.report_}\n")
        return self

    def _comparison(self, some: Sample, y: Any, rng: np.random.RandomState) -> Comparison:
        """Candidates, and pairs to judge them by that neither metric nor groups are told of."""
        whole = some.groupings
        classes = None if y is None else renumbered(class_numbers(y)[some.numbers])
        examples = example_pairs(Evidence(some.told, classes), rng, most=_MOST_EXAMPLES)
        folds = folds_of(whole, examples, self.metric_, self.metric, some.X, some.Z, rng)
        share = share_of_same(self.metric_, some.Z, whole.seed)
        return Comparison(whole, folds, whole.families, share)

    def _keep(
        self,
        whole: Groupings,
        Z: Floats,
        some: Ints,
        labels: Ints,
        grouping: Grouping,
        known: Pairs,
    ) -> None:
        """What is known of the groups, and what new rows are placed by."""
        k = int(labels.max(initial=-1)) + 1
        self.labels_ = labels
        self.n_clusters_ = k
        self.report_ = replace(self.report_, n_clusters=k)
        self.medoids_ = medoids(Z, labels)
        self.outliers_ = np.zeros(len(labels), dtype=bool)
        self.outliers_[some] = grouping.outliers
        self._space = whole.space
        self._medoids = Z[self.medoids_]
        self._placed = None
        costs = None
        if 1 < k <= _MOST_BY_SCORES:
            placed = whole.placing.place(labels[some], k)
            self._placed = placed.coefficients
            self._sharpness = sharpness_of(placed.scores, labels[some])
            if whole.strength is not None:
                costs = costs_of(scores_of_all(whole, placed, Z, some))
        self.broken_ = broken_by(costs, known, labels)

    def _bounds(self, blocks: Blocks, n: int, strength: float | None) -> tuple[int, int]:
        """Least and most number of groups; an error if pairs do not allow them."""
        given = self.n_clusters
        if given is None:
            least, most = min(2, n), max(min(2, n), n // _LEAST_ROWS)
        elif isinstance(given, Integral):
            least = most = int(given)
        else:
            least, most = checked_bounds(given)
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
            kept(np.zeros((n, 1)), blocks, most_groups=most)  # or an error that says why not
        needed = len(all_differ(blocks.apart, blocks.count))
        least = min(max(least, needed), blocks.count)
        return least, min(max(most, least), blocks.count)

    def _checked_families(self) -> tuple[str, ...]:
        if self.families is None:
            return USUAL_FAMILIES
        names = [self.families] if isinstance(self.families, str) else list(self.families)
        unknown = [name for name in names if name not in (*FAMILIES, AGREEMENT)]
        if unknown or not names:
            raise InputError(
                f"families={self.families!r}: use some of {', '.join((*FAMILIES, AGREEMENT))}."
            )
        return tuple(names)

    def _shown(self, numbers: Sequence[int]) -> Iterable[int]:
        return progress(numbers, "comparing groups", shown=self.verbose)

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
        Z = self._space.coordinates(self.metric_, X)
        if self._placed is not None:
            return np.asarray(self._space.scores(Z, self._placed).argmax(axis=1))
        return np.asarray(pairwise_distances_argmin(Z, self._medoids))

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
        Z = self._space.coordinates(self.metric_, X)
        if self._placed is not None:
            scores = self._space.scores(Z, self._placed)
            return np.asarray(softmax(self._sharpness * scores, axis=1))
        nearest = pairwise_distances_argmin(Z, self._medoids)
        return np.asarray(np.eye(self.n_clusters_)[nearest])

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


def checked_bounds(given: Any) -> tuple[int, int]:
    """The least and the most number of groups, of what was given."""
    bounds = tuple(given)
    if len(bounds) != 2 or not all(isinstance(k, Integral) for k in bounds):
        raise InputError(f"n_clusters={given!r}: give a number, or the least and the most.")
    least, most = map(int, bounds)
    if not 1 <= least <= most:
        raise InputError(
            f"n_clusters={given!r}: the least must be 1 or more, and the most no less."
        )
    return least, most
