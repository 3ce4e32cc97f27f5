"""Bad input: the right answer, or an error that names the culprit and the remedy."""

import datetime
import inspect

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.metrics.pairwise import euclidean_distances, rbf_kernel

import nearkin as nk
from tests.cases import each
from tests.common.learners import (
    LEARNERS,
    all_classes,
    all_kernel_betas,
    all_learners,
    all_learners_of_rows,
    as_seen_by,
    example,
    fitted,
)

pytestmark = pytest.mark.usefixtures("few_ingredients")

DATA = X, Y, PAIRS, X_NEW = example()
X.flags.writeable = Y.flags.writeable = False


# What is said about the rows

LONGER = nk.Pairs.from_labels(np.arange(100) % 2, 10, random_state=0)
BY_NAME = "pairs must be given by name, as pairs=pairs"
NOT_PAIRS = [[(0, 1)], np.array([[0, 1]]), pd.DataFrame({"left": [0], "right": [1], "same": [1]})]
USE_PAIRS = r"must be a nearkin.Pairs, not {}: use Pairs\(must_link="
NO_PAIRS = [
    (TypeError, USE_PAIRS.format(type(given).__name__), {"pairs": given}) for given in NOT_PAIRS
]
OUTSIDE_MUST, OUTSIDE_CANNOT = nk.Pairs([(0, 1), (2, 50)]), nk.Pairs([(0, 1)], [(3, 99)])
# What is said beside 50 rows: the error, what it says, and what is given.
REFUSED_BY_FIT = [
    *NO_PAIRS,
    (ValueError, r"nothing to learn from.*fit\(X, pairs=pairs\)", {}),
    (ValueError, r"pairs is empty\. Give it must-links or cannot-links", {"pairs": nk.Pairs()}),
    (ValueError, "nothing to learn from: pairs is empty", {"pairs": nk.Pairs([(4, 4)])}),
    (ValueError, r"must-link \(2, 50\) names row 50, but X has 50 rows", {"pairs": OUTSIDE_MUST}),
    (ValueError, r"cannot-link \(3, 99\) names row 99, but X has 50", {"pairs": OUTSIDE_CANNOT}),
    (ValueError, r"pairs are for 100 rows, X has 50.*restrict", {"pairs": LONGER}),
    (ValueError, "pairs are for 7 rows, X has 50", {"pairs": nk.Pairs([(0, 1)], n_rows=7)}),
    (TypeError, BY_NAME, {"y": LONGER}),
    (ValueError, "all labels in y are unknown", {"y": np.full(50, -1)}),
    (ValueError, "all labels in y are unknown", {"y": [None] * 50, "pairs": nk.Pairs()}),
    (ValueError, "y has 49 labels, but X has 50 rows", {"y": np.zeros(49, dtype=int)}),
    (ValueError, r"y\[0\] is 0.5: numeric labels are whole numbers", {"y": np.arange(50) + 0.5}),
]
NEEDS_BOTH = "needs both, got {} must-links and 0 cannot-links"
REFUSED_BY_SCORE = [
    *NO_PAIRS,
    (ValueError, "nothing to judge by", {}),
    (ValueError, NEEDS_BOTH.format(1), {"pairs": nk.Pairs([(0, 1)])}),
    (ValueError, NEEDS_BOTH.format(0), {"pairs": nk.Pairs()}),
    (ValueError, "pairs are for 100 rows, X has 50", {"pairs": LONGER}),
    (ValueError, "names row 77, but X has 50 rows", {"pairs": nk.Pairs([(0, 77)], [(1, 2)])}),
    (TypeError, BY_NAME, {"y": LONGER}),
    (ValueError, "inconsistent numbers of samples", {"y": np.zeros(49, dtype=int)}),
]


@all_learners
def test_what_is_refused(learner):
    metric, rows = fitted(learner, X, Y), as_seen_by(learner, X)
    for error, message, given in REFUSED_BY_FIT:
        with pytest.raises(error, match=message):
            clone(learner).fit(rows, **given)
    for error, message, given in REFUSED_BY_SCORE:
        with pytest.raises(error, match=message):
            metric.score(rows, **given)


@all_learners
def test_empty_pairs_beside_labels_change_nothing(learner):
    rows = as_seen_by(learner, X)
    with_empty = fitted(learner, X, Y, nk.Pairs())
    assert_array_equal(with_empty.transform(rows), fitted(learner, X, Y).transform(rows))


@all_learners
def test_same_pair_as_must_and_cannot(learner):
    both = PAIRS + nk.Pairs([(0, 1), (2, 3)], [(0, 1)])
    with pytest.warns(UserWarning, match="rows 0 and 1 cannot be linked, yet 0 = 1") as record:
        metric = clone(learner).fit(as_seen_by(learner, X), pairs=both)
    assert record[0].filename == __file__
    assert np.isfinite(metric.distance(as_seen_by(learner, X))).all()


@all_learners
def test_pairs_against_the_labels(learner):
    other = int(np.flatnonzero(Y[0] != Y)[0])
    with pytest.warns(UserWarning, match=rf"must-link \(0, {other}\) .* different labels"):
        metric = clone(learner).fit(as_seen_by(learner, X), Y, pairs=nk.Pairs([(0, other)]))
    assert np.isfinite(metric.distance(as_seen_by(learner, X))).all()


@all_learners
def test_labels_of_one_class_are_must_links(learner):
    # Points of pairs, not of labels, are landmarks.
    if "landmarks" in learner.get_params() and learner.n_landmarks:
        learner = clone(learner).set_params(n_landmarks=None, landmarks=np.arange(25))
    rows = as_seen_by(learner, X)
    y = np.where(np.arange(50) < 12, 3, -1)
    if isinstance(learner, nk.Generative):
        with pytest.raises(ValueError, match=r"at least two classes, but labels of one class"):
            fitted(learner, X, y)
        return
    if isinstance(learner, nk.LMNN):
        with pytest.raises(ValueError, match="rows that differ, but no two do"):
            fitted(learner, X, y)
        return
    pairs = [(i, j) for j in range(12) for i in range(j)]
    metric = fitted(learner, X, y)
    expected = fitted(learner, X, pairs=nk.Pairs(pairs, must_weight=np.full(len(pairs), 12 / 66)))
    # Class statistics and listed pairs are summed in another order.
    assert_allclose(metric.transform(rows), expected.transform(rows), atol=1e-8)
    with pytest.raises(ValueError, match="needs both, got 66 must-links and 0 cannot-links"):
        metric.score(rows, y)


@all_learners
def test_every_label_another_class(learner):
    if isinstance(learner, nk.RCA | nk.LMNN) or getattr(learner, "weighting", None) == "paper":
        with pytest.raises(ValueError, match="must-links"):
            fitted(learner, X, np.arange(50))
    else:
        metric = fitted(learner, X, np.arange(50))
        assert np.isfinite(metric.transform(as_seen_by(learner, X))).all()


@each("learner", [nk.RCA(), nk.KernelBeta(weighting="paper")])
def test_cannot_links_alone_where_must_links_are_needed(learner):
    with pytest.raises(ValueError, match="must-links"):
        clone(learner).fit(X, pairs=nk.Pairs(cannot_link=[(0, 1)]))


# The rows themselves


@all_learners
@each("value", [np.nan, np.inf, -np.inf])
def test_nan_and_infinity_in_x(learner, value):
    rows = as_seen_by(learner, X)
    bad = rows.copy()
    bad[3, 1] = value
    said = f"{'NaN' if np.isnan(value) else 'infinity'} in row 3, column 1"
    with pytest.raises(ValueError, match=f"X contains {said}"):
        clone(learner).fit(bad, Y)
    metric = fitted(learner, X, Y)
    for method in (metric.transform, metric.distance, metric.kernel_matrix):
        with pytest.raises(ValueError, match=f"X contains {said}"):
            method(bad)


def of_mixed_types(X):
    day = datetime.date(2024, 1, 1)
    return {
        "width": X[:, 0],
        "kind": ["round", "square"] * (len(X) // 2),
        "bought": [day + datetime.timedelta(i) for i in range(len(X))],
        "area": X[:, 2],
    }


@all_learners_of_rows
def test_columns_that_are_not_numbers(learner):
    library = pl if isinstance(learner, nk.RCA | nk.MetricLearner) else pd
    frame = library.DataFrame(of_mixed_types(X))
    if library is pd:
        frame["bought"] = pd.to_datetime(frame["bought"])
    metric = clone(learner).fit(frame, Y)
    assert metric.table_.kinds_ == {
        "width": "number", "kind": "category", "bought": "date", "area": "number",
    }  # fmt: skip
    Z = metric.transform(frame)
    assert_array_equal(Z, metric.map_.apply(metric.table_.transform(frame)))
    assert metric.n_features_in_ == len(metric.table_.groups_)
    numbers = library.DataFrame({name: np.arange(50.0) for name in frame.columns})
    metric = clone(learner).fit(numbers, Y)
    for method in (metric.transform, metric.distance, metric.kernel_matrix):
        with pytest.raises(ValueError, match="2 of the 4 columns of X are not numbers"):
            method(frame)


@each(
    ("column", "kind"),
    [
        (["7"] * 50, "String"),
        (pd.Categorical([1, 2] * 25), "Categorical"),
        (pd.to_datetime(["2024-01-01"] * 50), "Datetime"),
        (pd.to_timedelta(range(50), unit="s"), "Duration"),
        (pl.Series([1, 2] * 25).cast(pl.String).cast(pl.Enum(["1", "2"])), "Enum"),
        (pl.Series([[1.0]] * 50), "List"),
    ],
)
def test_what_scikit_learn_would_take_for_a_number(column, kind):
    library = pl if isinstance(column, pl.Series) else pd
    frame = library.DataFrame({"a": column, "b": X[:, 0]})
    with pytest.raises(ValueError, match=rf"1 of the 2 columns .*: 'a' \({kind}\)\. Turn"):
        nk.MPCKMeans(2).fit(frame)


def test_many_columns_that_are_not_numbers():
    frame = pd.DataFrame({f"c{i}": ["x"] * 50 for i in range(8)})
    with pytest.raises(ValueError, match="no column of the table tells rows apart"):
        nk.RCA().fit(frame, Y)


@each("dtype", [bool, object, "Int64", "Float32", "float16"])
def test_columns_that_are_numbers_of_any_type(dtype):
    frame = pd.DataFrame({"a": (X[:, 0] > 0).astype(int), "b": X[:, 1].round()})
    plain = nk.RCA().fit(frame.to_numpy(), Y)
    frame["a"] = frame["a"].astype(dtype)
    assert_allclose(nk.RCA().fit(frame, Y).transform(frame), plain.transform(frame.to_numpy()))


@all_classes
def test_one_row(learner):
    X = as_seen_by(learner, np.array([[1.0, 2.0]]))
    with pytest.raises(ValueError, match="minimum of 2 is required"):
        clone(learner).fit(X, [0])


@all_classes
def test_no_row(learner):
    rows = as_seen_by(learner, X)
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        clone(learner).fit(rows[:0], Y[:0])
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        fitted(learner, X, Y).transform(rows[:0])


@all_learners_of_rows
def test_one_column(learner):
    metric = clone(learner).fit(X[:, 2:], pairs=PAIRS)
    assert np.isfinite(metric.transform(X[:, 2:])).all()
    assert metric.score(X[:, 2:], Y) > 0.9


@all_classes
def test_other_number_of_columns(learner):
    rows = as_seen_by(learner, X)
    wider = np.column_stack([rows, rows[:, 0]])
    with pytest.raises(ValueError, match=f"X has {rows.shape[1] + 1} features, but"):
        fitted(learner, X, Y).transform(wider)


@all_learners_of_rows
def test_constant_columns_give_finite_distances(learner):
    X, _, pairs, X_new = DATA
    X, X_new = (np.column_stack([A, np.full(len(A), -1e6 / 3)]) for A in (X, X_new))
    D = clone(learner).fit(X, pairs=pairs).distance(X_new)
    assert np.isfinite(D).all()
    assert D.max() > 0


@each("value", [0.0, 0.1, -1e6 / 3])
@each(
    "name",
    ["exact", "landmarks", "iterated", "nystroem", "laplacian", "linear", "RCA as published"],
)
def test_constant_columns_change_nothing_where_only_differences_count(name, value):
    X, _, pairs, X_new = DATA
    expected = fitted(LEARNERS[name], X, pairs=pairs).distance(X_new)
    X, X_new = (np.column_stack([A, np.full(len(A), value)]) for A in (X, X_new))
    D = fitted(LEARNERS[name], X, pairs=pairs).distance(X_new)
    # Beside a square of 1e11 the linear kernel keeps five digits.
    assert_allclose(D, expected, atol=(1e-4 if value < 0 else 1e-9) * expected.max())


@all_learners
def test_duplicated_rows(learner):
    doubled = np.concatenate([X, X, X[:5]])
    labels = np.r_[Y, Y, Y[:5]]
    metric = fitted(learner, doubled, labels)
    Z = metric.transform(as_seen_by(learner, doubled))
    assert np.isfinite(Z).all()
    scale = np.abs(Z).max()
    assert_allclose(Z[50:100], Z[:50], atol=1e-9 * scale)
    # Distance 0 to a landmark, for training rows and for pairs between copies.
    cannot = PAIRS.cannot_link if isinstance(learner, nk.LMNN) else []  # which cannot do without
    known = nk.Pairs([(0, 50), *PAIRS.must_link], cannot, n_rows=105)
    metric = fitted(learner, doubled, pairs=known)
    rows = as_seen_by(learner, doubled)
    assert_allclose(metric.pair_distance(rows[:50], rows[50:100]), 0, atol=1e-9 * scale)


EQUAL_ROWS = [
    ([0.0, 0.0, 0.0], np.float64),
    ([0.1, 0.7, 1 / 3], np.float32),
    ([1e8 / 3, 1e-8, 7.0], np.float64),
]


@all_kernel_betas
@each(("row", "dtype"), EQUAL_ROWS)
def test_all_points_identical(learner, row, dtype):
    X = np.full((11, 3), row).astype(dtype)
    rows = as_seen_by(learner, X)
    with pytest.warns(UserWarning, match=r"all landmarks coincide.*columns constant\?") as record:
        metric = clone(learner).fit(rows, pairs=nk.Pairs([(0, 1)], [(2, 3)]))
    assert record[0].filename == __file__
    assert_array_equal(metric.distance(rows), 0)
    assert metric.threshold_ == 0
    assert metric.same(rows, rows).all()
    assert metric.score(rows, np.arange(11) % 2) == 0.5
    assert np.isfinite(metric.transform(as_seen_by(learner, X + dtype(1), X))).all()


@all_learners_of_rows
def test_extreme_new_rows(learner):
    metric = fitted(learner, X, Y)
    far = X_NEW.copy()
    far[4] *= 1e100
    Z = metric.transform(far)
    assert np.isfinite(Z).all()
    others = np.arange(len(X_NEW)) != 4
    assert_allclose(Z[others], metric.transform(X_NEW)[others], atol=1e-10)


def test_new_rows_whose_kernel_values_overflow():
    far = X_NEW.copy()
    far[4] *= 1e145
    with pytest.raises(ValueError, match=r"values of row 4 are not finite.*StandardScaler"):
        fitted(LEARNERS["poly"], X, Y).transform(far)


@all_classes
def test_rows_of_unequal_number_for_a_row_by_row_distance(learner):
    rows = as_seen_by(learner, X)
    metric = fitted(learner, X, Y)
    for method in (metric.pair_distance, metric.same):
        with pytest.raises(ValueError, match=r"X_a has 50 rows and X_b has 49.*Use distance"):
            method(rows, rows[:49])


# Landmarks and neighbours


# Kernels


def with_entry(i, j, change):
    def kernel_matrix(X):
        K = rbf_kernel(X)
        K[i, j] += change
        return K

    return kernel_matrix


def no_vector(A, B):
    return np.ones(len(A))


def not_finite(A, B):
    return np.nan * rbf_kernel(A, B)


def not_symmetric(A, B):
    return rbf_kernel(A, B + 1.0)


def sparse_kernel(X):
    return sp.csr_array(rbf_kernel(X))


GIVEN = {"kernel": "precomputed"}


@each(
    ("settings", "make_rows", "message"),
    [
        ({"landmarks": [0, 50]}, None, "landmarks names row 50, but X has 50 rows"),
        ({"landmarks": [-1, 3]}, None, "landmarks names row -1"),
        ({"landmarks": [0.5, 1.5]}, None, "integers, got .* float64"),
        ({"landmarks": []}, None, "non-empty"),
        ({"landmarks": "corners"}, None, "'landmarks' parameter of KernelBeta must be"),
        ({"kernel": "poly", "degree": 2.5}, None, r"degree=2.5.*: use a whole degree"),
        (
            {"extension": "nystroem", "n_iter": 3},
            None,
            r"n_iter=3.*use extension='local' or n_iter=1",
        ),
        ({"kernel": no_vector}, None, r"kernel callable gave shape \(50,\).* \(50, 50\)"),
        ({"kernel": not_finite}, None, "kernel callable gave NaN or infinite values"),
        ({"kernel": not_symmetric}, None, "not symmetric"),
        ({"kernel": euclidean_distances}, None, "Is it a matrix of distances"),
        (GIVEN, np.asarray, r"square kernel matrix .* got shape \(50, 3\)"),
        (GIVEN, with_entry(3, 7, 0.2), r"symmetric: K\[3, 7\] = .*\(K \+ K\.T\) / 2"),
        (GIVEN, with_entry(5, 5, -2.0), r"not a kernel matrix: .*K\[5, 5\] = -1"),
        (GIVEN, euclidean_distances, "Is it a matrix of distances"),
        (GIVEN, sparse_kernel, r"is dense: give K.toarray\(\)"),
    ],
)
def test_landmarks_and_kernels_that_are_none(settings, make_rows, message):
    rows = X if make_rows is None else make_rows(X)
    error = TypeError if make_rows is sparse_kernel else ValueError
    with pytest.raises(error, match=message):
        nk.KernelBeta(**settings).fit(rows, Y)


# Parameters


# What no learner takes, by their parameters.
WRONG = {
    "KernelBeta": {
        "n_landmarks": [0, 10.5],
        "landmarks": [None],
        "kernel": ["gaussian", None],
        "gamma": [0, "scale", np.nan, None],
        "degree": [0],
        "coef0": [-1, np.inf],
        "weighting": ["uniform"],
        "prior_pairs": [0, np.inf],
        "rank_tol": [1.0, -0.1],
        "n_components": [0, 2.5],
        "n_neighbors": [0, None],
        "extension": ["linear"],
        "n_iter": [0],
        "random_state": ["seed"],
    },
    "LLMA": {
        "regularization": [-0.1],
        "window": [0],
        "locality": [0.0, "auto", np.nan],
        "n_iter": [0, 1.5],
        "margin": [-1],
        "window_neighbors": [0, "all"],
    },
    "ITML": {
        "slack": [0, -1.0],
        "prior": ["random"],
        "bounds": [3.0],
        "max_iter": [0],
        "tol": [-1e-3],
        "kernel": ["gaussian"],
    },
    "GMML": {"balance": [-0.1, 1.1, "half"], "prior_pairs": [0, np.inf, "auto"]},
    "Generative": {
        "combine": ["mean"],
        "covariance": ["tied"],
        "regularization": [1.5, "none"],
        "interpolation": [-0.1],
        "n_iter": [0],
        "n_neighbors": [0],
    },
    "LMNN": {
        "n_neighbors": [0],
        "push": [0.0, 1.0],
        "n_passes": [0],
        "n_components": [0],
        "max_iter": [0],
        "tol": [-1.0],
    },
    "RCA": {"shrinkage": [1.5, -0.1, "none", None, np.nan], "n_components": [0, 2.5, "two"]},
}


@each("learner", WRONG)
def test_wrong_parameter(learner):
    for name, values in WRONG[learner].items():
        for value in values:
            with pytest.raises(ValueError, match=f"'{name}' parameter of {learner} must be .* Got"):
                getattr(nk, learner)(**{name: value}).fit(X, Y)


@all_classes
def test_constructor_takes_parameters_by_name_only(learner):
    # What a composition is made of comes first and needs no name.
    own = 1 if isinstance(learner, nk.Chain | nk.Blend | nk.Distilled) else 0
    with pytest.raises(TypeError, match="positional argument"):
        type(learner)(*range(own + 1))
    parameters = list(inspect.signature(type(learner)).parameters.values())
    assert all(parameter.kind is parameter.KEYWORD_ONLY for parameter in parameters[own:])
