"""Arrays of torch and CuPy under scikit-learn's dispatch: the same numbers, where the input is.

Runs over array-api-strict, which has the array standard and nothing else, over torch on the host if
it is installed, and over torch and CuPy on a CUDA device where there are any.
"""

import copy
import functools
import importlib
import importlib.util
import pickle
import sys

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.decomposition import PCA

import nearkin as nk
from nearkin.learners import fit_steps, metric_learner, selection
from nearkin.learners.selection import make_ingredients
from nearkin.messages import mute_categories
from nearkin.rows import access, backends, device_math
from nearkin.scores import pair_auc, separability
from nearkin.solvers import local_metrics as local
from nearkin.solvers.class_gaussians import fit_class_models
from nearkin.solvers.local_metrics import (
    _compute_mostly_in_float32,
    _compute_on_device,
    bias_matrices,
    local_metrics,
    mean_local_metric,
)
from nearkin.spaces.kernels import Kernel
from nearkin.spaces.landmarks import choose_landmarks
from tests.cases import each
from tests.common.learners import few_of

if backends.array_api_compat is None:
    pytest.skip("dispatch needs scikit-learn 1.7 or later", allow_module_level=True)

N_ROWS = 140
# Largest difference from NumPy's result, relative to its largest entry.
TOLERANCE = {"float64": 1e-10, "float32": 3e-5}


class Place:
    """A library and a device."""

    def __init__(self, library, device):
        self.library, self.device = library, device
        self.xp = importlib.import_module(library)

    def put(self, X):
        options = {"device": self.device} if self.library == "torch" else {}
        return self.xp.asarray(np.array(X), **options)

    def holds(self, X, dtype=None):
        """Whether X is an array of this library, on this device, and of that type."""
        if backends.library(X) != self.library or dtype not in (None, backends.dtype_name(X)):
            return False
        return self.library != "torch" or X.device.type == self.device


def is_there(library, device):
    if importlib.util.find_spec(library) is None:
        return False
    return device != "cuda" or importlib.import_module(library).cuda.is_available()


PLACES = [("array_api_strict", "host"), ("torch", "cpu"), ("torch", "cuda"), ("cupy", "cuda")]


def marked(library, device):
    # By day it is torch, wherever it is installed: the standard alone is slower, and asks for less.
    marks = [pytest.mark.gpu] if device == "cuda" else []
    if library == "array_api_strict":
        marks.append(pytest.mark.night)
    return pytest.param((library, device), marks=marks, id=f"{library} {device}")


@pytest.fixture(params=[marked(*place) for place in PLACES if is_there(*place)])
def place(request, monkeypatch):
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")  # what scikit-learn looks at
    found = Place(*request.param)
    if found.library not in backends.LIBRARIES:  # the standard and nothing else
        monkeypatch.setattr(backends, "LIBRARIES", (*backends.LIBRARIES, found.library))
    # What it chooses among is learned on the host; all their maps have a test of their own.
    monkeypatch.setattr(selection, "make_ingredients", few_of)
    silent = np.errstate(**{"all": "ignore"} if found.library == "array_api_strict" else {})
    with sklearn.config_context(array_api_dispatch=True), silent:  # as devices are
        yield found


@pytest.fixture
def sizes_home(monkeypatch):
    """Shapes of all arrays that leave the device, which they can by one way only."""
    shapes = []
    through = backends.to_numpy

    def spy(X):
        if backends.is_foreign(X):
            shapes.append(tuple(X.shape))
        return through(X)

    for name, module in list(sys.modules.items()):
        if name.startswith("nearkin") and getattr(module, "to_numpy", None) is through:
            monkeypatch.setattr(module, "to_numpy", spy)
    if importlib.util.find_spec("torch") is not None:
        import torch

        def refuse(self, *args, **options):
            raise AssertionError("an array of torch was read by NumPy")

        monkeypatch.setattr(torch.Tensor, "__array__", refuse)
    return shapes


def example(dtype="float64", n=N_ROWS, d=6):
    """Three overlapping classes, rows and labels, with pairs and new rows."""
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=n)
    shape = rng.standard_normal((3, d, d)) / d**0.5
    X = np.einsum("nd,nde->ne", rng.standard_normal((n, d)), shape[y]) + 2 * np.eye(3, d)[y] + 5
    X, new = X.astype(dtype), X[n - 50 :].astype(dtype)
    X, y = X[:-50], y[:-50]
    return X, y, nk.Pairs.from_labels(y, 40, random_state=0), new


X, Y, PAIRS, NEW = example()
# Few neighbours: as many systems of equations are solved number by number for each row.
SOME = {"n_landmarks": 40, "n_neighbors": 3}
LEARNERS = {
    "exact": nk.KernelBeta(random_state=0),
    "landmarks": nk.KernelBeta(**SOME, random_state=0),
    "paper": nk.KernelBeta(**SOME, weighting="paper", random_state=0),
    "kmeans++": nk.KernelBeta(**SOME, landmarks="kmeans++", random_state=0),
    "farthest": nk.KernelBeta(**SOME, landmarks="farthest", random_state=0),
    "leverage": nk.KernelBeta(**SOME, landmarks="leverage", random_state=0),
    "named": nk.KernelBeta(n_neighbors=3, landmarks=np.arange(0, 90, 3), random_state=0),
    "nystroem": nk.KernelBeta(**SOME, extension="nystroem", random_state=0),
    "iterated": nk.KernelBeta(**SOME, n_iter=3, random_state=0),
    "median": nk.KernelBeta(**SOME, gamma="median", n_components=3, random_state=0),
    "laplacian": nk.KernelBeta(**SOME, kernel="laplacian", random_state=0),
    "poly": nk.KernelBeta(**SOME, kernel="poly", degree=2, random_state=0),
    "poly nystroem": nk.KernelBeta(
        **SOME, kernel="poly", degree=2, extension="nystroem", random_state=0
    ),
    "cosine": nk.KernelBeta(**SOME, kernel="cosine", random_state=0),
    "linear": nk.KernelBeta(**SOME, kernel="linear", random_state=0),
    "one neighbour": nk.KernelBeta(n_landmarks=40, n_neighbors=1, random_state=0),
    "ITML": nk.ITML(random_state=0),
    "ITML covariance": nk.ITML(prior="covariance", random_state=0),
    "ITML kernel": nk.ITML(kernel="rbf", **SOME, random_state=0),
    "GMML": nk.GMML(random_state=0),
    "GMML kernel": nk.GMML(kernel="rbf", **SOME, random_state=0),
    "GMML nystroem": nk.GMML(kernel="rbf", **SOME, extension="nystroem", random_state=0),
    "Generative": nk.Generative(random_state=0),
    "Generative full": nk.Generative(covariance="full", interpolation=0.2, random_state=0),
    "Generative shared": nk.Generative(covariance="shared", random_state=0),
    "RCA": nk.RCA(random_state=0),
    "Euclidean": nk.Euclidean(random_state=0),
    "MetricLearner": nk.MetricLearner(time_budget=0.3, random_state=0),
}
# One for every way to learn, and every kind of map.
EVERY_KIND = (
    *("landmarks", "nystroem", "iterated", "laplacian", "poly", "cosine", "ITML", "ITML kernel"),
    *("GMML", "GMML nystroem", "Generative", "RCA", "Euclidean", "MetricLearner"),
)
each_learner = each(
    "learner", [pytest.param(learner, id=name) for name, learner in LEARNERS.items()]
)
each_dtype = each("dtype", ["float64", "float32"])


def told(evidence, y, pairs):
    return {
        "pairs": {"pairs": pairs},
        "labels": {"y": y},
        "both": {"y": np.where(np.arange(len(y)) % 2, y, -1), "pairs": pairs},
    }[evidence]


def on_host(work, *given, **named):
    with sklearn.config_context(array_api_dispatch=False):
        return work(*given, **named)


home = backends.to_numpy


def assert_close(found, expected, dtype, scale=None):
    largest = np.abs(expected).max() if scale is None else scale
    assert_allclose(home(found), expected, atol=TOLERANCE[dtype] * largest, rtol=0)


# Learners


def fitted_on_both(place, learner, dtype, evidence):
    """The same learner, fitted on the host and where the place is, which gives the same images."""
    X, y, pairs, X_new = example(dtype)
    evidence = told(evidence, y, pairs)
    host = on_host(clone(learner).fit, X, **evidence)
    there = clone(learner).fit(place.put(X), **evidence)
    for rows in (X, X_new):
        Z = there.transform(place.put(rows))
        assert place.holds(Z, dtype)
        assert_close(Z, on_host(host.transform, rows), dtype)
    assert_allclose(there.threshold_, host.threshold_, rtol=1e3 * TOLERANCE[dtype])
    return host, there


@each_learner
def test_learners_give_the_same_numbers_where_the_input_is(place, learner):
    fitted_on_both(place, learner, "float32", "labels")


@each(
    "name",
    [
        *("exact", "landmarks", "paper", "nystroem", "iterated", "ITML", "ITML covariance"),
        *("ITML kernel", "GMML", "GMML kernel", "Generative", "RCA", "Euclidean"),
    ],
)
def test_labels_beside_pairs_give_the_same_numbers(place, name):
    fitted_on_both(place, LEARNERS[name], "float64", "both")


@each(
    ("name", "dtype"),
    [(name, "float64") for name in EVERY_KIND]
    + [(name, "float32") for name in ("landmarks", "GMML", "Generative")],
)
def test_methods_give_the_same_numbers_where_the_input_is(place, name, dtype):
    host, there = fitted_on_both(place, LEARNERS[name], dtype, "pairs")
    X, y, pairs, X_new = example(dtype)
    A, B = X_new[:25], X_new[25:]
    a, b = place.put(A), place.put(B)
    scale = np.abs(on_host(host.transform, X_new)).max()
    for name, power in (("distance", 1), ("pair_distance", 1), ("kernel_matrix", 2)):
        found = getattr(there, name)(a, b)
        assert place.holds(found, dtype)
        expected = on_host(getattr(host, name), A, B)
        assert_close(found, expected, dtype, 10 * scale**power)
    assert_close(there.distance(a), on_host(host.distance, A), dtype, 10 * scale)
    same = there.same(a, b)
    assert place.holds(same, "bool")
    assert_array_equal(home(same), on_host(host.same, A, B))
    chance = there.chance_same(a, b)
    assert backends.describe_place(chance) == backends.describe_place(a)
    expected = on_host(host.chance_same, A, B)
    assert_allclose(home(chance), expected, atol=1e-3 if A.dtype == np.float32 else 1e-8)
    there.calibrate(place.put(X), pairs=pairs, prevalence=0.1)
    on_host(host.calibrate, X, pairs=pairs, prevalence=0.1)
    expected = on_host(host.chance_same, A, B, prevalence=0.3)
    assert_allclose(
        home(there.chance_same(a, b, prevalence=0.3)),
        expected,
        atol=1e-3 if A.dtype == np.float32 else 1e-8,
    )
    score = there.score(place.put(X), place.put(y))
    assert_allclose(score, on_host(host.score, X, y), atol=1e-5)
    score = there.score(place.put(X), pairs=pairs)
    assert_allclose(score, on_host(host.score, X, pairs=pairs), atol=1e-5)


BLEND = [
    nk.Chain([PCA(3, random_state=0), nk.ITML(random_state=0)]),
    nk.CosineMetric(random_state=0),
]
MADE_OF = {
    name: one.learner
    for name, one in make_ingredients(n_landmarks=40, n_rows=N_ROWS, seed=0).items()
} | {"a blend, along axes": nk.Blend(BLEND, weights=[1, 2], random_state=0)}


@each("name", MADE_OF)
def test_all_that_metric_learner_is_made_of_maps_rows_where_they_are(place, name):
    metric = on_host(lambda: clone(MADE_OF[name]).fit(X, pairs=PAIRS))
    for dtype in ("float64", "float32"):
        rows = NEW.astype(dtype)
        found = metric.map_.apply(place.put(rows))
        assert place.holds(found, dtype)
        assert_close(found, on_host(metric.map_.apply, rows), dtype)


def test_metric_learner_divides_columns_and_sees_axes_where_rows_are(place):
    rng = np.random.default_rng(0)
    units, _, pairs, _ = example()
    units = units * 10.0 ** np.arange(6)
    wide = units[:, :3] @ rng.standard_normal((3, 1100))
    learner = nk.MetricLearner(time_budget=0, random_state=0)
    for X, attribute in ((units, "column_scale_"), (wide, "axes_")):
        with mute_categories(nk.SelectionWarning):
            host = on_host(clone(learner).fit, X, pairs=pairs)
            there = clone(learner).fit(place.put(X), pairs=pairs)
        assert_array_equal(getattr(there, attribute), getattr(host, attribute))
        Z = on_host(host.transform, X)
        assert_close(there.transform(place.put(X)), Z, "float64")


@each_learner
def test_rows_stay_on_their_device(place, learner, sizes_home, monkeypatch):
    sizes_home.clear()
    monkeypatch.setattr(metric_learner, "SAMPLE_ROWS", 100)  # of MetricLearner
    X, _, pairs, _ = example("float32", n=350)
    if learner.get_params().get("n_landmarks", 0) is None and not isinstance(
        learner, (nk.ITML, nk.GMML)
    ):
        learner = clone(learner).set_params(landmarks=np.arange(30))  # not every row
    looks = getattr(learner, "landmarks", "random")
    seen_whole = isinstance(looks, str) and looks != "random"  # up to 20 000 rows, or 2000
    if seen_whole or getattr(learner, "gamma", None) == "median":
        pytest.skip("looks at a sample on the host, which here is everything")
    if getattr(learner, "kernel", None) == "laplacian":
        learner = clone(learner).set_params(gamma=0.1)  # its rule looks at a sample too
    if isinstance(learner, nk.ITML):
        learner = clone(learner).set_params(bounds=(0.5, 3.0))  # random pairs need no rows
    there = clone(learner).fit(place.put(X), pairs=pairs)
    metric_rows = len(pairs.points) + 60
    there.transform(place.put(X))
    there.pair_distance(place.put(X), place.put(X))
    there.distance(place.put(X[:100]), place.put(X))
    there.same(place.put(X), place.put(X))
    assert sizes_home
    background = 4000  # one number for each random pair of the threshold
    for shape in sizes_home:
        assert len(shape) <= 3
        assert shape[0] <= metric_rows or (len(shape) == 1 and shape[0] <= background)


@each("name", ["landmarks", "GMML", "GMML kernel", "Generative", "RCA"])
def test_labelled_rows_stay_on_their_device(place, name, sizes_home):
    sizes_home.clear()
    X, y, _, _ = example("float32", n=1200)
    clone(LEARNERS[name]).fit(place.put(X), place.put(y))
    for shape in sizes_home:
        assert len(shape) == 1 or max(shape) <= 40


@each(
    ("name", "dtype", "labels"),
    [
        *(("landmarks", "float64", False), ("landmarks", "float32", True)),
        *(("nystroem", "float64", True), ("iterated", "float32", True)),
        *(("ITML", "float64", True), ("ITML", "float32", False)),
        *(("GMML", "float64", False), ("GMML kernel", "float32", True)),
    ],
)
def test_pairs_are_added_and_withdrawn(place, name, labels, dtype, monkeypatch):
    monkeypatch.setattr(fit_steps, "_BLOCK", 50)
    X, y, pairs, new = example(dtype)
    y = np.where(np.arange(len(y)) < 60, y, -1) if labels else None
    first, more = pairs.split(0.5, random_state=0)
    gone = nk.Pairs(cannot_link=first.cannot_link)

    def taught(put):
        metric = clone(LEARNERS[name]).fit(put(X), y, pairs=first)
        metric.partial_fit(put(X), pairs=more)
        return metric.partial_fit(put(X), withdrawn=gone)

    there, host = taught(place.put), on_host(taught, np.asarray)
    assert place.holds(there.transform(place.put(new)), dtype)
    D = on_host(host.distance, new)
    found = home(there.distance(place.put(new)))
    assert_allclose(found, D, atol=10 * TOLERANCE[dtype] * D.max())
    assert_allclose(there.threshold_, host.threshold_, rtol=100 * TOLERANCE[dtype])
    assert isinstance(there._taught.coordinates, np.ndarray)
    plane = nk.LiveView(there, place.put(new)).coordinates()
    expected = on_host(lambda: nk.LiveView(host, new).coordinates())
    assert place.holds(plane)
    scale = 100 * TOLERANCE[dtype] * np.abs(expected).max()
    assert_allclose(home(plane), expected, atol=scale)
    by_pickle(there).partial_fit(place.put(X), withdrawn=more)
    # Rows that pairs name may be given from anywhere.
    there.partial_fit(X, pairs=gone)
    D = on_host(lambda: host.partial_fit(X, pairs=gone).distance(new))
    assert_allclose(there.distance(new), D, atol=10 * TOLERANCE[dtype] * D.max())


def test_threshold_of_foreign_rows_is_that_of_pairs_alone(place):
    X = np.array([[0.0], [1.0], [5.0]])
    metric = nk.Euclidean().fit(place.put(X), pairs=nk.Pairs([(0, 1)], [(1, 2)]))
    assert metric.threshold_ == 2.5


@each_dtype
def test_a_landmark_is_embedded_where_it_was(place, dtype):
    X, _, pairs, _ = example(dtype)
    metric = nk.KernelBeta(n_landmarks=40, random_state=0).fit(place.put(X), pairs=pairs)
    Z = home(metric.transform(place.put(X[metric.landmarks_])))
    assert_allclose(Z, metric.embedding_.astype(dtype), rtol=1e-6, atol=1e-12)


@each_dtype
def test_blocks_do_not_change_the_result(place, dtype, monkeypatch):
    X, _, pairs, _ = example(dtype)
    pairs = nk.Pairs(pairs.must_link, pairs.cannot_link)  # of any number of rows
    X = place.put(np.tile(X, (4, 1)))
    for learner in (LEARNERS["landmarks"], LEARNERS["laplacian"], LEARNERS["nystroem"]):
        metric = clone(learner).fit(X, pairs=pairs)
        whole = home(metric.transform(X))
        with monkeypatch.context() as patch:
            patch.setattr(access, "_BLOCK_BYTES", {"accelerator": 1, "cpu": 1})
            assert len(list(access.split_by_memory(X, 1))) > 5
            assert_close(metric.transform(X), whole, dtype)


def test_far_and_repeated_rows_give_finite_numbers(place):
    X, _, pairs, _ = example("float32")
    X[1] = X[0]
    metric = nk.KernelBeta(n_landmarks=40, random_state=0).fit(place.put(X), pairs=pairs)
    far = place.put(np.full((2, X.shape[1]), 1e30, dtype=np.float32))
    assert np.isfinite(home(metric.transform(far))).all()


def test_overflow_of_kernel_values_names_the_row(place):
    X, _, pairs, X_new = example()
    metric = nk.KernelBeta(kernel="poly", degree=8, n_landmarks=40, random_state=0)
    metric.fit(place.put(X), pairs=pairs)
    X_new[3] = 1e200
    with pytest.raises(ValueError, match="row 3 are not finite"):
        metric.transform(place.put(X_new))


ALL_THAT_TAKE_THEM = {name: LEARNERS[name] for name in EVERY_KIND} | {
    "CosineMetric": nk.CosineMetric(random_state=0),
    "CosineMetric kernel": nk.CosineMetric(kernel="rbf", **SOME, random_state=0),
    "PLDA": nk.PLDA(random_state=0),
    "ColumnWeights": nk.ColumnWeights(scale=True, random_state=0),
}


def by_pickle(metric):
    return pickle.loads(pickle.dumps(metric))


def saved_and_loaded(metric, path):
    metric.save(path)
    return nk.load(path)


def test_a_metric_that_was_fitted_anywhere_is_kept_and_used_anywhere(place, tmp_path):
    X, y, _, new = example()
    new = new[:12]
    there = place.put(new)
    again = [lambda metric: saved_and_loaded(metric, tmp_path / "a.nearkin"), by_pickle]
    ways = [lambda metric: metric, copy.copy, copy.deepcopy, *again]
    ways += [functools.partial(on_host, way) for way in again]
    for name, learner in ALL_THAT_TAKE_THEM.items():
        by_device = clone(learner).fit(place.put(X), y)
        by_host = on_host(clone(learner).fit, X, y)
        expected = on_host(by_host.transform, new)
        assert_close(by_host.transform(there), expected, "float64")
        expected = home(by_device.transform(there))
        for way in ways:
            metric = way(by_device)
            Z = on_host(metric.transform, new)
            assert type(Z) is np.ndarray, (name, way)
            assert_close(Z, expected, "float64")
            Z = metric.transform(there)
            assert place.holds(Z, "float64"), (name, way)
            assert_close(Z, expected, "float64")
            if hasattr(metric, "predict"):
                classes = on_host(by_host.predict, new)
                assert_array_equal(on_host(metric.predict, new), classes)
                found = metric.predict(place.put(new.astype(np.float32)))
                assert place.holds(found, "int64"), (name, way)
                assert_array_equal(home(found), classes)


def test_a_classifier_that_was_fitted_anywhere_predicts_anywhere(place):
    for metric in (None, LEARNERS["landmarks"]):
        model = nk.EnergyClassifier(metric, random_state=0).fit(place.put(X), Y)
        classes = home(model.predict(place.put(NEW)))
        for again in (model, on_host(by_pickle, model)):
            assert_array_equal(on_host(again.predict, NEW), classes)
            assert_array_equal(home(again.predict(place.put(NEW))), classes)


def test_a_metric_of_a_device_is_judged_explained_and_exported_as_one_of_the_host(place, tmp_path):
    pairs = nk.Pairs.from_labels(Y, 16, random_state=0)
    for name, learner in ALL_THAT_TAKE_THEM.items():
        metric = clone(learner).fit(place.put(X), pairs=pairs)
        host = on_host(saved_and_loaded, metric, tmp_path / "a.nearkin")
        chances = metric.chance_same(place.put(NEW[:9]), place.put(NEW[9:18]))
        expected = on_host(host.chance_same, NEW[:9], NEW[9:18])
        assert_allclose(home(chances), expected, atol=1e-8, err_msg=name)
        assert_allclose(metric.chance_same(NEW[:9], NEW[9:18]), expected, atol=1e-8, err_msg=name)
        found = metric.quality(place.put(X), pairs=pairs).auc.value
        expected = on_host(host.quality, X, pairs=pairs).auc.value
        assert_allclose(found, expected, rtol=1e-6, err_msg=name)
        told = metric.explain(place.put(NEW[0]), place.put(NEW[1]))
        expected = on_host(host.explain, NEW[0], NEW[1])
        assert_allclose(
            list(told.contributions.values()), list(expected.contributions.values()), atol=1e-8
        )
        assert told.answers or told.remark, name
        if importlib.util.find_spec("onnx") is not None:
            for one, file in ((metric, "there"), (host, "host")):
                nk.onnx_file.export(one, tmp_path / file)
            assert (tmp_path / "there").read_bytes() == (tmp_path / "host").read_bytes(), name


def test_answers_that_pull_rows_of_a_device_are_told(place, tmp_path):
    pairs = nk.Pairs.from_labels(Y, 16, random_state=0)
    for name in ("landmarks", "ITML", "RCA", "MetricLearner"):
        metric = clone(LEARNERS[name]).fit(place.put(X), pairs=pairs)
        again = saved_and_loaded(metric, tmp_path / "a.nearkin")
        told = again.explain(place.put(NEW[0]), place.put(NEW[1]), X=place.put(X), pairs=pairs)
        expected = on_host(again.explain, NEW[0], NEW[1], X=X, pairs=pairs)
        assert [one.left for one in told.answers] == [one.left for one in expected.answers], name


def test_whole_numbers_become_float64(place):
    X, _, pairs, _ = example()
    X = np.round(X).astype(np.int64)
    Z = nk.GMML(random_state=0).fit(place.put(X), pairs=pairs).transform(place.put(X))
    assert place.holds(Z, "float64")


def test_numpy_arrays_are_as_they_were_under_dispatch(place):
    under = nk.KernelBeta(n_landmarks=40, random_state=0).fit(X, pairs=PAIRS).transform(NEW)
    assert type(under) is np.ndarray
    metric = on_host(lambda: nk.KernelBeta(n_landmarks=40, random_state=0).fit(X, pairs=PAIRS))
    assert_array_equal(under, on_host(metric.transform, NEW))


# Generative


@each_dtype
def test_local_metrics_of_singular_and_nearly_singular_bias(place, dtype):
    rng = np.random.default_rng(0)
    U = np.linalg.qr(rng.standard_normal((8, 5, 5)))[0]
    # Zeros, and eigenvalues that are below and above what counts as zero (1e-9 of the norm).
    values = np.array(
        [
            [1, -1, 0, 0, 0],
            [1, 0.5, 0, 0, 0],
            [1, -1e-3, 1e-12, 0, 0],
            [1, -1e-3, 1e-10, -1e-10, 0],
            [1, -1, 5e-9, -5e-9, 1e-8],
            [1, -1, 5e-8, -5e-7, 1e-6],
            [1, -0.1, 0.2, -0.3, 0.4],
            [0, 0, 0, 0, 0],
        ]
    )
    Phi = (U * values[:, None, :]) @ U.transpose(0, 2, 1)
    Phi = (Phi + Phi.transpose(0, 2, 1)) / 2
    expected = local_metrics(Phi)
    found = home(_compute_on_device(place.put(Phi), getattr(place.xp, dtype)))
    tolerance = {"float64": 1e-9, "float32": 1e-4}[dtype] * np.abs(expected).max(axis=(1, 2))
    assert (np.abs(found - expected).max(axis=(1, 2)) <= tolerance).all()


@each_dtype
@each("d", [1, 7, 40])
def test_mean_of_local_metrics(place, dtype, d):
    X, y, _, _ = example("float64", n=200, d=max(d, 3))
    X = X[:, :d].astype(dtype)
    models = fit_class_models(X.astype(np.float64), y)
    expected = local_metrics(bias_matrices(X.astype(np.float64), models)).mean(axis=0)
    found = mean_local_metric(place.put(X), models)
    # The goal is 1e-3; single precision is about a hundred times better than that.
    tolerance = {"float64": 1e-7, "float32": 1e-4}[dtype]
    assert_allclose(found, expected, atol=tolerance * np.abs(expected).max())
    weights = np.arange(1.0, len(X) + 1)
    expected = on_host(lambda: mean_local_metric(X.astype(np.float64), models, weights, 0.3))
    found = mean_local_metric(place.put(X), models, weights, 0.3)
    assert_allclose(found, expected, atol=tolerance * np.abs(expected).max())


def test_generative_finds_the_same_neighbours_and_classes(place):
    there, host = (nk.Generative(random_state=0) for _ in range(2))
    there.fit(place.put(X), place.put(Y))
    on_host(host.fit, X, Y)
    distances, rows = there.kneighbors(place.put(NEW))
    expected, expected_rows = on_host(host.kneighbors, NEW)
    assert place.holds(distances, "float64")
    assert place.holds(rows, "int64")
    assert_array_equal(home(rows), expected_rows)
    assert_allclose(home(distances), expected, rtol=1e-9)
    classes = there.predict(place.put(NEW))
    assert place.holds(classes, "int64")
    assert_array_equal(home(classes), on_host(host.predict, NEW))


# EnergyClassifier


@each(
    ("metric", "dtype", "n_neighbors"),
    [
        *((None, "float64", 3), (None, "float32", 1)),
        *(("Generative", "float64", 3), ("landmarks", "float32", 1)),
    ],
)
def test_energies(place, dtype, metric, n_neighbors):
    X, y, _, X_new = example(dtype)
    y[:2] = 7  # a class of two rows
    y[2] = 9  # and one of a single row
    model = nk.EnergyClassifier(
        None if metric is None else LEARNERS[metric], n_neighbors=n_neighbors, random_state=0
    )
    host = on_host(clone(model).fit, X, y)
    there = clone(model).fit(place.put(X), place.put(y))
    assert_allclose(there.margin_, host.margin_, rtol=1e-4)
    found = there.decision_function(place.put(X_new))
    assert place.holds(found)
    expected = on_host(host.decision_function, X_new)
    assert_close(found, expected, dtype)
    labels = there.predict(place.put(X_new))
    assert place.holds(labels, "int64")
    assert_array_equal(home(labels), on_host(host.predict, X_new))


def test_training_rows_of_the_classifier_stay_on_their_device(place, sizes_home):
    X, y, _, _ = example("float32", n=500)
    model = nk.EnergyClassifier(random_state=0).fit(place.put(X), y)
    model.predict(place.put(X))
    judged = {(8, len(X), 3), (len(X), 3)}  # energies and distances of rows left out
    assert all(shape in judged or max(shape) <= X.shape[1] for shape in sizes_home)


def test_labels_that_are_names_come_back_as_names(place):
    names = np.array(["ant", "bee", "cow"])[Y]
    for model in (nk.EnergyClassifier(random_state=0), nk.Generative(random_state=0)):
        found = model.fit(place.put(X), names).predict(place.put(NEW))
        assert type(found) is np.ndarray
        assert set(found) <= set(names)


# Scores


@each_dtype
def test_scores(place, dtype):
    X, y, pairs, _ = example(dtype)
    there = place.put(X)
    expected = on_host(lambda: (pair_auc(X, y), pair_auc(X, pairs=pairs), separability(X, y)))
    found = (pair_auc(there, place.put(y)), pair_auc(there, pairs=pairs), separability(there, y))
    assert_allclose(found, expected, rtol=1e-6)
    assert all(isinstance(value, float) for value in found)


# Access and arithmetic


@each("k", [1, 5, 20])
def test_smallest(place, k, monkeypatch):
    values = np.random.default_rng(0).standard_normal((40, 33))
    expected = np.argsort(values, axis=1)[:, :k]
    for on_the_host in (None, False):  # also as on an accelerator
        if on_the_host is not None:
            monkeypatch.setattr(device_math, "on_host", lambda X: False)
        found, positions = device_math.k_smallest(place.put(values), k)
        assert_array_equal(home(positions), expected)
        assert_array_equal(home(found), np.take_along_axis(values, expected, axis=1))


def test_sign_function(place):
    rng = np.random.default_rng(0)
    vectors = np.linalg.qr(rng.standard_normal((20, 5, 5)))[0]
    values = rng.choice([-1, 1], (20, 5)) * rng.uniform(1e-6, 0.4, (20, 5))
    matrices = (vectors * values[:, None, :]) @ vectors.transpose(0, 2, 1)
    expected = (vectors * np.sign(values)[:, None, :]) @ vectors.transpose(0, 2, 1)
    found = local.sign_function(place.put(matrices), 1e-8)
    assert_allclose(home(found), expected, atol=1e-9)
    assert_allclose(local.sign_function(matrices, 1e-8), expected, atol=1e-9)


def test_sign_mostly_in_single_precision(place):
    rng = np.random.default_rng(1)
    U = np.linalg.qr(rng.standard_normal((4, 40, 40)))[0]
    values = rng.choice([-1, 1], (4, 40)) * rng.uniform(1e-6, 1e-3, (4, 40))
    values[0, :2] = 1, -0.03  # two that exceed the others a thousand times
    values[1, :4] = 1, 0.9, 0.8, 1e-8  # three of them: nothing to set apart
    values[2, :2] = 1, 0.03
    values[2, 5] = 0
    values /= np.linalg.norm(values, axis=1, keepdims=True)
    matrices = (U * values[:, None, :]) @ U.transpose(0, 2, 1)
    found, doubt = local.sign_by_single(place.put((matrices + matrices.transpose(0, 2, 1)) / 2))
    expected = (U * np.sign(values)[:, None, :]) @ U.transpose(0, 2, 1)
    doubt = home(doubt)[:, 0, 0]
    assert (doubt[[0, 3]] < 1e-4).all()
    assert (doubt[[1, 2]] > 0.5).all()
    assert_allclose(home(found)[[0, 3]], expected[[0, 3]], atol=1e-3)


def test_local_metrics_mostly_in_single_precision(place):
    X, y, _, _ = example("float64", n=150, d=30)
    models = fit_class_models(X, y)
    Phi = bias_matrices(X, models)
    Phi[3] = 0
    Phi[4] = np.outer(X[4], X[4])  # of rank one: in doubt
    expected = local_metrics(Phi)
    found = home(_compute_mostly_in_float32(place.put(Phi)))
    assert_allclose(found, expected, atol=1e-4 * np.abs(expected).max())


def test_log_determinants_also_of_what_is_not_definite(place):
    matrices = np.stack([np.diag([1.0, 4.0]), np.diag([3.0, -2.0]), np.eye(2)])
    found = local.log_determinants(place.put(matrices))
    assert_allclose(home(found), np.log([4, 6, 1]), atol=1e-12)


def test_distances(place):
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((9, 4)) + 1e6, rng.standard_normal((40, 4)) + 1e6
    B[3] = A[2]
    a, b = place.put(A), place.put(B)
    difference = A[:, None] - B
    exact = np.sqrt((difference**2).sum(axis=2))
    assert_allclose(home(device_math.exact_distances(a, b)), exact, rtol=1e-12)
    city = device_math.exact_distances(a, b, city_block=True)
    assert_allclose(home(city), np.abs(difference).sum(axis=2), rtol=1e-12)
    squared, rows = device_math.find_nearest_rows(a, b, 3)
    assert_array_equal(home(rows), np.argsort(exact, axis=1)[:, :3])
    assert_allclose(home(squared), np.sort(exact, axis=1)[:, :3] ** 2, rtol=1e-10)
    assert home(squared)[2, 0] == 0
    _, others = device_math.find_nearest_rows(b, b, 1, skip_self=True)
    assert (home(others)[:, 0] != np.arange(len(B))).all()


def test_moments_of_equal_rows_are_exact(place):
    X = np.full((7, 3), 0.1)
    mean, covariance = access.moments(place.put(X))
    assert_array_equal(mean, X[0])
    assert_array_equal(covariance, np.zeros((3, 3)))


@each("strategy", ["random", "kmeans++", "farthest", "leverage"])
def test_landmarks_are_the_same_rows(place, strategy):
    options = {"kernel": Kernel("rbf", gamma=0.1), "include": np.array([3, 70]), "random_state": 0}
    expected = on_host(choose_landmarks, X, 30, strategy, **options)
    assert_array_equal(choose_landmarks(place.put(X), 30, strategy, **options), expected)


# What is refused


@each("learner", [nk.KernelA(), nk.LLMA(), nk.LMNN(), nk.GeometryAware(), nk.Blend([nk.ITML()])])
def test_learners_that_do_not_take_foreign_arrays_say_so(place, learner):
    with pytest.raises(TypeError, match=f"{type(learner).__name__} takes NumPy arrays only.*give"):
        learner.fit(place.put(X), Y)


@each("learner", [nk.KernelBeta(kernel="precomputed"), nk.KernelBeta(kernel=lambda A, B: A @ B.T)])
def test_kernels_that_do_not_take_foreign_arrays_say_so(place, learner):
    with pytest.raises(TypeError, match=r"kernel=.* takes NumPy arrays only"):
        learner.fit(place.put(X @ X.T), Y)


def test_what_cannot_be_learned_there_is_refused(place):
    X, y, _, _ = example()
    with pytest.raises(TypeError, match=r"combine='kde' takes NumPy arrays only.*'uniform'"):
        nk.Generative(combine="kde").fit(place.put(X), y)
    X[4, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        nk.KernelBeta(n_landmarks=40).fit(place.put(X), y)


def test_arrays_of_other_libraries_are_refused(place):
    class Other:
        def __array_namespace__(self):
            raise NotImplementedError

    with pytest.raises(TypeError, match="only those of NumPy, torch and cupy are known"):
        nk.KernelBeta().fit(Other(), [0, 1])


def test_subclasses_are_of_their_library():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    assert backends.library(torch.nn.Parameter(torch.zeros(2))) == "torch"
    assert backends.library(type("Own", (torch.Tensor,), {})()) == "torch"
    assert backends.library(np.zeros(2)) is None


def test_float16_is_refused(place):
    if not hasattr(place.xp, "float16"):
        pytest.skip("the array standard knows no float16")
    with pytest.raises(TypeError, match=r"float16, which is too coarse.*give X\."):
        nk.KernelBeta().fit(place.put(X.astype(np.float16)), Y)


def test_rows_of_two_places_are_not_compared(place):
    metric = nk.GMML().fit(place.put(X), Y)
    for name in ("distance", "pair_distance", "kernel_matrix"):
        with pytest.raises(ValueError, match=f"X_a is an array of {place.library} on .*NumPy: br"):
            getattr(metric, name)(place.put(NEW), NEW)


def test_arrays_of_an_accelerator_without_dispatch_are_refused():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    stranded = torch.empty(X.shape, device="meta")  # a device that every machine has
    for learner in (nk.KernelBeta(), nk.GMML(), nk.Generative(), nk.EnergyClassifier()):
        with pytest.raises(TypeError, match=r"X is an array of torch on meta.*config_context"):
            learner.fit(stranded, Y)
    with pytest.raises(TypeError, match=r"Z is an array of torch on meta.*SCIPY_ARRAY_API=1"):
        pair_auc(stranded, Y)
    with pytest.raises(TypeError, match=r"y is an array of torch on meta.*y\.cpu\(\)"):
        nk.KernelBeta().fit(X, torch.empty(len(Y), device="meta"))


def test_arrays_of_torch_without_dispatch_are_read_by_numpy():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    metric = nk.KernelBeta(n_landmarks=40, random_state=0).fit(torch.asarray(X), torch.asarray(Y))
    expected = nk.KernelBeta(n_landmarks=40, random_state=0).fit(X, Y).transform(NEW)
    found = metric.transform(torch.asarray(NEW))
    assert type(found) is np.ndarray
    assert_array_equal(found, expected)


def test_old_scikit_learn_is_named(monkeypatch):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    monkeypatch.setattr(backends, "array_api_compat", None)
    with pytest.raises(ImportError, match=r"arrays of torch need scikit-learn 1\.7 or later"):
        backends.namespace(torch.zeros(2))
