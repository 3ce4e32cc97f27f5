import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.metrics.pairwise import manhattan_distances

from nearkin import Pairs
from nearkin.rows import parallel
from nearkin.rows.distances import linked_distances, rowwise_distances
from nearkin.scores import (
    balanced_rand,
    pair_auc,
    retrieval_recall,
    score_order,
    separability,
    triplets_kept,
)
from tests import oracles
from tests.cases import each


@pytest.fixture
def labelled():
    rng = np.random.RandomState(0)
    y = rng.randint(3, size=150)
    return rng.standard_normal((150, 3)) + y[:, None], y


@each(
    ("change", "error"),
    [
        (np.asarray, 1e-8),  # a point's distance to itself is rounding, sqrt(1e-16) of it
        (sp.csr_array, 1e-8),
        (np.float32, 1e-6),
        (lambda Z: Z + 1e6, 1e-7),
    ],
)
def test_separability_equals_the_double_loop(change, error, labelled):
    Z, y = labelled
    assert_allclose(separability(change(Z), y), oracles.separability(Z, y), rtol=error)
    # Labels may be of any kind, and unknown ones are left out.
    partial = np.where(np.arange(150) < 40, y, -1)
    expected = oracles.separability(Z[:40], y[:40])
    assert_allclose(separability(change(Z), partial), expected, rtol=error)
    names = np.array(["a", "b", "c", None])[partial]
    assert separability(change(Z), names) == separability(change(Z), partial)


def test_separability_with_another_distance(labelled):
    Z, y = labelled
    D = manhattan_distances(Z)
    same = y[:, None] == y
    off = ~np.eye(150, dtype=bool)
    expected = D[~same].mean() / D[same & off].mean()
    assert_allclose(separability(Z, y, distance=manhattan_distances), expected, rtol=1e-12)


def test_separability_works_by_blocks(labelled, monkeypatch):
    Z, y = labelled
    whole = separability(Z, y)
    monkeypatch.setattr(parallel, "_BLOCK_BYTES", 1)
    seen = []

    def distance(A, B):
        seen.append(A.shape[0])
        return np.sqrt(((A[:, None] - B[None]) ** 2).sum(axis=2))

    assert_allclose(separability(Z, y, distance=distance), whole, rtol=1e-8)
    assert sorted(seen) == [22, 64, 64]


@each("value", [0.0, 0.1, 1e8 / 3])
def test_separability_of_equal_points_is_one_and_of_single_points_infinite(value):
    assert separability(np.full((7, 2), value), [0, 0, 1, 1, 0, 1, 0]) == 1.0
    Z = np.repeat(value + np.random.RandomState(0).standard_normal((3, 2)), 4, axis=0)
    assert separability(Z, np.repeat([0, 1, 2], 4)) == np.inf


@each(
    ("y", "got"),
    [
        ([0, 0, 0], "1 classes of at most 3"),
        ([0, 1, 2], "3 classes of at most 1"),
        ([-1, -1, -1], "0 classes of at most 0"),
    ],
)
def test_separability_needs_two_classes_and_two_points(y, got):
    with pytest.raises(ValueError, match=f"at least two classes.* got {got} points"):
        separability(np.eye(3), y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        separability(np.eye(3), y[:2])


partition = st.lists(st.integers(0, 3), min_size=12, max_size=12)


@given(partition, partition)
def test_balanced_rand_equals_the_double_loop(labels_true, labels_pred):
    assert_allclose(
        balanced_rand(labels_true, labels_pred), oracles.balanced_rand(labels_true, labels_pred)
    )
    assert balanced_rand(labels_true, [("x", "y", "z", "u")[label] for label in labels_true]) == 1.0


def test_pair_auc_by_labels_equals_the_double_loop(labelled):
    Z, y = labelled[0][:25], labelled[1][:25]
    must, cannot = oracles.pairs_of_labels(y)
    expected = oracles.pair_auc(
        [np.linalg.norm(Z[i] - Z[j]) for i, j in must],
        [np.linalg.norm(Z[i] - Z[j]) for i, j in cannot],
    )
    assert_allclose(pair_auc(Z, y), expected)
    assert_allclose(pair_auc(Z, pairs=Pairs(must, cannot)), expected)


def test_pair_auc_weighs_pairs_and_counts_ties_half():
    Z = np.array([[0.0], [1.0], [2.0], [4.0]])
    pairs = Pairs([(0, 1), (1, 3)], [(1, 2), (0, 3)], must_weight=[2, 1], cannot_weight=[3, 1])
    # Same: 1 (weight 2), 3 (weight 1). Different: 1 (weight 3), 4 (weight 1).
    expected = oracles.pair_auc([1, 3], [1, 4], [2, 1], [3, 1])
    assert_allclose(expected, (2 * 3 / 2 + 2 * 1 + 0 + 1) / 12)
    assert_allclose(pair_auc(Z, pairs=pairs), expected)


def test_triplets_kept_counts_by_weight_and_ties_half():
    Z = np.array([[0.0], [1.0], [3.0], [-1.0], [0.1 + 0.2], [0.3]])
    weights = [4.0, 2.0, 1.0, 1.0]  # right, equal, wrong, equal but for rounding
    triplets = Pairs(closer=[(0, 1, 2), (0, 1, 3), (1, 2, 0), (0, 4, 5)], closer_weight=weights)
    assert triplets_kept(Z, triplets) == (4 + 1 + 0.5) / 8
    assert triplets_kept(sp.csr_array(Z), triplets) == (4 + 1 + 0.5) / 8
    with pytest.raises(ValueError, match=r"triplets_kept needs triplets: Pairs\(closer="):
        triplets_kept(Z, Pairs([(0, 1)]))
    with pytest.raises(ValueError, match="names row 3, but X has 3 rows"):
        triplets_kept(Z[:3], triplets)


def test_pairs_and_triplets_count_by_their_weights():
    Z = np.array([[0.0], [1.0], [3.0], [7.0]])
    pairs, wrong = Pairs([(0, 1)], [(2, 3)]), Pairs(closer=[(1, 2, 0)])
    assert score_order(Z, pairs=pairs) == 1
    assert score_order(Z, pairs=pairs + wrong) == 2 / 3
    assert score_order(Z, pairs=Pairs([(0, 1)]) + wrong) == 0  # one kind alone is in no order
    assert score_order(Z, [0, 0, 1, -1], pairs=wrong) == 3 / 4


def test_pair_auc_joins_labels_and_pairs():
    Z = np.array([[0.0], [1.0], [5.0], [5.5], [9.0]])
    y = [0, 0, 1, -1, -1]
    both = Pairs([(0, 1), (3, 4)], [(0, 2), (1, 2)])
    assert pair_auc(Z, y, pairs=Pairs([(3, 4)])) == pair_auc(Z, pairs=both)


def test_pair_auc_of_many_labels_is_a_reproducible_sample(labelled):
    Z, y = labelled
    exact = pair_auc(Z, y)
    sampled = pair_auc(Z, y, max_pairs=2000)
    assert sampled == pair_auc(Z, y, max_pairs=2000)
    assert sampled != pair_auc(Z, y, max_pairs=2000, random_state=1)
    # Three standard deviations of an AUC from 1000 + 1000 pairs.
    assert_allclose(sampled, exact, atol=3 * np.sqrt(1 / 12 * (1 / 1000 + 1 / 1000)))


@each(
    ("arguments", "error", "message"),
    [
        ({}, ValueError, "needs labels y or pairs"),
        ({"y": [0, 0, 0]}, ValueError, "needs both, got 3 must-links and 0 cannot-links"),
        ({"y": [0, -1, -1]}, ValueError, "needs both, got 0 must-links and 0 cannot-links"),
        ({"pairs": Pairs([(0, 1)])}, ValueError, "got 1 must-links and 0 cannot-links"),
        ({"pairs": Pairs([(0, 3)])}, ValueError, r"must-link \(0, 3\) names row 3"),
        ({"pairs": [(0, 1)]}, TypeError, "must be a nearkin.Pairs"),
        ({"y": Pairs([(0, 1)])}, TypeError, "by name"),
        ({"y": [0, 1]}, ValueError, "inconsistent numbers of samples"),
    ],
)
def test_pair_auc_says_what_it_needs(arguments, error, message):
    with pytest.raises(error, match=message):
        pair_auc(np.eye(3), **arguments)


@each("dtype", [np.float32, np.float64])
def test_rowwise_distances_work_by_blocks_and_do_not_cancel(dtype, monkeypatch):
    monkeypatch.setattr(parallel, "_BLOCK_BYTES", 1)
    rng = np.random.RandomState(0)
    A = (1e4 + rng.standard_normal((150, 3))).astype(dtype)
    B = A + dtype(0.5)
    expected = [np.sqrt(((a.astype(float) - b) ** 2).sum()) for a, b in zip(A, B, strict=True)]
    assert_allclose(rowwise_distances(A, B), expected, rtol=1e-12)
    links = np.column_stack([np.arange(150), np.arange(150)[::-1]])
    expected = [np.linalg.norm(A[i].astype(float) - A[j]) for i, j in links]
    assert_allclose(linked_distances(A, links), expected, rtol=1e-12)


def test_retrieval_recall_counts_what_the_nearest_rows_hold():
    rng = np.random.default_rng(0)
    D, relevant = rng.random((6, 9)), rng.random((6, 9)) < 0.4
    D[2, 3] = np.inf
    relevant[4] = False
    shares = []
    for distances, wanted in zip(D, relevant, strict=True):
        all_wanted = {j for j in range(9) if wanted[j] and distances[j] < np.inf}
        nearest = sorted(range(9), key=lambda j, row=distances: row[j])[:4]
        if all_wanted:
            shares.append(len(all_wanted & set(nearest)) / len(all_wanted))
    assert retrieval_recall(D, relevant, 4) == pytest.approx(np.mean(shares))
    assert retrieval_recall(D, relevant, 9) == 1


@each(
    ("relevant", "n", "message"),
    [
        ([[True]], 1, "same shape"),
        ([[True, False]], 0, "n_retrieved must be at least 1"),
        ([[False, False]], 1, "no query has a relevant row"),
    ],
)
def test_retrieval_recall_refuses(relevant, n, message):
    with pytest.raises(ValueError, match=message):
        retrieval_recall([[1.0, 2.0]], relevant, n)


def test_rounding_does_not_decide_between_pairs_equally_far():
    rng = np.random.RandomState(0)
    Z, y = rng.randint(4, size=(40, 1)) * np.array([0.1, 0.7]), rng.randint(2, size=40)
    rounded = Z * (1 + 1e-15 * rng.standard_normal(Z.shape))
    assert_allclose(pair_auc(rounded, y), pair_auc(Z, y), rtol=1e-12)


def test_a_row_far_out_does_not_make_others_equally_far(labelled):
    Z, y = labelled
    far = np.concatenate([Z, np.full((1, 3), 1e20)])
    expected = pair_auc(Z, y)
    assert_allclose(pair_auc(far, np.append(y, -1)), expected)
    assert_allclose(pair_auc(far, np.append(y, 0)), expected, atol=0.02)


def test_rounding_of_weights_does_not_lift_the_score_above_one():
    weight = 10.0 ** np.random.RandomState(191).uniform(-4, 4, 16)
    links = np.column_stack([np.zeros(16, dtype=int), np.arange(1, 17)])
    pairs = Pairs(links[:8], links[8:], must_weight=weight[:8], cannot_weight=weight[8:])
    assert pair_auc(np.arange(17.0)[:, None], pairs=pairs) == 1


def test_rows_of_unknown_labels_are_not_judged():
    true, found = [0, -1, 1, None, 1, 0], [0, 0, 1, 1, 1, 0]
    assert balanced_rand(true, found) == balanced_rand([0, 1, 1, 0], [0, 1, 1, 0]) == 1
    with pytest.raises(ValueError, match="two points whose true labels are known"):
        balanced_rand([0, -1, -1], [0, 0, 1])
    with pytest.raises(ValueError, match="-1 and 1 alone"):
        pair_auc([[0.0], [1.0], [2.0]], [-1, -1, 1])
