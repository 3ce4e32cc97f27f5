"""Arrays and frames as numbers to learn from, and columns to show."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from nearkin._types import Floats, Ints
from nearkin.errors import InputError, InputTypeError
from nearkin.messages import noticed
from nearkin.rows.access import evenly_spaced
from nearkin.rows.parallel import blocks
from nearkin.tables.choice import MOST_LOOKED_AT, NOT_CHOSEN, are_records, roles_by_cells
from nearkin.tables.encoder import TableEncoder
from nearkin.tables.reading import cells_of
from nearkin.tables.roles import Roles, counting, hardly_features, names_rows, roles_of
from nearkin.teaching.identity import Identity

_ROWS_OF_A_BLOCK = 16_384


@dataclass(frozen=True)
class Frame:
    """Columns of a frame by their names, as series of narwhals, and what they hold."""

    columns: dict[str, Any]
    kinds: dict[str, str]

    def identity(self, numbers: Ints, ids: Sequence[Any] | str | None) -> Identity:
        """What tells some of its rows apart."""

        def cells(names: Sequence[str]) -> Iterator[dict[str, Any]]:
            for rows in blocks(len(numbers), _ROWS_OF_A_BLOCK):
                some = {name: self.columns[name][numbers[rows].tolist()] for name in names}
                yield {name: _cells(column, self.kinds[name]) for name, column in some.items()}

        named = ids if isinstance(ids, str) and ids in self.kinds else None
        given = None if isinstance(ids, str) else ids
        return Identity(self.kinds, cells, len(numbers), named, given)

    def some_cells(self) -> dict[str, list[Any]]:
        """Cells of some rows, of all columns but vectors."""
        shown = {name: of for name, of in self.columns.items() if self.kinds[name] != "vector"}
        n = min(map(len, shown.values()), default=0)
        rows = evenly_spaced(n, MOST_LOOKED_AT).tolist() if n else []
        return {name: cells_of(of[rows]) for name, of in shown.items()}

    def shown(self, learned: Sequence[str] = ()) -> dict[str, Sequence[Any]]:
        """All columns but vectors, and but those that are learned from as they are."""
        return {
            name: cells_of(column)
            for name, column in self.columns.items()
            if name not in learned and self.kinds[name] != "vector"
        }

    def are_numbers(self, names: Sequence[str], gaps: bool = False) -> bool:
        """Whether columns are rows of numbers as they are: one of vectors, or complete ones."""
        kinds = {self.kinds[name] for name in names}
        if kinds == {"vector"}:
            return len(names) == 1
        return kinds <= {"number", "boolean"} and (
            gaps or not any(_has_gaps(self.columns[name]) for name in names)
        )


@dataclass(frozen=True)
class Parts:
    """What is learned from, and what is only shown.

    Attributes
    ----------
    X : ndarray of shape (n, d) or None
        None if it is to be made of words.
    features : list of str
        Names of its columns.
    named : bool
        Whether these are the data's own.
    others : dict
        All other columns but vectors.
    roles : Roles or None
        Which columns are learned from, and why others are not.
    words : tuple of str
        Columns that X is to be made of.
    are_things : bool
        Whether rows are records that are known by words.
    frame : Frame or None
        The frame that they are of.
    """

    X: Floats | None
    features: list[str]
    named: bool
    others: dict[str, Sequence[Any]]
    roles: Roles | None = None
    words: tuple[str, ...] = ()
    are_things: bool = False
    frame: Frame | None = None

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        if self.X is not None or self.frame is None:
            return 0 if self.X is None else len(self.X)
        return len(self.frame.columns[self.words[0]])

    @property
    def is_vector(self) -> bool:
        """Whether X is a column of vectors."""
        learned = self.roles.learned if self.roles else []
        return (
            self.X is not None
            and self.frame is not None
            and any(self.frame.kinds[name] == "vector" for name in learned)
        )


def parts_of(
    X: Any,
    source: str,
    learn_from: Sequence[str] | None = None,
    aside: Iterable[str] = (),
    of_words: bool | None = None,
) -> Parts:
    """Parts of an array, or of a frame of pandas, polars or pyarrow.

    Parameters
    ----------
    X : array or frame
    source : str
        What the data are called.
    learn_from : sequence of str, optional
        Columns to learn from; :func:`nearkin.tables.choice.roles_by_cells` chooses
        otherwise.
    aside : names
        Columns that are not learned from unless they are among those.
    of_words : bool, optional
        True learns from all columns, words too, and False from numbers alone.
    """
    frame = None if isinstance(X, (np.ndarray, list, tuple)) else _frame(X, source)
    if frame is not None:
        columns = {str(name): frame[name] for name in frame.columns}
        whole = Frame(columns, {name: _kind(column) for name, column in columns.items()})
        return replace(
            _parts_of_frame(whole, source, learn_from, set(aside), of_words), frame=whole
        )
    if learn_from is not None:
        raise InputError("learn_from is for frames: an array is learned from as it is.")
    if of_words:
        raise InputError(f"records=True: {source} is an array of numbers, not a frame of records.")
    numbers = _require_numbers(X, source)
    return Parts(numbers, [f"x{j}" for j in range(numbers.shape[1])], False, {})


def _frame(X: Any, source: str) -> Any:
    """As a frame of narwhals; None if it is none."""
    import narwhals as nw

    try:
        return nw.from_native(X, eager_only=True, allow_series=False)
    except TypeError as error:
        if hasattr(X, "toarray"):
            raise InputTypeError(
                f"{source} is sparse: give X.toarray(), or reduce it first."
            ) from error
        return None


def _parts_of_frame(
    frame: Frame,
    source: str,
    learn_from: Sequence[str] | None,
    aside: set[str],
    of_words: bool | None,
) -> Parts:
    kinds = frame.kinds
    if of_words:
        return _parts_of_records(frame, source, aside if learn_from is None else None)
    if learn_from is not None:
        chosen, usual = _named(learn_from, kinds, source), {}
        others = [name for name in kinds if name not in {*chosen, *aside}]
        with suppress(InputError):  # nobody needs to know why, if there is nothing to choose
            usual = roles_by_cells(kinds, frame.some_cells(), aside).left_out
        roles = Roles(chosen, {name: usual.get(name, NOT_CHOSEN) for name in others})
    elif of_words is None:
        roles = roles_by_cells(kinds, frame.some_cells(), aside)
    else:
        roles = roles_of(kinds, aside)
    if not roles.learned:
        shown = ", ".join(f"{name!r} ({kind})" for name, kind in list(kinds.items())[:10])
        raise InputError(
            f"{source} has no columns to learn from: there is nothing to measure distances by. Its "
            f"columns are {shown}; learn_from=[...] learns from any of them."
        )
    if not frame.are_numbers(roles.learned, gaps=of_words is False):
        cells = {name: of for name, of in frame.some_cells().items() if name not in aside}
        are_things = learn_from is None and are_records(cells)
        return Parts(None, [], False, frame.shown(), roles, tuple(roles.learned), are_things)
    is_vector = kinds[roles.learned[0]] == "vector"
    if is_vector:
        X = _stacked(frame.columns[roles.learned[0]], roles.learned[0], source)
        features = [f"{roles.learned[0]}[{j}]" for j in range(X.shape[1])]
    else:
        X, features = _side_by_side([frame.columns[name] for name in roles.learned]), roles.learned
        if learn_from is None:
            X, features, roles = _without_counters(X, features, roles)
    return Parts(X, features, not is_vector, frame.shown(roles.learned), roles)


def _parts_of_records(frame: Frame, source: str, aside: set[str] | None) -> Parts:
    """Parts of records: words, dates and numbers are learned from, but what names rows."""
    kinds = frame.kinds
    if aside is None:
        raise InputError("records=True learns from all columns: leave learn_from out.")
    if not any(
        kind in ("text", "date") and name not in aside and names_rows(name) is None
        for name, kind in kinds.items()
    ):
        raise InputError(f"records=True: {source} has no columns of words.")
    left_out = {**hardly_features(dict.fromkeys(kinds, "number")), **dict.fromkeys(aside, "")}
    left_out |= {name: kind for name, kind in kinds.items() if kind == "vector"}
    words = tuple(name for name in kinds if name not in left_out)
    roles = Roles([*words], {name: why for name, why in left_out.items() if why})
    return Parts(None, [], False, frame.shown(), roles, words, are_things=True)


def encoded(
    cells: dict[str, Sequence[Any]], like: TableEncoder | None = None
) -> tuple[Floats, TableEncoder, list[str]]:
    """Numbers that stand for the cells of records, what made them, and a word on cells."""
    encoder = TableEncoder() if like is None else clone(like)
    with noticed() as notes:
        X = encoder.fit_transform(cells)
    return X, encoder, [note.text for note in notes]


def _without_counters(
    X: Floats, features: list[str], roles: Roles
) -> tuple[Floats, list[str], Roles]:
    aside = counting(X, features)
    if not aside:
        return X, features, roles
    kept = [name for name in features if name not in aside]
    X = X[:, [name not in aside for name in features]]
    return X, kept, Roles(kept, {**aside, **roles.left_out})


def _named(learn_from: Sequence[str], kinds: dict[str, str], source: str) -> list[str]:
    names = [learn_from] if isinstance(learn_from, str) else [str(name) for name in learn_from]
    for name in names:
        if name not in kinds:
            raise InputError(f"learn_from: {source} has no column {name!r}.")
    return names


def _kind(column: Any) -> str:
    """As :mod:`nearkin.tables.roles` has it."""
    import narwhals as nw

    kind = column.dtype
    if kind.is_numeric():
        return "number"
    if kind == nw.Boolean:
        return "boolean"
    if kind in (nw.List, nw.Array):
        return "vector"
    if kind in (nw.Date, nw.Datetime, nw.Duration, nw.Time):
        return "date"
    if kind == nw.Object and len(column):
        first = next((cell for cell in column.to_list() if cell is not None), None)
        if isinstance(first, (list, tuple, np.ndarray)):
            return "vector"
    return "text"


def _stacked(column: Any, name: str, source: str) -> Floats:
    rows = column.to_list()
    lengths = {None if row is None else len(row) for row in rows}
    if len(lengths) != 1 or None in lengths:
        raise InputError(
            f"column {name!r} of {source} has vectors of different lengths, or none in some rows."
        )
    return _require_numbers(
        np.stack([np.asarray(row) for row in rows]), f"column {name!r} of {source}"
    )


def _side_by_side(columns: Sequence[Any]) -> Floats:
    import narwhals as nw

    kept = all(column.dtype == nw.Float32 for column in columns)
    wide = np.float32 if kept else np.float64
    return np.column_stack([_column(column).astype(wide) for column in columns])


def _column(series: Any) -> NDArray[Any]:
    """Numbers of a column, NaN where there are none."""
    if series.null_count():
        return np.array([np.nan if cell is None else float(cell) for cell in series.to_list()])
    return np.asarray(series.to_numpy())


def _has_gaps(series: Any) -> bool:
    column = _column(series)
    return column.dtype.kind == "f" and bool(np.isnan(column).any())


def _cells(series: Any, kind: str) -> Any:
    """Cells of some rows, as :func:`nearkin.teaching.identity.digests_of` takes them."""
    if kind in ("number", "boolean") and not series.null_count():
        return np.asarray(series.to_numpy())
    return series.to_list()


def _require_numbers(X: ArrayLike, source: str) -> Floats:
    array = np.asarray(X)
    if array.ndim != 2:
        raise InputError(f"X must have rows and columns, but has shape {array.shape}.")
    if array.dtype.kind not in "biuf":
        raise InputTypeError(f"{source} is of type {array.dtype}, not of numbers.")
    return np.ascontiguousarray(
        array, dtype=np.float32 if array.dtype == np.float32 else np.float64
    )
