"""What columns hold."""

import datetime
from difflib import SequenceMatcher

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nearkin import TableWarning
from nearkin.messages import collect_notices
from nearkin.tables import reading
from nearkin.tables.reading import (
    KINDS,
    MOST_CHARACTERS,
    ORDERS,
    WORDS,
    find_differences,
    find_missing,
    fold_text,
    normalise_text,
    read_column,
    read_columns,
    read_date,
    read_dates,
    read_table,
    recognise_kinds,
    split_marked,
)
from tests.cases import each


def kind(values, name="column"):
    return recognise_kinds(read_table({name: values}))[name]


@each(
    ("values", "expected"),
    [
        ([1.5, 2.0, None], "number"),
        (["1.5", "-2e3", "7"], "number"),
        (["12", "7", "300"], "number"),
        (["007", "8", "12"], "code"),
        (["310/246-1501", "818/762-1221", "(213) 848-0100"], "code"),
        (["+49 30 1234567", "030/7654321", "089 1"], "code"),
        (["SW1A 1AA", "EC1A 1BB", "W1A 0AX"], "code"),
        (["yes", "No", "yes"], "yes or no"),
        (["true", "false", None], "yes or no"),
        (["y", "y", None], "category"),
        ([True, False, None], "yes or no"),
        (["red", "green", "blue"] * 4, "category"),
        (["Ada Lovelace", "Alan Turing", "Grace Hopper"], "name"),
        (["12 rue Morgue", "435 s. la cienega blv.", "1 Main Street"], "name"),
        (["one two three four five six seven eight nine ten"] * 2 + ["a b"], "text"),
        (["x" * 90, "y" * 95, "z" * 100], "text"),
        (["2024-01-31", "2023-02-01", None], "date"),
        (["19720812", "19990101", "20010203"], "date"),
        ([19720812, 19990101, 20010203], "date"),
        ([19720812, 19990101, 20019903], "number"),
        ([datetime.date(2024, 1, 1), None, datetime.datetime(2024, 1, 2, 12)], "date"),
        ([[1.0, 2.0], None, (3, 4)], "vector"),
        ([None, None, ""], "ignored"),
        (["same", "Same ", "SAME"], "ignored"),
        ([3, 3, 3], "ignored"),
        (["same", None, "same"], "category"),
        ([f"{i:08x}-f86e-11da-bd1a-00112444be1e" for i in range(3)], "ignored"),
        (["שלום", "مرحبا", "😀"], "name"),
    ],
)
def test_kinds_by_cells(values, expected):
    assert kind(values) == expected


@each(
    ("name", "values", "expected"),
    [
        ("id", [7, 3, 9], "ignored"),
        ("user_id", ["a", "b", "c"], "ignored"),
        ("rowid", [7, 3, 9], "ignored"),
        ("acid", [7, 3, 9], "number"),
        ("phone", [2461501, 7621221, 8480100], "code"),
        ("Zip", [94107, 10001, None], "code"),
        ("postcode", ["2272", "2227", "7018"], "code"),
        ("tel", [123, 124, 200], "code"),
        ("hotel", [123, 124, 200], "number"),
    ],
)
def test_kinds_by_name(name, values, expected):
    assert kind(values, name) == expected


def test_numbers_that_count_rows_are_ignored_beside_others():
    table = {"n": list(range(100, 130)), "word": ["a", "b", "c"] * 10}
    assert recognise_kinds(read_table(table)) == {"n": "ignored", "word": "category"}
    assert recognise_kinds(read_table(table), {"n": "number"})["n"] == "number"
    assert recognise_kinds(read_table({**table, "n": [1, *range(29)]}))["n"] == "number"
    numbered = [f"{i:04}" for i in range(1, 31)]
    assert recognise_kinds(read_table({**table, "key": numbered}))["key"] == "ignored"
    assert recognise_kinds(read_table({**table, "key": [*numbered[:-1], "0099"]}))["key"] == "code"


def test_stated_kinds_are_checked():
    table = read_table({"a": ["1", "2"]})
    assert recognise_kinds(table, {"a": "code"}) == {"a": "code"}
    with pytest.raises(ValueError, match=r"no column 'b'; the table has 'a'"):
        recognise_kinds(table, {"b": "code"})
    with pytest.raises(ValueError, match=r"kinds\['a'\] is 'phone', but must be one of 'number'"):
        recognise_kinds(table, {"a": "phone"})


def test_texts_are_plain():
    assert normalise_text(" Ada\n\u00a0LOVELACE ") == "ada lovelace"
    assert normalise_text("e\u0301") == normalise_text("É") == "é"
    assert normalise_text("７") == "7"
    assert normalise_text(7.0) == normalise_text(7) == normalise_text(np.int8(7)) == "7"
    assert normalise_text(0.5) == "0.5"
    assert normalise_text(10**400) == "1" + "0" * 400
    assert normalise_text(b"\xff ok") == "\ufffd ok"
    assert "\ud800".encode("utf-8", "replace").decode() == normalise_text("\ud800")
    assert {*map(normalise_text, (None, "", "  ", "NaN", "null", "N/A", "<NA>"))} == {None}
    assert len(normalise_text("ab " * 10**6)) <= MOST_CHARACTERS


DAY = datetime.date(2024, 3, 4)


@each("order", ORDERS)
@each("text", ["2024-03-04", "2024/3/4", "20240304", "4 march 2024", "mar 4, 2024", "4th-mar-2024"])
def test_plain_dates_are_the_same_in_any_order(order, text):
    assert read_date(text, order) == (DAY - datetime.date(1970, 1, 1)).days


def test_the_order_of_dates():
    assert read_date("4/3/2024", "day first") == read_date("3/4/2024", "month first")
    assert read_date("24-3-4", "year first") == read_date("2024-03-04", "day first")
    assert read_date("4.3.69", "day first") == read_date("1969-03-04", "day first")
    assert read_date("4.3.68", "day first") == read_date("2068-03-04", "day first")
    assert read_date("2024-03-04 06:00", "day first") == read_date("20240304", "day first") + 0.25
    assert read_date("2024-03-04t12:00:00.5z", "day first") % 1 == 0.5
    for no_date in ("31/2/2024", "2024-13-01", "4 foo 2024", "1234", "2024-03-04 25:00", ""):
        assert read_date(no_date, "day first") is None


@each(
    ("texts", "order", "ambiguous"),
    [
        (["1/2/2024", "3/25/2024"], "month first", False),
        (["1/2/2024", "25/3/2024"], "day first", False),
        (["1/2/2024", "3/4/2024"], "day first", True),
        (["1.2.2024", "3.4.2024"], "day first", False),
        (["3/3/2024", "4/4/2024"], "day first", False),
        (["2024-01-02"], "day first", False),
    ],
)
def test_most_dates_say_the_order(texts, order, ambiguous):
    found = read_dates(texts)
    assert (found.order, found.is_ambiguous) == (order, ambiguous)
    assert read_dates(texts, "month first").is_ambiguous is False


def test_ambiguous_dates_are_told_and_settled():
    table = {"born": ["1/2/1970", "3/4/1970"]}
    with pytest.warns(TableWarning, match="'born', such as '1/2/1970', are read day first"):
        [column] = read_columns(table)
    assert column.values.tolist() == [31, 92]
    [column] = read_columns(table, dates="month first")
    assert column.values.tolist() == [1, 62]


def test_dates_in_two_orders_are_read_and_told():
    table = {"born": ["31/1/1970", "1/2/1970", "1/31/1970", "30/1/1970"]}
    with pytest.warns(TableWarning, match=r"'born' are written in two orders: row 2 .* day first"):
        [column] = read_columns(table)
    assert (column.kind, column.order) == ("date", "day first")
    assert column.values.tolist() == [30, 31, 30, 29]
    with pytest.warns(TableWarning, match=r"read month first\.$"):
        [column] = read_columns(table, dates="month first")
    assert column.values.tolist() == [30, 1, 30, 29]


def test_an_order_is_remembered_where_it_makes_a_difference():
    orders = {"2024-01-02": None, "3/25/2024": "month first", "3.4.2024": "day first"}
    for dates, order in orders.items():
        [column] = read_columns({"born": [dates, None, "2023-05-06"]})
        assert column.order == order


def test_cells_of_another_kind_count_as_missing_and_are_told():
    [cells] = read_table({"size": [*map(str, range(19)), "large"]})
    with collect_notices() as notes:
        column = read_column(cells, "number")
    assert np.isnan(column.values[19])
    assert column.values[:19].tolist() == list(range(19))
    assert "1 cell of column 'size' cannot be read, the first in row 19: 'large'" in notes[0].text
    with pytest.raises(ValueError, match=r"20 cells of column 'size' cannot .* row 0: '0'"):
        read_column(cells, "date")


@each("kind", WORDS)
def test_words_of_any_form(kind):
    [cells] = read_table({"x": [1, 0, None]})
    expected = ["yes", "no", None] if kind == "yes or no" else ["1", "0", None]
    assert read_column(cells, kind).values.tolist() == expected
    [cells] = read_table({"x": [datetime.date(2024, 1, 1), None]})
    if kind != "yes or no":
        assert read_column(cells, kind).values.tolist() == ["2024-01-01", None]
    [vectors], [texts] = (read_table({"x": cells}) for cells in ([[1.0], [2.0]], ["a", "b"]))
    for cells, other in ((vectors, "number"), (vectors, kind), (texts, "vector")):
        with pytest.raises(ValueError, match="column 'x' holds"):
            read_column(cells, other)


@each("kind", KINDS)
def test_nothing_but_gaps_is_of_any_kind(kind):
    for gaps in ([None, None], [np.nan, np.nan], ["", "NaN"]):
        [cells] = read_table({"x": gaps})
        assert find_missing(read_column(cells, kind)).tolist() == [True, True]


# Where two cells differ: src/nearkin/tables/reading.py


def marked(left, right):
    """What is marked in each of two texts."""
    spans = find_differences(left, right)
    return [
        [part for part, differs in split_marked(text, found) if differs]
        for text, found in zip((left, right), spans, strict=True)
    ]


@each(
    ("left", "right", "expected"),
    [
        ("Jon Smith", "John Smith", [[], ["h"]]),
        ("Ann", "ANN ", [[], []]),
        ("JonSmith", "Jon Smith", [[], [" "]]),
        ("zogarsen", "Z", [["ogarsen"], []]),
        ("Smith, Jon", "Smith", [[", Jon"], []]),
        ("12 High Street", "12 Mill Lane", [["High Street"], ["Mill Lane"]]),
        ("1944-02-27", "1968-02-12", [["44", "7"], ["68", "1"]]),
        # In lower case İ is two characters.
        ("İİİ Istanbul", "İİİ Istanbol", [["u"], ["o"]]),
        ("", "a", [[], ["a"]]),
    ],
)
def test_typos_are_marked_by_letters_and_others_by_words(left, right, expected):
    assert marked(left, right) == expected


@settings(max_examples=15)
@given(st.text(max_size=60), st.text(max_size=60))
def test_texts_are_whole_and_differ_where_they_are_marked(left, right):
    spans = find_differences(left, right)
    rest = []
    for text, found in zip((left, right), spans, strict=True):
        parts = split_marked(text, found)
        assert "".join(part for part, _ in parts) == text
        assert all(part for part, _ in parts)
        rest.append("".join(part.lower() for part, differs in parts if not differs))
        assert found == sorted(found)
    if fold_text(left) == fold_text(right):
        assert spans == ([], [])
    # What is left is equal, but for spaces.
    assert "".join(rest[0].split()) == "".join(rest[1].split())


@each("signs", [("a,", "a;"), ("a,b", "b,c"), ("a", "b"), ("a b ", "b a ")])
def test_long_texts_are_not_compared_letter_by_letter(signs, monkeypatch):
    sizes = []

    class Counting(SequenceMatcher):
        def __init__(self, junk, a, b):
            super().__init__(junk, a, b)
            # Steps of finding the longest stretch that is in both.
            sizes.append(sum(len(self.b2j.get(one, ())) for one in a))

    monkeypatch.setattr(reading, "SequenceMatcher", Counting)
    left, right = (sign * (2000 // len(sign)) for sign in signs)
    assert any(find_differences(left, right))
    assert max(sizes) < 40_000
