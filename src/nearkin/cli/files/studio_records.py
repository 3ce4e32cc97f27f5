"""Rows of a file as records for the studio, with the pairs that are known of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from nearkin._types import Floats, Ints
from nearkin.cli.common import UserError, say
from nearkin.cli.files.columns import Choice, Kinds, has_words, match_columns, pick_columns
from nearkin.cli.files.inputs import FILE, PIXELS, open_source
from nearkin.cli.files.pairs import read_known_pairs
from nearkin.cli.files.tables import MissingCellsError, Table, column_kinds, open_table
from nearkin.errors import InputError, few
from nearkin.pairs.pairs import Pairs
from nearkin.rows.streams import map_array_file
from nearkin.studio.notebook import among_shown, with_labels
from nearkin.studio.pictures import SIDE, FilePictures, holds_pictures
from nearkin.studio.records import (
    MOST_SHOWN,
    RecordIdentity,
    StudioRecords,
    sample_numbers,
    telling_columns,
)
from nearkin.studio.records import records_of_digits as records_of_digits
from nearkin.tables.choice import (
    MOST_LOOKED_AT,
    ColumnChoice,
    Roles,
    are_records,
    choose_by_kinds,
    choose_roles,
    describe_class_columns,
    describe_roles,
    drop_counters,
    restrict_roles,
)
from nearkin.tables.reading import CategoryCells

# Whole numbers up to this are told apart as float64.
_EXACT = 2.0**53


def _identity(
    table: Table, numbers: NDArray[np.integer], id_column: str | None
) -> RecordIdentity | None:
    """The identity of some rows of a file: by its columns, as they are there.

    None for a file that is an array. Numbers are the same in files of every form.
    """
    kinds = table.kinds
    if not kinds or table.is_array:
        return None

    def cells(names: Sequence[str]) -> Iterator[Mapping[str, Any]]:
        for batch in table.batches_of(numbers, names):
            yield {name: _values(batch.column(name), kinds[name]) for name in names}

    return RecordIdentity(kinds, cells, len(numbers), id_column)


def _values(column: Any, kind: str) -> Any:
    """Cells of a batch, as :func:`nearkin.studio.records.digests_of` takes them."""
    if kind == "boolean":
        column = column.cast(pa.bool_()).cast(pa.int8())
    if kind == "number" and pa.types.is_string(column.type):
        found = column.cast(pa.float64())
        if np.nanmax(np.abs(found.to_numpy(zero_copy_only=False)), initial=0.0) < _EXACT:
            column = found
        else:  # names of things, such as 64 bits: every digit counts
            return [_number(cell) for cell in column.to_pylist()]
    if kind in ("number", "boolean") and not column.null_count:
        return column.to_numpy(zero_copy_only=False)
    if kind == "vector" and (matrix := _matrix(column)) is not None:
        return matrix
    return column.to_pylist()


def _as_numbers(cells: list[Any]) -> list[Any]:
    """Cells of a column of numbers, which some files have as texts."""
    try:
        return [_number(cell) if isinstance(cell, str) else cell for cell in cells]
    except ValueError:
        return cells


def _number(cell: str | None) -> float | int | None:
    if cell is None:
        return None
    return int(cell) if cell.lstrip("-").isdecimal() else float(cell)


def _matrix(column: Any) -> NDArray[Any] | None:
    """Vectors of one length as rows; None if there are others."""
    if column.null_count or not len(column):
        return None
    lengths = pc.unique(pc.list_value_length(column))
    flat = column.flatten()
    if len(lengths) != 1 or flat.null_count or not len(flat):
        return None
    return np.asarray(flat.to_numpy(zero_copy_only=False)).reshape(len(column), -1)


_HOW = " --columns and --exclude choose others, and so does the page."
# Numbers that are held in memory; of more, fewer rows are shown. 800 MB in float64.
_MOST_NUMBERS = 100_000_000


@dataclass(frozen=True)
class Wishes:
    """What the user said of a file.

    Attributes
    ----------
    choice : Choice
        Columns to learn from, and ids.
    pairs, triplets : Path or None
        Files of pairs and of triplets that are known.
    labels : str or None
        Column of classes.
    image : str or None
        Column of names of picture files.
    show : list of str
        Columns to show first.
    of_words : bool
        Whether rows are records: all columns are learned from, words too.
    seed : int
    """

    choice: Choice
    pairs: Path | None = None
    triplets: Path | None = None
    labels: str | None = None
    image: str | None = None
    show: Sequence[str] = ()
    of_words: bool = False
    seed: int = 0


def read_records(
    path: Path, wishes: Wishes, *, vectors: Path | None = None
) -> tuple[StudioRecords, Pairs | None]:
    """Records of a file or a folder of pictures, and pairs of them that are known.

    A column of vectors is learned from, or numbers, texts and dates, see
    :func:`nearkin.tables.choice.choose_roles`; all columns but vectors are shown. Of many rows
    an even sample is taken, and with it all rows that are named in pairs. ``vectors`` is a file of
    those that are learned from in place of pixels.
    """
    of_pictures = path.is_dir() and holds_pictures(path)
    if vectors is not None and not of_pictures:
        raise UserError(f"--vectors is for folders of pictures, and {path} is none.")
    if of_pictures:
        wishes = _for_pictures(wishes)
    records, pairs = _records_at(path, wishes)
    return (_of_pictures(records, vectors) if of_pictures else records), pairs


def _records_at(
    path: Path, wishes: Wishes, rows: Ints | None = None
) -> tuple[StudioRecords, Pairs | None]:
    """Records of a file; of some ``rows`` of the file, if these are given."""
    opened = _open(path, wishes)
    try:
        return _records_of(opened, path, wishes, rows)
    except MissingCellsError:
        if rows is None and (wishes.choice.missing is not None or not opened.learned):
            raise
    # Numbers with gaps: a missing cell is known as such.
    table = _open_encoded(path, wishes, opened.learned)
    return _records_of(replace(opened, table=table), path, wishes, rows)


@dataclass(frozen=True)
class _Opened:
    """A file that is open, and why these columns are learned from.

    Attributes
    ----------
    table : Table or None
        None if it lacks some numbers.
    roles : Roles or None
        None for arrays.
    are_things : bool
        Whether rows are known by words.
    """

    table: Table | None
    roles: Roles | None = None
    are_things: bool = False

    @property
    def learned(self) -> list[str]:
        return [] if self.roles is None else self.roles.learned


def _records_of(
    opened: _Opened, path: Path, wishes: Wishes, rows: Ints | None = None
) -> tuple[StudioRecords, Pairs | None]:
    """Records of a file that is open; of some ``rows`` of the file, if these are given."""
    table, roles = opened.table, opened.roles
    if table is None:
        raise MissingCellsError("")
    n, d = table.rows.shape
    pairs = _known(table, wishes) if rows is None else None
    if rows is None:
        most = max(2, min(MOST_SHOWN, _MOST_NUMBERS // d))
        numbers = sample_numbers(n, most, wishes.seed, () if pairs is None else pairs.points)
        if len(numbers) < n:
            shown = f"{len(numbers)} of {n} rows are shown"
            say(f"{shown}, evenly chosen; exported models serve all rows.")
    else:
        numbers = rows
    beside = table.columns_beside(numbers)
    columns = {name: beside.column(name).to_pylist() for name in beside.column_names}
    if table.encoder is not None:
        learned = [name for name in columns if table.kinds[name] == "number"]
        columns |= {name: _as_numbers(columns[name]) for name in learned}
    ids = table.shown_ids().take(numbers).to_pylist()
    pictures = None
    if wishes.image is not None:
        named = columns if wishes.image != wishes.choice.id_column else {wishes.image: ids}
        match_columns([wishes.image], named, "--image", table.file)
        names = [None if name is None else str(name) for name in named[wishes.image]]
        folder = path.resolve() if holds_pictures(path) else path.resolve().parent
        pictures = FilePictures(names, folder)
        _note_missing(pictures, names)
    first = match_columns(wishes.show, columns, "--show", table.file)
    records = StudioRecords(
        X=table.rows.take(numbers),
        features=_feature_names(table, d),
        ids=ids,
        columns={name: columns[name] for name in dict.fromkeys([*first, *columns])},
        source=path.name,
        n_total=n,
        numbers=numbers,
        pictures=pictures,
        id_name=table.id_name,
        named=table.names is not None,
        remembered=table.remembered,
        compared=tuple(_compared(table, [*columns], roles, wishes)),
        told_apart_by=_identity(table, numbers, wishes.choice.id_column),
        are_things=opened.are_things,
        is_vector=table.vector is not None,
    )
    if table.encoder is not None and roles is not None:
        roles = restrict_roles(roles, table.encoder.columns_)
    records, roles = _without_counters(records, roles, wishes.choice)
    if roles is not None:
        told = [
            describe_roles(roles),
            *(describe_class_columns(roles.learned) if wishes.choice.columns else ()),
        ]
        say(f"{told[0]}{_HOW if roles.left_out else ''}")
        for note in told[1:]:
            say(f"note: {note}")
        choice = _choice(path, wishes, table, roles, numbers)
        records = replace(records, notes=tuple(told), choice=choice)
    return records, None if pairs is None else among_shown(pairs, numbers, table.file)


def _choice(path: Path, wishes: Wishes, table: Table, roles: Roles, numbers: Ints) -> ColumnChoice:
    """Offer the other columns, and a way to read the same rows by them."""
    in_file = table.numbers()[numbers]
    was = _signature(path)

    def reopened(names: Sequence[str]) -> StudioRecords:
        if _signature(path) != was:
            raise InputError(f"{path.name} has changed since the studio was opened: open it anew.")
        choice = wishes.choice
        stated = {name: kind for name, kind in choice.kinds.items() if name in names}
        choice = replace(choice, columns=names, exclude=(), one_hot=(), missing=None, kinds=stated)
        other = replace(wishes, choice=choice, of_words=False)
        return _records_at(path, other, in_file)[0]

    taken = {wishes.choice.id_column: "ids", wishes.labels: "labels", wishes.image: "pictures"}
    return ColumnChoice(
        table.kinds,
        roles.learned,
        roles.left_out,
        {name: use for name, use in taken.items() if name is not None},
        reopened,
    )


def _signature(path: Path) -> list[tuple[str, int, int]]:
    """Sizes and times of a file, or of those in a folder, which show whether it was written."""
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    stats = [(str(file), file.stat()) for file in files]
    return [(name, stat.st_size, stat.st_mtime_ns) for name, stat in stats]


def _open(path: Path, wishes: Wishes) -> _Opened:
    """A file with the columns to learn from, and why not from others."""
    choice = wishes.choice
    kinds = column_kinds(path, choice)
    named = [name for name in (choice.id_column, wishes.labels, wishes.image) if name is not None]
    if not kinds or path.suffix.lower() == ".npz":
        if choice.states_kinds or wishes.of_words:
            return _open_records(path, wishes, named)
        return _Opened(open_table(path, choice, labels=wishes.labels, aside=named, words=False))
    one_hot = match_columns(choice.one_hot, kinds, "--one-hot", str(path))
    left_out = [*named, *match_columns(choice.exclude, kinds, "--exclude", str(path))]
    left = {c: kind for c, kind in kinds.items() if c not in left_out}
    if wishes.of_words or (choice.states_kinds and not choice.columns):
        return _open_records(path, wishes, named)
    if one_hot:
        return _open_with_one_hot(path, wishes, left, one_hot, named)
    cells = _some_cells(path, choice, left)
    chosen: list[str] = []
    if choice.columns:
        chosen = pick_columns(kinds, choice, named, wishes.labels, str(path))[0]
    try:
        roles = choose_roles(left, cells, chosen)
    except InputError as error:
        raise UserError(f"{path}: {error} (--columns)") from error
    are_things = are_records(
        {name: of for name, of in cells.items() if not chosen or name in chosen}
    )
    if not roles.learned:
        raise UserError(_nothing_numeric(path, kinds, left_out, roles))
    plain = not has_words(kinds, roles.learned) and not choice.states_kinds
    if not plain:
        return _Opened(_open_encoded(path, wishes, roles.learned), roles, are_things)
    own = replace(choice, columns=roles.learned, exclude=())
    try:
        table = open_table(path, own, labels=wishes.labels, aside=named, words=False)
    except MissingCellsError:
        if choice.missing is not None:
            raise
        return _Opened(None, roles)
    return _Opened(table, roles)


def _open_with_one_hot(
    path: Path, wishes: Wishes, kinds: Kinds, one_hot: Sequence[str], named: Sequence[str]
) -> _Opened:
    """A file of numbers, and of columns of text that are asked for, a column for each value."""
    roles = _roles(kinds, one_hot, path)
    others = [name for name in kinds if name not in roles.learned and name not in one_hot]
    if wishes.choice.columns:
        others = []
    aside = [*named, *others]
    table = open_table(path, wishes.choice, labels=wishes.labels, aside=aside, words=False)
    return _Opened(table, Roles([*roles.learned, *one_hot], roles.left_out))


def _open_encoded(path: Path, wishes: Wishes, columns: Sequence[str]) -> Table:
    """A file with numbers that stand for the cells of some columns, and their gaps."""
    choice = replace(wishes.choice, columns=columns, exclude=())
    aside = [name for name in (choice.id_column, wishes.image) if name is not None]
    return open_table(path, choice, labels=wishes.labels, aside=aside, encoded=True)


def _some_cells(path: Path, choice: Choice, kinds: Kinds) -> dict[str, list[Any]]:
    """Cells of the first rows, of all columns but vectors."""
    names = [name for name, kind in kinds.items() if kind != "vector"]
    batches = open_source(path, choice, "DATA").batches([], names) if names else iter(())
    first = next(iter(batches), None)
    if first is None:
        return {name: [] for name in names}
    cells = {
        name: CategoryCells(of) if pa.types.is_dictionary(first.schema.field(name).type) else of
        for name, of in first.slice(0, MOST_LOOKED_AT).to_pydict().items()
    }
    numbers = {name: _as_numbers(of) for name, of in cells.items() if kinds[name] == "number"}
    return {**cells, **numbers}


def _open_records(path: Path, wishes: Wishes, aside: Sequence[str]) -> _Opened:
    """A file of records, with numbers that stand for all its columns."""
    table = open_table(path, wishes.choice, labels=wishes.labels, aside=aside)
    if table.encoder is None:
        raise UserError(f"--records: {path} has no columns of words. Leave it out for numbers.")
    return _Opened(table, Roles(table.encoder.columns_, {}), are_things=True)


def _feature_names(table: Table, n_features: int) -> list[str]:
    if table.encoder is not None:
        return [str(name) for name in table.encoder.get_feature_names_out()]
    return table.names or [f"x{j}" for j in range(n_features)]


def _compared(table: Table, shown: Sequence[str], roles: Roles | None, wishes: Wishes) -> list[str]:
    """Columns by which records may be known: not those that the user has left out."""
    names = [*shown, *(table.names or [])]
    if table.encoder is not None or wishes.choice.columns:
        return [name for name in names if name in table.columns]
    if roles is not None:
        names = [name for name in names if name in {*roles.learned, *roles.left_out}]
    return telling_columns(names, [wishes.labels, wishes.image])


def _roles(kinds: Kinds, one_hot: Sequence[str], path: Path) -> Roles:
    """Choose columns by their kinds; beside one-hot columns no vectors are learned from."""
    vectors = [name for name, kind in kinds.items() if kind == "vector"] if one_hot else []
    try:
        roles = choose_by_kinds(kinds, aside=[*one_hot, *vectors])
    except ValueError as error:
        raise UserError(f"{path}: {error} (--columns)") from error
    return Roles(roles.learned, {**dict.fromkeys(vectors, "vectors"), **roles.left_out})


def _without_counters(
    records: StudioRecords, roles: Roles | None, choice: Choice
) -> tuple[StudioRecords, Roles | None]:
    """Records that do not learn from numbers that only count rows, unless these are asked for."""
    if roles is None or not records.named or choice.columns:
        return records, roles
    X, features, roles = drop_counters(records.X, records.features, roles)
    aside = [name for name in records.features if name not in features]
    shown = {name: records.X[:, records.features.index(name)].tolist() for name in aside}
    return replace(records, X=X, features=features, columns={**records.columns, **shown}), roles


def _nothing_numeric(path: Path, kinds: Kinds, left_out: Sequence[str], roles: Roles) -> str:
    asked = [name for name in roles.left_out if kinds[name] in ("number", "boolean")]
    if asked:
        told = ", ".join(f"{name!r} ({roles.left_out[name]})" for name in asked[:5])
        return (
            f"{path} has no columns of numbers to learn from but {told}: --columns {asked[0]} "
            "learns from it all the same."
        )
    left = {name: kind for name, kind in kinds.items() if name not in left_out} or kinds
    shown = few(f"{name!r} ({kind})" for name, kind in left.items())
    return f"{path} has no columns of numbers or words to learn from: {shown}."


def _known(table: Table, wishes: Wishes) -> Pairs | None:
    """Pairs from the file of pairs, and some that follow from labels."""
    pairs = read_known_pairs(table, wishes.pairs, wishes.choice.delimiter, wishes.triplets)
    if wishes.labels is None:
        return pairs
    both = with_labels(pairs, table.labels(wishes.labels), wishes.seed)
    say(f"{len(both)} pairs are known from the start, also by the labels in {wishes.labels!r}.")
    return both


def _note_missing(pictures: FilePictures, names: Sequence[Any]) -> None:
    """Say if the first pictures are not there: the names may be meant in another way."""
    few = [row for row, name in enumerate(names[:20]) if name]
    missing = [row for row in few if pictures.image(row) is None]
    if missing and len(missing) == len(few):
        say(
            f"note: {names[missing[0]]!r} and the {len(missing) - 1} images after it are not found "
            f"in {pictures.folder}, where names are looked up; records are shown without them."
        )


def _for_pictures(wishes: Wishes) -> Wishes:
    """Wishes of a user who named a folder of pictures: they are shown, and called by their names.

    The pixels are learned from; the folders are only shown and to colour by, unless they are named.
    """
    choice = wishes.choice
    if not choice.columns:
        choice = replace(choice, columns=[PIXELS])
    return replace(
        wishes,
        image=wishes.image or FILE,
        choice=replace(choice, id_column=choice.id_column or FILE),
    )


def _of_pictures(records: StudioRecords, vectors: Path | None) -> StudioRecords:
    """Records of pictures with what is said of their pixels, or with vectors in their place."""
    if vectors is None:
        told = (
            f"The metric is learned from small grey pictures of {SIDE} × {SIDE} pixels: vectors of "
            "a network tell more, as in --vectors FILE.npy."
        )
        say(told)
        return replace(records, notes=(*records.notes, told))
    return _with_vectors(records, vectors)


def _with_vectors(records: StudioRecords, path: Path) -> StudioRecords:
    try:
        X = map_array_file(path, str(path))
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
    wide = np.float32 if X.dtype == np.float32 else np.float64
    rows: Floats = np.asarray(X[records.numbers]).astype(wide)
    names = [f"x{j}" for j in range(rows.shape[1])]
    return replace(records, X=rows, features=names, named=False, remembered={})
