"""The page of CONTRIBUTING that names each function passed through is true."""

import dataclasses
import re
from importlib import import_module
from itertools import chain
from pathlib import Path

import pytest

import nearkin
from benchmarks.house import trace
from nearkin import KernelBeta, Pairs
from nearkin.datasets import make_xor
from nearkin.studio.lesson import Lesson
from nearkin.studio.records import records_of

SOURCES = Path(nearkin.__file__).parent
PAGE = Path(__file__).parents[1] / "CONTRIBUTING.md"
# What hands nothing on: what all use, values, and mathematics.
TOOLS = ("rows/", "storage/", "errors", "learners/fitting", "teaching/kept_file")
JOURNAL = ("teaching/journal", "teaching/entry_rows", "teaching/record_keys")
MATHEMATICS = ("solvers/", "scores/", "pairs/pair_sums", "spaces/landmark_maps", "teaching/plane")
VALUES = ("spaces/maps", "pairs/pairs", "pairs/cutting", "pairs/closure", "pairs/numbering")
# What the reply to an answer says beside: counts, and what is asked next.
REPLIES = (
    *("teaching/asking", "teaching/questions", "teaching/known_groups", "tasks/questions/"),
    *("teaching/counting", "teaching/answered", "teaching/row_checks"),
)
LOOKS = (
    *(("teaching/history", "is_pair"), ("teaching/history", "is_settled")),
    ("teaching/answer_book", "AnswerBook.last_by"),
)

Function = tuple[str, str]


def tables(heading):
    """Functions that the tables below a heading name, table by table."""
    text = PAGE.read_text(encoding="utf-8")
    section = re.split(r"\n##+ ", text.partition(f"### {heading}\n")[2])[0]
    found = re.findall(r"(?:^\|.*\|\n)+", section, re.MULTILINE)
    return [re.findall(r"^\| `([\w/]+)` \| `([\w.]+)` \|", table, re.MULTILINE) for table in found]


def calls_of(work):
    """Calls of one function of the library by another in this thread, each once, in their order."""

    def function(frame):
        path = Path(frame.f_code.co_filename)
        if SOURCES not in path.parents:
            return None
        return path.relative_to(SOURCES).with_suffix("").as_posix(), frame.f_code.co_qualname

    def look(frame, event, _):
        if event != "call" or (called := function(frame)) is None:
            return
        while (frame := frame.f_back) is not None and function(frame) is None:
            pass
        calls.setdefault((function(frame) if frame else None, called))

    calls: dict[tuple[Function | None, Function], None] = {}
    trace(work, look)
    return list(calls)


def is_left_out(function):
    """Whether a function hands nothing on."""
    file, name = function
    holder = getattr(import_module(f"nearkin.{file.replace('/', '.')}"), name.split(".")[0], None)
    is_value = isinstance(holder, type) and dataclasses.is_dataclass(holder)
    special = name.rpartition(".")[2].startswith("__")
    beside = file.startswith((*TOOLS, *JOURNAL, *MATHEMATICS, *VALUES, *REPLIES))
    return is_value or special or beside or function in LOOKS


def assert_true(table, folder, work, most_files):
    calls = calls_of(work)
    order = list(dict.fromkeys(called for _, called in calls))
    missing = [function for function in table if function not in order]
    assert not missing, f"not called: {missing}"
    assert table == sorted(table, key=order.index)
    assert len({file for file, _ in table}) <= most_files
    passed = {
        called
        for caller, called in calls
        if caller is not None and caller[0].startswith(folder) and caller[0] != called[0]
        if not is_left_out(caller) and not is_left_out(called)
    }
    assert passed <= set(table), f"passed, but not named: {sorted(passed - set(table))}"


@pytest.fixture(scope="module")
def taught():
    X, y = make_xor(60, random_state=0)
    pairs = Pairs.from_labels(y, 30, random_state=0)
    learner = KernelBeta(n_landmarks=20, random_state=0)
    return learner.fit(X, pairs=pairs), X, pairs  # whatever is made at first use is there then


def test_the_way_of_a_row(taught):
    learner, X, pairs = taught
    fit, transform = tables("The way of a row")
    assert_true(fit, "learners/", lambda: learner.fit(X, pairs=pairs), 7)
    assert_true(transform, "learners/", lambda: learner.transform(X), 4)


def test_the_way_of_an_answer(taught, tmp_path):
    _, X, _ = taught

    def answered():
        lesson.answer(3, 4, False)
        lesson.place()

    with Lesson(records_of(X), journal=tmp_path / "answers") as lesson:
        lesson.answer(0, 1, True)
        lesson.place()
        (way,) = tables("The way of an answer")
        assert_true(way, "teaching/", answered, 8)


def test_every_function_of_the_page_is_there():
    named = chain(*tables("The way of a row"), *tables("The way of an answer"))
    for file, name in named:
        found = import_module(f"nearkin.{file.replace('/', '.')}")
        for part in name.split("."):
            found = getattr(found, part)
