"""A studio in a process of its own, as a person starts it."""

from __future__ import annotations

import signal
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import numpy as np


@dataclass(frozen=True)
class Studio:
    """A running studio: its process, its address, a client that knows the token, and its folder.

    The address is the one that is printed: for people, with the token.
    """

    process: subprocess.Popen[str]
    url: str
    client: httpx.Client
    folder: Path

    @property
    def base(self) -> str:
        """The address without the token."""
        return self.url.partition("/?token=")[0]

    @property
    def token(self) -> str:
        return self.url.partition("/?token=")[2]

    @property
    def port(self) -> int:
        return int(self.base.rpartition(":")[2])

    def get(self, path: str) -> Any:
        reply = self.client.get(path)
        reply.raise_for_status()
        return reply.json() if reply.status_code != 204 else None

    def post(self, path: str, body: Any = None) -> Any:
        reply = self.client.post(path, json=body)
        reply.raise_for_status()
        return reply.json()

    def state(self) -> dict[str, Any]:
        found: dict[str, Any] = self.get("/api/lesson")["state"]
        return found

    def layout(self) -> tuple[int, np.ndarray]:
        """Version and coordinates of the rows along the principal axes."""
        reply = self.client.get("/api/layout")
        reply.raise_for_status()
        (version,) = struct.unpack_from("<I", reply.content)
        return version, np.frombuffer(reply.content, dtype="<f4", offset=8).reshape(-1, 2)

    def wait_for_report(self, seconds: float = 60) -> dict[str, Any]:
        """The report on all that is known now."""
        version, end = self.state()["version"], time.monotonic() + seconds
        while time.monotonic() < end:
            report: dict[str, Any] | None = self.get("/api/report")
            if report is not None and report["version"] >= version:
                return report
            time.sleep(0.05)
        raise TimeoutError(f"there is no report on version {version} after {seconds} s")

    def forget(self) -> None:
        """Undo all there is to undo."""
        state = self.state()
        while state["can_undo"]:
            state = self.post("/api/undo")

    def peak_memory_gb(self) -> float:
        """Most memory that the process has held so far (Linux)."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        line = next(x for x in status.splitlines() if x.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024 / 1e9


def client_of(url: str) -> httpx.Client:
    """A client of the studio with this printed address."""
    base, token = url.split("/?token=")
    return httpx.Client(
        base_url=base,
        headers={"X-Nearkin-Token": token},
        trust_env=False,  # proxies of the machine are not for this
        timeout=120,
        # A connection that was kept may be closed from the other end just when it is used again.
        limits=httpx.Limits(max_keepalive_connections=0),
    )


@contextmanager
def running_studio(*arguments: object, folder: Path) -> Iterator[Studio]:
    """Run ``nearkin studio`` with these arguments in a folder; it is killed at the end."""
    command = [sys.executable, "-m", "nearkin", "studio", *map(str, arguments), "--no-browser"]
    if "--port" not in command:
        command += ["--port", "0"]
    errors = folder / "studio.log"
    with (
        errors.open("a") as log,
        subprocess.Popen(
            command,
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        ) as process,
    ):
        try:
            assert process.stdout is not None
            url = process.stdout.readline().strip()
            if not url:
                raise AssertionError(f"the studio does not open: {errors.read_text()}")
            with client_of(url) as client:
                yield Studio(process, url, client, folder)
        finally:
            process.send_signal(signal.SIGKILL)
