"""``nearkin studio``: records of a file, and a session in the browser about them."""

from __future__ import annotations

import os
import sys
import threading
import webbrowser
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nearkin as nk
from nearkin.cli import options as o
from nearkin.cli.common import (
    UserError,
    column_choice,
    encoding,
    journals,
    lessons,
    notebook,
    np,
    pa,
    pair_files,
    pc,
    pictures,
    say,
    security,
    serving,
    shown_records,
    streams,
    table_reading,
    tables,
)
from nearkin.cli.files.columns import Choice, Kinds, has_words, match_columns, pick_columns
from nearkin.cli.files.inputs import FILE, PIXELS, is_stream, open_source
from nearkin.errors import InputError, counted, few

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nearkin._types import Floats, Ints
    from nearkin.studio.records import RecordIdentity, StudioRecords
    from nearkin.tables.choice import ColumnChoice, Roles

_DEMO_JOURNAL = Path("nearkin-demo.answers.jsonl")
# Whole numbers up to this are told apart as float64.
_EXACT = 2.0**53
# Numbers that are held in memory; of more, fewer rows are shown. 800 MB in float64.
_MOST_NUMBERS = 100_000_000
_HOW = " --columns and --exclude choose others, and so does the page."


about_server = partial(o.option, rich_help_panel="Where the page is")


def serve_studio(
    data: Path | None = o.argument(
        None,
        help="Rows: .csv, .tsv, .jsonl (also .gz), .parquet (or a folder of them), .feather, "
        ".npy or .npz; or a folder of pictures.",
    ),
    pairs: Path | None = o.PAIRS,
    triplets: Path | None = o.TRIPLETS,
    labels: str | None = o.option(
        "--labels -l NAME",
        "Column of classes, empty or below 0 is unknown: up to 500 pairs of them are "
        "known from the start.",
    ),
    demo: bool = o.option("--demo", "Take scikit-learn's digits instead of a file.", False),
    journal: Path | None = o.option(
        "--journal FILE",
        "Where every answer is kept at once. If it is there, you go on from it. Without: "
        "DATA.answers.jsonl beside the data.",
    ),
    image: str | None = o.option(
        "--image NAME", "Column of names of image files, in the folder of the data or below it."
    ),
    vectors: Path | None = o.option(
        "--vectors FILE",
        "Vectors (.npy) to learn from in place of the pixels of a folder of pictures, one "
        "for each in the order of their names.",
    ),
    show: list[str] = o.option(
        "--show NAMES",
        "Columns to show first with a record; names or patterns. All columns that are no "
        "numbers are shown anyway, eight at most.",
        [],
    ),
    records: bool = o.option(
        "--records",
        "Rows are records, such as people: all columns are learned from, words too. Where "
        "there are no numbers, that is so anyway.",
        False,
    ),
    learner: str | None = o.option(
        "--learner NAME",
        "What is taught: itml, kernel-beta or gmml. Without: itml with an rbf kernel.",
        autocompletion=o.complete("itml", "kernel-beta", "gmml"),
    ),
    settings: list[str] = o.SETTINGS,
    standardise: bool | None = o.option(
        "--standardise/--no-standardise",
        "Bring all columns to one scale first, or leave them. Without: where their units "
        "differ by more than 100.",
    ),
    by: str | None = o.option(
        "--by NAME",
        "Who answers, unless someone gives another name on the page: each one's answers "
        "are kept, and how often each is wrong is estimated.",
    ),
    *,
    choice: o.RecordColumns,
    port: int | None = about_server(
        "--port", "Without: 8765, or the next that is free.", min=0, max=65535
    ),
    no_browser: bool = about_server("--no-browser", "Open no browser.", False),
    listen: str | None = about_server(
        "--listen ADDRESS",
        "Be reached from other machines too, at this address of this one, 0.0.0.0 for "
        "all. The connection is not encrypted.",
    ),
    allow_hosts: list[str] = about_server(
        "--allow-host NAME",
        "Name of a proxy that may pass requests on to the studio, such as "
        "hub.example.org or *.example.org; may be given several times.",
        [],
    ),
    seed: int = o.SEED,
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
    wishes = Wishes(choice, pairs, triplets, labels, image, tuple(show), records, seed)
    if data is None:
        if vectors is not None or wishes != Wishes(Choice(), seed=seed):
            raise UserError(
                "--demo has data of its own: options for columns and pairs are for files."
            )
        rows, known = shown_records.records_of_digits(), None
    elif is_stream(data):
        raise UserError(
            f"{data}: answers are kept beside the rows, which must therefore be in a file."
        )
    else:
        rows, known = read_records(data, wishes, vectors=vectors)
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
    """Path of the journal of answers about a file, unless the user names one."""
    if data is None:
        return _DEMO_JOURNAL
    if data.name in ("", ".."):  # a folder that is not named by its own name
        data = data.resolve()
    return data.with_name(f"{data.name}.answers.jsonl")


def _make_learner(name: str | None, settings: Sequence[str], n_rows: int, seed: int) -> Any:
    """The learner to teach, by its name; None for the default one."""
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
    """Open a lesson, which continues its journal."""
    try:
        return lessons.Lesson(records, journal=journal, **options)
    except (journals.JournalInUse, journals.JournalError) as error:
        raise UserError(f"{error} (--journal)") from error
    except OSError as error:
        raise UserError(
            f"answers cannot be kept in {journal}: {error.strerror or error}. Name another file "
            "with --journal."
        ) from error


def _serve(
    lesson: lessons.Lesson, listen: str | None, port: int | None, allowed: Sequence[str]
) -> serving.Serving:
    """Serve a lesson; an error if the address or port is not available."""
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
    """Report where answers are stored, and warn if other machines can reach the page."""
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
    """Report the address of the page through JupyterHub, if it runs there."""
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
    """Check names of proxies."""
    try:
        return security.check_names(names)
    except InputError as error:
        raise UserError(f"--allow-host: {error}") from error


def _count_answers(state: dict[str, int], n_given: int) -> str:
    """Number of new answers, in words."""
    return counted(max(0, state["n_answers"] - n_given), "answer")


# Records of a file.


@dataclass(frozen=True)
class Wishes:
    """The user's options about a file.

    ``pairs`` and ``triplets`` are files, ``labels`` is a column of classes, ``image`` one of names
    of picture files; with ``of_words`` all columns are learned from.
    """

    choice: Choice
    pairs: Path | None = None
    triplets: Path | None = None
    labels: str | None = None
    image: str | None = None
    show: Sequence[str] = ()
    of_words: bool = False
    seed: int = 0


@dataclass(frozen=True)
class _Opened:
    """An open file, its columns' roles unless it is an array, and whether its rows are records."""

    table: tables.Table
    roles: Roles | None = None
    are_things: bool = False


def read_records(
    path: Path, wishes: Wishes, *, vectors: Path | None = None
) -> tuple[StudioRecords, nk.Pairs | None]:
    """Read the records of a file or a folder of pictures, and their known pairs, or None.

    Learned from are a column of vectors, or numbers, texts and dates, see
    :func:`nearkin.tables.choice.choose_roles`; all columns but vectors are shown. Of many rows an
    even sample is taken, with all rows in pairs. ``vectors`` is a file of vectors to learn from
    instead of pixels.
    """
    of_pictures = path.is_dir() and pictures.holds_pictures(path)
    if vectors is not None and not of_pictures:
        raise UserError(f"--vectors is for folders of pictures, and {path} is none.")
    if not of_pictures:
        return _read_rows(path, wishes)
    # Pictures are called by their names; their folders are only shown, and to colour by.
    choice = wishes.choice
    choice = replace(
        choice, columns=choice.columns or (PIXELS,), id_column=choice.id_column or FILE
    )
    records, pairs = _read_rows(path, replace(wishes, image=wishes.image or FILE, choice=choice))
    if vectors is not None:
        return _replace_by_vectors(records, vectors), pairs
    side = pictures.SIDE
    told = (
        f"The metric is learned from small grey pictures of {side} × {side} pixels: vectors of "
        "a network tell more, as in --vectors FILE.npy."
    )
    say(told)
    return replace(records, notes=(*records.notes, told)), pairs


def _read_rows(
    path: Path, wishes: Wishes, rows: Ints | None = None
) -> tuple[StudioRecords, nk.Pairs | None]:
    """Read records of a file, or of these ``rows`` of it, and known pairs."""
    try:
        return _build_records(_open(path, wishes), path, wishes, rows)
    except tables.MissingCellsError:
        if wishes.choice.missing is not None:
            raise
    # Numbers with gaps: a missing cell is known as such.
    return _build_records(_open(path, wishes, gaps=True), path, wishes, rows)


def _open(path: Path, wishes: Wishes, *, gaps: bool = False) -> _Opened:
    """Open a file with the columns to learn from; with ``gaps``, numbers are encoded, too."""
    choice = wishes.choice
    kinds = tables.column_kinds(path, choice)
    aside = [name for name in (choice.id_column, wishes.labels, wishes.image) if name is not None]
    if wishes.of_words or (choice.states_kinds and not choice.columns):
        table = tables.open_table(path, choice, labels=wishes.labels, aside=aside)
        if table.encoder is None:
            raise UserError(f"--records: {path} has no columns of words. Leave it out for numbers.")
        return _Opened(table, column_choice.Roles(table.encoder.columns_, {}), are_things=True)
    if not kinds or path.suffix.lower() == ".npz":
        table = tables.open_table(path, choice, labels=wishes.labels, aside=aside, words=False)
        return _Opened(table)
    left_out = [*aside, *match_columns(choice.exclude, kinds, "--exclude", str(path))]
    left = {c: kind for c, kind in kinds.items() if c not in left_out}
    cells = _read_first_cells(path, choice, left)
    chosen: list[str] = []
    if choice.columns:
        chosen = pick_columns(kinds, choice, aside, wishes.labels, str(path))[0]
    try:
        found = column_choice.choose_roles(left, cells, chosen)
    except InputError as error:
        raise UserError(f"{path}: {error} (--columns)") from error
    if not found.learned:
        raise UserError(_explain_no_columns(path, kinds, left_out, found))
    encoded = gaps or has_words(kinds, found.learned) or choice.states_kinds
    table = tables.open_table(
        path,
        replace(choice, columns=found.learned, exclude=()),
        labels=wishes.labels,
        aside=aside,
        words=encoded,
        encoded=encoded,
    )
    if not encoded:
        return _Opened(table, found)
    of_words = {name: of for name, of in cells.items() if not chosen or name in chosen}
    return _Opened(table, found, not gaps and column_choice.are_records(of_words))


def _read_first_cells(path: Path, choice: Choice, kinds: Kinds) -> dict[str, list[Any]]:
    """Cells of the first rows by column, without vectors."""
    names = [name for name, kind in kinds.items() if kind != "vector"]
    batches = open_source(path, choice, "DATA").batches([], names) if names else iter(())
    first = next(iter(batches), None)
    if first is None:
        return {name: [] for name in names}
    is_category = pa.types.is_dictionary
    cells = {
        name: table_reading.CategoryCells(of) if is_category(first.schema.field(name).type) else of
        for name, of in first.slice(0, column_choice.MOST_LOOKED_AT).to_pydict().items()
    }
    numbers = {name: _parse_numbers(of) for name, of in cells.items() if kinds[name] == "number"}
    return {**cells, **numbers}


def _explain_no_columns(path: Path, kinds: Kinds, left_out: Sequence[str], found: Roles) -> str:
    """Message why there is no column to learn from."""
    asked = [name for name in found.left_out if kinds[name] in ("number", "boolean")]
    if asked:
        told = ", ".join(f"{name!r} ({found.left_out[name]})" for name in asked[:5])
        return (
            f"{path} has no columns of numbers to learn from but {told}: --columns {asked[0]} "
            "learns from it all the same."
        )
    left = {name: kind for name, kind in kinds.items() if name not in left_out} or kinds
    shown = few(f"{name!r} ({kind})" for name, kind in left.items())
    return f"{path} has no columns of numbers or words to learn from: {shown}."


def _build_records(
    opened: _Opened, path: Path, wishes: Wishes, rows: Ints | None = None
) -> tuple[StudioRecords, nk.Pairs | None]:
    """Records of an open file, or of these ``rows`` of it, and known pairs."""
    table, found = opened.table, opened.roles
    n, d = table.rows.shape
    pairs = _read_known_pairs(table, wishes) if rows is None else None
    if rows is None:
        most = max(2, min(shown_records.MOST_SHOWN, _MOST_NUMBERS // d))
        named = () if pairs is None else pairs.points
        numbers = shown_records.sample_numbers(n, most, wishes.seed, named)
        if len(numbers) < n:
            shown = f"{len(numbers)} of {n} rows are shown"
            say(f"{shown}, evenly chosen; exported models serve all rows.")
    else:
        numbers = rows
    beside = table.columns_beside(numbers)
    columns = {name: beside.column(name).to_pylist() for name in beside.column_names}
    if table.encoder is not None:
        learned = [name for name in columns if table.kinds[name] == "number"]
        columns |= {name: _parse_numbers(columns[name]) for name in learned}
    ids = table.shown_ids().take(numbers).to_pylist()
    first = match_columns(wishes.show, columns, "--show", table.file)
    features = table.names or [f"x{j}" for j in range(d)]
    if table.encoder is not None:
        features = [str(name) for name in table.encoder.get_feature_names_out()]
    records = shown_records.StudioRecords(
        X=table.rows.take(numbers),
        features=features,
        ids=ids,
        columns={name: columns[name] for name in dict.fromkeys([*first, *columns])},
        source=path.name,
        n_total=n,
        numbers=numbers,
        pictures=_find_pictures(path, wishes, columns, ids),
        id_name=table.id_name,
        named=table.names is not None,
        remembered=table.remembered,
        compared=tuple(_choose_compared(table, [*columns], found, wishes)),
        told_apart_by=_make_identity(table, numbers, wishes.choice.id_column),
        are_things=opened.are_things,
        is_vector=table.vector is not None,
    )
    if table.encoder is not None and found is not None:
        found = column_choice.restrict_roles(found, table.encoder.columns_)
    if found is not None:
        if records.named and not wishes.choice.columns:
            records, found = _drop_counters(records, found)
        told = [column_choice.describe_roles(found)]
        if wishes.choice.columns:
            told += column_choice.describe_class_columns(found.learned)
        say(f"{told[0]}{_HOW if found.left_out else ''}")
        for note in told[1:]:
            say(f"note: {note}")
        choice = _offer_columns(path, wishes, table, found, numbers)
        records = replace(records, notes=tuple(told), choice=choice)
    return records, None if pairs is None else notebook.to_shown_rows(pairs, numbers, table.file)


def _read_known_pairs(table: tables.Table, wishes: Wishes) -> nk.Pairs | None:
    """Pairs and triplets from files, and pairs drawn from labels."""
    delimiter = wishes.choice.delimiter
    pairs = pair_files.read_known_pairs(table, wishes.pairs, delimiter, wishes.triplets)
    if wishes.labels is None:
        return pairs
    both = notebook.add_labels(pairs, table.labels(wishes.labels), wishes.seed)
    say(f"{len(both)} pairs are known from the start, also by the labels in {wishes.labels!r}.")
    return both


def _find_pictures(
    path: Path, wishes: Wishes, columns: Mapping[str, Sequence[Any]], ids: Sequence[Any]
) -> pictures.FilePictures | None:
    """Pictures by the column of their names, or None; a note if the first ones do not exist."""
    if wishes.image is None:
        return None
    named = {wishes.image: ids} if wishes.image == wishes.choice.id_column else columns
    match_columns([wishes.image], named, "--image", str(path))
    names = [None if name is None else str(name) for name in named[wishes.image]]
    folder = path.resolve() if pictures.holds_pictures(path) else path.resolve().parent
    found = pictures.FilePictures(names, folder)
    first = [row for row, name in enumerate(names[:20]) if name]
    missing = [row for row in first if isinstance(found.image(row), str)]
    if missing and len(missing) == len(first):
        say(
            f"note: {names[missing[0]]!r} and the {len(missing) - 1} images after it are not found "
            f"in {found.folder}, where names are looked up; records are shown without them."
        )
    return found


def _choose_compared(
    table: tables.Table, shown: Sequence[str], found: Roles | None, wishes: Wishes
) -> list[str]:
    """Names of columns by which records may be recognised, without those the user left out."""
    names = [*shown, *(table.names or [])]
    if table.encoder is not None or wishes.choice.columns:
        return [name for name in names if name in table.columns]
    if found is not None:
        names = [name for name in names if name in {*found.learned, *found.left_out}]
    return shown_records.telling_columns(names, [wishes.labels, wishes.image])


def _drop_counters(records: StudioRecords, found: Roles) -> tuple[StudioRecords, Roles]:
    """Records and roles without learning from columns that only count rows."""
    X, features, found = column_choice.drop_counters(records.X, records.features, found)
    aside = [name for name in records.features if name not in features]
    shown = {name: records.X[:, records.features.index(name)].tolist() for name in aside}
    return replace(records, X=X, features=features, columns={**records.columns, **shown}), found


def _offer_columns(
    path: Path, wishes: Wishes, table: tables.Table, found: Roles, numbers: Ints
) -> ColumnChoice:
    """Choice of the other columns, with a way to read the same rows by these."""
    in_file = table.numbers()[numbers]
    was = _file_signature(path)

    def reopened(names: Sequence[str]) -> StudioRecords:
        """Read the same rows by other columns; an error if the file has changed."""
        if _file_signature(path) != was:
            raise InputError(f"{path.name} has changed since the studio was opened: open it anew.")
        choice = wishes.choice
        stated = {name: kind for name, kind in choice.kinds.items() if name in names}
        choice = replace(choice, columns=names, exclude=(), missing=None, kinds=stated)
        return _read_rows(path, replace(wishes, choice=choice, of_words=False), in_file)[0]

    taken = {wishes.choice.id_column: "ids", wishes.labels: "labels", wishes.image: "pictures"}
    return column_choice.ColumnChoice(
        table.kinds,
        found.learned,
        found.left_out,
        {name: use for name, use in taken.items() if name is not None},
        reopened,
    )


def _file_signature(path: Path) -> list[tuple[str, int, int]]:
    """Name, size and time of a file, or of all in a folder, which change when it is written."""
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    stats = [(str(file), file.stat()) for file in files]
    return [(name, stat.st_size, stat.st_mtime_ns) for name, stat in stats]


def _replace_by_vectors(records: StudioRecords, path: Path) -> StudioRecords:
    """Records with the vectors of a file instead of pixels."""
    try:
        X = streams.map_array_file(path, str(path))
    except (OSError, ValueError) as error:
        raise UserError(
            f"--vectors: {path} cannot be read as an array of numbers: {error}"
        ) from error
    if X.ndim != 2 or len(X) != records.n_total:
        raise UserError(
            f"--vectors: {path} has the shape {X.shape}, but there are {records.n_total} pictures "
            f"that can be read: give one row for each, in the order of their names "
            f"({records.ids[0]!r} is the first)."
        )
    rows: Floats = X[records.numbers].astype(np.float32 if X.dtype == np.float32 else np.float64)
    names = [f"x{j}" for j in range(rows.shape[1])]
    return replace(records, X=rows, features=names, named=False, remembered={})


def _make_identity(
    table: tables.Table, numbers: NDArray[np.integer], id_column: str | None
) -> RecordIdentity | None:
    """Identity of a file's rows by cells of its columns, whatever its form; None for an array."""
    kinds = table.kinds
    if not kinds or table.is_array:
        return None

    def cells(names: Sequence[str]) -> Iterator[Mapping[str, Any]]:
        """Cells of some columns, batch by batch."""
        for batch in table.batches_of(numbers, names):
            yield {name: _cells_of_batch(batch.column(name), kinds[name]) for name in names}

    return shown_records.RecordIdentity(kinds, cells, len(numbers), id_column)


def _cells_of_batch(column: Any, kind: str) -> Any:
    """Cells of a column in a batch, as :func:`nearkin.studio.records.digests_of` takes them."""
    if kind == "boolean":
        column = column.cast(pa.bool_()).cast(pa.int8())
    if kind == "number" and pa.types.is_string(column.type):
        found = column.cast(pa.float64())
        if np.nanmax(np.abs(found.to_numpy(zero_copy_only=False)), initial=0.0) < _EXACT:
            column = found
        else:  # names of things, such as 64 bits: every digit counts
            return [_parse_number(cell) for cell in column.to_pylist()]
    if kind in ("number", "boolean") and not column.null_count:
        return column.to_numpy(zero_copy_only=False)
    if kind == "vector" and (matrix := _stack_vectors(column)) is not None:
        return matrix
    return column.to_pylist()


def _parse_numbers(cells: list[Any]) -> list[Any]:
    """Cells of a numeric column, which some files have as texts, as numbers."""
    try:
        return [_parse_number(cell) if isinstance(cell, str) else cell for cell in cells]
    except ValueError:
        return cells


def _parse_number(cell: str | None) -> float | int | None:
    """A number from a text, exact for whole numbers."""
    if cell is None:
        return None
    return int(cell) if cell.lstrip("-").isdecimal() else float(cell)


def _stack_vectors(column: Any) -> NDArray[Any] | None:
    """Vectors of equal length as rows (n, d); None if lengths differ."""
    if column.null_count or not len(column):
        return None
    lengths = pc.unique(pc.list_value_length(column))
    flat = column.flatten()
    if len(lengths) != 1 or flat.null_count or not len(flat):
        return None
    return np.asarray(flat.to_numpy(zero_copy_only=False)).reshape(len(column), -1)
