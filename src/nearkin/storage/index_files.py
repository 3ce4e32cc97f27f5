"""Files of vectors with ids: stored whole and checked when read, or exported for other programs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearkin.errors import InputError, needing
from nearkin.storage.arrays import StorageError, read_arrays, write_arrays
from nearkin.storage.files import StrPath, whole_file

Arrays = dict[str, NDArray[Any]]

KIND, VERSION = "nearkin index", 1
_FLOATS = ("float32", "float64")
# Ids that are read at a time.
_SOME_IDS = 2**16


def write_index(
    path: StrPath, vectors: NDArray[Any], ids: NDArray[Any], settings: dict[str, Any]
) -> None:
    """Write vectors, ids and settings to one file of arrays.

    Strings become their UTF-8 bytes, one after the other, and where each ends.
    """
    write_arrays(path, KIND, VERSION, {"vectors": vectors, **_packed(ids)}, settings)


def read_index(path: StrPath) -> tuple[NDArray[Any], NDArray[Any], dict[str, Any]]:
    """Read what :func:`write_index` wrote; a StorageError says what is wrong with other files."""
    arrays, settings = read_arrays(path, KIND, (VERSION, VERSION))
    vectors = arrays.get("vectors")
    if (
        vectors is None
        or vectors.ndim != 2
        or 0 in vectors.shape
        or vectors.dtype.name not in _FLOATS
    ):
        raise refusal(path, "it holds no matrix of float32 or float64 vectors")
    if not np.isfinite(vectors).all():
        raise refusal(path, "its vectors are not all finite")
    ids = _unpacked(arrays)
    if ids is None or ids.shape != (len(vectors),):
        raise refusal(path, f"it does not hold one id for each of {len(vectors)} vectors")
    if not isinstance(settings, dict):
        raise refusal(path, "it holds no settings")
    return vectors, ids, settings


def refusal(path: StrPath, reason: str) -> StorageError:
    """An error for a file that holds no index."""
    return StorageError(f"{os.fspath(path)} was not loaded: {reason}.")


def export_vectors(path: StrPath, vectors: NDArray[Any], ids: NDArray[Any]) -> None:
    """Write vectors for other programs: ``.npy``, or ``.parquet`` with columns id and vector."""
    suffix = Path(path).suffix
    if suffix not in (".npy", ".parquet"):
        raise InputError(f"path must end in .npy or .parquet, got {os.fspath(path)!r}.")
    with whole_file(path) as unfinished:
        if suffix == ".parquet":
            _write_parquet(unfinished, vectors, ids)
            return
        with open(unfinished, "wb") as file:
            np.save(file, np.ascontiguousarray(vectors), allow_pickle=False)


def _write_parquet(path: Path, vectors: NDArray[Any], ids: NDArray[Any]) -> None:
    with needing("export to .parquet needs pyarrow", "parquet"):
        import pyarrow as pa
        import pyarrow.parquet as pq
    lists = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), vectors.shape[1])
    kind = pa.int64() if ids.dtype.kind == "i" else pa.string()
    pq.write_table(pa.table({"id": pa.array(ids, kind), "vector": lists}), path)


def _packed(ids: NDArray[Any]) -> Arrays:
    if ids.dtype.kind == "i":
        return {"ids": np.ascontiguousarray(ids)}
    texts = [text.encode() for text in ids.tolist()]
    ends = np.cumsum([len(text) for text in texts], dtype=np.int64)
    return {"id_bytes": np.frombuffer(b"".join(texts), dtype=np.uint8), "id_ends": ends}


def _unpacked(arrays: Arrays) -> NDArray[Any] | None:
    """Ids as they were, or nothing if the arrays are not what :func:`_packed` gives."""
    kinds = {name: (a.ndim, a.dtype.name) for name, a in arrays.items() if name != "vectors"}
    if kinds == {"ids": (1, "int64")}:
        return arrays["ids"]
    if kinds != {"id_bytes": (1, "uint8"), "id_ends": (1, "int64")}:
        return None
    text, ends = arrays["id_bytes"].data, arrays["id_ends"]
    # Texts that overlap could take any amount of memory.
    in_order = ends[:1].min(initial=0) == 0 and bool((ends[1:] >= ends[:-1]).all())
    if not in_order or ends.max(initial=0) != len(text):
        return None
    ids = np.empty(len(ends), dtype=object)
    start = 0
    try:
        for first in range(0, len(ends), _SOME_IDS):
            for row, end in enumerate(ends[first : first + _SOME_IDS].tolist(), first):
                ids[row] = str(text[start:end], "utf-8")
                start = end
    except UnicodeDecodeError:
        return None
    return ids
