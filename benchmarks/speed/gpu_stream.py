"""From one Parquet file to another by way of a device, beside reading and writing alone.

``python -m benchmarks.speed.gpu_stream`` needs a CUDA device with torch, and pyarrow; it is not
among the benchmarks that ``make bench`` runs. ``--device cpu --small`` tries the program itself.
Prints one line for each figure, and with ``--out FILE`` writes them as JSON too.

- read alone: all blocks of the file, as a stream for the device reads them.
- write alone: as many rows of as many columns as ``transform`` gives.
- read then write: the time of both, one after the other, for which the goal is 0.7 of the speed.
- read beside write: the larger of the two, which is all that can be had.
- copy: the stream with a map that keeps as many columns, so that nothing is computed.
- KernelBeta: ``transform`` from file to file; it has been fitted to a sample on the host.
- fit: KernelBeta from the file, whose sums over rows are made on the device.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.speed.data import clustered

GOAL = 0.7
N_FEATURES, N_LANDMARKS, N_COMPONENTS = 50, 1000, 10
SAMPLE_ROWS = 50_000


def write_rows(path: Path, n: int, group_rows: int) -> None:
    """A Parquet file of clustered rows in float32, in row groups."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = [f"x{i}" for i in range(N_FEATURES)]
    schema = pa.schema([(name, pa.float32()) for name in names])
    group = np.asfortranarray(clustered(group_rows, N_FEATURES)[0])
    rng = np.random.default_rng(2)
    with pq.ParquetWriter(path, schema, compression="none", use_dictionary=False) as writer:
        for start in range(0, n, group_rows):
            # The same clusters again, with the rows moved a little.
            rows = group[: n - start] + rng.normal(scale=0.05, size=N_FEATURES).astype(np.float32)
            writer.write_table(pa.table([pa.array(column) for column in rows.T], schema=schema))


def fitted(path: Path) -> Any:
    """KernelBeta, fitted to rows of the file on the host."""
    from nearkin import KernelBeta, open_rows

    sample = next(iter(open_rows(path)))[:SAMPLE_ROWS]
    return learner(KernelBeta).fit(np.ascontiguousarray(sample), pairs=known_pairs(len(sample)))


def learner(cls: Any) -> Any:
    return cls(n_landmarks=N_LANDMARKS, n_components=N_COMPONENTS, random_state=0)


def known_pairs(n: int) -> Any:
    from nearkin import Pairs

    ends = np.random.default_rng(1).integers(n, size=(2, 110, 2))
    must, cannot = (links[links[:, 0] != links[:, 1]][:100] for links in ends)
    return Pairs(must, cannot)


def seconds(work: Callable[[], Any], turns: int) -> float:
    """The median of some turns."""
    times = []
    for _ in range(turns):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return float(np.median(times))


def measured(path: Path, device: str, turns: int) -> dict[str, float]:
    """Seconds for each part, on a file that the system has in memory after the first pass."""
    from nearkin import KernelBeta, open_rows
    from nearkin.rows.backends import Block
    from nearkin.rows.parquet import write_parquet
    from nearkin.rows.streams import Feed
    from nearkin.storage.files import whole_file

    rows: Any = open_rows(path, device=device)
    metric = fitted(path)
    n, out = len(rows), path.with_name("out.parquet")
    names = list(metric.get_feature_names_out())
    first = next(iter(rows))
    block = Feed(device).empty(len(first), len(names), first.dtype)
    block[...] = first[:, : len(names)]

    def write_alone() -> None:
        with whole_file(out) as unfinished:
            starts = range(0, n, len(block))
            write_parquet(unfinished, names, (Block(i, block[: n - i]) for i in starts))
        out.unlink()

    def read() -> None:
        for _ in rows:
            pass

    def write(mapped: Any) -> None:
        mapped.write(out)
        out.unlink()

    narrow = rows.mapped(lambda X: X[:, : len(names)], names)
    wide = rows.mapped(lambda X: X, list(rows.names))
    learned: Any = metric.transform(rows)
    for _ in learned.mapped(lambda X: X, names):  # kernels are compiled
        break
    parts: dict[str, Callable[[], Any]] = {
        "read alone": read,
        "write alone": write_alone,
        "copy": lambda: write(narrow),
        "copy of all columns": lambda: write(wide),
        "KernelBeta": lambda: write(learned),
    }
    found = {name: seconds(work, turns) for name, work in parts.items()}
    found["fit"] = seconds(
        lambda: learner(KernelBeta).fit(rows, pairs=known_pairs(n)), turns=min(turns, 2)
    )
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--group-rows", type=int, default=1_000_000)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--small", action="store_true", help="300 000 rows, to try the program")
    parser.add_argument("--folder", type=Path, help="on the disk that is to be measured")
    parser.add_argument("--out", type=Path, help="JSON with all figures")
    options = parser.parse_args()
    try:
        import pyarrow
        import torch
    except ImportError as error:
        sys.exit(f"{error}: this needs pyarrow and torch (pip install 'nearkin[parquet,torch]').")
    n, group_rows = options.rows, options.group_rows
    if options.small:
        n, group_rows = 300_000, 100_000
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        needed, free = 8.8 * n * N_FEATURES, shutil.disk_usage(folder).free
        if free < needed:
            sys.exit(f"{needed / 1e9:.1f} GB of disk needed in {folder}, {free / 1e9:.1f} free.")
        path = Path(folder) / "rows.parquet"
        write_rows(path, n, group_rows)
        size = path.stat().st_size
        found = measured(path, options.device, options.turns)
    print(
        f"{n:,} rows of {N_FEATURES} float32, {size / 1e9:.2f} GB, {os.cpu_count()} cores, ", end=""
    )
    print(f"{options.device}, torch {torch.__version__}, pyarrow {pyarrow.__version__}")
    found["read then write"] = found["read alone"] + found["write alone"]
    found["read beside write"] = max(found["read alone"], found["write alone"])
    for name, value in found.items():
        print(f"{name:22} {value:8.3f} s {n / value / 1e6:8.2f} million rows/s")
    ratios = {}
    for part in ("copy", "KernelBeta"):
        for beside in ("read then write", "read beside write"):
            ratios[f"{part}, speed of {beside}"] = found[beside] / found[part]
    for name, value in ratios.items():
        print(f"{name:42} {value:6.2f}   (goal {GOAL})")
    if options.out is not None:
        about = {"rows": n, "device": options.device, "cores": os.cpu_count()}
        figures = {"about": about, "seconds": found, "ratios": ratios}
        options.out.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
