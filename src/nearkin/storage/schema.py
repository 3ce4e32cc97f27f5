"""What may be stored, and what each class keeps: the only classes that a file can bring to life.

A class says what it keeps in a decorator, as it says in ``_parameter_constraints`` what it takes::

    @stored(landmarks=a("KernelLandmarks"), eigenvalues=floats("q"), eigenvectors=floats("m q"))
    class NystroemExtension: ...

Of an estimator these are the fitted attributes, beside its parameters; of any other class they are
the arguments it is made of. A letter is a size that is the same wherever it stands in a class.
Both directions of :mod:`nearkin.storage.schema` :func:`check` what was said, so that a file holds
it and a model made of a file does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache, partial
from inspect import signature
from numbers import Real
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from nearkin.registry import import_named
from nearkin.storage.arrays import DTYPES, StorageError

Array = NDArray[Any]
Sizes = dict[str, int]
Json = Any

SPARSE = {"csr_matrix": sp.csr_matrix, "csr_array": sp.csr_array}
SPARSE_TYPES = (sp.csr_matrix, sp.csr_array)
_MOST_NESTED = 64
# Characters that arrays of words take, all as long as the longest of their array, beyond the words
# themselves; of all arrays together.
_MOST_PADDING = 1 << 23
_NOT_FINITE = {"nan": np.nan, "inf": np.inf, "-inf": -np.inf}
# Numbers of eight bytes that embedding one row may take: for each column of a learner, for each
# entry of its landmarks, and for each pair of landmarks, of which some extensions make matrices.
_PER_COLUMN, _PER_ENTRY, _PER_PAIR = 6, 4, 6


@dataclass(frozen=True)
class Spec:
    """Description of a valid value in words, and a function that checks a value.

    ``fits(value, sizes)`` compares shapes with the sizes of letters known so far, and adds new
    ones. ``training_rows`` is whether these are rows of the training data.
    """

    what: str
    fits: Callable[[Any, Sizes], bool]
    may_be_absent: bool = False
    training_rows: bool = False


Fields = dict[str, Spec]
_FIELDS: dict[type, Fields] = {}
_CLASSES: dict[str, type] = {}
State = dict[str, Any]
_Class = TypeVar("_Class", bound=type)


def stored(**fields: Spec) -> Callable[[_Class], _Class]:
    """Class decorator: let objects be stored, with these attributes, each by its Spec."""

    def register(cls: _Class) -> _Class:
        _FIELDS[cls] = fields
        _CLASSES[cls.__name__] = cls
        return cls

    return register


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
    """Spec of a whole number that is also the size of array axes with this letter."""
    return Spec(
        f"the size {letter} of the other arrays",
        lambda value, sizes: _is_whole(value) and sizes.setdefault(letter, value) == value,
    )


def _arrays_of(what: str, holds: Callable[[Any], bool]) -> Callable[[str], Spec]:
    """Function from a letter for each axis to the Spec of an array whose values pass ``holds``."""
    return lambda letters: Spec(
        f"an array of {what} of shape ({letters})",
        lambda value, sizes: (
            isinstance(value, np.ndarray) and holds(value) and _has_shape(value, letters, sizes)
        ),
    )


def _is_finite(value: Any) -> bool:
    """Whether a value is an array of finite floats."""
    is_float = isinstance(value, np.ndarray) and value.dtype.kind == "f"
    return is_float and bool(np.isfinite(value).all())


floats = _arrays_of("finite numbers", _is_finite)
positive_floats = _arrays_of(
    "finite positive numbers", lambda value: _is_finite(value) and (value > 0).all()
)
# Infinite or NaN, perhaps: nothing is computed from these.
numbers = _arrays_of("numbers", lambda value: value.dtype.kind == "f")
labels = _arrays_of("labels", lambda value: True)
words = _arrays_of("texts", lambda value: value.dtype.kind in "OU")


def ints(letters: str, below: str | None = None) -> Spec:
    """Spec of an array of whole numbers from 0 on, and below the size of a letter."""

    def fits(value: Any, sizes: Sizes) -> bool:
        if not (isinstance(value, np.ndarray) and value.dtype.kind in "iu"):
            return False
        if not _has_shape(value, letters, sizes) or value.min(initial=0) < 0:
            return False
        return below is None or value.max(initial=-1) < sizes[below]

    limit = "" if below is None else f" below {below}"
    return Spec(f"an array of row numbers{limit} of shape ({letters})", fits)


def training_rows(letters: str, *, may_be_none: bool = False) -> Spec:
    """Spec of rows of the training data, dense or sparse, as the learner sees them."""

    def fits(value: Any, sizes: Sizes) -> bool:
        numbers = value.data if isinstance(value, SPARSE_TYPES) else value
        if not (_is_finite(numbers) and _has_shape(value, letters, sizes)):
            return False
        return may_be_none or bool(value.shape[0])

    return Spec(f"rows of shape ({letters})", fits, training_rows=True)


def a(*names: str) -> Spec:
    """Spec of an object of one of these stored classes."""
    return Spec(
        f"a {' or '.join(names)}",
        lambda value, _: is_stored(type(value)) and type(value).__name__ in names,
    )


def one_word_of(*values: str) -> Spec:
    """Spec of a text that is one of some words."""
    return Spec(f"one of {values}", lambda value, _: isinstance(value, str) and value in values)


def _spec_of_all(kind: type, part: Spec, values: Callable[[Any], Any] = iter) -> Spec:
    """Spec of a list, tuple or dict whose values all fit ``part``."""
    return Spec(
        f"a {kind.__name__}, each {part.what}",
        lambda value, sizes: (
            isinstance(value, kind) and all(part.fits(v, sizes) for v in values(value))
        ),
    )


list_of = partial(_spec_of_all, list)
many = partial(_spec_of_all, tuple)  # of any length
dict_of = partial(_spec_of_all, dict, values=dict.values)


def tuple_of(*parts: Spec) -> Spec:
    """Spec of a tuple with one Spec for each entry."""
    return Spec(
        f"a tuple of {', '.join(part.what for part in parts)}",
        lambda value, sizes: (
            isinstance(value, tuple)
            and len(value) == len(parts)
            and all(part.fits(v, sizes) for part, v in zip(parts, value, strict=True))
        ),
    )


def maybe(part: Spec) -> Spec:
    """The Spec, but the value may also be None or absent."""
    return replace(part, may_be_absent=True)


def _is_whole(value: Any) -> bool:
    """Whether a value is an integer from 0 on."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and bool(value >= 0)


def _has_shape(value: Any, letters: str, sizes: Sizes) -> bool:
    """Whether each axis has the size of its letter; "_" stands for any size."""
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


def is_stored_transformer(step: Any) -> bool:
    """Whether a step is one of scikit-learn's transformers that can be stored."""
    return is_of_scikit_learn(type(step)) and is_stored(type(step))


def fields_of(kind: str | type) -> Fields:
    """Specs, by attribute, of a stored class or its name; empty for others."""
    cls = find_class(kind) if isinstance(kind, str) else kind
    return {} if cls is None else _FIELDS.get(cls, {})


def find_class(name: str) -> type | None:
    """The stored class of a name, imported if necessary; None if there is none."""
    if name not in _CLASSES:
        import_named(name)  # this learner alone, and what it is made of
    if name not in _CLASSES:
        _register_transformers()
    return _CLASSES.get(name)


@cache
def _register_transformers() -> None:
    """Register scikit-learn's transformers, all of numbers, that a stored Chain may contain."""
    from sklearn.decomposition import PCA, TruncatedSVD
    from sklearn.preprocessing import (
        MaxAbsScaler,
        MinMaxScaler,
        Normalizer,
        RobustScaler,
        StandardScaler,
    )

    column, count = floats("d"), {"n_samples_seen_": real}
    axes = {
        "explained_variance_": floats("q"),
        "explained_variance_ratio_": numbers("q"),
        "singular_values_": floats("q"),
    }
    ranges = ("min_", "scale_", "data_min_", "data_max_", "data_range_")
    known: dict[type, Fields] = {
        PCA: {
            "n_components_": size("q"),
            "components_": floats("q d"),
            "mean_": column,
            **axes,
            "noise_variance_": real,
            "n_samples_": real,
        },
        TruncatedSVD: {"components_": floats("q d"), **axes},
        StandardScaler: dict.fromkeys(("mean_", "var_", "scale_"), maybe(column)) | count,
        MinMaxScaler: dict.fromkeys(ranges, column) | count,
        MaxAbsScaler: {"max_abs_": column, "scale_": column} | count,
        RobustScaler: {"center_": maybe(column), "scale_": maybe(column)},
        Normalizer: {},
    }
    for cls, fields in known.items():
        stored(n_features_in_=size("d"), feature_names_in_=maybe(words("d")), **fields)(cls)


def is_of_scikit_learn(cls: type) -> bool:
    """Whether a class is one of scikit-learn's."""
    return cls.__module__.startswith("sklearn.")


def check(cls: type, state: dict[str, Any], path: str) -> None:
    """Raise unless a state has all attributes of a stored class, no others, all valid."""
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
                f"{join_path(path, name)} of {cls.__name__} is not {spec.what}"
                f"{f' for {known}' if known else ''}."
            )


def join_path(path: str, name: str) -> str:
    """Dotted path of a part, for messages."""
    return f"{path}.{name}" if path else name


@dataclass
class Packed:
    """A value as JSON, and the arrays that the JSON refers to by name."""

    node: Json = None
    arrays: dict[str, Array] = field(default_factory=dict)


def pack(value: Any, forget: tuple[str, ...] = ()) -> Packed:
    """Convert a value of a stored class to JSON and arrays; StorageError if that is impossible.

    Attributes named in ``forget`` are left out.
    """
    packer = _Packer(forget)
    return Packed(packer.pack(value, ""), packer.arrays)


def unpack(packed: Packed) -> Any:
    """Build a value of stored classes from JSON and arrays; StorageError if these are not valid."""
    unpacker = _Unpacker(packed.arrays)
    value = unpacker.unpack(packed.node, "", 0)
    if unpacker.used != set(packed.arrays):
        raise StorageError("there are arrays that nothing refers to.")
    return value


class _Packer:
    """Converts values to JSON, and collects their arrays."""

    def __init__(self, forget: tuple[str, ...]) -> None:
        self.forget = forget
        self.arrays: dict[str, Array] = {}
        # An array that is met twice is stored once. The arrays stay alive, so ids are unique.
        self._met: dict[int, tuple[Array, Json]] = {}
        self._is_parameter = False

    def pack(self, value: Any, path: str) -> Json:
        """JSON of a value; ``path`` is its place, for messages."""
        if is_stored(type(value)):
            return self._pack_object(value, path)
        if value is None or isinstance(value, bool | str) or type(value) is int:
            return value if not isinstance(value, np.str_) else str(value)
        if type(value) is float:
            return value if np.isfinite(value) else {"float": repr(value)}
        if isinstance(value, np.generic) and value.dtype.name in DTYPES.values():
            return {"number": self.pack(value.item(), path), "dtype": value.dtype.name}
        if isinstance(value, np.ndarray):
            if id(value) not in self._met:
                self._met[id(value)] = (value, self._pack_new_array(value, path))
            return self._met[id(value)][1]
        if isinstance(value, SPARSE_TYPES):
            parts = {name: getattr(value, name) for name in ("data", "indices", "indptr")}
            node = {"sparse": type(value).__name__, "shape": [int(n) for n in value.shape]}
            return node | self._pack_named(parts, path)
        if type(value) is list:
            return self._pack_items(value, path)
        if type(value) is tuple:
            return {"tuple": self._pack_items(value, path)}
        if type(value) is dict and all(type(name) is str for name in value):
            return {"dict": self._pack_named(value, path)}
        raise StorageError(_explain_refusal(value, path))

    def _pack_object(self, value: Any, path: str) -> Json:
        """JSON of an object of a stored class, with its parameters if it is an estimator."""
        cls = type(value)
        names = [name for name in fields_of(cls) if name not in self.forget]
        node: dict[str, Json] = {"class": cls.__name__}
        if isinstance(value, BaseEstimator):
            if self._is_parameter:  # to be cloned: what it once learned is of no account
                names = []
            outer, self._is_parameter = self._is_parameter, True
            node["parameters"] = self._pack_named(_list_changed_parameters(value), path)
            self._is_parameter = outer
            held = value.__getstate__()  # which is on the host, wherever it was fitted
        else:
            held = {name: getattr(value, name) for name in names if hasattr(value, name)}
        state = {name: held[name] for name in names if name in held}
        if state:
            check(cls, state, path)
        node["state"] = self._pack_named(state, path)
        return node

    def _pack_named(self, values: dict[str, Any], path: str) -> Json:
        return {name: self.pack(value, join_path(path, name)) for name, value in values.items()}

    def _pack_items(self, values: Any, path: str) -> Json:
        return [self.pack(value, join_path(path, str(i))) for i, value in enumerate(values)]

    def _pack_new_array(self, value: Array, path: str) -> Json:
        """JSON that refers to an array not met before; texts are in the JSON itself."""
        if value.ndim == 1 and value.dtype.kind in "OU":
            words = value.tolist()
            if not all(isinstance(word, str) for word in words):
                raise StorageError(f"{path} holds objects other than texts, which are not stored.")
            return {"words": words, "dtype": "object" if value.dtype.kind == "O" else "str"}
        name = path
        while name in self.arrays:
            name += "'"
        # Order in memory decides how products are rounded, so it is kept.
        reverse = (
            value.ndim > 1
            and not value.flags.c_contiguous
            and value.strides[0] <= min(value.strides)
        )
        self.arrays[name] = value.T if reverse else value
        return {"array": name, "order": "F"} if reverse else {"array": name}


class _Unpacker:
    """Builds values from JSON and arrays, each of which must be used."""

    def __init__(self, arrays: dict[str, Array]) -> None:
        self.arrays = arrays
        self.used: set[str] = set()
        # An array that is referred to twice is one object, as it was.
        self._turned: dict[str, Array] = {}
        self._padding = 0

    def unpack(self, node: Json, path: str, depth: int) -> Any:
        """Value of a JSON node; ``depth`` bounds how deeply a forged file can nest."""
        if depth > _MOST_NESTED:
            raise StorageError("it is nested too deeply.")
        depth += 1
        match node:
            case None | bool() | int() | float() | str():
                return node
            case list():
                return self._unpack_items(node, path, depth)
            case {"class": str(name), "state": dict(state), **rest} if not rest:
                # First the class, whose import brings those of its parts.
                cls = _find_class_of(name, path, estimator=False)
                values = self._unpack_named(state, path, depth)
                check(cls, values, path)
                return cls(**values)
            case {"class": str(), "parameters": dict(), "state": dict(), **rest} if not rest:
                return self._unpack_estimator(node, path, depth)
            case {"array": str(), **rest} if not rest:
                return self._unpack_array(node["array"], path)
            case {"array": str(), "order": "F", **rest} if not rest:
                turned = self._unpack_array(node["array"], path).T
                return self._turned.setdefault(node["array"], turned)
            case {"words": list(words), "dtype": "object" | "str" as dtype, **rest} if not rest:
                return self._unpack_words(words, dtype, path)
            case {"float": str(name), **rest} if not rest and name in _NOT_FINITE:
                return float(_NOT_FINITE[name])
            case {"number": number, "dtype": str(dtype), **rest} if not rest:
                value = self.unpack(number, path, depth)
                if dtype in DTYPES.values() and isinstance(value, int | float):
                    return np.dtype(dtype).type(value)
            case {"tuple": list(items), **rest} if not rest:
                return tuple(self._unpack_items(items, path, depth))
            case {"dict": dict(values), **rest} if not rest:
                return self._unpack_named(values, path, depth)
            case {
                "sparse": str(name),
                "shape": [int(n), int(d)],
                "data": data,
                "indices": indices,
                "indptr": indptr,
                **rest,
            } if not rest and name in SPARSE:
                parts = [self.unpack(part, path, depth) for part in (data, indices, indptr)]
                return _unpack_sparse(name, (n, d), parts, path)
        raise StorageError(f"{path or 'the model'} is written in a form that is not known.")

    def _unpack_items(self, nodes: list[Json], path: str, depth: int) -> list[Any]:
        return [self.unpack(node, join_path(path, str(i)), depth) for i, node in enumerate(nodes)]

    def _unpack_named(self, nodes: dict[str, Json], path: str, depth: int) -> dict[str, Any]:
        return {
            name: self.unpack(node, join_path(path, name), depth) for name, node in nodes.items()
        }

    def _unpack_array(self, name: str, path: str) -> Array:
        """The array of this name, marked as used."""
        if name not in self.arrays:
            raise StorageError(f"{path} refers to an array {name!r} that is not there.")
        self.used.add(name)
        return self.arrays[name]

    def _unpack_words(self, words: list[Any], dtype: str, path: str) -> Array:
        """An array of texts; an error if padding would take too much memory."""
        if not all(isinstance(word, str) for word in words):
            raise StorageError(f"{path} is not a list of texts.")
        if dtype == "object":
            return np.array(words, dtype=object)
        self._padding += len(words) * max(map(len, words), default=0) - sum(map(len, words))
        if self._padding > _MOST_PADDING:
            raise StorageError(f"{path} has texts that are too long.")
        return np.array(words, dtype=np.str_)

    def _unpack_estimator(self, node: Json, path: str, depth: int) -> Any:
        """A fitted estimator, from parameters and attributes that are checked."""
        name = node["class"]
        cls: Any = _find_class_of(name, path, estimator=True)
        parameters = self._unpack_named(node["parameters"], path, depth)
        state = self._unpack_named(node["state"], path, depth)
        unknown = set(parameters) - set(cls._get_param_names())
        if unknown:
            raise StorageError(
                f"{name} has no parameter {sorted(unknown)[0]!r} in the version that is installed."
            )
        try:
            found = cls(**parameters)
            found._validate_params()
        except (TypeError, ValueError) as error:
            raise StorageError(f"parameters of {name}: {error}") from error
        if state:
            check(cls, state, path)
        for attribute, value in state.items():
            setattr(found, attribute, value)
        return found


def _list_changed_parameters(estimator: Any) -> dict[str, Any]:
    """Parameters of an estimator; of scikit-learn's only those that are not the default.

    So a file can be read with another scikit-learn, whose estimators have more or fewer of them.
    """
    given: dict[str, Any] = estimator.get_params(deep=False)
    if not is_of_scikit_learn(type(estimator)):
        return given
    usual = signature(type(estimator)).parameters
    return {name: value for name, value in given.items() if value != usual[name].default}


def _find_class_of(name: str, path: str, *, estimator: bool) -> type:
    """The stored class of a name; an error if there is none, or of the wrong sort."""
    cls = find_class(name)
    if cls is None or issubclass(cls, BaseEstimator) != estimator:
        raise StorageError(f"{path or 'the model'} is a {name!r}, which this nearkin cannot build.")
    return cls


def _unpack_sparse(name: str, shape: tuple[int, int], parts: list[Any], path: str) -> Any:
    """A sparse matrix from its three arrays, checked."""
    kinds = [part.dtype.kind if isinstance(part, np.ndarray) else "?" for part in parts]
    if kinds != ["f", "i", "i"] or min(shape) < 0:
        raise StorageError(f"{path} is not a sparse matrix.")
    try:
        found = SPARSE[name](tuple(parts), shape=shape)
        found.check_format(full_check=True)
    except (ValueError, OverflowError) as error:
        raise StorageError(f"{path} is not a sparse matrix: {error}") from error
    return found


def _explain_refusal(value: Any, path: str) -> str:
    """Message why a value cannot be stored, and what to do."""
    kind = type(value).__name__
    if isinstance(value, np.random.RandomState | np.random.Generator):
        return (
            f"{path} is a {kind}, which is not stored. Set it to a number or None: what is "
            "learned does not depend on it any more."
        )
    if isinstance(value, BaseEstimator):
        _register_transformers()
        known = ", ".join(cls.__name__ for cls in _FIELDS if is_of_scikit_learn(cls))
        return (
            f"{path or 'this'} is a {kind}, which is not stored. Of scikit-learn's transformers "
            f"these are: {known}. Apply others to the rows beforehand."
        )
    if callable(value):
        remedy = "Take a kernel by its name, or kernel='precomputed' with the function's values."
        if path.endswith("text_encoder"):
            remedy = "Give what it makes of texts as columns of numbers in their place."
        return f"{path} is a function, that is code, of which a file holds none. {remedy}"
    return f"{path} is a {kind}, which is not stored."


def find_cost(model: Any) -> tuple[int, int, bool]:
    """Columns that a model claims, bytes that embedding a row takes, and if it keeps sparse rows.

    The columns are those of all learners, the more of input and output, which tiny files can claim;
    the bytes an upper bound beside the model.
    """
    columns, numbers, named, has_sparse_rows = 0, 0, 0, False
    parts = list(_walk_parts(model))
    is_alone = sum(isinstance(part, BaseEstimator) for part in parts) == 1
    for part in parts:
        taken, given = (int(getattr(part, f"n_{end}_", 0)) for end in ("features_in", "components"))
        columns += max(taken, given) if isinstance(part, BaseEstimator) else 0
        numbers += _PER_COLUMN * (taken + given)
        for name, spec in fields_of(type(part)).items():
            value = getattr(part, name, None)
            if isinstance(value, np.ndarray):
                named += value.nbytes
                numbers += 0 if value.size else sum(value.shape)
            if spec.training_rows and value is not None:
                m, d = value.shape
                has_sparse_rows |= sp.issparse(value)
                # Of sparse rows that come first a sparse row is tried, which makes nothing dense.
                is_first = sp.issparse(value) and is_alone
                numbers += _PER_COLUMN * d if is_first else _PER_ENTRY * m * d
                numbers += _PER_PAIR * m * m
    return columns, 8 * numbers + named, has_sparse_rows


def _walk_parts(value: Any) -> Iterator[Any]:
    """Iterate over all objects of stored classes in a value, repeated ones too."""
    if isinstance(value, list | tuple):
        for part in value:
            yield from _walk_parts(part)
    if fields := fields_of(type(value)):  # a named tuple has some too
        yield value
        for name in fields:
            yield from _walk_parts(getattr(value, name, None))
    elif isinstance(value, BaseEstimator):
        yield value
