"""Files of pairs: left, right, same and perhaps weight."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from nearkin.answers import ANSWERS, EXPECTED, plain_answer
from nearkin.cli.delimited import DelimitedFile
from nearkin.cli.failures import UserError, listed
from nearkin.pairs import Pairs


@dataclass(frozen=True)
class PairFile:
    """Pairs in the order of their file.

    Attributes
    ----------
    left, right : list of str
        As the file has them.
    ends : int array of shape (k, 2)
        Row numbers.
    same : list of bool or None
        None where nothing is said.
    weight : list of float
    """

    left: list[str]
    right: list[str]
    ends: NDArray[np.int64]
    same: list[bool | None]
    weight: list[float]

    def pairs(self, n_rows: int) -> Pairs:
        """What is known."""
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


def read_pairs(
    path: Path,
    *,
    n_rows: int,
    ids: Any,
    rows_of: str,
    needs_answers: bool = True,
    delimiter: str | None = None,
) -> PairFile:
    """Read pairs by row number, or by id where these are given.

    Parameters
    ----------
    path : Path
        ``.csv``, ``.tsv``, ``.parquet`` or ``.jsonl``.
    n_rows : int
    ids : array of pyarrow or None
        Of the rows that pairs speak of.
    rows_of : str
        The file that has these rows.
    needs_answers : bool
        Whether there must be a column "same".
    """
    if not path.exists():
        raise UserError(f"{path}: there is no such file.")
    if path.stat().st_size == 0:
        raise UserError(f"{path} is empty.")
    left: list[str] = []
    right: list[str] = []
    same: list[bool | None] = []
    weight: list[float] = []
    for row, cells in _records(path, needs_answers, delimiter):
        where = f"row {row}"
        for name, into in (("left", left), ("right", right)):
            if cells.get(name) in (None, ""):
                raise UserError(f"{where}, column {name!r} of {path} is empty.")
            into.append(_plain(cells[name]))
        said = plain_answer(cells.get("same"))
        if said not in ANSWERS:
            raise UserError(
                f"{where}, column 'same' of {path} is {cells['same']!r}: it must be {EXPECTED}."
            )
        same.append(ANSWERS[said])
        weight.append(_weight(cells.get("weight"), where, path))
    if not left:
        raise UserError(f"{path} has no pairs.")
    ends = (
        _numbers(left, right, n_rows, path, rows_of)
        if ids is None
        else _by_id(left, right, ids, path, rows_of)
    )
    itself = (ends[:, 0] == ends[:, 1]) & np.array([answer is False for answer in same])
    if itself.any():
        row = int(itself.argmax())
        raise UserError(f"row {row} of {path} says that {left[row]!r} differs from itself.")
    return PairFile(left, right, ends, same, weight)


def _records(
    path: Path, needs_answers: bool, delimiter: str | None
) -> Iterator[tuple[int, dict[str, Any]]]:
    suffix = path.suffix.lower()
    if suffix in (".csv", ".tsv"):
        file = DelimitedFile(path, delimiter)
        _check_columns(file.columns, needs_answers, path)
        for row, line, cells in file.lines():
            if len(cells) != len(file.columns):
                raise UserError(
                    f"row {row} (line {line}) of {path} has {len(cells)} cells, but the header has "
                    f"{len(file.columns)}."
                )
            if row >= 0:
                yield row, dict(zip(file.columns, cells, strict=True))
    elif suffix in (".jsonl", ".ndjson"):
        yield from _json_lines(path, needs_answers)
    elif suffix == ".parquet":
        import pyarrow.parquet

        try:
            table = pyarrow.parquet.read_table(path)
        except (pa.ArrowInvalid, OSError) as error:
            raise UserError(f"{path} cannot be read as Parquet: {error}") from error
        _check_columns(table.column_names, needs_answers, path)
        wanted = [c for c in ("left", "right", "same", "weight") if c in table.column_names]
        yield from enumerate(table.select(wanted).to_pylist())
    else:
        raise UserError(f"{path}: pairs are read from .csv, .tsv, .parquet or .jsonl.")


def _json_lines(path: Path, needs_answers: bool) -> Iterator[tuple[int, dict[str, Any]]]:
    with open(path, encoding="utf-8") as file:
        row = 0
        for line, text in enumerate(file, 1):
            if not text.strip():
                continue
            try:
                cells = json.loads(text)
            except ValueError as error:
                raise UserError(f"line {line} of {path} is not JSON: {error}") from error
            if not isinstance(cells, dict):
                raise UserError(f"line {line} of {path} is not a JSON object.")
            _check_columns(cells, needs_answers, f"line {line} of {path}")
            yield row, cells
            row += 1


def _check_columns(columns: Any, needs_answers: bool, where: Any) -> None:
    wanted = ["left", "right", "same"] if needs_answers else ["left", "right"]
    missing = [name for name in wanted if name not in columns]
    if missing:
        raise UserError(
            f"{where} has no column {listed(missing)}: pairs are in columns left, right, same and "
            f"perhaps weight; it has {listed(columns)}."
        )


def _plain(cell: Any) -> str:
    return "" if cell is None else str(cell)


def _weight(cell: Any, where: str, path: Path) -> float:
    if cell is None or cell == "":
        return 1.0
    try:
        weight = float(cell)
    except (TypeError, ValueError):
        weight = np.nan
    if not 0 < weight < np.inf:
        raise UserError(f"{where}, column 'weight' of {path} is {cell!r}: it must be above 0.")
    return weight


def _numbers(
    left: list[str], right: list[str], n_rows: int, path: Path, rows_of: str
) -> NDArray[np.int64]:
    ends = np.empty((len(left), 2), dtype=np.int64)
    for j, (name, cells) in enumerate((("left", left), ("right", right))):
        for row, cell in enumerate(cells):
            try:
                ends[row, j] = int(cell)
            except (ValueError, OverflowError):
                raise UserError(
                    f"row {row}, column {name!r} of {path} is {cell!r}, not a row number; if pairs "
                    "name ids, say with --id which column of the data has them."
                ) from None
            if not 0 <= ends[row, j] < n_rows:
                raise UserError(
                    f"row {row}, column {name!r} of {path} is {cell}, but {rows_of} has rows 0 to "
                    f"{n_rows - 1}."
                )
    return ends


def _by_id(
    left: list[str], right: list[str], ids: Any, path: Path, rows_of: str
) -> NDArray[np.int64]:
    named = pa.array([*left, *right], pa.string())
    found = pc.index_in(named, value_set=ids)
    if found.null_count:
        unknown = pc.unique(named.filter(found.is_null())).to_pylist()
        raise UserError(
            f"{len(unknown)} ids in {path} are not in {rows_of}: "
            + ", ".join(map(repr, unknown[:5]))
            + (", ..." if len(unknown) > 5 else ".")
        )
    return np.asarray(found.to_numpy().astype(np.int64).reshape(2, -1).T)
