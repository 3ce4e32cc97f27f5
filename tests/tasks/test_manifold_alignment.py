import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from nearkin import ManifoldAlignment, Pairs, pairs_between

ANGLE = np.linspace(0, 2 * np.pi, 60, endpoint=False)


@pytest.fixture(scope="module")
def sets():
    """Three closed curves of different shape, size and number of columns, and a shuffled one."""
    rng = np.random.default_rng(0)
    circle = np.column_stack([np.cos(ANGLE), np.sin(ANGLE)])
    bent = np.column_stack([30 * np.sin(ANGLE), 20 * np.cos(ANGLE), 5 * np.cos(2 * ANGLE)])
    lifted = circle @ rng.standard_normal((2, 6)) + 3
    return [circle, bent, lifted]


@pytest.fixture(scope="module")
def links(sets):
    return pairs_between(sets, [(j % 2, 5 * j, 1 + j % 2, 5 * j) for j in range(12)])


def off_by(found, wanted):
    gap = np.abs(found - wanted[:, None])
    return np.minimum(gap, 60 - gap)


@pytest.fixture(scope="module")
def aligned(sets, links):
    return few_vectors().fit(sets, pairs=links)


def few_vectors():
    return ManifoldAlignment(n_vectors=3, graph_neighbors=2, random_state=0)


def test_rows_meet_their_counterparts_in_other_sets_by_links_only(sets, aligned):
    for of, among in ((0, 1), (1, 2), (2, 0)):
        _, rows = aligned.retrieve(sets[of], of=of, among=among, n=3)
        assert off_by(rows, np.arange(60)).mean() < 3
    distances, rows = aligned.retrieve(sets[0][:2], of=0, among=1, n=999)  # all there are
    assert rows.shape == distances.shape == (2, 60)
    alignment = few_vectors().fit(sets, pairs=pairs_between(sets, [(0, 0, 1, 0)]))
    _, rows = alignment.retrieve(sets[0], of=0, among=2, n=3)
    assert off_by(rows, np.arange(60)).mean() > 5


def test_known_rows_stay_and_new_rows_lie_between(sets, aligned):
    for number, rows in enumerate(sets):
        assert_allclose(aligned.transform(rows, of=number), aligned.embeddings_[number])
    half = ANGLE + np.pi / 60
    new = np.column_stack([np.cos(half), np.sin(half)])
    _, rows = aligned.retrieve(new, of=0, among=0, n=2)
    assert off_by(rows, np.arange(60)).max() <= 1


def test_pairs_between_numbers_rows_through():
    pairs = pairs_between([np.zeros((4, 1)), np.zeros((3, 2))], [(0, 3, 1, 2), (1, 0, 0, 0)])
    assert sorted(pairs.must_link.tolist()) == [[0, 4], [3, 6]]
    for link in ((0, 4, 1, 0), (2, 0, 1, 0), (0, -1, 1, 0), (0, 1, 1)):
        with pytest.raises(ValueError, match="link"):
            pairs_between([np.zeros((4, 1)), np.zeros((3, 2))], [link])


def test_sparse_sets_and_the_same_seed_give_the_same(sets, links, aligned):
    sparse = few_vectors().fit([sp.csr_array(rows) for rows in sets], pairs=links)
    again = few_vectors().fit(sets, pairs=links)
    for a, b, c in zip(aligned.embeddings_, sparse.embeddings_, again.embeddings_, strict=True):
        assert_allclose(np.abs(a), np.abs(b), atol=1e-6)
        assert_array_equal(a, c)


def test_objective_and_components(sets, links):
    alignment = ManifoldAlignment(n_vectors=4, n_iter=3, n_components=2, random_state=0)
    alignment.fit(sets, pairs=links)
    assert (np.diff(alignment.objective_) <= 1e-5 * alignment.objective_[:-1]).all()
    assert [Z.shape for Z in alignment.embeddings_] == [(60, 2)] * 3


def test_rows_that_resemble_each_other_across_sets_need_fewer_links(sets, links):
    circle = sets[0]
    larger = 1.3 * circle + 0.1
    one = pairs_between([circle, larger], [(0, 0, 1, 0)])
    alignment = ManifoldAlignment(cross_neighbors=2, random_state=0)
    alignment.fit([circle, larger], pairs=one)
    _, rows = alignment.retrieve(circle, of=0, among=1, n=1)
    assert off_by(rows, np.arange(60)).mean() < 3
    with pytest.raises(ValueError, match="use cross_neighbors=0"):
        ManifoldAlignment(cross_neighbors=1).fit(sets, pairs=links)


def test_bad_input(sets, links, aligned):
    broken = [sets[0].copy(), *sets[1:]]
    broken[0][2, 1] = np.nan
    for given, pairs, message in (
        (sets[:1], Pairs([(0, 1)]), "two sets"),
        (sets[0], Pairs([(0, 1)]), "list of two sets"),
        (sets, Pairs([(0, 999)]), "180"),
        (sets, links + Pairs(closer=[(0, 60, 70)]), "1 triplet, but only must-links and cannot"),
        (broken, links, "set 0 contains NaN"),
    ):
        with pytest.raises(ValueError, match=message):
            ManifoldAlignment().fit(given, pairs=pairs)
    with pytest.raises(ValueError, match="no set 3"):
        aligned.retrieve(sets[0], of=0, among=3)
    with pytest.raises(ValueError, match="set 1 has 3"):
        aligned.transform(sets[0], of=1)
