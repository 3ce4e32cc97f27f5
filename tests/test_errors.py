"""What users can put right has a class of its own, beside the one that scikit-learn expects."""

import ast
import pickle
from pathlib import Path

import pytest

import nearkin
from nearkin import errors
from nearkin.cli.common import UserError
from tests.cases import each

ORDINARY = ("ValueError", "TypeError", "IndexError", "ImportError")


@each(
    ("cls", "ordinary"),
    [
        (errors.InputError, ValueError),
        (errors.InputTypeError, TypeError),
        (errors.InputIndexError, IndexError),
        (errors.MissingPackageError, ImportError),
        (errors.ClusterError, RuntimeError),
        (nearkin.StorageError, ValueError),
        (UserError, ValueError),
    ],
)
def test_an_error_is_of_two_classes(cls, ordinary):
    assert issubclass(cls, nearkin.NearkinError)
    assert issubclass(cls, ordinary)
    assert str(pickle.loads(pickle.dumps(cls("said")))) == "said"


def test_no_error_is_of_an_ordinary_class_alone():
    for path in Path(nearkin.__file__).parent.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if not any(name in text for name in ORDINARY):
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Raise) and node.exc is not None:
                raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
                assert getattr(raised, "id", None) not in ORDINARY, f"{path}:{node.lineno}"


@each(
    ("said", "expected"),
    [
        (ValueError("of scikit-learn"), errors.InputError),
        (TypeError("of scikit-learn"), errors.InputTypeError),
        (nearkin.StorageError("of ours"), nearkin.StorageError),
    ],
)
def test_what_checks_of_scikit_learn_say_is_said_in_their_words(said, expected):
    with pytest.raises(expected, match=str(said)) as error, errors.raise_input_errors():
        raise said
    assert type(error.value) is expected
    assert error.traceback[-1].path == Path(__file__)


def test_other_errors_stay_as_they_are():
    with pytest.raises(ZeroDivisionError), errors.raise_input_errors():
        _ = 1 / 0


@each("X", [[[0.0], ["a"]], [1.0, 2.0], [[]], [[1.0, 2.0], [3.0]]])
def test_rows_that_scikit_learn_refuses_are_an_error_of_ours(X):
    with pytest.raises(nearkin.NearkinError):
        nearkin.RCA().fit(X, pairs=nearkin.Pairs([(0, 1)]))
