"""Duplicates of a table on dask's workers: python -m benchmarks.records.distributed 1000000

Records lie in Parquet files. Two worker processes may have less memory, together, than a fit of the
same table in memory takes; this process has the arrays that are stated in ``RecordMatcher``.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np

from benchmarks.record import peak_memory_gb
from benchmarks.records.data import KINDS
from benchmarks.records.judging import quality

N_WORKERS = 2
LIMIT_GB = 0.8
# Shares of it from which on results are spilled and work pauses; libraries alone take half.
SHARES = {"target": 0.8, "spill": 0.85, "pause": 0.95, "terminate": 0.98}
# Records of a file.
_PART = 50_000


def measured(n_records: int) -> dict[str, Any]:
    """One run without answers."""
    import dask
    import dask.dataframe as dd
    from distributed import Client, LocalCluster

    import nearkin as nk

    with tempfile.TemporaryDirectory() as folder:
        # In a process of its own, whose memory is not ours.
        command = [sys.executable, "-m", "benchmarks.records.distributed", str(n_records), folder]
        subprocess.run(command, check=True)
        entity = np.load(Path(folder) / "entity.npy")
        with (
            dask.config.set({f"distributed.worker.memory.{of}": at for of, at in SHARES.items()}),
            LocalCluster(
                n_workers=N_WORKERS,
                threads_per_worker=1,
                memory_limit=f"{LIMIT_GB} GB",
                local_directory=folder,
                dashboard_address=":0",
            ) as cluster,
            Client(cluster) as client,
        ):
            frame = dd.read_parquet(f"{folder}/*.parquet")
            size = frame.memory_usage(deep=True).sum().compute()
            kinds = {name: KINDS.get(name, "name") for name in frame.columns}
            clock, cores = perf_counter(), process_time()
            matcher = nk.RecordMatcher(kinds=kinds, random_state=0).fit(frame)
            found = matcher.duplicates()
            clock, cores = perf_counter() - clock, process_time() - cores
            on_workers = sum(client.run(process_time).values())
            peaks = client.run(peak_memory_gb).values()
    return {
        "n_on_dask": n_records,
        "workers": N_WORKERS,
        "limit_gb": LIMIT_GB,
        "table_gb": round(size / 1e9, 2),
        "seconds": round(clock, 1),
        "processor": round(cores + on_workers, 1),
        "memory_gb": round(peak_memory_gb(), 2),
        "worker_memory_gb": round(max(peaks), 2),
        "candidates": matcher.report_.n_candidates,
        **quality(found.labels, entity),
    }


def write(n_records: int, folder: Path) -> None:
    """Files of records, and who each is about."""
    import pandas as pd

    from nearkin.datasets import make_records

    table, entity = make_records(n_records, random_state=0)
    frame = pd.DataFrame(table)
    for number, start in enumerate(range(0, n_records, _PART)):
        frame[start : start + _PART].to_parquet(folder / f"{number:04d}.parquet")
    np.save(folder / "entity.npy", entity)


if __name__ == "__main__":
    if len(sys.argv) == 3:
        write(int(sys.argv[1]), Path(sys.argv[2]))
    else:
        print(json.dumps(measured(int(sys.argv[1]))))
