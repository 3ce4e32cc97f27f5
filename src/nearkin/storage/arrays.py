"""Named arrays and JSON metadata in one file that cannot run anything.

The file is a `safetensors <https://github.com/huggingface/safetensors>`_ file, which other programs
read too: eight bytes with the length of a header, the header as JSON, and the numbers. Its
``__metadata__`` holds

- ``kind`` and ``version``: what the file is, and the version of its form;
- ``content``: the metadata, JSON text;
- ``digest``: SHA-256 of all that and of the arrays. It finds damage; it is no signature, which
  whoever changes a file on purpose can make anew.

Files are read and written here, without the library: nothing is allocated before its size is known
to fit the file, and arrays are stored in C order whatever theirs is.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from nearkin.errors import InputError
from nearkin.storage.files import StrPath, whole_file

Array = NDArray[Any]

DTYPES = {
    "BOOL": "bool",
    "U8": "uint8",
    "U16": "uint16",
    "U32": "uint32",
    "U64": "uint64",
    "I8": "int8",
    "I16": "int16",
    "I32": "int32",
    "I64": "int64",
    "F32": "float32",
    "F64": "float64",
}
_CODES = {name: code for code, name in DTYPES.items()}
_METADATA = "__metadata__"
_MOST_HEADER = 1 << 24
# What the values of a header may take in memory beyond twice its length, and what one takes that
# begins with a sign, or follows it.
_MOST_OF_VALUES = 96 << 20
_BYTES_OF_VALUES = {b"{": 320, b"[": 192, b",": 60}
_MOST_AXES = 8
_ALIGNMENT = 8
# What a header that is no header of ours leads to.
_MALFORMED = (ValueError, KeyError, TypeError, AttributeError, RecursionError)


class StorageError(InputError):
    """Something cannot be stored, or a file cannot be used; the message says why.

    Examples
    --------
    >>> import tempfile
    >>> import nearkin as nk
    >>> with tempfile.NamedTemporaryFile(suffix=".nearkin") as file:
    ...     try:
    ...         nk.load(file.name)
    ...     except nk.StorageError as error:
    ...         print("refused")
    refused
    """

    def __init__(self, message: str) -> None:
        super().__init__(make_printable(message))


def make_printable(text: str) -> str:
    """The text with control characters replaced, so that it cannot steer a terminal."""
    return "".join(c if c.isprintable() or c == "\n" else "?" for c in text)


@dataclass(frozen=True)
class Header:
    """Contents of a file's header.

    ``arrays`` has, for each array, dtype name, shape, first byte, and byte after the last; ``size``
    is that of the whole file in bytes.
    """

    version: int
    content: Any
    digest: str
    arrays: dict[str, tuple[str, tuple[int, ...], int, int]]
    size: int


def write_arrays(
    path: StrPath, kind: str, version: int, arrays: Mapping[str, Array], content: Any
) -> None:
    """Write arrays and JSON to a file; on errors, what was there before stays.

    ``kind`` is such as ``"nearkin model"``, ``version`` that of its format, ``content`` the JSON,
    without NaN and infinities. Arrays are of booleans, integers, float32 or float64.
    """
    # The widest numbers first, so that all are aligned.
    names = sorted(arrays, key=lambda name: -arrays[name].itemsize)
    stored = {name: _to_c_order(name, arrays[name]) for name in names}
    table: dict[str, Any] = {}
    end = 0
    for name, array in stored.items():
        begin, end = end, end + array.nbytes
        code = _CODES[array.dtype.name]
        table[name] = {"dtype": code, "shape": list(array.shape), "data_offsets": [begin, end]}
    metadata = {
        "kind": kind,
        "version": str(version),
        "content": json.dumps(content, allow_nan=False, separators=(",", ":")),
    }
    digest = _digest(metadata, table)
    for array in stored.values():
        digest.update(_bytes(array))
    metadata["digest"] = digest.hexdigest()
    header = json.dumps({_METADATA: metadata, **table}, separators=(",", ":")).encode()
    header += b" " * (-len(header) % _ALIGNMENT)
    if len(header) > _MOST_HEADER:
        raise StorageError(
            f"names and parameters take {len(header)} bytes, more than the {_MOST_HEADER} that a "
            "file has room for. Are there very many column names? Then leave them out."
        )
    if _has_too_many_values(header):
        raise StorageError(f"there are too many values for a header of {len(header)} bytes.")
    with whole_file(path) as unfinished, open(unfinished, "wb") as file:
        file.write(len(header).to_bytes(8, "little") + header)
        for array in stored.values():
            file.write(_bytes(array))


def read_arrays(path: StrPath, kind: str, version: int) -> tuple[dict[str, Array], Any]:
    """Arrays by name and JSON of a file, checked; StorageError if of another kind or damaged."""
    with open(path, "rb") as file:
        header, digest = _read_header(file, path, kind, version)
        arrays = {}
        for name, (dtype, shape, begin, end) in header.arrays.items():
            try:
                array = np.empty(shape, dtype=dtype)
            except (ValueError, MemoryError) as error:
                raise _damage_error(path, f"array {name!r} has shape {shape}") from error
            if file.readinto(_bytes(array)) != end - begin:
                raise _damage_error(path, f"array {name!r} ends too early")
            if dtype == "bool" and (array.view(np.uint8) > 1).any():
                raise _damage_error(path, f"array {name!r} has truth values other than 0 and 1")
            digest.update(_bytes(array))
            arrays[name] = array
        if digest.hexdigest() != header.digest:
            raise _damage_error(path, "its content is not what was written (SHA-256 differs)")
    return arrays, header.content


def read_header(path: StrPath, kind: str, version: int) -> Header:
    """Header of a file. Its arrays are neither read nor checked."""
    with open(path, "rb") as file:
        return _read_header(file, path, kind, version)[0]


def read_kind(path: StrPath) -> str | None:
    """Kind of a file, such as ``"nearkin model"``; None if it is none of this format."""
    with open(path, "rb") as file:
        try:
            return str(_read_metadata(file)[0]["kind"])
        except (EOFError, *_MALFORMED):
            return None


def parse_json(text: str | bytes) -> Any:
    """Value of a JSON text; ValueError for NaN, infinities, duplicate names or deep nesting."""
    try:
        return json.loads(
            text, parse_constant=_refuse_constant, object_pairs_hook=_refuse_duplicates
        )
    except RecursionError as error:
        raise InputError("nested too deeply") from error


def _read_header(file: IO[bytes], path: StrPath, kind: str, version: int) -> tuple[Header, Any]:
    """Header of a file, checked, and a hash that arrays are still to be added to."""
    try:
        metadata, raw, length, size = _read_metadata(file)
        found, found_version = str(metadata["kind"]), int(metadata["version"])
    except EOFError as error:
        raise StorageError(
            f"{os.fspath(path)} is no {kind} file, or only the beginning of one."
        ) from error
    except _MALFORMED as error:
        raise StorageError(f"{os.fspath(path)} is no {kind} file, or a damaged one.") from error
    if found != kind:
        raise StorageError(f"{os.fspath(path)} is a {found} file, not a {kind} file.")
    if found_version != version:
        raise _version_error(path, found_version, version, metadata)
    try:
        if set(metadata) != {"kind", "version", "content", "digest"}:
            raise InputError("its header has other fields than it should")
        content = parse_json(metadata["content"])
        table = {name: _check_entry(entry) for name, entry in raw.items()}
    except _MALFORMED as error:
        raise _damage_error(path, str(error)) from error
    position = 0
    ordered = dict(sorted(table.items(), key=lambda item: item[1][2:]))
    for name, (_, _, begin, end) in ordered.items():
        if begin != position:
            raise _damage_error(path, f"array {name!r} is out of place")
        position = end
    if 8 + length + position != size:
        raise _damage_error(path, f"it has {size} bytes, its header says {8 + length + position}")
    header = Header(version, content, str(metadata["digest"]), ordered, size)
    return header, _digest(metadata, raw)


def _read_metadata(file: IO[bytes]) -> tuple[Any, Any, int, int]:
    """Metadata and array table of a header, unchecked, its length and the file's size in bytes."""
    size = os.fstat(file.fileno()).st_size
    length = int.from_bytes(file.read(8), "little")
    if size < 8 or length > min(size - 8, _MOST_HEADER):
        raise EOFError
    header_text = file.read(length)
    if _has_too_many_values(header_text):
        raise InputError("too many values")
    raw = parse_json(header_text)
    return raw.pop(_METADATA), raw, length, size


def _has_too_many_values(header: bytes) -> bool:
    """Whether parsing a header would take much more memory than its length."""
    taken = sum(size * header.count(sign) for sign, size in _BYTES_OF_VALUES.items())
    return taken > 2 * len(header) + _MOST_OF_VALUES


def _check_entry(entry: Any) -> tuple[str, tuple[int, ...], int, int]:
    """Dtype name, shape, first byte and end of an array, from its checked header entry."""
    if set(entry) != {"dtype", "shape", "data_offsets"}:
        raise InputError("its header has other fields than it should")
    if entry["dtype"] not in DTYPES:
        raise InputError(f"dtype {entry['dtype']}")
    dtype, shape, (begin, end) = DTYPES[entry["dtype"]], entry["shape"], entry["data_offsets"]
    numbers = [*shape, begin, end]
    if len(shape) > _MOST_AXES or any(type(n) is not int or n < 0 for n in numbers):
        raise InputError(f"an array of shape {shape} from byte {begin} to {end}")
    if math.prod(shape) * np.dtype(dtype).itemsize != end - begin:
        raise InputError(f"{end - begin} bytes for an array of shape {shape}")
    return dtype, tuple(shape), begin, end


def _version_error(path: StrPath, found: int, version: int, metadata: Any) -> StorageError:
    """Error for a file of another format version: which nearkin wrote it, and what to do."""
    try:
        maker = f"nearkin {parse_json(metadata['content'])['nearkin']}"
    except _MALFORMED:
        maker = "nearkin"
    if found > version:
        remedy = "update yours, pip install -U nearkin"
        maker = f"a newer {maker}"
    else:
        remedy = "fit again and save, or load it with the nearkin that wrote it"
        maker = f"an older {maker}"
    return StorageError(
        f"{os.fspath(path)} was written by {maker}, in format version {found}, and this nearkin "
        f"reads version {version}: {remedy}."
    )


def _to_c_order(name: str, array: Array) -> Array:
    """Array in C order and little-endian, as it is stored; an error for other dtypes."""
    if array.dtype.name not in _CODES:
        raise StorageError(
            f"{name} has dtype {array.dtype}, which is not stored. Those that are: "
            f"{', '.join(_CODES)}."
        )
    native = array.astype(array.dtype.newbyteorder("<"), copy=False)
    return np.ascontiguousarray(native).reshape(array.shape)  # a number stays a number


def _bytes(array: Array) -> memoryview:
    """Memory of an array in C order, without a copy."""
    return array.reshape(-1).view(np.uint8).data


def _digest(metadata: Mapping[str, Any], table: Mapping[str, Any]) -> Any:
    """SHA-256 of the header without its digest, to which the arrays' bytes are then added."""
    said = {name: value for name, value in metadata.items() if name != "digest"}
    return hashlib.sha256(json.dumps([said, table], sort_keys=True).encode())


def _damage_error(path: StrPath, what: str) -> StorageError:
    """Error that says what is wrong with a file."""
    return StorageError(f"{os.fspath(path)} is damaged: {what}.")


def _refuse_constant(name: str) -> None:
    """Raise for NaN and infinities, which Python's JSON reader accepts."""
    raise InputError(f"{name} is no number of JSON")


def _refuse_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object as dict; an error if a name is given twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise InputError("a name is given twice")
    return found
