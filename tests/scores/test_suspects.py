"""Pairs that look wrong, and rows in wrong groups."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist

from nearkin import Pairs
from nearkin.scores.held_out import (
    Suspect,
    find_suspects_of_metric,
    judge_membership,
    measure_group_distances,
    model_answers,
    rank_within,
    weaken_doubtful_pairs,
)

LINKS = np.arange(400).reshape(200, 2)
PAIRS = Pairs(LINKS[:100], LINKS[100:], must_weight=np.linspace(1, 2, 100))
SAME = np.arange(200) < 100


def find_suspects(pairs, rank, least=0.55):
    """By ranks alone: as if the metric had learned no more."""
    return find_suspects_of_metric(pairs, rank, rank, least)


def ranks_with_mistakes():
    """Must-links rank low and cannot-links high, but for two of each."""
    rng = np.random.RandomState(0)
    rank = np.r_[rng.beta(1, 5, size=100), rng.beta(5, 1, size=100)]
    rank[[0, 1, 100, 101]] = [0.9, 0.95, 0.05, 0.1]
    return rank


def test_pairs_that_rank_as_the_other_kind_are_suspects():
    found = find_suspects(PAIRS, ranks_with_mistakes())
    worst = {suspect.pair for suspect in found[:4]}
    assert worst == {tuple(LINKS[i]) for i in (0, 1, 100, 101)}
    chances = [suspect.chance_opposite for suspect in found]
    assert chances == sorted(chances, reverse=True)
    assert min(chances) >= 0.55
    assert all(suspect.same == (suspect.pair[0] < 200) for suspect in found)
    assert PAIRS.without([suspect.pair for suspect in found]).must_link[0, 0] > 2


def test_trust_is_how_much_likelier_right_is_than_wrong():
    rank = ranks_with_mistakes()
    rank[[5, 150]] = np.nan  # not judged: trusted
    told = weaken_doubtful_pairs(PAIRS, rank)
    place = rank_within(rank, SAME)
    wrong = model_answers(place, SAME).chance_wrong(place, SAME)
    expected = np.maximum(1 - 2 * np.where(np.isnan(wrong), 0, wrong), 1e-3)
    assert_allclose(told.must_weight, PAIRS.must_weight * expected[:100])
    assert_allclose(told.cannot_weight, expected[100:])
    assert_array_equal(told.must_link, PAIRS.must_link)
    assert told.must_weight[5] == PAIRS.must_weight[5]
    assert told.must_weight[0] < 0.4 < 0.6 < told.must_weight[10]


def test_one_kind_of_pair_says_nothing_of_mistakes():
    pairs = Pairs(LINKS)
    rank = np.random.RandomState(0).rand(200)
    assert find_suspects(pairs, rank) == []
    assert weaken_doubtful_pairs(pairs, rank) == pairs
    assert find_suspects(PAIRS, np.full(200, np.nan)) == []
    assert weaken_doubtful_pairs(Pairs(), np.empty(0)) == Pairs()


def test_a_metric_orders_suspects_and_pairs_held_out_say_how_many():
    rank = ranks_with_mistakes()
    rank[[7, 8]] = np.nan  # not judged: never listed
    # The metric was told all pairs, and still has two of the mistakes beyond all others.
    learned = np.where(SAME, 1.0, 3.0) + np.linspace(0, 0.5, 200)
    learned[[0, 100]] = [9.0, 0.1]
    learned[7] = 10.0
    found = find_suspects_of_metric(PAIRS, rank, learned)
    assert {suspect.pair for suspect in found[:2]} == {(0, 1), (200, 201)}
    # 198 judged pairs, which count as much as 20 others held out.
    told = rank_within(np.where(np.isnan(rank), np.nan, learned), SAME)
    place = (198 * told + 20 * rank_within(rank, SAME)) / 218
    p = model_answers(rank_within(rank, SAME), SAME).chance_same(place)
    opposite = np.where(SAME, 1 - p, p)
    expected = {tuple(LINKS[i]) for i in np.flatnonzero(opposite >= 0.48)}
    assert {suspect.pair for suspect in found} == expected
    chances = [suspect.chance_opposite for suspect in found[:2]]
    assert_allclose(sorted(chances), sorted(opposite[[0, 100]]))
    everything = find_suspects_of_metric(PAIRS, rank, learned, least=0.0)
    assert len(everything) == 198
    assert find_suspects_of_metric(Pairs(LINKS), rank, learned) == []


def test_suspects_say_what_is_odd():
    far, near = Suspect((3, 4), True, 0.9), Suspect((0, 2), False, 0.75)
    assert str(far) == (
        "rows 3 and 4 are said to be the same but lie far apart: different, by their distance, "
        "with a probability of 90%"
    )
    assert "said to be different but lie close together" in str(near)


def test_where_all_pairs_are_near_right_ones_are_no_suspects():
    rng = np.random.RandomState(0)
    duplicates, look_alikes = 1e-5 * rng.rand(100), 1e-4 * (1 + rng.rand(100))
    rank = np.r_[duplicates, look_alikes]
    assert find_suspects(PAIRS, rank) == []
    rank[[0, 150]] = rank[[150, 0]]
    assert {suspect.pair for suspect in find_suspects(PAIRS, rank)} == {(0, 1), (300, 301)}


def clouds(apart, n=120, seed=0):
    rng = np.random.RandomState(seed)
    y = np.arange(n) % 4
    return (apart * np.eye(4))[y] + rng.standard_normal((n, 4)), y


def chances(Z, said):
    return judge_membership(measure_group_distances(Z, np.arange(len(Z)), Z, said), said).misplaced


def test_rows_in_wrong_groups_are_found():
    Z, y = clouds(6)
    said = y.copy()
    said[:8] = (y[:8] + 1) % 4
    found = chances(Z, said)
    assert (found[:8] > 0.9).all()
    assert (found[8:] < 0.2).all()


def test_chances_are_what_they_claim():
    claimed, wrong = [], []
    for seed in range(40):
        rng = np.random.RandomState(seed)
        Z, y = clouds(2.5, seed=seed)
        lies = rng.rand(len(y)) < 0.1
        said = np.where(lies, (y + rng.randint(1, 4, len(y))) % 4, y)
        claimed.append(chances(Z, said))
        wrong.append(lies)
    claimed, wrong = np.concatenate(claimed), np.concatenate(wrong)
    assert abs(claimed.mean() - wrong.mean()) < 0.02
    for low, high in ((0.0, 0.3), (0.3, 0.7), (0.7, 1.0)):
        some = (claimed >= low) & (claimed < high)
        assert abs(claimed[some].mean() - wrong[some].mean()) < 0.12


def test_nobody_is_suspected_where_groups_cannot_be_told_apart():
    Z, y = clouds(0)
    assert np.nanmax(chances(Z, y)) < 0.5
    assert np.isnan(chances(*clouds(6, n=8))).all()  # few rows tell nothing


def test_distances_are_means_over_the_nearest_three():
    Z, y = clouds(2)
    D = cdist(Z, Z)
    np.fill_diagonal(D, np.inf)
    found = measure_group_distances(Z, np.arange(len(Z)), Z, y)
    for k in (0, 5, 17):
        for g in range(4):
            assert np.isclose(found[k, g], np.sort(D[k, y == g])[:3].mean())
