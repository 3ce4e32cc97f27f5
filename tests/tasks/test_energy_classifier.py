import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_digits, load_wine
from sklearn.frozen import FrozenEstimator
from sklearn.preprocessing import StandardScaler

from nearkin import LMNN, EnergyClassifier, KernelBeta
from nearkin.solvers import energy
from nearkin.solvers.energy import FACTORS, choose_margin, class_distances, energies, gather_members
from tests.cases import each


def plain_energy(x, label, X, y, k, margin, push):
    """The three sums, one term after the other."""

    def squared(a, b):
        return sum((a - b) ** 2)

    def nearest(a, rows):
        return sorted(squared(a, b) for b in rows)[:k]

    targets = nearest(x, X[y == label])
    scale = k / len(targets)
    total = (1 - push) * scale * sum(targets)
    for row in X[y != label]:
        for target in targets:
            total += push * scale * max(0.0, margin + target - squared(x, row))
    for i in np.flatnonzero(y != label):
        theirs = nearest(X[i], X[(y == y[i]) & (np.arange(len(X)) != i)])
        for target in theirs:
            total += push * k / len(theirs) * max(0.0, margin + target - squared(x, X[i]))
    return total


def random_case(seed=0, n=50, sizes=(20, 17, 10, 2, 1)):
    rng = np.random.RandomState(seed)
    y = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    return rng.standard_normal((n, 3)) + y[:, None] / 2, y, rng.standard_normal((9, 3))


@each("k", [1, 3])
@each("margin", [0.0, 0.8, 5.0])
def test_energies_are_the_plain_sums(k, margin, monkeypatch):
    X, y, X_new = random_case()
    members, _ = gather_members(X, y, k)
    found = energies(X_new, members, np.array([margin, 2.0]), 0.3)
    expected = [[plain_energy(x, c, X, y, k, margin, 0.3) for c in range(5)] for x in X_new]
    assert_allclose(found[0], expected)
    monkeypatch.setattr(energy, "_BLOCK_BYTES", 900)  # several blocks of points
    assert_allclose(energies(X_new, members, np.array([margin, 2.0]), 0.3), found)


def test_energies_without_the_row_itself_are_those_of_the_other_rows():
    X, y, _ = random_case()
    members, order = gather_members(X, y, 3)
    rows = np.arange(50)
    found = energies(members.Z, members, np.array([1.5]), 0.6, rows)[0]
    for place, i in enumerate(order):
        others = np.arange(50) != i
        for c in range(5):
            if (y[others] == c).any():
                expected = plain_energy(X[i], c, X[others], y[others], 3, 1.5, 0.6)
                assert_allclose(found[place, c], expected)
            else:
                assert found[place, c] == np.inf


def test_margin_is_a_multiple_of_the_median_gap():
    X, y, _ = random_case(1, n=30, sizes=(17, 13))
    members, _ = gather_members(X, y, 3)
    margin, errors = choose_margin(members, 0.5, np.random.RandomState(0))
    squared = ((X[:, None] - X) ** 2).sum(axis=2) + np.diag(np.full(30, np.inf))
    same = y[:, None] == y
    gaps = np.where(same, np.inf, squared).min(axis=1) - np.where(same, squared, np.inf).min(axis=1)
    gap = np.median(gaps)
    gap = gap if gap > 0 else np.median(np.abs(gaps))
    assert_allclose(margin, gap * FACTORS[errors.argmin()])
    assert EnergyClassifier().fit(X, y).margin_ == pytest.approx(margin)
    for factor, error in zip(FACTORS, errors, strict=True):
        wrong = 0
        for i in range(30):
            others = np.arange(30) != i
            each = [
                plain_energy(X[i], c, X[others], y[others], 3, factor * gap, 0.5) for c in (0, 1)
            ]
            wrong += int(np.argmin(each) != y[i])
        assert_allclose(error, wrong / 30)


def test_margin_by_some_of_many_rows(monkeypatch):
    X, y, _ = random_case(1, n=52, sizes=(30, 22))
    monkeypatch.setattr(energy, "_MOST_JUDGED", 20)
    one, two = (EnergyClassifier(random_state=3).fit(X, y).margin_ for _ in range(2))
    assert one == two > 0


def test_nearest_distances_by_class():
    X, y, X_new = random_case()
    members, _ = gather_members(X, y, 3)
    found = class_distances(X_new, members)
    for x, row in zip(X_new, found, strict=True):
        for c in range(5):
            squared = np.sort(((X[y == c] - x) ** 2).sum(axis=1))[:3]
            assert_allclose(row[c, : len(squared)], squared)
            assert (row[c, len(squared) :] == np.inf).all()


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def test_rows_without_a_label_are_of_no_class():
    X, y = load_digits(return_X_y=True)
    X, y, X_new, y_new = X[:600], y[:600], X[600:900], y[600:900]
    known = np.random.default_rng(0).choice(600, 50, replace=False)
    partly = np.full(600, -1)
    partly[known] = y[known]
    alone = EnergyClassifier(random_state=0).fit(X[known], y[known])
    strings = np.where(partly < 0, "", partly.astype(str))
    for labels in (partly, np.where(partly < 0, np.nan, partly), strings, strings.tolist()):
        found = EnergyClassifier(random_state=0).fit(X, labels)
        assert found.classes_.astype(int).tolist() == list(range(10))
        assert_array_equal(found.predict(X_new).astype(int), alone.predict(X_new))
    judged = np.where(np.arange(300) % 2, -1, y_new)
    assert found.fit(X, partly).score(X_new, judged) == alone.score(X_new[::2], y_new[::2])
    weight = np.arange(300.0)
    expected = alone.score(X_new[::2], y_new[::2], weight[::2])
    assert found.score(X_new, judged, weight) == pytest.approx(expected)
    with pytest.raises(ValueError, match="score needs labels, but all in y are unknown"):
        found.score(X_new, judged * 0 - 1)
    # A learner of ours sees all rows, another's only those with a label.
    metric = EnergyClassifier(KernelBeta(random_state=0)).fit(X, partly).metric_
    assert (metric.learned_from_["rows"], metric.learned_from_["labels"]) == (600, 50)
    scaled = EnergyClassifier(StandardScaler(), random_state=0).fit(X, partly)
    assert scaled.metric_.n_samples_seen_ == 50


def test_decision_function_agrees_with_predictions_of_any_labels(wine):
    X, y = wine
    three = EnergyClassifier().fit(X, y)
    assert_array_equal(three.decision_function(X).argmax(axis=1), three.predict(X))
    names = np.array(["red", "white", "amber"])
    named = EnergyClassifier().fit(X, names[y])
    assert named.classes_.tolist() == ["amber", "red", "white"]
    assert_array_equal(named.predict(X), names[three.predict(X)])
    two = EnergyClassifier().fit(X, y == 0)
    assert two.decision_function(X).shape == (len(X),)
    assert_array_equal(two.decision_function(X) > 0, two.predict(X))


def test_metric_is_fitted_unless_it_is_already(wine):
    X, y = wine
    unfitted = EnergyClassifier(LMNN()).fit(X[::2], y[::2])
    assert not hasattr(unfitted.metric, "components_")
    metric = LMNN().fit(X[::2], y[::2])
    fitted = EnergyClassifier(metric).fit(X[::2], y[::2])
    assert fitted.metric_ is metric
    assert_array_equal(fitted.decision_function(X), unfitted.decision_function(X))
    assert not hasattr(clone(fitted).metric, "components_")
    frozen = clone(EnergyClassifier(FrozenEstimator(metric))).fit(X[::2], y[::2])
    assert_array_equal(frozen.decision_function(X), fitted.decision_function(X))
    by_hand = EnergyClassifier().fit(metric.transform(X[::2]), y[::2])
    assert_allclose(by_hand.decision_function(metric.transform(X)), fitted.decision_function(X))


def test_small_classes():
    with pytest.raises(ValueError, match=r"all rows are of one class .*at least two classes"):
        EnergyClassifier().fit(np.eye(3), np.ones(3))
    X = np.array([[0.0], [1.0], [5.0]])
    found = EnergyClassifier(n_neighbors=9).fit(X, ["a", "b", "c"])
    assert found.predict([[0.2], [0.9], [4.0]]).tolist() == ["a", "b", "c"]
    two = EnergyClassifier().fit(X[:2], [3, 1])
    assert two.predict([[-1.0], [7.0]]).tolist() == [3, 1]
    # Sums over fewer neighbours would be smaller: label 1 would win everywhere.
    X = np.array([[0.0], [0.1], [0.2], [0.3], [1.0]])
    found = EnergyClassifier(n_neighbors=4, margin=0.0).fit(X, [0, 0, 0, 0, 1])
    assert found.predict([[0.1], [0.4], [0.9]]).tolist() == [0, 0, 1]
    found = EnergyClassifier().fit(np.ones((6, 2)), [0, 0, 0, 1, 1, 1])
    assert found.margin_ == 0
    assert np.isfinite(found.decision_function([[1.0, 1.0], [2.0, 3.0]])).all()


def test_wrong_parameters(wine):
    wrong = {"metric": "euclidean", "n_neighbors": 0, "push": 1.5, "random_state": "seed"}
    for name, value in (*wrong.items(), ("margin", -1.0), ("margin", "median")):
        message = f"'{name}' parameter of EnergyClassifier must be .* Got"
        with pytest.raises(ValueError, match=message):
            EnergyClassifier(**{name: value}).fit(*wine)
