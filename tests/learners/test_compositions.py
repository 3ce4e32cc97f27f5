"""Metrics one after the other and side by side."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.decomposition import PCA, TruncatedSVD

from nearkin import ITML, RCA, Blend, Chain, Euclidean, KernelBeta, Pairs
from nearkin.datasets import make_three_normal
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
