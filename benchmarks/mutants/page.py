"""The page of mutants: a score for every module, and what survived."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks.record import Table, stored

FOLDER = Path(__file__).parent
NOTICED = ("killed", "timeout")
# Why no test can notice a mutant, by its file and by the line as it is then.
EQUIVALENT: dict[tuple[str, str], str] = {
    (same["file"], after): same["why"]
    for same in tomllib.loads((FOLDER / "equivalent.toml").read_text())["same"]
    for after in same["after"]
}


Results = dict[str, tuple[dict[str, Any], list[dict[str, Any]]]]


def stored_results(names: Iterable[str]) -> Results:
    """Where they come from, and a row for every mutant, of modules that have been tried."""
    paths = {name: FOLDER / f"{name}.jsonl" for name in names}
    return {name: stored(path) for name, path in paths.items() if path.exists()}


def publish_page(names: Iterable[str]) -> None:
    """Write the page from what is stored, and show the scores."""
    results = stored_results(names)
    scores(results).show()
    (FOLDER / "RESULTS.md").write_text(page(results))


def page(results: Results) -> str:
    """The page in Markdown."""
    parts = [
        "# Mutants: do the tests notice mistakes?",
        _INTRODUCTION,
        scores(results).markdown().rstrip(),
        *(_survivors(name, rows) for name, (_, rows) in results.items()),
    ]
    return "\n\n".join(parts) + "\n"


_INTRODUCTION = """\
A mutant is the code with one small mistake in it: another operator or number, an argument left out,
a value that is None, a string in other letters. The tests of its module should fail for it. What
counts as a mistake is mutmut's list, applied to decorated functions and to constants too. The score
is the share of all mutants that are noticed; those that no test could tell from the original
(equivalent: the result is the same) count as not noticed. `python -m benchmarks.mutants` runs it;
with `--survivors` it tries new lines and the mutants that survived the last time, and takes the
others as they were then. The commit is that of the last run of either kind."""


def scores(results: Results) -> Table:
    """What share of the mutants of each module is noticed."""
    lines = []
    for name, (source, rows) in results.items():
        counts = Counter(row["outcome"] for row in rows)
        left = [row for row in rows if row["outcome"] not in NOTICED]
        equivalent = sum(why_equivalent(row) is not None for row in left)
        lines.append(
            [
                name,
                ", ".join(f"`{file}`" for file in dict.fromkeys(row["file"] for row in rows)),
                source["commit"][:12],
                str(len(rows)),
                str(counts["killed"]),
                str(counts["timeout"]),
                str(len(left) - equivalent),
                str(equivalent),
                f"{100 * (len(rows) - len(left)) / len(rows):.1f} %",
            ]
        )
    columns = ["module", "files", "commit", "mutants", "test fails", "runs on", "survive"]
    return Table("Score", [*columns, "equivalent", "score"], lines, n_words=3)


def _survivors(name: str, rows: Iterable[dict[str, Any]]) -> str:
    lines = [f"## {name}\n"]
    for row in rows:
        if row["outcome"] in NOTICED:
            continue
        why = why_equivalent(row)
        place = f"{row['file']}:{row['line']}"
        unreached = " (no test comes here)" * (row["outcome"] == "unreached")
        lines.append(
            f"- {place}{unreached} `{_short(row['before'], row['after'])}` → "
            f"`{_short(row['after'], row['before'])}`{f'; equivalent: {why}' * bool(why)}"
        )
    return "\n".join(lines)


def why_equivalent(row: dict[str, Any]) -> str | None:
    """Why no test can notice a mutant; None if one could."""
    return EQUIVALENT.get((row["file"], row["after"]))


def _short(text: str, other: str, around: int = 24) -> str:
    """The part of a text that differs from another, with some of what is around it."""
    most = min(len(text), len(other))
    start = next((k for k in range(most) if text[k] != other[k]), most)
    end = next((k for k in range(most - start) if text[~k] != other[~k]), most - start)
    first, last = max(start - around, 0), min(len(text) - end + around, len(text))
    return "…" * (first > 0) + text[first:last].replace("`", "'") + "…" * (last < len(text))
