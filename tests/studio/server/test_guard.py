"""Who is refused, and that what is let through is harmless."""

import json
import re

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from tests.cases import each
from tests.studio.server.conftest import HOSTILE, StubLesson, all_told, running


def test_nothing_is_told_without_the_token_to_other_hosts_or_to_other_pages(studio):
    routes = [("GET", "/api/nothing"), ("GET", "/api")]  # which are not there
    for path, methods in studio.serving.app.openapi()["paths"].items():
        routes += [(method.upper(), re.sub(r"\{\w+\}", "0", path)) for method in methods]
    assert len(routes) > 30
    before = studio.lesson.state()["version"]
    evil = [("Origin", "http://evil.example")]
    for method, path in routes:
        body = b'{"left":0,"right":1,"same":true}' if method == "POST" else b""
        for token in (None, "wrong", "Ä".encode(), "x" * 10_000):
            headers = [] if token is None else [("X-Nearkin-Token", token)]
            reply = studio.raw(method, path, body, headers, token=False)
            assert reply.status == 403, path
            assert "address that the studio has printed" in reply.message
            assert studio.token not in str(reply.headers) + reply.body.decode()
        assert studio.raw(method, path, body, host="evil.example").status == 400, path
        assert studio.raw(method, path, body, evil).status == 403, path
    assert studio.lesson.state()["version"] == before
    assert studio.lesson.groups()["groups"] == []


@each("query", ["?token={token}", "?token=wrong", "?code={token}", "?x=1"])
def test_no_token_in_an_address_opens_anything(studio, query):
    query = query.format(token=studio.token)
    assert studio.raw("GET", f"/api/lesson{query}", token=False).status == 403
    assert studio.raw("GET", f"/api/export/pairs{query}", token=False).status == 403


def redeemed(studio, code):
    """What is said in exchange for a code."""
    return studio.raw("POST", "/api/token", headers=[("X-Nearkin-Code", code)], token=False)


def test_a_code_is_of_no_use_to_other_pages_and_in_other_ways(studio):
    base, code = studio.serving.url_for_a_program().split("/?code=")
    assert (base, studio.token in code) == (studio.base, False)
    asked = [("X-Nearkin-Code", code)]
    evil = [*asked, ("Origin", "http://evil.example")]
    assert studio.raw("POST", "/api/token", headers=evil, token=False).status == 403
    foreign = studio.raw("POST", "/api/token", headers=asked, token=False, host="evil.example")
    assert foreign.status == 400
    assert studio.raw("GET", "/api/token", headers=asked, token=False).status == 403
    assert studio.raw("GET", "/api/lesson", headers=asked, token=False).status == 403
    assert json.loads(redeemed(studio, code).body) == {"token": studio.token}
    assert redeemed(studio, code).status == 403


def test_the_page_is_the_same_for_everyone(studio):
    # It is loaded again without the token in its address; what is in it needs the token.
    for path in ("/", f"/?token={studio.token}", "/?token=wrong"):
        reply = studio.raw("GET", path, token=False)
        assert (reply.status, reply.body) == (200, b"<!doctype html><title>the page</title>")
        assert reply.headers["Referrer-Policy"] == "no-referrer"
        assert "Set-Cookie" not in reply.headers
    assert studio.raw("GET", "/assets/index.js", token=False).status == 200
    assert studio.raw("POST", "/", token=False).status == 403


def test_live_messages_need_the_token_and_the_page(studio):
    for query in ("", f"?token={studio.token}"):
        address = f"ws://{studio.host}/api/live{query}"
        with pytest.raises(InvalidStatus, match="403"), connect(address, proxy=None):
            pass
    for foreign in ({"token": "wrong"}, {"origin": "http://evil.example"}, {"origin": "null"}):
        with pytest.raises(InvalidStatus, match="403"), studio.live(**foreign):
            pass


def test_no_other_page_may_read_an_answer(studio):
    for method in ("GET", "POST", "OPTIONS", "HEAD", "PUT", "DELETE"):
        for path in ("/", "/api/lesson", "/api/answers", "/assets/index.js", "/nothing"):
            reply = studio.raw(method, path)
            assert not [name for name in reply.headers if name.lower().startswith("access-control")]


def test_headers_protect_the_page(studio):
    for path, status in [("/api/lesson", 200), ("/api/none", 404), ("/assets/index.js", 200)]:
        reply = studio.raw("GET", path)
        assert (reply.status, reply.headers["X-Content-Type-Options"]) == (status, "nosniff")
        assert "object-src 'none'" in reply.headers["Content-Security-Policy"].split("; ")
        assert "Server" not in reply.headers
    for path in ("/docs", "/redoc", "/openapi.json", "/api/openapi.json"):
        assert studio.raw("GET", path).status == 404


PROXIES = ["hub.example", "*.ports.example"]


def test_a_proxy_needs_the_token_too_and_may_frame_the_page(page):
    with running(StubLesson(), allowed=PROXIES) as studio:
        assert studio.raw("GET", "/api/report", host="hub.example").status in (200, 204)
        assert studio.raw("GET", "/api/report", host="hub.example", token=False).status == 403
        assert studio.raw("GET", "/api/report", host="evil.example").status == 400
        policy = studio.raw("GET", "/", host="hub.example").headers["Content-Security-Policy"]
        frames = re.search(r"frame-ancestors ([^;]*)", policy).group(1).split()
        assert {"https://hub.example:*", "http://*.ports.example:*"} <= {*frames}
        assert not [one for one in frames if one.startswith("http") and one.endswith("//*:*")]


@each(
    "path",
    [
        "/assets/../index.html",
        "/assets/../secret.txt",
        "/assets/../../secret.txt",
        "/assets/%2e%2e/secret.txt",
        "/assets/%2e%2e%2fsecret.txt",
        "/assets/..%2f..%2fsecret.txt",
        "/assets/..%5csecret.txt",
        "/assets/%252e%252e/secret.txt",
        "/assets//etc/passwd",
        "/assets/%2fetc/passwd",
        "/assets/link.txt",
        "/assets/up/secret.txt",
        "/assets/index.js%00.txt",
        "/assets/",
        "/assets",
        "/secret.txt",
        "/../secret.txt",
        "//etc/passwd",
        "/assets/" + "a" * 5000,
        "/assets/" + "../" * 50 + "etc/passwd",
    ],
)
def test_no_path_leads_out_of_the_page(studio, path):
    reply = studio.raw("GET", path)
    assert reply.status in (307, 400, 404)
    assert studio.raw("GET", path, token=False).status in (400, 403, 404)
    assert b"secret" not in reply.body
    assert b"root:" not in reply.body


@each("path", ["/api/../secret.txt", "/api/export/..%2f..%2fsecret", "/api/export/%2e%2e"])
def test_no_path_leads_out_of_the_api(studio, path):
    assert studio.raw("GET", path).status in (404, 422)


@each("path", ["/", "/assets/index.js"])
def test_parts_of_files_are_not_given(studio, path):
    whole = studio.raw("GET", path, token=False)
    for ranges in ("bytes=0-0", "bytes=" + ",".join(["0-"] * 5000), "bytes=-9", "x" * 9000):
        reply = studio.raw("GET", path, headers=[("Range", ranges)], token=False)
        assert (reply.status, reply.body) == (200, whole.body)
        assert reply.headers["Accept-Ranges"] == "none"


def test_a_large_body_in_chunks_is_refused(studio, client):
    def parts(n):
        for _ in range(n):
            yield b" " * 100_000

    headers = {"Content-Type": "application/json"}
    assert client.post("/api/answers", content=parts(60), headers=headers).status_code == 413
    assert client.post("/api/answers", content=parts(10), headers=headers).status_code == 422
    assert client.get("/api/lesson").status_code == 200


def test_a_tab_that_talks_too_much_is_closed(studio):
    with studio.live() as tab:
        tab.send("ping")
        tab.send("x" * 100_000)
        with pytest.raises(ConnectionClosed):
            all_told(tab)


def test_html_in_records_stays_text(studio):
    reply = studio.raw("GET", "/api/records/3")
    assert reply.headers["Content-Type"] == "application/json"
    assert reply.headers["X-Content-Type-Options"] == "nosniff"
    assert HOSTILE in reply.body.decode()
    assert studio.raw("GET", "/api/lesson").headers["Content-Type"] == "application/json"


def test_html_in_addresses_is_not_shown_as_html(studio):
    for path in (f"/api/colourings/{HOSTILE}", "/api/<b>", "/<script>", f"/api/records/{HOSTILE}"):
        reply = studio.raw("GET", path.replace(" ", "%20"))
        assert reply.headers["Content-Type"] == "application/json"
    reply = studio.raw("GET", "/?token=<script>alert(1)</script>", host="evil", token=False)
    assert (reply.status, b"<script>" in reply.body) == (400, False)
    assert reply.headers["Content-Type"].startswith("text/html")


def test_a_file_to_keep_is_never_shown(studio):
    reply = studio.raw("GET", "/api/export/pairs")
    assert reply.headers["Content-Disposition"] == 'attachment; filename="pairs.csv"'
    assert reply.headers["Content-Type"] == "application/octet-stream"
