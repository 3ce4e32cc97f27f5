"""Whether tests notice a mutant.

pytest collects the tests once. In the place of running them it forks for every mutant: the child
puts the mistake into the module that is imported already, and runs the tests that reach the changed
statement, fastest first, until one fails. That takes some hundredths of a second, where a process
of its own would take three seconds to import what nearkin needs.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, NoReturn

import coverage
import pytest
from hypothesis import HealthCheck, Phase, settings

from benchmarks.mutants.changes import Mutant

# A mutant may take so many times as long as its tests do, and so many seconds more.
_SLOWER, _SECONDS = 5, 4
_MOST_BYTES = 8 * 2**30

# The same examples every time, and none made smaller.
settings.register_profile(
    "mutants",
    deadline=None,
    derandomize=True,
    max_examples=40,
    database=None,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=list(HealthCheck),
)

Report = Callable[[Mutant, str], None]


def try_all(package: Path, mutants: Iterable[Mutant], tests: Sequence[str], report: Report) -> None:
    """Report what becomes of every mutant.

    That is ``killed``, ``timeout`` (which is killed too), ``survived``, or ``unreached`` by any
    test.
    """
    options = [
        "-q",
        "-s",
        "--assert=plain",
        "--tb=native",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
    ]
    with tempfile.TemporaryDirectory() as folder:
        options += [f"--basetemp={folder}/tests", "--hypothesis-profile=mutants"]
        loop = _Loop(package, list(mutants), report)
        status = pytest.main([*options, *tests], plugins=[loop])
    if status != pytest.ExitCode.OK:
        raise RuntimeError(f"pytest ends with {status!r}")


@dataclass(frozen=True)
class _Reached:
    """How long tests take, and for each file and line those that run it."""

    seconds: dict[str, float]
    by_line: dict[str, dict[int, set[str]]]

    def by(self, mutant: Mutant) -> list[str]:
        """The tests that may notice a mutant, fastest first."""
        lines = self.by_line[mutant.file]
        tests = {test for line in mutant.reach for test in lines.get(line, ())}
        if not mutant.reach:
            tests = set(self.seconds)
        return sorted(tests & set(self.seconds), key=lambda test: (self.seconds[test], test))


class _Loop:
    """A plugin of pytest that tries mutants in the place of running the tests."""

    def __init__(self, package: Path, mutants: Sequence[Mutant], report: Report) -> None:
        self._package, self._mutants, self._report = package, mutants, report
        self._files = sorted({mutant.file for mutant in mutants})

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        reached = self._watch(session)
        modules = {file: _module(self._package, file) for file in self._files}
        gc.unfreeze()  # what an earlier loop froze is not found
        functions = {file: _functions(module) for file, module in modules.items()}
        for mutant in self._mutants:
            if mutant.function and not _is_within(mutant.function, functions[mutant.file]):
                raise RuntimeError(f"{mutant.file} has no {mutant.function} to put a mistake in")
        items = {item.nodeid: item for item in session.items}
        gc.freeze()

        def status(file: str, code: str, tests: Sequence[str]) -> int:
            def attempt() -> int:
                _put_in(modules[file], functions[file], code)
                return _failed(session, [items[test] for test in tests])

            limit = _SECONDS + _SLOWER * sum(reached.seconds[test] for test in tests)
            return _forked(attempt, int(limit))

        for file in self._files:  # what is put in must not be what makes tests fail
            if status(file, (self._package / file).read_text(), list(items)) != 0:
                raise RuntimeError(f"the tests fail with {file} put in as it is")
        for mutant in self._mutants:
            outcome = "unreached"
            if tests := reached.by(mutant):
                ended = status(mutant.file, mutant.code, tests)
                outcome = {0: "survived", -signal.SIGALRM: "timeout"}.get(ended, "killed")
            self._report(mutant, outcome)
        return True

    def _watch(self, session: pytest.Session) -> _Reached:
        """Run all tests as they are, in a process of their own, and import what they do."""
        with tempfile.TemporaryDirectory() as folder:
            found = Path(folder) / "found.json"
            paths = {file: str(self._package / file) for file in self._files}

            def watch() -> int:
                cover = coverage.Coverage(
                    data_file=None, include=list(paths.values()), config_file=False
                )
                seconds = {}
                cover.start()
                for item in session.items:
                    cover.switch_context(item.nodeid)
                    start = time.perf_counter()
                    if _failed(session, [item]):
                        raise RuntimeError(f"{item.nodeid} fails as it is")
                    seconds[item.nodeid] = time.perf_counter() - start
                cover.stop()
                data = cover.get_data()
                by_line = {file: data.contexts_by_lineno(path) for file, path in paths.items()}
                found.write_text(json.dumps([seconds, by_line, list(sys.modules)]))
                return 0

            log = Path(folder) / "log.txt"
            if _forked(watch, 1800, log) != 0:
                raise RuntimeError(log.read_text()[-5000:])
            seconds, by_line, names = json.loads(found.read_text())
        for name in names:
            with suppress(Exception):
                importlib.import_module(name)
        lines = {
            file: {int(line): set(tests) for line, tests in of_file.items()}
            for file, of_file in by_line.items()
        }
        return _Reached(seconds, lines)


def _failed(session: pytest.Session, items: Sequence[pytest.Item]) -> int:
    """Run tests until one fails; whether one did."""
    for item, following in zip(items, [*items[1:], None], strict=True):
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if session.testsfailed:
            return 1
    return 0


def _forked(work: Callable[[], int], limit: int, log: Path | None = None) -> int:
    """The status that some work ends with in a process of its own; minus a signal's number."""
    with tempfile.TemporaryDirectory() as folder:
        child = os.fork()
        if child == 0:
            _work_apart(work, limit, log, folder)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        with suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)  # what it may have started
    return status


def _work_apart(work: Callable[[], int], limit: int, log: Path | None, folder: str) -> NoReturn:
    """Work where little harm can be done, and end."""
    try:
        os.setsid()
        os.chdir(folder)
        output = os.open(log or os.devnull, os.O_RDWR | os.O_CREAT)
        for stream in (1, 2):
            os.dup2(output, stream)
        resource.setrlimit(resource.RLIMIT_AS, (_MOST_BYTES, _MOST_BYTES))
        signal.alarm(limit)
        os._exit(work())
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(70)


def _module(package: Path, file: str) -> ModuleType:
    parts = Path(file).with_suffix("").parts
    return importlib.import_module(".".join((package.name, *parts)))


def _functions(module: Any) -> dict[str, FunctionType]:
    """The functions of a module by their dotted names, whatever wraps them."""
    return {
        thing.__qualname__: thing
        for thing in gc.get_objects()
        if isinstance(thing, FunctionType)
        and thing.__globals__ is module.__dict__
        and "<locals>" not in thing.__qualname__
    }


def _is_within(name: str, functions: Iterable[str]) -> bool:
    return any(f"{name}.".startswith(f"{function}.") for function in functions)


def _put_in(module: ModuleType, functions: dict[str, FunctionType], code: str) -> None:
    """Have a module's functions and constants be those of other code.

    The functions stay the same objects, so that whoever has imported them has the changed ones.
    """
    made = ModuleType(module.__name__)
    made.__dict__.update(__file__=module.__file__, __package__=module.__package__)
    exec(compile(code, str(module.__file__), "exec", dont_inherit=True), made.__dict__)
    for name, function in _functions(made).items():
        if name in functions:
            functions[name].__code__ = function.__code__
            functions[name].__defaults__ = function.__defaults__
            functions[name].__kwdefaults__ = function.__kwdefaults__
    for name, value in vars(made).items():
        if not name.startswith("__") and not callable(value):
            setattr(module, name, value)
