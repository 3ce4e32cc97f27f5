"""Fitted learners in a file: written, read, and described.

A model file is a file of :mod:`nearkin.storage.arrays` that holds what
:mod:`nearkin.storage.packing` makes of a learner. Nothing in it is code, and only classes of the
register in :mod:`nearkin.storage.schema` can be built from it.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from nearkin._version import __version__
from nearkin.storage.arrays import (
    Header,
    StorageError,
    printable,
    read_arrays,
    read_header,
    write_arrays,
)
from nearkin.storage.claims import bytes_to_embed, claimed_columns, has_sparse_rows
from nearkin.storage.packing import Packed, pack, unpack
from nearkin.storage.row_marks import Marks, are_marks
from nearkin.storage.schema import fields_of
from nearkin.storage.silence import silenced
from nearkin.storage.whole_file import StrPath

__all__ = ["Facts", "ModelInfo", "Trial", "describe", "load", "load_with_facts", "save"]

KIND = "nearkin model"
# Format versions that are read, and that is written: the last. A change of what a class keeps is a
# new version; load then says what becomes of files of the ones before.
# Files of version 1 do not say how much a learner was told. Those of version 2 know nothing of the
# rows that it was learned from and tested on, of the column that these were, and of what missing
# cells are filled with. Those of version 3 hold no maps, but what a map is made of: learners make
# one of it (nearkin.learners.older_files).
OLDEST, NEWEST = 1, 4
# The array of marks; no attribute has a name with a space.
_MARKS = "learned rows"
_MOST_TRIALS = 100
# Of all learners in a model together: a file of a few bytes can claim any number.
_MOST_COLUMNS = 1 << 24
# Models that take more than so many bytes, and twice their size, to embed a row are not tried.
_MOST_TO_TRY = 48 << 20
_SAID_ELSEWHERE = ("n_features_in_", "n_components_", "learned_from_")


@dataclass(frozen=True)
class Trial:
    """How well a model did on rows that were kept apart.

    Attributes
    ----------
    judged_by : str
        "pairs", "triplets" or "labels".
    measure : str
    learned, euclidean : float
        Of the model, and of the Euclidean distance.
    pairs, rows : int
        How many pairs (or triplets) and rows it was judged by.
    """

    judged_by: str
    measure: str
    learned: float
    euclidean: float
    pairs: int
    rows: int


_TRIAL = {
    "judged_by": str, "measure": str, "learned": float, "euclidean": float, "pairs": int,
    "rows": int,
}  # fmt: skip


@dataclass(frozen=True)
class Facts:
    """What is known of a model beside what it has learned; empty if nothing is.

    Attributes
    ----------
    marks : uint32 ndarray or None
        Of the rows that it was learned from: :func:`nearkin.storage.row_marks.smallest_marks`.
    tested : list of Trial
    """

    marks: Marks | None = None
    tested: Sequence[Trial] = ()


def save(
    metric: Any, path: StrPath, *, forget_names: bool = False, facts: Facts | None = None
) -> None:
    """Write a fitted learner; see :meth:`nearkin.KernelBeta.save`."""
    packed = pack(metric, ("feature_names_in_", "vector_column_") if forget_names else ())
    _try(metric, "this metric cannot be stored", sum(a.nbytes for a in packed.arrays.values()))
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
    write_arrays(path, KIND, NEWEST, arrays, content)


def load(path: StrPath) -> Any:
    """Fitted learner from a file that its ``save`` wrote.

    Nothing in the file is run, and all of it is checked: its digest, the parameters by the
    learner's own rules, the shape of every array, and that a row can be embedded, where that takes
    little memory beside the file (up to about a thousand landmarks). Loading takes at most four
    times the size of the file and 100 MB, whatever the file says.

    Parameters
    ----------
    path : path

    Returns
    -------
    learner
        The same as was saved; ``transform`` gives the same to the last bit with the same versions
        of NumPy and its libraries. What ``set_output`` asked for is not kept.

    Raises
    ------
    StorageError
        If the file is damaged, no model, or of a version that this nearkin does not read.

    Examples
    --------
    >>> import tempfile, nearkin
    >>> metric = nearkin.RCA().fit([[0.0, 0], [1, 0], [0, 5]], pairs=nearkin.Pairs([(0, 1)]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     metric.save(f"{folder}/example.nearkin")
    ...     nearkin.load(f"{folder}/example.nearkin")
    RCA()
    """
    return load_with_facts(path)[0]


def load_with_facts(path: StrPath) -> tuple[Any, Facts]:
    """Fitted learner, and what is known of it beside; see :func:`load`."""
    arrays, content = read_arrays(path, KIND, (OLDEST, NEWEST))
    with _refusing(path):
        marks = arrays.pop(_MARKS, None)
        if marks is not None and not are_marks(marks):
            raise StorageError(f"{_MARKS!r} are no marks of rows.")
        facts = Facts(marks, _tested(content))
        metric = unpack(Packed(_model(content), arrays))
        if not hasattr(metric, "threshold_"):
            raise StorageError("it holds no fitted learner.")
        del content
        _try(metric, "it does not fit together", os.path.getsize(path))
    return metric, facts


@dataclass(frozen=True)
class ModelInfo:
    """What a model file holds. Print it.

    Attributes
    ----------
    learner : str
    parameters : dict
        Values as JSON has them; learners and arrays as a text.
    n_features : int
    feature_names : list of str or None
        None if there were none, or they were left out.
    n_components : int
    learned_from : dict or None
        How many rows, must-links, cannot-links, labels and classes there were; None if that is not
        known.
    summary : dict
        Numbers and texts that were learned, ``threshold_`` among them.
    training_rows : dict
        Where in the model rows of the training data are kept, as they are or as an earlier step
        transforms them, such as landmarks: shapes by place.
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

    def __str__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self.parameters.items())
        learned = ", ".join(f"{name} = {value!r}" for name, value in self.summary.items())
        told = "not known" if self.learned_from is None else _told(self.learned_from)
        kept = "; ".join(f"{shape[0]} in {place}" for place, shape in self.training_rows.items())
        if kept:
            kept += ". Landmarks are such rows: whoever has this file can read them."
        numbers = ", ".join(f"{n} of {dtype}" for dtype, n in self.numbers.items())
        names = "not kept" if self.feature_names is None else str(self.feature_names)
        lines = [
            f"{self.learner}({given})",
            f"from {self.n_features} columns to {self.n_components}",
            f"column names: {names}",
            f"learned from: {told}",
            f"learned: {learned}",
            f"rows of the training data: {kept or 'none'}",
            f"numbers: {numbers or 'none'}",
            f"{self.size} bytes, format version {self.format_version}, "
            f"written by nearkin {self.nearkin_version}",
        ]
        return printable("\n".join(lines))


def describe(path: StrPath) -> ModelInfo:
    """What a model file holds, without reading its arrays.

    What is said comes from the file's header, as it is: only :func:`load` checks it.

    Parameters
    ----------
    path : path

    Raises
    ------
    StorageError
        As for :func:`load`, but for damaged arrays.

    Examples
    --------
    >>> import tempfile, nearkin
    >>> metric = nearkin.RCA().fit([[0.0, 0], [1, 0], [0, 5]], pairs=nearkin.Pairs([(0, 1)]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     metric.save(f"{folder}/example.nearkin")
    ...     info = nearkin.storage.models.describe(f"{folder}/example.nearkin")
    >>> info.learner, info.n_features, info.training_rows
    ('RCA', 2, {})
    """
    header = read_header(path, KIND, (OLDEST, NEWEST))
    with _refusing(path):
        node = _model(header.content)
        state = node["state"]
        names = state.get("feature_names_in_")
        numbers: dict[str, int] = {}
        for dtype, _, begin, end in header.arrays.values():
            numbers[dtype] = numbers.get(dtype, 0) + (end - begin) // np.dtype(dtype).itemsize
        return ModelInfo(
            learner=str(node["class"]),
            parameters={name: _plain(value) for name, value in node["parameters"].items()},
            n_features=int(state["n_features_in_"]),
            feature_names=None if names is None else [str(name) for name in names["words"]],
            n_components=int(state["n_components_"]),
            learned_from=_plain_dict(state.get("learned_from_")),
            summary=_summary(state),
            training_rows=dict(_training_rows(node, header, "")),
            numbers=numbers,
            size=header.size,
            format_version=header.version,
            nearkin_version=str(header.content["nearkin"]),
            tested=_tested(header.content),
            n_marks=header.arrays[_MARKS][1][0] if _MARKS in header.arrays else 0,
        )


def _model(content: Any) -> Any:
    match content:
        case {"nearkin": str(), "model": dict(node), **rest} if rest.keys() <= {"tested"}:
            return node
    raise StorageError(
        "the facts about its fit are not those that a model file has: it was damaged or changed."
    )


def _tested(content: Any) -> list[Trial]:
    given = content.get("tested", []) if isinstance(content, dict) else []
    few = isinstance(given, list) and len(given) <= _MOST_TRIALS
    if not few or not all(isinstance(test, dict) and _types(test) == _TRIAL for test in given):
        raise StorageError(
            "what it says of its test has not the form of a model file: it was damaged or changed."
        )
    return [Trial(**test) for test in given]


def _types(values: dict[str, Any]) -> dict[str, type]:
    return {name: type(value) for name, value in values.items()}


def _told(counts: dict[str, Any]) -> str:
    return ", ".join(f"{n} {name.replace('_', '-')}" for name, n in counts.items() if n)


def _plain_dict(node: Any) -> dict[str, Any] | None:
    match node:
        case {"dict": dict(values), **rest} if not rest:
            return {str(name): _plain(value) for name, value in values.items()}
    return None


def _summary(state: dict[str, Any]) -> dict[str, Any]:
    """Numbers and texts at the top, and the reason for a choice, here or in a step."""
    found = {name: _plain(value) for name, value in state.items() if not name.startswith("_")}
    for part in [state, *(step["state"] for step in state.get("steps_", []))]:
        if "report_" in part:
            said = part["report_"]["state"]
            found["report_"] = " ".join(filter(None, [said["reason"], said.get("columns")]))
    return {
        name: value
        for name, value in found.items()
        if name not in _SAID_ELSEWHERE and not _is_left_out(value)
    }


def _is_left_out(value: Any) -> bool:
    return isinstance(value, _Text) or (isinstance(value, list) and any(map(_is_left_out, value)))


class _Text(str):
    """Stands for a value that is not shown."""

    def __repr__(self) -> str:
        return str(self)


def _plain(node: Any) -> Any:
    """A parameter or number as plain JSON, without arrays."""
    match node:
        case {"float": str(value)}:
            return float(value)
        case {"number": value}:
            return _plain(value)
        case {"tuple": list(values)} | list(values):
            return [_plain(value) for value in values]
        case {"class": str(name)}:
            return _Text(f"{name}(...)" if name.isidentifier() else "?")
        case dict():
            return _Text("array" if "array" in node else "...")
    return node


def _training_rows(node: Any, header: Header, path: str) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Places of training rows in a packed model, with their shapes."""
    match node:
        case list():
            parts = {str(i): part for i, part in enumerate(node)}
        case {"tuple": list(items)}:
            parts = {str(i): part for i, part in enumerate(items)}
        case {"class": str(name), "state": dict(parts)}:
            for field, spec in fields_of(name).items():
                if spec.training_rows and field in parts:
                    yield f"{path}.{field}".lstrip("."), _shape(parts[field], header)
        case _:
            return
    for name, part in parts.items():
        yield from _training_rows(part, header, f"{path}.{name}")


def _shape(node: Any, header: Header) -> tuple[int, ...]:
    if "sparse" in node:
        return tuple(int(n) for n in node["shape"])
    shape = header.arrays[node["array"]][1]
    return shape[::-1] if node.get("order") == "F" else shape


def _try(metric: Any, otherwise: str, size: int) -> None:
    """Embed a row of zeros: whatever does not fit together shows.

    What would take much more memory than its size in bytes is left to the first use, as it was
    before the model was saved; extensions refuse coordinates that are not theirs.
    """
    columns = claimed_columns(metric)
    if columns > _MOST_COLUMNS:
        raise StorageError(
            f"{otherwise}: {columns} columns are more than {_MOST_COLUMNS}, for all learners in it "
            "together."
        )
    if bytes_to_embed(metric) > 2 * size + _MOST_TO_TRY:
        return
    row: Any = np.zeros((1, int(metric.n_features_in_)))
    if has_sparse_rows(metric):
        row = sp.csr_array(row)
    # scikit-learn warns of rows without names of columns, which new rows may well have.
    with silenced(), np.errstate(all="ignore"):
        for name in ("_embedded", "predict", "kneighbors"):
            if not hasattr(metric, name):
                continue
            try:
                found: NDArray[Any] = getattr(metric, name)(row)
            except Exception as error:
                raise StorageError(f"{otherwise}: {error}") from error
            if name == "_embedded" and found.shape != (1, metric.n_components_):
                raise StorageError(f"{otherwise}: a row's image has shape {found.shape}.")


@contextmanager
def _refusing(path: StrPath) -> Iterator[None]:
    """Whatever goes wrong with a file's content is the file's fault, and is said so."""
    try:
        yield
    except Exception as error:
        raise StorageError(f"{os.fspath(path)} holds no whole model: {error}") from error


def __dir__() -> list[str]:
    return __all__
