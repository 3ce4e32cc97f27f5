"""Examples run without a warning, draw, and read like pages of the gallery."""

import ast
import re
import runpy
from importlib.util import find_spec
from pathlib import Path

import pytest
import sklearn.datasets

from tests.cases import each

FOLDER = Path(__file__).parent.parent / "examples"
GALLERY = sorted(FOLDER.rglob("plot_*.py"))
PROGRAMS = sorted(FOLDER.glob("[a-z]*.py"))
SECTIONS = sorted(path.name for path in FOLDER.iterdir() if any(path.glob("plot_*.py")))
X, y = sklearn.datasets.load_digits(return_X_y=True)


def fewer_digits(*, return_X_y):
    """A third of them: they are drawn just so."""
    assert return_X_y
    return X[:600], y[:600]


def missing(path):
    """Packages that a program imports and that are not there."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names = {a.name for node in ast.walk(tree) if isinstance(node, ast.Import) for a in node.names}
    names |= {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    return sorted(name for name in names if find_spec(name.partition(".")[0]) is None)


@pytest.mark.night
@each("path", PROGRAMS, ids=lambda path: path.stem)
def test_program_runs_and_draws(path, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib.pyplot").close("all")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sklearn.datasets, "load_digits", fewer_digits)
    runpy.run_path(str(path), run_name="__main__")
    assert list(tmp_path.glob("*.png"))


@pytest.mark.filterwarnings("ignore:Tensorflow not installed:ImportWarning")  # by umap
@pytest.mark.night  # make docs runs all of them, too
@pytest.mark.parametrize("path", GALLERY, ids=lambda path: path.stem)
def test_example_runs_and_draws(path, tmp_path, monkeypatch):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    if names := missing(path):
        pytest.skip(f"needs {', '.join(names)}")
    monkeypatch.chdir(tmp_path)
    pyplot.close("all")
    try:
        runpy.run_path(str(path), run_name="__main__")
        assert pyplot.get_fignums()
    finally:
        pyplot.close("all")
    assert not list(tmp_path.iterdir()), "it leaves files in the folder that it is run in"


def test_examples_have_a_title_and_a_question_and_sections_a_heading():
    assert len(GALLERY) >= 24
    for path in GALLERY:
        text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
        title, line, empty, *words = text.split("\n")
        assert re.fullmatch("=+", line), path
        assert (len(line), empty) == (len(title), ""), path
        assert "?" in "\n".join(words), path
    assert SECTIONS == ["answers", "data", "learning", "programs", "tasks"]
    for name in SECTIONS:
        assert (FOLDER / name / "GALLERY_HEADER.rst").exists()
