"""Where results go: standard output or a file, as a table."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import sys
from collections.abc import Container, Iterable, Iterator, Mapping
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from nearkin.cli.common import UserError, is_watched, say
from nearkin.cli.files.inputs import ending, is_standard_output
from nearkin.messages import show_progress
from nearkin.rows.streams import RowStream
from nearkin.storage.files import (
    FORMULA,
    MARK,
    NUMBER,
    is_written_through,
    quote_formula,
    whole_file,
)

_TEXTS = (".csv", ".tsv", ".jsonl", ".ndjson")
TABLES = (*_TEXTS, *(f"{text}.gz" for text in _TEXTS), ".parquet", ".feather", ".arrow")
TABLES_AND_ARRAYS = (*TABLES, ".npy")
_DELIMITED = (".csv", ".tsv", ".csv.gz", ".tsv.gz")
# Endings of files that can have a column of vectors.
WITH_VECTORS = {".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz", ".parquet", ".feather", ".arrow"}
# Rows of a table that a terminal shows.
_SHOWN = 20
# What makes quotes necessary in a cell.
_SPECIAL = '[,"\\n\\r\\t]'


def check_target(path: Path, suffixes: Iterable[str], *, force: bool) -> None:
    """Raise if a file cannot be written there, before work begins."""
    suffixes = list(suffixes)
    if suffixes and ending(path) not in suffixes:
        raise UserError(f"{path}: the name must end in {', '.join(suffixes)}.")
    if path.is_dir():
        raise UserError(f"{path} is a folder, not a file to write to.")
    if not path.parent.is_dir():
        raise UserError(f"{path}: there is no folder {path.parent}; make it first.")
    if is_written_through(path):
        return
    if path.exists() and not force:
        raise UserError(f"{path} exists already: give another name, or --force to replace it.")
    if not os.access(path.parent, os.W_OK):
        raise UserError(f"{path}: you may not write to the folder {path.parent}.")


class Output:
    """A table to be written, to a file or to standard output.

    Without a path it is written to standard output as CSV or JSON lines, or as a short table if
    that is a terminal; "-" is for CSV in any case. Whether it can be written is checked at once.
    ``force`` replaces files, ``quote`` marks texts that spreadsheets take for formulas.
    """

    def __init__(
        self,
        path: Path | None,
        *,
        as_json: bool = False,
        force: bool = False,
        quote: bool = False,
        suffixes: Iterable[str] = TABLES,
    ) -> None:
        self._in_full = is_standard_output(path)
        self.path = path = None if self._in_full else path
        self.as_json, self.force = as_json, force
        self._quote = quote
        if quote and (as_json or (path is not None and ending(path) not in _DELIMITED)):
            raise UserError("--quote-formulas is for CSV and TSV, which spreadsheets read.")
        if path is not None:
            if as_json:
                raise UserError("--json is for standard output; name a file .jsonl for JSON lines.")
            check_target(path, suffixes, force=force)
        elif sys.stdout is None:
            raise UserError("standard output is closed: name a file for the results with --output.")

    @property
    def is_for_people(self) -> bool:
        """Whether results go to standard output, and no table format was asked for."""
        return self.path is None and not self.as_json and not self._in_full

    def write_text(self, text: str) -> None:
        """Write text for people instead of a table."""
        _emit(text.encode())

    def write(
        self, batches: Iterable[Any], n_rows: int | None = None, *, verbose: bool = True
    ) -> None:
        """Write record batches, to a file whole or not at all; ``n_rows`` is for a progress bar."""
        if self.path is None:
            if not self.as_json and sys.stdout.isatty() and not self._in_full:
                _print_preview(batches)
                return
            for text in _format(batches, ".jsonl" if self.as_json else ".csv", self._quote):
                _emit(text)
            return
        shown = verbose and is_watched()
        with whole_file(self.path) as unfinished:
            batches = show_progress(batches, "writing", shown=shown, total=n_rows, amount=len)
            _write_file(unfinished, ending(self.path), batches, self._quote)


def _write_file(path: Path, suffix: str, batches: Iterator[Any], quote: bool) -> None:
    """Write batches to a file in the format of the suffix."""
    if suffix in (".parquet", ".feather", ".arrow"):
        from pyarrow.parquet import ParquetWriter

        first = next(batches)
        with ExitStack() as stack:
            if suffix == ".parquet":
                # Numbers that differ from row to row: a dictionary of them would not help.
                repeated = [f.name for f in first.schema if pa.types.is_string(f.type)]
                writer = ParquetWriter(path, first.schema, use_dictionary=repeated)
            else:
                opened = stack.enter_context(pa.OSFile(str(path), "wb"))
                writer = pa.ipc.new_file(opened, first.schema)
            stack.enter_context(writer)
            for batch in chain([first], batches):
                writer.write_batch(batch)
        return
    with open(path, "wb") as plain, ExitStack() as stack:
        file: Any = plain
        if suffix.endswith(".gz"):  # without a name and a date: the same each time
            zipped = gzip.GzipFile(filename="", mode="wb", fileobj=plain, mtime=0)
            file = stack.enter_context(zipped)
        file.writelines(_format(batches, suffix.removesuffix(".gz"), quote))


def _format(batches: Iterable[Any], form: str, quote: bool) -> Iterator[bytes]:
    """Text of each batch: JSON lines, TSV or CSV, with the column names before the first."""
    for number, batch in enumerate(batches):
        if form in (".jsonl", ".ndjson"):
            lines = (json.dumps(row, ensure_ascii=False, default=str) for row in batch.to_pylist())
            yield "".join(f"{line}\n" for line in lines).encode()
        else:
            yield _format_csv(batch, "\t" if form == ".tsv" else ",", not number, quote)


def _emit(data: bytes) -> None:
    """Write bytes to standard output and flush."""
    stream: Any = getattr(sys.stdout, "buffer", None)
    if stream is None:  # a stand-in without bytes
        sys.stdout.write(data.decode())
    else:
        stream.write(data)
    sys.stdout.flush()


def _format_csv(batch: Any, delimiter: str, header: bool, quote: bool) -> bytes:
    """A batch as lines of CSV, with the column names before it if ``header``."""
    out = io.BytesIO()
    if header:
        names = [quote_formula(name) if quote else name for name in batch.schema.names]
        line = io.StringIO()
        csv.writer(line, delimiter=delimiter, lineterminator="\n").writerow(names)
        out.write(line.getvalue().encode())
    batch = _to_plain_columns(batch, quote)
    texts = (column for column in batch.columns if pa.types.is_string(column.type))
    special = any(pc.any(pc.match_substring_regex(text, _SPECIAL)).as_py() for text in texts)
    style = "needed" if special else "none"
    options = pyarrow.csv.WriteOptions(
        include_header=False, delimiter=delimiter, quoting_style=style
    )
    pyarrow.csv.write_csv(batch, out, options)
    return out.getvalue()


def _to_plain_columns(batch: Any, quote: bool) -> Any:
    """A batch with columns that CSV can hold; formulas are quoted if ``quote``."""
    columns = []
    for column in batch.columns:
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        kind = column.type
        if pa.types.is_nested(kind):
            texts = [json.dumps(value, default=str) for value in column.to_pylist()]
            column = pa.array(texts, pa.string())
        elif not (pa.types.is_primitive(kind) or pa.types.is_null(kind)):
            column = column.cast(pa.string())
        if quote and pa.types.is_string(column.type):
            formula = pc.and_not(
                pc.match_substring_regex(column, FORMULA), pc.match_substring_regex(column, NUMBER)
            )
            marked = pc.binary_join_element_wise(pa.scalar(MARK), column, "")
            column = pc.if_else(formula, marked, column)
        columns.append(column)
    return pa.record_batch(columns, names=batch.schema.names)


def _print_preview(batches: Iterable[Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    rows: list[dict[str, Any]] = []
    names: list[str] = []
    n_rows = 0
    for batch in batches:
        names = batch.schema.names[:12]
        rows += batch.slice(0, max(0, _SHOWN - len(rows))).to_pylist()
        n_rows += len(batch)
    table = Table(*names)
    for row in rows:
        cells = ("" if row[name] is None else row[name] for name in names)
        table.add_row(*(f"{c:.4g}" if isinstance(c, float) else str(c) for c in cells))
    Console().print(table)
    if n_rows > len(rows) or (rows and len(rows[0]) > 12):
        say(
            f"the first {len(rows)} of {n_rows} rows, and 12 columns at most; -o FILE or a pipe "
            "gives all"
        )


# Rows of a batch that goes to an output.
_ROWS = 2**15


def with_carried(rows: RowStream, vector: str | None = None) -> Iterator[Any]:
    """Carried columns of a stream, then rows: as one column ``vector``, or a column a number."""
    names = rows.names or [f"x{j}" for j in range(rows.n_columns)]
    for block in rows.blocks():
        fields = _carried_columns(block)
        refuse_clash(fields, names if vector is None else [vector])
        if vector is None:
            values = np.asfortranarray(block.rows)
            fields |= {name: pa.array(values[:, j]) for j, name in enumerate(names)}
        else:
            numbers = pa.array(np.ascontiguousarray(block.rows).ravel())
            fields[vector] = pa.FixedSizeListArray.from_arrays(numbers, rows.n_columns)
        yield pa.record_batch(fields)


def with_column(rows: RowStream, name: str, values: Any) -> Iterator[Any]:
    """Record batches of the carried columns of a stream, then one column with these values."""
    for block in rows.blocks():
        fields = _carried_columns(block)
        refuse_clash(fields, [name])
        part = values[block.start : block.start + len(block.rows)]
        yield pa.record_batch({**fields, name: pa.array(part)})


def table_of(columns: Mapping[str, Any]) -> Iterator[Any]:
    """Record batches of columns; one even if they are empty, for the names."""
    whole = pa.record_batch({name: pa.array(values) for name, values in columns.items()})
    for start in range(0, max(1, len(whole)), _ROWS):
        yield whole.slice(start, _ROWS)


def _carried_columns(block: Any) -> dict[str, Any]:
    if block.carried is None:
        return {}
    return dict(zip(block.carried.schema.names, block.carried.columns, strict=True))


def refuse_clash(fields: Container[str], names: list[str]) -> None:
    """Raise if a carried column has the name of a new one."""
    clash = [name for name in names if name in fields]
    if clash:
        raise UserError(
            f"the data has a column {clash[0]!r} already: rename it, or do not carry it."
        )
