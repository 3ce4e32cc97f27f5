"""The same work on a cluster of dask: what workers share, and what they cannot.

Rows are summed and mapped by the workers; results of chunks are combined in a tree, eight to a
task. What does not grow with the rows is done by the client, and the graph of each pass is made by
it. The scheduler needs some time for each task, whoever does it.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass

from nearkin.costs.formulas import Size

# Rows of a chunk, in bytes, as dask makes them.
_CHUNK_BYTES = 128 * 10**6
_FAN_IN = 8
# What the client needs for the graph of a pass, by chunk: benchmarks/speed/THOUSAND_WORKERS.md.
_SECONDS_OF_A_GRAPH = 0.2e-3
# Terms of formulas.py that grow with the rows.
_SHARED = (
    "rows",
    "products",
    "products with landmarks",
    "columns",
    "neighbours",
    "a matrix for each row",
    "n × n matrices",
)
_WORKER_BYTES = 0.3e9  # Python and its libraries


@dataclass(frozen=True)
class Shared:
    """A job that is done by many.

    Attributes
    ----------
    parts : dict
        Seconds by part.
    memory_of_worker : int
        Bytes.
    seconds_of_one : float
        What the job takes on this machine alone.
    """

    parts: dict[str, float]
    memory_of_worker: int
    seconds_of_one: float


def n_chunks(size: Size) -> int:
    """Chunks of all rows."""
    return max(1, -(-size.n * size.d * size.itemsize // _CHUNK_BYTES))


def n_tasks(chunks: int, passes: int) -> int:
    """Tasks of so many passes: one for each chunk, and those that combine their results."""
    total, level = chunks, chunks
    while level > 1:
        level = -(-level // _FAN_IN)
        total += level
    return passes * total


def seconds_of_a_task(workers: int) -> float:
    """What the scheduler needs for a task, as benchmarks/speed/THOUSAND_WORKERS.md found it."""
    return 0.2e-3 + 0.5e-3 * max(1.0, math.log10(workers))


def shared_among(workers: int, size: Size, parts: dict[str, float], passes: int) -> Shared:
    """Parts of a job on so many cores."""
    cores = os.cpu_count() or 1
    found: dict[str, float] = {}
    for name, seconds in parts.items():
        if name.partition(": ")[2] in _SHARED:
            # Never faster than one chunk takes.
            at_once = min(workers, n_chunks(size))
            found[f"workers, {name}"] = seconds * cores / at_once
        else:
            found[f"client, {name}"] = seconds
    chunks = n_chunks(size)
    tasks = n_tasks(chunks, passes) + passes * chunks  # which are read by tasks of their own
    found["scheduler"] = tasks * seconds_of_a_task(workers)
    found["client, graphs"] = passes * chunks * _SECONDS_OF_A_GRAPH
    chunk = min(_CHUNK_BYTES, size.n * size.d * size.itemsize)
    return Shared(found, int(_WORKER_BYTES + 3 * chunk), sum(parts.values()))
