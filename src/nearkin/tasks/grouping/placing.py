r"""Where rows belong, by the groups of others: ridge regression of groups on a kernel's features.

With features :math:`φ_i` of rows, and :math:`y_i` the indicator of row i's group less its mean,
scores of groups are :math:`φ^\top B`, where B minimises

.. math:: \sum_i w_i \|y_i - B^\top φ_i\|^2 + λ \|B\|^2 .

Rows are judged by scores that their own block had no part in, if that has 30 rows at most. These
follow from the regression of all: with :math:`A = W^{1/2} Φ` and :math:`H = A (A^\top A + λ)^{-1}
A^\top`, the residuals of block b without itself are :math:`(I - H_{bb})^{-1} r_b`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp
from sklearn.kernel_approximation import Nystroem
from sklearn.utils import check_random_state

from nearkin._types import Floats, Ints
from nearkin.pairs.closure import random_pairs
from nearkin.tasks.grouping.kept_pairs import Blocks

# Rows whose kernel values are the features.
N_LANDMARKS = 200
# What λ is chosen from.
PENALTIES = (0.03, 0.1, 0.3, 1.0, 3.0)
_N_DISTANCES = 10_000
# Rows of larger blocks are judged by all others: the block as a whole is sure of its group.
_LARGE_BLOCK = 30
# Logarithms of the sharpness of chances: from hardly anything to certain.
_LOG_SHARPNESS = (-2.0, 5.0)


def kernel_features(Z: Floats, seed: int, width: float = 1.0) -> Nystroem:
    """Features of a Gaussian kernel, as wide as rows are apart."""
    rng = check_random_state(seed)
    pairs = random_pairs(len(Z), rng, _N_DISTANCES)
    squared = ((Z[pairs[:, 0]] - Z[pairs[:, 1]]) ** 2).sum(axis=1)
    usual = float(np.median(squared)) if len(squared) else 0.0
    apart = usual or float(squared.max(initial=0.0)) or 1.0
    gamma = 1 / (width**2 * apart)
    count = min(N_LANDMARKS, len(Z))
    return Nystroem(kernel="rbf", gamma=gamma, n_components=count, random_state=seed).fit(Z)


@dataclass(frozen=True)
class Placed:
    """Scores of groups.

    Attributes
    ----------
    scores : ndarray of shape (n, k)
        Of rows, by the groups of others.
    coefficients : ndarray of shape (m + 1, k)
        For rows like these: of their features and 1.
    error : float
        Mean squared error of the scores of rows that count in full.
    penalty : float
    """

    scores: Floats
    coefficients: Floats
    error: float
    penalty: float

    @property
    def costs(self) -> Floats:
        """What it costs rows to be in groups: nothing in the best."""
        return costs_of(self.scores)


def costs_of(scores: Floats) -> Floats:
    """What a row's best score has more than that of each group."""
    return np.asarray(scores.max(axis=1, keepdims=True) - scores)


def sharpness_of(scores: Floats, labels: Ints) -> float:
    """What scores are multiplied by, such that their softmax tells labels best."""

    def loss(log_sharpness: float) -> float:
        odds = np.exp(log_sharpness) * scores
        own = odds[np.arange(len(labels)), labels]
        return float((logsumexp(odds, axis=1) - own).mean())

    return float(np.exp(minimize_scalar(loss, bounds=_LOG_SHARPNESS, method="bounded").x))


class Placing:
    """Rows with their features and weights, ready for any groups.

    Parameters
    ----------
    features : ndarray of shape (n, m)
    blocks : Blocks
    weights : ndarray of shape (n,)
        How much rows count; 1 for those whose errors are counted.

    Notes
    -----
    O(n m²) time to make one, and O(n m k) for k groups; O(n m) memory.
    """

    def __init__(self, features: Floats, blocks: Blocks, weights: Floats) -> None:
        self.weights = weights
        self.roots = np.sqrt(weights)[:, None]
        self.U, self.s, self.Vt = np.linalg.svd(self.roots * features, full_matrices=False)
        self.blocks = [b for b in _by_size(blocks.of) if 1 < b.shape[1] <= _LARGE_BLOCK]
        self.counted = np.flatnonzero(weights == 1.0)
        self._without: dict[float, list[Floats]] = {}

    def place(self, labels: Ints, k: int, penalty: float | None = None) -> Placed:
        """Scores of k groups by labels of rows, with that penalty or the one of least error."""
        Y = np.zeros((len(labels), k))
        Y[np.arange(len(labels)), labels] = 1
        mean = self.weights @ Y / self.weights.sum()
        Y = self.roots * (Y - mean)
        along = self.U.T @ Y
        penalties = PENALTIES if penalty is None else (penalty,)
        tries = [(*self._without_own(Y, along, one), one) for one in penalties]
        residuals, error, penalty = min(tries, key=lambda one: one[1])
        B = self.Vt.T @ ((self.s / (self.s**2 + penalty))[:, None] * along)
        scores = (Y - residuals) / self.roots + mean
        return Placed(scores, np.vstack([B, mean]), error, penalty)

    def _without_own(self, Y: Floats, along: Floats, penalty: float) -> tuple[Floats, float]:
        """Residuals of rows, by scores that their blocks had no part in; and their mean square."""
        shrunk = self.s**2 / (self.s**2 + penalty)
        R = Y - self.U @ (shrunk[:, None] * along)
        if penalty not in self._without:
            of_rows = 1 / np.maximum(1 - (self.U**2) @ shrunk, 1e-9)
            self._without[penalty] = [of_rows, *(self._inverse(b, shrunk) for b in self.blocks)]
        alone, *inverses = self._without[penalty]
        found = np.asarray(alone[:, None] * R)
        for rows, inverse in zip(self.blocks, inverses, strict=True):
            found[rows] = inverse @ R[rows]
        error = float((found[self.counted] ** 2).sum() / max(len(self.counted), 1))
        return found, error

    def _inverse(self, rows: Ints, shrunk: Floats) -> Floats:
        """(I − H)⁻¹ of each of some blocks of one size."""
        U = self.U[rows]
        H = (U * shrunk) @ U.transpose(0, 2, 1)
        return np.linalg.inv((1 + 1e-9) * np.eye(rows.shape[1]) - H)


def _by_size(block: Ints) -> list[Ints]:
    """Rows of blocks, in one array (blocks, rows) for all blocks of a size."""
    order = np.argsort(block, kind="stable")
    starts = np.flatnonzero(np.diff(block[order], prepend=-1))
    sizes = np.diff(starts, append=len(order))
    return [order[starts[sizes == s][:, None] + np.arange(s)] for s in np.unique(sizes)]
