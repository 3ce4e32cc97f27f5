"""``nearkin fit``: learn a metric and write it to a model file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nearkin.cli import options as o
from nearkin.cli.options import CLASSES


def fit(
    data: o.Data,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            show_default=False,
            help="The model file, by custom .nearkin.",
        ),
    ],
    pairs: o.PairsPath = None,
    triplets: o.TripletsPath = None,
    labels: o.Labels = None,
    learner: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            autocompletion=o.one_of(*CLASSES),
            help="auto compares many, on 5000 rows of large files. These are read block by block "
            "by kernel-beta, itml, gmml, cosine, plda, column-weights, rca, generative and "
            "euclidean; not by kernel-a, llma, geometry-aware, lmnn.",
        ),
    ] = "auto",
    settings: o.Settings = [],
    standardise: Annotated[
        bool,
        typer.Option(
            "--standardise/--no-standardise",
            help="Bring all columns to mean 0 and variance 1 first. The model remembers it.",
        ),
    ] = False,
    components: o.Components = None,
    test: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            show_default=False,
            help="Keep this share of the rows apart, such as 0.2, with all that pairs tie to them; "
            "learn from the others, and show how good the model is on these, beside the Euclidean "
            "distance.",
        ),
    ] = None,
    embedding: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            show_default=False,
            help="Write the rows in the learned space too, as nearkin transform would.",
        ),
    ] = None,
    forget_names: Annotated[
        bool,
        typer.Option(
            "--forget-names",
            help="Leave the names of columns out of the model; it then goes by their order.",
        ),
    ] = False,
    forget_rows: Annotated[
        bool,
        typer.Option(
            "--forget-rows",
            help="Leave out of the model the marks by which evaluate knows rows that it was "
            "learned from: 4 bytes for each row, of 16 384 rows at most.",
        ),
    ] = False,
    columns: o.Columns = [],
    exclude: o.Exclude = [],
    one_hot: o.OneHot = [],
    id_column: o.Id = None,
    delimiter: o.Delimiter = None,
    form: o.Form = None,
    missing: o.Missing = None,
    kinds: o.ColumnKinds = [],
    dates: o.Dates = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="The scores of --test as JSON lines instead of CSV.")
    ] = False,
    force: o.Force = False,
    device: o.Device = None,
    seed: o.Seed = 0,
) -> None:
    """Learn a distance from pairs, labels or both.

    nearkin fit rows.csv --id name --pairs pairs.csv -o model.nearkin
    """
    from dataclasses import replace

    from nearkin.cli.commands.transform import checked_output, on_device, write_embedding
    from nearkin.cli.common import UserError
    from nearkin.cli.files.inputs import is_standard_output
    from nearkin.cli.files.output import Output, check_target
    from nearkin.cli.files.tables import open_table
    from nearkin.cli.learning import read_ahead
    from nearkin.cli.row_marks import MarkedRows

    if pairs is None and labels is None and triplets is None:
        raise UserError(
            "there is nothing to learn from: give --pairs FILE, --triplets FILE or --labels COLUMN."
        )
    if forget_names and one_hot:
        raise UserError("--forget-names: --one-hot needs the names, to know values by them.")
    if is_standard_output(output):
        raise UserError("--output: a model is written to a file; name one.")
    if test is not None and not 0 < test < 1:
        raise UserError(f"--test {test:g}: give a share of the rows between 0 and 1, such as 0.2.")
    if components is not None and any(s.split("=")[0].strip() == "n_components" for s in settings):
        raise UserError("--components: --set n_components says it already.")
    if device is not None and (standardise or test is not None):
        raise UserError("--device: --standardise and --test work on the host; leave one out.")
    check_target(output, (), force=force)
    scores = None if test is None else Output(None, as_json=as_json)
    written = None if embedding is None else checked_output(embedding, force=force)
    choice = o.choice_of(
        columns, exclude, one_hot, id_column, delimiter, form, missing, kinds, dates
    )
    table = open_table(data, choice, labels=labels)
    marked = MarkedRows(table.rows if device is None else on_device(table.rows, device))
    with read_ahead(marked.rows):
        from nearkin.cli.common import say
        from nearkin.cli.judging import score_table
        from nearkin.cli.learning import Part, kept_apart, known_of, learned, what_is_apart
        from nearkin.cli.models import Model, part_with, remembered
        from nearkin.cli.options import learner_class, parameters
        from nearkin.errors import counted
        from nearkin.pairs.answers import table as answerers_table
        from nearkin.storage.models import Facts, save

        cls = learner_class(learner)
        given = parameters(cls, settings, seed)
    if forget_names and table.encoder is not None:
        raise UserError("--forget-names: columns of words are known by their names.")
    y = None if labels is None else table.labels(labels)
    whole = Part(marked.rows, y, *known_of(table, pairs, choice.delimiter, triplets))
    learn, apart = (whole, None) if test is None else kept_apart(whole, test, seed)
    if apart is not None:
        say(what_is_apart(whole, learn, apart))
        marked = MarkedRows(learn.rows)
    metric = learned(
        cls,
        given,
        marked.rows,
        learn.labels,
        learn.told(cls),
        standardise=standardise,
        components=components,
        encoder=table.encoder,
    )
    for name, value in remembered(table).items():
        setattr(metric, name, value)
    facts = Facts(None if forget_rows else marked.marks())
    if apart is not None:
        tested = apart.scores(Model(output, (metric, facts)), seed)
        facts = replace(facts, tested=tested)
    save(metric, output, forget_names=forget_names, facts=facts)
    chosen = part_with(metric, "report_")
    if chosen is not None:
        if chosen.report_.columns:
            say(chosen.report_.columns)
        say(chosen.report_.reason)
        if chosen.report_.quality is not None:
            say(f"On held-out pairs, with 90 % intervals: {chosen.report_.quality.brief}")
        if chosen.report_.answerers:
            say(answerers_table(chosen.report_.answerers))
    n_triplets = 0 if learn.pairs is None else len(learn.pairs.closer)
    n_pairs = 0 if learn.pairs is None else len(learn.pairs) - n_triplets
    knowledge = [counted(n_pairs, "pair")] if n_pairs or pairs is not None else []
    knowledge += [counted(n_triplets, "triplet")] if n_triplets else []
    knowledge += [] if labels is None else [f"the labels in {labels!r}"]
    n, d = learn.rows.shape
    d = d if table.encoder is None else len(table.encoder.columns_)
    say(
        f"{cls.__name__} learned from {counted(n, 'row')} of {counted(d, 'column')}"
        f"{' and ' * bool(knowledge)}{' and '.join(knowledge)}: {output}"
    )
    if scores is not None:
        scores.write(score_table(tested))
    if written is not None:
        rows = o.choice_of([], [], [], id_column, delimiter, form, missing)
        write_embedding(Model(output, (metric, facts)), data, written, rows, device=device)
