"""Where results go: never over what is read, nor in the place of what is no file."""

import os
import stat
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from nearkin.cli import main

RAISE = "signal.raise_signal(signal.SIGINT)"
FIT = ("fit", "rows.csv", "-c", "a,b", "-p", "numbered.csv", "--learner", "rca", "--force")


@pytest.mark.parametrize("name", ["rows.csv", "numbered.csv", "link.csv", "twin.csv"])
def test_inputs_are_not_replaced(run, files, name):
    (files / "link.csv").symlink_to("rows.csv")
    os.link(files / "numbered.csv", files / "twin.csv")
    before = (files / name).read_bytes()
    err = run(*FIT, "-o", name, status=2).err
    role = "DATA" if name in ("rows.csv", "link.csv") else "--pairs"
    assert f"--output {name}: this is what is read as {role}, and would be lost" in err
    assert (files / name).read_bytes() == before


def test_other_inputs_are_not_replaced_either(run, files, model, monkeypatch):
    same = ("same", "model.nearkin", "rows.csv", "-p", "numbered.csv", "--force")
    assert "is read as --known" in run(*same, "--known", "k.csv", "-o", "k.csv", status=2).err
    nearest = ("neighbors", "model.nearkin", "rows.csv", "-q", "q.csv", "-o", "q.csv", "--force")
    assert "is read as --queries" in run(*nearest, status=2).err
    parts = files / "parts"
    parts.mkdir()
    (parts / "one.parquet").write_bytes(b"")
    inside = ("transform", "model.nearkin", "parts", "-o", "parts/one.parquet", "--force")
    assert "is read as DATA" in run(*inside, status=2).err
    with open("rows.csv") as file:
        monkeypatch.setattr(sys, "stdin", file)
        through = ("transform", "model.nearkin", "-", "-o", "rows.csv", "--force")
        assert "is read as DATA" in run(*through, status=2).err


def test_two_results_need_two_files(run, files):
    err = run(*FIT, "-o", "x.csv", "--embedding", "./x.csv", status=2).err
    assert "--output and --embedding are one file, x.csv: give two names" in err
    assert not (files / "x.csv").exists()


def test_force_keeps_permissions(run, files, model):
    target = files / "z.csv"
    target.touch()
    target.chmod(0o600)
    run("transform", "model.nearkin", "rows.csv", "-o", "z.csv", "--force")
    assert stat.S_IMODE(target.stat().st_mode) == 0o600


@pytest.mark.skipif(sys.platform == "win32", reason="named pipes")
@pytest.mark.parametrize("force", [(), ("--force",)])
def test_a_named_pipe_is_written_to(run, files, model, force):
    os.mkfifo("z.csv")
    found = []
    reader = threading.Thread(target=lambda: found.append((files / "z.csv").read_text()))
    reader.start()
    run("transform", "model.nearkin", "rows.csv", "-o", "z.csv", *force)
    reader.join()
    assert found == [run("transform", "model.nearkin", "rows.csv").out]
    assert stat.S_ISFIFO((files / "z.csv").stat().st_mode)


def test_a_model_that_goes_nowhere_still_embeds(run, files):
    run(*FIT, "-o", "m.nearkin", "--embedding", "expected.csv")
    run(*FIT, "-o", "/dev/null", "--embedding", "z.csv")
    assert (files / "z.csv").read_text() == (files / "expected.csv").read_text()


@pytest.mark.parametrize(
    ("stream", "arguments", "status", "said"),
    [
        ("stdout", ("transform", "model.nearkin", "rows.csv"), 2, "standard output is closed"),
        ("stdin", ("transform", "model.nearkin", "-"), 2, "standard input is closed"),
        ("stdout", ("transform", "model.nearkin", "rows.csv", "-o", "z.csv"), 0, ""),
        ("stderr", ("transform", "model.nearkin", "rows.csv", "-o", "z.csv"), 0, ""),
        ("stderr", ("transform", "model.nearkin", "none.csv"), 2, ""),
        ("stdout", ("info", "model.nearkin"), 0, ""),
    ],
)
def test_closed_streams_are_no_defect(
    run, files, model, monkeypatch, stream, arguments, status, said
):
    monkeypatch.setattr(sys, stream, None)
    if stream == "stderr":
        assert main(list(arguments)) == status
        return
    assert said in run(*arguments, status=status).err


def process_of(lines, **streams):
    """Status and messages of a process that ends with what ``run`` gives."""
    code = (
        "import os, signal, sys, time; from nearkin.cli import run_tidily\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        f"{lines}\n"
        "sys.exit(run_tidily(run, is_all=True))"
    )
    known = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "ended.py").write_text(code)
        command = [sys.executable, "-W", "error", "-m", "ended"]
        done = subprocess.run(command, cwd=folder, check=False, **(known | streams))
    return done.returncode, done.stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no disk that is always full")
def test_full_disks_leave_the_status_as_it_is():
    printed = (
        "from contextlib import suppress\n"
        "def run():\n"
        "    with suppress(OSError): print('lost', end='')\n"
        "    return 2"
    )
    with open("/dev/full", "w") as full:
        assert process_of(printed, stdout=full) == (2, b"")
        told = "from nearkin.messages import tell\ndef run(): tell('lost'); return 0"
        assert process_of(told, stderr=full) == (0, None)


@pytest.mark.skipif(sys.platform == "win32", reason="descriptors")
def test_no_file_takes_the_place_of_a_closed_stream():
    lines = "os.close(1); sys.stdout = None\ndef run(): return os.open(os.devnull, os.O_RDONLY)"
    assert process_of(lines)[0] > 2


def test_an_interruption_that_a_callback_loses_is_said_again():
    lines = (
        "class Loses:\n"
        "    def __del__(self): signal.raise_signal(signal.SIGINT)\n"
        "def run():\n"
        "    Loses()\n"
        "    time.sleep(30)"
    )
    assert process_of(lines) == (130, b"interrupted\n")


def test_a_failure_that_an_interruption_led_to_is_an_interruption():
    lines = (
        "def run():\n"
        "    try: signal.raise_signal(signal.SIGINT)\n"
        "    except KeyboardInterrupt: return 2"
    )
    assert process_of(lines) == (130, b"")
    assert process_of(lines.replace(RAISE, f"exec({RAISE!r})")) == (
        130,
        b"",
    )


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="no endless device")
def test_endless_devices_are_not_read(run, files, model, monkeypatch):
    for words in (("model.nearkin", "/dev/zero"), ("/dev/zero", "rows.csv")):
        err = run("transform", *words, status=2).err
        assert "nearkin transform: /dev/zero is a device, which may have no end" in err
    with open("/dev/zero") as zeros:
        monkeypatch.setattr(sys, "stdin", zeros)
        assert "standard input is a device" in run("transform", "model.nearkin", "-", status=2).err
    assert "is empty" in run("transform", "model.nearkin", "/dev/null", status=2).err
