"""The paper's classifiers as its text has them: plain covariances, local metrics at all rows.

Where the covariance of a class has no inverse because a column does not vary there, or follows from
others, the text has no metric: such columns are left out.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import qr

from benchmarks.papers.shi2011_generative.local_votes import local_votes
from benchmarks.papers.shi2011_generative.methods import ENERGIES, EnergyGrid, Result, energy
from benchmarks.papers.shi2011_generative.splits import (
    Rows,
    Split,
    neighbor_classes,
    vote,
)
from nearkin.rows.distances import squared_distances
from nearkin.solvers.class_gaussians import ClassModels, fit_class_models
from nearkin.solvers.local_metrics import (
    bias_matrices,
    local_metrics,
    majority_vote,
    mean_local_metric,
    mixture_density_weights,
)

# A column whose part beyond others is no larger than this share of the largest column follows.
ROUNDED = 1e-6
# Of Algorithm 1.
ROUNDS = 20
# Voters for the new labels of M^GMM.
VOTERS = 5
WIDTHS = 25


def plain_models(X: Rows, y: Rows, identity: float = 0.0) -> ClassModels:
    """A Gaussian for each class by its own rows; with a share of the identity, if asked for."""
    return fit_class_models(X, y, covariance="full", regularization=identity)


def varying(part: Split) -> Split:
    """Without columns that are constant within a class of the training rows, or follow from others.

    A column follows from others if a linear combination of these is equal to it, but for rounding.
    """
    spreads = [np.ptp(part.X[part.y == c], axis=0) for c in np.unique(part.y)]
    kept = np.flatnonzero(np.min(spreads, axis=0) > 0)
    X = part.X[:, kept]
    _, triangle, order = qr(X - X.mean(axis=0), mode="economic", pivoting=True)
    left = np.abs(np.diag(triangle))  # of each column, beyond those before it in this order
    kept = np.sort(kept[order[: len(left)][left > ROUNDED * left[0]]])
    return part._replace(
        X=part.X[:, kept], X_valid=part.X_valid[:, kept], X_test=part.X_test[:, kept]
    )


def generative(
    part: Split, grid: EnergyGrid = ENERGIES, identity: float = 0.0, n_valid: int | None = None
) -> list[Result]:
    """GLM^INT, M^UNI and energies under it; ``n_valid`` rows choose the first's settings."""
    models = plain_models(part.X, part.y, identity)
    return [*local_votes(part, models, n_valid), *uniform(part, models, grid)]


def uniform(part: Split, models: ClassModels, grid: EnergyGrid = ENERGIES) -> list[Result]:
    """M^UNI, the mean of the metrics at all training rows, and energies under it."""
    Z = under(mean_local_metric(part.X, models), part)
    return [
        {"method": "M^UNI", **vote(part, Z)[0]},
        {"method": "M^UNI, energy", **energy(part, *Z, grid)},
    ]


def by_density(part: Split, identity: float = 0.0) -> list[Result]:
    """M^GMM and M^KDE by Algorithm 1: labels and widths by the validation rows."""
    models = plain_models(part.X, part.y, identity)
    metrics = local_metrics(bias_matrices(part.X, models))

    def by_mixture(Z: Rows, Z_valid: Rows) -> Rows:
        labels = majority_vote(neighbor_classes(Z_valid, part.y_valid, Z)[:, :VOTERS])
        labels = np.unique(labels, return_inverse=True)[1]
        return mixture_density_weights(part.X, plain_models(part.X, labels, identity))

    results = []
    for method, density in (("M^GMM", by_mixture), ("M^KDE", kernel_densities)):
        Z = under(weighted_metric(part, metrics, density), part)
        results.append({"method": method, **vote(part, Z)[0]})
    return results


def weighted_metric(part: Split, metrics: Rows, density: Callable[[Rows, Rows], Rows]) -> Rows:
    """Algorithm 1: weights by a density that is estimated under the metric they give."""
    metric: Rows = np.eye(part.X.shape[1])
    for _ in range(ROUNDS):
        Z, Z_valid, _ = under(metric, part)
        metric = np.tensordot(density(Z, Z_valid), metrics, axes=1)
    return (metric + metric.T) / 2


def kernel_densities(Z: Rows, Z_valid: Rows) -> Rows:
    """Σ_j exp(−‖z_i − z_j‖²/σ²), of sum 1; σ makes the validation rows likeliest."""
    squared, to_valid = squared_distances(Z, Z), squared_distances(Z_valid, Z)
    nearest = np.median(to_valid.min(axis=1))
    widths = np.geomspace(nearest / 10, to_valid.max(), WIDTHS)
    least = to_valid.min(axis=1, keepdims=True)

    def likelihood(width: float) -> float:
        sums = np.log(np.exp((least - to_valid) / width).sum(axis=1)) - least[:, 0] / width
        return float(np.mean(sums) - Z.shape[1] / 2 * np.log(width))

    width = widths[int(np.argmax([likelihood(width) for width in widths]))]
    densities = np.exp(-squared / width).sum(axis=1)
    return np.asarray(densities / densities.sum())


def under(metric: Rows, part: Split) -> tuple[Rows, Rows, Rows]:
    """Rows of the three parts under a metric."""
    values, vectors = np.linalg.eigh(metric)
    components = vectors * np.sqrt(np.maximum(values, 0))
    return part.X @ components, part.X_valid @ components, part.X_test @ components
