"""A Gaussian for every class, with covariances that exist however few rows there are."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from nearkin import backend
from nearkin.blocks import block_rows, for_each_block
from nearkin.stored import floats, ints, stored

Floats = NDArray[np.floating]

# How much of the covariance within all classes a class may take over.
POOLED_SHARES = (0.0, 0.1, 0.3, 0.6, 1.0)
_FOLDS = 5
# A class of n rows is held to say as much about d columns as n / (n + 0.1 d).
_COLUMNS_PER_ROW = 0.1
# Keeps a covariance invertible where the share of the identity is given as 0.
_LEAST_IDENTITY = 1e-10
_LOG_2_PI = float(np.log(2 * np.pi))
# Spread of a class, relative to that of all, that is rounding.
_NO_SPREAD = 1e-12


@stored(
    means=floats("c d"),
    precisions=floats("c d d"),
    log_determinants=floats("c"),
    counts=ints("c"),
    pooled_shares=floats("c"),
    identity_shares=floats("c"),
)
@dataclass(frozen=True)
class ClassModels:
    """Gaussian densities of c classes.

    Attributes
    ----------
    means : ndarray of shape (c, d)
    precisions : ndarray of shape (c, d, d)
        Inverse covariances.
    log_determinants : ndarray of shape (c,)
        Of the covariances.
    counts : int ndarray of shape (c,)
        Rows that each class was estimated from.
    pooled_shares, identity_shares : ndarray of shape (c,)
        How much of each covariance is that within all classes, and a multiple of the identity.
    """

    means: Floats
    precisions: Floats
    log_determinants: Floats
    counts: NDArray[np.integer]
    pooled_shares: Floats
    identity_shares: Floats

    def gradients(self, X: Floats) -> tuple[Floats, Floats]:
        r"""Differences to the means, and :math:`u_c = \Sigma_c^{-1} (x - \mu_c)`.

        Returns
        -------
        differences, gradients : ndarray of shape (c, n, d)
        """
        differences = X[None, :, :] - self.means[:, None, :]
        return differences, differences @ self.precisions

    def log_densities_of(self, differences: Floats, gradients: Floats) -> Floats:
        """Log densities (n, c) from what :meth:`gradients` gives."""
        if backend.is_foreign(differences):
            squared: Any = backend.namespace(differences).sum(differences * gradients, axis=2).T
            found: Floats = (
                -(squared + (self.log_determinants + self.means.shape[1] * _LOG_2_PI)) / 2
            )
            return found
        squared = np.einsum("cnd,cnd->nc", differences, gradients)
        constant = self.log_determinants + self.means.shape[1] * np.log(2 * np.pi)
        return np.asarray(-(squared + constant) / 2)

    def moved(self, like: Any) -> ClassModels:
        """The same where a foreign array is, in its type."""
        return replace(
            self,
            means=backend.moved(self.means, like),
            precisions=backend.moved(self.precisions, like),
            log_determinants=backend.moved(self.log_determinants, like),
        )

    def log_densities(self, X: Floats) -> Floats:
        """Log density of every class at every row, by blocks.

        Returns
        -------
        ndarray of shape (n, c)
        """
        c, d = self.means.shape
        found = np.empty((len(X), c))

        def work(rows: slice) -> None:
            found[rows] = self.log_densities_of(*self.gradients(X[rows].astype(np.float64)))

        for_each_block(work, len(X), block_rows(16 * c * d))
        return found


def fit_class_models(
    X: Floats,
    classes: NDArray[np.integer],
    *,
    covariance: str = "shrunk",
    regularization: str | float = "auto",
) -> ClassModels:
    r"""Mean and covariance of every class.

    .. math::

        \Sigma_c = (1 - s_c) A_c + s_c \frac{\operatorname{tr} A_c}{d} I, \qquad
        A_c = (1 - a_c) S_c + a_c S,

    with :math:`S_c` the covariance of class c and S the covariance within all classes.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    classes : int ndarray of shape (n,)
        Numbers 0 to c − 1, none of them missing.
    covariance : {"shrunk", "full", "shared"}, default="shrunk"
        ``"full"`` is :math:`a_c = 0`, ``"shared"`` is 1. ``"shrunk"`` looks which of 0, 0.1, 0.3,
        0.6 and 1 makes the rows of the class likeliest when they are left out in turn (5 parts),
        and takes the smallest that is worse by no more than a standard error; 1 for a class of
        fewer than 5 rows.
    regularization : "auto" or float in [0, 1], default="auto"
        The share s of the identity; ``"auto"`` is ``0.1 d / (0.1 d + n_c)`` for :math:`n_c` rows,
        where ``"shared"`` counts all n.

    Returns
    -------
    ClassModels

    Notes
    -----
    No covariance is singular, and nothing is NaN. A class without any variation, such as one of a
    single row, takes S. Without variation within any class S is the covariance of all rows, and
    without variation at all the identity. Where ``regularization`` is 0, 1e-10 is used.

    O(n d² + c d³) time, for ``"shrunk"`` about 30 times c d³; O(c d²) memory.
    """
    d = X.shape[1]
    counts = np.bincount(classes)
    order = np.argsort(classes, kind="stable")
    means = np.empty((len(counts), d))
    scatters = np.empty((len(counts), d, d))
    members = np.split(order, np.cumsum(counts)[:-1])
    for c, rows in enumerate(members):
        means[c], scatters[c] = _mean_and_scatter(_precise(X, rows))
    total = scatters.sum(axis=0)
    if np.trace(total) == 0:
        total = _mean_and_scatter(_precise(X, order))[1]
    if np.trace(total) == 0:
        total = np.eye(d) * len(X)
    pooled = np.empty(len(counts))
    identity = np.empty(len(counts))
    precisions = np.empty_like(scatters)
    log_determinants = np.empty(len(counts))
    for c, rows in enumerate(members):
        trust = len(X) if covariance == "shared" else counts[c]
        identity[c] = identity_share(int(trust), d, regularization)
        spread = np.trace(scatters[c]) / counts[c]
        if covariance == "shared" or spread <= _NO_SPREAD * np.trace(total) / len(X):
            pooled[c] = 1.0
        elif covariance == "full":
            pooled[c] = 0.0
        else:
            pooled[c] = _pooled_share(_precise(X, rows), total, len(X), identity[c])
        matrix = shrunk_covariance(
            scatters[c] / counts[c], total / len(X), float(pooled[c]), float(identity[c])
        )
        precisions[c], log_determinants[c] = _inverse(matrix)
    return ClassModels(means, precisions, log_determinants, counts, pooled, identity)


def identity_share(n_rows: int, n_columns: int, regularization: str | float) -> float:
    """Share of the identity in a covariance of so many rows."""
    if isinstance(regularization, str):  # "auto"
        return _COLUMNS_PER_ROW * n_columns / (_COLUMNS_PER_ROW * n_columns + n_rows)
    return max(float(regularization), _LEAST_IDENTITY)


def shrunk_covariance(own: Floats, pooled: Floats, share: float, identity: float) -> Floats:
    """``(1 − s) A + s tr(A)/d I`` with ``A = (1 − a) S_c + a S``."""
    mixed = (1 - share) * own + share * pooled
    mean_variance = np.trace(mixed) / len(mixed)
    return np.asarray((1 - identity) * mixed + identity * mean_variance * np.eye(len(mixed)))


def _precise(X: Any, rows: NDArray[np.integer]) -> Any:
    """Some rows in float64, where they are."""
    if backend.is_foreign(X):
        return backend.wide(backend.take(X, rows))
    return X[rows].astype(np.float64)


def _mean_and_scatter(X: Any) -> tuple[Floats, Floats]:
    shifted = X - X[0]  # equal rows now differ by exactly zero
    mean = shifted.mean(axis=0)
    centered = shifted - mean
    return backend.to_numpy(mean + X[0]), backend.to_numpy(centered.T @ centered)


def _whitened_squares(factor: Floats, rows: Any) -> Floats:
    """Squared lengths of rows divided by a lower triangular factor."""
    if backend.is_foreign(rows):
        root = solve_triangular(factor, np.eye(len(factor)), lower=True, check_finite=False)
        whitened = rows @ backend.moved(root.T, rows)
        return backend.to_numpy(backend.namespace(rows).sum(whitened * whitened, axis=1))
    whitened = solve_triangular(factor, rows.T, lower=True, check_finite=False)
    return np.asarray((whitened**2).sum(axis=0))


def _pooled_share(X: Any, total: Floats, n_rows: int, identity: float) -> float:
    """Share of the covariance within all classes for the class of the rows X."""
    n = len(X)
    if n < _FOLDS:
        return 1.0
    _, scatter = _mean_and_scatter(X)
    likelihoods = np.empty((len(POOLED_SHARES), n))
    for fold in range(_FOLDS):
        left_out = np.arange(n) % _FOLDS == fold
        n_kept = n - int(left_out.sum())
        mean, kept = _mean_and_scatter(backend.take(X, np.flatnonzero(~left_out)))
        if np.trace(kept) / n_kept <= _NO_SPREAD * np.trace(total) / n_rows:
            return 1.0
        others = (total - scatter + kept) / (n_rows - n + n_kept)
        difference = backend.take(X, np.flatnonzero(left_out))
        difference = difference - (backend.moved(mean, X) if backend.is_foreign(X) else mean)
        for i, share in enumerate(POOLED_SHARES):
            factor = np.linalg.cholesky(shrunk_covariance(kept / n_kept, others, share, identity))
            half_log_determinant = np.log(factor.diagonal()).sum()
            lengths = _whitened_squares(factor, difference)
            likelihoods[i, left_out] = -lengths / 2 - half_log_determinant
    best = likelihoods[likelihoods.sum(axis=1).argmax()]
    losses = best - likelihoods
    within_error = losses.sum(axis=1) <= np.sqrt(n) * losses.std(axis=1)
    return POOLED_SHARES[int(within_error.argmax())]


def _inverse(matrix: Floats) -> tuple[Floats, float]:
    """Inverse of a covariance, exactly symmetric, and the log of its determinant."""
    factor = np.linalg.cholesky(matrix)
    root = solve_triangular(factor, np.eye(len(matrix)), lower=True, check_finite=False)
    return root.T @ root, 2 * float(np.log(factor.diagonal()).sum())
