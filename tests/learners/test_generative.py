import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist
from sklearn.neighbors import KernelDensity

from nearkin import Generative, Pairs
from nearkin.datasets import make_three_normal
from nearkin.learners.generative import infer_classes
from nearkin.pairs.supervision import gather_evidence
from nearkin.solvers import local_metrics as local
from nearkin.solvers.class_gaussians import fit_class_models
from nearkin.solvers.local_metrics import (
    bias_matrices,
    kernel_density_weights,
    local_metrics,
    local_neighbors,
    majority_vote,
    mean_local_metric,
    mixture_density_weights,
    predict_left_out_classes,
)
from tests.cases import each

COMBINE = ["uniform", "gmm", "kde", "local"]


# Two long classes side by side, and a column of noise larger than what tells them apart.
Y = np.arange(120) % 2
X = np.random.RandomState(0).standard_normal((120, 3)) * [0.3, 3.0, 2.0] + [100, 0, -7]
X[:, 0] += 1.2 * Y


# Whose class is known


def groups(evidence):
    rows, classes = infer_classes(evidence)
    return {frozenset(rows[classes == c].tolist()) for c in np.unique(classes)}


def test_must_links_make_classes_of_their_groups_where_labels_do_not():
    pairs = Pairs([(0, 1), (1, 2), (5, 6)], cannot_link=[(8, 9)])
    assert groups(gather_evidence(10, pairs=pairs)) == {frozenset({0, 1, 2}), frozenset({5, 6})}
    one_class = gather_evidence(5, np.array([3, 3, -1, -1, -1]), Pairs([(3, 4)]))
    assert groups(one_class) == {frozenset({0, 1}), frozenset({3, 4})}


def test_must_links_spread_labels_which_win_against_them():
    y = np.array([0, 1, 1, -1, -1, -1, -1, -1])
    pairs = Pairs([(0, 3), (3, 4), (6, 7)])
    rows, classes = infer_classes(gather_evidence(8, y, pairs))
    assert_array_equal(rows, [0, 1, 2, 3, 4])  # rows 6 and 7 may be of either class
    assert_array_equal(classes, [0, 1, 1, 0, 0])
    with pytest.warns(UserWarning, match="pairs contradict the labels"):
        evidence = gather_evidence(5, np.array([0, 1, 1, 0, -1]), Pairs([(0, 1), (1, 4)]))
    rows, classes = infer_classes(evidence)
    assert_array_equal(rows, [0, 1, 2, 3])
    assert_array_equal(classes, [0, 1, 1, 0])


@each(
    ("evidence", "found"),
    [
        ({"y": [1] * 120}, "labels of one class"),
        ({"pairs": Pairs([(0, 1), (1, 2)])}, "one group of linked rows"),
        ({"pairs": Pairs(cannot_link=[(0, 1)])}, "none"),
    ],
)
def test_one_class_is_too_few(evidence, found):
    with pytest.raises(ValueError, match=f"at least two classes, but {found} was given: give lab"):
        Generative().fit(X, **evidence)


# The metric


def test_metric_is_the_mean_of_local_metrics():
    metric = Generative().fit(X, Y)
    models = fit_class_models(X, Y)
    expected = local_metrics(bias_matrices(X, models)).mean(axis=0)
    assert_allclose(metric.metric_, expected, rtol=1e-6, atol=1e-9)
    assert_allclose(metric.components_.T @ metric.components_, metric.metric_, atol=1e-9)
    difference = X[:5] - X[5:10]
    squared = np.einsum("nd,de,ne->n", difference, metric.metric_, difference)
    assert_allclose(metric.pair_distance(X[:5], X[5:10]) ** 2, squared)
    assert_allclose(metric.mean_, X.mean(axis=0))
    assert_allclose(metric.models_.means, models.means)
    assert metric.n_iter_ == 1
    assert not hasattr(metric, "weights_")
    for share in (0.3, 1):
        mixed = Generative(interpolation=share).fit(X, Y).metric_
        assert_allclose(mixed, (1 - share) * metric.metric_ + share * np.eye(3), atol=1e-12)


def test_rows_of_unknown_class_are_not_used():
    partial = np.where(np.arange(120) < 70, Y, -1)
    metric = Generative().fit(X, partial)
    alone = Generative().fit(X[:70], Y[:70])
    assert_allclose(metric.metric_, alone.metric_, rtol=1e-8, atol=1e-10)
    assert metric.kneighbors(X[70:])[1].max() < 70


# Weights by density


@each("combine", ["gmm", "kde"])
def test_metric_is_the_weighted_mean(combine, monkeypatch):
    partial = np.where(np.arange(120) < 100, Y, -1)
    metric = Generative(combine=combine, random_state=0).fit(X, partial)
    assert_array_equal(metric.weights_[100:], 0)
    assert_allclose(metric.weights_.sum(), 1)
    expected = mean_local_metric(X, metric.models_, metric.weights_)
    assert_allclose(metric.metric_, expected, rtol=1e-6, atol=1e-9)
    assert 1 <= metric.n_iter_ <= 20
    # Local metrics that are too many to be kept are computed in every round.
    monkeypatch.setattr(local, "_MOST_NUMBERS", 0)
    again = Generative(combine=combine, random_state=0).fit(X, partial)
    assert again.n_iter_ == metric.n_iter_
    assert_allclose(again.metric_, metric.metric_, rtol=1e-6, atol=1e-9)


def test_kernel_weights_are_densities_of_the_likeliest_bandwidth():
    rng = np.random.RandomState(0)
    Z = rng.standard_normal((30, 2))
    weights = kernel_density_weights(Z, 2, rng)

    def left_out(width):
        # Scikit-learn's kernel is exp(−d² / 2h²), ours exp(−d² / σ²).
        model = KernelDensity(bandwidth=np.sqrt(width / 2))
        return sum(model.fit(np.delete(Z, i, 0)).score(Z[i : i + 1]) for i in range(30))

    squared = cdist(Z, Z) ** 2
    nearest = np.median(np.sort(squared, axis=1)[:, 1])
    width = max(np.geomspace(nearest / 4, squared.max(), 12), key=left_out)
    densities = np.exp(KernelDensity(bandwidth=np.sqrt(width / 2)).fit(Z).score_samples(Z))
    assert_allclose(weights, densities / densities.sum(), rtol=1e-8)


def test_kernel_weights_of_many_rows_come_from_some(monkeypatch):
    Z = np.random.RandomState(0).standard_normal((400, 1))
    exact = kernel_density_weights(Z, 1, np.random.RandomState(0))
    monkeypatch.setattr(local, "_REFERENCES", 150)
    monkeypatch.setattr(local, "_JUDGES", 50)
    some = kernel_density_weights(Z, 1, np.random.RandomState(0))
    assert_allclose(some.sum(), 1)
    assert np.corrcoef(exact, some)[0, 1] > 0.9
    for Z in (np.zeros((5, 2)), np.array([[1.0], [2.0]])):  # no row is denser
        assert_allclose(kernel_density_weights(Z, 1, np.random.RandomState(0)), 1 / len(Z))


def test_mixture_weights_are_densities_and_rounds_end_when_the_metric_is_at_rest():
    models = fit_class_models(X, Y)
    densities = np.exp(models.log_densities(X)).mean(axis=1)  # classes of equal size
    assert_allclose(mixture_density_weights(X, models), densities / densities.sum())
    rested, one = (Generative(combine="kde", n_iter=n, random_state=0).fit(X, Y) for n in (200, 1))
    assert one.n_iter_ == 1 < rested.n_iter_ < 200
    assert np.abs(one.metric_ - rested.metric_).max() > 1e-6


def test_left_out_classes_are_by_the_other_rows():
    Z = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [0.15]])
    classes = np.array([0, 0, 0, 1, 1, 1])
    assert_array_equal(predict_left_out_classes(Z, classes, 1)[[3, 4]], 1)
    assert_array_equal(predict_left_out_classes(Z, classes, 2)[5], 0)
    votes = np.array([[2, 0, 0, 2, 1], [1, 2, 2, 2, 1], [3, 1, 0, 2, 4]])
    assert_array_equal(majority_vote(votes), [2, 2, 3])  # the nearest of equals


# Neighbours and classes of new rows


@each("combine", ["uniform", "gmm", "kde"])
def test_neighbors_are_those_of_the_learned_space(combine):
    metric = Generative(combine=combine, random_state=0).fit(X[:90], Y[:90])
    distances, rows = metric.kneighbors(X[90:], 7)
    D = metric.distance(X[90:], X[:90])
    assert_array_equal(rows, np.argsort(D, axis=1)[:, :7])
    assert_allclose(distances, np.sort(D, axis=1)[:, :7], rtol=1e-6)
    assert_array_equal(metric.predict(X[90:]), majority_vote(Y[rows[:, :5]]))


def test_local_neighbors_are_those_under_the_metric_at_each_row():
    metric = Generative(combine="local", interpolation=0.4).fit(X[:90], Y[:90])
    distances, rows = metric.kneighbors(X[90:], 3)
    M = local_metrics(bias_matrices(X[90:], metric.models_), 0.4)
    for x, matrix, near, found in zip(X[90:], M, distances, rows, strict=True):
        squared = np.array([(x - row) @ matrix @ (x - row) for row in X[:90]])
        assert_array_equal(found, np.argsort(squared)[:3])
        assert_allclose(near**2, np.sort(squared)[:3], rtol=1e-8)
    assert_allclose(metric.metric_, mean_local_metric(X[:90], metric.models_, None, 0.4), rtol=1e-6)
    _, together = local_neighbors(X, X, metric.models_, 0.1, 4)  # by blocks
    one_by_one = [local_neighbors(x[None], X, metric.models_, 0.1, 4)[1] for x in X]
    assert_array_equal(together, np.concatenate(one_by_one))
    assert_array_equal(together[:, 0], np.arange(120))


@each("combine", COMBINE)
def test_labels_come_back_as_they_were_given(combine):
    learner, names = Generative(combine=combine, random_state=0), np.array(["zebra", "ant"])
    for labels in (names[Y], names[Y].astype(object), names[Y].tolist()):
        metric = learner.fit(X, labels)
        assert set(metric.classes_) == {"ant", "zebra"}
        assert (metric.predict(X) == names[Y]).mean() > 0.9
    mixed = learner.fit(X, [None, *(7 - 4 * Y[1:]).tolist()])
    assert_array_equal(mixed.classes_, [3, 7])
    assert set(mixed.predict(X)) == {3, 7}
    linked = learner.fit(X, pairs=Pairs([(i, i + 2) for i in range(40)]))
    assert_array_equal(linked.classes_, [0, 1])  # groups have numbers
    assert (linked.predict(X[:40]) == Y[:40]).mean() > 0.9


def test_more_neighbors_than_rows_are_all_rows():
    X = np.array([[0.0, 0], [1, 0], [5, 5], [6, 5]])
    metric = Generative(n_neighbors=50).fit(X, [0, 0, 1, 1])
    assert metric.kneighbors(X)[1].shape == (4, 4)
    with pytest.raises(ValueError, match="n_neighbors=0 must be at least 1"):
        metric.kneighbors(X, 0)


# Little or odd data


@each("combine", COMBINE)
@each("covariance", ["shrunk", "full", "shared"])
@each(
    "X",
    [
        np.array([[0.0, 1.0], [1.0, 3.0]]),
        np.zeros((6, 2)),
        np.column_stack([np.arange(6.0), np.full(6, 0.1)]),
        np.random.RandomState(0).standard_normal((6, 12)),
        np.random.RandomState(0).standard_normal((6, 3)) * [1e-8, 1, 1e8],
        np.repeat([[1.0, 2.0], [3.0, 5.0]], [3, 3], axis=0),
    ],
    ids=["two rows", "zeros", "constant", "wide", "scales", "copies"],
)
@pytest.mark.filterwarnings("ignore::nearkin.ScaleWarning")  # which "scales" deserves
def test_little_or_odd_data_gives_a_finite_metric(combine, covariance, X):
    y = np.arange(len(X)) // (len(X) // 2)
    metric = Generative(combine=combine, covariance=covariance, random_state=0).fit(X, y)
    assert np.isfinite(metric.metric_).all()
    assert (np.linalg.eigvalsh(metric.metric_) > 0).all()
    assert np.isfinite(metric.transform(X)).all()
    assert set(metric.predict(X)) <= {0, 1}
    assert np.isfinite(metric.threshold_)


@each("combine", COMBINE)
def test_rows_that_are_all_different_or_far_have_a_class(combine):
    metric = Generative(combine=combine, n_neighbors=1, random_state=0).fit(X, np.arange(120))
    assert np.isfinite(metric.metric_).all()
    assert_array_equal(metric.predict(X), np.arange(120))
    metric = Generative(combine=combine, random_state=0).fit(X, Y)
    far = np.array([[1e6, 0, 0], [-1e100, 3, 0]])
    assert np.isfinite(metric.kneighbors(far)[0]).all()
    assert set(metric.predict(far)) <= {0, 1}


def test_single_precision_is_computed_in_double():
    rows = X.astype(np.float32)
    metric = Generative(combine="kde", random_state=0).fit(rows, Y)
    double = Generative(combine="kde", random_state=0).fit(rows.astype(np.float64), Y)
    assert_allclose(metric.metric_, double.metric_, rtol=1e-6)
    assert metric.transform(rows).dtype == metric.kneighbors(rows)[0].dtype == np.float32


def test_the_mean_of_many_metrics_is_that_of_a_sample(monkeypatch):
    X, y = make_three_normal(random_state=0)
    whole = Generative(random_state=0).fit(X, y).metric_
    monkeypatch.setattr("nearkin.solvers.local_metrics._WORK", 1)
    sampled = Generative(random_state=0).fit(X, y).metric_
    assert 0 < np.abs(sampled - whole).max() < 0.2 * np.abs(whole).max()
