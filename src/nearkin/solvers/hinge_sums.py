"""Sums of hinges over all rows: compiled for the host, in the array standard for devices.

Both find the same sums. On the host, rows are sorted into the gaps between limits once for all
labels; on a device, where passes are cheap, each sum over rows is one.

Rows are in the order of their classes: those of class c are ``starts[c]`` to ``starts[c + 1]``.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from nearkin._types import Floats, Integers
from nearkin.rows import backends, device_math
from nearkin.rows.parallel import compiled


def nearest_by_class(squared: Any, starts: Integers, k: int) -> Any:
    """Squared distances to the nearest rows of each class.

    Parameters
    ----------
    squared : array of shape (n_points, n)
        To all rows.
    starts : int ndarray of shape (n_classes + 1,)
    k : int

    Returns
    -------
    array of shape (n_points, n_classes, k)
        Nearest first, then ∞ where a class has fewer.
    """
    xp = backends.namespace(squared)
    out = backends.empty((squared.shape[0], len(starts) - 1, k), squared)
    if xp is np:
        _nearest_by_class(squared, starts, out)
        return out
    out[...] = xp.inf
    for c, (start, stop) in enumerate(pairwise(starts.tolist())):
        few = min(k, stop - start)
        # A copy: the search overwrites what it is given.
        out[:, c, :few] = device_math.smallest(squared[:, start:stop] + 0.0, few)[0]
    return out


def impostor_hinges(squared: Any, own: Any, starts: Integers, margins: Floats) -> Any:
    """Hinges of rows of other classes, summed for each class that a point may have.

    Parameters
    ----------
    squared : array of shape (n_points, n)
    own : array of shape (n_points, n_classes, k)
        What :func:`nearest_by_class` gives.
    starts : int ndarray of shape (n_classes + 1,)
    margins : ndarray of shape (n_margins,)

    Returns
    -------
    array of shape (n_margins, n_points, n_classes)
    """
    xp = backends.namespace(squared)
    out = backends.empty((len(margins), *own.shape[:2]), squared)
    if xp is np:
        in_order = np.sort(own.reshape(len(own), -1), axis=1)
        _impostor_hinges(squared, own, in_order, starts, margins, out)
        return out
    for b, margin in enumerate(margins.tolist()):
        for c, (start, stop) in enumerate(pairwise(starts.tolist())):
            total = xp.zeros_like(squared[:, 0])
            for t in range(own.shape[2]):
                limit = xp.where(xp.isfinite(own[:, c, t]), own[:, c, t] + margin, 0.0)[:, None]
                for others in (squared[:, :start], squared[:, stop:]):
                    total = total + xp.sum(device_math.clipped(limit - others, 0.0), axis=1)
            out[b, :, c] = total
    return out


def intrusion_hinges(
    squared: Any, starts: Integers, nearest: Any, reach: Any, left_out: Any, margins: Floats
) -> Any:
    """Hinges of a point as an impostor of rows, summed for each class of these.

    Parameters
    ----------
    squared : array of shape (n_points, n)
    starts : int ndarray of shape (n_classes + 1,)
    nearest : int array of shape (n, k + 1)
        Nearest other rows of each row's class, −1 where there are none; one more than is needed, so
        that any of them can be left out.
    reach : array of shape (n, k + 1)
        Their squared distances.
    left_out : int array of shape (n_points,)
        A row that does not count, for each point; −1 for none.
    margins : ndarray of shape (n_margins,)

    Returns
    -------
    array of shape (n_margins, n_points, n_classes)
    """
    xp = backends.namespace(squared)
    out = backends.empty((len(margins), squared.shape[0], len(starts) - 1), squared)
    if xp is np:
        _intrusion_hinges(squared, starts, nearest, reach, left_out, margins, out)
        return out
    k = nearest.shape[1] - 1
    for b, margin in enumerate(margins.tolist()):
        total, n_own = xp.zeros_like(squared), xp.zeros_like(squared)
        for t in range(k + 1):
            there = nearest[:, t] >= 0
            counts = there[None, :] & (nearest[:, t][None, :] != left_out[:, None])
            # The one more that is kept takes the place of one that is left out.
            counts = counts & (n_own < k)
            limit = margin + xp.where(there, reach[:, t], 0.0)
            hinge = device_math.clipped(limit[None, :] - squared, 0.0)
            total = total + xp.where(counts, hinge, 0.0)
            n_own = n_own + xp.astype(counts, n_own.dtype)
        total = total * k / device_math.clipped(n_own, 1.0)
        for c, (start, stop) in enumerate(pairwise(starts.tolist())):
            out[b, :, c] = xp.sum(total[:, start:stop], axis=1)
    return out


@compiled()
def _nearest_by_class(squared: Any, starts: Any, out: Any) -> None:
    k = out.shape[2]
    for r in range(squared.shape[0]):
        for c in range(out.shape[1]):
            best = out[r, c]
            best[:] = np.inf
            for i in range(starts[c], starts[c + 1]):
                value = squared[r, i]
                if value < best[k - 1]:
                    place = k - 1
                    while place > 0 and best[place - 1] > value:
                        best[place] = best[place - 1]
                        place -= 1
                    best[place] = value


@compiled()
def _impostor_hinges(
    squared: Any, own: Any, in_order: Any, starts: Any, margins: Any, out: Any
) -> None:
    for r in range(squared.shape[0]):
        for b in range(margins.shape[0]):
            _impostors(squared[r], own[r], in_order[r], starts, margins[b], out[b, r])


@compiled()
def _impostors(
    squared: Any, own: Any, in_order: Any, starts: Any, margin: float, totals: Any
) -> None:
    """Hinges of a point for each class that it may have.

    All rows are sorted into the gaps between all limits (margin and a nearest distance) once.
    With the number and the sum of the distances below it, a limit's hinges are a product and a
    difference; those of the class itself are taken out again.

    Plain loops instead of NumPy's functions: those take seconds to compile.
    """
    n_classes, k = own.shape
    n_limits = 0
    while n_limits < in_order.shape[0] and in_order[n_limits] + margin < np.inf:
        n_limits += 1
    size = 1
    while size <= n_limits:
        size *= 2
    padded = np.empty(size)
    counts = np.zeros(size)
    sums = np.zeros(size)
    for place in range(size):
        padded[place] = in_order[place] + margin if place < n_limits else np.inf
    farthest = padded[n_limits - 1]
    for i in range(squared.shape[0]):
        value = squared[i]
        if value < farthest:
            # How many limits are not above it, by bisection without branches.
            place, half = 0, size // 2
            while half > 0:
                place += half * (padded[place + half - 1] <= value)
                half //= 2
            counts[place] += 1.0
            sums[place] += value
    for place in range(1, size):
        counts[place] += counts[place - 1]
        sums[place] += sums[place - 1]
    for c in range(n_classes):
        totals[c] = 0.0
        for t in range(k):
            if own[c, t] == np.inf:
                break
            limit = own[c, t] + margin
            place, half = 0, size // 2
            while half > 0:
                place += half * (padded[place + half - 1] < limit)
                half //= 2
            total = limit * counts[place] - sums[place]
            for i in range(starts[c], starts[c + 1]):
                if squared[i] < limit:
                    total -= limit - squared[i]
            totals[c] += max(total, 0.0)


@compiled()
def _intrusion_hinges(
    squared: Any, starts: Any, nearest: Any, reach: Any, left_out: Any, margins: Any, out: Any
) -> None:
    for r in range(squared.shape[0]):
        for b in range(margins.shape[0]):
            _intrusions(squared[r], starts, nearest, reach, left_out[r], margins[b], out[b, r])


@compiled()
def _intrusions(
    squared: Any, starts: Any, nearest: Any, reach: Any, left_out: int, margin: float, totals: Any
) -> None:
    """Hinges of a point as an impostor of rows, for each class of these."""
    k = nearest.shape[1] - 1
    for c in range(totals.shape[0]):
        totals[c] = 0.0
        for i in range(starts[c], starts[c + 1]):
            farthest = 0.0
            # The one more that is kept may have to take another's place.
            for t in range(k, -1, -1):
                if nearest[i, t] >= 0:
                    farthest = margin + reach[i, t]
                    break
            if squared[i] >= farthest:
                continue
            total, n_own = 0.0, 0
            for t in range(k + 1):
                if n_own < k and nearest[i, t] >= 0 and nearest[i, t] != left_out:
                    total += max(0.0, margin + reach[i, t] - squared[i])
                    n_own += 1
            if n_own > 0:
                totals[c] += total * k / n_own
