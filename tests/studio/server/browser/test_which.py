"""Which of several groups a record is like, asked in a browser."""

import csv
import re

import numpy as np
import pytest

from tests.studio.server.browser.watched import DIGITS, expect, links

TOPICS = {
    "sea": "the boat sails over waves and water to an island with gulls and wind",
    "farm": "cows and hens eat hay behind the barn while a tractor crosses the field",
    "city": "trams and cars stop at the lights where people queue for a shop window",
}
COMMON = {"the", "to", "an", "and", "with", "a", "at", "for"}
KINDS = [topic for topic in TOPICS for _ in range(12)]


def told(studio, kind_of, kinds):
    """Have a group of each of some kinds, all known to differ; gives the first row of each."""
    first = [np.flatnonzero(np.asarray(kind_of) == kind).tolist() for kind in kinds]
    for k, rows in enumerate(first):
        body = {"left": rows[1], "rows": [rows[0]], "right": rows[0], "same": True}
        studio.post("/api/which", body)
        if k:
            others = [some[0] for some in first[:k]]
            studio.post("/api/which", {"left": rows[0], "rows": others, "same": False})
    studio.wait_for_report()
    return [rows[0] for rows in first]


def which(tab):
    """The record that is asked about, and those that stand for groups."""
    asked = tab.page.evaluate("() => window.nearkin.question()")
    return asked["left"], asked.get("rows")


def shown(tab):
    """Wait until a record is asked about beside groups."""
    expect(tab.part("which-group").nth(1)).to_be_visible()
    return which(tab)


def key_for(kind_of, left, rows):
    return next((str(k + 1) for k, row in enumerate(rows) if kind_of[row] == kind_of[left]), "0")


@pytest.fixture
def tab(open_tab, demo):
    told(demo, DIGITS, range(3))
    return open_tab(demo.url, version=demo.state()["version"], by_groups=True)


@pytest.mark.night
def test_a_group_is_chosen_by_its_key_named_and_undone_as_one_answer(tab, demo):
    a_group_is_chosen_by_its_key_and_undone_as_one_answer(tab, demo)
    begin_again(tab, demo)
    groups_have_names_and_the_colours_of_the_map(tab, demo)
    begin_again(tab, demo)
    an_answer_that_contradicts_what_follows_is_shown_with_the_others(tab, demo)
    begin_again(tab, demo)


def begin_again(tab, demo):
    demo.forget()
    told(demo, DIGITS, range(3))
    tab.reload(demo.state()["version"])


def a_group_is_chosen_by_its_key_and_undone_as_one_answer(tab, demo):
    before, n = links(demo), tab.answers()
    left, rows = shown(tab)
    assert [DIGITS[row] for row in rows] == [0, 1, 2]
    tab.shows("question", "Which of these is it like?")
    # One record is asked about, and no ring has a number that groups have.
    expect(tab.page.locator(".ring.asked:visible")).to_have_text(["?"])
    expect(tab.part("why-button")).to_be_hidden()
    tab.press("9")  # there is no such group
    tab.answer("2")
    known = links(demo)
    assert len(known["must_link"]) == len(before["must_link"]) + 2
    assert len(known["cannot_link"]) == len(before["cannot_link"]) + 4
    tab.press("z")
    tab.shows_answers(n)
    assert links(demo) == before
    assert shown(tab) == (left, rows)
    tab.shows("question-hint", "Undone")
    # Questions are those of the last report, and what comes next with them.
    tab.hears(demo)
    tab.part("which-none").click()
    tab.shows_answers(n + 1)
    assert len(links(demo)["cannot_link"]) == len(before["cannot_link"]) + 6
    after = shown(tab)
    assert after[0] != left
    tab.answer("u")
    assert len(links(demo)["unsure"]) == 2 * len(after[1])


def groups_have_names_and_the_colours_of_the_map(tab, demo):
    shown(tab)
    tab.part("group").nth(1).click()
    tab.type("ones 1")  # no group is chosen by typing
    tab.press("Enter")
    expect(tab.part("which-group").nth(1)).to_contain_text("ones 1")
    # Numbers, names and colours are those of the legend.
    for k in range(3):
        badges = [tab.part(part).nth(k).locator(".badge") for part in ("group", "which-group")]
        look = "(one) => [one.textContent, getComputedStyle(one).backgroundColor]"
        assert badges[0].evaluate(look) == badges[1].evaluate(look)
    assert len(shown(tab)[1]) == 3
    # The words of the question are below its title, and can be others.
    expect(tab.part("words")).to_be_hidden()
    tab.choose_from_menu("reword")
    tab.part("words").fill("The same digit?")
    tab.press("Enter")
    expect(tab.part("words")).to_be_hidden()
    tab.shows("question-hint", "The same digit?")
    demo.post("/api/ask", {"purpose": "kinds", "words": "The same kind of thing?"})
    n = tab.answers()
    tab.part("which-group").nth(1).click()
    tab.shows_answers(n + 1)


def an_answer_that_contradicts_what_follows_is_shown_with_the_others(tab, demo):
    zeros = np.flatnonzero(DIGITS == 0).tolist()
    while demo.state()["check"] is None:
        n = demo.state()["n_answers"]
        assert n < 40
        demo.post("/api/answers", {"left": zeros[n + 1], "right": zeros[n + 2], "same": True})
        demo.wait_for_report()
    tab.hears(demo)
    tab.shows("question-hint", "earlier answers agree")
    pair = demo.state()["check"]
    same = bool(DIGITS[pair["left"]] == DIGITS[pair["right"]])
    tab.press("d" if same else "s")
    tab.shows("notice-note", "contradicts other answers")
    expect(tab.part("contradiction").first).to_be_visible()
    assert demo.state()["conflicts"] >= 1
    tab.part("ask-contradiction").first.click()
    tab.shows("question", "Asked again")


@pytest.fixture
def texts(studio_of, tmp_path):
    rng = np.random.RandomState(0)
    with open(tmp_path / "notes.csv", "w", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(["id", "text", "pages"])
        for k, topic in enumerate(KINDS):
            words = rng.choice(TOPICS[topic].split(), size=90)
            lines.writerow([f"{topic}-{k}", " ".join([*words, f"note{k}"]), rng.randint(1, 90)])
    studio = studio_of(tmp_path, "notes.csv", "--id", "id")
    studio.post("/api/ask", {"purpose": "kinds", "words": "Same topic?"})
    return studio


def test_records_with_text_are_placed_by_keys(texts, open_tab):
    told(texts, KINDS, TOPICS)
    tab = open_tab(texts.url, version=texts.state()["version"], by_groups=True)
    n_beside = 0
    for _ in range(6):
        tab.wait_for_question()
        left, rows = which(tab)
        if rows is None:  # it is nearly certain where it belongs
            left, right = tab.question()
            tab.answer("s" if KINDS[left] == KINDS[right] else "d")
            continue
        n_beside += 1
        expect(tab.part("which-record")).to_contain_text(KINDS[left])
        for k, row in enumerate(rows):
            words = re.compile("|".join(set(TOPICS[KINDS[row]].split()) - COMMON))
            expect(tab.part("which-group").nth(k)).to_contain_text(words)
        # However long the text is, the groups to choose from are in sight.
        expect(tab.part("which-group").nth(1)).to_be_in_viewport(ratio=0.6)
        n_must = len(links(texts)["must_link"])
        tab.answer(key_for(KINDS, left, rows))
        assert len(links(texts)["must_link"]) == n_must + 2
    assert n_beside > 0
