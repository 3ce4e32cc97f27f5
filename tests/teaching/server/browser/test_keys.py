"""Keys answer wherever the focus is left, and undo brings its question back."""

from tests.teaching.server.browser.test_teaching import HOLD_ONE_REPLY
from tests.teaching.server.browser.watched import Oracle, expect

oracle = Oracle()


def centre(part):
    box = part.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def by_mouse(tab, menu):
    menu.dispatch_event("pointerdown")
    menu.focus()
    menu.select_option(label="clusters")
    expect(menu).not_to_be_focused()


def by_keyboard(tab, menu):
    menu.focus()
    tab.press("ArrowDown")
    expect(menu).to_be_focused()  # so that arrows go on


def without_a_change(tab, menu):
    tab.page.mouse.click(*centre(menu))
    tab.press("Escape")


def test_keys_answer_after_a_colour_was_chosen(tab):
    menu = tab.part("colour-by")
    # With the focus there, letters look up an option.
    tab.part("map-choice").focus()
    tab.press("Tab")
    expect(menu).to_be_focused()
    tab.press("d")
    expect(menu.locator("option:checked")).to_have_text("digit")
    tab.shows_answers(0)
    for k, choose in enumerate((by_mouse, by_keyboard, without_a_change)):
        choose(tab, menu)
        chosen = menu.input_value()
        for key in ("d", "u", "s"):
            tab.answer(key)
            assert menu.input_value() == chosen
        tab.press("z")
        tab.shows_answers(2 * k + 2)
        tab.shoot(f"keys-after-colour-{choose.__name__}")


def test_keys_answer_whatever_has_the_focus(tab):
    for name in ("blend", "links-toggle", "theme", "stage", "panel-quality", "compare"):
        tab.part(name).focus()
        tab.answer("u")
    # A number that was typed too.
    tab.part("colour-by").select_option(label="clusters")
    number = tab.part("clusters")
    number.click()
    number.press("Control+a")
    tab.press("4", "Enter")
    expect(tab.part("legend-categories").locator("li")).to_have_count(4)
    expect(number).to_be_focused()
    tab.answer("u")
    expect(number).to_have_value("4")


def test_undo_brings_the_question_back(tab):
    first = tab.question()
    tab.answer(oracle.key(tab.question()))
    second = tab.question()
    tab.answer("u")
    third = tab.question()
    tab.answer("u")
    tab.press("z")
    tab.shows_answers(2)
    assert tab.question() == third
    tab.shows("question-hint", "Undone: unsure was said of these two.")
    tab.shows("announcer", "Undone. 2 answers. Are")
    tab.shoot("undone")
    # Further back, and forth again in the same order.
    tab.press("z")
    tab.shows_answers(1)
    assert tab.question() == second
    tab.press("z")
    tab.shows_answers(0)
    assert tab.question() == first
    for question in (first, second, third):
        # The count comes over the live line, perhaps before the reply that brings the next one.
        tab.wait_for(lambda question=question: tab.question() == question)
        tab.answer("u")
    tab.wait_for(lambda: tab.question() not in (first, second, third))
    expect(tab.part("question-hint")).to_be_hidden()
    # Redo asks no more what was undone.
    fourth = tab.question()
    tab.answer("u")
    tab.press("z")
    tab.shows_answers(3)
    assert tab.question() == fourth
    tab.press("Shift+Z")
    tab.shows_answers(4)
    assert tab.question() != fourth
    # Escape leaves it too.
    tab.press("z")
    tab.shows("question-hint", "Undone")
    tab.press("Escape")
    expect(tab.part("question-hint")).to_be_hidden()


def test_steps_back_are_taken_one_by_one_however_fast_they_are_pressed(tab):
    for _ in range(2):
        tab.answer("u")
    tab.page.evaluate(HOLD_ONE_REPLY)
    tab.press("d")
    tab.page.wait_for_function("window.letGo !== undefined")
    tab.press("z", "z")
    tab.page.evaluate("window.letGo()")
    tab.shows_answers(1)
    # Neither was meant for the same answer, and both can be done again.
    expect(tab.part("notice-problem")).to_have_count(0)
    tab.press("Shift+Z", "Shift+Z")
    tab.shows_answers(3)


def test_a_key_after_an_answer_to_what_was_undone_is_for_the_next_question(tab):
    tab.answer("u")
    tab.press("z")
    tab.shows("question-hint", "Undone")
    undone = tab.question()
    tab.page.evaluate(HOLD_ONE_REPLY)
    tab.press("d")
    # The count comes over the live line, and with it the next question, before the reply.
    tab.shows_answers(1)
    assert tab.question() != undone
    tab.press("u")
    tab.page.evaluate("window.letGo()")
    tab.shows_answers(2)
