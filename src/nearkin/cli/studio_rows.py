"""Files as records for the studio, with the pairs that are known of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from nearkin.cli.failures import UserError
from nearkin.cli.files.column_choice import Choice, Kinds, matched
from nearkin.cli.files.formats import open_source
from nearkin.cli.files.missing import MissingCells
from nearkin.cli.files.tables import Table, column_kinds, open_table
from nearkin.cli.learning import known_pairs
from nearkin.cli.messages import say
from nearkin.cli.models import remembered
from nearkin.cli.studio_identity import identity_of_file
from nearkin.errors import few
from nearkin.pairs.pairs import Pairs
from nearkin.rows.column_roles import Roles, counting, roles_of, sentence
from nearkin.teaching.picture_folder import holds_pictures
from nearkin.teaching.record_kinds import MOST_LOOKED_AT, are_records
from nearkin.teaching.records import MOST_SHOWN, Records, sample_numbers, telling_columns
from nearkin.teaching.shown_pairs import among_shown, with_labels
from nearkin.teaching.thumbnails import FilePictures

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


def records_of_file(
    path: Path, wishes: Wishes, most: int = MOST_SHOWN
) -> tuple[Records, Pairs | None]:
    """Records of a file, and pairs of them that are known.

    A column of vectors or columns of numbers are learned from, see
    :func:`nearkin.rows.column_roles.roles_of`; all others are shown. Of records all columns are
    learned from, words too, and so they are where there are no numbers. Of more rows than ``most``,
    an even sample is taken, and with it all rows that are named in pairs.
    """
    table, roles = _opened(path, wishes)
    n, d = table.rows.shape
    most = max(2, min(most, _MOST_NUMBERS // d))
    pairs = _known(table, wishes)
    numbers = sample_numbers(n, most, wishes.seed, () if pairs is None else pairs.points)
    if len(numbers) < n:
        say(f"{len(numbers)} of {n} rows are shown, evenly chosen; exported models serve all rows.")
    beside = table.columns_beside(numbers)
    columns = {name: beside.column(name).to_pylist() for name in beside.column_names}
    ids = table.shown_ids().take(numbers).to_pylist()
    pictures = None
    if wishes.image is not None:
        named = columns if wishes.image != wishes.choice.id_column else {wishes.image: ids}
        matched([wishes.image], named, "--image", table.file)
        names = [None if name is None else str(name) for name in named[wishes.image]]
        folder = path.resolve() if holds_pictures(path) else path.resolve().parent
        pictures = FilePictures(names, folder)
        _note_missing(pictures, names)
    first = matched(wishes.show, columns, "--show", table.file)
    records = Records(
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
        remembered=remembered(table),
        compared=tuple(_compared(table, [*columns], roles, wishes)),
        told_apart_by=identity_of_file(table, numbers, wishes.choice.id_column),
    )
    records, roles = _without_counters(records, roles, wishes.choice)
    if roles is not None:
        told = sentence(roles, "--columns and --exclude choose others.")
        say(told)
        records = replace(records, notes=(told,))
    return records, None if pairs is None else among_shown(pairs, numbers, table.file)


def _opened(path: Path, wishes: Wishes) -> tuple[Table, Roles | None]:
    """A file with the columns to learn from, and why not from others; None if all are chosen."""
    choice = wishes.choice
    kinds = column_kinds(path, choice)
    named = [name for name in (choice.id_column, wishes.labels, wishes.image) if name is not None]
    if wishes.of_words or choice.states_kinds:
        return _opened_records(path, wishes, named)
    if choice.columns or not kinds or path.suffix.lower() == ".npz":
        return open_table(path, choice, labels=wishes.labels, aside=named, words=False), None
    one_hot = matched(choice.one_hot, kinds, "--one-hot", str(path))
    left_out = [*named, *matched(choice.exclude, kinds, "--exclude", str(path))]
    left = {c: kind for c, kind in kinds.items() if c not in left_out}
    if not one_hot and _are_records(path, choice, left):
        return _opened_records(path, wishes, named)
    roles = _roles(left, one_hot, path)
    if not roles.learned and not one_hot:
        raise UserError(_nothing_numeric(path, kinds, left_out, roles))
    others = [name for name in kinds if name not in roles.learned and name not in one_hot]
    try:
        table = open_table(path, choice, labels=wishes.labels, aside=[*named, *others], words=False)
    except MissingCells as error:
        if "text" not in left.values():
            raise
        raise UserError(f"{error} With --records all columns count, with their gaps.") from error
    return table, Roles([*roles.learned, *one_hot], roles.left_out)


def _are_records(path: Path, choice: Choice, kinds: Kinds) -> bool:
    """Whether rows are known by words, as far as the first of them tell."""
    if "text" not in kinds.values():
        return False
    batches = open_source(path, choice, "DATA").batches([], list(kinds))
    first = next(iter(batches), None)
    return first is not None and are_records(first.slice(0, MOST_LOOKED_AT).to_pydict())


def _opened_records(path: Path, wishes: Wishes, aside: Sequence[str]) -> tuple[Table, Roles]:
    """A file of records, with numbers that stand for all its columns."""
    table = open_table(path, wishes.choice, labels=wishes.labels, aside=aside)
    if table.encoder is None:
        raise UserError(f"--records: {path} has no columns of words. Leave it out for numbers.")
    return table, Roles(table.encoder.columns_, {})


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
    """What is learned from; beside columns of text that are asked for, no vectors are."""
    vectors = [name for name, kind in kinds.items() if kind == "vector"] if one_hot else []
    try:
        roles = roles_of(kinds, aside=[*one_hot, *vectors])
    except ValueError as error:
        raise UserError(f"{path}: {error} (--columns)") from error
    return Roles(roles.learned, {**dict.fromkeys(vectors, "vectors"), **roles.left_out})


def _without_counters(
    records: Records, roles: Roles | None, choice: Choice
) -> tuple[Records, Roles | None]:
    """Records that do not learn from numbers that only count rows, unless these are asked for."""
    if roles is None or not records.named or choice.columns:
        return records, roles
    aside = counting(records.X, records.features)
    shown = {name: records.X[:, records.features.index(name)].tolist() for name in aside}
    kept = [name not in aside for name in records.features]
    learned = [name for name in records.features if name not in aside]
    X = records.X[:, kept] if aside else records.X
    return (
        replace(records, X=X, features=learned, columns={**records.columns, **shown}),
        Roles([name for name in roles.learned if name not in aside], {**aside, **roles.left_out}),
    )


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
    pairs = known_pairs(table, wishes.pairs, wishes.choice.delimiter, wishes.triplets)
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
