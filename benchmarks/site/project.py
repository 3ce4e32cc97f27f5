"""Pages of the project: which versions are supported, and how long an install takes."""

from __future__ import annotations

import re
import tomllib

from benchmarks.record import ROOT, origin, stored
from benchmarks.speed import installed


def supported_versions() -> str:
    """Versions that ``pyproject.toml`` names, as a table."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pythons = re.findall(r":: (3\.\d+)$", "\n".join(project["classifiers"]), re.MULTILINE)
    optional = project["optional-dependencies"]
    named = {"": project["dependencies"]}
    named |= {extra: lines for extra, lines in optional.items() if extra != "all"}
    extras: dict[tuple[str, str], list[str]] = {("Python", f"{pythons[0]} to {pythons[-1]}"): [""]}
    for extra, lines in named.items():
        for line in lines:
            package, version = re.fullmatch(r"([\w-]+)(?:\[.*\])?(?:>=([\w.]+))?", line).groups()
            if version is not None:
                extras.setdefault((package, f"{version} or later"), []).append(extra)
    table = [f"| {p} | {v} | {', '.join(which)} |" for (p, v), which in extras.items()]
    return "\n".join(["| package | version | for the extra |", "| --- | --- | --- |", *table])


def installed_times() -> str:
    """Seconds of an install and of imports."""
    source, rows = stored(installed.RESULTS)
    return f"{installed.words(rows)}\n\n{origin(source)}"


BLOCKS = {"supported_versions": supported_versions, "installed": installed_times}
