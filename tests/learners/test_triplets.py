"""Learners that learn from triplets, and others that must refuse them."""

from contextlib import nullcontext

import numpy as np
import pytest
from sklearn.datasets import load_iris

import nearkin
from nearkin import (
    ITML,
    Blend,
    Chain,
    ContradictionWarning,
    GeometryAware,
    KernelA,
    KernelBeta,
    MetricLearner,
    Pairs,
    plot,
    registry,
)
from nearkin.pairs.supervision import TAKE_TRIPLETS
from nearkin.scores.held_out import make_pair_folds
from tests.cases import each

N = 60


def hidden_metric(seed=1, n_triplets=150):
    """Rows whose first two columns alone count, and triplets of that distance."""
    rng = np.random.RandomState(seed)
    X = rng.standard_normal((N, 4))
    X[:, :2] *= 0.7
    return X, triplets_of(X[:, :2], n_triplets, rng)


def triplets_of(Z, n, rng):
    rows = np.array([rng.permutation(len(Z))[:3] for _ in range(n)])
    near = np.linalg.norm(Z[rows[:, 0]] - Z[rows[:, 1]], axis=1)
    far = np.linalg.norm(Z[rows[:, 0]] - Z[rows[:, 2]], axis=1)
    return np.where((near < far)[:, None], rows, rows[:, [0, 2, 1]])


def share_kept(Z, triplets):
    """Share of triplets that distances follow."""
    a, b, c = (Z[rows] for rows in triplets.T)
    near, far = np.linalg.norm(a - b, axis=1), np.linalg.norm(a - c, axis=1)
    return float(np.mean(near < far))


LEARNERS = {
    "ITML": ITML(random_state=0),
    "ITML in a kernel's space": ITML(kernel="rbf", random_state=0),
    "GeometryAware": GeometryAware(n_iter=5, random_state=0),
    "data-dependent": GeometryAware(family="data_dependent", n_iter=5, random_state=0),
    "rbf": GeometryAware(family="rbf", random_state=0),
    "KernelBeta": KernelBeta(random_state=0),
    "KernelBeta as published": KernelBeta(weighting="paper", random_state=0),
    "chain": Chain([ITML(random_state=0), KernelBeta(random_state=0)]),
    "blend": Blend([ITML(random_state=0), KernelBeta(random_state=0)]),
}


each_learner = each("learner", LEARNERS.values(), ids=list(LEARNERS))


@each_learner
def test_what_triplets_teach_holds_for_others(learner):
    X, triplets = hidden_metric()
    held_out = triplets_of(X[:, :2], 500, np.random.RandomState(1))
    metric = learner.fit(X, pairs=Pairs(closer=triplets))
    assert share_kept(metric.transform(X), held_out) > share_kept(X, held_out) + 0.08
    assert metric.learned_from_["triplets"] == len(triplets)
    assert 0 < metric.threshold_ < np.inf


@each_learner
def test_pairs_and_triplets_are_learned_from_together(learner):
    X, triplets = hidden_metric(n_triplets=3)
    pairs, order = Pairs([(0, 1)], [(2, 3)]), Pairs(closer=triplets)
    metric = learner.fit(X, pairs=pairs + order)
    told = metric.learned_from_
    assert (told["must_links"], told["cannot_links"], told["triplets"]) == (1, 1, 3)
    found = metric.transform(X)
    for part in (pairs, order):
        alone = learner.fit(X, pairs=part).transform(X)
        assert found.shape != alone.shape or not np.allclose(found, alone)


@each_learner
def test_triplets_that_no_metric_can_follow_leave_one(learner):
    X, _ = hidden_metric(n_triplets=1)
    X[1] = X[2] = X[0]
    contradicted = Pairs([(5, 7)], [(5, 6)], closer=[(5, 6, 7)])
    with pytest.warns(nearkin.ContradictionWarning, match="pairs contradict triplets"):
        metrics = [learner.fit(X, pairs=contradicted)]
    # Equal rows, of which none can be nearer; one that is to be nearer than an equal one.
    metrics += [learner.fit(X, pairs=Pairs(closer=[rows])) for rows in ((0, 1, 2), (0, 9, 1))]
    for metric in metrics:
        found = metric.transform(X)
        assert np.isfinite(found).all()
        assert np.ptp(found) > 0


def test_triplets_that_come_and_go():
    X, triplets = hidden_metric()
    first, more = Pairs(closer=triplets[:50]), Pairs(closer=triplets[50:60])
    metric = ITML(random_state=0).fit(X, pairs=first)
    before = metric.transform(X)
    metric.partial_fit(X, pairs=more)
    assert not np.allclose(metric.transform(X), before)
    metric.partial_fit(X, withdrawn=more)
    np.testing.assert_allclose(metric.transform(X), before, atol=1e-9)


OTHERS = [
    learner.name
    for learner in registry.LEARNERS
    if learner.name not in (*TAKE_TRIPLETS, "Euclidean", "Chain", "Blend", "Distilled")
]


@each("name", OTHERS)
def test_other_learners_refuse_them(name):
    X, triplets = hidden_metric(n_triplets=5)
    y = np.arange(N) % 2
    with pytest.raises(ValueError, match="5 triplets, but only must-links and cannot-links"):
        getattr(nearkin, name)().fit(X, y, pairs=Pairs([(0, 2)], closer=triplets))


REFUSING = {
    "calibrate": lambda X, pairs: ITML().fit(X, pairs=pairs).calibrate(X, pairs=pairs),
    "spread_pairs": lambda X, pairs: nearkin.spread_pairs(X, pairs),
    "suggest_pairs": lambda X, pairs: nearkin.suggest_pairs(
        ITML().fit(X, pairs=pairs), X, pairs=pairs
    ),
    "learn_actively": lambda X, pairs: nearkin.learn_actively(X, lambda i, j: True, 3, pairs=pairs),
    "clusters": lambda X, pairs: nearkin.MPCKMeans(2).fit(X, pairs=pairs),
    "picture": lambda X, pairs: plot.embedding(X, pairs=pairs),
    "chain": lambda X, pairs: Chain([nearkin.RCA()]).fit(X, pairs=pairs),
    "blend": lambda X, pairs: Blend([nearkin.GMML()]).fit(X, pairs=pairs),
}


@each("use", REFUSING.values(), ids=list(REFUSING))
def test_all_else_refuses_them(use):
    X, triplets = hidden_metric(n_triplets=5)
    pairs = Pairs([(0, 2)], [(1, 3)], closer=triplets, n_rows=N)
    with pytest.raises(ValueError, match="5 triplets, but only must-links and cannot-links"):
        use(X, pairs)


@each(("window_neighbors", "learn_weights"), [(None, True), (8, False)])
def test_kernel_a_moves_points_into_the_order_said(window_neighbors, learn_weights):
    X, triplets = hidden_metric(n_triplets=40)
    settings = {"window_neighbors": window_neighbors, "learn_weights": learn_weights}
    learner = KernelA(random_state=0, n_iter=60, **settings)
    metric = learner.fit(X, pairs=Pairs(closer=triplets))
    assert (np.diff(metric.objective_) <= 1e-9 * metric.objective_[0]).all()
    assert share_kept(metric.transform(X), triplets) > share_kept(X, triplets) + 0.15


def test_kernel_beta_weighs_a_triplet_as_two_weak_pairs():
    X, triplets = hidden_metric(n_triplets=20)
    ends = {"must_link": triplets[:, :2], "cannot_link": triplets[:, [0, 2]]}
    half = np.full(20, 0.5)
    weak = Pairs(**ends, must_weight=half, cannot_weight=half)
    with pytest.warns(nearkin.ContradictionWarning) if weak.conflicts() else nullcontext():
        expected = KernelBeta(random_state=0).fit(X, pairs=weak)
    found = KernelBeta(random_state=0).fit(X, pairs=Pairs(closer=triplets))
    np.testing.assert_allclose(found.beta_, expected.beta_)


def test_metric_learner_judges_by_triplets_that_it_holds_out():
    X, triplets = hidden_metric(n_triplets=150)
    y = (X[:, :2] > 0) @ [1, 2]
    pairs = Pairs.from_labels(y, 20, random_state=0) + Pairs(closer=triplets)
    metric = MetricLearner(random_state=0, time_budget=0.3).fit(X, pairs=pairs)
    names = {candidate.name for candidate in metric.report_.candidates}
    assert "KernelBeta after ITML" in names
    assert not any(other in name for name in names for other in ("PLDA", "ColumnWeights"))
    assert metric.report_.n_judged > 20
    assert all(len(suspect.pair) == 2 for suspect in metric.suspects_)
    assert metric.learned_from_["triplets"] == len(triplets)
    held_out = triplets_of(X[:, :2], 500, np.random.RandomState(1))
    assert share_kept(metric.transform(X), held_out) > share_kept(X, held_out) + 0.1


def test_pairs_are_spread_and_triplets_are_not():
    X, triplets = hidden_metric(n_triplets=20)
    pairs = Pairs([(0, 1)], [(2, 3)], closer=triplets)
    with pytest.warns(nearkin.SelectionWarning, match="no time to compare"):
        metric = MetricLearner(random_state=0, time_budget=0, spread=True).fit(X, pairs=pairs)
    assert metric.learned_from_["triplets"] == 20
    assert np.isfinite(metric.transform(X)).all()


def test_folds_of_triplets_share_no_point():
    _, triplets = hidden_metric(n_triplets=200)
    pairs = Pairs([(0, 1)], [(2, 3)], closer=triplets)
    folds = make_pair_folds(pairs, 4, np.random.RandomState(0), unseen="both")
    assert folds
    for learn, judge in folds:
        taught, judged = pairs.subset(learn), pairs.subset(judge)
        assert not np.intersect1d(taught.points, judged.points).size


def test_cross_validation_cuts_triplets_with_their_rows_and_scores_their_share():
    X, triplets = hidden_metric(n_triplets=400)
    pairs = Pairs(closer=triplets)
    told = []

    def share(learner, X, y=None, *, pairs):
        told.append(pairs.closer)
        return share_kept(learner.transform(X), pairs.closer)

    learner, folds = ITML(random_state=0), nearkin.PairKFold(3)
    kept = nearkin.cross_validate(learner, X, pairs=pairs, cv=folds, scoring=share)["test_score"]
    assert kept.mean() > share_kept(X, triplets) + 0.1
    for (_, test), found in zip(folds.split(X, pairs=pairs), told, strict=True):
        np.testing.assert_array_equal(found, pairs.restrict(test).closer)
    by_default = nearkin.cross_validate(learner, X, pairs=pairs, cv=folds)["test_score"]
    np.testing.assert_allclose(by_default, kept)


def test_some_wrong_triplets_are_learned_from_with_a_warning():
    X, y = load_iris(return_X_y=True)
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 150, size=(6000, 3))
    a, b, c = y[rows].T
    closer = rows[(a == b) & (a != c) & (rows[:, 0] != rows[:, 1])][:150]
    closer[:15] = closer[:15, [0, 2, 1]]
    pairs = Pairs(closer=[*closer, (0, 1, 2), (0, 2, 1)])
    for name in TAKE_TRIPLETS:
        learner = getattr(nearkin, name)(random_state=0)
        with pytest.warns(ContradictionWarning, match=r"triplets contradict each other: d\("):
            metric = learner.fit(X, pairs=pairs)
        assert metric.score(X, y) > 0.85, name
    assert metric.report_.quality is None
    said = str(metric.report_)
    assert "held-out triplets" in said
    assert "pairs that are the same" not in said
