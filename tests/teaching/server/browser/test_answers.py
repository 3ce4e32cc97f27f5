"""Going back: undo to the pair that was shown, and a list of answers to search, flip and delete."""

import re
import signal

import numpy as np
import pandas as pd
import pytest

from benchmarks.studio.process import running_studio
from tests.teaching.server.browser.test_several import said_of
from tests.teaching.server.browser.watched import expect

WORDS = ["kettle", "ladder", "marble", "needle", "orange", "pepper", "quartz", "ribbon"]


@pytest.fixture(scope="module")
def texts_of_module(browser, tmp_path_factory):
    folder = tmp_path_factory.mktemp("texts")
    X = np.random.default_rng(0).normal(size=(48, 3))
    frame = pd.DataFrame(X, columns=["x", "y", "z"])
    frame.insert(0, "id", [f"r{i}" for i in range(48)])
    frame["text"] = [f"a {WORDS[i % 8]} of {WORDS[i // 8]}" for i in range(48)]
    frame.to_csv(folder / "rows.csv", index=False)
    with running_studio("rows.csv", "--id", "id", folder=folder) as studio:
        yield studio


@pytest.fixture
def texts(texts_of_module):
    """A studio of records with texts, with no answer."""
    texts_of_module.forget()
    texts_of_module.wait_for_report()
    return texts_of_module


@pytest.fixture
def tab(open_tab, texts):
    return open_tab(texts.url, version=texts.state()["version"])


def say(studio, left, right, same, **more):
    return studio.post("/api/answers", {"left": left, "right": right, "same": same, **more})


def shown(tab, n):
    expect(tab.part("answered")).to_have_count(n)
    # Until a record is here, its row stands for it.
    expect(tab.part("answered").filter(has_text=re.compile(r"\brow \d"))).to_have_count(0)
    return [re.sub(r"\s+", " ", text) for text in tab.part("answered").all_inner_texts()]


def test_undo_returns_to_the_pair_whatever_is_asked_by_then(tab, texts):
    first = tab.question()
    tab.answer("s")
    # Other answers elsewhere, and other questions: still this pair, as it was shown.
    say(texts, 40, 41, True, by="Bob")
    say(texts, 42, 43, False, by="Bob")
    tab.shows_answers(3)
    texts.wait_for_report()
    second = tab.question()
    tab.press("z")
    tab.shows("question-hint", "Undone: same was said of these two.")
    assert tab.question() == first
    tab.shows_answers(2)
    # Done again, the card is where it was.
    tab.press("Shift+Z")
    tab.shows_answers(3)
    tab.wait_for(lambda: tab.question() == second)
    assert said_of(texts, first) == "must_link"
    # After a reload the order is still the one that was shown.
    tab.page.reload()
    tab.settle(texts.state()["version"])
    tab.press("z")
    tab.shows("question-hint", "Undone: same was said")
    assert tab.question() == first


def test_answers_are_listed_searched_flipped_and_deleted(tab, texts):
    say(texts, 9, 2, True, by="Ann")  # ladder of ladder, marble of kettle
    say(texts, 12, 5, None)  # orange of ladder, pepper of kettle
    say(texts, 47, 30, False, by="Bob")  # ribbon of pepper, quartz of needle
    tab.press("h")
    newest, middle, oldest = shown(tab, 3)
    for word in ("r47", "ribbon of pepper", "r30", "different"):
        assert word in newest
    assert re.search(r"Bob, \d\d:\d\d", newest)
    assert re.search("r12 .*unsure", middle)
    assert re.search("r9 .*same", oldest)
    tab.shoot("answers")
    # By text, id, name and what was said; keys are text there, and come back after Enter.
    tab.part("search-answers").fill("marble ann")
    assert "r9" in shown(tab, 1)[0]
    tab.shows("answers-found", "1 of 3 answers found")
    tab.part("search-answers").fill("nothing like this")
    shown(tab, 0)
    tab.press("Escape")
    shown(tab, 3)
    tab.part("answers-said").select_option("unsure")
    assert "r12" in shown(tab, 1)[0]
    tab.part("answers-said").select_option("")
    tab.part("answers-by").select_option("Bob")
    assert "r47" in shown(tab, 1)[0]
    tab.part("answers-by").select_option("")
    shown(tab, 3)
    # A click shows the two on the card, as they were, and on the map.
    tab.part("show-answered").last.click()
    assert tab.question() == (9, 2)
    tab.shows("question-hint", "Ann said same.")
    expect(tab.page.locator(".ring.asked").first).to_be_visible()
    tab.press("Escape")
    # Flipped, and that is undone.
    tab.part("say-different").last.click()
    tab.wait_for(lambda: said_of(texts, (2, 9)) == "cannot_link")
    tab.press("z")
    tab.shows("question-hint", "Undone: different was said of these two. Same counts again.")
    assert said_of(texts, (2, 9)) == "must_link"
    tab.press("Escape")
    # Deleted, and that is undone.
    tab.part("delete-answer").last.click()
    shown(tab, 2)
    assert said_of(texts, (2, 9)) is None
    tab.press("z")
    assert "Ann" in shown(tab, 3)[2]
    tab.shows("question-hint", "Undone: same counts again of these two.")


def test_what_was_said_of_groups_is_one_answer_of_the_list(tab, texts):
    texts.post("/api/groups", {"first": [0, 1], "second": [8, 9, 10], "same": False})
    tab.press("h")
    assert "different, 6 pairs of 5 records" in shown(tab, 1)[0]
    tab.part("delete-answer").click()
    shown(tab, 0)
    tab.press("z")
    shown(tab, 1)
    assert len(texts.get("/api/known")["cannot_link"]) == 12


def test_keys_are_back_after_every_menu_and_field(tab, texts):
    tab.answer("u")
    tab.press("h")

    def by_mouse(menu):
        menu.dispatch_event("pointerdown")
        menu.focus()
        menu.select_option(index=1)

    def typed(field):
        field.fill("Ann")
        field.press("Enter")

    def aim():
        by_mouse(tab.part("goal"))
        tab.wait_for(lambda: texts.state()["goal"] == "clusters")
        # There is no question until the next report, which the page then hears of.
        tab.wait_for(lambda: texts.state()["question"] is not None)
        expect(tab.part("answer-unsure")).to_be_enabled()

    steps = [
        lambda: by_mouse(tab.part("answers-said")),
        lambda: typed(tab.part("search-answers")),
        lambda: tab.part("search-answers").press("Escape"),
        aim,
        lambda: (tab.part("tab-quality").click(), typed(tab.part("my-name"))),
        lambda: (tab.press("?"), tab.press("Escape")),
        lambda: (tab.part("export").click(), tab.press("Escape")),
        lambda: tab.part("theme").click(),
    ]
    for step in steps:
        step()
        tab.wait_for(lambda: tab.page.evaluate("() => Boolean(window.nearkin.question())"))
        tab.answer("u")


def test_what_is_being_saved_is_seen_and_nothing_is_lost(tab, texts):
    first = tab.question()
    process = texts.process
    process.send_signal(signal.SIGSTOP)
    try:
        tab.press("s")
        tab.shows("saving", "Saving… same: r")
        # A second answer is not for a pair that nobody has seen; undo waits its turn.
        tab.press("d")
        tab.shows("notice-note", "This press was not counted")
        tab.press("z")
        tab.shoot("saving")
    finally:
        process.send_signal(signal.SIGCONT)
    tab.shows("question-hint", "Undone: same was said of these two.")
    expect(tab.part("saving")).to_have_count(0)
    tab.shows_answers(0)
    assert tab.question() == first
