"""Options that commands share."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from functools import partial
from inspect import Parameter, signature
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

import nearkin
from nearkin.cli.common import UserError, guess
from nearkin.cli.files.columns import Choice
from nearkin.registry import LEARNERS

_INPUT = "Columns of the data"
_input_option = partial(typer.Option, show_default=False, rich_help_panel=_INPUT)


class Forms(StrEnum):
    """What a file is."""

    csv = "csv"
    tsv = "tsv"
    jsonl = "jsonl"
    parquet = "parquet"
    feather = "feather"
    npy = "npy"
    npz = "npz"


class MissingPolicy(StrEnum):
    """What becomes of missing cells."""

    fill = "fill"
    drop = "drop"
    error = "error"


class DateOrder(StrEnum):
    """What comes first in dates."""

    day = "day"
    month = "month"
    year = "year"


DATA_HELP = (
    "Rows: .csv, .tsv, .jsonl (also .gz), .parquet (or a folder of them), .feather, .npy or .npz; "
    "- for standard input."
)
Data: TypeAlias = Annotated[Path, typer.Argument(show_default=False, help=DATA_HELP)]
ModelPath: TypeAlias = Annotated[
    Path, typer.Argument(show_default=False, help="A model that fit has written.")
]
ModelOrMatcher: TypeAlias = Annotated[
    Path,
    typer.Argument(
        show_default=False,
        help="A model that fit has written, or a matcher of records that duplicates --save has.",
    ),
]
Columns: TypeAlias = Annotated[
    list[str],
    _input_option(
        "--columns",
        "-c",
        metavar="NAMES",
        help="Columns to use: names or patterns such as 'x*', with commas or one by one. "
        "Without: those that the model knows, or all.",
    ),
]
Exclude: TypeAlias = Annotated[
    list[str],
    _input_option(
        "--exclude",
        metavar="NAMES",
        help="Columns not to use; names or patterns.",
    ),
]
OneHot: TypeAlias = Annotated[
    list[str],
    _input_option(
        "--one-hot",
        metavar="NAMES",
        help="Columns of text that become a column of 0 and 1 for each value.",
    ),
]
Id: TypeAlias = Annotated[
    str | None,
    _input_option(
        "--id",
        metavar="NAME",
        help="Column that names rows. Pairs then go by it; without it by row number, from 0.",
    ),
]
Delimiter: TypeAlias = Annotated[
    str | None,
    _input_option(
        "--delimiter",
        metavar="SIGN",
        help="What separates cells of a .csv file: a sign, or 'tab'.",
    ),
]
Form: TypeAlias = Annotated[
    Forms | None,
    _input_option(
        "--format",
        help="What the data are, if their name does not say it. Without, pipes are looked into.",
    ),
]
Missing: TypeAlias = Annotated[
    MissingPolicy | None,
    _input_option(
        "--missing",
        help="Missing cells: fill with the median of the column, which the model remembers; drop "
        "such rows; or error. Without: fill if the model was fitted so, error otherwise.",
    ),
]
ColumnKinds: TypeAlias = Annotated[
    list[str],
    _input_option(
        "--kinds",
        metavar="NAME=KIND",
        help="What a column holds, where words are among the columns: number, date, 'yes or no', "
        "category, name, text, code (such as phone numbers), vector or ignored. Without: as its "
        "name and cells tell.",
    ),
]
Dates: TypeAlias = Annotated[
    DateOrder | None,
    _input_option(
        "--dates",
        help="What comes first in dates such as 3/4/2024: day, month or year.",
    ),
]
Carry: TypeAlias = Annotated[
    list[str],
    _input_option(
        "--carry",
        metavar="NAMES",
        help="Columns that go along into the output.",
    ),
]
PairsPath: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--pairs",
        "-p",
        metavar="FILE",
        show_default=False,
        help="Pairs: columns left, right, same and perhaps weight, or by: who answered. .csv, "
        ".tsv, .jsonl (also .gz), .parquet or .feather; - for standard input.",
    ),
]
TripletsPath: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--triplets",
        metavar="FILE",
        show_default=False,
        help="Triplets, anchor nearer to closer than to farther: columns of these names and "
        "perhaps weight, in files as of --pairs.",
    ),
]
Labels: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--labels",
        "-l",
        metavar="NAME",
        show_default=False,
        help="Column of classes; empty or below 0 is unknown.",
    ),
]
Settings: TypeAlias = Annotated[
    list[str],
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        show_default=False,
        help="A parameter of the learner, such as n_landmarks=500. Any number of times.",
    ),
]
OutputPath: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        show_default=False,
        help="Where to write to, .csv, .tsv, .jsonl (also .gz), .parquet or .feather. Without, or "
        "-: standard output.",
    ),
]
Components: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--components",
        metavar="N",
        min=1,
        show_default=False,
        help="Columns of the learned space, at most: the N that tell most. Without: all.",
    ),
]
Json: TypeAlias = Annotated[
    bool, typer.Option("--json", help="JSON lines on standard output instead of CSV.")
]
Force: TypeAlias = Annotated[
    bool, typer.Option("--force", "-f", help="Replace a file that is there already.")
]
Quote: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--quote-formulas",
        help="In CSV and TSV, put ' before texts that a spreadsheet would take for formulas, those "
        "that begin with =, +, - or @.",
    ),
]
Prevalence: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="SHARE",
        show_default=False,
        help="Share of all such pairs that are the same, between 0 and 1: 0.1 for random pairs of "
        "ten kinds; or estimated, from their distances.",
    ),
]
Precision: TypeAlias = Annotated[
    float | None,
    typer.Option(
        show_default=False,
        help="Share of the pairs found that are to be right, such as 0.99.",
    ),
]
SavePath: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--save",
        metavar="FILE",
        show_default=False,
        help="Of records: keep what was learned in a file, by custom .nearkin.",
    ),
]
Device: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--device",
        metavar="NAME",
        show_default=False,
        help="Work on rows there, block by block: cuda, cuda:1 or cpu, as torch calls them (needs "
        "torch). Without: NumPy on the host.",
    ),
]
Seed: TypeAlias = Annotated[
    int, typer.Option("--seed", min=0, max=2**32 - 1, help="The same seed gives the same result.")
]


def complete(*names: str) -> Callable[[str], list[str]]:
    """For a shell that completes: the names that begin as the user has begun."""

    def begun(incomplete: str) -> list[str]:
        return [name for name in names if name.startswith(incomplete)]

    return begun


def refuse(options: Mapping[str, Any], remedy: str) -> None:
    """Raise if one of some options was given, which have no say here."""
    option = next((name for name, value in options.items() if value not in (None, False, [])), None)
    if option is not None:
        raise UserError(f"{option}: {remedy}")


def choose_columns(
    columns: list[str],
    exclude: list[str],
    id_column: str | None,
    delimiter: str | None,
    form: Forms | None = None,
    missing: MissingPolicy | None = None,
    one_hot: Sequence[str] = (),
    kinds: Sequence[str] = (),
    dates: DateOrder | None = None,
) -> Choice:
    """Check the options about columns, and gather them."""
    if delimiter in ("tab", "\\t"):
        delimiter = "\t"
    if delimiter is not None and not (len(delimiter) == 1 and delimiter.isascii()):
        raise UserError(f"--delimiter {delimiter!r}: give one sign, or 'tab'.")
    return Choice(
        tuple(columns),
        tuple(exclude),
        tuple(one_hot),
        id_column,
        delimiter,
        None if form is None else form.value,
        None if missing is None else missing.value,
        dict(map(_read_kind, kinds)),
        None if dates is None else f"{dates.value} first",
    )


def _read_kind(given: str) -> tuple[str, str]:
    """A column and what it holds."""
    from nearkin.tables.reading import KINDS  # with NumPy, for which help does not wait

    name, sign, kind = given.rpartition("=")
    if not sign or kind not in KINDS:
        raise UserError(
            f"--kinds {given}: give a column and what it holds, such as phone=code; that is one of "
            f"{', '.join(KINDS)}."
        )
    return name, kind


# Classes of learners by their names on the command line.
CLASSES = {learner.command: learner.name for learner in LEARNERS if learner.command}


def find_learner(name: str) -> Any:
    """The class that a name on the command line stands for."""
    if name not in CLASSES:
        raise UserError(f"--learner {name}: no such learner; " + guess(name, CLASSES))
    return getattr(nearkin, CLASSES[name])


def read_settings(cls: Any, given: Sequence[str], seed: int) -> dict[str, Any]:
    """Parameters from ``name=value``, checked against those that the class has."""
    known = signature(cls).parameters
    settable = [name for name in known if name != "random_state"]
    found: dict[str, Any] = {}
    for text in given:
        name, sign, value = text.partition("=")
        name = name.strip()
        if not sign:
            raise UserError(f"--set {text}: give a name and a value, as in --set {text}=1.")
        if name == "random_state":
            raise UserError("--set random_state: use --seed.")
        if name not in known:
            raise UserError(
                f"--set {name}: {cls.__name__} has no such parameter; " + guess(name, settable)
            )
        found[name] = _read_value(value)
    if "random_state" in known:
        found["random_state"] = seed
    return found


def count_landmarks(cls: Any, found: dict[str, Any], n_rows: int) -> int | None:
    """How many landmarks to take where the user said nothing and rows are many."""
    default = signature(cls).parameters.get("n_landmarks")
    if default is None or default.default is not None or default.kind is Parameter.VAR_KEYWORD:
        return None
    from nearkin.spaces.feature_space import default_n_landmarks  # with much of SciPy

    return None if "n_landmarks" in found else default_n_landmarks(n_rows)


def _read_value(text: str) -> Any:
    text = text.strip()
    words = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
