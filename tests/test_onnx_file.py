"""What onnxruntime makes of an exported file is what ``transform`` gives."""

import json
import sys

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)

import nearkin as nk
from nearkin.onnx_file import export
from tests.cases import each
from tests.common.learners import LEARNERS, example, fitted

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")

pytestmark = pytest.mark.filterwarnings("ignore::nearkin.SelectionWarning")
KERNELS = ["rbf", "laplacian", "poly", "cosine", "linear"]
each_exported = each(
    "learner",
    [pytest.param(learner, id=name) for name, learner in LEARNERS.items() if name != "precomputed"],
)


@pytest.fixture(scope="module")
def data():
    """Training rows and new rows that float32 holds exactly, and pairs."""
    X, _, pairs, X_new = example()
    return X, pairs, X_new


@pytest.fixture
def run(tmp_path):
    """Export a metric, and let onnxruntime embed rows."""

    def exported(metric, rows, **options):
        export(metric, exported.path, **options)
        return embedded(session(exported.path), rows)

    exported.path = tmp_path / "metric.onnx"
    return exported


def session(path):
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    return runtime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def embedded(opened, rows):
    return opened.run(["Z"], {"X": np.asarray(rows, dtype=np.float32)})[0]


def assert_same_image(found, metric, rows, tol=1e-5):
    """To ``tol`` of the embedding's scale; rows must be such that float32 holds exactly."""
    expected = metric.transform(rows)
    assert found.dtype == np.float32
    assert found.shape == expected.shape
    largest = np.abs(expected).max(axis=1, keepdims=True)
    assert (np.abs(found - expected) <= tol * np.maximum(largest, np.median(largest))).all()


@each_exported
def test_every_learner(learner, data, run):
    X, pairs, X_new = data
    metric = fitted(learner, X, pairs=pairs)
    assert_same_image(run(metric, X_new), metric, X_new)
    opened = session(run.path)
    far = np.concatenate([128 * X_new, 2.0**20 * X_new])
    for rows in (X, X_new[:1], far):  # X has landmarks
        assert_same_image(embedded(opened, rows), metric, rows)
    assert embedded(opened, X_new[:0]).shape == (0, metric.n_components_)
    onnx.checker.check_model(onnx.load(run.path), full_check=True)
    # Rows that transform refuses become NaN.
    bad = X_new.copy()
    bad[1, 0], bad[3, 2], bad[4, 1] = np.nan, np.inf, -np.inf
    found = embedded(opened, bad)
    others = np.setdiff1d(np.arange(len(bad)), [1, 3, 4])
    assert np.isnan(found[[1, 3, 4]]).all()
    assert_same_image(found[others], metric, X_new[others])


def test_no_number_of_a_graph_is_rounded_by_a_fusion(run):
    X = np.array([[-1.75], [1.0], [0.5], [2.25], [2.5], [1.625]])
    metric = nk.KernelBeta(kernel="poly", degree=2, gamma=1 / 3, random_state=0).fit(
        X, [0, 1, 1, 0, 0, 1]
    )
    rows = X[-1:] + 2.0**-8  # near a landmark, of whose distance few digits are left
    assert_same_image(run(metric, rows), metric, rows, tol=1e-6)


@each("dtype", [np.float64, np.float32])
@each("kernel", ["rbf", "linear", "laplacian"])
def test_rows_equally_far_from_many_landmarks(kernel, dtype, run):
    along = np.float32([0.1, 0.7, 0.3]).astype(np.float64)
    X, X_new = np.arange(60.0)[:, None] * along, np.arange(0, 40, 0.5)[:, None] * along
    X, X_new = (rows.astype(np.float32).astype(dtype) for rows in (X, X_new))
    metric = nk.KernelA(kernel=kernel, random_state=0).fit(X, np.arange(60) % 2)
    assert_same_image(run(metric, X_new), metric, X_new)


@each("kernel", KERNELS)
@each("extension", ["local", "nystroem"])
@each("learner", [nk.KernelBeta(random_state=0), nk.ITML(random_state=0)])
def test_every_kernel(kernel, extension, learner, data, run):
    X, pairs, X_new = data
    metric = clone(learner).set_params(
        kernel=kernel, extension=extension, n_landmarks=30, n_neighbors=7
    )
    metric.fit(X, pairs=pairs)
    # Beside a row of zeros, which has no direction.
    rows = np.concatenate([X_new, np.zeros((1, 3)), X[metric.landmarks_]])
    assert_same_image(run(metric, rows), metric, rows)


@each("kernel", KERNELS)
def test_a_landmark_is_at_its_place(kernel, data, run):
    X, pairs, _ = data
    metric = nk.KernelBeta(kernel=kernel, random_state=0).fit(X, pairs=pairs)
    scale = np.abs(metric.embedding_).max()
    assert_allclose(run(metric, X), metric.embedding_, atol=1e-6 * scale)


@each("n_neighbors", [1, 2, 8, 100])
def test_other_numbers_of_neighbors(n_neighbors, data, run):
    X, pairs, X_new = data
    X, pairs = X[:16], pairs.restrict(np.arange(16))
    metric = nk.KernelBeta(n_neighbors=n_neighbors, n_iter=2, random_state=0).fit(X, pairs=pairs)
    assert_same_image(run(metric, X_new), metric, X_new)


def test_wide_data_far_from_the_origin(run):
    rng = np.random.default_rng(0)
    X = np.round(1000 + 8 * rng.normal(size=(300, 40)), 3).astype(np.float32).astype(np.float64)
    pairs = nk.Pairs.from_labels(rng.integers(3, size=200), 80, random_state=0)
    for learner in (nk.KernelBeta(n_landmarks=50, random_state=0), nk.ITML(random_state=0)):
        metric = learner.fit(X[:200], pairs=pairs)
        assert_same_image(run(metric, X[200:]), metric, X[200:])


@each(
    "transformer",
    [
        StandardScaler(),
        StandardScaler(with_mean=False),
        StandardScaler(with_std=False),
        RobustScaler(),
        RobustScaler(with_centering=False, unit_variance=True),
        RobustScaler(with_scaling=False),
        MinMaxScaler(),
        MinMaxScaler((-1, 2), clip=True),
        MaxAbsScaler(),
        Normalizer(),
        Normalizer("l1"),
        Normalizer("max"),
        PCA(2, random_state=0),
        PCA(2, whiten=True, random_state=0),
        TruncatedSVD(2, random_state=0),
    ],
    ids=repr,
)
def test_every_transformer_that_is_stored(transformer, data, run):
    X, pairs, X_new = data
    metric = nk.Chain([transformer, nk.RCA()]).fit(X, pairs=pairs)
    rows = np.concatenate([X_new, 4 * X_new, np.zeros((1, 3))])
    assert_same_image(run(metric, rows), metric, rows)


def test_compositions_within_compositions(data, run):
    X, pairs, X_new = data
    kernel = nk.KernelBeta(n_landmarks=20, random_state=0)
    blend = nk.Blend(
        [kernel, nk.Chain([PCA(2), nk.ITML(random_state=0)]), nk.Euclidean()], weights=[1, 2, 0.5]
    )
    metric = nk.Chain([StandardScaler(), blend, nk.KernelBeta(n_iter=2, random_state=0)])
    metric.fit(X, pairs=pairs)
    assert_same_image(run(metric, X_new), metric, X_new)


def test_metric_learner_with_principal_axes(run):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 60)).astype(np.float32).astype(np.float64)
    pairs = nk.Pairs.from_labels(rng.integers(2, size=100), 40, random_state=0)
    metric = nk.MetricLearner(time_budget=0, random_state=0)
    with pytest.warns(nk.SelectionWarning):
        metric.fit(X[:100], pairs=pairs)
    assert_same_image(run(metric, X[100:]), metric, X[100:])


def test_metrics_of_sparse_and_of_float32_rows(data, run):
    X, pairs, X_new = data
    metric = nk.KernelBeta(n_landmarks=20, random_state=0)
    dense = clone(metric).fit(X, pairs=pairs)
    assert_same_image(run(metric.fit(sp.csr_array(X), pairs=pairs), X_new), dense, X_new)
    single = clone(metric).fit(X.astype(np.float32), pairs=pairs)
    # transform computes distances in float32 there, and local weights make more of that.
    assert_same_image(run(single, X_new), single, X_new.astype(np.float32), tol=1e-4)


def test_equal_landmarks(data, run):
    X, pairs, X_new = data
    pairs = nk.Pairs(pairs.must_link, pairs.cannot_link)
    metric = nk.KernelBeta(random_state=0).fit(np.concatenate([X, X[:20]]), pairs=pairs)
    assert_same_image(run(metric, X), metric, X)
    assert np.isfinite(run(metric, X_new)).all()


@each_exported
def test_float32_inside(learner, data, run):
    X, pairs, X_new = data
    metric = fitted(learner, X, pairs=pairs)
    assert_same_image(run(metric, X_new, precision="float32"), metric, X_new, tol=2e-3)
    assert np.isfinite(embedded(session(run.path), 2.0**20 * X_new)).all()
    types = {constant.data_type for constant in onnx.load(run.path).graph.initializer}
    assert onnx.TensorProto.DOUBLE not in types


def test_distances_and_verdicts_from_a_file_alone(data, run, tmp_path):
    X, pairs, X_new = data
    metric = nk.KernelBeta(random_state=0).fit(X, pairs=pairs)
    Z = run(metric, X_new)
    threshold = float(onnx_metadata(tmp_path / "metric.onnx")["threshold"])
    assert threshold == metric.threshold_
    for name in ("sharpness", "far_sharpness", "prevalence"):
        assert float(onnx_metadata(tmp_path / "metric.onnx")[name]) == getattr(metric, f"{name}_")
    same = np.linalg.norm(Z[:15] - Z[15:], axis=1) <= threshold
    assert_array_equal(same, metric.same(X_new[:15], X_new[15:]))
    _, expected = nk.NeighborIndex(metric).add(X).query(X_new, 3)
    _, found = nk.NeighborIndex().add(run(metric, X)).query(Z, 3)
    assert_array_equal(found, expected)


def onnx_metadata(path):
    return session(path).get_modelmeta().custom_metadata_map


def test_what_the_file_says(data, tmp_path):
    X, pairs, _ = data
    frame = pd.DataFrame(X, columns=["width", "height", "área"])
    metric = nk.ITML(random_state=0).fit(frame, pairs=pairs)
    path = tmp_path / "metric.onnx"
    export(metric, path)
    meta = onnx_metadata(path)
    assert (meta["nearkin"], meta["learner"]) == (nk.__version__, "ITML")
    assert json.loads(meta["feature_names"]) == ["width", "height", "área"]
    [given], [made] = session(path).get_inputs(), session(path).get_outputs()
    assert (given.name, given.type, given.shape) == ("X", "tensor(float)", ["n", 3])
    assert (made.name, made.type, made.shape) == ("Z", "tensor(float)", ["n", 3])

    export(metric, path, forget_names=True)
    assert "feature_names" not in onnx_metadata(path)
    assert b"height" not in path.read_bytes()
    export(nk.ITML(random_state=0).fit(X, pairs=pairs), path)
    assert "feature_names" not in onnx_metadata(path)


def test_the_same_metric_gives_the_same_file(data, tmp_path):
    X, pairs, _ = data
    metric = nk.KernelBeta(random_state=0).fit(X, pairs=pairs)
    for name in "ab":
        export(metric, tmp_path / name)
    metric.save(tmp_path / "model.nearkin")
    export(nk.load(tmp_path / "model.nearkin"), tmp_path / "c")
    assert len({(tmp_path / name).read_bytes() for name in "abc"}) == 1


def refusals(data):
    X, pairs, _ = data
    by_function = nk.KernelBeta(kernel=lambda A, B: rbf_kernel(A, B), random_state=0)
    by_values = nk.ITML(kernel="precomputed", random_state=0)
    nystroem = nk.KernelBeta(kernel="precomputed", extension="nystroem", random_state=0)
    ranks = nk.Chain([QuantileTransformer(n_quantiles=10), nk.RCA()])
    return [
        (by_function.fit(X, pairs=pairs), "a kernel that is a function.*kernel='rbf'"),
        (by_values.fit(rbf_kernel(X), pairs=pairs), "a kernel that is precomputed"),
        (nystroem.fit(rbf_kernel(X), pairs=pairs), "a kernel that is precomputed"),
        (ranks.fit(X, pairs=pairs), "QuantileTransformer cannot .*StandardScaler.*beforehand"),
        (StandardScaler().fit(X), "StandardScaler is no learner .*: give one, such"),
    ]


def test_what_is_refused_leaves_no_file(data, tmp_path):
    X, pairs, _ = data
    for metric, message in refusals(data):
        with pytest.raises(ValueError, match=message):
            export(metric, tmp_path / "metric.onnx")
    with pytest.raises(NotFittedError):
        export(nk.RCA(), tmp_path / "metric.onnx")
    with pytest.raises(ValueError, match="precision='float16': use one of"):
        export(nk.RCA().fit(X, pairs=pairs), tmp_path / "metric.onnx", precision="float16")
    assert not list(tmp_path.iterdir())
    with pytest.raises(FileNotFoundError, match="There is no folder"):
        export(nk.RCA().fit(X, pairs=pairs), tmp_path / "none" / "metric.onnx")


def test_without_onnx_it_says_what_to_install(data, tmp_path, monkeypatch):
    X, pairs, _ = data
    metric = nk.RCA().fit(X, pairs=pairs)
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"pip install 'nearkin\[onnx\]'"):
        export(metric, tmp_path / "metric.onnx")
