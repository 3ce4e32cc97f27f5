"""Triplets: a is nearer to b than to c."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.model_selection import train_test_split

from nearkin import Conflict, ContradictionWarning, Pairs, TripletCircle
from nearkin.pairs.supervision import gather_evidence, revise_evidence
from tests.cases import each

MIXED = Pairs([(0, 1)], [(2, 3)], closer=[(4, 0, 2), (0, 4, 3)], closer_weight=[2.0, 0.5], n_rows=6)


def test_triplets_are_sorted_once_and_sealed():
    pairs = Pairs(closer=[(3, 1, 2), (0, 2, 1), (3, 1, 2)], closer_weight=[1.0, 2.0, 5.0])
    assert pairs.closer.tolist() == [[0, 2, 1], [3, 1, 2]]
    assert pairs.closer_weight.tolist() == [2.0, 5.0]
    assert len(pairs) == 2
    assert pairs.points.tolist() == [0, 1, 2, 3]
    assert pairs == Pairs(closer=[(3, 1, 2), (0, 2, 1)], closer_weight=[5.0, 2.0])
    assert pairs != Pairs(closer=[(3, 2, 1), (0, 2, 1)], closer_weight=[5.0, 2.0])
    assert hash(pairs) != hash(Pairs(closer=[(3, 1, 2)]))
    assert repr(MIXED) == "Pairs(1 must-link, 1 cannot-link, 2 triplets, n_rows=6)"
    with pytest.raises(ValueError, match="read-only"):
        pairs.closer[0] = 1
    assert pickle.loads(pickle.dumps(MIXED)) == MIXED


@each(
    ("closer", "said"),
    [
        ([(0, 1)], r"closer triplets have shape \(1, 2\).*nearer to 5 than to 2"),
        ((0, 1, 2), r"one bare triplet, \(0, 1, 2\): write a list of it"),
        ([(0, 1, 2), (3, 4)], r"closer triplet 1 is \(3, 4\): needed is a list of triplets"),
        ([(0, 1, 2), (3, 4, 0.5)], r"closer triplet 1 is .*must be integers"),
        ([(0, 1, -2)], "negative"),
        ([(0, 1, 9)], r"closer triplet 0 is \(0, 1, 9\), but n_rows=6"),
        ([(0, 1, 2), (0, 0, 3)], r"closer triplet 1 is \(0, 0, 3\), which names a row twice"),
        ([(0, 1, 0)], "names a row twice"),
        ([(0, 1, 1)], "names a row twice"),
    ],
)
def test_wrong_triplets_are_named(closer, said):
    with pytest.raises((ValueError, TypeError), match=said):
        Pairs(closer=closer, n_rows=6)


def test_circles_are_listed_and_each_is_one():
    around = [(0, 1, 2), (0, 2, 3), (0, 3, 1)]
    for closer, said in {
        tuple(around): "d(0, 1) < d(0, 2) < d(0, 3) < d(0, 1) by triplets",
        ((5, 6, 7), (7, 5, 6), (6, 7, 5)): "d(5, 6) < d(5, 7) < d(6, 7) < d(5, 6) by triplets",
        ((9, 8, 7), (1, 2, 3), (1, 3, 2)): "d(1, 2) < d(1, 3) < d(1, 2) by triplets",
    }.items():
        (found,) = Pairs(closer=closer).conflicts()
        assert {*found.triplets} <= {*closer}
        assert str(found) in turned(said)
    assert not Pairs(closer=[*around[:2], (0, 1, 3)]).conflicts()  # the same way round
    both = Pairs(closer=around[:2]) + Pairs([(7, 8)], [(7, 8)], closer=around[2:])
    assert [type(found) for found in both.conflicts()] == [Conflict, TripletCircle]


def turned(said):
    """A circle as said from each of its distances on."""
    way = said.removesuffix(" by triplets").split(" < ")[:-1]
    ways = [[*way[i:], *way[:i], way[i]] for i in range(len(way))]
    return [" < ".join(way) + " by triplets" for way in ways]


@each("seed", range(3))
def test_without_the_closing_triplets_there_is_no_circle(seed):
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((30, 2))
    distances = np.linalg.norm(points[:, None] - points, axis=2)
    rows = np.array([rng.permutation(30)[:3] for _ in range(400)])
    a, b, c = rows.T
    swapped = distances[a, b] > distances[a, c]
    rows[swapped] = rows[swapped][:, [0, 2, 1]]
    assert not Pairs(closer=rows).conflicts()
    rows[:40] = rows[:40, [0, 2, 1]]
    pairs = Pairs(closer=rows)
    found = pairs.conflicts()
    given = {*map(tuple, pairs.closer.tolist())}
    for circle in found:
        ends = [({a, b}, {a, c}) for a, b, c in circle.triplets]
        assert all(ends[i - 1][1] == ends[i][0] for i in range(len(ends)))
        assert {*circle.triplets} <= given
    assert found
    assert not pairs.without([circle.triplets[-1] for circle in found]).conflicts()


def test_parts_of_them_and_sums():
    assert MIXED.subset([True, False, False, True]) == Pairs(
        [(0, 1)], closer=[(4, 0, 2)], closer_weight=[2.0], n_rows=6
    )
    assert MIXED.without([(4, 0, 2)]).closer.tolist() == [[0, 4, 3]]
    assert MIXED.without(MIXED.closer) == Pairs([(0, 1)], [(2, 3)], n_rows=6)
    assert MIXED.without([(0, 1)]).closer.tolist() == MIXED.closer.tolist()
    assert MIXED.without(MIXED.closer) + MIXED.subset([False, False, True, True]) == MIXED
    assert MIXED.closure().closer.tolist() == MIXED.closer.tolist()
    assert MIXED[[4, 2, 0]].closer.tolist() == [[0, 2, 1]]
    assert MIXED.take([5, 1]).closer.shape == (0, 3)
    train, test = MIXED.split(2, random_state=0)
    assert (len(train), len(test)) == (2, 2)
    assert train + test == MIXED
    X = np.arange(6)
    _, _, left, right = train_test_split(X, MIXED, random_state=0)
    assert isinstance(left, Pairs)
    assert left.n_rows + right.n_rows == 6
    with pytest.raises(ValueError, match=r"triplet \(0, 4, 3\) names row 4, but X has 4 rows"):
        Pairs(closer=[(0, 4, 3)]).check_rows(4)


def test_frames_of_triplets():
    names = [*"abcdef"]
    frame = MIXED.to_frame(ids=names, backend="pandas", closer=True)
    assert list(frame.columns) == ["anchor", "closer", "farther", "weight"]
    assert frame.iloc[0].tolist() == ["a", "e", "d", 0.5]
    pairs_alone = MIXED.to_frame(ids=names, backend="pandas", closer=False)
    assert Pairs.from_frame(pairs_alone, ids=names) + Pairs.from_frame(frame, ids=names) == MIXED
    only = MIXED.subset([False, False, True, True])
    assert Pairs.from_frame(only.to_frame(backend="pandas"), n_rows=6) == only
    with pytest.raises(ValueError, match="2 pairs and 2 triplets do not fit in one table"):
        MIXED.to_frame()
    with pytest.raises(ValueError, match=r"no column \['farther'\], which triplets need"):
        Pairs.from_frame(frame.drop(columns="farther"))
    with pytest.raises(ValueError, match=r"frame row 0 is \(1, 1, 2\), which names a row twice"):
        Pairs.from_frame(pd.DataFrame({"anchor": [1], "closer": [1], "farther": [2]}))
    with pytest.raises(ValueError, match="1 identifiers in anchor and closer and farther"):
        Pairs.from_frame(frame.replace("a", "z"), ids=names)
    opposite = frame.rename(columns={"closer": "farther", "farther": "closer"})
    assert len(Pairs.from_frame(pd.concat([frame, opposite]), ids=names).conflicts()) == 2


def test_pairs_and_labels_that_contradict_triplets_are_noted():
    pairs = Pairs([(0, 2), (2, 5)], [(0, 1)], closer=[(0, 1, 5)])
    with pytest.warns(ContradictionWarning, match=r"triplet \(0, 1, 5\), yet rows 0 and 1 differ"):
        gather_evidence(6, None, pairs, triplets=True)
    gather_evidence(6, None, Pairs([(0, 2)], [(0, 1)], closer=[(0, 2, 1)]), triplets=True)
    y = [0, 0, 1, -1]
    with pytest.warns(ContradictionWarning, match=r"triplets contradict the labels: .*\(0, 2, 1\)"):
        gather_evidence(4, y, Pairs(closer=[(0, 2, 1)]), triplets=True)
    gather_evidence(4, y, Pairs(closer=[(0, 1, 2), (0, 3, 1), (3, 2, 0)]), triplets=True)
    with pytest.raises(ValueError, match=r"2 triplets.*taken by fit of.*pairs\.without\(pairs"):
        gather_evidence(6, None, MIXED)  # refused unless they are taken


def test_added_and_withdrawn():
    evidence = gather_evidence(6, None, MIXED, triplets=True)
    assert evidence.counts(6)["triplets"] == 2
    gone = MIXED.subset([False, False, False, True])
    left = revise_evidence(evidence, 6, None, gone).pairs
    assert left == MIXED.subset([True, True, True, False])
    with pytest.raises(ValueError, match=r"triplet \(4, 0, 2\) is withdrawn, but it was not given"):
        revise_evidence(gather_evidence(6, None, left, triplets=True), 6, None, gone)


def test_as_weak_pairs():
    weak = MIXED.as_weak_pairs()
    assert not len(weak.closer)
    assert weak.must_link.tolist() == [[0, 1], [0, 4]]
    assert_array_equal(weak.must_weight, [1.0, 1.0])  # half of the larger of 2 and 0.5
    assert weak.cannot_link.tolist() == [[0, 3], [2, 3], [2, 4]]
    assert_array_equal(weak.cannot_weight, [0.25, 1.0, 1.0])
