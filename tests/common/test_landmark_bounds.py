"""How many rows a metric keeps, and how large its matrices are, is bounded by its landmarks."""

import inspect
import tracemalloc

import numpy as np
import pytest
from sklearn.base import clone

import nearkin as nk
from nearkin.learners import metric_learner, selection
from nearkin.messages import mute_categories
from nearkin.registry import LEARNERS
from nearkin.spaces import feature_space, maps
from nearkin.spaces.landmarks import KernelLandmarks
from nearkin.storage.arrays import read_header
from nearkin.storage.models import KIND, VERSION

N_ROWS, N_LANDMARKS = 200, 50


@pytest.fixture(scope="module")
def data():
    X, y = nk.datasets.make_xor(N_ROWS, random_state=0)
    return X, nk.Pairs.from_labels(y, 10, random_state=0)


def with_kernels():
    """Learners that take landmarks themselves, in all their forms."""
    for entry in LEARNERS:
        cls = getattr(nk, entry.name)
        known = inspect.signature(cls).parameters
        if "n_landmarks" not in known or entry.name in ("MetricLearner", "Distilled"):
            continue
        if entry.name == "GeometryAware":
            for family in ("spectral", "data_dependent", "rbf"):
                yield cls(family=family, random_state=0)
        else:
            for extension in ("local", "nystroem") if "extension" in known else (None,):
                options = {} if extension is None else {"extension": extension}
                yield cls(kernel="rbf", random_state=0, **options)


def longest_side(metric, path):
    """Of all arrays in the file of a metric."""
    metric.save(path)
    return max(max(shape) for _, shape, *_ in read_header(path, KIND, VERSION).arrays.values())


def test_no_metric_keeps_more_rows_than_its_landmarks(data, tmp_path):
    X, pairs = data
    learners = [clone(one).set_params(n_landmarks=N_LANDMARKS) for one in with_kernels()]
    assert len(learners) > 10
    learners += [nk.Blend(learners[:3]), nk.Chain([nk.RCA(), learners[0]])]
    for learner in learners:
        metric = learner.fit(X, pairs=pairs)
        assert longest_side(metric, tmp_path / "a.nearkin") <= N_LANDMARKS, learner


def test_metric_learner_keeps_no_more_rows_than_its_landmarks(data, tmp_path, monkeypatch):
    X, pairs = data
    monkeypatch.setattr(selection, "_LEAST_ON_GRAPH", 60)
    monkeypatch.setattr(selection, "_MOST_PARTS", 10)
    named = selection.make_ingredients(N_LANDMARKS, N_ROWS, 0)
    everything = dict.fromkeys(named, 1 / len(named))
    monkeypatch.setattr(metric_learner, "usual_blend", lambda learners: everything)
    learner = nk.MetricLearner(n_landmarks=N_LANDMARKS, time_budget=0, random_state=0)
    with mute_categories(nk.SelectionWarning):
        metric = learner.fit(X, pairs=pairs)
    assert set(metric.report_.recipe) == set(named)
    assert longest_side(metric, tmp_path / "a.nearkin") <= 60 + len(pairs.points)


def test_metric_learner_learns_the_same_from_rows_in_memory_and_in_files(
    data, tmp_path, monkeypatch
):
    X, pairs = data
    monkeypatch.setattr(metric_learner, "SAMPLE_ROWS", 100)
    np.save(tmp_path / "rows.npy", X)
    learner = nk.MetricLearner(time_budget=3.0, random_state=0)
    in_memory = clone(learner).fit(X, pairs=pairs)
    in_file = clone(learner).fit(nk.open_rows(tmp_path / "rows.npy"), pairs=pairs)
    np.testing.assert_array_equal(in_memory.transform(X), in_file.transform(X))
    assert in_memory.learned_from_["rows"] == N_ROWS


def test_no_default_holds_a_matrix_of_all_pairs_of_many_rows(data, monkeypatch):
    X, pairs = data
    monkeypatch.setattr(feature_space, "EXACT_ROWS", 100)
    monkeypatch.setattr(feature_space, "USUAL_LANDMARKS", N_LANDMARKS)
    sizes = []
    matrix_of = KernelLandmarks.kernel_matrix

    def spy(self, **options):
        sizes.append(len(self))
        return matrix_of(self, **options)

    monkeypatch.setattr(KernelLandmarks, "kernel_matrix", spy)
    for learner in with_kernels():
        sizes.clear()
        learner.fit(X, pairs=pairs).transform(X)
        assert max(sizes, default=0) <= N_LANDMARKS, learner
        if getattr(learner, "family", "") != "rbf":  # whose matrix is found otherwise
            assert sizes or learner.family == "spectral", learner


def test_a_blend_holds_images_of_few_rows_at_a_time(data, monkeypatch):
    X, pairs = data
    blend = nk.Blend([nk.KernelBeta(n_landmarks=50, random_state=0)] * 6).fit(X, pairs=pairs)
    rows = np.tile(X, (30, 1))
    whole = blend.map_._sum_outputs(rows)
    monkeypatch.setattr(maps, "_BLOCK_ROWS", 100)
    blend.transform(rows)
    tracemalloc.start()
    try:
        Z = blend.transform(rows)
        beyond = tracemalloc.get_traced_memory()[1] - Z.nbytes
    finally:
        tracemalloc.stop()
    np.testing.assert_allclose(Z, whole, atol=1e-12)
    assert beyond < 0.5 * Z.nbytes
