import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from nearkin.pairs.labels import (
    check_classes,
    find_known_rows,
    name_classes,
    number_classes,
    renumber_classes,
    replace_signs,
)
from tests.cases import each

NAN = float("nan")


@each(
    ("y", "classes"),
    [
        ([3, 3, 7, 0], [1, 1, 2, 0]),
        ([3, -1, 7, -2], [0, -1, 1, -1]),
        (np.array([5, 5, 9], dtype=np.uint8), [0, 0, 1]),
        (np.array([1.0, NAN, 0.0, -1.0]), [1, -1, 0, -1]),
        ([True, False, True], [1, 0, 1]),
        (np.array([True, False]), [1, 0]),
        (["b", "a", "b"], [0, 1, 0]),
        (np.array(["b", "a", "b"]), [1, 0, 1]),
        (["b", None, "a", NAN], [0, -1, 1, -1]),
        (["b", -1, "a", "b"], [0, -1, 1, 0]),
        ([1, None, 2], [0, -1, 1]),
        ([("a", 1), ("b", 2), ("a", 1)], None),
        (pd.Series(["b", None, "a"]), [0, -1, 1]),
        (pd.Series([1, None, 2], dtype="Int64"), [0, -1, 1]),
        (pd.Series(["x", "y", "x"], dtype="category"), [0, 1, 0]),
        (pl.Series([4, 2, 4]), [1, 0, 1]),
        (pl.Series(["u", None, "v"]), [0, -1, 1]),
        (pl.Series([True, None, False]), [1, -1, 0]),
        (pa.chunked_array([["u", None], ["u", None, "v"]]), [0, -1, 0, -1, 1]),
        (pd.Series(["u", None, "v"], dtype="category"), [0, -1, 1]),
        (pd.Series([3, None, 8], index=list("vwx")), [0, -1, 1]),
        (np.array(["a", None, "a", NAN, "b"], dtype=object), [0, -1, 0, -1, 1]),
        ([True, None, False], [1, -1, 0]),
        ([2**62, None, 2**62 + 1], [0, -1, 1]),
        (("a", "0", "a"), [0, 1, 0]),
        ([1, "1", 1], [0, 1, 0]),
        (pd.Series([True, None, False], dtype="boolean"), [1, -1, 0]),
        (pd.Series([True, None, False], dtype="bool[pyarrow]"), [1, -1, 0]),
        (np.array(["2020-01-02", "NaT", "2020-01-01"], dtype="datetime64[D]"), [1, -1, 0]),
        (np.array([5, "NaT", 3], dtype="timedelta64[h]"), [1, -1, 0]),
        (pd.Series(pd.to_datetime(["2020-01-02", None, "2020-01-01"])), [1, -1, 0]),
        ([pd.NaT, pd.Timestamp(2020, 1, 1), None], [-1, 0, -1]),
        (np.ma.array([4, 2, 4, 9], mask=[0, 0, 0, 1]), [1, 0, 1, -1]),
        (np.ma.array([4.0, 2.5, 3.0], mask=[0, 1, 0]), [1, -1, 0]),
        (np.ma.array(["b", "a", "c"], mask=[0, 1, 0]), [0, -1, 1]),
        (np.ma.array(["b", None, "c"], mask=[1, 0, 0], dtype=object), [-1, -1, 0]),
        (np.ma.array([3, -1, 5]), [0, -1, 1]),
        ([np.ma.masked, 2, 1], [-1, 1, 0]),
        ([2**70, 1, 2**70], [1, 0, 1]),
        ([-1, -1], [-1, -1]),
        ([], []),
    ],
)
def test_labels_become_class_numbers(y, classes):
    if classes is None:  # tuples read as a second axis
        with pytest.raises(ValueError, match=r"one label per row of X, got shape \(3, 2\)"):
            number_classes(y)
    else:
        numbers = number_classes(y)
        assert numbers.dtype == np.int64
        assert numbers.tolist() == classes
    objects = np.empty(3, dtype=object)
    objects[:] = [("a", 1), ("b", 2), ("a", 1)]
    assert number_classes(objects).tolist() == [0, 1, 0]


@each(
    ("y", "culprit"),
    [
        (np.array([0.0, 1.5]), r"y\[1\] is 1.5"),
        ([0, None, 2.5], r"y\[2\] is 2.5: numeric labels are whole"),
        (np.array([0.0, np.inf]), r"y\[1\] is inf"),
        (np.array([[0], [1]]), r"one label per row of X, got shape \(2, 1\)"),
    ],
)
def test_labels_that_are_none_are_refused(y, culprit):
    with pytest.raises(ValueError, match=culprit):
        number_classes(y)


@each("unknown", [-1, None, NAN, "", " ", b"", np.ma.masked, pd.NA, pd.NaT])
def test_unknown_is_told_in_one_way_everywhere(unknown):
    y = ["b", unknown, "a", "b"]
    assert number_classes(y).tolist() == [0, -1, 1, 0]
    assert find_known_rows(y).tolist() == [True, False, True, True]
    names, number = check_classes(y)
    assert (names.tolist(), number.tolist()) == (["a", "b"], [1, -1, 0, 1])
    assert number_classes(np.array(["b", "", " ", "a"])).tolist() == [1, -1, -1, 0]


def test_two_classes_that_are_signs_are_refused_with_what_to_write():
    signs = ([-1, 1, 1, -1], [-1.0, None, 1, NAN], np.array([1, -1]), np.array([1.0, NAN, -1.0]))
    for y in (*signs, pd.Series([1, -1]), np.ma.array([1, -1, 5], mask=[0, 0, 1])):
        with pytest.raises(ValueError, match="-1 and 1 alone, and -1 means unknown") as refused:
            number_classes(y)
    y = [1, -1, -1, 1]
    two, one = re.findall(r"write (.*?)(?: for y;|\.$)", str(refused.value))
    assert number_classes(eval(two)).tolist() == [1, 0, 0, 1]
    assert number_classes(eval(one)).tolist() == [0, -1, -1, 0]
    for y in ([-1, 1, 0], [-1, 1, "a"], ["-1", "1"], [True, False], [-1, -1], [1, 1], [-1, 2]):
        number_classes(y)


def test_parts_of_labels_do_not_look_like_signs():
    y = np.array([-1, 1, 0, 1, -1])
    parted = replace_signs(y)
    assert number_classes(parted[:2]).tolist() == [-1, 0]
    assert number_classes(parted).tolist() == number_classes(y).tolist()
    assert replace_signs(y[1:4]).tolist() == [1, 0, 1]
    assert renumber_classes(np.array([-1, 3, 1, 3])).tolist() == [-1, 1, 0, 1]


def test_names_of_classes_are_their_labels():
    y = ["b", None, "a", "b"]
    assert name_classes(y, number_classes(y), 2).tolist() == ["b", "a"]
    y = np.array([7, -1, 3, 7])
    assert name_classes(y, number_classes(y), 2).tolist() == [3, 7]
    for classes in (None, np.array([0, -1, -1, 0])):  # the groups of must-links are the classes
        assert name_classes(y, classes, 3).tolist() == [0, 1, 2]


def test_classes_to_tell_apart_are_two_at_least():
    names, number = check_classes(["b", "a", "b"])
    assert (names.tolist(), number.tolist()) == (["a", "b"], [1, 0, 1])
    with pytest.raises(ValueError, match=r"one class \(np.str_\('a'\)\), but labels of at least"):
        check_classes(["a", "a"])
    with pytest.raises(ValueError, match="continuous"):
        check_classes([0.5, 1.5])
    with pytest.raises(ValueError, match="all rows are without a label, but"):
        check_classes([-1, None])
    with pytest.raises(ValueError, match="requires y to be passed, but the target y is None"):
        check_classes(None)
