"""Rows with all their cells: missing ones are filled, left out with their rows, or refused."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from nearkin._types import Floats
from nearkin.cli.failures import UserError
from nearkin.cli.files.column_choice import Feature
from nearkin.cli.files.features import Features, Unseen
from nearkin.cli.files.formats import Source
from nearkin.cli.files.inputs import Input
from nearkin.cli.files.missing import Missing, count_missing, filled, medians, refusal
from nearkin.cli.messages import say
from nearkin.errors import counted
from nearkin.rows.backends import Block
from nearkin.rows.streams import RowStream, npy_rows, open_stream


@dataclass(frozen=True)
class CompleteRows:
    """Rows that are complete, and what was done to them.

    Attributes
    ----------
    rows : RowStream
    left_out : int ndarray
        Numbers of the file's rows that are not among them.
    fill : ndarray of shape (d,) or None
        What missing cells were filled with.
    """

    rows: RowStream
    left_out: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    fill: Floats | None = None


def complete_rows(
    source: Source,
    features: Features,
    layout: list[Feature] | None,
    along: list[str],
    policy: str | None,
    model: Any,
) -> CompleteRows:
    """Rows with all their cells, or an error that says which are missing.

    ``policy`` is "fill", "drop" or "error"; None is "fill" if the model remembers what with.
    """
    known = None if model is None else model.fill
    if policy is None and known is not None:
        policy = "fill"
    if policy in (None, "error") and source.direct is not None:
        rows = _direct_rows(source.direct, layout, along)
        if rows is not None:
            return CompleteRows(_diagnosed(rows, source, features, model))
    missing = _missing_in(source, features, model)
    if missing.n_rows == 0:
        raise UserError(f"{source.file} has no rows.")
    fill = None
    if policy == "fill":
        fill = _fill_values(features, missing, source.file, model)
    elif policy == "drop":
        return _without(source, features, missing)
    elif missing.counts:
        raise _refusal(missing, source, model)
    if missing.counts and fill is not None:
        of = "the medians of the columns" if model is None else f"what {model.file} remembers"
        say(f"note: {_how_many(missing, source.file)}: filled with {of}")

    def read(wanted: NDArray[np.int64] | None) -> Iterator[Block]:
        start = 0
        for rows, carried in features.read(None):
            yield Block(start, rows if fill is None else filled(rows, fill), carried)
            start += len(rows)

    return CompleteRows(_stream(read, missing.n_rows, features, source), fill=fill)


def _missing_in(source: Source, features: Features, model: Any) -> Missing:
    """Cells that are missing, and values that the model does not know are said."""
    if features.count is not None:
        return Missing(features.count(), {}, None, np.empty(0, dtype=np.int64))
    unseen: Unseen = {}
    blocks = (rows for rows, _ in features.read(unseen))
    missing = count_missing(blocks, features.columns, _infinite_in(source))
    _note_unseen(unseen, source.file, model)
    return missing


def _without(source: Source, features: Features, missing: Missing) -> CompleteRows:
    """Only rows that lack nothing."""
    n_left = missing.n_rows - len(missing.rows)
    if n_left == 0:
        raise UserError(f"{_how_many(missing, source.file)}: none is left.")
    if missing.counts:
        leaves = f"left out, which leaves {counted(n_left, 'row')}"
        say(f"note: {_how_many(missing, source.file)}: {leaves}")

    def read(wanted: NDArray[np.int64] | None) -> Iterator[Block]:
        start = number = 0
        for rows, carried in features.read(None):
            first, last = np.searchsorted(missing.rows, [number, number + len(rows)])
            kept = np.ones(len(rows), dtype=bool)
            kept[missing.rows[first:last] - number] = False
            number += len(rows)
            yield Block(
                start, rows[kept], None if carried is None else carried.filter(pa.array(kept))
            )
            start += int(kept.sum())

    return CompleteRows(_stream(read, n_left, features, source), left_out=missing.rows)


def _stream(read: Any, n_rows: int, features: Features, source: Source) -> RowStream:
    return RowStream(
        read,
        n_rows=n_rows,
        n_columns=features.n_columns,
        dtype=features.dtype,
        names=features.names,
        source=source.file,
    )


def _direct_rows(given: Input, layout: list[Feature] | None, along: list[str]) -> RowStream | None:
    """Rows as :func:`nearkin.open_rows` reads them; None if they are to be made of text."""
    with _named(given):
        if layout is None:
            return npy_rows(given.path)
        if any(feature.value is not None for feature in layout):
            return None
        return open_stream(given.path, columns=[f.column for f in layout], carry=along)


def _diagnosed(direct: RowStream, source: Source, features: Features, model: Any) -> RowStream:
    """The same rows; if one of them lacks something, all that is missing is said."""

    def read(wanted: NDArray[np.int64] | None) -> Iterator[Block]:
        try:
            with _named(source.direct):
                yield from direct.blocks(wanted)
        except ValueError:
            missing = count_missing(features.blocks(), features.columns, _infinite_in(source))
            if missing.counts:
                raise _refusal(missing, source, model) from None
            raise

    return direct.read_by(read, len(direct), source.file)


@contextmanager
def _named(given: Input | None) -> Iterator[None]:
    """In errors, what came through a pipe has its own name, not that of the file it is kept in."""
    try:
        yield
    except (ValueError, TypeError) as error:
        if given is None or str(given.path) == given.name:
            raise
        raise UserError(str(error).replace(str(given.path), given.name)) from error


def _infinite_in(source: Source) -> Any:
    def refuse(row: int, column: str, value: float) -> None:
        name = column if column.startswith("column ") else f"column {column}"
        raise UserError(
            f"{source.where(row)}, {name} of {source.file} is {value}: distances need finite "
            "numbers."
        )

    return refuse


def _fill_values(features: Features, missing: Missing, file: str, model: Any) -> Floats:
    """What a model remembers, or the medians of these rows; texts that are missing are no value."""
    if model is not None:
        if model.fill is None:
            raise UserError(
                f"--missing fill: {model.file} does not know what to fill with; it must be fitted "
                "with --missing fill."
            )
        return np.asarray(model.fill)
    found = medians(features.blocks(), features.columns, missing)
    found[features.is_value] = 0
    empty = list(dict.fromkeys(np.array(features.columns)[np.isnan(found)].tolist()))
    if empty:
        raise UserError(f"{file} has no values at all in {', '.join(empty[:10])}: --exclude it.")
    return found


def _refusal(missing: Missing, source: Source, model: Any) -> UserError:
    assert missing.first is not None
    return refusal(missing, source.file, source.where(missing.first), can_be_filled=model is None)


def _how_many(missing: Missing, file: str) -> str:
    return (
        f"missing cells in {len(missing.rows)} of {counted(missing.n_rows, 'row')} of {file} "
        f"({missing.shown()})"
    )


def _note_unseen(unseen: Unseen, file: str, model: Any) -> None:
    """Say which values are new to a model."""
    for column, others in unseen.items():
        examples = ", ".join(repr(value) for value in sorted(others.examples)[:3])
        say(
            f"note: {file} has {counted(others.count, 'row')} with values of {column!r} that "
            f"{model.file} has not seen, such as {examples}: they count as none of those it knows"
        )
