"""The way in: by the printed address, by a code, again, in another tab, in a notebook."""

import re
import socket
import threading
from contextlib import contextmanager, suppress
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

import numpy as np
import pytest

import nearkin as nk
from nearkin.studio.notebook import cell_of
from tests.studio.server.browser.watched import WatchedTab, expect


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


def is_refused(tab):
    """Wait until the page says what to do; of the browser's own complaints it is none but 403."""
    tab.shows("refused", "Open the address that nearkin studio printed")
    assert all("403" in complaint for complaint in tab.complaints)
    tab.complaints.clear()


def test_the_way_in_is_by_the_token_which_leaves_the_address_or_by_a_code_once(browser, handle):
    with WatchedTab.opened(browser, handle.url, version=None) as tab:
        context = tab.page.context
        is_open(tab.page)
        assert tab.page.url == home(handle)
        tab.reload()
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
        tab.reload()
        is_open(tab.page)

    address = handle._serving.url_for_a_program()
    with WatchedTab.opened(browser, address, version=None) as tab:
        is_open(tab.page)
        tab.reload()
        is_open(tab.page)
        # In this browser it is no mistake to open it again.
        tab.page.goto(address)
        is_open(tab.page)

    for wrong in (address, f"{home(handle)}?token=wrong", home(handle)):
        with WatchedTab.opened(browser, wrong, version=None) as tab:
            is_refused(tab)
    # As if the studio had been started anew between page and data.
    script = "fetch = ((ask) => (url, more) => ask(url, { ...more, headers: {} }))(fetch);"
    settings = {"init_script": script}
    with WatchedTab.opened(browser, handle.url, version=None, settings=settings) as tab:
        is_refused(tab)


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


@pytest.mark.night
def test_a_notebook_of_another_name_shows_the_page_or_says_what_to_do(
    browser, page, handle, tmp_path
):
    # Its cell is small: the question and its buttons come first.
    size = {"width": 700, "height": 500}
    with WatchedTab.opened(browser, handle.url, settings={"viewport": size}) as tab:
        expect(tab.part("answer-same")).to_be_enabled()
        assert tab.part("question").bounding_box()["y"] < 100
        for name in ("same", "different", "unsure"):
            box = tab.part(f"answer-{name}").bounding_box()
            assert box["y"] + box["height"] <= size["height"]
            assert box["x"] + box["width"] <= size["width"]
    with notebook(tmp_path, handle._repr_html_()) as address:
        page.goto(address)
        for again in (False, True):
            if again:
                page.reload()
            is_shown(page)
    # A page that comes when it was given up is shown all the same.
    with notebook(tmp_path, cell_of(handle.url, "do something", patience_ms=0)) as address:
        page.goto(address)
        is_shown(page)
    # Where none comes, it is said what to do.
    with nk.studio(np.random.default_rng(1).normal(size=(40, 3)), port=0) as ended:
        url, remedy = ended.url, ended._place.what_to_do(ended._serving.port)
    with notebook(tmp_path, cell_of(url, remedy, patience_ms=0)) as address:
        page.goto(address)
        expect(page.locator("details")).to_contain_text("run the cell again")
        expect(page.get_by_text("forward the port")).to_be_visible()
        expect(page.locator("iframe")).to_be_hidden()


def is_shown(page):
    frame = page.frame_locator("iframe")
    expect(frame.get_by_test_id("answers")).to_have_text(re.compile("answer"))
    expect(frame.get_by_test_id("connection")).to_have_text("")
    expect(page.locator("details")).to_be_hidden()


# A reverse proxy below a path, as JupyterHub and jupyter-server-proxy are one.
_PREFIX = re.compile(rb"/user/ann/proxy/(\d+)(/[^ ]*)")


@contextmanager
def path_proxy(websockets=True):
    """The port of a proxy that passes ``/user/ann/proxy/PORT/...`` on as ``/...`` to PORT.

    Names of hosts and pages go through as they are, and so do WebSockets, unless it has none.
    """
    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=_accept, args=[listening, websockets], daemon=True).start()
        yield listening.getsockname()[1]
        listening.shutdown(socket.SHUT_RDWR)


def _accept(listening, websockets):
    with suppress(OSError):
        while True:
            caller, _ = listening.accept()
            threading.Thread(target=_pass_on, args=[caller, websockets], daemon=True).start()


def _pass_on(caller, websockets):
    """One request, and all that is said after it both ways."""
    with caller, suppress(OSError):
        head = b""
        while b"\r\n\r\n" not in head and (part := caller.recv(65536)):
            head += part
        asked, _, rest = head.partition(b"\r\n")
        method, path, version = asked.split(b" ")
        found = _PREFIX.fullmatch(path)
        is_websocket = b"upgrade: websocket" in rest.lower()
        if found is None or (is_websocket and not websockets):
            caller.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
            return
        if not is_websocket:  # so that no other request comes this way
            rest = b"Connection: close\r\n" + re.sub(rb"(?i)connection: [^\r]*\r\n", b"", rest)
        with socket.create_connection(("127.0.0.1", int(found[1]))) as studio:
            studio.sendall(b" ".join([method, found[2], version]) + b"\r\n" + rest)
            back = threading.Thread(target=_relay, args=[studio, caller], daemon=True)
            back.start()
            _relay(caller, studio)
            back.join()


def _relay(source, target):
    with suppress(OSError):
        while part := source.recv(65536):
            target.sendall(part)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)


@pytest.mark.night
def test_behind_a_proxy_all_is_as_ever_also_without_websockets(browser):
    X = np.random.default_rng(2).normal(size=(40, 3))
    with (
        path_proxy() as port,
        nk.studio(X, port=0, allow_hosts=["hub.localhost"]) as one,
        nk.studio(X[:30], port=0, allow_hosts=["hub.localhost"]) as two,
    ):
        addresses = [below(port, it) for it in (one, two)]
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
            tab.shows_answers(1)
            assert len(one.pairs) == 1
            assert tab.page.url == addresses[0].partition("?")[0]
            own = "/user/ann/proxy/"
            assert all(urlsplit(asked).path.startswith(own) for asked in tab.addresses)
            tab.check()
        # Names that nobody has named are refused.
        elsewhere = addresses[0].replace("hub.localhost", "evil.localhost")
        with WatchedTab.opened(browser, elsewhere, version=None) as tab:
            expect(tab.page.get_by_text("--allow-host")).to_be_visible()

        # Where no WebSocket comes through, the page asks again and again.
        with (
            path_proxy(websockets=False) as port,
            WatchedTab.opened(browser, below(port, two), version=0) as tab,
        ):
            is_open(tab.page)
            for version, key in enumerate("sd", 1):
                tab.answer(key)
                tab.settle(version)
            # What another page says comes too.
            with WatchedTab.opened(browser, two.url, version=2) as other:
                other.answer("d")
            tab.shows_answers(3)
            tab.settle(3)


def below(port, handle):
    """The address of a studio behind the proxy at a port."""
    serving = handle._serving
    base = f"http://hub.localhost:{port}/user/ann/proxy"
    return f"{base}/{serving.port}/?token={serving.token}"
