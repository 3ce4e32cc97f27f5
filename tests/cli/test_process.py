"""The program as a process: what it imports, pipes, Ctrl-C."""

import os
import re
import signal
import subprocess
import sys

import numpy as np
import pytest

import nearkin
from nearkin import open_rows
from nearkin.cli import main
from nearkin.cli.fit import read_ahead
from nearkin.cli.models import MarkedRows, mark_rows
from nearkin.rows.streams import RowStream
from tests.cases import each
from tests.waiting import PATIENCE, until

HEAVY = {
    "sklearn", "numba", "scipy", "pandas", "numpy", "pyarrow", "matplotlib", "narwhals",
    "fastapi", "starlette", "uvicorn", "websockets", "PIL",
}  # fmt: skip


@pytest.fixture
def long_work(program, tmp_path):
    """A model, and a file of zeros that takes long to write anew, but little of the disk."""
    X = np.random.default_rng(0).normal(size=(50, 8))
    nearkin.RCA().fit(X, pairs=nearkin.Pairs([(0, 1), (2, 3)])).save(tmp_path / "m.nearkin")
    np.lib.format.open_memmap(tmp_path / "zeros.npy", mode="w+", shape=(5_000_000, 8)).flush()
    return [program, "transform", "m.nearkin", "zeros.npy"]


def test_help_imports_nothing_heavy():
    code = (
        "import sys; from nearkin.cli import main\n"
        "for words in ('--help', 'fit --help', 'studio --help', '--version'):\n"
        "    print('printed by', words, main(words.split()), flush=True)\n"
        "print(*{name.partition('.')[0] for name in sys.modules}, file=sys.stderr)"
    )
    command = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    parts = re.split(r"^printed by (.*)$", done.stdout, flags=re.MULTILINE)
    assert parts[1::2] == ["--help 0", "fit --help 0", "studio --help 0", "--version 0"]
    assert all(shown.strip() for shown in parts[:-1:2])
    assert not HEAVY & set(done.stderr.split())


def test_a_reader_may_leave(long_work, tmp_path):
    with subprocess.Popen(
        long_work, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout.readline().startswith(b"rca0,")
        process.stdout.close()
        assert process.wait(PATIENCE) == 141
        assert process.stderr.read() == b""


@each(
    "arguments",
    [
        ["--help"],
        ["--version"],
        ["fit", "--help"],
        ["studio", "-h"],
        ["info", "m.nearkin"],
        ["info", "m.nearkin", "--json"],
        ["cluster", "none", "rows.npy", "--clusters", "2"],
    ],
)
def test_nobody_reads(program, tmp_path, arguments):
    X = np.random.default_rng(0).normal(size=(50, 8))
    np.save(tmp_path / "rows.npy", X)
    nearkin.RCA().fit(X, pairs=nearkin.Pairs([(0, 1), (2, 3)])).save(tmp_path / "m.nearkin")
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "wb", buffering=0) as pipe:
        done = subprocess.run(
            [program, *arguments], cwd=tmp_path, stdout=pipe, stderr=subprocess.PIPE, check=False
        )
    assert (done.returncode, done.stderr) == (141, b"")


def test_messages_that_nobody_can_read_stop_nothing(tmp_path):
    np.save(tmp_path / "rows.npy", np.random.default_rng(0).normal(size=(50, 8)))
    (tmp_path / "p.csv").write_text("left,right,same\n0,1,1\n2,3,0\n")
    fit = "fit rows.npy -p p.csv --learner rca -o m.nearkin"
    line = f'"{sys.executable}" -W error -m nearkin {fit} 2>&-'
    assert subprocess.run(["bash", "-c", line], cwd=tmp_path, check=False).returncode == 0
    assert (tmp_path / "m.nearkin").exists()


@pytest.mark.parametrize(
    ("name", "sent", "status"),
    [("out.csv", signal.SIGINT, 130), ("out.parquet", signal.SIGTERM, -signal.SIGTERM)],
)
def test_an_interruption_leaves_nothing(long_work, tmp_path, name, sent, status):
    with subprocess.Popen(
        [*long_work, "-o", name], cwd=tmp_path, stderr=subprocess.PIPE
    ) as process:
        until(lambda: [one for one in tmp_path.glob(f".{name}.*.tmp") if one.stat().st_size])
        process.send_signal(sent)
        assert process.wait(PATIENCE) == status
        assert process.stderr.read() == b"interrupted\n"
    assert sorted(os.listdir(tmp_path)) == ["m.nearkin", "zeros.npy"]


def test_a_process_ends_with_the_status(program, tmp_path):
    done = subprocess.run(
        [program, "fit", "none.csv", "-p", "p.csv", "-o", "m"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "nearkin fit: none.csv: there is no such file.\n"


def test_help_and_version(run):
    assert "fit" in run().out
    assert run("--version").out.strip() == nearkin.__version__


@each(
    ("said", "meant"),
    [
        ("fitt", "fit"),
        ("embed", "transform"),
        ("train", "fit"),
        ("learn", "fit"),
        ("predict", "same"),
        ("dedupe", "duplicates"),
        ("knn", "neighbors"),
        ("search", "neighbors"),
        ("neighbours", "neighbors"),
        ("score", "evaluate"),
        ("test", "evaluate"),
        ("Serve", "studio"),
        ("label", "studio"),
        ("precompile", "warm-up"),
    ],
)
def test_commands_that_are_not_there_are_guessed(run, said, meant):
    err = run(said, "rows.csv", status=2).err
    assert err == f"nearkin: No such command {said!r}. Did you mean {meant!r}?\n"
    assert run("xyzzy", status=2).err == "nearkin: No such command 'xyzzy'.\n"


@each(
    ("arguments", "message"),
    [
        (("fit", "--componets", 2), "nearkin fit: No such option: --componets. Did you mean "),
        (("neighbors", "--neighbours", 2), "Did you mean --neighbors?"),
        (("fit", "--standardize"), "Did you mean --standardise?"),
        (("--versoin",), "nearkin: No such option: --versoin. Did you mean --version?"),
        (("info", "--xyzzy"), "nearkin info: No such option: --xyzzy\n"),
    ],
)
def test_options_that_are_not_there_are_guessed(run, arguments, message):
    assert message in run(*arguments, status=2).err


def test_quiet_leaves_errors_only(run, files):
    which = ("rows.csv", "-c", "a,b", "-p", "numbered.csv", "--learner", "rca", "-o", "m.nearkin")
    assert run("fit", *which, "--quiet").err == ""
    assert "exists already" in run("--quiet", "fit", *which, status=2).err
    assert "RCA learned" in run("fit", *which, "--force").err  # only that one run was quiet


def test_quiet_leaves_out_what_the_library_warns_of(run, files, model, sample):
    np.save("few.npy", sample.X[:3])
    (files / "p.csv").write_text("left,right,same\n0,1,1\n")
    arguments = ("suggest", "model.nearkin", "few.npy", "-p", "p.csv", "-n", 50)
    assert run(*arguments, "--quiet").err == ""
    assert "note:" in run(*arguments).err


@each(
    ("line", "completed"),
    [("nearkin tr", "transform"), ("nearkin fit rows.csv --learner kernel-b", "kernel-beta")],
)
def test_a_shell_can_complete(line, completed):
    done = subprocess.run(
        [sys.executable, "-c", "import sys; from nearkin.cli import main; sys.exit(main())"],
        env={
            **os.environ,
            "_NEARKIN_COMPLETE": "complete_bash",
            "COMP_WORDS": line,
            "COMP_CWORD": str(len(line.split()) - 1),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split() == [completed]


def test_without_its_packages_the_program_says_so(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "typer", None)
    monkeypatch.delitem(sys.modules, "nearkin.cli.app", raising=False)
    assert main([]) == 2
    assert "pip install 'nearkin[cli]'" in capsys.readouterr().err


def test_every_command_has_help_and_a_seed_if_something_is_random(run):
    commands = "fit neighbors duplicates link cluster evaluate suggest plot demo studio"
    for command in [*commands.split(), "transform", "same", "info", "warm-up"]:
        out = run(command, "--help").out
        assert ("--seed" in out) == (command in commands.split())
        assert "--quiet" in out


# What a command imports before it works, and what it does meanwhile


def printed(code):
    command = [sys.executable, "-W", "error", "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


def test_a_command_imports_no_more_than_it_needs(tmp_path):
    rows = np.random.default_rng(0).normal(size=(60, 3))
    np.save(tmp_path / "rows.npy", rows)
    (tmp_path / "pairs.csv").write_text("left,right,same\n0,1,yes\n2,3,no\n4,5,no\n")
    code = (
        "import sys; from nearkin.cli import main; "
        f"sys.argv[1:] = ['fit', '{tmp_path}/rows.npy', '--pairs', '{tmp_path}/pairs.csv', "
        f"'--learner', 'gmml', '-o', '{tmp_path}/m.nearkin']; status = main(); "
        "print(status, *{name.partition('.')[0] for name in sys.modules})"
    )
    status, *loaded = printed(code)
    assert status == "0"
    assert not {"numba", "torch", "matplotlib", "dask"} & set(loaded)


def test_marks_are_made_while_rows_are_read():
    X = np.random.default_rng(0).normal(size=(100, 3))
    passes = []

    def blocks():
        passes.append(len(passes))
        yield from np.array_split(X, 5)

    marked = MarkedRows(open_rows(blocks))
    n_opened = len(passes)
    marked.rows.take(np.arange(4))
    next(iter(marked.rows))
    n_before = len(passes)
    np.testing.assert_array_equal(marked.rows.to_numpy(), X)
    np.testing.assert_array_equal(marked.marks(), np.unique(mark_rows(X)))
    assert len(passes) == n_before + 1 > n_opened
    unread = MarkedRows(open_rows(lambda: np.array_split(X, 5)))
    np.testing.assert_array_equal(unread.marks(), marked.marks())


def test_rows_are_read_ahead(monkeypatch):
    monkeypatch.setattr("nearkin.cli.fit._FEWEST", 10)
    X = np.random.default_rng(0).normal(size=(5000, 3))
    rows = open_rows([X])
    with read_ahead(rows):
        pass
    numbers, kept = rows._remembered
    assert len(numbers) == 2000
    np.testing.assert_array_equal(kept, X[numbers])


def test_what_is_wrong_with_rows_is_said_to_who_needs_them(monkeypatch):
    monkeypatch.setattr("nearkin.cli.fit._FEWEST", 10)

    def read(wanted):
        raise ValueError("no such rows")

    broken = RowStream(read, n_rows=5000, n_columns=3, dtype=float)
    with read_ahead(broken):
        pass
    with pytest.raises(ValueError, match="no such rows"):
        broken.take(np.arange(5))
