import json
import os
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq

from tests.cases import each

GOOD = "name,a,b\nx,1,2\ny,3,4\nz,5,7\n"
PAIRS = "left,right,same\n0,1,yes\n0,2,no\n"


def write_good_files():
    """Have good rows and pairs where a test has written none."""
    for file, text in (("rows.csv", GOOD), ("p.csv", PAIRS)):
        if not Path(file).exists():
            Path(file).write_text(text)


def refused(run, name="rows.csv", *more, pairs="p.csv"):
    write_good_files()
    result = run(
        "fit", name, "-p", pairs, "--learner", "rca", "-o", "m.nearkin", *more, status=2
    )  # fmt: skip
    return result.err.removeprefix("nearkin fit: ")


@each(
    ("text", "message"),
    [
        ("", "rows.csv is empty."),
        ("a,b\n", "rows.csv has a header but no rows."),
        ("a;b\n1;2\n3\n", "has one column, 'a;b'. Its cells are separated by ';'"),
        ("a\tb\n1\t2\n3\n", "use --delimiter tab"),
        ("a;b\n1,5;2\n3,5;oh\n5;6\n", "line 3, column 'b' of rows.csv is 'oh', not a number."),
        ("a,b\n1,2\n3\n", "line 3 of rows.csv has 1 cells, but the header has 2."),
        ("a,b,a\n1,2,3\n", "rows.csv has 2 columns 'a': rename them"),
        ("a,b\n1,2\n3,oh\n5,6\n", "line 3, column 'b' of rows.csv is 'oh', not a number."),
        ("b\n2\noh\n6\n", "line 3, column 'b' of rows.csv is 'oh', not a number."),
        ("a,b\n1,2\n3,\n5,6\n", "rows.csv has missing cells: 1 in 'b'; the first is in line 3."),
        ("a,b\n1,2\n3,nan\n5,6\n", "rows.csv has missing cells: 1 in 'b'; the first is in line 3."),
        ("a,b\n1,2\n3,inf\n5,6\n", "line 3, column 'b' of rows.csv is inf"),
        ("a,b\n1,oh\n", "rows.csv has too few rows: two are needed at least."),
        ("a,b\n1,oh\n1,oh\n", "no column of the table tells rows apart"),
        ('a,b\n"1\n",2\n3,oh\n4,5\n', "line 4, column 'b' of rows.csv is 'oh'"),
        ("a,b\n1,2\n3,NA\n5,6\n", "'NA', not a number: leave cells that are missing"),
        (b"a,b\n\xff\xfe,2\n", "rows.csv is not a table in UTF-8 text"),
    ],
)
def test_tables_of_text(run, tmp_path, text, message):
    (tmp_path / "rows.csv").write_bytes(text if isinstance(text, bytes) else text.encode())
    assert message in refused(run)


def test_a_bad_cell_far_down_is_found(run, tmp_path):
    lines = [f"{i},{i}.5" for i in range(200_000)]
    lines[150_000] = "7,seven"
    (tmp_path / "rows.csv").write_text("a,b\n" + "\n".join(lines) + "\n")
    message = "line 150002, column 'b' of rows.csv is 'seven', not a number."
    assert message in refused(run)


def test_rows_of_megabytes(run, tmp_path):
    long = "many words " * 200_000
    rows = [
        ["ann", "x"],
        ["bob", long],
        ["ann", "x"],
        *([f"{7919 * i % 99991:x}{i}", "y" * 1000] for i in range(2000)),
        ["bob", long],
    ]
    text = "".join(f"{name},{cell}\n" for name, cell in [["name", "text"], *rows])
    (tmp_path / "long.csv").write_text(text)
    found = run("duplicates", "long.csv", "--canonical").out.splitlines()[1:]
    assert len(found) == len(rows) - 2  # ann and bob are there twice
    assert {line.rpartition(",")[2] for line in found} == {"x", "y" * 1000, long}


@each("name", ["none.csv", "rows.parquet", "rows.feather", "rows.npy"])
def test_missing_and_empty_files(run, tmp_path, name):
    assert f"{name}: there is no such file." in refused(run, name)
    (tmp_path / name).touch()
    assert f"{name} is empty." in refused(run, name)


@each("name", ["rows.parquet", "rows.feather", "rows.npy", "rows.npz"])
def test_files_that_are_something_else(run, tmp_path, name):
    (tmp_path / name).write_text("certainly not")
    assert f"{name} cannot be read as" in refused(run, name)


def test_tables_of_arrow(run, tmp_path):
    table = pa.table({"a": [1.0, 2, 3], "b": [1.0, None, 3], "c": ["x", "y", "z"]})
    pq.write_table(table, tmp_path / "rows.parquet")
    assert "--missing drop: where columns hold words" in refused(
        run, "rows.parquet", "--missing", "drop"
    )
    assert "rows.parquet has missing cells: 1 in 'b'; the first is in row 1." in refused(
        run, "rows.parquet", "--exclude", "c"
    )
    assert "rows.parquet has missing cells: 1 in 'b'; the first is in row 1." in refused(
        run, "rows.parquet", "--one-hot", "c"
    )
    twice = pa.table([pa.array([1.0]), pa.array([2.0])], names=["a", "a"])
    pq.write_table(twice, tmp_path / "rows.parquet")
    assert "has 2 columns 'a'" in refused(run, "rows.parquet")
    pq.write_table(table.slice(0, 0).select(["a"]), tmp_path / "rows.parquet")
    assert "rows.parquet has no rows" in refused(run, "rows.parquet")


def test_arrays(run, tmp_path):
    np.save(tmp_path / "rows.npy", np.ones(3))
    assert "rows.npy must have shape (n, d)" in refused(run, "rows.npy")
    np.save(tmp_path / "rows.npy", [[1.0, 2], [np.nan, 4], [5, 6]])
    assert "rows.npy has missing cells: 1 in column 0; the first is in row 1." in refused(
        run, "rows.npy"
    )
    assert "columns cannot be chosen" in refused(run, "rows.npy", "-c", "a")
    message = "--labels kind: no such column in rows.npy; its columns have no names."
    assert message in refused(run, "rows.npy", "--labels", "kind")
    np.savez(tmp_path / "rows.npz", one=np.ones((3, 2)), two=np.ones((3, 2)))
    assert "one array of rows and columns, or one named X; it has 'one', 'two'" in refused(
        run, "rows.npz"
    )
    np.savez(tmp_path / "rows.npz", X=[[1.0, 2], [np.nan, 4], [5, 6]])
    assert "rows.npz has missing cells: 1 in column 0; the first is in row 1." in refused(
        run, "rows.npz"
    )


@each(
    ("options", "message"),
    [
        (("-c", "q"), "--columns q: no such column in rows.csv; there are 'name', 'a', 'b'"),
        (("-c", "q*"), "--columns q*: no such column"),
        (("--exclude", "nme"), "--exclude nme: no such column in rows.csv; did you mean 'name'?"),
        (("--exclude", "*"), "no columns are left"),
        (("--id", "nme"), "--id nme: no such column"),
        (("--delimiter", "ab"), "give one sign"),
        (("--delimiter", "\udcff"), "give one sign"),
        (("--delimiter", ";"), 'use --delimiter ","'),
    ],
)
def test_columns_that_are_not_there(run, tmp_path, options, message):
    assert message in refused(run, "rows.csv", *options)


def test_ids_must_differ(run, tmp_path):
    (tmp_path / "rows.csv").write_text("name,a\nx,1\ny,2\nx,3\ny,4\n")
    (tmp_path / "p.csv").write_text("left,right,same\nx,y,1\n")
    message = "has 'x' in line 2 and in line 4, and 1 more are not unique: ids must differ."
    assert message in refused(run, "rows.csv", "--id", "name")
    (tmp_path / "rows.csv").write_text("name,a\nx,1\n,2\n")
    message = "line 3, column 'name' of rows.csv is empty: every row needs an id."
    assert message in refused(run, "rows.csv", "--id", "name")


@each(
    ("text", "message"),
    [
        ("", "p.csv is empty."),
        ("left,right,same\n", "p.csv has a header but no rows."),
        ("left,same\nx,1\n", "p.csv has no column 'right': pairs are in columns left, right, same"),
        ("left,right,same\nx,y,maybe\n", "line 2, column 'same' of p.csv is 'maybe': it must be"),
        ("left,right,same\nx,,1\n", "line 2, column 'right' of p.csv is empty."),
        ("left,right,same\nx,y\n", "line 2 of p.csv has 2 cells, but the header has 3."),
        ("left,right,same\nx,y,\n", "p.csv says nothing"),
        ("left,right,same\ny,y,0\n", "line 2 of p.csv says that 'y' differs from itself."),
        ("left,right,same,weight\nx,y,1,-2\n", "column 'weight' of p.csv is '-2'"),
        (
            "left,right,same\n" + "".join(f"x,q{i},1\n" for i in range(7)),
            "7 ids in p.csv are not in rows.csv: 'q0', 'q1', 'q2', 'q3', 'q4', ...",
        ),
    ],
)
def test_files_of_pairs(run, tmp_path, text, message):
    (tmp_path / "p.csv").write_text(text)
    assert message in refused(run, "rows.csv", "--id", "name")


def test_rows_that_pairs_name_must_be_there(run, tmp_path):
    (tmp_path / "p.csv").write_text("left,right,same\n0,3,1\n")
    message = "line 2, column 'right' of p.csv is 3, but rows.csv has rows 0 to 2."
    assert message in refused(run, "rows.csv", "--exclude", "name")
    assert "there is no such file" in refused(run, "rows.csv", "--exclude", "name", pairs="q.csv")


def test_pairs_of_other_kinds(run, tmp_path):
    write_good_files()
    lines = [{"left": "x", "right": "y", "same": True}, {"left": "x", "right": "z", "same": None}]
    (tmp_path / "p.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    pq.write_table(pa.Table.from_pylist(lines), tmp_path / "p.parquet")
    for name in ("p.jsonl", "p.parquet"):
        arguments = ("fit", "rows.csv", "--id", "name", "--learner", "rca", "--force")
        err = run(*arguments, "-p", name, "-o", "m.nearkin").err
        assert "and 1 pair:" in err
    (tmp_path / "m.nearkin").unlink()
    (tmp_path / "p.jsonl").write_text("{}\n")
    message = "line 1 of p.jsonl has no column"
    assert message in refused(run, "rows.csv", "-c", "a", pairs="p.jsonl")
    (tmp_path / "p.jsonl").write_text("oh\n")
    assert "line 1 of p.jsonl is not JSON" in refused(run, "rows.csv", "-c", "a", pairs="p.jsonl")
    (tmp_path / "p.txt").write_text("oh\n")
    assert "the name must end in .csv, .tsv, .jsonl, .parquet or .feather;" in refused(
        run, "rows.csv", "-c", "a", pairs="p.txt"
    )


def test_outputs_that_cannot_be_written(run, tmp_path, monkeypatch):
    write_good_files()
    (tmp_path / "folder").mkdir()
    arguments = ("fit", "rows.csv", "-c", "a,b", "-p", "p.csv", "--learner", "rca")
    assert "there is no folder none" in run(*arguments, "-o", "none/m", status=2).err
    assert "folder is a folder" in run(*arguments, "-o", "folder", status=2).err
    monkeypatch.setattr("os.access", lambda path, mode: mode != os.W_OK)  # root may
    assert "you may not write to the folder" in run(*arguments, "-o", "m", status=2).err


def test_files_that_are_named_for_something_else(run, tmp_path):
    (tmp_path / "rows.parquet").write_text(GOOD)
    message = "rows.parquet cannot be read as Parquet: it looks like text, perhaps CSV. Rename it"
    assert message in refused(run, "rows.parquet")
    arguments = ("-p", "p.csv", "--learner", "rca", "-c", "a,b", "-o", "m.nearkin")
    run("fit", "rows.parquet", "--format", "csv", *arguments)
    pq.write_table(pa.table({"a": [1.0, 2, 3]}), tmp_path / "rows.csv")
    message = "rows.csv cannot be read as CSV: it looks like Parquet. Rename it, or say --format"
    assert message in refused(run, "rows.csv", "--force")
    (tmp_path / "rows.txt").write_text(GOOD)
    assert "perhaps CSV: --format csv if it is." in refused(run, "rows.txt", "--force")
    (tmp_path / "p.parquet").write_text(PAIRS)
    message = "p.parquet cannot be read as Parquet: it looks like text, perhaps CSV. Rename it."
    assert message in refused(run, "rows.txt", "--format", "csv", "--force", "--exclude", "name",
                              pairs="p.parquet")  # fmt: skip
    (tmp_path / "rows.csv").write_bytes(b"PK\x03\x04 xl/")
    assert "it looks like a ZIP archive: unpack it first." in refused(run, "rows.csv", "--force")
    (tmp_path / "rows.csv").write_text('{"a": 1}\n')
    assert "it looks like JSON lines." in refused(run, "rows.csv", "--force")
    (tmp_path / "rows.xlsx").write_text("?")
    assert "rows.xlsx: the name must end in .csv" in refused(run, "rows.xlsx", "--force")


def test_other_encodings(run, tmp_path):
    for encoding in ("utf-16", "utf-16-le"):
        (tmp_path / "rows.csv").write_bytes(GOOD.encode(encoding))
        err = refused(run)
        assert "rows.csv cannot be read as CSV: it looks like text in UTF-16, not in UTF-8." in err
        assert "Say --encoding utf-16." in err
    text = GOOD.replace("y,", "Zoë,")
    (tmp_path / "rows.csv").write_bytes(text.encode("latin-1"))
    err = refused(run)
    assert "line 3 has the byte eb, which Latin-1 and Windows-1252 have for 'ë'." in err
    assert "Say what it is in: --encoding windows-1252" in err
    assert "there is no such one" in refused(run, "rows.csv", "--encoding", "latin-99")
    assert "rows.csv is not in shift_jis" in refused(run, "rows.csv", "--encoding", "shift_jis")
    far = "name,a,b\n" + "x,1,2\n" * 300_000 + "Zoë,1,2\n"
    (tmp_path / "rows.csv").write_bytes(far.encode("latin-1"))
    assert "line 300002 has the byte eb" in refused(run, "rows.csv", "--id", "name")


def test_arguments_in_each_others_place(run, files, model):
    where = "are the two in each other's place?"
    err = run("transform", "rows.csv", "model.nearkin", status=2).err
    assert f"rows.csv is text, perhaps CSV, not a model: {where}" in err
    assert "rows.csv is text, perhaps CSV, not a model" in run("info", "rows.csv", status=2).err
    err = run("same", "model.nearkin", "model.nearkin", "-p", "pairs.csv", status=2).err
    assert f"model.nearkin is a model, not a table: {where}" in err
    err = run("same", "model.nearkin", "rows.csv", "-p", "model.nearkin", "--id", "name", status=2)
    assert "model.nearkin is a model, not a table" in err.err


def test_pairs_have_a_delimiter_of_their_own(run, tmp_path):
    (tmp_path / "rows.csv").write_text(GOOD.replace(",", ";"))
    write_good_files()
    arguments = ("fit", "rows.csv", "-c", "a,b", "-p", "p.csv", "--learner", "rca")
    run(*arguments, "--delimiter", ";", "-o", "m.nearkin")


def test_json_that_is_nested_deeply(run, files, model):
    (files / "deep.jsonl").write_text('{"a": ' + "[" * 100_000 + "\n")
    err = run("transform", "model.nearkin", "deep.jsonl", status=2).err
    assert "line 1 of deep.jsonl is nested too deeply" in err
    (files / "deep.jsonl").write_text('{"left": ' + "[" * 100_000 + "\n")
    same = ("same", "model.nearkin", "rows.csv", "-p", "deep.jsonl")
    assert "line 1 of deep.jsonl is nested too deeply" in run(*same, status=2).err


@each("odd", [np.inf, 1e300, 2**64 - 1])
def test_numbers_that_count_nothing_are_classes_as_in_text(run, files, odd):
    rows = {"a": [0.0, 1, 5, 6], "b": [0.0, 1, 0, 2], "kind": [type(odd)(1)] * 2 + [odd] * 2}
    pq.write_table(pa.table({name: np.array(values) for name, values in rows.items()}), "r.parquet")
    (files / "r.csv").write_text(f"a,b,kind\n0,0,1\n1,1,1\n5,0,{odd}\n6,2,{odd}\n")
    for name in ("r.parquet", "r.csv"):
        run("fit", name, "-l", "kind", "--learner", "rca", "-o", "m.nearkin", "--force")


@each("value", ["9" * 400, "-" + "9" * 400, "1e400"])
def test_json_numbers_beyond_all_floats_are_infinite(run, files, model, value):
    (files / "far.jsonl").write_text(f'{{"a": 1.5, "b": 1}}\n{{"a": {value}, "b": 2}}\n')
    run("transform", "model.nearkin", "far.jsonl", status=2)
    pair = f'{{"left": 0, "right": 1, "same": 1, "weight": {value}}}\n'
    (files / "pairs.jsonl").write_text(pair)
    err = run("same", "model.nearkin", "rows.csv", "-p", "pairs.jsonl", status=2).err
    assert "column 'weight' of pairs.jsonl" in err
    (files / "far.jsonl").write_text(f'{{"v": [1, {value}]}}\n')
    run("cluster", "none", "far.jsonl", "-c", "v", "--clusters", 1, status=2)


def test_headers_of_arrays_that_are_no_python(run, files, model):
    np.save("rows.npy", np.eye(2))
    whole = (files / "rows.npy").read_bytes()
    (files / "rows.npy").write_bytes(whole[:10] + bytes(40) + whole[50:])
    err = run("transform", "model.nearkin", "rows.npy", status=2).err
    assert "rows.npy cannot be read as an array of numbers" in err


@each(
    ("shape", "message"),
    [
        ("(9999999999, 2)", "X.npy is to have 159999999984 bytes, and has 32"),
        ("[" * 30, "cannot be read as NPZ"),
        ("(2, 'x')", "cannot be read as NPZ"),
        ("(-1, 2)", "cannot be read as NPZ"),
    ],
)
def test_packed_arrays_that_claim_something_else(run, files, model, shape, message):
    text = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".encode()
    head = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text
    with zipfile.ZipFile("rows.npz", "w") as file:
        file.writestr("X.npy", head + bytes(32))
    err = run("transform", "model.nearkin", "rows.npz", status=2).err
    assert "nearkin transform: rows.npz cannot be read as NPZ" in err
    assert message in err


def test_packed_arrays_that_memory_does_not_hold(run, files, model, monkeypatch):
    np.savez_compressed("rows.npz", X=np.zeros((9, 2)))

    def full(*_, **__):
        raise MemoryError

    monkeypatch.setattr(np.lib.format, "read_array", full)
    err = run("transform", "model.nearkin", "rows.npz", status=2).err
    assert "rows.npz unpacks to 0.0 GB, more memory than there is" in err


@each("use", ["rows", "pairs"])
@each("form", ["parquet", "feather"])
def test_tables_that_are_damaged_inside(run, tmp_path, form, use):
    """Their ends are as they should be, so that it shows when their rows are read."""
    path = tmp_path / f"damaged.{form}"
    table = {"left": np.arange(500), "right": np.arange(500) + 1.0, "same": np.arange(500) % 2}
    if form == "parquet":
        pq.write_table(pa.table(table), path, compression="snappy", use_dictionary=False)
    else:
        pyarrow.feather.write_feather(pa.table(table), path, compression="lz4")
    whole = bytearray(path.read_bytes())
    whole[len(whole) // 5 : 2 * len(whole) // 5] = bytes(len(whole) // 5)
    path.write_bytes(whole)
    chosen = ["--exclude", "name"] if use == "pairs" else []
    names = ("rows.csv", path.name) if use == "pairs" else (path.name, "p.csv")
    message = refused(run, names[0], *chosen, pairs=names[1])
    assert f"{path.name} cannot be read as {form.title()}" in message


@each("use", ["ids", "pairs"])
@each("form", ["parquet", "feather"])
def test_text_of_tables_that_is_no_utf8(run, tmp_path, form, use):
    path = tmp_path / f"text.{form}"
    text = pa.array([b"x", b"\xee", b"z"]).view(pa.string())
    table = pa.table({"name": text, "left": text, "right": text, "a": [1.0, 2, 4], "b": [1, 2, 2]})
    table = table.append_column("same", pa.array([1, 0, 1]))
    write = pq.write_table if form == "parquet" else pyarrow.feather.write_feather
    write(table, path)
    (tmp_path / "p.csv").write_text("left,right,same\nx,z,yes\n")
    names = ("rows.csv", path.name) if use == "pairs" else (path.name, "p.csv")
    message = refused(run, names[0], "--id", "name", "-c", "a,b", pairs=names[1])
    assert f"{path.name} cannot be read as {form.title()}" in message
    assert "UTF" in message


def test_a_name_of_a_column_that_is_no_utf8(run, tmp_path):
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"first": [1.0, 2, 4], "other": [1, 2, 2]}), path)
    path.write_bytes(path.read_bytes().replace(b"first", b"f\x82rst"))
    (tmp_path / "p.csv").write_text("left,right,same\n0,2,yes\n")
    assert "rows.parquet cannot be read as Parquet" in refused(run, path.name, pairs="p.csv")
