"""``nearkin same``: whether two rows are the same thing."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import typer
from numpy.typing import NDArray

from nearkin._types import Floats, Ints, Mask
from nearkin.cli import options as o
from nearkin.cli.common import UserError, say
from nearkin.cli.files.pairs import pairs_of
from nearkin.cli.files.tables import NamedRows, Table
from nearkin.cli.models import Model
from nearkin.errors import counted
from nearkin.learners.explain import Explanation, words_of
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


def same(
    model: o.ModelOrMatcher,
    data: o.Data,
    pairs: Annotated[
        Path,
        typer.Option(
            "--pairs",
            "-p",
            metavar="FILE",
            show_default=False,
            help="Pairs to judge: columns left and right. .csv, .tsv, .jsonl (also .gz), .parquet "
            "or .feather; - for standard input.",
        ),
    ],
    known: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            show_default=False,
            help="Pairs of the same data with answers, best such that the model has not seen: "
            "answers and probabilities then go by them, and suppose that same and different are as "
            "frequent as among them. Without: by the pairs it was learned from, as if both were "
            "equally frequent.",
        ),
    ] = None,
    prevalence: o.Prevalence = None,
    precision: o.Precision = None,
    why: Annotated[
        bool,
        typer.Option(
            "--why",
            help="Say why, of each pair: which columns and words set it apart. As text; with "
            "--json or --output in a column.",
        ),
    ] = False,
    taught: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            show_default=False,
            help="The answers that the model was learned from, about this data: --why then says "
            "which of them pull the two together or push them apart.",
        ),
    ] = None,
    output: o.OutputPath = None,
    columns: o.Columns = [],
    exclude: o.Exclude = [],
    id_column: o.Id = None,
    delimiter: o.Delimiter = None,
    form: o.Form = None,
    missing: o.Missing = None,
    as_json: o.Json = False,
    force: o.Force = False,
    quote: o.Quote = False,
    seed: o.Seed = 0,
) -> None:
    """Say of each pair how far apart it is, whether it is the same, and how likely that is.

    With --precision a pair is called the same where that is at least as likely. With --known, or of
    a model that held pairs out, it is said what precision and recall are to be expected.

    By a matcher of records there is no distance, and the probability is that of two records that
    look alike at first sight.
    """
    del seed  # nothing is random
    from nearkin.cli.common import UserError, say
    from nearkin.cli.files.output import Output, table_of
    from nearkin.cli.files.pairs import pairs_of
    from nearkin.cli.files.tables import columns_as_learned, open_table
    from nearkin.cli.models import Model
    from nearkin.cli.records import matcher_in, quality_of_chances, records_for, refuse_options
    from nearkin.scores.quality import quality_of
    from nearkin.scores.verdicts import checked_share, verdicts_by_answers

    if taught is not None and not why:
        raise UserError("--taught is for --why: it says which answers pull a pair.")
    chance = 0.5 if precision is None else checked_share(precision, "precision")
    out = Output(output, as_json=as_json, force=force, quote=quote)
    choice = o.choice_of(columns, exclude, [], id_column, delimiter, form, missing)
    matcher = matcher_in(model)
    if matcher is None:
        learned = Model(model)
        named: NamedRows = (table := open_table(data, choice, model=learned))
    else:
        refuse_options({"--prevalence": prevalence}, f"{model} knows it from its candidates.")
        refuse_options(
            {"--why": why, "--taught": taught},
            f"{model} is a matcher of records, which has no distance to explain: nearkin fit makes "
            "a model that has.",
        )
        named = records = records_for(matcher, data, choice)
    asked = pairs_of(named, pairs, needs_answers=False, delimiter=choice.delimiter)
    found: dict[str, Any] = {"left": asked.left, "right": asked.right}
    if id_column is None:
        numbers = named.numbers()[asked.ends]
        found = {"left": numbers[:, 0], "right": numbers[:, 1]}
    if matcher is not None:
        compared = columns_as_learned(records, choice, matcher)
        if known is not None:
            ends, same, weight = answered(records, known, choice.delimiter, "a precision")
            chances = matcher.chance_of_pairs(ends, compared)
            by_known = quality_of_chances(chances, same, weight, ends, chance)
            say_expected(by_known, "known pair", precision)
        likely = matcher.chance_of_pairs(asked.ends, compared)
        out.write(table_of({**found, "same": likely >= chance, "probability": likely}))
        return
    distance = distances_of(learned, table.rows, asked.ends)
    if known is not None:
        ends, same, weight = answered(table, known, choice.delimiter, "a probability")
        apart = distances_of(learned, table.rows, ends)
        verdicts = verdicts_by_answers(apart, same, weight)
    elif learned.verdicts.sharpness is None:
        raise UserError(
            f"{model} is of an older version, which does not say how sure its verdicts are: fit "
            "again, or give --known PAIRS."
        )
    else:
        verdicts = learned.verdicts
    verdicts = with_prevalence(verdicts, prevalence, distance)
    radius = verdicts.distance_at(chance)
    held_out = learned.held_out
    if radius < 0:
        say(f"warning: nothing is called the same: at no distance is the chance {chance:g}.")
    elif known is not None:
        quality = quality_of(apart, same, weight, ends, radius, verdicts.prevalence)
        say_expected(quality, "known pair", precision)
    elif held_out is not None and (radius, verdicts.prevalence) == (held_out.radius, 0.5):
        say_expected(held_out, "held-out pair")
    found |= {
        "distance": distance,
        "same": distance <= radius,
        "probability": verdicts.chance(distance),
    }
    if why:
        reasons = Reasons(learned, table, taught, choice.delimiter, verdicts, radius)
        explained = [reasons.of(*ends) for ends in asked.ends.tolist()]
        if out.is_for_people:
            out.write_text(reasons.text(explained, found["left"], found["right"]))
            return
        found["why"] = [one.brief for one in explained]
    out.write(table_of(found))


# Distances of pairs of rows in a file, and what they say.


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


# Why pairs of rows in a file are near or far.


class Reasons:
    """Explains pairs of rows of a table by a model.

    Parameters
    ----------
    model : Model
    table : Table
    taught : Path or None
        Answers about this table that the model was learned from.
    delimiter : str or None
    verdicts : Verdicts
        Which say how likely two rows are the same.
    radius : float
        Distance up to which rows are called the same.
    """

    def __init__(
        self,
        model: Model,
        table: Table,
        taught: Path | None,
        delimiter: str | None,
        verdicts: Verdicts,
        radius: float,
    ) -> None:
        self._model, self._table = model, table
        self._verdicts, self._radius = verdicts, radius
        self._metric = copy(model.metric)
        groups = model.names if model.table is None else model.table.groups_
        if groups is not None:
            self._metric._names_of_columns = list(groups)
        self._told: tuple[Any, ...] = ()
        if taught is not None:
            file = pairs_of(table, taught, delimiter=delimiter, role="--taught")
            pairs = file.pairs(table.n_rows)
            if not len(pairs):
                raise UserError(f"{taught} has no answers: --taught takes those that were learned.")
            X = table.rows.take(np.arange(table.n_rows))
            self._told = (self._metric._taught_again(X, pairs), X, pairs)

    def of(self, left: int, right: int) -> Explanation:
        """Why two rows are as far apart as they are, by their numbers."""
        ends = np.array([left, right])
        numbers, places = np.unique(ends, return_inverse=True)
        rows = [row[None] for row in self._table.rows.take(numbers)[places]]
        found: Explanation = self._metric.explain(*rows)
        chance = float(self._verdicts.chance(np.array(found.distance)))
        found = replace(found, chance=chance, threshold=self._radius)
        if self._told and found.distance:
            metric, X, pairs = self._told
            answers, remark = metric._pulls_as_taught(rows, found.distance**2, X, pairs)
            found = replace(found, answers=answers, remark=remark)
        elif not self._told:
            found = replace(found, remark="Which answers pull them: --taught ANSWERS says it.")
        return found if self._model.table is None else self._with_words(found, numbers, places)

    def _with_words(self, found: Explanation, numbers: Any, places: Any) -> Explanation:
        encoder = self._model.table
        batches = list(self._table.batches_of(numbers, encoder.columns_))
        cells = pa.Table.from_batches(batches)
        rows = [cells.slice(int(place), 1) for place in places]
        left, right = (encoder.cells(row) for row in rows)
        values = {name: (left[name], right[name]) for name in left}
        words = words_of(encoder, self._metric.map_, *rows) if found.distance else {}
        return replace(found, values=values, words=words)

    def text(self, explained: list[Explanation], left: Any, right: Any) -> str:
        """Explanations one below the other, with what rows are called."""
        names = self._table.shown_ids().to_pylist()
        parts = [
            f"{a} and {b}\n{one.text(names)}\n"
            for one, a, b in zip(explained, left, right, strict=True)
        ]
        return "\n".join(parts)
