"""Learners over rows that are read block by block, against the same rows in memory."""

import itertools
import signal
import subprocess
import sys
from functools import cache

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2
from sklearn.base import BaseEstimator, clone

import nearkin as nk
from nearkin.rows.backends import RemoteRows
from nearkin.rows.streams import RowStream, UniformSample
from tests.cases import each
from tests.common.learners import firsts, learners
from tests.waiting import PATIENCE

# MetricLearner says that a few rows or pairs are too little to choose by.
pytestmark = pytest.mark.filterwarnings("ignore::nearkin.SelectionWarning")
N = 240
NAMES = ["height", "width", "depth", "weight"]

# One of each way through the code, where there are many other cases; MetricLearner is slow.
DEAR = ["exact", "MetricLearner"]
FEW = [
    *(name for name in firsts(lambda cls: getattr(cls, "_remote", False)) if name not in DEAR),
    "random landmarks",
]
LEARNERS = learners(
    [
        *FEW,
        *DEAR,
        *("twice", "nystroem", "components", "cosine landmarks", "laplacian landmarks"),
        *("poly landmarks", "linear landmarks", "callable landmarks", "landmarks", "farthest"),
        *("leverage", "named landmarks", "median", "gamma", "ITML covariance", "ITML landmarks"),
        *("GMML cosine", "GMML nystroem", "RCA of two axes", "Generative shared"),
    ],
    n_landmarks=30,
)
EVIDENCE = ["must-links", "pairs", "labels", "some labels", "labels and pairs"]
SOURCES = ["memmap", "npy", "parquet", "folder", "dataset", "vectors", "list", "function"]


def make_rows(n=N, d=4, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.linspace(0.5, 2, d) + rng.integers(3, size=(n, 1))
    return X.astype(dtype)


def evidence(kind, n=N):
    rng = np.random.default_rng(1)
    y = rng.integers(3, size=n)
    known = np.where(np.arange(n) >= 3 * n // 4, y, -1)  # none in the first blocks
    pairs = nk.Pairs.from_labels(y, 20, random_state=0)
    return {
        "must-links": {"pairs": nk.Pairs(pairs.must_link, n_rows=n)},
        "pairs": {"pairs": pairs},
        "labels": {"y": y},
        "some labels": {"y": known},
        "labels and pairs": {"y": known, "pairs": pairs},
    }[kind]


def blocks_of(X, cuts=(1, 40, 41, 130)):
    return np.split(X, cuts)


def source_of(kind, X, folder):
    table = pa.table(dict(zip(NAMES, X.T, strict=True)))
    if kind in ("memmap", "npy"):
        np.save(folder / "rows.npy", X)
        path = folder / "rows.npy"
        return np.load(path, mmap_mode="r") if kind == "memmap" else path
    if kind == "parquet":
        pq.write_table(table, folder / "rows.parquet", row_group_size=37)
        return folder / "rows.parquet"
    if kind in ("folder", "dataset"):
        (folder / "many").mkdir()
        for i, start in enumerate(range(0, len(X), 100)):
            part = table.slice(start, 100)
            pq.write_table(part, folder / "many" / f"{i}.parquet", row_group_size=33)
        path = folder / "many"
        return path if kind == "folder" else pa.dataset.dataset(str(path))
    if kind == "vectors":
        vectors = pa.FixedSizeListArray.from_arrays(X.ravel(), X.shape[1])
        pq.write_table(pa.table({"v": vectors}), folder / "v.parquet", row_group_size=50)
        return folder / "v.parquet"
    if kind == "list":
        return blocks_of(X)
    return lambda: iter(blocks_of(X))


def fitted_attributes(learner):
    assert learner.threshold_ is not None  # of few rows it is found when it is asked for
    return {
        name: value
        for name, value in vars(learner).items()
        if name.endswith("_") and name not in ("feature_names_in_", "map_")
    }


def assert_same_fit(found, expected, rtol=1e-9):
    ours, theirs = fitted_attributes(found), fitted_attributes(expected)
    assert ours.keys() == theirs.keys()
    for name, value in theirs.items():
        if name == "models_":
            assert_same_models(ours[name], value, rtol)
            continue
        if name in ("learned_from_", "report_", "suspects_") or value is None:
            assert ours[name] == value
            continue
        if isinstance(value, BaseEstimator):  # whose images are compared
            assert type(ours[name]) is type(value)
            continue
        scale = np.abs(value).max(initial=0.0) if np.size(value) else 0.0
        np.testing.assert_allclose(ours[name], value, rtol, rtol * scale, err_msg=name)


def assert_same_models(found, expected, rtol):
    for name, value in vars(expected).items():
        scale = np.abs(value).max(initial=0.0)
        np.testing.assert_allclose(getattr(found, name), value, rtol, rtol * scale, err_msg=name)


def assert_close(found, expected, rtol=1e-9):
    np.testing.assert_allclose(found, expected, rtol, rtol * np.abs(expected).max())


class Counted:
    """Blocks from a function that counts how often they are asked for."""

    def __init__(self, X, cuts=(40, 130)):
        self.n_passes = 0
        self._blocks = np.split(X, cuts)

    def __call__(self):
        self.n_passes += 1
        return iter(self._blocks)


# The same as in memory


@cache
def in_memory(name, kind, dtype=np.float64):
    """A learner fitted to the rows as an array, and what it makes of them."""
    X = make_rows(dtype=dtype)
    expected = clone(LEARNERS[name]).fit(X, **evidence(kind))
    return expected, expected.transform(X)


# All evidence with each way through the code; with its variants one kind in turn.
FITS = [(name, kind) for name in FEW for kind in EVIDENCE]
for i, name in enumerate(name for name in LEARNERS if name not in FEW):
    FITS += [(name, EVIDENCE[-1 - i % len(EVIDENCE)])]


@each(("name", "kind"), FITS)
def test_fit_and_transform_are_those_of_rows_in_memory(name, kind):
    X = make_rows()
    expected, Z_expected = in_memory(name, kind)
    rows = nk.open_rows(blocks_of(X))
    found = clone(LEARNERS[name]).fit(rows, **evidence(kind))
    assert_same_fit(found, expected)
    Z = found.transform(rows)
    assert Z.shape == (N, expected.n_components_)
    assert_close(Z.to_numpy(), Z_expected)
    # What a stream has taught works on arrays, and the other way round.
    assert_close(found.transform(X), Z_expected)
    assert_close(expected.transform(rows).to_numpy(), Z_expected)


@each("kind", SOURCES)
def test_every_source_gives_the_same(kind, tmp_path):
    X = make_rows()
    rows = nk.open_rows(source_of(kind, X, tmp_path))
    assert rows.shape == X.shape
    assert np.array_equal(rows.to_numpy(), X)
    for numbers in ([5], [239, 0, 100], [7, 7, 3, 7], [], range(N)):
        numbers = np.array(numbers, dtype=int)
        assert np.array_equal(rows.take(numbers), X[numbers])
    for i, name in enumerate(FEW, SOURCES.index(kind)):
        if i % 3:  # other learners with the next sources
            continue
        known = ("must-links", "labels and pairs")[i % 2]
        expected, Z = in_memory(name, known)
        found = clone(LEARNERS[name]).fit(rows, **evidence(known))
        assert_same_fit(found, expected)
        assert_close(found.transform(rows).to_numpy(), Z)


@each(
    ("name", "kind"),
    zip(
        [*FEW, "ITML landmarks", "GMML cosine", "twice", "nystroem"],
        itertools.cycle(["npy", "parquet", "list"]),
    ),
)
def test_float32_stays_float32(name, kind, tmp_path):
    X = make_rows(dtype=np.float32)
    rows = nk.open_rows(source_of(kind, X, tmp_path))
    expected, Z_expected = in_memory(name, "labels and pairs", np.float32)
    found = clone(LEARNERS[name]).fit(rows, **evidence("labels and pairs"))
    assert_same_fit(found, expected, rtol=1e-4)
    Z = found.transform(rows)
    assert Z.dtype == np.float32
    assert all(block.dtype == np.float32 for block in Z)
    assert_close(Z.to_numpy(), Z_expected, rtol=1e-4)


@each("name", FEW)
def test_the_same_seed_gives_the_same_to_the_last_bit(name, tmp_path):
    rows = nk.open_rows(source_of("parquet", make_rows(), tmp_path))
    results = [clone(LEARNERS[name]).fit(rows, **evidence("must-links")) for _ in range(2)]
    first, second = (fit.transform(rows).to_numpy() for fit in results)
    assert np.array_equal(first, second)
    assert results[0].threshold_ == results[1].threshold_


@each("name", FEW)
def test_fitted_to_a_stream_a_learner_can_be_stored(name, tmp_path):
    X = make_rows()
    rows = nk.open_rows(source_of("parquet", X, tmp_path))
    metric = clone(LEARNERS[name]).fit(rows, **evidence("labels and pairs"))
    metric.save(tmp_path / "model.nearkin")
    loaded = nk.load(tmp_path / "model.nearkin")
    for some in (rows, pd.DataFrame(X, columns=NAMES)):
        found, expected = (np.vstack([*one.transform(some)]) for one in (loaded, metric))
        assert np.array_equal(found, expected)
    assert list(loaded.feature_names_in_) == NAMES


def test_names_of_columns_are_those_of_the_file(tmp_path):
    rows = nk.open_rows(source_of("parquet", make_rows(), tmp_path))
    metric = nk.ITML(random_state=0).fit(rows, **evidence("pairs"))
    assert list(metric.feature_names_in_) == NAMES
    assert metric.transform(rows).names == [f"itml{i}" for i in range(4)]
    other = nk.open_rows(tmp_path / "rows.parquet", columns=NAMES[::-1])
    with pytest.raises(ValueError, match=r"fitted to other columns: 'height' where .* 'weight'"):
        metric.transform(other)
    fewer = nk.open_rows(tmp_path / "rows.parquet", columns=NAMES[:3])
    with pytest.raises(ValueError, match="X has 3 features, but ITML is expecting 4"):
        metric.transform(fewer)
    metric.fit(nk.open_rows(blocks_of(make_rows())), **evidence("pairs"))
    assert not hasattr(metric, "feature_names_in_")


def test_a_stream_of_a_stream_can_be_learned_from():
    X = make_rows()
    first = nk.ITML(random_state=0)
    Z = first.fit_transform(nk.open_rows(blocks_of(X)), **evidence("pairs"))
    assert_close(Z.to_numpy(), clone(first).fit_transform(X, **evidence("pairs")))
    found = nk.KernelBeta(n_landmarks=30, random_state=0).fit(Z, **evidence("pairs"))
    expected = nk.KernelBeta(n_landmarks=30, random_state=0)
    expected.fit(first.transform(X), **evidence("pairs"))
    assert_same_fit(found, expected, rtol=1e-7)


# Blocks of any sizes, and rows of all kinds


@each("name", ["ITML", "GMML"])
def test_equal_rows_are_warned_of(name):
    with pytest.warns(UserWarning, match="all rows of X coincide"):
        clone(LEARNERS[name]).fit(nk.open_rows([np.full((60, 3), 0.1)]), **evidence("pairs", 60))


@settings(max_examples=10)
@given(st.lists(st.integers(0, 60), max_size=8), st.sampled_from(FEW), st.sampled_from(EVIDENCE))
def test_cuts_do_not_matter(cuts, name, kind):
    X = make_rows(60)
    blocks = np.split(X, sorted(cuts))  # equal cuts make empty blocks
    expected = clone(LEARNERS[name]).fit(X, **evidence(kind, 60))
    found = clone(LEARNERS[name]).fit(nk.open_rows(blocks), **evidence(kind, 60))
    assert_same_fit(found, expected)
    assert_close(found.transform(nk.open_rows(blocks)).to_numpy(), expected.transform(X))


@pytest.mark.filterwarnings("ignore:all (rows|landmarks)")
@each("kind", ["pairs", "labels"])
@each("name", [*FEW, "RCA of two axes", "GMML cosine", "ITML landmarks", "median"])
def test_equal_rows(name, kind):
    X = np.full((60, 3), 0.1)
    expected = clone(LEARNERS[name]).fit(X, **evidence(kind, 60))
    found = clone(LEARNERS[name]).fit(nk.open_rows(np.split(X, [7, 19])), **evidence(kind, 60))
    if name == "Generative":  # axes are any, where no two rows differ
        assert_same_models(found.models_, expected.models_, 1e-9)
        assert_close(found.metric_, expected.metric_)
    else:
        assert_same_fit(found, expected)


@each("name", [*FEW, "RCA of two axes"])
def test_classes_of_equal_rows(name):
    y = np.random.default_rng(0).integers(3, size=90)
    X = make_rows(3)[y] / 3
    expected = clone(LEARNERS[name]).fit(X, y)
    found = clone(LEARNERS[name]).fit(nk.open_rows(np.split(X, [7, 31])), y)
    # Three points leave some directions open, in which no two rows differ.
    assert_close(found.distance(X[:20]), expected.distance(X[:20]))
    assert found.threshold_ == pytest.approx(expected.threshold_)


OF_ALL_KINDS = {
    "rows that occur often": (np.repeat(make_rows(12), 5, axis=0), 1e-9),
    "one column": (make_rows(60, d=1), 1e-9),
    "far from the origin": (make_rows(60) + 1e6, 1e-6),
}


@each("kind", OF_ALL_KINDS)
@each("name", FEW)
def test_rows_of_all_kinds(name, kind):
    X, rtol = OF_ALL_KINDS[kind]
    known = evidence("labels and pairs", 60)
    expected = clone(LEARNERS[name]).fit(X, **known)
    rows = nk.open_rows(np.split(X, [7, 31]))
    found = clone(LEARNERS[name]).fit(rows, **known)
    assert_same_fit(found, expected, rtol)
    assert_close(found.transform(rows).to_numpy(), expected.transform(X), rtol)


def test_moments_are_exact_far_from_the_origin():
    near = make_rows(500)
    rows = nk.open_rows(np.split(near + 1e6, [1, 2, 200]))
    mean, covariance = rows.moments()
    exact = (near + 1e6 - 1e6).astype(np.longdouble)
    centered = exact - exact.mean(axis=0)
    assert_close(mean - 1e6, exact.mean(axis=0).astype(float), rtol=1e-8)
    assert_close(covariance, (centered.T @ centered / 500).astype(float))
    assert rows.squared_deviations() == pytest.approx(float((centered**2).sum()), rel=1e-10)


@each("n", [1, 0])
def test_two_rows_are_the_least(n):
    rows = np.zeros((n, 3))
    with pytest.raises(ValueError, match="has no rows" if n == 0 else "needs at least 2"):
        nk.RCA().fit(nk.open_rows([rows]), np.zeros(n))


# Rows by their numbers


NO_LIST = "one-dimensional array of integers"


@each(
    ("numbers", "error", "message"),
    [
        ([3, -1], IndexError, "row -1 of the list of blocks, which has 240 rows"),
        ([3, N], IndexError, "row 240 of the list of blocks, which has 240 rows"),
        ([3, 10**9], IndexError, "row 1000000000 of the list of blocks, which has 240 rows"),
        (np.ones(N, bool), TypeError, NO_LIST),
        ([1.5], TypeError, NO_LIST),
        ([[1, 2]], TypeError, NO_LIST),
    ],
)
def test_take_refuses_what_are_no_numbers_of_rows(numbers, error, message):
    with pytest.raises(error, match=message):
        nk.open_rows(blocks_of(make_rows())).take(np.array(numbers))


def test_rows_taken_before_are_remembered(monkeypatch):
    X = make_rows()
    source = Counted(X)
    rows = nk.open_rows(source)
    assert source.n_passes == 1  # to count rows
    assert np.array_equal(rows.take(np.array([5, 100])), X[[5, 100]])
    assert source.n_passes == 2
    assert np.array_equal(rows.take(np.array([100, 5, 100])), X[[100, 5, 100]])
    assert source.n_passes == 2
    assert np.array_equal(rows.take(np.array([200, 5])), X[[200, 5]])
    assert source.n_passes == 3
    assert np.array_equal(rows.take(np.array([200, 100, 5])), X[[200, 100, 5]])
    assert source.n_passes == 3
    monkeypatch.setattr("nearkin.rows.backends._REMEMBERED_BYTES", 100)
    rows, before = nk.open_rows(source), source.n_passes
    for _ in range(2):
        assert np.array_equal(rows.take(np.arange(50)), X[:50])
    assert source.n_passes == before + 2  # too many to remember


def test_of_a_transformed_stream_only_the_rows_taken_are_computed():
    X = make_rows()
    n_computed = []

    def doubled(rows):
        n_computed.append(len(rows))
        return 2 * rows

    twice = nk.open_rows(blocks_of(X)).mapped(doubled, NAMES)
    assert np.array_equal(twice.take(np.array([150, 3, 131])), 2 * X[[150, 3, 131]])
    assert sum(n_computed) == 3


@each(
    ("learner", "kind", "most"),
    [
        (nk.KernelBeta(n_landmarks=30, random_state=0), "pairs", 2),  # bandwidth; landmarks
        (nk.KernelBeta(n_landmarks=30, random_state=0), "must-links", 3),  # and the threshold
        (nk.KernelBeta(n_landmarks=30, gamma=1.0, random_state=0), "pairs", 1),
        (nk.ITML(random_state=0), "pairs", 3),
        (nk.GMML(random_state=0), "pairs", 2),
        (nk.RCA(random_state=0), "pairs", 3),
        (nk.Euclidean(random_state=0), "pairs", 1),
        (nk.MetricLearner(time_budget=0.02, random_state=0), "pairs", 1),
    ],
)
def test_how_often_the_rows_are_read(learner, kind, most):
    source = Counted(make_rows())
    rows = nk.open_rows(source)
    before = source.n_passes
    clone(learner).fit(rows, **evidence(kind))
    assert source.n_passes - before <= most


def test_transform_reads_nothing_before_it_is_read():
    source = Counted(make_rows())
    rows = nk.open_rows(source)
    metric = nk.GMML(random_state=0).fit(rows, **evidence("pairs"))
    before = source.n_passes
    Z = metric.transform(rows)
    assert source.n_passes == before
    assert len(list(Z)) == 3
    assert source.n_passes == before + 1


# Blocks that can be read only once


@each("name", [*FEW, *DEAR, "landmarks", "median", "ITML landmarks"])
def test_small_iterators_give_what_arrays_give(name):
    X = make_rows()
    expected = clone(LEARNERS[name]).fit(X, **evidence("must-links"))
    found = clone(LEARNERS[name]).fit(nk.open_rows(iter(blocks_of(X))), **evidence("must-links"))
    assert_same_fit(found, expected)


@each("name", [*FEW, "MetricLearner", "named landmarks", "landmarks"])
def test_large_iterators_are_learned_from_by_a_sample(name, monkeypatch):
    monkeypatch.setattr("nearkin.rows.streams.RowStream.gathered", gathered_fewer)
    X = make_rows(3000)
    pairs = nk.Pairs([(0, 2999), (17, 1500)], [(3, 2000)])
    metric = clone(LEARNERS[name]).fit(nk.open_rows(iter(np.split(X, 7 * [500]))), pairs=pairs)
    assert np.isfinite(metric.transform(X)).all()
    if hasattr(metric, "landmarks_"):
        assert {0, 3, 17, 1500, 2000, 2999} <= set(metric.landmarks_)
    if hasattr(metric, "mean_"):
        assert_close(metric.mean_, X.mean(axis=0))


def gathered_fewer(self, keep, random_state, gathered=RowStream.gathered):
    return gathered(self, keep, size=200, random_state=random_state)


def test_named_landmarks_of_an_iterator_are_kept():
    X = make_rows(60_000, d=2, dtype=np.float32)
    learner = nk.KernelBeta(landmarks=[5, 59_999, 31_234], random_state=0)
    metric = learner.fit(nk.open_rows(iter(np.split(X, 6))), pairs=nk.Pairs([(1, 2)]))
    assert list(metric.landmarks_) == [1, 2, 5, 31_234, 59_999]


def test_the_sample_of_an_iterator_is_uniform():
    # Sampled 30 of 100 rows, in blocks of unequal size: each row as often as any other.
    X = np.arange(100.0)[:, None]
    n_draws = 300
    count = np.zeros(100)
    pairs_apart = 0
    blocks = np.split(X, [1, 2, 10, 60, 61])
    for seed in range(n_draws):
        numbers = nk.open_rows(iter(blocks)).gathered(size=30, random_state=seed).numbers
        assert len(numbers) == 30
        count[numbers] += 1
        pairs_apart += 99 in numbers and 0 in numbers
    expected = n_draws * 0.3
    # Without replacement the variance is smaller by the share left out, but for 99/100.
    statistic = ((count - expected) ** 2).sum() / (expected * 0.7) * 99 / 100
    assert chi2.ppf(1e-4, 99) < statistic < chi2.ppf(1 - 1e-4, 99)
    together = 0.3 * 29 / 99
    sd = np.sqrt(n_draws * together * (1 - together))
    assert abs(pairs_apart - n_draws * together) < 4 * sd


def test_an_iterator_leaves_rows_moments_and_numbers():
    X = make_rows(1000)
    few = nk.open_rows(iter([X[:100]])).gathered(random_state=0)  # which are all kept
    assert np.array_equal(few.numbers, np.arange(100))
    assert np.array_equal(few.take(np.arange(100)), X[:100])
    keep = [0, 999, 500]
    found = nk.open_rows(iter(np.split(X, [3, 700]))).gathered(keep, size=50, random_state=0)
    assert set(keep) <= set(found.numbers)
    assert 50 <= len(found.numbers) <= 53
    assert (np.diff(found.numbers) > 0).all()
    assert np.array_equal(found.take(found.numbers[::-1]), X[found.numbers[::-1]])
    mean, covariance = found.moments()
    assert_close(mean, X.mean(axis=0))
    assert_close(covariance, np.cov(X.T, bias=True))
    assert found.squared_deviations() == pytest.approx(((X - X.mean(axis=0)) ** 2).sum())
    absent = np.setdiff1d(np.arange(1000), found.numbers)[:1]
    with pytest.raises(IndexError, match=rf"row {absent[0]} was not kept.*gathered\(keep="):
        found.take(absent)


def test_memory_of_the_sample_does_not_grow_with_the_number_of_blocks():
    blocks = (np.full((1, 1), float(i)) for i in range(3000))
    sample = UniformSample(5, np.random.RandomState(0))
    for block in nk.open_rows(blocks).blocks():
        sample.add(block)
        assert len(sample._parts) <= 11
    assert len(sample.numbers) == 5


def test_pairs_outside_an_iterator_are_refused():
    with pytest.raises(IndexError, match=r"row 300 is named in pairs or to be kept, but .* 240"):
        nk.ITML().fit(nk.open_rows(iter([make_rows()])), pairs=nk.Pairs([(0, 300)]))


@each("name", FEW)
def test_labels_for_an_iterator_are_refused_with_the_remedy(name):
    rows = nk.open_rows(iter([make_rows()]))
    with pytest.raises(ValueError, match=r"labels need a second pass.*a list of blocks"):
        clone(LEARNERS[name]).fit(rows, **evidence("labels"))


def test_an_iterator_is_read_once():
    X = make_rows()
    rows = nk.open_rows(iter([X]))
    assert "?" in repr(rows)
    assert np.array_equal(np.concatenate(list(nk.open_rows(iter(blocks_of(X))))), X)
    with pytest.raises(ValueError, match="number of rows is not known"):
        _ = rows.shape
    metric = nk.ITML(random_state=0).fit(rows, **evidence("pairs"))
    with pytest.raises(ValueError, match=r"has been read already.*a list of blocks"):
        list(rows)
    with pytest.raises(ValueError, match="has been read already"):
        metric.transform(rows).to_numpy()


def test_an_iterator_can_be_transformed_and_written(tmp_path):
    X = make_rows()
    metric = nk.ITML(random_state=0).fit(X, **evidence("pairs"))
    path = metric.transform(nk.open_rows(iter(blocks_of(X)))).write(tmp_path / "z.parquet")
    table = pq.read_table(path)
    assert_close(np.column_stack(table.columns), metric.transform(X))
    with pytest.raises(ValueError, match="number of rows is not known"):
        metric.transform(nk.open_rows(iter([X]))).write(tmp_path / "z.npy")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["z.parquet"]


def test_what_an_iterator_leaves_is_not_all_rows():
    gathered = nk.open_rows(iter([make_rows()])).gathered(random_state=0)
    metric = nk.ITML(random_state=0).fit(gathered, **evidence("pairs"))
    with pytest.raises(ValueError, match="second pass"):
        metric.transform(gathered)
    with pytest.raises(ValueError, match="second pass"):
        nk.GMML().fit(gathered, **evidence("labels"))


# What does not take streams says so


@each(
    "learner",
    [
        nk.LMNN(),
        nk.KernelA(),
        nk.LLMA(),
        nk.GeometryAware(),
        nk.Chain([nk.ITML(), nk.KernelBeta()]),
        nk.Blend([nk.ITML(), nk.KernelBeta()]),
    ],
    ids=lambda learner: type(learner).__name__,
)
def test_other_learners_refuse_streams(learner):
    X = make_rows()
    with pytest.raises(TypeError, match=r"takes arrays only.*rows\.take\(numbers\)"):
        learner.fit(nk.open_rows(blocks_of(X)), **evidence("labels"))


def test_generative_keeps_no_labelled_rows_of_a_stream():
    X = make_rows()
    metric = nk.Generative(random_state=0).fit(nk.open_rows(blocks_of(X)), **evidence("labels"))
    with pytest.raises(ValueError, match=r"none is kept.*NeighborIndex\(metric\)"):
        metric.predict(X)
    for combine in ("gmm", "kde", "local"):
        with pytest.raises(TypeError, match=f"combine='{combine}' takes arrays only"):
            nk.Generative(combine=combine).fit(nk.open_rows(blocks_of(X)), **evidence("labels"))


def test_what_wants_arrays_says_so():
    X, labels = make_rows(), evidence("labels")
    rows = nk.open_rows(blocks_of(X))
    metric = nk.ITML(random_state=0).fit(X, **labels)
    classifier = nk.EnergyClassifier(metric)
    chain = nk.Chain([nk.ITML(random_state=0), nk.RCA(random_state=0)]).fit(X, **labels)
    precomputed = nk.KernelBeta(kernel="precomputed")
    for call, message in (
        (lambda: chain.transform(rows), "Chain takes arrays only"),
        (lambda: precomputed.fit(rows, **labels), "kernel='precomputed' takes arrays only"),
        (lambda: classifier.fit(rows, **labels), "takes arrays only"),
        (lambda: classifier.fit(X, **labels).predict(rows), "takes arrays only"),
        (lambda: nk.NeighborIndex(metric).add(rows), "an array is wanted here"),
        (lambda: np.asarray(rows), "an array is wanted here"),
    ):
        with pytest.raises(TypeError, match=message):
            call()
    for container in ("pandas", "polars"):
        with pytest.raises(TypeError, match=rf"not data frames of {container}: use set_output"):
            metric.set_output(transform=container).transform(rows)


def test_distances_and_scores_want_arrays():
    X = make_rows()
    rows = nk.open_rows(blocks_of(X))
    metric = nk.ITML(random_state=0).fit(X, **evidence("pairs"))
    y = evidence("labels")["y"]
    for call in (
        lambda: metric.distance(rows),
        lambda: metric.distance(X, rows),
        lambda: metric.pair_distance(rows, rows),
        lambda: metric.same(rows, rows),
        lambda: metric.kernel_matrix(rows),
        lambda: metric.score(rows, y),
    ):
        with pytest.raises(TypeError, match=r"take arrays, not rows.*rows\.take\(numbers\)"):
            call()
    pairs = evidence("pairs")["pairs"]
    assert metric.score(rows, pairs=pairs) == metric.score(X, pairs=pairs)


def test_a_score_on_pairs_of_a_file_knows_its_columns(tmp_path):
    X = make_rows()
    rows = nk.open_rows(source_of("parquet", X, tmp_path))
    metric = nk.KernelBeta(n_landmarks=30, random_state=0).fit(rows, **evidence("pairs"))
    other = nk.Pairs([(0, 9), (7, 200)], [(1, 3), (2, 100)])
    expected = nk.KernelBeta(n_landmarks=30, random_state=0).fit(X, **evidence("pairs"))
    assert metric.score(rows, pairs=other) == expected.score(X, pairs=other)
    with pytest.raises(ValueError, match="fitted to other columns"):
        metric.score(nk.open_rows(tmp_path / "rows.parquet", columns=NAMES[::-1]), pairs=other)


def test_questions_are_asked_about_rows_in_files():
    X, pairs = make_rows(), evidence("pairs")["pairs"]
    metric = nk.ITML(random_state=0).fit(X, pairs=pairs)
    of_rows, of_array = (
        nk.suggest_pairs(metric, rows, pairs, random_state=0)
        for rows in (nk.open_rows(blocks_of(X)), X)
    )
    np.testing.assert_array_equal(of_rows, of_array)


@each("y", [np.zeros(N - 1), np.zeros(N + 1)])
def test_labels_of_other_rows_are_refused(y):
    with pytest.raises(ValueError, match=f"y has {len(y)} labels, but X has 240 rows"):
        nk.GMML().fit(nk.open_rows(blocks_of(make_rows())), y)


def test_remote_rows_are_what_learners_need_and_no_more():
    abstract = RemoteRows.__abstractmethods__
    assert abstract == {"take", "reduced", "mapped"}


# Memory

MEMORY = """
import sys
import numpy as np
from nearkin import KernelBeta, Pairs, open_rows

def peak():
    try:
        lines = open("/proc/self/status").read().splitlines()
    except OSError:
        import resource
        unit = 1 if sys.platform == "darwin" else 1024
        return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return 1024 * int(next(line for line in lines if line.startswith("VmHWM")).split()[1])

def work(source, folder):
    rows = open_rows(source)
    metric = KernelBeta(n_landmarks=20, n_components=5, random_state=0)
    metric.fit(rows, pairs=Pairs([(0, 1000), (5, 1999)]))
    metric.transform(rows).write(folder + "/z.parquet")

folder = sys.argv[1]
work(folder + "/small.parquet", folder)  # compiled code is loaded, threads are up
before = peak()
work(folder + "/large.parquet", folder)
open_rows(folder + "/one_group.parquet").moments()
print(peak() - before)
"""


@pytest.mark.night
@pytest.mark.skipif(sys.platform == "win32", reason="tells peak memory otherwise")
def test_memory_stays_far_below_the_size_of_the_data(tmp_path):
    rng = np.random.default_rng(0)
    names = [f"x{i}" for i in range(50)]
    n_groups, group = 50, 8000  # 80 MB
    plainly = {"compression": "none", "use_dictionary": False}  # which is what takes time
    for name, n in (("small", 1), ("large", n_groups)):
        block = rng.standard_normal((50, group), dtype=np.float32)
        batch = pa.record_batch(dict(zip(names, block, strict=True)))
        with pq.ParquetWriter(tmp_path / f"{name}.parquet", batch.schema, **plainly) as writer:
            for _ in range(n):
                writer.write_batch(batch)
    columns = {name: np.tile(block[0], 310) for name in names[:8]}  # as large
    one_group = tmp_path / "one_group.parquet"
    pq.write_table(pa.table(columns), one_group, row_group_size=2_500_000, **plainly)
    assert pq.read_metadata(one_group).num_row_groups == 1
    done = run_python(MEMORY, str(tmp_path))
    assert done.returncode == 0, done.stderr
    size = n_groups * group * 50 * 4
    assert int(done.stdout) < size / 2
    assert pq.read_metadata(tmp_path / "z.parquet").num_rows == n_groups * group


def run_python(program, *arguments):
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)


# Interrupted and ended in the middle

ENDLESS = """
import signal, sys, time
import numpy as np
from nearkin import open_rows

def blocks():
    yield np.zeros((1000, 3))
    yield np.zeros((1000, 3))
    if passes:
        print("in the middle", flush=True)
        time.sleep(600)
    passes.append(1)

# Test runners in the background may ignore it, and children inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
for target in sys.argv[1:]:
    passes = []
    try:
        open_rows(blocks).write(target)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
        sys.stdin.readline()  # until what is left has been looked at
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_process_that_ends_leaves_the_old_file(tmp_path):
    targets = [tmp_path / name for name in ("y.parquet", "y.npy", "z.parquet")]
    for target in targets:
        target.write_bytes(b"old")
    command = [sys.executable, "-c", ENDLESS, *map(str, targets)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
    ) as process:
        try:
            for _ in range(2):
                assert process.stdout.readline() == b"in the middle\n"
                process.send_signal(signal.SIGINT)
                assert process.stdout.readline() == b"interrupted\n"
                assert sorted(tmp_path.iterdir()) == sorted(targets)
                process.stdin.write(b"\n")
            assert process.stdout.readline() == b"in the middle\n"
        finally:
            process.kill()
    assert process.returncode == -signal.SIGKILL
    assert all(target.read_bytes() == b"old" for target in targets)
