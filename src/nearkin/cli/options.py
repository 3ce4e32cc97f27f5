"""Options that commands share, and groups of them that become one argument."""

from __future__ import annotations

import ast
import codecs
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import typer

import nearkin
from nearkin.cli.common import UserError, outputs, spaces, suggest_name, table_reading
from nearkin.cli.files.columns import Choice
from nearkin.registry import LEARNERS


def option(spec: str, text: str, default: Any = None, **more: Any) -> Any:
    """An option of typer, by its names and what stands for its value: "--queries -q FILE".

    Without a default it may be missing; it must be given if that is ``...``.
    """
    names = [word for word in spec.split() if word.startswith("-")]
    metavar = spec.split()[-1]
    about: dict[str, Any] = {
        "show_default": default not in (None, [], ...) and default is not False,
        "metavar": None if metavar in names else metavar,
    }
    return typer.Option(default, *names, help=text, **about, **more)


argument = partial(typer.Argument, show_default=False)


@dataclass(frozen=True)
class Group:
    """Options that a command takes as one argument: the parameters of ``gather``, and its value.

    Those ``without`` are no options of the command, and have their defaults.
    """

    gather: Callable[..., Any]
    without: tuple[str, ...] = ()


def spread_groups(command: Callable[..., None]) -> Callable[..., None]:
    """The command with the options of each Group in place of the one argument."""
    groups: dict[str, tuple[Callable[..., Any], list[str]]] = {}
    spread: list[Parameter] = []
    for name, one in signature(command, eval_str=True).parameters.items():
        about = getattr(one.annotation, "__metadata__", ())
        group = next((it for it in about if isinstance(it, Group)), None)
        options = [one]
        if group is not None:
            known = dict(signature(group.gather, eval_str=True).parameters)
            usual = {name: known.pop(name).default.default for name in group.without}
            groups[name] = partial(group.gather, **usual), list(known)
            options = list(known.values())
        spread += [option.replace(kind=Parameter.KEYWORD_ONLY) for option in options]

    def run(**given: Any) -> None:
        gathered = {
            name: gather(**{option: given.pop(option) for option in options})
            for name, (gather, options) in groups.items()
        }
        command(**given, **gathered)

    # Paragraphs in one line each: typer would keep the ends of lines.
    paragraphs = (command.__doc__ or "").split("\n\n")
    run.__doc__ = "\n\n".join(" ".join(one.split()) for one in paragraphs)
    run.__annotations__ = {one.name: one.annotation for one in spread}
    run.__signature__ = Signature(spread)  # type: ignore[attr-defined]
    return run


DATA_HELP = (
    "Rows: .csv, .tsv, .jsonl (also .gz), .parquet (or a folder of them), .feather, .npy or .npz; "
    "- for standard input."
)
DATA = argument(..., help=DATA_HELP)
MODEL = argument(..., help="A model that fit has written.")
MODEL_OR_MATCHER = argument(
    ...,
    help="A model that fit has written, or a matcher of records that duplicates --save has.",
)
PAIRS = option(
    "--pairs -p FILE",
    "Pairs: columns left, right, same and perhaps weight, or by: who answered. .csv, "
    ".tsv, .jsonl (also .gz), .parquet or .feather; - for standard input.",
)
TRIPLETS = option(
    "--triplets FILE",
    "Triplets, anchor nearer to closer than to farther: columns of these names and "
    "perhaps weight, in files as of --pairs.",
)
LABELS = option("--labels -l NAME", "Column of classes; empty or below 0 is unknown.")
SETTINGS = option(
    "--set NAME=VALUE",
    "A parameter of the learner, such as n_landmarks=500. Any number of times.",
    [],
)
COMPONENTS = option(
    "--components N",
    "Columns of the learned space, at most: the N that tell most. Without: all.",
    min=1,
)
JSON = option("--json", "JSON lines on standard output instead of CSV.", False)
FORCE = option("--force -f", "Replace a file that is there already.", False)
QUOTE = option(
    "--quote-formulas",
    "In CSV and TSV, put ' before texts that a spreadsheet would take for formulas, those "
    "that begin with =, +, - or @.",
    False,
)
PREVALENCE = option(
    "--prevalence SHARE",
    "Share of all such pairs that are the same, between 0 and 1: 0.1 for random pairs of "
    "ten kinds; or estimated, from their distances.",
)
PRECISION = option("--precision", "Share of the pairs found that are to be right, such as 0.99.")
SAVE = option("--save FILE", "Of records: keep what was learned in a file, by custom .nearkin.")
DEVICE = option(
    "--device NAME",
    "Work on rows there, block by block: cuda, cuda:1 or cpu, as torch calls them (needs "
    "torch). Without: NumPy on the host.",
)
SEED = option("--seed", "The same seed gives the same result.", 0, min=0, max=2**32 - 1)

about_columns = partial(option, rich_help_panel="Columns of the data")
Forms: TypeAlias = Literal["csv", "tsv", "jsonl", "parquet", "feather", "npy", "npz"]
ID = about_columns(
    "--id NAME", "Column that names rows. Pairs then go by it; without it by row number, from 0."
)
CARRY = about_columns("--carry NAMES", "Columns that go along into the output.", [])


def choose_columns(
    columns: list[str] = about_columns(
        "--columns -c NAMES",
        "Columns to use: names or patterns such as 'x*', with commas or one by one. "
        "Without: those that the model knows, or all.",
        [],
    ),
    exclude: list[str] = about_columns(
        "--exclude NAMES", "Columns not to use; names or patterns.", []
    ),
    one_hot: list[str] = about_columns(
        "--one-hot NAMES", "Columns of text that become a column of 0 and 1 for each value.", []
    ),
    id_column: str | None = ID,
    delimiter: str | None = about_columns(
        "--delimiter SIGN",
        "What separates cells of a .csv file: a sign, or 'tab'. Without: what is seen in its first "
        "lines.",
    ),
    encoding: str | None = about_columns(
        "--encoding NAME",
        "What text of the data is in that is not in UTF-8, such as windows-1252 or utf-16.",
    ),
    form: Forms | None = about_columns(
        "--format",
        "What the data are, if their name does not say it. Without, pipes are looked into.",
    ),
    missing: Literal["fill", "drop", "error"] | None = about_columns(
        "--missing",
        "Missing cells: fill with the median of the column, which the model remembers; drop "
        "such rows; or error. Without: fill if the model was fitted so, error otherwise.",
    ),
    kinds: list[str] = about_columns(
        "--kinds NAME=KIND",
        "What a column holds, where words are among the columns: number, date, 'yes or no', "
        "category, name, text, code (such as phone numbers), vector or ignored. Without: as "
        "its name and cells tell.",
        [],
    ),
    dates: Literal["day", "month", "year"] | None = about_columns(
        "--dates", "What comes first in dates such as 3/4/2024: day, month or year."
    ),
) -> Choice:
    """Check the options about columns, and gather them."""
    if delimiter in ("tab", "\\t"):
        delimiter = "\t"
    if delimiter is not None and not (len(delimiter) == 1 and delimiter.isascii()):
        raise UserError(f"--delimiter {delimiter!r}: give one sign, or 'tab'.")
    if encoding is not None:
        try:
            codecs.lookup(encoding)
        except LookupError:
            raise UserError(
                f"--encoding {encoding}: there is no such one; windows-1252, latin-1 and utf-16 "
                "are common."
            ) from None
    return Choice(
        tuple(columns),
        tuple(exclude),
        tuple(one_hot),
        id_column,
        delimiter,
        encoding,
        form,
        missing,
        dict(map(_read_kind, kinds)),
        None if dates is None else f"{dates} first",
    )


def _read_kind(given: str) -> tuple[str, str]:
    name, sign, kind = given.rpartition("=")
    if not sign or kind not in table_reading.KINDS:
        raise UserError(
            f"--kinds {given}: give a column and what it holds, such as phone=code; that is one of "
            f"{', '.join(table_reading.KINDS)}."
        )
    return name, kind


# Columns of a table that a model knows, of one to be learned from, and of records.
Columns: TypeAlias = Annotated[Choice, Group(choose_columns, ("one_hot", "kinds", "dates"))]
AnyColumns: TypeAlias = Annotated[Choice, Group(choose_columns)]
RecordColumns: TypeAlias = Annotated[Choice, Group(choose_columns, ("one_hot",))]
LinkedColumns: TypeAlias = Annotated[Choice, Group(choose_columns, ("one_hot", "missing"))]


@dataclass(frozen=True)
class Sides:
    """How two tables fit together: columns of other names, and ids of the second."""

    match: tuple[str, ...] = ()
    right_id: str | None = None


def match_tables(
    match: list[str] = option(
        "--match LEFT=RIGHT",
        "Of two tables: columns of other names that hold the same things, such as name=title. Any "
        "number of times.",
        [],
    ),
    right_id: str | None = about_columns(
        "--right-id NAME", "Column that names rows of the second table. Without: as --id says."
    ),
) -> Sides:
    """Gather the options about two tables."""
    return Sides(tuple(match), right_id)


LinkedTables: TypeAlias = Annotated[Sides, Group(match_tables)]


def open_output(
    output: Path | None = option(
        "--output -o FILE",
        "Where to write to, .csv, .tsv, .jsonl (also .gz), .parquet or .feather. Without, or "
        "-: standard output.",
    ),
    as_json: bool = JSON,
    force: bool = FORCE,
    quote: bool = QUOTE,
) -> Any:
    """Check where a table is to be written."""
    return outputs.Output(output, as_json=as_json, force=force, quote=quote)


TableOutput: TypeAlias = Annotated[Any, Group(open_output)]


def complete(*names: str) -> Callable[[str], list[str]]:
    """Function that completes a word in a shell with these names."""
    return lambda incomplete: [name for name in names if name.startswith(incomplete)]


def refuse(options: Mapping[str, Any], remedy: str) -> None:
    """Raise if one of these options was given; ``remedy`` says why it has no effect."""
    given = (name for name, value in options.items() if value not in (None, False, [], {}))
    if (name := next(given, None)) is not None:
        raise UserError(f"{name}: {remedy}")


# Classes of learners by their names on the command line.
CLASSES = {learner.command: learner.name for learner in LEARNERS if learner.command}


def find_learner(name: str) -> Any:
    """Class of a learner by its name on the command line."""
    if name not in CLASSES:
        raise UserError(f"--learner {name}: no such learner; " + suggest_name(name, CLASSES))
    return getattr(nearkin, CLASSES[name])


def read_settings(cls: Any, given: Sequence[str], seed: int) -> dict[str, Any]:
    """Parameters from ``NAME=VALUE`` options, with the seed; errors for unknown names."""
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
                f"--set {name}: {cls.__name__} has no such parameter; "
                + suggest_name(name, settable)
            )
        found[name] = _read_value(value.strip())
    if "random_state" in known:
        found["random_state"] = seed
    return found


def _read_value(text: str) -> Any:
    """Python value of a text; the text itself if it is none."""
    words = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def count_landmarks(cls: Any, found: dict[str, Any], n_rows: int) -> int | None:
    """Number of landmarks to use for many rows; None if the user set it or the learner has none."""
    default = signature(cls).parameters.get("n_landmarks")
    if default is None or default.default is not None or default.kind is Parameter.VAR_KEYWORD:
        return None
    return None if "n_landmarks" in found else spaces.default_n_landmarks(n_rows)
