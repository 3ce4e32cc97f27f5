from itertools import combinations

import numpy as np
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.cluster import KMeans
from sklearn.datasets import make_moons
from sklearn.metrics.pairwise import rbf_kernel

from nearkin import KernelA, KernelBeta, Pairs
from nearkin.datasets import make_xor
from nearkin.learners import moving_points as module
from nearkin.learners.moving_points import window_edges
from nearkin.scores import balanced_rand
from nearkin.spaces.feature_space import LocalExtension
from nearkin.spaces.kernels import Kernel, center_kernel
from nearkin.spaces.landmarks import KernelLandmarks
from tests import oracles
from tests.cases import each

X, Y = make_xor(60, random_state=0)
PAIRS = Pairs.from_labels(Y, 8, kind="must", random_state=0)


@each("regularization", [0.01, 1.0])
@each("n_iter", [1, 2, 4])
def test_exact_version_is_the_published_update(regularization, n_iter):
    K = center_kernel(rbf_kernel(X, gamma=0.4))
    K_A, objective = oracles.kernel_a(
        K, PAIRS, regularization=regularization, window=0.1, n_iter=n_iter
    )
    metric = KernelA(
        regularization=regularization, gamma=0.4, rank_tol=1e-12, n_iter=n_iter, random_state=0
    ).fit(X, pairs=PAIRS)
    # The objective falls by three orders; inertia shows in its last digits.
    assert_allclose(metric.objective_, objective, atol=1e-8 * objective[0])
    Z = metric.embedding_ - metric.embedding_.mean(axis=0)
    assert_allclose(Z @ Z.T, center_kernel(K_A), atol=1e-5)


def test_with_landmarks_a_is_rectangular():
    metric = KernelA(n_landmarks=25, gamma=0.4, rank_tol=1e-12, n_iter=3, random_state=0)
    metric.fit(X, pairs=PAIRS)
    at = metric.landmarks_
    assert len(PAIRS.points) <= len(at) < len(X)
    # A has a row for each point and a column for each landmark, and starts from the local weights.
    local = LocalExtension(KernelLandmarks(Kernel("rbf", gamma=0.4), X[at]), 5)
    W = local.embed(X, np.eye(len(at)))
    L = center_kernel(rbf_kernel(X[at], gamma=0.4))
    options = {"regularization": 0.01, "window": 0.1, "n_iter": 3}
    K_A, objective = oracles.kernel_a(L, PAIRS, A=W, **options)
    assert_allclose(metric.objective_, objective, atol=1e-8 * objective[0])
    Z = metric.embedding_ - metric.embedding_.mean(axis=0)
    assert_allclose(Z @ Z.T, center_kernel(K_A[np.ix_(at, at)]), atol=1e-5)
    square, rectangular = (
        KernelA(n_landmarks=n, random_state=0).fit(X, pairs=PAIRS) for n in (None, len(X))
    )
    assert_allclose(rectangular.objective_, square.objective_)
    assert_allclose(rectangular.distance(X), square.distance(X), atol=1e-7)


def joint_objective(F, Y, gains, pairs, regularization, window):
    """J of points and gains together, pair by pair."""
    d = [np.linalg.norm(F[i] - F[j]) for i, j in combinations(range(len(F)), 2)]
    width = window * np.mean(np.square(d))
    total = 0.0
    for at, (i, j) in enumerate(combinations(range(len(F)), 2)):
        kept, learned = np.linalg.norm(gains * (F[i] - F[j])), np.linalg.norm(Y[i] - Y[j])
        total += regularization * np.exp(-(d[at] ** 2) / width) * (learned - kept) ** 2
    for i, j in pairs.must_link:
        kept, learned = np.linalg.norm(gains * (F[i] - F[j])), np.linalg.norm(Y[i] - Y[j])
        total += learned**2 + kept**2
    return total


@each("regularization", [0.01, 1.0])
def test_points_and_weights_together_never_raise_their_objective(regularization):
    options = {"regularization": regularization, "kernel": "linear", "random_state": 0}
    metric = KernelA(learn_weights=True, n_iter=None, **options).fit(X, pairs=PAIRS)
    assert (np.diff(metric.objective_) <= 1e-12 * metric.objective_[0]).all()
    assert metric.objective_[-1] < 0.9 * metric.objective_[0]
    weights = np.sqrt(metric.eigenvalues_)
    assert_allclose(metric.beta_.sum(), weights.sum())
    # Rows along the directions of the linear kernel are their principal coordinates.
    centred = X - X.mean(axis=0)
    F = centred @ np.linalg.svd(centred)[2].T
    for place, Y, gains in ((0, F, np.ones(2)), (-1, metric.embedding_, metric.beta_ / weights)):
        expected = joint_objective(F, Y, gains, PAIRS, regularization, window=0.1)
        assert_allclose(metric.objective_[place], expected, rtol=1e-6)


def test_weights_without_a_window_after_one_step_and_with_all_neighbours():

    def fit(**options):
        return KernelA(random_state=0, **options).fit(X, pairs=PAIRS)

    # Nothing ties weights to points without a window: what is left is the published criterion.
    options = {"gamma": 0.4, "rank_tol": 0.03}
    alone = KernelBeta(weighting="paper", random_state=0, **options).fit(X, pairs=PAIRS)
    assert_allclose(fit(learn_weights=True, regularization=0, **options).beta_, alone.beta_)
    # One step moves the points before any weight has changed.
    together, alone = fit(learn_weights=True, n_iter=1), fit(n_iter=1)
    assert_allclose(together.embedding_, alone.embedding_)
    assert alone.beta_ is None
    dense, scaled = (fit(learn_weights=True, n_iter=5, window_neighbors=k) for k in (None, 59))
    assert_allclose(scaled.beta_, dense.beta_, rtol=1e-6)
    assert_allclose(scaled.objective_, dense.objective_, rtol=1e-6)


def test_neighbour_window_over_all_rows_is_the_complete_one(monkeypatch):
    dense = KernelA(window_neighbors=None, random_state=0).fit(X, pairs=PAIRS)
    monkeypatch.setattr("nearkin.solvers.stress._FACTORED_POINTS", 0)
    monkeypatch.setattr("nearkin.solvers.stress._RESIDUAL", 1e-13)
    scaled = KernelA(window_neighbors=len(X) - 1, random_state=0).fit(X, pairs=PAIRS)
    assert_allclose(scaled.embedding_, dense.embedding_, atol=1e-6)
    assert_allclose(scaled.objective_, dense.objective_, rtol=1e-8)


def test_auto_window_is_complete_for_few_rows_and_sparse_for_many(monkeypatch):
    complete = KernelA(window_neighbors=None).fit(X, pairs=PAIRS).embedding_
    assert_allclose(KernelA().fit(X, pairs=PAIRS).embedding_, complete)
    monkeypatch.setattr(module, "_COMPLETE_ROWS", 59)
    sparse = KernelA(window_neighbors=30).fit(X, pairs=PAIRS).embedding_
    assert_allclose(KernelA().fit(X, pairs=PAIRS).embedding_, sparse)
    assert abs(sparse - complete).max() > 1e-6


def test_window_edges_are_the_nearest_neighbours_of_either_end():
    F = np.array([[0.0], [1.0], [3.0], [7.0]])
    assert window_edges(F, 1).tolist() == [[0, 1], [1, 2], [2, 3]]
    assert len(window_edges(F, 99)) == 6


def test_objective_never_rises_and_convergence_mode_ends():
    pairs = Pairs.from_labels(Y, 12, random_state=1)
    metric = KernelA(n_iter=None, random_state=0).fit(X, pairs=pairs)
    assert (np.diff(metric.objective_) <= 0).all()
    assert 2 < metric.n_iter_ < 500
    few = KernelA(n_iter=2, random_state=0).fit(X, pairs=pairs)
    assert_allclose(few.objective_, metric.objective_[:3])


def test_must_linked_points_move_together_and_cannot_linked_apart():
    (i, j), m = np.flatnonzero(Y == 0)[:2], np.flatnonzero(Y == 1)[0]

    def distance(a, b, pairs, **options):
        metric = KernelA(random_state=0, **options).fit(X, pairs=pairs)
        return metric.distance(X[a], X[b])

    apart = Pairs(cannot_link=[(i, m)])
    assert distance(i, j, Pairs([(i, j)])) < 0.5 * distance(i, j, apart)
    assert distance(i, m, apart, margin=3.0) > 1.2 * distance(i, m, apart, margin=0.0)
    light, heavy = (distance(i, j, Pairs([(i, j)], must_weight=[w])) for w in (0.1, 10))
    assert heavy < light


def test_no_regularisation_joins_linked_points_and_moves_no_other():
    metric = KernelA(regularization=0.0, n_iter=1, rank_tol=1e-12).fit(X, pairs=Pairs([(3, 8)]))
    F = KernelA(regularization=1.0, n_iter=1, rank_tol=1e-12, margin=0.0).fit(
        X, pairs=Pairs(cannot_link=[(3, 8)])
    )
    assert_allclose(metric.embedding_[3], metric.embedding_[8], atol=1e-6)
    others = np.setdiff1d(np.arange(60), [3, 8])
    assert_allclose(metric.embedding_[others], F.embedding_[others], atol=1e-6)


@each("window", [1e-9, 1e9])
def test_extreme_windows_give_finite_points(window):
    metric = KernelA(window=window, random_state=0).fit(X, pairs=PAIRS)
    assert np.isfinite(metric.embedding_).all()
    assert (np.diff(metric.objective_) <= 1e-9).all()


def test_a_link_between_far_clusters_does_not_overshoot():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(0, 0.1, (30, 2)), rng.normal(8, 0.1, (30, 2))])
    metric = KernelA(random_state=0).fit(X, pairs=Pairs([(0, 59)]))
    Z = metric.transform(X)
    before = np.linalg.norm(X[:30].mean(0) - X[30:].mean(0))
    after = np.linalg.norm(Z[:30].mean(0) - Z[30:].mean(0))
    assert np.isfinite(Z).all()
    assert after < before
    assert metric.distance(X[[0]], X[[59]]) < 1e-3 + after


def test_training_rows_lie_where_they_were_learned_and_duplicates_together():
    for metric in (KernelA(), KernelA(n_landmarks=20), KernelA(n_components=2)):
        rows = X[metric.fit(X, pairs=PAIRS).landmarks_]
        assert_allclose(metric.transform(rows), metric.embedding_, atol=1e-12)
    copies = np.concatenate([X, X[:5]])
    metric = KernelA(random_state=0).fit(copies, pairs=Pairs(PAIRS.must_link))
    assert_allclose(metric.embedding_[60:], metric.embedding_[:5], atol=1e-12)
    assert_allclose(metric.transform(copies), metric.embedding_, atol=1e-12)
    assert np.isfinite(metric.embedding_).all()


def test_ten_pairs_solve_xor_and_help_on_two_moons():
    def rand(X, y):
        return balanced_rand(y, KMeans(2, n_init=5, random_state=0).fit_predict(X))

    def learned(X, y, seed):
        pairs = Pairs.from_labels(y, 10, kind="must", random_state=seed)
        return rand(KernelA(random_state=0).fit(X, pairs=pairs).transform(X), y)

    assert learned(*make_xor(400, random_state=0), 0) > 0.95
    moons = make_moons(400, noise=0.1, random_state=0)
    assert np.mean([learned(*moons, seed) for seed in range(5)]) > rand(*moons) + 0.05


@each("kernel", ["rbf", "linear", "laplacian", "poly"])
@each("kind", [np.asarray, sp.csr_array])
def test_images_of_collinear_rows_do_not_depend_on_the_others_of_a_call(kernel, kind):
    along = np.array([0.1, 0.7, 0.3])
    X, X_new = np.arange(60.0)[:, None] * along, np.arange(20, 32, 0.5)[:, None] * along
    metric = KernelA(kernel=kernel, random_state=0).fit(kind(X), np.arange(60) % 2)
    together = metric.transform(kind(X_new))  # many of them between two landmarks, equally far
    alone = np.vstack([metric.transform(kind(row[None])) for row in X_new])
    assert_allclose(alone, together, atol=1e-12 * np.abs(together).max())
