"""What people use instead, told the same answers: pairs of records that it says are the same."""

from __future__ import annotations

import json
import os
import resource
import signal
from collections.abc import Callable
from pathlib import Path
from subprocess import TimeoutExpired, run
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier

from benchmarks.records import peers
from benchmarks.records.judging import quality_of_pairs
from benchmarks.records.rounds import asked, given
from nearkin.records.blocking import candidates_of, texts_of
from nearkin.records.comparisons import compare_pairs, comparisons_of, prepare_columns
from nearkin.tables.reading import Column

PEERS = "NEARKIN_RECORD_PEERS"
TREES = "extra trees, our candidates"
# These learn from no answer.
WITHOUT = ("splink", "recordlinkage, ECM")
N_TREES = 300
# Seconds of the processor that a package has for a table; and how much longer the clock may run.
LIMIT, _PATIENCE = 120, 5
_TOO_LONG = f"more than {LIMIT} s"


class Refused(Exception):
    """A package that gives no result, and why."""


def rivals() -> list[str]:
    """Their names; those of other packages if the variable says where these are."""
    return [TREES, *(peers.NAMES if PEERS in os.environ else ())]


def measured(
    name: str, data: str, protocol: str, n_answers: int, seed: int
) -> list[dict[str, Any]]:
    """How good a rival's pairs are, or why there are none."""
    columns, entity = given(data, seed)
    pairs = asked(data, protocol, seed)[:n_answers]
    same = entity[pairs[:, 0]] == entity[pairs[:, 1]]
    return in_time(lambda: quality_of_pairs(same_things(name, columns, pairs, same), entity))


def in_time(work: Callable[[], dict[str, float]]) -> list[dict[str, Any]]:
    """What work gives, with the seconds of the processor that it took, or why it gives nothing."""
    before = processor_seconds()
    try:
        return [{**work(), "processor": round(processor_seconds() - before, 1)}]
    except Refused as reason:
        return [{"refused": str(reason)}]


def processor_seconds() -> float:
    """Of this process and of those it waited for."""
    of = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in of)


def same_things(
    name: str, columns: list[Column], pairs: np.ndarray, same: np.ndarray
) -> np.ndarray:
    """Pairs of records that a rival says are the same, told these answers."""
    if name == TREES:
        return by_trees(columns, pairs, same)
    texts = {column.name: [text or None for text in texts_of(column)] for column in columns}
    answers = [[i, j, bool(kind)] for (i, j), kind in zip(pairs.tolist(), same, strict=True)]
    return by_peer(name, {"columns": texts, "n": len(columns[0]), "answers": answers})


def by_trees(columns: list[Column], pairs: np.ndarray, same: np.ndarray) -> np.ndarray:
    """Trees of the Jaro-Winkler similarity of each column, among our candidates."""
    if same.all() or not same.any():
        raise Refused("answers of one kind only")
    plan = comparisons_of(columns)
    table = prepare_columns(plan, columns)
    first = [place.start for place in plan.places]
    trees = ExtraTreesClassifier(N_TREES, random_state=0)
    trees.fit(compare_pairs(plan, table, pairs)[:, first], same)
    found = candidates_of(columns).pairs
    chance = trees.predict_proba(compare_pairs(plan, table, found)[:, first])[:, 1]
    return found[chance > 0.5]


def by_peer(name: str, told: dict[str, Any]) -> np.ndarray:
    """What a package says that runs in an environment of its own."""
    with TemporaryDirectory() as folder:
        problem, said = Path(folder) / "told.json", Path(folder) / "found.json"
        problem.write_text(json.dumps(told))
        command = [os.environ[PEERS], peers.__file__, name, str(problem), str(said)]
        try:
            done = run(
                command, capture_output=True, text=True, check=False, cwd=folder,
                timeout=_PATIENCE * LIMIT, preexec_fn=_limit,
            )  # fmt: skip
        except TimeoutExpired as error:
            raise Refused(_TOO_LONG) from error
        if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
            raise Refused(_TOO_LONG)
        if done.returncode:
            raise Refused((done.stderr.strip().splitlines() or ["no reason"])[-1][:100])
        return np.array(json.loads(said.read_text()), dtype=np.int64).reshape(-1, 2)


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, LIMIT))
