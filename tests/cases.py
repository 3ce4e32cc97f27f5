"""One test over many cases: all are run, and a failure names those that fail."""

import functools
import inspect
from contextlib import ExitStack, chdir
from pathlib import Path

import pytest

FAILURES = (Exception, pytest.fail.Exception)


def each(names, values, ids=None):
    """Run a test over all values within one test, which is written as for ``parametrize``.

    A case has a folder of its own in ``tmp_path``, which it works in if the test works in that, and
    its own ``monkeypatch``; all else that the test takes is shared by its cases. Several decorators
    run over all combinations. ``names`` are the test's parameters that differ between cases (the
    values of a tuple are tuples), ``ids`` what failures call a case instead of its ``repr``.
    """
    if isinstance(names, str) and "," in names:
        names = tuple(name.strip() for name in names.split(","))
    single = isinstance(names, str)
    cases = [_case(value, single) for value in values]
    if callable(ids):
        cases = [(given, name or " ".join(str(ids(x)) for x in given)) for given, name in cases]
    elif ids is not None:
        cases = [(given, name) for (given, _), name in zip(cases, ids, strict=True)]
    names = (names,) if single else tuple(names)
    assert cases, "a test over no case says nothing"
    assert all(len(given) == len(names) for given, _ in cases)

    def decorate(test):
        signature = inspect.signature(test)
        kept = [p for name, p in signature.parameters.items() if name not in names]
        assert len(kept) == len(signature.parameters) - len(names), f"{names} are no parameters"

        @functools.wraps(test)
        def run(**fixtures):
            first, failed, skipped = None, [], []
            for number, (given, name) in enumerate(cases):
                case = name or _described(names, given)
                try:
                    _run(test, {**fixtures, **dict(zip(names, given, strict=True))}, number)
                except pytest.skip.Exception as reason:
                    skipped.append(reason)
                except FAILURES as error:
                    first = first or error
                    failed.append(case)
            if first is not None:
                first.add_note(f"case: {failed[0]}")
                if failed[1:]:
                    first.add_note(
                        f"{len(failed)} of {len(cases)} cases fail: " + "; ".join(failed)
                    )
                raise first
            if len(skipped) == len(cases):
                raise skipped[0]

        run.__signature__ = signature.replace(parameters=kept)
        return run

    return decorate


def _case(value, single):
    """The parameters of a case, and what it is called if that is said."""
    if isinstance(value, type(pytest.param())):
        assert not value.marks, "marks are for tests, not for cases"
        return value.values, value.id
    return ((value,) if single else tuple(value)), None


def _described(names, given):
    pieces = []
    for name, value in zip(names, given, strict=True):
        shown = getattr(value, "__name__", None) or repr(value)
        pieces.append(f"{name} = {shown if len(shown) <= 200 else shown[:200] + '…'}")
    return ", ".join(pieces)


def _run(test, given, number):
    with ExitStack() as stack:
        if "tmp_path" in given:
            whole, given["tmp_path"] = given["tmp_path"], given["tmp_path"] / str(number)
            given["tmp_path"].mkdir()
            if Path.cwd() == whole:
                stack.enter_context(chdir(given["tmp_path"]))
        if "monkeypatch" in given:
            given["monkeypatch"] = stack.enter_context(pytest.MonkeyPatch.context())
        test(**given)
