import subprocess
import sys
from pathlib import Path

import pytest

from tests import under_load

_SECOND_TIME = """
from pathlib import Path
def test_once():
    seen = Path(__file__).with_name("seen")
    assert not seen.exists(), "seen before"
    seen.touch()
def test_always():
    pass
"""


@pytest.mark.night
def test_the_first_round_that_fails_is_the_last(tmp_path, capfd):
    (tmp_path / "test_made.py").write_text(_SECOND_TIME)
    arguments = ["--busy", "1", "-p", "no:hypothesispytest", f"--rootdir={tmp_path}", str(tmp_path)]

    assert under_load.main(["--rounds", "1", *arguments]) == 0
    passed = capfd.readouterr().out
    assert "round 1 of 1: 2 passed" in passed
    assert "1 rounds, none failed" in passed

    assert under_load.main(["--rounds", "5", *arguments]) == 1
    *_, named, test = capfd.readouterr().out.splitlines()
    assert named == "round 1 of 5 failed, with status 1:"
    assert test.endswith("test_made.py::test_once")


def test_there_are_the_tests_that_it_names():
    root = Path(__file__).parents[1]
    for one in under_load.CONCURRENT:
        assert (root / one.removeprefix("--ignore=").partition("::")[0]).exists(), one


def test_busy_processes_end_with_what_keeps_them():
    with under_load.spinning(2) as found:
        assert [one.poll() for one in found] == [None, None]
    assert None not in [one.poll() for one in found]

    # One that is killed cannot end them: they notice that it is gone.
    program = (
        "import os, signal; from tests import under_load\n"
        "with under_load.spinning(1) as (one,):\n"
        "    print(one.pid, flush=True); os.kill(os.getpid(), signal.SIGKILL)"
    )
    killed = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    # The pipe is read to its end, which is when nobody holds it any more: the busy process, too.
    assert killed.stdout.strip().isdigit()
