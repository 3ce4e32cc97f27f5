import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

import nearkin as nk
from nearkin.records.results import canonical_rows
from nearkin.tables.reading import Column
from tests.cases import each
from tests.records.conftest import words

LABELS = np.array([0, 0, 0, 1, 1])
TABLE = {
    "id": ["p9", "p10", "p11", "p2", "p3"],
    "name": ["ANNA ", "Anna", "Ana", "Bert", None],
    "size": [None, 2, 2, None, None],
    "town": ["Bonn", None, "Berlin", "Ulm", "Ulm"],
}
ONCE = {
    "id": ["p9", "p2"],
    "name": ["ANNA ", "Bert"],
    "size": [2, None],
    "town": ["Berlin", "Ulm"],
}


def test_cells_are_the_most_frequent_as_they_are_written():
    assert canonical_rows(TABLE, LABELS) == ONCE
    array = np.array(list(TABLE.values()), dtype=object).T
    assert canonical_rows(array[:, 1:], LABELS).tolist() == [
        ["ANNA ", 2, "Berlin"],
        ["Bert", None, "Ulm"],
    ]


@each("library", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_frame_gives_a_frame(library):
    frame = library(TABLE)
    once = canonical_rows(frame, LABELS)
    assert type(once) is type(frame)
    found = {name: list(once[name]) for name in ONCE}
    if library is pa.table:
        found = once.to_pydict()
    assert {name: found[name] for name in ("id", "name", "town")} == {
        name: ONCE[name] for name in ("id", "name", "town")
    }
    assert found["size"][0] == 2


def test_values_of_columns():
    columns = [words("name", ["anna", "anna", "ana", "bert", None])]
    columns += [Column("size", "number", np.array([np.nan, 2.0, 2.0, np.nan, np.nan]))]
    once = canonical_rows(columns, LABELS)
    assert once["name"].tolist() == ["anna", "bert"]
    assert once["size"][0] == 2
    assert np.isnan(once["size"][1])


def test_a_matcher_gives_its_own_table_back():
    table, _ = nk.datasets.make_records(60, random_state=0)
    frame = pd.DataFrame(table, index=np.arange(60) + 7)
    frame["surname"] = frame["surname"].str.title()
    matcher = nk.RecordMatcher(kinds={"born": "name"}, random_state=0).fit(frame)
    once = matcher.canonical()
    assert list(once.columns) == list(frame.columns)
    assert list(once.index) == list(range(matcher.duplicates().labels.max() + 1))
    assert set(once["surname"].dropna()) <= set(frame["surname"].dropna())
