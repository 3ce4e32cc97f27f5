"""One row is a row: numbers of single rows, without an axis for them."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.compose import make_column_transformer
from sklearn.preprocessing import OneHotEncoder

from nearkin import RCA, Chain, KernelBeta
from tests.common.learners import all_learners, as_seen_by, example, fitted

X, Y, _, X_NEW = example()


@all_learners
def test_two_rows_give_a_number(learner):
    metric = fitted(learner, X, Y)
    A, B = (as_seen_by(learner, rows, X) for rows in (X_NEW[:5], X_NEW[5:10]))
    for method in (metric.distance, metric.pair_distance, metric.kernel_matrix):
        found, all_of_them = method(A[1], B[2]), method(A[[1]], B[[2]])
        assert np.ndim(found) == 0
        assert_allclose(found, all_of_them.item())
    assert metric.same(A[1], B[2]) == metric.same(A[[1]], B[[2]])[0]
    assert np.ndim(metric.same(A[1], B[2])) == 0
    assert float(metric.chance_same(A[1], B[2])) == metric.chance_same(A[[1]], B[[2]])[0]


def test_one_row_and_many():
    metric = RCA().fit(X, Y)
    expected = metric.distance(X_NEW[[3]], X)[0]
    for x in (X_NEW[3], X_NEW[3].tolist(), tuple(X_NEW[3]), pd.Series(X_NEW[3])):
        assert_allclose(metric.distance(x, X), expected)
        assert_allclose(metric.distance(X, x), expected)
        assert_allclose(metric.pair_distance(x, X), expected)
        assert_allclose(metric.pair_distance(X, x), expected)
        assert metric.same(x, X).shape == metric.chance_same(X, x).shape == (len(X),)
        assert_allclose(metric.kernel_matrix(x, X), metric.kernel_matrix(X_NEW[[3]], X)[0])
    assert metric.distance(X_NEW[3]) == 0
    assert metric.distance(X_NEW[[3]]).shape == (1, 1)  # as it was


def test_rows_with_one_row_are_not_compared_with_many():
    with pytest.raises(ValueError, match="X_a has 1 rows and X_b has 50"):
        RCA().fit(X, Y).pair_distance(X_NEW[:1], X)


def test_a_sparse_row():
    dense, metric = (KernelBeta(random_state=0).fit(rows, Y) for rows in (X, sp.csr_array(X)))
    assert_allclose(
        metric.distance(sp.coo_array(X[3]), sp.csr_array(X)), dense.distance(X[3], X), atol=1e-6
    )
    whole = sp.csr_array(X)
    for a, b in ((whole[3], whole[4]), (whole[[3]], sp.csr_matrix(X)[4])):  # of shapes (d,), (1, d)
        for method in ("distance", "pair_distance", "chance_same", "same"):
            expected = getattr(dense, method)(X[3], X[4])
            assert_allclose(np.squeeze(getattr(metric, method)(a, b)), expected, atol=1e-6)
        told = metric.explain(a, b)
        assert_allclose(told.distance, dense.explain(X[3], X[4]).distance, atol=1e-6)
        parts, expected = metric.contributions(a, b), dense.contributions(X[3], X[4])
        assert parts.keys() == expected.keys()
        for name, part in parts.items():
            assert_allclose(np.squeeze(part), expected[name], atol=1e-6)
    assert_allclose([*metric.importances().values()], [*dense.importances().values()], atol=1e-6)


def test_rows_of_frames():
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    metric = RCA().fit(frame, Y)
    expected = metric.pair_distance(frame[:1], frame[1:2])[0]
    assert metric.pair_distance(frame.iloc[0], frame.iloc[1]) == expected
    table = pl.DataFrame(frame.to_dict("list"))
    assert metric.pair_distance(table[0], table[1]).tolist() == [expected]  # frames of one row
    turned = metric.distance(frame.iloc[0][["b", "a", "c"]], frame)  # known by their names
    assert_allclose(turned, metric.distance(frame.iloc[0], frame))
    with pytest.raises(ValueError, match="feature names should match"):
        metric.distance(frame.iloc[0][["b", "a"]], frame)
    with pytest.raises(ValueError, match="50 features, but RCA is expecting 3"):
        RCA().fit(X, Y).distance(frame["a"], X)
    with pytest.raises(TypeError, match="polars's Series, a single column or row"):
        metric.distance(table["a"], table)


def test_a_row_with_words():
    frame = pd.DataFrame({"kind": ["a", "b", "a", "b"], "width": [1.0, 2.0, 1.5, 2.5]})
    first = make_column_transformer(
        (OneHotEncoder(), ["kind"]), remainder="passthrough", sparse_threshold=0
    )
    metric = Chain([first, RCA()]).fit(frame, [0, 1, 0, 1])
    assert metric.same(frame.iloc[0], frame.iloc[2])
    assert not metric.same(frame.iloc[0], frame.iloc[3])
    assert 0.5 < metric.chance_same(frame.iloc[0], frame.iloc[2]) < 1
