"""Trial runs are kept in the user's cache, for the next time and for the command line."""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from nearkin.costs.formulas import Size
from nearkin.costs.machine import signature
from nearkin.storage.files import whole_file

_FORM = 3  # of the file


@dataclass(frozen=True)
class Run:
    """What a job cost when it was run.

    Attributes
    ----------
    size : Size
    fit, transform : float
        Seconds.
    fit_memory, transform_memory : int
        Most bytes that the process held meanwhile.
    columns : int
        Of the rows after ``transform``.
    """

    size: Size
    fit: float
    transform: float
    fit_memory: int = 0
    transform_memory: int = 0
    columns: int = 0


@dataclass(frozen=True)
class Runs:
    """Trial runs of a learner, the smallest first.

    Attributes
    ----------
    runs : list of Run
    passes : int or None
        How often the rows are read by a fit; None if all of them must be in memory.
    new_memory : float
        Seconds that a process waits for a further byte, where it needs many at once.
    """

    runs: list[Run]
    passes: int | None
    new_memory: float = 0.0


def folder() -> Path:
    """Where trial runs are kept: ``NEARKIN_CACHE_DIR``, or the user's cache."""
    named = os.environ.get("NEARKIN_CACHE_DIR")
    if named:
        return Path(named)
    caches = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(caches) / "nearkin"


def key_of(*facts: Any) -> str:
    """A name for trial runs of a learner, by its settings, on this machine."""
    text = json.dumps([_FORM, signature(), [str(fact) for fact in facts]])
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def recalled(key: str) -> Runs | None:
    """Trial runs that were kept; None if there are none, or they cannot be read."""
    try:
        found = json.loads((folder() / f"costs-{key}.json").read_text())
        if found["signature"] != signature():
            return None
        runs = [Run(Size(**one.pop("size")), **one) for one in found["runs"]]
        return Runs(runs, found["passes"], found["new_memory"]) if runs else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def keep(key: str, runs: Runs) -> None:
    """Keep trial runs, if there is a folder for them."""
    found = {
        "signature": signature(),
        "runs": [asdict(run) for run in runs.runs],
        "passes": runs.passes,
        "new_memory": runs.new_memory,
    }
    with suppress(OSError):
        folder().mkdir(parents=True, exist_ok=True)
        with whole_file(folder() / f"costs-{key}.json") as unfinished:
            Path(unfinished).write_text(json.dumps(found))
