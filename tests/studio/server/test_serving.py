"""Ports, addresses, and the beginning and end of a server."""

import json
import signal
import socket
import threading
from importlib.metadata import PackageNotFoundError
from types import SimpleNamespace

import httpx
import pytest

from nearkin.studio.server import encoding
from nearkin.studio.server import serving as module
from nearkin.studio.server.serving import AddressError, Serving, listening_socket
from tests.cases import each
from tests.studio.server.conftest import StubLesson, running
from tests.waiting import PATIENCE


def test_a_port_that_is_in_use():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(AddressError, match=f"port {port} is in use"):
            listening_socket("127.0.0.1", port)
        lesson = StubLesson()
        with pytest.raises(AddressError):
            Serving(lesson, port=port)


def test_the_next_port_that_is_free(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        monkeypatch.setattr(module, "PORT", port)
        with listening_socket("127.0.0.1", None) as found:
            assert port < found.getsockname()[1] < port + 100
        monkeypatch.setattr(module, "_MORE_PORTS", 1)
        with pytest.raises(AddressError, match="are all in use"):
            listening_socket("127.0.0.1", None)


@each("address", ["203.0.113.7", "no-such-name.invalid"])
def test_an_address_that_is_not_ours(address):
    with pytest.raises(AddressError, match="not an address of this machine"):
        listening_socket(address, 0)


def test_only_this_machine_is_listened_to_and_every_run_has_a_token_of_its_own():
    with running(StubLesson()) as one, running(StubLesson()) as two:
        assert one.serving._socket.getsockname()[0] == "127.0.0.1"
        assert one.base.startswith("http://127.0.0.1:")
        assert one.token != two.token
        assert len(one.token) >= 32
        headers = [("X-Nearkin-Token", one.token)]
        assert two.raw("GET", "/api/lesson", headers=headers, token=False).status == 403


def test_other_addresses_on_request():
    with running(StubLesson(), address="0.0.0.0") as studio:
        for name, expected in (("127.0.0.1", 200), ("192.0.2.1", 200), ("evil.example", 400)):
            assert studio.raw("GET", "/api/lesson", host=f"{name}:{studio.port}").status == expected


def test_ipv6():
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("this machine has no IPv6")
    with running(StubLesson(), address="::1") as studio:
        assert studio.base == f"http://[::1]:{studio.port}"
        headers = {"X-Nearkin-Token": studio.token}
        answer = httpx.get(
            f"{studio.base}/api/report", headers=headers, trust_env=False, timeout=PATIENCE
        )
        assert answer.status_code in (200, 204)


def test_closing_frees_the_port_and_leaves_no_threads():
    lesson = StubLesson()
    before = set(threading.enumerate())
    with running(lesson) as studio, studio.client() as client:
        client.post("/api/answers", json={"left": 0, "right": 1, "same": True})
    studio.serving.close()  # twice is as good as once
    assert lesson.closed
    left = {t.name for t in set(threading.enumerate()) - before if t.name.startswith("nearkin")}
    assert not left
    listening_socket("127.0.0.1", studio.port).close()


@pytest.fixture
def heard_interrupts():
    """Ctrl-C is heard: processes that a shell starts in the background ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("heard_interrupts")
def test_a_signal_that_comes_before_the_server_ends_it_when_it_has_begun(monkeypatch):
    """Half way, a coroutine that nobody awaits would complain after the process's last word."""
    serving = Serving(StubLesson(), port=0)
    run = serving._server.run

    def run_after_a_signal(**options):
        signal.raise_signal(signal.SIGINT)
        run(**options)

    monkeypatch.setattr(serving._server, "run", run_after_a_signal)
    serving.run()  # and Ctrl-C has ended it
    assert serving._server.started
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    with pytest.raises(httpx.ConnectError):
        httpx.get(serving.url)


# What is said where the page is missing: a remedy for each way that nearkin can be installed


AGAIN = "pip install --force-reinstall --no-deps --no-cache-dir"
GIT = {"url": "https://git.example/n.git", "vcs_info": {"vcs": "git", "requested_revision": "main"}}


def installed(monkeypatch, told):
    """Let nearkin be installed in some way, None for not at all."""

    def distribution(name):
        if told is None:
            raise PackageNotFoundError(name)
        return SimpleNamespace(read_text=lambda file: json.dumps(told) if told else None)

    monkeypatch.setattr(encoding, "distribution", distribution)


@each(
    ("told", "remedy"),
    [
        ({}, f"{AGAIN} --only-binary nearkin nearkin."),
        (None, f"{AGAIN} --only-binary nearkin nearkin."),
        (GIT, f"{AGAIN} git+https://git.example/n.git@main."),
        ({"url": "file:///a/b c", "dir_info": {}}, f"{AGAIN} 'file:///a/b c'."),
        ({"url": "https://x.example/n.tar.gz", "archive_info": {}}, "https://x.example/n.tar.gz."),
    ],
)
def test_what_to_do_depends_on_the_install(monkeypatch, tmp_path, told, remedy):
    monkeypatch.setattr(encoding, "FOLDER", tmp_path / "site-packages/nearkin/studio/server/p")
    installed(monkeypatch, told)
    monkeypatch.setattr(encoding.shutil, "which", lambda name: "/bin/npm")
    assert encoding.why_no_page()[1].endswith(remedy)
    assert "Node.js" not in encoding.why_no_page()[1]
    monkeypatch.setattr(encoding.shutil, "which", lambda name: None)
    needs_node = bool(told)
    assert ("Install Node.js 20.19 or later, then: " in encoding.why_no_page()[1]) is needs_node


def test_in_a_checkout_it_is_built(monkeypatch, tmp_path):
    (tmp_path / "page").mkdir()
    (tmp_path / "page/package.json").write_text("{}")
    monkeypatch.setattr(encoding, "FOLDER", tmp_path / "src/nearkin/studio/server/page")
    installed(monkeypatch, {"url": "file:///x", "dir_info": {"editable": True}})
    monkeypatch.setattr(encoding.shutil, "which", lambda name: None)
    remedy = f"Install Node.js 20.19 or later, then: make studio, in {tmp_path}."
    assert encoding.why_no_page() == ("The page of the studio has not been built.", remedy)
    with running(StubLesson()) as studio:
        reply = studio.raw("GET", "/", token=False)
        assert reply.status == 503
        assert "make studio" in reply.body.decode()
        assert studio.raw("GET", "/assets/index.js").status == 404
