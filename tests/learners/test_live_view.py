import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import nearkin
from nearkin import RCA, KernelBeta, LiveView
from nearkin.spaces.linalg import principal_coordinates
from tests.cases import each
from tests.common.learners import as_seen_by, each_of, example, firsts, learners

X, Y, PAIRS, X_NEW = example()
FIRST, MORE = PAIRS.split(0.5, random_state=0)
LEARNERS = learners(
    [
        *firsts(lambda cls: hasattr(cls, "partial_fit")),
        *("random landmarks", "components", "twice", "nystroem", "precomputed"),
        *("ITML one axis", "GMML landmarks"),
    ]
)
each_learner = each_of(LEARNERS)


def assert_shows(view, metric, rows, rtol=1e-9):
    for n_components in (1, 2, 3):
        expected = principal_coordinates(metric.transform(rows), n_components)
        found = view.coordinates(n_components)
        assert found.dtype == rows.dtype
        assert_allclose(found, expected, atol=rtol * np.abs(expected).max())


@each_learner
def test_view_follows_its_metric(learner):
    rows, new = as_seen_by(learner, X), as_seen_by(learner, X_NEW, X)
    metric = clone(learner).fit(rows, pairs=FIRST)
    views = [(LiveView(metric, some), some) for some in (rows, new)]
    for change in ({}, {"pairs": MORE}, {"withdrawn": FIRST}, {"withdrawn": MORE}):
        metric.partial_fit(rows, **change)
        for view, some in views:
            assert_shows(view, metric, some)


@each("name", ["random landmarks", "ITML", "GMML landmarks"])
def test_sparse_rows_and_single_precision(name):
    for rows, rtol in (
        (sp.csr_array(np.where(np.abs(X) < 0.3, 0, X)), 1e-9),
        (X.astype("f"), 1e-4),
    ):
        metric = clone(LEARNERS[name]).fit(rows, pairs=FIRST)
        view = LiveView(metric, rows)
        metric.partial_fit(rows, pairs=MORE)
        expected = principal_coordinates(metric.transform(rows))
        assert_allclose(view.coordinates(), expected, atol=rtol * np.abs(expected).max())


def test_copies_follow_their_own_metric():
    metric = clone(LEARNERS["random landmarks"]).fit(X, pairs=FIRST)
    view = LiveView(metric, X)
    for one, other in (pickle.loads(pickle.dumps((view, metric))), copy.deepcopy((view, metric))):
        assert_shows(one, other.partial_fit(X, pairs=MORE), X)
    assert_shows(view, metric, X)


def test_refusals(tmp_path):
    metric = clone(LEARNERS["random landmarks"])
    with pytest.raises(NotFittedError):
        LiveView(metric, X)
    with pytest.raises(TypeError, match="for metrics with partial_fit, not RCA: use nearkin"):
        LiveView(RCA().fit(X, Y), X)
    metric.fit(X, pairs=PAIRS)
    with pytest.raises(ValueError, match="X has 2 features"):
        LiveView(metric, X[:, :2])
    view = LiveView(metric, X)
    metric.fit(X, pairs=FIRST)
    with pytest.raises(ValueError, match="fitted anew since: make a new LiveView"):
        view.coordinates()
    metric.save(tmp_path / "model.nearkin")
    with pytest.raises(ValueError, match="loaded from a file"):
        LiveView(nearkin.load(tmp_path / "model.nearkin"), X)


@each_learner
def test_the_embedding_has_the_learned_distances_and_variances(learner):
    rows = as_seen_by(learner, X)
    metric = clone(learner).fit(rows, pairs=PAIRS)
    view, Z = LiveView(metric, rows), metric.transform(rows)
    assert_allclose(cdist(*2 * [view.embedding()]), cdist(Z, Z), atol=1e-9)
    some = np.array([3, 1, 7])
    assert_allclose(view.embedding(some), view.embedding()[some])
    variances = view.variances()
    assert (np.diff(variances) <= 0).all()
    count = min(2, len(variances))
    assert_allclose(view.coordinates(count).var(axis=0), variances[:count], rtol=1e-6)


def test_another_metric_of_the_same_space():
    first = KernelBeta(n_landmarks=20, random_state=0).fit(X, pairs=FIRST)
    view = LiveView(first, X)
    before = view.coordinates()
    second = copy.copy(first).partial_fit(X, pairs=MORE)
    other = view.seen_by(second)
    assert_allclose(other.coordinates(), LiveView(second, X).coordinates())
    assert (view.coordinates() == before).all()
    with pytest.raises(ValueError, match="fitted anew"):
        view.seen_by(clone(first).fit(X, pairs=FIRST))
