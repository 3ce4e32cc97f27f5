"""What may be stored, and what each class keeps: the only classes that a file can bring to life.

A class says what it keeps in a decorator, as it says in ``_parameter_constraints`` what it takes::

    @stored(landmarks=a("KernelLandmarks"), eigenvalues=floats("q"), eigenvectors=floats("m q"))
    class NystroemExtension: ...

Of an estimator these are the fitted attributes, beside its parameters; of any other class they are
the arguments it is made of. A letter is a size that is the same wherever it stands in a class.
Both directions of :mod:`nearkin.storage.packing` :func:`check` what was said, so that a file holds
it and a model made of a file does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from nearkin.storage.arrays import StorageError
from nearkin.storage.lookup import import_named

Array = NDArray[Any]
Sizes = dict[str, int]

SPARSE = {"csr_matrix": sp.csr_matrix, "csr_array": sp.csr_array}
SPARSE_TYPES = (sp.csr_matrix, sp.csr_array)


@dataclass(frozen=True)
class Spec:
    """What a value must be.

    Attributes
    ----------
    what : str
        In words.
    fits : callable
        Whether a value is that, given sizes that are known; it adds those it meets.
    may_be_absent : bool
    training_rows : bool
        Whether these are rows of the training data.
    """

    what: str
    fits: Callable[[Any, Sizes], bool]
    may_be_absent: bool = False
    training_rows: bool = False


Fields = dict[str, Spec]
_FIELDS: dict[type, Fields] = {}
_CLASSES: dict[str, type] = {}
State = dict[str, Any]
_OF_OLDER_FILES: dict[type, Callable[[State], State]] = {}
_Class = TypeVar("_Class", bound=type)
_Made = TypeVar("_Made")


def stored(**fields: Spec) -> Callable[[_Class], _Class]:
    """Let a class be stored, with these fields."""

    def register(cls: _Class) -> _Class:
        _FIELDS[cls] = fields
        _CLASSES[cls.__name__] = cls
        return cls

    return register


def of_older_files(cls: type, as_now: Callable[[State], State]) -> None:
    """Let files be read that keep other things of a class than it does now.

    Parameters
    ----------
    cls : type
    as_now : callable
        Of what a file keeps; gives what is kept now, or the same if it is that.
    """
    _OF_OLDER_FILES[cls] = as_now


def as_now(cls: type, state: State) -> State:
    """What a file keeps of a class, as it is kept now."""
    return _OF_OLDER_FILES[cls](state) if cls in _OF_OLDER_FILES and state else state


def made(cls: type[_Made], state: State, path: str = "") -> _Made:
    """An object of a class that is stored, of what a file keeps of it at some place."""
    check(cls, state, path)
    return cls(**state)


real = Spec("a number", lambda value, _: isinstance(value, Real) and not isinstance(value, bool))
truth = Spec("True or False", lambda value, _: isinstance(value, bool))
text = Spec("a text", lambda value, _: isinstance(value, str))
positive = Spec(
    "a positive number", lambda value, _: real.fits(value, {}) and 0 < float(value) < np.inf
)
estimator = Spec(
    "an estimator", lambda value, _: is_stored(type(value)) and isinstance(value, BaseEstimator)
)
share = Spec(
    "a number between 0 and 1", lambda value, _: real.fits(value, {}) and 0 < float(value) < 1
)
chance = Spec(
    "a number from 0 to 1", lambda value, _: real.fits(value, {}) and 0 <= float(value) <= 1
)
whole = Spec("a whole number, not negative", lambda value, _: _is_whole(value))


def size(letter: str) -> Spec:
    """A whole number that is a size of arrays too."""
    return Spec(
        f"the size {letter} of the other arrays",
        lambda value, sizes: _is_whole(value) and sizes.setdefault(letter, value) == value,
    )


def floats(letters: str) -> Spec:
    """Finite numbers in an array of this shape, one letter for each axis."""
    return Spec(
        f"an array of finite numbers of shape ({letters})",
        lambda value, sizes: _is_finite(value) and _has_shape(value, letters, sizes),
    )


def positive_floats(letters: str) -> Spec:
    """Finite numbers above 0 in an array of this shape."""
    return Spec(
        f"an array of finite positive numbers of shape ({letters})",
        lambda value, sizes: floats(letters).fits(value, sizes) and bool((value > 0).all()),
    )


def numbers(letters: str) -> Spec:
    """Numbers that nothing is computed from, so that they may be infinite or NaN."""
    return Spec(
        f"an array of numbers of shape ({letters})",
        lambda value, sizes: (
            isinstance(value, np.ndarray)
            and value.dtype.kind == "f"
            and _has_shape(value, letters, sizes)
        ),
    )


def ints(letters: str, below: str | None = None) -> Spec:
    """Whole numbers from 0 on, and below a size."""

    def fits(value: Any, sizes: Sizes) -> bool:
        if not (isinstance(value, np.ndarray) and value.dtype.kind in "iu"):
            return False
        if not _has_shape(value, letters, sizes) or value.min(initial=0) < 0:
            return False
        return below is None or value.max(initial=-1) < sizes[below]

    limit = "" if below is None else f" below {below}"
    return Spec(f"an array of row numbers{limit} of shape ({letters})", fits)


def labels(letters: str) -> Spec:
    """Class labels: an array of numbers or words."""
    return Spec(
        f"an array of labels of shape ({letters})",
        lambda value, sizes: isinstance(value, np.ndarray) and _has_shape(value, letters, sizes),
    )


def words(letters: str) -> Spec:
    """A list of texts."""
    return Spec(
        f"an array of texts of shape ({letters})",
        lambda value, sizes: labels(letters).fits(value, sizes) and value.dtype.kind in "OU",
    )


def training_rows(letters: str) -> Spec:
    """Rows of the training data, dense or sparse, as the learner sees them."""

    def fits(value: Any, sizes: Sizes) -> bool:
        numbers = value.data if isinstance(value, SPARSE_TYPES) else value
        return _is_finite(numbers) and _has_shape(value, letters, sizes) and value.shape[0] > 0

    return Spec(f"rows of shape ({letters})", fits, training_rows=True)


def a(*names: str) -> Spec:
    """An object of one of these classes, which are stored themselves."""
    return Spec(
        f"a {' or '.join(names)}",
        lambda value, _: is_stored(type(value)) and type(value).__name__ in names,
    )


def one_of(*values: str) -> Spec:
    """One of some words."""
    return Spec(f"one of {values}", lambda value, _: isinstance(value, str) and value in values)


def list_of(part: Spec) -> Spec:
    """A list, all of one kind."""
    return Spec(
        f"a list, each {part.what}",
        lambda value, sizes: isinstance(value, list) and all(part.fits(v, sizes) for v in value),
    )


def many(part: Spec) -> Spec:
    """A tuple, all of one kind."""
    return Spec(
        f"a tuple, each {part.what}",
        lambda value, sizes: isinstance(value, tuple) and all(part.fits(v, sizes) for v in value),
    )


def dict_of(part: Spec) -> Spec:
    """Values by name, all of one kind."""
    return Spec(
        f"a dict, each {part.what}",
        lambda value, sizes: (
            isinstance(value, dict) and all(part.fits(v, sizes) for v in value.values())
        ),
    )


def tuple_of(*parts: Spec) -> Spec:
    """A tuple, each place of its own kind."""
    return Spec(
        f"a tuple of {', '.join(part.what for part in parts)}",
        lambda value, sizes: (
            isinstance(value, tuple)
            and len(value) == len(parts)
            and all(part.fits(v, sizes) for part, v in zip(parts, value, strict=True))
        ),
    )


def maybe(part: Spec) -> Spec:
    """What may be None or absent."""
    return replace(part, may_be_absent=True)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and bool(value >= 0)


def _is_finite(value: Any) -> bool:
    is_float = isinstance(value, np.ndarray) and value.dtype.kind == "f"
    return is_float and bool(np.isfinite(value).all())


def _has_shape(value: Any, letters: str, sizes: Sizes) -> bool:
    """Whether each axis has the size of its letter, which is free if the letter is "_"."""
    named = letters.split()
    return len(named) == len(value.shape) and all(
        letter == "_" or sizes.setdefault(letter, n) == n
        for letter, n in zip(named, value.shape, strict=True)
    )


def is_stored(cls: type) -> bool:
    """Whether objects of a class can be stored."""
    if is_of_scikit_learn(cls):
        _register_transformers()
    return cls in _FIELDS


def stored_transformers() -> list[str]:
    """Names of scikit-learn's transformers that can be stored."""
    _register_transformers()
    return [cls.__name__ for cls in _FIELDS if is_of_scikit_learn(cls)]


def fields_of(kind: str | type) -> Fields:
    """What a class keeps, also by the class's name; empty if it is not stored."""
    cls = class_named(kind) if isinstance(kind, str) else kind
    return {} if cls is None else _FIELDS.get(cls, {})


def class_named(name: str) -> type | None:
    """The class of that name which is stored, if there is one."""
    if name not in _CLASSES:
        import_named(name)  # this learner alone, and what it is made of
    if name not in _CLASSES:
        _register_transformers()
    return _CLASSES.get(name)


def _register_transformers() -> None:
    """Import scikit-learn's, which take their time."""
    from nearkin.storage import sklearn_schema

    del sklearn_schema


def is_of_scikit_learn(cls: type) -> bool:
    """Whether a class is one of scikit-learn's."""
    return cls.__module__.startswith("sklearn.")


def check(cls: type, state: dict[str, Any], path: str) -> None:
    """Whether all is there that a class keeps, nothing else, and of the right shape."""
    fields = _FIELDS[cls]
    unknown = set(state) - set(fields)
    if unknown:
        raise StorageError(f"{cls.__name__} keeps no {sorted(unknown)[0]!r}.")
    sizes: Sizes = {}
    for name, spec in fields.items():
        value = state.get(name)
        if value is None and spec.may_be_absent:
            continue
        if name not in state or not spec.fits(value, sizes):
            known = ", ".join(f"{letter} = {n}" for letter, n in sizes.items() if letter.isalpha())
            raise StorageError(
                f"{within(path, name)} of {cls.__name__} is not {spec.what}"
                f"{f' for {known}' if known else ''}."
            )


def within(path: str, name: str) -> str:
    """The place of a part, in words."""
    return f"{path}.{name}" if path else name
