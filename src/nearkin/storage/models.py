"""Fitted learners in a file: written, read, and described.

A model file is a file of :mod:`nearkin.storage.arrays` that holds what
:mod:`nearkin.storage.schema` makes of a learner. Nothing in it is code, and only classes of the
register in :mod:`nearkin.storage.schema` can be built from it.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, get_type_hints

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from nearkin._version import __version__
from nearkin.messages import mute_third_party
from nearkin.storage.arrays import (
    Header,
    StorageError,
    make_printable,
    read_arrays,
    read_header,
    write_arrays,
)
from nearkin.storage.files import StrPath
from nearkin.storage.schema import (
    Packed,
    fields_of,
    find_cost,
    pack,
    unpack,
)

__all__ = ["Facts", "ModelInfo", "Trial", "describe", "load", "load_with_facts", "save"]

KIND = "nearkin model"
# Version of files; others are refused. A change of what a stored class keeps is a new one.
VERSION = 7
# The array of marks; no attribute has a name with a space.
_MARKS = "learned rows"
# Of rows: 64 kB.
MOST_MARKS = 1 << 14
_MOST_TRIALS = 100
# Of all learners in a model together: a file of a few bytes can claim any number.
_MOST_COLUMNS = 1 << 24
# Models that take more than so many bytes, and twice their size, to embed a row are not tried.
_MOST_TO_TRY = 48 << 20
# How values and ends of intervals are called.
_ENDS = {"value": "", "low": "_low", "high": "_high"}
_SAID_ELSEWHERE = ("n_features_in_", "n_components_", "learned_from_")


def to_plain_dict(node: Any) -> dict[str, Any] | None:
    """Plain values of a packed dict, by name; None for anything else."""
    match node:
        case {"dict": dict(values), **rest} if not rest:
            return {str(name): to_json_value(value) for name, value in values.items()}
    return None


def summarise_state(state: dict[str, Any]) -> dict[str, Any]:
    """Summary of a packed learner: fitted numbers and texts, and its report, by attribute."""
    found = {
        name: to_json_value(value) for name, value in state.items() if not name.startswith("_")
    }
    for part in [state, *(step["state"] for step in state.get("steps_", []))]:
        if "report_" in part:
            said = part["report_"]["state"]
            found["report_"] = " ".join(filter(None, [said["reason"], said.get("columns")]))
            if who := said.get("answerers"):
                found["answerers_"] = [_describe_answerer(one["state"]) for one in who]
            if quality := said.get("quality"):
                found["held_out_"] = {
                    name: {end: float(value) for end, value in figure["state"].items()}
                    for name, figure in quality["state"].items()
                    if isinstance(figure, dict) and figure["class"] == "Estimate"
                }
    return {
        name: value
        for name, value in found.items()
        if name not in _SAID_ELSEWHERE and not _is_left_out(value)
    }


def read_table_kinds(state: dict[str, Any]) -> dict[str, str] | None:
    """Kinds of a table's columns by name, from a packed learner; None without a table."""
    table = state.get("table_") or next(iter(state.get("steps_", [])), None)
    if table is None or table["class"] != "TableEncoder":
        return None
    return to_plain_dict(table["state"]["kinds_"])


def _describe_answerer(said: dict[str, Any]) -> dict[str, Any]:
    """Name, number of answers and error rate of one person, from a packed report."""
    rate = said["wrong"]["state"]
    return {
        "name": str(said["name"]),
        "answers": int(said["n_answers"]),
        **{f"wrong{end}": float(rate[name]) for name, end in _ENDS.items()},
    }


def _is_left_out(value: Any) -> bool:
    """Whether a value is, or contains, a placeholder for one that is not shown."""
    return isinstance(value, _Text) or (isinstance(value, list) and any(map(_is_left_out, value)))


class _Text(str):
    """Placeholder for a value that is not shown, printed without quotes."""

    def __repr__(self) -> str:
        return str(self)


def to_json_value(node: Any) -> Any:
    """Plain JSON of a packed parameter; placeholders for arrays and objects."""
    match node:
        case {"float": str(value)}:
            return float(value)
        case {"number": value}:
            return to_json_value(value)
        case {"tuple": list(values)} | list(values):
            return [to_json_value(value) for value in values]
        case {"class": str(name)}:
            return _Text(f"{name}(...)" if name.isidentifier() else "?")
        case dict():
            return _Text("array" if "array" in node else "...")
    return node


def find_training_rows(
    node: Any, header: Header, path: str
) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Paths and shapes of training rows in a packed model."""
    match node:
        case {"tuple": list(items)} | list(items):
            parts = {str(i): part for i, part in enumerate(items)}
        case {"class": str(name), "state": dict(parts)}:
            for field, spec in fields_of(name).items():
                if spec.training_rows and field in parts:
                    yield f"{path}.{field}".lstrip("."), _packed_shape(parts[field], header)
        case _:
            return
    for name, part in parts.items():
        yield from find_training_rows(part, header, f"{path}.{name}")


def _packed_shape(node: Any, header: Header) -> tuple[int, ...]:
    if "sparse" in node:
        return tuple(int(n) for n in node["shape"])
    shape = header.arrays[node["array"]][1]
    return shape[::-1] if node.get("order") == "F" else shape


@dataclass(frozen=True)
class Trial:
    """Scores of a model, and of the Euclidean distance, on held-out rows.

    Attributes
    ----------
    judged_by : str
        "pairs", "triplets" or "labels".
    measure : str
    learned, euclidean : float
    pairs, rows : int
        How many pairs (or triplets) and rows there were.

    Examples
    --------
    >>> import nearkin as nk
    >>> trial = nk.model_file.Trial(
    ...     "pairs", "pair AUC", learned=0.9, euclidean=0.7, pairs=40, rows=80
    ... )
    >>> trial.learned > trial.euclidean
    True
    """

    judged_by: str
    measure: str
    learned: float
    euclidean: float
    pairs: int
    rows: int


_TRIAL = get_type_hints(Trial)


@dataclass(frozen=True)
class Facts:
    """Metadata of a model beyond what it has learned; empty if there is none.

    Attributes
    ----------
    marks : uint32 ndarray or None
        Of the rows that it was learned from, increasing: ``nearkin fit`` keeps some, by which
        ``nearkin evaluate`` knows these rows again.
    tested : list of Trial

    Examples
    --------
    >>> import nearkin as nk
    >>> nk.model_file.Facts()
    Facts(marks=None, tested=())
    """

    marks: NDArray[np.uint32] | None = None
    tested: Sequence[Trial] = ()


def save(
    metric: Any, path: StrPath, *, forget_names: bool = False, facts: Facts | None = None
) -> None:
    """Write a fitted learner to a file; see :meth:`nearkin.KernelBeta.save`.

    Examples
    --------
    >>> import tempfile
    >>> import nearkin as nk
    >>> metric = nk.RCA().fit([[0.0, 0], [1, 0], [0, 5]], pairs=nk.Pairs([(0, 1)]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     nk.model_file.save(metric, f"{folder}/example.nearkin")
    """
    packed = pack(metric, ("feature_names_in_", "vector_column_") if forget_names else ())
    n_bytes = sum(array.nbytes for array in packed.arrays.values())
    _embed_a_row(metric, "this metric cannot be stored", n_bytes)
    content: dict[str, Any] = {"nearkin": __version__, "model": packed.node}
    arrays = dict(packed.arrays)
    if facts is not None and facts.marks is not None:
        arrays[_MARKS] = facts.marks
    if facts is not None and facts.tested:
        content["tested"] = [
            {name: getattr(test, name) for name in _TRIAL}
            for test in facts.tested
            if math.isfinite(test.learned) and math.isfinite(test.euclidean)
        ]
    write_arrays(path, KIND, VERSION, arrays, content)


def load(path: StrPath) -> Any:
    """Read a fitted learner from a file; see :func:`nearkin.load`.

    Examples
    --------
    >>> import tempfile
    >>> import nearkin as nk
    >>> metric = nk.RCA().fit([[0.0, 0], [1, 0], [0, 5]], pairs=nk.Pairs([(0, 1)]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     metric.save(f"{folder}/example.nearkin")
    ...     nk.model_file.load(f"{folder}/example.nearkin")
    RCA()
    """
    return load_with_facts(path)[0]


def load_with_facts(path: StrPath) -> tuple[Any, Facts]:
    """Read a fitted learner and its metadata from a file; see :func:`load`.

    Examples
    --------
    >>> import tempfile
    >>> import nearkin as nk
    >>> metric = nk.RCA().fit([[0.0, 0], [1, 0], [0, 5]], pairs=nk.Pairs([(0, 1)]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     metric.save(f"{folder}/example.nearkin")
    ...     metric, facts = nk.model_file.load_with_facts(f"{folder}/example.nearkin")
    """
    arrays, content = read_arrays(path, KIND, VERSION)
    with _blame_file(path):
        marks = arrays.pop(_MARKS, None)
        if marks is not None:
            may_be = marks.dtype == np.uint32 and marks.ndim == 1 and len(marks) <= MOST_MARKS
            if not may_be or (marks[1:] <= marks[:-1]).any():
                raise StorageError(f"{_MARKS!r} are no marks of rows.")
        facts = Facts(marks, _read_trials(content))
        metric = unpack(Packed(_find_model(content), arrays))
        if not hasattr(metric, "threshold_"):
            raise StorageError("it holds no fitted learner.")
        del content
        _embed_a_row(metric, "it does not fit together", os.path.getsize(path))
    return metric, facts


@dataclass(frozen=True)
class ModelInfo:
    """Description of the contents of a model file. Print it.

    Attributes
    ----------
    learner : str
    parameters : dict
        Values as JSON has them; learners and arrays as a text.
    n_features, n_components : int
    feature_names : list of str or None
        None if there were none, or they were left out.
    learned_from : dict or None
        Numbers of rows, must-links, cannot-links, labels and classes, if known.
    summary : dict
        Numbers and texts that were learned, ``threshold_`` among them.
    training_rows : dict
        Shapes of rows of the training data by their place in the model, such as landmarks, as they
        are or as an earlier step transforms them.
    numbers : dict
        How many numbers there are of each type.
    size : int
        Bytes of the file.
    format_version : int
    nearkin_version : str
    tested : list of Trial
        How well it did on rows that were kept apart.
    n_marks : int
        How many rows it was learned from are marked, so that they are known again.
    kinds : dict or None
        Kinds of the columns of the table that it was learned from, if that had words.

    Examples
    --------
    >>> import tempfile
    >>> import nearkin as nk
    >>> metric = nk.RCA().fit([[0.0, 0], [1, 0], [0, 5]], pairs=nk.Pairs([(0, 1)]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     metric.save(f"{folder}/example.nearkin")
    ...     info = nk.model_file.describe(f"{folder}/example.nearkin")
    >>> info.learner, info.n_features, info.n_components, info.learned_from["must_links"]
    ('RCA', 2, 2, 1)
    """

    learner: str
    parameters: dict[str, Any]
    n_features: int
    feature_names: list[str] | None
    n_components: int
    learned_from: dict[str, Any] | None
    summary: dict[str, Any]
    training_rows: dict[str, tuple[int, ...]]
    numbers: dict[str, int]
    size: int
    format_version: int
    nearkin_version: str
    tested: list[Trial] = field(default_factory=list)
    n_marks: int = 0
    kinds: dict[str, str] | None = None

    def __str__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self.parameters.items())
        learned = ", ".join(f"{name} = {value!r}" for name, value in self.summary.items())
        counts = {} if self.learned_from is None else self.learned_from
        said = (f"{n} {name.replace('_', '-')}" for name, n in counts.items() if n)
        told = "not known" if self.learned_from is None else ", ".join(said)
        kept = "; ".join(f"{shape[0]} in {place}" for place, shape in self.training_rows.items())
        if kept:
            kept += ". Landmarks are such rows: whoever has this file can read them."
        numbers = ", ".join(f"{n} of {dtype}" for dtype, n in self.numbers.items())
        kinds = []
        if self.kinds is not None:
            shown = ", ".join(f"{name!r} ({kind})" for name, kind in self.kinds.items())
            kinds = [f"table: {shown}"]
        names = "not kept" if self.feature_names is None else str(self.feature_names)
        lines = [
            f"{self.learner}({given})",
            f"from {self.n_features} columns to {self.n_components}",
            f"column names: {names}",
            *kinds,
            f"learned from: {told}",
            f"learned: {learned}",
            f"rows of the training data: {kept or 'none'}",
            f"numbers: {numbers or 'none'}",
            f"{self.size} bytes, format version {self.format_version}, "
            f"written by nearkin {self.nearkin_version}",
        ]
        return make_printable("\n".join(lines))


def describe(path: StrPath) -> ModelInfo:
    """Describe the contents of a model file, without reading its arrays.

    What is said comes from the file's header, as it is: only :func:`load` checks it.

    Raises
    ------
    StorageError
        As for :func:`load`, but for damaged arrays.

    Examples
    --------
    >>> import tempfile, nearkin as nk
    >>> metric = nk.RCA().fit([[0.0, 0], [1, 0], [0, 5]], pairs=nk.Pairs([(0, 1)]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     metric.save(f"{folder}/example.nearkin")
    ...     nk.model_file.describe(f"{folder}/example.nearkin").learner
    'RCA'
    """
    header = read_header(path, KIND, VERSION)
    with _blame_file(path):
        node = _find_model(header.content)
        state = node["state"]
        names = state.get("feature_names_in_")
        numbers: dict[str, int] = {}
        for dtype, _, begin, end in header.arrays.values():
            numbers[dtype] = numbers.get(dtype, 0) + (end - begin) // np.dtype(dtype).itemsize
        return ModelInfo(
            learner=str(node["class"]),
            parameters={name: to_json_value(value) for name, value in node["parameters"].items()},
            n_features=int(state["n_features_in_"]),
            feature_names=None if names is None else [str(name) for name in names["words"]],
            n_components=int(state["n_components_"]),
            learned_from=to_plain_dict(state.get("learned_from_")),
            summary=summarise_state(state),
            training_rows=dict(find_training_rows(node, header, "")),
            numbers=numbers,
            size=header.size,
            format_version=header.version,
            nearkin_version=str(header.content["nearkin"]),
            tested=_read_trials(header.content),
            n_marks=header.arrays[_MARKS][1][0] if _MARKS in header.arrays else 0,
            kinds=read_table_kinds(state),
        )


def _find_model(content: Any) -> Any:
    """The packed model in a file's JSON content."""
    match content:
        case {"nearkin": str(), "model": dict(node), **rest} if rest.keys() <= {"tested"}:
            return node
    raise StorageError(
        "the facts about its fit are not those that a model file has: it was damaged or changed."
    )


def _read_trials(content: Any) -> list[Trial]:
    """Test scores in a file's JSON content, checked."""
    given = content.get("tested", []) if isinstance(content, dict) else []
    few = isinstance(given, list) and len(given) <= _MOST_TRIALS
    if not few or not all(
        isinstance(test, dict) and {name: type(value) for name, value in test.items()} == _TRIAL
        for test in given
    ):
        raise StorageError(
            "what it says of its test has not the form of a model file: it was damaged or changed."
        )
    return [Trial(**test) for test in given]


def _embed_a_row(metric: Any, otherwise: str, size: int) -> None:
    """Raise, beginning with ``otherwise``, unless the model embeds a row of zeros.

    Where its table has words, a row of missing cells. Not tried if that would take much more memory
    than the model's ``size`` in bytes.
    """
    columns, n_bytes, has_sparse_rows = find_cost(metric)
    if columns > _MOST_COLUMNS:
        raise StorageError(
            f"{otherwise}: {columns} columns are more than {_MOST_COLUMNS}, for all learners in it "
            "together."
        )
    if n_bytes > 2 * size + _MOST_TO_TRY:
        return
    # What takes any rows and is stored begins with a TableEncoder.
    of_gaps = bool(getattr(metric, "_sees_any_rows", False))
    row: Any = np.full((1, int(metric.n_features_in_)), np.nan if of_gaps else 0.0)
    if has_sparse_rows:
        row = sp.csr_array(row)

    def try_on(method: Any, rows: Any) -> Any:
        try:
            return method(rows)
        except Exception as error:
            raise StorageError(f"{otherwise}: {error}") from error

    # scikit-learn warns of rows without names of columns, which new rows may well have.
    with mute_third_party(), np.errstate(all="ignore"):
        if (table := getattr(metric, "table_", None)) is not None:
            found = try_on(table.transform, np.full((1, int(table.n_features_in_)), np.nan))
            if found.shape != (1, metric.n_features_in_):
                made = found.shape[1]
                raise StorageError(f"{otherwise}: of its table it makes {made} numbers a row.")
        # Without rows that were kept there are no neighbours.
        keeps_rows = getattr(metric, "_known", row).shape[0] > 0
        for name in ("_embed", *(("predict", "kneighbors") if keeps_rows else ())):
            if not hasattr(metric, name):
                continue
            found = try_on(getattr(metric, name), row)
            if name == "_embed" and found.shape != (1, metric.n_components_):
                raise StorageError(f"{otherwise}: a row's image has shape {found.shape}.")


@contextmanager
def _blame_file(path: StrPath) -> Iterator[None]:
    """Turn any error in the block into a StorageError that names the file."""
    try:
        yield
    except Exception as error:
        raise StorageError(f"{os.fspath(path)} holds no whole model: {error}") from error


def __dir__() -> list[str]:
    return __all__
