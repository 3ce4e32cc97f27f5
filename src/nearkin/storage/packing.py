"""Values taken apart into JSON and arrays, and put together again."""

from __future__ import annotations

from dataclasses import dataclass, field
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from nearkin.storage.arrays import DTYPES, StorageError
from nearkin.storage.schema import (
    SPARSE,
    SPARSE_TYPES,
    as_now,
    check,
    class_named,
    fields_of,
    is_of_scikit_learn,
    is_stored,
    made,
    stored_transformers,
    within,
)

Array = NDArray[Any]
Json = Any

_MOST_NESTED = 64
# Characters that arrays of words take, all as long as the longest of their array, beyond the words
# themselves; of all arrays together.
_MOST_PADDING = 1 << 23
_NOT_FINITE = {"nan": np.nan, "inf": np.inf, "-inf": -np.inf}


@dataclass
class Packed:
    """A value as JSON, and the arrays that it refers to by name."""

    node: Json = None
    arrays: dict[str, Array] = field(default_factory=dict)


def pack(value: Any, forget: tuple[str, ...] = ()) -> Packed:
    """Take a value apart.

    Parameters
    ----------
    value : object of a class that is stored, or made of such
    forget : tuple of str
        Attributes to leave out.

    Raises
    ------
    StorageError
        If it holds something that cannot be stored; the message says where.
    """
    packer = _Packer(forget)
    return Packed(packer.pack(value, ""), packer.arrays)


def unpack(packed: Packed) -> Any:
    """Put a value together again; nothing but classes that are stored can come of it.

    Raises
    ------
    StorageError
        If it is not whole, or not what the classes say.
    """
    unpacker = _Unpacker(packed.arrays)
    value = unpacker.unpack(packed.node, "", 0)
    if unpacker.used != set(packed.arrays):
        raise StorageError("there are arrays that nothing refers to.")
    return value


class _Packer:
    def __init__(self, forget: tuple[str, ...]) -> None:
        self.forget = forget
        self.arrays: dict[str, Array] = {}
        # An array that is met twice is stored once. The arrays stay alive, so ids are unique.
        self._met: dict[int, tuple[Array, Json]] = {}
        self._is_parameter = False

    def pack(self, value: Any, path: str) -> Json:
        if is_stored(type(value)):
            return self._object(value, path)
        if value is None or isinstance(value, bool | str) or type(value) is int:
            return value if not isinstance(value, np.str_) else str(value)
        if type(value) is float:
            return value if np.isfinite(value) else {"float": repr(value)}
        if isinstance(value, np.generic) and value.dtype.name in DTYPES.values():
            return {"number": self.pack(value.item(), path), "dtype": value.dtype.name}
        if isinstance(value, np.ndarray):
            return self._array(value, path)
        if isinstance(value, SPARSE_TYPES):
            return self._sparse(value, path)
        if type(value) is list:
            return self._items(value, path)
        if type(value) is tuple:
            return {"tuple": self._items(value, path)}
        if type(value) is dict and all(type(name) is str for name in value):
            return {"dict": self._named(value, path)}
        raise StorageError(_why_not(value, path))

    def _object(self, value: Any, path: str) -> Json:
        cls = type(value)
        names = [name for name in fields_of(cls) if name not in self.forget]
        node: dict[str, Json] = {"class": cls.__name__}
        if isinstance(value, BaseEstimator):
            if self._is_parameter:  # to be cloned: what it once learned is of no account
                names = []
            outer, self._is_parameter = self._is_parameter, True
            node["parameters"] = self._named(_parameters(value), path)
            self._is_parameter = outer
            held = value.__getstate__()  # which is on the host, wherever it was fitted
        else:
            held = {name: getattr(value, name) for name in names if hasattr(value, name)}
        state = {name: held[name] for name in names if name in held}
        if state:
            check(cls, state, path)
        node["state"] = self._named(state, path)
        return node

    def _named(self, values: dict[str, Any], path: str) -> Json:
        return {name: self.pack(value, within(path, name)) for name, value in values.items()}

    def _items(self, values: Any, path: str) -> Json:
        return [self.pack(value, within(path, str(i))) for i, value in enumerate(values)]

    def _array(self, value: Array, path: str) -> Json:
        if id(value) not in self._met:
            self._met[id(value)] = (value, self._new_array(value, path))
        return self._met[id(value)][1]

    def _new_array(self, value: Array, path: str) -> Json:
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

    def _sparse(self, value: Any, path: str) -> Json:
        parts = {name: getattr(value, name) for name in ("data", "indices", "indptr")}
        node = {"sparse": type(value).__name__, "shape": [int(n) for n in value.shape]}
        return node | self._named(parts, path)


class _Unpacker:
    def __init__(self, arrays: dict[str, Array]) -> None:
        self.arrays = arrays
        self.used: set[str] = set()
        # An array that is referred to twice is one object, as it was.
        self._turned: dict[str, Array] = {}
        self._padding = 0

    def unpack(self, node: Json, path: str, depth: int) -> Any:
        if depth > _MOST_NESTED:
            raise StorageError("it is nested too deeply.")
        depth += 1
        match node:
            case None | bool() | int() | float() | str():
                return node
            case list():
                return self._items(node, path, depth)
            case {"class": str(name), "state": dict(state), **rest} if not rest:
                cls = _known(name, path, estimator=False)  # first: it brings its parts' classes
                return made(cls, self._named(state, path, depth), path)
            case {
                "class": str(name),
                "parameters": dict(parameters),
                "state": dict(state),
                **rest,
            } if not rest:
                cls = _known(name, path, estimator=True)
                given = self._named(parameters, path, depth)
                return self._estimator(cls, given, self._named(state, path, depth), path)
            case {"array": str(), **rest} if not rest:
                return self._array(node["array"], path)
            case {"array": str(), "order": "F", **rest} if not rest:
                turned = self._array(node["array"], path).T
                return self._turned.setdefault(node["array"], turned)
            case {"words": list(words), "dtype": "object" | "str" as dtype, **rest} if not rest:
                return self._words(words, dtype, path)
            case {"float": str(name), **rest} if not rest and name in _NOT_FINITE:
                return float(_NOT_FINITE[name])
            case {"number": number, "dtype": str(dtype), **rest} if not rest:
                value = self.unpack(number, path, depth)
                if dtype in DTYPES.values() and isinstance(value, int | float):
                    return np.dtype(dtype).type(value)
            case {"tuple": list(items), **rest} if not rest:
                return tuple(self._items(items, path, depth))
            case {"dict": dict(values), **rest} if not rest:
                return self._named(values, path, depth)
            case {
                "sparse": str(name),
                "shape": [int(n), int(d)],
                "data": data,
                "indices": indices,
                "indptr": indptr,
                **rest,
            } if not rest and name in SPARSE:
                parts = [self.unpack(part, path, depth) for part in (data, indices, indptr)]
                return _sparse(name, (n, d), parts, path)
        raise StorageError(f"{path or 'the model'} is written in a form that is not known.")

    def _items(self, nodes: list[Json], path: str, depth: int) -> list[Any]:
        return [self.unpack(node, within(path, str(i)), depth) for i, node in enumerate(nodes)]

    def _named(self, nodes: dict[str, Json], path: str, depth: int) -> dict[str, Any]:
        return {name: self.unpack(node, within(path, name), depth) for name, node in nodes.items()}

    def _array(self, name: str, path: str) -> Array:
        if name not in self.arrays:
            raise StorageError(f"{path} refers to an array {name!r} that is not there.")
        self.used.add(name)
        return self.arrays[name]

    def _words(self, words: list[Any], dtype: str, path: str) -> Array:
        if not all(isinstance(word, str) for word in words):
            raise StorageError(f"{path} is not a list of texts.")
        if dtype == "object":
            return np.array(words, dtype=object)
        self._padding += len(words) * max(map(len, words), default=0) - sum(map(len, words))
        if self._padding > _MOST_PADDING:
            raise StorageError(f"{path} has texts that are too long.")
        return np.array(words, dtype=np.str_)

    def _estimator(
        self, cls: Any, parameters: dict[str, Any], state: dict[str, Any], path: str
    ) -> Any:
        name = cls.__name__
        unknown = set(parameters) - set(cls._get_param_names())
        if unknown:
            raise StorageError(
                f"{name} has no parameter {sorted(unknown)[0]!r} in the version that is installed."
            )
        try:
            made = cls(**parameters)
            made._validate_params()
        except (TypeError, ValueError) as error:
            raise StorageError(f"parameters of {name}: {error}") from error
        state = as_now(cls, state)
        if state:
            check(cls, state, path)
        for attribute, value in state.items():
            setattr(made, attribute, value)
        return made


def _parameters(estimator: Any) -> dict[str, Any]:
    """Parameters; of scikit-learn's estimators those that are not the default.

    So a file can be read with another scikit-learn, whose estimators have more or fewer of them.
    """
    given: dict[str, Any] = estimator.get_params(deep=False)
    if not is_of_scikit_learn(type(estimator)):
        return given
    usual = signature(type(estimator)).parameters
    return {name: value for name, value in given.items() if value != usual[name].default}


def _known(name: str, path: str, *, estimator: bool) -> type:
    cls = class_named(name)
    if cls is None or issubclass(cls, BaseEstimator) != estimator:
        raise StorageError(f"{path or 'the model'} is a {name!r}, which this nearkin cannot build.")
    return cls


def _sparse(name: str, shape: tuple[int, int], parts: list[Any], path: str) -> Any:
    kinds = [part.dtype.kind if isinstance(part, np.ndarray) else "?" for part in parts]
    if kinds != ["f", "i", "i"] or min(shape) < 0:
        raise StorageError(f"{path} is not a sparse matrix.")
    try:
        made = SPARSE[name](tuple(parts), shape=shape)
        made.check_format(full_check=True)
    except (ValueError, OverflowError) as error:
        raise StorageError(f"{path} is not a sparse matrix: {error}") from error
    return made


def _why_not(value: Any, path: str) -> str:
    kind = type(value).__name__
    if isinstance(value, np.random.RandomState | np.random.Generator):
        return (
            f"{path} is a {kind}, which is not stored. Set it to a number or None: what is "
            "learned does not depend on it any more."
        )
    if isinstance(value, BaseEstimator):
        return (
            f"{path or 'this'} is a {kind}, which is not stored. Of scikit-learn's transformers "
            f"these are: {', '.join(stored_transformers())}. Apply others to the rows beforehand."
        )
    if callable(value):
        remedy = "Take a kernel by its name, or kernel='precomputed' with the function's values."
        if path.endswith("text_encoder"):
            remedy = "Give what it makes of texts as columns of numbers in their place."
        return f"{path} is a function, that is code, of which a file holds none. {remedy}"
    return f"{path} is a {kind}, which is not stored."
