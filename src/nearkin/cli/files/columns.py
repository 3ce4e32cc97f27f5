"""Which columns of a file are features, and how they become numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from nearkin.cli.common import UserError, guess, listed, say
from nearkin.errors import few

# What a column holds: "number", "boolean", "text", "date", "vector", or a type's own name.
Kinds = dict[str, str]


@dataclass(frozen=True)
class Choice:
    """What the user said of a file's columns; names may be patterns such as ``x*``."""

    columns: Sequence[str] = ()
    exclude: Sequence[str] = ()
    one_hot: Sequence[str] = ()
    id_column: str | None = None
    delimiter: str | None = None
    # What the data are, where their name does not say it: a name of inputs.FORMS.
    form: str | None = None
    # What becomes of missing cells: "fill", "drop" or "error".
    missing: str | None = None
    # What columns hold, where words are among them, and the order of day, month and year.
    kinds: Mapping[str, str] = field(default_factory=dict)
    dates: Any = None

    @property
    def states_kinds(self) -> bool:
        """Whether it says what columns hold."""
        return bool(self.kinds) or self.dates is not None


@dataclass(frozen=True)
class Feature:
    """A column of numbers, or whether a column of text has one value."""

    name: str
    column: str
    value: str | None = None


def match_columns(
    patterns: Iterable[str], known: Iterable[str], option: str, file: str
) -> list[str]:
    """Columns that some patterns, or lists of them with commas, stand for; each must match."""
    known = list(known)
    found: dict[str, None] = {}
    for given in patterns:
        for pattern in [given] if given in known else given.split(","):
            columns = [pattern] if pattern in known else _like(pattern, known)
            if not columns:
                raise UserError(
                    f"{option} {pattern}: no such column in {file}; " + guess(pattern, known)
                )
            found |= dict.fromkeys(columns)
    return list(found)


def refuse_twice(columns: Iterable[str], file: str) -> None:
    """Raise if two columns have one name."""
    for name, count in Counter(list(columns)).items():
        if count > 1:
            raise UserError(
                f"{file} has {count} columns {name!r}: rename them, so that names differ."
            )


def _like(pattern: str, known: list[str]) -> list[str]:
    return [column for column in known if fnmatchcase(column, pattern)]


def pick_columns(
    kinds: Kinds,
    choice: Choice,
    aside: Iterable[str],
    labels: str | None,
    file: str,
    *,
    quietly: bool = False,
) -> tuple[list[str], list[str]]:
    """Columns to take, and columns of text to spread to one for each value.

    Patterns do not stand for the labels, nor for ids. What is left out is said, unless this is to
    be quiet.
    """
    one_hot = _chosen(choice.one_hot, kinds, choice, labels, "--one-hot", file)
    if choice.columns:
        chosen = _chosen(choice.columns, kinds, choice, labels, "--columns", file)
    else:
        chosen = [column for column in kinds if column not in set(aside)]
        chosen = _worth_learning_from(chosen, kinds, choice, file, quietly)
    left_out = set(match_columns(choice.exclude, kinds, "--exclude", file))
    numeric = [column for column in chosen if column not in left_out and column not in one_hot]
    if not numeric and not one_hot:
        raise UserError(f"{file}: no columns are left to learn from.")
    return numeric, one_hot


def _worth_learning_from(
    columns: list[str], kinds: Kinds, choice: Choice, file: str, quietly: bool
) -> list[str]:
    """Without columns that name rows, look like classes, or say yes or no; these are told."""
    from nearkin.tables.choice import find_doubtful_columns  # with NumPy: help does not wait

    spoken_of = {*match_columns(choice.exclude, kinds, "--exclude", file)}
    spoken_of |= {*match_columns(choice.one_hot, kinds, "--one-hot", file)}
    others = {column: kinds[column] for column in columns if column not in spoken_of}
    aside = find_doubtful_columns(others, with_words=has_words(kinds, [*others]))
    if aside and not quietly:
        named = ", ".join(f"{column!r} ({why})" for column, why in aside.items())
        say(f"note: not learned from {named}; --columns takes all that it names.")
    return [column for column in columns if column not in aside]


def has_words(kinds: Kinds, columns: Sequence[str]) -> bool:
    """Whether some columns are no numbers, and not the one column of vectors."""
    if len(columns) == 1 and kinds[columns[0]] == "vector":
        return False
    return any(kinds[column] not in ("number", "boolean") for column in columns)


def _chosen(
    patterns: Sequence[str],
    kinds: Kinds,
    choice: Choice,
    labels: str | None,
    option: str,
    file: str,
) -> list[str]:
    outright = {*patterns, *(part for given in patterns for part in given.split(","))}
    if labels in outright:
        raise UserError(
            f"{option} {labels}: these are the labels, which say the answer; they cannot be "
            "learned from as a feature too."
        )
    hidden = {labels, choice.id_column} - outright
    return [c for c in match_columns(patterns, kinds, option, file) if c not in hidden]


def refuse_others(kinds: Kinds, columns: list[str], file: str) -> None:
    """Raise if some columns are no numbers, with what can be done about them."""
    if not has_words(kinds, columns):
        return
    other = [column for column in columns if kinds[column] not in ("number", "boolean")]
    shown = few(f"{column!r} ({kinds[column]})" for column in other)
    vectors = [column for column in other if kinds[column] == "vector"]
    if vectors:
        remedy = f"A column of vectors is used alone: --columns {vectors[0]}"
    else:
        remedy = f"Leave them out with --exclude {_quoted(','.join(other[:5]))}"
        text = [column for column in other if kinds[column] == "text"]
        if text:
            remedy += f", or make a column of each value with --one-hot {_quoted(text[0])}"
    raise UserError(f"{file} has columns that are not numbers: {shown}.\n{remedy}.")


def _quoted(text: str) -> str:
    return f'"{text}"' if " " in text else text


def features_of_model(names: Sequence[str], kinds: Kinds, file: str, model: str) -> list[Feature]:
    """Where a file has the features that a model was learned from."""
    found, missing = [], []
    for name in names:
        if name in kinds:
            found.append(Feature(name, name))
            continue
        ends = [i for i, letter in enumerate(name) if letter == "="]
        at = next((i for i in ends if name[:i] in kinds), None)
        if at is None:
            missing.append(name)
        else:
            found.append(Feature(name, name[:at], name[at + 1 :]))
    if missing:
        raise UserError(
            f"{model} was learned from columns that {file} does not have: {listed(missing)}."
        )
    refuse_others(kinds, [f.column for f in found if f.value is None], file)
    return found


def check_agreement(
    layout: Sequence[Feature], kinds: Kinds, choice: Choice, file: str, model: str
) -> None:
    """Raise if the user asks for other columns than those that a model was learned from."""
    used = {feature.column for feature in layout}
    left_out = match_columns(choice.exclude, kinds, "--exclude", file)
    for column in left_out:
        if column in used:
            raise UserError(f"--exclude {column}: {model} was learned from it and needs it.")
    asked = match_columns([*choice.columns, *choice.one_hot], kinds, "--columns", file)
    other = [column for column in asked if column not in used and column not in left_out]
    if other:
        raise UserError(f"--columns: {model} was learned without {listed(other)}.")
    missing = [column for column in dict.fromkeys(f.column for f in layout) if column not in asked]
    if choice.columns and missing:
        raise UserError(f"--columns: {model} needs {listed(missing)} too.")
