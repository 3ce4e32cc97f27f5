"""What a model says of its own size, over the whole tree of its parts.

A file of a few bytes can claim any number of columns, name one array a thousand times, or hold
sparse rows that are empty and wide. Its claims are added up here before anything is made of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from nearkin.storage.schema import fields_of

# Numbers of eight bytes that embedding one row may take: for each column of a learner, for each
# entry of its landmarks, and for each pair of landmarks, of which some extensions make matrices.
_PER_COLUMN, _PER_ENTRY, _PER_PAIR = 6, 4, 6


def claimed_columns(model: Any) -> int:
    """Columns of all learners in a model, each the wider of what it takes and gives."""
    return sum(max(_widths(part)) for part in _parts(model) if isinstance(part, BaseEstimator))


def bytes_to_embed(model: Any) -> int:
    """Memory that embedding one row may take, at most, in bytes; beside the model itself."""
    numbers, named = 0, 0
    parts = list(_parts(model))
    is_alone = sum(isinstance(part, BaseEstimator) for part in parts) == 1
    for part in parts:
        numbers += _PER_COLUMN * sum(_widths(part))
        for name, spec in fields_of(type(part)).items():
            value = getattr(part, name, None)
            if isinstance(value, np.ndarray):
                named += value.nbytes
                numbers += 0 if value.size else sum(value.shape)
            if spec.training_rows and value is not None:
                m, d = value.shape
                # Of sparse rows that come first a sparse row is tried, which makes nothing dense.
                numbers += _PER_COLUMN * d if sp.issparse(value) and is_alone else 0
                numbers += _PER_ENTRY * m * d if not (sp.issparse(value) and is_alone) else 0
                numbers += _PER_PAIR * m * m
    return 8 * numbers + named


def has_sparse_rows(model: Any) -> bool:
    """Whether rows of the training data are kept as a sparse matrix somewhere."""
    return any(
        sp.issparse(getattr(part, name, None))
        for part in _parts(model)
        for name, spec in fields_of(type(part)).items()
        if spec.training_rows
    )


def _widths(part: Any) -> tuple[int, int]:
    """Columns that a learner takes and gives; 0 where it does not say."""
    taken, given = (getattr(part, name, 0) for name in ("n_features_in_", "n_components_"))
    return int(taken), int(given)


def _parts(value: Any) -> Iterator[Any]:
    """All objects of classes that are stored, as often as they are used."""
    if isinstance(value, list | tuple):
        for part in value:
            yield from _parts(part)
    if fields := fields_of(type(value)):  # a named tuple has some too
        yield value
        for name in fields:
            yield from _parts(getattr(value, name, None))
    elif isinstance(value, BaseEstimator):
        yield value
