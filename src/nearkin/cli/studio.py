"""``nearkin studio``: a session in the browser, and what is said at its beginning and end."""

from __future__ import annotations

import os
import sys
import threading
import webbrowser
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nearkin.cli import options as o
from nearkin.cli.common import UserError, import_late, say
from nearkin.cli.files.columns import Choice
from nearkin.cli.files.inputs import is_stream
from nearkin.errors import InputError, counted

if TYPE_CHECKING:
    from nearkin.cli.files import studio_records
    from nearkin.cli.files.studio_records import Wishes
    from nearkin.studio import journal as journals
    from nearkin.studio import lesson as lessons
    from nearkin.studio import notebook
    from nearkin.studio.server import encoding, security, serving
else:
    studio_records, journals, lessons, notebook, encoding, security, serving = import_late(
        "nearkin.cli.files.studio_records",
        "nearkin.studio.journal",
        "nearkin.studio.lesson",
        "nearkin.studio.notebook",
        "nearkin.studio.server.encoding",
        "nearkin.studio.server.security",
        "nearkin.studio.server.serving",
    )

_SERVER = "Where the page is"
_DEMO_JOURNAL = Path("nearkin-demo.answers.jsonl")


def serve_studio(
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
            autocompletion=o.complete("itml", "kernel-beta", "gmml"),
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
    if demo == (data is not None):
        raise UserError("name a file of rows, or --demo for scikit-learn's digits.")
    notebook.check_packages()
    allowed = _check_hosts(allow_hosts)
    choice = o.choose_columns(
        columns, exclude, id_column, delimiter, form, missing, one_hot, kinds, dates
    )
    wishes = studio_records.Wishes(
        choice,
        pairs=pairs,
        triplets=triplets,
        labels=labels,
        image=image,
        show=show,
        of_words=records,
        seed=seed,
    )
    if data is None:
        _refuse_for_demo(wishes, vectors)
        rows, known = studio_records.records_of_digits(), None
    elif is_stream(data):
        raise UserError(
            f"{data}: answers are kept beside the rows, which must therefore be in a file."
        )
    else:
        rows, known = studio_records.read_records(data, wishes, vectors=vectors)
    path = journal or _journal_beside(data)
    is_new = not path.exists()
    taught = _make_learner(learner, settings, len(rows), seed)
    n_given = 0 if known is None else len(known) - len(known.closer)
    with _open_lesson(
        rows,
        journal=path,
        pairs=known,
        learner=taught,
        standardise=standardise,
        by=by,
        seed=seed,
    ) as lesson:
        served = _serve(lesson, listen, port, allowed)
        for note in lesson.notes_on_answers:
            say(f"note: {note}")
        _say_how_it_begins(path, lesson.state(), n_given, listen, is_new)
        if encoding.page_folder() is None:
            problem, remedy = encoding.why_no_page()
            say(f"warning: {problem} {remedy}")
        _say_way_through_hub(served, allowed)
        say("Ctrl-C ends. Open this address:")
        if sys.stdout is not None:  # closed from the start
            sys.stdout.write(f"{served.url}\n")
            sys.stdout.flush()
        if not no_browser:
            address = served.url_for_a_program()
            threading.Thread(target=webbrowser.open, args=[address], daemon=True).start()
        served.run()
        lesson = served.lesson  # columns may have been chosen anew
        state = lesson.state()
        say(
            f"{_count_answers(state, n_given)} in {lesson.journal or path}; known are "
            f"{state['n_same']} same, {state['n_different']} different, {state['n_unsure']} "
            "unsure. The same command goes on."
        )


def _journal_beside(data: Path | None) -> Path:
    """Where answers about a file are kept unless another place is named."""
    if data is None:
        return _DEMO_JOURNAL
    if data.name in ("", ".."):  # a folder that is not named by its own name
        data = data.resolve()
    return data.with_name(f"{data.name}.answers.jsonl")


def _make_learner(name: str | None, settings: Sequence[str], n_rows: int, seed: int) -> Any:
    if name is None:
        if settings:
            raise UserError("--set: name the learner that it is for with --learner.")
        return None
    cls = o.find_learner(name)
    if not hasattr(cls, "partial_fit"):
        raise UserError(f"--learner {name}: the studio teaches itml, kernel-beta or gmml.")
    given = o.read_settings(cls, settings, seed)
    landmarks = o.count_landmarks(cls, given, n_rows)
    return cls(**(given if landmarks is None else {**given, "n_landmarks": landmarks}))


def _open_lesson(records: Any, journal: Path, **options: Any) -> lessons.Lesson:
    """A lesson that goes on where its journal ends."""
    try:
        return lessons.Lesson(records, journal=journal, **options)
    except (journals.JournalInUse, journals.JournalError) as error:
        raise UserError(f"{error} (--journal)") from error
    except OSError as error:
        raise UserError(
            f"answers cannot be kept in {journal}: {error.strerror or error}. Name another file "
            "with --journal."
        ) from error


def _refuse_for_demo(wishes: Wishes, vectors: Path | None) -> None:
    if vectors is not None or replace(wishes, seed=0) != studio_records.Wishes(Choice(), show=[]):
        raise UserError("--demo has data of its own: options for columns and pairs are for files.")


def _serve(
    lesson: lessons.Lesson, listen: str | None, port: int | None, allowed: Sequence[str]
) -> serving.Serving:
    try:
        return serving.Serving(
            lesson, address=listen or serving.THIS_MACHINE, port=port, allowed=allowed
        )
    except serving.AddressError as error:
        option = "--port" if "port" in str(error) else "--listen"
        raise UserError(f"{option}: {error}") from error


def _say_how_it_begins(
    path: Path, state: dict[str, int], n_given: int, listen: str | None, is_new: bool
) -> None:
    if state["version"] and not is_new:
        say(f"resumed {_count_answers(state, n_given)} from {path}")
    else:
        say(f"answers are kept in {path}")
    if listen is not None and not security.is_this_machine(listen):
        say(
            f"warning: other machines can reach {listen}. Whoever has the address below sees the "
            "data and can answer, and the connection is not encrypted."
        )
        if security.listens_everywhere(listen):
            say("On other machines, put this one's address (a number) in place of 127.0.0.1.")


def _say_way_through_hub(served: serving.Serving, allowed: Sequence[str]) -> None:
    """Say where JupyterHub shows ports, which is the only way to some machines."""
    prefix = os.environ.get("JUPYTERHUB_SERVICE_PREFIX")
    if prefix is None:
        return
    path = f"{prefix.rstrip('/')}/proxy/{served.port}/?token={served.token}"
    names = [name for name in allowed if not name.startswith("*")]
    if names:
        say(f"Through JupyterHub, with jupyter-server-proxy: https://{names[0]}{path}")
    else:
        say(
            "Through JupyterHub, with jupyter-server-proxy: start this again with --allow-host and "
            "the name of the hub."
        )


def _check_hosts(names: Sequence[str]) -> list[str]:
    try:
        return security.checked_names(names)
    except InputError as error:
        raise UserError(f"--allow-host: {error}") from error


def _count_answers(state: dict[str, int], n_given: int) -> str:
    """Say how many answers there are beside the pairs that were given, and how many triplets."""
    said = counted(max(0, state["n_answers"] - n_given), "answer")
    return said + f" and {counted(state['n_triplets'], 'triplet')}" * bool(state["n_triplets"])
