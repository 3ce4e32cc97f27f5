"""Metrics one after the other and side by side."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import spearmanr
from sklearn.decomposition import PCA, TruncatedSVD

from nearkin import (
    ITML,
    RCA,
    Blend,
    Chain,
    Euclidean,
    FidelityWarning,
    KernelBeta,
    Pairs,
    TableEncoder,
    load,
)
from nearkin.datasets import make_three_normal
from nearkin.spaces.feature_space import KernelExpansion
from tests.cases import each

X, Y = make_three_normal(120, random_state=0)
PAIRS = Pairs.from_labels(Y, 30, random_state=0)


def test_a_chain_is_its_steps_one_after_the_other():
    chain = Chain([ITML(random_state=0), KernelBeta(random_state=1)]).fit(X, pairs=PAIRS)
    first = ITML(random_state=0).fit(X, pairs=PAIRS)
    second = KernelBeta(random_state=1).fit(first.transform(X), pairs=PAIRS)
    assert_array_equal(chain.transform(X[:7]), second.transform(first.transform(X[:7])))
    assert chain.threshold_ == second.threshold_
    of_one = Chain([ITML(random_state=0)]).fit(X, pairs=PAIRS)
    assert_array_equal(of_one.transform(X), first.transform(X))


def test_other_transformers_take_part_in_a_chain():
    chain = Chain([PCA(2, random_state=0), RCA(random_state=0)]).fit(X, Y)
    plane = PCA(2, random_state=0).fit_transform(X)
    assert_allclose(chain.transform(X), RCA(random_state=0).fit(plane, Y).transform(plane))
    sparse = sp.csr_array(np.abs(X))
    reduced = Chain([TruncatedSVD(2, random_state=0), KernelBeta(random_state=0)]).fit(sparse, Y)
    assert reduced.transform(sparse[:5]).shape == (5, reduced.n_components_)


@each(
    ("metric", "message"),
    [
        (Chain([]), "last of steps must be a learner"),
        (Chain([KernelBeta(), PCA()]), "last of steps must be a learner"),
        (Blend([]), "one or more learners"),
        (Blend([RCA(), PCA()]), "one or more learners"),
        (Blend([RCA(), Euclidean()], weights=[1]), "one number for each"),
        (Blend([RCA(), Euclidean()], weights=[1, -1]), "not negative"),
        (Blend([RCA(), Euclidean()], weights=[0, 0]), "one above 0"),
        (Blend([RCA(), Euclidean()], weights=[1, np.nan]), "finite"),
    ],
)
def test_parts_and_weights_are_checked(metric, message):
    with pytest.raises(ValueError, match=message):
        metric.fit(X, Y)


def test_a_blend_has_the_mean_of_scaled_squared_distances():
    learners = [RCA(random_state=0), KernelBeta(random_state=0), Euclidean()]
    weights = np.array([3.0, 1.0, 0.5])
    blend = Blend(learners, weights=weights).fit(X, pairs=PAIRS)
    expected = np.zeros((6, 6))
    for learner, weight in zip(learners, weights / weights.sum(), strict=True):
        metric = learner.fit(X, pairs=PAIRS)
        mean_squared = (metric.distance(X) ** 2).mean()
        expected += weight * metric.distance(X[:6]) ** 2 / mean_squared
    assert_allclose(blend.distance(X[:6]) ** 2, expected, atol=1e-12)
    assert_allclose((blend.distance(X) ** 2).mean(), 1)


def test_a_learner_without_weight_or_differences_adds_nothing():
    cannot_fit = KernelBeta(kernel="precomputed")
    blend = Blend([RCA(random_state=0), cannot_fit], weights=[2, 0]).fit(X, pairs=PAIRS)
    alone = RCA(random_state=0).fit(X, pairs=PAIRS)
    ratio = blend.distance(X[:9], X[9:20]) / alone.distance(X[:9], X[9:20])
    assert_allclose(ratio, ratio[0, 0])
    flat = np.ones_like(X)
    with pytest.warns(UserWarning, match="coincide"):
        blend = Blend([KernelBeta(random_state=0)]).fit(flat, pairs=PAIRS)
    assert_array_equal(blend.transform(flat), 0)


# Distilled


def test_a_distilled_metric_is_a_ridge_regression():
    rng = np.random.RandomState(1)
    metric = KernelBeta(n_landmarks=60, random_state=0).fit(X, pairs=PAIRS)
    distilled = metric.distilled(X, n_landmarks=30, min_fidelity=0.0, random_state=rng)
    landmarks = distilled.map_.extension.landmarks
    Z, K = metric.transform(X), landmarks.kernel_to(X)
    known = np.random.RandomState(1)
    known.permutation(len(X))
    known = known.permutation(len(X))[len(X) // 5 :]
    among = landmarks.kernel_matrix(around_middle=False)
    squares = K[known].T @ K[known]
    ridge = 1e-3 * len(known) / 30 * among
    ridge += 30 * np.finfo(float).eps * np.trace(squares) * np.eye(30)
    expected = np.linalg.solve(squares + ridge, K[known].T @ (Z[known] - Z.mean(axis=0)))
    if isinstance(distilled.map_.extension, KernelExpansion):
        assert_allclose(K @ distilled.map_.coordinates, K @ expected, atol=1e-4)
    else:
        assert_array_equal(distilled.transform(landmarks.rows), metric.transform(landmarks.rows))


def test_fidelity_is_seen_without_pairs_and_too_little_is_refused(tmp_path):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(400, 2))
    pairs = Pairs.from_labels(rows[:, 0] > 0, 40, random_state=0)
    metric = KernelBeta(random_state=0).fit(rows, pairs=pairs)
    distilled = metric.distilled(rows, n_landmarks=200, random_state=0)
    assert distilled.fidelity_ > 0.98
    new = rng.normal(size=(200, 2))
    apart = np.triu_indices(200, 1)
    found = spearmanr(metric.distance(new)[apart], distilled.distance(new)[apart])[0]
    assert abs(found - distilled.fidelity_) < 0.02
    assert distilled.threshold_ == metric.threshold_
    distilled.save(tmp_path / "fast.nearkin")
    again = load(tmp_path / "fast.nearkin")
    assert again.fidelity_ == distilled.fidelity_
    assert_array_equal(again.transform(new), distilled.transform(new))
    texts = Chain([TableEncoder(), ITML(random_state=0)])
    frame = pd.DataFrame({"side": np.where(rows[:, 0] > 0, "left", "right"), "size": rows[:, 1]})
    with pytest.raises(TypeError, match="give the data frame to MetricLearner itself"):
        texts.fit(frame, pairs=pairs).distilled(frame)
    noise = rng.normal(size=(400, 40))
    hard = KernelBeta(random_state=0).fit(noise, pairs=pairs)
    with pytest.raises(ValueError, match="Give more landmarks, or a smaller min_fidelity"):
        hard.distilled(noise, n_landmarks=5, random_state=0)
    with pytest.warns(FidelityWarning, match="by a rank correlation of 0"):
        hard.distilled(noise, n_landmarks=5, min_fidelity=0, random_state=0)
