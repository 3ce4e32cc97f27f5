"""Mutation testing: whether the tests notice small mistakes in the code.

python -m benchmarks.mutants [NAME ...]             # all modules, or some
python -m benchmarks.mutants --survivors [NAME ...] # only those that survived the last time
python -m benchmarks.mutants --page                 # the page again, from stored results
"""

from __future__ import annotations

import argparse
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.mutants.page import FOLDER, publish_page
from benchmarks.record import ROOT, provenance, stored, write

PACKAGE = ROOT / "src" / "nearkin"


@dataclass(frozen=True)
class Module:
    """Files of the package, and the tests that are to notice mistakes in them, for pytest."""

    files: Sequence[str]
    tests: Sequence[str]


MODULES = {
    "pairs": Module(
        [
            "pairs/pairs.py",
            "pairs/closure.py",
            "pairs/labels.py",
        ],
        [
            "tests/pairs/test_pairs.py",
            "tests/pairs/test_closure.py",
            "tests/pairs/test_labels.py",
            "tests/pairs/test_supervision.py",
            "tests/pairs/test_triplets.py",
            "tests/tasks/test_cross_validation.py::test_pairs_are_cut_like_rows",
            "src/nearkin/pairs/pairs.py",
        ],
    ),
    "logdet": Module(
        ["solvers/logdet.py"],
        [
            "tests/solvers/test_logdet.py",
            "tests/learners/test_itml.py::test_wrong_bounds_and_priors",
            "tests/learners/test_itml.py::test_default_bounds_are_distances_of_the_data_under_the_prior",
        ],
    ),
    "local_weights": Module(
        ["spaces/local_weights.py"],
        [
            "tests/spaces/test_local_weights.py",
            # A minute where loops are not compiled.
            "--deselect=tests/spaces/test_local_weights.py::"
            "test_rows_of_a_large_array_are_embedded_as_the_few_are",
        ],
    ),
    "journal": Module(
        ["studio/journal.py"],
        [
            "tests/studio/test_journal.py",
            "tests/studio/test_kept_file.py",
            "tests/studio/test_kept_answers.py",
            # These take seconds, for processes that have no mistake and for what others test too.
            *(
                f"--deselect=tests/studio/{test}"
                for test in (
                    "test_journal.py::test_kill_9_loses_nothing_that_was_acknowledged",
                    "test_journal.py::test_a_file_that_may_not_grow",
                    "test_journal.py::test_a_second_opener_is_refused_elsewhere",
                    "test_kept_answers.py::test_answers_survive[",
                )
            ),
            "src/nearkin/studio/journal.py",
        ],
    ),
    "files": Module(
        ["storage/files.py"],
        [
            "tests/storage/test_whole_file.py",
            "tests/cli/test_transform.py::test_only_formulas_are_quoted_and_come_back",
            "src/nearkin/storage/files.py",
        ],
    ),
    "security": Module(["studio/server/security.py"], ["tests/studio/server/test_guard_alone.py"]),
}


def run(name: str, survivors: bool) -> None:
    """Try the mutants of a module, and store what became of them."""
    from benchmarks.mutants.changes import mutants
    from benchmarks.mutants.trials import try_all

    module = MODULES[name]
    path = FOLDER / f"{name}.jsonl"
    every = [mutant for file in module.files for mutant in mutants(PACKAGE, file)]
    before: dict[tuple[Any, ...], str] = {}
    if survivors:
        before = {key: row["outcome"] for key, row in _numbered(stored(path)[1])}
    rows = [
        {
            "file": mutant.file,
            "function": mutant.function,
            "line": mutant.line,
            "before": mutant.before,
            "after": mutant.after,
        }
        for mutant in every
    ]
    waiting = []
    for mutant, (key, row) in zip(every, _numbered(rows), strict=True):
        if before.get(key) in ("killed", "timeout"):
            row["outcome"] = before[key]
        else:
            waiting.append((mutant, row))
    left = iter(waiting)

    def report(mutant: Any, outcome: str) -> None:
        expected, row = next(left)
        assert expected is mutant
        row["outcome"] = outcome
        if outcome in ("survived", "unreached"):
            print(f"{outcome:9} {mutant.file}:{mutant.line}  {mutant.before}  ->  {mutant.after}")

    source = provenance()
    try_all(PACKAGE, [mutant for mutant, _ in waiting], module.tests, report)
    write(path, source, rows)
    print(name, dict(Counter(row["outcome"] for row in rows)))


def _numbered(rows: Iterable[dict[str, Any]]) -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
    """Rows by what tells them apart when lines are added elsewhere."""
    seen: Counter[tuple[Any, ...]] = Counter()
    found = []
    for row in rows:
        key = tuple(row[part] for part in ("file", "function", "before", "after"))
        seen[key] += 1
        found.append(((*key, seen[key]), row))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mutants", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(MODULES)}; all by default")
    parser.add_argument("--survivors", action="store_true", help="only what survived last time")
    parser.add_argument("--page", action="store_true", help="only the page, from stored results")
    options = parser.parse_args()
    for name in options.names:
        if name not in MODULES:
            parser.error(f"no module {name!r}: there are {', '.join(MODULES)}")
    # Loops that are not compiled can be changed; and threads do not survive a fork.
    threads = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    os.environ.update(dict.fromkeys(("NUMBA_DISABLE_JIT", *threads), "1"))
    if not options.page:
        for name in options.names or MODULES:
            run(name, options.survivors)
    publish_page(MODULES)


if __name__ == "__main__":
    main()
