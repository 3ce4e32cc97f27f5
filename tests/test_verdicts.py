import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from nearkin import KernelBeta, Pairs, datasets
from nearkin.verdicts import best_sharpness, best_threshold, chance_same
from tests import oracles

whole_distances = st.lists(st.integers(0, 8), min_size=1, max_size=10)


@given(whole_distances, whole_distances)
def test_no_other_threshold_gives_more_right_answers(same, different):
    found = best_threshold(np.array(same, dtype=float), np.array(different, dtype=float))
    right = oracles.mean_of_right_answers(found, same, different)
    others = [oracles.mean_of_right_answers(t, same, different) for t in np.arange(0, 9, 0.5)]
    assert right >= max(others) - 1e-12


@pytest.mark.parametrize(
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
    assert best_threshold(np.array(same), np.array(different)) == threshold


def likelihood(sharpness, same, different, threshold):
    """Of answers that are nearly certain, both kinds counting the same; by loops."""
    total = 0.0
    for distances, told in ((same, True), (different, False)):
        n = len(distances)
        for d in distances:
            p = chance_same(np.float64(d), threshold, sharpness)
            right, wrong = (p, 1 - p) if told else (1 - p, p)
            total += ((n + 1) * np.log(right) + np.log(wrong)) / (n + 2) / n
    return total


@given(whole_distances, whole_distances)
def test_no_other_sharpness_is_more_likely(same, different):
    same, different = np.array(same, dtype=float), np.array(different, dtype=float)
    threshold = best_threshold(same, different)
    found = best_sharpness(same, different, threshold)
    assert 0 <= found < np.inf
    best = likelihood(found, same, different, threshold)
    for other in (0.0, 0.5 * found, 0.99 * found, 1.01 * found, 2 * found, found + 0.1):
        assert likelihood(other, same, different, threshold) <= best + 1e-9


def test_clear_distances_make_sharp_verdicts():
    clear = best_sharpness(np.full(100, 1.0), np.full(100, 3.0), 2.0)
    blurred = best_sharpness(np.linspace(1, 2.5, 100), np.linspace(1.5, 3, 100), 2.0)
    assert clear > blurred > 0
    # Platt's targets are met where all distances of a kind are equal.
    assert chance_same(np.array([1.0, 3.0]), 2.0, clear) == pytest.approx([101 / 102, 1 / 102])
    assert best_sharpness(np.array([3.0]), np.array([1.0]), 2.0) == 0  # the wrong way round


def test_a_threshold_of_zero():
    found = best_sharpness(np.zeros(5), np.ones(5), 0.0)
    assert np.isfinite(found)
    assert chance_same(np.zeros(1), 0.0, found) == 0.5
    assert chance_same(np.ones(1), 0.0, found) < 0.5


def test_verdicts_and_probabilities_agree():
    X, y = datasets.make_xor(300, random_state=0)
    metric = KernelBeta(random_state=0).fit(X, pairs=Pairs.from_labels(y, 40, random_state=0))
    A, B = X[:150], X[150:]
    chance = metric.chance_same(A, B)
    assert ((chance > 0) & (chance < 1)).all()
    assert ((chance >= 0.5) == metric.same(A, B)).all()
    order = np.argsort(metric.pair_distance(A, B))
    assert (np.diff(chance[order]) <= 0).all()
    assert_allclose(
        metric.chance_same(A, A), chance_same(0.0, metric.threshold_, metric.sharpness_)
    )
    right = (y[:150] == y[150:]) == (chance >= 0.5)
    sure = np.maximum(chance, 1 - chance)
    assert right[sure > np.median(sure)].mean() > right[sure <= np.median(sure)].mean()


def test_a_metric_without_sharpness_says_what_to_do():
    X, y = datasets.make_xor(60, random_state=0)
    metric = KernelBeta(random_state=0).fit(X, y)
    del metric.sharpness_
    with pytest.raises(ValueError, match="fit again"):
        metric.chance_same(X, X)
