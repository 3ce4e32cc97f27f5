"""A thousand workers: does the scheduler, or the client, keep them waiting?

Dask's own scheduler runs the very graph that nearkin builds for a sum over all rows, a tree of sums
with eight results to a task, on workers of one thread each; a task of known length stands for the
work on a chunk: it sleeps. The scheduler has a process of its own, of which the processor time is
measured, and so has the client. Up to 250 workers share a process, and all of them the cores of one
machine: their own work with messages, which real ones do side by side, keeps them from being busy
all the time.

``python -m benchmarks.speed.thousand_workers WORKERS CHUNKS SECONDS`` measures one of them as JSON.
The second table is on paper: what a pass over 10⁹ and 10¹⁰ rows takes with these figures.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import track

from benchmarks.record import ROOT, Table, Text, publish, store, stored

FOLDER = Path(__file__).parent
RAW = FOLDER / "thousand_workers.jsonl"
# Workers, chunks and seconds of a task.
SETTINGS = ((10, 2000, 0.0), (100, 1000, 1.0), (300, 1500, 3.0), (1000, 2000, 15.0))
# Of a process: each has some ten open files, and two more for every other that it talks with.
MOST_WORKERS = 250
# Without work, to see what messages take that only say that a worker is there.
IDLE_SECONDS = 5.0
QUIET = {
    "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False",
    "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "300s",
    # What each worker does many times a second, of which there are a thousand in one process.
    "DASK_DISTRIBUTED__ADMIN__TICK__INTERVAL": "3600s",
    "DASK_DISTRIBUTED__ADMIN__SYSTEM_MONITOR__INTERVAL": "3600s",
    "DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "3600s",
}
N_ROWS = (10**9, 10**10)
N_WORKERS = (16, 100, 1000)
N_COLUMNS, CHUNK_BYTES = 50, 128 * 10**6
# Rows a second of one core, fit and transform of KernelBeta with 1000 landmarks and 10 columns out:
# benchmarks/speed/COMMAND_LINE.md has two cores and the start of a program.
ROWS_A_SECOND = 200_000
# What does not grow with rows: eigenvectors of 1000 landmarks, pairs, messages.
CLIENT_SECONDS = 1.0
PASSES = 4


def slept(block: np.ndarray, seconds: float) -> tuple[Any, ...]:
    time.sleep(seconds)
    return (block.sum(axis=0),)


async def keep_workers(scheduler: str, workers: int) -> None:
    """Workers of one thread each, in this process."""
    import asyncio

    from distributed import Worker

    settings = {"nthreads": 1, "memory_limit": 0, "dashboard": False, "validate": False}
    started = [Worker(scheduler, **settings) for _ in range(workers)]
    for part in range(0, workers, 50):
        await asyncio.gather(*started[part : part + 50])
    parent = os.getppid()
    while os.getppid() == parent:  # or nobody would end them
        await asyncio.sleep(1)


def processor_time(dask_scheduler: Any = None) -> float:
    """Seconds that the scheduler's process has worked."""
    del dask_scheduler
    return time.process_time()


def measure(workers: int, chunks: int, seconds: float) -> dict[str, Any]:
    """A sum over all rows, which each worker takes part in."""
    import dask.array as da
    from distributed import Client

    from nearkin.dask import DaskRows

    environment = {**os.environ, **QUIET}
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    port = address.rpartition(":")[2]
    scheduler = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--no-dashboard"]
    scheduler += ["--host", "127.0.0.1", "--port", port, "--idle-timeout", "60s"]
    crowds = [len(part) for part in np.array_split(range(workers), -(-workers // MOST_WORKERS))]
    code = (
        "import asyncio; from benchmarks.speed.thousand_workers import keep_workers; "
        "asyncio.run(keep_workers({!r}, {}))"
    )
    started = []
    try:
        for command in (
            scheduler,
            *([sys.executable, "-c", code.format(address, crowd)] for crowd in crowds),
        ):
            silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            started.append(subprocess.Popen(command, cwd=ROOT, env=environment, **silent))
        with Client(address, timeout="60s") as client:
            client.wait_for_workers(workers, timeout=300)
            DaskRows(da.ones((10, 2), chunks=(1, 2)), client=client).reduced(
                partial(slept, seconds=0.0)
            )
            rows = DaskRows(da.ones((chunks, 2), chunks=(1, 2)), client=client)
            before = client.run_on_scheduler(processor_time)
            time.sleep(IDLE_SECONDS)
            idle = (client.run_on_scheduler(processor_time) - before) / IDLE_SECONDS
            before = client.run_on_scheduler(processor_time)
            start, work = time.perf_counter(), time.process_time()
            total = rows.reduced(partial(slept, seconds=seconds))
            wall, work = time.perf_counter() - start, time.process_time() - work
            of_scheduler = client.run_on_scheduler(processor_time) - before
    finally:
        for process in started:
            process.terminate()
    assert total[0].tolist() == [chunks, chunks]
    return {
        "workers": workers,
        "chunks": chunks,
        "task_seconds": seconds,
        "seconds": wall,
        "scheduler": of_scheduler,
        "scheduler_idle": idle,
        "client": work,
        "tasks": tasks_of(chunks),
    }


def tasks_of(chunks: int) -> int:
    """Tasks of a pass: one to make a chunk and one to sum it up, and the tree."""
    from nearkin.rows.dask_rows import _FAN_IN

    total, level = 2 * chunks, chunks
    while level > 1:
        level = -(-level // _FAN_IN)
        total += level
    return total


def run(draws: int) -> None:
    """Measure everything and store the raw results; ``draws`` is not used."""
    del draws
    rows = []
    for setting in track(SETTINGS, description="workers"):
        command = [sys.executable, "-m", "benchmarks.speed.thousand_workers", *map(str, setting)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, cwd=ROOT)
        rows.append(json.loads(done.stdout.splitlines()[-1]))
    store(RAW, rows)


def score() -> None:
    """Tables from the stored results."""
    source, rows = stored(RAW)
    title = "A thousand workers, and 10¹⁰ rows on paper"
    publish(FOLDER / "THOUSAND_WORKERS.md", title, tables(rows), source)


def headline(rows: list[dict[str, Any]]) -> list[str]:
    """What to expect of it, in a line."""
    most = largest(rows)
    return [
        f"a tree of sums with {most['workers']:,} workers of dask",
        f"{1000 * per_task(most):.1f} ms of the scheduler for a task, "
        f"{most['client']:.1f} s of the client for {most['chunks']:,} chunks",
    ]


def largest(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The run with most workers."""
    return max(rows, key=lambda row: row["workers"])


def per_task(row: dict[str, Any]) -> float:
    """Seconds of the scheduler's process for each task."""
    return float(row["scheduler"] / row["tasks"])


def per_chunk(row: dict[str, Any]) -> float:
    """Seconds of the client's process for each chunk."""
    return float(row["client"] / row["chunks"])


def tables(rows: list[dict[str, Any]]) -> list[Table | Text]:
    """What was measured, and what follows from it."""
    body = []
    for row in rows:
        ideal = -(-row["chunks"] // row["workers"]) * row["task_seconds"]
        body.append(
            [
                f"{row['workers']:,}",
                f"{row['chunks']:,}",
                f"{row['task_seconds']:g}",
                f"{ideal:.1f}",
                f"{row['seconds']:.1f}",
                f"{1000 * per_task(row):.2f}",
                f"{row['scheduler']:.1f}",
                f"{100 * row['scheduler'] / row['seconds']:.0f} %",
                f"{row['client']:.2f}",
                f"{100 * row['client'] / row['seconds']:.1f} %",
            ]
        )
    header = ["workers", "chunks", "a task, s", "ideal, s", "measured, s", "scheduler, ms a task"]
    header += ["scheduler, s", "of all", "client, s", "of all"]
    measured = Table("A sum over all rows, as nearkin builds it", header, body, n_words=0)
    return [measured, Text(verdict(rows)), *on_paper(rows)]


def verdict(rows: list[dict[str, Any]]) -> str:
    """Whether the client keeps workers waiting."""
    most = largest(rows)
    ratio = most["scheduler"] / max(most["client"], 1e-9)
    answer = "does not become" if ratio > 1 else "becomes"
    return (
        f"The client {answer} a bottleneck: with {most['workers']:,} workers it works "
        f"{most['client']:.2f} s for {most['chunks']:,} chunks ({1000 * per_chunk(most):.2f} ms "
        f"each, whatever the number of workers), the scheduler {ratio:.0f} times as long. Without "
        f"tasks the scheduler is busy for {100 * most['scheduler_idle']:.0f} % of the time with so "
        "many workers, which say now and then that they are there. What is missing to the ideal "
        "was not taken apart: all workers share the cores of one machine here, with the scheduler."
    )


def on_paper(rows: list[dict[str, Any]]) -> list[Table | Text]:
    """Seconds of a fit and a transform, by who is busy."""
    body = []
    for n in N_ROWS:
        chunks = -(-n * N_COLUMNS * 4 // CHUNK_BYTES)
        for workers in N_WORKERS:
            like = min(rows, key=lambda row: abs(np.log(row["workers"] / workers)))
            of_workers = n / ROWS_A_SECOND / workers
            scheduler = PASSES * tasks_of(chunks) * per_task(like)
            client = CLIENT_SECONDS + PASSES * chunks * per_chunk(like)
            total = max(of_workers, scheduler) + client
            slowest = "workers" if of_workers > scheduler else "scheduler"
            body.append(
                [
                    f"{n:.0e}".replace("+", ""),
                    f"{workers:,}",
                    f"{chunks:,}",
                    f"{of_workers:,.0f}",
                    f"{scheduler:,.0f}",
                    f"{client:.0f}",
                    f"{total:,.0f}",
                    slowest,
                ]
            )
    header = ["rows", "workers", "chunks", "workers, s", "scheduler, s", "client, s", "all, s"]
    tasks = tasks_of(1000) / 1000
    crossing = CHUNK_BYTES / 4 / N_COLUMNS / ROWS_A_SECOND
    crossing /= PASSES * tasks * per_task(largest(rows))
    words = (
        "Both grow with the chunks, so that it is the number of workers that decides: with more "
        f"than about {crossing:,.0f} of them the scheduler is what all wait for, with {PASSES} "
        f"passes over chunks of {CHUNK_BYTES // 10**6} MB; larger chunks move that. The client "
        "waits for one result of a pass, which has as many numbers as the sum, whatever the number "
        f"of workers; it makes the graph of each pass, and {CLIENT_SECONDS:.0f} s is that of "
        "eigenvectors."
    )
    title = (
        f"On paper: KernelBeta with 1000 landmarks, rows of {N_COLUMNS} float32, "
        f"{ROWS_A_SECOND:,} rows a second and core, {PASSES} passes; what the scheduler and the "
        "client take as with the number of workers above that is nearest"
    )
    return [Table(title, [*header, "waiting for"], body, n_words=0), Text(words)]


if __name__ == "__main__":
    n_workers, n_chunks, length = sys.argv[1:]
    print(json.dumps(measure(int(n_workers), int(n_chunks), float(length))))
