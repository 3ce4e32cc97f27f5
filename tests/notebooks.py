"""The notebooks of the site, run from top to bottom in an empty folder.

    python -m tests.notebooks                       # run all, and say how long each took
    python -m tests.notebooks --write               # and keep what they show
    python -m tests.notebooks docs/notebooks/records.ipynb --write

A page of the studio that a cell shows is not kept: it would be gone for whoever reads it later.
"""

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
# Seconds for a cell, on a busy machine that has to compile loops first.
PATIENCE = 180
# Small pictures, drawn alike everywhere.
_FIRST = "%config InlineBackend.print_figure_kwargs = {'dpi': 64, 'bbox_inches': 'tight'}"
_METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def read(path):
    """A notebook as it is kept."""
    import nbformat

    return nbformat.read(path, as_version=4)


def run(notebook):
    """A copy with what its cells show now. An error in a cell is raised, warnings are errors."""
    import nbformat
    from nbclient import NotebookClient

    found = nbformat.from_dict(notebook)
    found.cells = [nbformat.v4.new_code_cell(_FIRST), *found.cells]
    paths = [str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH", "")]
    settings = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "PYTHONWARNINGS": "error:::__main__",
        "JUPYTER_PLATFORM_DIRS": "1",
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
    }
    with tempfile.TemporaryDirectory() as folder:
        settings["IPYTHONDIR"] = settings["JUPYTER_RUNTIME_DIR"] = folder
        client = NotebookClient(
            found, timeout=PATIENCE, kernel_name="python3", resources={"metadata": {"path": folder}}
        )
        client.execute(env=settings)
    del found.cells[0]
    return found


def kept(notebook):
    """What is worth keeping of a notebook that was run: the same on every machine and day."""
    import nbformat

    notebook.metadata = nbformat.from_dict(_METADATA)
    for number, cell in enumerate(cell for cell in notebook.cells if cell.cell_type == "code"):
        cell.metadata.pop("execution", None)
        cell.execution_count = number + 1
        cell.outputs = [output for output in cell.outputs if not _is_passing(output)]
        for output in cell.outputs:
            if output.output_type == "execute_result":
                output.execution_count = number + 1
    return notebook


def _is_passing(output):
    """A page that will be gone, or a word on loops that are compiled the first time."""
    is_page = "<iframe" in output.get("data", {}).get("text/html", "")
    return is_page or output.get("name") == "stderr"


def main(arguments=None):
    import nbformat

    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("notebooks", nargs="*", type=Path)
    parser.add_argument("--write", action="store_true", help="keep what they show")
    given = parser.parse_args(arguments)
    for path in given.notebooks or NOTEBOOKS:
        start = time.monotonic()
        found = kept(run(read(path)))
        if given.write:
            nbformat.write(found, path)
        sys.stdout.write(f"{path.name}: {time.monotonic() - start:.1f} s\n")


if __name__ == "__main__":
    main()
