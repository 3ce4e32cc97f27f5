"""``nearkin suggest``: what to ask next."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nearkin.cli import options as o

# Pairs that are written, and that are asked about, unless another number is said.
_WRITTEN, _ASKED = 10, 20


def suggest(
    model: Annotated[
        Path,
        typer.Argument(
            show_default=False,
            help="A model that fit has written, a matcher of records that duplicates --save has, "
            "or 'none': for rows of numbers the data's own Euclidean distance, and for records a "
            "matcher that learns from the answers.",
        ),
    ],
    data: o.Data,
    pairs: o.PairsPath = None,
    n: Annotated[
        int | None,
        typer.Option(
            "--number",
            "-n",
            min=1,
            show_default=False,
            help="How many pairs. Without: 10, and 20 with --ask.",
        ),
    ] = None,
    strategy: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            show_default=False,
            autocompletion=o.one_of(
                "neighborhoods",
                "consolidate",
                "clusters",
                "uncertainty",
                "random",
            ),
            help="neighborhoods, consolidate, clusters (what would change groups most), "
            "uncertainty or random. Without: neighborhoods; "
            "records, in tables with words, are asked about where a matcher is in doubt.",
        ),
    ] = None,
    ask: Annotated[
        bool,
        typer.Option(
            "--ask",
            help="Ask here and now. Each answer is added at once to the file that --output names, "
            "which may exist, or to answers.csv.",
        ),
    ] = False,
    review: Annotated[
        bool,
        typer.Option(
            "--review",
            help="Of records: those first whose answer would change the groups most.",
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
            "answers, as .csv. Without: standard output, and answers.csv with --ask.",
        ),
    ] = None,
    columns: o.Columns = [],
    exclude: o.Exclude = [],
    id_column: o.Id = None,
    delimiter: o.Delimiter = None,
    form: o.Form = None,
    missing: o.Missing = None,
    kinds: o.ColumnKinds = [],
    dates: o.Dates = None,
    as_json: o.Json = False,
    force: o.Force = False,
    quote: o.Quote = False,
    seed: o.Seed = 0,
) -> None:
    """Suggest pairs whose answer, same or different, would teach the model most.

    With --ask, answer s or y (same), d or n (different), u (unsure), z (take the last answer back)
    or q (enough). The end of the input is enough too; ten lines in a row that are no answer end
    with status 2. After each answer a line says what the next ten are expected to gain, and whether
    they are worth it. The rows are held in memory.

    For groups: nearkin suggest none rows.csv --strategy clusters --ask. A metric is learned from
    the answers meanwhile; nearkin cluster rows.csv --pairs answers.csv then has the groups.

    Records, in tables with words, need no model: nearkin suggest none people.csv --id id --ask. Two
    are shown side by side, with what differs marked. Every five answers are
    learned from, and a line says how good the groups of nearkin duplicates are by now. A matcher of
    a file asks where it is in doubt about these records, and stays as it is.
    """
    from nearkin.cli.asking import AnswerFile, Questions, RecordQuestions, interview
    from nearkin.cli.common import UserError, say
    from nearkin.cli.files.inputs import claim_standard_input
    from nearkin.cli.files.output import Output, table_of
    from nearkin.cli.files.tables import NamedRows, has_records, open_table
    from nearkin.cli.learning import known_pairs
    from nearkin.cli.matching import Task, learned_from, matcher_in, opened
    from nearkin.cli.models import model_or_none

    n = n or (_ASKED if ask else _WRITTEN)
    if ask:
        claim_standard_input("the answers")
    out = Output(None if ask else output, as_json=as_json, force=force, quote=quote)
    choice = o.choice_of(columns, exclude, [], id_column, delimiter, form, missing, kinds, dates)
    questions: Questions | RecordQuestions
    learns = str(model) == "none" and strategy is None and has_records(data, choice)
    matcher = matcher_in(model)
    if matcher is not None and strategy is not None:
        raise UserError("--strategy: a matcher asks where it is in doubt; --review is the other.")
    if learns or matcher is not None:
        task = Task(data) if matcher is None else Task(data, model, matcher)
        named: NamedRows = (records := opened(task, choice))
        known = known_pairs(named, pairs, choice.delimiter)
        taught = learned_from(records, task, choice, known, seed)
        questions = RecordQuestions(taught, known, learns=learns, review=review)
        shown = records.shown(show or records.compared)
    elif review:
        raise UserError("--review: this is for records: nearkin suggest none people.csv --review.")
    else:
        learned = model_or_none(model)
        named = table = open_table(data, choice, model=learned)
        known = known_pairs(table, pairs, choice.delimiter)
        questions = Questions(learned, table, known, strategy or "neighborhoods", seed)
        shown = table.shown(show)
    ids = named.shown_ids()
    of_records = isinstance(questions, RecordQuestions)
    if ask:
        answers = AnswerFile(output or Path("answers.csv"), named)
        interview(questions, answers, ids, shown, n, marked=of_records)
        if learns:
            by_id = "" if id_column is None else f" --id {id_column}"
            say(f"next: nearkin duplicates {data}{by_id} --pairs {answers.path} -o groups.csv")
        return
    ends = questions.next(n)
    left, right = (ids.take(ends[:, side]) for side in (0, 1))
    out.write(table_of({"left": left, "right": right, "same": [""] * len(ends)}))
