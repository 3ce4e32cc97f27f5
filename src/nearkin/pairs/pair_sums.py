r"""What labels and pairs say, as sums over pairs.

Learners never list the pairs that labels imply: with :math:`n_c` points, mean :math:`\mu_c` and
scatter :math:`s_c` of class c along a direction, the squared differences of all pairs sum to

.. math::

    \text{same class: } \sum_c n_c s_c, \qquad
    \text{different classes: } \sum_c (n - n_c) s_c + n \sum_c n_c (\mu_c - \mu)^2 .
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearkin._types import Floats
from nearkin.pairs.supervision import Evidence
from nearkin.rows import backends
from nearkin.rows.distances import class_sums


@dataclass(frozen=True)
class Spread:
    """Mean squared differences of one kind of pair along each direction.

    Attributes
    ----------
    mean : ndarray of shape (q,)
    weight : float
        How many pairs it stands for; 0 (and a mean of 0) without any of this kind.
    """

    mean: Floats
    weight: float


def measure_spread(
    evidence: Evidence,
    coordinates: Callable[[NDArray[np.integer]], Floats],
    by_labels: tuple[Spread, Spread] | None = None,
) -> tuple[Spread, Spread]:
    """Mean squared difference of must-linked and of cannot-linked points along each direction.

    Parameters
    ----------
    evidence : Evidence
    coordinates : callable
        ``coordinates(rows)`` gives an array of shape (len(rows), q) for row numbers of X.
    by_labels : (Spread, Spread), optional
        What :func:`label_spread` gave for these coordinates, if that is known.

    Returns
    -------
    must, cannot : Spread

    Notes
    -----
    Labels stand for all pairs they imply. Where pairs are given beside them, the labels together
    count as many pairs as there are labelled rows: their implied pairs grow with the square of
    that number and would drown what was said explicitly.
    """
    pairs = evidence.pairs
    at_points = backends.to_numpy(coordinates(pairs.points)).astype(np.float64)
    must = _pair_spread(at_points, pairs.points, pairs.must_link, pairs.must_weight)
    cannot = _pair_spread(at_points, pairs.points, pairs.cannot_link, pairs.cannot_weight)
    if evidence.classes is not None:
        must_labels, cannot_labels = by_labels or label_spread(
            evidence.classes, np.arange(len(evidence.classes)), coordinates
        )
        must, cannot = _pooled(must, must_labels), _pooled(cannot, cannot_labels)
    return must, cannot


def _pair_spread(
    at_points: Floats, points: NDArray[np.integer], links: NDArray[np.integer], weight: Floats
) -> Spread:
    if len(links) == 0:
        return Spread(np.zeros(at_points.shape[1]), 0.0)
    left, right = np.searchsorted(points, links.T)
    squared = (at_points[left] - at_points[right]) ** 2
    total = float(weight.sum())
    return Spread(weight @ squared / total, total)


def label_spread(
    classes: NDArray[np.integer], X: Any, coordinates: Callable[[Any], Any]
) -> tuple[Spread, Spread]:
    """Sums over all pairs that labels imply, in O(n q) time for n labelled rows.

    Parameters
    ----------
    classes : int ndarray of shape (n,)
        Negative where unknown.
    X : array, sparse matrix or RemoteRows; or row numbers
    coordinates : callable
        Gives an array of shape (k, q) for k rows of X.
    """
    known = classes >= 0
    if not known.any():
        empty = Spread(np.zeros(1), 0.0)
        return empty, empty
    counts = np.bincount(classes[known]).astype(np.float64)

    sums, squares = class_sums(X, classes, len(counts), coordinates)
    n = counts.sum()
    present = counts > 0
    counts, sums, squares = counts[present], sums[present], squares[present]
    means = sums / counts[:, None]
    scatter = np.maximum(squares - counts[:, None] * means**2, 0)
    n_same = float((counts * (counts - 1)).sum() / 2)
    n_different = float((n**2 - (counts**2).sum()) / 2)
    same = counts @ scatter
    between = counts @ (means - sums.sum(axis=0) / n) ** 2
    different = (n - counts) @ scatter + n * between
    return (
        Spread(same / max(n_same, 1.0), float(n) if n_same else 0.0),
        Spread(different / max(n_different, 1.0), float(n) if n_different else 0.0),
    )


def _pooled(a: Spread, b: Spread) -> Spread:
    weight = a.weight + b.weight
    if weight == 0:
        return a
    return Spread((a.weight * a.mean + b.weight * b.mean) / weight, weight)
