"""A test over many cases runs all of them, and says which fail."""

import inspect
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import each


def test_all_cases_are_run_and_those_that_fail_are_named():
    seen = []

    @each(("a", "b"), [(1, 1), (2, 5), pytest.param(3, 7, id="three")])
    @each("c", ["x", "y"])
    def test(a, b, c, fixture):
        seen.append((a, c, fixture))
        if b != 5 or c != "x":
            assert a == b

    assert list(inspect.signature(test).parameters) == ["fixture"]
    with pytest.raises(AssertionError) as error:
        test(fixture=0)
    assert seen == [(a, c, 0) for a in (1, 2, 3) for c in "xy"]
    assert error.value.__notes__ == [
        "case: c = 'y'",
        "case: a = 2, b = 5",
        "2 of 3 cases fail: a = 2, b = 5; three",
    ]


def test_what_a_case_leaves_behind_another_does_not_see(tmp_path, monkeypatch):
    class Thing:
        value = 0

    @each("case", [1, 2])
    def test(case, tmp_path, monkeypatch):
        assert not list(tmp_path.iterdir())
        assert Path.cwd() == tmp_path
        assert Thing.value == 0
        (tmp_path / "file").touch()
        monkeypatch.setattr(Thing, "value", case)

    monkeypatch.chdir(tmp_path)
    test(tmp_path=tmp_path, monkeypatch=monkeypatch)
    assert Thing.value == 0
    assert Path.cwd() == tmp_path


def test_an_exception_that_is_missed_names_its_case():
    @each("message", ["one", "two"])
    def test(message):
        with pytest.raises(ValueError, match="two"):
            raise ValueError(message)

    with pytest.raises(AssertionError) as error:
        test()
    assert error.value.__notes__ == ["case: message = 'one'"]

    @each("kind", [ValueError, OSError])
    def test_of_none(kind):
        with pytest.raises(kind):
            pass

    with pytest.raises(pytest.fail.Exception) as error:
        test_of_none()
    assert error.value.__notes__[0] == "case: kind = ValueError"


def test_a_test_is_skipped_where_all_cases_are():
    @each("case", [1, 2])
    def test(case, least):
        if case < least:
            pytest.skip("too small")

    test(least=2)
    with pytest.raises(pytest.skip.Exception, match="too small"):
        test(least=3)


@each("most", [0, 5])
@given(number=st.integers(0, 5))
def test_cases_and_random_examples_go_together(most, number):
    assert min(number, most) <= most


def test_mistakes_of_whoever_writes_a_test():
    with pytest.raises(AssertionError, match="over no case"):
        each("a", [])
    with pytest.raises(AssertionError, match="are no parameters"):
        each("a", [1])(lambda b: None)
