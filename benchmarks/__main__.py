"""Run benchmarks by name, or all of them: ``python -m benchmarks [NAME ...]``."""

from __future__ import annotations

import argparse
import sys
from importlib import import_module

from benchmarks.record import publish_page

# Each module has run(draws) and score(): raw results first, tables from them.
BENCHMARKS = {
    "yeung2007_scalable": "benchmarks.papers.yeung2007_scalable.run",
    "yeung2007_kernel_approach": "benchmarks.papers.yeung2007_kernel_approach.run",
    "lu2009_geometry_aware": "benchmarks.papers.lu2009_geometry_aware.run",
    "shi2011_generative": "benchmarks.papers.shi2011_generative.run",
    "few_pairs": "benchmarks.few_pairs.run",
    "must_links": "benchmarks.few_pairs.must_links",
    "constants": "benchmarks.few_pairs.constants",
    "candidates": "benchmarks.few_pairs.candidates",
    "neighbours": "benchmarks.few_pairs.neighbours",
    "distilled": "benchmarks.few_pairs.distilled",
    "clusters": "benchmarks.clusters.run",
    "records": "benchmarks.records.run",
    "calibration": "benchmarks.calibration.run",
    "answerers": "benchmarks.answerers.run",
    "active": "benchmarks.active.run",
    "outlook": "benchmarks.outlook.run",
    "explanations": "benchmarks.explanations.run",
    "presses": "benchmarks.teaching.presses",
    "groups": "benchmarks.teaching.groups",
    "pairs": "benchmarks.speed.pairs",
    "one_more_pair": "benchmarks.speed.one_more_pair",
    "kernel_sums": "benchmarks.speed.kernel_sums",
    "kernel_a": "benchmarks.speed.kernel_a",
    "itml": "benchmarks.speed.itml",
    "lmnn": "benchmarks.speed.lmnn",
    "metric_learner": "benchmarks.speed.metric_learner",
    "generative": "benchmarks.speed.generative",
    "neighbor_index": "benchmarks.speed.neighbor_index",
    "geometry_aware": "benchmarks.speed.geometry_aware",
    "dask": "benchmarks.speed.cluster",
    "streaming": "benchmarks.speed.streaming",
    "command_line": "benchmarks.speed.command_line",
    "first_run": "benchmarks.speed.first_run",
    "estimate": "benchmarks.speed.estimate",
    "thousand_workers": "benchmarks.speed.thousand_workers",
    "studio": "benchmarks.studio.run",
    "studio_map": "benchmarks.studio_map.run",
    # The last: its page shows results of the others too.
    "speed": "benchmarks.speed.run",
}


PAPERS = [name for name, module in BENCHMARKS.items() if module.startswith("benchmarks.papers.")]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "names", nargs="*", help=f"of {', '.join(BENCHMARKS)}, or papers; all by default"
    )
    parser.add_argument("--draws", type=int, default=10, help="random draws of pairs (10)")
    parser.add_argument("--tables", action="store_true", help="only from stored raw results")
    parser.add_argument(
        "--check", action="store_true", help="only whether pages of papers and the site are right"
    )
    parser.add_argument("--write", action="store_true", help="the same, and put right what is not")
    options = parser.parse_intermixed_args()
    names = [one for name in options.names for one in (PAPERS if name == "papers" else [name])]
    for name in names:
        if name not in BENCHMARKS:
            parser.error(f"no benchmark {name!r}: there are {', '.join(BENCHMARKS)}")
    if options.check or options.write:
        sys.exit(check([name for name in names or PAPERS if name in PAPERS], options.write))
    for name in names or BENCHMARKS:
        module = import_module(BENCHMARKS[name])
        if not options.tables:
            module.run(options.draws)
        module.score()


def check(names: list[str], write: bool) -> int:
    """Say where pages differ from what the stored results give; 1 if they do."""
    from benchmarks import site
    from benchmarks.papers import claims, overview

    modules = {name: import_module(BENCHMARKS[name]) for name in PAPERS}
    papers = list(modules.values())
    whole = all(hasattr(paper, "overview") for paper in papers)  # or there is no page over all yet
    if write:
        for name in names:
            if not claims.is_right(modules[name]):
                modules[name].score()
            if hasattr(modules[name], "SEEN"):
                claims.write(modules[name])
        if whole:
            publish_page(overview.README, overview.page(papers))
    found = list(site.problems(write=write))
    found += [text for name in names for text in claims.problems(modules[name])]
    if whole:
        found += overview.problems(papers)
    for text in found:
        print(text)
    print(f"{len(found)} sentences or pages differ" if found else "all pages are as they should be")
    return bool(found)


if __name__ == "__main__":
    main()
