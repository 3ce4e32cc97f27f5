"""Tables that pages of the site take from pages of results."""

from __future__ import annotations

import pytest

from benchmarks.published_tables import published, rows_where, without_title
from benchmarks.record import ROOT, Table


def test_a_table_is_read_back_as_it_was_written() -> None:
    text = (ROOT / "benchmarks/few_pairs/RESULTS.md").read_text()
    table = published("few_pairs/RESULTS.md", "Seconds of a fit on one core")
    assert table.markdown() in text
    assert "support vectors of |x − y|" in [row[0] for row in table.rows]


def test_a_title_must_be_that_of_one_table() -> None:
    with pytest.raises(ValueError, match="has 0 tables"):
        published("few_pairs/RESULTS.md", "no such title")
    with pytest.raises(ValueError, match="tables whose title begins"):
        published("few_pairs/RESULTS.md", "Pair AUC")


def test_rows_are_chosen_by_how_a_cell_begins() -> None:
    table = Table("t", ["", "n"], [["all", "1"], ["overlap: none", "2"], ["rest", "3"]])
    assert rows_where(table, 0, "all", "overlap").rows == table.rows[:2]
    assert without_title(rows_where(table, 0, "all")) == "|  | n |\n| --- | ---: |\n| all | 1 |"
    with pytest.raises(ValueError, match="no row"):
        rows_where(table, 0, "none")
