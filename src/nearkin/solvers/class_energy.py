r"""Energy-based classification: the label under which a point fits in best.

A point x that is given label c joins the rows of that class. With squared distances d², μ the
share of pushing and m the margin, that costs (Weinberger and Saul 2009)

.. math::

    E_c(x) = (1 - \mu) \sum_{j \to x} d_{xj}^2
    + \mu \sum_{j \to x} \sum_{l \notin c} [m + d_{xj}^2 - d_{xl}^2]_+
    + \mu \sum_{i \notin c} \sum_{j \to i} [m + d_{ij}^2 - d_{xi}^2]_+ ,

where :math:`j \to x` are the k rows of class c nearest to x: they should be near, rows of other
classes should not come as near, and x should not come as near to such rows as their own k nearest
of their class. Sums over fewer than k rows, in small classes, are scaled to k.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from nearkin._types import Floats, Integers
from nearkin.rows import access, backends, device_math
from nearkin.rows.distances import squared_rowwise_distances
from nearkin.solvers.energy_sums import Members, Sums, sums_of
from nearkin.solvers.impostors import nearest_alike

# Multiples of the typical gap between classes that are tried as margins, in order of preference.
FACTORS = (0.1, 0.2, 0.5, 1.0, 2.0, 4.0, 8.0, 0.0)
# Training rows, at most, by which the margin is chosen.
_MOST_JUDGED = 5000


def gather_members(Z: Any, number: Integers, n_neighbors: int) -> tuple[Members, Integers]:
    """Rows sorted by class, and their order: row r of the result is row ``order[r]`` of Z."""
    order = np.argsort(number, kind="stable")
    Z, number = backends.wide(access.take(Z, order)), number[order]
    starts = np.concatenate([[0], np.cumsum(np.bincount(number))])
    found = _nearest_alike(Z, number, starts, n_neighbors + 1)
    return Members(Z, starts, *found), order


def _nearest_alike(Z: Any, number: Integers, starts: Integers, k: int) -> tuple[Any, Any]:
    """Nearest other rows of the same class, then −1, and their squared distances, then ∞."""
    if not backends.is_foreign(Z):
        nearest = nearest_alike(Z, number, k)
        squared = np.full(nearest.shape, np.inf)
        for place, rows in enumerate(nearest.T):
            known = np.flatnonzero(rows >= 0)
            squared[known, place] = squared_rowwise_distances(Z, Z, known, rows[known])
        return nearest, squared
    xp, shape = backends.namespace(Z), (Z.shape[0], k)
    there: Any = xp.full(shape, -1, dtype=xp.int64, device=Z.device)
    apart: Any = xp.full(shape, xp.inf, dtype=Z.dtype, device=Z.device)
    for start, stop in pairwise(starts.tolist()):
        few = min(k, stop - start - 1)
        if few > 0:
            own = Z[start:stop, :]
            near, place = device_math.nearest_rows(own, own, few, skip_self=True)
            apart[start:stop, :few] = near
            there[start:stop, :few] = place + start
    return there, apart


def class_distances(Z: Any, members: Members, left_out: Integers | None = None) -> Any:
    """Squared distances to the nearest rows of each class.

    Parameters
    ----------
    Z : array of shape (n_points, q)
    members : Members
    left_out : int ndarray of shape (n_points,), optional
        A row that does not count, for each point: the point itself.

    Returns
    -------
    array of shape (n_points, n_classes, k)
        Nearest first, then ∞ where a class has fewer.
    """
    shape = (Z.shape[0], members.n_classes, members.n_neighbors)

    def found(sums: Sums) -> Any:
        out = backends.empty(shape, members.Z)

        def work(rows: slice) -> None:
            absent = None if left_out is None else left_out[rows]
            out[rows, ...] = sums.nearest(Z[rows, :], absent)

        sums.for_each_block(work, Z)
        return out

    return sums_of(Z, members, found)


def energies(
    Z: Any, members: Members, margins: Floats, push: float, left_out: Integers | None = None
) -> Any:
    """Energy of each point under each label, for one or several margins.

    Parameters
    ----------
    Z : array of shape (n_points, q)
    members : Members
    margins : ndarray of shape (n_margins,)
        Squared distances.
    push : float
        μ.
    left_out : int ndarray of shape (n_points,), optional
        A row that does not count, for each point: the point itself.

    Returns
    -------
    array of shape (n_margins, n_points, n_classes)
        ∞ where a class has no row.

    Notes
    -----
    O(n (q + log(C k))) time for each point and margin, with n training rows and C classes, for
    all sums over rows at once. Memory: some tens of megabytes for each core.
    """
    margins = np.asarray(margins, dtype=np.float64)

    def found(sums: Sums) -> Any:
        out = backends.empty((len(margins), Z.shape[0], members.n_classes), members.Z)

        def work(rows: slice) -> None:
            absent = None if left_out is None else left_out[rows]
            out[:, rows, :] = _energies(*sums.hinges(Z[rows, :], absent, margins), push)

        sums.for_each_block(work, Z)
        return out

    return sums_of(Z, members, found)


def _energies(own: Any, pushed: Any, intrusions: Any, push: float) -> Any:
    """Energies (n_margins, n_points, n_classes) from the sums that they are made of."""
    xp, k = backends.namespace(own), own.shape[2]
    n_own: Any = 0.0
    pulled: Any = 0.0
    for t in range(k):
        there = xp.isfinite(own[:, :, t])
        n_own = n_own + backends.as_type(there, own.dtype)
        pulled = pulled + xp.where(there, own[:, :, t], 0.0)
    scale = k / device_math.clipped(n_own, 1.0)
    everywhere: Any = 0.0
    for c in range(own.shape[1]):
        everywhere = everywhere + intrusions[:, :, c]
    energy = (1.0 - push) * scale * pulled + push * scale * pushed
    energy = energy + push * (everywhere[:, :, None] - intrusions)
    return xp.where(n_own > 0, energy, xp.inf)


def choose_margin(
    members: Members, push: float, rng: np.random.RandomState
) -> tuple[float, Floats]:
    r"""The margin with the fewest errors on training rows, each left out in turn.

    With :math:`\gamma` the median over rows of the squared distance to the nearest row of another
    class, less that to the nearest of the same, candidates are βγ for the β in ``FACTORS``. Of
    equally good ones the first is taken. Where classes are so mixed that the median is negative,
    γ is the median of the absolute differences.

    Returns
    -------
    margin : float
    errors : ndarray of shape (len(FACTORS),)
        Share of rows that each candidate gets wrong.
    """
    n = members.Z.shape[0]
    judged: Integers = np.arange(n)
    if n > _MOST_JUDGED:
        judged = np.sort(rng.choice(n, _MOST_JUDGED, replace=False))
    number = members.number[judged]
    judged, number = _with_company(judged, number, members)
    if len(judged) == 0:  # one row in every class
        return 0.0, np.zeros(len(FACTORS))
    Z = access.take(members.Z, judged)
    nearest = backends.to_numpy(class_distances(Z, members, judged)[:, :, 0])
    rows = np.arange(len(judged))
    same = nearest[rows, number]
    nearest = device_math.left_out(nearest, number)
    gaps = nearest.min(axis=1) - same
    gap = float(np.median(gaps))
    if gap <= 0:
        gap = float(np.median(np.abs(gaps)))
    margins = gap * np.array(FACTORS)
    found = backends.to_numpy(energies(Z, members, margins, push, judged)).argmin(axis=2)
    errors = (found != number).mean(axis=1)
    return float(margins[errors.argmin()]), errors


def _with_company(
    judged: Integers, number: Integers, members: Members
) -> tuple[Integers, Integers]:
    """Without the only rows of their classes, which nothing could get right."""
    kept = np.diff(members.starts)[number] > 1
    return judged[kept], number[kept]
