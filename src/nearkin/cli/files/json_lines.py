"""Files of JSON lines: one object to a line, read some rows at a time."""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from nearkin.cli.failures import UserError
from nearkin.cli.files.column_choice import Kinds
from nearkin.cli.files.inputs import Input

# Rows of a batch.
_ROWS_OF_JSON = 2**14


def json_lines(source: Input) -> Iterator[tuple[int, dict[str, Any]]]:
    """Number of the line, from 1, and the object in it; empty lines are passed over."""
    try:
        with source.open() as file:
            for line, text in enumerate(file, 1):
                if not text.strip():
                    continue
                try:
                    found = json.loads(text.decode("utf-8-sig"))
                except ValueError as error:
                    raise UserError(f"line {line} of {source.name} is not JSON: {error}") from error
                except RecursionError as error:
                    raise UserError(
                        f"line {line} of {source.name} is nested too deeply to be a row."
                    ) from error
                if not isinstance(found, dict):
                    raise UserError(f"line {line} of {source.name} is not a JSON object.")
                yield line, found
    except (EOFError, zlib.error, OSError) as error:
        raise UserError(f"{source.name} cannot be read to its end: {error}") from error


class JsonLinesFile:
    """A file of JSON lines as a table; names that a line lacks are missing there.

    Attributes
    ----------
    kinds : dict
        Of the columns, judged by all rows.
    """

    def __init__(self, source: Input) -> None:
        self._source = source
        found: dict[str, set[str]] = {}
        n_rows = 0
        for _, cells in json_lines(source):
            n_rows += 1
            for name, value in cells.items():
                found.setdefault(name, set()).add(_form(value))
        if n_rows == 0:
            raise UserError(f"{source.name} has no rows.")
        self._forms = {name: _common(forms) for name, forms in found.items()}
        self.kinds: Kinds = {name: _KINDS.get(form, form) for name, form in self._forms.items()}

    def where(self, row: int) -> str:
        """The line of a row."""
        line, _ = next(islice(json_lines(self._source), row, None), (row + 1, {}))
        return f"line {line}"

    def batches(self, numbers: Sequence[str], others: Sequence[str]) -> Iterator[Any]:
        """Some columns, some rows at a time."""
        import pyarrow as pa

        types = {
            "integer": pa.int64(), "truth": pa.bool_(), "float": pa.float64(), "text": pa.string(),
            "vector": pa.list_(pa.float64()),
        }  # fmt: skip
        names = list(dict.fromkeys([*numbers, *others]))
        rows = (cells for _, cells in json_lines(self._source))
        while some := list(islice(rows, _ROWS_OF_JSON)):
            columns = {}
            for name in names:
                form = self._forms[name]
                values = [cells.get(name) for cells in some]
                if form == "float":
                    values = [_number(v) for v in values]
                elif form == "vector":
                    values = [None if v is None else [_number(n) for n in v] for v in values]
                elif form not in types:
                    values = [None if v is None else json.dumps(v) for v in values]
                columns[name] = pa.array(values, types.get(form, pa.string()))
            yield pa.record_batch(columns)


def _number(value: Any) -> float | None:
    try:
        return None if value is None else float(value)
    except OverflowError:  # as floats of the same size are read
        return math.inf if value > 0 else -math.inf


_KINDS = {"integer": "number", "truth": "boolean", "float": "number"}


def _form(value: Any) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "truth"
    if isinstance(value, int):
        return "integer" if abs(value) < 2**63 else "float"
    if isinstance(value, float):
        return "float"
    if isinstance(value, str):
        return "text"
    if isinstance(value, list) and all(_KINDS.get(_form(v)) for v in value if v is not None):
        return "vector"
    return "other"


def _common(forms: set[str]) -> str:
    """What a column holds whose values have these forms."""
    forms = forms - {"nothing"}
    if len(forms) == 1:
        return forms.pop()
    if forms and all(form in _KINDS for form in forms):
        return "float"
    return "mixed values" if forms else "nothing"
