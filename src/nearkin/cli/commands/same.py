"""``nearkin same``: whether two rows are the same thing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from nearkin.cli import options as o


def same(
    model: o.ModelPath,
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
    prevalence: Annotated[
        float | None,
        typer.Option(
            show_default=False,
            help="Share of all such pairs that are the same, between 0 and 1: 0.1 for random pairs "
            "of ten kinds.",
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
    """Say of each pair how far apart it is, whether it is the same, and how likely that is."""
    del seed  # nothing is random
    from dataclasses import replace

    import numpy as np

    from nearkin.cli.failures import UserError
    from nearkin.cli.files.columns import table_of
    from nearkin.cli.files.output import Output
    from nearkin.cli.files.pairs import pairs_of
    from nearkin.cli.files.tables import open_table
    from nearkin.cli.judging import distances_of, verdicts_by
    from nearkin.cli.models import Model
    from nearkin.scores.same_threshold import checked_prevalence

    out = Output(output, as_json=as_json, force=force, quote=quote)
    learned = Model(model)
    choice = o.choice_of(columns, exclude, [], id_column, delimiter, form, missing)
    table = open_table(data, choice, model=learned)
    asked = pairs_of(table, pairs, needs_answers=False, delimiter=choice.delimiter)
    found: dict[str, Any] = {"left": asked.left, "right": asked.right}
    if id_column is None:
        numbers = table.numbers()[asked.ends]
        found = {"left": numbers[:, 0], "right": numbers[:, 1]}
    distance = distances_of(learned, table.rows, asked.ends)
    verdicts = learned.verdicts
    if known is not None:
        examples = pairs_of(table, known, delimiter=choice.delimiter, role="--known")
        told = np.array([answer is not None for answer in examples.same])
        answers = np.array([answer is True for answer in examples.same])[told]
        weight = np.array(examples.weight)[told]
        apart = distances_of(learned, table.rows, examples.ends[told])
        verdicts = verdicts_by(apart, answers, weight, str(known))
    elif verdicts.sharpness is None:
        raise UserError(
            f"{model} is of an older version, which does not say how sure its verdicts are: fit "
            "again, or give --known PAIRS."
        )
    if prevalence is not None:
        verdicts = replace(verdicts, prevalence=checked_prevalence(prevalence))
    found |= {
        "distance": distance,
        "same": distance <= verdicts.radius,
        "probability": verdicts.chance(distance),
    }
    out.write(table_of(found))
