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

NEARKIN = [sys.executable, "-W", "error", "-m", "nearkin"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    found = tmp_path_factory.mktemp("studio")
    np.save(found / "rows.npy", np.random.default_rng(0).normal(size=(50, 3)))
    return found


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


def test_a_session_from_its_address_to_ctrl_c(folder):
    with studio(folder, "--port", 0) as (process, address):
        base, token = address.split("/?token=")
        headers = {"X-Nearkin-Token": token}
        with httpx.Client(base_url=base, headers=headers, trust_env=False) as client:
            body = {"left": 0, "right": 1, "same": True}
            assert client.post("/api/answers", json=body).json()["n_answers"] == 1

            def second(*arguments):
                command = [*NEARKIN, "studio", "rows.npy", "--no-browser", *map(str, arguments)]
                return subprocess.run(
                    command, cwd=folder, capture_output=True, text=True, timeout=60, check=False
                )

            # Another studio on the same journal is refused, and the first one goes on.
            done = second("--port", 0)
            assert (done.returncode, done.stdout) == (2, "")
            assert f"is open already by process {process.pid}" in done.stderr
            assert len(done.stderr.splitlines()) == 1
            # So is one on the same port.
            port = base.rpartition(":")[2]
            done = second("--port", port, "--journal", "other.jsonl")
            assert (done.returncode, done.stdout) == (2, "")
            assert f"port {port} is in use" in done.stderr
            assert len(done.stderr.splitlines()) == 1
            assert client.post("/api/undo").json()["n_answers"] == 0
            assert client.post("/api/redo").json()["n_answers"] == 1
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
        said = process.stderr.read()
    assert "answers are kept in rows.npy.answers.jsonl" in said
    assert "1 answer in rows.npy.answers.jsonl; known are 1 same, 0 different, 0 unsure" in said
    assert "Traceback" not in said
    with socket.socket() as free:
        free.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        free.bind(("127.0.0.1", int(port)))
    with studio(folder, "--port", 0) as (process, address):
        assert "?token=" in address
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) in (0, -signal.SIGTERM)
        assert "resumed 1 answer from" in process.stderr.read()


def test_nothing_that_was_acknowledged_is_lost_by_a_kill():
    kills = [
        {"when": "answering", "signal": name, "after": after}
        for name, after in (("KILL", 0.3), ("HUP", 0.2), ("TERM", 0.1))
    ]
    assert check({"kills": kills, "seed": 0}) == "series of 3"
