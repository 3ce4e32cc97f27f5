"""Columns of different units: divided if that is asked for, otherwise a word."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_digits, load_wine
from sklearn.preprocessing import StandardScaler

import nearkin as nk
from nearkin import Blend, Chain, Euclidean, KernelBeta, Pairs, ScaleWarning
from nearkin.rows.scaling import column_scales
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


def example():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = rng.normal(size=(60, 3)) + y[:, None] * [3, 0, 0]
    return X, y, Pairs.from_labels(y, 20, random_state=0)


@each_scaled
def test_units_do_not_matter_to_a_learner_that_scales(name):
    X, _, pairs = example()
    learner = clone(SCALED[name]).set_params(scale=True)
    one = clone(learner).fit(X, pairs=pairs)
    other = clone(learner).fit(X * UNITS, pairs=pairs)
    assert_allclose(other.column_scale_, one.column_scale_ * UNITS)
    D = one.distance(X[:20])
    assert_allclose(other.distance(X[:20] * UNITS), D, atol=1e-6 * D.max())


@each_scaled
def test_scaling_is_dividing_by_the_spreads(name):
    X, _, pairs = example()
    scale = column_scales(X * UNITS)
    scaled = clone(SCALED[name]).set_params(scale=True).fit(X * UNITS, pairs=pairs)
    plain = clone(SCALED[name]).set_params(scale=False).fit(X * UNITS / scale, pairs=pairs)
    assert plain.column_scale_ is None
    assert_array_equal(scaled.column_scale_, scale)
    assert_array_equal(scaled.transform(X[:7] * UNITS), plain.transform(X[:7] * UNITS / scale))
    assert scaled.threshold_ == plain.threshold_


@each_scaled
def test_a_word_where_units_differ(name):
    X, _, pairs = example()
    frame = pd.DataFrame(X * UNITS, columns=["age", "income", "share"])
    learner = clone(SCALED[name]).set_params(scale=False)
    with pytest.warns(ScaleWarning) as caught:
        learner.fit(frame, pairs=pairs)
    (warning,) = caught
    assert "column 'income' reaches" in str(warning.message)
    assert "as far as column 'share'" in str(warning.message)
    assert f"{type(learner).__name__}(scale=True" in str(warning.message)
    assert warning.filename == __file__
    learner.transform(frame)  # said once


def test_columns_without_names_are_numbered():
    X, _, pairs = example()
    with pytest.warns(ScaleWarning, match="column 1 reaches .* as far as column 2, so"):
        Euclidean().fit(X * UNITS, pairs=pairs)


def test_wine_warns_and_digits_do_not():
    wine, digits = load_wine(), load_digits()
    pairs = Pairs.from_labels(wine.target, 30, random_state=0)
    with pytest.warns(ScaleWarning, match="column 12 "):
        nk.ITML(random_state=0).fit(wine.data, pairs=pairs)
    pairs = Pairs.from_labels(digits.target, 30, random_state=0)
    nk.ITML(random_state=0).fit(digits.data, pairs=pairs)


def test_a_wide_column_does_not_hide_one_that_separates():
    rng = np.random.default_rng(0)
    y = np.arange(300) % 2
    X = np.c_[rng.uniform(0, 1e6, 300), y + 0.1 * rng.normal(size=300)]
    pairs = Pairs.from_labels(y, 40, random_state=0)
    with pytest.warns(ScaleWarning):
        assert nk.ITML(random_state=0).fit(X, pairs=pairs).score(X, y) < 0.6
    assert nk.ITML(scale=True, random_state=0).fit(X, pairs=pairs).score(X, y) > 0.95


def test_the_fitted_scale_counts_not_the_parameter():
    X, _, pairs = example()
    metric = nk.RCA(scale=True).fit(X * UNITS, pairs=pairs)
    Z = metric.transform(X)
    assert_array_equal(metric.set_params(scale=False).transform(X), Z)


def test_a_second_fit_forgets_the_first_scale():
    X, _, pairs = example()
    metric = Euclidean(scale=True).fit(X, pairs=pairs).set_params(scale=False).fit(X, pairs=pairs)
    assert metric.column_scale_ is None
    assert_array_equal(metric.transform(X), X)


def test_sparse_rows_stay_sparse():
    X, _, pairs = example()
    X = np.maximum(X * UNITS, 0)
    metric = Euclidean(scale=True).fit(sp.csr_array(X), pairs=pairs)
    Z = metric.transform(sp.csr_array(X))
    assert sp.issparse(Z)
    assert_allclose(Z.toarray(), Euclidean(scale=True).fit(X, pairs=pairs).transform(X))


def test_constant_columns_stay():
    X, _, pairs = example()
    X = np.c_[X, np.full(60, 7.0)]
    metric = Euclidean(scale=True).fit(X, pairs=pairs)
    assert metric.column_scale_[-1] == 1


@each("cls", [KernelBeta, nk.ITML, nk.GMML])
def test_more_pairs_are_learned_in_the_same_scale(cls):
    X, y, pairs = example()
    X = X * UNITS
    more = Pairs.from_labels(y, 30, random_state=3)
    metric = cls(scale=True, random_state=0).fit(X, pairs=pairs)
    scale = metric.column_scale_.copy()
    metric.partial_fit(X, pairs=more)
    assert_array_equal(metric.column_scale_, scale)
    divided = cls(random_state=0).fit(X / scale, pairs=pairs).partial_fit(X / scale, pairs=more)
    assert_allclose(metric.distance(X), divided.distance(X / scale))


def test_a_precomputed_kernel_has_no_columns():
    X, _, pairs = example()
    X = X * UNITS  # inner products differ as much
    KernelBeta(kernel="precomputed", random_state=0).fit(X @ X.T, pairs=pairs)
    with pytest.raises(ValueError, match="columns of a precomputed kernel are rows"):
        KernelBeta(kernel="precomputed", scale=True).fit(X @ X.T, pairs=pairs)


def words(learner, X, pairs):
    """How often a fit speaks of units."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        learner.fit(X, pairs=pairs)
    return [str(one.message) for one in caught if issubclass(one.category, ScaleWarning)]


class Widened(Euclidean):
    """Gives columns of different units, as a step of a chain may."""

    def transform(self, X):
        return super().transform(X) * UNITS


def test_only_the_first_step_of_a_chain_speaks():
    X, _, pairs = example()
    steps = [nk.RCA(), KernelBeta(random_state=0)]
    assert len(words(Chain(steps), X * UNITS, pairs)) == 1
    assert not words(Chain([Widened(), *steps]), X, pairs)
    assert not words(Chain([StandardScaler(), *steps]), X * UNITS, pairs)
    assert not words(Chain([nk.RCA(scale=True), KernelBeta(random_state=0)]), X * UNITS, pairs)


def test_a_blend_speaks_once():
    X, _, pairs = example()
    X = X * UNITS
    (said,) = words(Blend([nk.RCA(), Chain([nk.GMML(), Euclidean()])]), X, pairs)
    assert "Give the learners scale=True" in said
    assert words(Blend([nk.RCA(scale=True), nk.GMML()]), X, pairs)
    scaled = [nk.RCA(scale=True), Chain([StandardScaler(), nk.GMML()])]
    assert not words(Blend(scaled), X, pairs)


# The same wherever rows are, and in files


@each_scaled
def test_stored_models_divide_too(name, tmp_path):
    X, _, pairs = example()
    X = X * UNITS
    metric = clone(SCALED[name]).set_params(scale=True).fit(X, pairs=pairs)
    metric.save(tmp_path / "model.nearkin")
    loaded = nk.load(tmp_path / "model.nearkin")
    assert_array_equal(loaded.column_scale_, metric.column_scale_)
    assert_array_equal(loaded.transform(X), metric.transform(X))


def test_stored_models_cannot_divide_by_nothing(tmp_path):
    X, _, pairs = example()
    metric = Euclidean(scale=True).fit(X, pairs=pairs)
    metric.column_scale_[1] = 0
    with pytest.raises(nk.StorageError, match="column_scale_"):
        metric.save(tmp_path / "model.nearkin")


@each_scaled
def test_onnx_divides_too(name, tmp_path):
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    X, _, pairs = example()
    X = (X * UNITS).astype(np.float32).astype(np.float64)
    metric = Chain([clone(SCALED[name]).set_params(scale=True)]).fit(X, pairs=pairs)
    nk.onnx_file.export(metric, tmp_path / "metric.onnx")
    session = runtime.InferenceSession(tmp_path / "metric.onnx")
    (found,) = session.run(["Z"], {"X": X.astype(np.float32)})
    Z = metric.transform(X)
    assert_allclose(found, Z, atol=1e-4 * abs(Z).max())


REMOTE = {name: one for name, one in SCALED.items() if getattr(one, "_remote", False)}


@each("name", REMOTE)
@each("knowledge", ["pairs", "labels"])
def test_streams_are_divided_as_they_are_read(name, knowledge):
    X, y, pairs = example()
    X = X * UNITS
    given = {"pairs": pairs} if knowledge == "pairs" else {"y": y}
    learner = clone(REMOTE[name]).set_params(scale=True)
    rows = nk.open_rows([X[:25], X[25:]])
    metric, expected = clone(learner).fit(rows, **given), clone(learner).fit(X, **given)
    assert_array_equal(metric.column_scale_, expected.column_scale_)
    Z = expected.transform(X)
    close = {"rtol": 1e-6, "atol": 1e-6 * abs(Z).max()}
    assert_allclose(metric.transform(rows).to_numpy(), Z, **close)
    assert_allclose(metric.transform(X), Z, **close)
    assert metric.score(rows, pairs=pairs) == pytest.approx(expected.score(X, pairs=pairs))


@each("name", [name for name in REMOTE if name != "Generative"])
def test_rows_that_pass_once_are_divided(name):
    X, _, pairs = example()
    X = X * UNITS
    learner = clone(REMOTE[name]).set_params(scale=True)
    metric = clone(learner).fit(nk.open_rows(iter([X[:25], X[25:]])), pairs=pairs)
    D = clone(learner).fit(X, pairs=pairs).distance(X)
    assert_allclose(metric.distance(X), D, rtol=1e-6, atol=1e-6 * D.max())


def test_streams_are_warned_of():
    X, _, pairs = example()
    with pytest.warns(ScaleWarning, match="column 1 reaches"):
        nk.RCA().fit(nk.open_rows([X * UNITS]), pairs=pairs)


@each("name", ["KernelBeta", "ITML", "RCA", "Euclidean"])
def test_rows_of_dask_are_divided(name):
    da = pytest.importorskip("dask.array")
    from nearkin import dask as learners

    X, y, _ = example()
    X = X * UNITS
    learner = getattr(learners, f"Dask{name}")(scale=True, random_state=0)
    metric = learner.fit(da.from_array(X, chunks=(25, 3)), y)
    expected = getattr(nk, name)(scale=True, random_state=0).fit(X, y)
    Z = expected.transform(X)
    found = metric.transform(da.from_array(X, chunks=(25, 3))).compute()
    assert_allclose(found, Z, rtol=1e-6, atol=1e-6 * abs(Z).max())


FOREIGN = [name for name, one in SCALED.items() if getattr(one, "_array_api", False)]


@each("name", FOREIGN)
def test_arrays_of_torch_are_divided_where_they_are(name, monkeypatch):
    torch = pytest.importorskip("torch")
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")  # what scikit-learn looks at
    X, _, pairs = example()
    X = X * UNITS
    learner = clone(SCALED[name]).set_params(scale=True)
    Z = clone(learner).fit(X, pairs=pairs).transform(X)
    with sklearn.config_context(array_api_dispatch=True):
        metric = clone(learner).fit(torch.asarray(X), pairs=pairs)
        found = metric.transform(torch.asarray(X))
    assert isinstance(metric.column_scale_, np.ndarray)
    assert_allclose(found.numpy(), Z, rtol=1e-6, atol=1e-6 * abs(Z).max())


# Tasks


def test_clustering_with_a_fixed_metric():
    X, _, pairs = example()
    wide = X * UNITS
    with pytest.warns(ScaleWarning, match="or start_metric='variances' with learn_metric=True"):
        nk.MPCKMeans(2, learn_metric=False, random_state=0).fit(wide, pairs=pairs)
    # Units do not matter to it.
    nk.MPCKMeans(2, start_metric="variances", random_state=0).fit(wide, pairs=pairs)
    scaled = nk.MPCKMeans(2, learn_metric=False, scale=True, random_state=0).fit(wide, pairs=pairs)
    divided = wide / column_scales(wide)
    plain = nk.MPCKMeans(2, learn_metric=False, random_state=0).fit(divided, pairs=pairs)
    assert_array_equal(scaled.labels_, plain.labels_)
    assert_array_equal(scaled.predict(wide), plain.predict(divided))
    assert_allclose(scaled.transform(wide), plain.transform(divided))


def test_metric_kmeans():
    X, _, _ = example()
    wide = X * UNITS
    with pytest.warns(ScaleWarning, match=r"Use MetricKMeans\(scale=True"):
        nk.MetricKMeans(2, random_state=0).fit(wide)
    scaled = nk.MetricKMeans(2, scale=True, random_state=0).fit(wide)
    plain = nk.MetricKMeans(2, random_state=0).fit(wide / column_scales(wide))
    assert_array_equal(scaled.labels_, plain.labels_)
    assert_array_equal(scaled.predict(wide), plain.predict(wide / column_scales(wide)))
    assert_allclose(scaled.cluster_centers_, plain.cluster_centers_ * column_scales(wide))


def test_the_energy_classifier_without_a_metric():
    X, y, _ = example()
    with pytest.warns(ScaleWarning, match=r"Use metric=Euclidean\(scale=True\)"):
        nk.EnergyClassifier(random_state=0).fit(X * UNITS, y)
    nk.EnergyClassifier(Euclidean(scale=True), random_state=0).fit(X * UNITS, y)


def test_pairs_are_spread_along_distances():
    X, _, pairs = example()
    with pytest.warns(ScaleWarning, match="column 1 reaches .* RobustScaler"):
        nk.spread_pairs(X * UNITS, pairs)


def test_columns_of_rounding_noise_are_not_blown_up():
    X, _, pairs = example()
    noise = 3e-33 * np.random.default_rng(1).normal(size=(60, 1))
    dead = np.hstack([X, noise])
    expected = Euclidean(scale=True).fit(X, pairs=pairs).distance(X)
    given = {
        "array": dead,
        "sparse": sp.csr_array(dead),
        "stream": nk.open_rows([dead[:25], dead[25:]]),
    }
    for name, rows in given.items():
        Euclidean().fit(rows, pairs=pairs)  # no warning of units
        metric = Euclidean(scale=True).fit(rows, pairs=pairs)
        assert_allclose(metric.column_scale_[3], 1, err_msg=name)
        assert_allclose(
            metric.pair_distance(dead[:20], dead[40:]), expected[range(20), range(40, 60)]
        )
    table = pd.DataFrame(dead, columns=list("abcd")).assign(name=["Ada", "Bob", "Eve"] * 20)
    assert nk.TableEncoder().fit(table).kinds_["d"] == "ignored"
    written = table.assign(d=[repr(value) for value in dead[:, 3].tolist()])
    assert nk.TableEncoder().fit(written).kinds_["d"] == "ignored"
    assert {column.name: column.kind for column in read_columns(written)}["d"] == "ignored"


def test_columns_of_rounding_noise_are_not_blown_up_on_workers():
    da = pytest.importorskip("dask.array")
    from nearkin import dask as learners

    X, y, _ = example()
    dead = da.from_array(np.hstack([X, 3e-33 * X[:, :1]]), chunks=(25, 4))
    assert learners.DaskEuclidean(scale=True).fit(dead, y).column_scale_[3] == 1


def test_columns_of_rounding_noise_are_not_blown_up_in_the_studio():
    from nearkin.studio.lesson import Lesson
    from nearkin.studio.records import records_of

    X, _, _ = example()
    dead = np.hstack([X * UNITS, 3e-33 * X[:, :1]])
    for standardise in (None, True):
        lesson = Lesson(records_of(dead), standardise=standardise)
        assert abs(lesson._rows[:, 3]).max() < 1e-30
