"""Attack a studio while an honest program goes on using it.

    python -m benchmarks.fuzz_studio 1000 [--seed 0] [--workers 1]

A trial is one attack: up to 300 connections that send half a request, a body that never comes,
headers without end, wrong tokens, frames of any size, pictures of gigabytes (``studio/attacks.py``
has them all), or requests that Schemathesis makes from the schema, valid and invalid ones. The
studio runs in a process that may have 256 files open, and the connections of earlier trials stay
open. All the while, a program with the token looks and answers: it must be served within seconds.
Strangers must not be told a word of the data, no answer may be a 500, and log, memory and open
files stay bounded.
"""

from __future__ import annotations

import atexit
import csv
import http.client
import json
import os
import re
import struct
import tempfile
import time
import zlib
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import campaign
from benchmarks.campaign import Campaign, Case
from benchmarks.studio.attacks import ATTACKS, Target
from benchmarks.studio.process import Studio, running_studio

N_ROWS = 60
SECRET = "not for strangers"
# Seconds within which an honest request must be answered, on a busy machine.
IN_TIME = 5.0
MOST_SOCKETS = 300
MOST_FILES = 256
# Bytes of log that a trial may bring, and of memory beyond what the studio has at its start.
MOST_LOG = 100_000
MOST_MEMORY_GB = 0.8
# Attacks by somebody who has the token too, at most so many connections of each.
WITH_TOKEN = {
    "half_headers": 100,
    "endless_headers": 10,
    "slow_bodies": 20,
    "wrong_lengths": 40,
    "deaf_readers": 5,
    "churn": 100,
    "pictures": 40,
    "deaf_tabs": 40,
    "wrong_frames": 40,
}


# --- by the schema ---------------------------------------------------------------------------


def fuzz(serving: Any, n_examples: int, seed: int = 0) -> Counter[tuple[str, int]]:
    """Ask about everything that the schema allows and what it does not: each route's statuses."""
    found: Counter[tuple[str, int]] = Counter()
    base, headers = serving.url.split("/?token=")[0], {"X-Nearkin-Token": serving.token}
    for operation in _operations(serving.app.openapi(), serving.lesson.about()):
        for valid in (True, False):
            found += asked(operation, valid, base, headers, n_examples, seed)
    return found


def _operations(schema: dict[str, Any], about: dict[str, Any]) -> list[Any]:
    """All that can be asked, of rows and colourings that are there and of any."""
    import schemathesis

    keys = [colouring["key"] for colouring in about["colourings"]]
    return [
        result.ok()
        for one in (narrowed(schema, about["n_rows"], keys), schema)
        for result in schemathesis.openapi.from_dict(one).get_all_operations()
    ]


def asked(
    operation: Any, valid: bool, base: str, headers: dict[str, str], n_examples: int, seed: int
) -> Counter[tuple[str, int]]:
    """Ask for one thing in many ways; how often each status was the answer."""
    import hypothesis
    from hypothesis import HealthCheck, Phase, Verbosity, given, settings
    from schemathesis import GenerationMode

    mode = GenerationMode.POSITIVE if valid else GenerationMode.NEGATIVE
    found: Counter[tuple[str, int]] = Counter()

    @hypothesis.seed(seed)
    @settings(
        max_examples=n_examples,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        verbosity=Verbosity.quiet,
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def ask(case: Any) -> None:
        reply = case.call(base_url=base, headers=headers)
        found[operation.label, reply.status_code] += 1
        assert reply.status_code < 500, (
            f"an answer is a defect: {operation.label} {reply.status_code} {case.as_curl_command()}"
        )

    # Nothing can be wrong with a request that has no parts.
    with suppress(hypothesis.errors.Unsatisfiable):
        ask()
    return found


def narrowed(schema: dict[str, Any], n_rows: int, keys: list[str]) -> dict[str, Any]:
    """The same schema for fewer requests: rows that are there, and colourings that are."""

    def walked(part: Any) -> Any:
        if isinstance(part, list):
            return [walked(item) for item in part]
        if not isinstance(part, dict):
            return part
        part = {name: walked(item) for name, item in part.items()}
        if part.get("maximum", 0) > 10**9:
            part |= {"minimum": 0, "maximum": n_rows - 1}
        if part.get("name") == "key":
            part["schema"] = {"type": "string", "enum": keys}
        return part

    found: dict[str, Any] = walked(schema)
    return found


# --- the studio that is attacked -------------------------------------------------------------


def honest(target: Target, chance: np.random.Generator) -> float:
    """Look and answer as a page does; the seconds that the slower of both took."""
    row, other = chance.choice(target.n_rows, 2, replace=False).tolist()
    answer = {"left": row, "right": other, "same": bool(chance.random() < 0.5)}
    return max(
        _request(target, "GET", "/api/lesson"), _request(target, "POST", "/api/answers", answer)
    )


def _request(target: Target, method: str, path: str, body: Any = None) -> float:
    begun = time.perf_counter()
    connection = http.client.HTTPConnection("127.0.0.1", target.port, timeout=IN_TIME)
    headers = {"X-Nearkin-Token": target.token, "Content-Type": "application/json"}
    try:
        content = None if body is None else json.dumps(body)
        connection.request(method, path, content, headers)
        reply = connection.getresponse()
        reply.read()
    except OSError as error:
        raise AssertionError(f"an honest request is not answered: {error!r}") from error
    finally:
        connection.close()
    assert reply.status == 200, f"an honest request is refused: {reply.status}"
    return time.perf_counter() - begun


@dataclass
class Scene:
    """A studio in a process, and what it had at its beginning."""

    target: Target
    studio: Studio
    memory_gb: float

    def log_size(self) -> int:
        return (self.studio.folder / "studio.log").stat().st_size


_scenes: list[tuple[Scene, ExitStack]] = []


def scene() -> Scene:
    """The studio of this process; another one if it has come to its end."""
    if not _scenes or _scenes[-1][0].studio.process.poll() is not None:
        stack = ExitStack()
        atexit.register(stack.close)
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        _write_rows(folder)
        arguments = ("rows.csv", "--image", "picture", "--columns", "x,y")
        studio = stack.enter_context(running_studio(*arguments, folder=folder))
        _limit_files(studio.process.pid)
        studio.wait_for_report()
        target = Target(studio.port, studio.token, SECRET.encode(), N_ROWS)
        _scenes.append((Scene(target, studio, studio.peak_memory_gb()), stack))
    return _scenes[-1][0]


def _limit_files(process: int) -> None:
    import resource

    if hasattr(resource, "prlimit"):
        _, most = resource.prlimit(process, resource.RLIMIT_NOFILE)
        resource.prlimit(process, resource.RLIMIT_NOFILE, (MOST_FILES, most))


def _write_rows(folder: Path) -> None:
    names = [*_write_bombs(folder), "missing.png", ""]
    rng = np.random.default_rng(0)
    with (folder / "rows.csv").open("w", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(["text", "picture", "x", "y"])
        for k in range(N_ROWS):
            lines.writerow([SECRET, names[k % len(names)], *rng.normal(size=2).round(4)])


def _write_bombs(folder: Path) -> list[str]:
    """Pictures of a few kilobytes that claim to be enormous, and one that may be opened."""
    from PIL import Image

    (folder / "large.png").write_bytes(_png(9990))
    (folder / "endless.png").write_bytes(_png(9990)[:500])
    (folder / "tile.tif").write_bytes(_tiff(16, 9000))
    Image.new("RGB", (3600, 3600)).save(folder / "large.webp", lossless=True)
    Image.new("RGB", (4500, 4500)).save(folder / "layers.jpg", progressive=True)
    Image.new("L", (6000, 6000)).save(folder / "allowed.gif")
    return sorted(path.name for path in folder.iterdir())


def _png(side: int) -> bytes:
    """A black picture of this many pixels squared."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        check = zlib.crc32(kind + content)
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", check)

    packed = zlib.compressobj(9)
    rows = b"".join(packed.compress(bytes(1 + 3 * side)) for _ in range(side)) + packed.flush()
    head = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    parts = chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + parts


def _tiff(side: int, tile: int) -> bytes:
    """A small picture in one large tile."""
    packed = zlib.compressobj(9)
    data = b"".join(packed.compress(bytes(3 * tile)) for _ in range(tile)) + packed.flush()
    tags = {256: side, 257: side, 258: 8, 259: 8, 262: 2, 277: 3, 322: tile, 323: tile}
    tags |= {324: 10 + 12 * 10 + 4, 325: len(data)}
    entries = b"".join(struct.pack("<HHII", tag, 4, 1, value) for tag, value in tags.items())
    return b"II*\0" + struct.pack("<IH", 8, len(tags)) + entries + bytes(4) + data


# --- the trials ------------------------------------------------------------------------------


def draw(rng: np.random.Generator) -> Case:
    """An attack, now and then one that waits, or requests by the schema."""
    seed = int(rng.integers(2**31))
    if rng.random() < 0.1:
        operation, valid = int(rng.integers(1000)), bool(rng.random() < 0.5)
        return {"kind": "requests", "operation": operation, "valid": valid, "seed": seed}
    if rng.random() < 0.01:
        return {"kind": "patience", "known": bool(rng.random() < 0.5), "seed": seed}
    kind = str(rng.choice([name for name in ATTACKS if name != "patience"]))
    sockets = int(np.exp(rng.uniform(0, np.log(MOST_SOCKETS))))
    known = kind == "pictures" or (kind in WITH_TOKEN and bool(rng.random() < 0.3))
    if known:
        sockets = min(sockets, WITH_TOKEN[kind])
    return {"kind": kind, "known": known, "sockets": sockets, "seed": seed}


def check(case: Case) -> str:
    """Attack, and use the studio meanwhile."""
    now = scene()
    log, chance = now.log_size(), np.random.default_rng(case["seed"])
    slowest = honest(now.target, chance)
    with ThreadPoolExecutor(1) as pool:
        attack = pool.submit(_attack, now, case)
        while not attack.done():
            slowest = max(slowest, honest(now.target, chance))
            time.sleep(0.02)
        replies = attack.result()
    slowest = max(slowest, honest(now.target, chance))
    check_replies(now.target, case, replies)
    _check_bounds(now, log)
    assert slowest < IN_TIME, f"an honest request waits: {slowest:.1f} s"
    return f"others served within {next(x for x in (0.1, 0.5, 1, 2, 5) if slowest <= x)} s"


def _attack(now: Scene, case: Case) -> list[bytes]:
    if case["kind"] != "requests":
        return ATTACKS[case["kind"]](now.target, case)
    operations = _all_operations()
    headers = {"X-Nearkin-Token": now.target.token}
    operation = operations[case["operation"] % len(operations)]
    asked(operation, case["valid"], now.studio.base, headers, 10, case["seed"])
    return []


@cache
def _all_operations() -> list[Any]:
    from nearkin.studio.lesson import Lesson
    from nearkin.studio.records import records_of
    from nearkin.studio.server.app import make_app
    from nearkin.studio.server.security import Access, Hosts

    about = scene().studio.get("/api/lesson")
    with Lesson(records_of(np.eye(3))) as lesson:
        return _operations(make_app(lesson, Access(), Hosts(1)).openapi(), about)


def check_replies(target: Target, case: Case, replies: list[bytes]) -> None:
    for reply in replies:
        for status in re.findall(rb"^HTTP/1\.1 (\d+)", reply, re.MULTILINE):
            # 503 is the word on a page that has not been built.
            assert int(status) < 500 or int(status) == 503, (
                f"an answer is a defect: {reply[:300]!r}"
            )
        if not case["known"]:
            assert target.secret not in reply, f"a stranger is told of the data: {reply[:300]!r}"
            assert target.token.encode() not in reply, (
                f"a stranger is told the token: {reply[:300]!r}"
            )


def _check_bounds(now: Scene, log: int) -> None:
    process = now.studio.process
    assert process.poll() is None, f"the studio has ended: {process.returncode}"
    more = now.log_size() - log
    assert more < MOST_LOG, f"the log grows: {more} bytes"
    memory = now.studio.peak_memory_gb() - now.memory_gb
    assert memory < MOST_MEMORY_GB, f"memory grows: {memory:.2f} GB"
    n_files = len(os.listdir(f"/proc/{process.pid}/fd"))
    assert n_files < MOST_FILES, f"all files are open: {n_files}"


CAMPAIGN = Campaign("fuzz_studio", "attacks on a studio", draw, check, seconds=90)


if __name__ == "__main__":
    campaign.main(CAMPAIGN)
