"""Pairs added to and withdrawn from fitted learners: the metric is that of fit with the rest."""

import copy
import pickle
import warnings
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

import nearkin
from nearkin import ITML, KernelBeta, Pairs
from nearkin.learners import fit_steps
from nearkin.learners import teachable as _linear_in_space
from nearkin.spaces import feature_space
from tests.cases import each
from tests.common.learners import as_seen_by, each_of, example, firsts, learners

LANDMARKS = np.arange(0, 50, 3)
LEARNERS = learners(
    [
        *firsts(lambda cls: hasattr(cls, "partial_fit")),
        *("random landmarks", "paper landmarks", "iterated", "iterated components", "nystroem"),
        *("components", "callable landmarks", "precomputed landmarks", "ITML covariance"),
        *("ITML landmarks", "GMML landmarks", "GMML nystroem"),
    ],
    n_landmarks=len(LANDMARKS),
)
X, Y, PAIRS, X_NEW = example()
FEW_LABELS = np.where(np.arange(50) < 12, Y, -1)


def each_learner(*names):
    return each_of({name: LEARNERS[name] for name in names or LEARNERS})


@contextmanager
def same_landmarks():
    """Points of pairs are no landmarks here, so that every fit has the same."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            feature_space,
            "choose_landmark_rows",
            lambda X, kernel, points, n_landmarks, *_: (
                np.arange(X.shape[0]) if n_landmarks is None else LANDMARKS
            ),
        )
        yield


def fitted(learner, y=None, pairs=None, rows=X):
    with same_landmarks():
        return clone(learner).fit(as_seen_by(learner, rows), y, pairs=pairs)


def some(*chosen):
    """Some of the pairs by their places."""
    return PAIRS.subset(np.isin(np.arange(len(PAIRS)), chosen))


def assert_same_metric(found, expected, rtol=1e-10):
    rows = as_seen_by(found, X_NEW, X)
    D = expected.distance(rows)
    assert_allclose(found.distance(rows), D, atol=rtol * D.max())
    assert_allclose(found.threshold_, expected.threshold_, rtol=rtol)
    assert found.n_components_ == expected.n_components_
    for name in ("landmarks_", "gamma_", "bounds_", "mean_", "n_iter_", "rank_tol_"):
        assert hasattr(found, name) == hasattr(expected, name)
        if hasattr(found, name):
            assert_array_equal(getattr(found, name), getattr(expected, name))
    for name in ("beta_", "eigenvalues_", "embedding_", "objective_"):
        if hasattr(expected, name):
            value = getattr(expected, name)
            assert_allclose(getattr(found, name), value, atol=rtol * np.abs(value).max())


@contextmanager
def unchanged(metric):
    """The learner is left as it was, to the last object."""
    before = dict(vars(metric))
    yield
    assert vars(metric).keys() == before.keys()
    assert all(value is before[name] for name, value in vars(metric).items())


# The metric is that of fit


@each_learner()
@each(
    ("y", "kind"),
    [(None, "both"), (None, "must"), (None, "cannot"), (FEW_LABELS, "both")],
    ids=["both", "must", "cannot", "labels too"],
)
def test_pairs_are_added_and_withdrawn(learner, y, kind):
    if learner is LEARNERS["paper landmarks"] and kind == "cannot":
        pytest.skip("learns from must-links")
    rows = as_seen_by(learner, X)
    first, more = Pairs.from_labels(Y, 20, kind=kind, random_state=1).split(0.5, random_state=0)
    metric = fitted(learner, y, first)
    before = copy.copy(metric)
    assert metric.partial_fit(rows, pairs=more) is metric
    assert_same_metric(metric, fitted(learner, y, first + more))
    metric.partial_fit(rows, withdrawn=first)
    assert_same_metric(metric, fitted(learner, y, more))
    # What was undone is as it was, to the last bit.
    metric.partial_fit(rows, pairs=first, withdrawn=more)
    new = as_seen_by(learner, X_NEW, X)
    assert_array_equal(metric.transform(new), before.transform(new))
    assert metric.threshold_ == before.threshold_


@each_learner("random landmarks", "nystroem", "ITML landmarks", "GMML landmarks")
def test_fit_with_the_landmarks_of_the_fitted_learner_is_the_same(learner):
    metric = clone(learner).set_params(n_landmarks=30).fit(X, pairs=some(0, 20))
    other = clone(learner).set_params(n_landmarks=None, landmarks=metric.landmarks_)
    other.set_params(gamma=metric.gamma_)
    if isinstance(learner, ITML):
        other.set_params(bounds=metric.bounds_)
    at_landmarks = np.isin(PAIRS.to_frame()[["left", "right"]], metric.landmarks_).all(axis=1)
    more = PAIRS.subset(at_landmarks)
    assert len(more.must_link) > 1
    assert len(more.cannot_link) > 1
    metric.partial_fit(X, pairs=more)
    assert_same_metric(metric, other.fit(X, pairs=some(0, 20) + more))


@each_learner(
    *("random landmarks", "iterated", "ITML", "GMML", "ITML landmarks", "GMML landmarks"),
    "precomputed landmarks",
)
def test_pairs_come_after_labels(learner, monkeypatch):
    rows = as_seen_by(learner, X)
    metric = fitted(learner, FEW_LABELS)
    first = metric.transform(rows)
    metric.partial_fit(rows, pairs=PAIRS)
    assert_same_metric(metric, fitted(learner, FEW_LABELS, PAIRS))
    metric.partial_fit(rows, withdrawn=PAIRS)
    assert_array_equal(metric.transform(rows), first)
    expected = fitted(learner, Y, PAIRS)
    monkeypatch.setattr(fit_steps, "_BLOCK", 8)  # labelled rows go by blocks
    assert_same_metric(fitted(learner, Y, some(0, 20)).partial_fit(rows, pairs=PAIRS), expected)


@each_learner("exact", "random landmarks", "iterated", "ITML", "GMML landmarks")
@given(st.lists(st.sets(st.integers(0, len(PAIRS) - 1), min_size=1), min_size=1, max_size=5))
@settings(max_examples=6)
def test_any_sequence_ends_where_one_fit_does(learner, turns):
    rows = as_seen_by(learner, X)
    given_pairs = {0, 5, len(PAIRS) - 1}
    metric = fitted(learner, pairs=some(*given_pairs))
    for turn in turns:
        gone, come = turn & given_pairs, turn - given_pairs
        given_pairs ^= turn
        metric.partial_fit(rows, pairs=some(*come), withdrawn=some(*gone))
    if given_pairs:
        assert_same_metric(metric, fitted(learner, pairs=some(*given_pairs)))
    at_once = fitted(learner, pairs=some(1, 2)).partial_fit(
        rows, pairs=some(*given_pairs - {1, 2}), withdrawn=some(*{1, 2} - given_pairs)
    )
    assert_same_metric(metric, at_once)


@each_learner("random landmarks", "ITML", "GMML")
def test_weights(learner):
    light, heavy = Pairs([(1, 4)], must_weight=[0.5]), Pairs([(4, 1)], must_weight=[3])
    metric = fitted(learner, pairs=some(0, 20) + light)
    metric.partial_fit(X, pairs=heavy)  # the larger counts
    assert_same_metric(metric, fitted(learner, pairs=some(0, 20) + heavy))
    metric.partial_fit(X, pairs=light)
    assert_same_metric(metric, fitted(learner, pairs=some(0, 20) + heavy))
    metric.partial_fit(X, pairs=light, withdrawn=Pairs([(1, 4)]))  # whatever its weight
    assert_same_metric(metric, fitted(learner, pairs=some(0, 20) + light))


@each_learner("random landmarks", "nystroem", "ITML landmarks", "ITML", "GMML")
def test_sparse_rows_and_single_precision(learner):
    sparse = sp.csr_array(np.where(np.abs(X) < 0.3, 0, X))
    for rows, rtol in ((sparse, 1e-10), (X.astype(np.float32), 1e-4)):
        metric = fitted(learner, pairs=some(0, 1, 20), rows=rows).partial_fit(rows, pairs=PAIRS)
        assert_same_metric(metric, fitted(learner, pairs=PAIRS, rows=rows), rtol)
        assert metric.transform(rows).dtype == rows.dtype


@each_learner("random landmarks", "ITML")
def test_frames_and_lists(learner):
    frame = pd.DataFrame(X, columns=["width", "height", "area"])
    metric = fitted(learner, pairs=some(0, 1, 20), rows=frame)
    with unchanged(metric), pytest.raises(ValueError, match="feature names"):
        metric.partial_fit(frame.rename(columns={"width": "weight"}), pairs=PAIRS)
    metric.partial_fit(frame, pairs=PAIRS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the new rows have no names
        assert_same_metric(metric, fitted(learner, pairs=PAIRS, rows=frame))
    metric = fitted(learner, pairs=some(0, 1, 20), rows=X.tolist())
    metric.partial_fit(X.tolist(), pairs=PAIRS)
    assert_same_metric(metric, fitted(learner, pairs=PAIRS))


# What it costs


@each_learner()
@each("kind", ["both", "must"])
def test_only_rows_of_new_pairs_are_read(learner, kind):
    rows = as_seen_by(learner, X)
    pairs = Pairs.from_labels(Y, 16, kind=kind, random_state=1)
    first, more = pairs.split(4, random_state=0)
    metric = fitted(learner, pairs=first)
    # Random rows for the threshold are all rows here, and known since fit.
    new = [] if kind == "must" else np.setdiff1d(more.points, first.points)
    sight = np.full_like(rows, np.nan)
    sight[[0, *new]] = rows[[0, *new]]
    metric.partial_fit(sight, pairs=more)
    assert_same_metric(metric, fitted(learner, pairs=pairs))


@each_learner("exact", "random landmarks", "ITML", "ITML landmarks", "GMML")
def test_the_space_is_not_found_again(learner, monkeypatch):
    metric = fitted(learner, FEW_LABELS, some(0, 20))
    for module, name in (
        (feature_space, "leading_eigenpairs"),
        (feature_space, "bind_kernel"),
        (feature_space, "choose_landmarks"),
        (_linear_in_space, "find_columns"),
    ):
        monkeypatch.setattr(module, name, None)
    metric.partial_fit(X, pairs=PAIRS)


@each_learner("random landmarks", "ITML", "GMML landmarks")
def test_little_is_kept(learner):
    many = np.random.RandomState(0).standard_normal((10_000, 3))
    learner = clone(learner)
    metric = learner.fit(many, pairs=Pairs([(1, 2)], [(3, 4)]))
    assert_array_equal(metric._taught.rows, [1, 2, 3, 4])
    metric.partial_fit(many, withdrawn=Pairs(cannot_link=[(3, 4)]))
    assert 3000 < len(metric._taught.rows) <= 4004  # random pairs stand for cannot-links
    metric.fit(many, np.arange(10_000) % 3)
    assert len(metric._taught.rows) == 0


# Nothing left


@each_learner()
def test_without_pairs_the_metric_is_that_before_the_first(learner):
    rows = as_seen_by(learner, X)
    metric = fitted(learner, pairs=some(0))
    if learner is LEARNERS["paper landmarks"]:
        with unchanged(metric), pytest.raises(ValueError, match="learns from must-links"):
            metric.partial_fit(rows, withdrawn=some(0))
        return
    metric.partial_fit(rows, withdrawn=some(0))
    assert 0 < metric.threshold_ < metric.distance(rows).max()
    if isinstance(learner, KernelBeta):
        assert_allclose(metric.beta_, np.sqrt(metric.eigenvalues_))
    elif learner.n_components is None:
        metric_matrix = metric.components_.T @ metric.components_
        assert_allclose(metric_matrix, np.eye(len(metric_matrix)), atol=1e-8)
    elif learner is LEARNERS["ITML covariance"]:
        assert_allclose(np.cov(metric.transform(X).T, bias=True), np.eye(2), atol=0.1)
    metric.partial_fit(rows, pairs=PAIRS)
    assert_same_metric(metric, fitted(learner, pairs=PAIRS))


# Not fitted, loaded, copied


@each_learner()
def test_first_call_is_fit(learner):
    rows, metric = as_seen_by(learner, X), clone(learner)
    with pytest.raises(ValueError, match="nothing to withdraw: this learner is not fitted"):
        metric.partial_fit(rows, withdrawn=some(0))
    metric.partial_fit(rows, pairs=PAIRS)
    expected = clone(learner).fit(rows, pairs=PAIRS)
    assert_array_equal(metric.transform(rows), expected.transform(rows))
    assert metric.threshold_ == expected.threshold_
    labelled = clone(learner).partial_fit(rows, Y).partial_fit(rows, Y, pairs=PAIRS)
    assert labelled._taught.evidence.pairs == PAIRS


@each_learner("random landmarks", "ITML", "GMML landmarks")
def test_loaded_metric_says_that_it_does_not_know_its_pairs(learner, tmp_path):
    metric = fitted(learner, pairs=PAIRS)
    metric.save(tmp_path / "model.nearkin")
    metric = nearkin.load(tmp_path / "model.nearkin")
    with unchanged(metric), pytest.raises(ValueError, match="loaded from a file, which does not"):
        metric.partial_fit(X, pairs=some(0))
    metric.fit(X, pairs=some(0)).partial_fit(X, pairs=PAIRS)


@each_learner()
def test_copies_go_on_by_themselves(learner):
    rows = as_seen_by(learner, X)
    metric = fitted(learner, FEW_LABELS, some(0, 1, 20))
    other = pickle.loads(pickle.dumps(metric))
    with unchanged(metric):
        other.partial_fit(rows, pairs=PAIRS)
    metric.partial_fit(rows, pairs=PAIRS)
    assert_array_equal(other.transform(rows), metric.transform(rows))
    assert other.threshold_ == metric.threshold_
    with pytest.raises(NotFittedError):
        clone(metric).transform(rows)


@each_learner("random landmarks", "ITML")
def test_seeds(learner):
    rng = np.random.RandomState(3)
    metric = clone(learner).set_params(random_state=rng).fit(X, pairs=some(0, 1))
    threshold, state = metric.threshold_, rng.get_state()[1].copy()
    for change in ({"pairs": PAIRS}, {"withdrawn": PAIRS}, {"pairs": some(0, 1)}):
        metric.partial_fit(X, **change)
    assert metric.threshold_ == threshold  # by the same random rows
    assert_array_equal(rng.get_state()[1], state)


# Errors and warnings


@each_learner("random landmarks", "ITML", "GMML landmarks")
def test_errors_leave_the_learner_as_it_was(learner):
    metric = fitted(learner, FEW_LABELS, some(0, 1, 20))
    broken = X.copy()
    broken[PAIRS.points] = np.nan
    never, i, j = Pairs(cannot_link=PAIRS.must_link[:1]), *PAIRS.must_link[0].tolist()
    no_pairs = ("pairs must be a nearkin.Pairs, not list", "withdrawn must be a nearkin.Pairs, not")
    for match, rows, options in (
        (f"cannot-link \\({i}, {j}\\) is withdrawn, but it was not", X, {"withdrawn": never}),
        ("must-link .* is withdrawn, but", X, {"pairs": PAIRS, "withdrawn": some(0, 5)}),
        ("must-link .* is withdrawn, but", X, {"withdrawn": Pairs([(1, 49)])}),
        ("names row 50, but X has 50 rows", X, {"pairs": Pairs([(1, 50)])}),
        ("names row 50, but X has 50 rows", X, {"withdrawn": Pairs([(1, 50)])}),
        ("pairs are for 9 rows", X, {"pairs": Pairs([(1, 5)], n_rows=9)}),
        ("X has 49 rows, but fit had 50", X[:-1], {"pairs": PAIRS}),
        ("X has 2 features", X[:, :2], {"pairs": PAIRS}),
        ("X has 2 features", X[:, :2], {}),
        ("NaN", broken, {"pairs": PAIRS}),
        ("other labels than fit had", X, {"y": Y}),
        ("pairs must be given by name", X, {"y": PAIRS}),
        (no_pairs[0], X, {"pairs": [(0, 1)]}),
        (no_pairs[1], X, {"withdrawn": [(0, 1)]}),
    ):
        error = TypeError if match in (*no_pairs, "pairs must be given by name") else ValueError
        with unchanged(metric), pytest.raises(error, match=match):
            metric.partial_fit(rows, **options)
    metric.partial_fit(X, FEW_LABELS, pairs=PAIRS)
    assert_same_metric(metric, fitted(learner, FEW_LABELS, PAIRS))


def test_only_the_kind_that_is_named_is_withdrawn():
    metric = fitted(LEARNERS["random landmarks"], pairs=Pairs([(0, 5)]))
    with pytest.warns(UserWarning, match="pairs contradict each other: rows 0 and 5") as caught:
        metric.partial_fit(X, pairs=Pairs(cannot_link=[(5, 0)]))
    assert caught[0].filename == __file__
    metric.partial_fit(X, withdrawn=Pairs([(0, 5)]))
    expected = fitted(LEARNERS["random landmarks"], pairs=Pairs(cannot_link=[(0, 5)]))
    assert_same_metric(metric, expected)


@each_learner("random landmarks", "ITML", "GMML")
def test_warnings_are_those_of_fit(learner):
    metric = fitted(learner, FEW_LABELS)
    wrong = Pairs([[np.flatnonzero(k == FEW_LABELS)[0] for k in (0, 1)]])
    with pytest.warns(UserWarning, match="pairs contradict the labels"):
        metric.partial_fit(X, pairs=wrong)
    with pytest.warns(UserWarning, match="pairs contradict the labels"):
        expected = fitted(learner, FEW_LABELS, wrong)
    assert_same_metric(metric, expected)


def test_warning_that_is_an_error_leaves_the_learner_as_it_was():
    metric = fitted(ITML(max_iter=1, random_state=0), pairs=some(0))
    with unchanged(metric), pytest.raises(ConvergenceWarning):
        metric.partial_fit(X, pairs=PAIRS)
    for learn in (metric.partial_fit, metric.fit):
        with pytest.warns(ConvergenceWarning) as caught:
            learn(X, pairs=PAIRS)
        assert caught[0].filename == __file__
