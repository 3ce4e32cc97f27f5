"""Missing cells, values that are new to a model, and columns that are not what they seem."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import nearkin
from tests.cases import each

HOLES = "name,a,b,kind\nx,1,2,r\ny,,4,g\nz,5,,r\nu,7,8,\nv,2,1,g\nw,3,3,r\n"
PAIRS = "left,right,same\nx,y,yes\nx,u,no\nv,w,no\nx,w,yes\n"
FIT = ("fit", "-p", "p.csv", "--learner", "rca", "-o", "m.nearkin")


@pytest.fixture
def holes(tmp_path):
    (tmp_path / "rows.csv").write_text(HOLES)
    (tmp_path / "p.csv").write_text(PAIRS)
    return tmp_path


def test_all_columns_are_said_with_their_counts(run, holes):
    err = run(*FIT, "rows.csv", "--id", "name", "--one-hot", "kind", status=2).err
    assert "missing cells: 1 in 'a', 1 in 'b', 1 in 'kind'; the first is in line 3." in err
    assert "--missing fill puts the median" in err
    assert "--missing drop" in err


def test_lines_are_those_of_an_editor(run, holes):
    (holes / "rows.csv").write_text('name,a\n"two\nlines",1\n\ny,2\nz,\n')
    err = run(*FIT, "rows.csv", "--id", "name", status=2).err
    assert "the first is in line 6." in err


def test_medians_fill_and_the_model_remembers_them(run, holes):
    which = ("rows.csv", "--id", "name", "--exclude", "kind", "--missing", "fill")
    err = run(*FIT, *which, "--embedding", "z.csv").err
    assert "note: missing cells in 2 of 6 rows of rows.csv (1 in 'a', 1 in 'b'): filled" in err
    metric = nearkin.load("m.nearkin")
    assert metric.fill_values_.tolist() == [3, 3]
    full = pd.read_csv("rows.csv")[["a", "b"]].fillna({"a": 3, "b": 3})
    Z = metric.transform(full)
    assert_allclose(pd.read_csv("z.csv").drop(columns="name"), Z, rtol=1e-12)
    # Without a word of how: as in training, whatever the medians of the new rows are.
    (holes / "new.csv").write_text("a,b\n100,\n100,2\n")
    result = run("transform", "m.nearkin", "new.csv", "-o", "new.npy")
    assert "missing cells in 1 of 2 rows of new.csv (1 in 'b'): filled with what m.n" in result.err
    assert_allclose(np.load("new.npy"), metric.transform(pd.DataFrame({"a": 100.0, "b": [3.0, 2]})))
    err = run("transform", "m.nearkin", "new.csv", "--missing", "error", status=2).err
    assert "missing cells: 1 in 'b'; the first is in line 2." in err


def test_a_model_that_was_not_fitted_so_does_not_fill(run, holes):
    run(*FIT, "rows.csv", "--id", "name", "--exclude", "kind", "--missing", "drop")
    arguments = ("transform", "m.nearkin", "rows.csv", "--missing", "fill")
    assert "it must be fitted with --missing fill" in run(*arguments, status=2).err
    err = run("transform", "m.nearkin", "rows.csv", status=2).err
    assert "To fill them, the model must be fitted with --missing fill" in err


def test_texts_that_are_missing_are_no_value(run, holes):
    which = ("rows.csv", "--id", "name", "-c", "a", "--one-hot", "kind", "--missing", "fill")
    run(*FIT, *which)
    metric = nearkin.load("m.nearkin")
    assert metric.feature_names_in_.tolist() == ["a", "kind=g", "kind=r"]
    assert metric.fill_values_.tolist() == [3, 0, 0]


def test_rows_are_dropped_with_their_pairs(run, holes):
    which = ("rows.csv", "--id", "name", "--exclude", "kind", "--missing", "drop")
    result = run(*FIT, *which, "--embedding", "z.csv")
    assert "missing cells in 2 of 6 rows of rows.csv (1 in 'a', 1 in 'b'): left out" in result.err
    assert "note: p.csv has 1 pair of rows that are left out; this leaves 3 pairs" in result.err
    assert "from 4 rows of 2 columns and 3 pairs" in result.err
    assert pd.read_csv("z.csv")["name"].tolist() == ["x", "u", "v", "w"]
    (holes / "q.csv").write_text("left,right\nx,z\nx,w\n")
    result = run("same", "m.nearkin", *which[:3], "--missing", "drop", "-p", "q.csv")
    assert [(r["left"], r["right"]) for r in result.records] == [("x", "w")]
    assert "q.csv has 1 pair of rows that are left out" in result.err
    (holes / "q.csv").write_text("left,right\nx,z\n")
    arguments = ("same", "m.nearkin", *which[:3], "--missing", "drop", "-p", "q.csv")
    assert "all pairs name rows that are left out" in run(*arguments, status=2).err
    (holes / "q.csv").write_text("left,right\nx,oh\n")
    assert "1 ids in q.csv are not in rows.csv: 'oh'" in run(*arguments, status=2).err


def test_rows_keep_their_numbers_where_others_are_dropped(run, holes):
    (holes / "p.csv").write_text("left,right,same\n0,1,1\n0,3,0\n4,5,0\n0,5,1\n")
    which = ("rows.csv", "-c", "a,b", "--missing", "drop")
    assert "p.csv has 1 pair of rows" in run(*FIT, *which).err
    (holes / "q.csv").write_text("left,right\n3,5\n1,5\n")
    drop = ("rows.csv", "--missing", "drop")
    [record] = run("same", "m.nearkin", *drop, "-p", "q.csv").records
    assert (record["left"], record["right"]) == ("3", "5")
    X = pd.read_csv("rows.csv")[["a", "b"]].iloc[[3, 5]]
    metric = nearkin.load("m.nearkin")
    assert float(record["distance"]) == pytest.approx(metric.distance(X)[0, 1])
    near = run("neighbors", "m.nearkin", *drop, "-k", "1").records
    assert [r["row"] for r in near] == ["0", "3", "4", "5"]
    assert {r["neighbor"] for r in near} <= {"0", "3", "4", "5"}
    by_label = run("evaluate", "m.nearkin", *drop, "--labels", "kind").records
    assert by_label[0]["judged_by"] == "labels"
    labelled = ("--labels", "kind", "--learner", "rca", "-o", "m.nearkin", "--force")
    run("fit", *which, *labelled)
    assert nearkin.load("m.nearkin").learned_from_["labels"] == 3


def test_nothing_is_left(run, holes):
    (holes / "rows.csv").write_text("name,a,b\nx,,1\ny,2,\n")
    arguments = (*FIT, "rows.csv", "--id", "name", "--missing")
    assert "(1 in 'a', 1 in 'b'): none is left." in run(*arguments, "drop", status=2).err
    (holes / "rows.csv").write_text("name,a,b\nx,,1\ny,,2\n")
    err = run(*arguments, "fill", status=2).err
    assert "rows.csv has no values at all in 'a': --exclude it." in err


@each("form", ["parquet", "feather", "npy", "npz"])
@each("missing", ["fill", "drop", "error"])
def test_all_forms_of_files_may_have_holes(run, tmp_path, form, missing):
    X = np.random.default_rng(0).normal(size=(30, 2))
    X[3, 1] = X[20, 0] = X[21, 0] = np.nan
    frame = pd.DataFrame(X, columns=["a", "b"])
    (tmp_path / "p.csv").write_text("left,right,same\n0,1,1\n2,4,1\n5,6,0\n")
    name = f"rows.{form}"
    if form == "parquet":
        frame.to_parquet(name := tmp_path / name)
    elif form == "feather":
        pyarrow.feather.write_feather(pa.Table.from_pandas(frame), tmp_path / name, chunksize=7)
    elif form == "npy":
        np.save(tmp_path / name, X)
    else:
        np.savez(tmp_path / name, X=X, y=np.arange(30))
    if missing == "error":
        err = run(*FIT, name, status=2).err
        columns = ("column 0", "column 1") if form.startswith("np") else ("'a'", "'b'")
        assert f"2 in {columns[0]}, 1 in {columns[1]}; the first is in row 3." in err
        return
    run(*FIT, name, "--missing", missing, "--embedding", "z.npy")
    metric = nearkin.load("m.nearkin")
    vars(metric).pop("feature_names_in_", None)
    kept = X[~np.isnan(X).any(axis=1)]
    if missing == "fill":
        kept = np.where(np.isnan(X), np.nanmedian(X, axis=0), X)
        assert_array_equal(metric.fill_values_, np.nanmedian(X, axis=0))
    assert_array_equal(np.load("z.npy"), metric.transform(kept))


def test_values_that_a_model_has_not_seen_are_none_of_its_own(run, holes):
    run(*FIT, "rows.csv", "--id", "name", "-c", "b", "--one-hot", "kind", "--missing", "drop")
    (holes / "new.csv").write_text("b,kind\n1,r\n1,blue\n1,pink\n1,blue\n")
    result = run("transform", "m.nearkin", "new.csv", "-o", "z.npy")
    assert result.err == (
        "note: new.csv has 3 rows with values of 'kind' that m.nearkin has not seen, such as "
        "'blue', 'pink': they count as none of those it knows\n"
    )
    metric = nearkin.load("m.nearkin")
    rows = pd.DataFrame({"b": 1.0, "kind=g": 0.0, "kind=r": [1.0, 0, 0, 0]})
    assert_array_equal(np.load("z.npy"), metric.transform(rows))


def test_labels_are_no_features(run, files):
    arguments = ("fit", "rows.csv", "--id", "name", "--learner", "rca", "-o", "m.nearkin")
    err = run(*arguments, "--labels", "knd", status=2).err
    assert "--labels knd: no such column in rows.csv; did you mean 'kind'?" in err
    for option in ("--one-hot", "--columns"):
        err = run(*arguments, "--labels", "kind", option, "a,kind", status=2).err
        assert f"{option} kind: these are the labels" in err
    run(*arguments, "--labels", "kind", "--columns", "*")
    assert nearkin.load("m.nearkin").feature_names_in_.tolist() == ["a", "b"]


def test_scores_by_what_was_learned_from_are_refused(run, files):
    arguments = ("rows.csv", "--id", "name", "--one-hot", "kind", "-p", "pairs.csv")
    run("fit", *arguments, "--learner", "rca", "-o", "m.nearkin")
    err = run("evaluate", "m.nearkin", "rows.csv", "--labels", "kind", status=2).err
    assert "--labels kind: m.nearkin was learned from this column" in err
    run("plot", "m.nearkin", "rows.csv", "--labels", "kind", "-o", "p.svg")


@pytest.fixture(params=["parquet", "feather", "jsonl"])
def vectors(request, sample, tmp_path):
    """A file with a column of vectors beside others."""
    name = tmp_path / f"vectors.{request.param}"
    vectors = pa.array(list(sample.X.astype(np.float32)))
    table = pa.table({"name": sample.ids, "v": vectors, "size": np.arange(len(sample.X))})
    if request.param == "parquet":
        pq.write_table(table, name)
    elif request.param == "feather":
        pyarrow.feather.write_feather(table, name)
    else:
        name.write_text(pd.DataFrame(table.to_pylist()).to_json(orient="records", lines=True))
    return name


def test_a_column_of_vectors_comes_back_as_one(run, files, sample, vectors):
    arguments = (vectors.name, "--id", "name", "--columns", "v", "-p", "pairs.csv")
    run("fit", *arguments, "--learner", "rca", "-o", "m.nearkin")
    metric = nearkin.load("m.nearkin")
    assert metric.vector_column_ == "v"
    expected = metric.transform(sample.X.astype(np.float32))
    read = {
        "parquet": pd.read_parquet,
        "feather": pd.read_feather,
        "jsonl": lambda name: pd.read_json(name, lines=True),
    }
    for ending, reader in read.items():
        # The model knows which column it is.
        name = f"new.{ending}"
        run("transform", "m.nearkin", vectors.name, "--id", "name", "-o", name)
        frame = reader(name)
        assert list(frame) == ["name", "v"]
        assert_allclose(np.stack(frame["v"]), expected, rtol=1e-5, atol=1e-6)
        # What was written can be read.
        if ending != "jsonl":
            run("transform", "m.nearkin", name, "-o", "again.npy", "--force")
            again = metric.transform(np.stack(frame["v"]))
            assert_allclose(np.load("again.npy"), again, rtol=1e-5, atol=1e-6)
    run("transform", "m.nearkin", vectors.name, "--id", "name", "-o", "new.csv")
    assert list(pd.read_csv("new.csv")) == ["name", "rca0", "rca1"]


def test_vectors_with_holes(run, files, sample, vectors):
    table = pa.table(
        {"v": pa.array([[1.0, 2], None, [3, None], [5, 1], [0, 1]]), "name": list("abcde")}
    )
    pq.write_table(table, "holes.parquet")
    (files / "p.csv").write_text("left,right,same\n0,3,1\n")
    err = run(*FIT, "holes.parquet", "-c", "v", status=2).err
    assert "holes.parquet has missing cells: 2 in 'v'; the first is in row 1." in err
    err = run(*FIT, "holes.parquet", "-c", "v", "--missing", "fill").err
    assert "2 of 5 rows" in err
    assert nearkin.load("m.nearkin").fill_values_.tolist() == [2, 1]
    pq.write_table(pa.table({"v": [[1.0, 2], [3.0]]}), "ragged.parquet")
    arguments = (*FIT, "ragged.parquet", "--missing", "drop", "--force")
    assert "row 1, column 'v' of ragged.parquet has 1 numbers" in run(*arguments, status=2).err


def test_the_studio_fills_and_its_models_remember(holes):
    from nearkin.cli.files.columns import Choice
    from nearkin.cli.studio import Wishes, read_records

    choice = Choice(exclude=("kind",), missing="fill")
    records, _ = read_records(holes / "rows.csv", Wishes(choice))
    assert records.X[1].tolist() == [3, 4]
    assert records.remembered["fill_values_"].tolist() == [3, 3]
    choice = Choice(exclude=("kind",), missing="drop")
    (holes / "n.csv").write_text("left,right,same\n0,3,1\n0,2,1\n")
    wishes = Wishes(choice, pairs=holes / "n.csv")
    records, pairs = read_records(holes / "rows.csv", wishes)
    assert list(records.ids) == [0, 3, 4, 5]
    assert records.columns["name"] == ["x", "u", "v", "w"]
    assert pairs.must_link.tolist() == [[0, 1]]


def test_medians_of_many_rows_are_of_some_of_them(monkeypatch):
    from nearkin.cli.files import tables

    monkeypatch.setattr(tables, "_MOST_VALUES", 4000)
    rng = np.random.default_rng(0)
    X = rng.normal([5, -3], 1, size=(50_000, 2))
    X[40:, 1] = np.nan
    blocks = np.array_split(X, 7)
    columns = ["'a'", "'b'"]
    found = tables.count_missing(blocks, columns, lambda *where: pytest.fail(str(where)))
    assert found.counts == {"'b'": 49_960}
    assert (found.n_rows, found.rows[0], len(found.rows)) == (50_000, 40, 49_960)
    a, b = tables.find_medians(blocks, columns, found)
    assert a == pytest.approx(5, abs=0.1)
    assert b == np.median(X[:40, 1])  # of few values, all
