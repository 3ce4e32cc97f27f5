"""Model files: whether they fit a file of rows, and which rows they were learned from."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nearkin._types import Floats, Ints
from nearkin.cli.common import UserError, matchers
from nearkin.cli.files.inputs import (
    FORMS,
    describe_content,
    detect_content,
    detect_form,
    is_stream,
    keep_on_disk,
)
from nearkin.rows.backends import Block
from nearkin.rows.distances import linked_distances
from nearkin.rows.streams import RowStream
from nearkin.scores.quality import Quality
from nearkin.scores.verdicts import Verdicts, read_verdicts
from nearkin.storage.arrays import read_kind
from nearkin.storage.models import KIND, MOST_MARKS, Facts, Trial, load_with_facts

if TYPE_CHECKING:
    from nearkin.records.matcher import RecordMatcher

# What takes matchers.
USES = "nearkin duplicates, link, same, neighbors, suggest and evaluate"


@dataclass(frozen=True)
class Score(Trial):
    """Scores of a model, and how many of the rows it was learned from; None if unknown."""

    seen: int | None


def refuse_table(path: Path, name: str) -> None:
    """Raise if a file given as model is a table."""
    if path.is_dir():
        raise UserError(f"{name} is a folder, not a model.")
    content = detect_content(path) if path.stat().st_size else "model"
    if content in FORMS and detect_form(path) is not None:
        raise UserError(
            f"{name} is {describe_content(content)}, not a model: are the two in each other's "
            "place?"
        )


def _is_matcher(path: Path) -> bool:
    """Whether a file is a matcher of records; their code is not imported to see a metric."""
    return read_kind(path) != KIND and matchers.is_matcher(path)


def find_report(metric: Any) -> Any:
    """What a metric, or a step of a chain, reports of how it was chosen; None if none was."""
    steps = [metric, *reversed(getattr(metric, "steps_", []))]
    return next((step.report_ for step in steps if hasattr(step, "report_")), None)


def open_matcher(path: Path) -> RecordMatcher | None:
    """Read a matcher of records from a file; None if the file is something else."""
    if str(path) == "none" or not path.is_file() or is_stream(path) or not _is_matcher(path):
        return None
    matcher: RecordMatcher = matchers.RecordMatcher.load(path)
    return matcher


class Model:
    """A learned metric from a file, with the columns, fill values and encoder of its tables.

    ``metric`` takes plain arrays: ``names`` of columns or the one ``vector`` column are checked
    before, missing cells get ``fill``, and words become numbers by ``table``, a TableEncoder.
    """

    def __init__(self, path: Path, fitted: tuple[Any, Facts] | None = None) -> None:
        """What a file has, or is going to have if that is given."""
        self.file = str(path)
        if fitted is None:
            if not path.exists() and not is_stream(path):
                raise UserError(f"{path}: there is no such file; nearkin fit makes a model.")
            self.file, path = keep_on_disk(path, "MODEL")
            refuse_table(path, self.file)
            if _is_matcher(path):
                raise UserError(
                    f"{self.file} is a matcher of records, which has no coordinates for them: "
                    f"{USES} take it.\nFor all else learn a model from the same table and "
                    "answers: nearkin fit people.csv --pairs answers.csv -o model.nearkin"
                )
        metric, self.facts = load_with_facts(path) if fitted is None else fitted
        self.metric: Any = copy(metric)
        attributes = vars(self.metric)
        names = attributes.pop("feature_names_in_", None)
        self.names = None if names is None else [str(name) for name in names]
        self.vector: str | None = attributes.pop("vector_column_", None)
        self.fill: Floats | None = attributes.pop("fill_values_", None)
        self.table: Any = attributes.pop("table_", None)
        first = getattr(self.metric, "steps_", [None])[0]
        if self.table is None and hasattr(first, "groups_"):  # a chain that begins with a table
            self.table, self.metric = first, self.metric.after_table()
            self.names = None

    def check_width(self, n_columns: int, file: str) -> None:
        """Raise if a file has another number of columns than the model was learned from."""
        expected = int(self.metric.n_features_in_)
        if n_columns != expected:
            raise UserError(
                f"{self.file} was learned from {expected} columns, but {file} has {n_columns}: "
                "choose the same with --columns."
            )

    def embed(self, rows: Floats) -> Floats:
        """Embedded rows (n, q)."""
        return np.asarray(self.metric.transform(rows))

    def distances(self, rows: RowStream, ends: Ints) -> Floats:
        """Learned distances (k,) of pairs of row numbers (k, 2); only their rows are in memory."""
        if not len(ends):
            return np.empty(0)
        numbers, places = np.unique(ends, return_inverse=True)
        Z = self.embed(rows.take(numbers))
        return np.asarray(linked_distances(Z, places.reshape(ends.shape)), dtype=np.float64)

    @property
    def verdicts(self) -> Verdicts:
        """Threshold and probabilities by which distances mean same or different."""
        return read_verdicts(self.metric)

    @property
    def held_out(self) -> Quality | None:
        """Quality on pairs held out while the model was chosen; None if it holds none."""
        found: Quality | None = getattr(find_report(self.metric), "quality", None)
        return found

    @property
    def output_names(self) -> list[str]:
        """Names of the columns of embedded rows."""
        return [str(name) for name in self.metric.get_feature_names_out()]

    @property
    def scaler(self) -> Any:
        """The model's first step if that is a StandardScaler, else None."""
        first = getattr(self.metric, "steps_", [None])[0]
        return first if type(first).__name__ == "StandardScaler" else None


# Small numbers by which ``nearkin evaluate`` knows rows again that a metric was learned from.
Marks = NDArray[np.uint32]
_MARKS_SEED = 7
# Rows that are marked at a time, so that they stay in a core's cache.
_PIECE_ROWS = 8192


def mark_rows(X: Any) -> Marks:
    """Marks (n,) of rows: 32-bit hashes, by which rows are recognised later.

    The same for float32 and float64, so that rows are known again from a file of another kind.
    """
    # Sums of products with random numbers, of which the upper half is kept: any two rows that
    # differ have the same mark with probability 2⁻³². The raw numbers are the same everywhere.
    factors = np.random.PCG64(_MARKS_SEED).random_raw(X.shape[1] + 1)
    marks = np.empty(len(X), dtype=np.uint32)
    for start in range(0, len(X), _PIECE_ROWS):
        piece = slice(start, start + _PIECE_ROWS)
        with np.errstate(over="ignore"):
            rows = np.ascontiguousarray(X[piece], dtype=np.float32) + np.float32(0)  # -0 is 0
            sums = rows.view(np.uint32).astype(np.uint64) @ factors[1:] + factors[0]
        marks[piece] = sums >> np.uint64(32)
    return marks


def add_marks(marks: Marks, X: Any) -> Marks:
    """Union of marks and those of further rows, sorted, the smallest 16 384."""
    found = mark_rows(X)
    if len(marks) == MOST_MARKS:  # which most rows do not reach
        found = found[found < marks[-1]]
    return np.union1d(marks, found)[:MOST_MARKS]


def count_known(marks: Marks, X: Any) -> int | None:
    """Number of rows that are among those that marks were made of, estimated beyond 16 384.

    None if these rows allow no estimate, since none would have been marked.
    """
    found = mark_rows(X)
    telling = found if len(marks) < MOST_MARKS else found[found <= marks[-1]]
    if not len(telling):
        return None if len(found) else 0
    return round(len(found) * float(np.isin(telling, marks).mean()))


class MarkedRows:
    """Rows of a stream for a learner to read, which computes their marks meanwhile."""

    def __init__(self, rows: RowStream) -> None:
        self.rows = rows.read_by(self._read, len(rows))
        self._given = rows
        self._found: Marks | None = None

    def _read(self, wanted: NDArray[np.int64] | None) -> Iterator[Block]:
        """Blocks of rows; marks are kept once all have been read."""
        if wanted is not None or self._found is not None:
            yield from self._given.blocks(wanted)
            return
        marks = np.empty(0, dtype=np.uint32)
        for block in self._given.blocks():
            marks = add_marks(marks, block.rows)
            yield block
        self._found = marks

    def marks(self) -> Marks:
        """Marks of the rows, read for that unless they were."""
        if self._found is None:
            for _ in self.rows.blocks():
                pass
        assert self._found is not None
        return self._found
