from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics.pairwise import rbf_kernel

from nearkin import KernelBeta, Pairs
from nearkin.datasets import make_xor
from nearkin.learners.kernel_beta import paper_weights
from nearkin.pairs.supervision import Spread
from nearkin.spaces import feature_space
from nearkin.spaces.kernels import Kernel
from tests import oracles
from tests.cases import each

NAMES = ("rbf", "laplacian", "poly", "cosine", "linear")
each_kernel = each("kernel", [*NAMES, rbf_kernel])
each_extension = each("extension", ["local", "nystroem"])
# Corners of a rectangle, whose centred linear kernel has two known eigenvectors.
RECTANGLE = np.array([[2.0, 1.0], [2.0, -1.0], [-2.0, 1.0], [-2.0, -1.0]])
DIRECTIONS = np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]]) / 2  # λ = 16 and 4


X, Y = make_xor(60, random_state=0)
X = np.column_stack([X, X[:, 0] * X[:, 1], np.random.RandomState(1).standard_normal(60)]) + 0.1
PAIRS = Pairs.from_labels(Y, 20, random_state=0)


def signless(V, like):
    """V with the signs of its columns made those of ``like``."""
    return V * np.sign((V * like).sum(axis=0))


def test_beta_of_the_rectangle_is_eq_4_in_numbers():
    # D of the first direction: 0, 0 and 1; of the second: 1, 1 and 1. c = √16 + √4 = 6.
    links = [(0, 1), (2, 3), (0, 3)]
    metric = KernelBeta(kernel="linear", weighting="paper").fit(RECTANGLE, pairs=Pairs(links))
    assert_allclose(metric.eigenvalues_, [16, 4])
    assert_allclose(metric.beta_, [6 * 3 / (3 + 1), 6 * 1 / (3 + 1)])
    assert_allclose(signless(metric.eigenvectors_, DIRECTIONS), DIRECTIONS, atol=1e-15)
    assert_allclose(metric.distance(RECTANGLE)[0], [0, 1.5, 4.5, np.hypot(1.5, 4.5)])
    # The third pair counts twice: D is (0 + 0 + 2)/4 and (1 + 1 + 2)/4.
    metric.fit(RECTANGLE, pairs=Pairs(links, must_weight=[1, 1, 2]))
    assert_allclose(metric.beta_, [6 * 2 / 3, 6 * 1 / 3])


@each("kernel", NAMES)
@each(("center", "rank_tol", "rounding"), [(True, 0.02, 1e-7), (False, 1e-6, 1e-5)])
def test_exact_beta_equals_eq_4(kernel, center, rank_tol, rounding):
    rows, labels = (X, Y) if center else (X[:30], Y[:30])
    pairs = Pairs.from_labels(labels, 20, kind="must", random_state=0)
    metric = KernelBeta(
        kernel=kernel, gamma=0.4, weighting="paper", rank_tol=rank_tol, center=center
    ).fit(rows, pairs=pairs)
    values, V = spectrum(rows, kernel, rank_tol, center=center)
    assert_allclose(metric.eigenvalues_, values, rtol=rounding)
    D = oracles.mean_squared_difference(V, pairs.must_link)
    expected = oracles.eq4_beta(D, np.sqrt(values).sum())
    assert_allclose(metric.beta_, expected, rtol=rounding)
    # z_i = (β_r v_r[i])_r, so the learned kernel is K_β = Σ β_r² v_r v_rᵀ.
    K_beta = (V * expected**2) @ V.T
    assert_allclose(metric.kernel_matrix(rows), K_beta, atol=rounding * np.abs(K_beta).max())


def spectrum(X, kernel="rbf", rank_tol=1e-6, *, center=False):
    """Eigenvalues and eigenvectors of the kernel matrix, the largest first."""
    K = oracles.kernel_matrix(kernel, X, X, gamma=0.4)
    values, V = np.linalg.eigh(oracles.center(K) if center else K)
    kept = values > rank_tol * values[-1]
    return values[kept][::-1], V[:, kept][:, ::-1]


def test_calibrated_beta_of_a_matrix_that_is_not_centred_compares_each_direction_with_chance():
    metric = KernelBeta(gamma=0.4, prior_pairs=4, center=False).fit(X, pairs=PAIRS)
    values, V = spectrum(X, rank_tol=0.01)
    every = list(combinations(range(len(X)), 2))
    for r in range(len(values)):
        direction = V[:, [r]]
        E_S, E_D = (
            (len(links) * D / oracles.mean_squared_difference(direction, every) + 4)
            / (len(links) + 4)
            for links in (PAIRS.must_link, PAIRS.cannot_link)
            for D in (oracles.mean_squared_difference(direction, links),)
        )
        gain = metric.beta_[r] / np.sqrt(values[r])
        if r == 0:
            unit = gain / (E_D / E_S)
        assert_allclose(gain / unit, E_D / E_S, rtol=1e-7)
    assert_allclose((metric.beta_ / np.sqrt(values)).mean(), 1)


def test_a_direction_that_all_points_share_counts_for_nothing():
    # Rows of the matrix have equal sums: the constant vector is its first eigenvector.
    K = np.eye(4) + 10
    K[0, 1] = K[1, 0] = K[2, 3] = K[3, 2] = 10.5
    for weighting in ("paper", "calibrated"):
        metric = KernelBeta(kernel="precomputed", weighting=weighting, rank_tol=1e-6, center=False)
        metric.fit(K, pairs=Pairs([(0, 1)]))
        assert_allclose(metric.eigenvalues_, [1.5, 0.5, 0.5])
        assert metric.distance(K)[0, 2] > 2 * metric.distance(K)[0, 1] > 0


def test_kernels_that_are_not_positive_are_told_of_or_refused():
    K = np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.9], [0.0, 0.9, 1.0]])  # least eigenvalue 1 − 0.9√2
    metric, pairs = KernelBeta(kernel="precomputed", center=False), Pairs([(0, 1)])
    with pytest.warns(UserWarning, match=r"not positive: it has the eigenvalue -0\.27"):
        metric.fit(K, pairs=pairs)
    assert (metric.eigenvalues_ > 0).all()
    assert metric.distance(K)[0, 2] > 0
    with pytest.raises(ValueError, match=r"no positive eigenvalue.* entries are 0 to 0"):
        metric.fit(np.zeros((9, 9)), pairs=pairs)
    with pytest.raises(ValueError, match=r"k\(x, x\) cannot be negative"):
        KernelBeta(kernel=lambda A, B: -rbf_kernel(A, B), center=False).fit(RECTANGLE, pairs=pairs)
    with pytest.warns(UserWarning, match="all landmarks coincide"):  # their matrix is not zero
        KernelBeta(center=False).fit(np.ones((5, 2)), pairs=pairs)
    with pytest.raises(ValueError, match=r"use extension='local' with center=False"):
        KernelBeta(extension="nystroem", center=False).fit(RECTANGLE, pairs=pairs)


@each("kernel", NAMES)
@each("prior_pairs", [1e-12, 4, 1e12])
def test_exact_beta_equals_the_calibrated_closed_form(kernel, prior_pairs):
    metric = KernelBeta(kernel=kernel, gamma=0.4, prior_pairs=prior_pairs).fit(X, pairs=PAIRS)
    V = metric.eigenvectors_
    must, cannot = (
        (oracles.mean_squared_difference(V, links), len(links))
        for links in (PAIRS.must_link, PAIRS.cannot_link)
    )
    expected = oracles.calibrated_beta(
        *must, *cannot, 2 / (len(X) - 1), metric.eigenvalues_, prior_pairs
    )
    assert_allclose(metric.beta_, expected)
    if prior_pairs > 1e9:  # pairs count for nothing
        assert_allclose(metric.beta_, np.sqrt(metric.eigenvalues_), rtol=1e-9)


def test_random_spread_is_that_of_all_pairs_of_rows():
    # If the must-links are all pairs there are, they show nothing, and β is the spectrum.
    everything = [(i, j) for j in range(60) for i in range(j)]
    metric = KernelBeta(prior_pairs=1e-6).fit(X, pairs=Pairs(everything))
    assert_allclose(metric.beta_, np.sqrt(metric.eigenvalues_), rtol=1e-8)


def test_paper_weights_stay_finite_where_a_direction_has_no_spread():
    none = Spread(np.zeros(3), 0.0)
    beta = paper_weights(Spread(np.array([0.0, 1.0, 2.0]), 5.0), none, 6.0)
    assert_allclose(beta.sum(), 6.0)
    assert 0.999 * 6.0 < beta[0] < 6
    assert_allclose(beta[1] / beta[2], 2.0)
    assert_allclose(paper_weights(Spread(np.zeros(3), 2.0), none, 6.0), [2.0, 2.0, 2.0])


@each_kernel
@each(("extension", "weighting"), [("local", "paper"), ("nystroem", "calibrated")])
def test_all_points_as_landmarks_equal_the_exact_version(kernel, extension, weighting):
    X_new = X[::3] + 0.05
    options = {"kernel": kernel, "extension": extension, "weighting": weighting}
    exact = KernelBeta(random_state=0, **options).fit(X, pairs=PAIRS)
    for every in ({"landmarks": np.arange(60)}, {"n_landmarks": 60}, {"n_landmarks": 1000}):
        metric = KernelBeta(random_state=0, **options, **every).fit(X, pairs=PAIRS)
        assert_array_equal(metric.landmarks_, np.arange(60))
        assert_allclose(metric.beta_, exact.beta_)
        assert_allclose(metric.transform(X), exact.transform(X), atol=1e-12)
        assert_allclose(metric.transform(X_new), exact.transform(X_new), atol=1e-12)


@each_kernel
@each_extension
@each(("dtype", "n_landmarks"), [(np.float32, 25), (np.float64, None)])
def test_transform_of_training_rows_equals_the_fitted_embedding(
    kernel, extension, dtype, n_landmarks
):
    rows = X.astype(dtype)
    metric = KernelBeta(
        kernel=kernel, extension=extension, n_landmarks=n_landmarks, random_state=0
    ).fit(rows, pairs=PAIRS)
    Z = metric.transform(rows[metric.landmarks_])
    assert Z.dtype == dtype
    assert_allclose(metric.embedding_, metric.eigenvectors_ * metric.beta_)
    # Local weights are exact; Nyström divides rounding of the kernel by 0.01 (rank_tol).
    rounding = np.finfo(dtype).eps * (1 if extension == "local" else 1000)
    assert_allclose(Z, metric.embedding_, atol=rounding * np.abs(metric.embedding_).max())


@each("kernel", NAMES)
def test_landmark_version_equals_the_formulas(kernel):
    landmarks = np.arange(0, 60, 3)
    labels = np.where(np.arange(60) % 4 == 0, Y, -1)
    metric = KernelBeta(
        kernel=kernel, gamma=0.4, landmarks=landmarks, weighting="paper", n_neighbors=4
    ).fit(X, labels)
    W = oracles.local_weight_matrix(kernel, X, X[landmarks], 4, gamma=0.4)
    values, V = metric.eigenvalues_, metric.eigenvectors_
    L = oracles.center(oracles.kernel_matrix(kernel, X[landmarks], X[landmarks], gamma=0.4))
    assert_allclose(L @ V, V * values, atol=1e-10 * values[0])
    must, cannot = oracles.pairs_of_labels(labels)
    D = oracles.mean_squared_difference(W @ V, must)
    D_cannot = oracles.mean_squared_difference(W @ V, cannot)
    expected = oracles.eq4_beta(D / D_cannot, np.sqrt(values).sum())
    assert_allclose(metric.beta_, expected, rtol=1e-7)
    assert_allclose(metric.transform(X), W @ V * expected, atol=1e-7)


@each("n_iter", [1, 2, 3])
def test_iterations_equal_the_formulas(n_iter):
    landmarks = np.arange(0, 60, 2)
    metric = KernelBeta(
        gamma=0.4, landmarks=landmarks, weighting="paper", n_neighbors=3, n_iter=n_iter
    ).fit(X, Y)
    values, V = metric.eigenvalues_, metric.eigenvectors_
    must, cannot = oracles.pairs_of_labels(Y)
    Z, name = X, "rbf"
    for _ in range(n_iter):  # neighbours and weights in the space learned so far
        W = oracles.local_weight_matrix(name, Z, Z[landmarks], 3, gamma=0.4)
        D = oracles.mean_squared_difference(W @ V, must)
        D_cannot = oracles.mean_squared_difference(W @ V, cannot)
        beta = oracles.eq4_beta(D / D_cannot, np.sqrt(values).sum())
        Z, name = W @ V * beta, "linear"
    assert_array_equal(metric.landmarks_, landmarks)
    assert_allclose(metric.beta_, beta, rtol=1e-6)
    assert_allclose(metric.transform(X), Z, atol=1e-6)


@each("weighting", ["paper", "calibrated"])
def test_labels_equal_all_pairs_they_imply(weighting):
    labels = np.where(np.arange(60) < 30, Y, -1)
    pairs = Pairs.from_labels(labels)
    if weighting == "calibrated":  # labels count as many pairs as there are labelled rows
        must, cannot = (np.full(len(k), 30 / len(k)) for k in (pairs.must_link, pairs.cannot_link))
        pairs = Pairs(pairs.must_link, pairs.cannot_link, must_weight=must, cannot_weight=cannot)
    metric = KernelBeta(weighting=weighting)
    assert_allclose(metric.fit(X, labels).beta_, metric.fit(X, pairs=pairs).beta_, rtol=1e-8)


@each("kernel", NAMES)
@each_extension
def test_precomputed_and_callable_kernels_equal_the_named_one(kernel, extension):
    function = Kernel(kernel, gamma=0.4)
    options = {"extension": extension, "n_landmarks": 40, "random_state": 0}
    by_rows = KernelBeta(kernel=kernel, gamma=0.4, **options).fit(X, pairs=PAIRS)
    by_matrix = KernelBeta(kernel="precomputed", **options).fit(function(X, X), pairs=PAIRS)
    called = KernelBeta(kernel=function, **options).fit(X, pairs=PAIRS)
    assert_array_equal(by_matrix.landmarks_, by_rows.landmarks_)
    assert_allclose(by_matrix.beta_, by_rows.beta_, rtol=1e-8)
    scale = np.abs(by_rows.embedding_).max()
    # Of new rows k(x, x) is unknown, which touches local weights through their conditioning.
    new = 1e-9 if extension == "nystroem" else 0.02
    for rows, rounding in ((X[by_rows.landmarks_], 1e-9), (X[:20] + 0.1, new)):
        Z = by_rows.transform(rows)
        assert_allclose(by_matrix.transform(function(rows, X)), Z, atol=rounding * scale)
        assert_allclose(called.transform(rows), Z, atol=1e-8 * scale)


def test_n_components_keeps_the_largest_weights_in_order():
    full, few, more = (
        KernelBeta(weighting="paper", rank_tol=0.01, n_components=n).fit(X, pairs=PAIRS)
        for n in (None, 3, 1000)
    )
    kept = np.sort(np.argsort(-full.beta_)[:3])
    assert kept.tolist() != [0, 1, 2]  # the largest eigenvalues would be another choice
    assert few.n_components_ == 3
    assert_allclose(few.beta_, full.beta_[kept])
    assert_allclose(few.eigenvalues_, full.eigenvalues_[kept])
    assert_allclose(few.transform(X), full.transform(X)[:, kept], atol=1e-12)
    assert more.n_components_ == full.n_components_


def test_rank_tol_drops_weak_directions():
    counts = []
    for rank_tol in (0.001, 0.05, 0.3):
        metric = KernelBeta(rank_tol=rank_tol).fit(X, pairs=PAIRS)
        assert metric.rank_tol_ == rank_tol
        assert (metric.eigenvalues_ > rank_tol * metric.eigenvalues_[0]).all()
        counts.append(metric.n_components_)
    assert counts[0] > counts[1] > counts[2]
    for weighting, default in (("calibrated", 0.01), ("paper", 0.1)):
        assert KernelBeta(weighting=weighting).fit(X, pairs=PAIRS).rank_tol_ == default
    rows = np.random.RandomState(0).standard_normal((30, 4)) + 3
    of_rank_four = KernelBeta(kernel="linear", rank_tol=0).fit(rows, pairs=Pairs([(0, 1)]))
    assert of_rank_four.n_components_ == 4  # zeros by rounding are dropped in any case


@each("strategy", ["random", "kmeans++", "farthest", "leverage"])
def test_landmarks_are_as_many_as_asked_and_hold_the_points_of_the_pairs(strategy):
    learner = KernelBeta(n_landmarks=45, landmarks=strategy, random_state=0)
    metric = learner.fit(X, pairs=PAIRS)
    assert len(metric.landmarks_) == 45
    assert set(PAIRS.points) <= set(metric.landmarks_)
    assert metric.embedding_.shape == (45, metric.n_components_)
    learner.set_params(n_landmarks=5)
    assert_array_equal(learner.fit(X, pairs=PAIRS).landmarks_, PAIRS.points)
    assert len(learner.fit(X, Y).landmarks_) == 5  # labelled rows need not be landmarks


def test_very_many_pair_points_are_landmarks_up_to_a_limit(monkeypatch):
    monkeypatch.setattr(feature_space, "_PAIR_LANDMARKS", 12)
    metric = KernelBeta(n_landmarks=5, random_state=0).fit(X, pairs=PAIRS)
    assert len(metric.landmarks_) == 12
    assert set(metric.landmarks_) < set(PAIRS.points)
    more = KernelBeta(n_landmarks=15, random_state=0).fit(X, pairs=PAIRS)
    assert len(more.landmarks_) == 15
    # Pair points that are no landmarks count through their local weights.
    W = oracles.local_weight_matrix("rbf", X, X[metric.landmarks_], 5, gamma=metric.gamma_)
    D = oracles.mean_squared_difference(W @ metric.eigenvectors_, PAIRS.must_link)
    D_cannot = oracles.mean_squared_difference(W @ metric.eigenvectors_, PAIRS.cannot_link)
    expected = oracles.calibrated_beta(
        D, 10, D_cannot, 10, 2 / (len(metric.landmarks_) - 1), metric.eigenvalues_, 6
    )
    assert_allclose(metric.beta_, expected, rtol=1e-7)


def test_gamma_follows_its_rule():
    assert_allclose(KernelBeta().fit(X, pairs=PAIRS).gamma_, 1 / oracles.mean_squared_distance(X))
    assert KernelBeta(gamma=0.7).fit(X, pairs=PAIRS).gamma_ == 0.7


def test_float32_far_from_the_origin_is_still_right():
    X, y = make_xor(200, random_state=0)
    X = np.round(X * 1024) / 1024  # exact in float32 after adding 10^4
    pairs = Pairs.from_labels(y, 30, random_state=0)
    metric = KernelBeta(n_landmarks=80, random_state=0)
    Z = metric.fit(X, pairs=pairs).transform(X)
    far = (X + 1e4).astype(np.float32)
    Z_far = metric.fit(far, pairs=pairs).transform(far)
    assert_allclose(metric.gamma_, 1 / oracles.mean_squared_distance(X), rtol=1e-5)
    assert_allclose(Z_far, Z, atol=1e-3 * np.abs(Z).max())


def test_changing_the_data_after_fit_does_not_change_the_metric():
    K = rbf_kernel(X)
    for metric, given in ((KernelBeta(), X.copy()), (KernelBeta(kernel="precomputed"), K.copy())):
        rows = given[:7].copy()
        Z = metric.fit(given, pairs=PAIRS).transform(rows)
        given[:] = 0
        assert_array_equal(metric.transform(rows), Z)


def test_the_metric_pulls_xor_apart_as_no_linear_metric_can():
    X, y = make_xor(400, random_state=0)
    X_new, y_new = make_xor(200, random_state=1)
    pairs = Pairs.from_labels(y, 50, random_state=0)
    for options in ({}, {"n_landmarks": 100}, {"weighting": "paper"}, {"extension": "nystroem"}):
        metric = KernelBeta(random_state=0, **options).fit(X, pairs=pairs)
        assert metric.score(X_new, y_new) > 0.95


def test_of_more_rows_than_an_exact_fit_takes_some_are_landmarks(monkeypatch):
    monkeypatch.setattr(feature_space, "EXACT_ROWS", 59)
    monkeypatch.setattr(feature_space, "USUAL_LANDMARKS", 50)
    few = KernelBeta(random_state=0).fit(X, pairs=PAIRS)
    said = KernelBeta(n_landmarks=50, random_state=0).fit(X, pairs=PAIRS)
    assert len(few.landmarks_) == 50
    assert_array_equal(few.transform(X), said.transform(X))
    assert len(KernelBeta(n_landmarks=60).fit(X, pairs=PAIRS).landmarks_) == 60
    assert len(KernelBeta(landmarks=np.arange(60)).fit(X, pairs=PAIRS).landmarks_) == 60
