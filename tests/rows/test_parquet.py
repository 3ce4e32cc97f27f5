"""Parquet files as rows, and rows written to files."""

import os
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from nearkin import ITML, Euclidean, Pairs, open_rows
from nearkin.rows.parquet import ParquetFiles
from nearkin.rows.validation import BLOCK_ROWS
from tests.cases import each

X = np.random.default_rng(0).normal(size=(100, 3))
IDS = [f"row-{i}" for i in range(100)]


def table(rows=X, **more):
    return pa.table({name: rows[:, j] for j, name in enumerate("abc")} | more)


def with_one(value):
    return [*np.ones(77), value, *np.ones(22)]


def written(folder, content, row_group_size=30, name="rows.parquet"):
    pq.write_table(content, folder / name, row_group_size=row_group_size)
    return folder / name


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def metric():
    return ITML(n_components=2, random_state=0).fit(X, pairs=Pairs([(0, 1)], [(2, 3)]))


# Read


def test_columns_are_used_in_the_order_asked_for(tmp_path):
    path = written(tmp_path, table(id=IDS))
    rows = open_rows(path, columns=["c", "a"])
    assert rows.names == ["c", "a"]
    assert np.array_equal(rows.to_numpy(), X[:, [2, 0]])
    assert open_rows(str(path), carry=["id"]).names == ["a", "b", "c"]


@each("name", [None, "number"])
def test_the_index_of_a_data_frame_is_no_feature(name, tmp_path):
    frame = pd.DataFrame(X, columns=list("abc"), index=pd.Index(range(7, 307, 3), name=name))
    frame.to_parquet(tmp_path / "frame.parquet")
    rows = open_rows(tmp_path / "frame.parquet")
    assert rows.names == ["a", "b", "c"]
    assert np.array_equal(rows.to_numpy(), X)
    frame[frame["a"] > 0].to_parquet(tmp_path / "some.parquet")  # not a range any more
    some = open_rows(tmp_path / "some.parquet")
    assert np.array_equal(some.to_numpy(), X[X[:, 0] > 0])
    index = name or "__index_level_0__"
    assert open_rows(tmp_path / "some.parquet", columns=["a", index]).names == ["a", index]


def test_other_numbers_are_floats(tmp_path):
    whole = pa.table({"i": pa.array([1, 2], pa.int32()), "b": [True, False], "f": [0.5, 1.5]})
    rows = open_rows(written(tmp_path, whole))
    assert rows.dtype == np.float64
    assert rows.to_numpy().tolist() == [[1, 1, 0.5], [2, 0, 1.5]]


@each("types", [("f4", "f4"), ("f4", "f8")])
def test_one_column_in_float64_makes_all_so(types, tmp_path):
    columns = {f"x{i}": np.ones(5, dtype=kind) for i, kind in enumerate(types)}
    rows = open_rows(written(tmp_path, pa.table(columns)))
    assert rows.dtype == max(map(np.dtype, types))


@each("kind", ["fixed", "list", "large"])
def test_vectors(kind, tmp_path):
    if kind == "fixed":
        column = pa.FixedSizeListArray.from_arrays(X.ravel(), 3)
    else:
        list_type = pa.list_ if kind == "list" else pa.large_list
        column = pa.array(X.tolist(), list_type(pa.float64()))
    rows = open_rows(written(tmp_path, pa.table({"id": IDS, "v": column})), columns=["v"])
    assert rows.names is None
    assert np.array_equal(rows.to_numpy(), X)
    assert np.array_equal(rows.take(np.array([70, 2])), X[[70, 2]])


def test_only_row_groups_with_wanted_rows_are_read(tmp_path):
    files = ParquetFiles(written(tmp_path, table()), None, ())
    starts = [block.start for block in files.read(np.array([31, 95]))]
    assert starts == [30, 90]
    assert [block.start for block in files.read()] == [0, 30, 60, 90]


def test_large_row_groups_are_read_in_blocks(tmp_path):
    n = BLOCK_ROWS + 10
    path = written(tmp_path, pa.table({"a": np.arange(n, dtype=float)}), row_group_size=n)
    rows = open_rows(path)
    assert [len(block) for block in rows] == [BLOCK_ROWS, 10]
    assert rows.take(np.array([n - 1, 0])).ravel().tolist() == [n - 1, 0]


def test_empty_files_and_row_groups_are_no_harm(tmp_path):
    for name, part in (("a", table()[:0]), ("b", table()[:60]), ("c", table()[60:])):
        written(tmp_path, part, name=f"{name}.parquet")
    assert np.array_equal(open_rows(tmp_path).to_numpy(), X)


def test_partitions_of_a_dataset_can_be_carried(tmp_path):
    source = table(day=["mon"] * 50 + ["tue"] * 50)
    ds.write_dataset(source, tmp_path / "days", format="parquet", partitioning=["day"])
    days = ds.dataset(tmp_path / "days", format="parquet", partitioning=["day"])
    path = open_rows(days, carry=["day"]).write(tmp_path / "out.parquet")
    assert pq.read_table(path)["day"].to_pylist() == ["mon"] * 50 + ["tue"] * 50


# What cannot be read


def test_text_is_refused_with_the_remedy(tmp_path):
    path = written(tmp_path, table(id=IDS, when=pd.date_range("2020", periods=100)))
    with pytest.raises(TypeError, match=r"not numbers: 'id' \(string\), 'when' .*carry=\[...\]"):
        open_rows(path)
    with pytest.raises(TypeError, match=r"'id' \(string\)"):
        open_rows(path, columns=["a", "id"])


@each(
    ("content", "message"),
    [
        (pa.table({f"t{i}": ["x"] for i in range(9)}), "and 4 more"),
        (pa.table({"a": X[:, 0].astype(np.float16)}), "column 'a' of .* float16.*give float32"),
        (pa.table({"v": [["a"]]}), "column 'v' of .* holds vectors of string, not of numbers"),
        (pa.table({"v": [[1.0]], "a": [1.0]}), "one column of vectors is used alone"),
        (pa.table({"v": [None, [1.0, 2.0]]}), "column 'v' of .* has no vector in row 0"),
        (pa.table({"v": [[], [1.0, 2.0]]}), "column 'v' of .* has no vector in row 0"),
        (pa.table([[1.0], [2.0]], names=["a", "a"]), "read as Parquet: .*duplicate field names"),
        (table()[:0], r"rows\.parquet has no rows"),
    ],
)
def test_columns_that_are_no_features_are_refused(content, message, tmp_path):
    with pytest.raises((TypeError, ValueError), match=message):
        open_rows(written(tmp_path, content))


@each(
    ("content", "place"),
    [
        (table(d=with_one(np.nan)), r"row 77, column 'd' of .*rows\.parquet is nan: fill"),
        (table(d=with_one(np.inf)), r"row 77, column 'd' of .*rows\.parquet is inf: fill"),
        (table(d=pa.array(with_one(None))), r"row 77, column 'd' of .* is null: fill or drop"),
        (
            pa.table({"v": [[1.0, 2.0]] * 77 + [[1.0]]}),
            "row 77, column 'v' of .* has 1 numbers, but",
        ),
    ],
)
def test_the_place_of_a_missing_number_is_named(content, place, tmp_path):
    rows = open_rows(written(tmp_path, content))
    with pytest.raises(ValueError, match=place):
        rows.to_numpy()
    with pytest.raises(ValueError, match=place):
        Euclidean().fit(rows, pairs=Pairs([(0, 77)]))


@each("kind", ["list", "fixed"])
def test_nulls_in_vectors_are_refused(kind, tmp_path):
    def rows_of(vectors):
        length = 2 if kind == "fixed" else -1
        column = pa.array(vectors, pa.list_(pa.float64(), length))
        try:
            return open_rows(written(tmp_path, pa.table({"v": column})))
        except pa.ArrowNotImplementedError as error:  # of pyarrow 17
            pytest.skip(f"cannot be written: {error}")

    with pytest.raises(ValueError, match=r"row 1, column 'v' of .* has a null in its vector"):
        rows_of([[1.0, 2.0], [3.0, None]]).to_numpy()
    with pytest.raises(ValueError, match=r"row 1, column 'v' of .* is null"):
        rows_of([[1.0, 2.0], None, [3.0, 4.0]]).to_numpy()


@each(
    ("choice", "message"),
    [
        ({"columns": ["a", "z"]}, "has no column 'z': it has 'a', 'b', 'c', 'id'"),
        ({"carry": ["z"]}, "has no column 'z'"),
        ({"columns": ["a", "a"]}, "column 'a' is named twice"),
        ({"carry": ["id", "id"]}, "column 'id' is named twice"),
        ({"columns": []}, "no columns of .* are left to use"),
        ({"carry": ["a", "b", "c", "id"]}, "no columns of .* are left to use"),
        ({"columns": "a"}, r"columns='a' must be a list of names: \['a'\]"),
        ({"carry": "id"}, r"carry='id' must be a list of names: \['id'\]"),
    ],
)
def test_wrong_names_are_refused(choice, message, tmp_path):
    path = written(tmp_path, table(id=IDS))
    with pytest.raises((TypeError, ValueError), match=message):
        open_rows(path, **choice)


@each("content", [b"", b"PAR1" * 10, b"a,b\n1,2\n"])
def test_a_file_that_is_no_parquet_is_refused(content, tmp_path):
    for name in ("bad.parquet", "rows.csv"):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ValueError, match=f"{name} cannot be read as Parquet"):
            open_rows(tmp_path / name)


def test_datasets_of_other_kinds_are_refused(tmp_path):
    with pytest.raises(ValueError, match="has no Parquet files"):
        open_rows(tmp_path)
    path = written(tmp_path, table())
    with pytest.raises(TypeError, match="rows cannot be opened from Table of pyarrow"):
        open_rows(table())
    with pytest.raises(TypeError, match="rows cannot be opened from InMemoryDataset of pyarrow"):
        open_rows(ds.dataset(table()))
    with pytest.raises(ValueError, match=r"the dataset is filtered or projected.*write what is"):
        open_rows(ds.dataset(path).filter(ds.field("a") > 0))
    pyarrow.csv.write_csv(table(), tmp_path / "rows.csv")
    with pytest.raises(TypeError, match="the dataset is of csv files: give one of Parquet files"):
        open_rows(ds.dataset(tmp_path / "rows.csv", format="csv"))


def test_files_of_a_folder_have_the_columns_of_the_first_and_their_types(tmp_path):
    written(tmp_path, table(), name="1.parquet")
    written(tmp_path, table().select(["a", "b"]), name="2.parquet")
    with pytest.raises(ValueError, match=r"row 100, column 'c' of .* is null"):
        open_rows(tmp_path).to_numpy()
    written(tmp_path, pa.table({"a": np.float32([1, 2])}), name="2.parquet")
    with pytest.raises(TypeError, match=r"'a' is float in .*2\.parquet, but double in other"):
        open_rows(tmp_path)


@each("change", ["other numbers", "fewer rows", "gone"])
def test_a_file_that_changes_between_passes_is_refused(change, tmp_path):
    path = written(tmp_path, table())
    rows = open_rows(path)
    assert len(rows.to_numpy()) == 100
    if change == "gone":
        path.unlink()
    else:
        written(tmp_path, table(X + 1 if change == "other numbers" else X[:50]))
        os.utime(path, ns=(0, 0))
    for read in (rows.to_numpy, rows.moments, lambda: rows.take(np.array([5]))):
        with pytest.raises(ValueError, match=r"rows\.parquet has changed since it was opened"):
            read()


def test_without_pyarrow_the_remedy_is_named(monkeypatch, tmp_path):
    path = written(tmp_path, table())
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"pip install 'nearkin\[parquet\]'"):
        open_rows(path)


# Written


def test_parquet_can_be_read_by_others(tmp_path, metric):
    path = written(tmp_path, table(id=IDS, price=pa.array([None, 2] * 50)))
    rows = open_rows(path, columns=["a", "b", "c"], carry=["price", "id"])
    out = metric.transform(rows).write(tmp_path / "z.parquet")
    assert out == tmp_path / "z.parquet"
    expected = metric.transform(X)
    names = ["price", "id", "itml0", "itml1"]
    for frame in (pd.read_parquet(out), pl.read_parquet(out), pq.read_table(out).to_pandas()):
        assert list(frame.columns) == names
        assert list(frame["id"]) == IDS
        found = np.column_stack([frame["itml0"], frame["itml1"]])
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert pq.read_table(out)["price"].null_count == 50


@each("suffix", [".parquet", ".npy"])
def test_what_is_written_can_be_opened(suffix, tmp_path):
    path = open_rows(np.split(X, [1, 50])).write(tmp_path / f"copy{suffix}")
    again = open_rows(path)
    assert np.array_equal(again.to_numpy(), X)
    assert again.names == (["x0", "x1", "x2"] if suffix == ".parquet" else None)


def test_small_blocks_share_row_groups(tmp_path):
    n = BLOCK_ROWS // 8
    blocks = [np.full((n, 1), float(i)) for i in range(20)]
    out = open_rows(blocks).write(tmp_path / "z.parquet")
    assert pq.read_metadata(out).num_row_groups == 3
    assert np.array_equal(open_rows(out).to_numpy(), np.concatenate(blocks))


def test_a_column_may_be_used_and_carried(tmp_path, metric):
    rows = open_rows(written(tmp_path, table()), columns=["a", "b", "c"], carry=["b"])
    out = metric.transform(rows).write(tmp_path / "z.parquet")
    assert pq.read_table(out).column_names == ["b", "itml0", "itml1"]
    assert np.array_equal(pq.read_table(out)["b"], X[:, 1])


def test_the_file_that_is_read_can_be_written_over(tmp_path, metric):
    path = written(tmp_path, table())
    rows = open_rows(path)
    metric.transform(rows).write(path)
    np.testing.assert_allclose(open_rows(path).to_numpy(), metric.transform(X), rtol=1e-12)
    with pytest.raises(ValueError, match="has changed"):
        rows.to_numpy()


def test_progress_is_shown_if_asked_for(tmp_path, capsys):
    open_rows(np.split(X, 4)).write(tmp_path / "z.npy")
    assert capsys.readouterr().err == ""
    open_rows(np.split(X, 4)).write(tmp_path / "z.npy", verbose=True)
    shown = capsys.readouterr().err
    assert "writing z.npy" in shown
    assert "75/100" in shown


def test_a_clash_of_names_is_refused(tmp_path, metric):
    rows = open_rows(written(tmp_path, table(itml1=IDS)), carry=["itml1"])
    with pytest.raises(ValueError, match="carried column has the name of a new one, 'itml1'"):
        metric.transform(rows).write(tmp_path / "z.parquet")
    assert names_in(tmp_path) == ["rows.parquet"]


@each("name", ["z.csv", "z", "z.parquet.gz", "z.npz"])
def test_other_endings_are_refused(name, tmp_path):
    with pytest.raises(ValueError, match=rf"must end in \.parquet or \.npy, got '.*{name}'"):
        open_rows([X]).write(tmp_path / name)
    assert names_in(tmp_path) == []


@each("error", [ValueError("broken"), KeyboardInterrupt(), MemoryError()])
@each("suffix", [".parquet", ".npy"])
@each("old", [None, b"old"])
def test_after_an_error_nothing_is_there_but_what_was(error, suffix, old, tmp_path):
    passes = []

    def blocks():
        yield X[:40]
        if passes:
            raise error
        passes.append(1)
        yield X[40:]

    path = tmp_path / f"z{suffix}"
    if old is not None:
        path.write_bytes(old)
    with pytest.raises(type(error)):
        open_rows(blocks).write(path)
    assert names_in(tmp_path) == ([] if old is None else [path.name])
    assert old is None or path.read_bytes() == old
