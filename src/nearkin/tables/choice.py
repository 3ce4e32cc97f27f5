"""Choose columns to learn from, by names, kinds and cells; find columns people swap."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np

from nearkin._types import Floats
from nearkin.errors import InputError, few
from nearkin.rows.backends import evenly_spaced
from nearkin.tables.reading import (
    CLASSES,
    NAMES_ROWS,
    YES_OR_NO,
    Column,
    Kind,
    RawColumn,
    find_counters,
    find_doubtful_columns,
    read_table,
    read_words,
    recognise_kinds,
    select_cells,
)

# Rows that columns are looked at, at most: for values that two of them share, and for kinds.
_SAMPLE = 20_000
MOST_LOOKED_AT = 2000
# Two columns hold the same words if this share of the values of one is found in the other.
_KINDRED = 0.05
# Why columns are not learned from.
VECTORS_INSTEAD = "beside vectors"
KINDS_OF_THINGS = "kinds of things"
NAMES_FILES = "names files"
NAMES_SOURCES = "says where a row is from"
SAYS_NOTHING = "says nothing of what a row is like"
NOT_CHOSEN = "not chosen"
_FILE = re.compile(
    r"(?i:(?:https?|file|s3|gs)://\S+|[^\n]*\.(?:png|jpe?g|gif|webp|bmp|tiff?|svg|pdf|wav|mp3|mp4|txt))"
)
# Names of columns that say where rows are from, and how many different values these have at most.
SOURCE = re.compile(
    r"(?i:(?:data[ _]?)?(?:source|origin|provenance|provider|feed|database|dataset|catalogue)"
    r"(?:[ _]?(?:name|id|file))?)"
)
_MOST_SOURCES = 8
# The share of cells that must name files.
_MOST_ARE = 0.9
# Names that a message lists.
_MOST_NAMES = 8


def find_swappable(columns: Sequence[Column]) -> list[tuple[int, ...]]:
    """Pairs of columns of names, or of codes, with values in common: people swap such cells."""
    if not columns:
        return []
    step = max(len(columns[0]) // _SAMPLE, 1)
    seen = {
        number: set(column.values[::step].tolist()) - {None}
        for number, column in enumerate(columns)
        if column.kind in ("name", "code")
    }
    return [
        (a, b)
        for a, b in combinations(seen, 2)
        if columns[a].kind == columns[b].kind
        and len(seen[a] & seen[b]) > _KINDRED * min(len(seen[a]), len(seen[b]))
    ]


def combine_words(left: RawColumn, right: RawColumn) -> RawColumn:
    """Join the words of two columns cell by cell, so that swapped cells become similar."""
    pairs = zip(read_words(left), read_words(right), strict=True)
    found = np.empty(len(left), dtype=object)
    found[:] = [" ".join(filter(None, pair)) or None for pair in pairs]
    return RawColumn(name_both(left.name, right.name), "text", found)


def name_both(left: str, right: str) -> str:
    """Name of the combination of two columns."""
    return f"{left} and {right}"


def are_records(table: Mapping[str, Sequence[Any]]) -> bool:
    """Whether a table holds records: names or texts, and no numbers but codes and dates."""
    cells, kinds = _sample_kinds(table)
    telling = ("name", "text", "code")
    have_names = any(one.form == "text" and kinds.get(one.name) in telling for one in cells)
    return have_names and not {"number", "vector"} & set(kinds.values())


def _sample_kinds(table: Mapping[str, Sequence[Any]]) -> tuple[list[RawColumn], dict[str, Kind]]:
    """Some cells of each column, and the kinds recognised from these."""
    n = min(map(len, table.values()), default=0)
    some = evenly_spaced(n, MOST_LOOKED_AT).tolist() if n else []
    try:
        cells = read_table({name: select_cells(of, some) for name, of in table.items()})
    except InputError:  # objects that can be shown, but are no cells of a table
        return [], {}
    return cells, recognise_kinds(cells) if some else {}


@dataclass(frozen=True)
class Roles:
    """Names of columns to learn from, and of the others with reasons."""

    learned: list[str]
    left_out: dict[str, str]


def find_doubtful_names(names: Iterable[str]) -> dict[str, str]:
    """Columns whose names are those of ids, counters or classes, and why."""
    return find_doubtful_columns(dict.fromkeys(names, "number"))


def choose_by_kinds(kinds: Mapping[str, str], aside: Iterable[str] = ()) -> Roles:
    """Columns to learn from by kinds alone: the one column of vectors, or else all of numbers.

    Those of :func:`find_doubtful_columns` are left out; ``aside`` too, without a reason. A
    ValueError if there are several columns of vectors.
    """
    set_aside = set(aside)
    kinds = {name: kind for name, kind in kinds.items() if name not in set_aside}
    vectors = [name for name, kind in kinds.items() if kind == "vector"]
    if len(vectors) > 1:
        raise InputError(
            f"there are {len(vectors)} columns of vectors, {_list_names(vectors)}: name the one to "
            "learn from."
        )
    left_out = find_doubtful_columns(kinds)
    for name, kind in kinds.items():
        is_number = kind in ("number", "boolean")
        if name not in left_out and kind != "vector" and (vectors or not is_number):
            left_out[name] = VECTORS_INSTEAD if is_number else kind
    return _leave_out(kinds, left_out)


def _leave_out(kinds: Mapping[str, str], left_out: Mapping[str, str]) -> Roles:
    """Roles with all other columns, in their order."""
    learned = [name for name in kinds if name not in left_out]
    return Roles(learned, {name: left_out[name] for name in kinds if name in left_out})


def drop_counters(X: Floats, names: Sequence[str], roles: Roles) -> tuple[Floats, list[str], Roles]:
    """Leave out columns that :func:`find_counters` finds; rows, names and roles without them."""
    aside = find_counters(X, names)
    if not aside:
        return X, [*names], roles
    left = [name for name in names if name not in aside]
    learned = [name for name in roles.learned if name not in aside]
    kept = [name not in aside for name in names]
    return X[:, kept], left, Roles(learned, {**aside, **roles.left_out})


def describe_roles(roles: Roles) -> str:
    """Sentence that says which columns are learned from, and which are not, and why."""
    text = f"Learned from {_list_names(roles.learned)}"
    if not roles.left_out:
        return f"{text}."
    # Last what nobody would expect to be learned from.
    plain = ("text", "date")
    order = sorted(roles.left_out.items(), key=lambda one: one[1] in plain)
    reasons = [f"{name!r} ({why})" for name, why in order]
    return f"{text}; set aside {few(reasons, _MOST_NAMES)}."


def _list_names(names: Sequence[str]) -> str:
    return few(map(repr, names), _MOST_NAMES)


def choose_roles(
    kinds: Mapping[str, str],
    cells: Mapping[str, Sequence[Any]],
    named: Sequence[str] = (),
    aside: Iterable[str] = (),
) -> Roles:
    """Roles with the named columns, or by :func:`choose_by_cells`; and why not the others."""
    set_aside = set(aside)
    kinds = {name: kind for name, kind in kinds.items() if name not in set_aside}
    if not named:
        return choose_by_cells(kinds, cells)
    usual: Mapping[str, str] = {}
    with suppress(InputError):  # nobody needs to know why, if there is nothing to choose
        usual = choose_by_cells(kinds, cells).left_out
    others = [name for name in kinds if name not in named]
    return Roles([*named], {name: usual.get(name, NOT_CHOSEN) for name in others})


def choose_by_cells(kinds: Mapping[str, str], cells: Mapping[str, Sequence[Any]]) -> Roles:
    """Columns to learn from, by names, kinds and a sample of cells.

    A column of vectors is used alone. Otherwise numbers, names, texts, codes and dates are used,
    but not ids, counters, classes, yes and no, or file names; nor, beside numbers, words of which
    there are a few only, which may well be classes, or that differ in every row.

    Examples
    --------
    >>> from nearkin.tables.choice import choose_by_cells
    >>> cells = {"id": [7, 3] * 4, "size": [1.5, 2] * 4, "colour": ["red", "blue"] * 4}
    >>> cells["title"] = [f"A book about {k}" for k in ("cats", "dogs", "ants", "bees") * 2]
    >>> kinds = {"id": "number", "size": "number", "colour": "text", "title": "text"}
    >>> choose_by_cells(kinds, cells)
    Roles(learned=['size', 'title'], left_out={'id': 'names rows', 'colour': 'kinds of things'})
    """
    roles = choose_by_kinds(kinds)
    by_name = find_doubtful_names(kinds)
    if any(kinds[name] == "vector" for name in roles.learned):
        whys = {
            name: by_name.get(name, VECTORS_INSTEAD if why == kinds[name] else why)
            for name, why in roles.left_out.items()
        }
        return Roles(roles.learned, whys)
    if are_records({name: cells[name] for name in kinds}):
        by_name |= find_sources({name: cells[name] for name in kinds if name not in by_name})
        return _leave_out(kinds, by_name)
    words = [name for name, why in roles.left_out.items() if why == kinds[name]]
    held = _sample_kinds({name: cells[name] for name in words})[1]
    left_out = {name: why for name, why in roles.left_out.items() if name not in words}
    for name in words:
        why = by_name.get(name) or _explain_exclusion(
            held.get(name), cells[name], bool(roles.learned)
        )
        if why is not None:
            left_out[name] = why
    return _leave_out(kinds, left_out)


def find_sources(cells: Mapping[str, Sequence[Any]]) -> dict[str, str]:
    """Columns that say where rows are from, by names and cells, but not all columns; and why.

    What was recorded twice has different values there, so a metric must not learn from them.
    """
    found = {
        name: NAMES_SOURCES
        for name, of in cells.items()
        if SOURCE.fullmatch(name) and 1 < len({*map(str, of)}) <= _MOST_SOURCES
    }
    return found if len(found) < len(cells) else {}


def _explain_exclusion(held: str | None, cells: Sequence[Any], beside_numbers: bool) -> str | None:
    """Why a column of words or dates is not learned from, by its kind and cells; or None."""
    if held is None or held == "ignored":
        return SAYS_NOTHING
    if held == "category" and beside_numbers:
        return KINDS_OF_THINGS
    if held == "yes or no" and beside_numbers:
        return YES_OR_NO
    texts = [cell for cell in cells if isinstance(cell, str) and cell]
    if texts and sum(map(bool, map(_FILE.fullmatch, texts))) >= _MOST_ARE * len(texts):
        return NAMES_FILES
    are_words = all(len(text.split()) == 1 for text in texts)
    if beside_numbers and held in ("name", "code") and are_words and len({*texts}) == len(texts):
        return NAMES_ROWS
    return None


@dataclass(frozen=True)
class ColumnChoice:
    """The columns learned from, and a way to open the same records with other columns."""

    kinds: Mapping[str, str]
    learned: Sequence[str]
    left_out: Mapping[str, str]  # and why
    taken: Mapping[str, str]  # uses of columns that cannot be learned from, such as ids
    # Opens the same records again, to learn from the columns of these names.
    reopened: Callable[[Sequence[str]], Any] = field(repr=False)

    def listed(self) -> list[dict[str, Any]]:
        """All columns as dicts of plain values, with whether, or why not, each is learned from."""
        doubts = find_doubtful_names(self.kinds)
        learned = set(self.learned)
        return [
            {
                "name": name,
                "kind": kind,
                "learned": name in learned,
                "why": self.taken.get(name)
                or (
                    doubts.get(name, "") if name in learned else self.left_out.get(name, NOT_CHOSEN)
                ),
                "can": name not in self.taken,
            }
            for name, kind in self.kinds.items()
        ]

    def records(self, names: Sequence[str]) -> Any:
        """Open the same records, to learn from these columns; InputError if that is impossible."""
        if not names:
            raise InputError("choose a column at least: there is nothing to learn from.")
        for name in names:
            if name not in self.kinds:
                raise InputError(f"there is no column {name!r:.80}.")
            if name in self.taken:
                raise InputError(f"column {name!r:.80} cannot be learned from: {self.taken[name]}.")
        return self.reopened([name for name in self.kinds if name in set(names)])


def restrict_roles(roles: Roles, words: Sequence[str]) -> Roles:
    """Roles without columns that an encoder found nothing in: only ``words`` are left."""
    nothing = {name: SAYS_NOTHING for name in roles.learned if name not in words}
    return Roles([*words], {**nothing, **roles.left_out})


def describe_class_columns(names: Sequence[str]) -> list[str]:
    """Warnings, none or one, that chosen columns look like classes."""
    doubts = find_doubtful_names(names)
    classes = [name for name, why in doubts.items() if why == CLASSES]
    if not classes:
        return []
    return [
        f"{', '.join(map(repr, classes))} {'looks' if len(classes) == 1 else 'look'} like classes: "
        "what is learned from that says little of records whose class is not known."
    ]
