"""Two browsers at once, a journal or server that goes away: nothing is lost or overruled unseen."""

import numpy as np
import pytest
from scipy.spatial import procrustes

from benchmarks.studio.process import running_studio
from nearkin.teaching.lesson import Lesson
from nearkin.teaching.records import records_of
from tests.teaching.server.browser.watched import expect
from tests.teaching.server.conftest import running

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


def test_opposite_answers_of_two_browsers_are_told_to_both(tab, late, demo):
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
    late.press("d")
    expect(late.part("question")).not_to_contain_text("Two answers")
    assert said_of(demo, pair) == "cannot_link"
    expect(tab.page.locator("#notices")).to_contain_text("Another browser has said different")
    tab.shoot("overruled")
    expect(late.part("notice-problem")).to_have_count(0)
    late.complaints.clear()  # of the browser itself, that a request was refused


def test_who_comes_late_overrules_nothing_unseen(tab, late, demo):
    # The same answer twice is no conflict.
    pair = tab.question()
    assert late.question() == pair
    tab.answer("s")
    late.press("s")
    late.shows_answers(1)
    assert said_of(demo, pair) == "must_link"
    for one in (tab, late):
        expect(one.part("notice-problem")).to_have_count(0)
    # The first answer stands if the second is taken back.
    late.wait_for(lambda: late.question() != pair)
    pair = late.question()
    tab.wait_for(lambda: tab.question() == pair)
    tab.answer("s")
    late.press("d")
    late.shows("question", "Two answers: which is right?")
    tab.shows("notice-problem", "Another browser disagrees: same was said of")
    assert late.question() == pair
    late.press("s")
    expect(late.part("question")).not_to_contain_text("Two answers")
    assert said_of(demo, pair) == "must_link"
    # What was answered elsewhere is not undone.
    late.wait_for(lambda: late.question() != pair)
    late.answer("u")
    question, n_answers = demo.state()["question"], demo.state()["n_answers"]
    ends = {"left": question["left"], "right": question["right"]}
    demo.post("/api/answers", {**ends, "same": False})
    late.press("z")
    late.shows("notice-problem", "something was answered meanwhile")
    assert demo.state()["n_answers"] == n_answers + 1
    late.complaints.clear()


def test_another_tab_stays_in_step(tab, open_tab, demo):
    other = open_tab(demo.url, version=demo.state()["version"])
    tab.answer("s")
    version = demo.state()["version"]
    for one in (tab, other):
        one.shows_answers(1)
        one.settle(version)
    assert procrustes(tab.positions(), other.positions())[2] < 1e-6
    # And the other way round: an undone answer is told to whoever gave it.
    other.press("z")
    tab.shows_answers(0)
    tab.settle(version + 1)
    expect(tab.part("redo")).to_be_enabled()
    tab.shows("notice-problem", "Another browser has taken back what was said of")
    expect(other.part("notice-problem")).to_have_count(0)
    # What was undone is seen there.
    other.shows("question-hint", "Undone: same was said of these two.")


def test_a_journal_and_a_server_that_go_away_and_come_back(open_tab, tmp_path):
    X = np.random.default_rng(0).normal(size=(40, 3))
    np.save(tmp_path / "rows.npy", X)
    path = tmp_path / "rows.npy.answers.jsonl"
    with running_studio("rows.npy", folder=tmp_path) as studio:
        tab = open_tab(studio.url)
        tab.answer("s")
        # An answer that cannot be kept is not counted, and asked again.
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
        # So it is if the journal was deleted.
        path.unlink()
        tab.answer("d")
        known = studio.get("/api/known")
    # The studio was killed.
    tab.shows("connection", "reconnecting")
    tab.shoot("disconnected")
    tab.press("s")
    tab.shows("notice-problem", "does not answer")
    assert tab.answers() == 3

    lesson = Lesson(records_of(X, source="rows.npy"), journal=path)
    with running(lesson, port=studio.port) as again:
        other = open_tab(again.url)
        other.shows_answers(3)
        with again.client() as client:
            assert client.get("/api/known").json() == known
        # The old address is that of an earlier run.
        tab.shows("connection", "not connected")
        expect(tab.page.locator("#notices")).to_contain_text("started anew")
        tab.shoot("started-anew")
        tab.complaints.clear()  # of requests and connections refused
        other.check()
        other.page.close()
