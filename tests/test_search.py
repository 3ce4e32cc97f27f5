"""What NeighborIndex promises: neighbours, groups and files, against plain versions."""

import pickle
import sys
import warnings
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from nearkin import ITML, RCA, Euclidean, KernelBeta, NeighborIndex, Pairs
from nearkin import search as neighbor_index
from nearkin.datasets import make_xor
from nearkin.errors import InputError
from nearkin.rows.distances import rowwise_distances
from nearkin.search import KIND, VERSION
from nearkin.spaces import neighbors as neighbor_search
from nearkin.spaces.neighbors import CellIndex, find_nearest, find_within, group_within
from nearkin.storage.arrays import StorageError, write_arrays
from tests.cases import each
from tests.oracles import groups_within

each_search = each("search", ["exact", "approximate"])
each_dtype = each("dtype", [np.float32, np.float64])


def random_rows(n, q=3, seed=0, dtype=np.float64):
    return np.random.default_rng(seed).standard_normal((n, q)).astype(dtype)


@pytest.fixture(scope="module")
def learned():
    X, y = make_xor(80, random_state=0)
    metric = KernelBeta(random_state=0).fit(X, pairs=Pairs.from_labels(y, 40, random_state=0))
    return X, metric


def nearest_plainly(Z, Q, k):
    """All distances, sorted; of equal ones, the lower number first."""
    distances = cdist(Q, Z)
    rows = np.argsort(distances, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(distances, rows, axis=1), rows


# ---- exact search

# Coordinates whose distances are exact, with many ties among them.
grids = hnp.arrays(
    np.float64, st.tuples(st.integers(1, 40), st.just(2)), elements=st.integers(-3, 3).map(float)
)


@given(grids, grids, st.integers(1, 40), st.sampled_from([np.float32, np.float64]))
def test_nearest_is_the_sorted_distances_with_ties_by_row(Z, Q, k, dtype):
    k = min(k, len(Z))
    distances, rows = find_nearest(Z.astype(dtype), Q.astype(dtype), k)
    expected, expected_rows = nearest_plainly(Z, Q, k)
    assert_array_equal(rows, expected_rows)
    assert_array_equal(distances, expected.astype(dtype))
    assert distances.dtype == dtype


@each_dtype
def test_nearest_of_rows_in_one_place_far_from_the_origin_or_all_but_tied(dtype):
    same = np.repeat(random_rows(7, dtype=dtype), 300, axis=0)
    # A product of rows loses all digits of these distances.
    far = (random_rows(400) + 1e3 * (1 if dtype == np.float32 else 1e5)).astype(dtype)
    # Seen from far away, the rows of a tight cluster are nearly as far as one another.
    tight = (0.02 * random_rows(90, 6) + 1e6).astype(dtype)
    away = np.concatenate([tight[:3], np.linspace(1.1, 3, 60)[:, None] * tight[0]]).astype(dtype)
    cases = (same, same[::700], [10]), (far, far[:20], [5]), (tight, away, [1, 5, 33])
    for Z, Q, sizes in cases:
        exact = np.array([rowwise_distances(np.repeat([q], len(Z), axis=0), Z) for q in Q])
        for k in sizes:
            distances, rows = find_nearest(Z, Q, k)
            assert_array_equal(rows, np.argsort(exact, axis=1, kind="stable")[:, :k])
            expected = np.take_along_axis(exact, rows, axis=1)
            assert_allclose(distances, expected, rtol=1e-6 if dtype == np.float32 else 1e-14)


def test_blocks_of_queries_give_what_all_at_once_give(monkeypatch):
    Z, Q = random_rows(100), random_rows(50, seed=1)
    whole, near = find_nearest(Z, Q, 5), find_within(Z, Q, 0.7)
    monkeypatch.setattr(neighbor_search, "_BLOCK_SIZE", 40)
    monkeypatch.setattr(neighbor_search, "_QUERIES", 7)
    for one, other in zip(whole, find_nearest(Z, Q, 5), strict=True):
        assert_array_equal(one, other)
    for one, other in zip(near, find_within(Z, Q, 0.7), strict=True):
        assert all(map(np.array_equal, one, other))


@given(grids, grids, st.sampled_from([0.0, 1.0, 2.0, 5**0.5, 9.0]))
def test_within_is_all_that_is_no_farther(Z, Q, radius):
    distances, rows = find_within(Z, Q, radius)
    expected, order = nearest_plainly(Z, Q, len(Z))
    for i in range(len(Q)):
        near = expected[i] <= radius
        assert_array_equal(rows[i], order[i][near])
        assert_array_equal(distances[i], expected[i][near])


# ---- groups


@given(grids, st.sampled_from([0.0, 1.0, 2**0.5, 2.0]), st.sampled_from([np.float32, np.float64]))
def test_groups_are_those_of_plain_union_find(Z, radius, dtype):
    Z, radius = Z.astype(dtype), dtype(radius).item()
    assert_array_equal(group_within(Z, radius), groups_within(Z, radius))


@given(st.integers(0, 1000), st.floats(0.0, 1.5))
def test_groups_by_small_tiles_with_frequent_contraction(seed, radius):
    # A dense group among rows far apart, in any order.
    rng = np.random.default_rng(seed)
    Z = random_rows(60, 2, seed) * rng.choice([0.3, 3], size=(60, 1), p=[0.8, 0.2])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(neighbor_search, "_TILE_ROWS", 7)
        patch.setattr(neighbor_search, "_TILE_COLUMNS", 11)
        assert_array_equal(group_within(Z, radius), groups_within(Z, radius))


def test_pairs_of_a_tile_are_contracted_at_once(monkeypatch):
    seen = []
    monkeypatch.setattr(neighbor_search, "_TILE_ROWS", 50)
    monkeypatch.setattr(neighbor_search, "_TILE_COLUMNS", 100)
    join = neighbor_search.merge_labels
    monkeypatch.setattr(
        neighbor_search,
        "merge_labels",
        lambda a, edges: seen.append((len(a), len(edges))) or join(a, edges),
    )
    assert not group_within(np.zeros((1000, 2)), 1.0).any()
    assert max(edges for rows, edges in seen if rows == 1000) <= 1000 + 150


def test_duplicates_are_groups_of_two_or_more_by_id():
    index = NeighborIndex().add([[0.0], [9.0], [1.0], [5.0], [5.0]], ids=list("abcde"))
    assert [group.tolist() for group in index.duplicates(1)] == [["a", "c"], ["d", "e"]]
    assert index.group_labels(1).tolist() == [0, 1, 0, 2, 2]
    assert index.duplicates(0.0)[0].tolist() == ["d", "e"]
    assert NeighborIndex().add([[0.0]]).duplicates(1) == []


# ---- queries


@each_search
def test_distances_are_the_metrics_own(search, learned):
    X, metric = learned
    index = NeighborIndex(metric, search=search, target_recall=1.0, random_state=0).fit(X[:60])
    distances, ids = index.query(X[60:], 7)
    assert_allclose(
        distances, np.take_along_axis(metric.distance(X[60:], X[:60]), ids, axis=1), rtol=1e-12
    )
    assert (np.diff(distances) >= 0).all()
    for i, near in enumerate(index.query_radius(X[60:])[1]):  # within the threshold
        same = metric.same(np.repeat(X[60 + i : 61 + i], 60, axis=0), X[:60])
        assert_array_equal(np.sort(near), np.flatnonzero(same))


@each_dtype
def test_vectors_keep_their_type(dtype):
    index = NeighborIndex(n_neighbors=3).fit(random_rows(9, dtype=dtype))
    assert index.vectors.dtype == dtype
    assert index.query(random_rows(2), 2)[0].dtype == dtype
    assert index.query(random_rows(2))[1].shape == (2, 3)
    assert index.add(random_rows(2)).vectors.dtype == np.float64  # nothing is lost


@each("convert", [partial(pd.DataFrame, columns=list("abc")), pl.DataFrame, np.ndarray.tolist])
@each("metric", [None, StandardScaler().set_output(transform="pandas")])
def test_frames_and_lists(convert, metric):
    rows = convert(random_rows(30))
    if metric is not None:
        metric.fit(rows)
    distances, ids = NeighborIndex(metric).fit(rows).query(rows, 2)
    assert_array_equal(ids[:, 0], np.arange(30))
    assert not distances[:, 0].any()


def test_the_index_does_not_change_with_the_callers_array():
    X = random_rows(9)
    copy = X.copy()
    for metric in (None, FunctionTransformer().fit(X)):
        index = NeighborIndex(metric).fit(X)
        X[:] = 0
        assert_array_equal(index.vectors, copy)
        X[:] = copy
    with pytest.raises(ValueError, match="read-only"):
        index.vectors[0] = 1


# ---- adding


@given(st.lists(st.integers(1, 12), min_size=1, max_size=5), st.booleans())
def test_adding_in_pieces_is_adding_at_once(sizes, named):
    Z = random_rows(sum(sizes), dtype=np.float32)
    names = [f"row {i}" for i in range(len(Z))] if named else None
    whole = NeighborIndex(n_neighbors=1).add(Z, ids=names)
    pieces, start = NeighborIndex(n_neighbors=1), 0
    for size in sizes:
        part = slice(start, start + size)
        pieces.add(Z[part], ids=names and names[part])
        pieces.query(Z[:1])
        start += size
    assert_array_equal(pieces.vectors, whole.vectors)
    assert_array_equal(pieces.ids, whole.ids)
    for one, other in zip(pieces.query(Z, 1), whole.query(Z, 1), strict=True):
        assert_array_equal(one, other)
    refitted = pieces.fit(random_rows(3, 2), ids=[7, 8, 9])  # forgets what was there
    assert len(refitted) == 3
    assert refitted.query([[0.0, 0.0]], 3)[1].shape == (1, 3)


def test_ids_of_all_sorts():
    small, nullable = np.array([3, 1], dtype=np.uint8), pd.Series([5, 6], dtype="Int64")
    words = pl.Series(["x", "y"]), np.array(["x", "yy"]), {"a": 1, "b": 2}.keys()
    for ids in (small, nullable, [-1, 2**62], *words):
        assert NeighborIndex().add([[0.0], [1.0]], ids=ids).ids.tolist() == list(ids)


# ---- approximate search


def test_approximate_search_finds_what_it_aims_at():
    X, Q = random_rows(3000, 8, dtype=np.float32), random_rows(300, 8, seed=1, dtype=np.float32)
    index, again = (
        NeighborIndex(search="approximate", random_state=0, target_recall=0.95).fit(X)
        for _ in range(2)
    )
    distances, ids = index.query(Q)
    for one, other in zip((distances, ids), again.query(Q), strict=True):
        assert_array_equal(one, other)
    expected, _ = nearest_plainly(X, Q, 10)
    assert 0.92 < np.mean(distances <= expected[:, -1:] * (1 + 1e-6)) < 1
    assert 0.92 < index.recall(500) < 1
    assert 1 < index._cells.n_probes(10) < index._cells.n_probes(100) <= index._cells.n_cells
    assert 0.92 < index.recall(200, 100) < 1


def test_few_rows_and_rows_without_structure_are_searched_exactly(monkeypatch):
    index = NeighborIndex(search="approximate", random_state=0).fit(random_rows(500, 60))
    assert index.recall(100) == 1
    assert 2 * index._cells.n_probes(10) > index._cells.n_cells
    for n, k in ((50, 5), (1, 1)):
        assert NeighborIndex(search="exact").fit(random_rows(n)).recall(20, k) == 1.0
    index = NeighborIndex(random_state=0).fit(random_rows(40))
    index.query(random_rows(1))
    assert index._cells is None
    monkeypatch.setattr(neighbor_index, "_MANY_ROWS", 40)
    index.query(random_rows(1))
    assert index._cells is not None


def test_rows_added_after_the_cells_are_found():
    X = random_rows(400, 2, dtype=np.float32)
    index = NeighborIndex(search="approximate", target_recall=0.9, random_state=0).fit(X[:380])
    index.query(X[:1])
    cells = index._cells
    assert 2 * cells.n_probes(10) < cells.n_cells
    index.add(X[380:390])
    assert_array_equal(index.query(X[:390], 1)[1][:, 0], np.arange(390))
    assert index._cells is cells
    index.add(X[390:])
    index.add(X[:1] + 1)
    assert_array_equal(index.query(X, 1)[1][:, 0], np.arange(400))
    index.add(X[:10] + 2).query(X[:1])
    assert index._cells.n_rows == 411


def test_cells_of_rows_in_few_places_and_groups_by_them():
    Z = np.repeat(random_rows(3), 100, axis=0)
    index = NeighborIndex(search="approximate", random_state=0).fit(Z)
    distances, ids = index.query(Z[[0, 100, 200]], 10)
    assert 2 * index._cells.n_probes(10) < index._cells.n_cells
    assert not distances.any()
    assert_array_equal(ids // 100, np.repeat([[0], [1], [2]], 10, axis=1))
    assert index.query(Z[:1], 300)[1].shape == (1, 300)  # more than the nearest cell holds
    assert [len(group) for group in index.duplicates(0.1)] == [100, 100, 100]
    cells = CellIndex(np.array([[0.0], [1.0]]), 0.98, np.random.RandomState(0))
    assert (cells.n_cells, cells.n_probes(1), cells.n_probes(2)) == (1, 1, 1)
    index = NeighborIndex(search="approximate", n_neighbors=1).fit([[3.0]])
    assert index.query([[1.0]])[0] == [[2.0]]
    Z = np.concatenate([random_rows(50, seed=i) * 0.1 + 5 * i for i in range(8)])
    index = NeighborIndex(search="approximate", random_state=0).fit(Z)
    assert_array_equal(index.group_labels(1.0), groups_within(Z, 1.0))


# ---- files


@each_dtype
@each("order", ["C", "F"])
@each("ids", [None, [3, -1, 2**60, 0, 5], ["", "é", "日本", "a\0b", "long " * 50]])
def test_save_and_load_give_the_same_to_the_last_bit(dtype, order, ids, tmp_path):
    X = np.array(random_rows(5, dtype=dtype), order=order)
    index = NeighborIndex(search="exact", n_neighbors=2, target_recall=0.5, random_state=3)
    index.add(X, ids=ids).save(tmp_path / "rows.index")
    loaded = NeighborIndex.load(tmp_path / "rows.index")
    assert loaded.get_params() == index.get_params()
    assert loaded.vectors.dtype == dtype
    assert loaded.vectors.tobytes() == index.vectors.tobytes()
    assert loaded.ids.tolist() == index.ids.tolist()
    assert loaded.threshold_ is None
    assert [path.name for path in tmp_path.iterdir()] == ["rows.index"]


def test_a_loaded_index_takes_the_metric_or_embedded_rows(learned, tmp_path):
    X, metric = learned
    index = NeighborIndex(metric).fit(X)
    index.save(tmp_path / "rows.index")
    bare = NeighborIndex.load(tmp_path / "rows.index")
    whole = NeighborIndex.load(tmp_path / "rows.index", metric=metric)
    assert bare.threshold_ == whole.threshold_ == metric.threshold_
    for other in (whole.query(X), bare.query(metric.transform(X))):
        for one, two in zip(index.query(X), other, strict=True):
            assert_array_equal(one, two)
    assert len(bare.duplicates(0.05)) == len(index.duplicates(0.05)) > 0
    with pytest.raises(ValueError, match=r"X_new has 2 columns.*load\(metric=\.\.\.\)"):
        bare.query(X)


def test_another_metric_is_refused(learned, tmp_path):
    X, metric = learned
    NeighborIndex(metric).fit(X).save(tmp_path / "rows.index")
    flat = Euclidean().fit(X, pairs=Pairs([(0, 1)]))
    with pytest.raises(ValueError, match="vectors with 2 columns, but those stored have"):
        NeighborIndex.load(tmp_path / "rows.index", metric=flat)
    NeighborIndex(flat).fit(X).save(tmp_path / "rows.index")
    again = Euclidean().fit(X, pairs=Pairs([(0, 2)]))
    with pytest.raises(ValueError, match=r"threshold_ .* is stored: it is not the metric"):
        NeighborIndex.load(tmp_path / "rows.index", metric=again)
    with pytest.raises(NotFittedError, match="RCA is not fitted"):
        NeighborIndex.load(tmp_path / "rows.index", metric=RCA())


@each("ids", [None, ["a", "bc", "d", "e"]])
def test_damaged_files_are_refused(ids, tmp_path):
    path = tmp_path / "rows.index"
    index = NeighborIndex(random_state=1).add(random_rows(4), ids=ids)
    index.save(path)
    content = path.read_bytes()
    rng, n_loaded = np.random.default_rng(0), 0
    for turn in range(300):
        changed = bytearray(content)
        changed[rng.integers(len(content))] ^= 1 << rng.integers(8)
        if turn % 10 == 0:
            changed = changed[: rng.integers(len(content))]
        path.write_bytes(bytes(changed))
        try:
            loaded = NeighborIndex.load(path)
        except StorageError:
            continue
        n_loaded += 1
        assert loaded.vectors.tobytes() == index.vectors.tobytes()
        assert loaded.ids.tolist() == index.ids.tolist()
        assert loaded.get_params() == index.get_params()
    assert n_loaded < 30


GOOD = {
    "search": "exact",
    "n_neighbors": 2,
    "target_recall": 0.9,
    **dict.fromkeys(("random_state", "threshold", "same_distance")),
}
ROWS, IDS = np.eye(2), np.arange(2)


def packed(ends, byte=65):
    """Ids as texts that end where that is said."""
    size = len(ends) if byte == 255 else 9
    return {"vectors": ROWS, "id_bytes": np.full(size, byte, np.uint8), "id_ends": np.array(ends)}


@each(
    ("arrays", "changes", "message"),
    [
        ({"ids": IDS}, {}, "no matrix of float32"),
        ({"vectors": IDS[:, None], "ids": IDS}, {}, "no matrix of float32"),
        ({"vectors": ROWS[0], "ids": IDS}, {}, "no matrix"),
        ({"vectors": ROWS * np.nan, "ids": IDS}, {}, "not all finite"),
        ({"vectors": ROWS + 1e300, "ids": IDS}, {}, "square overflows"),
        ({"vectors": ROWS, "ids": np.arange(3)}, {}, "one id for each of 2 vectors"),
        ({"vectors": ROWS, "ids": IDS.astype(np.int32)}, {}, "one id for each"),
        ({"vectors": ROWS, "ids": IDS * 0}, {}, "ids must differ"),
        ({"vectors": ROWS, "ids": IDS}, {"search": "fast"}, "'search' parameter"),
        ({"vectors": ROWS, "ids": IDS}, {"threshold": "near"}, "could not convert"),
        ({"vectors": ROWS[:, :0], "ids": IDS}, {}, "no matrix"),
        ({"vectors": ROWS[:0], "ids": IDS[:0]}, {}, "no matrix"),
        (packed([1, 2], byte=255), {}, "one id for each"),
        # Texts that overlap, go backwards, or leave some of the bytes out.
        (packed([9, 0]), {}, "one id for each"),
        (packed([9, 3]), {}, "one id for each"),
        (packed([-1, 9]), {}, "one id for each"),
        (packed([1, 2]), {}, "one id for each"),
        (packed([-(2**63), 9]), {}, "one id for each"),
        (packed([0, 2**40]), {}, "one id for each"),
    ],
)
def test_files_of_other_content_are_refused(arrays, changes, message, tmp_path):
    write_arrays(tmp_path / "x", KIND, VERSION, arrays, GOOD | changes)
    with pytest.raises(StorageError, match=r"was not loaded: .*" + message):
        NeighborIndex.load(tmp_path / "x")


def test_other_files_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError):
        NeighborIndex.load(tmp_path / "none")
    for content in (b"", b"some text that is no index", bytes(100)):
        (tmp_path / "x").write_bytes(content)
        with pytest.raises(StorageError):
            NeighborIndex.load(tmp_path / "x")
    Euclidean().fit([[0.0], [1.0]], pairs=Pairs([(0, 1)])).save(tmp_path / "x")
    with pytest.raises(StorageError, match="nearkin index"):
        NeighborIndex.load(tmp_path / "x")


@each("ids", [None, ["a", "b", "c"]])
def test_export(ids, tmp_path, monkeypatch):
    index = NeighborIndex().add(random_rows(3, dtype=np.float32), ids=ids)
    index.export(tmp_path / "rows.npy")
    assert_array_equal(np.load(tmp_path / "rows.npy"), index.vectors)
    index.export(tmp_path / "rows.parquet")
    for read in (pd.read_parquet, pl.read_parquet):
        frame = read(tmp_path / "rows.parquet")
        assert list(frame["id"]) == index.ids.tolist()
        assert_array_equal(np.stack(list(map(np.asarray, frame["vector"]))), index.vectors)
    with pytest.raises(ValueError, match=r"must end in \.npy or \.parquet"):
        index.export(tmp_path / "rows.csv")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"nearkin\[parquet\]"):
        index.export(tmp_path / "x.parquet")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["rows.npy", "rows.parquet"]


# ---- errors


def test_nothing_can_be_asked_before_there_are_rows_and_no_more_than_there_is():
    asked = {"query": ([[1.0]],), "query_radius": ([[1.0]], 1), "duplicates": (1,), "recall": ()}
    asked |= {"save": ("x",), "export": ("x.npy",), "__getattribute__": ("vectors",)}
    for name, given_to_it in asked.items():
        with pytest.raises(NotFittedError, match=r"holds no rows yet: call fit\(X\) or add\(X\)"):
            getattr(NeighborIndex(), name)(*given_to_it)
    index = NeighborIndex().fit(random_rows(4))
    with pytest.warns(UserWarning, match="n_neighbors=10, but the index holds only 4 rows"):
        assert index.query(random_rows(2))[1].shape == (2, 4)


NAN, HUGE = [[1.0], [np.nan]], [[1.0], [1e200]]
OF_ONE = partial(NeighborIndex().fit, [[0.0]])


@each(
    ("ask", "error", "message"),
    [
        (lambda i: i.query([[1.0, 2.0]], 1), ValueError, "X_new has 2 columns, .* index have 1"),
        (lambda i: i.add([[1.0, 2.0]]), ValueError, "X has 2 columns"),
        (lambda i: i.query(np.empty((0, 1)), 1), ValueError, "X_new has no rows"),
        (lambda i: i.query(NAN, 1), ValueError, "X_new contains NaN in row 1, column 0"),
        (lambda i: i.add(HUGE), ValueError, "column 0 of X reaches .*, whose square overflows"),
        (lambda i: i.query([1.0], 1), ValueError, "Expected 2D array"),
        (lambda i: i.query([[1.0]], 0), ValueError, "n_neighbors must be 1 or more, not 0"),
        (lambda i: i.query([[1.0]], 1.5), TypeError, "n_neighbors must be an integer"),
        (lambda i: i.query_radius([[1.0]]), ValueError, "radius is needed"),
        (lambda i: i.query_radius([[1.0]], -1), ValueError, "radius must be finite and not neg"),
        (lambda i: i.duplicates(np.inf), ValueError, "radius must be finite"),
        (lambda i: i.duplicates("near"), TypeError, "radius must be a number"),
        (lambda i: i.add([[1.0]], ids=[1, 2]), ValueError, r"shape \(2,\): .* each of 1 rows"),
        (lambda i: i.add([[1.0]], ids=[1]), ValueError, r"ids\[0\] is 1, which the index holds"),
        (lambda i: i.add([[1.0], [2.0]], ids=[7, 7]), ValueError, "7 is both row 0 and 1"),
        (lambda i: i.add([[1.0]], ids=["a"]), TypeError, "must be integers, as those of earlier"),
        (lambda i: i.add([[1.0], [2.0]], ids=[7, "a"]), TypeError, r"ids\[1\] is 'a'"),
        (lambda i: i.add([[1.0], [2.0]], ids=[7, True]), TypeError, r"ids\[1\] is True"),
        (lambda i: i.add([[1.0]], ids=[1.5]), TypeError, r"ids\[0\] is 1.5"),
        (lambda i: i.add([[1.0]], ids=[2**63]), ValueError, "64 bits"),
        (lambda i: i.recall(0), ValueError, "n_sample must be 1 or more"),
        (
            lambda i: OF_ONE(ids=[1]).add([[1.0]]),
            ValueError,
            r"ids\[0\] is 1, .* row numbers, count",
        ),
        (lambda i: OF_ONE(ids=["a"]).add([[1.0]]), ValueError, "ids are needed: .* are strings"),
    ],
)
def test_errors_say_what_is_wrong(ask, error, message):
    index = NeighborIndex(n_neighbors=2).add([[0.0], [1.0], [2.0]])
    with pytest.raises(error, match=message):
        ask(index)
    # Nothing is half done.
    assert index.add([[3.0]]).ids.tolist() == [0, 1, 2, 3]


@each(
    ("parameters", "error", "message"),
    [
        ({"search": "fast"}, ValueError, "'search' parameter"),
        ({"n_neighbors": 0}, ValueError, "'n_neighbors' parameter"),
        ({"target_recall": 0.0}, ValueError, "'target_recall' parameter"),
        ({"metric": RCA()}, NotFittedError, "RCA is not fitted, so it knows no distances yet"),
        ({"metric": RCA}, TypeError, "must be None or a fitted learner"),
        ({"metric": "euclidean"}, TypeError, "must be None or a fitted learner"),
        ({"random_state": np.random.RandomState(0)}, ValueError, "to be an int or None"),
    ],
)
def test_parameters_are_checked(parameters, error, message, tmp_path):
    with pytest.raises(error, match=message):
        NeighborIndex(**parameters).fit([[0.0]]).save(tmp_path / "x")


@each("use", ["query", "query_radius", "add", "duplicates", "radius_for"])
def test_a_metric_that_was_fitted_again_is_refused(use):
    X, y = make_xor(60, random_state=0)
    metric = ITML(random_state=0).fit(X, y)
    index = NeighborIndex(metric).fit(X)
    metric.calibrate(X, y)  # distances stay
    call = getattr(index, use)
    given = () if use in ("duplicates", "radius_for") else (X,)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        call(*given)
    metric.fit(3 * X, 1 - y)
    with pytest.raises(ValueError, match=r"metric was fitted again.*Make a new index"):
        call(*given)


def test_a_metric_is_asked_again_only_after_it_was_fitted():
    X, y = make_xor(60, random_state=0)
    metric = ITML(random_state=0).fit(X, y)
    index = NeighborIndex(metric).fit(X)
    metric.fit(X, y)  # to the same
    assert index.query(X[:1], 1)[1] == [[0]]
    index._witnesses = (index._witnesses[0], index._witnesses[1] + 1)
    index.query(X[:1], 1)
    metric.fit(X, y)
    with pytest.raises(ValueError, match="metric was fitted again"):
        index.query(X[:1], 1)


@each("bad", [np.nan, np.inf, 1e200])
@each("n", [1, 30_000])
def test_one_row_is_checked_as_many_are(bad, n):
    X = np.zeros((n, 2))
    X[-1, 1] = bad
    with pytest.raises(ValueError, match=r"X_new contains|square overflows|too large"):
        NeighborIndex().fit([[0.0, 1.0], [2.0, 3.0]]).query(X, 1)


def test_queries_on_a_device():
    pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 4)).astype(np.float32)
    X[7] = X[3]
    there = NeighborIndex(device="cpu", search="approximate").fit(X[:200]).add(X[200:])
    expected = NeighborIndex(search="exact").fit(X).query(X[:50], 5)
    for index in (there, pickle.loads(pickle.dumps(there))):
        found = index.query(X[:50], 5)
        assert_allclose(found[0], expected[0], rtol=1e-6)
        assert_array_equal(found[1], expected[1])
    assert there.recall() == 1
    with pytest.raises(InputError, match="needs dense vectors"):
        NeighborIndex(device="cpu").fit(sp.csr_array(X)).query(X[:2])
    with pytest.raises(InputError, match="not known"):
        NeighborIndex(device="mars").fit(X).query(X[:2])
