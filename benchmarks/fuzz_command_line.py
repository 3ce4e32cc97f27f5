"""Random lines for the program: commands, options, files, pipes, closed streams and signals.

    python -m benchmarks.fuzz_command_line 1000 [--seed 0] [--workers 2]

Most lines run in this process, some in processes of their own, half of which are told to end at a
random moment. Whatever a line says, the program ends with status 0 or 2 (or as a signal or a closed
pipe asks), without a traceback and not as a defect; it leaves no hidden half files and no temporary
ones, changes nothing but what it was told to write, never what it was told to read, and puts no
file in the place of a pipe, a device or a link.
"""

from __future__ import annotations

import gzip
import io
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.campaign import Campaign, Case, main, smaller_values
from benchmarks.fuzz_files import good_files, tables
from nearkin.cli import main as nearkin
from nearkin.cli.app import _commands

SHARE_OF_PROCESSES = 0.02
# A second and a half is in the middle of what most commands do.
MOST_SECONDS_TO_SIGNAL = 3.0
TOLD_TO_WRITE = ("-o", "--output", "--embedding")
PIPE = "pipe.csv"
READ = [
    *(
        "rows.csv",
        "pairs.csv",
        "numbered.csv",
        "rows.tsv",
        "rows.jsonl",
        "rows.parquet",
        "gaps.csv",
    ),
    *("n.npy", "m.nearkin", "n.nearkin", "v.nearkin", "parts", "link.csv", "empty.csv", "none.csv"),
    *("rows.csv.gz", "-", "/dev/null", "none", "odd name.csv", "zeros.npy"),
]
WRITTEN = [
    *("out.csv", "out.tsv", "out.jsonl", "out.parquet", "out.npy", "out.feather", "out.csv.gz"),
    *("out.nearkin", "out.png", "old.csv", "old.nearkin", "rows.csv", "pairs.csv", "m.nearkin"),
    *("link.csv", PIPE, "/dev/null", "/dev/full", "-", "parts", "parts/0.parquet", "none/out.csv"),
]
COLUMNS = ["a", "b", "a,b", "name", "kind", "v", "*", "x", "none", "", "a,a", "rca0"]
ODD = [
    *("", "-", "--", "-o", "-p", "--force", "-f", "--json", "--quiet", "--debug", "none", "nan"),
    *("-1", "0", "1e400", "🙂", "a\nb", "x" * 3000, ".", "..", "/dev/null", "*", "=1+1", "[", "%s"),
    *("--no-such", "@rows.csv", "rows.csv", "fit", "\udcff", "name=value", "--help", "-h"),
]
LEARNERS = [
    "rca",
    "euclidean",
    "gmml",
    "itml",
    "generative",
    "kernel-beta",
    "lmnn",
    "llma",
    "kernel-a",
    "geometry-aware",
]
SETTINGS = [
    *("n_components=1", "n_components=0", "n_landmarks=5", "kernel=rbf", "kernel=none", "gamma=-1"),
    *(
        "scale=True",
        "shrinkage=2",
        "nonsense=1",
        "=",
        "n_neighbors=1e9",
        "max_iter=1",
        "random_state=3",
    ),
]
ROWS_OF_ZEROS = 300_000


# --- lines -----------------------------------------------------------------------------------


@cache
def _options() -> dict[str, list[tuple[str, str, bool]]]:
    """For each command its options: a name, what it is called inside, and whether it is a flag."""
    return {
        name: [
            (option, parameter.name, bool(getattr(parameter, "is_flag", False)))
            for parameter in command.params
            for option in parameter.opts
            if option.startswith("-")
        ]
        for name, command in _commands().commands.items()
    }


def _one(rng: np.random.Generator, of: list[str]) -> str:
    return of[rng.integers(len(of))]


def _value(rng: np.random.Generator, name: str) -> str:
    """Something for an option."""
    if rng.random() < 0.1:
        return _one(rng, ODD)
    if name in ("output", "embedding"):
        return _one(rng, WRITTEN)
    if name in ("pairs", "queries", "known"):
        return _one(rng, READ)
    if name in ("columns", "exclude", "one_hot", "id_column", "carry", "labels", "show", "image"):
        return _one(rng, COLUMNS)
    if name in ("learner", "strategy", "method", "kind", "form", "missing"):
        known = [*LEARNERS, "uncertainty", "random", "density", "kmeans", "hdbscan", "mpck"]
        known += ["spectrum", "distances", "embedding", "csv", "npy", "jsonl", "fill", "drop"]
        return _one(rng, [*known, "error", "neighborhoods", "consolidate", "selection"])
    if name == "settings":
        return _one(rng, SETTINGS)
    if name == "delimiter":
        return _one(rng, [",", ";", "tab", "\\t", "|", "", "ab", "é"])
    return _one(
        rng, ["0", "1", "2", "3", "0.5", "0.99", "-1", "1e9", "1e-9", "nan", "inf", "24", "25"]
    )


def _usual(rng: np.random.Generator) -> list[str]:
    """A line that makes sense."""
    table = _one(
        rng, ["rows.csv", "rows.tsv", "rows.jsonl", "rows.parquet", "link.csv", "-", "parts"]
    )
    told = [["--id", "name", "-p", "pairs.csv"], ["-p", "numbered.csv"], ["-l", "kind"]]
    target = ["-o", _one(rng, WRITTEN)] if rng.random() < 0.5 else []
    chosen = ["-c", "a,b"]
    lines = [
        ["fit", table, *chosen, *told[rng.integers(3)], "--learner", _one(rng, LEARNERS[:5]),
         "-o", _one(rng, WRITTEN)],
        ["fit", "n.npy", "-p", "numbered.csv", "--learner", _one(rng, LEARNERS), "--test", "0.4",
         "-o", "out.nearkin"],
        ["fit", table, *chosen, "-l", "kind", "--learner", "rca", "-o", "out.nearkin",
         "--embedding", _one(rng, WRITTEN)],
        ["transform", "m.nearkin", table, *target],
        ["transform", "n.nearkin", "n.npy", *target],
        ["transform", "n.nearkin", "zeros.npy", "-o", _one(rng, WRITTEN[:7])],
        ["same", "m.nearkin", table, "--id", "name", "-p", "pairs.csv", *target],
        ["neighbors", "m.nearkin", table, "-k", "2", *target],
        ["duplicates", "m.nearkin", table, *target],
        ["cluster", "none", table, *chosen, "--clusters", "2", *target],
        ["evaluate", "m.nearkin", table, "-l", "kind", *target],
        ["suggest", "m.nearkin", table, "-n", "2", *target],
        ["suggest", "none", "rows.csv", *chosen, "--ask", "-n", "2", "-o", _one(rng, WRITTEN)],
        ["info", _one(rng, READ)],
        ["plot", "m.nearkin", table, "-o", "out.png"],
    ]  # fmt: skip
    return lines[rng.integers(len(lines) - (rng.random() < 0.9))]  # pictures take long


def draw(rng: np.random.Generator) -> Case:
    """A line, what comes in, and what becomes of its process."""
    words = _usual(rng)
    for _ in range(rng.integers(3)):
        option, name, is_flag = _options()[words[0]][rng.integers(len(_options()[words[0]]))]
        words += [option] if is_flag else [option, _value(rng, name)]
    if rng.random() < 0.5:
        words.append("--force")
    for _ in range(min(3, rng.geometric(0.8) - 1)):
        at = int(rng.integers(len(words)))
        match rng.integers(5):
            case 0:
                del words[at]
                words = words or ["--help"]
            case 1:
                words.insert(at, words[rng.integers(len(words))])
            case 2:
                words[at] = _one(rng, ODD)
            case 3:
                words.insert(at, _one(rng, ODD))
            case _:
                other = int(rng.integers(len(words)))
                words[at], words[other] = words[other], words[at]
    given = [None, "rows.csv", "pairs.csv", "m.nearkin", "words", "nothing"]
    case: Case = {"words": words, "given": given[rng.integers(len(given))], "process": None}
    if rng.random() < SHARE_OF_PROCESSES:
        signals = [None, None, "SIGINT", "SIGTERM", "SIGHUP", "SIGINT"]
        case["process"] = {
            "signal": signals[rng.integers(len(signals))],
            "after": round(float(rng.random()) * MOST_SECONDS_TO_SIGNAL, 3),
            "closed": [int(d) for d in (0, 1, 2) if rng.random() < 0.1],
            "read": bool(rng.random() < 0.8),
        }
        if rng.random() < 0.1:
            case["words"] = ["studio", "rows.csv", "--no-browser", "--port", "0", "-c", "a,b"]
            case["process"]["signal"] = case["process"]["signal"] or "SIGTERM"
    return case


def smaller(case: Case) -> Iterator[Case]:
    """The same with fewer words; words stay as they are."""
    words = case["words"]
    for i in range(len(words)):
        if len(words) > 1:
            yield {**case, "words": words[:i] + words[i + 1 :]}
    yield from ({**case, "given": None} for _ in range(case["given"] is not None))
    if case["process"] is not None:
        yield {**case, "process": None}
        yield from ({**case, "process": p} for p in smaller_values(case["process"]) if len(p) == 4)


# --- the folder that a line finds ------------------------------------------------------------


@cache
def _prepared() -> Path:
    """A folder of files, to be copied for each line."""
    good = good_files()
    made = tempfile.TemporaryDirectory(prefix="nearkin-lines-")
    _prepared.made = made  # type: ignore[attr-defined]  # as long as the process lives
    here = Path(made.name)
    for name in ("rows.csv", "pairs.csv", "numbered.csv", "m.nearkin", "n.nearkin", "v.nearkin"):
        shutil.copy(good / name, here / name)
    (here / "n.npy").write_bytes(tables("npy")[0])
    (here / "gaps.csv").write_bytes(tables("csv")[1])
    for kind in ("tsv", "jsonl", "parquet"):
        (here / f"rows.{kind}").write_bytes(tables(kind)[0])
    (here / "parts").mkdir()
    for number in range(2):
        (here / "parts" / f"{number}.parquet").write_bytes(tables("parquet")[0])
    (here / "rows.csv.gz").write_bytes(gzip.compress(tables("csv")[0], mtime=0))
    (here / "odd name.csv").write_bytes(b"a;b\n1,5;2\n")
    (here / "empty.csv").touch()
    (here / "old.csv").write_text("left,right,same\n")
    (here / "old.nearkin").write_text("precious")
    for name in ("old.csv", "old.nearkin"):
        (here / name).chmod(0o600)
    return here


@contextmanager
def _trial_folder(case: Case) -> Iterator[Path]:
    """A folder for one line, with a pipe if it writes to one, beside one for temporary files."""
    with tempfile.TemporaryDirectory(prefix="nearkin-line-") as made:
        here = Path(made, "here")
        shutil.copytree(_prepared(), here, symlinks=True)
        (here / "link.csv").symlink_to("rows.csv")
        Path(made, "tmp").mkdir()
        words = case["words"]
        if "zeros.npy" in words:
            rows = np.lib.format.open_memmap(
                here / "zeros.npy", mode="w+", shape=(ROWS_OF_ZEROS if case["process"] else 50, 2)
            )
            del rows
        end = None
        # Where it would be read from, nobody would ever write to it.
        if all(words[i - 1] in TOLD_TO_WRITE for i, word in enumerate(words) if word == PIPE):
            os.mkfifo(here / PIPE)
            end = os.open(here / PIPE, os.O_RDWR | os.O_NONBLOCK)
        try:
            yield here
        finally:
            if end is not None:
                os.close(end)


def _found(here: Path) -> dict[str, tuple[int, bytes]]:
    """What is in a folder: types with permissions, and contents."""
    found = {}
    for path in sorted(here.rglob("*")):
        mode = path.lstat().st_mode
        content = path.read_bytes() if stat.S_ISREG(mode) else b""
        if stat.S_ISLNK(mode):
            content = os.readlink(path).encode()
        found[str(path.relative_to(here))] = (mode, content)
    return found


def _check_folder(
    before: dict[str, tuple[int, bytes]], after: dict[str, tuple[int, bytes]], words: list[str]
) -> None:
    """What may differ: files that an option names to be written, and only with --force."""
    words = [word for word in words if word not in ("--debug", "--quiet")]  # may stand anywhere
    targets = {
        os.path.normpath(words[i + 1]) for i, w in enumerate(words[:-1]) if w in TOLD_TO_WRITE
    }
    targets |= {w.partition("=")[2] for w in words if w.startswith(("--output=", "--embedding="))}
    targets |= {w[2:] for w in words if w.startswith("-o") and len(w) > 2}
    if "link.csv" in targets:
        targets.add("rows.csv")  # a link stays a link
    new = [name for name in after if name not in before]
    hidden = [name for name in new if Path(name).name.startswith(".") or name.endswith(".tmp")]
    assert not hidden, f"no hidden half files: {hidden}"
    journals = [name for name in new if name.endswith(".answers.jsonl")]
    strange = [name for name in new if name not in targets and name not in journals]
    assert not strange, f"nothing but what was asked for: {strange}"
    forced = any(w == "--force" or (w[:1] == "-" and w[:2] != "--" and "f" in w) for w in words)
    for name, (mode, content) in before.items():
        assert name in after, f"nothing disappears: {name}"
        now_mode, now = after[name]
        assert now_mode == mode, f"types and permissions stay: {name}, {oct(mode)}, {oct(now_mode)}"
        if now == content:
            continue
        assert name in targets, f"nothing but targets changes: {name}"
        if "--ask" in words:
            assert now.startswith(content), f"answers are added: {name}"
        else:
            assert forced, f"replaced with --force only: {name}"
            places = [i for i, w in enumerate(words) if os.path.normpath(w or ".") == name]
            read = [i for i in places if words[i - 1] not in TOLD_TO_WRITE]
            assert not read, f"what is read is not replaced: {name}"


# --- trials ----------------------------------------------------------------------------------


def _input_of(case: Case, here: Path) -> bytes:
    given = case["given"]
    if given in (None, "nothing"):
        return b""
    return b"s\nperhaps\nd\nz\nu\nq\n" if given == "words" else (here / given).read_bytes()


def _check_here(case: Case, here: Path) -> str:
    out, err, folder = io.StringIO(), io.StringIO(), os.getcwd()
    before_input, before_tmp = sys.stdin, tempfile.tempdir
    sys.stdin = io.TextIOWrapper(io.BytesIO(_input_of(case, here)), errors="replace")
    tempfile.tempdir = str(here.parent / "tmp")
    os.chdir(here)
    try:
        with redirect_stdout(out), redirect_stderr(err), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            status = nearkin(case["words"])
    finally:
        os.chdir(folder)
        sys.stdin, tempfile.tempdir = before_input, before_tmp
    said = err.getvalue()
    if "took longer than" in said:
        raise TimeoutError(said[-300:])
    _check_words(status, said, case["words"])
    assert status in (0, 2), f"status 0 or 2: {status}, {said[-500:]}"
    if status == 2:
        assert said.strip(), "says why: nothing"
    return "done" if status == 0 else "refused"


def _check_words(status: int, said: str, words: list[str]) -> None:
    if "--debug" not in words:
        assert "Traceback" not in said, f"no traceback: {said[-1500:]}"
    assert "defect of nearkin" not in said, f"no defect: {said[-500:]}"
    assert status != 120, f"streams are closed well: {said[-500:]}"


def _check_process(case: Case, here: Path) -> str:
    how, folder = case["process"], here.parent
    with suppress(ValueError):  # a word that no process can be given
        return _ended(case["words"], how, _input_of(case, here), here, folder)
    return "refused"


def _ended(words: list[str], how: dict[str, Any], given: bytes, here: Path, folder: Path) -> str:
    (folder / "in").write_bytes(given)

    def prepare() -> None:
        for name in ("SIGINT", "SIGTERM", "SIGHUP"):
            signal.signal(getattr(signal, name), signal.SIG_DFL)
        for descriptor in how["closed"]:
            os.close(descriptor)

    command = [sys.executable, "-m", "nearkin", *(os.fsencode(word) for word in words)]
    environment = {
        **os.environ,
        "TMPDIR": str(folder / "tmp"),
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    with (
        open(folder / "in", "rb") as source,
        open(folder / "err", "wb") as err,
        subprocess.Popen(
            command,
            cwd=here,
            env=environment,
            stdin=source,
            stdout=subprocess.PIPE,
            stderr=err,
            preexec_fn=prepare,
        ) as process,
    ):
        assert process.stdout is not None
        try:
            if not how["read"]:
                process.stdout.close()
            if how["signal"] is not None:
                _wait_until_it_listens(process)
                with suppress(subprocess.TimeoutExpired):
                    process.wait(how["after"])
                process.send_signal(getattr(signal, how["signal"]))
            if how["read"]:
                process.stdout.read()
            status = process.wait(60)
        finally:
            process.kill()
    said = (folder / "err").read_text(errors="replace")
    _check_words(status, said, words)
    status = status if status >= 0 else 128 - status  # as a shell counts
    ends = {"SIGINT": 130, "SIGTERM": 143, "SIGHUP": 129}
    allowed = {0, 2, *({141} if not how["read"] else ()), ends.get(how["signal"] or "", 0)}
    assert status in allowed, f"a foreseen status: {status}, not of {allowed}, {said[-500:]}"
    return {0: "done", 2: "refused", 141: "nobody read"}.get(status, f"ended by {how['signal']}")


def _wait_until_it_listens(process: Any) -> None:
    """Until Python has started, and the program has taken SIGTERM into its hands."""
    end = time.monotonic() + 30
    while process.poll() is None and time.monotonic() < end:
        with suppress(OSError), open(f"/proc/{process.pid}/status") as file:
            caught = next(int(line.split()[1], 16) for line in file if line.startswith("SigCgt"))
            if caught >> (signal.SIGTERM - 1) & 1:
                return
        time.sleep(0.005)
    if process.poll() is None:  # on a busy machine: a signal would meet Python alone
        raise TimeoutError("the program did not start within 30 seconds")


def check(case: Case) -> str:
    """Run a line, and look at all that it leaves."""
    with _trial_folder(case) as here:
        before = _found(here)
        way = "here" if case["process"] is None else "process"
        outcome = _check_here(case, here) if way == "here" else _check_process(case, here)
        _check_folder(before, _found(here), case["words"])
        left = os.listdir(here.parent / "tmp")
        assert not left, f"no temporary files are left: {left}"
    return f"{way}: {outcome}"


CAMPAIGN = Campaign("fuzz_command_line", "command lines", draw, check, smaller, seconds=90)

if __name__ == "__main__":
    main(CAMPAIGN)
