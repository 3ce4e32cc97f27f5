"""What people use instead, told the same answers: pairs of records that it says are the same."""

from __future__ import annotations

import json
import os
import re
import resource
import signal
from collections.abc import Callable
from pathlib import Path
from subprocess import TimeoutExpired, run
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

from benchmarks.records import peers
from benchmarks.records.data import Columns, given
from benchmarks.records.judging import quality_of_pairs
from benchmarks.records.rounds import asked

PEERS = "NEARKIN_RECORD_PEERS"
PLAIN = "plain baseline"
# These learn from no answer.
WITHOUT = ("splink", "recordlinkage, ECM")
# Others of each record that the plain baseline compares it with, by letters of all columns.
_NEAREST = 10
_NONE = np.empty((0, 2), dtype=np.int64)
# Seconds of the processor that a package has for a table; and how much longer the clock may run.
LIMIT, _PATIENCE = 120, 5
_TOO_LONG = f"more than {LIMIT} s"


class Refused(Exception):
    """A package that gives no result, and why."""


def rivals() -> list[str]:
    """Their names; those of other packages if the variable says where these are."""
    return [PLAIN, *(peers.NAMES if PEERS in os.environ else ())]


def measured(
    name: str, data: str, protocol: str, n_answers: int, seed: int
) -> list[dict[str, Any]]:
    """How good a rival's pairs are, or why there are none."""
    table, entity, side = given(data, seed)
    pairs = asked(data, protocol, seed)[:n_answers] if n_answers else _NONE
    same = entity[pairs[:, 0]] == entity[pairs[:, 1]]

    def found() -> dict[str, float]:
        said = same_things(name, table, pairs, same)
        if side is not None:  # of two tables, those of one from each
            said = said[side[said[:, 0]] != side[said[:, 1]]]
        return quality_of_pairs(said, entity)

    return in_time(found)


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


def same_things(name: str, table: Columns, pairs: np.ndarray, same: np.ndarray) -> np.ndarray:
    """Pairs of records that a rival says are the same, told these answers."""
    if name == PLAIN:
        return by_plain_cosines(table, pairs, same)
    texts = {
        name: [None if cell is None else " ".join(cell.lower().split()) or None for cell in cells]
        for name, cells in table.items()
        if any(cells)
    }
    answers = [[i, j, bool(kind)] for (i, j), kind in zip(pairs.tolist(), same, strict=True)]
    return by_peer(
        name, {"columns": texts, "n": len(next(iter(table.values()))), "answers": answers}
    )


def by_plain_cosines(table: Columns, pairs: np.ndarray, same: np.ndarray) -> np.ndarray:
    """Cosines of trigrams by column, a logistic regression, components above the best threshold."""
    if same.all() or not same.any():
        raise Refused("answers of one kind only")
    columns = [[cell or "" for cell in cells] for cells in table.values() if any(cells)]
    grams = [
        TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 3)).fit_transform(c) for c in columns
    ]
    whole = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 3), max_df=0.2).fit_transform(
        [" ".join(cells) for cells in zip(*columns, strict=True)]
    )
    n = whole.shape[0]
    found = set()
    for start in range(0, n, 500):
        part = (whole[start : start + 500] @ whole.T).toarray()
        part[np.arange(len(part)), start + np.arange(len(part))] = -1
        nearest = np.argpartition(-part, _NEAREST, axis=1)[:, :_NEAREST]
        for i, others in enumerate(nearest.tolist(), start):
            found |= {(min(i, j), max(i, j)) for j in others}
    candidates = np.array(sorted(found))

    def cosines(ends: np.ndarray) -> np.ndarray:
        i, j = ends.T
        return np.column_stack([np.asarray(g[i].multiply(g[j]).sum(axis=1)).ravel() for g in grams])

    model = LogisticRegression(max_iter=1000).fit(cosines(pairs), same)
    told, chance = (model.decision_function(cosines(ends)) for ends in (pairs, candidates))
    levels = np.sort(told)
    f1 = [2 * (same & (told >= at)).sum() / (same.sum() + (told >= at).sum()) for at in levels]
    links = candidates[chance >= levels[int(np.argmax(f1))]]
    graph = csr_array((np.ones(len(links)), (links[:, 0], links[:, 1])), shape=(n, n))
    labels = connected_components(graph, directed=False)[1]
    order = np.argsort(labels, kind="stable")
    cuts = np.flatnonzero(np.diff(labels[order])) + 1
    groups = [np.sort(g) for g in np.split(order, cuts) if len(g) > 1]
    every = [np.column_stack([g[a] for a in np.triu_indices(len(g), 1)]) for g in groups]
    return np.concatenate([np.empty((0, 2), dtype=np.int64), *every])


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
            raise Refused(f"failed: {_reason(done.stderr)}")
        return np.array(json.loads(said.read_text()), dtype=np.int64).reshape(-1, 2)


def _reason(errors: str) -> str:
    """The last line that names an error, or has words at all."""
    lines = [line.strip() for line in errors.splitlines() if re.search("[a-z]{3}", line)]
    named = [line for line in lines if re.match(r"[\w.]+(Error|Exception|Exit)\b", line)]
    return (named or lines or ["no reason given"])[-1][:80]


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, LIMIT))
