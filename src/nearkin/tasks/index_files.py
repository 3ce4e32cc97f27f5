"""Files of vectors with ids: stored whole and checked when read, or exported for other programs."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]

FORMAT, VERSION = "nearkin index", 1
_FLOATS = ("float32", "float64")


def write_index(
    path: str | os.PathLike[str], vectors: NDArray[Any], ids: NDArray[Any], settings: dict[str, Any]
) -> None:
    """Write vectors, ids and settings to one safetensors file, whole or not at all.

    Strings become their UTF-8 bytes, one after the other, and where each ends. Settings are JSON.
    A digest of everything is stored beside it.
    """
    from safetensors.numpy import save_file

    # safetensors takes the memory as it lies: Fortran order would come back scrambled.
    arrays = {"vectors": np.ascontiguousarray(vectors), **_packed(ids)}
    text = json.dumps({"format": FORMAT, "version": VERSION, **settings}, sort_keys=True)
    metadata = {"index": text, "digest": _digest(arrays, text)}
    write_whole(path, lambda unfinished: save_file(arrays, unfinished, metadata=metadata))


def read_index(
    path: str | os.PathLike[str],
) -> tuple[NDArray[Any], NDArray[Any], dict[str, Any]]:
    """Read what :func:`write_index` wrote; a ValueError says what is wrong with other files."""
    from safetensors import safe_open

    if not Path(path).is_file():
        raise FileNotFoundError(f"there is no file {os.fspath(path)!r} to load an index from.")
    try:
        with safe_open(os.fspath(path), framework="numpy") as file:
            metadata = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in sorted(file.keys())}
        settings = json.loads(metadata["index"]) if "index" in metadata else {}
    except Exception as error:  # whatever the reader says of bytes that make no sense
        raise _refusal(path, f"it cannot be read as a safetensors file ({error})") from error
    if not isinstance(settings, dict) or settings.get("format") != FORMAT:
        raise _refusal(path, "it is no index written by NeighborIndex.save")
    if settings.get("version") != VERSION:
        raise _refusal(
            path,
            f"its format has version {settings.get('version')!r}, and this nearkin reads version "
            f"{VERSION}; write it again with this nearkin, or read it with a newer one",
        )
    if metadata.get("digest") != _digest(arrays, metadata["index"]):
        raise _refusal(path, "its content is not what was written: it is damaged or was changed")
    vectors = arrays.get("vectors")
    if vectors is None or vectors.ndim != 2 or vectors.dtype.name not in _FLOATS:
        raise _refusal(path, "it holds no matrix of float32 or float64 vectors")
    if not np.isfinite(vectors).all():
        raise _refusal(path, "its vectors are not all finite")
    ids = _unpacked(arrays)
    if ids is None or ids.shape != (len(vectors),):
        raise _refusal(path, f"it does not hold one id for each of {len(vectors)} vectors")
    return vectors, ids, settings


def export_vectors(path: str | os.PathLike[str], vectors: NDArray[Any], ids: NDArray[Any]) -> None:
    """Write vectors for other programs: ``.npy``, or ``.parquet`` with columns id and vector."""
    suffix = Path(path).suffix
    if suffix == ".npy":

        def save(unfinished: str) -> None:
            with open(unfinished, "wb") as file:
                np.save(file, np.ascontiguousarray(vectors), allow_pickle=False)

        write_whole(path, save)
    elif suffix == ".parquet":
        write_whole(path, lambda unfinished: _write_parquet(unfinished, vectors, ids))
    else:
        raise ValueError(f"path must end in .npy or .parquet, got {os.fspath(path)!r}.")


def write_whole(path: str | os.PathLike[str], write: Callable[[str], None]) -> None:
    """Write to another name beside ``path`` and rename: nobody ever sees half a file."""
    path = Path(path)
    unfinished = path.with_name(f".{path.name}.{secrets.token_hex(4)}.unfinished")
    try:
        write(str(unfinished))
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def _write_parquet(path: str, vectors: NDArray[Any], ids: NDArray[Any]) -> None:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise ImportError('export to .parquet needs pyarrow: pip install "nearkin[parquet]"') from (
            error
        )
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
    text, ends = arrays["id_bytes"].tobytes(), arrays["id_ends"].tolist()
    ids = np.empty(len(ends), dtype=object)
    try:
        ids[:] = [text[start:end].decode() for start, end in zip([0, *ends], ends, strict=False)]
    except UnicodeDecodeError:
        return None
    return ids


def _digest(arrays: Arrays, text: str) -> str:
    digest = hashlib.sha256(text.encode())
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"|{name} {array.dtype.name} {array.shape}|".encode())
        digest.update(np.ascontiguousarray(array).data.cast("B") if array.size else b"")
    return digest.hexdigest()


def _refusal(path: str | os.PathLike[str], reason: str) -> ValueError:
    return ValueError(f"{os.fspath(path)!r} was not loaded: {reason}.")
