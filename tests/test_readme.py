"""The README does what it says: see tests/readme_blocks.py."""

import json
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.readme_blocks import MAY_BE_ABSENT, README, agree, blocks_of, shortened, shown_after

TEXT = README.read_text(encoding="utf-8")
NEEDED = (
    "dask",
    "distributed",
    "fastapi",
    "matplotlib",
    "onnx",
    "onnxruntime",
    "pandas",
    "pyarrow",
)


def test_all_blocks_run_in_order_and_print_what_is_shown(tmp_path):
    for package in NEEDED:
        pytest.importorskip(package)
    path = os.pathsep.join([str(README.parent), os.environ.get("PYTHONPATH", "")])
    env = {**os.environ, "PYTHONPATH": path, "MPLBACKEND": "Agg"}
    if find_spec("torch"):
        env["SCIPY_ARRAY_API"] = "1"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "tests.readme_blocks"],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    results = {result["line"]: result for result in json.loads(done.stdout)}
    assert list(results) == [block.line for block in blocks_of(TEXT) if block.language == "python"]
    skipped = [result["skipped"] for result in results.values() if result["skipped"]]
    assert all(reason in MAY_BE_ABSENT.values() for reason in skipped)
    assert len(skipped) <= 1
    said = [pair for result in results.values() for pair in result["said"]]
    assert [1.0, 1.0] in [[number, round(value, 3)] for number, value in said]  # the first example
    assert all(abs(number - value) < 0.0005 for number, value in said)
    assert (tmp_path / "learned.parquet").exists()
    assert shown_after(TEXT)
    for line, block in shown_after(TEXT).items():
        printed = shortened(results[line]["printed"], block.text)
        refresh = "python -m tests.readme_blocks --write puts it there"
        assert agree(block.text, printed), f"line {line} prints\n{printed}\n{refresh}"


def test_the_first_example_is_short():
    first = next(block for block in blocks_of(TEXT) if block.language == "python")
    assert len(first.text.strip().splitlines()) <= 12


def test_links_lead_somewhere():
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", TEXT):
        assert (README.parent / Path(target)).exists(), target


# What the tests above go by


def test_numbers_may_differ_a_little_and_words_may_not():
    assert agree("gain +0.512 ± 0.097 on 50 pairs", "gain  +0.500 ±\n0.099 on 50 pairs")
    assert not agree("gain +0.512", "gain +0.412")
    assert not agree("gain +0.512", "loss +0.512")
    assert not agree("−0.01", "+0.02 more")


def test_output_is_shown_with_a_part_left_out():
    printed = "a\nb\nc\nd\ne\n" + "long " * 30 + "\n"
    shown = shortened(printed, "x\n  ...\ny\nz\n")
    assert shown.splitlines()[:3] == ["a", "  ...", "e"]
    assert shown.splitlines()[3].startswith("long long")
    assert max(map(len, shown.splitlines())) <= 100
    assert shortened(printed, shown) == shown
    assert shortened("a\nb\n", "x\n") == "a\nb\n"
