"""Answers by keys: undone to the pair that was shown, and listed to be searched and changed."""

import re
import signal
from contextlib import contextmanager

import numpy as np
import pandas as pd

from tests.studio.server.browser.watched import Oracle, expect, links, said_of

oracle = Oracle()
WORDS = ["kettle", "ladder", "marble", "needle", "orange", "pepper", "quartz", "ribbon"]

# The reply to the next answer waits in the page until it is let go.
_HOLD_ONE_REPLY = """() => {
  const ask = window.fetch;
  window.letGo = undefined;
  window.fetch = async (url, more) => {
    if (!String(url).endsWith("/api/answers")) return ask(url, more);
    window.fetch = ask;
    const reply = await ask(url, more);
    await new Promise((letGo) => { window.letGo = letGo; });
    return reply;
  };
}"""


@contextmanager
def reply_held(tab, key):
    """Answer by a key, whose reply comes to the page after what is done meanwhile."""
    tab.page.evaluate(_HOLD_ONE_REPLY)
    tab.strike(key)
    tab.page.wait_for_function("() => window.letGo !== undefined")
    yield
    tab.page.evaluate("() => window.letGo()")
    tab.rest()


def say(studio, left, right, same, **more):
    return studio.post("/api/answers", {"left": left, "right": right, "same": same, **more})


def test_undo_returns_to_the_pair_that_was_shown(tab, demo):
    first = tab.question()
    tab.answer("s")
    tab.hears(demo)  # and other questions: still this pair, as it was shown
    second = tab.question()
    tab.press("z")
    tab.shows("question-hint", "Undone: same was said of these two.")
    assert tab.question() == first
    tab.shows_answers(0)
    # Done again, the card is where it was.
    tab.press("Shift+Z")
    tab.shows_answers(1)
    assert tab.question() == second
    assert said_of(demo, first) == "must_link"
    # After a reload the order is still the one that was shown.
    tab.reload(demo.state()["version"])
    tab.press("z")
    tab.shows("question-hint", "Undone: same was said")
    assert tab.question() == first
    tab.press("Escape")
    expect(tab.part("question-hint")).to_be_empty()
    demo.forget()
    tab.reload(demo.state()["version"])
    steps_back_and_forth_are_taken_one_by_one(tab)


def steps_back_and_forth_are_taken_one_by_one(tab):
    asked = []
    for key in (oracle.key(tab.question()), "u", "u"):
        asked.append(tab.question())
        tab.answer(key)
    for n, question in zip((2, 1, 0), asked[::-1], strict=True):
        tab.press("z")
        tab.shows_answers(n)
        assert tab.question() == question
        if n == 2:
            tab.shows("question-hint", "Undone: unsure was said of these two.")
            tab.shows("announcer", "Undone. 2 answers. The same kind of thing?")
    for question in asked:
        assert tab.question() == question
        tab.answer("u")
    fourth = tab.question()
    assert fourth not in asked
    expect(tab.part("question-hint")).to_be_empty()
    # Redo asks no more what was undone.
    tab.answer("u")
    tab.press("z")
    tab.shows_answers(3)
    assert tab.question() == fourth
    tab.press("Shift+Z")
    tab.shows_answers(4)
    assert tab.question() != fourth

    # However fast two are pressed, they are for two answers, and both can be done again.
    with reply_held(tab, "d"):
        tab.strike("z")
        tab.strike("z")
    tab.shows_answers(3)
    expect(tab.part("notice-problem")).to_have_count(0)
    tab.press("Shift+Z", "Shift+Z")
    tab.shows_answers(5)

    # After an answer to what was undone, a key is for the next question.
    tab.press("z")
    tab.shows("question-hint", "Undone")
    undone = tab.question()
    with reply_held(tab, "d"):
        # The count comes over the live line, and with it the next question, before the reply.
        tab.shows_answers(5)
        assert tab.question() != undone
        tab.strike("u")
    tab.shows_answers(6)


def test_the_question_stays_while_it_is_looked_at_and_no_press_is_lost(tab, demo):
    tab.answer(oracle.key(tab.question()))
    question = tab.question()
    # The report may have brought better questions.
    assert tab.hears(demo)["version"] == demo.state()["version"]
    assert tab.question() == question
    tab.answer("u")
    assert links(demo)["unsure"] == sorted(question)

    # A key that is pressed before the reply is not lost, and a second one is for the same question.
    with reply_held(tab, "d"):
        tab.shows_answers(3)
        early = tab.question()
        tab.strike("u")
        tab.strike("u")
    tab.shows_answers(4)
    assert demo.state()["n_answers"] == 4
    unsure = links(demo)["unsure"]
    pairs = zip(unsure[::2], unsure[1::2], strict=True)
    assert sorted(map(sorted, pairs)) == sorted([sorted(question), sorted(early)])
    what_is_being_saved_is_seen(tab, demo)


def what_is_being_saved_is_seen(tab, demo):
    first = tab.question()
    demo.process.send_signal(signal.SIGSTOP)
    try:
        tab.strike("s")
        tab.shows("saving", "Saving… same: row")
        # A second answer is not for a pair that nobody has seen; undo waits its turn.
        tab.strike("d")
        tab.shows("notice-note", "This press was not counted")
        tab.strike("z")
        tab.shoot()
    finally:
        demo.process.send_signal(signal.SIGCONT)
    tab.rest()
    tab.shows("question-hint", "Undone: same was said of these two.")
    expect(tab.part("saving")).to_have_count(0)
    tab.shows_answers(4)
    assert tab.question() == first


def listed(tab, n):
    expect(tab.part("answered")).to_have_count(n)
    # Until a record is here, its row stands for it.
    expect(tab.part("answered").filter(has_text=re.compile(r"\brow \d"))).to_have_count(0)
    return [re.sub(r"\s+", " ", text) for text in tab.part("answered").all_inner_texts()]


def test_answers_are_listed_searched_flipped_and_deleted(open_tab, studio_of, tmp_path):
    X = np.random.default_rng(0).normal(size=(48, 3))
    frame = pd.DataFrame(X, columns=["x", "y", "z"])
    frame.insert(0, "id", [f"r{i}" for i in range(48)])
    frame["text"] = [f"a {WORDS[i % 8]} of {WORDS[i // 8]}" for i in range(48)]
    frame.to_csv(tmp_path / "rows.csv", index=False)
    texts = studio_of(tmp_path, "rows.csv", "--id", "id")
    tab = open_tab(texts.url)
    say(texts, 9, 2, True, by="Ann")  # ladder of ladder, marble of kettle
    say(texts, 12, 5, None)  # orange of ladder, pepper of kettle
    say(texts, 47, 30, False, by="Bob")  # ribbon of pepper, quartz of needle
    tab.press("h")
    newest, middle, oldest = listed(tab, 3)
    for word in ("r47", "ribbon of pepper", "r30", "different"):
        assert word in newest
    assert re.search(r"Bob, \d\d:\d\d", newest)
    assert re.search("r12 .*unsure", middle)
    assert re.search("r9 .*same", oldest)
    # By text, id, name and what was said; keys are text there, and come back after Enter.
    tab.part("search-answers").fill("marble ann")
    assert "r9" in listed(tab, 1)[0]
    tab.shows("answers-found", "1 of 3 answers found")
    tab.part("search-answers").fill("nothing like this")
    listed(tab, 0)
    tab.press("Escape")
    listed(tab, 3)
    tab.part("answers-said").select_option("unsure")
    assert "r12" in listed(tab, 1)[0]
    tab.part("answers-said").select_option("")
    tab.part("answers-by").select_option("Bob")
    assert "r47" in listed(tab, 1)[0]
    tab.part("answers-by").select_option("")
    listed(tab, 3)
    # A click shows the two on the card, as they were, and on the map.
    tab.part("show-answered").last.click()
    assert tab.question() == (9, 2)
    tab.shows("question-hint", "Ann said same.")
    expect(tab.page.locator(".ring.asked").first).to_be_visible()
    tab.press("Escape")
    # Flipped, and that is undone.
    tab.part("say-different").last.click()
    assert said_of(texts, (2, 9)) == "cannot_link"
    tab.press("z")
    tab.shows("question-hint", "Undone: different was said of these two. Same counts again.")
    assert said_of(texts, (2, 9)) == "must_link"
    tab.press("Escape")
    # Deleted, and that is undone.
    tab.part("delete-answer").last.click()
    listed(tab, 2)
    assert said_of(texts, (2, 9)) is None
    tab.press("z")
    assert "Ann" in listed(tab, 3)[2]
    tab.shows("question-hint", "Undone: same counts again of these two.")
    # What was said of groups is one answer of the list.
    texts.post("/api/groups", {"first": [0, 1], "second": [8, 9, 10], "same": False})
    assert "different, 6 pairs of 5 records" in listed(tab, 4)[0]
    tab.part("delete-answer").first.click()
    listed(tab, 3)
    tab.press("z")
    listed(tab, 4)
    assert len(texts.get("/api/known")["cannot_link"]) == 14


def test_keys_answer_wherever_the_focus_was_left(tab, demo):
    menu = tab.part("colour-by")
    # With the focus there, letters look up an option.
    tab.part("stage").focus()
    tab.press("Tab")
    expect(menu).to_be_focused()
    tab.press("d")
    expect(menu.locator("option:checked")).to_have_text("digit")
    tab.shows_answers(0)

    def by_mouse():
        tab.choose_by_mouse("colour-by", label="One colour")
        expect(menu).not_to_be_focused()

    def by_keyboard():
        menu.focus()
        tab.press("ArrowUp")
        expect(menu).to_be_focused()  # so that arrows go on

    def without_a_change():
        menu.click()
        tab.press("Escape")

    for choose in (by_mouse, by_keyboard, without_a_change):
        choose()
        chosen = menu.input_value()
        for key in "du":
            tab.answer(key)
            assert menu.input_value() == chosen, choose
        tab.press("z")
    tab.shows_answers(3)

    for name in ("more", "stage", "panel", "compare"):
        tab.part(name).focus()
        tab.answer("u")

    def typed(name):
        tab.part(name).fill("Ann")
        tab.part(name).press("Enter")

    steps = [
        lambda: (tab.press("h"), tab.choose_by_mouse("answers-said", index=1)),
        lambda: typed("search-answers"),
        lambda: tab.part("search-answers").press("Escape"),
        lambda: typed("words"),
        lambda: (tab.open_panel("details"), typed("my-name")),
        lambda: tab.press("?", "Escape"),
        lambda: (tab.part("export").click(), tab.press("Escape")),
        lambda: tab.choose_from_menu("theme"),
    ]
    for step in steps:
        step()
        tab.answer("u")
    assert demo.state()["asked"]["words"] == "Ann"
    demo.post("/api/ask", {"purpose": "kinds", "words": "The same kind of thing?"})
