"""Distances of pairs of rows in a file, and what they say."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nearkin._types import Floats, Ints, Mask
from nearkin.cli.failures import UserError
from nearkin.cli.files.named_rows import NamedRows
from nearkin.cli.files.pairs import pairs_of
from nearkin.cli.messages import say
from nearkin.cli.models import Model
from nearkin.errors import counted
from nearkin.rows.distances import linked_distances
from nearkin.rows.streams import RowStream
from nearkin.scores.quality import Quality, pairs_to_promise
from nearkin.scores.verdicts import (
    ESTIMATED,
    Prevalence,
    Verdicts,
    checked_share,
    estimated_prevalence,
)


def distances_of(model: Model, rows: RowStream, ends: NDArray[np.int64]) -> Floats:
    """Learned distance of each pair; only rows that pairs name are kept in memory."""
    if not len(ends):
        return np.empty(0)
    numbers, places = np.unique(ends, return_inverse=True)
    Z = model.embed(rows.take(numbers))
    return np.asarray(linked_distances(Z, places.reshape(ends.shape)), dtype=np.float64)


def answered(
    table: NamedRows, path: Path, delimiter: str | None, purpose: str, role: str = "--known"
) -> tuple[Ints, Mask, Floats]:
    """Rows, answers and weights of known pairs, some of which are the same and some are not."""
    file = pairs_of(table, path, delimiter=delimiter, role=role)
    told = np.array([answer is not None for answer in file.same], dtype=bool)
    same = np.array([answer is True for answer in file.same], dtype=bool)[told]
    n_same, n_different = int(same.sum()), int((~same).sum())
    if not n_same or not n_different:
        raise UserError(
            f"{path} has {n_same} pairs that are the same and {n_different} that are different: "
            f"{purpose} needs both."
        )
    return file.ends[told], same, np.array(file.weight)[told]


def with_prevalence(verdicts: Verdicts, said: str | None, distances: Floats) -> Verdicts:
    """Verdicts at the prevalence that an option states, or that distances ask for."""
    prevalence = stated_prevalence(said)
    if prevalence is None:
        return verdicts
    if prevalence == ESTIMATED:
        share = estimated_prevalence(verdicts, distances)
        say(f"estimated prevalence: {share:.3g} of these pairs are the same")
        return replace(verdicts, prevalence=share)
    return replace(verdicts, prevalence=checked_share(prevalence, "prevalence"))


def stated_prevalence(said: str | None) -> Prevalence:
    """What the option says: a share, "estimated", or nothing."""
    if said is None or said == ESTIMATED:
        return said  # type: ignore[return-value]
    try:
        return float(said)
    except ValueError:
        raise UserError(
            f"--prevalence {said}: give the share of pairs that are the same, such as 0.1, or "
            f"{ESTIMATED}."
        ) from None


def stated_share(said: str | None) -> float | None:
    """The share that the option states, which cannot be estimated where there is no distance."""
    prevalence = stated_prevalence(said)
    if prevalence == ESTIMATED:
        raise UserError(f"--prevalence {ESTIMATED}: this goes by distances; give a share.")
    return None if prevalence is None else checked_share(prevalence, "prevalence")


def say_expected(quality: Quality, by: str, wanted: float | None = None) -> None:
    """Say what is to be expected of pairs called the same, and whether that can be promised."""
    n_pairs = quality.n_same + quality.n_different
    say(
        f"expected: precision {quality.precision}, recall {quality.recall}, by "
        f"{counted(n_pairs, by)} (90 % intervals, where a share of {quality.prevalence:.2g} of all "
        "pairs are the same)"
    )
    if wanted is None or not quality.recall.value or quality.precision.low >= wanted:
        return
    needed = pairs_to_promise(wanted, quality.prevalence, max(quality.recall.value, 0.05))
    more = f"that takes about {needed} known pairs that are different, none of them called the same"
    if needed <= quality.n_different:
        more = "of those that are different, too many are called the same for it"
    say(f"warning: these pairs do not show that {wanted:g} is reached: {more}.")
