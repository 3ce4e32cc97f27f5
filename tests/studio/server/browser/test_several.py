"""Two browsers at once, a journal or server that goes away: nothing is lost or overruled unseen."""

import numpy as np
import pytest
from scipy.spatial import procrustes

from tests.studio.server.browser.studios import studio_at
from tests.studio.server.browser.watched import DEAF, asked, expect, said_of


@pytest.fixture
def late(open_tab, demo):
    """A tab that does not hear what others do."""
    tab = open_tab(demo.url, version=demo.state()["version"], init_script=DEAF)
    tab.page.evaluate("() => { window.__deaf = true; }")
    return tab


@pytest.mark.night
def test_who_comes_late_overrules_nothing_unseen(tab, late, demo):
    pair = late.question()
    demo.post("/api/answers", {"left": pair[0], "right": pair[1], "same": True})
    tab.shows_answers(1)
    late.press("d")
    # The second is asked, and nothing has changed yet.
    late.shows("question", "Two answers: which is right?")
    late.shows("question-hint", "said to be the same in another browser; you said different")
    assert late.question() == pair
    assert said_of(demo, pair) == "must_link"
    late.press("d")
    expect(late.part("question")).not_to_contain_text("Two answers")
    assert said_of(demo, pair) == "cannot_link"
    # The same answer twice is no conflict.
    assert late.question() != pair
    pair = late.question()
    demo.post("/api/answers", {"left": pair[0], "right": pair[1], "same": True})
    late.press("s")
    late.shows_answers(2)
    assert said_of(demo, pair) == "must_link"
    for one in (tab, late):
        expect(one.part("notice-problem")).to_have_count(0)
    # What was answered elsewhere since is not undone by a key.
    pair = late.question()
    late.answer("u")
    demo.post("/api/answers", {**asked(demo), "same": False})
    n_answers = demo.state()["n_answers"]
    late.press("z")
    expect(late.page.locator("#notices")).to_contain_text("something was answered meanwhile")
    assert demo.state()["n_answers"] == n_answers
    assert said_of(demo, pair) == "unsure"
    late.complaints.clear()


def test_another_browser_stays_in_step_and_its_person_is_asked_for_a_name(tab, open_tab, demo):
    another_stays_in_step(tab, open_tab, demo)
    a_name_is_asked_for_once(tab, open_tab, demo)


def another_stays_in_step(tab, open_tab, demo):
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
    # What was undone is seen there.
    other.shows("question-hint", "Undone: same was said of these two.")
    other.page.close()


def named(open_tab, studio, name, **settings):
    """A browser whose person has this name."""
    settings["init_script"] = f"localStorage.setItem('nearkin-name', {name!r});"
    return open_tab(studio.url, version=studio.state()["version"], **settings)


def a_name_is_asked_for_once(tab, open_tab, demo):
    expect(tab.part("ask-name")).to_be_hidden()
    expect(tab.part("people")).to_be_hidden()
    bob = named(open_tab, demo, "Bob")
    expect(tab.part("ask-name")).to_be_visible()
    expect(bob.part("ask-name")).to_be_hidden()
    tab.shows("people", "2 people: Bob, you")
    # It does not stand in the way of keys.
    tab.answer("u")
    tab.part("asked-name").fill("Ann")
    tab.press("Enter")
    expect(tab.part("ask-name")).to_be_hidden()
    bob.shows("people", "2 people: Ann, you")
    # Keys go on, and answers have the name from now on; no key takes back those of others.
    tab.answer("u")
    assert demo.get("/api/answers")["answers"][0]["by"] == "Ann"
    bob.shows_answers(2)
    bob.press("z")
    bob.shows("notice-note", "The last change was made by somebody else")
    bob.shows_answers(2)
    tab.reload(demo.state()["version"])
    tab.shows("people", "Bob, you")
    expect(tab.part("ask-name")).to_be_hidden()
    bob.page.close()
    expect(tab.part("people")).to_be_hidden()


# Lines that can go dead without anybody saying so, as those of a machine that sleeps.
SLEEPY = """WebSocket = class extends WebSocket {
  constructor(...where) { super(...where); (window.__lines ??= []).push(this); }
  set onmessage(hear) { super.onmessage = (event) => this.dead || hear(event); }
  set onclose(hear) { super.onclose = (event) => this.dead || hear(event); }
  send(text) { if (!this.dead) super.send(text); }
};"""


def test_a_browser_that_was_asleep_for_a_day_catches_up(open_tab, demo):
    tab = open_tab(demo.url, version=demo.state()["version"], init_script=SLEEPY)
    tab.page.clock.install()
    tab.page.evaluate("() => { for (const line of window.__lines) line.dead = true; }")
    for row in range(3):
        demo.post("/api/answers", {"left": row, "right": row + 10, "same": True})
    tab.page.clock.fast_forward("24:00:00")
    tab.wait_for(lambda: tab.page.clock.run_for(2000) or tab.answers() == 3)
    assert tab.page.evaluate("() => window.__lines.length") == 2
    tab.answer("u")
    assert demo.state()["n_answers"] == 4


def test_a_journal_and_a_server_that_go_away_and_come_back(open_tab, copies, tmp_path):
    X = np.random.default_rng(0).normal(size=(40, 3))
    np.save(tmp_path / "rows.npy", X)
    path = tmp_path / "rows.npy.answers.jsonl"
    with studio_at(copies, tmp_path, "rows.npy") as studio:
        tab = open_tab(studio.url)
        tab.answer("s")
        # An answer that cannot be kept is not counted, and asked again.
        question = tab.question()
        path.rename(path.with_suffix(".moved"))
        path.write_text("something else\n")
        tab.press("u")
        tab.shows("notice-problem", "the answer was not kept")
        tab.shows("notice-problem", "a file of that name holds something else")
        tab.shows_answers(1)
        assert tab.question() == question
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
    tab.shows("gone", "Nothing can be answered until it is back")
    for name in ("answer-same", "answer-different", "answer-unsure", "undo"):
        expect(tab.part(name)).to_be_disabled()
    tab.shoot()
    # What is pressed all the same is refused, and that is said.
    tab.press("s")
    told = tab.part("notice-problem").filter(has_text="Not kept, since the server does not answer")
    expect(told).to_contain_text("same:")
    tab.shows_answers(3)

    with studio_at(copies, tmp_path, "rows.npy", port=studio.port) as again:
        other = open_tab(again.url)
        other.shows_answers(3)
        assert again.get("/api/known") == known
        # The old address is that of an earlier run.
        tab.shows("connection", "not connected")
        expect(tab.page.locator("#notices")).to_contain_text("started anew")
        tab.complaints.clear()  # of requests and connections refused
        other.check()
        other.page.close()
