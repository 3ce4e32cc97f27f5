"""Learners that hold graded pairs at their distances, and others that must refuse them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import nearkin
from nearkin import (
    ITML,
    LLMA,
    Chain,
    GeometryAware,
    KernelA,
    KernelBeta,
    Pairs,
    registry,
)
from nearkin.learners.moving_points import window_springs
from nearkin.pairs.supervision import TAKE_GRADED
from nearkin.scores.held_out import make_pair_folds
from nearkin.solvers.logdet import bound_pairs, project
from nearkin.solvers.stress import relax
from tests.cases import each

N = 80


def hidden_metric(seed=1, n_pairs=120):
    """Rows of which the first two columns count, with pairs graded by that distance."""
    rng = np.random.RandomState(seed)
    X = rng.standard_normal((N, 4))
    X[:, :2] *= 0.7
    links = np.array([rng.permutation(N)[:2] for _ in range(n_pairs)])
    apart = np.linalg.norm(X[links[:, 0], :2] - X[links[:, 1], :2], axis=1)
    pairs = Pairs(graded=np.sort(links, axis=1), grades=1 - apart / apart.max())
    return X, pairs


def order_kept(Z, pairs):
    """Correlation of ranks of learned distances with those of the grades."""
    apart = np.linalg.norm(Z[pairs.graded[:, 0]] - Z[pairs.graded[:, 1]], axis=1)
    return np.corrcoef(np.argsort(np.argsort(apart)), np.argsort(np.argsort(-pairs.grades)))[0, 1]


@each(("grade", "slack"), [(1.0, 0.5), (0.0, 0.5), (0.25, 0.5), (0.7, 3.0), (0.7, np.inf)])
def test_a_projection_onto_one_graded_pair_is_a_mean_of_inverses(grade, slack):
    # With p the squared distance, p/p0 − log(p/p0) + γ (p/t − log(p/t)) is least at
    # (1 + γ) / (1/p0 + γ/t).
    start, bounds = 0.6, (0.5, 2.0)
    pairs = Pairs(graded=[(0, 1)], grades=[grade])
    solution = project(
        np.array([[0.0], [1.0]]), bound_pairs(pairs, bounds, slack), np.array([[start]]), tol=1e-12
    )
    target = (bounds[0] + (1 - grade) * (bounds[1] - bounds[0])) ** 2
    expected = (1 + slack) / (1 / start + slack / target) if np.isfinite(slack) else target
    assert_allclose(solution.B, [[expected]], rtol=1e-6)
    assert solution.converged


@each(("grade", "regularization"), [(1.0, 0.0), (0.0, 0.0), (0.3, 0.0), (0.3, 0.5), (0.9, 2.0)])
def test_a_spring_of_a_graded_pair_is_at_rest_at_its_distance(grade, regularization):
    F = np.array([[0.0, 0.0], [1.0, 2.0]])
    pairs, margin = Pairs(graded=[(0, 1)], grades=[grade], graded_weight=[2.0]), 1.5
    springs = window_springs(
        F, pairs, n_neighbors=None, regularization=regularization, window=0.5, margin=margin
    )
    Y = relax(springs, F, n_iter=2000).Y
    length = np.sqrt(5)  # the root mean squared distance, too
    held = regularization * np.exp(-1 / 0.5)
    expected = (2 * (1 - grade) * margin * length + held * length) / (2 + held)
    assert_allclose(np.linalg.norm(Y[0] - Y[1]), expected, atol=1e-4)


@each(
    ("name", "learner"),
    {
        "ITML": ITML(random_state=0),
        "ITML in a kernel's space": ITML(kernel="rbf", random_state=0),
        "GeometryAware": GeometryAware(n_iter=5, random_state=0),
        "rounds by held-out pairs": GeometryAware(stop="held_out", random_state=0),
        "data-dependent": GeometryAware(family="data_dependent", n_iter=5, random_state=0),
        "rbf": GeometryAware(family="rbf", random_state=0),
        "KernelA": KernelA(n_iter=20, random_state=0),
        "KernelA, near neighbours": KernelA(n_iter=20, window_neighbors=10, random_state=0),
        "LLMA": LLMA(random_state=0),
        "KernelBeta": KernelBeta(random_state=0),
        "chain": Chain([ITML(random_state=0), KernelA(random_state=0)]),
    }.items(),
)
def test_learners_follow_grades(name, learner, tmp_path):
    X, pairs = hidden_metric()
    metric = learner.fit(X, pairs=pairs)
    assert metric.learned_from_["graded_pairs"] == len(pairs)
    assert np.isfinite(metric.threshold_)
    if name not in ("rbf", "rounds by held-out pairs"):  # a width, or no round, changes no order
        assert order_kept(metric.transform(X), pairs) > order_kept(X, pairs)
    metric.save(tmp_path / "metric.nearkin")
    loaded = nearkin.load(tmp_path / "metric.nearkin")
    assert_allclose(loaded.transform(X), metric.transform(X))


def test_more_pairs_are_learned_by_itml():
    X, pairs = hidden_metric()
    first = pairs.subset(np.arange(len(pairs)) < 60)
    metric = ITML(random_state=0).fit(X, pairs=first)
    metric.partial_fit(X, pairs=pairs.without(first.graded))
    assert_allclose(metric.transform(X), ITML(random_state=0).fit(X, pairs=pairs).transform(X))


def test_others_refuse_them():
    X, pairs = hidden_metric()
    for entry in registry.LEARNERS:
        if entry.name in (*TAKE_GRADED, "Euclidean", "Chain", "Blend"):
            continue
        learner = getattr(nearkin, entry.name)()
        with pytest.raises(ValueError, match=r"117 graded pairs, which cannot be used here"):
            learner.fit(X, pairs=pairs)
    with pytest.raises(ValueError, match="as_weak_pairs"):
        ITML(random_state=0).fit(X, pairs=pairs).score(X, pairs=pairs)
    with pytest.raises(ValueError, match="learn_weights=False"):
        KernelA(learn_weights=True).fit(X, pairs=pairs)


def test_folds_have_a_place_for_each():
    _, pairs = hidden_metric(n_pairs=30)
    for learn, judge in make_pair_folds(pairs, 3, np.random.RandomState(0), unseen="one"):
        assert len(learn) == len(judge) == len(pairs)
        assert not set(pairs.subset(learn).points) & (
            set(pairs.points) - set(pairs.subset(~judge).points)
        )
