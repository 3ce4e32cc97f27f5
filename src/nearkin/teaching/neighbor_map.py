"""The map of neighbours: laid out anew whenever the metric has learned, from where points are.

A map is begun from the principal axes, and the next ones go on from the one before: they take up
the schedule of :mod:`nearkin.solvers.neighbor_layout` where steps are short, so that points find
new neighbours and otherwise stay where they are. Of many rows a sample is laid out, and all others
are put among those of the sample that are nearest to them.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from nearkin._types import Floats, Ints
from nearkin.solvers.neighbor_layout import (
    EPOCHS,
    Places,
    closeness,
    descended,
    edges_between,
    middles,
)
from nearkin.spaces.neighbors import Cells, Search, nearest_by_cells, nearest_others
from nearkin.teaching.plane import of_unit_size

if TYPE_CHECKING:
    from nearkin.teaching.taught_metric import View

_NEIGHBORS = 15
# Principal axes of the learned metric along which rows are compared.
_AXES = 60
# Rows that are all laid out; of more so many are drawn, and the others put among their nearest.
_MOST_ROWS, _SAMPLE, _AMONG = 30_000, 10_000, 3
_RECALL = 0.9
# Rows from which neighbours are looked for in near cells only.
_MANY = 5000
# Where a map that goes on takes up the schedule, and after how many epochs it is first shown.
_GOES_ON, _FIRST_SHOWN = 0.7, 4
# Seconds between two pictures, and rows that add one more.
_PAUSE, _ROWS_A_SECOND = 0.12, 400_000
# Size of a map that begins, and by how much points that coincide there are moved apart.
_START_SIZE, _JITTER = 5.0, 1e-3


@dataclass(frozen=True)
class Among:
    """Where the rows belong that are not in the sample: between which of it, and how near to each.

    Attributes
    ----------
    near : int ndarray of shape (n - m, k)
    weights : ndarray of shape (n - m, k)
    """

    near: Ints
    weights: Floats


@dataclass(frozen=True)
class NeighborMap:
    """A picture on the way to a map of neighbours, or that map.

    Attributes
    ----------
    places : float32 ndarray of shape (n, 2)
    share : float
        Of the way that is gone; 1 at its end.
    near : int ndarray of shape (m, k), optional
        Neighbours of the rows that are laid out.
    among : Among or None
        Of the rows that are not in the sample, if there is one.
    """

    places: Places
    share: float
    near: Ints | None = None
    among: Among | None = None


def arranged(
    view: View, plane: Floats, before: NeighborMap | None, seed: int
) -> Iterator[NeighborMap]:
    """Pictures on the way to the map of a metric; the last is the map.

    Parameters
    ----------
    view : View
        Rows as the metric sees them.
    plane : ndarray of shape (n, 2)
        Where a map begins.
    before : NeighborMap, optional
        From which it goes on, finished or not.
    seed : int

    Yields
    ------
    NeighborMap
        The pictures in between are those of the time; the last one depends on the arguments alone.

    Notes
    -----
    O(n √n) time above 5000 rows, and O(n) memory: some 1 kB for each row. Of 2000 rows the first
    map takes half a second, the next ones a tenth. Above 30 000 rows 10 000 are laid out.
    """
    n = len(plane)
    size = of_unit_size(plane)
    if n < 3 or not size.any():  # there is nothing to arrange
        yield NeighborMap(np.asarray(size, dtype=np.float32), 1.0)
        return
    Z = _compared(view)
    if n <= _MOST_ROWS:
        places = _started(size, seed) if before is None else before.places
        for found, share, near in _on_the_way(Z, places, before, n, seed):
            yield NeighborMap(found, share, near)
    else:
        yield from _with_a_sample(Z, size, before, seed)


def _with_a_sample(
    Z: Floats, plane: Floats, before: NeighborMap | None, seed: int
) -> Iterator[NeighborMap]:
    """As above, of more rows than can be laid out."""
    n = len(Z)
    in_sample = np.zeros(n, dtype=bool)
    in_sample[np.random.RandomState(seed).choice(n, _SAMPLE, replace=False)] = True
    some = Z[in_sample]
    among = None if before is None else before.among
    if before is None or among is None:
        among = _among(some, Z[~in_sample], seed)
        places = _started(plane[in_sample], seed)
    else:
        places = before.places[in_sample]

    def whole(found: Places, share: float, near: Ints, among: Among) -> NeighborMap:
        all_places = np.empty((n, 2), dtype=np.float32)
        all_places[in_sample] = found
        all_places[~in_sample] = middles(found, among.near, among.weights)
        return NeighborMap(all_places, share, near, among)

    for places, share, near in _on_the_way(some, places, before, n, seed):  # noqa: B020
        # Rows that are not in it follow those that were near; who that is now is looked for last.
        if share == 1.0 and before is not None:
            yield whole(places, 1 - 1 / EPOCHS, near, among)
            among = _among(some, Z[~in_sample], seed)
        yield whole(places, share, near, among)


def _compared(view: View) -> Floats:
    """Rows along the principal axes of the metric, about zero and of the order of 1."""
    n_axes = min(_AXES, len(view.variances()))
    Z = np.asarray(view.coordinates(n_axes), dtype=np.float64)
    largest = np.abs(Z).max(initial=0.0)
    return Z / largest if largest > 0 else Z


def _among(sample: Floats, others: Floats, seed: int) -> Among:
    cells = Cells(sample, _RECALL, np.random.RandomState(seed))
    distances, near = nearest_by_cells(cells, sample, others, _AMONG)
    return Among(near.astype(np.int32), closeness(distances))


def _started(plane: Floats, seed: int) -> Places:
    """Where points begin: as they are, but for far ones, and no two at one place."""
    near = np.clip(_START_SIZE * plane, -3 * _START_SIZE, 3 * _START_SIZE)
    jitter = np.random.RandomState(seed).normal(scale=_JITTER, size=near.shape)
    return np.asarray(near + jitter, dtype=np.float32)


def _on_the_way(
    Z: Floats, places: Places, before: NeighborMap | None, n_shown: int, seed: int
) -> Iterator[tuple[Places, float, Ints]]:
    """Places from time to time, with the share of the way that is gone, and neighbours."""
    first = 0 if before is None else round(EPOCHS * min(before.share, _GOES_ON))
    if before is not None and before.near is not None:
        # Those who were neighbours are at other distances now: enough for the first picture.
        shown = first + _FIRST_SHOWN
        places = descended(places, edges_between(Z, before.near), first, shown, seed)
        yield places, shown / EPOCHS, before.near
        first = shown
    search: Search = "exact" if len(Z) < _MANY else "approximate"
    n_near = min(_NEIGHBORS, len(Z) - 1)
    near: Ints = np.asarray(nearest_others(Z, n_near, search=search, random_state=seed), np.int64)
    edges = edges_between(Z, near)
    pause = _PAUSE + n_shown / _ROWS_A_SECOND
    told = time.monotonic()
    for epoch in range(first, EPOCHS):
        places = descended(places, edges, epoch, epoch + 1, seed)
        now = time.monotonic()
        is_due = epoch + 1 == _FIRST_SHOWN or now - told >= pause
        if is_due or epoch + 1 == EPOCHS:
            told = now
            yield places, (epoch + 1) / EPOCHS, near
