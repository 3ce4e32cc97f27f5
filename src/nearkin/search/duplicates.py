"""Which rows are the same thing: the radius that pairs allow, and groups within it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import digamma

from nearkin._types import Floats, Ints
from nearkin.rows.distances import centre, middle, rowwise_distances, squared_lengths
from nearkin.rows.parallel import split_range
from nearkin.rows.sparse import is_sparse, variances
from nearkin.spaces.neighbors import number_by_first_row

# Neighbours of a row that are looked at; the farther half of them are taken to be no copies. Chosen
# by hand: groups of more than ten copies of one thing are rare.
MOST_NEIGHBORS = 20
# With fewer rows for each of the neighbours than four, density is not even among them; fewer than
# ten neighbours do not tell how it grows. Both chosen by hand.
_ROWS_PER_NEIGHBOR, _LEAST_NEIGHBORS = 4, 10
# Pairs by chance are counted so many times: the power law can be as much too low. Chosen by hand.
_CAUTION = 2.0
# A row's neighbours can grow this many times as slowly with the distance as those of most rows.
# Chosen by hand.
_MOST_UNEVEN = 3.0
# Pairs that the distances of all pairs are judged by: a quantile of 1e-4 then has an error of 10 %.
_SAMPLE = 1_000_000
# Rows of a group that nobody wonders about, even where there are few in all. Chosen by hand.
_MOST_PLAUSIBLE = 5
# Rows are identical up to rounding if they are no farther apart, as a share of their length: some
# times the rounding of float32.
_IDENTICAL = 1e-6
# Numbers in a block of differences between means: 8 MB.
_BLOCK_SIZE = 2**20
# Rounding of means and of their squared distances, as a share of squared lengths.
_ROUNDING = 64 * np.finfo(np.float64).eps


class NearPairs(NamedTuple):
    """Numbers of pairs within each of several radii.

    Attributes
    ----------
    radii : ndarray
        Ascending.
    found : ndarray
        Pairs that there are.
    by_chance : ndarray
        Pairs that would be there without copies, counted cautiously.
    """

    radii: Floats
    found: Floats
    by_chance: Floats


def n_judged_neighbors(n_rows: int) -> int:
    """Number of neighbours of each row to judge duplicates by; 0 if there are too few rows."""
    k = min(MOST_NEIGHBORS, n_rows // _ROWS_PER_NEIGHBOR)
    return k if k >= _LEAST_NEIGHBORS else 0


def count_near_pairs(distances: Floats) -> NearPairs:
    """Count near pairs, and those that would be near by chance.

    Parameters
    ----------
    distances : ndarray of shape (n, k)
        Of each row's k nearest others, ascending.

    Notes
    -----
    O(n k log n) time and O(n k) memory.
    """
    k = distances.shape[1]
    middle = k // 2
    last = distances[:, -1].astype(np.float64)
    apart = last > 0  # other rows are all copies, as far as one sees
    radii = np.unique(distances[:, 0]).astype(np.float64)
    found = np.searchsorted(np.sort(distances, axis=None), radii, side="right") / 2
    if not apart.any():
        return NearPairs(radii, found, np.zeros(len(radii)))
    with np.errstate(divide="ignore"):
        growth = np.log(last[apart] / distances[apart, middle - 1])
        logs = np.log(radii)
    usual = np.median(growth)
    growth = np.minimum(growth, _MOST_UNEVEN * usual if np.isfinite(usual) else np.inf)
    # The mean of log(d_k / d_j) is (ψ(k) − ψ(j)) / m where density is even.
    mean = growth.mean()
    if not (np.isfinite(mean) and mean > 0):
        return NearPairs(radii, found, np.where(radii > 0, np.inf, 0.0))
    m = float(digamma(k) - digamma(middle)) / mean
    log_last = np.sort(np.log(last[apart]))
    # Sums of d_k^-m over rows whose k-th is farther than a radius; those nearer have k within it.
    sums = np.append(np.logaddexp.accumulate(-m * log_last[::-1])[::-1], -np.inf)
    n_nearer = np.searchsorted(log_last, logs)
    by_chance = k / 2 * (n_nearer + np.exp(m * logs + sums[n_nearer]))
    return NearPairs(radii, found, _CAUTION * by_chance)


def duplicate_radius(pairs: NearPairs, precision: float | None = None) -> float:
    """Choose the radius within which copies are found best.

    Parameters
    ----------
    pairs : NearPairs
    precision : float in (0, 1), optional
        The largest radius within which at least this share of the pairs are copies. By default
        the one with the most copies less other pairs: at its edge, either is as likely.

    Returns
    -------
    float
        0 if no two rows are copies, unless they are identical.
    """
    if precision is None:
        gain = pairs.found - 2 * pairs.by_chance
        best = int(np.argmax(gain))
        return float(pairs.radii[best]) if gain[best] > 0 else 0.0
    good = np.flatnonzero(pairs.by_chance <= (1 - precision) * pairs.found)
    return float(pairs.radii[good[-1]]) if len(good) else 0.0


def radius_of_share(
    Z: Any, distances: Floats, rows: Ints, share: float, rng: np.random.RandomState
) -> float:
    """Radius within which a share of all pairs of rows lie, the nearest; 0 if that is none.

    Parameters
    ----------
    Z : ndarray of shape (n, q)
    distances, rows : ndarray of shape (n, k)
        Each row's k nearest others.
    share : float
    rng : RandomState
        Draws a million pairs, if the share has more pairs than neighbours can tell.
    """
    n, k = rows.shape
    wanted = round(share * n * (n - 1) / 2)
    if wanted < 1:
        return 0.0
    ends = np.sort(np.column_stack([np.repeat(np.arange(n), k), rows.ravel()]), axis=1)
    _, once = np.unique(ends[:, 0] * n + ends[:, 1], return_index=True)
    if wanted <= max(len(once) // 4, 1) or k == n - 1:
        return float(np.partition(distances.ravel()[once], wanted - 1)[wanted - 1])
    drawn = rng.randint(n, size=(_SAMPLE, 2))
    drawn = drawn[drawn[:, 0] != drawn[:, 1]]
    return float(np.quantile(rowwise_distances(Z, Z, drawn[:, 0], drawn[:, 1]), share))


def describe_doubts(
    Z: Any, labels: Ints, radius: float, *, chained: bool, same_distance: float | None
) -> str | None:
    """Say what makes groups implausible as copies of one thing, and a remedy; None if nothing does.

    Parameters
    ----------
    Z : ndarray or sparse matrix of shape (n, q)
    labels : int ndarray of shape (n,)
        Group of each row.
    radius : float
        That the groups were found with.
    chained : bool
        Whether somebody chose the radius, and whatever steps within it connect is a group.
    same_distance : float or None
        Usual distance of pairs known to be the same, where known.
    """
    sizes = np.bincount(labels)
    n_groups, largest = int((sizes > 1).sum()), int(sizes.max())
    have = f"the largest of {n_groups} groups has {largest} of {len(labels)} rows"
    largest_group = centre(Z[labels == sizes.argmax()], middle(Z, if_far=True))
    across, length = _apart_in_the_mean(largest_group)
    many = largest > min(MOST_NEIGHBORS, max(len(labels) // 2, _MOST_PLAUSIBLE))
    if chained:
        if not many or across <= radius:
            return None
        return (
            f"{have}, which are {across:.3g} apart in the mean: chains of steps up to "
            f"radius={radius:.3g} connect them. Give a smaller radius, or none, to have it found; "
            "for classes, cluster metric.transform(X)."
        )
    if same_distance is not None and same_distance > radius:
        found = have if n_groups else f"no two of {len(labels)} rows are copies"
        return (
            f"{found} (up to a distance of {radius:.3g}), but most pairs known to be the same are "
            f"more than {same_distance:.3g} apart: they seem to be classes, not copies of one "
            "thing. For classes, cluster metric.transform(X); for groups of another size, give "
            "radius= or prevalence=."
        )
    if many and across > _IDENTICAL * length:
        return (
            f"{have}, many for copies of one thing (up to a distance of {radius:.3g}). Give "
            "precision=0.99 or a smaller radius=; for classes, cluster metric.transform(X)."
        )
    return None


def _apart_in_the_mean(rows: Any) -> tuple[float, float]:
    """Root mean square distance of rows from one another, and their usual length."""
    n = rows.shape[0]
    length = squared_lengths(rows).sum() / n
    variance = variances(rows) if is_sparse(rows) else rows.var(axis=0, dtype=np.float64)
    spread = variance.sum()
    return float(np.sqrt(2 * spread * n / max(n - 1, 1))), float(np.sqrt(length))


def group_by_mean_distance(Z: Any, distances: Floats, rows: Ints, radius: float) -> Ints:
    """Number the groups of rows whose root mean square distance is no more than ``radius``.

    Two groups become one if that of their rows is, the nearest first, and if one has a row that is
    within the radius of a row of the other.

    Parameters
    ----------
    Z : ndarray or sparse matrix of shape (n, q)
    distances, rows : ndarray of shape (n, k)
        Of each row's k nearest others. Where more are within the radius, these stand for them.
    radius : float

    Returns
    -------
    int ndarray of shape (n,)
        Groups are numbered from 0, in the order of their first rows.

    Notes
    -----
    O(n k q) time for each of some ten rounds, and O(n (k + q)) memory.

    Examples
    --------
    >>> import numpy as np
    >>> from nearkin.search.duplicates import group_by_mean_distance
    >>> Z = np.array([[0.0], [1.0], [2.5], [9.0]])
    >>> group_by_mean_distance(
    ...     Z, np.array([[1.0], [1.0], [1.5], [6.5]]), np.array([[1], [0], [1], [2]]), 1.5
    ... )
    array([0, 0, 1, 2])
    """
    n, k = rows.shape
    Z = centre(Z, middle(Z, if_far=True))
    near = (distances <= radius).ravel()
    edges = np.column_stack([np.repeat(np.arange(n), k), rows.ravel()])[near]
    labels, size, spread = np.arange(n), np.ones(n), np.zeros(n)
    # A row is at the radius itself, up to rounding; so are means of identical rows.
    reach = float(squared_lengths(Z).max())
    most = (radius * (1 + 8 * np.finfo(Z.dtype).eps)) ** 2 + reach * _ROUNDING**2
    while True:
        edges = np.unique(np.sort(edges[edges[:, 0] != edges[:, 1]], axis=1), axis=0)
        between = _squared_distances(_means(Z, labels, size), edges)
        apart = between + spread[edges].sum(axis=1)
        # Groups that are too far apart stay so, whatever else joins them.
        close = apart <= most
        edges, between, apart = edges[close], between[close], apart[close]
        if not len(edges):
            return number_by_first_row(labels)
        joined = _nearest_of_each_other(edges, apart, n)
        a, b = edges[joined].T
        total = size[a] + size[b]
        spread[a] = (size[a] * spread[a] + size[b] * spread[b]) / total
        spread[a] += size[a] * size[b] / total**2 * between[joined]
        size[a] = total
        now = np.arange(n)
        now[b] = a
        labels, edges = now[labels], now[edges]


def _means(Z: Any, labels: Ints, size: Floats) -> Any:
    """Mean of the rows with each label, sparse if they are; zero where there are none."""
    n = len(labels)
    mean_of = sp.csr_array((1 / size[labels], (labels, np.arange(n))), shape=(n, n))
    return mean_of @ Z


def _nearest_of_each_other(edges: Ints, apart: Floats, n: int) -> NDArray[np.bool_]:
    """Mark edges that are the shortest at both ends; of equals, that of the lower numbers."""
    rank = np.empty(len(edges), dtype=np.int64)
    rank[np.lexsort((edges[:, 1], edges[:, 0], apart))] = np.arange(len(edges))
    first = np.full(n, len(edges))
    for end in edges.T:
        np.minimum.at(first, end, rank)
    return np.asarray((first[edges] == rank[:, None]).all(axis=1))


def _squared_distances(means: Any, edges: Ints) -> Floats:
    """Squared distances of means at the ends of edges, block by block."""
    found = np.empty(len(edges))
    for part in split_range(len(edges), max(1, _BLOCK_SIZE // means.shape[1])):
        step = means[edges[part, 0]] - means[edges[part, 1]]
        found[part] = squared_lengths(step)
    return found
