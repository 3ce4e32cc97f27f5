"""Which columns are learned from where nobody has said so."""

import numpy as np
import pytest

from nearkin.tables.choice import (
    NOT_CHOSEN,
    Roles,
    choose_by_kinds,
    choose_roles,
    describe_roles,
    drop_counters,
    find_doubtful_columns,
)
from nearkin.tables.reading import find_counters
from tests.cases import each

NUMBER = "number"


@each(
    ("name", "why"),
    [
        *((name, "names rows") for name in ("id", "ID", "user_id", "userId", "rec-id", "uuid")),
        *((name, "counts rows") for name in ("index", "Unnamed: 0", "row_number")),
        *((n, "looks like classes") for n in ("label", "Class", "target", "true_label", "y")),
        *((name, None) for name in ("acid", "valid", "humid", "width", "classic", "yield")),
        *((name, None) for name in ("row_height", "price_index")),
    ],
)
def test_names(name, why):
    assert find_doubtful_columns({name: NUMBER, "other": NUMBER}).get(name) == why
    assert find_doubtful_columns({"x": NUMBER, "y": NUMBER}) == {}  # coordinates
    assert find_doubtful_columns({"X": NUMBER, "Y": NUMBER, "label": NUMBER}).keys() == {"label"}


def test_yes_and_no_are_learned_from_where_there_is_nothing_else():
    assert choose_by_kinds({"a": "boolean", "b": "boolean", "id": NUMBER}).learned == ["a", "b"]
    assert choose_by_kinds({"a": "boolean", "b": NUMBER}).learned == ["b"]
    assert choose_by_kinds({"a": "boolean", "v": "vector"}).learned == ["v"]


def test_what_is_set_aside_is_not_spoken_of():
    kinds = {"id": NUMBER, "a": NUMBER, "v": "vector", "w": "vector"}
    assert choose_by_kinds(kinds, aside=["id", "v", "w"]) == Roles(["a"], {})
    with pytest.raises(ValueError, match="2 columns of vectors"):
        choose_by_kinds(kinds)
    assert choose_by_kinds({"id": NUMBER, "when": "date"}) == Roles(
        [], {"id": "names rows", "when": "date"}
    )


def test_numbers_that_count():
    n = 30
    rng = np.random.default_rng(0)
    gaps = np.sort(rng.choice(1000, n, replace=False))
    X = np.column_stack([gaps, gaps[::-1], gaps + 0.5, rng.permutation(n), rng.normal(size=n)])
    assert find_counters(X, list("abcde")) == {"a": "counts rows"}
    assert find_counters(X[:, :1], ["a"]) == {}  # or there would be nothing left
    assert find_counters(X[:19], list("abcde")) == {}  # so few may do so by chance


def test_long_lists_are_cut():
    kinds = {f"a{k}": NUMBER for k in range(12)} | {"id": NUMBER, "text": "text"}
    said = describe_roles(choose_by_kinds(kinds))
    assert "'a7' and 4 more; set aside 'id' (names rows), 'text' (text)." in said
    assert describe_roles(Roles(["a"], {})) == "Learned from 'a'."


def test_columns_that_are_named_are_learned_from_and_others_have_a_reason():
    kinds = {"id": "number", "size": "number", "width": "number", "note": "text", "y": "number"}
    cells = {name: [1.5, 2.0, 3.5] for name in kinds} | {"note": ["a", "a", "a"]}
    assert choose_roles(kinds, cells).learned == ["size", "width"]
    named = choose_roles(kinds, cells, ["id"], aside=["y"])
    assert named == Roles(
        ["id"],
        {"size": NOT_CHOSEN, "width": NOT_CHOSEN, "note": "says nothing of what a row is like"},
    )
    two = {"a": "vector", "b": "vector"}  # of which one must be named
    with pytest.raises(ValueError, match="name the one to learn from"):
        choose_roles(two, {})
    assert choose_roles(two, {}, ["a"]) == Roles(["a"], {"b": NOT_CHOSEN})


def test_columns_that_count_rows_are_dropped_with_the_reason():
    X = np.random.default_rng(0).normal(size=(30, 2))
    X[:, 0] = range(100, 130)
    roles = Roles(["number", "height"], {"id": "names rows"})
    rows, names, left = drop_counters(X, ["number", "height"], roles)
    assert np.array_equal(rows, X[:, 1:])
    assert (names, left.learned) == (["height"], ["height"])
    assert left.left_out == {"number": "counts rows", "id": "names rows"}
    assert drop_counters(rows, names, left) == (rows, names, left)
