import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from nearkin import ManifoldAlignment, Pairs, pairs_between
from tests.cases import each

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


def test_rows_meet_their_counterparts_in_other_sets(sets, links):
    alignment = ManifoldAlignment(n_vectors=3, graph_neighbors=2, random_state=0)
    alignment.fit(sets, pairs=links)
    for of, among in ((0, 1), (1, 2), (2, 0)):
        _, rows = alignment.retrieve(sets[of], of=of, among=among, n=3)
        assert off_by(rows, np.arange(60)).mean() < 3


def test_without_the_links_they_would_not(sets):
    one = pairs_between(sets, [(0, 0, 1, 0)])
    alignment = ManifoldAlignment(n_vectors=3, graph_neighbors=2, random_state=0)
    alignment.fit(sets, pairs=one)
    _, rows = alignment.retrieve(sets[0], of=0, among=2, n=3)
    assert off_by(rows, np.arange(60)).mean() > 5


def test_known_rows_stay_and_new_rows_lie_between(sets, links):
    alignment = ManifoldAlignment(n_vectors=3, graph_neighbors=2, random_state=0)
    alignment.fit(sets, pairs=links)
    for number, rows in enumerate(sets):
        assert_allclose(alignment.transform(rows, of=number), alignment.embeddings_[number])
    half = ANGLE + np.pi / 60
    new = np.column_stack([np.cos(half), np.sin(half)])
    _, rows = alignment.retrieve(new, of=0, among=0, n=2)
    assert off_by(rows, np.arange(60)).max() <= 1


def test_pairs_between_numbers_rows_through():
    pairs = pairs_between([np.zeros((4, 1)), np.zeros((3, 2))], [(0, 3, 1, 2), (1, 0, 0, 0)])
    assert sorted(pairs.must_link.tolist()) == [[0, 4], [3, 6]]


@each("link", [(0, 4, 1, 0), (2, 0, 1, 0), (0, -1, 1, 0), (0, 1, 1)])
def test_links_to_nowhere(link):
    with pytest.raises(ValueError, match="link"):
        pairs_between([np.zeros((4, 1)), np.zeros((3, 2))], [link])


def test_sparse_sets(sets, links):
    alignment = ManifoldAlignment(n_vectors=3, graph_neighbors=2, random_state=0)
    dense = clone(alignment).fit(sets, pairs=links)
    sparse = clone(alignment).fit([sp.csr_array(rows) for rows in sets], pairs=links)
    for a, b in zip(dense.embeddings_, sparse.embeddings_, strict=True):
        assert_allclose(np.abs(a), np.abs(b), atol=1e-6)


def test_same_seed_same_result(sets, links):
    once, again = (ManifoldAlignment(random_state=1).fit(sets, pairs=links) for _ in range(2))
    for a, b in zip(once.embeddings_, again.embeddings_, strict=True):
        assert_array_equal(a, b)


def test_objective_and_components(sets, links):
    alignment = ManifoldAlignment(n_vectors=4, n_iter=3, n_components=2, random_state=0)
    alignment.fit(sets, pairs=links)
    assert (np.diff(alignment.objective_) <= 1e-5 * alignment.objective_[:-1]).all()
    assert [Z.shape for Z in alignment.embeddings_] == [(60, 2)] * 3


def test_rows_that_resemble_each_other_across_sets_need_fewer_links(sets):
    circle = sets[0]
    larger = 1.3 * circle + 0.1
    one = pairs_between([circle, larger], [(0, 0, 1, 0)])
    alignment = ManifoldAlignment(cross_neighbors=2, random_state=0)
    alignment.fit([circle, larger], pairs=one)
    _, rows = alignment.retrieve(circle, of=0, among=1, n=1)
    assert off_by(rows, np.arange(60)).mean() < 3


def test_sets_of_different_columns_cannot_be_compared(sets, links):
    with pytest.raises(ValueError, match="use cross_neighbors=0"):
        ManifoldAlignment(cross_neighbors=1).fit(sets, pairs=links)


# Bad input


def test_one_set_is_not_enough(sets):
    with pytest.raises(ValueError, match="two sets"):
        ManifoldAlignment().fit(sets[:1], pairs=Pairs([(0, 1)]))
    with pytest.raises(ValueError, match="list of two sets"):
        ManifoldAlignment().fit(sets[0], pairs=Pairs([(0, 1)]))


def test_pairs_for_other_sets(sets):
    with pytest.raises(ValueError, match="180"):
        ManifoldAlignment().fit(sets, pairs=Pairs([(0, 999)]))


def test_triplets_are_refused(sets, links):
    with pytest.raises(ValueError, match="1 triplet, but only must-links and cannot-links"):
        ManifoldAlignment().fit(sets, pairs=links + Pairs(closer=[(0, 60, 70)]))


def test_no_such_set(sets, links):
    alignment = ManifoldAlignment(random_state=0).fit(sets, pairs=links)
    with pytest.raises(ValueError, match="no set 3"):
        alignment.retrieve(sets[0], of=0, among=3)
    with pytest.raises(ValueError, match="set 1 has 3"):
        alignment.transform(sets[0], of=1)


def test_not_a_number(sets, links):
    broken = [sets[0].copy(), *sets[1:]]
    broken[0][2, 1] = np.nan
    with pytest.raises(ValueError, match="set 0 contains NaN"):
        ManifoldAlignment().fit(broken, pairs=links)


def test_more_is_retrieved_than_there_is(sets, links):
    alignment = ManifoldAlignment(random_state=0).fit(sets, pairs=links)
    distances, rows = alignment.retrieve(sets[0][:2], of=0, among=1, n=999)
    assert rows.shape == distances.shape == (2, 60)
