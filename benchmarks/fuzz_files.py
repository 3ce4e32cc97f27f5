"""Damaged and forged files of every kind that nearkin reads.

    python -m benchmarks.fuzz_files 1000 [--seed 0] [--workers 2]

Each file is a good one after some edits. It must be read, or refused with the error that its reader
promises; a file of the command line ends with status 0 or 2 and a message of a line or two. What is
protected by a digest is read as it was written, or not at all, unless the digest was made anew.
Reading takes at most four times the size of the file and 100 MB.

ONNX files are missing here: nearkin writes them, and reads none.
"""

from __future__ import annotations

import csv
import io
import json
import resource
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import scipy.sparse as sp
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

import nearkin as nk
from benchmarks.campaign import Campaign, Case, main
from benchmarks.file_edits import change_somewhere, deep, drawn_edits, edited, places
from nearkin import search as neighbor_index
from nearkin.cli import main as nearkin
from nearkin.storage.arrays import StorageError, _digest, read_arrays, write_arrays
from nearkin.storage.models import KIND, VERSION, Facts, Trial, describe, save
from nearkin.studio.journal import JournalError, line_of
from nearkin.studio.lesson import Lesson
from nearkin.studio.records import StudioRecords

MOST_TIMES, MOST_BESIDE = 4, 100 * 10**6
N = 24
IDS = [f"n{i}" for i in range(N)]


@cache
def folder() -> Path:
    """A folder of this process, which goes with it."""
    made = tempfile.TemporaryDirectory(prefix="nearkin-fuzz-")
    folder.made = made  # type: ignore[attr-defined]  # as long as the process lives
    return Path(made.name)


@cache
def data() -> tuple[Any, Any, Any]:
    X, y = nk.datasets.make_xor(N, random_state=0)
    X = np.column_stack([X, X[:, 0] * X[:, 1]])
    return X, y, nk.Pairs.from_labels(y, 10, random_state=0)


# --- how much memory a reader takes ----------------------------------------------------------


def _peak() -> int:
    """Bytes of memory that this process had at most, since the last reset if there was one."""
    with suppress(OSError), open("/proc/self/status") as file:
        return next(1024 * int(line.split()[1]) for line in file if line.startswith("VmHWM"))
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


@contextmanager
def little_memory(size: int) -> Iterator[None]:
    """Fail if what happens here takes more than a file of this size lets expect."""
    with suppress(OSError), open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # the peak is now what there is
    before = _peak()
    yield
    grown, allowed = _peak() - before, MOST_TIMES * size + MOST_BESIDE
    assert grown <= allowed, f"too much memory: {grown} bytes for a file of {size}"


# --- model files -----------------------------------------------------------------------------


def _learners() -> list[tuple[Any, Any]]:
    X, _, _ = data()
    parts = [
        nk.Chain([PCA(2, random_state=0), nk.ITML(kernel="rbf", random_state=0)]),
        nk.Chain([StandardScaler(), nk.RCA(random_state=0)]),
        nk.Euclidean(random_state=0),
    ]
    return [
        (nk.KernelBeta(n_landmarks=12, random_state=0), X.astype(np.float32)),
        (nk.KernelBeta(kernel="laplacian", n_iter=2, random_state=0), sp.csr_array(X)),
        (nk.KernelBeta(kernel="precomputed", random_state=0), X @ X.T),
        (nk.KernelBeta(kernel="poly", extension="nystroem", random_state=0), X),
        (nk.KernelA(random_state=0), sp.csr_matrix(X)),
        (nk.GeometryAware(n_vectors=5, random_state=0), X),
        (nk.GeometryAware(family="rbf", random_state=0), X),
        (nk.LLMA(random_state=0), X),
        (nk.Generative(combine="local", random_state=0), X),
        (nk.Blend(parts, weights=np.array([1, 2, 3]), random_state=0), X),
        (nk.Blend([nk.Euclidean(random_state=0)], random_state=0), X),
        (nk.MetricLearner(time_budget=0, random_state=0), X),
        (nk.LMNN(random_state=0), pd.DataFrame(X, columns=["width", "height", "area"])),
    ]


@cache
def _model(number: int) -> tuple[Any, Any, Path]:
    """A fitted learner, rows for it, and its file."""
    _, y, pairs = data()
    learner, rows = _learners()[number]
    path = folder() / f"{number}.nearkin"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        learner.fit(rows, y, pairs=pairs)
    tested = [Trial("pairs", "pair_auc", 0.75, 0.5, 10, 20)]
    save(learner, path, facts=Facts(marks=np.arange(20, dtype=np.uint32), tested=tested))
    return learner, rows, path


_ODD_NODES: list[Any] = [
    *(None, True, False, 0, 1, -1, 3, 10**12, 10**30, 0.5, -0.5, 1e308, "", "x", "rbf"),
    *("precomputed", "callable", [], {}, {"float": "nan"}, {"float": "inf"}, {"float": "x"}),
    {"class": "system", "state": {"command": "true"}},
    {"class": "Euclidean", "parameters": {}, "state": {}},
    {"class": "Kernel", "state": {"name": "callable", "gamma": 1.0, "degree": 3, "coef0": 1}},
    {"words": ["a", "b" * 1000], "dtype": "str"},
    {"words": ["a" * 3000, *["b"] * 3000], "dtype": "str"},
    {"number": 3, "dtype": "int8"},
    {"number": 10**9, "dtype": "int8"},
    {"tuple": [1, 2]},
    {"dict": {"transform": 1}},
    {
        "sparse": "csr_array",
        "shape": [3, 10**7],
        "data": {"array": "x"},
        "indices": {},
        "indptr": 0,
    },
    *(deep(10), deep(70), deep(900)),
]


def _forged_model(base: int, edits: list[Any]) -> bytes:
    """A file whose digest is right, with something else in it."""
    path = _model(base)[2]
    whole = path.read_bytes()
    arrays, content = read_arrays(path, KIND, VERSION)
    for name, seed in edits:
        rng = np.random.default_rng(seed)
        if name == "array" and arrays:
            chosen = list(arrays)[rng.integers(len(arrays))]
            arrays[chosen] = _other_array(arrays[chosen], rng)
        elif name == "node":
            change_somewhere(content, rng, _ODD_NODES)
        elif name == "wide":
            columns = int(rng.choice([2**20, 2**23, 2**24, 2**24 + 1, 2**31 - 1, 2**31, 2**62]))
            _widen(content, columns)
        elif name == "many":
            for here, key in list(places(content)):
                if key == "learners_" and isinstance(here[key], list) and len(here[key]) < 10:
                    here[key] = here[key] * int(rng.choice([10, 100, 1000]))
                    arrays["factors_"] = np.ones(len(here[key]))
        elif name == "header":
            return _forged_header(whole, rng)
    return _written(KIND, VERSION, arrays, content)


def _written(kind: str, version: int, arrays: dict[str, Any], content: Any) -> bytes:
    path = folder() / "forged"
    try:
        write_arrays(path, kind, version, arrays, content)
    except (ValueError, RecursionError):  # cannot even be written
        return b""
    return path.read_bytes()


def _other_array(array: Any, rng: np.random.Generator) -> Any:
    array = array.copy()
    flat = array.reshape(-1)
    at = int(rng.integers(max(flat.size, 1)))
    match rng.integers(10):
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
            return np.concatenate([array] * int(rng.choice([2, 50]))) if array.ndim else array
        case 8:
            return np.empty((0, int(rng.choice([3, 10**6, 2**24, 2**40]))), dtype=array.dtype)
        case _:
            return array * 0
    return array


def _widen(node: Any, columns: int) -> None:
    """Claim another number of columns wherever one is claimed."""
    for here, key in list(places(node)):
        if key in ("n_features_in_", "n_components_"):
            here[key] = columns
        elif key == "sparse" and isinstance(here.get("shape"), list) and len(here["shape"]) == 2:
            here["shape"][1] = columns


def _forged_header(whole: bytes, rng: np.random.Generator) -> bytes:
    """Sizes that are not those of the numbers, with a digest that is right."""
    end = 8 + int.from_bytes(whole[:8], "little")
    table = json.loads(whole[8:end])
    metadata = table.pop("__metadata__")
    if not table:
        return whole
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
    digest.update(whole[end:])
    metadata["digest"] = digest.hexdigest()
    header = json.dumps({"__metadata__": metadata, **table}).encode()
    return len(header).to_bytes(8, "little") + header + whole[end:]


def _check_model(path: Path, case: Case) -> str:
    learner, rows, _ = _model(case["base"] % len(_learners()))
    with little_memory(path.stat().st_size), suppress(StorageError):
        describe(path)
    try:
        with little_memory(path.stat().st_size):
            loaded = nk.load(path)
    except StorageError:
        return "refused"
    if not case["forged"]:
        assert np.array_equal(loaded.transform(rows), learner.transform(rows)), "the same: not so"
        return "read, the same"
    if any(name in ("wide", "many") for name, _ in case["forged"]):
        return "read"  # rows as wide as it claims are not at hand
    try:
        loaded.distance(rows)
        loaded.same(rows, rows)
    except ValueError:
        return "read, refuses rows"
    return "read"


# --- neighbour indexes -----------------------------------------------------------------------


@cache
def _index(number: int) -> tuple[Any, Path]:
    X = data()[0]
    ids = [None, np.arange(N) * 3 - 7, IDS, ["", "é", "🙂", *IDS[3:]]][number]
    index = nk.NeighborIndex(search="exact", n_neighbors=3).fit(
        X.astype(np.float32 if number % 2 else np.float64), ids=ids
    )
    path = folder() / f"{number}.index"
    index.save(path)
    return index, path


def _forged_index(base: int, edits: list[Any]) -> bytes:
    path = _index(base)[1]
    arrays, content = read_arrays(path, neighbor_index.KIND, neighbor_index.VERSION)
    for name, seed in edits:
        rng = np.random.default_rng(seed)
        if name == "header":
            return _forged_header(path.read_bytes(), rng)
        if name == "node":
            change_somewhere(content, rng, _ODD_NODES)
        elif name == "many" and "id_ends" in arrays:  # texts that overlap
            n = int(rng.choice([N, 3000]))
            length = int(rng.choice([10, 10**5]))
            arrays["id_bytes"] = np.full(length, 65, np.uint8)
            arrays["id_ends"] = rng.integers(-1, length + 1, n)
            arrays["vectors"] = np.zeros((n, 1))
        else:
            chosen = list(arrays)[rng.integers(len(arrays))]
            arrays[chosen] = _other_array(arrays[chosen], rng)
    return _written(neighbor_index.KIND, neighbor_index.VERSION, arrays, content)


def _check_index(path: Path, case: Case) -> str:
    known = _index(case["base"] % 4)[0]
    try:
        with little_memory(path.stat().st_size):
            loaded = nk.NeighborIndex.load(path)
    except StorageError:
        return "refused"
    if not case["forged"]:
        assert loaded.ids.tolist() == known.ids.tolist(), "the same ids: not so"
        assert loaded.vectors.tobytes() == known.vectors.tobytes(), "the same vectors: not so"
        return "read, the same"
    distances, ids = loaded.query(loaded.vectors[:1], 1)
    assert np.isfinite(distances).all(), f"finite distances: {distances}"
    assert ids.shape == (1, 1), f"one id: {ids}"
    return "read"


# --- tables, by way of the command line ------------------------------------------------------


def _rows() -> dict[str, list[Any]]:
    X, y, _ = data()
    return {
        "name": IDS,
        "a": X[:, 0].tolist(),
        "b": X[:, 1].tolist(),
        "kind": [f"k{label}" for label in y],
    }


def _delimited(columns: dict[str, list[Any]], delimiter: str = ",", **style: Any) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\n", **style)
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return text.getvalue().encode()


def _json_lines(columns: dict[str, list[Any]]) -> bytes:
    rows = zip(*columns.values(), strict=True)
    return "".join(f"{json.dumps(dict(zip(columns, r, strict=True)))}\n" for r in rows).encode()


def _parquet(table: Any, **options: Any) -> bytes:
    made = io.BytesIO()
    with suppress(pa.ArrowNotImplementedError):  # not all types can be written
        pq.write_table(table, made, **options)
    return made.getvalue()


def _npy(array: Any) -> bytes:
    made = io.BytesIO()
    np.save(made, array)
    return made.getvalue()


@cache
def tables(kind: str) -> list[bytes]:
    """Good files of a kind."""
    X, y, _ = data()
    rows = _rows()
    with_gaps = {**rows, "a": [None, *rows["a"][1:]], "empty": [None] * N}
    vectors = {**rows, "v": X[:, :2].tolist(), "kind": y.tolist()}
    if kind in ("csv", "tsv"):
        sign = "," if kind == "csv" else "\t"
        quoted = _delimited(rows, sign, quoting=csv.QUOTE_ALL)
        return [
            _delimited(rows, sign),
            quoted,
            _delimited(with_gaps, sign),
            _delimited(vectors, sign),
        ]
    if kind == "jsonl":
        return [_json_lines(rows), _json_lines(with_gaps), _json_lines(vectors)]
    if kind == "npy":
        flat = np.asfortranarray(X[:, :2])
        return [
            _npy(X[:, :2]),
            _npy(flat),
            _npy(X[:, :2].astype("f4")),
            _npy(X[:, :2].astype("i2")),
        ]
    plain = pa.table(rows)
    words = plain.set_column(3, "kind", plain.column("kind").dictionary_encode())
    lists = pa.table(vectors)
    fixed = pa.FixedSizeListArray.from_arrays(pa.array(X[:, :2].ravel()), 2)
    return [
        _parquet(plain),
        _parquet(words, compression="zstd", row_group_size=5),
        _parquet(lists, use_dictionary=False, compression="none"),
        _parquet(pa.table({**rows, "v": fixed})),
        _parquet(pa.table(with_gaps)),
    ]


def _forged_table(kind: str, base: int, edits: list[Any]) -> bytes:
    """Good files of odd content."""
    made = tables(kind)[base % len(tables(kind))]
    for _, seed in edits:
        rng = np.random.default_rng(seed)
        if kind == "npy":
            made = _odd_npy(rng, made)
        elif kind == "parquet":
            made = _parquet(_odd_table(rng))
    return made


def _odd_npy(rng: np.random.Generator, made: bytes) -> bytes:
    """A header that claims something else than follows."""
    if rng.random() < 0.3:
        arrays = [
            np.array([["a", "b"]]), np.zeros((3, 2), "c16"), np.zeros((2, 2, 2)), np.array(3.0),
            np.zeros((0, 2)), np.zeros((2, 0)), np.full((3, 2), np.nan), np.full((9, 2), 1e308),
            np.zeros(4, "f4,i2"), np.array([["2020-01-01"] * 2], "M8[D]"), np.eye(2, dtype=bool),
            np.zeros((2, 2), ">f8"), np.zeros((2, 2), "f2"), np.array([[2**63] * 2], "u8"),
        ]  # fmt: skip
        return _npy(arrays[rng.integers(len(arrays))])
    shapes = ["(24, 2)", "(2**40, 2)", f"({2**40}, 2)", f"(24, {2**40})", "(-1, 2)", "(24,)", "24"]
    shapes += [f"({2**62}, {2**62})", "(0, 2)", "(24.0, 2)", "((((((1))))))", "[" * 300, "(1,) * 9"]
    types = [
        "<f8",
        "|O",
        ">f4",
        "<f16",
        "|V0",
        "|S0",
        "<M8[ns]",
        "x",
        "[('a', '<f8')]",
        "|V1000000",
    ]
    order = rng.choice(["False", "True", "2"])
    text = (
        f"{{'descr': '{types[rng.integers(len(types))]}', 'fortran_order': {order}, "
        f"'shape': {shapes[rng.integers(len(shapes))]}, }}"
    ).encode()
    length = int(rng.choice([len(text), len(text), 0, 65535]))
    return made[:6] + b"\x01\x00" + length.to_bytes(2, "little") + text + made[-384:]


def _odd_table(rng: np.random.Generator) -> Any:
    """Columns of many types, under the names that commands look for."""
    numbers = rng.normal(size=N).tolist()
    columns = [
        pa.array(numbers), pa.array([*numbers[1:], None]), pa.array([float("inf"), *numbers[1:]]),
        pa.array([*numbers[1:], float("nan")], pa.float32()), pa.array(range(N), pa.int8()),
        pa.array([2**64 - 1] * N, pa.uint64()), pa.array([True, None] * (N // 2)),
        pa.array([None] * N), pa.array([None] * N, pa.float64()), pa.array(IDS),
        pa.array(["", None] * (N // 2)), pa.array(["=1+1"] * N), pa.array([b"\xff\x00"] * N),
        pa.array(range(N), pa.timestamp("ns", "UTC")), pa.array(range(N), pa.date32()),
        pa.array(range(N), pa.time64("us")), pa.array(range(N), pa.duration("s")),
        pa.array([[1.0, 2.0]] * N), pa.array([[1.0], [1.0, 2.0]] * (N // 2)), pa.array([[]] * N),
        pa.array([None, [1.0, None]] * (N // 2)), pa.array([[[1.0]]] * N), pa.array([["a"]] * N),
        pa.array([{"x": 1}] * N), pa.array([{}] * N), pa.array(numbers, pa.float16()),
        pa.array([1] * N, pa.decimal128(38, 10)), pa.array(IDS, pa.large_string()),
        pa.array(IDS).dictionary_encode(), pa.array([0, None] * (N // 2)).dictionary_encode(),
        pa.array([1e300, -1e300] * (N // 2)), pa.array([[1e308, -1e308]] * N),
        pa.array([1.0, float("inf")] * (N // 2)), pa.array(["inf", "nan"] * (N // 2)),
    ]  # fmt: skip
    names = ["name", "a", "b", "kind", "v", "x" * 3000, "", "a.b", "é\n", "a"]
    chosen = rng.choice(len(names), int(rng.integers(1, 6)), replace=bool(rng.random() < 0.1))
    drawn = [columns[rng.integers(len(columns))] for _ in chosen]
    with suppress(pa.ArrowException):
        return pa.table(drawn, names=[names[i] for i in chosen])
    return pa.table({"a": numbers})


# What is done with a table that is somehow odd; {} is its name.
_FIT = ["--learner", "rca", "-o", "out.nearkin", "--force"]
_USES = [
    ["transform", "m.nearkin", "{}"],
    ["fit", "{}", "-c", "a,b", "--labels", "kind", "--missing", "fill", *_FIT],
    ["fit", "{}", "-c", "a,b", "--id", "name", "-p", "pairs.csv", "--missing", "drop", *_FIT],
    ["cluster", "none", "{}", "-c", "a,b", "--clusters", "2", "--missing", "fill"],
    ["suggest", "none", "{}", "-c", "a,b", "-n", "2", "--missing", "drop"],
    ["evaluate", "m.nearkin", "{}", "--labels", "kind", "--missing", "fill"],
    ["transform", "v.nearkin", "{}", "--id", "name", "--json"],
    ["neighbors", "m.nearkin", "{}", "--id", "name", "-k", "1", "--quote-formulas"],
    ["fit", "{}", "-c", "a", "--one-hot", "kind", "-p", "numbered.csv", "--missing", "fill", *_FIT],
]
_USES_OF_ARRAYS = [
    ["transform", "n.nearkin", "{}"],
    ["fit", "{}", "-p", "numbered.csv", *_FIT],
    ["cluster", "none", "{}", "--clusters", "2", "--missing", "fill"],
    ["neighbors", "n.nearkin", "{}", "-k", "1"],
]
_USES_OF_PAIRS = [
    ["same", "m.nearkin", "rows.csv", "--id", "name", "-p", "{}"],
    ["evaluate", "m.nearkin", "rows.csv", "--id", "name", "-p", "{}"],
    ["fit", "rows.csv", "-c", "a,b", "--id", "name", "-p", "{}", *_FIT],
]
_USES_OF_NUMBERED_PAIRS = [
    ["same", "m.nearkin", "rows.csv", "-p", "{}"],
    ["fit", "n.npy", "-p", "{}", *_FIT],
]


@cache
def good_files() -> Path:
    """A folder with models, rows and pairs that are as they should be."""
    here = folder()
    (here / "rows.csv").write_bytes(tables("csv")[0])
    (here / "pairs.csv").write_bytes(_pairs_tables("csv")[0])
    (here / "numbered.csv").write_bytes(_pairs_tables("csv")[2])
    (here / "v.parquet").write_bytes(tables("parquet")[3])
    (here / "n.npy").write_bytes(tables("npy")[0])
    for rows, more, model in [
        ("rows.csv", ["-c", "a,b", "--id", "name", "--missing", "fill"], "m"),
        ("v.parquet", ["-c", "v", "--id", "name"], "v"),
    ]:
        arguments = ["-p", "pairs.csv", "--learner", "rca", "-o", f"{model}.nearkin"]
        assert _ran(["fit", rows, *more, *arguments])[0] == 0
    X, y, _ = data()
    nk.RCA().fit(X[:, :2], y).save(here / "n.nearkin")
    return here


def _ran(arguments: list[str]) -> tuple[int, str]:
    """Status and messages of the program, in a folder of its own."""
    here, out, err = folder(), io.StringIO(), io.StringIO()
    given = [str(here / word) if (here / word).suffix[1:] in _FILES else word for word in arguments]
    with redirect_stdout(out), redirect_stderr(err):
        status = nearkin(given)
    return status, err.getvalue()


_FILES = ("csv", "tsv", "jsonl", "parquet", "npy", "nearkin")


def _check_use(path: Path, uses: list[list[str]], case: Case) -> str:
    use = uses[case["use"] % len(uses)]
    good_files()
    with little_memory(path.stat().st_size):
        status, said = _ran([path.name if word == "{}" else word for word in use])
    if "took longer than" in said:
        raise TimeoutError(said[-300:])
    assert "Traceback" not in said, f"no traceback: {said}"
    assert status in (0, 2), f"status 0 or 2: {status}, {said[-500:]}"
    if status == 2:
        assert said.strip(), "says why: nothing"
    return "refused" if status else "read"


def _check_table(path: Path, case: Case) -> str:
    return _check_use(path, _USES_OF_ARRAYS if case["kind"] == "npy" else _USES, case)


# --- files of pairs --------------------------------------------------------------------------


@cache
def _pairs_tables(kind: str) -> list[bytes]:
    _, _, pairs = data()
    links = [(i, j, "yes") for i, j in pairs.must_link.tolist()]
    links += [(i, j, "no") for i, j in pairs.cannot_link.tolist()]
    left, right, same = map(list, zip(*links, strict=True))
    named = {"left": [IDS[i] for i in left], "right": [IDS[j] for j in right], "same": same}
    weighted = {**named, "weight": [0.5] * len(left)}
    numbered = {"left": left, "right": right, "same": [s == "yes" for s in same]}
    tables = [named, weighted, numbered]
    if kind == "parquet":
        return [_parquet(pa.table(columns)) for columns in tables]
    make = _json_lines if kind == "jsonl" else _delimited
    return [make(columns) for columns in tables]


def _forged_pairs(base: int, edits: list[Any]) -> bytes:
    kind = _form_of_pairs(base)
    made = _pairs_tables(kind)[base // 3 % 3]
    for _, seed in edits:
        rng = np.random.default_rng(seed)
        if kind == "parquet":
            odd = _odd_table(rng)
            names = rng.permutation(["left", "right", "same", "weight"])[: odd.num_columns]
            made = _parquet(pa.table(odd.columns[:4], names=names.tolist()))
    return made


def _form_of_pairs(base: int) -> str:
    return ("csv", "jsonl", "parquet")[base % 3]


def _check_pairs(path: Path, case: Case) -> str:
    is_numbered = case["base"] // 3 % 3 == 2
    return _check_use(path, _USES_OF_NUMBERED_PAIRS if is_numbered else _USES_OF_PAIRS, case)


# --- the studio's journal --------------------------------------------------------------------


@cache
def _records() -> Any:
    X = data()[0]
    return StudioRecords(
        X=X,
        features=["a", "b", "c"],
        ids=IDS,
        columns={},
        source="rows.csv",
        n_total=N,
        numbers=np.arange(N),
    )


@cache
def _journal() -> tuple[bytes, list[dict[str, Any]], list[dict[str, Any]]]:
    """A journal as the studio writes it, what its lines say, and its events by numbers of rows."""
    path = folder() / "good.jsonl"
    with Lesson(_records(), journal=path) as lesson:
        for i in range(6):
            lesson.answer(i, i + 7, bool(i % 2))
        lesson.undo()
        events = [event.entry() for event in lesson.events]
    content = path.read_bytes()
    return content, [json.loads(line)["entry"] for line in content.splitlines()], events


_ODD_ENTRIES: list[Any] = [
    *(None, True, 0, -1, 10**12, 0.5, 1e308, "", "x", "undo", "redo", [], {}, [1, 2], {"a": 1}),
    *({"do": "undo"}, {"do": "redo"}, {"left": 3, "right": 3, "same": True}, [[]], "\x1b[2J"),
    {"do": "answer", "left": 0, "right": 10**9, "same": True},
    {"entry": {"do": "answer", "left": 0, "right": 1, "same": "perhaps"}},
    {"entry": {"do": "withdraw", "left": 0, "right": 7}},
    {"entry": {"do": "groups", "first": [0, 1, 2], "second": [3, 4], "same": False}},
    {"entry": {"do": "groups", "first": [[0]], "second": "ab", "same": False}},
    {"entry": {"do": "split", "first": [0, 1, 2], "second": [3, 4]}},
    {"entry": {"do": "name", "name": "cats", "rows": [0, 1, 2]}},
    {"entry": {"do": "name", "name": ["cats"], "rows": 3, "instead": "dogs"}},
    *(deep(20), deep(200)),
]


def _forged_journal(edits: list[Any]) -> bytes:
    """Lines whose checks are right."""
    whole, said, _ = _journal()
    said = json.loads(json.dumps(said))
    for name, seed in edits:
        rng = np.random.default_rng(seed)
        if name == "header":
            text = b"[" * int(rng.choice([10, 100_000]))
            return whole + line_of({"entry": 1}, 0)[0].replace(b'{"entry":1}', text)
        change_somewhere(said, rng, _ODD_ENTRIES)
    made, check = b"", 0
    for line in said:
        one, check = line_of(line, check)
        made += one
    return made


def _check_journal(path: Path, case: Case) -> str:
    before = path.read_bytes()
    known = _journal()[2]
    try:
        with little_memory(len(before)):
            lesson = Lesson(_records(), journal=path)
    except JournalError:
        lines = before[: before.rfind(b"\n") + 1]
        assert path.read_bytes().startswith(lines), "nothing is lost from what is refused: not so"
        return "refused"
    with lesson:
        entries = [event.entry() for event in lesson.events]
        lesson.answer(0, 1, True)
    if not case["forged"]:
        assert entries == known[: len(entries)], f"a beginning of what was answered: {entries}"
    with Lesson(_records(), journal=path) as again:
        assert len(again.events) == len(entries) + 1, "what is answered is kept: not so"
    return "read"


# --- all of them -----------------------------------------------------------------------------

_FORGERIES = {
    "model": ("array", "node", "node", "header", "wide", "many"),
    "index": ("array", "node", "header", "many"),
    "csv": (),
    "tsv": (),
    "jsonl": (),
    "parquet": ("content",),
    "npy": ("content",),
    "pairs": ("content",),
    "journal": ("entry", "entry", "entry", "header"),
}
_CHECKS: dict[str, Callable[[Path, Case], str]] = {
    "model": _check_model,
    "index": _check_index,
    "pairs": _check_pairs,
    "journal": _check_journal,
}


def draw(rng: np.random.Generator) -> Case:
    """A file of some kind, forged or damaged or both."""
    kind = list(_FORGERIES)[rng.integers(len(_FORGERIES))]
    names = _FORGERIES[kind]
    forged = []
    if names and rng.random() < 0.5:
        n = 1 + int(rng.random() < 0.3)
        forged = [[names[rng.integers(len(names))], int(rng.integers(10**6))] for _ in range(n)]
    base = int(rng.integers(13 if kind == "model" else 9))
    is_text = kind in ("csv", "tsv", "jsonl") or (kind == "pairs" and base % 3 < 2)
    edits = [] if forged and rng.random() < 0.9 else drawn_edits(rng, texts=is_text)
    return {
        "kind": kind,
        "base": base,
        "use": int(rng.integers(40)),
        "forged": forged,
        "edits": edits,
    }


def file_of(case: Case) -> bytes:
    """The bytes of a case."""
    kind, base, forged = case["kind"], case["base"], case["forged"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if kind == "model":
            number = base % len(_learners())
            made = _forged_model(number, forged) if forged else _model(number)[2].read_bytes()
        elif kind == "index":
            made = _forged_index(base % 4, forged) if forged else _index(base % 4)[1].read_bytes()
        elif kind == "pairs":
            made = _forged_pairs(base, forged)
        elif kind == "journal":
            made = _forged_journal(forged)
        else:
            made = _forged_table(kind, base, forged)
    return edited(made, case["edits"])


def _ending(case: Case) -> str:
    return _form_of_pairs(case["base"]) if case["kind"] == "pairs" else case["kind"]


def check(case: Case) -> str:
    """What becomes of a file; an error of another kind than it may be is raised."""
    case = {"base": 0, "use": 0, "forged": [], "edits": [], **case}  # some may be left out
    kind = case["kind"]
    path = folder() / f"changed.{_ending(case)}"
    path.write_bytes(file_of(case))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        is_model = kind in ("model", "index")
        _warm(
            kind, case["base"] if is_model or kind == "pairs" else 0, 0 if is_model else case["use"]
        )
        return f"{kind}: {_CHECKS.get(kind, _check_table)(path, case)}"


@cache
def _warm(kind: str, base: int, use: int) -> None:
    """Read a good file once: what is imported and compiled then takes memory of its own."""
    good: Case = {"kind": kind, "base": base, "use": use, "forged": [], "edits": []}
    path = folder() / f"good.{_ending(good)}"
    path.write_bytes(file_of(good))
    with suppress(AssertionError):
        _CHECKS.get(kind, _check_table)(path, good)
    path.unlink()


CAMPAIGN = Campaign("fuzz_files", "files", draw, check)

if __name__ == "__main__":
    main(CAMPAIGN)
