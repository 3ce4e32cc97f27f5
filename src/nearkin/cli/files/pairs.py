"""Files of pairs: left, right, same, perhaps weight or who answered; and of triplets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from nearkin._types import Floats, Ints, Mask
from nearkin.cli.common import UserError, quote_names, say
from nearkin.cli.files.inputs import (
    Input,
    find_input,
    find_json_line,
    open_input,
    read_json_lines,
)
from nearkin.errors import counted
from nearkin.pairs.answers import UNNAMED, Answers
from nearkin.pairs.pairs import ANSWERS, EXPECTED, Pairs, normalise_answer
from nearkin.storage.files import unquote_formula

if TYPE_CHECKING:
    from nearkin.cli.files.tables import NamedRows

# What triplets are in: the first is nearer to the second than to the third.
_TRIPLET = ("anchor", "closer", "farther")
# Names of the column that says who answered; the first that is there.
_BY = ("by", "answered_by", "answerer", "annotator", "rater", "worker")
_FORMS = ("csv", "tsv", "jsonl", "parquet", "feather")
# Rows that are made objects of at a time.
_SOME_ROWS = 2**13


@dataclass(frozen=True)
class _Lines:
    """A file of pairs or triplets: cells of its rows by column, and where in it a row is."""

    file: str
    cells: Iterator[dict[str, Any]]
    where: Callable[[int], str]

    def error(self, row: int, column: str, what: str) -> UserError:
        """Error that says what is wrong with a cell."""
        return UserError(f"{self.where(row)}, column {column!r} of {self.file} {what}.")

    def text(self, row: int, cells: dict[str, Any], column: str) -> str:
        """Text of a cell; an error if it is empty."""
        if cells.get(column) in (None, ""):
            raise self.error(row, column, "is empty")
        return str(cells[column])

    def weight(self, row: int, cells: dict[str, Any]) -> float:
        """Weight of a pair, 1 if the cell is empty."""
        cell = cells.get("weight")
        if cell is None or cell == "":
            return 1.0
        try:
            weight = float(cell.replace(",", ".") if isinstance(cell, str) else cell)
        except (TypeError, ValueError, OverflowError):
            weight = np.nan
        if not 0 < weight < np.inf:
            raise self.error(row, "weight", f"is {cell!r}: it must be above 0")
        return weight


@dataclass(frozen=True)
class PairFile:
    """Pairs in the order of their file: names, row numbers (k, 2), answers and weights."""

    left: list[str]
    right: list[str]
    ends: NDArray[np.int64]
    # None where nothing is said.
    same: list[bool | None]
    weight: list[float]
    # Who answered, where the file says so; weights then count for nothing.
    by: list[str] | None = None

    def answers(self, n_rows: int) -> Answers | None:
        """Answers by person; None if the file names nobody, or nobody is sure of anything."""
        sure = [i for i, answer in enumerate(self.same) if answer is not None]
        if self.by is None or (self.ends[sure, 0] == self.ends[sure, 1]).all():
            return None
        same = [self.same[i] is True for i in sure]
        return Answers(self.ends[sure], same, [self.by[i] for i in sure], n_rows=n_rows)

    def pairs(self, n_rows: int) -> Pairs:
        """Must-links and cannot-links; where several people answered, what their answers imply."""
        answers = self.answers(n_rows)
        if answers is not None:
            return answers.pairs
        same = np.array([answer is True for answer in self.same], dtype=bool)
        different = np.array([answer is False for answer in self.same], dtype=bool)
        weight = np.array(self.weight)
        return Pairs(
            self.ends[same],
            self.ends[different],
            must_weight=weight[same],
            cannot_weight=weight[different],
            n_rows=n_rows,
        )


def read_known_pairs(
    table: NamedRows, path: Path | None, delimiter: str | None, triplets: Path | None = None
) -> Pairs | None:
    """Pairs of a table's rows from a file, and triplets from another; None without either."""
    return read_known_answers(table, path, delimiter, triplets)[0]


def read_known_answers(
    table: NamedRows, path: Path | None, delimiter: str | None, triplets: Path | None = None
) -> tuple[Pairs | None, Answers | None]:
    """As :func:`read_known_pairs`, with answers by person if the file names people, else None."""
    found, answers = [], None
    if path is not None:
        file = read_pairs(table, path, delimiter=delimiter)
        answers = file.answers(table.n_rows)
        found.append(file.pairs(table.n_rows) if answers is None else answers.pairs)
        if not len(found[0]):
            raise UserError(f"{path} says nothing: no pair is the same or different.")
    if triplets is not None:
        found.append(read_triplets_of(table, triplets, delimiter=delimiter))
        answers = None
    return (sum(found[1:], found[0]) if found else None), answers


def read_judged_pairs(
    table: NamedRows, path: Path, delimiter: str | None, purpose: str, role: str = "--known"
) -> tuple[Ints, Mask, Floats]:
    """Row numbers (k, 2), answers and weights (k,) of known pairs; ``purpose`` is for errors."""
    file = read_pairs(table, path, delimiter=delimiter, role=role)
    told = np.array([answer is not None for answer in file.same], dtype=bool)
    same = np.array([answer is True for answer in file.same], dtype=bool)[told]
    n_same, n_different = int(same.sum()), int((~same).sum())
    if not n_same or not n_different:
        raise UserError(
            f"{path} has {n_same} pairs that are the same and {n_different} that are different: "
            f"{purpose} needs both."
        )
    return file.ends[told], same, np.array(file.weight)[told]


def read_pairs(
    table: NamedRows,
    path: Path,
    *,
    needs_answers: bool = True,
    delimiter: str | None = None,
    role: str = "--pairs",
    others: NamedRows | None = None,
) -> PairFile:
    """Read a file of pairs of a table's rows, or between these and the rows of ``others``.

    Rows are named by id if the table has ids, else by number; those of ``others`` are numbered
    after the table's. Pairs of rows that the table leaves out are dropped. ``needs_answers``
    requires a column "same".
    """
    wanted = ("left", "right", "same") if needs_answers else ("left", "right")
    lines = _open_lines(path, role, wanted, delimiter)
    file = lines.file
    known: dict[str, str] = {}  # of many pairs, the same few names
    left: list[str] = []
    right: list[str] = []
    same: list[bool | None] = []
    weight: list[float] = []
    by: list[str] = []
    for row, cells in enumerate(lines.cells):
        for name, into in (("left", left), ("right", right)):
            plain = lines.text(row, cells, name)
            into.append(known.setdefault(plain, plain))
        said = normalise_answer(cells.get("same"))
        if said not in ANSWERS:
            raise lines.error(row, "same", f"is {cells['same']!r}: it must be {EXPECTED}")
        same.append(ANSWERS[said])
        weight.append(lines.weight(row, cells))
        column = next((name for name in _BY if name in cells), None)
        who = None if column is None else cells[column]
        by.append("" if who is None else str(who).strip())
    if not left:
        raise UserError(f"{file} has no pairs.")
    if others is None:
        ends = _row_numbers({"left": left, "right": right}, table, lines)
    else:
        first = _row_numbers({"left": left}, table, lines)
        second = _row_numbers({"right": right}, others, lines)
        ends = np.hstack([first, table.n_rows + second])
    itself = (ends[:, 0] == ends[:, 1]) & np.array([answer is False for answer in same])
    if itself.any():
        row = int(itself.argmax())
        raise UserError(
            f"{lines.where(row)} of {file} says that {left[row]!r} differs from itself."
        )
    is_named, by = any(by), [name or UNNAMED for name in by]
    ends, kept = _drop_absent_rows(ends, table, file, "pair")
    if len(kept) < len(left):
        some: Any = ([column[i] for i in kept] for column in (left, right, same, weight, by))
        left, right, same, weight, by = some
    return PairFile(left, right, ends, same, weight, by if is_named else None)


def read_triplets_of(table: NamedRows, path: Path, *, delimiter: str | None = None) -> Pairs:
    """Read a file of triplets of a table's rows, without those of rows that it leaves out."""
    lines = _open_lines(path, "--triplets", _TRIPLET, delimiter)
    file = lines.file
    columns: dict[str, list[str]] = {name: [] for name in _TRIPLET}
    weight: list[float] = []
    for row, cells in enumerate(lines.cells):
        for name, into in columns.items():
            into.append(lines.text(row, cells, name))
        weight.append(lines.weight(row, cells))
    if not weight:
        raise UserError(f"{file} has no triplets.")
    rows = _row_numbers(columns, table, lines)
    a, b, c = rows.T
    repeated = (a == b) | (a == c) | (b == c)
    if repeated.any():
        where = lines.where(int(repeated.argmax()))
        raise UserError(f"{where} of {file} names a row twice: a triplet is of three.")
    rows, kept = _drop_absent_rows(rows, table, file, "triplet")
    return Pairs(closer=rows, closer_weight=np.array(weight)[kept], n_rows=table.n_rows)


def _drop_absent_rows(
    rows: NDArray[np.int64], table: NamedRows, file: str, kind: str
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pairs or triplets without those of rows that the table leaves out, and which these are."""
    places = table.places()
    rows = rows if places is None else places[rows]
    kept = np.flatnonzero((rows >= 0).all(axis=1))
    if not len(kept):
        raise UserError(f"{file}: all {kind}s name rows that are left out.")
    if len(kept) < len(rows):
        lost, left = counted(len(rows) - len(kept), kind), counted(len(kept), kind)
        say(f"note: {file} has {lost} of rows that are left out; this leaves {left}")
    return rows[kept], kept


def _open_lines(path: Path, role: str, needed: tuple[str, ...], delimiter: str | None) -> _Lines:
    """Open a file of pairs or triplets, which must have the needed columns."""
    given = find_input(path, role, forms=_FORMS)
    if given.form == "jsonl":  # whose lines may have columns of their own
        return _Lines(given.name, _iterate_objects(given, needed), partial(find_json_line, given))
    if delimiter is not None and given.form in ("csv", "tsv"):
        with given.open() as opened:  # the data may be separated by another sign
            delimiter = delimiter if delimiter.encode() in opened.readline() else None
    source = open_input(given, delimiter)
    _check_columns(source.kinds, needed, source.file)
    wanted = dict.fromkeys(c for c in (*needed, "same", "weight", *_BY) if c in source.kinds)
    cells = (
        row
        for batch in source.batches([], [*wanted])
        for start in range(0, len(batch), _SOME_ROWS)
        for row in batch.slice(start, _SOME_ROWS).to_pylist()
    )
    return _Lines(source.file, cells, source.where)


def _iterate_objects(given: Input, needed: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    """Objects of JSON lines, each with the needed names."""
    for line, found in read_json_lines(given):
        _check_columns(found, needed, f"line {line} of {given.name}")
        yield found


def _check_columns(columns: Any, needed: tuple[str, ...], where: Any) -> None:
    """Raise if a file lacks needed columns."""
    missing = [name for name in needed if name not in columns]
    if not missing:
        return
    if needed != _TRIPLET and all(name in columns for name in _TRIPLET):
        raise UserError(
            f"{where} has triplets, in columns {', '.join(_TRIPLET)}: only nearkin fit, evaluate "
            "and studio take them, as --triplets FILE."
        )
    kind = "triplets are in columns anchor, closer, farther"
    if needed != _TRIPLET:
        kind = "pairs are in columns left, right, same"
    raise UserError(
        f"{where} has no column {quote_names(missing)}: {kind} and perhaps weight; it has "
        f"{quote_names(columns)}."
    )


def _row_numbers(
    columns: dict[str, list[str]], table: NamedRows, lines: _Lines
) -> NDArray[np.int64]:
    """Row numbers (k, n_columns) of the rows that columns name, by id if the table has ids."""
    ids, n_rows = table.ids_of_file(), table.n_rows_of_file
    if ids is not None:
        return _find_ids(columns, ids, table.file, lines)
    ends = np.empty((len(next(iter(columns.values()))), len(columns)), dtype=np.int64)
    for j, (name, cells) in enumerate(columns.items()):
        for row, cell in enumerate(cells):
            try:
                ends[row, j] = int(cell)
            except (ValueError, OverflowError):
                raise lines.error(
                    row,
                    name,
                    f"is {cell!r}, not a row number; if pairs name ids, say with --id which column "
                    "of the data has them",
                ) from None
            if not 0 <= ends[row, j] < n_rows:
                what = f"is {cell}, but {table.file} has rows 0 to {n_rows - 1}"
                raise lines.error(row, name, what)
    return ends


def _find_ids(
    columns: dict[str, list[str]], ids: Any, rows_of: str, lines: _Lines
) -> NDArray[np.int64]:
    """Row numbers (k, n_columns) of the rows with these ids; an error if one is unknown."""
    names = list(chain.from_iterable(columns.values()))
    named = pa.array(names, pa.string())
    found = pc.index_in(named, value_set=ids)
    if found.null_count:  # perhaps they were quoted for a spreadsheet
        plain = pa.array([unquote_formula(name) for name in names], pa.string())
        found = pc.coalesce(found, pc.index_in(plain, value_set=ids))
    if found.null_count:
        absent = found.is_null()
        unknown = pc.unique(named.filter(absent)).to_pylist()
        column, row = divmod(pc.index(absent, True).as_py(), len(next(iter(columns.values()))))
        raise UserError(
            f"{len(unknown)} ids in {lines.file} are not in {rows_of}: "
            + ", ".join(map(repr, unknown[:5]))
            + (", ..." if len(unknown) > 5 else ".")
            + f" The first is in {lines.where(row)}, column {list(columns)[column]!r}."
        )
    return np.asarray(found.to_numpy().astype(np.int64).reshape(len(columns), -1).T)
