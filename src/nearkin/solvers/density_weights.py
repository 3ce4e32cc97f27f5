"""Metrics at rows of known class, averaged by how dense the rows are there."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from sklearn.neighbors import NearestNeighbors

from nearkin._types import Floats, Integers
from nearkin.rows.distances import squared_distances
from nearkin.rows.parallel import block_rows, for_each_block, one_blas_thread
from nearkin.solvers.class_gaussians import ClassModels
from nearkin.solvers.local_metrics import (
    bias_matrices,
    local_metrics,
    mean_local_metric,
    rows_at_a_time,
)

# Local metrics are kept between the rounds of Algorithm 1 if they take no more numbers.
_MOST_NUMBERS = 2**25
# The rounds end when no entry of the metric changes by more than this share of the largest.
_TOL = 1e-6
# Kernel density estimate: rows that it is made of, rows that judge bandwidths, and how many.
_REFERENCES = 5000
_JUDGES = 1000
_BANDWIDTHS = 12


def mixture_density_weights(X: Floats, models: ClassModels) -> Floats:
    """Weights proportional to the density of the mixture of all classes, of sum 1."""
    priors = np.log(models.counts / models.counts.sum())
    logs = models.log_densities(X) + priors
    return _normalized(np.logaddexp.reduce(logs, axis=1))


def kernel_density_weights(Z: Floats, rank: int, rng: np.random.RandomState) -> Floats:
    r"""Weights proportional to a kernel density estimate, of sum 1.

    .. math:: w_i \propto \sum_j \exp(-\lVert z_i - z_j \rVert^2 / \sigma^2)

    with that of 12 bandwidths σ that makes the rows likeliest when each is left out of its own
    density, which is :math:`\sigma^{-r} \sum_{j \ne i}` of the same but for a factor.

    Parameters
    ----------
    Z : ndarray of shape (n, q)
    rank : int
        Dimension r of the space that the rows span.
    rng : RandomState
        Draws the rows j if there are more than 5000, and the 1000 rows that judge bandwidths.

    Returns
    -------
    ndarray of shape (n,)

    Notes
    -----
    O(n m) time for m ≤ 5000 rows j, on all cores; memory for a block of distances in each.
    """
    n = len(Z)
    references = drawn_rows(n, _REFERENCES, rng)
    judges = drawn_rows(n, _JUDGES, rng)
    squared = _squared_distances(Z, judges, references)
    nearest = squared.min(axis=1)
    nearest = nearest[(nearest > 0) & np.isfinite(nearest)]
    if len(nearest) == 0:  # rows coincide: no place is denser than another
        return np.full(n, 1 / n)
    farthest = squared[np.isfinite(squared)].max()
    widths = np.geomspace(np.median(nearest) / 4, farthest, _BANDWIDTHS)
    likelihoods = [
        _log_sums(squared / width).sum() - len(judges) * rank / 2 * np.log(width)
        for width in widths
    ]
    width = widths[int(np.argmax(likelihoods))]
    logs = np.empty(n)

    def work(rows: slice) -> None:
        own = np.arange(rows.start, rows.stop)
        others = _log_sums(_squared_distances(Z, own, references) / width)
        logs[rows] = np.logaddexp(others + np.log(n / len(references)), 0)

    for_each_block(work, n, block_rows(16 * len(references)))
    return _normalized(logs)


def drawn_rows(n: int, most: int, rng: np.random.RandomState) -> Integers:
    """Numbers of all rows, or of so many at random, increasing."""
    return np.arange(n) if n <= most else np.sort(rng.choice(n, most, replace=False))


def _squared_distances(Z: Floats, rows: Integers, references: Integers) -> Floats:
    """From some rows to others; infinite from a row to itself."""
    squared = squared_distances(Z[rows], Z[references])
    squared[rows[:, None] == references] = np.inf
    return np.asarray(squared)


def _log_sums(exponents: Floats) -> Floats:
    """Logarithm of the sum over each row of exp(−exponent)."""
    least = exponents.min(axis=1)
    return np.asarray(np.log(np.exp(least[:, None] - exponents).sum(axis=1)) - least)


def _normalized(logs: Floats) -> Floats:
    weights = np.exp(logs - logs.max())
    return np.asarray(weights / weights.sum())


@one_blas_thread()
def left_out_classes(Z: Floats, classes: Integers, n_neighbors: int) -> Integers:
    """Class of every row by its nearest neighbours among the others."""
    k = min(n_neighbors, len(Z) - 1)
    indices = NearestNeighbors(n_neighbors=k).fit(Z).kneighbors(return_distance=False)
    return majority(classes[indices])


def majority(votes: Integers) -> Integers:
    """The most frequent class in each row; of equally frequent ones, that which comes first."""
    counts = (votes[:, :, None] == votes[:, None, :]).sum(axis=2)
    return np.asarray(votes[np.arange(len(votes)), counts.argmax(axis=1)])


def density_weighted_metric(
    X: Floats,
    models: ClassModels,
    density: Callable[[Floats], Floats],
    interpolation: float,
    n_iter: int,
) -> tuple[Floats, Floats, int]:
    """Algorithm 1: weights by a density that is estimated under the metric they give.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    models : ClassModels
    density : callable
        Weights of sum 1 for rows as they are under the current metric.
    interpolation : float
    n_iter : int
        Most rounds. They end before when the metric is at rest.

    Returns
    -------
    metric : ndarray of shape (d, d)
    weights : ndarray of shape (n,)
    n_rounds : int

    Notes
    -----
    Local metrics are computed once and kept while they take less than 256 megabytes; otherwise
    they are computed again in every round.
    """
    n, d = X.shape
    kept = None
    if n * d * d <= _MOST_NUMBERS:
        kept = np.empty((n, d, d))

        def work(rows: slice) -> None:
            kept[rows] = local_metrics(bias_matrices(X[rows], models), interpolation)

        for_each_block(work, n, rows_at_a_time(models))
    metric: Floats = np.eye(d)
    n_rounds = 0
    at_rest = False
    while n_rounds < n_iter and not at_rest:
        before = metric
        values, vectors = np.linalg.eigh(metric)
        weights = density((X @ vectors) * np.sqrt(np.maximum(values, 0)))
        if kept is None:
            metric = mean_local_metric(X, models, weights, interpolation)
        else:
            metric = (weights @ kept.reshape(n, d * d)).reshape(d, d)
            metric = (metric + metric.T) / 2
        at_rest = np.abs(metric - before).max() <= _TOL * np.abs(metric).max()
        n_rounds += 1
    return metric, weights, n_rounds
