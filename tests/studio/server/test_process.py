"""The studio as a process: its address, signals, and what a kill leaves."""

import signal
import socket
import subprocess
import sys
from contextlib import contextmanager

import httpx
import numpy as np
import pytest

from benchmarks.kill_the_studio import check
from benchmarks.studio.troubles import TROUBLES, run
from nearkin.cli import main
from nearkin.studio.lesson import Lesson
from nearkin.studio.records import records_of
from tests.cases import each
from tests.waiting import PATIENCE

NEARKIN = [sys.executable, "-W", "error", "-m", "nearkin"]


ROWS = np.random.default_rng(0).normal(size=(50, 3))


@contextmanager
def studio(folder, *arguments):
    command = [*NEARKIN, "studio", "rows.npy", "--no-browser", *map(str, arguments)]
    with subprocess.Popen(
        command,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Test runners in the background may ignore it, and children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as process:
        try:
            yield process, process.stdout.readline().strip()
        finally:
            process.kill()


def test_a_session_from_its_address_to_ctrl_c(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    np.save("rows.npy", ROWS)
    with studio(tmp_path, "--port", 0) as (process, address):
        base, token = address.split("/?token=")
        headers = {"X-Nearkin-Token": token}
        with httpx.Client(
            base_url=base, headers=headers, trust_env=False, timeout=PATIENCE
        ) as client:
            body = {"left": 0, "right": 1, "same": True}
            assert client.post("/api/answers", json=body).json()["n_answers"] == 1

            def refused(*arguments):
                assert main(["studio", "rows.npy", "--no-browser", *arguments]) == 2
                out, err = capsys.readouterr()
                assert out == ""
                assert len(err.splitlines()) == 1
                return err

            # Another studio on the same journal is refused, and the first one goes on.
            assert f"is open already by process {process.pid}" in refused("--port", "0")
            # So is one on the same port.
            port = base.rpartition(":")[2]
            told = refused("--port", port, "--journal", "other.jsonl")
            assert f"port {port} is in use" in told
            assert client.post("/api/undo").json()["n_answers"] == 0
            assert client.post("/api/redo").json()["n_answers"] == 1
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 0
        said = process.stderr.read()
    assert "answers are kept in rows.npy.answers.jsonl" in said
    assert "1 answer in rows.npy.answers.jsonl; known are 1 same, 0 different, 0 unsure" in said
    assert "Traceback" not in said
    with socket.socket() as free:
        free.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        free.bind(("127.0.0.1", int(port)))
    # The next one goes on from there.
    with Lesson(records_of(ROWS, source="rows.npy"), journal="rows.npy.answers.jsonl") as lesson:
        assert lesson.state()["n_answers"] == 1


# One that is ending was sent SIGTERM already.
AT_ONCE_AND_TWICE = [("answering", "KILL", 0.3), ("ending", "HUP", 0.02)]
ONE_BY_ONE = [("answering", "HUP", 0.2), ("answering", "TERM", 0.1), ("starting", "TERM", 1.0)]


@pytest.mark.night
@each("kills", [AT_ONCE_AND_TWICE, ONE_BY_ONE])
def test_nothing_that_was_acknowledged_is_lost_by_a_kill(kills):
    series = [dict(zip(("when", "signal", "after"), kill, strict=True)) for kill in kills]
    assert check({"kills": series, "seed": 0}) == f"series of {len(kills)}"


@pytest.mark.night  # by day test_journal and test_kept_file have the same, without a server
@pytest.mark.skipif(sys.platform == "win32", reason="there is no kill -9")
def test_nothing_is_lost_in_all_kinds_of_trouble(tmp_path):
    """``python -m benchmarks.studio.troubles`` has fifty kills, and a minute of standing still."""
    found = run(tmp_path, kills=len(TROUBLES), seconds_stopped=0)
    assert len(found.told.acknowledged) > 2 * len(TROUBLES)
    assert found.n_refused == 4
