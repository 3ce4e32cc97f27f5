import re

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import check_grad
from sklearn.datasets import load_digits, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import KNeighborsClassifier

from nearkin import LMNN, Euclidean, Pairs
from nearkin.datasets import make_three_normal
from nearkin.pairs.supervision import gather_evidence
from nearkin.solvers import large_margin
from nearkin.solvers.large_margin import (
    MarginProblem,
    find_known_classes,
    find_nearest_alike,
    minimize_margin_objective,
)
from tests.cases import each


def random_problem(seed=0, n=40, d=4, k=3, n_classes=3, push=0.4, margin=0.7):
    rng = np.random.RandomState(seed)
    X, y = rng.standard_normal((n, d)), rng.randint(n_classes, size=n)
    classes = find_known_classes(n, gather_evidence(n, y))
    return MarginProblem(X, find_nearest_alike(X, classes.number, k), classes, margin, push), y


def plain_objective(L, X, targets, unlike, margin, push):
    """Sums over targets and triples, one by one."""

    def squared(i, j):
        return sum((L @ (X[i] - X[j])) ** 2)

    total = 0.0
    for i in range(len(X)):
        for j in targets[i][targets[i] >= 0]:
            total += (1 - push) * squared(i, j)
            for l in range(len(X)):  # noqa: E741
                if unlike(i, l):
                    total += push * max(0.0, margin + squared(i, j) - squared(i, l))
    return total


@each("q", [1, 2, 4])
def test_objective_is_the_plain_sum(q):
    problem, y = random_problem()
    L = np.random.RandomState(q).standard_normal((q, 4))
    value, _ = problem.objective(L, problem.find_rivals(L))
    expected = plain_objective(
        L, problem.X, problem.targets, lambda i, j: y[i] != y[j], problem.margin, problem.push
    )
    assert_allclose(value, expected)
    # Watching more pairs than needed changes nothing.
    assert_allclose(problem.objective(L, problem.find_rivals(L, ahead=2.0))[0], expected)
    rivals = problem.find_rivals(L, ahead=0.1)
    error = check_grad(
        lambda flat: problem.objective(flat.reshape(L.shape), rivals)[0],
        lambda flat: problem.objective(flat.reshape(L.shape), rivals)[1].ravel(),
        L.ravel(),
    )
    assert error < 1e-5 * np.linalg.norm(problem.objective(L, rivals)[1])


def test_objective_in_parts_is_the_same(monkeypatch):
    problem, _ = random_problem(n=120)
    L = np.eye(4)
    rivals = problem.find_rivals(L)
    whole = problem.objective(L, rivals)
    monkeypatch.setattr(large_margin, "_FEW_TERMS", 10)
    parts = problem.objective(L, rivals)
    assert_allclose(parts[0], whole[0])
    assert_allclose(parts[1], whole[1])


@each("offset", [0.0, 1e5])  # far from zero, single precision does not do
def test_rivals_by_tiles_are_those_of_all_distances(offset, monkeypatch):
    monkeypatch.setattr(large_margin, "_TILE", (7, 13))
    problem, y = random_problem(n=100)
    problem = MarginProblem(problem.X + offset, *list(vars(problem).values())[1:])
    L = np.random.RandomState(3).standard_normal((2, 4))
    Z = problem.X @ L.T
    squared = ((Z[:, None] - Z[None]) ** 2).sum(axis=2)
    reach = problem.margin + np.take_along_axis(squared, problem.targets, axis=1).max(axis=1)
    near = (squared < np.maximum(reach[:, None], reach)) & (y[:, None] != y)
    expected = set(zip(*np.nonzero(np.triu(near)), strict=True))
    left, right = problem.find_rivals(L)
    assert (left < right).all()
    found = list(zip(left, right, strict=True))
    assert len(set(found)) == len(found)
    assert expected <= set(found)
    # Rounding may let a few in that are just beyond.
    for i, j in set(found) - expected:
        assert y[i] != y[j]
        assert squared[i, j] < max(reach[i], reach[j]) * (1 + 1e-3)


def test_too_many_impostors_are_refused_with_what_can_be_changed(monkeypatch):
    monkeypatch.setattr(large_margin, "_MOST_RIVALS", 3)
    X = np.random.default_rng(0).standard_normal((40, 2))
    with pytest.raises(ValueError, match="more than 3 pairs of unlike rows") as refused:
        LMNN().fit(X, np.arange(40) % 2)
    named = re.findall(r"Lower (\w+)", str(refused.value))
    assert named
    assert set(named) <= LMNN().get_params().keys()


def test_targets_are_the_nearest_of_the_class(monkeypatch):
    rng = np.random.RandomState(0)
    X, y = rng.standard_normal((60, 3)), np.r_[np.zeros(30), np.ones(27), 2, 2, 3].astype(int)
    targets = find_nearest_alike(X, y, 4)
    for i in range(60):
        others = np.flatnonzero((y == y[i]) & (np.arange(60) != i))
        order = others[np.argsort(((X[others] - X[i]) ** 2).sum(axis=1))][:4]
        assert_array_equal(targets[i, : len(order)], order)
        assert (targets[i, len(order) :] == -1).all()
    monkeypatch.setattr(large_margin, "_FEW_ROWS", 5)
    assert_array_equal(find_nearest_alike(X, y, 4), targets)


def test_rivals_that_come_near_meanwhile_do_not_raise_the_objective(monkeypatch):
    # Long rounds and nothing watched ahead: most impostors of the end are unknown at the start.
    monkeypatch.setattr(large_margin, "AHEAD", 0.0)
    monkeypatch.setattr(large_margin, "_FIRST_ROUND", 100)
    problem, _ = random_problem(n=60, margin=1e-3)
    problem = MarginProblem(problem.X, problem.targets, problem.classes, 1e-3, 0.5)
    start = np.diag([1.0, 0.5, 2.0, 1.0])
    solution = minimize_margin_objective(problem, start, max_iter=2000, tol=1e-6)
    assert (np.diff(solution.objective) <= 0).all()
    exact, _ = problem.objective(solution.L, problem.find_rivals(solution.L))
    assert_allclose(solution.objective[-1], exact)


X, Y = load_wine(return_X_y=True)
X = (X - X.mean(axis=0)) / X.std(axis=0)


@each("n_components", [None, 2])
def test_objective_never_rises(n_components):
    metric = LMNN(n_components=n_components, n_passes=3).fit(X, Y)
    assert (np.diff(metric.objective_) <= 0).all()
    assert metric.objective_[-1] < 0.9 * metric.objective_[0]
    assert metric.components_.shape == (n_components or 13, 13)
    assert metric.n_components_ == (n_components or 13)


def test_one_pass_reaches_the_minimum_from_anywhere():
    rows, y = X[::3, :6], Y[::3]
    start = 2 * np.random.RandomState(0).standard_normal((6, 6))
    one = LMNN(n_passes=1, tol=1e-9, max_iter=20_000).fit(rows, y)
    two = LMNN(n_passes=1, tol=1e-9, max_iter=20_000, init=start).fit(rows, y)
    assert_allclose(one.objective_[-1], two.objective_[-1], rtol=1e-3)


def test_objective_is_that_of_the_metric():
    rows, y = X[::3], Y[::3]
    metric = LMNN(n_passes=1).fit(rows, y)
    targets = find_nearest_alike(rows, y, 3)
    squared = ((rows[:, None] - rows[targets]) ** 2).sum(axis=2)
    assert_allclose(metric.margin_, squared.mean())
    expected = plain_objective(
        metric.components_, rows, targets, lambda i, j: y[i] != y[j], metric.margin_, 0.5
    )
    assert_allclose(metric.objective_[-1], expected / metric.margin_)


def test_neighbours_vote_better_in_fewer_dimensions_too():
    rng = np.random.RandomState(0)
    y = np.arange(400) % 2
    X = rng.standard_normal((400, 8)) * [1, 1, 9, 9, 9, 9, 9, 9]
    X[:, 0] += 4 * y
    for n_components in (None, 2):
        metric = LMNN(n_components=n_components).fit(X[:300], y[:300])
        Z = metric.transform(X)
        votes = KNeighborsClassifier(3).fit(Z[:300], y[:300]).score(Z[300:], y[300:])
        plain = KNeighborsClassifier(3).fit(X[:300], y[:300]).score(X[300:], y[300:])
        assert votes > 0.9 > 0.8 > plain


def test_earlier_result_is_a_start_from_which_little_is_left():
    first = LMNN(n_passes=1, tol=1e-6, max_iter=5000).fit(X, Y)
    again = LMNN(n_passes=1, init=first.components_).fit(X, Y)
    assert_allclose(again.objective_[0], first.objective_[-1])
    assert again.n_iter_ <= 10


def test_classes_from_pairs_and_labels():
    pairs = Pairs([(0, 1), (1, 2), (3, 4), (6, 7), (9, 10), (10, 11)], [(0, 3), (5, 6), (1, 2)])
    #             0   1   2   3   4   5   6   7  8   9  10  11
    y = np.array([-1, -1, -1, -1, -1, -1, 5, -1, 9, 5, -1, 9])
    with pytest.warns(UserWarning, match="contradict"):
        evidence = gather_evidence(12, y, pairs)
    classes = find_known_classes(12, evidence)
    # Row 10 is tied to two labels: it could be either.
    assert_array_equal(classes.rows, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11])
    number = dict(zip(classes.rows.tolist(), classes.number.tolist(), strict=True))
    assert number[0] == number[1] == number[2]
    assert number[3] == number[4]
    assert number[6] == number[7] == number[9] == 0
    assert number[8] == number[11] == 1
    assert len({number[0], number[3], number[5], 0, 1}) == 5
    known = {tuple(divmod(int(key), classes.n_classes)) for key in classes.unlike}
    expected = {(number[0], number[3]), (number[5], 0)}
    assert known == expected | {(b, a) for a, b in expected}


def test_only_components_with_a_cannot_link_are_pushed_apart():
    X = np.array([[0.0], [0.5], [2.0], [2.5], [1.0], [1.5]])
    pairs = Pairs([(0, 1), (2, 3), (4, 5)], [(1, 2)])
    classes = find_known_classes(6, gather_evidence(6, None, pairs))
    problem = MarginProblem(X, find_nearest_alike(X, classes.number, 3), classes, 100.0, 0.5)
    found = {frozenset(pair) for pair in zip(*problem.find_rivals(np.eye(1)), strict=True)}
    assert found == {frozenset(pair) for pair in [(0, 2), (0, 3), (1, 2), (1, 3)]}


def test_all_pairs_that_labels_imply_are_as_good_as_labels():
    rows, y = X[::4], Y[::4]
    links = np.column_stack(np.triu_indices(len(rows), 1))
    alike = y[links[:, 0]] == y[links[:, 1]]
    by_pairs = LMNN().fit(rows, pairs=Pairs(links[alike], links[~alike]))
    assert_allclose(
        by_pairs.distance(rows), LMNN().fit(rows, y).distance(rows), rtol=1e-6, atol=1e-9
    )


def test_one_kind_of_knowledge_is_refused():
    X, _ = make_three_normal(30, random_state=0)
    apart = "rows that differ, but no two do: give labels of at least two classes, or cannot"
    alike = "rows that are alike, but no two are: give must-links, or labels with two rows"
    for message, n, evidence in (
        (apart, 30, {"y": np.zeros(30, dtype=int)}),
        (apart, 30, {"pairs": Pairs([(0, 1), (2, 3)])}),
        (alike, 10, {"y": np.arange(10)}),
        (alike, 10, {"pairs": Pairs(cannot_link=[(0, 1), (2, 3)])}),
        (alike, 2, {"y": [0, 1]}),
    ):
        with pytest.raises(ValueError, match=message):
            LMNN().fit(X[:n], **evidence)


def test_small_classes_copies_and_constant_columns():
    X, y = make_three_normal(40, random_state=0)
    small = y.copy()
    small[:1], small[1:3] = 7, 8  # one row, and two
    assert np.isfinite(LMNN(n_neighbors=50).fit(X, small).components_).all()
    three, one = (LMNN(n_neighbors=k).fit(X[:4], [0, 0, 1, 1]) for k in (3, 1))
    assert_array_equal(three.components_, one.components_)
    copies = np.column_stack([np.repeat(X, 5, axis=0), np.full(200, 3.0)])
    metric = LMNN().fit(copies, np.repeat(y, 5))  # all targets coincide with their row
    assert metric.margin_ > 0
    assert np.isfinite(metric.components_).all()
    assert metric.distance(copies).max() > 0


def test_identical_rows_are_told_of():
    with pytest.warns(UserWarning, match="all rows of X coincide") as record:
        metric = LMNN().fit(np.full((6, 2), 0.1), [0, 0, 0, 1, 1, 1])
    assert record[0].filename == __file__
    assert_array_equal(metric.components_.T @ metric.components_, np.eye(2))
    assert metric.n_iter_ == 0


def test_too_few_iterations_are_told_of():
    with pytest.warns(ConvergenceWarning, match="did not converge in 3 iterations") as record:
        metric = LMNN(max_iter=3).fit(X, Y)
    assert record[0].filename == __file__
    assert metric.n_iter_ == 3
    assert (np.diff(metric.objective_) <= 0).all()


@each(
    ("init", "n_components", "message"),
    [
        (np.eye(5), None, r"init has shape \(5, 5\), but X has 13 columns.*\(n, 13\) is expected"),
        (np.eye(3, 13), 2, r"init has shape \(3, 13\).*\(2, 13\) is expected"),
        (np.zeros((2, 13)), 2, "init is zero everywhere"),
        ("random", None, "'init' parameter of LMNN must be"),
    ],
)
def test_wrong_start(init, n_components, message):
    with pytest.raises(ValueError, match=message):
        LMNN(init=init, n_components=n_components).fit(X, Y)


def test_more_components_than_columns_are_all_columns():
    for n_components, init, q in ((99, "pca", 13), (3, "identity", 3)):
        metric = LMNN(n_components=n_components, init=init).fit(X, Y)
        assert metric.components_.shape == (q, 13)


def test_rows_that_come_into_one_place_leave_it_where_that_is_better():
    """From there no gradient shows the way, but some metrics have a lower objective."""
    X, y = np.random.RandomState(186).standard_normal((8, 2)), np.arange(8) % 2
    metric = LMNN(random_state=0).fit(X, y)
    assert metric.objective_[-1] < 47.4 < 48 <= metric.objective_[1]
    assert (np.diff(metric.objective_) <= 0).all()
    assert np.linalg.norm(metric.components_) > 0.1


def test_lmnn_with_fewer_rows_than_columns_stops_early_or_says_so():
    digits, y = load_digits(return_X_y=True)
    few = np.concatenate([np.flatnonzero(digit == y)[:5] for digit in range(10)])
    rest = np.setdiff1d(np.arange(len(y)), few)[::4]
    early = LMNN(random_state=0).fit(digits[few], y[few])
    with pytest.warns(UserWarning, match="LMNN has 50 rows of known class and 5[0-9] columns"):
        late = LMNN(random_state=0, max_iter=500).fit(digits[few], y[few])
    euclidean = Euclidean().fit(digits[few], y[few])
    early, late, euclidean = (m.score(digits[rest], y[rest]) for m in (early, late, euclidean))
    assert early > euclidean + 0.01 > late
