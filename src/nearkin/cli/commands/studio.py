"""``nearkin studio``: answer questions about pairs in a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nearkin.cli import options as o

_SERVER = "Where the page is"


def studio(
    data: Annotated[
        Path | None,
        typer.Argument(
            show_default=False,
            help="Rows: .csv, .tsv, .jsonl (also .gz), .parquet (or a folder of them), .feather, "
            ".npy or .npz; or a folder of pictures.",
        ),
    ] = None,
    pairs: o.PairsPath = None,
    triplets: o.TripletsPath = None,
    labels: Annotated[
        str | None,
        typer.Option(
            "--labels",
            "-l",
            metavar="NAME",
            show_default=False,
            help="Column of classes, empty or below 0 is unknown: up to 500 pairs of them are "
            "known from the start.",
        ),
    ] = None,
    demo: Annotated[
        bool, typer.Option("--demo", help="Take scikit-learn's digits instead of a file.")
    ] = False,
    journal: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            show_default=False,
            help="Where every answer is kept at once. If it is there, you go on from it. Without: "
            "DATA.answers.jsonl beside the data.",
        ),
    ] = None,
    image: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            show_default=False,
            help="Column of names of image files, in the folder of the data or below it.",
        ),
    ] = None,
    vectors: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            show_default=False,
            help="Vectors (.npy) to learn from in place of the pixels of a folder of pictures, one "
            "for each in the order of their names.",
        ),
    ] = None,
    show: Annotated[
        list[str],
        typer.Option(
            "--show",
            "--text",
            metavar="NAMES",
            show_default=False,
            help="Columns to show first with a record; names or patterns. All columns that are no "
            "numbers are shown anyway, eight at most.",
        ),
    ] = [],
    records: Annotated[
        bool,
        typer.Option(
            "--records",
            help="Rows are records, such as people: all columns are learned from, words too. Where "
            "there are no numbers, that is so anyway.",
        ),
    ] = False,
    learner: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            show_default=False,
            autocompletion=o.one_of("itml", "kernel-beta", "gmml"),
            help="What is taught: itml, kernel-beta or gmml. Without: itml with an rbf kernel.",
        ),
    ] = None,
    settings: o.Settings = [],
    standardise: Annotated[
        bool | None,
        typer.Option(
            "--standardise/--no-standardise",
            show_default=False,
            help="Bring all columns to one scale first, or leave them. Without: where their units "
            "differ by more than 100.",
        ),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            show_default=False,
            help="Who answers, unless someone gives another name on the page: each one's answers "
            "are kept, and how often each is wrong is estimated.",
        ),
    ] = None,
    columns: o.Columns = [],
    exclude: o.Exclude = [],
    one_hot: o.OneHot = [],
    id_column: o.Id = None,
    delimiter: o.Delimiter = None,
    form: o.Form = None,
    missing: o.Missing = None,
    kinds: o.ColumnKinds = [],
    dates: o.Dates = None,
    port: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=65535,
            show_default=False,
            rich_help_panel=_SERVER,
            help="Without: 8765, or the next that is free.",
        ),
    ] = None,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", rich_help_panel=_SERVER, help="Open no browser.")
    ] = False,
    listen: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            show_default=False,
            rich_help_panel=_SERVER,
            help="Be reached from other machines too, at this address of this one, 0.0.0.0 for "
            "all. The connection is not encrypted.",
        ),
    ] = None,
    allow_hosts: Annotated[
        list[str],
        typer.Option(
            "--allow-host",
            metavar="NAME",
            show_default=False,
            rich_help_panel=_SERVER,
            help="Name of a proxy that may pass requests on to the studio, such as "
            "hub.example.org or *.example.org; may be given several times.",
        ),
    ] = [],
    seed: o.Seed = 0,
) -> None:
    """Teach a metric in a browser: see the data as it sees them, and answer "same or different?".

    Every answer is in the journal before it is acknowledged, and moves the points at once. Ctrl-C
    ends; the same command goes on. Of more than 200 000 rows an even sample is shown.

    Of records with names or texts, as in nearkin studio people.csv --id id, doubtful pairs are
    listed by what an answer would change, with what differs marked.
    """
    from nearkin.cli.common import UserError

    if demo == (data is not None):
        raise UserError("name a file of rows, or --demo for scikit-learn's digits.")
    from nearkin.studio.notebook import check_packages

    check_packages()
    from nearkin.cli.studio_session import Wishes, hold

    hold(
        data,
        Wishes(
            o.choice_of(
                columns, exclude, one_hot, id_column, delimiter, form, missing, kinds, dates
            ),
            pairs=pairs,
            triplets=triplets,
            labels=labels,
            image=image,
            show=show,
            of_words=records,
            seed=seed,
        ),
        vectors=vectors,
        journal=journal,
        learner=learner,
        settings=settings,
        standardise=standardise,
        by=by,
        port=port,
        listen=listen,
        allow_hosts=allow_hosts,
        browser=not no_browser,
    )
