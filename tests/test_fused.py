"""Kernels on a CUDA device find what the host finds; without a device Triton runs them as Python.

For the latter: ``TRITON_INTERPRET=1 make test ARGS=tests/test_fused.py``, with torch and Triton.
"""

import os
import subprocess
import sys

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal

from nearkin import EnergyClassifier, KernelBeta, Pairs
from nearkin.errors import InputError, OutOfMemoryError
from nearkin.rows import access, backends, device_math
from nearkin.solvers.energy import class_distances, energies, gather_members
from nearkin.spaces.kernels import Kernel
from nearkin.spaces.landmarks import KernelLandmarks, KernelSums
from tests.cases import each

torch = pytest.importorskip("torch")
pytest.importorskip("triton")
if backends.array_api_compat is None:
    pytest.skip("dispatch needs scikit-learn 1.7 or later", allow_module_level=True)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
if DEVICE == "cpu" and os.environ.get("TRITON_INTERPRET") != "1":
    pytest.skip("no CUDA device, and TRITON_INTERPRET=1 is not set", allow_module_level=True)
pytestmark = [pytest.mark.gpu] if DEVICE == "cuda" else []

PAIRS = Pairs([(0, 1), (2, 3), (4, 5)], [(6, 7), (8, 9)])


@pytest.fixture(autouse=True)
def dispatch(monkeypatch):
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    monkeypatch.setattr(device_math, "FEW_ROWS", 1)
    monkeypatch.setattr(device_math._state, "broken", False)
    with sklearn.config_context(array_api_dispatch=True):
        yield


def put(X):
    return torch.asarray(np.array(X), device=DEVICE)


@pytest.fixture
def kernels_alone(monkeypatch):
    """How many rows are left to the libraries' functions."""
    left = []
    functions = access.for_each_block

    def spy(work, X, bytes_per_row):
        left.append(X.shape[0])
        functions(work, X, bytes_per_row)

    monkeypatch.setattr(access, "for_each_block", spy)
    return left


def drawn(n, d, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d)).astype(np.float32)


@each(
    ("kernel", "d", "m", "k"),
    [
        ("rbf", 50, 100, 5),
        ("rbf", 1, 30, 3),
        ("rbf", 200, 90, 4),
        ("cosine", 6, 70, 5),
        ("linear", 17, 80, 1),
        ("rbf", 3, 4, 16),  # fewer landmarks than neighbours
        ("rbf", 8, 60, 12),  # more than a thread's registers hold
    ],
)
def test_transform_is_that_of_the_host(kernel, d, m, k, kernels_alone):
    X = drawn(150, d)
    metric = KernelBeta(kernel=kernel, n_landmarks=m, n_neighbors=k, random_state=0)
    metric.fit(X, pairs=PAIRS)
    new = np.vstack([drawn(90, d, seed=1), X[:10], metric.map_.extension.landmarks.rows[:3]])
    expected = metric.transform(new)
    kernels_alone.clear()
    found = metric.map_.apply(put(new)).cpu().numpy()
    scale = np.abs(expected).max()
    assert np.median(np.abs(found - expected).max(axis=1)) <= 2e-6 * scale
    assert np.abs(found - expected).max() <= 2e-5 * scale
    assert kernels_alone[0] == len(new)
    assert sum(kernels_alone[1:]) <= 0.1 * len(new)  # open rows only


@pytest.fixture
def kernel_values(monkeypatch):
    """What goes by kernel values in memory rather than by the fused kernel."""
    calls = []
    by_kernel = KernelSums._sum_by_kernel
    monkeypatch.setattr(
        KernelSums, "_sum_by_kernel", lambda *args: calls.append(args) or by_kernel(*args)
    )
    return calls


@each(
    ("n", "d", "m", "q"),
    [(150, 5, 70, 20), (130, 150, 90, 3), (1, 16, 64, 64), (129, 1, 1, 1), (40, 50, 130, 70)],
)
@each("centered", [False, True])
def test_kernel_sums_are_the_plain_formula(n, d, m, q, centered, kernel_values):
    rng = np.random.default_rng(0)
    X, landmarks = drawn(n, d) + np.float32(9), drawn(m, d, seed=1) + np.float32(9)
    X[-1] = 1e38  # nowhere near
    C, gamma = rng.standard_normal((m, q)) * 10.0 ** rng.integers(-6, 7, q), 0.5 / d
    sums = KernelSums(KernelLandmarks(Kernel("rbf", gamma), landmarks), C, centered=centered)

    def exact(rows):
        K = np.exp(-gamma * ((rows[:, None].astype(float) - landmarks) ** 2).sum(axis=2))
        return K @ sums.coefficients + sums.constant

    expected, largest = exact(X), np.abs(exact(landmarks)).max(axis=0)
    if centered and m == 1:  # nothing but rounding
        largest = 1e-9
    for rows in (put(X), put(X.T.copy()).T):
        found = sums.at(rows).cpu().numpy()
        assert np.abs((found - expected) / largest).max() <= 2e-6
    assert not kernel_values


@pytest.mark.skipif(DEVICE == "cuda", reason="the other tests compile them")
def test_kernel_sums_compile_for_a_device_that_is_not_there(tmp_path):
    environment = {**os.environ, "TRITON_CACHE_DIR": str(tmp_path), "TRITON_INTERPRET": "0"}
    done = subprocess.run(
        [sys.executable, "-m", "tests.compile_sums"],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    shared = [int(line) for line in done.stdout.split()]
    assert len(shared) == 3
    assert max(shared) <= 200_000


@pytest.mark.skipif(DEVICE == "cpu", reason="nothing is late on the host")
def test_sums_of_cupy_are_there_when_they_are_read():
    cupy = pytest.importorskip("cupy")
    X = drawn(1_000_000, 50)
    sums = KernelSums(KernelLandmarks(Kernel("rbf", gamma=0.01), X[:400]), drawn(400, 8))
    rows = cupy.asarray(X)
    cupy.cuda.Device().synchronize()
    found = [backends.to_numpy(sums.sum_by_triton(rows)[:1000]) for _ in range(3)]
    for one in found:
        assert_allclose(one, sums.at(X[:1000]), rtol=1e-4, atol=1e-4)


def test_nystroem_is_that_of_the_host(kernel_values):
    X, new = drawn(150, 5), drawn(90, 5, seed=1)
    metric = KernelBeta(extension="nystroem", n_landmarks=70, n_components=20, random_state=0)
    metric.fit(X, pairs=PAIRS)
    found = metric.map_.apply(put(new)).cpu().numpy()
    expected = metric.transform(new)
    assert np.abs(found - expected).max() <= 5e-6 * np.abs(expected).max()
    assert not kernel_values


def test_sums_that_cancel_are_left_to_double_precision(kernel_values):
    """Directions of tiny eigenvalues: coefficients of both signs, a million times their sum."""
    X = drawn(100, 3)
    metric = KernelBeta(extension="nystroem", n_landmarks=60, rank_tol=1e-9)
    metric.set_params(random_state=0).fit(X, pairs=PAIRS)
    found = metric.map_.apply(put(X)).cpu().numpy()
    assert len(kernel_values) == 1
    expected = metric.transform(X)
    assert_allclose(found, expected, atol=2e-6 * np.abs(expected).max())


def test_equally_far_landmarks_are_taken_in_their_order():
    """Whole numbers in few columns: nearly every row has many landmarks at the same distance."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, (120, 3)).astype(np.float32)
    metric = KernelBeta(n_landmarks=60, random_state=0).fit(X, pairs=PAIRS)
    new = rng.integers(0, 4, (100, 3)).astype(np.float32)
    found = metric.map_.apply(put(new)).cpu().numpy()
    assert_allclose(found, metric.transform(new), atol=2e-5 * np.abs(found).max())


def test_nothing_nearer_than_the_limit_is_off_the_list():
    from nearkin.rows.triton_search import PRECISIONS, Search

    rng = np.random.default_rng(0)
    for offset, d in [(0.0, 5), (30.0, 40), (1000.0, 3)]:
        B = rng.standard_normal((300, d)) + offset * rng.integers(0, 2, (300, 1))
        A = (rng.standard_normal((64, d)) + offset * rng.integers(0, 2, (64, 1))).astype(np.float32)
        B = B.astype(np.float32)
        center = torch.asarray(B.mean(axis=0).astype(np.float64), device=DEVICE)
        for precision in PRECISIONS:
            found = Search(put(B), center, 0.5).lists(put(A), 4, precision)
            exact = 0.5 * np.sqrt(((A[:, None].astype(float) - B[None]) ** 2).sum(axis=2))
            listed = found.points.cpu().numpy()
            squared = np.take_along_axis(exact, listed, axis=1) ** 2
            assert_allclose(found.squared.cpu().numpy(), squared, rtol=1e-5)
            np.put_along_axis(exact, listed, np.inf, axis=1)
            assert (exact.min(axis=1) >= found.limit.cpu().numpy()).all()


@each("dtype", ["float32", "float64"])
@each("skip_self", [False, True])
def test_nearest_rows_are_all_compared(dtype, skip_self):
    B = drawn(200, 6).astype(dtype)
    B[50:60] = B[:10]
    A = B if skip_self else drawn(70, 6, seed=2).astype(dtype)
    squared, places = device_math.find_nearest_rows(put(A), put(B), 4, skip_self=skip_self)
    exact = ((A[:, None].astype(float) - B[None].astype(float)) ** 2).sum(axis=2)
    if skip_self:
        np.fill_diagonal(exact, np.inf)
    order = np.argsort(exact, axis=1, kind="stable")[:, :4]
    assert_array_equal(places.cpu().numpy(), order)
    assert_allclose(squared.cpu().numpy(), np.take_along_axis(exact, order, axis=1), rtol=1e-9)


@each("left_out", [None, np.arange(40)])
def test_energies_are_those_of_the_host(left_out):
    rng = np.random.default_rng(0)
    Z, number = rng.standard_normal((150, 7)), np.sort(rng.integers(0, 4, 150))
    number[-1] = 4  # a class of one row
    points = rng.standard_normal((40, 7))
    margins = np.array([0.1, 1.0])
    host, _ = gather_members(Z, number, 3)
    there, _ = gather_members(put(Z), number, 3)
    expected = energies(points, host, margins, 0.5, left_out)
    found = energies(put(points), there, margins, 0.5, left_out).cpu().numpy()
    assert_allclose(found, expected, rtol=1e-6)
    expected = class_distances(points, host, left_out)
    assert_allclose(
        class_distances(put(points), there, left_out).cpu().numpy(), expected, rtol=1e-9
    )


def test_a_classifier_predicts_as_on_the_host():
    X, y = drawn(120, 5), np.arange(120) % 3
    X += 2 * y[:, None]
    new = drawn(50, 5, seed=1) + 2 * (np.arange(50) % 3)[:, None].astype(np.float32)
    host = EnergyClassifier(random_state=0).fit(X, y)
    there = EnergyClassifier(random_state=0).fit(put(X), y)
    assert_array_equal(there.predict(put(new)).cpu().numpy(), host.predict(new))


def test_without_kernels_that_compile_functions_are_used_and_it_is_said_once(monkeypatch):
    from triton.runtime.errors import OutOfResources

    from nearkin.rows import triton_search

    notes = []
    monkeypatch.setattr(device_math, "write_note", notes.append)

    def fail(*args):
        raise OutOfResources(300_000, 200_000, "shared memory")

    monkeypatch.setattr(triton_search, "_find_candidates", fail)
    X = drawn(100, 4)
    metric = KernelBeta(n_landmarks=40, random_state=0).fit(X, pairs=PAIRS)
    for _ in range(2):
        found = metric.map_.apply(put(X)).cpu().numpy()
        assert_allclose(found, metric.transform(X), atol=1e-4)
    assert len(notes) == 1
    assert "Triton" in notes[0]


def test_not_a_number_is_refused_as_on_the_host():
    X = drawn(100, 4)
    metric = KernelBeta(n_landmarks=40, random_state=0).fit(put(X), pairs=PAIRS)
    for value in (np.nan, np.inf):
        X[7, 2] = value
        with pytest.raises(InputError, match=r"NaN|infinity"):
            metric.transform(put(X))


def test_full_memory_makes_blocks_smaller_and_then_is_said(monkeypatch):
    class OutOfMemoryError_(RuntimeError):
        pass

    OutOfMemoryError_.__name__ = "OutOfMemoryError"
    X = put(drawn(1000, 2))
    done = []

    def work(rows):
        if rows.stop - rows.start > most:
            raise OutOfMemoryError_
        done.append(rows)

    most = 300
    access.for_each_block(work, X, 8)
    assert [rows.start for rows in done[1:]] == [rows.stop for rows in done[:-1]]
    assert (done[0].start, done[-1].stop) == (0, 1000)
    most = 10
    with pytest.raises(OutOfMemoryError, match="fewer rows"):
        access.for_each_block(work, X, 8)


def test_signs_of_matrices_that_commute():
    from nearkin.solvers import local_metrics, triton_kernels

    rng = np.random.default_rng(0)
    U = np.linalg.qr(rng.standard_normal((2, 70, 70)))[0]
    values = rng.choice([-1, 1], (2, 70)) * rng.uniform(1e-3, 1, (2, 70))
    matrices = (U * values[:, None, :]) @ U.transpose(0, 2, 1)
    expected = (U * np.sign(values)[:, None, :]) @ U.transpose(0, 2, 1)
    scales = local_metrics.sign_iteration_scales(1e-4)
    found = (
        triton_kernels.sign_function_triton(put(matrices.astype(np.float32)), scales).cpu().numpy()
    )
    assert_allclose(found, expected, atol=1e-4)
    assert_allclose(found, found.transpose(0, 2, 1), atol=0)
    halves = triton_kernels.split_halves(put(matrices.astype(np.float32)))
    assert_allclose(triton_kernels.join_halves(halves, 70).cpu().numpy(), matrices, atol=1e-7)


def test_nearest_rows_among_points_in_several_parts(monkeypatch):
    rng = np.random.default_rng(0)
    B = rng.standard_normal((150, 3))
    B[[5, 60, 120]] = B[7]  # equals in several parts: the first comes first
    A = np.concatenate([B[:20], rng.standard_normal((5, 3))])
    monkeypatch.setattr(device_math, "_POINTS_AT_ONCE", 64)
    squared, places = device_math.find_nearest_rows(put(A), put(B), 4)
    apart = ((A[:, None] - B[None]) ** 2).sum(axis=2)
    expected = np.argsort(apart, axis=1, kind="stable")[:, :4]
    assert_array_equal(places.cpu().numpy(), expected)
    assert_allclose(squared.cpu().numpy(), np.take_along_axis(apart, expected, 1), atol=1e-12)
