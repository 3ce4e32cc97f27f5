"""The way in: by the printed address, by a code, again, in another tab, in a notebook."""

import re
import threading
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

import numpy as np
import pytest

import nearkin as nk
from nearkin.teaching.notebook_cell import cell_of
from tests.teaching.server.browser.proxies import path_proxy
from tests.teaching.server.browser.watched import WatchedTab, expect


@pytest.fixture(scope="module")
def handle(browser):
    with nk.studio(np.random.default_rng(0).normal(size=(40, 3)), port=0) as found:
        yield found


def home(handle):
    return handle.url.partition("?")[0]


def is_open(page):
    """Wait until the page asks its question, and has no word of the token in its address."""
    expect(page.get_by_test_id("answers")).to_have_text(re.compile("answer"))
    expect(page.get_by_test_id("connection")).to_have_text("")
    assert "?" not in page.url


def test_the_address_is_rid_of_the_token_and_still_opens(browser, handle):
    with WatchedTab.opened(browser, handle.url, version=None) as tab:
        context = tab.page.context
        is_open(tab.page)
        assert tab.page.url == home(handle)
        tab.page.reload()
        is_open(tab.page)
        second = context.new_page()
        second.goto(home(handle))
        is_open(second)
        # Whoever goes back in the history does not find it either.
        assert tab.page.evaluate("() => history.length") == 2  # an empty page, and this
        assert context.cookies() == []
        token = handle.url.partition("=")[2]
        assert all(token not in address for address in tab.addresses[1:])
        tab.check()
        # A wrong address in one tab does not spoil the others.
        second.goto(f"{home(handle)}?token=of-an-earlier-run")
        expect(second.get_by_test_id("refused")).to_be_visible()
        tab.page.reload()
        is_open(tab.page)


def test_a_code_opens_once(browser, handle):
    address = handle._serving.url_for_a_program()
    with WatchedTab.opened(browser, address, version=None) as tab:
        is_open(tab.page)
        tab.page.reload()
        is_open(tab.page)
        # In this browser it is no mistake to open it again.
        tab.page.goto(address)
        is_open(tab.page)
    with WatchedTab.opened(browser, address, version=None) as tab:
        tab.shows("refused", "Open the address that nearkin studio printed")


@contextmanager
def notebook(folder, content):
    """The address of a page elsewhere on this machine with such a cell in it."""
    (folder / "notebook.html").write_text(content)

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *words):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        # For a browser, localhost and 127.0.0.1 are two places.
        yield f"http://localhost:{server.server_port}/notebook.html"
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture
def page(browser):
    context = browser.new_context()
    yield context.new_page()
    context.close()


def test_a_notebook_of_another_name_shows_the_page(page, handle, tmp_path):
    with notebook(tmp_path, handle._repr_html_()) as address:
        page.goto(address)
        for again in (False, True):
            if again:
                page.reload()
            frame = page.frame_locator("iframe")
            expect(frame.get_by_test_id("answers")).to_have_text(re.compile("answer"))
            expect(frame.get_by_test_id("connection")).to_have_text("")
            expect(page.locator("details")).to_be_hidden()


def test_a_cell_whose_page_does_not_come_says_what_to_do(page, tmp_path):
    X = np.random.default_rng(1).normal(size=(40, 3))
    with nk.studio(X, port=0) as ended:
        url, remedy = ended.url, ended._place.what_to_do(ended._serving.port)
    with notebook(tmp_path, cell_of(url, remedy, patience_ms=300)) as address:
        page.goto(address)
        expect(page.locator("details")).to_contain_text("run the cell again")
        expect(page.get_by_text("forward the port")).to_be_visible()
        expect(page.locator("iframe")).to_be_hidden()


def test_a_page_that_comes_late_is_shown_all_the_same(page, handle, tmp_path):
    cell = cell_of(handle.url, "do something", patience_ms=0)
    with notebook(tmp_path, cell) as address:
        page.goto(address)
        frame = page.frame_locator("iframe")
        expect(frame.get_by_test_id("answers")).to_have_text(re.compile("answer"))
        expect(page.locator("details")).to_be_hidden()


def test_below_the_path_of_a_proxy_all_is_as_ever(browser):
    X = np.random.default_rng(2).normal(size=(40, 3))
    with (
        path_proxy() as port,
        nk.studio(X, port=0, allow_hosts=["hub.localhost"]) as one,
        nk.studio(X[:30], port=0, allow_hosts=["hub.localhost"]) as two,
    ):
        base = f"http://hub.localhost:{port}/user/ann/proxy/"
        addresses = [f"{base}{it._serving.port}/?token={it._serving.token}" for it in (one, two)]
        with WatchedTab.opened(browser, addresses[0], version=0) as tab:
            is_open(tab.page)
            tab.answer("s")
            tab.settle(1)
            # Another studio at the same host has a token of its own.
            second = tab.page.context.new_page()
            second.goto(addresses[1])
            is_open(second)
            for tabs_page in (tab.page, second):
                tabs_page.reload()
                is_open(tabs_page)
            expect(tab.part("answers")).to_have_text("1 answer")
            assert len(one.pairs) == 1
            assert tab.page.url == addresses[0].partition("?")[0]
            own = "/user/ann/proxy/"
            assert all(urlsplit(asked).path.startswith(own) for asked in tab.addresses)
            tab.check()
        # Names that nobody has named are refused.
        elsewhere = addresses[0].replace("hub.localhost", "evil.localhost")
        with WatchedTab.opened(browser, elsewhere, version=None) as tab:
            expect(tab.page.get_by_text("--allow-host")).to_be_visible()


def test_where_no_websocket_comes_through_the_page_asks_again_and_again(browser):
    X = np.random.default_rng(3).normal(size=(40, 3))
    with (
        path_proxy(websockets=False) as port,
        nk.studio(X, port=0, allow_hosts=["hub.localhost"]) as handle,
    ):
        serving = handle._serving
        address = (
            f"http://hub.localhost:{port}/user/ann/proxy/{serving.port}/?token={serving.token}"
        )
        with WatchedTab.opened(browser, address, version=0) as tab:
            is_open(tab.page)
            for version, key in enumerate("sdsd", 1):
                expect(tab.part("answer-same")).to_be_enabled()
                tab.answer(key)
                tab.settle(version)
            # What another page says comes too.
            with WatchedTab.opened(browser, handle.url, version=0) as other:
                expect(other.part("answer-same")).to_be_enabled()
                other.answer("d")
            tab.shows_answers(5)
            tab.settle(5)


def test_a_notebooks_cell_shows_the_question_and_its_buttons_first(browser, handle):
    size = {"width": 700, "height": 500}
    with WatchedTab.opened(browser, handle.url, settings={"viewport": size}) as tab:
        expect(tab.part("answer-same")).to_be_enabled()
        assert tab.part("question").bounding_box()["y"] < 100
        for name in ("same", "different", "unsure"):
            box = tab.part(f"answer-{name}").bounding_box()
            assert box["y"] + box["height"] <= size["height"]
            assert box["x"] + box["width"] <= size["width"]
        tab.shoot("notebook-cell")
