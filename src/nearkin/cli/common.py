"""What commands share: statuses, errors, messages, and modules that only work needs."""

# What is imported here late, commands import from here.
# mypy: implicit-reexport

from __future__ import annotations

import difflib
import re
import shlex
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from inspect import signature
from typing import TYPE_CHECKING, Any

from nearkin.errors import InputError, few
from nearkin.messages import draw_bar, hear_steps, tell
from nearkin.registry import LEARNERS

# Statuses of the process, as docs/guide/command_line.md lists them.
DONE, DEFECT, MISUSE, INTERRUPTED, PIPE_CLOSED = 0, 1, 2, 130, 141


class UserError(InputError):
    """An error that the user can fix; the message says how."""


class _LateModule:
    """A module that is imported when one of its attributes is first used."""

    def __init__(self, name: str) -> None:
        self.__name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(import_module(self.__name), attribute)


def import_late(names: str, package: str = "") -> Iterator[Any]:
    """Stand-ins for modules that are imported when a command works, not for its help."""
    return (_LateModule(f"{package}.{name}".lstrip(".")) for name in names.split())


# What is quick commands import at their heads; all else, such as NumPy, they import from here, so
# that their help is there at once. The type checker sees plain imports.
if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from pyarrow import compute as pc
    from rich import console, text
    from rich import table as grids
    from sklearn import base as sklearn_base
    from sklearn import cluster as sklearn_cluster
    from sklearn import frozen, preprocessing

    from nearkin import estimates
    from nearkin.cli import models
    from nearkin.cli.files import output as outputs
    from nearkin.cli.files import pairs as pair_files
    from nearkin.cli.files import tables
    from nearkin.clustering import constraints
    from nearkin.learners import explain
    from nearkin.pairs import answers
    from nearkin.pairs import labels as classes_of
    from nearkin.questions import strategies
    from nearkin.records import comparisons
    from nearkin.records import matcher as matchers
    from nearkin.records import results as record_results
    from nearkin.records.results import Duplicates, Links, MatchReport
    from nearkin.rows import backends, parallel, parquet, scaling, streams, validation
    from nearkin.scores import held_out as folds
    from nearkin.scores import quality, verdicts
    from nearkin.spaces import feature_space as spaces
    from nearkin.spaces import linalg, neighbors
    from nearkin.storage import arrays
    from nearkin.storage import models as storage
    from nearkin.studio import journal as journals
    from nearkin.studio import lesson as lessons
    from nearkin.studio import notebook, pictures
    from nearkin.studio import records as shown_records
    from nearkin.studio.server import encoding, security, serving
    from nearkin.tables import choice as column_choice
    from nearkin.tables import encoder
    from nearkin.tables import reading as table_reading
else:
    np, pa, pc = import_late("numpy pyarrow pyarrow.compute")
    console, text, grids = import_late("console text table", "rich")
    sklearn_base, sklearn_cluster, frozen, preprocessing = import_late(
        "base cluster frozen preprocessing", "sklearn"
    )
    models, outputs, pair_files, tables = import_late(
        "models files.output files.pairs files.tables", "nearkin.cli"
    )
    estimates, constraints, explain, answers, classes_of, strategies = import_late(
        "estimates clustering.constraints learners.explain pairs.answers pairs.labels "
        "questions.strategies",
        "nearkin",
    )
    comparisons, matchers, record_results = import_late(
        "comparisons matcher results", "nearkin.records"
    )
    backends, parallel, parquet, scaling, streams, validation = import_late(
        "backends parallel parquet scaling streams validation", "nearkin.rows"
    )
    folds, quality, verdicts = import_late("held_out quality verdicts", "nearkin.scores")
    spaces, linalg, neighbors = import_late("feature_space linalg neighbors", "nearkin.spaces")
    arrays, storage = import_late("arrays models", "nearkin.storage")
    journals, lessons, notebook, pictures, shown_records, encoding, security, serving = import_late(
        "journal lesson notebook pictures records server.encoding server.security server.serving",
        "nearkin.studio",
    )
    column_choice, encoder, table_reading = import_late("choice encoder reading", "nearkin.tables")


def quote_names(names: Iterable[object], most: int = 5) -> str:
    """The first names in quotes, and how many more there are."""
    return few((repr(str(name)) for name in names), most)


def suggest_name(name: str, known: Iterable[str]) -> str:
    """End of a message: asks whether a similar name was meant, or lists all."""
    known = list(known)
    meant = find_similar(name, known)
    return f"did you mean {meant!r}?" if meant else f"there are {quote_names(known, 10)}."


def find_similar(name: str, known: Iterable[str]) -> str | None:
    """The known name most similar to this one; None if none is similar."""
    return next(iter(difflib.get_close_matches(name, list(known), 1)), None)


@dataclass
class Manner:
    """Settings of the program's messages in this run.

    ``quiet``: only errors and questions. ``debug``: tracebacks, and contents of files. ``given``:
    values of the options of this call, by their names.
    """

    quiet: bool = False
    debug: bool = False
    given: dict[str, list[str]] = field(default_factory=dict)


MANNER = Manner()
# Options that say how tables are read: who repeats a command for them needs the same.
_READING = (
    *("--id", "--right-id", "--match", "--columns", "--exclude", "--kinds", "--dates"),
    *("--delimiter", "--encoding", "--format", "--missing"),
)


def next_command(command: str, *words: object) -> str:
    """A command to recommend: about the same tables, with the options by which they were read."""
    repeated = [
        word for name in _READING for value in MANNER.given.get(name, []) for word in (name, value)
    ]
    return shlex.join(["nearkin", command, *map(str, words), *repeated])


def describe_figures(found: Duplicates | Links | MatchReport) -> str:
    """Precision and recall with their intervals, or how many answers it takes to know them."""
    return record_results.describe_figures(found.precision, found.recall)


def describe_share(report: MatchReport) -> str:
    """Which share of the pairs that are the same are candidates, as far as that is known."""
    share = report.candidate_recall
    return "" if share.more else f", among them a share of {share} of the pairs that are the same"


def say(message: str) -> None:
    """Write a message to standard error, unless --quiet is given."""
    if not MANNER.quiet:
        complain(message)


def complain(message: str) -> None:
    """Write an error or a question to standard error, also with --quiet."""
    tell(f"{message}\n")


# Seconds after which steps of long work are said where nobody sees a line that changes, and after
# which it is said how far one is.
_LONG, _SELDOM = 5.0, 30.0


@contextmanager
def watch_steps(what: str) -> Iterator[None]:
    """Show on a terminal what long work in a block does, and for how long; erased in the end.

    Elsewhere a line for each step that is begun after five seconds, and every half a minute.
    """
    begun = last = time.perf_counter()
    if not is_watched():

        def hear(step: str, share: float | None) -> None:
            """Say a step, if this has taken long."""
            nonlocal last
            now = time.perf_counter()
            if now - begun > _LONG and (share is None or now - last > _SELDOM):
                done = "" if share is None else f", {share:.0%} done"
                say(f"{step} ({now - begun:.0f} s{done})")
                last = now

        with hear_steps(hear):
            yield
        return
    steps: list[tuple[str, float | None]] = [(what, None)]
    done = threading.Event()

    def show() -> None:
        """Write the last step and seconds, twice a second."""
        while not done.wait(0.5):
            step, share = steps[-1]
            bar = "…" if share is None else draw_bar(share)
            tell(f"\r\x1b[K{step} {bar} {time.perf_counter() - begun:.0f} s")
        tell("\r\x1b[K")

    shown = threading.Thread(target=show, name="nearkin-steps", daemon=True)
    shown.start()
    try:
        with hear_steps(lambda step, share: steps.append((step, share))):
            yield
    finally:
        done.set()
        shown.join()


def is_watched() -> bool:
    """Whether standard error is a terminal, and --quiet is not given."""
    return not MANNER.quiet and sys.stderr is not None and sys.stderr.isatty()


# Parameters that are options of their own. All others of a learner are given by --set.
_OPTIONS = {
    "device": "--device",
    "n_clusters": "--clusters",
    "n_neighbors": "-k",
    "precision": "--precision",
    "prevalence": "--prevalence",
    "radius": "--radius",
    "random_state": "--seed",
}
_PHRASES = (
    # What has an option's name beside it.
    (r"kinds=\{(?P<q>['\"])[^{}]*(?P=q): '[\w ]+'\} \((--kinds [^()]+)\) in fit", r"\2"),
    (r"Say dates='[^(]*\((--dates [^()]+)\)", r"Say \1"),
    (r"kinds=\{['\"]([^{}]*)['\"]: '([\w ]+)'\}", r"--kinds \1=\2"),
    (r"Use \w+\(scale=True, \.\.\.\)", "Use --standardise"),
    (r"Use metric=\w+\(scale=True\)", "Use --standardise"),
    (r"\bscale=True\b", "--standardise"),
    (r"\b(?:use|Use) (\w+)\(n_landmarks=(\d+)\)", r"give --set n_landmarks=\2"),
    (r"\(StandardScaler helps\)", "(--standardise helps)"),
    (r"for example with StandardScaler", "for example with --standardise"),
    (r"\blearn_from=\[\.\.\.\]", "--columns"),
    (r"\bcolumns=\[[^\]]*\]", "--columns"),
    (r"\bcarry=\[[^\]]*\]", "--carry"),
    (r"\bcluster metric\.transform\(X\)", "use nearkin cluster"),
    (r"; pairs\.conflicts\(\) lists all", ""),
    (
        r"\bgive must-links, or labels with two rows of one class\. n_samples=1 in every class",
        "give must-links, or labels with two rows of one class. One row in every class",
    ),
    (r"\bn_samples=(\w+) rows", r"\1 rows"),
    (r"\brecords=True\b", "--records"),
    (r"an instance of 'bool' or an instance of 'numpy\.bool_?'", "true or false"),
    (r"\bids=", "--id "),
    (r"\bimages=", "--image "),
)
_PARAMETER = re.compile(r"(?<![-\w.\['\"])([a-z]\w*)=(?=(\S)?)")
# What is left of Python: calls, names of modules. A distance is written d(0, 1).
PYTHON = re.compile(
    r"\w\.[a-z_]\w*\(|\b[A-Z]\w*\(|(?<![-\w])(?!d\()[a-z_]\w*\((?!s\))[\w\[.]"
    r"|\b(?:nearkin|numpy|pandas|sklearn)\.\w|\b(?:fit|add|components)\(|\bStandardScaler\b"
)


@cache
def list_settings() -> frozenset[str]:
    """Names of the parameters of all learners, which --set takes."""
    import nearkin  # with the learners, which no other message waits for

    classes = (getattr(nearkin, one.name) for one in LEARNERS)
    return frozenset(name for cls in classes for name in signature(cls).parameters)


def reword_for_options(message: str) -> str:
    """Reword a library message for the command line: options instead of parameters, no Python.

    What can only be done in Python is left out, clause by clause.

    Examples
    --------
    >>> reword_for_options(
    ...     "it is too large. Give radius= or prevalence=; for more, use pairs.conflicts()."
    ... )
    'it is too large. Give --radius or --prevalence.'
    """
    for pattern, words in _PHRASES:
        message = re.sub(pattern, words, message)
    message = _PARAMETER.sub(_replace_by_option, message)
    if not PYTHON.search(message):
        return message
    prose = " ".join(line for line in message.splitlines() if not line.startswith("    "))
    clauses = re.split(r"(?<=[.;:])\s+", prose)
    kept = [clause for clause in clauses if not PYTHON.search(clause)]
    # If none is left, the first one's beginning.
    found = " ".join(kept) or re.split(r"[,(]", clauses[0])[0]
    return re.sub(r"[\s;:,]*$", "", found).rstrip(".") + "."


def _replace_by_option(match: re.Match[str]) -> str:
    """The option for a parameter, or the parameter as --set takes it."""
    name, value = match[1], match[2] or ""
    option = _OPTIONS.get(name)
    if option is None:
        is_setting = name in list_settings() and not match.string[: match.start()].endswith(
            "--set "
        )
        return f"--set {match[0]}" if is_setting else match[0]
    return option if not value or value in ".,;:)" else f"{option} "
