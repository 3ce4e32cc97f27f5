"""Streams whose blocks are worked on on a device of torch, against the same on the host.

Runs on the host, without pinned memory and streams of CUDA, and on a CUDA device where there is
one.
"""

import importlib.util
import threading

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone

from nearkin import GMML, ITML, Generative, KernelBeta, MetricLearner, Pairs, open_rows
from nearkin.errors import InputError, InputTypeError, MissingPackageError
from nearkin.rows import backends, parquet, streams
from nearkin.rows.backends import Block, block_moments, column_moments
from nearkin.rows.parallel import map_ahead, prefetch
from tests.cases import each

HAS_TORCH = importlib.util.find_spec("torch") is not None and backends.array_api_compat is not None
needs_torch = pytest.mark.skipif(not HAS_TORCH, reason="needs torch and scikit-learn 1.7")


def has_cuda():
    import torch

    return torch.cuda.is_available()


PLACES = ["cpu", "cuda"] if HAS_TORCH and has_cuda() else ["cpu"]
on_torch = [
    needs_torch,
    pytest.mark.parametrize(
        "device",
        [
            pytest.param(
                place, marks=[pytest.mark.gpu] if place == "cuda" else [], id=f"torch {place}"
            )
            for place in PLACES
        ],
    ),
]

N, D = 500, 4
NAMES = ["height", "width", "depth", "weight"]
# Largest difference from the host's result, relative to its largest entry.
TOLERANCE = {"float64": 1e-9, "float32": 3e-5}
LEARNERS = {
    "KernelBeta": KernelBeta(n_landmarks=30, random_state=0),
    "KernelBeta scaled": KernelBeta(n_landmarks=30, scale=True, random_state=0),
    "ITML": ITML(random_state=0),
    "GMML": GMML(random_state=0),
    "Generative": Generative(),
}


def on_device(test):
    for mark in on_torch:
        test = mark(test)
    return test


def make_rows(n=N, dtype="float64"):
    rng = np.random.default_rng(0)
    return (rng.normal(size=(n, D)) * [0.5, 1, 2, 1.5] + rng.integers(3, size=(n, 1))).astype(dtype)


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks of 100 rows, which divide neither the rows nor all row groups."""
    monkeypatch.setattr(parquet, "rows_per_read", lambda n_columns, dtype: 100)


@pytest.fixture(autouse=True)
def no_threads_left():
    before = set(threading.enumerate())
    yield
    left = set(threading.enumerate()) - before
    assert not {thread for thread in left if not is_kept(thread)}


def is_kept(thread):
    """Whether it is one of those that loops on the host share, which stay for the next of them."""
    return thread.name.startswith("nearkin_")


def written(X, path, sizes=(130, 0, 1, 250)):
    """A Parquet file of row groups of these sizes, one of them empty, and of what is left."""
    schema = pa.schema(
        [("id", pa.int64())] + [(name, pa.from_numpy_dtype(X.dtype)) for name in NAMES]
    )
    table = pa.table({"id": np.arange(len(X)), **dict(zip(NAMES, X.T, strict=True))}, schema=schema)
    with pq.ParquetWriter(path, schema) as writer:
        start = 0
        for size in [*sizes, len(X)]:
            writer.write_table(table.slice(start, size))
            start += size
    return path


def known(kind):
    y = np.random.default_rng(1).integers(3, size=N)
    return {"y": y} if kind == "labels" else {"pairs": Pairs.from_labels(y, 20, random_state=0)}


def assert_close(found, expected):
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    allowed = TOLERANCE[expected.dtype.name] * np.abs(expected).max()
    assert np.abs(found - expected).max() <= allowed


@on_device
@each("kind", ["pairs", "labels"])
@each("dtype", ["float32", "float64"])
@each("name", LEARNERS)
def test_fit_and_transform_give_what_they_give_on_the_host(
    name, dtype, kind, device, small_blocks, tmp_path
):
    if name == "Generative" and kind == "pairs":
        pytest.skip("learns from labels")
    path = written(make_rows(dtype=dtype), tmp_path / "rows.parquet")
    here, there = open_rows(path, columns=NAMES), open_rows(path, columns=NAMES, device=device)
    expected = clone(LEARNERS[name]).fit(here, **known(kind))
    found = clone(LEARNERS[name]).fit(there, **known(kind))
    Z = expected.transform(here).to_numpy()
    assert_close(found.transform(there).to_numpy(), Z)
    assert_close(expected.transform(there).to_numpy(), Z)
    assert_close(found.transform(there).take(np.array([7, 300, 7])), Z[[7, 300, 7]])


@on_device
@each("end", ["parquet", "npy"])
def test_files_are_written_with_rows_in_their_order(end, device, small_blocks, tmp_path):
    X = make_rows(dtype="float32")
    path = written(X, tmp_path / "rows.parquet")
    carry = ["id"] if end == "parquet" else []
    rows = open_rows(path, columns=NAMES, carry=carry, device=device)
    out = rows.mapped(lambda block: 2 * block, NAMES).write(tmp_path / f"out.{end}")
    if end == "npy":
        assert_array_equal(np.load(out), 2 * X)
        return
    table = pq.read_table(out)
    assert_array_equal(table["id"], np.arange(N))
    assert_array_equal(np.column_stack([table[name] for name in NAMES]), 2 * X)


@on_device
@each("source", ["array", "blocks", "iterator", "stream", "read-only"])
def test_all_sources_go_to_a_device(source, device):
    X = make_rows()
    locked = X.copy()
    locked.flags.writeable = False
    given = {
        "array": X,
        "blocks": [X[:1], X[:0], X[1:]],
        "iterator": iter([X[:300], X[300:]]),
        "stream": open_rows(X),
        "read-only": locked,
    }[source]
    rows = open_rows(given, device=device)
    assert_array_equal(rows.mapped(lambda block: block + 1, NAMES).to_numpy(), X + 1)


@on_device
def test_one_row_is_mapped(device, tmp_path):
    path = written(make_rows(1), tmp_path / "one.parquet", sizes=())
    rows = open_rows(path, columns=NAMES, device=device)
    assert_array_equal(rows.mapped(lambda block: -block, NAMES).to_numpy(), -make_rows(1))


@on_device
def test_functions_get_tensors_which_they_may_write_to(device):
    import torch

    X = make_rows()

    def spoil(block):
        assert isinstance(block, torch.Tensor)
        assert block.device.type == device
        assert block.is_contiguous()
        assert backends.is_foreign(block)
        block *= 0
        return block

    rows = open_rows([X], device=device)
    kept = X.copy()
    assert not rows.mapped(spoil, NAMES).to_numpy().any()
    assert_array_equal(X, kept)
    assert not backends.is_foreign(torch.zeros(1))


@on_device
@each("moments", [block_moments, column_moments])
@each("dtype", ["float32", "float64"])
def test_moments_on_a_device_are_those_of_the_host(moments, dtype, device):
    import torch

    X = make_rows(dtype=dtype) + 1e3
    with backends.force_dispatch():
        found = moments(torch.asarray(X, device=device))
    for ours, theirs in zip(found, moments(X), strict=True):
        assert np.asarray(ours).dtype == np.asarray(theirs).dtype
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)


@on_device
def test_equal_rows_have_no_scatter(device):
    rows = open_rows([np.full((70, 3), 0.1), np.full((5, 3), 0.1)], device=device)
    mean, covariance = rows.moments()
    assert_array_equal(mean, [0.1] * 3)
    assert not covariance.any()
    assert rows.squared_deviations() == 0


@on_device
@pytest.mark.filterwarnings("ignore::nearkin.SelectionWarning")
def test_metric_learner_takes_them(device):
    rows = open_rows(make_rows(), device=device)
    metric = MetricLearner(random_state=0).fit(rows, **known("labels"))
    assert_close(metric.transform(rows).to_numpy(), metric.transform(make_rows()))


@on_device
@each("bad", [np.nan, np.inf])
def test_gaps_are_refused_with_their_row_and_leave_no_file(bad, device, small_blocks, tmp_path):
    X = make_rows()
    X[[333, 420], [2, 0]] = bad
    rows = open_rows(written(X, tmp_path / "rows.parquet"), columns=NAMES, device=device)
    metric = GMML(random_state=0).fit(make_rows(), **known("pairs"))
    for work in (
        lambda: metric.transform(rows).write(tmp_path / "out.parquet"),
        lambda: clone(metric).fit(rows, **known("labels")),
    ):
        with pytest.raises(InputError, match=f"row 333, column 'depth' of .* is {bad}"):
            work()
    assert [path.name for path in tmp_path.iterdir()] == ["rows.parquet"]


@on_device
@each("who", ["reader", "device", "writer"])
def test_an_error_of_any_thread_is_raised_once(who, device, tmp_path, monkeypatch):
    class Broken(Exception):
        pass

    n_seen = []

    def blocks():
        for number in range(100):
            n_seen.append(number)
            if who == "reader" and number == 3 and len(n_seen) > 100:  # not when it is opened
                raise Broken
            yield np.full((2, 2), float(number))

    def double(block):
        if who == "device" and float(block[0, 0]) == 3:
            raise Broken
        return 2 * block

    stream = open_rows(blocks, device=device).mapped(double, ["a", "b"])
    if who == "writer":

        def batch(pa, names, block):
            if block.start == 6:
                raise Broken
            return made(pa, names, block)

        made = parquet._make_batch
        monkeypatch.setattr(parquet, "_make_batch", batch)
    with pytest.raises(Broken):
        stream.write(tmp_path / "out.parquet")
    assert not list(tmp_path.iterdir())
    assert len(n_seen) < 120  # the others have stopped


@on_device
def test_a_stream_may_be_left_before_its_end(device):
    stream = open_rows([np.ones((2, 2))] * 50, device=device).mapped(abs, ["a", "b"])
    for _ in stream:
        break


@needs_torch
@each("device", ["gpu", "cuda:x", "meta", 1.5, ""])
def test_unknown_devices_are_refused(device):
    with pytest.raises(InputError, match=r"device=.* is not known: use 'cuda'"):
        open_rows(make_rows(), device=device)


@needs_torch
def test_missing_cuda_devices_are_refused(monkeypatch):
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(InputError, match=r"device='cuda', but torch .* finds no CUDA device"):
        open_rows(make_rows(), device="cuda")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    with pytest.raises(InputError, match=r"finds 2 CUDA device\(s\).*'cuda:1'"):
        open_rows(make_rows(), device="cuda:2")


def test_without_torch_the_error_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    with pytest.raises(MissingPackageError, match=r"need torch: pip install 'nearkin\[torch\]'"):
        open_rows(make_rows(), device="cuda")


@needs_torch
def test_learners_of_the_host_refuse_them():
    class HostOnly(GMML):
        _array_api = False

    rows = open_rows(make_rows(), device="cpu")
    with pytest.raises(InputTypeError, match=r"HostOnly works on the host only.*device='cpu'"):
        HostOnly().fit(rows, **known("pairs"))


def test_dask_collections_have_no_device():
    array = pytest.importorskip("dask.array")
    with pytest.raises(InputError, match="not for those of dask"):
        open_rows(array.ones((4, 2)), device="cpu")


def test_ahead_keeps_the_order_and_goes_no_further_than_it_may():
    made = []

    def items():
        for number in range(10):
            made.append(number)
            yield number

    for number in prefetch(items(), 2):
        assert len(made) <= number + 1 + 3
    assert made == list(range(10))
    assert number == 9


def test_the_first_error_of_several_threads_is_raised():
    def items():
        yield from [1, 2, 0, 4]
        raise KeyError

    found = map_ahead(lambda item: 8 // item, items(), 3)
    with pytest.raises(ZeroDivisionError):
        list(found)
    later = map_ahead(lambda item: 8 // item, (x for x in [1, 2]), 3)
    assert list(later) == [8, 4]


def test_items_before_an_error_are_given():
    def items():
        yield from [1, 2]
        raise KeyError

    found = []
    with pytest.raises(KeyError):
        found.extend(map_ahead(abs, items(), 5))
    for item in (results := map_ahead(abs, items(), 5)):
        found.append(item)
        if item == 2:
            break
    results.close()
    assert found[-2:] == [1, 2]


@needs_torch
def test_blocks_keep_what_they_carry():
    found = streams.Feed("cpu").map([Block(3, make_rows(2), "along")], abs)
    assert [(block.start, block.carried) for block in found] == [(3, "along")]
