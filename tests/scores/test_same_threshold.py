import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logit
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

from nearkin import Euclidean, GeometryAware, KernelBeta, Pairs, datasets, load
from nearkin.scores.verdicts import (
    Verdicts,
    estimate_prevalence,
    find_sharpness,
    find_threshold,
    fit_logistic_verdicts,
    fit_verdicts,
    measure_usual_distance,
    read_verdicts,
    shrink_verdicts,
)
from tests import oracles
from tests.cases import each

whole_distances = st.lists(st.integers(0, 8), min_size=1, max_size=10)


@given(whole_distances, whole_distances)
def test_no_other_threshold_gives_more_right_answers(same, different):
    found = find_threshold(np.array(same, dtype=float), np.array(different, dtype=float))
    right = oracles.mean_of_right_answers(found, same, different)
    others = [oracles.mean_of_right_answers(t, same, different) for t in np.arange(0, 9, 0.5)]
    assert right >= max(others) - 1e-12


@each(
    ("same", "different", "threshold"),
    [
        ([1.0, 2.0], [4.0, 5.0], 3.0),
        ([1.0, 2.0], [], 2.0),
        ([], [4.0, 6.0], 2.0),
        ([1.0, 3.0], [0.5], 3.0),
        ([1.0, 2.0, 9.0], [4.0, 5.0, 6.0], 3.0),
    ],
)
def test_threshold_lies_half_way_between_what_it_separates(same, different, threshold):
    assert find_threshold(np.array(same), np.array(different)) == threshold
    # Before anything is learned it is the median distance of different rows.
    assert measure_usual_distance(np.array([[0.0], [3.0]]), np.random.RandomState(0)) == 3.0


def likelihood(verdicts, same, different, count=lambda d: True):
    """Of answers that are nearly certain, both kinds counting the same; by loops."""
    total = 0.0
    for distances, told in ((same, True), (different, False)):
        n = len(distances)
        for d in distances:
            p = np.clip(verdicts.chance(np.float64(d)), 1e-300, 1 - 1e-16)
            right, wrong = (p, 1 - p) if told else (1 - p, p)
            if count(d):
                total += ((n + 1) * np.log(right) + np.log(wrong)) / (n + 2) / n
    return total


@given(whole_distances, whole_distances)
def test_no_other_sharpness_is_more_likely(same, different):
    same, different = np.array(same, dtype=float), np.array(different, dtype=float)
    found = fit_verdicts(same, different)
    threshold = found.threshold

    # On each side; pairs on the other count the less the more there are on this one.
    def side_likelihood(sharpness, is_near):
        verdicts = Verdicts(threshold, sharpness, sharpness)
        here = [d for d in (*same, *different) if (d < threshold if is_near else d > threshold)]
        ours, theirs = (
            likelihood(verdicts, same, different, lambda d, near=near: (d - threshold) * near < 0)
            for near in ((1, -1) if is_near else (-1, 1))
        )
        return ours + theirs / (1 + len(here))

    for is_near, sharpness in ((True, found.sharpness), (False, found.far_sharpness)):
        assert 0 <= sharpness < np.inf
        best = side_likelihood(sharpness, is_near)
        for other in (0.0, 0.5 * sharpness, 0.99 * sharpness, 1.01 * sharpness, sharpness + 0.1):
            assert side_likelihood(other, is_near) <= best + 1e-9


def test_clear_distances_make_sharp_verdicts():
    clear = fit_verdicts(np.full(100, 1.0), np.full(100, 3.0))
    blurred = find_sharpness(np.linspace(1, 2.5, 100), np.linspace(1.5, 3, 100), 2.0)
    assert clear.threshold == 2
    assert clear.sharpness > blurred[0] > 0
    assert clear.far_sharpness > blurred[1] > 0
    # Platt's targets are met where all distances of a kind are equal.
    assert clear.chance(np.array([1.0, 3.0])) == pytest.approx([101 / 102, 1 / 102], rel=0.02)
    # The wrong way round.
    assert find_sharpness(np.array([3.0]), np.array([1.0]), 2.0) == (0, 0)
    # Weights count.
    same, different = np.array([1.0, 2.0, 5.0]), np.array([3.0, 4.0])
    light = np.array([1.0, 1.0, 1e-9]), np.ones(2)
    assert find_threshold(same, different, light) == find_threshold(same[:2], different)
    found = find_sharpness(same, different, 2.5, light)
    assert found[1] > find_sharpness(same, different, 2.5)[1]


def test_each_side_of_the_threshold_has_its_own_sharpness():
    rng = np.random.default_rng(0)
    # Near pairs are surely the same; far ones may be either.
    same = np.concatenate([np.full(100, 0.5), rng.uniform(1.1, 3, 40)])
    different = rng.uniform(1.0, 3, 100)
    found = fit_verdicts(same, different)
    assert found.sharpness > 3 * found.far_sharpness > 0
    assert found.chance(2.0) == pytest.approx(40 / 140 / (40 / 140 + 1), abs=0.07)


def test_a_threshold_of_zero_and_a_radius_below_it():
    found = fit_verdicts(np.zeros(5), np.ones(5))
    found = Verdicts(0.0, found.sharpness, found.far_sharpness)
    assert found.chance(np.zeros(1)) == 0.5
    assert found.chance(np.ones(1)) < 0.5
    assert found.radius == 0
    verdicts = Verdicts(2.0, 3.0, 3.0, 0.001)  # nothing is the same where that is too rare
    assert verdicts.radius < 0
    assert verdicts.chance(0.0) < 0.5
    assert Verdicts(2.0, 0.0, 3.0, 0.1).radius == -np.inf


@each("prevalence", [0.001, 0.1, 0.5, 0.9])
def test_the_radius_is_where_the_chance_is_a_half(prevalence):
    verdicts = Verdicts(2.0, 9.0, 3.0, prevalence)
    radius = verdicts.radius
    assert verdicts.chance(radius) == pytest.approx(0.5)
    assert Verdicts(2.0, 9.0, 3.0).chance(radius, prevalence) == pytest.approx(0.5)
    assert (radius == 2.0) == (prevalence == 0.5)
    assert verdicts.chance(radius - 0.1) > 0.5 > verdicts.chance(radius + 0.1)


def test_verdicts_and_probabilities_agree():
    X, y = datasets.make_xor(300, random_state=0)
    metric = KernelBeta(random_state=0).fit(X, pairs=Pairs.from_labels(y, 40, random_state=0))
    A, B = X[:150], X[150:]
    for _ in range(2):
        chance = metric.chance_same(A, B)
        assert ((chance > 0) & (chance < 1)).all()
        assert ((chance >= 0.5) == metric.same(A, B)).all()
        order = np.argsort(metric.pair_distance(A, B))
        assert (np.diff(chance[order]) <= 0).all()
        assert_allclose(metric.chance_same(A, A), read_verdicts(metric).chance(0.0))
        right = (y[:150] == y[150:]) == (chance >= 0.5)
        sure = np.maximum(chance, 1 - chance)
        assert right[sure > np.median(sure)].mean() > right[sure <= np.median(sure)].mean()
        metric.calibrate(X, y, prevalence=0.2)


# ---- as frequent as it is


def reliability(chance, same, n_bins=10):
    """Mean difference of the probability said and the share that is true, by bins."""
    place = np.minimum((n_bins * chance).astype(int), n_bins - 1)
    gaps = np.bincount(place, chance - same, n_bins)
    return np.abs(gaps).sum() / len(same)


@pytest.fixture(scope="module")
def digits():
    """Rows to learn from, to calibrate by and to judge by, and random pairs of the last."""
    X, y = load_digits(return_X_y=True)
    X = X / 16
    rng = np.random.RandomState(0)
    learned, known, judged = np.array_split(rng.permutation(len(y)), 3)
    ends = judged[rng.randint(len(judged), size=(20_000, 2))]
    ends = ends[ends[:, 0] != ends[:, 1]]
    same = y[ends[:, 0]] == y[ends[:, 1]]
    return X, y, learned, known, (X[ends[:, 0]], X[ends[:, 1]], same)


@pytest.mark.parametrize(
    "learner", [Euclidean, KernelBeta, pytest.param(GeometryAware, marks=pytest.mark.night)]
)
def test_probabilities_hold_at_the_stated_prevalence(learner, digits):
    X, y, learned, known, (A, B, same) = digits
    pairs = Pairs.from_labels(y[learned], 100, random_state=0)
    metric = learner(random_state=0).fit(X[learned], pairs=pairs)
    share = same.mean()
    assert 0.08 < share < 0.12
    as_it_comes = reliability(metric.chance_same(A, B), same)
    stated = reliability(metric.chance_same(A, B, prevalence=share), same)
    assert stated < 0.08
    assert stated < as_it_comes
    metric.calibrate(X[known], y[known])
    assert metric.prevalence_ == pytest.approx(share, abs=0.01)
    chance = metric.chance_same(A, B)
    assert reliability(chance, same) < 0.03
    half = (chance > 0.3) & (chance < 0.7)
    assert same[half].mean() == pytest.approx(chance[half].mean(), abs=0.12)


def test_calibrating_changes_verdicts_only(digits, tmp_path):
    X, y, learned, known, (A, B, _) = digits
    metric = Euclidean(random_state=0).fit(X[learned], y[learned])
    before = metric.pair_distance(A, B)
    pairs = Pairs.from_labels(y[known], 200, random_state=0)
    rare = Pairs(pairs.must_link[:10], pairs.cannot_link)
    assert metric.prevalence_ == 0.5
    assert metric.calibrate(X[known], pairs=rare) is metric
    assert metric.prevalence_ == pytest.approx(10 / 110)
    assert_array_equal(metric.pair_distance(A, B), before)
    assert metric.chance_same(A, B, prevalence=0.5).mean() > metric.chance_same(A, B).mean()
    metric.save(tmp_path / "model.nearkin")
    loaded = load(tmp_path / "model.nearkin")
    assert_array_equal(loaded.chance_same(A, B), metric.chance_same(A, B))
    assert_array_equal(loaded.same(A, B), metric.same(A, B))
    assert loaded.same_distance_ == metric.same_distance_


def test_calibrating_needs_both_kinds_and_a_share():
    X, y = datasets.make_xor(60, random_state=0)
    metric = KernelBeta(random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="1 pairs that are the same and 0 that are different"):
        metric.calibrate(X, pairs=Pairs([(0, 1)]))
    for share in (0, 1, 1.5):
        with pytest.raises(ValueError, match="prevalence must lie between 0 and 1"):
            metric.chance_same(X, X, prevalence=share)
    with pytest.raises(TypeError, match="prevalence must be a number, not 'rare'"):
        metric.calibrate(X, y, prevalence="rare")


def test_a_metric_of_before_has_one_sharpness():
    X, y = datasets.make_xor(60, random_state=0)
    metric = KernelBeta(random_state=0).fit(X, y)
    del metric.far_sharpness_, metric.prevalence_
    assert read_verdicts(metric) == Verdicts(
        metric.threshold_, metric.sharpness_, metric.sharpness_, 0.5
    )
    del metric.sharpness_
    with pytest.raises(ValueError, match="fit again"):
        metric.chance_same(X, X)


def test_the_likeliest_curve_is_that_of_a_logistic_regression():
    rng = np.random.RandomState(2)
    same = np.arange(70) < 40
    distances = rng.normal(np.where(same, 1.0, 1.5), 0.4)
    weight = rng.randint(1, 4, 70).astype(float)
    # Both kinds count the same, and of n answers of a kind one in n + 2 is taken to be wrong.
    share = weight / np.where(same, weight[same].sum(), weight[~same].sum())
    doubt = np.where(same, 1 / 42, 1 / 32)
    curve = LogisticRegression(C=1e9, tol=1e-9, max_iter=1000).fit(
        np.tile(distances, 2)[:, None],
        np.concatenate([same, ~same]),
        sample_weight=np.concatenate([share * (1 - doubt), share * doubt]),
    )
    threshold = -curve.intercept_[0] / curve.coef_[0, 0]
    found = fit_logistic_verdicts(distances, same, weight)
    assert_allclose(found.threshold, threshold, rtol=1e-4)
    assert_allclose(found.sharpness, -curve.coef_[0, 0] * threshold, rtol=1e-3)
    assert found.far_sharpness == found.sharpness
    # In other units it is the same curve.
    larger = fit_logistic_verdicts(1e3 * distances, same, weight)
    assert_allclose(larger.threshold, 1e3 * found.threshold, rtol=1e-4)
    assert_allclose(larger.sharpness, found.sharpness, rtol=1e-3)
    # One that would rise with the distance is flat.
    same = np.array([False, False, True, True])
    found = fit_logistic_verdicts(np.array([1.0, 2.0, 3.0, 4.0]), same, np.ones(4))
    assert found.sharpness == found.far_sharpness == 0
    equal = fit_logistic_verdicts(np.full(4, 2.0), same, np.ones(4))
    assert (equal.threshold, equal.chance(np.array([1.0]))[0]) == (2.0, 0.5)


def test_verdicts_are_as_sure_as_pairs_bear_out():
    rng = np.random.RandomState(0)
    same, different = rng.normal(1, 0.3, 200), rng.normal(2, 0.3, 200)
    sure = fit_verdicts(same, different)
    kept = shrink_verdicts(sure, same, different)
    assert kept.threshold == sure.threshold
    assert 0.95 * sure.sharpness < kept.sharpness < sure.sharpness
    # By few pairs less, and by such as contradict them nothing.
    few = shrink_verdicts(sure, same[:5], different[:5])
    assert 0.2 * sure.sharpness < few.sharpness < 0.9 * sure.sharpness
    wrong = shrink_verdicts(sure, different, same)
    assert wrong.sharpness == wrong.far_sharpness == 0
    # Where verdicts are far too sure of what is hardly told apart, something is left of them.
    near = rng.normal(1.45, 0.3, 200), rng.normal(1.55, 0.3, 200)
    hardly = shrink_verdicts(sure, *near)
    assert 0 < hardly.sharpness < 0.2 * sure.sharpness


def test_what_is_borne_out_is_found_by_trying():
    rng = np.random.RandomState(1)
    verdicts = Verdicts(1.5, 6.0, 4.0)
    same, different = rng.normal(1.3, 0.4, 30), rng.normal(1.7, 0.4, 20)
    steps = np.linspace(0, 1, 2001)[:, None]
    kinds = [logit(verdicts.chance(same)), -logit(verdicts.chance(different))]
    likely = sum(-np.logaddexp(0, -steps * said).mean(axis=1) for said in kinds) / 2
    best = likely.argmax()
    ratio = 2 * 50 * (likely[best] + np.log(2))
    expected = steps[best, 0] * ratio / (ratio + 2)
    assert_allclose(shrink_verdicts(verdicts, same, different).sharpness, 6 * expected, rtol=1e-2)


@each("share", [0.05, 0.3, 0.8])
def test_the_prevalence_is_found_from_distances_of_pairs_without_answers(share):
    rng = np.random.RandomState(0)
    kinds = rng.normal(1, 0.3, 3000), rng.normal(2, 0.3, 3000)
    verdicts = fit_verdicts(*kinds)
    drawn = np.where(rng.rand(3000) < share, *kinds)
    assert_allclose(estimate_prevalence(verdicts, drawn), share, atol=0.02)


def test_a_prevalence_of_distances_that_tell_nothing_is_a_half():
    flat = Verdicts(1.0, 0.0, 0.0)
    assert_allclose(estimate_prevalence(flat, np.linspace(0, 3, 50)), 0.5)
    # Nor is one sure that all are the same, or none.
    # One pair of a kind is imagined besides those that there are.
    sure = Verdicts(1.0, 1e4, 1e4)
    assert_allclose(estimate_prevalence(sure, np.full(9, 2.0)), 1 / 11, atol=1e-3)
    assert 0.005 < estimate_prevalence(sure, np.full(500, 2.0)) < 0.02
    with pytest.raises(ValueError, match="no pairs of different rows"):
        estimate_prevalence(flat, np.empty(0))


def test_a_metric_estimates_the_prevalence_among_rows(digits):
    X, y, learned, new, _ = digits
    X_new, y_new = X[new], y[new]
    metric = KernelBeta(random_state=0).fit(X[learned], y[learned])
    before = metric.threshold_, metric.sharpness_
    by_pairs = metric.chance_same(X_new[:-1], X_new[1:], prevalence="estimated")
    metric.calibrate(X_new, prevalence="estimated")
    assert (metric.threshold_, metric.sharpness_) == before
    true = (y_new[:, None] == y_new).mean()
    assert_allclose(metric.prevalence_, true, atol=0.1)
    assert_allclose(by_pairs, metric.chance_same(X_new[:-1], X_new[1:]), atol=0.2)
    estimated = metric.quality(X_new, y_new, prevalence="estimated")
    assert estimated.prevalence == metric.prevalence_
    assert metric.calibrate(X_new, prevalence=0.2).prevalence_ == 0.2
    assert metric.calibrate(X_new, y_new, prevalence="estimated").threshold_ != before[0]
    with pytest.raises(ValueError, match="no pairs of different rows"):
        metric.calibrate(X_new[:1], prevalence="estimated")
