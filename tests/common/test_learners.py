"""What every learner promises."""

import inspect
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import nearkin
import nearkin as nk
from nearkin import LMNN, RCA, Chain, Euclidean, Generative, KernelBeta, MetricLearner, Pairs
from nearkin.learners import selection
from nearkin.learners.base import MetricMixin
from nearkin.learners.selection import make_ingredients
from nearkin.pairs.supervision import TAKE_TRIPLETS
from nearkin.scores import pair_auc
from tests.cases import each
from tests.common.learners import (
    CLASSES,
    ENTRIES,
    LEARNERS,
    all_learners,
    all_learners_of_rows,
    all_settings,
    as_seen_by,
    each_of,
    example,
    fitted,
)

pytestmark = pytest.mark.usefixtures("few_ingredients")

# Scikit-learn feeds these checks matrices that are no kernel matrices.
NOT_A_KERNEL_MATRIX = "the check's matrix is no kernel matrix, which fit refuses"
# Scikit-learn's own classifiers that take some labels for unknown are spared this by name.
SIGNS_ARE_NO_CLASSES = {"check_classifiers_classes": "it takes -1 and 1 for two classes"}
EXPECTED_FAILURES = {
    "EnergyClassifier": SIGNS_ARE_NO_CLASSES,
    "MultipleKernelClassifier": SIGNS_ARE_NO_CLASSES,
    "Clusters": dict.fromkeys(
        ("check_estimator_sparse_array", "check_estimator_sparse_matrix"),
        "it takes who has predict_proba for a classifier",
    ),
    "precomputed": {
        "check_positive_only_tag_during_fit": NOT_A_KERNEL_MATRIX,
        "check_estimators_dtypes": NOT_A_KERNEL_MATRIX,
    },
}


# Here MetricLearner has no time to compare, GeometryAware takes one turn, and compositions have
# parts that are fitted at once: that changes nothing of what they take and give.
PARTS = [RCA(random_state=0), Euclidean(random_state=0)]
CHECKED = {name: LEARNERS[name] for name in CLASSES} | {
    "MetricLearner": clone(LEARNERS["MetricLearner"]).set_params(time_budget=0),
    "GeometryAware": clone(LEARNERS["GeometryAware"]).set_params(n_iter=1),
    "Chain": clone(LEARNERS["Chain"]).set_params(steps=PARTS),
    "Blend": clone(LEARNERS["Blend"]).set_params(learners=PARTS),
}


def assert_passes_checks(estimator):
    """All checks of scikit-learn are run, and those that should not pass fail as said."""
    name = type(estimator).__name__
    expected = EXPECTED_FAILURES.get(getattr(estimator, "kernel", name), {})
    found = check_estimator(estimator, expected_failed_checks=expected, on_skip=None, on_fail=None)
    assert len(found) > 40
    for one in found:
        if one["status"] == "failed":
            one["exception"].add_note(f"in {one['check_name']}")
            raise one["exception"]
        assert (one["status"] == "xfail") == (one["check_name"] in expected), one["check_name"]


@each_of({name: CHECKED[name] for name in ("ITML", "Blend")})
def test_scikit_learn_checks(learner):
    assert_passes_checks(learner)


@pytest.mark.night
@each_of(CHECKED)
def test_scikit_learn_checks_of_every_learner(learner):
    assert_passes_checks(learner)


# Labels of two classes tie all rows of some checks, so that three clusters are too many then, and
# rows whose labels differ are to be one cluster.
SOFT = {"families": ["k-means"], "keep": "soft", "metric": Euclidean(), "random_state": 0}
CHECKED_TASKS = [
    nk.MPCKMeans(3, n_init=1),
    nk.Clusters((1, 3), **SOFT),
    nk.EnergyClassifier(RCA(random_state=0)),
    nk.MultipleKernelClassifier(bandwidths=(0.25, 1.0, 4.0), random_state=0),
]


@pytest.mark.night
@pytest.mark.parametrize("task", CHECKED_TASKS, ids=lambda task: type(task).__name__)
@pytest.mark.filterwarnings("ignore:Only .* of n_clusters:sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::nearkin.ContradictionWarning", "ignore::nearkin.ScaleWarning")
def test_scikit_learn_checks_of_tasks(task):
    assert_passes_checks(task)


@pytest.mark.night
def test_scikit_learn_checks_of_the_learner_that_compares(monkeypatch):
    monkeypatch.setattr(selection, "make_ingredients", make_ingredients)  # all of them
    assert_passes_checks(LEARNERS["MetricLearner"])


def test_every_public_learner_is_in_the_list():
    public = {
        value
        for value in vars(nearkin).values()
        if inspect.isclass(value) and issubclass(value, MetricMixin)
    }
    assert public == {type(learner) for learner in LEARNERS.values()}


X, Y, PAIRS, X_NEW = example()


@all_settings
def test_metric_axioms(learner):
    metric = fitted(learner, X, pairs=PAIRS)
    D = metric.distance(as_seen_by(learner, X_NEW, X))
    assert D.shape == (30, 30)
    assert (D >= 0).all()
    assert_array_equal(D, D.T)
    assert_array_equal(np.diag(D), 0)
    through_third = (D[:, :, None] + D[None, :, :]).min(axis=1)
    assert (through_third - D >= -1e-12 * D.max()).all()
    assert D.max() > 0


@all_settings
def test_distances_kernel_values_and_verdicts_are_those_of_the_embedding(learner):
    metric = fitted(learner, X, pairs=PAIRS)
    A, B = as_seen_by(learner, X_NEW[:15], X), as_seen_by(learner, X_NEW[15:], X)
    Z_a, Z_b = metric.transform(A), metric.transform(B)
    assert Z_a.shape == (15, metric.n_components_)
    expected = [[np.linalg.norm(a - b) for b in Z_b] for a in Z_a]
    atol = 1e-12 * np.abs(Z_a).max()
    assert_allclose(metric.distance(A, B), expected, atol=atol)
    assert_allclose(metric.pair_distance(A, B), np.diag(expected), atol=atol)
    assert_allclose(metric.distance(A), metric.distance(A, A), atol=atol)
    products = [[a @ b for b in Z_b] for a in Z_a]
    atol = 1e-12 * np.abs(products).max()
    assert_allclose(metric.kernel_matrix(A, B), products, atol=atol)
    assert_allclose(metric.kernel_matrix(A), metric.kernel_matrix(A, A), atol=atol)
    same = metric.same(A, B)
    assert same.dtype == bool
    assert_array_equal(same, metric.pair_distance(A, B) <= metric.threshold_)
    assert metric.same(A, A).all()


@all_settings
def test_threshold_tells_the_training_pairs_apart_best(learner):
    metric = fitted(learner, X, pairs=PAIRS)
    rows = as_seen_by(learner, X)
    must, cannot = (
        metric.pair_distance(rows[links[:, 0]], rows[links[:, 1]])
        for links in (PAIRS.must_link, PAIRS.cannot_link)
    )

    def right(threshold):
        return np.mean(must <= threshold) + np.mean(cannot > threshold)

    # Embedding all rows or some may round differently, so each candidate is a little larger.
    best = max(right(t * (1 + 1e-9)) for t in np.r_[must, cannot])
    assert right(metric.threshold_) == best


@all_learners
def test_threshold_without_cannot_links_lies_above_most_must_links(learner):
    pairs = Pairs.from_labels(Y, 12, kind="must", random_state=0)
    if isinstance(learner, LMNN):
        with pytest.raises(ValueError, match="rows that differ, but no two do"):
            fitted(learner, X, pairs=pairs)
        return
    metric = fitted(learner, X, pairs=pairs)
    D = metric.distance(as_seen_by(learner, X))
    assert 0 < metric.threshold_ <= D.max() * (1 + 1e-9)
    must = D[tuple(pairs.must_link.T)]
    everything = D[np.triu_indices(50, 1)]
    # Random pairs stand for different ones: it accepts must-links at least as often as these.
    assert np.mean(must <= metric.threshold_) >= np.mean(everything <= metric.threshold_)


@all_learners
def test_score_is_the_pair_auc_of_the_embedding(learner):
    metric = fitted(learner, X, pairs=PAIRS)
    rows = as_seen_by(learner, X)
    Z = metric.transform(rows)
    held_out = Pairs.from_labels(Y, 30, random_state=7)
    assert_allclose(metric.score(rows, Y), pair_auc(Z, Y))
    assert_allclose(metric.score(rows, pairs=held_out), pair_auc(Z, pairs=held_out))
    partial = np.where(np.arange(50) < 20, Y, -1)
    assert_allclose(metric.score(rows, partial), pair_auc(Z[:20], Y[:20]))
    both = metric.score(rows, partial, pairs=held_out)
    assert_allclose(both, pair_auc(Z, partial, pairs=held_out))


@all_learners
def test_labels_pairs_and_both_teach(learner):
    if isinstance(learner, Euclidean):
        return  # nothing is learned but the threshold
    rows = as_seen_by(learner, X)
    partial = np.where(np.arange(50) < 20, Y, -1)
    embeddings = [
        fitted(learner, X, **evidence).transform(rows)
        for evidence in (
            {"y": Y},
            {"y": partial},
            {"pairs": PAIRS},
            {"y": partial, "pairs": PAIRS},
            {"y": np.array(["b", "a"])[Y]},
        )
    ]
    for i, Z in enumerate(embeddings[:4]):
        assert np.isfinite(Z).all()
        for other in embeddings[:i]:
            assert Z.shape != other.shape or np.abs(Z - other).max() > 1e-6
    assert_allclose(embeddings[4], embeddings[0], atol=1e-12)


@all_learners
def test_unknown_labels_change_nothing_beside_pairs(learner):
    rows = as_seen_by(learner, X)
    without = fitted(learner, X, pairs=PAIRS)
    with_unknown = fitted(learner, X, y=np.full(50, -1), pairs=PAIRS)
    assert_array_equal(with_unknown.transform(rows), without.transform(rows))
    assert with_unknown.threshold_ == without.threshold_


@each("name", ["ITML", "GMML", "ColumnWeights", "Generative", "LMNN"])
def test_components_are_principal_axes_of_the_learned_space(name):
    metric = fitted(LEARNERS[name], X, Y)
    Z = metric.transform(X)
    assert_allclose(Z.mean(axis=0), 0, atol=1e-9 * np.abs(Z).max())
    covariance = Z.T @ Z
    assert_allclose(covariance, np.diag(np.diag(covariance)), atol=1e-9 * covariance.max())
    assert (np.diff(np.diag(covariance)) <= 0).all()
    if name != "LMNN":  # which learns another map to fewer dimensions
        two = clone(LEARNERS[name]).set_params(n_components=2).fit(X, Y)
        assert_allclose(two.transform(X), Z[:, :2], atol=1e-9 * np.abs(Z).max())


@all_settings
def test_transform_is_the_map(learner):
    metric, rows = fitted(learner, X, pairs=PAIRS), as_seen_by(learner, X_NEW, X)
    assert_array_equal(metric.map_.apply(rows), metric.transform(rows))
    assert_allclose(metric.map_.apply(rows[3:4]), metric.transform(rows)[3:4], rtol=1e-7)


def frame_for(learner):
    """A library of frames: not the same one for all learners."""
    return pl if isinstance(learner, RCA | MetricLearner) else pd


@all_learners
def test_set_output_gives_frames_and_leaves_distances_alone(learner):
    rows, library = as_seen_by(learner, X), frame_for(learner)
    plain = fitted(learner, X, Y)
    metric = clone(learner).set_output(transform=library.__name__).fit(rows, Y)
    Z = metric.transform(rows)
    assert isinstance(Z, library.DataFrame)
    prefix = type(learner).__name__.lower()
    expected = [f"{prefix}{i}" for i in range(metric.n_components_)]
    assert list(Z.columns) == metric.get_feature_names_out().tolist() == expected
    assert_array_equal(np.asarray(Z), plain.transform(rows))
    assert isinstance(metric.distance(rows), np.ndarray)
    assert_array_equal(metric.distance(rows), plain.distance(rows))
    assert metric.score(rows, Y) == plain.score(rows, Y)
    assert metric.threshold_ == plain.threshold_


@all_learners
def test_frames_go_in_and_their_columns_are_checked(learner):
    frame = frame_for(learner).DataFrame
    rows = as_seen_by(learner, X)
    names = [f"column {i}" for i in range(rows.shape[1])]
    given_frame = frame(dict(zip(names, rows.T, strict=True)))
    metric = clone(learner).fit(given_frame, Y)
    assert metric.feature_names_in_.tolist() == names
    plain = fitted(learner, X, Y)
    # Frames hold columns, arrays rows: sums run in another order.
    assert_allclose(metric.transform(given_frame), plain.transform(rows), atol=1e-12)
    assert_allclose(metric.score(given_frame, pairs=PAIRS), plain.score(rows, pairs=PAIRS))
    turned = frame(dict(zip(names[::-1], rows.T[::-1], strict=True)))  # known by their names
    assert_allclose(metric.transform(turned), metric.transform(given_frame), atol=1e-12)
    with pytest.raises(ValueError, match="feature names should match"):
        metric.transform(frame(dict(zip([*names[1:], "other"], rows.T, strict=True))))


@all_learners_of_rows
def test_pairs_pass_through_a_pipeline(learner):
    scaler = StandardScaler().fit(X)
    expected = fitted(learner, scaler.transform(X), pairs=PAIRS).transform(scaler.transform(X_NEW))
    pipeline = make_pipeline(StandardScaler(), clone(learner))
    by_name = {f"{pipeline.steps[-1][0]}__pairs": PAIRS}
    assert_array_equal(pipeline.fit(X, **by_name).transform(X_NEW), expected)
    with sklearn.config_context(enable_metadata_routing=True):
        routed = make_pipeline(StandardScaler(), clone(learner)).fit(X, pairs=PAIRS)
        assert_array_equal(routed.transform(X_NEW), expected)
        # Pipeline.score itself routes sample_weight, which no metric takes, in any case.
        assert learner.get_metadata_routing().consumes("score", ["pairs"]) == {"pairs"}
        silent = clone(learner).set_fit_request(pairs=False)
        assert silent.get_metadata_routing().consumes("fit", ["pairs"]) == set()


@all_learners
def test_learned_space_serves_a_classifier(learner):
    metric = fitted(learner, X, Y)
    nearest = KNeighborsClassifier(3).fit(metric.transform(as_seen_by(learner, X)), Y)
    truth = X_NEW[:, 0] * X_NEW[:, 1] < 0
    # The third column of the example tells the classes apart for linear metrics too.
    Z = metric.transform(as_seen_by(learner, X_NEW, X))
    assert nearest.score(Z, truth.astype(int)) > 0.9


@all_settings
def test_a_clone_is_unfitted_and_fits_to_the_same_and_a_pickle_is_the_same(learner):
    rows = as_seen_by(learner, X)
    metric = fitted(learner, X, pairs=PAIRS)
    copy = clone(metric)
    for method in (copy.transform, copy.distance, copy.kernel_matrix):
        with pytest.raises(NotFittedError):
            method(rows)
    with pytest.raises(NotFittedError):
        copy.same(rows, rows)
    assert_array_equal(copy.fit_transform(rows, pairs=PAIRS), metric.transform(rows))
    assert copy.threshold_ == metric.threshold_
    new, again = as_seen_by(learner, X_NEW, X), pickle.loads(pickle.dumps(metric))
    assert_array_equal(again.transform(new), metric.transform(new))
    assert again.threshold_ == metric.threshold_


@all_settings
def test_float32_stays_float32_and_is_close_to_float64(learner):
    assert_array_equal(X, X.astype(np.float32))  # so that both see the same numbers
    exact = fitted(learner, X, pairs=PAIRS)
    metric = fitted(learner, X.astype(np.float32), pairs=PAIRS)
    new, new32 = (
        as_seen_by(learner, rows, train)
        for rows, train in ((X_NEW, X), (X_NEW.astype(np.float32), X.astype(np.float32)))
    )
    Z, Z32 = exact.transform(new), metric.transform(new32)
    assert Z32.dtype == metric.distance(new32).dtype == metric.kernel_matrix(new32).dtype
    assert Z32.dtype == metric.pair_distance(new32, new32).dtype == np.float32
    # Precomputed kernel values are rounded to 6e-8 and conditioned by 5e3 (local weights).
    assert_allclose(Z32, Z, atol=2e-3 * np.abs(Z).max())
    # A metric fitted in one type takes the other.
    assert_allclose(exact.transform(new32), Z, atol=2e-3 * np.abs(Z).max())
    assert exact.transform(new32).dtype == np.float32


@all_learners
def test_whole_numbers_and_lists_are_taken_as_floats(learner):
    whole = np.round(4 * X)
    plain = fitted(learner, whole, Y)
    rows = as_seen_by(learner, whole)
    if rows is whole:
        metric = clone(learner).fit(rows.astype(np.int64), Y)
        assert_array_equal(metric.transform(rows.astype(np.int32)), plain.transform(rows))
    listed = clone(learner).fit(rows.tolist(), Y.tolist())
    assert_array_equal(listed.transform(rows.tolist()), plain.transform(rows))
    assert listed.score(rows.tolist(), Y.tolist()) == plain.score(rows, Y)


@all_learners
def test_fit_changes_neither_data_nor_pairs_nor_parameters(learner):
    rows, labels = as_seen_by(learner, X).copy(), Y.copy()
    rows.flags.writeable = labels.flags.writeable = False
    metric = clone(learner)
    before = metric.get_params()
    known = pickle.dumps(PAIRS)
    metric.fit(rows, labels, pairs=PAIRS).transform(rows)
    metric.score(rows, labels)
    assert metric.get_params() == before
    assert pickle.dumps(PAIRS) == known


SCALES = st.sampled_from([1e-8, 1e-3, 1.0, 1e3, 1e8])


@st.composite
def weird_data(draw):
    """Small data with constant and copied columns, copied rows, any scale and offset."""
    n, d = draw(st.integers(2, 12)), draw(st.integers(1, 4))
    X = np.random.RandomState(draw(st.integers(0, 10**6))).standard_normal((n, d))
    X = np.round(X, draw(st.sampled_from([0, 1, 8])))  # coarse: ties and copies
    X = X[np.arange(n) // draw(st.integers(1, 3))]
    if draw(st.booleans()):
        X[:, 0] = draw(st.sampled_from([0.0, 1.0, 0.1]))
    if draw(st.booleans()):
        X[:, -1] = X[:, 0]
    X = X * np.array([draw(SCALES) for _ in range(d)])
    X = X + draw(st.sampled_from([0.0, 1.0, -1e4]))
    return X.astype(draw(st.sampled_from([np.float32, np.float64])))


@pytest.mark.parametrize("name", ENTRIES)
@given(X=weird_data(), data=st.data())
@settings(max_examples=10)  # benchmarks.fuzz_learners tries many more
@pytest.mark.filterwarnings("ignore:all landmarks coincide:UserWarning")
@pytest.mark.filterwarnings("ignore:all rows of X coincide:UserWarning")
@pytest.mark.filterwarnings("ignore::nearkin.ContradictionWarning")
@pytest.mark.filterwarnings("ignore::nearkin.ScaleWarning")
# Columns of very different scale are slow to learn from, which it says.
@pytest.mark.filterwarnings("ignore:LMNN did not converge:sklearn.exceptions.ConvergenceWarning")
def test_finite_input_gives_finite_output(name, X, data):
    learner = LEARNERS[data.draw(st.sampled_from([*ENTRIES[name].settings]))]
    n = len(X)
    X = X if as_seen_by(learner, X) is X else rbf_kernel(X.astype(np.float64)).astype(X.dtype)
    rows = st.integers(0, n - 1)
    must = data.draw(st.lists(st.tuples(rows, rows), max_size=4))
    must = [(0, 1), *must]
    y = data.draw(st.none() | st.lists(st.sampled_from([-1, 0, 2]), min_size=n, max_size=n))
    if isinstance(learner, Generative) and len({*(y or [])} - {-1}) < 2:
        # What tells classes apart cannot be learned from one: another group, far from the rest.
        X = np.concatenate([X, X[:1] + 1, X[:1] + 2])
        y = None if y is None else [*y, -1, -1]
        must = [*must, (n, n + 1)]
    cannot = []
    if isinstance(learner, LMNN):  # which needs a pair of either kind
        X = np.concatenate([X, X[:1] + 1, X[:1] + 1, X[:1] + 2])
        y = None if y is None else [*y, -1, -1, -1]
        must, cannot = [*must, (n, n + 1)], [(n, n + 2)]
    pairs = Pairs(must, cannot)
    if type(learner).__name__ in TAKE_TRIPLETS and n > 2 and data.draw(st.booleans()):
        a, b, c = data.draw(st.permutations(range(n)))[:3]
        pairs += Pairs(closer=[(a, b, c), (b, a, c)])
    metric = clone(learner).fit(X, y, pairs=pairs)
    Z = metric.transform(X)
    assert np.isfinite(Z).all()
    assert np.isfinite(metric.distance(X)).all()
    assert np.isfinite(metric.threshold_)
    assert metric.threshold_ >= 0
    # Equal rows are at no distance, whatever the data.
    _, first, copy = np.unique(X, axis=0, return_index=True, return_inverse=True)
    # On a graph, images are what is left of sums a thousand times as large as they are.
    times = 1e4 if name == "GeometryAware" else 1e3
    rounding = times * np.finfo(X.dtype).eps * np.abs(Z).max()
    if name == "GeometryAware":  # of which nothing is left where all rows are equal
        rounding += times * np.finfo(np.float64).eps
    assert_allclose(Z, Z[first[copy.ravel()]], atol=rounding)


# One row is a row: numbers of single rows, without an axis for them


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


# Nothing of an earlier fit is left after another, and a failed one changes nothing


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
