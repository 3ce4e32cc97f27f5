"""Which of two neighbours is nearer: said beside them, listed, exported and taken back."""

from tests.teaching.server.browser.test_exports import downloaded
from tests.teaching.server.browser.test_looking import lonely_row
from tests.teaching.server.browser.watched import expect


def test_a_neighbour_is_nearer_than_another(tab, demo, tmp_path):
    row, place = lonely_row(tab)
    tab.page.mouse.move(*place)
    tab.press("n")
    expect(tab.part("neighbour")).to_have_count(10)
    tab.part("order-switch").click()
    expect(tab.part("neighbour-same").first).to_be_hidden()
    near, far = (tab.part("order").nth(k) for k in (3, 1))
    near.click()
    expect(near).to_have_attribute("aria-pressed", "true")
    expect(far).to_have_text("Than this")
    tab.shoot("order")
    tab.press("Escape")  # not meant
    expect(far).to_be_hidden()
    tab.part("order-switch").click()
    expect(far).to_have_text("Nearer")
    near.click()
    found = demo.get(f"/api/records/{row}/neighbors?n=10")["neighbors"]
    far.click()
    expect(tab.part("order-said")).to_have_count(1)
    said = [row, found[3]["row"], found[1]["row"]]
    assert demo.get("/api/known")["closer"] == said
    tab.shows("order-said", f"{said[1]} is nearer than {said[2]}.")
    tab.shoot("order-said")
    tab.shows_answers(0)

    tab.part("tab-quality").click()
    expect(tab.part("n-triplets")).to_have_text("1")
    lines = downloaded(tab, "triplets", tmp_path).read_text().splitlines()
    assert lines == ["anchor,closer,farther,weight", ",".join(map(str, [*said, 1]))]

    tab.part("tab-point").click()
    tab.part("withdraw-order").click()
    expect(tab.part("order-said")).to_have_count(0)
    expect(tab.part("orders")).to_be_hidden()
    tab.press("z")
    expect(tab.part("order-said")).to_have_count(1)
    tab.press("z")
    expect(tab.part("order-said")).to_have_count(0)
    tab.part("export").click()
    expect(tab.part("export-triplets")).to_be_hidden()
