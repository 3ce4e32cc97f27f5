import numpy as np
import pytest

import nearkin as nk
from nearkin.errors import InputError
from nearkin.records.comparisons import columns_of_both, join_columns


def both(left, right, **how):
    return join_columns(*columns_of_both(left, right, **how))


def test_what_columns_hold_is_recognised_by_both_tables():
    left = {"phone": [12345, 23456, 34567], "size": [1.5, None, 2.0], "only": ["a", "b", "c"]}
    right = {"size": ["1.5", "3", None], "phone": ["0123 45", "23456", "34-567"]}
    [phone, size] = both(left, right)
    assert (phone.name, phone.kind) == ("phone", "code")
    assert phone.values.tolist() == ["12345", "23456", "34567", "0123 45", "23456", "34-567"]
    assert size.kind == "number"
    assert np.array_equal(size.values, [1.5, np.nan, 2, 1.5, 3, np.nan], equal_nan=True)


def test_each_table_has_its_own_order_of_dates():
    left = {"born": ["25/3/1970", "1/2/1970"]}
    right = {"born": ["3/25/1970", "2/1/1970"]}
    [born] = both(left, right)
    assert born.values.tolist() == [83, 31, 83, 31]
    assert born.order is None
    assert both(left, left)[0].order == "day first"


def test_gaps_in_one_of_the_tables_are_of_any_kind():
    [v, w] = both({"v": [[1, 2], [3, 4]], "w": [None, None]}, {"v": [None, None], "w": ["a", "b"]})
    assert v.values.shape == (4, 2)
    assert w.values.tolist() == [None, None, "a", "b"]


def test_tables_that_do_not_go_together():
    with pytest.raises(InputError, match="no column in common"):
        both({"a": ["x"]}, {"b": ["x"]})
    with pytest.raises(InputError, match="vectors of 3 numbers in the one table and of 2"):
        both({"v": [[1, 2], [3, 4]]}, {"v": [[1, 2, 3], [4, 5, 6]]})
    table = {"a": ["1", "2", "3"]}
    with pytest.raises(InputError, match=r"the right table: 2 cells of column 'a' .* row 0: 'x'"):
        both(table, {"a": ["x", "y", "3"]}, kinds={"a": "number"})
    matcher = nk.RecordMatcher().fit({"a": ["1", "2", "3"], "b": ["ann", "bob", "cid"]})
    with pytest.raises(InputError, match="no column 'b'"):
        matcher.link(table, table)
