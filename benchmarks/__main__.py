"""Run benchmarks by name, or all of them: ``python -m benchmarks [NAME ...]``."""

from __future__ import annotations

import argparse
from importlib import import_module

# Each module has run(draws) and score(): raw results first, tables from them.
BENCHMARKS = {
    "yeung2007_scalable": "benchmarks.papers.yeung2007_scalable.run",
    "yeung2007_kernel_approach": "benchmarks.papers.yeung2007_kernel_approach.run",
    "lu2009_geometry_aware": "benchmarks.papers.lu2009_geometry_aware.run",
    "shi2011_generative": "benchmarks.papers.shi2011_generative.run",
    "few_pairs": "benchmarks.few_pairs.run",
    "must_links": "benchmarks.few_pairs.must_links",
    "records": "benchmarks.records.run",
    "calibration": "benchmarks.calibration.run",
    "active": "benchmarks.active.run",
    "teaching": "benchmarks.teaching.run",
    "pairs": "benchmarks.speed.pairs",
    "one_more_pair": "benchmarks.speed.one_more_pair",
    "kernel_a": "benchmarks.speed.kernel_a",
    "itml": "benchmarks.speed.itml",
    "lmnn": "benchmarks.speed.lmnn",
    "generative": "benchmarks.speed.generative",
    "eigenvectors": "benchmarks.speed.eigenvectors",
    "neighbor_index": "benchmarks.speed.neighbor_index",
    "geometry_aware": "benchmarks.speed.geometry_aware",
    "dask": "benchmarks.speed.cluster",
    "streaming": "benchmarks.speed.streaming",
    "command_line": "benchmarks.speed.command_line",
    "studio": "benchmarks.studio.run",
    # The last: its page shows results of the others too.
    "speed": "benchmarks.speed.run",
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(BENCHMARKS)}; all by default")
    parser.add_argument("--draws", type=int, default=10, help="random draws of pairs (10)")
    parser.add_argument("--tables", action="store_true", help="only from stored raw results")
    options = parser.parse_args()
    for name in options.names:
        if name not in BENCHMARKS:
            parser.error(f"no benchmark {name!r}: there are {', '.join(BENCHMARKS)}")
    for name in options.names or BENCHMARKS:
        module = import_module(BENCHMARKS[name])
        if not options.tables:
            module.run(options.draws)
        module.score()


if __name__ == "__main__":
    main()
