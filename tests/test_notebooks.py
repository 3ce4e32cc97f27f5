"""Notebooks of the site run from top to bottom, and show what they keep."""

from itertools import groupby

import pytest

from tests.notebooks import NOTEBOOKS, kept, read, run

# Each is a process of its own, and what reads them takes seconds to import.
pytestmark = pytest.mark.night
by_name = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


@pytest.fixture(autouse=True)
def nbformat():
    for name in ("nbclient", "ipykernel"):
        pytest.importorskip(name, reason=f"notebooks need {name}: make test installs it")
    return pytest.importorskip("nbformat")


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def kinds(cell):
    """What a cell shows: kinds of outputs, by which changes of what is shown are noticed."""
    found = [
        sorted(output.get("data", {"text/plain": ""})) if output.output_type != "stream" else "text"
        for output in cell.outputs
    ]
    return [kind for kind, _ in groupby(found)]  # what is printed may come in several pieces


@by_name
def test_it_begins_with_a_title_and_keeps_outputs_in_order(path):
    notebook = read(path)
    assert notebook.cells[0].source.startswith("# ")
    cells = code_cells(notebook)
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    assert sum(bool(cell.outputs) for cell in cells) >= len(cells) / 3
    for cell in cells:
        for output in cell.outputs:
            assert output.output_type != "error"
            assert output.get("name") != "stderr", output.text
            assert "127.0.0.1" not in str(output)


@by_name
def test_it_runs_and_shows_what_it_keeps(path):
    pytest.importorskip("matplotlib")
    notebook = read(path)
    found = kept(run(notebook))
    assert [kinds(cell) for cell in code_cells(found)] == [
        kinds(cell) for cell in code_cells(notebook)
    ]


def test_errors_are_raised_and_pages_of_the_studio_are_not_kept(nbformat):
    from nbclient.exceptions import CellExecutionError

    assert len(NOTEBOOKS) >= 4
    wrong = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1 / 0")])
    with pytest.raises(CellExecutionError, match="ZeroDivisionError"):
        run(wrong)
    shown = nbformat.v4.new_output("execute_result", {"text/html": "<iframe src='http://x'>"})
    cell = nbformat.v4.new_code_cell("handle", outputs=[shown])
    assert kept(nbformat.v4.new_notebook(cells=[cell])).cells[0].outputs == []
