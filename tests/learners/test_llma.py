from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from nearkin import LLMA, Pairs
from nearkin.datasets import make_xor
from nearkin.learners import moving_points as module
from nearkin.learners import moving_points as window
from nearkin.rows import parallel
from nearkin.scores import balanced_rand
from nearkin.solvers import stress as stress_module
from nearkin.solvers.stress import join_springs, relax, relax_along, stress
from nearkin.spaces.maps import gaussian_weights
from tests import oracles
from tests.cases import each

X, Y = make_xor(60, random_state=0)
X += [3.0, -5.0]
PAIRS = Pairs.from_labels(Y, 8, kind="must", random_state=0)


def random_springs(seed, n=12, e=25):
    rng = np.random.default_rng(seed)
    ends = np.array([rng.choice(n, 2, replace=False) for _ in range(e)])
    return join_springs(n, ends, rng.random(e) + 0.1, 2 * rng.random(e), rng.random(e) < 0.3)


# The step


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


def test_objective_never_rises_and_convergence_mode_ends(monkeypatch):
    pairs = Pairs.from_labels(Y, 12, random_state=1)
    metric = LLMA(n_iter=None).fit(X, pairs=pairs)
    assert (np.diff(metric.objective_) <= 0).all()
    assert 2 < metric.n_iter_ < 500
    few = LLMA(n_iter=2).fit(X, pairs=pairs)
    assert_allclose(few.objective_, metric.objective_[:3])
    assert few.n_iter_ == 2
    monkeypatch.setattr(window, "_MOST_STEPS", 2)
    with pytest.warns(ConvergenceWarning, match="LLMA stopped after 2 steps") as record:
        LLMA(n_iter=None).fit(X, pairs=pairs)
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
    springs = window.window_springs(
        F, PAIRS, n_neighbors=len(F) - 1, regularization=0.1, window=0.1, margin=1.0
    )
    assert_allclose(stress(springs, metric.transform(X)), metric.objective_[-1], rtol=1e-9)


def test_map_is_continuous():
    metric = LLMA().fit(X, pairs=PAIRS)
    Z = metric.transform(X)
    gaps = [np.abs(metric.transform(X + step) - Z).max() for step in (1e-4, 1e-6, 1e-8)]
    assert gaps[-1] < 1e-5
    # Smooth as well: the change is proportional to the step.
    assert_allclose(gaps[1] / gaps[0], 1e-2, rtol=0.01)


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


def test_must_linked_points_come_nearer_with_neighbours_and_cannot_linked_part():
    def distance(a, b, pairs, **options):
        return LLMA(**options).fit(X, pairs=pairs).distance(X[[a]], X[[b]])

    i, k = np.flatnonzero(Y == 0)[0], np.flatnonzero(Y == 1)[0]
    j = np.flatnonzero((Y == 0) & (np.linalg.norm(X - X[i], axis=1) > 2))[0]  # opposite corner
    assert distance(i, j, Pairs([(i, j)])) < 0.5 * np.linalg.norm(X[i] - X[j])
    near, far = (distance(i, k, Pairs(cannot_link=[(i, k)]), margin=m) for m in (0.0, 3.0))
    assert_allclose(near, np.linalg.norm(X[i] - X[k]), rtol=1e-9)
    assert far > 1.2 * near
    F = X - X.mean(axis=0)
    corner, opposite = np.flatnonzero((F > 0).all(axis=1)), np.flatnonzero((F < 0).all(axis=1))
    Z = LLMA().fit(X, pairs=Pairs([(corner[0], opposite[0])])).transform(X)
    before, after = (
        np.linalg.norm(A[corner[1:]].mean(axis=0) - A[opposite[1:]].mean(axis=0)) for A in (X, Z)
    )
    assert after < 0.6 * before


def test_anchors_are_limited(monkeypatch):
    assert len(LLMA(random_state=0).fit(X, Y).anchors_) == 60
    monkeypatch.setattr(module, "_MOST_ANCHORS", 5)
    metric = LLMA(random_state=0).fit(X, pairs=PAIRS)
    assert len(set(metric.anchors_.tolist())) == 5
    assert set(metric.anchors_) <= set(PAIRS.points)
    assert metric.displacements_.shape == (5, 2)
    assert metric.objective_[-1] < metric.objective_[0]


def test_pairs_group_xor():
    X, y = make_xor(400, random_state=0)
    rand = []
    for seed in range(4):
        pairs = Pairs.from_labels(y, 10, kind="must", random_state=seed)
        Z = LLMA(random_state=0).fit(X, pairs=pairs).transform(X)
        rand.append(balanced_rand(y, KMeans(2, n_init=5, random_state=0).fit_predict(Z)))
    euclidean = balanced_rand(y, KMeans(2, n_init=5, random_state=0).fit_predict(X))
    assert euclidean < 0.55
    assert np.mean(rand) > 0.8


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


@each("name", ["window", "locality"])
@each("value", [1e-9, 1e9])
def test_extreme_widths_give_finite_points(name, value):
    metric = LLMA(**{name: value}).fit(X, pairs=PAIRS)
    assert np.isfinite(metric.transform(X)).all()
    assert (np.diff(metric.objective_) <= 1e-9).all()
