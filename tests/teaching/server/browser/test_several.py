"""Two browsers at once, and a journal that is taken away: nothing is lost or overruled unseen."""

import numpy as np
import pytest

from benchmarks.studio.process import running_studio
from tests.teaching.server.browser.watched import expect

# Changes of others reach this page no more, as behind a line that has gone silent.
DEAF = "WebSocket = class extends WebSocket { set onmessage(hear) { super.onmessage = (event) => " \
    "window.__deaf || hear(event); } };"  # fmt: skip


def said_of(studio, pair):
    known = studio.get("/api/known")
    for kind in ("must_link", "cannot_link", "unsure"):
        ends = zip(known[kind][::2], known[kind][1::2], strict=True)
        if sorted(pair) in [sorted(one) for one in ends]:
            return kind
    return None


@pytest.fixture
def late(open_tab, demo):
    """A tab that does not hear what others do."""
    tab = open_tab(demo.url, version=demo.state()["version"], init_script=DEAF)
    tab.page.evaluate("() => { window.__deaf = true; }")
    return tab


@pytest.mark.parametrize(("key", "kept"), [("d", "cannot_link"), ("s", "must_link")])
def test_opposite_answers_of_two_browsers_are_told_to_both(tab, late, demo, key, kept):
    pair = tab.question()
    assert late.question() == pair
    tab.answer("s")
    late.press("d")
    # The second is asked, and nothing has changed yet.
    late.shows("question", "Two answers: which is right?")
    late.shows("question-hint", "said to be the same in another browser; you said different")
    assert late.question() == pair
    assert said_of(demo, pair) == "must_link"
    late.shoot("conflict")
    # The first is told.
    tab.shows("notice-problem", "Another browser disagrees: same was said of")
    late.press(key)
    expect(late.part("question")).not_to_contain_text("Two answers")
    assert said_of(demo, pair) == kept
    if key == "d":
        expect(tab.page.locator("#notices")).to_contain_text("Another browser has said different")
        tab.shoot("overruled")
    expect(late.part("notice-problem")).to_have_count(0)
    late.complaints.clear()  # of the browser itself, that a request was refused


def test_the_same_answer_twice_is_no_conflict(tab, late, demo):
    pair = tab.question()
    tab.answer("s")
    late.press("s")
    late.shows_answers(1)
    assert said_of(demo, pair) == "must_link"
    expect(tab.part("notice-problem")).to_have_count(0)


def test_what_another_browser_answered_is_not_undone_unseen(tab, late, demo):
    late.answer("u")
    tab.shows_answers(1)
    tab.answer("d")
    late.press("z")
    late.shows("notice-problem", "something was answered meanwhile")
    assert demo.state()["n_answers"] == 2
    late.complaints.clear()


def test_an_undone_answer_is_told_to_whoever_gave_it(tab, open_tab, demo):
    other = open_tab(demo.url, version=demo.state()["version"])
    tab.answer("s")
    other.shows_answers(1)
    other.press("z")
    tab.shows("notice-problem", "Another browser has taken back what was said of")
    expect(other.part("notice-problem")).to_have_count(0)
    # What was undone is seen there.
    other.shows("question-hint", "Undone: same was said of these two.")


@pytest.fixture
def small(tmp_path):
    """A studio of few rows, and its journal."""
    folder = tmp_path / "work"
    folder.mkdir()
    np.save(folder / "rows.npy", np.random.default_rng(0).normal(size=(40, 3)))
    with running_studio("rows.npy", folder=folder) as studio:
        yield studio, folder / "rows.npy.answers.jsonl"


def test_a_journal_that_is_deleted_comes_back_with_the_next_answer(open_tab, small):
    studio, path = small
    tab = open_tab(studio.url)
    tab.answer("s")
    path.unlink()
    tab.answer("u")
    known = studio.get("/api/known")
    studio.process.kill()
    studio.process.wait()
    tab.complaints.clear()  # of a server that is gone
    with running_studio("rows.npy", folder=path.parent) as again:
        assert again.get("/api/known") == known
        tab.complaints.clear()


def test_an_answer_that_cannot_be_kept_is_not_counted_and_asked_again(open_tab, small):
    studio, path = small
    tab = open_tab(studio.url)
    tab.answer("s")
    question = tab.question()
    path.rename(path.with_suffix(".moved"))
    path.write_text("something else\n")
    tab.press("u")
    tab.shows("notice-problem", "the answer was not kept")
    tab.shows("notice-problem", "a file of that name holds something else")
    assert tab.answers() == 1
    assert tab.question() == question
    tab.shoot("not-kept")
    assert path.read_text() == "something else\n"
    # Once that is out of the way all is there again.
    path.unlink()
    tab.answer("u")
    expect(tab.part("notice-problem")).to_have_count(0)
    assert path.read_text().count('"do":"answer"') == 2
    tab.complaints.clear()  # of the browser itself, that a request was refused
