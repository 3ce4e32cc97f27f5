"""Rows that are learned from on the host: all if they are few, or a sample, wherever they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.random import sample_without_replacement

from nearkin.pairs.supervision import Evidence
from nearkin.rows import access, backends

# Rows that come to the host, unless pairs name more; and how many of them have labels at least, if
# so many are known.
SAMPLE_ROWS = 5000
_LABELLED_ROWS = 2500


class _CutWithRows(Protocol):
    def restrict(self, rows: NDArray[np.int64]) -> Self: ...


Told = TypeVar("Told", bound=_CutWithRows)


@dataclass(frozen=True)
class HostSample:
    """Rows to learn from, on the host.

    Attributes
    ----------
    X : ndarray or sparse matrix of shape (m, d)
    numbers : int ndarray of shape (m,) or None
        Which rows they are of those given, increasing; None for all of them.
    n_given : int
        How many rows were given.
    """

    X: Any
    numbers: NDArray[np.int64] | None
    n_given: int

    def renumbered(self, told: Told) -> Told:
        """What is said of the rows given, as said of these."""
        return told if self.numbers is None else told.restrict(self.numbers)


def host_sample(X: Any, evidence: Evidence, rng: np.random.RandomState) -> HostSample:
    """The rows to learn from, as NumPy's or sparse: the same ones wherever all of them are.

    Parameters
    ----------
    X : array, sparse matrix or RemoteRows
        Checked.
    evidence : Evidence
        All rows that its pairs name are taken, and 2500 of those that it knows the classes of.
    rng : RandomState
        Draws these, and others, so that there are 5000 rows. It draws nothing where X has no more:
        all are taken then, and what is learned is what is learned of the same rows in memory.

    Notes
    -----
    One pass over rows that are read block by block. Memory for the sample, whatever n is, and for
    the numbers of labelled rows.
    """
    n = int(X.shape[0])
    if n <= SAMPLE_ROWS and not (backends.is_foreign(X) or backends.is_remote(X)):
        return HostSample(X, None, n)
    numbers = _drawn(X, evidence, rng)
    return HostSample(access.take_home(X, numbers), numbers, n)


def _drawn(X: Any, evidence: Evidence, rng: np.random.RandomState) -> NDArray[np.int64]:
    """Numbers of the rows to take, increasing."""
    can_be_taken = access.drawable(X)
    n = can_be_taken if isinstance(can_be_taken, int) else len(can_be_taken)
    if n <= SAMPLE_ROWS:
        return access.drawable_numbers(X).astype(np.int64)
    kept = evidence.pairs.points
    if evidence.classes is not None:
        labelled = np.flatnonzero(evidence.classes >= 0)
        if len(labelled) > _LABELLED_ROWS:
            labelled = rng.choice(labelled, _LABELLED_ROWS, replace=False)
        kept = np.union1d(kept, labelled)
    # Enough of them, whichever were taken already.
    others = sample_without_replacement(n, SAMPLE_ROWS, random_state=rng)
    if not isinstance(can_be_taken, int):
        others = can_be_taken[others]
    others = rng.permutation(np.setdiff1d(others, kept))[: max(0, SAMPLE_ROWS - len(kept))]
    return np.union1d(kept, others).astype(np.int64)
