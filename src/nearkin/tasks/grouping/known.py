"""What is known of rows to be grouped, as pairs."""

from __future__ import annotations

from typing import Any

import numpy as np

from nearkin.errors import InputError
from nearkin.pairs.labels import class_numbers
from nearkin.pairs.pairs import Pairs
from nearkin.pairs.supervision import check_roles, refuse_triplets


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
