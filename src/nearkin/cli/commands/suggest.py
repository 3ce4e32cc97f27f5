"""``nearkin suggest``: what to ask next."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nearkin.cli import options as o


def suggest(
    model: o.ModelOrNone,
    data: o.Data,
    pairs: o.PairsPath = None,
    n: Annotated[int, typer.Option("--number", "-n", min=1, help="How many pairs.")] = 10,
    strategy: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            autocompletion=o.one_of(
                "neighborhoods", "consolidate", "uncertainty", "density", "spectrum", "random"
            ),
            help="neighborhoods, consolidate, uncertainty, density, spectrum (for kernel-beta) or "
            "random.",
        ),
    ] = "neighborhoods",
    ask: Annotated[
        bool,
        typer.Option(
            "--ask",
            help="Ask here and now. Each answer is added at once to the file that --output names, "
            "which may exist.",
        ),
    ] = False,
    show: Annotated[
        list[str],
        typer.Option(
            metavar="NAMES",
            show_default=False,
            help="Columns to show with a question; names or patterns. Without: the first eight.",
        ),
    ] = [],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            show_default=False,
            help="Where to write to: pairs with an empty column same, to fill in; with --ask the "
            "answers, as .csv. Without: standard output.",
        ),
    ] = None,
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
    """Suggest pairs whose answer, same or different, would teach the model most.

    With --ask, answer s or y (same), d or n (different), u (unsure), z (take the last answer back)
    or q (enough). The end of the input is enough too; ten lines in a row that are no answer end
    with status 2. The rows are held in memory.
    """
    from nearkin.cli.asking import AnswerFile, interview
    from nearkin.cli.failures import UserError
    from nearkin.cli.files.columns import table_of
    from nearkin.cli.files.inputs import claim_standard_input
    from nearkin.cli.files.output import Output
    from nearkin.cli.files.tables import open_table
    from nearkin.cli.learning import known_pairs
    from nearkin.cli.models import model_or_none
    from nearkin.cli.suggesting import Questions

    if ask and output is None:
        raise UserError("--ask: name a .csv file for the answers with --output.")
    if ask:
        claim_standard_input("the answers")
    out = Output(None if ask else output, as_json=as_json, force=force, quote=quote)
    learned = model_or_none(model)
    choice = o.choice_of(columns, exclude, [], id_column, delimiter, form, missing)
    table = open_table(data, choice, model=learned)
    known = known_pairs(table, pairs, choice.delimiter)
    questions = Questions(learned, table, known, strategy, seed)
    ids = table.shown_ids()
    if ask and output is not None:
        answers = AnswerFile(output, table)
        interview(questions, answers, ids, table.shown(show), n)
        return
    ends = questions.next(n)
    left, right = (ids.take(ends[:, side]) for side in (0, 1))
    out.write(table_of({"left": left, "right": right, "same": [""] * len(ends)}))
