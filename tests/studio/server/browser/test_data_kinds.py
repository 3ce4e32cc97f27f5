"""The page on data of several kinds, from the command to answers that are there after a reload."""

import csv
import json
import re

import numpy as np
import pytest
from PIL import Image

from nearkin.datasets import make_records
from tests.studio.server.browser.watched import expect


def people(folder):
    """Records with text and gaps."""
    table, _ = make_records(40, random_state=0)
    names = list(table)
    with (folder / "people.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", *names])
        for row in range(40):
            cells = [table[name][row] or "" for name in names]
            cells[row % len(cells)] = "" if row % 3 == 0 else cells[row % len(cells)]
            writer.writerow([f"p{row}", *cells])
    return ["people.csv", "--id", "id"]


def pictures(folder):
    """A folder of images."""
    rng = np.random.default_rng(0)
    for kind in ("light", "dark"):
        (folder / "pics" / kind).mkdir(parents=True)
        for number in range(20):
            greys = rng.integers(0, 128, size=(48, 64), dtype=np.uint8) + 127 * (kind == "light")
            Image.fromarray(greys.astype(np.uint8)).save(
                folder / "pics" / kind / f"{number:02d}.png"
            )
    return ["pics"]


def vectors(folder):
    """Embedding vectors with text."""
    rng = np.random.default_rng(0)
    with (folder / "news.jsonl").open("w") as file:
        for row in range(80):
            line = {
                "id": f"n{row}",
                "text": f"Message {row}. " + "Of many words, in lines that wrap. " * (row % 30),
                "embedding": rng.normal(row % 2, 1, size=32).round(3).tolist(),
            }
            file.write(json.dumps(line) + "\n")
    return ["news.jsonl", "--id", "id"]


def shows_cells(tab):
    expect(tab.part("question")).to_contain_text("surname")


def shows_text(tab):
    expect(tab.part("question")).to_contain_text(re.compile(r"Message \d+\..*Message \d+\.", re.S))
    assert not re.search(r"embedding|\bx\d", tab.part("question").inner_text())


def shows_pictures(tab):
    expect(tab.part("question").locator("img")).to_have_count(2)
    tab.page.wait_for_function(
        "() => [...document.querySelectorAll('#question img')].every((one) => one.naturalWidth > 9)"
    )


@pytest.mark.night
def test_each_kind_opens_asks_takes_answers_and_survives_a_reload(open_tab, studio_of, tmp_path):
    for make, n, sees in (
        (people, 40, shows_cells),
        (pictures, 40, shows_pictures),
        (vectors, 80, shows_text),
    ):
        folder = tmp_path / make.__name__
        folder.mkdir()
        studio = studio_of(folder, *make(folder))
        reviewed = studio.get("/api/lesson")["review"]
        if reviewed:
            studio.post("/api/ask", {"purpose": "kinds", "words": "Same kind?"})
        tab = open_tab(studio.url)
        assert len(tab.positions()) == n
        assert np.isfinite(tab.positions()).all()
        for key in "sdu":
            tab.wait_for_question()
            sees(tab)
            tab.answer(key)
        version = studio.state()["version"]
        assert version == 3 + reviewed
        tab.settle(version)
        tab.reload(version)
        tab.shows_answers(3)
        tab.wait_for_question()
        sees(tab)
        assert studio.state()["n_unsure"] == 1
        kept = next(folder.glob("*.answers.jsonl")).read_text().splitlines()
        assert sum('"answer"' in line for line in kept) == 3
        tab.page.close()
