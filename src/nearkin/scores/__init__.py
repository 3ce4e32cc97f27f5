"""How good a metric is: class separability, clustering agreement, and ranking of pairs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import pair_confusion_matrix, roc_auc_score
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils import check_consistent_length

from nearkin._types import Floats, Integers, Ints
from nearkin.errors import InputError
from nearkin.pairs.labels import number_classes
from nearkin.pairs.pairs import Pairs
from nearkin.pairs.supervision import check_roles
from nearkin.rows import access, backends, device_math, validation
from nearkin.rows.distances import centre, linked_distances, middle
from nearkin.rows.parallel import rows_per_block, run_in_blocks

__all__ = [
    "balanced_rand",
    "neighbor_precision",
    "pair_auc",
    "retrieval_recall",
    "separability",
    "triplets_kept",
]


# Shares of a distance by which rounding may change it, and of most others that are nothing at all.
_ROUNDING, _NOTHING = 1e-10, 1e-14


def separability(Z: Any, y: Any, *, distance: Callable[[Any, Any], Any] | None = None) -> float:
    r"""Mean distance between classes over mean distance within classes.

    .. math:: J = \bar d_b / \bar d_w

    Parameters
    ----------
    Z : array of shape (n, q)
        An embedding, or any rows that ``distance`` takes.
    y : array of shape (n,)
        Class labels; rows with an unknown (negative) label are left out.
    distance : callable, optional
        ``distance(A, B)`` gives the matrix of distances; Euclidean by default.

    Returns
    -------
    float
        1 means that classes do not show in the distances. Infinite if classes are single points
        but differ; 1 if all points are equal.

    Notes
    -----
    O(n²) time; O(n) memory, since distances are summed up by blocks. Larger is not always better:
    a collapse to one dimension raises J too, so look at a task beside it.

    A row is no pair with itself. Where it counts as one, as in papers whose sum runs over all pairs
    of one class, J is larger by the factor :math:`\sum_c n_c^2 / \sum_c n_c (n_c - 1)`.

    Examples
    --------
    >>> from nearkin.scores import separability
    >>> separability([[0.0], [1.0], [4.0], [5.0]], [0, 0, 1, 1])
    4.0
    """
    Z = validation.check_input(Z, "Z", accept_sparse="csr")
    classes = number_classes(y)
    check_consistent_length(Z, classes)
    order = np.argsort(classes, kind="stable")
    order = order[classes[order] >= 0]
    Z, classes = access.take(Z, order), classes[order]
    starts = np.flatnonzero(np.diff(classes, prepend=-1))
    counts = np.diff(np.r_[starts, len(classes)])
    if len(counts) < 2 or counts.max() < 2:
        raise InputError(
            "separability compares distances within and between classes: it needs at least two "
            f"classes and a class with two points, got {len(counts)} classes of at most "
            f"{counts.max(initial=0)} points."
        )
    if backends.is_foreign(Z):
        sum_within, sum_between = _sum_on_device(Z, starts, counts, distance)
        return _divide_means(sum_within, sum_between, counts)
    if distance is None:
        distance = _accurate_euclidean
        Z = centre(Z, middle(Z))
    number = np.repeat(np.arange(len(counts)), counts)
    size = rows_per_block(8 * len(number))
    sums = np.zeros((-(-len(number) // size), 2))

    def sum_block(rows: slice) -> None:
        by_class = np.add.reduceat(distance(Z[rows], Z), starts, axis=1, dtype=np.float64)
        within = by_class[np.arange(len(by_class)), number[rows]].sum()
        sums[rows.start // size] = within, by_class.sum() - within

    run_in_blocks(sum_block, len(number), size)
    sum_within, sum_between = sums.sum(axis=0)
    return _divide_means(sum_within, sum_between, counts)


def _divide_means(sum_within: float, sum_between: float, counts: Integers) -> float:
    """Mean distance between classes over that within; the sums are over ordered pairs."""
    mean_within = sum_within / float((counts * (counts - 1)).sum())
    mean_between = sum_between / float(counts.sum() ** 2 - (counts**2).sum())
    if mean_within == 0:
        return 1.0 if mean_between == 0 else float("inf")
    return float(mean_between / mean_within)


def _sum_on_device(
    Z: Any, starts: Integers, counts: Integers, distance: Callable[[Any, Any], Any] | None
) -> tuple[float, float]:
    """Sums of the distances within classes and between them, for rows sorted by class.

    ``starts`` and ``counts`` are the first row of each class and how many it has.
    """
    xp = backends.namespace(Z)
    within, total = 0.0, 0.0
    ends = starts + counts
    if distance is None:
        Z = backends.widen(Z)
        distance = device_math.exact_distances
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        members = Z[start:end, :]
        for rows in access.split_by_memory(members, 16 * Z.shape[0]):
            distances = backends.widen(distance(members[rows, :], Z))
            within += float(xp.sum(distances[:, start:end]))
            total += float(xp.sum(distances))
    return within, total - within


def _accurate_euclidean(A: Any, B: Any) -> Any:
    """Euclidean distances; in float64 through a product, which is exact enough for means."""
    if isinstance(A, np.ndarray):
        A, B = A.astype(np.float64, copy=False), B.astype(np.float64, copy=False)
    return euclidean_distances(A, B)


def balanced_rand(labels_true: ArrayLike, labels_pred: ArrayLike) -> float:
    """Rand index with same-class and different-class pairs weighing one half each.

    The plain Rand index of a clustering is dominated by pairs of different classes, of which
    there are many more.

    Parameters
    ----------
    labels_true, labels_pred : array of shape (n,)
        Rows whose true label is unknown (negative) are left out.

    Returns
    -------
    float
        1 for equal partitions, about 0.5 for random ones and for a single cluster. Where the true
        labels have pairs of one kind only, the share of these that the clustering gets right.

    Examples
    --------
    >>> from nearkin.scores import balanced_rand
    >>> balanced_rand([0, 0, 1, 1], [1, 1, 0, 0])
    1.0
    >>> balanced_rand([0, 0, 1, 1], [0, 0, 0, 0])
    0.5
    """
    check_consistent_length(labels_true, labels_pred)
    classes = number_classes(labels_true)
    known = classes >= 0
    if known.sum() < 2:
        raise InputError(
            "balanced_rand compares pairs of points: it needs at least two points whose true "
            "labels are known."
        )
    # rows: different / same class; columns: separated / together
    confusion = pair_confusion_matrix(classes[known], np.asarray(labels_pred)[known])
    of_each = confusion.sum(axis=1).astype(np.float64)
    return float(np.mean(np.diag(confusion)[of_each > 0] / of_each[of_each > 0]))


def pair_auc(
    Z: Any,
    y: Any = None,
    *,
    pairs: Pairs | None = None,
    max_pairs: int = 1_000_000,
    random_state: Any = 0,
) -> float:
    """Area under the ROC curve of telling same from different by distance.

    The probability that a pair of the same kind is closer than a pair of different kinds.

    Parameters
    ----------
    Z : array or sparse matrix of shape (n, q)
        An embedding: Euclidean distances between rows are the distances to judge.
    y : array of shape (n,), optional
        Labels; every pair of labelled rows is judged, or a sample of ``max_pairs`` where there
        are more.
    pairs : Pairs, optional
        Pairs to judge, with their weights, instead of or beside the labels.
    max_pairs : int, default=1_000_000
    random_state : int, RandomState or None, default=0
        Draws that sample.

    Returns
    -------
    float

    Examples
    --------
    >>> from nearkin.scores import pair_auc
    >>> pair_auc([[0.0], [1.0], [4.0], [5.0]], [0, 0, 1, 1])
    1.0
    """
    check_roles(y, pairs)
    Z = validation.check_input(Z, "Z", accept_sparse="csr")
    if y is None and pairs is None:
        raise InputError("pair_auc needs labels y or pairs.")
    judged = Pairs() if pairs is None else pairs
    judged.check_rows(Z.shape[0])
    if y is not None:
        classes = number_classes(y)
        if len(classes) != Z.shape[0]:
            check_consistent_length(Z, classes)
        counts = np.bincount(classes[classes >= 0]).astype(np.int64)
        n_possible = int(counts.sum() * (counts.sum() - 1) // 2)
        n_pairs = None if n_possible <= max_pairs else max_pairs
        if n_possible > 0:
            judged = judged + Pairs.from_labels(classes, n_pairs, random_state=random_state)
    if not len(judged.must_link) or not len(judged.cannot_link):
        raise InputError(
            "pair_auc ranks same pairs against different pairs and needs both, got "
            f"{len(judged.must_link)} must-links and {len(judged.cannot_link)} cannot-links."
        )
    same = np.repeat([True, False], [len(judged.must_link), len(judged.cannot_link)])
    links = np.concatenate([judged.must_link, judged.cannot_link])
    weight = np.concatenate([judged.must_weight, judged.cannot_weight])
    distances = _merge_rounded(backends.to_numpy(linked_distances(Z, links)))
    return min(float(roc_auc_score(same, -distances, sample_weight=weight)), 1.0)  # rounding


def triplets_kept(Z: Any, pairs: Pairs) -> float:
    """Share of the triplets (a, b, c) for which a is nearer to b than to c.

    Parameters
    ----------
    Z : array or sparse matrix of shape (n, q)
        An embedding: Euclidean distances between rows are the distances to judge.
    pairs : Pairs
        With triplets (``closer``), which count by their weights. Its pairs are not looked at.

    Returns
    -------
    float
        Between 0 and 1; one half is chance. A triplet of equal distances counts one half.

    Examples
    --------
    >>> from nearkin import Pairs
    >>> from nearkin.scores import triplets_kept
    >>> triplets_kept([[0.0], [1.0], [4.0]], Pairs(closer=[(0, 1, 2), (1, 2, 0)]))
    0.5
    """
    check_roles(None, pairs, triplets=True)
    Z = validation.check_input(Z, "Z", accept_sparse="csr")
    if not len(pairs.closer):
        raise InputError("triplets_kept needs triplets: Pairs(closer=[(a, b, c), ...]).")
    pairs.check_rows(Z.shape[0])
    links = np.concatenate([pairs.closer[:, [0, 1]], pairs.closer[:, [0, 2]]])
    distances = _merge_rounded(backends.to_numpy(linked_distances(Z, links)))
    near, far = np.split(distances, 2)
    kept = (np.sign(far - near) + 1) / 2
    return float(np.average(kept, weights=pairs.closer_weight))


def score_order(Z: Any, y: Any = None, *, pairs: Pairs | None = None) -> float:
    """The pair AUC, or the share of triplets kept; where there are both, their mean.

    The mean is by the weights of pairs and triplets; a label counts as one pair. Both numbers are
    the probability that of two distances the right one is the smaller. Without labels, pairs of one
    kind alone beside triplets are not judged: there is nothing to rank them against.
    """
    if pairs is None or not len(pairs.closer):
        return pair_auc(Z, y, pairs=pairs)
    kept = triplets_kept(Z, pairs)
    alone = pairs.without(pairs.closer)
    if y is None and not (len(alone.must_link) and len(alone.cannot_link)):
        return kept
    n_labels = 0 if y is None else int((number_classes(y) >= 0).sum())
    of_pairs = n_labels + alone.must_weight.sum() + alone.cannot_weight.sum()
    of_each = [pair_auc(Z, y, pairs=alone), kept]
    return float(np.average(of_each, weights=[of_pairs, pairs.closer_weight.sum()]))


def _merge_rounded(distances: Floats) -> Floats:
    """Return distances with those that differ by rounding alone made equal, as ties."""
    order = np.argsort(distances)
    ordered = distances[order]
    if not np.isfinite(ordered[-1]):
        return distances
    rounding = _ROUNDING * ordered + _NOTHING * ordered[3 * len(ordered) // 4]
    first = np.diff(ordered, prepend=-np.inf) > rounding
    found = np.empty_like(distances)
    found[order] = ordered[first][np.cumsum(first) - 1]
    return found


def neighbor_precision(Z: ArrayLike, y: ArrayLike, n_neighbors: int = 10) -> float:
    """Share of rows of the same class among the nearest, in the mean over rows.

    Parameters
    ----------
    Z : array of shape (n, q)
        An embedding.
    y : array of shape (n,)
        Class labels; rows with an unknown (negative) label are left out.
    n_neighbors : int, default=10
        Nearest rows to look at, of each row but itself.

    Returns
    -------
    float
        NaN where fewer than two rows have a label.

    Examples
    --------
    >>> from nearkin.scores import neighbor_precision
    >>> neighbor_precision([[0.0], [1.0], [4.0], [5.0]], [0, 0, 1, 1], n_neighbors=1)
    1.0
    """
    classes = number_classes(y)
    Z = np.asarray(Z)
    check_consistent_length(Z, classes)
    known = classes >= 0
    Z, classes = Z[known], classes[known]
    if len(Z) < 2:
        return float("nan")
    return float((classes[nearest_rows(Z, n_neighbors)] == classes[:, None]).mean())


def nearest_rows(Z: Floats, n_neighbors: int) -> Ints:
    """Numbers of each row's nearest others, in no order, all if fewer; O(n² q) time, in blocks."""
    n, k = len(Z), min(n_neighbors, len(Z) - 1)
    out = np.empty((n, k), dtype=np.int64)
    Z = centre(Z, middle(Z))

    def work(rows: slice) -> None:
        squared = euclidean_distances(Z[rows], Z, squared=True)
        numbers = np.arange(rows.start, rows.stop)
        squared[numbers - rows.start, numbers] = np.inf
        out[rows] = np.argpartition(squared, k - 1, axis=1)[:, :k]

    run_in_blocks(work, n, rows_per_block(8 * n))
    return out


def retrieval_recall(distances: ArrayLike, relevant: ArrayLike, n_retrieved: int) -> float:
    """Share of the relevant rows that are among the nearest ones, averaged over queries.

    Parameters
    ----------
    distances : array of shape (n_queries, n)
        From each query to each row; infinite for rows that are not to be retrieved, such as the
        query itself.
    relevant : bool array of shape (n_queries, n)
    n_retrieved : int
        How many of the nearest rows are looked at.

    Returns
    -------
    float
        Between 0 and 1. Queries with nothing relevant do not count.

    Examples
    --------
    >>> from nearkin.scores import retrieval_recall
    >>> retrieval_recall([[0.1, 0.2, 0.3]], [[True, False, True]], n_retrieved=2)
    0.5
    """
    D, wanted = np.asarray(distances, dtype=np.float64), np.asarray(relevant, dtype=bool)
    if D.ndim != 2 or D.shape != wanted.shape:
        raise InputError(
            f"distances and relevant must be two matrices of the same shape, got {D.shape} and "
            f"{wanted.shape}."
        )
    if n_retrieved < 1:
        raise InputError(f"n_retrieved must be at least 1, got {n_retrieved}.")
    wanted = wanted & (np.inf > D)
    there = wanted.sum(axis=1)
    if not there.any():
        raise InputError("no query has a relevant row.")
    nearest = np.argsort(D, axis=1, kind="stable")[:, :n_retrieved]
    found = np.take_along_axis(wanted, nearest, axis=1).sum(axis=1)
    return float(np.mean(found[there > 0] / there[there > 0]))


def __dir__() -> list[str]:
    return __all__
