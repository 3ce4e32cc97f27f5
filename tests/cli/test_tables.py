from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from nearkin.cli.files.columns import Choice
from nearkin.cli.files.pairs import read_pairs
from nearkin.cli.files.tables import open_table
from tests.cases import each


def rows_named(n, ids=None):
    return SimpleNamespace(
        n_rows=n, n_rows_of_file=n, file="rows.csv", ids_of_file=lambda: ids, places=lambda: None
    )


def labels(path, column="y"):
    return open_table(path, Choice(), aside=[column]).labels(column).tolist()


@each(
    ("cells", "expected"),
    [
        (["0", "1", "-1"], [0, 1, -1]),
        (["0.0", "1.0", "-1.0"], [0, 1, -1]),
        (["3", "", "5"], [3, None, 5]),
        (["007", "7", "8"], ["007", "7", "8"]),
        (["cat", "", "dog"], ["cat", None, "dog"]),
        (["1", "x", "-1"], ["1", "x", "-1"]),
        (["0.5", "1", "2"], ["0.5", "1", "2"]),
    ],
)
def test_labels_of_text(tmp_path, cells, expected):
    path = tmp_path / "rows.csv"
    path.write_text("a,y\n" + "".join(f"1,{cell}\n" for cell in cells))
    assert labels(path) == expected


@each(
    ("values", "expected"),
    [
        (pa.array([0, None, 2]), [0, None, 2]),
        (pa.array([0.0, np.nan, -1.0]), [0, None, -1]),
        (pa.array([True, False, None]), [1, 0, None]),
        (pa.array(["x", None, "y"]).dictionary_encode(), ["x", None, "y"]),
    ],
)
def test_labels_of_arrow(tmp_path, values, expected):
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"a": [1.0, 2.0, 3.0], "y": values}), path)
    assert labels(path) == expected


def test_answers_as_people_and_programs_write_them(tmp_path):
    yes = ["yes", "Y", "true", "True", "1", "1.0", "same"]
    no = ["no", "N", "false", "False", "0", "0.0", "different"]
    unsure = ["", "unsure", "nan"]
    path = tmp_path / "p.csv"
    lines = [f"{i},{i + 1},{word}" for i, word in enumerate([*yes, *no, *unsure])]
    path.write_text("left,right,same\n" + "\n".join(lines) + "\n")
    found = read_pairs(rows_named(20), path)
    assert found.same == [True] * 7 + [False] * 7 + [None] * 3
    pairs = found.pairs(20)
    assert (len(pairs.must_link), len(pairs.cannot_link)) == (7, 7)


def test_weights_and_numbers_as_ids(tmp_path):
    path = tmp_path / "p.csv"
    path.write_text("left,right,same,weight\n10,20,1,2.5\n20,30,0,\n")
    ids = pa.array(["10", "20", "30"])
    pairs = read_pairs(rows_named(3, ids), path).pairs(3)
    assert pairs.must_link.tolist() == [[0, 1]]
    assert pairs.must_weight.tolist() == [2.5]
    assert pairs.cannot_link.tolist() == [[1, 2]]
    assert pairs.cannot_weight.tolist() == [1]


def test_columns_by_pattern_and_order(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("x2,y,x1,x10\n1,2,3,4\n5,6,7,8\n")
    table = open_table(path, Choice(columns=("x1", "x*"), exclude=("x10",)))
    assert table.names == ["x1", "x2"]
    assert table.rows.to_numpy().tolist() == [[3, 1], [7, 5]]


def test_true_and_false_are_numbers(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a,b\ntrue,1\nfalse,2\n")
    chosen = Choice(columns=["a", "b"])
    assert open_table(path, chosen).rows.to_numpy().tolist() == [[1, 1], [0, 2]]


def test_a_mark_at_the_start_and_other_delimiters(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_bytes("\ufeffa;b\n1;2\n".encode())
    table = open_table(path, Choice(delimiter=";"))
    assert table.names == ["a", "b"]


def test_files_as_spreadsheets_write_them_are_taken_by_every_command(run, tmp_path):
    rng = np.random.RandomState(0)
    X = rng.normal(size=(40, 2)) + 5 * (np.arange(40) % 2)[:, None]
    lines = [f"Köln {i},Zoë {i // 2},{a:.3f},{b:.3f}\n" for i, (a, b) in enumerate(X)]
    plain = "ort,wer,a,b\n" + "".join(lines)
    (tmp_path / "plain.csv").write_text(plain)
    theirs = plain.replace(",", ";").replace(".", ",")
    (tmp_path / "theirs.csv").write_bytes(theirs.encode("windows-1252"))
    (tmp_path / "wide.csv").write_bytes(theirs.encode("utf-16"))
    pairs = "left;right;same;weight\nKöln 0;Köln 2;ja;0,5\nKöln 0;Köln 1;nein;1\n"
    (tmp_path / "p.csv").write_text(pairs.replace("ja", "yes").replace("nein", "no"))
    found = []
    for name, encoding in (("plain", "utf-8"), ("theirs", "windows-1252"), ("wide", "utf-16")):
        by = ("--id", "ort", "--encoding", encoding)
        fit = ("--pairs", "p.csv", "--learner", "rca", "-o", "m.nearkin", "--force")
        run("fit", f"{name}.csv", "-c", "a,b", *fit, *by)
        found.append(run("transform", "m.nearkin", f"{name}.csv", *by).out)
        groups = run("duplicates", f"{name}.csv", "-c", "wer,a", *by).out
        assert "Köln" in groups
        found.append(groups)
    assert found[:2] == found[2:4] == found[4:]


def test_numbers_with_grouped_digits_and_decimal_commas(run, tmp_path):
    lines = [f"{i};1.{i:03d},50;{i % 3},25\n" for i in range(30)]
    (tmp_path / "rows.csv").write_text("nr;paid;x\n" + "".join(lines))
    (tmp_path / "p.csv").write_text("left,right,same\n0,1,yes\n0,29,no\n")
    given = ("-p", "p.csv", "--id", "nr", "--learner", "rca", "-o", "m.nearkin")
    told = run("fit", "rows.csv", *given).err
    assert told.count("note: cells of rows.csv are separated by ';'.") == 1
    assert "'paid' (number, decimal comma), 'x' (number, decimal comma)" in told


def test_ids_beside_numbers_make_no_records_of_them(run, tmp_path):
    lines = [f"r{i},{i % 7},{i % 3}\n" for i in range(30)]
    (tmp_path / "rows.csv").write_text("id,a,b\n" + "".join(lines))
    (tmp_path / "p.csv").write_text("left,right,same\n0,7,yes\n0,1,no\n")
    told = run("fit", "rows.csv", "-p", "p.csv", "--learner", "rca", "-o", "m.nearkin").err
    assert "note: not learned from 'id' (names rows); --columns" in told
    assert "30 rows of 2 columns" in told
    assert "records of" not in run("suggest", "rows.csv", "-n", 2).err


def test_the_index_of_a_frame_is_no_feature(tmp_path):
    import pandas as pd

    path = tmp_path / "rows.parquet"
    pd.DataFrame({"a": [1.0, 2.0]}, index=[7, 9]).to_parquet(path)
    assert open_table(Path(path), Choice()).names == ["a"]
