"""``nearkin fit``: learn a metric and write it to a model file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nearkin.cli import options as o
from nearkin.cli.learners import CLASSES


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
    labels: o.Labels = None,
    learner: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            autocompletion=o.one_of(*CLASSES),
            help="auto compares many and reads all rows into memory. For large files: "
            "kernel-beta, itml, gmml, rca, generative or euclidean, which read block by block. "
            "Others: kernel-a, llma, geometry-aware, lmnn.",
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
    columns: o.Columns = [],
    exclude: o.Exclude = [],
    one_hot: o.OneHot = [],
    id_column: o.Id = None,
    delimiter: o.Delimiter = None,
    force: o.Force = False,
    seed: o.Seed = 0,
) -> None:
    """Learn a distance from pairs, labels or both.

    nearkin fit rows.csv --id name --pairs pairs.csv -o model.nearkin
    """
    from nearkin.cli.failures import UserError
    from nearkin.cli.learners import learner_class, parameters
    from nearkin.cli.learning import known_pairs, learned
    from nearkin.cli.messages import counted, say
    from nearkin.cli.output import check_target
    from nearkin.cli.tables import open_table
    from nearkin.cli.transform import checked_output, transform

    cls = learner_class(learner)
    given = parameters(cls, settings, seed)
    if pairs is None and labels is None:
        raise UserError("there is nothing to learn from: give --pairs FILE or --labels COLUMN.")
    if forget_names and one_hot:
        raise UserError("--forget-names: --one-hot needs the names, to know values by them.")
    check_target(output, (), force=force)
    if embedding is not None:
        checked_output(embedding, force=force)
    choice = o.choice_of(columns, exclude, one_hot, id_column, delimiter)
    table = open_table(data, choice, aside=[] if labels is None else [labels])
    y = None if labels is None else table.labels(labels)
    known = known_pairs(table, pairs, choice.delimiter)
    metric = learned(cls, given, table, y, known, standardise=standardise)
    metric.save(output, forget_names=forget_names)
    report = getattr(getattr(metric, "steps_", [metric])[-1], "report_", None)
    if report is not None:
        say(report.reason)
    knowledge = [] if known is None else [counted(len(known), "pair")]
    knowledge += [] if labels is None else [f"the labels in {labels!r}"]
    n, d = table.rows.shape
    say(
        f"{cls.__name__} learned from {counted(n, 'row')} of {counted(d, 'column')}"
        f"{' and ' * bool(knowledge)}{' and '.join(knowledge)}: {output}"
    )
    if embedding is not None:
        names = [] if table.names is None else table.names
        transform(
            output,
            data,
            embedding,
            columns=names if forget_names else [],
            id_column=id_column,
            delimiter=delimiter,
            force=force,
        )
