import os

import numpy as np
import pandas as pd
import pytest

from nearkin import RCA, Euclidean, Pairs, open_rows
from nearkin.rows.streams import RowStream
from nearkin.rows.validation import BLOCK_ROWS
from tests.cases import each

X = np.random.default_rng(0).normal(size=(50, 3))


def with_one(value, row=7, column=2, dtype=float):
    rows = X.astype(dtype)
    rows[row, column] = value
    return rows


def no_rows():
    yield from ()


# What can be opened


@each("dtype", [np.float64, np.float32, np.int32, np.uint8, bool, ">f4", "g"])
def test_numbers_of_all_types_are_floats(dtype):
    given = (10 * X).astype(dtype)
    for rows in (open_rows(given), open_rows([given])):
        assert rows.dtype == (np.float32 if dtype == np.float32 else np.float64)
        assert all(block.dtype == rows.dtype for block in rows)
        assert np.array_equal(rows.to_numpy(), given.astype(rows.dtype))


def test_arrays_are_cut_into_blocks():
    long = np.arange(2.0 * BLOCK_ROWS + 6).reshape(-1, 2)
    assert [len(block) for block in open_rows(long)] == [BLOCK_ROWS, 3]
    wide = np.zeros((3000, 4000), dtype=np.float32)
    assert [len(block) for block in open_rows(wide)] == [2097, 903]  # of 32 MB


@each("order", ["C", "F"])
def test_arrays_of_either_order(order, tmp_path):
    np.save(tmp_path / "X.npy", np.asarray(X, order=order))
    rows = open_rows(tmp_path / "X.npy")
    assert np.array_equal(rows.to_numpy(), X)
    assert np.array_equal(rows.take(np.array([3, 1])), X[[3, 1]])


def test_rows_of_an_array_are_taken_without_reading_all():
    class Watched(np.ndarray):
        def __getitem__(self, key):
            read.append(key)
            return super().__getitem__(key)

    read = []
    rows = open_rows(X.view(Watched))
    assert np.array_equal(rows.take(np.array([40, 3])), X[[40, 3]])
    assert read == [slice(3, 4), slice(40, 41)]


def test_iterables_that_start_again_are_read_again():
    class Blocks:
        def __iter__(self):
            return iter([pd.DataFrame(X[:10]), X[10:20].tolist(), X[20:]])

    rows = open_rows(Blocks())
    for _ in range(2):
        assert np.array_equal(rows.to_numpy(), X)


def test_empty_blocks_are_left_out():
    blocks = [X[:0], X[:20], X[:0], X[20:], X[:0]]
    assert [len(block) for block in open_rows(blocks)] == [20, 30]
    assert [len(block) for block in open_rows(iter(blocks))] == [20, 30]


def test_what_is_open_already_stays_as_it_is():
    rows = open_rows([X])
    assert open_rows(rows) is rows
    with pytest.raises(ValueError, match="columns and carry choose columns of Parquet files only"):
        open_rows(rows, columns=["a"])


def test_a_stream_says_what_it_is(tmp_path):
    assert repr(open_rows([X])) == "<RowStream of 50 × 3 float64 from the list of blocks>"
    np.save(tmp_path / "X.npy", X)
    assert "X.npy" in repr(open_rows(tmp_path / "X.npy"))
    assert len(open_rows([X])) == 50


# What cannot


@each(
    ("source", "message"),
    [
        ([X, X[:, :2]], "block 1 of the list of blocks has 2 columns, but those before have 3"),
        ([X, X.astype("f4")], "block 1 .* is of type float32, but those before are float64"),
        ([X[0]], r"block 0 of the list of blocks has shape \(3,\): blocks are arrays of shape"),
        ([X[None]], r"has shape \(1, 50, 3\)"),
        ([X[:, :0]], r"has shape \(50, 0\)"),
        ([], "the list of blocks has no rows"),
        ([X[:0]], "the list of blocks has no rows"),
        (iter([]), "the iterator of blocks has no rows"),
        (no_rows, "the blocks that the function gives has no rows"),
        (X[:0], "the array has no rows"),
        (X[0], r"the array must have shape \(n, d\), got \(3,\)"),
        (X[:, :0], "the array must have shape"),
        ([X.astype("f2")], "block 0 .* float16, which is too coarse for distances: give float32"),
        (X.astype("f2"), "the array is of type float16"),
        ([X.astype(str)], "block 0 of the list of blocks is of type <U.*, not of numbers"),
        (X.astype(complex), "the array is of type complex128, not of numbers"),
        (X.astype(object), "the array is of type object, not of numbers"),
        (np.zeros(3, dtype="M8[s]").reshape(3, 1), "not of numbers"),
        (None, "rows cannot be opened from NoneType: give a path"),
        (3, "rows cannot be opened from int"),
        (pd.DataFrame(X), "rows cannot be opened from DataFrame"),
        (lambda: None, "the function must return an iterable of blocks, got NoneType"),
        (lambda: X, "the function must return an iterable of blocks, got ndarray"),
        ({"a": X}, r"block 0 of the blocks has shape \(\)"),
    ],
)
def test_what_is_no_rows_is_refused(source, message):
    with pytest.raises((TypeError, ValueError), match=message):
        open_rows(source)


@each("value", [np.nan, np.inf, -np.inf])
@each("dtype", [np.float64, np.float32])
def test_the_place_of_a_missing_number_is_named(value, dtype):
    rows = with_one(value, dtype=dtype)
    where = rf"row 7, column 2 of .* is {value}: fill or drop rows with missing numbers first"
    with pytest.raises(ValueError, match=where):
        list(open_rows(rows))
    with pytest.raises(ValueError, match=where):  # counted from the first row of all
        open_rows([rows[:5], rows[5:]])
    with pytest.raises(ValueError, match=where):
        open_rows(rows).take(np.array([3, 7]))
    with pytest.raises(ValueError, match=where):
        Euclidean().fit(open_rows(iter([rows[:5], rows[5:]])), pairs=Pairs([(0, 1)]))


def test_large_numbers_are_no_missing_ones():
    large = np.full((3, 2), np.finfo(np.float64).max)
    assert np.array_equal(open_rows(large).to_numpy(), large)
    both = np.array([[1e308, -1e308], [1e308, -1e308]])
    assert np.array_equal(open_rows([both]).to_numpy(), both)


@each("choice", [{"columns": ["a"]}, {"carry": ["a"]}])
@each("source", [X, [X], iter([X]), "rows.npy"])
def test_columns_are_chosen_of_parquet_files_only(choice, source):
    with pytest.raises(ValueError, match="columns of Parquet files only"):
        open_rows(source, **choice)


def test_a_missing_file_is_missing(tmp_path):
    for name in ("none.npy", "none.parquet", "folder"):
        with pytest.raises(FileNotFoundError, match=name):
            open_rows(tmp_path / name)


def archive(file):
    np.savez(file, X=X)


def objects(file):
    np.save(file, np.array([[1, None]], dtype=object))


@each("content", [b"", b"hello" * 20, b"\x93NUMPY\x01\x00", archive, objects])
def test_a_file_that_is_no_array_is_refused(content, tmp_path):
    with open(tmp_path / "bad.npy", "wb") as file:
        content(file) if callable(content) else file.write(content)
    with pytest.raises(ValueError, match=r"bad\.npy cannot be read as an array of numbers"):
        open_rows(tmp_path / "bad.npy")


# What changes between passes


def test_a_file_that_changes_is_refused(tmp_path):
    path = tmp_path / "X.npy"
    np.save(path, X)
    rows = open_rows(path)
    with open(path, "r+b") as file:
        file.truncate(200)
    for read in (rows.to_numpy, lambda: rows.take(np.array([40]))):
        with pytest.raises(ValueError, match=r"X\.npy has changed since it was opened: open it"):
            read()
    np.save(path, X)
    rows = open_rows(path)
    np.save(path, X + 1)
    os.utime(path, ns=(0, 0))
    with pytest.raises(ValueError, match="has changed"):
        RCA().fit(rows, pairs=Pairs([(0, 1)]))


MOMENTS, TAKEN = RowStream.moments, lambda rows: rows.take(np.array([3, 40]))


@each(
    ("later", "read", "said"),
    [
        ([], MOMENTS, r"had 50 rows when .* now: each pass must find the same"),
        ([X[:20]], MOMENTS, r"had 50 rows when .* now: each pass must find the same"),
        ([X, X], MOMENTS, r"had 50 rows when .* now: each pass must find the same"),
        (None, MOMENTS, "must return a new iterable each time"),
        ([X[:20]], TAKEN, "has changed while it was read: rows are missing"),
        ([X[:, :2]], MOMENTS, "those before"),
        ([X.astype("f4")], MOMENTS, "those before"),
    ],
)
def test_a_function_that_gives_other_rows_is_refused(later, read, said):
    first = iter([X])
    answers = iter([first, first if later is None else later])
    rows = open_rows(lambda: next(answers))
    with pytest.raises((TypeError, ValueError), match=said):
        read(rows)
