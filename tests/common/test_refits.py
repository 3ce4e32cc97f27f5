"""Nothing of an earlier fit is left after another, and a failed one changes nothing."""

import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone

import nearkin as nk
from tests.cases import each
from tests.common.learners import LEARNERS, all_learners, as_seen_by, example, fitted

pytestmark = pytest.mark.usefixtures("few_ingredients")

X, Y, PAIRS, X_NEW = example()
OUTSIDE = nk.Pairs([(0, 1), (2, 999)])
TASKS = {
    "NeighborIndex": (nk.NeighborIndex(), {}),
    "EnergyClassifier": (nk.EnergyClassifier(random_state=0), {"y": Y}),
    "MetricKMeans": (nk.MetricKMeans(2, random_state=0), {}),
    "MPCKMeans": (nk.MPCKMeans(2, random_state=0), {"pairs": PAIRS}),
    "MultipleKernelClassifier": (nk.MultipleKernelClassifier(random_state=0), {"y": Y}),
}


def next_setting(name):
    """Another setting of the same class, or the same where there is none."""
    alike = [x for x in LEARNERS if type(LEARNERS[x]) is type(LEARNERS[name])]
    return LEARNERS[alike[(alike.index(name) + 1) % len(alike)]]


@each("name", LEARNERS)
def test_nothing_of_a_fit_with_other_parameters_is_left(name):
    first, second = LEARNERS[name], next_setting(name)
    frame = pd.DataFrame(as_seen_by(first, X)).rename(columns=str)
    metric = clone(first).fit(frame, Y, pairs=PAIRS)
    metric.vector_column_ = "v"
    rows = as_seen_by(second, X)
    metric.set_params(**second.get_params(deep=False)).fit(rows, pairs=PAIRS)
    expected = fitted(second, X, pairs=PAIRS)
    assert metric.threshold_ == expected.threshold_  # of few rows it is found when asked for
    assert set(vars(metric)) == set(vars(expected))
    assert_array_equal(metric.transform(rows), expected.transform(rows))


@each("cls", [nk.ITML, nk.GMML])
def test_a_file_holds_nothing_of_an_earlier_fit(cls, tmp_path):
    metric = cls(kernel="rbf", random_state=0).fit(X, pairs=PAIRS)
    metric.set_params(kernel=None).fit(X, pairs=PAIRS).save(tmp_path / "again")
    assert not hasattr(metric, "landmarks_")
    cls(random_state=0).fit(X, pairs=PAIRS).save(tmp_path / "anew")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "anew").read_bytes()


def assert_nothing_changes(estimator, change, *wrong, error=ValueError, **options):
    before = dict(vars(estimator))
    with pytest.raises(error):
        change(*wrong, **options)
    assert list(vars(estimator)) == list(before)
    assert all(vars(estimator)[name] is value for name, value in before.items())


@all_learners
def test_a_failed_fit_changes_nothing(learner):
    frame = pd.DataFrame(as_seen_by(learner, X)).rename(columns=str)
    metric = clone(learner).fit(frame, pairs=PAIRS).set_output(transform="pandas")
    expected = metric.transform(frame)
    turned = frame[frame.columns[::-1]]
    assert_nothing_changes(metric, metric.fit, turned, pairs=OUTSIDE)
    assert_nothing_changes(metric, metric.fit, turned, Y[:3])
    if hasattr(metric, "partial_fit"):
        assert_nothing_changes(metric, metric.partial_fit, frame, pairs=OUTSIDE)
        assert_nothing_changes(metric, metric.partial_fit, frame.iloc[:, 1:], pairs=PAIRS)
    pd.testing.assert_frame_equal(metric.transform(frame), expected)
    pd.testing.assert_frame_equal(metric.transform(turned), expected)
    with pytest.raises(ValueError, match="feature names"):
        metric.transform(frame.iloc[:, 1:])


@each("late", ["_calibrate", "_keep"])
def test_a_fit_that_fails_at_its_end_changes_nothing(late, monkeypatch):
    frame = pd.DataFrame(X[:, :2], columns=["a", "b"])
    metric = nk.RCA().fit(frame, Y)
    monkeypatch.setattr(nk.RCA, late, lambda *given, **options: 1 / 0)
    assert_nothing_changes(metric, metric.fit, frame[["b", "a"]], Y, error=ZeroDivisionError)
    assert metric.feature_names_in_.tolist() == ["a", "b"]


@each("name", TASKS)
def test_tasks(name):
    task, given = TASKS[name]
    task = clone(task).fit(pd.DataFrame(X, columns=["a", "b", "c"]), **given)
    assert_nothing_changes(task, task.fit, X[:0], **given)
    task.fit(X, **given)
    assert set(vars(task)) == set(vars(clone(task).fit(X, **given)))


def test_alignment_and_what_users_set():
    pairs = nk.pairs_between([X, X_NEW], [(0, row, 1, row) for row in range(0, 30, 3)])
    task = nk.ManifoldAlignment(random_state=0).fit([X, X_NEW], pairs=pairs)
    assert_nothing_changes(task, task.fit, [X, X_NEW[:0]], pairs=pairs)

    metric = nk.RCA().set_output(transform="pandas")
    metric.remark = "mine"
    metric.fit(X, Y).fit(X, Y)
    assert metric.remark == "mine"
    assert isinstance(metric.transform(X), pd.DataFrame)


@each(
    ("estimator", "given"),
    [(nk.KernelBeta(n_iter=0), {"pairs": PAIRS}), (nk.MetricKMeans(0), {})],
    ids=["learner", "task"],
)
def test_a_parameter_that_is_refused_is_an_error_of_ours(estimator, given):
    with pytest.raises(nk.NearkinError, match="parameter of") as error:
        estimator.fit(X, **given)
    assert isinstance(error.value, ValueError | TypeError)
