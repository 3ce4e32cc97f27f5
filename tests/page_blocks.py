"""Pages as programs: what stands in their code blocks runs, and prints what they show.

    python -m tests.page_blocks README.md docs/guide/pairs.md   # run pages, each in a new folder
    python -m tests.page_blocks docs/guide/pairs.md --write     # put what is printed into the page
    python -m tests.page_blocks --check docs                    # all pages but those of docs/start

- ``python`` blocks run in order in one interpreter, with warnings as errors.
- ``console`` blocks hold commands, one a line, of nearkin or of the shell, perhaps with comments.
  They run in the same folder. What is typed meanwhile is in the Python variable ``typed``, if that
  is there. ``nearkin studio`` is started, asked for its page once, and ended.
- A ``text`` block right after such a block shows what that prints, on a terminal of 100 columns. A
  line of three dots in it stands for lines that are left out: ``--write`` keeps as many before and
  after it as there were.
- A block that needs a package that is not installed is left out, with those that need the block.
- ``<!-- before``, Python code and ``-->``, each on lines of their own, is run and not shown.

This file needs nothing but Python and nearkin, so that it also runs where only these are.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import importlib
import io
import itertools
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import traceback
import urllib.request
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
# Pages that the tests run, so that a check of all others leaves them out.
IN_TESTS = ROOT / "docs" / "start"
# What shown and printed numbers may differ by: other platforms and versions round differently.
TOLERANCE = 0.02
AT_ONCE = 2
_RUN = ("python", "console", "before")
_FENCE = re.compile(r"^( *)(`{3,})([^`]*)$")
# A call with a number in its comment, which is what it gives: ``score(X, y)  # 1.0: always``.
_SAID = re.compile(r"^([\w.]+\([^#\n]*\))  # (-?\d+(?:\.\d+)?)(?=[:;,]|$)", re.MULTILINE)
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
_SHELL = re.compile(r"[|<>&;$`*]|^(?!nearkin )")
_ADDRESS = re.compile(r"http://127\.0\.0\.1:\S+")
_LEFT_OUT = "  ..."
# What lines of tables begin with, which are not wrapped.
_OF_TABLES = " →│┃└┡┏"
_WIDTH = 100
_PATIENCE = 1800  # seconds for a page
_TERMINAL = {"COLUMNS": str(_WIDTH), "LINES": "40", "TERM": "dumb", "NO_COLOR": "1"}
# The processes share the cores.
_ONE_THREAD = {
    f"{name}_THREADS": "1"
    for name in ("OMP_NUM", "OPENBLAS_NUM", "MKL_NUM", "VECLIB_MAXIMUM", "NUMBA_NUM")
}


@dataclass(frozen=True)
class Block:
    """What stands between fences: its language, its text, and its place."""

    language: str  # such as "python"; "before" for a comment that is run
    text: str  # without the indentation of the fence
    line: int  # the number of its first line, from 1; the fence is in the line above it
    indent: str = ""  # of the fence

    @property
    def end(self) -> int:
        """The number of the line with the closing fence."""
        return self.line + self.text.count("\n")


class Said(NamedTuple):
    """A number in a comment, and what the call before it gives."""

    number: float
    value: float


@dataclass(frozen=True)
class Result:
    """What became of the block of a line: why it was not run, or what it printed or raised."""

    line: int
    printed: str = ""
    said: Sequence[Said] = ()
    skipped: str = ""
    error: str = ""


# What is in a page


def blocks_of(page: str) -> list[Block]:
    """All blocks in their order, those in boxes and tabs too."""
    found: list[Block] = []
    lines = iter(enumerate(page.splitlines(), 1))
    for number, line in lines:
        fence = _FENCE.match(line)
        if line.strip() == "<!-- before":
            text = _lines_until(lines, lambda line: line.strip() == "-->")
            found.append(Block("before", text, number + 1))
        elif fence and fence[3] and not (len(fence[2]) > 3 and fence[3].startswith("{")):
            indent, ticks, language = fence.groups()  # of no box, which may hold blocks itself
            end = re.compile(rf" *{ticks}`* *")
            text = _lines_until(lines, end.fullmatch)
            plain = "".join(x.removeprefix(indent) for x in text.splitlines(keepends=True))
            found.append(Block(language.strip(), plain, number + 1, indent))
    return found


def _lines_until(lines: Iterator[tuple[int, str]], is_end: Any) -> str:
    inside = itertools.takewhile(lambda numbered: not is_end(numbered[1]), lines)
    return "".join(f"{line}\n" for _, line in inside)


def programs_of(page: str) -> list[Block]:
    """Blocks that are run."""
    return [block for block in blocks_of(page) if block.language in _RUN]


def shown_after(page: str) -> dict[int, Block]:
    """The output that a page shows, by the line of the block that it follows."""
    lines = page.splitlines()
    return {
        code.line: output
        for code, output in itertools.pairwise(blocks_of(page))
        if code.language in ("python", "console")
        and output.language == "text"
        and not any(map(str.strip, lines[code.end : output.line - 2]))
    }


# Running


def run(page: str, name: str = "page") -> list[Result]:
    """What each block printed and said, in the folder where this is. The first error ends it."""
    results: list[Result] = []
    names: dict[str, Any] = {"__name__": "__main__"}
    absent = ""
    with _as_elsewhere(page):
        from nearkin.errors import MissingPackageError

        for block in programs_of(page):
            screen = _Screen()
            try:
                with screen:
                    said = _run_block(block, name, names, screen)
            except Exception as error:
                missing = isinstance(error, ModuleNotFoundError | MissingPackageError)
                if missing and not str(error.name).startswith("nearkin"):
                    absent = f"{error.name} is not installed" if error.name else str(error)
                elif not (absent and isinstance(error, NameError)):
                    return [*results, _failed(block, screen, error)]
                results.append(Result(block.line, skipped=absent))
            else:
                results.append(Result(block.line, screen.shown(), said))
    return results


def _run_block(block: Block, name: str, names: dict[str, Any], screen: _Screen) -> list[Said]:
    if block.language == "console":
        _run_commands(block.text, screen, names.get("typed", ""))
        return []
    exec(compile("\n" * (block.line - 1) + block.text, name, "exec"), names)
    said = _SAID.findall(block.text)
    return [Said(float(number), float(eval(call, names))) for call, number in said]


def _failed(block: Block, screen: _Screen, error: Exception) -> Result:
    if isinstance(error, _CommandFailed):
        return Result(block.line, screen.shown(), error=str(error))
    return Result(block.line, screen.shown(), error="".join(traceback.format_exception(error)))


@contextlib.contextmanager
def _as_elsewhere(page: str) -> Iterator[None]:
    """Have a terminal, and what a machine has that is not in a hurry."""
    import nearkin

    # Candidates are compared until time is up.
    defaults = nearkin.MetricLearner.__init__.__kwdefaults__
    with contextlib.ExitStack() as stack:
        stack.enter_context(mock.patch.dict(os.environ, _TERMINAL))
        stack.enter_context(mock.patch.dict(defaults, time_budget=600.0))
        if "LocalCluster" in page and find_spec("distributed"):
            # Threads do what processes would, which import for seconds first.
            distributed = importlib.import_module("distributed")
            threads = functools.partial(distributed.LocalCluster, processes=False)
            stack.enter_context(mock.patch.object(distributed, "LocalCluster", threads))
        yield


class _Screen:
    """What a terminal shows, of what is printed while this is entered."""

    def __init__(self) -> None:
        self._written = io.BytesIO()

    def __enter__(self) -> None:
        self._before = sys.stdout, sys.stderr
        sys.stdout = _Stream(self._written, watched=True)
        sys.stderr = _Stream(self._written, watched=False)  # nothing moves, no bars

    def __exit__(self, *error: object) -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        sys.stdout, sys.stderr = self._before

    def shown(self) -> str:
        return self._written.getvalue().decode()


class _Stream(io.TextIOWrapper):
    """A stream into a buffer, which says that a person looks on or that none does."""

    def __init__(self, buffer: io.BytesIO, *, watched: bool) -> None:
        super().__init__(buffer, encoding="utf-8", newline="\n", write_through=True)
        self._watched = watched

    def isatty(self) -> bool:
        return self._watched

    def close(self) -> None:
        """Leave the buffer to the other stream."""


class _Keyboard(io.StringIO):
    """What is typed, which terminals show."""

    def readline(self, size: int | None = -1) -> str:
        line = super().readline(size)
        print(line, end="")
        return line


class _CommandFailed(Exception):
    pass


def _run_commands(text: str, screen: _Screen, typed: str) -> None:
    for line in text.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        if not words:
            continue
        if words[:2] == ["nearkin", "studio"]:
            status = _visit_studio(words[1:])
        elif _SHELL.search(_QUOTED.sub("_", line).partition(" #")[0].strip()):
            status = _run_in_shell(line, typed)
        else:
            status = _run_here(words[1:], typed)
        if status:
            raise _CommandFailed(f"{line.strip()}: ends with status {status}\n{screen.shown()}")


def _run_here(arguments: list[str], typed: str) -> int:
    """Run ``nearkin`` in this process, which has imported it."""
    from nearkin.cli import main

    before = sys.stdin
    sys.stdin = _Keyboard(typed)
    try:
        return main(arguments)
    finally:
        sys.stdin = before


def _run_in_shell(line: str, typed: str) -> int:
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "nearkin")
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m nearkin "$@"\n')
        program.chmod(0o755)
        path = os.pathsep.join([folder, os.environ.get("PATH", os.defpath)])
        done = subprocess.run(
            ["/bin/sh", "-c", line],
            env={**os.environ, "PATH": path},
            input=typed.encode(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
    sys.stdout.buffer.write(done.stdout)
    return done.returncode


def _visit_studio(arguments: list[str]) -> int:
    """Start the studio, ask for its page, and end it, where possible as Ctrl-C does."""
    command = [sys.executable, "-m", "nearkin", *arguments, "--no-browser", "--port", "0"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, encoding="utf-8"
    ) as process:
        assert process.stdout is not None
        address = ""
        for line in process.stdout:
            print(line, end="")
            if found := _ADDRESS.search(line):
                address = found[0]
                break
        if not address:
            return process.wait() or 1
        with urllib.request.urlopen(address, timeout=60) as reply:
            answered = reply.status == 200 and b"<html" in reply.read().lower()
        process.send_signal(signal.SIGINT if os.name == "posix" else signal.SIGTERM)
        print(process.stdout.read(), end="")
    return process.returncode or int(not answered)


# What is shown and what was printed


def problems(page: str, results: Sequence[Result]) -> Iterator[tuple[int, str]]:
    """What is wrong with a page, by lines."""
    by_line = {result.line: result for result in results}
    for result in results:
        if result.error:
            yield result.line, result.error.rstrip()
        for number, value in result.said:
            if abs(number - value) >= 0.0005:
                yield result.line, f"says {number}, and it is {value:.3f}"
    for line, block in shown_after(page).items():
        if line in by_line and not by_line[line].error and not by_line[line].skipped:
            printed = shortened(by_line[line].printed, block.text)
            if not agree(block.text, printed):
                yield line, f"prints\n{printed}--write puts it there."


def shortened(printed: str, like: str) -> str:
    """Output as a page shows it: wrapped, with as many lines left out as before."""
    printed = "".join(f"{line.rstrip()}\n" for line in printed.splitlines())
    lines = _ADDRESS.sub("http://127.0.0.1:8765/?token=...", printed).rstrip().splitlines()
    before, dots, after = like.partition(f"{_LEFT_OUT}\n")
    head, tail = len(_unwrapped(before)), len(_unwrapped(after))
    if dots and len(lines) > head + tail + 1:
        lines = [*lines[:head], _LEFT_OUT, *lines[len(lines) - tail :]]
    wrapped = (line if line[:1] in _OF_TABLES else textwrap.fill(line, _WIDTH) for line in lines)
    return "\n".join(wrapped) + "\n"


def _unwrapped(text: str) -> list[str]:
    """Lines as they were before they were wrapped: of the next one, no word had room."""
    lines: list[str] = []
    before = ""
    for line in text.splitlines():
        word = line.split(" ", 1)[0]
        if before[:1] not in _OF_TABLES and len(before) + 1 + len(word) > _WIDTH:
            lines[-1] += f" {line}"
        else:
            lines.append(line)
        before = line
    return lines


def agree(shown: str, expected: str) -> bool:
    """Whether two texts have the same words, and numbers that are nearly the same."""
    words = shown.split(), expected.split()
    if len(words[0]) != len(words[1]):
        return False
    return all(map(_agree, *words))


def _agree(a: str, b: str) -> bool:
    number = re.compile(r"[-+−]?\d+(?:\.\d+)?")
    if number.sub("#", a) != number.sub("#", b):
        return False
    for x, y in zip(number.findall(a), number.findall(b), strict=True):
        tolerance = TOLERANCE if "." in x else 100 * TOLERANCE  # shares, and per cent or counts
        if abs(float(x.replace("−", "-")) - float(y.replace("−", "-"))) > tolerance:
            return False
    return True


def filled_in(page: str, results: Sequence[Result]) -> str:
    """A page with what its blocks print now."""
    lines = page.splitlines(keepends=True)
    by_line = {result.line: result for result in results}
    for line, block in reversed(shown_after(page).items()):
        if line in by_line and not by_line[line].error and not by_line[line].skipped:
            text = shortened(by_line[line].printed, block.text)
            new = [f"{block.indent}{x}" for x in text.splitlines(keepends=True)]
            lines[block.line - 1 : block.end - 1] = new
    return "".join(lines)


# Pages in processes of their own


def results_of(page: Path, *, python: str = sys.executable, **environ: str) -> list[Result]:
    """Run a page in an empty folder, by a process that takes warnings for errors.

    If that does not come to its end, this is a RuntimeError.
    """
    # What is imported there is what is imported here; elsewhere it is what is installed.
    ours = [entry for entry in sys.path if entry] if python == sys.executable else []
    path = {"PYTHONPATH": os.pathsep.join(ours)} if ours else {}
    array_api = {"SCIPY_ARRAY_API": "1"} if find_spec("torch") else {}
    given = environ if python != sys.executable else {**os.environ, **environ}
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder, "here")
        here.mkdir()
        done = subprocess.run(
            [python, "-P", "-W", "error", __file__, "--here", str(page), f"{folder}/results.json"],
            cwd=here,
            env={"MPLBACKEND": "Agg", **_ONE_THREAD, **array_api, **path, **given},
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
            timeout=_PATIENCE,
        )
        if done.returncode:
            raise RuntimeError(f"{page}: {done.stdout}{done.stderr}")
        found = json.loads(Path(folder, "results.json").read_text(encoding="utf-8"))
    return [Result(**{**one, "said": [Said(*two) for two in one["said"]]}) for one in found]


def _write_results(page: str, path: str) -> None:
    results = run(Path(page).read_text(encoding="utf-8"), page)
    Path(path).write_text(json.dumps([vars(one) for one in results]), encoding="utf-8")
    sys.stdout.flush()
    os._exit(0)  # threads of a page may still be there


def pages_below(folder: Path) -> list[Path]:
    """Pages with something to run, but those that the tests run."""
    return [
        page
        for page in sorted(folder.resolve().rglob("*.md"))
        if not page.is_relative_to(IN_TESTS) and programs_of(page.read_text(encoding="utf-8"))
    ]


def look_at(page: Path, *, write: bool = False) -> list[str]:
    """Run a page and say what is wrong with it; prints a line, and what was left out."""
    began = time.perf_counter()
    text = page.read_text(encoding="utf-8")
    name = os.path.relpath(page)
    try:
        results = results_of(page.resolve())
    except (RuntimeError, subprocess.TimeoutExpired) as error:
        found = [str(error)]
    else:
        if write:
            text = filled_in(text, results)
            page.write_text(text, encoding="utf-8")
        found = [f"{name}:{line}: {what}" for line, what in problems(text, results)]
        for result in results:
            if result.skipped:
                print(f"{name}:{result.line}: not run, since {result.skipped}", flush=True)
    verdict = "wrong" if found else "right"
    print(f"{name}: {verdict}, {time.perf_counter() - began:.0f} s", flush=True)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Run pages; 1 if one of them is wrong."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.page_blocks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("pages", nargs="*", type=Path)
    parser.add_argument("--check", type=Path, metavar="FOLDER", help="run all pages below it")
    parser.add_argument("--write", action="store_true", help="put what is printed into the pages")
    parser.add_argument("--here", nargs=2, metavar=("PAGE", "RESULTS"), help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.here:
        _write_results(*options.here)
    pages = [*options.pages, *(pages_below(options.check) if options.check else ())]
    if not pages:
        parser.error("name pages, or --check and a folder of them")
    with ThreadPoolExecutor(AT_ONCE) as pool:
        found = list(pool.map(functools.partial(look_at, write=options.write), pages))
    for problem in itertools.chain(*found):
        print(f"\n{problem}")
    n_wrong = sum(map(bool, found))
    print(f"{n_wrong} of {len(pages)} pages are wrong" if n_wrong else "All pages are right")
    return bool(n_wrong)


if __name__ == "__main__":
    sys.exit(main())
