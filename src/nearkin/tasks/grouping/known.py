"""What is known of rows to be grouped, as pairs, and some rows that tell most of it."""

from __future__ import annotations

from typing import Any

import numpy as np

from nearkin.errors import InputError
from nearkin.pairs.labels import class_numbers
from nearkin.pairs.pairs import Pairs
from nearkin.pairs.supervision import check_roles, refuse_triplets
from nearkin.rows.arrays import Ints

# Share of a sample that is filled with rows in pairs.
_NAMED_SHARE = 0.7


def known_pairs(n_rows: int, y: Any, pairs: Pairs | None) -> Pairs:
    """Pairs, and labels as such: each row with the first of its class, and these apart."""
    check_roles(y, pairs)
    known = Pairs(n_rows=n_rows)
    if pairs is not None:
        refuse_triplets(pairs)
        pairs.check_rows(n_rows)
        known = known + pairs
    if y is None:
        return known
    classes = class_numbers(y)
    if len(classes) != n_rows:
        raise InputError(f"y has {len(classes)} labels, but X has {n_rows} rows.")
    labelled = np.flatnonzero(classes >= 0)
    _, first, of = np.unique(classes[labelled], return_index=True, return_inverse=True)
    heads = labelled[first]
    must = np.column_stack([heads[of], labelled])
    cannot = heads[np.column_stack(np.triu_indices(len(heads), 1))]
    return known + Pairs(must, cannot, n_rows=n_rows)


def sampled_rows(pairs: Pairs, n_rows: int, most: int, rng: np.random.RandomState) -> Ints:
    """Up to so many rows: both ends of some must-links and cannot-links, and others at random."""
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
