"""Rows and pairs through real pipes, and files that are compressed."""

import gzip
import io
import os
import shutil
import subprocess
import sys
import threading
from contextlib import ExitStack, suppress

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import nearkin
from tests.cases import each
from tests.waiting import PATIENCE

# As a shell connects them.
SCRIPT = r"""
set -euo pipefail
cat rows.csv | "$PYTHON" -W error -m nearkin fit - --id name --exclude kind \
    -p <(cat pairs.csv) --learner rca -o m.nearkin
gzip < rows.csv | nearkin transform m.nearkin /dev/stdin --id name -o - | cat > learned.csv
ls "$TMPDIR" > left.txt
"""


def test_pipes_of_a_shell(program, files, sample):
    (files / "tmp").mkdir()
    path = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", SCRIPT],
        cwd=files,
        env={**os.environ, "PYTHON": sys.executable, "PATH": path, "TMPDIR": str(files / "tmp")},
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    learned = pd.read_csv(files / "learned.csv")
    assert learned.pop("name").tolist() == sample.ids
    rows = pd.DataFrame(sample.X, columns=["a", "b"])
    metric = nearkin.load(files / "m.nearkin")
    assert metric.learned_from_["must_links"] == len(sample.pairs.must_link)
    assert_allclose(learned.to_numpy(), metric.transform(rows), rtol=1e-12)
    assert (files / "left.txt").read_text() == ""


@pytest.fixture
def pipe():
    """The name of a pipe through which some bytes come once, as <(...) gives one."""
    writers, ends = [], []

    def made(content):
        out, into = os.pipe()
        writer = threading.Thread(target=_write, args=[into, content])
        writer.start()
        writers.append(writer)
        ends.append(out)
        return f"/dev/fd/{out}"

    yield made
    for end in ends:
        os.close(end)
    for writer in writers:
        writer.join()


def _write(end, content):
    with suppress(BrokenPipeError), open(end, "wb") as file:
        file.write(content)


@pytest.fixture
def standard_input(pipe, monkeypatch):
    """Let the program read some bytes from standard input, once."""

    with ExitStack() as opened:
        yield lambda content: monkeypatch.setattr(
            sys, "stdin", opened.enter_context(open(pipe(content)))
        )


FIT = ("fit", "--id", "name", "--exclude", "kind", "--learner", "rca", "--force")


@each("name", ["-", "/dev/stdin", "<(...)"])
def test_a_pipe_teaches_what_a_file_does(run, files, sample, pipe, standard_input, name):
    rows, pairs = ((files / file).read_bytes() for file in ("rows.csv", "pairs.csv"))
    run(*FIT, "rows.csv", "-p", "pairs.csv", "-o", "m.nearkin", "--embedding", "expected.csv")
    expected = (files / "expected.csv").read_text()

    def given(content):
        if name == "<(...)":
            return pipe(content)
        standard_input(content)
        return name

    run(*FIT, given(rows), "-p", "pairs.csv", "-o", "m.nearkin", "--embedding", "rows.csv.gz")
    assert gzip.decompress((files / "rows.csv.gz").read_bytes()).decode() == expected
    run(*FIT, "rows.csv", "-p", given(pairs), "-o", "m.nearkin")
    assert run("transform", "m.nearkin", given(rows), "--id", "name").out == expected


def test_pairs_and_queries_from_pipes(run, files, sample, model, pipe):
    rows, pairs = ((files / file).read_bytes() for file in ("rows.csv", "pairs.csv"))
    which = ("model.nearkin", "rows.csv", "--id", "name")
    asked = run("same", *which, "--pairs", pipe(pairs), "--known", pipe(pairs))
    assert len(asked.records) == 40
    few = pipe(b"".join(rows.splitlines(keepends=True)[:3]))
    near = run("neighbors", *which, "--queries", few, "-k", "2").records
    assert [record["name"] for record in near] == ["n0", "n0", "n1", "n1"]


def test_one_pipe_has_one_content(run, files, model, pipe, standard_input):
    rows = (files / "rows.csv").read_bytes()
    standard_input(rows)
    err = run(*FIT, "-", "-p", "/dev/stdin", "-o", "m.nearkin", status=2).err
    message = (
        "both DATA and --pairs are to be read from standard input, which can be read only once"
    )
    assert message in err
    arguments = ("suggest", "model.nearkin", "-", "--id", "name", "--ask", "-o", "answers.csv")
    err = run(*arguments, status=2).err
    assert "both the answers and DATA are to be read from standard input" in err
    name = pipe(rows)
    err = run("same", "model.nearkin", name, "--id", "name", "-p", name, status=2).err
    assert f"both DATA and --pairs are to be read from {name}" in err


def test_what_is_wrong_with_a_pipe(run, files, model, pipe, standard_input):
    standard_input(b"")
    err = run("transform", "model.nearkin", "-", status=2).err
    assert err == "nearkin transform: standard input is empty.\n"
    standard_input(b"a,b\n1,2\n3\n")
    err = run("transform", "model.nearkin", "-", status=2).err
    assert "line 3 of standard input has 1 cells, but the header has 2." in err
    half = io.BytesIO()
    np.save(half, [[1.0, np.nan]])
    name = pipe(half.getvalue())
    err = run("transform", "model.nearkin", name, status=2).err
    assert f"the pipe {name} has missing cells: 1 in column 1; the first is in row 0." in err
    err = run("transform", "model.nearkin", pipe(b"PAR1 oh"), status=2).err
    assert "cannot be read as Parquet" in err
    assert "nearkin-" not in err  # where it was kept


@each("form", ["csv", "tsv", "jsonl", "parquet", "feather", "npy", "npz"])
def test_all_forms_come_through_standard_input(run, files, sample, model, standard_input, form):
    frame = pd.DataFrame(sample.X, columns=["a", "b"])
    content = io.BytesIO()
    if form == "csv":
        frame.to_csv(content, index=False)
    elif form == "tsv":
        frame.to_csv(content, index=False, sep="\t")
    elif form == "jsonl":
        frame.to_json(content, orient="records", lines=True, double_precision=15)
    elif form == "parquet":
        frame.to_parquet(content)
    elif form == "feather":
        frame.to_feather(content)
    elif form == "npy":
        np.save(content, sample.X)
    else:
        np.savez(content, X=sample.X)
    for options in ((), ("--format", form)):
        standard_input(content.getvalue())
        run("transform", "model.nearkin", "-", "-o", "new.npy", "--force", *options)
        assert_allclose(np.load("new.npy"), model.transform(sample.X), rtol=1e-9)


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl"])
def test_compressed_files_are_written_and_read(run, files, sample, model, kind):
    name = f"new.{kind}.gz"
    run("transform", "model.nearkin", "rows.csv", "--carry", "a,b,name", "-o", name)
    assert gzip.decompress((files / name).read_bytes()).decode().count("\n") >= len(sample.X)
    run("transform", "model.nearkin", name, "-o", "again.npy")
    assert_allclose(np.load("again.npy"), model.transform(sample.X), rtol=1e-9)


def test_compressed_files_without_the_ending(run, files, sample, model):
    (files / "packed.csv").write_bytes(gzip.compress((files / "rows.csv").read_bytes()))
    run("transform", "model.nearkin", "packed.csv", "-o", "new.npy")
    assert_array_equal(np.load("new.npy"), model.transform(sample.X))
    shutil.copy("packed.csv", "packed.bin")
    run("transform", "model.nearkin", "packed.bin", "--format", "csv", "-o", "again.npy")
    half = (files / "packed.csv").read_bytes()[:1000]
    for content in (half, b"\x1f\x8b\x08\x00" + b"a,b\n1,2\n" * 9):
        (files / "bad.csv.gz").write_bytes(content)
        err = run("transform", "model.nearkin", "bad.csv.gz", status=2).err
        assert "bad.csv.gz cannot be unpacked" in err


def test_compressed_pairs(run, files, sample):
    for name in ("pairs.csv", "pairs.jsonl"):
        frame = pd.read_csv("pairs.csv")
        if name == "pairs.csv":
            frame.to_csv(f"{name}.gz", index=False)
        else:
            frame.to_json(f"{name}.gz", orient="records", lines=True)
        arguments = ("rows.csv", "--id", "name", "--exclude", "kind", "--learner", "rca", "--force")
        assert "40 pairs" in run("fit", *arguments, "-p", f"{name}.gz", "-o", "m.nearkin").err
    frame.to_feather("pairs.feather")
    assert "40 pairs" in run("fit", *arguments, "-p", "pairs.feather", "-o", "m.nearkin").err


def test_json_lines_are_rows(run, tmp_path):
    (tmp_path / "rows.jsonl").write_text(
        '{"id": 1, "a": 1, "v": [1, 2], "s": "x"}\n\n{"id": 2, "a": 2.5, "v": [3, 4], "s": null}\n'
        '{"id": 3, "a": 4, "v": [5, 7]}\n'
    )
    (tmp_path / "p.csv").write_text("left,right,same\n1,2,yes\n")
    arguments = ("fit", "rows.jsonl", "--id", "id", "-p", "p.csv", "--learner", "rca", "--force")
    run(*arguments, "-c", "a", "-o", "m.nearkin")
    run(*arguments, "-c", "v", "-o", "m.nearkin")
    told = run(*arguments, "-o", "m.nearkin").err
    assert "columns hold 'a' (number), 'v' (vector), 's' (name)" in told
    (tmp_path / "rows.jsonl").write_text('{"a": 1}\n{"a": 2}\n{"a": null}\n')
    arguments = ("fit", "rows.jsonl", "--labels", "a", "-o", "n.nearkin")
    assert "no columns are left" in run(*arguments, status=2).err
    arguments = ("fit", "rows.jsonl", "-p", "p.csv", "-o", "n.nearkin")
    message = "missing cells: 1 in 'a'; the first is in line 3."
    assert message in run(*arguments, status=2).err


def test_a_model_comes_through_a_pipe_too(run, files, sample, model, standard_input):
    standard_input((files / "model.nearkin").read_bytes())
    run("transform", "-", "rows.csv", "-o", "new.npy")
    assert_array_equal(np.load("new.npy"), model.transform(sample.X))
    standard_input((files / "model.nearkin").read_bytes())
    err = run("transform", "-", "-", status=2).err
    assert "both MODEL and DATA are to be read from standard input" in err


def test_what_pipes_are_not_for(run, files, standard_input):
    err = run(*FIT, "rows.csv", "-p", "pairs.csv", "-o", "-", status=2).err
    assert "--output: a model is written to a file; name one." in err
    standard_input(b"a,b\n1,2\n3,4\n")
    err = run("studio", "-", "--no-browser", status=2).err
    assert "-: answers are kept beside the rows, which must therefore be in a file." in err
