"""Compiled loops are kept, and compilation is said to whoever watches."""

import builtins
import importlib.util
import io
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from numba import config

import nearkin
from nearkin.cli import main
from nearkin.messages import hush, write_note
from nearkin.rows.numba_loops import Announcer
from nearkin.rows.parallel import REORDER, compiled
from nearkin.spaces.local_weights import combine

SOURCES = Path(nearkin.__file__).parent


class Terminal(io.StringIO):
    def isatty(self):
        return True


def begun(module, kept="folder"):
    function, stats = SimpleNamespace(__module__=module), SimpleNamespace(cache_path=kept)
    dispatcher = SimpleNamespace(py_func=function, stats=stats)
    return SimpleNamespace(data={"dispatcher": dispatcher})


def test_every_compiled_loop_is_made_in_one_place_and_kept():
    users = [path for path in SOURCES.rglob("*.py") if re.search(r"\bnumba\b", path.read_text())]
    assert users == [SOURCES / "rows" / "numba_loops.py"]
    assert combine.dispatcher().stats.cache_path


def test_without_a_folder_to_keep_it_in_a_loop_is_compiled_all_the_same():
    names = {}
    exec("def total(values):\n    return values.sum()", names)  # of no file
    total = compiled(fastmath=REORDER)(names["total"])
    assert total(np.ones(3)) == 3
    assert total.dispatcher().stats.cache_path is None


def test_a_terminal_is_told_once(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    announcer = Announcer()
    announcer.on_start(begun("somebody.elses"))
    assert sys.stderr.getvalue() == ""
    for module in ("nearkin.spaces.local_weights", "nearkin.solvers.logdet"):
        announcer.on_start(begun(module))
        announcer.on_end(begun(module))
    assert sys.stderr.getvalue().count("nearkin: compiling for this machine") == 1
    Announcer().on_start(begun("nearkin.solvers.logdet", kept=None))
    assert "let NUMBA_CACHE_DIR name one" in sys.stderr.getvalue()


def test_notes_are_for_terminals_and_notebooks(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    write_note("in passing")
    assert sys.stderr.getvalue() == ""
    monkeypatch.setattr(builtins, "__IPYTHON__", True, raising=False)
    write_note("in passing")
    assert sys.stderr.getvalue() == "in passing\n"
    monkeypatch.delattr(builtins, "__IPYTHON__")
    monkeypatch.setattr(sys, "stderr", Terminal())
    write_note("in passing")
    assert sys.stderr.getvalue() == "\r\x1b[Kin passing\n"
    hush()
    write_note("not wanted")
    hush(False)
    assert "not wanted" not in sys.stderr.getvalue()
    monkeypatch.setattr(sys, "stderr", None)
    write_note("in passing")


def test_the_command_line_is_silent_if_asked_to_be(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    for words, shown in ((["--quiet", "info"], ""), (["info"], "in passing\n")):
        assert main([*words, "no such file"]) == 2
        sys.stderr.seek(sys.stderr.truncate(0))
        write_note("in passing")
        assert sys.stderr.getvalue().removeprefix("\r\x1b[K") == shown


def shown_by_a_process(cache, *, terminal):
    """What a process that compiles one loop, or finds it compiled, writes to standard error."""
    code = (
        "import numpy as np; from nearkin.solvers.stress import squared_distance; "
        "squared_distance(np.ones((2, 2)), 0, 1)"
    )
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    command = [sys.executable, "-c", code]
    if not terminal:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        return done.stderr
    import pty

    ours, theirs = pty.openpty()
    subprocess.run(command, env=environment, stderr=theirs, check=True)
    os.write(theirs, b"end")
    shown = b""
    while not shown.endswith(b"end"):
        shown += os.read(ours, 1024)
    os.close(ours)
    os.close(theirs)
    return shown.removesuffix(b"end").decode()


@pytest.mark.night
@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled")
@pytest.mark.skipif(sys.platform == "win32", reason="there is no pty")
def test_the_first_process_says_it_and_the_next_has_nothing_to_compile(tmp_path):
    assert shown_by_a_process(tmp_path / "another", terminal=False) == ""
    assert shown_by_a_process(tmp_path / "cache", terminal=True).count("compiling") == 1
    assert shown_by_a_process(tmp_path / "cache", terminal=True) == ""


def total_anew(folder):
    """A sum by the loops of a file, imported once more, and whether they were compiled for it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(config, "CACHE_DIR", str(folder / "kept"))
        spec = importlib.util.spec_from_file_location("loops", folder / "loops.py")
        patch.setitem(sys.modules, "loops", importlib.util.module_from_spec(spec))
        loops = sys.modules["loops"]
        spec.loader.exec_module(loops)
        return loops.outer(np.arange(4.0)), sum(
            loops.outer.dispatcher().stats.cache_misses.values()
        )


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled")
def test_damaged_files_of_compiled_loops_are_compiled_anew(tmp_path):
    (tmp_path / "loops.py").write_text(
        "from nearkin.rows.parallel import compiled\n\n"
        "@compiled()\ndef inner(values, i):\n    return 2 * values[i]\n\n"
        "@compiled()\ndef outer(values):\n    total = 0.0\n"
        "    for i in range(len(values)):\n        total += inner(values, i)\n    return total\n"
    )
    assert total_anew(tmp_path) == (12.0, 1)
    assert total_anew(tmp_path) == (12.0, 0)

    def flipped(data):
        return (
            data[: len(data) // 2] + bytes([data[len(data) // 2] ^ 1]) + data[len(data) // 2 + 1 :]
        )

    damages = [("*.nbc", flipped), ("*.nbc", lambda data: data[:100]), ("*.nbi", lambda data: b"")]
    damages.append(("*.nbi", lambda data: data[:-30]))
    for files, damage in damages:
        for path in (tmp_path / "kept").rglob(files):
            path.write_bytes(damage(path.read_bytes()))
        assert total_anew(tmp_path) == (12.0, 1), files
        assert total_anew(tmp_path) == (12.0, 0), files


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled")
def test_loops_of_another_version_are_passed_by(tmp_path):
    (tmp_path / "loops.py").write_text(
        "from nearkin.rows.parallel import compiled\n\n"
        "@compiled()\ndef outer(values):\n    return values.sum()\n"
    )
    assert total_anew(tmp_path) == (6.0, 1)
    for path in (tmp_path / "kept").rglob("*.nbi"):
        path.write_bytes(pickle.dumps("0.1") + b"of another form")
    assert total_anew(tmp_path) == (6.0, 1)
    assert total_anew(tmp_path) == (6.0, 0)


def test_loops_are_pickled_by_name_and_numba_waits_for_the_first_call():
    assert pickle.loads(pickle.dumps(combine)) is combine
    code = (
        "import sys, nearkin.spaces.local_weights as w; assert 'numba' not in sys.modules; "
        "from nearkin.rows.parallel import start_loading_numba; start_loading_numba().join(); "
        "assert 'numba' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
