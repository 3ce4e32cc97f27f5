"""The right columns, said aloud, and others chosen without losing an answer."""

import json

import numpy as np

from tests.studio.server.browser.watched import expect

N = 60


def books(folder):
    """A file with columns of several kinds."""
    rng = np.random.default_rng(0)
    with open(folder / "books.jsonl", "w") as file:
        for k in range(N):
            row = {
                "book_id": f"b{k}",
                "title": f"A book about {k} cats and {k * k % 17} dogs",
                "pages": None if k % 7 == 0 else int(rng.integers(50, 900)),
                "bought": f"2024-0{1 + k % 9}-1{k % 7}",
                "label": k % 3,
                "vector": (rng.normal(size=4) + 3 * np.eye(4)[k % 3]).round(4).tolist(),
            }
            file.write(json.dumps(row) + "\n")
    return "books.jsonl"


def test_columns_are_said_and_chosen_without_losing_an_answer(open_tab, studio_of, tmp_path):
    studio = studio_of(tmp_path, books(tmp_path))
    one = open_tab(studio.url, version=0)
    other = open_tab(studio.url, version=0)
    one.press("i")
    expect(one.part("note").first).to_contain_text(
        "Learned from 'vector'; set aside 'book_id' (names rows)"
    )
    one.press("Escape")
    for key in "sds":
        one.answer(key)
    known = studio.get("/api/known")

    # By keys alone: c, the boxes, Enter.
    one.press("c")
    dialog = one.part("columns-dialog")
    expect(dialog).to_be_visible()
    expect(one.part("column-vector")).to_be_checked()
    expect(one.part("column-title")).not_to_be_checked()
    expect(dialog).to_contain_text("looks like classes")
    one.part("column-label").check()
    expect(one.part("columns-about")).to_contain_text("Are you sure? “label” looks like classes")
    one.part("column-label").uncheck()
    one.part("column-vector").focus()
    one.press("Space")
    expect(one.part("columns-apply")).to_be_disabled()
    for name in ("title", "pages", "bought"):
        one.part(f"column-{name}").focus()
        one.press("Space")
    one.press("Enter")

    # Both pages learn of it, and of every answer.
    for tab in (one, other):
        expect(tab.part("note").first).to_contain_text("Learned from 'title', 'pages', 'bought'")
        tab.shows_answers(3)
    expect(one.part("notice-note")).to_contain_text("All 3 answers are kept.")
    assert studio.get("/api/known") == known
    one.answer("d")
    other.shows_answers(4)
    one.choose_from_menu("theme")
    one.press("c")
    expect(one.part("column-title")).to_be_checked()
    one.press("Escape")
    expect(one.part("columns-dialog")).to_be_hidden()
