import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import linear_kernel, rbf_kernel
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC

from nearkin import MultipleKernelClassifier
from nearkin.tasks.multiple_kernel import (
    combine_kernels,
    make_rbf_kernels,
    make_regional_kernels,
    split_into_binary,
)
from tests.cases import each

SHORT = (0.25, 1.0, 4.0)


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    X = 2 * (X - X.min(axis=0)) / np.ptp(X, axis=0) - 1
    return train_test_split(X, y, test_size=0.4, random_state=0, stratify=y)


@each("multi_class", ["ovr", "ovo"])
@each("kernels", ["regional", "rbf"])
def test_wine(wine, kernels, multi_class):
    X, X_new, *names = wine
    y, y_new = (np.array(["red", "white", "amber"])[y] for y in names)
    model = MultipleKernelClassifier(kernels=kernels, multi_class=multi_class, random_state=0)
    assert model.fit(X, y).score(X_new, y_new) > 0.93
    assert set(model.predict(X)) == {"red", "white", "amber"}
    assert model.gap_ <= model.tol
    assert (np.diff(model.objective_) <= 1e-4 * model.objective_[:-1]).all()
    assert model.weights_.sum() == pytest.approx(1)
    assert model.decision_function(X_new).shape == (len(X_new), 3)


def test_rows_without_a_label_are_left_out(wine):
    X, X_new, y, y_new = wine
    known = np.arange(len(y)) % 3 == 0
    alone = MultipleKernelClassifier(bandwidths=SHORT, random_state=0).fit(X[known], y[known])
    found = clone(alone).fit(X, np.where(known, y, -1))
    assert_array_equal(found.decision_function(X_new), alone.decision_function(X_new))
    assert found.score(X_new, np.where(y_new == 2, -1, y_new)) == alone.score(
        X_new[y_new < 2], y_new[y_new < 2]
    )
    with pytest.raises(ValueError, match="-1 means unknown"):
        found.fit(X, np.where(y > 0, 1, -1))
    with pytest.raises(ValueError, match=r"all rows are of one class .*at least two classes"):
        found.fit(X, np.zeros(len(X)))


def test_any_functions_can_be_kernels_and_one_is_the_plain_machine(wine):
    X, X_new, y, y_new = wine
    model = MultipleKernelClassifier(kernels=[linear_kernel], multi_class="ovo", C=2.0).fit(X, y)
    plain = SVC(kernel="linear", C=2.0).fit(X, y)
    assert_array_equal(model.predict(X_new), plain.predict(X_new))

    def nonsense(A, B):
        return np.ones((len(A), len(B)))

    model = MultipleKernelClassifier(kernels=[nonsense, rbf_kernel]).fit(X, y)
    assert model.weights_[1] > 0.9
    assert model.score(X_new, y_new) > 0.9


def test_problems_of_each_kind():
    classes = np.array([0, 1, 2, 1])
    ovr = split_into_binary(classes, "ovr")
    signs = [[1, -1, -1, -1], [-1, 1, -1, 1], [-1, -1, 1, -1]]
    assert [labels.tolist() for _, labels in ovr] == signs
    ovo = split_into_binary(classes, "ovo")
    assert [rows.tolist() for rows, _ in ovo] == [[0, 1, 3], [0, 2], [1, 2, 3]]
    assert len(split_into_binary(np.array([0, 1]), "ovr")) == 1


def test_regions_have_metrics_of_their_own(wine):
    X, _, y, _ = wine
    kernels = make_regional_kernels(X, y, SHORT, 3, random_state=0)
    assert len(kernels) == 9
    for kernel in kernels:
        K = kernel(X[:20], X[:20])
        assert_allclose(np.diag(K), 1)
        assert np.linalg.eigvalsh(K).min() > -1e-10
    assert np.abs(kernels[0](X[:5], X[5:9]) - kernels[3](X[:5], X[5:9])).max() > 1e-3


def test_bandwidths_are_in_units_of_the_mean_squared_distance(wine):
    X, *_ = wine
    kernel = make_rbf_kernels(X, [0.5])[0]
    squared = ((X[:, None] - X) ** 2).sum(axis=2)
    assert_allclose(kernel(X, X), np.exp(-0.5 * squared / squared.mean()))


def test_matrices_that_do_not_fit_are_computed_anew(wine, monkeypatch):
    X, X_new, y, _ = wine
    model = MultipleKernelClassifier(n_regions=3, bandwidths=SHORT, random_state=0)
    kept = clone(model).fit(X, y)
    again = clone(model).fit(X, y)  # of one seed
    assert_array_equal(kept.decision_function(X_new), again.decision_function(X_new))
    monkeypatch.setattr("nearkin.tasks.multiple_kernel._KEPT_BYTES", 0)
    anew = clone(model).fit(X, y)
    assert_allclose(anew.weights_, kept.weights_)
    assert_array_equal(anew.predict(X_new), kept.predict(X_new))


# Bad input


def test_too_few_steps_are_told_of_and_weights_to_start_from_save_some(wine):
    X, _, y, _ = wine
    model = MultipleKernelClassifier(max_iter=1, tol=1e-9, random_state=0)
    with pytest.warns(ConvergenceWarning, match="duality gap") as record:
        model.fit(X, y)
    assert record[0].filename == __file__
    first = MultipleKernelClassifier(n_regions=3, C=1.0, random_state=0).fit(X, y)
    cold = clone(first).set_params(C=10.0).fit(X, y)
    warm = clone(first).set_params(C=10.0, init=cold.weights_).fit(X, y)
    assert warm.n_iter_ < cold.n_iter_ / 2
    assert warm.objective_[-1] == pytest.approx(cold.objective_[-1], rel=2 * cold.tol)


@each(
    ("parameters", "message"),
    [
        ({"kernels": []}, "at least one"),
        ({"kernels": ["rbf"]}, "list of functions"),
        ({"bandwidths": (1.0, -1.0)}, "positive numbers"),
        ({"bandwidths": ()}, "positive numbers"),
        ({"init": [1.0, 1.0]}, r"init must be 15 weights.* it has shape \(2,\)"),
        ({"bandwidths": SHORT, "init": [1, -1, 1]}, "not negative and not all"),
        ({"kernels": [lambda A, B: A @ A.T[:, :1]]}, r"kernels\[0\] must give"),
        ({"kernels": [lambda A, B: np.full((len(A), len(B)), np.nan)]}, r"kernels\[0\] must give"),
    ],
)
def test_wrong_parameters(wine, parameters, message):
    X, _, y, _ = wine
    with pytest.raises(ValueError, match=message):
        MultipleKernelClassifier(**parameters).fit(X, y)


@each("n_regions", [1, 4, 99])
def test_identical_rows_and_constant_columns(n_regions):
    X = np.column_stack([np.repeat([0.0, 1, 2], 4), np.ones(12)])
    y = np.repeat([0, 1, 2], 4)
    model = MultipleKernelClassifier(n_regions=n_regions, bandwidths=SHORT, random_state=0)
    assert model.fit(X, y).score(X, y) == 1
    X, y = np.ones((6, 2)), np.array([0, 1] * 3)
    assert np.isfinite(model.fit(X, y).decision_function(X)).all()


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


def test_one_kernel_needs_no_step():
    kernels, problems = kernels_and_problems()
    found = combine_kernels(1, kernels.__getitem__, problems, C=1.0, max_iter=10, tol=1e-3)
    assert_allclose(found.weights, [1])
    assert len(found.objective) == 1
    assert found.converged
