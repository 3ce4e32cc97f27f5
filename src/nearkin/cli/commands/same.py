"""``nearkin same``: whether two rows are the same thing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from nearkin.cli import options as o


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
    from nearkin.cli.files.tables import NamedRows, columns_as_learned, open_table
    from nearkin.cli.judging import Reasons, answered, distances_of, say_expected, with_prevalence
    from nearkin.cli.matching import matcher_in, quality_of_chances, records_for, refuse_options
    from nearkin.cli.models import Model
    from nearkin.scores.quality import estimate_quality
    from nearkin.scores.verdicts import check_share, fit_verdicts_to_answers

    if taught is not None and not why:
        raise UserError("--taught is for --why: it says which answers pull a pair.")
    chance = 0.5 if precision is None else check_share(precision, "precision")
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
        verdicts = fit_verdicts_to_answers(apart, same, weight)
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
        quality = estimate_quality(apart, same, weight, ends, radius, verdicts.prevalence)
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
