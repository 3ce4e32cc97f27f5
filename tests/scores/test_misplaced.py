import numpy as np
from scipy.spatial.distance import cdist

from nearkin.scores.suspects import judge_membership, measure_group_distances


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


def test_few_rows_tell_nothing():
    Z, y = clouds(6, n=8)
    assert np.isnan(chances(Z, y)).all()


def test_distances_are_means_over_the_nearest_three():
    Z, y = clouds(2)
    D = cdist(Z, Z)
    np.fill_diagonal(D, np.inf)
    found = measure_group_distances(Z, np.arange(len(Z)), Z, y)
    for k in (0, 5, 17):
        for g in range(4):
            assert np.isclose(found[k, g], np.sort(D[k, y == g])[:3].mean())
