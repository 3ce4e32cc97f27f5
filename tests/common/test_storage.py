"""Every learner is the same after a way through a file."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import get_tags

import nearkin
from nearkin import Generative
from nearkin.rows.sparse import to_dense
from nearkin.storage.models import describe
from nearkin.storage.schema import pack
from tests.cases import each
from tests.common.learners import (
    LEARNERS,
    ONE_OF_EACH,
    as_seen_by,
    each_learner,
    each_learner_of_rows,
    each_setting,
    example,
    fitted,
)

pytestmark = pytest.mark.usefixtures("few_ingredients")

DATA = X, Y, PAIRS, X_NEW = example()


def loaded(metric, tmp_path, **options):
    metric.save(tmp_path / "model.nearkin", **options)
    return nearkin.load(tmp_path / "model.nearkin")


def assert_same(one, other):
    """All that is kept is equal to the last bit, and arrays lie in memory in the same order.

    But for what ``partial_fit`` goes on from and rows that explanations are of, of which a file
    holds nothing.
    """
    assert set(vars(one)) - {"_taught", "_some_rows", "_numbers"} == set(vars(other))
    a, b = pack(one), pack(other)
    assert a.node == b.node
    assert list(a.arrays) == list(b.arrays)
    for name, array in a.arrays.items():
        assert array.dtype == b.arrays[name].dtype
        assert array.tobytes() == b.arrays[name].tobytes()


def assert_same_image(one, other, rows):
    expected, found = one.transform(rows), other.transform(rows)
    assert found.dtype == expected.dtype
    assert_array_equal(found, expected)
    assert_array_equal(other.distance(rows), one.distance(rows))
    assert_array_equal(other.same(rows, rows[::-1]), one.same(rows, rows[::-1]))


@each_setting
@each(("dtype", "order"), [(np.float64, "F"), (np.float32, "C")])
def test_through_a_file_bit_by_bit(learner, dtype, order, tmp_path):
    X, y, pairs, X_new = DATA
    X, X_new, y = X.astype(dtype), X_new.astype(dtype), np.where(np.arange(50) < 20, y, -1)
    rows = np.asarray(as_seen_by(learner, X), order=order)
    metric = clone(learner).fit(rows, y, pairs=pairs)
    other = loaded(metric, tmp_path)
    assert type(other) is type(metric)
    assert_same(metric, other)
    for some in (rows, as_seen_by(learner, X_new, X)):
        assert_same_image(metric, other, some)
    # A second way changes nothing, not even the file.
    other.save(tmp_path / "again.nearkin")
    first, second = (tmp_path / name for name in ("model.nearkin", "again.nearkin"))
    assert first.read_bytes() == second.read_bytes()


@each(
    ("learner", "form"),
    [
        pytest.param(learner, form, id=f"{name}-{form.__name__}")
        for form, names in ((sp.csr_array, ONE_OF_EACH), (sp.csr_matrix, ("exact", "RCA")))
        for name, learner in LEARNERS.items()
        if name in names and get_tags(learner).input_tags.sparse
    ],
)
def test_sparse_rows(learner, form, tmp_path):
    sparse = form(np.where(np.abs(X) < 0.3, 0, X))
    metric = clone(learner).fit(sparse, pairs=PAIRS)
    other = loaded(metric, tmp_path)
    assert_same(metric, other)
    for rows in (sparse, form(X_NEW), X_NEW):
        assert_array_equal(to_dense(other.transform(rows)), to_dense(metric.transform(rows)))


@each_learner_of_rows
def test_column_names_are_kept_or_forgotten(learner, tmp_path):
    frame = pd.DataFrame(X, columns=["width", "height", "area"])
    metric = clone(learner).fit(frame, Y, pairs=PAIRS)
    other = loaded(metric, tmp_path)
    assert_array_equal(other.transform(frame), metric.transform(frame))
    assert other.feature_names_in_.tolist() == ["width", "height", "area"]
    assert describe(tmp_path / "model.nearkin").feature_names == ["width", "height", "area"]
    with pytest.raises(ValueError, match="feature names"):
        other.transform(frame.rename(columns={"width": "weight"}))

    other = loaded(metric, tmp_path, forget_names=True)
    assert not hasattr(other, "feature_names_in_")
    assert b"height" not in (tmp_path / "model.nearkin").read_bytes()
    assert_array_equal(other.transform(frame.to_numpy()), metric.transform(frame))


@each_learner
def test_not_fitted(learner, tmp_path):
    with pytest.raises(NotFittedError):
        clone(learner).save(tmp_path / "model.nearkin")
    assert not list(tmp_path.iterdir())


@each_learner
def test_description(learner, tmp_path):
    metric = fitted(learner, X, Y, PAIRS)
    metric.save(tmp_path / "model.nearkin")
    info = describe(tmp_path / "model.nearkin")
    assert info.learner == type(metric).__name__
    assert set(info.parameters) == set(metric.get_params(deep=False))
    assert (info.n_features, info.n_components) == (metric.n_features_in_, metric.n_components_)
    assert info.learned_from == metric.learned_from_
    assert info.summary["threshold_"] == metric.threshold_
    assert info.feature_names is None
    assert info.size == (tmp_path / "model.nearkin").stat().st_size
    assert info.learner in str(info)


@each("combine", ["uniform", "gmm", "kde", "local"])
@each("names", [[0, 1], ["no", "yes"]])
def test_generative_predicts_the_same(combine, names, tmp_path):
    metric = Generative(combine=combine, random_state=0).fit(X, np.array(names)[Y])
    other = loaded(metric, tmp_path)
    assert_same(metric, other)
    assert other.classes_.dtype == metric.classes_.dtype
    assert_array_equal(other.predict(X_NEW), metric.predict(X_NEW))
    for found, expected in zip(other.kneighbors(X_NEW), metric.kneighbors(X_NEW), strict=True):
        assert_array_equal(found, expected)
