"""Recognise ids, labels and counters: columns not to learn from, by name and kind."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nearkin.errors import InputError, few

if TYPE_CHECKING:  # the command line reads this before it does anything
    from nearkin._types import Floats


NAMES_ROWS = "names rows"
COUNTS_ROWS = "counts rows"
CLASSES = "looks like classes"
YES_OR_NO = "yes or no"
VECTORS_INSTEAD = "beside vectors"

# "id", "user_id", "userId" and "Rec-ID", but neither "acid" nor "valid".
_ID = re.compile(r"(?:^|.*[_\W])(?i:ids?|identifier|uuid|guid)$|.*[a-z]I[dD]$")
_COUNTER = re.compile(r"(?i:index|level_0|unnamed: 0|row|rowid|row[_ ]?(?:number|index|nr|no))$")
_CLASS = re.compile(r"(?i:(?:.*[_\W])?(?:labels?|class(?:es)?|targets?)|y|ground[_ ]?truth)$")
# Fewer rows may increase by chance.
_FEWEST_ROWS = 20
# Names that are told.
_MOST_NAMES = 8


@dataclass(frozen=True)
class Roles:
    """Columns that are learned from, and others with the reason why they are not."""

    learned: list[str]
    left_out: dict[str, str]


def find_doubtful_columns(kinds: Mapping[str, str], *, with_words: bool = False) -> dict[str, str]:
    """Columns of numbers that say little of what a row is like, with the reason.

    Those that name or count rows, or look like classes, by their names; and those of yes and no,
    unless there is nothing else.

    Parameters
    ----------
    kinds : mapping
        What each column holds: "number", "boolean", "vector", "text" and so on.
    with_words : bool, default=False
        Whether words are learned from beside numbers: yes and no are words.

    Examples
    --------
    >>> from nearkin.tables.roles import find_doubtful_columns
    >>> kinds = {"user_id": "number", "age": "number", "target": "number", "paid": "boolean"}
    >>> find_doubtful_columns(kinds)
    {'user_id': 'names rows', 'target': 'looks like classes', 'paid': 'yes or no'}
    """
    found = {}
    for name, kind in kinds.items():
        if kind not in ("number", "boolean"):
            continue
        if (why := recognise_id_name(name)) is not None:
            found[name] = why
        elif _CLASS.match(name) and not (name.lower() == "y" and {"x", "X"} & set(kinds)):
            found[name] = CLASSES
    others = [name for name in kinds if name not in found]
    if not with_words and any(kinds[name] in ("number", "vector") for name in others):
        found |= {name: YES_OR_NO for name in others if kinds[name] == "boolean"}
    return {name: found[name] for name in kinds if name in found}


def find_doubtful_names(names: Iterable[str]) -> dict[str, str]:
    """The same by names alone, of columns of any kind."""
    return find_doubtful_columns(dict.fromkeys(names, "number"))


def recognise_id_name(name: str) -> str | None:
    """The reason if a column's name is that of an id or a counter of rows; or None.

    Examples
    --------
    >>> from nearkin.tables.roles import recognise_id_name
    >>> recognise_id_name("user_id"), recognise_id_name("acid")
    ('names rows', None)
    """
    if _ID.match(name):
        return NAMES_ROWS
    return COUNTS_ROWS if _COUNTER.match(name) else None


def choose_by_kinds(kinds: Mapping[str, str], aside: Iterable[str] = ()) -> Roles:
    """What is learned from where nobody has said so.

    The column of vectors if there is one, all columns of numbers otherwise, but for those that
    :func:`find_doubtful_columns` names. ``aside`` are left out without a reason.

    Raises
    ------
    ValueError
        If there are several columns of vectors, or nothing to learn from.

    Examples
    --------
    >>> from nearkin.tables.roles import choose_by_kinds
    >>> choose_by_kinds({"id": "number", "price": "number", "text": "text", "embedding": "vector"})
    Roles(learned=['embedding'], left_out={'id': 'names rows', 'price': 'beside vectors', 'text': \
'text'})
    """
    set_aside = set(aside)
    kinds = {name: kind for name, kind in kinds.items() if name not in set_aside}
    vectors = [name for name, kind in kinds.items() if kind == "vector"]
    if len(vectors) > 1:
        raise InputError(
            f"there are {len(vectors)} columns of vectors, {_listed(vectors)}: name the one to "
            "learn from."
        )
    left_out = find_doubtful_columns(kinds)
    learned = []
    for name, kind in kinds.items():
        if name in left_out:
            continue
        if kind == "vector" or (kind in ("number", "boolean") and not vectors):
            learned.append(name)
        else:
            left_out[name] = VECTORS_INSTEAD if kind in ("number", "boolean") else kind
    return Roles(learned, {name: left_out[name] for name in kinds if name in left_out})


def find_counters(X: Floats, names: Sequence[str]) -> dict[str, str]:
    """Columns of whole numbers that grow from each row to the next, unless all do.

    Examples
    --------
    >>> import numpy as np
    >>> from nearkin.tables.roles import find_counters
    >>> X = np.random.default_rng(0).normal(size=(30, 2))
    >>> X[:, 0] = range(100, 130)
    >>> find_counters(X, ["number", "height"])
    {'number': 'counts rows'}
    """
    if len(X) < _FEWEST_ROWS:
        return {}
    grows = (X[1:] > X[:-1]).all(axis=0) & (X.round() == X).all(axis=0)
    found = {name: COUNTS_ROWS for name, one in zip(names, grows, strict=True) if one}
    return found if len(found) < len(names) else {}


def drop_counters(X: Floats, names: Sequence[str], roles: Roles) -> tuple[Floats, list[str], Roles]:
    """Rows, names and roles without columns that :func:`find_counters` finds."""
    aside = find_counters(X, names)
    if not aside:
        return X, [*names], roles
    left = [name for name in names if name not in aside]
    learned = [name for name in roles.learned if name not in aside]
    kept = [name not in aside for name in names]
    return X[:, kept], left, Roles(learned, {**aside, **roles.left_out})


def describe_roles(roles: Roles) -> str:
    """What is learned from, and what is set aside and why.

    Examples
    --------
    >>> from nearkin.tables.roles import choose_by_kinds, describe_roles
    >>> kinds = {"id": "number", "a": "number", "b": "number"}
    >>> describe_roles(choose_by_kinds(kinds))
    "Learned from 'a', 'b'; set aside 'id' (names rows)."
    """
    text = f"Learned from {_listed(roles.learned)}"
    if not roles.left_out:
        return f"{text}."
    # Last what nobody would expect to be learned from.
    plain = ("text", "date")
    order = sorted(roles.left_out.items(), key=lambda one: one[1] in plain)
    reasons = [f"{name!r} ({why})" for name, why in order]
    return f"{text}; set aside {few(reasons, _MOST_NAMES)}."


def _listed(names: Sequence[str]) -> str:
    return few(map(repr, names), _MOST_NAMES)
