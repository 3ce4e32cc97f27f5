"""How long the wheel takes to install, and ``import nearkin`` beside ``import sklearn``.

    python -m benchmarks.speed.installed            # prints it
    python -m benchmarks.speed.installed --store    # keeps it in installed.jsonl, too

A wheel is built, and all that it asks for is put in a folder, which is not timed. Then pip installs
from that folder into an empty environment. There, new processes import one thing each, in turn;
their files have been read before. The time of a process that imports nothing is taken off.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.record import ROOT, store

RESULTS = Path(__file__).with_suffix(".jsonl")
N_INSTALLS, N_IMPORTS = 3, 15
IMPORTS = {
    "nothing": "pass",
    "sklearn": "import sklearn",
    "nearkin": "import sklearn, nearkin",
    "a learner of sklearn": "from sklearn.neighbors import NeighborhoodComponentsAnalysis",
    "a learner of nearkin": (
        "from sklearn.neighbors import NeighborhoodComponentsAnalysis; from nearkin import ITML"
    ),
}

_CLOCKS = {"seconds": "seconds", "cpu_seconds": "seconds of a processor"}
_LEARNERS = ("a learner of sklearn", "nothing", "a learner of nearkin", "a learner of sklearn")


def measured() -> list[dict[str, Any]]:
    """Seconds of each install and each import, by the clock and of the processors."""
    with tempfile.TemporaryDirectory(prefix="nearkin-installed-") as name:
        folder = Path(name)
        build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
        subprocess.run(build, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        (wheel,) = folder.glob("*.whl")
        house = folder / "house"
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--dest", str(house)]
        subprocess.run([*pip, str(wheel)], check=True)
        found = [_installed(wheel, house, folder / f"env{i}") for i in range(N_INSTALLS)]
        return [*found, *_imported(_python_of(folder / "env0"))]


def _python_of(environment: Path) -> str:
    return str(environment / ("Scripts/python.exe" if os.name == "nt" else "bin/python"))


def _installed(wheel: Path, house: Path, environment: Path) -> dict[str, Any]:
    venv.create(environment, with_pip=True)
    offline = ["--no-index", "--find-links", str(house), "--quiet"]
    command = [_python_of(environment), "-m", "pip", "install", *offline, str(wheel)]
    n_packages, size = len([*house.iterdir()]), sum(one.stat().st_size for one in house.iterdir())
    return {"what": "install", "packages": n_packages, "bytes": size, **_timed(command)}


def _imported(python: str) -> list[dict[str, Any]]:
    found = []
    for turn in range(-1, N_IMPORTS):  # the first turn reads the files
        for name, program in IMPORTS.items():
            row = {"what": f"import {name}", **_timed([python, "-c", program])}
            if turn >= 0:
                found.append(row)
    return found


def _timed(command: list[str]) -> dict[str, float]:
    before, start = os.times(), time.perf_counter()
    # Where it stands, sources would be found.
    subprocess.run(command, check=True, cwd=tempfile.gettempdir(), env=_environ())
    seconds, after = time.perf_counter() - start, os.times()
    used = sum(after[i] - before[i] for i in (2, 3))  # of children: user and system
    return {"seconds": round(seconds, 4), "cpu_seconds": round(used, 4)}


def _environ() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


def middle(rows: list[dict[str, Any]], what: str, clock: str = "seconds") -> float:
    """The median of some rows."""
    return median(row[clock] for row in rows if row["what"] == what)


def beyond(rows: list[dict[str, Any]], ours: str, theirs: str, clock: str = "seconds") -> float:
    """How much longer one import takes than another, in the median."""
    return middle(rows, f"import {ours}", clock) - middle(rows, f"import {theirs}", clock)


def words(rows: list[dict[str, Any]], clock: str = "cpu_seconds") -> str:
    """A table of it, by the clock that other work on the machine does not change."""
    (first, *_) = (row for row in rows if row["what"] == "install")
    whole = f"{first['packages'] - 1} packages it needs ({first['bytes'] / 1e6:.0f} MB)"
    lines = [
        f"| what | {_CLOCKS[clock]} |",
        "| --- | ---: |",
        f"| `pip install` of the wheel and the {whole}, all on the disk | "
        f"{middle(rows, 'install', clock):.1f} |",
    ]
    for title, ours, theirs in (
        ("`import sklearn`", "sklearn", "nothing"),
        ("`import nearkin`, beyond that", "nearkin", "sklearn"),
        ("`from sklearn.neighbors import NeighborhoodComponentsAnalysis`", *_LEARNERS[:2]),
        ("`from nearkin import ITML`, beyond that", *_LEARNERS[2:]),
    ):
        lines.append(f"| {title} | {max(0.0, beyond(rows, ours, theirs, clock)):.2f} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--store", action="store_true", help=f"keep it in {RESULTS.name}")
    chosen = parser.parse_args()
    rows = measured()
    if chosen.store:
        store(RESULTS, rows)
    print(words(rows))
    print(words(rows, "seconds"))


if __name__ == "__main__":
    main()
