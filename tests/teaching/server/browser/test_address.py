"""The way in: by the printed address, by a code, again, in another tab, in a notebook."""

import re
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

import nearkin as nk
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
        assert all(token not in address for address in tab.asked[1:])
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


def test_a_notebook_of_another_name_shows_the_page(browser, handle, tmp_path):
    (tmp_path / "notebook.html").write_text(handle._repr_html_())

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *words):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=tmp_path))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    context = browser.new_context()
    try:
        page = context.new_page()
        # For a browser, localhost and 127.0.0.1 are two places.
        page.goto(f"http://localhost:{server.server_port}/notebook.html")
        for again in (False, True):
            if again:
                page.reload()
            frame = page.frame_locator("iframe")
            expect(frame.get_by_test_id("answers")).to_have_text(re.compile("answer"))
            expect(frame.get_by_test_id("connection")).to_have_text("")
    finally:
        context.close()
        server.shutdown()
        server.server_close()
