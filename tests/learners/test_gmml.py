import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import expm
from scipy.spatial.distance import cdist
from sklearn.base import clone

from nearkin import GMML, ITML, RCA, Pairs
from nearkin.datasets import make_three_normal, make_xor
from nearkin.learners.gmml import (
    best_metric,
    geometric_mean_objective,
    label_scatter,
    pair_scatters,
)
from nearkin.learners.teachable import find_columns, shrink_to_identity
from tests import oracles
from tests.cases import each

BALANCES = [0.0, 0.2, 0.5, 0.9, 1.0]


X, Y = make_three_normal(90, n_features=4, random_state=0)
X += [100, 0, -7, 1]
PAIRS = Pairs.from_labels(Y, 40, random_state=0)


def metric_of(learner):
    return learner.components_.T @ learner.components_


def with_spectrum(values, seed=0):
    """A symmetric matrix with these eigenvalues."""
    n = len(values)
    Q = np.linalg.qr(np.random.RandomState(seed).standard_normal((n, n)))[0]
    A = (Q * values) @ Q.T
    return (A + A.T) / 2


def spreads():
    return with_spectrum(np.array([0.1, 1, 2, 5])), with_spectrum(np.array([0.3, 1, 4, 9]), 1)


def weighed(pairs, factor):
    """The same pairs, each as many times."""
    return Pairs(
        pairs.must_link,
        pairs.cannot_link,
        must_weight=factor * pairs.must_weight,
        cannot_weight=factor * pairs.cannot_weight,
    )


# The point between the inverse of one spread and another


@each("t", BALANCES)
def test_best_metric_is_the_weighted_geometric_mean(t):
    S, D = spreads()
    A = best_metric(S, D, t)
    assert_allclose(A, oracles.weighted_geometric_mean(np.linalg.inv(S), D, t), atol=1e-10)
    if t in (0, 1):  # the inverse of one, and the other
        assert_allclose(A, D if t else np.linalg.inv(S), atol=1e-12)
    elif t == 0.5:  # which solves the Riccati equation
        assert_allclose(A @ S @ A, D, atol=1e-12)


@each("t", BALANCES)
def test_spreads_that_commute_are_weighed_number_by_number(t):
    s, d = np.array([1e-6, 0.5, 3.0]), np.array([2.0, 1e4, 0.1])
    assert_allclose(best_metric(np.diag(s), np.diag(d), t), np.diag(s ** (t - 1) * d**t))


@each("t", [0.2, 0.5, 0.9])
def test_no_other_metric_has_a_lower_objective(t):
    S, D = spreads()
    A = best_metric(S, D, t)
    rng = np.random.RandomState(0)
    for size in (1e-3, 0.1, 1.0):
        for _ in range(20):
            change = expm(size * rng.standard_normal((4, 4)))
            other = change @ A @ change.T
            assert geometric_mean_objective(other, S, D, t) > geometric_mean_objective(A, S, D, t)
            if t == 0.5:
                least, more = (np.trace(B @ S + np.linalg.inv(B) @ D) for B in (A, other))
                assert more > least


def test_spreads_of_bad_condition():
    # Where both spreads are small alike, the metric is as it is elsewhere: not a ratio of errors.
    for smallest in (1e-3, 1e-6, 1e-9, 1e-12):
        R = with_spectrum(np.array([smallest, 1e-2, 1.0, 100.0]))
        assert_allclose(best_metric(2 * R, 2 * R), np.eye(4), atol=1e-14 / smallest)
    singular = np.diag([0.0, 1.0, 2.0])
    for t in BALANCES:
        assert np.isfinite(best_metric(singular, np.eye(3), t)).all()
        assert np.isfinite(best_metric(np.eye(3), singular, t)).all()


# What pairs and labels show


@given(st.lists(st.integers(0, 3), min_size=2, max_size=15), st.integers(0, 10**6))
def test_scatter_of_labels_is_that_of_all_pairs_they_imply(y, seed):
    F = np.random.RandomState(seed).standard_normal((len(y), 3)) + 5
    for scatter, equal in zip(label_scatter(F, np.array(y)), (True, False), strict=True):
        pairs = [(i, j) for j in range(len(y)) for i in range(j) if (y[i] == y[j]) == equal]
        outer = [np.outer(F[i] - F[j], F[i] - F[j]) for i, j in pairs]
        assert scatter.weight == (len(y) if pairs else 0)
        expected = len(y) * np.mean(outer, axis=0) if pairs else np.zeros((3, 3))
        assert_allclose(scatter.total, expected, atol=1e-10)


def test_labels_and_pairs_add_up():
    random_scatter = 2 * shrink_to_identity(find_columns(X).covariance, 90)
    implied = label_scatter(X[:30], Y[:30])
    listed = pair_scatters(PAIRS, lambda rows: X[rows])
    assert [scatter.weight for scatter in (*implied, *listed)] == [30, 30, 20, 20]
    S, D = (
        (a.total + b.total + random_scatter) / (30 + 20 + 1)
        for a, b in zip(implied, listed, strict=True)
    )
    unit = np.trace(random_scatter) / 4
    metric = GMML(random_state=0).fit(X, np.where(np.arange(90) < 30, Y, -1), pairs=PAIRS)
    assert_allclose(metric_of(metric), best_metric(S / unit, D / unit), rtol=1e-8, atol=1e-10)


# The learner


@each("t", BALANCES)
@each("prior_pairs", [0.5, 1, 30])
def test_learned_metric_is_that_of_the_plain_loop(t, prior_pairs):
    rng = np.random.RandomState(0)
    chosen = Pairs(
        PAIRS.must_link,
        PAIRS.cannot_link,
        must_weight=rng.uniform(size=20),
        cannot_weight=rng.uniform(size=20),
    )
    learner = GMML(balance=t, prior_pairs=prior_pairs).fit(X, pairs=chosen)
    expected = oracles.gmml(X, chosen, t=t, prior_pairs=prior_pairs)
    assert_allclose(metric_of(learner), expected, atol=1e-9 * np.abs(expected).max())


def test_pairs_that_say_nothing_leave_the_euclidean_metric():
    assert_allclose(GMML(prior_pairs=1e12).fit(X, pairs=PAIRS).distance(X), cdist(X, X), atol=1e-7)
    everything = [(i, j) for j in range(90) for i in range(j)]
    with pytest.warns(UserWarning, match="contradict"):
        learner = GMML().fit(X, pairs=Pairs(everything, everything))
    assert_allclose(learner.distance(X), cdist(X, X), atol=1e-7)


def test_many_pairs_decide_alone():
    def spread(links):
        Z = X[links[:, 0]] - X[links[:, 1]]
        return Z.T @ Z / len(Z)

    expected = best_metric(spread(PAIRS.must_link), spread(PAIRS.cannot_link))
    errors = [
        np.abs(metric_of(GMML().fit(X, pairs=weighed(PAIRS, factor))) - expected).max()
        for factor in (1, 1e2, 1e4, 1e8)
    ]
    assert (np.diff(errors) < 0).all()
    assert errors[-1] < 1e-7


def test_must_links_alone_are_rca():
    apart = Pairs(np.arange(20).reshape(10, 2))  # no row in two pairs: chunklets are pairs
    found = metric_of(GMML(balance=0.0).fit(X, pairs=weighed(apart, 1e9)))
    expected = metric_of(RCA(shrinkage=0.0).fit(X, pairs=apart))
    assert_allclose(found / np.trace(found), expected / np.trace(expected), atol=1e-7)


def test_weights_are_numbers_of_pairs():
    # Copies of the rows make pairs that can be listed again.
    copies = np.concatenate([X, X, X])
    links = [
        np.concatenate([a + 90 * i for i in range(3)]) for a in (PAIRS.must_link, PAIRS.cannot_link)
    ]
    listed = GMML(prior_pairs=5).fit(copies, pairs=Pairs(*links))
    weighted = GMML(prior_pairs=5).fit(copies, pairs=weighed(PAIRS, 3.0))
    assert_allclose(metric_of(listed), metric_of(weighted), rtol=1e-9, atol=1e-12)
    expected = metric_of(GMML(prior_pairs=3).fit(X, pairs=PAIRS))
    assert_allclose(metric_of(GMML(prior_pairs=6).fit(X, pairs=weighed(PAIRS, 2.0))), expected)


@each("t", BALANCES)
@each("scale", [1e-8, 1e8])
def test_distances_grow_with_the_data(t, scale):
    expected = GMML(balance=t).fit(X, pairs=PAIRS).distance(X)
    found = GMML(balance=t).fit(scale * X, pairs=PAIRS).distance(scale * X)
    assert_allclose(found, scale * expected, rtol=1e-9, atol=1e-9 * scale)


# Data that says little


def test_linked_rows_that_coincide():
    rows = np.concatenate([X, X])
    same = Pairs([(i, i + 90) for i in range(90)])
    learner = GMML().fit(rows, pairs=same)
    # They ask for less of every direction alike, which leaves the shape of the Euclidean metric.
    D = learner.distance(rows)
    assert_allclose(D / D.max(), cdist(rows, rows) / cdist(rows, rows).max(), atol=1e-9)


@each("t", BALANCES)
def test_one_pair_of_many_columns(t):
    X = np.random.RandomState(0).standard_normal((10, 40))
    for pairs in (Pairs([(0, 1)]), Pairs(cannot_link=[(0, 1)])):
        learner = GMML(balance=t).fit(X, pairs=pairs)
        D = learner.distance(X)
        assert np.isfinite(D).all()
        assert D[np.triu_indices(10, 1)].min() > 0
    # What the rows never show stays as it was: a direction that no row has.
    unseen = np.linalg.svd(X - X.mean(axis=0))[2][-1]
    both = metric_of(GMML().fit(X, pairs=Pairs([(0, 1)], [(2, 3)])))
    assert_allclose(both @ unseen, unseen, atol=1e-9)


def test_constant_columns_do_not_disturb_the_others():
    constant = np.column_stack([X, np.full(90, 0.1)])
    A = metric_of(GMML().fit(constant, pairs=PAIRS))
    assert_allclose(A[:4, 4], 0, atol=1e-9)
    assert_allclose(A[4, 4], 1)
    # The one column more makes the covariance a little rounder.
    expected = metric_of(GMML().fit(X, pairs=PAIRS))
    assert_allclose(A[:4, :4], expected, atol=0.02 * expected.max())


@each("t", BALANCES)
def test_rows_that_are_all_equal_leave_the_euclidean_metric(t):
    X, pairs = np.full((6, 2), 0.1), Pairs([(0, 1)], [(2, 3), (4, 5)])
    for kernel, message in ((None, "all rows of X coincide.* Euclidean"), ("rbf", "all landmarks")):
        with pytest.warns(UserWarning, match=message) as record:
            learner = GMML(balance=t, kernel=kernel).fit(X, pairs=pairs)
        assert record[0].filename == __file__
        assert_array_equal(learner.distance(X), 0)
        if kernel is None:
            assert_array_equal(metric_of(learner), np.eye(2))


def test_enormous_weights():
    learner = GMML().fit(X, pairs=weighed(Pairs([(0, 1)], [(2, 3)]), 1e100))
    assert np.isfinite(learner.distance(X)).all()


# Feature space


@each(("learner", "at_most", "at_least"), [(GMML(), 0.8, 0.9), (ITML(random_state=0), 0.7, 0.9)])
def test_kernel_solves_what_columns_cannot(learner, at_most, at_least):
    X, y = make_xor(300, random_state=0)
    pairs = Pairs.from_labels(y, 60, random_state=0)
    X_new, y_new = make_xor(100, random_state=1)
    assert learner.fit(X, pairs=pairs).score(X_new, y_new) < at_most
    for extension in ("local", "nystroem"):
        options = {"extension": extension, "n_landmarks": 100, "random_state": 0}
        metric = clone(learner).set_params(kernel="rbf", **options).fit(X, pairs=pairs)
        assert metric.score(X_new, y_new) > at_least
        assert metric.n_components_ <= 60
        assert len(metric.eigenvalues_) == metric.n_components_


@each("learner", [*(GMML(balance=t) for t in BALANCES), ITML(bounds=(1, 4), tol=1e-13)])
def test_linear_kernel_is_the_method_on_columns(learner):
    for evidence in (
        ({"pairs": PAIRS}, {"y": Y}) if isinstance(learner, GMML) else ({"pairs": PAIRS},)
    ):
        expected = clone(learner).fit(X, **evidence).distance(X)
        kernel = clone(learner).set_params(kernel="linear", extension="nystroem", rank_tol=1e-9)
        rounding = (1e-6 if isinstance(learner, GMML) else 1e-5) * expected.max()
        assert_allclose(kernel.fit(X, **evidence).distance(X), expected, atol=rounding)
