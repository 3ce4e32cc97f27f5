"""Speed and memory side by side, and one page of tables and pictures of it.

Each measurement is a fresh process; methods take turns, so that a busy machine slows all of them.
``python -m benchmarks.speed.run [PART ...]`` measures some parts only, ``--quick`` all of it on a
small scale, into ``benchmarks/scratch``. Parts of metric-learn need an environment of its own: the
variable ``NEARKIN_PEER_PYTHON`` names a Python that has it. Without it, they are left out.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.record import ROOT, store
from benchmarks.speed import page
from benchmarks.speed.one import METHODS, Setting

FOLDER = Path(__file__).parent
SCRATCH = FOLDER.parent / "scratch" / "speed"
# What takes longer than this is measured once: slow, and far from the others.
LONG_SECONDS = 5

# Row by row: what varies, and the settings that go with it.
Plan = list[tuple[dict[str, Any], Setting]]


def large() -> Plan:
    """A million rows: what neither KernelPCA nor any of the linear peers can do."""
    methods = ("bare product", "product, warm buffer", "KernelBeta", "Nystroem")
    return [
        ({}, Setting(method, 1_000_000, data))
        for data in ("clustered", "isotropic")
        for method in methods
    ]


def peers() -> Plan:
    """Sizes that all can do."""
    left_out = ("product, warm buffer", "NeighborIndex, exact", "NeighborIndex, approximate")
    return [
        ({}, Setting(method, n, "classes", d=30, m=200, pairs=500))
        for n in (1000, 3000)
        for method in METHODS
        if method not in left_out
    ]


def growth() -> Plan:
    """One of n, d, m and pairs grows."""
    rows, pairs = (10_000, 100_000, 1_000_000), (100, 1000, 10_000, 100_000)
    columns = (10, 30, 100, 300)
    landmarks = Setting("KernelBeta", 100_000)
    linear = [Setting(method, 10_000, pairs=500) for method in ("ITML", "GMML")]
    labels = Setting("Generative", 10_000, "classes", d=20)
    chosen = Setting("MetricLearner", 3000, pairs=100)
    curves: list[tuple[Setting, str, tuple[int, ...]]] = [
        (landmarks, "n", (10_000, 30_000, 100_000, 300_000, 1_000_000)),
        *((setting, "n", rows) for setting in linear),
        (labels, "n", (3000, 10_000, 30_000, 100_000)),
        (chosen, "n", (1000, 10_000, 100_000)),
        (landmarks, "d", columns),
        *((setting, "d", columns) for setting in linear),
        (labels, "d", (10, 20, 40, 80)),
        (landmarks, "m", (100, 300, 1000, 3000)),
        (landmarks, "pairs", pairs),
        *((setting, "pairs", pairs) for setting in linear),
        (chosen, "pairs", (50, 200, 800)),
    ]
    return [
        ({"axis": axis}, replace(setting, **{axis: value}))
        for setting, axis, values in curves
        for value in values
    ]


def cores() -> Plan:
    """One core, and all there are."""
    settings = (
        ("transform", Setting("KernelBeta", 1_000_000)),
        ("fit", Setting("Generative", 20_000, "classes", d=40)),
        ("transform", Setting("NeighborIndex, exact", 100_000)),
        ("transform", Setting("NeighborIndex, approximate", 100_000)),
    )
    return [
        ({"step": step}, replace(setting, cores=n))
        for step, setting in settings
        for n in sorted({1, os.cpu_count() or 1})
    ]


class Part(NamedTuple):
    """Settings, the file for their results, which the page reads, and how often to measure each."""

    plan: Callable[[], Plan]
    file: str
    rounds: int


PARTS = {
    # The bare product asks for 4 GB of new memory: its times differ most from round to round.
    "large": Part(large, page.LARGE, 5),
    "peers": Part(peers, page.PEERS, 3),
    "growth": Part(growth, page.GROWTH, 2),
    "cores": Part(cores, page.CORES, 3),
}


def smaller(setting: Setting) -> Setting:
    """The same on a small scale, to try the program; sizes that differ still do."""
    return replace(
        setting,
        n=round(2 * setting.n**0.6),
        m=round(setting.m**0.6),
        d=round(setting.d**0.8),
        pairs=round(2 * setting.pairs**0.6),
    )


def limits(n_cores: int) -> dict[str, str]:
    """An environment in which libraries keep to some of the cores."""
    names = (
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "VECLIB_MAXIMUM_THREADS",
        "NUMBA_NUM_THREADS",
        "LOKY_MAX_CPU_COUNT",
    )
    return dict.fromkeys(names, str(n_cores))


def measure(setting: Setting) -> dict[str, Any]:
    """One measurement in a process of its own."""
    python = sys.executable
    if METHODS[setting.method].whose == "metric-learn":
        python = os.environ["NEARKIN_PEER_PYTHON"]
    command = [python, "-m", "benchmarks.speed.one", json.dumps(asdict(setting))]
    environment = {**os.environ, **(limits(setting.cores) if setting.cores else {})}
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=ROOT, env=environment
    )
    if done.returncode:
        raise RuntimeError(f"{setting} ended with {done.returncode}:\n{done.stderr}")
    return dict(json.loads(done.stdout.splitlines()[-1]))


def measure_part(name: str, folder: Path, quick: bool) -> None:
    """All settings in turn, as many times as there are rounds, to the part's file."""
    from rich.progress import track

    part = PARTS[name]
    plan = part.plan()
    if not os.environ.get("NEARKIN_PEER_PYTHON"):
        kept = [(more, s) for more, s in plan if METHODS[s.method].whose != "metric-learn"]
        if len(kept) < len(plan):
            print("NEARKIN_PEER_PYTHON is not set: no comparison with metric-learn")
        plan = kept
    if quick:
        plan = [(more, smaller(setting)) for more, setting in plan]
    rows, long = [], set()
    rounds = [case for _ in range(1 if quick else part.rounds) for case in plan]
    for more, setting in track(rounds, description=f"speed, {name}"):
        if setting in long:
            continue
        row = {**more, "whose": METHODS[setting.method].whose, **measure(setting)}
        rows.append(row)
        if row["seconds"] > LONG_SECONDS:
            long.add(setting)
    folder.mkdir(parents=True, exist_ok=True)
    store(folder / part.file, rows)


def measure_parts(names: Iterable[str], folder: Path = FOLDER, quick: bool = False) -> None:
    for name in names:
        measure_part(name, folder, quick)


def run(draws: int) -> None:
    """Measure everything and store the raw results; ``draws`` is not used."""
    del draws
    measure_parts(PARTS)


def score() -> None:
    """The page, from the stored results of these and other benchmarks."""
    page.write(FOLDER)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed.run", description=__doc__)
    parser.add_argument("parts", nargs="*", help=f"of {', '.join(PARTS)}; all by default")
    parser.add_argument("--quick", action="store_true", help="on a small scale, into scratch")
    options = parser.parse_args()
    for name in options.parts:
        if name not in PARTS:
            parser.error(f"no part {name!r}: there are {', '.join(PARTS)}")
    folder = SCRATCH if options.quick else FOLDER
    measure_parts(options.parts or PARTS, folder, options.quick)
    page.write(folder)


if __name__ == "__main__":
    main()
