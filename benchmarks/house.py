"""The shape of the code: how large it is, which files a call crosses, and whether results changed.

    python -m benchmarks.house size                    # modules and lines, folder by folder
    python -m benchmarks.house names                   # names in several modules, modules used once
    python -m benchmarks.house numbers                 # constants of learning code: explained?
    python -m benchmarks.house draw --seed 20261201    # 25 functions, as a stranger sees them
    python -m benchmarks.house walks                   # files that a fit, a command ... crosses
    python -m benchmarks.house outputs --store FILE    # digests of results, to the last bit
    python -m benchmarks.house outputs --compare FILE  # which of them differ now

Digests depend on the processor and on the versions of NumPy and SciPy: store and compare on one
machine, before and after a change that should change no result.
"""

from __future__ import annotations

import argparse
import ast
import asyncio
import hashlib
import json
import os
import sys
import tempfile
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

import nearkin as nk

SOURCES = Path(nk.__file__).parent
ROOT = SOURCES.parents[1]
Work = Callable[[], object]


# --- size and names --------------------------------------------------------------------------


def modules() -> dict[str, Path]:
    """Modules of the library by their dotted names."""
    found = {}
    for path in sorted(SOURCES.rglob("*.py")):
        parts = path.relative_to(SOURCES.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def count_lines(paths: list[Path]) -> int:
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in paths)


def show_size() -> None:
    by_folder: dict[str, list[Path]] = defaultdict(list)
    for path in modules().values():
        parts = path.relative_to(SOURCES).parts
        by_folder[parts[0] if len(parts) > 1 else "."].append(path)
    for folder, paths in by_folder.items():
        print(f"{folder:12} {len(paths):4} modules {count_lines(paths):6} lines")
    own = {"studio", "records"}  # parts with plans of their own
    rest = [path for folder, paths in by_folder.items() if folder not in own for path in paths]
    everything = [path for paths in by_folder.values() for path in paths]
    print(f"{'src':12} {len(everything):4} modules {count_lines(everything):6} lines")
    print(f"  without studio and records: {len(rest)} modules, {count_lines(rest)} lines")
    for name, pattern in (("tests", "*.py"), ("benchmarks", "*.py"), ("page/src", "*.ts")):
        files = sorted((ROOT / name).rglob(pattern))
        print(f"{name:12} {len(files):4} files   {count_lines(files):6} lines")


def defined_names(path: Path) -> list[str]:
    """Public-looking functions and classes of a module."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return [node.name for node in tree.body if isinstance(node, kinds) and node.name[0] != "_"]


def imported_modules(path: Path, known: dict[str, Path]) -> set[str]:
    """Modules of the library that a module imports, anywhere in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            whole = {f"{node.module}.{alias.name}" for alias in node.names} & known.keys()
            found |= whole or ({node.module} & known.keys())
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names} & known.keys()
    return found


def show_names() -> None:
    known = modules()
    homes = defaultdict(list)
    users: dict[str, list[str]] = defaultdict(list)
    for module, path in known.items():
        for name in defined_names(path):
            homes[name].append(module)
        for used in imported_modules(path, known):
            users[used].append(module)
    several = {name: where for name, where in homes.items() if len(where) > 1}
    print(f"{len(several)} public-looking names stand in several modules:")
    for name, where in several.items():
        print(f"  {name}: {', '.join(where)}")
    once = {module: by[0] for module, by in users.items() if len(by) == 1 and module != "nearkin"}
    print(f"{len(once)} modules are imported by exactly one other:")
    for module, by in sorted(once.items()):
        print(f"  {module} by {by}")


# --- numbers -------------------------------------------------------------------------------

LEARNING = ("learners", "solvers", "spaces", "scores", "clustering", "questions", "tasks", "pairs")
# Numbers that say nothing but what they are: axes, halves, squares, counts from one.
PLAIN = {0, 1, 2, 3, 0.5}


def constants_of(path: Path) -> tuple[list[str], list[str], list[str]]:
    """Named numbers with a comment above, named ones without, and others, each with its line."""
    lines = path.read_text(encoding="utf-8").splitlines()
    tree = ast.parse("\n".join(lines))
    explained, bare, loose = [], [], []
    named: set[ast.AST] = set()
    commented = False  # a comment stands for the assignments that follow without a gap
    previous_end = 0
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign):
            gap = lines[previous_end : node.lineno - 1]
            commented = (bool(gap) and gap[-1].startswith("#")) or (commented and not gap)
            commented = commented or "#" in lines[(node.end_lineno or node.lineno) - 1]
            numbers = [one for one in ast.walk(node) if _is_number(one)]
            if numbers:
                named.update(numbers)
                (explained if commented else bare).append(f"{path.stem}:{node.lineno}")
        else:
            commented = False
        previous_end = node.end_lineno or node.lineno
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):  # defaults are arguments, which have names
            defaults = [*function.args.defaults, *filter(None, function.args.kw_defaults)]
            named.update(one for default in defaults for one in ast.walk(default))
    for node in ast.walk(tree):
        if _is_number(node) and node not in named and abs(node.value) not in PLAIN:
            loose.append(f"{path.stem}:{node.lineno} {node.value}")
    return explained, bare, loose


def _is_number(node: Any) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


def show_numbers(verbose: bool) -> None:
    total: Counter[str] = Counter()
    for folder in LEARNING:
        kinds: dict[str, list[str]] = defaultdict(list)
        for path in sorted((SOURCES / folder).rglob("*.py")):
            found = zip(("explained", "named", "loose"), constants_of(path), strict=True)
            for kind, places in found:
                kinds[kind] += places
        counts = {kind: len(kinds[kind]) for kind in ("explained", "named", "loose")}
        total.update(counts)
        print(f"{folder:12} {_counted(counts)}")
        if verbose:
            for place in kinds["named"] + kinds["loose"]:
                print(f"    {place}")
    print(f"{'all':12} {_counted(total)}")


def _counted(counts: Mapping[str, int]) -> str:
    return (
        f"{counts['explained']:4} named with a comment, {counts['named']:3} named without, "
        f"{counts['loose']:4} in the midst of code"
    )


# --- functions as a stranger sees them -------------------------------------------------------


def show_drawn(n: int, seed: int) -> None:
    """Print functions drawn at random: where they are, how they are called, what they say."""
    drawn = []
    for module, path in modules().items():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        class_of = {
            member: f"{node.name}."
            for node in ast.walk(tree)
            if isinstance(node, ast.ClassDef)
            for member in node.body
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("__"):
                drawn.append((module, class_of.get(node, ""), node))
    for k in np.random.default_rng(seed).choice(len(drawn), n, replace=False):
        module, owner, node = drawn[k]
        returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
        print(f"{module}\n  def {owner}{node.name}({ast.unparse(node.args)}){returns}")
        print("    " + (ast.get_docstring(node) or "(no docstring)").replace("\n", "\n    ") + "\n")


# --- walks -----------------------------------------------------------------------------------


def trace(work: Work, look: Callable[[Any, str, object], None]) -> None:
    """Do something, and call a function with every frame that this thread enters or leaves."""
    before = sys.getprofile()
    sys.setprofile(look)
    try:
        work()
    finally:
        sys.setprofile(before)


def crossed_files(work: Work) -> Counter[str]:
    """Files of the library whose code runs in this thread, with how many calls enter them."""

    def look(frame: Any, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(str(SOURCES)):
            files[frame.f_code.co_filename] += 1

    files: Counter[str] = Counter()
    trace(work, look)
    return Counter({str(Path(file).relative_to(SOURCES)): n for file, n in files.items()})


def walks(folder: Path) -> Iterator[tuple[str, Work]]:
    """Calls to be traced, each after a first one that compiles and imports."""
    X, y = nk.datasets.make_xor(200, random_state=0)
    pairs = nk.Pairs.from_labels(y, 60, random_state=0)
    metric = nk.KernelBeta(random_state=0)
    yield "KernelBeta.fit", lambda: metric.fit(X, pairs=pairs)
    yield "KernelBeta.transform", lambda: metric.transform(X)
    yield "MetricLearner.fit", lambda: nk.MetricLearner(random_state=0).fit(X, pairs=pairs)
    yield "Clusters.fit", lambda: nk.Clusters(random_state=0).fit(X, pairs=pairs)
    table, _ = nk.datasets.make_records(200, random_state=0)
    yield "RecordMatcher.fit", lambda: nk.RecordMatcher(random_state=0).fit(table)
    rows, links = folder / "rows.csv", folder / "pairs.csv"
    np.savetxt(rows, X, delimiter=",", header="a,b", comments="")
    links.write_text("left,right,same\n" + "".join(f"{i},{j},1\n" for i, j in pairs.must_link))
    yield "nearkin fit", lambda: _run_command(["fit", str(rows), "--pairs", str(links)], folder)
    yield "an answer in the studio to its reply", _answer_in_studio(X, folder)


def _answer_in_studio(X: np.ndarray, folder: Path) -> Work:
    """Answer a pair in a running studio, from the request to its reply, all in this thread."""
    from nearkin.studio.lesson import Lesson
    from nearkin.studio.records import records_of
    from nearkin.studio.server.app import make_app
    from nearkin.studio.server.security import Access, Hosts

    loop, access = asyncio.new_event_loop(), Access()
    lesson = Lesson(records_of(X), journal=folder / "answers.jsonl")
    app = make_app(lesson, access, Hosts(80))
    begins, requests = asyncio.Queue[dict[str, Any]](), asyncio.Queue[dict[str, Any]]()
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def begin() -> asyncio.Task[None]:
        begins.put_nowait({"type": "lifespan.startup"})
        life = asyncio.create_task(app({"type": "lifespan"}, begins.get, send))
        while not sent:
            await asyncio.sleep(0.01)
        return life

    def at_once(_: object, work: Callable[..., object], *arguments: Any) -> Any:
        found = loop.create_future()
        found.set_result(work(*arguments))
        return found

    life = loop.run_until_complete(begin())
    loop.run_in_executor = at_once  # type: ignore[method-assign]
    body = json.dumps({"left": 0, "right": 1, "same": True}).encode()
    headers = {"host": "localhost", "x-nearkin-token": access.token, "content-length": len(body)}
    headers["content-type"] = "application/json"
    scope = {"type": "http", "method": "POST", "path": "/api/answers", "query_string": b""}
    named = [(name.encode(), str(value).encode()) for name, value in headers.items()]

    def answer() -> None:
        assert not life.done()
        sent.clear()
        requests.put_nowait({"type": "http.request", "body": body, "more_body": False})
        loop.run_until_complete(app({**scope, "headers": named}, requests.get, send))
        assert sent[0]["status"] == 200, sent

    return answer


def _run_command(arguments: list[str], folder: Path) -> None:
    from nearkin.cli import main

    arguments = ["nearkin", *arguments, "--output", str(folder / "model.nearkin"), "--force"]
    before, sys.argv = sys.argv, arguments
    try:
        main()
    except SystemExit as ended:
        if ended.code not in (0, None):
            raise
    finally:
        sys.argv = before


def show_walks(verbose: bool) -> None:
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, work in walks(Path(folder)):
            work()
            files = crossed_files(work)
            print(f"{name}: {len(files)} files")
            if verbose:
                print("  " + "\n  ".join(sorted(files)))


# --- outputs ---------------------------------------------------------------------------------


def inputs() -> dict[str, tuple[Any, Any]]:
    """Rows and classes of a dozen kinds."""
    from scipy import sparse
    from sklearn.datasets import load_digits, load_iris, load_wine

    rng = np.random.default_rng(0)
    xor, y_xor = nk.datasets.make_xor(120, random_state=0)
    iris, y_iris = load_iris(return_X_y=True)
    wine, y_wine = load_wine(return_X_y=True)
    digits, y_digits = (a[:300] for a in load_digits(return_X_y=True))
    wide = rng.normal(size=(40, 200))
    return {
        "xor": (xor, y_xor),
        "iris": (iris, y_iris),
        "wine": (wine, y_wine),
        "digits": (digits, y_digits),
        "float32": (iris.astype(np.float32), y_iris),
        "integers": (np.rint(10 * iris).astype(int), y_iris),
        "sparse": (sparse.csr_array(np.where(digits > 8, digits, 0)), y_digits),
        "equal rows": (np.repeat(iris[::3], 2, axis=0), np.repeat(y_iris[::3], 2)),
        "constant column": (np.c_[iris, np.ones(150)], y_iris),
        "rank deficient": (np.c_[iris, iris[:, :2].sum(axis=1)], y_iris),
        "wide": (wide, (wide[:, 0] > 0).astype(int)),
        "far from zero": (iris + 1e4, y_iris),
    }


def output_cases() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Results whose digests are kept, by name."""
    from sklearn.base import clone

    from tests.common.learners import LEARNERS

    for kind, (X, y) in inputs().items():
        pairs = nk.Pairs.from_labels(y, 40, random_state=1)
        for name, learner in LEARNERS.items():
            if name != "precomputed":
                yield f"{name} on {kind}", lambda p=pairs, L=learner, X=X: _use(clone(L), X, p)
        yield from _task_cases(kind, X, y, pairs)


def _use(learner: Any, X: Any, pairs: Any) -> list[Any]:
    metric = learner.fit(X, pairs=pairs)
    A, B = X[:20], X[20:40]
    return [metric.transform(X), metric.pair_distance(A, B), metric.same(A, B)]


def _task_cases(kind: str, X: Any, y: Any, pairs: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    def metric() -> Any:
        return nk.KernelBeta(random_state=0).fit(X, pairs=pairs)

    def are_same(left: Any, right: Any) -> Any:
        return np.asarray(y)[left] == np.asarray(y)[right]

    def taught() -> Any:
        return nk.learn_actively(X, are_same, 10, learner=nk.ITML(random_state=0), random_state=0)

    def indexed() -> Any:
        return nk.NeighborIndex(metric(), random_state=0).add(X)

    tasks: dict[str, Callable[[], Any]] = {
        "Clusters": lambda: nk.Clusters(random_state=0).fit(X, pairs=pairs).labels_,
        "three Clusters": lambda: nk.Clusters(3, random_state=0).fit(X, pairs=pairs).labels_,
        "MPCKMeans": lambda: nk.MPCKMeans(3, random_state=0).fit(X, pairs=pairs).labels_,
        "MetricKMeans": lambda: nk.MetricKMeans(3, random_state=0).fit(X).labels_,
        "EnergyClassifier": lambda: nk.EnergyClassifier(random_state=0).fit(X, y).predict(X),
        "MultipleKernelClassifier": lambda: (
            nk.MultipleKernelClassifier(random_state=0).fit(X, y).predict(X)
        ),
        "ManifoldAlignment": lambda: (
            nk.ManifoldAlignment(random_state=0)
            .fit([X, X], pairs=pairs.extend(n_rows=2 * X.shape[0]))
            .transform(X, of=0)
        ),
        "NeighborIndex": lambda: indexed().query(X[:9], 5),
        "duplicates": lambda: indexed().duplicates(),
        "suggest_pairs": lambda: nk.suggest_pairs(metric(), X, pairs, 9, random_state=0),
        "learn_actively": lambda: taught().metric.transform(X),
        "outlook": lambda: nk.outlook(X, pairs).gain,
        "spread_pairs": lambda: nk.spread_pairs(X, pairs, random_state=0).must_link,
        "cross_validate": lambda: nk.cross_validate(nk.ITML(random_state=0), X, pairs=pairs),
        "quality": lambda: metric().quality(X, pairs=pairs),
        "chance_same": lambda: metric().chance_same(X[:20], X[20:40]),
        "explain": lambda: metric().explain(X[0], X[1]),
        "saved and loaded": lambda: _kept(metric(), X),
    }
    for name, work in tasks.items():
        yield f"{name} on {kind}", work


def _kept(metric: Any, X: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "metric.nearkin")
        metric.save(path)
        return nk.load(path).transform(X)


def digest(value: Any) -> str:
    """SHA-256 of all numbers and texts in a result."""
    sha = hashlib.sha256()

    def feed(one: Any) -> None:
        if hasattr(one, "toarray"):
            one = one.toarray()
        if isinstance(one, np.ndarray):
            sha.update(f"{one.dtype}{one.shape}".encode() + np.ascontiguousarray(one).tobytes())
        elif isinstance(one, list | tuple):
            for part in one:
                feed(part)
        elif isinstance(one, dict):
            for key in sorted(one):
                if "time" not in key:
                    feed([key, one[key]])
        else:
            sha.update(repr(one).encode())

    feed(value)
    return sha.hexdigest()[:20]


def collect_outputs() -> dict[str, str]:
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, work in output_cases():
            try:
                found[name] = digest(work())
            except Exception as error:  # a refusal is a result, too
                found[name] = f"{type(error).__name__}: {str(error)[:60]}"
    return found


def compare_outputs(path: Path) -> int:
    """Print what differs from stored results; the exit status."""
    before, now = json.loads(path.read_text(encoding="utf-8")), collect_outputs()
    differ = [name for name in before if before[name] != now.get(name)]
    for name in differ:
        print(f"{name}: {before[name]} before, {now.get(name)} now")
    print(f"{len(before) - len(differ)} of {len(before)} results are the same, bit by bit")
    return int(bool(differ))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("what", choices=["size", "names", "numbers", "draw", "walks", "outputs"])
    parser.add_argument("--verbose", action="store_true", help="name files of walks, or numbers")
    parser.add_argument("--seed", type=int, default=0, help="of what is drawn")
    parser.add_argument("--store", type=Path)
    parser.add_argument("--compare", type=Path)
    given = parser.parse_args()
    if given.what == "outputs":
        if given.compare:
            return compare_outputs(given.compare)
        text = json.dumps(collect_outputs(), indent=0)
        (given.store or Path(os.devnull)).write_text(text, encoding="utf-8")
        print(f"{len(json.loads(text))} results")
    else:
        shows: dict[str, Work] = {
            "size": show_size,
            "names": show_names,
            "numbers": lambda: show_numbers(given.verbose),
            "draw": lambda: show_drawn(25, given.seed),
            "walks": lambda: show_walks(given.verbose),
        }
        shows[given.what]()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
