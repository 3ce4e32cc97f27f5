"""Of few rows, verdicts are found when they are asked for, and are what they would have been."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone

from nearkin import LMNN, RCA, Euclidean, KernelA, Pairs
from nearkin.datasets import make_xor
from nearkin.learners import base
from nearkin.scores.verdicts import VERDICTS
from tests.cases import each

X, Y = make_xor(80, random_state=0)
PAIRS = Pairs.from_labels(Y, 20, kind="must", random_state=0)
LEARNERS = [RCA(random_state=0), Euclidean(random_state=0), KernelA(random_state=0)]


def verdicts(metric):
    return {name: getattr(metric, name) for name in VERDICTS}


@each("learner", [*LEARNERS, LMNN(n_neighbors=2, random_state=0)], ids=repr)
@each("told", [{"y": Y}, {"y": Y, "pairs": PAIRS}])
def test_late_verdicts_are_those_of_the_fit(learner, told, monkeypatch):
    late = clone(learner).fit(X, **told)
    assert "threshold_" not in vars(late)
    monkeypatch.setattr(base, "_MOST_KEPT", 0)
    at_once = clone(learner).fit(X, **told)
    assert "threshold_" in vars(at_once)
    assert verdicts(late) == verdicts(at_once)
    assert vars(late).keys() == vars(at_once).keys()


@each("learner", LEARNERS, ids=repr)
def test_rows_that_change_after_the_fit_change_no_verdict(learner):
    rows = X.copy()
    metric, expected = clone(learner).fit(rows, pairs=PAIRS), clone(learner).fit(X, pairs=PAIRS)
    rows[:] = 0
    assert verdicts(metric) == verdicts(expected)


@each("copied", [copy.copy, copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_hold_the_verdicts_and_no_rows(copied):
    metric = RCA(random_state=0).fit(X, pairs=PAIRS)
    other = copied(metric)
    assert "threshold_" in vars(other)
    assert "_late_verdicts" not in vars(other)
    assert verdicts(other) == verdicts(metric)


def test_the_users_own_generator_draws_in_the_fit():
    drawn, late = np.random.RandomState(0), np.random.RandomState(0)
    RCA(random_state=drawn).fit(X, pairs=PAIRS)
    RCA(random_state=late).fit(X, pairs=PAIRS).threshold_  # noqa: B018
    assert drawn.randint(10**9) == late.randint(10**9) != np.random.RandomState(0).randint(10**9)


def test_what_was_set_stays():
    metric = RCA(random_state=0).fit(X, pairs=PAIRS)
    metric.threshold_ = 7.0
    assert metric.sharpness_ == RCA(random_state=0).fit(X, pairs=PAIRS).sharpness_
    assert metric.threshold_ == 7.0


def test_threads_find_the_same_and_unfitted_learners_none():
    metric = RCA(random_state=0).fit(X, Y)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: metric.threshold_, range(8)))
    assert_array_equal(found, RCA(random_state=0).fit(X, Y).threshold_)
    with pytest.raises(AttributeError, match="threshold_"):
        RCA().threshold_  # noqa: B018
