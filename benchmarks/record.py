"""Raw results with where they come from, and tables made of them."""

from __future__ import annotations

import ctypes
import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PACKAGES = ("nearkin", "numpy", "scipy", "scikit-learn", "numba")


def provenance() -> dict[str, Any]:
    """Commit, versions and machine, to be stored beside every set of results."""

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(ROOT), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()

    return {
        "commit": git("rev-parse", "HEAD"),
        # Results are themselves in the tree: a change there does not change what was run.
        "changed": bool(git("status", "--porcelain", "--", "src", "benchmarks/*.py")),
        "python": platform.python_version(),
        "machine": f"{platform.machine()}, {count_cores()} cores",
        **{name: version(name) for name in PACKAGES},
    }


def count_cores() -> int:
    """Count the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def peak_memory_gb() -> float:
    """Most memory this process has held so far.

    On Linux from the process's own status: the resource usage of a child starts at what its
    parent held.
    """
    status = Path("/proc/self/status")
    if status.exists():
        line = next(x for x in status.read_text().splitlines() if x.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024 / 1e9
    import resource  # which Windows has not

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9


def forget_peak() -> None:
    """Let :func:`peak_memory_gb` begin anew, where the system can do that."""
    with suppress(OSError, AttributeError, TypeError):  # Windows knows no CDLL(None)
        ctypes.CDLL(None).malloc_trim(0)
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def store(path: Path, rows: list[dict[str, Any]]) -> None:
    """Write raw results as JSON: one line for the provenance, one for each row."""
    write(path, provenance(), rows)


def write(path: Path, source: dict[str, Any], rows: list[dict[str, Any]]) -> None:
    """Write raw results that come from elsewhere."""
    lines = [json.dumps({"provenance": source}), *map(json.dumps, rows)]
    path.write_text("\n".join(lines) + "\n")


def stored(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Read back what :func:`store` wrote, or :func:`benchmarks.resume.complete` in several runs.

    The provenance is that of the last run; if it had others before it, ``earlier`` has their
    commits.
    """
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    runs = [line["provenance"] for line in lines if "provenance" in line]
    source, commits = runs[-1], [run["commit"] for run in runs]
    earlier = [commit for commit in dict.fromkeys(commits) if commit != source["commit"]]
    return {**source, "earlier": earlier} if earlier else source, rows_in(lines)


def rows_in(lines: Iterable[Any]) -> list[dict[str, Any]]:
    """Rows, of which a line has one or a list, without provenance."""
    steps = (line if isinstance(line, list) else [line] for line in lines)
    return [row for step in steps for row in step if "provenance" not in row]


@dataclass(frozen=True)
class Table:
    """A table for the terminal and for Markdown."""

    title: str
    columns: list[str]
    rows: list[list[str]]
    n_words: int = 1  # columns of words, at the left; the others are of numbers

    def show(self) -> None:
        from rich.console import Console
        from rich.table import Table as RichTable

        table = RichTable(title=self.title)
        for i, column in enumerate(self.columns):
            table.add_column(column, justify="left" if i < self.n_words else "right")
        for row in self.rows:
            table.add_row(*row)
        Console(width=max(100, Console().width)).print(table)

    def markdown(self) -> str:
        def line(cells: list[str]) -> str:
            return "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"

        rule = ["---"] * self.n_words + ["---:"] * (len(self.columns) - self.n_words)
        body = [line(self.columns), line(rule), *map(line, self.rows)]
        return f"**{self.title}**\n\n" + "\n".join(body) + "\n"


@dataclass(frozen=True)
class Picture:
    """A picture beside the page, and what it shows in words."""

    file: str
    alt: str

    def show(self) -> None:
        print(f"picture: {self.file}")

    def markdown(self) -> str:
        return f"![{self.alt}]({self.file})\n"


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    words: str

    def show(self) -> None:
        print(self.words)

    def markdown(self) -> str:
        return f"{self.words}\n"


Block = Table | Picture | Text


def origin(source: dict[str, Any]) -> str:
    """Where results come from, in one line."""
    versions = ", ".join(f"{name} {source[name]}" for name in PACKAGES)
    changed = " with local changes" if source["changed"] else ""
    earlier = "".join(f", {commit[:12]}" for commit in source.get("earlier", ()))
    return (
        f"Measured at commit {source['commit'][:12]}{changed}{earlier}; Python {source['python']}, "
        f"{versions}; {source['machine']}."
    )


@dataclass(frozen=True)
class Page:
    """Tables, pictures and text under a heading, with where they come from."""

    heading: str
    blocks: Sequence[Block]
    source: dict[str, Any] | None

    def markdown(self) -> str:
        footer = [] if self.source is None else [origin(self.source) + "\n"]
        return "\n".join([f"# {self.heading}\n", *(b.markdown() for b in self.blocks), *footer])


def publish(
    path: Path, heading: str, blocks: Sequence[Block], source: dict[str, Any] | None
) -> None:
    """Show tables in the terminal and write them to a Markdown page, with where they come from."""
    publish_page(path, Page(heading, blocks, source))


def publish_page(path: Path, page: Page) -> None:
    """Show a page in the terminal, and write it."""
    for block in page.blocks:
        block.show()
    path.write_text(page.markdown())
    print(f"written: {path.relative_to(ROOT) if path.is_relative_to(ROOT) else path}")
