"""The studio in JupyterLab, as people have it: below a cell, in a browser."""

import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.studio.server.browser.watched import PAIRS_ONLY, PATIENCE_MS, SCREENSHOTS, expect

pytestmark = pytest.mark.skipif(
    find_spec("jupyterlab") is None, reason="needs JupyterLab: pip install --group notebooks"
)

ROOT = Path(__file__).parents[4]
WINDOW = {"width": 1280, "height": 1000}
CELLS = [
    "from sklearn.datasets import load_digits\nimport nearkin as nk\n\n"
    "X, digit = load_digits(return_X_y=True)\nX = X[:300]",
    'handle = nk.studio(X, images=(8, 8), columns={"digit": digit[:300]})\nhandle',
    "handle.pairs",
]


@contextmanager
def running_jupyterlab(folder):
    """The address of a JupyterLab that shows a folder and keeps nothing elsewhere."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    own = folder / ".jupyter"
    settings = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)]),
        "JUPYTER_PLATFORM_DIRS": "1",
        **{f"JUPYTER_{name}_DIR": str(own / name) for name in ("CONFIG", "DATA", "RUNTIME")},
        "JUPYTERLAB_SETTINGS_DIR": str(own / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(own / "workspaces"),
        "IPYTHONDIR": str(own / "ipython"),
    }
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", f"--port={port}"]
    command += [f"--ServerApp.root_dir={folder}", "--IdentityProvider.token=a-token"]
    command += ["--ServerApp.port_retries=0", "--LabApp.extension_manager=readonly"]
    notices = own / "settings" / "@jupyterlab" / "apputils-extension"
    notices.mkdir(parents=True)
    nothing = {"fetchNews": "false", "checkForUpdates": False}
    (notices / "notification.jupyterlab-settings").write_text(json.dumps(nothing))
    with (own / "log.txt").open("w") as log:
        process = subprocess.Popen(command, env=settings, stdout=log, stderr=log, cwd=folder)
        try:
            wait_for(f"http://127.0.0.1:{port}/api?token=a-token", process, own / "log.txt")
            yield f"http://127.0.0.1:{port}/lab/tree/teaching.ipynb?token=a-token"
        finally:
            process.terminate()
            process.wait(30)


def wait_for(url, process, log):
    """Until somebody answers there."""
    end = time.monotonic() + 2 * PATIENCE_MS / 1000
    while time.monotonic() < end and process.poll() is None:
        try:
            urllib.request.urlopen(url, timeout=5).close()
            return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    pytest.fail(f"JupyterLab does not answer:\n{log.read_text()[-2000:]}")


def notebook_in(folder):
    nbformat = pytest.importorskip("nbformat")
    cells = [nbformat.v4.new_code_cell(source) for source in CELLS]
    metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    path = folder / "teaching.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=metadata), path)
    return path


def run_cell(page, number):
    """Run a cell, and wait until it is done."""
    cell = page.locator(".jp-Notebook .jp-CodeCell").nth(number)
    prompt = cell.locator(".jp-InputPrompt")
    before = prompt.inner_text()
    end = time.monotonic() + PATIENCE_MS / 1000
    while prompt.inner_text() == before and time.monotonic() < end:  # until the kernel takes it
        prompt.click()  # into command mode: no editor takes keys
        page.keyboard.press("Control+Enter")
        page.wait_for_timeout(1000)
    expect(prompt).to_have_text(re.compile(r"\[\d+\]"))
    return cell


def test_the_studio_is_below_its_cell_and_answers_stay_when_it_runs_again(browser, tmp_path):
    notebook_in(tmp_path)
    with running_jupyterlab(tmp_path) as url:
        context = browser.new_context(viewport=WINDOW, reduced_motion="reduce")
        context.add_init_script(PAIRS_ONLY)
        try:
            page = context.new_page()
            page.set_default_timeout(PATIENCE_MS)
            page.goto(url)
            expect(page.locator(".jp-Notebook .jp-CodeCell")).to_have_count(len(CELLS))
            expect(page.locator(".jp-Notebook-ExecutionIndicator")).to_have_attribute(
                "data-status", "idle"
            )
            run_cell(page, 0)
            frame = studio_of(run_cell(page, 1))
            expect(frame.get_by_test_id("answers")).to_have_text("0 answers")
            for number in range(1, 4):
                frame.get_by_test_id("answer-different").click()
                words = f"{number} answer{'s' * (number > 1)}"
                expect(frame.get_by_test_id("answers")).to_have_text(words)
            # Answers are in the kernel, and in a file beside the notebook.
            said = run_cell(page, 2).locator(".jp-OutputArea-output")
            expect(said).to_contain_text("0 must-links, 3 cannot-links")
            journal = tmp_path / "teaching.X.answers.jsonl"
            assert journal.read_text().count('"same":false') == 3
            # The cell runs again, and goes on.
            frame = studio_of(run_cell(page, 1))
            expect(frame.get_by_test_id("answers")).to_have_text("3 answers")
            shoot(page, frame)
        finally:
            context.close()


def studio_of(cell):
    """The page below a cell, once it asks something."""
    shown = cell.locator("iframe[title='nearkin studio']")
    expect(shown).to_be_visible()
    frame = shown.content_frame
    expect(frame.get_by_test_id("compare").locator("img")).to_have_count(2)
    return frame


def shoot(page, frame):
    """Keep a picture, if somebody wants one: docs/images/jupyterlab.png is made of it."""
    if SCREENSHOTS:
        frame.get_by_test_id("colour-by").select_option(label="digit")
        page.keyboard.press("Control+B")  # no list of files beside the notebook
        page.locator(".jp-Notebook .jp-CodeCell").nth(1).scroll_into_view_if_needed()
        page.wait_for_timeout(2000)  # points come to rest
        page.screenshot(path=Path(SCREENSHOTS) / "jupyterlab.png")
