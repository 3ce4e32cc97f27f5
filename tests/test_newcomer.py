"""A newcomer's path: each page of docs/start, word for word, where only the wheel is installed."""

import os
import re
import shlex
import shutil
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import nearkin
from tests.page_blocks import IN_TESTS, blocks_of, problems, programs_of, results_of

PAGES = sorted(IN_TESTS.glob("*.md"))
SOURCES = Path(nearkin.__file__).parent


def installed_by(page):
    """Extras of nearkin, and packages beside it, that the first line with pip asks for."""
    lines = (
        line
        for block in blocks_of(page)
        if block.language == "sh"
        for line in block.text.splitlines()
    )
    line = next(line for line in lines if line.startswith("pip install "))
    wanted = {one.name: one.extras for one in map(Requirement, shlex.split(line)[2:])}
    return sorted(wanted.pop("nearkin")), sorted(wanted)


def with_compiled_loops(environment):
    """Spare an environment the time to compile loops that are compiled here."""
    there = environment.packages / "nearkin"
    for compiled in SOURCES.rglob("__pycache__/*.nb[ic]"):
        name = compiled.relative_to(SOURCES)
        code = name.parent.parent / f"{name.name.partition('.')[0]}.py"
        if not (SOURCES / code).is_file():  # moved since it was compiled
            continue
        if (SOURCES / code).read_bytes() == (there / code).read_bytes():
            (there / name.parent).mkdir(exist_ok=True)
            shutil.copyfile(compiled, there / name)
            stamp = (SOURCES / code).stat()
            os.utime(there / code, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    return environment


def test_there_are_the_five_pages_and_the_first():
    assert [page.stem for page in PAGES] == ["index", "labels", "map", "records", "text", "vectors"]


# The first page with every change; all of them at night.
@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=() if page.stem == "index" else pytest.mark.night, id=page.stem)
        for page in PAGES
    ],
)
def test_a_newcomer_sees_what_the_page_shows(page, fresh_environment):
    text = page.read_text(encoding="utf-8")
    extras, others = installed_by(text)
    environment = with_compiled_loops(fresh_environment(*extras, others=others))
    python = shutil.which("python", path=environment.programs)
    results = results_of(page, python=python, **environment.environ())
    assert [f"line {line}: {what}" for line, what in problems(text, results)] == []
    assert [result.line for result in results] == [block.line for block in programs_of(text)]
    assert not [result.skipped for result in results if result.skipped]


def test_extras_that_pages_name_are_there():
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        named = set(re.findall(r"nearkin\[([\w,]+)\]", text))
        known = set(
            re.findall(r"^(\w+) = \[", (SOURCES.parents[1] / "pyproject.toml").read_text(), re.M)
        )
        assert {one for names in named for one in names.split(",")} <= known
