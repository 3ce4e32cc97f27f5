"""Kernels that G-ML is compared with, each with a support vector machine.

Every kernel is scaled to a mean diagonal of one, so that one C suits all.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC
from sklearn.utils.extmath import row_norms

from benchmarks.papers.lu2009_geometry_aware.splits import Rows, percentage
from nearkin.rows.sparse import to_dense
from nearkin.spaces.graph import diffusion
from nearkin.spaces.kernels import bind_kernel

C = 100
DIFFUSION_TIMES = 10 ** np.linspace(-1, 2, 7)
N_FOLDS = 5
# In units of one over the mean squared distance.
RBF_WIDTHS = 2.0 ** np.arange(-4, 5)


def machine_error(K: Rows, y: Rows, labelled: Rows) -> float:
    """Error in % on the other rows; K holds all rows against the labelled ones."""
    rest = np.setdiff1d(np.arange(len(y)), labelled)
    return percentage(predicted(K[labelled], y[labelled], K[rest]) != y[rest])


def predicted(K_known: Rows, y_known: Rows, K: Rows) -> Rows:
    """The class whose machine, of that class against the rest, is the surest."""
    classes = np.unique(y_known)
    if len(classes) == 1:
        return np.repeat(classes, len(K))
    # Of two classes one machine tells both.
    sides = classes[1:] if len(classes) == 2 else classes
    values = np.stack(
        [
            SVC(C=C, kernel="precomputed").fit(K_known, y_known == side).decision_function(K)
            for side in sides
        ]
    )
    return classes[(values[0] > 0).astype(int)] if len(sides) == 1 else classes[values.argmax(0)]


def of_weights(V: Rows, weights: Rows, labelled: Rows) -> Rows:
    """``V diag(weights) Vᵀ``, all rows against the labelled ones."""
    return of_features(V * np.sqrt(weights), labelled)


def of_features(F: Rows, labelled: Rows) -> Rows:
    return F @ F[labelled].T / np.mean(np.einsum("ij,ij->i", F, F))


def linear(X: Any, y: Rows, labelled: Rows) -> Rows:
    return inner_products(X, labelled) / np.mean(squared_norms(X))


def quadratic(X: Any, y: Rows, labelled: Rows) -> Rows:
    size = np.mean(squared_norms(X))
    diagonal = (1 + squared_norms(X) / size) ** 2
    return (1 + inner_products(X, labelled) / size) ** 2 / np.mean(diagonal)


def inner_products(X: Any, labelled: Rows) -> Rows:
    return np.asarray(to_dense(X @ X[labelled].T))


def squared_norms(X: Any) -> Rows:
    return row_norms(X, squared=True)


def cross_validated_rbf(X: Any, y: Rows, labelled: Rows) -> Rows:
    squared = euclidean_distances(X, X[labelled], squared=True)
    gammas = RBF_WIDTHS * bind_kernel("rbf", X, gamma="mean").gamma
    return cross_validated(lambda gamma: np.exp(-gamma * squared), gammas, y, labelled)


def cross_validated_diffusion(eigenvalues: Rows, V: Rows, y: Rows, labelled: Rows) -> Rows:
    def kernel(time: float) -> Rows:
        return of_weights(V, diffusion(eigenvalues, V, y, time=time), labelled)

    return cross_validated(kernel, DIFFUSION_TIMES, y, labelled)


def cross_validated(
    kernel: Callable[[float], Rows], settings: Rows, y: Rows, labelled: Rows
) -> Rows:
    """The kernel with the least error in five folds of the labelled rows; of equals, the middle."""
    y_known = y[labelled]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a class may have fewer rows than there are folds
        folds = list(StratifiedKFold(N_FOLDS, shuffle=True, random_state=0).split(y_known, y_known))
    wrong = np.zeros(len(settings))
    for i, setting in enumerate(settings):
        K = kernel(setting)[labelled]
        for known, left_out in folds:
            guess = predicted(K[np.ix_(known, known)], y_known[known], K[np.ix_(left_out, known)])
            wrong[i] += np.sum(guess != y_known[left_out])
    best = np.flatnonzero(wrong == wrong.min())
    return kernel(settings[best[len(best) // 2]])


# Kernels that see no graph.
PLAIN: dict[str, Callable[[Any, Rows, Rows], Rows]] = {
    "linear": linear,
    "quadratic": quadratic,
    "rbf, cross-validated": cross_validated_rbf,
}
