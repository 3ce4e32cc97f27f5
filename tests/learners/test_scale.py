"""Columns of different units: divided if that is asked for, otherwise a word."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler

import nearkin as nk
from nearkin import Blend, Chain, Euclidean, KernelBeta, Pairs, ScaleWarning
from nearkin.learners.selection import SeenRows, choose_axes, compare_after_change
from nearkin.rows.scaling import choose_scales, column_scales
from nearkin.scores import pair_auc
from nearkin.tables.reading import read_columns
from tests.cases import each
from tests.common.learners import LEARNERS

# One of each class that has the parameter, but MetricLearner, which scales by itself.
SCALED = {
    name: learner
    for name, learner in LEARNERS.items()
    if hasattr(learner, "scale")
    and name in {type(learner).__name__, "landmarks", "ITML kernel"} - {"MetricLearner"}
}
each_scaled = each("name", SCALED)
UNITS = np.array([1.0, 1000.0, 1e-3])


Y = np.arange(60) % 2
X = np.random.default_rng(0).normal(size=(60, 3)) + Y[:, None] * [3, 0, 0]
PAIRS = Pairs.from_labels(Y, 20, random_state=0)
WIDE = X * UNITS


@each_scaled
def test_units_do_not_matter_to_a_learner_that_scales(name, tmp_path):
    learner = clone(SCALED[name]).set_params(scale=True)
    one, other = clone(learner).fit(X, pairs=PAIRS), learner.fit(WIDE, pairs=PAIRS)
    assert_allclose(other.column_scale_, one.column_scale_ * UNITS)
    D = one.distance(X[:20])
    assert_allclose(other.distance(WIDE[:20]), D, atol=1e-6 * D.max())
    other.save(tmp_path / "model.nearkin")
    loaded = nk.load(tmp_path / "model.nearkin")
    assert_array_equal(loaded.column_scale_, other.column_scale_)
    assert_array_equal(loaded.transform(WIDE), other.transform(WIDE))


@each_scaled
def test_scaling_is_dividing_by_the_spreads(name):
    scale = column_scales(WIDE)
    scaled = clone(SCALED[name]).set_params(scale=True).fit(WIDE, pairs=PAIRS)
    plain = clone(SCALED[name]).set_params(scale=False).fit(WIDE / scale, pairs=PAIRS)
    assert plain.column_scale_ is None
    assert_array_equal(scaled.column_scale_, scale)
    assert_array_equal(scaled.transform(WIDE[:7]), plain.transform(WIDE[:7] / scale))
    assert scaled.threshold_ == plain.threshold_


@each_scaled
def test_a_word_where_units_differ(name):
    frame = pd.DataFrame(WIDE, columns=["age", "income", "share"])
    learner = clone(SCALED[name]).set_params(scale=False)
    with pytest.warns(ScaleWarning) as caught:
        learner.fit(frame, pairs=PAIRS)
    (warning,) = caught
    assert "column 'income' reaches" in str(warning.message)
    assert "as far as column 'share'" in str(warning.message)
    assert f"{type(learner).__name__}(scale=True" in str(warning.message)
    assert warning.filename == __file__
    learner.transform(frame)  # said once
    with pytest.warns(ScaleWarning, match="column 1 reaches .* as far as column 2, so"):
        learner.fit(WIDE, pairs=PAIRS)


def test_a_wide_column_does_not_hide_one_that_separates():
    rng = np.random.default_rng(0)
    y = np.arange(300) % 2
    X = np.c_[rng.uniform(0, 1e6, 300), y + 0.1 * rng.normal(size=300)]
    pairs = Pairs.from_labels(y, 40, random_state=0)
    with pytest.warns(ScaleWarning):
        assert nk.ITML(random_state=0).fit(X, pairs=pairs).score(X, y) < 0.6
    assert nk.ITML(scale=True, random_state=0).fit(X, pairs=pairs).score(X, y) > 0.95


def test_the_fitted_scale_counts_not_the_parameter():
    metric = nk.RCA(scale=True).fit(WIDE, pairs=PAIRS)
    Z = metric.transform(X)
    assert_array_equal(metric.set_params(scale=False).transform(X), Z)
    metric = Euclidean(scale=True).fit(X, pairs=PAIRS).set_params(scale=False).fit(X, pairs=PAIRS)
    assert metric.column_scale_ is None  # a second fit forgets the first
    assert_array_equal(metric.transform(X), X)


def test_sparse_rows_stay_sparse_and_constant_columns_as_they_are():
    rows = np.c_[np.maximum(WIDE, 0), np.full(60, 7.0)]
    metric = Euclidean(scale=True).fit(sp.csr_array(rows), pairs=PAIRS)
    assert metric.column_scale_[-1] == 1
    Z = metric.transform(sp.csr_array(rows))
    assert sp.issparse(Z)
    assert_allclose(Z.toarray(), Euclidean(scale=True).fit(rows, pairs=PAIRS).transform(rows))


@each("cls", [KernelBeta, nk.ITML, nk.GMML])
def test_more_pairs_are_learned_in_the_same_scale(cls):
    more = Pairs.from_labels(Y, 30, random_state=3)
    metric = cls(scale=True, random_state=0).fit(WIDE, pairs=PAIRS)
    scale = metric.column_scale_.copy()
    metric.partial_fit(WIDE, pairs=more)
    assert_array_equal(metric.column_scale_, scale)
    divided = cls(random_state=0).fit(WIDE / scale, pairs=PAIRS)
    divided.partial_fit(WIDE / scale, pairs=more)
    assert_allclose(metric.distance(WIDE), divided.distance(WIDE / scale))


def test_a_precomputed_kernel_has_no_columns():
    K = WIDE @ WIDE.T  # inner products differ as much
    KernelBeta(kernel="precomputed", random_state=0).fit(K, pairs=PAIRS)
    with pytest.raises(ValueError, match="columns of a precomputed kernel are rows"):
        KernelBeta(kernel="precomputed", scale=True).fit(K, pairs=PAIRS)


def words(learner, X):
    """What a fit says of units."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        learner.fit(X, pairs=PAIRS)
    return [str(one.message) for one in caught if issubclass(one.category, ScaleWarning)]


class Widened(Euclidean):
    """Gives columns of different units, as a step of a chain may."""

    def transform(self, X):
        return super().transform(X) * UNITS


def test_only_the_first_step_of_a_chain_speaks_and_a_blend_once():
    steps = [nk.RCA(), KernelBeta(random_state=0)]
    assert len(words(Chain(steps), WIDE)) == 1
    assert not words(Chain([Widened(), *steps]), X)
    assert not words(Chain([StandardScaler(), *steps]), WIDE)
    assert not words(Chain([nk.RCA(scale=True), KernelBeta(random_state=0)]), WIDE)
    (said,) = words(Blend([nk.RCA(), Chain([nk.GMML(), Euclidean()])]), WIDE)
    assert "Give the learners scale=True" in said
    assert words(Blend([nk.RCA(scale=True), nk.GMML()]), WIDE)
    assert not words(Blend([nk.RCA(scale=True), Chain([StandardScaler(), nk.GMML()])]), WIDE)


# The same wherever rows are, and in files


def test_stored_models_cannot_divide_by_nothing(tmp_path):
    metric = Euclidean(scale=True).fit(X, pairs=PAIRS)
    metric.column_scale_[1] = 0
    with pytest.raises(nk.StorageError, match="column_scale_"):
        metric.save(tmp_path / "model.nearkin")


@each_scaled
def test_onnx_divides_too(name, tmp_path):
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    rows = WIDE.astype(np.float32).astype(np.float64)
    metric = Chain([clone(SCALED[name]).set_params(scale=True)]).fit(rows, pairs=PAIRS)
    nk.onnx_file.export(metric, tmp_path / "metric.onnx")
    session = runtime.InferenceSession(tmp_path / "metric.onnx")
    (found,) = session.run(["Z"], {"X": rows.astype(np.float32)})
    Z = metric.transform(rows)
    assert_allclose(found, Z, atol=1e-4 * abs(Z).max())


REMOTE = {name: one for name, one in SCALED.items() if getattr(one, "_remote", False)}


@each("name", REMOTE)
@each("given", [{"pairs": PAIRS}, {"y": Y}])
def test_streams_are_divided_as_they_are_read(name, given):
    learner = clone(REMOTE[name]).set_params(scale=True)
    rows = nk.open_rows([WIDE[:25], WIDE[25:]])
    metric, expected = clone(learner).fit(rows, **given), clone(learner).fit(WIDE, **given)
    assert_array_equal(metric.column_scale_, expected.column_scale_)
    Z = expected.transform(WIDE)
    close = {"rtol": 1e-6, "atol": 1e-6 * abs(Z).max()}
    assert_allclose(metric.transform(rows).to_numpy(), Z, **close)
    assert_allclose(metric.transform(WIDE), Z, **close)
    assert metric.score(rows, pairs=PAIRS) == pytest.approx(expected.score(WIDE, pairs=PAIRS))
    if "pairs" in given and name != "Generative":  # rows that pass once
        once = clone(learner).fit(nk.open_rows(iter([WIDE[:25], WIDE[25:]])), **given)
        D = expected.distance(WIDE)
        assert_allclose(once.distance(WIDE), D, rtol=1e-6, atol=1e-6 * D.max())


def test_streams_are_warned_of():
    with pytest.warns(ScaleWarning, match="column 1 reaches"):
        nk.RCA().fit(nk.open_rows([WIDE]), pairs=PAIRS)


@each("name", ["KernelBeta", "ITML", "RCA", "Euclidean"])
def test_rows_of_dask_are_divided(name):
    da = pytest.importorskip("dask.array")
    from nearkin import dask as learners

    rows = da.from_array(WIDE, chunks=(25, 3))
    metric = getattr(learners, f"Dask{name}")(scale=True, random_state=0).fit(rows, Y)
    Z = getattr(nk, name)(scale=True, random_state=0).fit(WIDE, Y).transform(WIDE)
    assert_allclose(metric.transform(rows).compute(), Z, rtol=1e-6, atol=1e-6 * abs(Z).max())


FOREIGN = [name for name, one in SCALED.items() if getattr(one, "_array_api", False)]


@each("name", FOREIGN)
def test_arrays_of_torch_are_divided_where_they_are(name, monkeypatch):
    torch = pytest.importorskip("torch")
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")  # what scikit-learn looks at
    learner = clone(SCALED[name]).set_params(scale=True)
    Z = clone(learner).fit(WIDE, pairs=PAIRS).transform(WIDE)
    with sklearn.config_context(array_api_dispatch=True):
        metric = clone(learner).fit(torch.asarray(WIDE), pairs=PAIRS)
        found = metric.transform(torch.asarray(WIDE))
    assert isinstance(metric.column_scale_, np.ndarray)
    assert_allclose(found.numpy(), Z, rtol=1e-6, atol=1e-6 * abs(Z).max())


# Tasks


def test_clustering():
    divided = WIDE / column_scales(WIDE)
    with pytest.warns(ScaleWarning, match="or start_metric='variances' with learn_metric=True"):
        nk.MPCKMeans(2, learn_metric=False, random_state=0).fit(WIDE, pairs=PAIRS)
    # Units do not matter to it.
    nk.MPCKMeans(2, start_metric="variances", random_state=0).fit(WIDE, pairs=PAIRS)
    with pytest.warns(ScaleWarning, match=r"Use MetricKMeans\(scale=True"):
        nk.MetricKMeans(2, random_state=0).fit(WIDE)
    for plain, evidence in (
        (nk.MPCKMeans(2, learn_metric=False, random_state=0), {"pairs": PAIRS}),
        (nk.MetricKMeans(2, random_state=0), {}),
    ):
        scaled = clone(plain).set_params(scale=True).fit(WIDE, **evidence)
        plain.fit(divided, **evidence)
        assert_array_equal(scaled.labels_, plain.labels_)
        assert_array_equal(scaled.predict(WIDE), plain.predict(divided))
        if hasattr(plain, "transform"):
            assert_allclose(scaled.transform(WIDE), plain.transform(divided))
        else:
            centers = plain.cluster_centers_ * column_scales(WIDE)
            assert_allclose(scaled.cluster_centers_, centers)


def test_the_energy_classifier_without_a_metric_and_spread_pairs():
    with pytest.warns(ScaleWarning, match=r"Use metric=Euclidean\(scale=True\)"):
        nk.EnergyClassifier(random_state=0).fit(WIDE, Y)
    nk.EnergyClassifier(Euclidean(scale=True), random_state=0).fit(WIDE, Y)
    with pytest.warns(ScaleWarning, match="column 1 reaches .* RobustScaler"):
        nk.spread_pairs(WIDE, PAIRS)


NOISE = 3e-33 * np.random.default_rng(1).normal(size=(60, 1))


def test_columns_of_rounding_noise_are_not_blown_up():
    dead = np.hstack([X, NOISE])
    expected = Euclidean(scale=True).fit(X, pairs=PAIRS).pair_distance(X[:20], X[40:])
    for rows in (dead, sp.csr_array(dead), nk.open_rows([dead[:25], dead[25:]])):
        Euclidean().fit(rows, pairs=PAIRS)  # no warning of units
        metric = Euclidean(scale=True).fit(rows, pairs=PAIRS)
        assert_allclose(metric.column_scale_[3], 1)
        assert_allclose(metric.pair_distance(dead[:20], dead[40:]), expected)
    table = pd.DataFrame(dead, columns=list("abcd")).assign(name=["Ada", "Bob", "Eve"] * 20)
    written = table.assign(d=[repr(value) for value in dead[:, 3].tolist()])
    for given in (table, written):
        assert nk.TableEncoder().fit(given).kinds_["d"] == "ignored"
    assert {column.name: column.kind for column in read_columns(written)}["d"] == "ignored"


def test_columns_of_rounding_noise_are_not_blown_up_on_workers():
    da = pytest.importorskip("dask.array")
    from nearkin import dask as learners

    dead = da.from_array(np.hstack([X, NOISE]), chunks=(25, 4))
    assert learners.DaskEuclidean(scale=True).fit(dead, Y).column_scale_[3] == 1


def test_columns_of_rounding_noise_are_not_blown_up_in_the_studio():
    from nearkin.studio.lesson import Lesson
    from nearkin.studio.records import records_of

    for standardise in (None, True):
        lesson = Lesson(records_of(np.hstack([WIDE, NOISE])), standardise=standardise)
        assert abs(lesson._rows[:, 3]).max() < 1e-30


# Scales of columns and numbers of axes, decided by pairs


@pytest.fixture(scope="module")
def classes():
    """Two classes that the second column tells apart, and pairs of them."""
    rng = np.random.RandomState(0)
    y = rng.randint(2, size=300)
    X = np.column_stack([rng.normal(size=300), 3 * y + rng.normal(size=300)])
    return X, y, Pairs.from_labels(y, 100, random_state=0)


def test_a_change_is_judged_by_plain_distances_of_all_pairs(classes):
    X, _, pairs = classes
    found = compare_after_change(lambda rows: rows[:, :1], X, pairs)
    assert_allclose(found.auc, pair_auc(X[:, :1], pairs=pairs))
    assert_allclose(found.other_auc, pair_auc(X, pairs=pairs))
    assert found.t < -3


def test_differing_units_are_brought_to_one_scale_and_named(classes):
    wide = classes[0] * [1e6, 1]
    scales, why = choose_scales(wide, ["grams", "length"])
    assert_array_equal(scales, column_scales(wide))
    assert "column 'grams' reaches" in why
    assert "as far as column 'length'" in why
    assert "column 0" in choose_scales(wide)[1]
    assert_allclose(choose_scales(sparse.csr_array(wide))[0], scales)


def test_equal_units_are_left_as_they_are(classes):
    assert choose_scales(classes[0]) == (None, "")
    assert choose_scales(classes[0] * [20, 1]) == (None, "")


def test_few_axes_are_taken_unless_they_lose_what_pairs_tell_of(classes):
    X, _, pairs = classes
    rng = np.random.RandomState(1)
    noise = rng.normal(size=(300, 60))
    one_large_axis = np.column_stack([5 * X[:, 1], noise])
    # Two rows of a thing agree in many columns, none of which is wide.
    things = rng.normal(size=(150, 60))
    many_small_axes = np.hstack([2 * noise[:, :6], np.repeat(things, 2, axis=0)])
    twins = Pairs([(i, i + 1) for i in range(0, 100, 2)], [(i, i + 2) for i in range(100, 200, 2)])
    for rows, told, kept in ((one_large_axis, pairs, True), (many_small_axes, twins, False)):
        whole = SeenRows(rows, 300, 0)
        assert whole.reduction is None
        found = choose_axes(rows, 5, told, whole, 0)
        assert (found is whole) != kept
        assert found.rows.shape[1] == (5 if kept else rows.shape[1])
    assert choose_axes(rows, 5, Pairs(), whole, 0).rows.shape[1] == 5
