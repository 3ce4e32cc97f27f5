"""Seconds and memory by step, from a file to groups: python -m benchmarks.records.growth 1000000 4

The second figure is the size of the largest groups. Seconds of all cores together stand beside
those of the clock, which other work on the machine prolongs.
"""

from __future__ import annotations

import csv
import json
import os
import sys
import tempfile
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np

from benchmarks.record import peak_memory_gb
from benchmarks.records.data import KINDS, people
from benchmarks.records.judging import quality
from nearkin.records.comparisons import comparisons_of
from nearkin.records.decisions import judge_table
from nearkin.records.model import collect_answers, make_work, study_table
from nearkin.tables.reading import Column

# Share of records that are copies of others.
_COPIES = 0.6


def measured(n_records: int, largest: int) -> dict[str, Any]:
    """One run without answers."""
    load = round(os.getloadavg()[0], 1)
    make_work(comparisons_of(people(50, 0)[0]), people(50, 0)[0], 10, None, 0)  # compiled
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "records.csv"
        entity = _write(path, n_records, largest)
        steps: dict[str, tuple[float, float]] = {}
        clock, cores = perf_counter(), process_time()

        def done(step: str) -> None:
            nonlocal clock, cores
            steps[step] = round(perf_counter() - clock, 1), round(process_time() - cores, 1)
            clock, cores = perf_counter(), process_time()

        columns = _read(path)
        done("read")
    plan = comparisons_of(columns)
    done("look at columns")
    work = make_work(plan, columns, 10, None, 0)
    done("candidates")
    none = np.empty((0, 2), dtype=np.int64)
    known = collect_answers(none, none)
    work, matching = study_table(work, 0)
    done("learn")
    judged = judge_table(matching, work, known)
    judged.scores  # noqa: B018
    done("compare")
    found = judged.duplicates()
    done("groups")
    same = entity[judged.pairs[:, 0]] == entity[judged.pairs[:, 1]]
    return {
        "n_records": n_records,
        "largest": largest,
        "load": load,
        "steps": steps,
        "memory_gb": round(peak_memory_gb(), 2),
        "candidates": len(judged.pairs),
        "candidates_same": int(same.sum()),
        **quality(found.labels, entity),
        "stated_precision": str(found.precision),
        "stated_recall": str(found.recall),
    }


def _write(path: Path, n_records: int, largest: int) -> np.ndarray:
    columns, person = people(n_records, 0, duplicates=_COPIES, most_copies=largest - 1)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([column.name for column in columns])
        writer.writerows(zip(*(column.values.tolist() for column in columns), strict=True))
    return person


def _read(path: Path) -> list[Column]:
    with path.open(newline="", encoding="utf-8") as file:
        names, *rows = csv.reader(file)
    cells = ([cell or None for cell in column] for column in zip(*rows, strict=True))
    return [
        Column(name, KINDS.get(name, "name"), np.array(values, dtype=object))
        for name, values in zip(names, cells, strict=True)
    ]


if __name__ == "__main__":
    print(json.dumps(measured(int(sys.argv[1]), int(sys.argv[2]))))
