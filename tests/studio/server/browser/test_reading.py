"""The card, made for reading: width, order, numbers, all of a text, and pictures up close."""

from tests.studio.server.browser.watched import expect

# How many characters of a text there are on a line of it, by the width of its own letters.
ON_A_LINE = """(element) => {
    const context = document.createElement("canvas").getContext("2d");
    const { font } = getComputedStyle(element);
    context.font = font;
    const text = element.textContent.slice(0, 400);
    return element.getBoundingClientRect().width / (context.measureText(text).width / text.length);
}"""


def test_texts_and_pictures_are_seen_whole_and_numbers_where_they_stand(open_tab, tales, tab):
    pictures_are_large_and_looked_at_more_closely(tab)
    version, size = tales.state()["version"], {"width": 1400, "height": 900}
    tab = open_tab(tales.url, version=version, viewport=size)
    tab.wait_for_question()
    card = tab.part("compare")
    text = card.locator("tr.long .value").first
    assert text.evaluate(ON_A_LINE) >= 55
    tab.press("x")
    expect(tab.part("stage")).to_be_hidden()
    assert text.evaluate(ON_A_LINE) >= 60
    # One text beside the other, and as far as it was cut.
    left, right = (card.locator("tr.long td").nth(k).bounding_box() for k in (0, 1))
    assert left["y"] == right["y"]
    assert left["x"] + left["width"] <= right["x"]
    assert "The end of" not in card.inner_text()
    card.get_by_test_id("show-all").first.click()
    expect(card).to_contain_text("The end of story")
    expect(card.get_by_test_id("show-all")).to_have_count(0)
    # It is answered as before, and the map is where it was.
    tab.answer("d")
    tab.press("Escape")
    expect(tab.part("stage")).to_be_visible()
    tab.settle(tales.state()["version"])
    # Fields have one order.
    for _ in range(3):
        tab.wait_for_question()
        assert card.locator(".field").all_inner_texts() == ["title", "town", "text", "price"]
        tab.answer("u")
    # Of the numbers that are not missing, each has a bar as long as its share.
    tab.press("m", "ArrowRight", "Enter")
    expect(tab.part("selected-id")).to_be_visible()
    row = int(tab.part("selected-id").inner_text().removeprefix("s"))
    fields = {one["name"]: one for one in tales.get(f"/api/records/{row}")["fields"]}
    bar = tab.part("point").locator(".record-card .rank")
    if fields["price"]["value"]:
        share = round(100 * fields["price"]["rank"])
        expect(bar).to_have_attribute(
            "aria-label", f"above {share}\N{NO-BREAK SPACE}% of all records"
        )
    else:
        expect(bar).to_have_count(0)
        tab.shows("point", "empty")
    # Neighbours are known by their words, not by their names alone.
    expect(tab.part("neighbour")).to_have_count(10)
    gists = tab.part("neighbours").locator(".gist").all_inner_texts()
    assert all("no" in gist for gist in gists)


def pictures_are_large_and_looked_at_more_closely(tab):
    picture = tab.part("compare").locator("img").first
    tab.press("x")
    expect(picture).to_have_js_property("naturalWidth", 400)
    assert picture.bounding_box()["width"] >= 390
    tab.part("compare").get_by_test_id("picture").first.click()
    closer = tab.part("closer")
    expect(closer.locator("img")).to_have_count(2)
    expect(closer.locator("img").last).to_have_js_property("naturalWidth", 1600)
    tab.press("+", "+", "-", "s")
    tab.shows("closer-times", "150")
    panes = closer.locator(".closer-pane")
    panes.first.evaluate("(pane) => pane.scrollTo(40, 30)")
    expect(panes.last).to_have_js_property("scrollTop", 30)  # both move together
    tab.press("Escape")
    expect(closer).to_be_hidden()
    tab.shows_answers(0)
    tab.press("x")
    expect(tab.part("stage")).to_be_visible()
