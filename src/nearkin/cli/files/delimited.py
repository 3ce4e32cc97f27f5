"""CSV and TSV files: header, types of columns, rows, and where in a file something is wrong."""

from __future__ import annotations

import csv
import io
import zlib
from collections.abc import Iterator, Sequence
from typing import Any

from nearkin.cli.failures import UserError
from nearkin.cli.files.column_choice import Kinds, refuse_twice
from nearkin.cli.files.inputs import Input

_DELIMITERS = ",;\t|"
# Cells of one field; the csv module's own limit is small for vectors or texts.
csv.field_size_limit(2**30)
# Bytes that are read at a time, and what is tried where a row is longer.
_BLOCK, _LARGE_BLOCKS = 2**20, (2**24, 2**28, 2**30)
# What people and programs write where a number is missing.
_MARKS = {"NA", "N/A", "n/a", "na", "NULL", "null", "None", "?", "-", ".", "missing"}


class DelimitedFile:
    """A file of text with a header.

    Attributes
    ----------
    columns : list of str
    kinds : dict
        Of the columns, judged by the first rows.
    """

    def __init__(self, source: Input, delimiter: str | None) -> None:
        self._source = source
        self.name = source.name
        self._delimiter = delimiter or ("\t" if source.form == "tsv" else ",")
        lines = self.lines()
        _, _, self.columns = next(lines, (0, 0, []))
        if not self.columns:
            raise UserError(f"{self.name} is empty.")
        self._refuse_other_delimiter(asked=delimiter is not None)
        refuse_twice(self.columns, self.name)
        if next(lines, None) is None:
            raise UserError(f"{self.name} has a header but no rows.")
        self._types = self._inferred()
        self.kinds: Kinds = {name: kind for name, (kind, _) in self._types.items()}

    def lines(self) -> Iterator[tuple[int, int, list[str]]]:
        """Number of the row, or -1 for the header, its first line in the file, and its cells."""
        try:
            with io.TextIOWrapper(self._source.open(), encoding="utf-8-sig", newline="") as file:
                reader = csv.reader(file, delimiter=self._delimiter)
                row, line = -1, 1
                for cells in reader:
                    if cells:
                        yield row, line, cells
                        row += 1
                    line = reader.line_num + 1
        except UnicodeDecodeError as error:
            raise self._not_utf8() or self._damaged(error) from error
        except csv.Error as error:
            raise UserError(f"{self.name} is not a table in UTF-8 text: {error}") from error
        except (EOFError, zlib.error, OSError) as error:
            raise self._damaged(error) from error

    def where(self, row: int) -> str:
        """The line of a row, as an editor counts: the header is line 1."""
        for number, line, _ in self.lines():
            if number == row:
                return f"line {line}"
        return f"row {row}"

    def batches(self, numbers: Sequence[str], texts: Sequence[str]) -> Iterator[Any]:
        """Some columns, those in ``texts`` as they are in the file, some rows at a time."""
        import pyarrow as pa

        types = {name: self._types[name][1] for name in numbers}
        types |= {name: pa.string() for name in texts if name not in types}
        n_read = 0
        for block, is_last in self._blocks():
            skipped = n_read
            try:
                with self._opened(types, block) as reader:
                    for batch in reader:
                        fresh = batch.slice(min(skipped, len(batch)))
                        skipped -= len(batch) - len(fresh)
                        n_read += len(fresh)
                        yield fresh
                return
            except pa.ArrowInvalid as error:
                if is_last:
                    raise self._located(numbers, error) from error
            except OSError as error:
                raise self._damaged(error) from error

    def _blocks(self) -> list[tuple[int, bool]]:
        """Bytes to read at a time, and whether there is no use in more.

        A row must be in two of them, and some rows have megabytes: if one cannot be read, it is
        tried again with more.
        """
        size = self._source.path.stat().st_size
        sizes = [_BLOCK, *(b for b in _LARGE_BLOCKS if self._source.is_zipped or b < 16 * size)]
        sizes = sizes if self._source.is_zipped or size > _BLOCK else sizes[:1]
        return [(block, block == sizes[-1]) for block in sizes]

    def _opened(self, types: dict[str, Any] | None, block: int) -> Any:
        import pyarrow as pa
        import pyarrow.csv

        compression = "gzip" if self._source.is_zipped else None
        return pyarrow.csv.open_csv(
            pa.input_stream(str(self._source.path), compression=compression),
            read_options=pyarrow.csv.ReadOptions(block_size=block),
            parse_options=pyarrow.csv.ParseOptions(
                delimiter=self._delimiter, newlines_in_values=True
            ),
            convert_options=pyarrow.csv.ConvertOptions(
                null_values=[""],
                strings_can_be_null=True,
                column_types=types,
                include_columns=None if types is None else list(types),
            ),
        )

    def _inferred(self) -> dict[str, tuple[str, Any]]:
        """Kind of each column, and the type to read it in, by the first rows."""
        import pyarrow as pa

        for block, is_last in self._blocks():
            try:
                with self._opened(None, block) as reader:
                    first = reader.read_next_batch()
                break
            except (pa.ArrowInvalid, StopIteration) as error:
                if is_last:
                    raise self._located([], error) from error
            except OSError as error:
                raise self._damaged(error) from error
        found: dict[str, tuple[str, Any]] = {}
        for name, column in zip(first.schema.names, first.columns, strict=True):
            kind = column.type
            if pa.types.is_binary(kind):  # what pyarrow makes of text that is none
                raise self._not_utf8() or UserError(f"{self.name} is not in UTF-8.")
            if pa.types.is_boolean(kind):
                found[name] = ("boolean", kind)
            elif pa.types.is_temporal(kind):
                found[name] = ("date", pa.string())
            elif pa.types.is_string(kind) and not _mostly_numbers(column):
                found[name] = ("text", pa.string())
            else:  # with a cell that is none, perhaps: reading will find it
                found[name] = ("number", pa.float64())
        return found

    def _located(self, numbers: Sequence[str], error: Exception) -> UserError:
        """Where the file is at fault, if that can be found."""
        wanted = [(j, name) for j, name in enumerate(self.columns) if name in numbers]
        for row, line, cells in self.lines():
            if len(cells) != len(self.columns):
                return UserError(
                    f"line {line} of {self.name} has {len(cells)} cells, but the header has "
                    f"{len(self.columns)}."
                )
            for j, name in wanted if row >= 0 else ():
                if cells[j] and not _is_number(cells[j]):
                    remedy = ": leave cells that are missing empty" * (cells[j] in _MARKS)
                    return UserError(
                        f"line {line}, column {name!r} of {self.name} is {cells[j][:40]!r}, not a "
                        f"number{remedy}."
                    )
        return self._not_utf8() or UserError(f"{self.name} cannot be read: {error}")

    def _not_utf8(self) -> UserError | None:
        """What to say of the first line that is not in UTF-8, if there is one."""
        with self._source.open() as file:
            for number, line in enumerate(file, 1):
                try:
                    line.decode()
                except UnicodeDecodeError as error:
                    odd = line[error.start : error.start + 1]
                    return UserError(
                        f"{self.name} is not a table in UTF-8 text: line {number} has the byte "
                        f"{odd.hex()}, which Latin-1 and Windows-1252 have for "
                        f"{odd.decode('cp1252', 'replace')!r}.\nFor example: iconv -f WINDOWS-1252 "
                        f"-t UTF-8 {self.name} > new.csv"
                    )
        return None

    def _damaged(self, error: Exception) -> UserError:
        return UserError(f"{self.name} cannot be read to its end: {error}")

    def _refuse_other_delimiter(self, *, asked: bool) -> None:
        if len(self.columns) > 1:
            return
        header = self.columns[0]
        others = [d for d in _DELIMITERS if d != self._delimiter and d in header]
        if others:
            most = max(others, key=header.count)
            option = "--delimiter tab" if most == "\t" else f'--delimiter "{most}"'
            instead = f"not by {self._delimiter!r}" if asked else "it seems"
            raise UserError(
                f"{self.name} has one column, {header[:60]!r}. Its cells are separated by "
                f"{most!r}, {instead}: use {option}."
            )


def _mostly_numbers(column: Any) -> bool:
    cells = [cell for cell in column.slice(0, 1000).to_pylist() if cell is not None]
    return sum(map(_is_number, cells)) > len(cells) / 2


def _is_number(cell: str) -> bool:
    if cell.lower() in ("true", "false"):
        return True
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell
