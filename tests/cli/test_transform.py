import csv
import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from nearkin.errors import InputTypeError
from nearkin.pairs.pairs import Pairs
from nearkin.spaces.linalg import principal_coordinates
from nearkin.storage.files import is_formula, quote_formula, unquote_formula
from nearkin.studio.reports import groups_file, pairs_file
from tests.cases import each


def test_rows_go_to_standard_output_as_csv_or_json(run, files, sample, model):
    records = run("transform", "model.nearkin", "rows.csv", "--id", "name").records
    assert [record.pop("name") for record in records] == sample.ids
    found = np.array([list(map(float, record.values())) for record in records])
    assert list(records[0]) == list(model.get_feature_names_out())
    assert_array_equal(found, model.transform(sample.X))
    out = run("transform", "model.nearkin", "rows.csv", "--id", "name", "--json").out
    rows = [json.loads(line) for line in out.splitlines()]
    assert [row.pop("name") for row in rows] == sample.ids
    assert_array_equal([list(row.values()) for row in rows], model.transform(sample.X))


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "parquet", "feather"])
def test_files_by_their_ending(run, files, sample, model, kind):
    name = f"new.{kind}"
    result = run("transform", "model.nearkin", "rows.csv", "--carry", "name,kind", "-o", name)
    assert result.out == ""
    read = {
        "csv": pd.read_csv,
        "tsv": lambda path: pd.read_csv(path, sep="\t"),
        "jsonl": lambda path: pd.read_json(path, lines=True, precise_float=True),
        "parquet": pd.read_parquet,
        "feather": pd.read_feather,
    }
    frame = read[kind](name)
    assert frame["name"].tolist() == sample.ids
    assert frame["kind"].tolist() == [f"k{k}" for k in sample.y]
    assert_allclose(frame.iloc[:, 2:].to_numpy(), model.transform(sample.X), rtol=1e-12)
    assert sorted(path.name for path in files.iterdir() if "new" in path.name) == [name]


def test_an_array(run, files, sample, model):
    run("transform", "model.nearkin", "rows.csv", "-o", "new.npy")
    assert_array_equal(np.load("new.npy"), model.transform(sample.X))
    arguments = ("transform", "model.nearkin", "rows.csv", "--carry", "kind", "-o", "other.npy")
    assert "no room" in run(*arguments, status=2).err


def test_columns_are_found_by_name_in_one_file_or_parts(run, files, sample, model):
    table = pa.table({"b": sample.X[:, 1], "more": sample.ids, "a": sample.X[:, 0]})
    pq.write_table(table, "other.parquet")
    (files / "folder").mkdir()
    pq.write_table(table.slice(0, 50), files / "folder" / "1.parquet")
    pq.write_table(table.slice(50), files / "folder" / "2.parquet")
    pyarrow.feather.write_feather(table, "rows.feather", chunksize=7)
    for name in ("other.parquet", "folder", "rows.feather"):
        run("transform", "model.nearkin", name, "-o", "new.npy", "--force")
        assert_array_equal(np.load("new.npy"), model.transform(sample.X))


def test_columns_of_another_file_are_refused(run, files, model):
    (files / "other.csv").write_text("a,c\n1,2\n")
    message = "model.nearkin was learned from columns that other.csv does not have: 'b'."
    assert message in run("transform", "model.nearkin", "other.csv", status=2).err
    np.save("wide.npy", np.ones((3, 4)))
    message = "model.nearkin was learned from 2 columns, but wide.npy has 4"
    assert message in run("transform", "model.nearkin", "wide.npy", status=2).err


def test_text_that_needs_quotes_comes_through(run, files, model):
    names = ['say "hi"', "a,b", "two\nlines", "plain"]
    frame = pd.DataFrame({"name": names, "a": 1.0, "b": np.arange(4.0)})
    frame.to_csv("odd.csv", index=False)
    run("transform", "model.nearkin", "odd.csv", "--id", "name", "-o", "new.csv")
    assert pd.read_csv("new.csv")["name"].tolist() == names


@each(
    ("arguments", "message"),
    [
        (("none.nearkin", "rows.csv"), "none.nearkin: there is no such file"),
        (("rows.csv", "rows.csv"), "rows.csv"),
        (("model.nearkin", "rows.csv", "-o", "new.xlsx"), "must end in .csv, .tsv"),
        (("model.nearkin", "rows.csv", "-o", "new.csv", "--json"), "--json is for standard output"),
        (("model.nearkin", "rows.csv", "--carry", "x"), "--carry x: no such column"),
        (("model.nearkin",), "nearkin transform: Missing argument"),
    ],
)
def test_wrong_arguments_are_explained(run, files, model, arguments, message):
    assert message in run("transform", *arguments, status=2).err


def test_an_error_far_down_leaves_no_file(run, files, model):
    X = np.ones((200_000, 2))
    X[150_000, 1] = np.nan
    np.save("late.npy", X)
    err = run("transform", "model.nearkin", "late.npy", "-o", "new.csv", status=2).err
    assert "late.npy has missing cells: 1 in column 1; the first is in row 150000." in err
    assert not list(files.glob("*new*"))


def test_debug_shows_where(run, files, capsys):
    from nearkin.cli import main

    assert main(["transform", "none.nearkin", "rows.csv", "--debug"]) == 2
    assert "Traceback" in capsys.readouterr().err


@each("error", [KeyError, ValueError, TypeError, InputTypeError])
def test_a_defect_has_a_status_of_its_own(error, run, files, model, monkeypatch):
    def fail(self, rows):
        raise error("give others")

    monkeypatch.setattr("nearkin.cli.models.Model.embed", fail)
    status = 2 if error is InputTypeError else 1  # which users can put right
    err = run("transform", "model.nearkin", "rows.csv", "--id", "name", status=status).err
    if status == 2:
        assert err == "nearkin transform: give others\n"
        return
    assert f"{error.__name__}: " in err
    assert "give others" in err
    assert "--debug shows where" in err


@each(
    ("arguments", "message"),
    [
        (("-c", "a"), "--columns: model.nearkin needs 'b' too."),
        (("-c", "a,b,kind"), "--columns: model.nearkin was learned without 'kind'."),
        (("--exclude", "a"), "--exclude a: model.nearkin was learned from it"),
    ],
)
def test_columns_that_are_not_the_models(run, files, model, arguments, message):
    assert message in run("transform", "model.nearkin", "rows.csv", *arguments, status=2).err
    own = ("-c", "b,a", "--exclude", "kind", "-o", "new.npy", "--force")
    run("transform", "model.nearkin", "rows.csv", *own)


def test_a_terminal_shows_the_first_rows(run, files, model, monkeypatch):
    import sys

    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "200")
    result = run("transform", "model.nearkin", "rows.csv", "--id", "name")
    assert "n19" in result.out
    assert "n20" not in result.out
    assert "the first 20 of 120 rows" in result.err
    in_full = run("transform", "model.nearkin", "rows.csv", "--id", "name", "-o", "-").records
    assert len(in_full) == 120


@each("ending", ["csv", "jsonl", "parquet"])
def test_columns_of_all_kinds_go_along(run, files, sample, model, ending):
    n = len(sample.X)
    frame = pa.table(
        {
            "a": sample.X[:, 0],
            "b": sample.X[:, 1],
            "large": pa.array(["with, comma"] * n, pa.large_string()),
            "kind": pa.array(["x"] * n).dictionary_encode(),
            "day": pa.array(pd.date_range("2020-01-01", periods=n)),
            "list": pa.array([[1, 2]] * n),
        }
    )
    pq.write_table(frame, "all.parquet")
    arguments = ("all.parquet", "--carry", "large,kind,day,list", "-o", f"new.{ending}")
    run("transform", "model.nearkin", *arguments)
    if ending == "csv":
        back = pd.read_csv("new.csv")
        assert back["large"].tolist() == ["with, comma"] * n
        assert back["list"][0] == "[1, 2]"
        assert back["day"][0].startswith("2020-01-01")


def test_vectors_name_nothing(run, files, sample, model):
    table = pa.table({"a": sample.X[:, 0], "b": sample.X[:, 1], "v": pa.array(list(sample.X))})
    pq.write_table(table, "all.parquet")
    arguments = ("neighbors", "model.nearkin", "all.parquet", "--id", "v")
    assert "do not name anything" in run(*arguments, status=2).err


def test_few_columns_are_the_principal_axes(run, files, sample, model):
    result = run("transform", "model.nearkin", "rows.csv", "--components", 2, "-o", "two.npy")
    Z = model.transform(sample.X)
    assert_allclose(np.load("two.npy"), principal_coordinates(Z, 2), atol=1e-9)
    share = Z.var(axis=0).sum() ** -1 * np.load("two.npy").var(axis=0).sum()
    assert f"2 of {Z.shape[1]} columns have {share:.0%} of the variance" in result.err
    records = run(
        "transform", "model.nearkin", "rows.csv", "--components", 2, "--id", "name"
    ).records
    assert list(records[0]) == ["name", "axis0", "axis1"]
    err = run("transform", "model.nearkin", "rows.csv", "--components", 500, status=2).err
    assert f"--components 500: rows have {Z.shape[1]} columns in the learned space." in err


# Texts that a spreadsheet would take for formulas


ODD = ["=1+1", "+cmd|x", "-cmd", "@sum(a)", "\tx", "\rx", "-5\n"]
PLAIN = ["", "a=1", "'", "'tis", "-3", "+4.5", "-1e-5", "-.5", "n-1", "\n=1"]


@each("text", [*ODD, *PLAIN])
def test_only_formulas_are_quoted_and_come_back(text):
    assert is_formula(text) == (text in ODD)
    assert quote_formula(text) == ("'" + text if text in ODD else text)
    assert unquote_formula(quote_formula(text)) == text


def test_the_command_line_quotes_on_request(run, files, model):
    lines = (files / "rows.csv").read_text().splitlines()
    names = [*ODD[:4], *PLAIN[:2], *PLAIN[4:9], "=;,\"'x"]
    with open("odd.csv", "w", newline="") as file:
        rows = [[name, -1.0, 2.0, k] for k, name in enumerate(names)]
        csv.writer(file).writerows([[*lines[0].split(",")[:3], "=kind"], *rows])
    which = ("transform", "model.nearkin", "odd.csv", "--carry", "name,=kind")
    shown = run(*which).records
    assert [record["name"] for record in shown] == names
    found = run(*which, "--quote-formulas")
    assert [record["name"] for record in found.records] == [quote_formula(name) for name in names]
    assert [record["'=kind"] for record in found.records] == [str(k) for k in range(len(names))]
    run(*which, "--quote-formulas", "-o", "z.tsv")
    with open("z.tsv", newline="") as file:
        assert [row[0] for row in csv.reader(file, delimiter="\t")][1:] == list(
            map(quote_formula, names)
        )
    for other in (("-o", "z.parquet"), ("--json",)):
        assert "is for CSV and TSV" in run(*which, "--quote-formulas", *other, status=2).err


def test_the_studio_quotes_and_fit_reads_what_it_wrote(run, tmp_path):
    ids = ["=a", "-b", "c", "@d"]
    (tmp_path / "rows.csv").write_text(
        "id,x,y\n" + "".join(f"{name},{k},{k * k}\n" for k, name in enumerate(ids))
    )
    name, content = pairs_file(Pairs([(0, 1)], [(2, 3)]), Pairs().must_link, ids)
    (tmp_path / name).write_bytes(content)
    assert b"\n'=a,'-b,true" in content
    run("fit", "rows.csv", "--id", "id", "-p", name, "--learner", "rca", "-o", "m.nearkin")
    none = Pairs().must_link[:, 0]
    _, content = groups_file(none, [], none > 0, [], "=id")
    assert content == b"'=id,group,name,sure\n"
