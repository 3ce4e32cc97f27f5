from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from sklearn.svm import SVC

from nearkin.tasks.multiple_kernel import combine_kernels


def kernels_and_problems(seed=0, n=40, n_classes=2):
    """Kernels of single columns, of which the first two tell the classes apart, and noise."""
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=n)
    X = rng.standard_normal((n, 5))
    X[:, 0] += 1.5 * y
    X[:, 1] -= y
    kernels = [np.exp(-((X[:, [m]] - X[:, m]) ** 2)) for m in range(5)]
    rows = np.arange(n)
    problems = [(rows, np.where(y == c, 1.0, -1.0)) for c in range(1, n_classes)]
    return kernels, problems


def objective(weights, kernels, problems, C):
    """J by its definition, the inner maximum by scikit-learn."""
    K = sum(w * k for w, k in zip(weights, kernels, strict=True))
    total = 0.0
    for rows, labels in problems:
        inner = K[np.ix_(rows, rows)]
        machine = SVC(C=C, kernel="precomputed", tol=1e-8).fit(inner, labels)
        gamma = np.zeros(len(rows))
        gamma[machine.support_] = machine.dual_coef_[0]
        total += np.abs(gamma).sum() - gamma @ inner @ gamma / 2
    return total


def test_no_other_combination_is_better():
    kernels, problems = kernels_and_problems(n=24, n_classes=3)
    found = combine_kernels(5, kernels.__getitem__, problems, C=1.0, max_iter=500, tol=1e-4)
    assert found.converged
    assert found.weights.sum() == pytest.approx(1)
    assert (found.weights >= 0).all()
    J = objective(found.weights, kernels, problems, 1.0)
    assert found.objective[-1] == pytest.approx(J, rel=1e-4)

    def over_simplex(v):
        weights = np.exp(v - v.max())
        return objective(weights / weights.sum(), kernels, problems, 1.0)

    start = np.log(found.weights + 1e-3)
    other = minimize(over_simplex, start, method="Nelder-Mead", options={"maxiter": 800}).fun
    assert other * (1 + 1e-3) >= J
    # The gap is what it says: nothing can be better by more.
    assert J - other <= found.gap * J + 1e-6


def test_objective_never_rises():
    kernels, problems = kernels_and_problems(seed=1)
    found = combine_kernels(5, kernels.__getitem__, problems, C=10.0, max_iter=60, tol=0.0)
    assert all(b <= a * (1 + 1e-4) for a, b in pairwise(found.objective))


def test_kernels_that_tell_nothing_get_nothing():
    kernels, problems = kernels_and_problems(n=120)
    found = combine_kernels(5, kernels.__getitem__, problems, C=1.0, max_iter=300, tol=1e-3)
    assert found.weights[:2].sum() > 0.8


def test_one_kernel_needs_no_step():
    kernels, problems = kernels_and_problems()
    found = combine_kernels(1, kernels.__getitem__, problems, C=1.0, max_iter=10, tol=1e-3)
    assert_allclose(found.weights, [1])
    assert len(found.objective) == 1
    assert found.converged


def test_too_few_steps_are_told_of():
    kernels, problems = kernels_and_problems()
    found = combine_kernels(5, kernels.__getitem__, problems, C=1.0, max_iter=1, tol=1e-9)
    assert not found.converged
    assert found.gap > 1e-9
