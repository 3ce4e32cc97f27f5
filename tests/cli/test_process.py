"""The program as a process: what it imports, pipes, Ctrl-C."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import nearkin
from nearkin.cli import main

HEAVY = {
    "sklearn", "numba", "scipy", "pandas", "numpy", "pyarrow", "matplotlib", "narwhals",
    "fastapi", "starlette", "uvicorn", "websockets", "PIL",
}  # fmt: skip
NEARKIN = [sys.executable, "-W", "error", "-m", "nearkin"]


@pytest.fixture
def long_work(tmp_path):
    """A model, and a file of zeros that takes long to write anew, but little of the disk."""
    X = np.random.default_rng(0).normal(size=(50, 8))
    nearkin.RCA().fit(X, pairs=nearkin.Pairs([(0, 1), (2, 3)])).save(tmp_path / "m.nearkin")
    np.lib.format.open_memmap(tmp_path / "zeros.npy", mode="w+", shape=(5_000_000, 8)).flush()
    return [*NEARKIN, "transform", "m.nearkin", "zeros.npy"]


@pytest.mark.parametrize(
    "arguments", [["--help"], ["fit", "--help"], ["studio", "--help"], ["--version"]]
)
def test_help_imports_nothing_heavy(arguments):
    code = (
        "import sys; from nearkin.cli import main; "
        f"status = main({arguments!r}); "
        "print(status, *{name.partition('.')[0] for name in sys.modules}, file=sys.stderr)"
    )
    command = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    status, *loaded = done.stderr.split()
    assert status == "0"
    assert done.stdout
    assert not HEAVY & set(loaded)


def test_a_reader_may_leave(long_work, tmp_path):
    with subprocess.Popen(
        long_work, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout.readline().startswith(b"rca0,")
        process.stdout.close()
        assert process.wait(60) == 141
        assert process.stderr.read() == b""


@pytest.mark.parametrize("name", ["out.csv", "out.parquet"])
def test_an_interruption_leaves_nothing(long_work, tmp_path, name):
    with subprocess.Popen(
        [*long_work, "-o", name],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        # Test runners in the background may ignore it, and children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as process:
        for _ in range(600):
            started = [path for path in tmp_path.glob(f".{name}.*.tmp") if path.stat().st_size]
            if started or process.poll() is not None:
                break
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
        assert process.stderr.read() == b"interrupted\n"
    assert sorted(os.listdir(tmp_path)) == ["m.nearkin", "zeros.npy"]


def test_a_process_ends_with_the_status(tmp_path):
    done = subprocess.run(
        [*NEARKIN, "fit", "none.csv", "-p", "p.csv", "-o", "m"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "nearkin fit: none.csv: there is no such file.\n"


def test_without_a_command_there_is_help(run):
    assert "fit" in run().out


def test_commands_that_are_not_there(run):
    assert "fitt" in run("fitt", status=2).err


def test_version(run):
    assert run("--version").out.strip() == nearkin.__version__


@pytest.mark.parametrize(
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


def test_every_command_has_help_and_a_seed(run):
    commands = (
        "fit transform same neighbors duplicates cluster evaluate suggest plot info demo studio"
    )
    for command in commands.split():
        assert "--seed" in run(command, "--help").out
