"""KernelA and LLMA: src/nearkin/learners/moving_points.py."""

from itertools import combinations, pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel

from nearkin import LLMA, KernelA, KernelBeta, Pairs
from nearkin.datasets import make_xor
from nearkin.learners import moving_points as module
from nearkin.rows import parallel
from nearkin.scores import balanced_rand
from nearkin.solvers import stress as stress_module
from nearkin.solvers.stress import join_springs, relax, relax_along, stress
from nearkin.spaces.feature_space import LocalExtension
from nearkin.spaces.kernels import Kernel, center_kernel
from nearkin.spaces.landmarks import KernelLandmarks
from nearkin.spaces.maps import gaussian_weights
from tests import oracles
from tests.cases import each

X, Y = make_xor(60, random_state=0)
X += [3.0, -5.0]
PAIRS = Pairs.from_labels(Y, 8, kind="must", random_state=0)


def rand(X, y):
    """How well k-means finds the classes."""
    return balanced_rand(y, KMeans(2, n_init=5, random_state=0).fit_predict(X))


def rand_of_ten_pairs(learner, X, y, seed):
    pairs = Pairs.from_labels(y, 10, kind="must", random_state=seed)
    return rand(clone(learner).fit(X, pairs=pairs).transform(X), y)


# KernelA


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
    assert module.window_edges(F, 1).tolist() == [[0, 1], [1, 2], [2, 3]]
    assert len(module.window_edges(F, 99)) == 6


def test_no_regularisation_joins_linked_points_and_moves_no_other():
    metric = KernelA(regularization=0.0, n_iter=1, rank_tol=1e-12).fit(X, pairs=Pairs([(3, 8)]))
    F = KernelA(regularization=1.0, n_iter=1, rank_tol=1e-12, margin=0.0).fit(
        X, pairs=Pairs(cannot_link=[(3, 8)])
    )
    assert_allclose(metric.embedding_[3], metric.embedding_[8], atol=1e-6)
    others = np.setdiff1d(np.arange(60), [3, 8])
    assert_allclose(metric.embedding_[others], F.embedding_[others], atol=1e-6)


@each("value", [1e-9, 1e9])
def test_extreme_widths_give_finite_points(value):
    for metric in (KernelA(window=value, random_state=0), LLMA(window=value), LLMA(locality=value)):
        assert np.isfinite(metric.fit(X, pairs=PAIRS).transform(X)).all()
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
    xor, moons = make_xor(400, random_state=0), make_moons(400, noise=0.1, random_state=0)
    kernel_a = KernelA(random_state=0)
    assert rand(*xor) < 0.55
    assert rand_of_ten_pairs(kernel_a, *xor, 0) > 0.95
    assert np.mean([rand_of_ten_pairs(LLMA(random_state=0), *xor, s) for s in range(4)]) > 0.8
    found = np.mean([rand_of_ten_pairs(kernel_a, *moons, seed) for seed in range(5)])
    assert found > rand(*moons) + 0.05


@each("kernel", ["rbf", "linear", "laplacian", "poly"])
@each("kind", [np.asarray, sp.csr_array])
def test_images_of_collinear_rows_do_not_depend_on_the_others_of_a_call(kernel, kind):
    along = np.array([0.1, 0.7, 0.3])
    X, X_new = np.arange(60.0)[:, None] * along, np.arange(20, 32, 0.5)[:, None] * along
    metric = KernelA(kernel=kernel, random_state=0).fit(kind(X), np.arange(60) % 2)
    together = metric.transform(kind(X_new))  # many of them between two landmarks, equally far
    alone = np.vstack([metric.transform(kind(row[None])) for row in X_new])
    assert_allclose(alone, together, atol=1e-12 * np.abs(together).max())


# LLMA: the step


def random_springs(seed, n=12, e=25):
    rng = np.random.default_rng(seed)
    ends = np.array([rng.choice(n, 2, replace=False) for _ in range(e)])
    return join_springs(n, ends, rng.random(e) + 0.1, 2 * rng.random(e), rng.random(e) < 0.3)


@each("regularization", [0.01, 1.0])
@each("n_iter", [1, 2, 5])
def test_steps_are_those_of_the_formula(monkeypatch, regularization, n_iter):
    pairs = Pairs([(0, 1), (2, 3), (4, 5)], must_weight=[1.0, 2.0, 0.5])
    settings = {"regularization": regularization, "n_iter": n_iter, "locality": 0.02}
    B, Y, objective = oracles.llma(X, pairs, window=0.1, **settings)
    monkeypatch.setattr(stress_module, "_INERTIA_ALONG", 1e-13)
    metric = LLMA(**settings).fit(X, pairs=pairs)
    assert_allclose(metric.displacements_, B, atol=1e-8 * abs(B).max())
    assert_allclose(metric.objective_, objective, rtol=1e-8)
    assert_allclose(metric.transform(X), Y, atol=1e-8)


@each("locality", [0.3, 3.0])
def test_inertia_holds_what_the_formula_leaves_open(locality):
    settings = {"regularization": 0.1, "n_iter": 3, "locality": locality}
    _, Y, objective = oracles.llma(X, PAIRS, window=0.1, inertia=1e-6, **settings)
    metric = LLMA(**settings).fit(X, pairs=PAIRS)
    assert_allclose(metric.objective_, objective, rtol=1e-6)
    assert_allclose(metric.transform(X), Y, atol=1e-6)


@given(st.integers(0, 10**6), st.integers(1, 15))
def test_stress_never_rises(seed, m):
    springs = random_springs(seed)
    rng = np.random.default_rng(seed + 1)
    X, basis = rng.standard_normal((12, 3)), rng.standard_normal((12, m))
    basis[:, m // 2] = basis[:, 0]  # a singular system
    found = relax_along(springs, X, basis, n_iter=20)
    B = found.coefficients
    assert all(b <= a * (1 + 1e-9) + 1e-15 for a, b in pairwise(found.stress))
    assert_allclose(found.Y, X + basis @ B, atol=1e-12)
    assert_allclose(stress(springs, found.Y), found.stress[-1])


def test_every_displacement_possible_is_free_relaxation_and_no_spring_moves_nothing():
    springs = random_springs(3)
    X = np.random.default_rng(4).standard_normal((12, 3))
    found = relax_along(springs, X, np.eye(12), n_iter=3)
    assert_allclose(found.stress, relax(springs, X, n_iter=3).stress, rtol=1e-4)
    none = np.empty(0)
    springs = join_springs(12, np.empty((0, 2), dtype=int), none, none, none.astype(bool))
    found = relax_along(springs, X, np.ones((12, 2)), n_iter=2)
    assert_array_equal(found.coefficients, 0)
    assert_array_equal(found.Y, X)


@each("learner", [KernelA(random_state=0), LLMA()])
def test_objective_never_rises_and_convergence_mode_ends(learner, monkeypatch):
    pairs, name = Pairs.from_labels(Y, 12, random_state=1), type(learner).__name__
    metric = clone(learner).set_params(n_iter=None).fit(X, pairs=pairs)
    assert (np.diff(metric.objective_) <= 0).all()
    assert 2 < metric.n_iter_ < 500
    few = clone(learner).set_params(n_iter=2).fit(X, pairs=pairs)
    assert_allclose(few.objective_, metric.objective_[:3])
    assert few.n_iter_ == 2
    monkeypatch.setattr(module, "_MOST_STEPS", 2)
    with pytest.warns(ConvergenceWarning, match=f"{name} stopped after 2 steps") as record:
        metric.fit(X, pairs=pairs)
    assert record[0].filename == __file__


# The map


def test_weights_are_gaussians_of_the_distance():
    rng = np.random.default_rng(0)
    U, anchors = rng.standard_normal((7, 3)), rng.standard_normal((4, 3))
    expected = [[np.exp(-((u - a) ** 2).sum()) for a in anchors] for u in U]
    assert_allclose(gaussian_weights(U, anchors), expected, rtol=1e-12)
    assert_array_equal(gaussian_weights(np.full((1, 3), 1e300), anchors), 0)


def test_attributes_spell_out_the_map():
    metric = LLMA().fit(X, pairs=PAIRS)
    assert_array_equal(metric.anchors_, PAIRS.points)
    assert_array_equal(metric.anchor_rows_, X[PAIRS.points])
    assert_allclose(metric.mean_, X.mean(axis=0))
    assert_allclose(metric.width_**2, 0.3 * oracles.mean_squared_distance(X))
    for x in (X[3], X[3] + 0.7):
        z = x - metric.mean_
        for a, b in zip(metric.anchor_rows_, metric.displacements_, strict=True):
            z = z + np.exp(-((x - a) ** 2).sum() / metric.width_**2) * b
        assert_allclose(metric.transform([x])[0], z, atol=1e-9)


def test_training_rows_lie_where_the_objective_was_measured():
    metric = LLMA().fit(X, pairs=PAIRS)
    F = X - X.mean(axis=0)
    springs = module.window_springs(
        F, PAIRS, n_neighbors=len(F) - 1, regularization=0.1, window=0.1, margin=1.0
    )
    assert_allclose(stress(springs, metric.transform(X)), metric.objective_[-1], rtol=1e-9)


def test_far_points_do_not_move():
    metric = LLMA().fit(X, pairs=PAIRS)
    far = X + 60 * metric.width_
    assert_array_equal(metric.transform(far), far - metric.mean_)
    assert np.abs(metric.transform(X) - (X - metric.mean_)).max() > 0.1
    centres = np.repeat([[0.0, 0.0], [2.0, 0.0], [0.0, 30.0]], 20, axis=0)
    rows = centres + np.random.default_rng(0).normal(0, 0.1, centres.shape)
    metric = LLMA(locality=0.01).fit(rows, pairs=Pairs([(0, 20)]))
    moved = np.abs(metric.transform(rows) - (rows - metric.mean_))
    assert moved[40:].max() < 1e-12  # a cluster without pairs
    assert moved[:40].max() > 0.1


def test_embedding_by_blocks_changes_nothing(monkeypatch):
    metric = LLMA().fit(X, pairs=PAIRS)
    whole = metric.transform(X)
    monkeypatch.setattr(parallel, "rows_per_block", lambda bytes_per_row: 7)
    assert_allclose(metric.transform(X), whole, atol=1e-10)


# What pairs do


def test_anchors_are_limited(monkeypatch):
    assert len(LLMA(random_state=0).fit(X, Y).anchors_) == 60
    monkeypatch.setattr(module, "_MOST_ANCHORS", 5)
    metric = LLMA(random_state=0).fit(X, pairs=PAIRS)
    assert len(set(metric.anchors_.tolist())) == 5
    assert set(metric.anchors_) <= set(PAIRS.points)
    assert metric.displacements_.shape == (5, 2)
    assert metric.objective_[-1] < metric.objective_[0]


# Bad input


@each("row", [[0.0, 0.0, 0.0], [0.1, 0.7, 1 / 3], [1e8 / 3, 1e-8, 7.0]])
@each("dtype", [np.float32, np.float64])
def test_all_points_identical(row, dtype):
    X = np.full((11, 3), row).astype(dtype)
    with pytest.warns(UserWarning, match=r"all rows of X coincide.*columns constant\?") as record:
        metric = LLMA().fit(X, pairs=Pairs([(0, 1)], [(2, 3)]))
    assert record[0].filename == __file__
    assert_array_equal(metric.distance(X), 0)
    assert metric.threshold_ == 0
    assert metric.same(X, X).all()
    assert_array_equal(metric.displacements_, 0)
    assert np.isfinite(metric.transform(X + dtype(1))).all()


def test_one_known_label_implies_no_pair():
    with pytest.raises(ValueError, match="nothing to learn from: only one sample is labelled"):
        LLMA().fit(X, np.where(np.arange(60) == 3, 0, -1))
