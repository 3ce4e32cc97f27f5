import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from nearkin import MPCKMeans, Pairs, ScaleWarning
from nearkin.clustering.mpck_means import (
    LEAST_SPREAD,
    PairwiseObjective,
    Seeds,
    draw_apart,
    fill_empty_clusters,
    lower_objective,
)
from nearkin.datasets import make_three_normal
from nearkin.pairs.closure import find_chunklets
from nearkin.scores import balanced_rand
from tests.cases import each

# Labels of two classes tie all rows of some checks: three clusters are too many then.
FEWER_CLUSTERS = pytest.mark.filterwarnings(
    "ignore:Only .* of n_clusters:sklearn.exceptions.ConvergenceWarning"
)


# As published, but that units do not matter.
PUBLISHED = {"start_metric": "variances", "hold": 0.0}


def oracle_objective(X, pairs, labels, centers, weights, hold=0.0, first=1.0):
    """J, term by term."""
    total = hold * len(X) * sum(weights / first - np.log(weights))
    for x, label in zip(X, labels, strict=True):
        total += sum(weights * (x - centers[label]) ** 2) - np.log(np.prod(weights))
    for (i, j), w in zip(pairs.must_link, pairs.must_weight, strict=True):
        if labels[i] != labels[j]:
            total += w * sum(weights * (X[i] - X[j]) ** 2)
    farthest = sum(weights * (X.max(axis=0) - X.min(axis=0)) ** 2)
    for (i, j), w in zip(pairs.cannot_link, pairs.cannot_weight, strict=True):
        if labels[i] == labels[j]:
            total += w * (farthest - sum(weights * (X[i] - X[j]) ** 2))
    return total


def random_case(seed, n=30, d=3, k=3, n_links=25):
    """Rows, pairs (some contradicting), labels, centres and weights without any order."""
    rng = np.random.RandomState(seed)
    X = rng.standard_normal((n, d)) * rng.uniform(0.1, 10, d) + 5 * rng.standard_normal(d)
    links = rng.permutation(n * n)[: 2 * n_links]
    links = np.column_stack([links // n, links % n])
    links = links[links[:, 0] != links[:, 1]]
    pairs = Pairs(
        links[::2],
        links[1::2],
        must_weight=rng.uniform(0.1, 3, len(links[::2])),
        cannot_weight=rng.uniform(0.1, 3, len(links[1::2])),
    )
    labels = rng.randint(k, size=n)
    return X, pairs, labels, X[:k] + 0.1, rng.uniform(0.5, 2, d) / X.var(axis=0)


def elongated(seed=0, n=200):
    """Two clusters that differ in a short axis, beside a long one and a wide noisy one."""
    rng = np.random.RandomState(seed)
    y = np.arange(n) % 2
    X = rng.standard_normal((n, 3)) * [1.0, 30.0, 100.0]
    X[:, 0] += 4 * y
    return X, y


def three_normal():
    """Rows, their classes, and pairs that say some of these."""
    X, y = make_three_normal(90, random_state=0)
    return X, y, Pairs.from_labels(y, 30, random_state=0)


def two_ways():
    """Rows that fall into two clusters by one column, and less clearly by the other."""
    rng = np.random.RandomState(0)
    strong, weak = rng.randint(2, size=(2, 200))
    X = rng.standard_normal((200, 2)) + np.column_stack([7 * strong, 5 * weak])
    return X, strong, weak


seeds = st.integers(0, 10**6)


@given(seeds)
def test_after_assignment_no_single_row_wants_another_label(seed):
    X, pairs, labels, centers, weights = random_case(seed, n=15)
    labels = PairwiseObjective(X, pairs).assign(centers, weights, None, np.random.RandomState(seed))
    least = oracle_objective(X, pairs, labels, centers, weights)
    for i in range(len(X)):
        for c in range(3):
            other = labels.copy()
            other[i] = c
            assert oracle_objective(X, pairs, other, centers, weights) >= least - 1e-9 * abs(least)


def test_objective_of_a_fit_is_the_one_of_its_attributes():
    X, pairs, *_ = random_case(1, n=60)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of contradictions
        fitted, again = (
            MPCKMeans(3, random_state=0, hold=0.0).fit(X, pairs=pairs) for _ in range(2)
        )
    assert_array_equal(fitted.objective_, again.objective_)
    assert_array_equal(fitted.labels_, again.labels_)
    state = fitted.labels_, fitted.cluster_centers_, fitted.metric_weights_
    assert_allclose(fitted.objective_[-1], oracle_objective(X, pairs, *state))
    assert len(fitted.objective_) == 2 * fitted.n_iter_ + 1
    assert (np.diff(fitted.objective_) <= 1e-9 * abs(fitted.objective_[0])).all()
    own = X - fitted.cluster_centers_[fitted.labels_]
    assert_allclose(fitted.inertia_, (own**2 * fitted.metric_weights_).sum())
    must, cannot = fitted.labels_[pairs.must_link], fitted.labels_[pairs.cannot_link]
    broken = (must[:, 0] != must[:, 1]).sum() + (cannot[:, 0] == cannot[:, 1]).sum()
    assert fitted.n_violated_ == broken > 0


def test_weights_are_at_most_a_multiple_of_the_inverse_variance():
    # The first column is perfectly explained: two values, two clusters.
    rng = np.random.RandomState(0)
    X = np.column_stack([np.arange(40) % 2, rng.standard_normal(40)])
    fitted = MPCKMeans(2, random_state=0, **PUBLISHED).fit(X)
    assert_allclose(fitted.metric_weights_[0], 1 / (LEAST_SPREAD * X[:, 0].var()))
    assert balanced_rand(X[:, 0], fitted.labels_) == 1
    # That of a constant column stays the inverse of the mean variance.
    X, y, _ = three_normal()
    # A mean of equal numbers may differ from them by rounding, which is no variation.
    with_constant = np.column_stack([X, np.full(90, 0.1)])
    plain = MPCKMeans(3, random_state=0).fit(X, y)
    fitted = MPCKMeans(3, random_state=0).fit(with_constant, y)
    assert_array_equal(fitted.labels_, plain.labels_)
    assert_allclose(fitted.metric_weights_[:-1], plain.metric_weights_)
    assert_allclose(fitted.metric_weights_[-1], 1 / X.var(axis=0).mean())


@each(
    ("options", "change", "dtype", "rtol"),
    [
        ({}, lambda X: X, np.float32, 1e-7),
        ({}, lambda X: X + 2.0**30, np.float64, 1e-6),
        ({"start_metric": "variances"}, lambda X: X * [2.0**7, 2.0**-9], np.float64, 1e-7),
        (PUBLISHED, lambda X: X * [2.0**7, 2.0**-9], np.float64, 1e-7),
    ],
)
def test_type_offset_and_units_do_not_matter(options, change, dtype, rtol):
    X, _, pairs = three_normal()
    X = np.round(X * 2**10) / 2**10  # so that adding an offset is exact
    plain, changed = (
        MPCKMeans(3, random_state=0, **options).fit(rows, pairs=pairs)
        for rows in (X, change(X).astype(dtype))
    )
    assert_array_equal(changed.labels_, plain.labels_)
    units = np.ptp(change(X), axis=0) / np.ptp(X, axis=0)
    assert_allclose(changed.metric_weights_ * units**2, plain.metric_weights_, rtol=rtol)
    assert changed.transform(change(X).astype(dtype)).dtype == dtype


def test_units_matter_from_the_identity_and_are_told_of():
    X, y, pairs = three_normal()
    X[:, 0] *= 2.0**12
    start = {"start_metric": "identity", "hold": 0.0, "random_state": 0}
    with pytest.warns(ScaleWarning, match="start_metric='variances'"):
        MPCKMeans(3, **start).fit(X, pairs=pairs)
    scaled = MPCKMeans(3, scale=True, **start).fit(X, pairs=pairs)
    assert balanced_rand(y, scaled.labels_) > 0.8


def test_weights_start_from_the_identity_or_from_inverse_variances():
    X, _, pairs = three_normal()
    X = X * [1, 3]
    for start, weights in (
        ("identity", np.full(2, 1 / X.var(axis=0).mean())),
        ("variances", 1 / X.var(axis=0)),
    ):
        metric = MPCKMeans(3, n_init=1, max_iter=1, start_metric=start, hold=0.0, random_state=0)
        metric.fit(X, pairs=pairs)
        # One run of one iteration from the same seeds, drawn and taken under these weights.
        problem, rng = PairwiseObjective(X, pairs), np.random.RandomState(0)
        centers = Seeds(X, *find_chunklets(pairs.must_link, None)).choose_farthest(3, weights, rng)
        labels = problem.assign(centers, weights, None, rng)
        expected = problem.objective(labels, centers, weights)
        assert_allclose(metric.objective_[0], expected)
    for start in ("pairs", "identity", "variances"):
        fitted = MPCKMeans(3, start_metric=start, hold=1e9, random_state=0).fit(X, pairs=pairs)
        first = PairwiseObjective(X, pairs, start=start).first_weights
        assert_allclose(fitted.metric_weights_, first, rtol=1e-6)  # holding on, they stay there


@given(seeds)
def test_fixed_metric_without_pairs_is_k_means(seed):
    X, *_ = random_case(seed, n=60)
    problem = PairwiseObjective(X, Pairs(), learn_metric=False)
    labels, centers, weights, _ = lower_objective(
        problem, X[:3], problem.first_weights, 300, 0.0, np.random.RandomState(0)
    )
    expected = KMeans(3, init=X[:3], n_init=1, tol=0).fit(X)
    assert_array_equal(weights, 1)
    assert_array_equal(labels, expected.labels_)
    assert_allclose(centers, expected.cluster_centers_)


def test_pairs_choose_between_two_ways_to_cluster():
    X, strong, weak = two_ways()
    labels = MPCKMeans(2, random_state=0).fit(X).labels_
    assert balanced_rand(strong, labels) > 0.95
    assert balanced_rand(weak, labels) < 0.6
    for kind in ("both", "must", "cannot"):
        pairs = Pairs.from_labels(weak, 40, kind=kind, random_state=0)
        labels = MPCKMeans(2, random_state=0).fit(X, pairs=pairs).labels_
        assert balanced_rand(weak, labels) > 0.95, kind
    partial = np.where(np.arange(len(X)) < 30, weak, -1)
    fitted = MPCKMeans(2, random_state=0).fit(X, partial)
    assert balanced_rand(weak[30:], fitted.labels_[30:]) > 0.95
    assert_array_equal(MPCKMeans(2, random_state=0).fit_predict(X, partial), fitted.labels_)
    assert_allclose(MPCKMeans(2, random_state=0).fit_transform(X, partial), fitted.transform(X))


def test_unknown_labels_and_no_pairs_say_nothing():
    X, *_ = three_normal()
    plain = MPCKMeans(3, random_state=0).fit(X)
    none, one = np.full(90, -1), np.r_[7, np.full(89, -1)]
    for y, pairs in ((none, None), (one, None), (None, Pairs()), (none, Pairs())):
        fitted = MPCKMeans(3, random_state=0).fit(X, y, pairs=pairs)
        assert_array_equal(fitted.labels_, plain.labels_)
        assert fitted.n_violated_ == 0


def test_weights_of_pairs_decide_which_are_kept():
    X, *_ = three_normal()
    for must_weight, cannot_weight, together in ((1000.0, 0.001, True), (0.001, 1000.0, False)):
        pairs = Pairs([(0, 1)], [(0, 1)], must_weight=[must_weight], cannot_weight=[cannot_weight])
        model = MPCKMeans(3, random_state=0)
        with pytest.warns(UserWarning, match="contradict"):
            labels = model.fit_predict(X, pairs=pairs)
        assert (labels[0] == labels[1]) == together
        assert model.n_violated_ == 1
    X = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]])
    for weight, n_violated in ((1e-6, 1), (1e6, 0)):
        pairs = Pairs([(0, 5)], must_weight=[weight])
        fitted = MPCKMeans(2, learn_metric=False, random_state=0).fit(X, pairs=pairs)
        assert fitted.n_violated_ == n_violated


def test_rows_without_pairs_have_the_label_that_predict_gives():
    X, y = elongated()
    pairs = Pairs.from_labels(y, 60, random_state=0)
    for dtype in (np.float64, np.float32):
        # One iteration: labels fit the centres without convergence too.
        fitted = MPCKMeans(4, max_iter=1, random_state=0).fit(X.astype(dtype), pairs=pairs)
        rest = np.setdiff1d(np.arange(len(X)), pairs.points)
        predicted = fitted.predict(X.astype(dtype))
        assert_array_equal(predicted[rest], fitted.labels_[rest])
        assert (predicted != fitted.labels_).any()
    X, *_ = three_normal()
    fitted = MPCKMeans(3, random_state=0).fit(X)
    difference = X[:, None] - fitted.cluster_centers_
    expected = np.sqrt((difference**2 * fitted.metric_weights_).sum(axis=2))
    assert_allclose(fitted.transform(X), expected)
    assert_array_equal(fitted.predict(X), expected.argmin(axis=1))
    assert_array_equal(fitted.get_feature_names_out(), ["mpckmeans0", "mpckmeans1", "mpckmeans2"])


def test_more_blocks_than_one_give_the_same_sums(monkeypatch):
    X, pairs, labels, centers, weights = random_case(0)

    def work():
        problem, state = PairwiseObjective(X, pairs), (labels, centers, weights)
        return *problem.update(*state), problem.penalties(weights), problem.objective(*state)

    whole = work()
    monkeypatch.setattr("nearkin.clustering.mpck_means._BLOCK", 7)
    for found, expected in zip(work(), whole, strict=True):
        assert_allclose(found, expected)


def test_restarts_only_help_and_tolerance_and_max_iter_end_a_run():
    X, _ = make_three_normal(500, n_features=5, random_state=0)
    objectives = [
        [MPCKMeans(12, n_init=n, random_state=seed).fit(X[:200]).objective_[-1] for n in (1, 8)]
        for seed in range(5)
    ]
    few, many = np.transpose(objectives)
    # The first of eight runs is the only one of one.
    assert (many <= few).all()
    assert (many < few).any()
    strict, loose, short = (
        MPCKMeans(10, n_init=1, random_state=0, **PUBLISHED, **options).fit(X)
        for options in ({"tol": 0}, {"tol": 0.05}, {"tol": 0, "max_iter": 2})
    )
    assert strict.n_iter_ > max(loose.n_iter_, 2)
    assert short.n_iter_ == 2
    # Nothing is left to gain.
    problem = PairwiseObjective(X, Pairs())
    state = strict.labels_, strict.cluster_centers_, strict.metric_weights_
    centers, weights = problem.update(*state)
    labels = problem.assign(centers, weights, strict.labels_, np.random.RandomState(0))
    assert_array_equal(labels, strict.labels_)


def test_seeds_are_centroids_of_large_components_far_apart():
    def chosen(X, rows, component, k, seed=0):
        seeds = Seeds(X, np.array(rows), np.array(component))
        return seeds.choose_farthest(k, np.ones(1), np.random.RandomState(seed)).ravel().tolist()

    X = np.array([[0.0], [2.0], [1.0], [3.0], [5.0], [10.0], [12.0], [20.0], [20.0], [50.0]])
    # {0, 1, 2}: mean 1 is largest; then 2 · |11 − 1| beats 2 · |4 − 1|; row 9 is in none.
    assert chosen(X, range(7), [0, 0, 0, 1, 1, 2, 2], 2) == [1, 11]
    # A larger component goes before a farther one.
    rows, component = [0, 1, 2, 4, 5, 6, 7, 8], [0, 0, 0, 1, 1, 1, 2, 2]
    assert chosen(X, rows, component, 3) == [1, 20, 9]
    X[7:9] = 11
    assert chosen(X, rows, component, 2) == [1, 9]
    # Missing ones are drawn from other rows; the last lies on the centroid and never is.
    X = np.array([[0.0], [2.0], [1.0], [100.0], [100.0]])
    for seed in range(20):
        assert chosen(X, [0, 1], [0, 0], 2, seed) == [1, 100]
    points = np.array([[0.0], [0.0], [5.0], [9.0]])
    drawn = [
        draw_apart(points, np.ones(4), points[:0], 3, np.ones(1), np.random.RandomState(seed))
        for seed in range(20)
    ]
    assert all(sorted(seeds.ravel()) == [0, 5, 9] for seeds in drawn)
    sizes = np.array([0.0, 0.0, 1.0, 1.0])
    drawn = draw_apart(points, sizes, points[:0], 2, np.ones(1), np.random.RandomState(0))
    assert sorted(drawn.ravel()) == [5, 9]


def test_first_run_starts_from_the_classes_of_labels():
    X, _, weak = two_ways()
    partial = np.where(np.arange(len(X)) < 40, weak, -1)
    means = [X[partial == c].mean(axis=0) for c in (0, 1)]
    fitted = MPCKMeans(2, n_init=1, max_iter=1, random_state=0, **PUBLISHED).fit(X, partial)
    problem = PairwiseObjective(X, Pairs.from_labels(partial))
    weights = problem.first_weights
    labels = problem.assign(np.array(means), weights, None, np.random.RandomState(0))
    expected, _ = problem.update(labels, np.array(means), weights)
    order = np.argsort(fitted.cluster_centers_[:, 1])
    assert_allclose(fitted.cluster_centers_[order], expected[np.argsort(expected[:, 1])])


@each("options", [{}, PUBLISHED, {"learn_metric": False}, {"start_metric": "identity"}], ids=str)
@each(
    "X",
    [
        np.ones((12, 2)),
        np.full((12, 2), 0.1, dtype=np.float32),
        np.zeros((12, 1)),
        np.repeat([[0.0, 1.0], [5.0, 1.0]], 6, axis=0),
        np.column_stack([np.arange(12.0), np.full(12, 1e9)]),
        np.arange(24.0).reshape(12, 2) * 1e-200,
        np.arange(24.0).reshape(12, 2) * 1e140,
        np.eye(12)[:, :3],
    ],
    ids=["equal", "equal32", "zero", "duplicates", "constant", "tiny", "huge", "corners"],
)
@each("pairs", [None, Pairs([(0, 1), (2, 9)], [(0, 5), (3, 8)])])
@FEWER_CLUSTERS
def test_degenerate_data_give_finite_results(X, options, pairs):
    for n_clusters in (1, 3, 12):
        fitted = MPCKMeans(n_clusters, n_init=2, random_state=0, **options)
        fitted.fit(X, pairs=pairs)
        for name in ("cluster_centers_", "metric_weights_", "objective_", "inertia_"):
            assert np.isfinite(getattr(fitted, name)).all()
        assert (fitted.metric_weights_ > 0).all()
        assert np.isfinite(fitted.transform(X)).all()
        assert set(fitted.labels_) <= set(range(n_clusters))
        jumps = np.diff(fitted.objective_)
        assert (jumps <= 1e-9 * np.abs(fitted.objective_).max()).all()


@given(seeds, st.sampled_from([None, 0.0, 3.0]), st.sampled_from(["pairs", "variances"]))
def test_no_half_step_raises_the_objective_and_weights_are_the_best(seed, hold, start):
    X, pairs, labels, centers, _ = random_case(seed)
    learn_metric, hold = hold is not None, hold or 0.0
    problem = PairwiseObjective(X, pairs, learn_metric, start=start, hold=hold)
    first = problem.first_weights
    weights, rng = first, np.random.RandomState(seed)

    def value(labels, centers, weights):
        found = oracle_objective(X, pairs, labels, centers, weights, hold, first)
        assert_allclose(problem.objective(labels, centers, weights), found, rtol=1e-10)
        return found

    values = [value(labels, centers, weights)]
    for _ in range(4):
        labels = problem.assign(centers, weights, labels, rng)
        labels, centers = fill_empty_clusters(problem, labels, centers, weights)
        values.append(value(labels, centers, weights))
        centers, weights = problem.update(labels, centers, weights)
        values.append(value(labels, centers, weights))
    assert (np.diff(values) <= 1e-9 * np.abs(values[0])).all()
    assert values[-1] < values[0]
    for step in 1e-4 * np.diag(weights) if learn_metric else ():
        low, high = (value(labels, centers, weights + sign * step) for sign in (-1, 1))
        # By a relative step h the logarithm alone bends J up by n h² / 2, and has a slope of n h.
        n = (1 + hold) * len(X)
        assert_allclose((high - low) / 2, 0, atol=1e-5 * n * 1e-4)
        assert_allclose((high + low) / 2 - values[-1], n * 1e-8 / 2, rtol=0.01)
    corners = X[np.r_[X.argmin(axis=0), X.argmax(axis=0)]]  # ends of the widest distances
    widest = pairs + Pairs([], [(30, 33), (31, 34)])
    penalties = PairwiseObjective(np.concatenate([X, corners]), widest).penalties(weights)
    assert (penalties >= 0).all()


def test_pairs_say_which_columns_count_at_first():
    X, _, pairs = three_normal()
    shares = [
        ((X[a] - X[b]) ** 2 / 2 / X.var(axis=0) + 0.0).sum(axis=0)
        for a, b in (pairs.must_link.T, pairs.cannot_link.T)
    ]
    n_must, n_cannot = len(pairs.must_link), len(pairs.cannot_link)
    said = (shares[1] + 20) / (n_cannot + 20) / ((shares[0] + 10) / (n_must + 10))
    expected = said / (said * X.var(axis=0)).mean()
    assert_allclose(PairwiseObjective(X, pairs, start="pairs").first_weights, expected)
    # Heavier pairs count more, but no more of them are there.
    heavier = Pairs(pairs.must_link, pairs.cannot_link, must_weight=np.full(n_must, 7.0))
    assert_allclose(PairwiseObjective(X, heavier, start="pairs").first_weights, expected)
    without = PairwiseObjective(X, Pairs(), start="pairs").first_weights
    assert_allclose(without, 1 / X.var(axis=0).mean())


@given(seeds)
def test_empty_clusters_get_rows_at_no_cost(seed):
    X, pairs, labels, centers, weights = random_case(seed, k=6)
    labels = labels % 2
    problem = PairwiseObjective(X, pairs)
    found, moved = fill_empty_clusters(problem, labels, centers, weights)
    before = oracle_objective(X, pairs, labels, centers, weights)
    assert oracle_objective(X, pairs, found, moved, weights) < before
    assert (problem.find_broken(found) <= problem.find_broken(labels)).all()
    if len(set(found)) < 6:  # must-links tie what each cluster has
        for c in set(found):
            rows = np.flatnonzero(found == c)
            tied = find_chunklets(pairs.must_link[np.isin(pairs.must_link, rows).all(axis=1)], None)
            assert len(rows) == 1 or len(tied[0]) == len(rows)
            assert len(set(tied[1])) <= 1


def test_the_farthest_rows_go_to_an_empty_cluster_with_those_they_are_tied_to():
    X = np.array([[0.0], [0.0], [0.0], [8.0], [5.0], [6.0]])
    labels, centers = np.zeros(6, dtype=np.int64), np.array([[0.0], [99.0]])
    for must, expected in (([], [3]), ([(4, 5)], [3]), ([(3, 5)], [3, 5])):
        problem = PairwiseObjective(X, Pairs(must), learn_metric=False)
        if must == [(4, 5)]:  # their mean is 5.5, and there are two: 60.5 is less than 64
            assert 2 * 5.5**2 < 8**2
        found, moved = fill_empty_clusters(problem, labels, centers, np.ones(1))
        assert np.flatnonzero(found).tolist() == expected
        assert moved[1] == X[expected].mean()
    assert labels.max() == 0
    assert centers[1] == 99
    # Where none goes there, its centre moves to the farthest row.
    X = np.array([[0.0], [1.0], [2.0], [30.0]])
    problem = PairwiseObjective(X, Pairs(), learn_metric=False)
    centers, _ = problem.update(np.zeros(4, dtype=np.int64), np.zeros((2, 1)), np.ones(1))
    assert_array_equal(centers, [[8.25], [30.0]])
    start = np.array([[0.0], [1000.0]])
    labels, *_ = lower_objective(problem, start, np.ones(1), 10, 0.0, np.random.RandomState(0))
    assert_array_equal(labels, [0, 0, 0, 1])


@each("kind", [np.array, sp.csr_array], ids=["dense", "sparse"])
def test_clusters_that_cannot_be_filled_are_told_of(kind):
    X = kind(np.repeat([[0.0, 1.0], [5.0, 1.0]], 6, axis=0))
    with pytest.warns(ConvergenceWarning, match="Only 2 of n_clusters=3"):
        MPCKMeans(3, random_state=0).fit(X)
    with pytest.warns(ConvergenceWarning, match="must-links tie them"):
        MPCKMeans(3, random_state=0).fit(np.eye(6), [0, 0, 0, 1, 1, 1])


@each("seed", range(10))
def test_no_cluster_is_left_empty(seed):
    rng = np.random.RandomState(seed)
    X = rng.standard_normal((40, 2)).round()  # many are equal
    X[:20] += 100
    n_clusters = len(np.unique(X, axis=0)) - 2
    for options in ({}, PUBLISHED, {"max_iter": 1, "n_init": 1}):
        found = MPCKMeans(n_clusters, random_state=seed, **options).fit(X)
        assert len(set(found.labels_)) == n_clusters


def test_bad_parameters_and_input():
    wrong = {"n_clusters": 0, "n_init": 0, "max_iter": 0, "tol": -1, "hold": -1}
    for name, value in (wrong | {"learn_metric": "yes", "start_metric": "ones"}).items():
        with pytest.raises(ValueError, match=name):
            MPCKMeans(**{"n_clusters": 2, name: value}).fit(np.eye(5))
    with pytest.raises(ValueError, match=r"n_clusters=8 .* n_samples=5"):
        MPCKMeans(8).fit(np.eye(5))
    X = np.eye(6)
    for rows, y, pairs, error, message in (
        (X, Pairs([(0, 1)]), None, TypeError, "pairs=pairs"),
        (X, None, [(0, 1)], TypeError, r"nearkin\.Pairs"),
        (X, None, Pairs([(0, 6)]), ValueError, "names row 6"),
        (X, None, Pairs(n_rows=9), ValueError, "9 rows"),
        (X, [-1, -1, -1, -1], None, ValueError, "y has 4 labels"),
        (X, [0, 1, -1, -1], None, ValueError, "y has 4 labels"),
        (X * [1, 1, 1e200, 1, 1, 1], None, None, ValueError, r"column 2 .* overflows"),
    ):
        with pytest.raises(error, match=message):
            MPCKMeans(2).fit(rows, y, pairs=pairs)
