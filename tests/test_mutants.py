"""Mutation testing: what is stored, and the tool itself where it is installed."""

import sys
from types import ModuleType

import pytest

from benchmarks.mutants.__main__ import MODULES
from benchmarks.mutants.page import EQUIVALENT, FOLDER, NOTICED, page, stored_results


def test_tests_notice_most_mistakes():
    results = stored_results(MODULES)
    assert list(results) == list(MODULES)
    for name, (_, rows) in results.items():
        noticed = sum(row["outcome"] in NOTICED for row in rows)
        assert noticed >= 0.85 * len(rows), name


def test_the_page_shows_what_is_stored():
    assert (FOLDER / "RESULTS.md").read_text() == page(stored_results(MODULES))


def test_what_is_called_equivalent_survives():
    rows = [row for _, rows in stored_results(MODULES).values() for row in rows]
    left = {(row["file"], row["after"]) for row in rows if row["outcome"] not in NOTICED}
    assert set(EQUIVALENT) <= left


SOURCE = """\
from functools import cached_property

LIMIT = 10


class Shape:
    @cached_property
    def area(self) -> int:
        \"\"\"Of a square.\"\"\"
        return self.side * 2


def within(value, most=LIMIT):
    return value < most
"""


def test_decorated_functions_and_constants_have_mutants(tmp_path):
    pytest.importorskip("mutmut")
    from benchmarks.mutants.changes import mutants

    (tmp_path / "shapes.py").write_text(SOURCE)
    found = [(m.function, m.line, m.after) for m in mutants(tmp_path, "shapes.py")]
    assert found == [
        ("", 3, "LIMIT = 11"),
        ("Shape.area", 10, "return self.side / 2"),
        ("Shape.area", 10, "return self.side * 3"),
        ("within", 14, "return value <= most"),
    ]


def test_a_mistake_gets_into_what_is_imported_already(monkeypatch):
    pytest.importorskip("coverage")
    pytest.importorskip("libcst")
    from benchmarks.mutants.trials import _functions, _put_in

    module = ModuleType("shapes")
    module.__file__ = "shapes.py"
    monkeypatch.setitem(sys.modules, "shapes", module)
    exec(SOURCE, module.__dict__)
    within, shape = module.within, module.Shape()
    shape.side = 3
    changed = SOURCE.replace("side * 2", "side / 2").replace("< most", ">= most")
    _put_in(module, _functions(module), changed.replace("LIMIT = 10", "LIMIT = 2"))
    assert (module.LIMIT, shape.area, within(3), within(1)) == (2, 1.5, True, False)
