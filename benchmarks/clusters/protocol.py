"""What methods are told, and which rows they are judged on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from sklearn.metrics import adjusted_rand_score

from benchmarks.few_pairs.data import draw
from nearkin import Pairs


class Rows(NamedTuple):
    """Rows to group, with pairs of some of them.

    Attributes
    ----------
    X : ndarray of shape (n, d)
        Rows that pairs may name first, then those to judge by.
    y : ndarray of shape (n,)
        Classes, which methods never see; :func:`benchmarks.clusters.rivals.cobras` alone may ask.
    pairs : Pairs
        Of rows before ``test.start``; all of them are right.
    test : slice
        Rows that no pair names.
    """

    X: np.ndarray
    y: np.ndarray
    pairs: Pairs
    test: slice

    @property
    def k_true(self) -> int:
        """How many classes there are in these rows."""
        return len(np.unique(self.y))

    def score(self, labels: np.ndarray) -> float:
        """Adjusted Rand index on the rows that no pair names."""
        return float(adjusted_rand_score(self.y[self.test], labels[self.test]))


def rows(name: str, n_pairs: int, seed: int) -> Rows:
    """A random part of a data set, all of which is grouped: that of ``few_pairs``.

    Parameters
    ----------
    name : str
    n_pairs : int
        Half must-links, half cannot-links; 0 for none.
    seed : int
    """
    part = draw(name, max(n_pairs, 1), 0.0, seed)
    X = np.concatenate([part.X, part.X_test])
    y = np.concatenate([part.y, part.y_test])
    told = part.pairs if n_pairs else Pairs()
    pairs = Pairs(told.must_link, told.cannot_link, n_rows=len(y))
    return Rows(X, y, pairs, slice(len(part.y), len(y)))
