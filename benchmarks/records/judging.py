"""How good groups of records are, against the truth."""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components


def quality(labels: np.ndarray, entity: np.ndarray) -> dict[str, float]:
    """Precision, recall and F1 of the pairs that groups imply, and B-cubed F1 of records."""
    both = np.unique(np.column_stack([labels, entity]), axis=0, return_inverse=True)[1].ravel()
    found, true, shared = n_within(labels), n_within(entity), n_within(both)
    size, size_true, size_shared = (np.bincount(of)[of] for of in (labels, entity, both))
    b_precision, b_recall = np.mean(size_shared / size), np.mean(size_shared / size_true)
    values = {
        "precision": shared / found if found else 1.0,
        "recall": shared / max(true, 1),
        "f1": 2 * shared / max(found + true, 1),
        "b_cubed": 2 * b_precision * b_recall / (b_precision + b_recall),
    }
    return {name: round(float(value), 5) for name, value in values.items()}


def quality_of_pairs(pairs: np.ndarray, entity: np.ndarray) -> dict[str, float]:
    """The same for pairs that are said to be the same; B-cubed is of what they connect."""
    n = len(entity)
    said = np.unique(np.sort(pairs, axis=1), axis=0)
    links = coo_array((np.ones(len(said)), said.T), shape=(n, n))
    values = quality(connected_components(links, directed=False)[1], entity)
    right = int((entity[said[:, 0]] == entity[said[:, 1]]).sum())
    true = n_within(entity)
    values["precision"] = round(right / len(said), 5) if len(said) else 1.0
    values["recall"] = round(right / max(true, 1), 5)
    values["f1"] = round(2 * right / max(len(said) + true, 1), 5)
    return values


def n_within(labels: np.ndarray) -> int:
    """Pairs of rows with the same label."""
    sizes = np.bincount(labels.ravel())
    return int((sizes * (sizes - 1) // 2).sum())
