"""Groups of all rows, from groups of some."""

from __future__ import annotations

from typing import Any

import numpy as np

from nearkin._types import Floats, Ints
from nearkin.pairs.closure import in_order_of_appearance
from nearkin.pairs.pairs import Pairs
from nearkin.rows import access
from nearkin.tasks.grouping.grouped import Grouping, Groupings, split_up
from nearkin.tasks.grouping.kept_pairs import Blocks, kept
from nearkin.tasks.grouping.placing import Placed, costs_of
from nearkin.tasks.grouping.soft_pairs import softly_kept

# Rows that are mapped, or placed, at a time.
_ROWS_AT_A_TIME = 8192


def mapped(whole: Groupings, metric: Any, X: Any, n: int) -> Floats:
    """Where all rows are, along the axes of those that groups were found among.

    Notes
    -----
    At most 100 numbers for each row.
    """
    parts = [whole.space.coordinates(metric, access.take(X, rows)) for rows in _parts(n)]
    return np.concatenate(parts)


def scores_of_all(whole: Groupings, placed: Placed, Z: Floats, some: Ints) -> Floats:
    """Scores of all rows, of which those in the sample are judged by others alone."""
    scores = np.concatenate(
        [whole.space.scores(Z[rows], placed.coefficients) for rows in _parts(len(Z))]
    )
    scores[some] = placed.scores
    return scores


def groups_of_all(
    whole: Groupings, grouping: Grouping, Z: Floats, some: Ints, known: Pairs, blocks: Blocks
) -> Ints:
    """Groups of all rows that keep all pairs, or some of them where that is too dear."""
    if len(some) == len(Z):
        return grouping.labels
    scores = scores_of_all(whole, whole.placed(grouping), Z, some)
    if whole.strength is not None:
        labels = softly_kept(costs_of(scores), known, whole.strength)
    else:
        labels = kept(costs_of(scores), blocks, most_groups=whole.most)
    if len(np.unique(labels)) < whole.least:  # nobody was placed in some
        labels = split_up(labels, scores, blocks, whole.least)
    return in_order_of_appearance(labels)


def medoids(Z: Floats, labels: Ints) -> Ints:
    """The row of each group that is nearest to its mean."""
    k = int(labels.max(initial=-1)) + 1
    means = np.zeros((k, Z.shape[1]))
    np.add.at(means, labels, Z)
    means /= np.bincount(labels, minlength=k)[:, None]
    away = ((Z - means[labels]) ** 2).sum(axis=1)
    order = np.lexsort([away, labels])
    return np.asarray(order[np.searchsorted(labels[order], np.arange(k))])


def _parts(n: int) -> list[Ints]:
    return np.array_split(np.arange(n), max(1, -(-n // _ROWS_AT_A_TIME)))
