"""Learners on rows of dask: the same answers as on arrays, and what may go wrong on a cluster."""

import itertools
import os
import pickle
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from threadpoolctl import threadpool_info

import nearkin
from nearkin import Pairs, open_rows
from nearkin.datasets import make_xor

distributed = pytest.importorskip("distributed")
dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
pd = pytest.importorskip("pandas")
dd = pytest.importorskip("dask.dataframe")

from nearkin import dask as on_dask  # noqa: E402
from nearkin.dask import DaskGMML, DaskKernelBeta, DaskRCA, DaskRows  # noqa: E402
from nearkin.rows import dask_rows  # noqa: E402
from nearkin.rows.backends import block_moments, merge_moments  # noqa: E402
from tests.cases import each  # noqa: E402
from tests.common.learners import each_of, firsts, learners  # noqa: E402
from tests.waiting import PATIENCE, until  # noqa: E402

# MetricLearner says that a few rows or pairs are too little to choose by.
pytestmark = pytest.mark.filterwarnings("ignore::nearkin.SelectionWarning")


def for_dask(learner):
    cls = getattr(on_dask, f"Dask{type(learner).__name__}")
    return cls(**learner.get_params(deep=False))


LEARNERS = {
    name: for_dask(learner)
    for name, learner in learners(
        [
            *firsts(lambda cls: getattr(cls, "_remote", False)),
            *("random landmarks", "twice", "nystroem", "ITML landmarks", "GMML landmarks"),
        ],
        n_landmarks=40,
    ).items()
}
# MetricLearner is slow.
each_learner = each_of({name: one for name, one in LEARNERS.items() if name != "MetricLearner"})
X, y = make_xor(300, random_state=0)
X = np.column_stack([X, X[:, 0] * X[:, 1], np.roll(X[:, 0], 1)])
ROWS = da.from_array(X, chunks=(70, 4))
PARTLY = np.where(np.arange(300) % 3 == 0, -1, y)
PAIRS = Pairs.from_labels(y, 40, random_state=0)
EVIDENCE = {"pairs": {"pairs": PAIRS}, "labels": {"y": PARTLY}, "both": {"y": y, "pairs": PAIRS}}
CHUNKS = {
    "one chunk": (300, 4),
    "chunks of rows": (70, 4),
    "of columns too": ((100, 200), (1, 3)),
    "empty ones": ((0, 120, 0, 0, 180, 0), 4),
    "single rows": ((1, 298, 1), 4),
}


def in_process(learner, rows, **evidence):
    with dask.config.set(scheduler="synchronous"):
        return clone(learner).fit(rows, **evidence)


def local_twin(learner, rows, **evidence):
    params = learner.get_params()
    del params["client"]
    return learner._learner(**params).fit(rows, **evidence)


def assert_same_metric(found, expected, rows=X, Z=None):
    Z = np.asarray(found.to_local().transform(rows)) if Z is None else Z
    Z_expected = np.asarray(expected.transform(rows))
    assert Z.dtype == Z_expected.dtype
    scale = np.abs(Z_expected).max()
    assert_allclose(Z, Z_expected, rtol=0, atol=(1e-8 if Z.dtype == np.float64 else 1e-4) * scale)
    assert_allclose(found.threshold_, expected.threshold_, rtol=1e-8 if Z.itemsize == 8 else 1e-4)


@pytest.fixture
def client(dask_client):
    return dask_client


# Both at once with every learner, and each alone in turn.
FITS = [(name, "both") for name in LEARNERS]
FITS += [(name, kind) for (name, _), kind in zip(FITS, itertools.cycle(["pairs", "labels"]))
         if name != "MetricLearner"]  # fmt: skip


@each(("name", "kind"), FITS)
def test_the_metric_is_that_of_rows_in_memory(name, kind):
    learner, evidence = LEARNERS[name], EVIDENCE[kind]
    metric = in_process(learner, ROWS, **evidence)
    Z = metric.transform(ROWS)
    assert isinstance(Z, da.Array)
    assert Z.shape == (300, metric.n_components_)
    assert Z.chunks[0] == ROWS.chunks[0]
    assert_same_metric(metric, local_twin(learner, X, **evidence), Z=Z.compute(scheduler="sync"))


@each_learner
def test_learners_take_what_open_rows_makes_of_dask_collections(learner):
    frame = pd.DataFrame(X, columns=list("abcd"))
    for rows in (da.from_array(X, chunks=(70, 4)), dd.from_pandas(frame, npartitions=4)):
        with dask.config.set(scheduler="synchronous"):
            opened = open_rows(rows)
            metric = local_twin(learner, opened, pairs=PAIRS)
            Z = metric.transform(opened)
            assert isinstance(Z, da.Array)
            given = frame if opened.names else X
            expected = local_twin(learner, given, pairs=PAIRS)
            assert_allclose(Z.compute(), expected.transform(given), atol=1e-8)
            assert metric.score(opened, pairs=PAIRS) == expected.score(given, pairs=PAIRS)
            with pytest.raises(TypeError, match="take arrays, not rows that are read block by"):
                metric.distance(opened)


def test_rows_of_a_data_frame_are_counted_when_that_is_needed():
    frame = dd.from_pandas(pd.DataFrame(X, columns=list("abcd")), npartitions=4)
    with dask.config.set(scheduler="synchronous"):
        opened = open_rows(frame)
        assert repr(opened) == "<DaskRows of ? × 4 float64 in 4 chunks>"
        assert opened.shape == (300, 4)
        assert_array_equal(opened.take(np.array([299, 3])), X[[299, 3]])
        assert repr(opened) == "<DaskRows of 300 × 4 float64 in 4 chunks>"
    with pytest.raises(ValueError, match="choose columns of Parquet files only"):
        open_rows(frame, columns=["a"])
    with pytest.raises(ValueError, match="client is for the rows of dask"):
        open_rows(X, client="me")


@each("name", ["random landmarks", "GMML", "RCA"])
@each("dtype", [np.float64, np.float32])
def test_chunks_do_not_matter(name, dtype):
    learner, given = LEARNERS[name], X.astype(dtype)
    expected = local_twin(learner, given, y=y)
    # Half of them with each type, the other half for the next learner.
    first = (["random landmarks", "GMML", "RCA"].index(name) + (dtype == np.float32)) % 2
    for chunks in [*CHUNKS.values()][first::2]:
        rows = da.from_array(given, chunks=chunks)
        metric = in_process(learner, rows, y=y)
        Z = metric.transform(rows)
        assert Z.dtype == dtype
        Z = Z.compute(scheduler="sync")
        assert_same_metric(metric, expected, rows=given, Z=Z)


@each_learner
def test_the_columns_of_a_data_frame_are_named(learner):
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    rows = dd.from_pandas(frame, npartitions=4)
    metric = in_process(learner, rows, pairs=PAIRS)
    twin = local_twin(learner, frame, pairs=PAIRS)
    assert_array_equal(metric.feature_names_in_, ["a", "b", "c", "d"])
    assert_array_equal(metric.get_feature_names_out(), twin.get_feature_names_out())
    Z = metric.transform(rows).compute(scheduler="sync")
    assert_same_metric(metric, twin, rows=frame, Z=Z)
    with pytest.raises(ValueError, match="fitted to other columns: 'a' where these rows have 'b'"):
        metric.transform(rows[["b", "a", "c", "d"]])


def test_a_data_frame_may_mix_types_and_have_empty_partitions():
    frame = pd.DataFrame(X, columns=list("abcd")).astype({"a": np.float32})
    frame = frame.assign(e=frame.a > 0, f=np.arange(300) % 7, g=pd.array([1, 2] * 150, "Int64"))
    rows = dd.from_pandas(frame, npartitions=4)
    rows = rows[rows.f < 5]
    rows = dd.concat([rows, rows[rows.f > 100], rows.partitions[:1]])
    with dask.config.set(scheduler="synchronous"):
        given = rows.compute().astype(np.float64)
        pairs = Pairs([(0, 5), (1, len(given) - 1)], [(2, 6)])
        metric = DaskKernelBeta(n_landmarks=40, random_state=0).fit(rows, pairs=pairs)
    twin = local_twin(metric, given, pairs=pairs)
    assert_same_metric(metric, twin, rows=given)
    narrow = dd.from_pandas(frame[["a", "e"]].astype({"a": np.float32}), npartitions=2)
    assert DaskRows(narrow).dtype == np.float32


def test_columns_without_text_as_names_have_none():
    with dask.config.set(scheduler="synchronous"):
        frame = pd.DataFrame(X)
        assert DaskRows(dd.from_pandas(frame, npartitions=2)).names is None
        mixed = frame.rename(columns={0: "a"})
        with pytest.raises(TypeError, match="all text or all something else"):
            DaskRows(dd.from_pandas(mixed, npartitions=2))


def test_labels_may_be_on_the_workers_too():
    learner = DaskGMML(random_state=0)
    expected = local_twin(learner, X, y=y)
    series = dd.from_pandas(pd.Series(y), npartitions=3)
    for labels in (da.from_array(y, chunks=110), series, pd.Series(y), y.tolist()):
        metric = in_process(learner, ROWS, y=labels)
        assert_same_metric(metric, expected)
    with (
        dask.config.set(scheduler="synchronous"),
        pytest.raises(ValueError, match="y has 299 labels, but X has 300 rows"),
    ):
        learner.fit(ROWS, da.from_array(y[1:]))


def test_threads_without_a_client_will_do():
    rows = da.from_array(X, chunks=(30, 4))
    metric = DaskKernelBeta(n_landmarks=40, random_state=0).fit(rows, y, pairs=PAIRS)
    assert metric.client_ is None
    assert_same_metric(metric, local_twin(metric, X, y=y, pairs=PAIRS))


def test_the_default_client_is_used_where_there_is_one():
    rows = da.from_array(X, chunks=(30, 4))
    learner = DaskKernelBeta(n_landmarks=40, random_state=0)
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=2, processes=False, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as default,
    ):
        assert learner.client_ is default
        with dask.config.set(scheduler="threads"):
            assert learner.client_ is None
        metric = learner.fit(rows, y)
        Z = metric.transform(rows).compute()
    assert_same_metric(metric, local_twin(metric, X, y=y), Z=Z)
    assert metric.client_ is None


def test_an_asynchronous_client_is_refused():
    class Asynchronous:
        asynchronous = True

        def scheduler_info(self):
            raise AssertionError("asked")

    with pytest.raises(TypeError, match="the client is asynchronous"):
        DaskRCA(client=Asynchronous()).fit(da.from_array(X), y)


def test_rows_are_taken_in_any_order_from_their_chunks_only():
    read = []

    def loaded(block_id=None):
        read.append(block_id[0])
        return X[100 * block_id[0] : 100 * block_id[0] + 100]

    rows = da.map_blocks(loaded, chunks=((100, 100, 100), (4,)), dtype=float, meta=np.empty((0, 0)))
    with dask.config.set(scheduler="synchronous"):
        rows = DaskRows(rows)
        assert_array_equal(rows.take([250, 3, 250, 299]), X[[250, 3, 250, 299]])
        assert sorted(read) == [0, 2]
        rows.take([299, 3])  # remembered
        assert sorted(read) == [0, 2]
        assert rows.take([]).shape == (0, 4)
        with pytest.raises(IndexError, match="row 300 of X, which has 300 rows"):
            rows.take([300])
    assert repr(rows) == "<DaskRows of 300 × 4 float64 in 3 chunks>"


def test_sums_are_made_in_the_order_of_rows_with_what_is_aligned():
    rows = DaskRows(da.from_array(X, chunks=(7, 4)))  # several levels of the tree
    numbers = np.arange(300) - 1

    def of_block(block, part):
        assert part.dtype == numbers.dtype
        return ([*part],), block.sum(axis=0)

    def joined(a, b):
        return (a[0][0] + b[0][0],), a[1] + b[1]

    (found,), total = rows.reduced(of_block, numbers, combine=joined)
    assert_array_equal(found, numbers)
    assert_allclose(total, X.sum(axis=0))
    mean, covariance = rows.moments()
    assert_allclose(mean, X.mean(axis=0))
    assert_allclose(covariance, np.cov(X.T, bias=True))
    again = rows.reduced(block_moments, combine=merge_moments)
    assert_array_equal(again[1], mean)  # to the last bit


def test_what_cannot_be_learned_from_is_refused_with_the_reason():
    def refused(rows, error, message):
        with dask.config.set(scheduler="synchronous"), pytest.raises(error, match=message):
            DaskGMML(random_state=0).fit(rows, pairs=Pairs([(0, 1)], [(0, 2)]))

    refused(ROWS[ROWS[:, 0] > 0], ValueError, r"X\.compute_chunk_sizes\(\)")
    refused(ROWS.astype(np.float16), TypeError, "X is of type float16.*give float32")
    refused(ROWS.astype(str), TypeError, "X is of type <U.*not of numbers")
    refused(ROWS.astype(complex), TypeError, "not of numbers")
    refused(ROWS[:, 0], ValueError, r"rows must have shape \(n, d\), got \(300,\)")
    refused(ROWS[:, :0], ValueError, "shape")
    refused(ROWS[:0], ValueError, "X has no rows")
    refused(ROWS[:1], ValueError, "needs at least 2")
    refused(X, TypeError, "X must be a dask array or a dask data frame, got ndarray")
    refused(dask.delayed(X), TypeError, "got Delayed")
    frame = pd.DataFrame(X, columns=list("abcd")).assign(
        town="Ulm", kind=pd.Categorical(["k"] * 300)
    )
    refused(
        dd.from_pandas(frame, npartitions=2),
        TypeError,
        r"columns of X are not of numbers: 'town' \(.*\), 'kind' \(category\)",
    )
    frame = pd.DataFrame(X, columns=list("abcd")).astype({"b": np.float16})
    refused(dd.from_pandas(frame, npartitions=2), TypeError, "column 'b' of X is of type float16")
    refused(dd.from_pandas(frame.a, npartitions=2), TypeError, "got Series")


def test_chunks_that_are_not_what_they_say_are_refused():
    def declared(chunk, dtype=np.float64, shape=(300, 4)):
        return da.from_delayed(dask.delayed(chunk), shape, dtype=dtype)

    with dask.config.set(scheduler="synchronous"):
        with pytest.raises(TypeError, match=r"chunk 0 of X is of type float64, but .* float32"):
            DaskRows(declared(X, np.float32)).moments()
        with pytest.raises(ValueError, match=r"chunk 0 of X has shape \(299, 4\).* 300 rows of 4"):
            DaskRows(declared(X[1:])).moments()
        with pytest.raises(ValueError, match=r"chunk 0 of X has shape \(300, 3\)"):
            DaskRows(declared(X[:, :3])).take([0])


def test_missing_numbers_are_named_by_row_and_column():
    holes = X.copy()
    holes[217, 2] = np.nan
    rows = da.from_array(holes, chunks=(50, 4))
    frame = pd.DataFrame(holes, columns=list("abcd"))
    learner = DaskKernelBeta(n_landmarks=40, random_state=0)
    fitted = in_process(learner, da.from_array(X), pairs=PAIRS)
    with dask.config.set(scheduler="synchronous"):
        with pytest.raises(ValueError, match="row 217, column 2 of X is nan"):
            learner.fit(rows, pairs=PAIRS)
        with pytest.raises(ValueError, match="row 217, column 2 of X is nan"):
            fitted.transform(rows).compute()
        with pytest.raises(ValueError, match="row 217, column 'c' of X is nan"):
            learner.fit(dd.from_pandas(frame, npartitions=5), pairs=PAIRS)
        missing = dd.from_pandas(frame.astype("Float64"), npartitions=5)
        with pytest.raises(ValueError, match="row 217, column 'c' of X is nan"):
            learner.fit(missing, pairs=PAIRS)
        of_unknown_size = fitted.transform(da.from_array(holes, chunks=(50, 4))[rows[:, 0] < 99])
        with pytest.raises(ValueError, match="row 17, column 2 of chunk 4 of X is nan"):
            of_unknown_size.compute()


def test_transform_computes_nothing_yet():
    def never(block):
        raise AssertionError("computed")

    metric = in_process(DaskKernelBeta(n_landmarks=40, random_state=0), ROWS, pairs=PAIRS)
    lazy = ROWS.map_blocks(never, meta=np.empty((0, 0)))
    assert metric.transform(lazy).shape == (300, metric.n_components_)
    frame = dd.from_pandas(pd.DataFrame(X), npartitions=2).map_partitions(
        never, meta=pd.DataFrame(X[:0])
    )
    assert np.isnan(metric.transform(frame).shape[0])
    with pytest.raises(ValueError, match="X has 3 features, but DaskKernelBeta is expecting 4"):
        metric.transform(ROWS[:, :3])


def test_distances_and_verdicts_are_lazy_too():
    metric = in_process(DaskKernelBeta(n_landmarks=40, random_state=0), ROWS, pairs=PAIRS)
    local = metric.to_local()
    other = da.from_array(X[::-1].copy(), chunks=(100, 4))
    distances, verdicts = metric.pair_distance(ROWS, other), metric.same(ROWS, other)
    assert isinstance(distances, da.Array)
    assert isinstance(verdicts, da.Array)
    assert_allclose(distances.compute(), local.pair_distance(X, X[::-1]), atol=1e-12)
    assert_array_equal(verdicts.compute(), local.same(X, X[::-1]))
    assert_array_equal(metric.same(X, X[::-1]), local.same(X, X[::-1]))
    chance = local.chance_same(X, X[::-1])
    assert_allclose(metric.chance_same(ROWS, other).compute(), chance)
    assert_allclose(metric.chance_same(X, X[::-1]), chance)
    local.calibrate(X, pairs=PAIRS, prevalence=0.2)
    assert metric.prevalence_ == 0.5
    assert metric.calibrate(ROWS, pairs=PAIRS, prevalence=0.2) is metric
    chance = local.chance_same(X, X[::-1])
    assert_allclose(metric.chance_same(ROWS, other).compute(), chance)
    assert_array_equal(metric.same(ROWS, other).compute(), chance >= 0.5)
    chance = local.chance_same(X, X[::-1], prevalence=0.7)
    assert_allclose(metric.chance_same(ROWS, other, prevalence=0.7).compute(), chance)
    assert_array_equal(metric.distance(X[:9], X[9:14]), local.distance(X[:9], X[9:14]))
    assert_array_equal(metric.kernel_matrix(X[:9]), local.kernel_matrix(X[:9]))
    assert_array_equal(metric.transform(X), local.transform(X))
    with pytest.raises(ValueError, match="X_a has 300 rows and X_b has 299"):
        metric.pair_distance(ROWS, other[1:])
    with pytest.raises(ValueError, match="sizes of chunks are not known"):
        metric.pair_distance(ROWS[ROWS[:, 0] > 0], ROWS[ROWS[:, 0] > 0])
    with pytest.raises(TypeError, match="two dask collections or two arrays"):
        metric.pair_distance(ROWS, X)
    with pytest.raises(TypeError, match="distance and kernel_matrix make an array"):
        metric.distance(ROWS)


def test_scores_are_those_of_rows_in_memory():
    metric = in_process(DaskKernelBeta(n_landmarks=40, random_state=0), ROWS, pairs=PAIRS)
    local = metric.to_local()
    new = Pairs.from_labels(y, 60, random_state=1)
    assert_allclose(metric.score(ROWS, pairs=new), local.score(X, pairs=new))
    assert_allclose(metric.score(ROWS, da.from_array(y)), local.score(X, y))
    assert_allclose(metric.score(X, y), local.score(X, y))


@each("name", ["ITML", "KernelBeta"])
def test_triplets_teach_and_judge_as_with_rows_in_memory(name):
    order = Pairs(closer=[(0, 5, 9), (299, 40, 8), (120, 7, 30)])
    learner = getattr(on_dask, f"Dask{name}")(random_state=0)
    found = in_process(learner, ROWS, pairs=order)
    expected = local_twin(learner, X, pairs=order)
    assert_same_metric(found, expected)
    with dask.config.set(scheduler="synchronous"):
        assert found.score(ROWS, pairs=order) == expected.score(X, pairs=order)
        with pytest.raises(ValueError, match="3 triplets, but only must-links and cannot-links"):
            found.calibrate(ROWS, pairs=order)
        with pytest.raises(ValueError, match="3 triplets, but only must-links and cannot-links"):
            DaskGMML().fit(ROWS, pairs=order)


def test_models_leave_dask_behind(tmp_path):
    learner = DaskKernelBeta(n_landmarks=40, random_state=0)
    with pytest.raises(NotFittedError):
        learner.to_local()
    assert not hasattr(learner, "beta_")
    metric = in_process(learner, ROWS, pairs=PAIRS)
    local = metric.to_local()
    assert type(local) is nearkin.KernelBeta
    assert_array_equal(local.beta_, metric.beta_)
    metric.save(tmp_path / "model.nearkin")
    loaded = nearkin.load(tmp_path / "model.nearkin")
    assert type(loaded) is nearkin.KernelBeta
    assert_array_equal(loaded.transform(X), local.transform(X))
    with config_context(transform_output="pandas"):
        assert isinstance(metric.transform(X), np.ndarray)
        assert isinstance(metric.transform(ROWS), da.Array)


def test_parameters_are_those_of_the_learner_and_a_client(client):
    for learner in LEARNERS.values():
        names = set(learner.get_params())
        assert names == {*learner._learner().get_params(), "client"}
    metric = DaskRCA(shrinkage=0.2, client=client)
    assert metric.client_ is client
    copied = clone(metric)
    assert copied.client is client
    assert copied.shrinkage == 0.2
    assert DaskRCA().set_params(shrinkage=0.3).shrinkage == 0.3
    assert repr(DaskRCA(shrinkage=0.2)) == "DaskRCA(shrinkage=0.2)"
    with pytest.raises(TypeError, match="unexpected keyword argument 'shrink'"):
        DaskRCA(shrink=1)
    with pytest.raises(TypeError, match=r"client must be a distributed\.Client or None, got str"):
        DaskRCA(client="tcp://host").fit(da.from_array(X), y)
    with (
        dask.config.set(scheduler="sync"),
        pytest.raises(ValueError, match=r"'shrinkage'.* of RCA"),
    ):
        DaskRCA(shrinkage=2).fit(da.from_array(X), y)


# On worker processes


@each("name", ["random landmarks", "ITML", "GMML landmarks", "RCA", "Euclidean"])
def test_worker_processes_find_the_same_metric(client, name):
    learner = clone(LEARNERS[name]).set_params(client=client)
    rows = client.persist(da.from_array(X, chunks=(70, 4)))
    metric = learner.fit(rows, PARTLY, pairs=PAIRS)
    Z = client.compute(metric.transform(rows), sync=True)
    assert_same_metric(metric, local_twin(learner, X, y=PARTLY, pairs=PAIRS), Z=Z)


def test_a_fitted_learner_is_pickled_without_its_client(client):
    metric = DaskKernelBeta(n_landmarks=40, random_state=0, client=client).fit(ROWS, pairs=PAIRS)
    other = pickle.loads(pickle.dumps(metric))
    assert other.client is None
    assert metric.client is client
    assert_array_equal(other.transform(X), metric.transform(X))
    found = client.submit(lambda metric, rows: metric.transform(rows), metric, X).result()
    assert_allclose(found, metric.transform(X), atol=1e-12)


def test_a_data_frame_on_worker_processes(client):
    frame = pd.DataFrame(X, columns=list("abcd"))
    rows = client.persist(dd.from_pandas(frame, npartitions=3))
    labels = dd.from_pandas(pd.Series(y), npartitions=2)
    metric = DaskGMML(random_state=0, client=client).fit(rows, labels)
    assert_same_metric(metric, local_twin(metric, frame, y=y), rows=frame)
    assert metric.score(rows, labels) == pytest.approx(metric.to_local().score(frame, y))


def test_an_error_on_a_worker_names_the_row(client):
    holes = X.copy()
    holes[217, 2] = np.inf
    with pytest.raises(ValueError, match="row 217, column 2 of X is inf"):
        DaskGMML(client=client).fit(da.from_array(holes, chunks=(50, 4)), y)


def test_a_worker_that_dies_in_a_fit_costs_no_correctness(client, tmp_path):
    """A chunk's loader waits until its worker is killed; another worker loads it again."""
    reached, killed = tmp_path / "reached", tmp_path / "killed"
    # Some chunks are held by the worker that dies, some by the other one.

    def loaded(block_id=None):
        if block_id[0] == 4 and not killed.exists():
            reached.with_suffix(".part").write_text(str(os.getpid()))
            reached.with_suffix(".part").rename(reached)
            time.sleep(PATIENCE)
        return X[50 * block_id[0] : 50 * block_id[0] + 50]

    rows = da.map_blocks(loaded, chunks=((50,) * 6, (4,)), dtype=float, meta=np.empty((0, 0)))
    pids = []

    def kill():
        until(reached.exists)
        pids.append(int(reached.read_text()))
        killed.touch()
        os.kill(pids[0], signal.SIGKILL)

    assert len(set(client.run(os.getpid).values())) == 2
    killer = threading.Thread(target=kill)
    killer.start()
    metric = DaskKernelBeta(n_landmarks=40, random_state=0, client=client)
    metric.fit(rows, PARTLY, pairs=PAIRS)
    killer.join()
    assert pids[0] not in client.run(os.getpid).values()
    assert_same_metric(metric, local_twin(metric, X, y=PARTLY, pairs=PAIRS))
    client.wait_for_workers(2, timeout=PATIENCE)


def test_what_tasks_share_is_found_again_when_its_worker_dies(client):
    """The scheduler has what it takes to make it again: it is not only on a worker."""
    client.wait_for_workers(2, timeout=PATIENCE)
    rows = DaskRows(da.from_array(X, chunks=(50, 4)), client=client)
    shared = dask_rows._share_work(rows._work, client)
    [future] = client.futures_of(shared)
    assert future.result().function is None
    [holders] = client.who_has([future]).values()
    pids = client.run(os.getpid)
    os.kill(pids[holders[0]], signal.SIGKILL)
    again = client.compute(
        dask_rows._make_task(dask_rows._take_of_chunk, shared, X[50:100], 1, np.arange(2))
    )
    assert_array_equal(again.result(timeout=PATIENCE), X[50:52])
    client.wait_for_workers(2, timeout=PATIENCE)


def test_large_models_and_many_labels_go_without_a_warning(client, monkeypatch):
    """Warnings are errors here, and dask warns of large graphs."""
    n = 40
    rows = da.from_array(np.tile(X, (n, 1)), chunks=(3000, 4))
    labels = np.tile(np.arange(300) * 10**12 + y, n)  # of eight bytes each
    big = np.zeros((1500, 1000))
    found = DaskRows(rows, client=client)
    monkeypatch.setattr(dask_rows, "_GRAPH_BYTES", 50_000)  # several graphs
    total, count = found.reduced(
        lambda block, part: (part.sum(), len(block) + int(big[0, 0])), labels
    )
    assert (total, count) == (labels.sum(), 300 * n)
    assert_array_equal(found.take(np.arange(300 * n)), np.tile(X, (n, 1)))
    monkeypatch.undo()
    mapped = found.mapped(lambda block: block + big[0, 0], ["a", "b", "c", "d"])
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "2 MB"}):
        Z = client.compute(mapped[::300], sync=True)
    assert_array_equal(Z, np.tile(X[:1], (n, 1)))


def test_what_tasks_share_is_in_the_graph_once():
    rows = da.from_array(X, chunks=(10, 4))
    metric = in_process(DaskKernelBeta(n_landmarks=200, random_state=0), rows, pairs=PAIRS)
    Z = metric.transform(rows)
    model = len(pickle.dumps(metric.to_local()))
    graph = len(distributed.protocol.pickle.dumps(Z.__dask_graph__()))
    assert graph < 2 * model + 100_000


def test_a_task_keeps_to_one_core(client):
    def threads(block):
        from nearkin.rows import parallel

        seen = set()
        parallel.run_in_blocks(lambda rows: seen.add(threading.get_ident()), 100, 1)
        blas = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
        return (len(seen) - 1 + max(blas) - 1,)

    rows = da.from_array(X, chunks=(50, 4))
    assert DaskRows(rows, client=client).reduced(threads) == (0,)
    with dask.config.set(scheduler="synchronous"):
        assert DaskRows(rows).reduced(threads) == (0,)


WORKER_WITHOUT_NEARKIN = """
import sys

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "nearkin":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Hidden())
from distributed.cli.dask_worker import main
address, folder = sys.argv[1:]
main([address, "--no-nanny", "--nthreads=1", "--no-dashboard", f"--local-directory={folder}"])
"""


def failing(error, client):
    with dask_rows.explain_failures(client):
        raise error


def test_a_worker_without_nearkin_is_named(tmp_path):
    with (
        distributed.LocalCluster(
            n_workers=0, processes=False, protocol="tcp://", dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        address = cluster.scheduler_address
        command = [sys.executable, "-c", WORKER_WITHOUT_NEARKIN, address, str(tmp_path)]
        with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
            try:
                client.wait_for_workers(1, timeout=PATIENCE)
                rows = da.from_array(X, chunks=(100, 4))
                with pytest.raises(RuntimeError, match=r"worker tcp://.* has no nearkin: install"):
                    DaskGMML(client=client).fit(rows, y)
                # One that came after the check:
                error = ModuleNotFoundError(name="nearkin")
                with pytest.raises(RuntimeError, match=r"worker tcp://.* has no nearkin: install"):
                    failing(error, client)
            finally:
                process.terminate()


def test_another_version_is_refused(client, monkeypatch):
    monkeypatch.setattr(dask_rows, "__version__", "99.0")
    with pytest.raises(RuntimeError, match=r"the scheduler has nearkin .* but this process has 99"):
        DaskGMML(client=client).fit(da.from_array(X), y)
