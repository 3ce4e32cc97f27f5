"""Damaged and forged model files: each must load to a model or be refused, and nothing else.

    python -m benchmarks.fuzz_model_files [number of files] [seed]

Half of the files are damaged: bits flipped, cut, swapped, and so on. They must be refused with
StorageError, or load to the model that was saved. The other half is forged: arrays, metadata or
the header are changed and the digest made anew. They must be refused with StorageError, or load to
a model that embeds rows or refuses to with a ValueError.
"""

from __future__ import annotations

import copy
import json
import resource
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

import nearkin as nk
from nearkin.array_file import _digest, read_arrays, write_arrays
from nearkin.model_file import KIND, NEWEST, OLDEST, Facts, Trial, describe, save
from nearkin.row_marks import smallest_marks

# A file that takes longer ends the program.
MOST_SECONDS = 20
MOST_MEGABYTES = 300
FACTS = Facts(
    marks=smallest_marks([np.eye(20)]), tested=[Trial("pairs", "pair_auc", 0.75, 0.5, 10, 20)]
)


def models() -> list[tuple[Any, Any]]:
    """Fitted learners of many kinds, and rows for each."""
    X, y = nk.datasets.make_xor(24, random_state=0)
    X = np.column_stack([X, X[:, 0] * X[:, 1]])
    pairs = nk.Pairs.from_labels(y, 10, random_state=0)
    K = X @ X.T
    parts = [
        nk.Chain([PCA(2, random_state=0), nk.ITML(kernel="rbf", random_state=0)]),
        nk.Chain([StandardScaler(), nk.RCA(random_state=0)]),
        nk.Euclidean(random_state=0),
    ]
    some = [
        (nk.KernelBeta(n_landmarks=12, random_state=0), X.astype(np.float32)),
        (nk.KernelBeta(kernel="laplacian", n_iter=2, random_state=0), sp.csr_array(X)),
        (nk.KernelBeta(kernel="precomputed", random_state=0), K),
        (nk.KernelBeta(kernel="poly", extension="nystroem", random_state=0), X),
        (nk.KernelA(random_state=0), sp.csr_matrix(X)),
        (nk.GeometryAware(n_vectors=5, random_state=0), X),
        (nk.GeometryAware(family="rbf", random_state=0), X),
        (nk.LLMA(random_state=0), X),
        (nk.Generative(combine="local", random_state=0), X),
        (nk.Blend(parts, weights=np.array([1, 2, 3]), random_state=0), X),
        (nk.MetricLearner(time_budget=0, random_state=0), X),
        (nk.LMNN(random_state=0), pd.DataFrame(X, columns=["width", "height", "area"])),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [(learner.fit(rows, y, pairs=pairs), rows) for learner, rows in some]


def damage(data: bytes, other: bytes, rng: np.random.Generator) -> bytes:
    """Bytes of a file after an accident."""
    start, stop = sorted(int(i) for i in rng.integers(0, len(data) + 1, 2))
    header = 8 + int.from_bytes(data[:8], "little")
    match rng.integers(11):
        case 0 | 1:
            changed = bytearray(data)
            # As often in the header as in all that follows.
            end = header if rng.random() < 0.5 else len(data)
            for _ in range(rng.integers(1, 5)):
                changed[rng.integers(end)] ^= 1 << int(rng.integers(8))
            return bytes(changed)
        case 2:
            return data[:start]
        case 3:
            return data[:start] + data[stop:]
        case 4:
            return data + rng.bytes(rng.integers(1, 100))
        case 5:
            return data[:start] + rng.bytes(stop - start) + data[stop:]
        case 6:
            return data[:start] + bytes(stop - start) + data[stop:]
        case 7:  # the header of one file, the numbers of another
            return other[: 8 + int.from_bytes(other[:8], "little")] + data[header:]
        case 8:  # any length of the header
            return int(rng.integers(1 << rng.integers(1, 63))).to_bytes(8, "little") + data[8:]
        case 9:  # deep JSON in the place of the header
            deep = b"[" * int(rng.integers(1, 100_000))
            return len(deep).to_bytes(8, "little") + deep + data[header:]
        case _:
            return data[:start] + data[stop:] + data[start:stop]


def forge(path: Path, base: Path, rng: np.random.Generator) -> None:
    """A file whose digest is right, with something else in it."""
    arrays, content = read_arrays(base, KIND, (OLDEST, NEWEST))
    kind = rng.integers(10)
    if kind == 0 and arrays:
        path.write_bytes(_forged_header(base.read_bytes(), rng))
        return
    if kind < 4 and arrays:
        name = list(arrays)[rng.integers(len(arrays))]
        arrays[name] = _other_array(arrays[name], rng)
    try:
        if kind == 9:
            _widen(content["model"], int(rng.choice([2**24, 2**24 + 1, 2**31 - 1, 2**31, 2**62])))
        elif kind >= 4 or not arrays:
            for _ in range(rng.integers(1, 3)):
                _change_node(content, rng)
        write_arrays(path, KIND, NEWEST, arrays, content)
    except (ValueError, RecursionError):  # cannot even be written
        path.write_bytes(b"")


def _other_array(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    flat = array.reshape(-1)
    at = int(rng.integers(max(flat.size, 1)))
    match rng.integers(9):
        case 0 if flat.size and array.dtype.kind == "f":
            flat[at] = rng.choice([np.nan, np.inf, -np.inf])
        case 1 if flat.size and array.dtype.kind == "f":
            flat[at] = rng.choice([0.0, 1e300, -1e300, 1e-310, -1.0]).astype(array.dtype)
        case 2 if flat.size and array.dtype.kind == "i":
            flat[at] = rng.choice([-1, 10**6, 2**31 - 1, 0])
        case 3:
            return array[: rng.integers(len(array) + 1)] if array.ndim else array
        case 4:
            return array.astype(rng.choice(["float32", "float64", "int64", "bool", "uint8"]))
        case 5:
            return array.T
        case 6:
            return array.reshape(-1)
        case 7:
            return np.concatenate([array, array]) if array.ndim else array
        case _:
            return array * 0
    return array


def _forged_header(data: bytes, rng: np.random.Generator) -> bytes:
    """Sizes that are not those of the numbers, with a digest that is right."""
    end = 8 + int.from_bytes(data[:8], "little")
    table = json.loads(data[8:end])
    metadata = table.pop("__metadata__")
    entry = table[list(table)[rng.integers(len(table))]]
    huge = [2**31, 2**40, 2**62, 2**64, 10**30, 0, -1, 1]
    match rng.integers(4):
        case 0:
            entry["shape"] = [int(huge[i]) for i in rng.integers(0, len(huge), rng.integers(5))]
        case 1:
            entry["data_offsets"] = [int(huge[i]) for i in rng.integers(0, len(huge), 2)]
        case 2:
            entry["dtype"] = str(rng.choice(["F64", "F32", "I64", "BOOL", "BF16", "object"]))
        case _:
            entry["shape"] = [0, *(int(huge[i]) for i in rng.integers(0, len(huge), 3))]
            entry["data_offsets"] = [0, 0]
    digest = _digest(metadata, table)
    digest.update(data[end:])
    metadata["digest"] = digest.hexdigest()
    header = json.dumps({"__metadata__": metadata, **table}).encode()
    return len(header).to_bytes(8, "little") + header + data[end:]


def _widen(node: Any, columns: int) -> None:
    """Claim another number of columns wherever one is claimed."""
    for here, key in _places(node):
        if key == "n_features_in_":
            here[key] = columns
        elif key == "sparse":
            here["shape"][1] = columns


def _places(node: Any) -> list[tuple[Any, Any]]:
    """Every container and key within a JSON value."""
    found: list[tuple[Any, Any]] = []
    waiting = [node]
    while waiting:
        here = waiting.pop()
        keys = list(here) if isinstance(here, dict) else range(len(here))
        for key in keys:
            found.append((here, key))
            if isinstance(here[key], dict | list):
                waiting.append(here[key])
    return found


def _change_node(content: Any, rng: np.random.Generator) -> None:
    places = _places(content)
    here, key = places[rng.integers(len(places))]
    there, other = places[rng.integers(len(places))]
    deep: Any = 0
    for _ in range(int(rng.choice([10, 70, 900]))):
        deep = [deep] if rng.random() < 0.5 else {"tuple": [deep]}
    values = [
        *(None, True, False, 0, 1, -1, 3, 10**12, 10**30, 0.5, -0.5, 1e308, "", "x", "rbf"),
        *("precomputed", "callable", [], {}, {"float": "nan"}, {"float": "inf"}, {"float": "x"}),
        {"class": "system", "state": {"command": "true"}},
        {"class": "Euclidean", "parameters": {}, "state": {}},
        {"class": "Kernel", "state": {"name": "callable", "gamma": 1.0, "degree": 3, "coef0": 1}},
        {"words": ["a", "b" * 1000], "dtype": "str"},
        {"number": 3, "dtype": "int8"},
        {"number": 10**9, "dtype": "int8"},
        {"tuple": [1, 2]},
        {"dict": {"transform": 1}},
        deep,
    ]
    match rng.integers(6):
        case 0 | 1:
            here[key] = values[rng.integers(len(values))]
        case 2 | 3:
            here[key] = copy.deepcopy(there[other])
        case 4:
            del here[key]
        case _ if isinstance(here, dict):
            name = rng.choice(["transform", "__class__", "_embed", "fit", "threshold_", "state"])
            here[str(name)] = here.pop(key)


def outcome(path: Path, metric: Any, rows: Any, *, damaged: bool) -> str:
    """What becomes of a file; an error of another kind than it may be is raised."""
    with suppress(nk.StorageError):
        describe(path)
    try:
        loaded = nk.load(path)
    except nk.StorageError:
        return "refused"
    if damaged:
        assert np.array_equal(loaded.transform(rows), metric.transform(rows))
        return "loaded, the same"
    try:
        loaded.distance(rows)
        loaded.same(rows, rows)
    except ValueError:
        return "loaded, refuses rows"
    return "loaded, embeds rows"


def fuzz(n_files: int, seed: int = 0, keep: Path | None = None) -> Counter[str]:
    """Outcomes of so many files. Of one that leads to any other, a copy is kept."""
    rng = np.random.default_rng(seed)
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        saved = []
        for i, (metric, rows) in enumerate(models()):
            saved.append((Path(folder, f"{i}.nearkin"), metric, rows))
            save(metric, saved[-1][0], facts=FACTS)
        path = Path(folder, "changed.nearkin")
        for i in range(n_files):
            base, metric, rows = saved[rng.integers(len(saved))]
            damaged = i % 2 == 0
            if damaged:
                other = saved[rng.integers(len(saved))][0].read_bytes()
                path.write_bytes(damage(base.read_bytes(), other, rng))
            else:
                forge(path, base, rng)
            signal.alarm(MOST_SECONDS)
            try:
                result = outcome(path, metric, rows, damaged=damaged)
            except BaseException:
                if keep is not None:
                    keep.write_bytes(path.read_bytes())
                raise
            finally:
                signal.alarm(0)
            counts[f"{'damaged' if damaged else 'forged'}: {result}"] += 1
    return counts


def _megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    n_files, seed = (*map(int, sys.argv[1:]), *(10_000, 0)[len(sys.argv) - 1 :])
    fuzz(20, seed + 1)  # compiled loops take memory of their own
    before, start = _megabytes(), time.perf_counter()
    for what, n in sorted(fuzz(n_files, seed, Path("failed.nearkin")).items()):
        print(f"{n:6}  {what}")
    grown = _megabytes() - before
    print(f"{n_files} files in {time.perf_counter() - start:.0f} s, {grown:.0f} MB more memory")
    if grown > MOST_MEGABYTES:
        sys.exit("too much memory")


if __name__ == "__main__":
    main()
