import runpy
from pathlib import Path

import pytest
import sklearn.datasets

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.py"))


X, y = sklearn.datasets.load_digits(return_X_y=True)


def fewer_digits(*, return_X_y):
    """A third of them: they are drawn just so."""
    assert return_X_y
    return X[:600], y[:600]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs_and_draws(path, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sklearn.datasets, "load_digits", fewer_digits)
    runpy.run_path(str(path), run_name="__main__")
    assert list(tmp_path.glob("*.png"))


def test_there_are_examples():
    assert EXAMPLES
