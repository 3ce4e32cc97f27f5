"""Pairs of records on dask's workers that may be the same thing: the same as in memory.

Grams stay with the workers. For each order, keys of records come to this process, which says where
each record goes: to the worker that compares it with its neighbours. What comes back are those that
met and what they share, of which this process keeps the best few of each record.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearkin._types import Ints, Mask
from nearkin.records.candidates import (
    BLOCK,
    Best,
    Candidates,
    Halves,
    each_once,
    meetings,
    nobody_yet,
    order_keys,
    orders_for,
    overlaps,
    remember,
    united,
    with_copies,
)
from nearkin.records.dask_parts import Parts, computed, task
from nearkin.records.grams import (
    Bytes,
    Grams,
    gram_counts,
    gram_weights,
    is_searched,
    searched_cells,
    together,
    weighed_grams,
)
from nearkin.records.packed import Packed, unpacked
from nearkin.records.views import Keys, pairs_of_rare_values, value_keys
from nearkin.rows.parallel import one_core
from nearkin.tables.reading import Column

# Records that are compared with their neighbours in one task, and pairs in another.
_RECORDS, _PAIRS = 2 * BLOCK, 1 << 17


class Meetings(NamedTuple):
    """Records that stood side by side in an order, and what they share."""

    i: NDArray[np.int32]
    j: NDArray[np.int32]
    cosine: Halves


class Ordered(NamedTuple):
    """Records of a part that go to the same place, with the keys of an order."""

    grams: Grams
    keys: Keys


def candidates_on_dask(parts: Parts, names: Sequence[str], n_best: int, seed: int) -> Candidates:
    """Find the pairs of records that may be the same thing.

    Parameters
    ----------
    parts : Parts
        Of :class:`Packed` records.
    names : list of str
        Of the columns that are compared.
    n_best : int
        Others that are kept of each record.
    seed : int
        Of the random orders.

    Notes
    -----
    Memory: in this process 10 ``n_best`` + 8 (columns + 4) bytes for each record and 64 MB, and the
    candidates; on the workers together 4 bytes a gram, and the same again on the way.
    """
    names = list(names)
    first = _first_of_equal(np.concatenate(parts.map(_record_keys, names).computed()))
    alone = first == np.arange(len(first))
    counts = parts.map(_gram_counts, names, each=parts.cut(alone))
    seen = np.zeros(1 << 24, dtype=np.int32)
    for slots, times in counts.computed():
        seen[slots] += times
    del counts
    weights = gram_weights(seen, int(alone.sum()))
    slots = np.flatnonzero(weights).astype(np.int32)
    del seen
    made = parts.map(_grams, names, slots, weights[slots], each=parts.cut(alone))
    starts = np.append(0, np.cumsum(alone))[parts.starts]
    grams = Parts(made.values, starts, parts.client)
    met = each_once(_best(grams, n_best, seed))
    nowhere = np.zeros(int(starts[-1]), dtype=np.int8)
    by_column = [
        pairs_of_rare_values(keys, nowhere) for keys in _keys_by_column(parts, names, alone)
    ]
    return with_copies(united(met, by_column, partial(_overlaps, grams)), first, None)


def _keys_by_column(parts: Parts, names: list[str], alone: Mask) -> list[Keys]:
    found = parts.map(_view_keys, names, each=parts.cut(alone)).computed()
    return [np.concatenate(keys) for keys in zip(*found, strict=True)]


def _first_of_equal(keys: Keys) -> Ints:
    """For each record the first one with the same key."""
    _, first, which = np.unique(keys, return_index=True, return_inverse=True)
    return np.asarray(first[which.ravel()], dtype=np.int64)


def _best(grams: Parts, n_best: int, seed: int) -> Best:
    """The best others of each record, among those that it met."""
    n = int(grams.starts[-1])
    n_orders, around = orders_for(n)
    best = nobody_yet(n, n_best)
    next_keys = grams.map(order_keys, seed, 0)
    for number in range(n_orders):
        keys = next_keys
        place = np.empty(n, dtype=np.uint16)
        order = np.argsort(np.concatenate(keys.computed()), kind="stable")
        place[order] = np.arange(n) // _RECORDS
        del order
        n_places = int(place.max(initial=0)) + 1
        pieces = [
            task(_pieces, part, key, at, n_places)
            for part, key, (at,) in zip(grams.values, keys.values, grams.cut(place), strict=True)
        ]
        tasks = [task(_meetings, [piece[k] for piece in pieces], around) for k in range(n_places)]
        if number + 1 < n_orders:
            next_keys = grams.map(order_keys, seed, number + 1)
        for k, (i, j, cosine) in enumerate(computed(tasks, grams.client)):
            members = np.flatnonzero(place == k)
            remember(members[i], members[j], cosine, *best)
    return best


def _overlaps(grams: Parts, pairs: Ints) -> Halves:
    found = np.zeros(len(pairs), dtype=np.float32)
    for cut, values in grams.of_pairs(pairs, _overlaps_of, size=_PAIRS):
        found[cut] = values
    return found


# What the workers run.


def _columns(part: Packed, names: list[str]) -> list[Column]:
    by_name = {column.name: column for column in unpacked([part])}
    return [by_name[name] for name in names]


def _alone(part: Packed, names: list[str], alone: Mask) -> list[Column]:
    return _columns(part.take(np.flatnonzero(alone)), names)


def _record_keys(part: Packed, names: list[str]) -> Keys:
    """A number for each record, of all its cells."""
    found = np.zeros(part.n_records, dtype=np.uint64)
    for column in _columns(part, names):
        if column.values.dtype.kind == "f":
            # No two zeros, and one way to be missing.
            values = np.where(np.isnan(column.values), np.nan, column.values + 0.0)
            keys = values.view(np.uint64)
        else:
            keys = value_keys(column, exact=True)
        found = (found ^ keys) * np.uint64(0x9E3779B97F4A7C15)
        found ^= found >> np.uint64(29)
    return found


def _gram_counts(part: Packed, names: list[str], alone: Mask) -> tuple[Ints, NDArray[np.int32]]:
    seen = gram_counts(searched_cells(_alone(part, names, alone)))
    slots = np.flatnonzero(seen)
    return slots, seen[slots]


def _grams(part: Packed, names: list[str], slots: Ints, weights: Bytes, alone: Mask) -> Grams:
    all_weights = np.zeros(1 << 24, dtype=np.uint8)
    all_weights[slots] = weights
    cells = searched_cells(_alone(part, names, alone))
    return weighed_grams(cells, all_weights, int(alone.sum()))


def _view_keys(part: Packed, names: list[str], alone: Mask) -> list[Keys]:
    return [value_keys(c) for c in _alone(part, names, alone) if is_searched(c)]


def _pieces(grams: Grams, keys: Keys, place: NDArray[np.uint16], n_places: int) -> list[Ordered]:
    """The records of a part, by the places they go to."""
    found = [np.flatnonzero(place == k) for k in range(n_places)]
    return [Ordered(grams.take(records), keys[records]) for records in found]


def _meetings(pieces: list[Ordered], around: int) -> Meetings:
    """Neighbours in an order, block by block."""
    grams = together([piece.grams for piece in pieces])
    keys = np.concatenate([piece.keys for piece in pieces])
    with one_core():
        return Meetings(*meetings(grams, keys, around))


def _overlaps_of(parts: list[Grams], pairs: Ints) -> Halves:
    return overlaps(together(parts), pairs)
