"""A studio that runs in a thread, and programs that talk to it."""

import http.client
import json
import socket
import struct
import threading
from contextlib import contextmanager
from dataclasses import dataclass

import httpx
import numpy as np
import pytest
from websockets.sync.client import connect

from nearkin.datasets import make_xor
from nearkin.studio.lesson import Lesson
from nearkin.studio.records import records_of
from nearkin.studio.server import encoding
from nearkin.studio.server.serving import Serving
from nearkin.studio.server.session import Refits
from tests.waiting import PATIENCE

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>"


@dataclass(frozen=True)
class Reply:
    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def message(self):
        return json.loads(self.body)["message"]


class Running:
    """A studio, and ways to ask it."""

    def __init__(self, serving):
        self.serving = serving
        self.lesson = serving.lesson
        self.port = serving.port
        self.url = serving.url
        self.base, self.token = serving.url.split("/?token=")
        self.host = self.base.removeprefix("http://")

    def client(self):
        headers = {"X-Nearkin-Token": self.token, "Origin": self.base}
        return httpx.Client(
            base_url=self.base,
            headers=headers,
            trust_env=False,  # proxies of the machine are not for this
            timeout=PATIENCE,
            # A connection that was kept may be closed just when it is used again.
            limits=httpx.Limits(max_keepalive_connections=0),
        )

    @contextmanager
    def live(self, token=None, origin=None):
        with connect(
            f"ws://{self.host}/api/live",
            origin=origin or self.base,
            subprotocols=["nearkin", token or self.token],
            max_size=None,
            proxy=None,
            open_timeout=PATIENCE,
            ping_timeout=PATIENCE,
        ) as tab:
            yield tab

    def connected(self):
        """A socket to say anything to."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)

    def raw(self, method, path, body=b"", headers=(), *, host=None, token=True):
        """Ask with exactly this path and these headers."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            connection.putheader("Host", host or self.host)
            if token:
                connection.putheader("X-Nearkin-Token", self.token)
            for name, value in headers:
                connection.putheader(name, value)
            if body:
                connection.putheader("Content-Type", "application/json")
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body or None)
            answer = connection.getresponse()
            return Reply(answer.status, answer.headers, answer.read())
        finally:
            connection.close()


@contextmanager
def running(lesson, **settings):
    serving = Serving(lesson, **{"port": 0, **settings})
    serving.start()
    try:
        yield Running(serving)
    finally:
        serving.close()


def small_records(**more):
    X, y = make_xor(40, random_state=0)
    texts = [f"row {i}" for i in range(40)]
    texts[3] = HOSTILE
    texts[4] = "x" * 1_000_000
    return records_of(
        X, columns={"text": texts, "kind": [f"k{k}" for k in y]}, source=HOSTILE, **more
    )


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """A page that has been built, with a secret beside it."""
    root = tmp_path_factory.mktemp("package")
    folder = root / "page"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text("<!doctype html><title>the page</title>")
    (folder / "assets" / "index.js").write_text("1;")
    (root / "secret.txt").write_text("secret")
    (folder / "secret.txt").write_text("secret")
    (folder / "assets" / "link.txt").symlink_to(root / "secret.txt")
    (folder / "assets" / "up").symlink_to(root)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encoding, "FOLDER", folder)
        yield folder


@pytest.fixture(scope="module")
def studio(page, tmp_path_factory):
    """A studio of 40 rows with a journal."""
    records = small_records()
    path = tmp_path_factory.mktemp("journal") / "answers.jsonl"
    with running(Lesson(records, journal=path, seed=0)) as found:
        yield found


@pytest.fixture
def client(studio):
    with studio.client() as found:
        yield found


class StubLesson:
    """A lesson that learns nothing, as slowly or wrongly as a test wants."""

    def __init__(self, n_rows=5):
        self.n_rows = n_rows
        self.version = 0
        self.pause = threading.Event()
        self.pause.set()
        self.failing = None
        self.placed, self.reported = [], []
        self.closed = False

    def answer(self, left, right, same, origin, before=None, by=None):
        self.version += 1
        return self.state()

    def state(self):
        return {"version": self.version, "n_answers": self.version, "question": None}

    def place(self):
        version = self.version
        self.placed.append(version)
        assert self.pause.wait(PATIENCE)
        if self.failing:
            raise self.failing
        return {"version": version, "coordinates": self.coordinates()}

    def report(self, before_each_fit=None):
        self.reported.append(self.version)
        return {"version": self.version, "quality": {"auc": np.nan}}

    def layout(self):
        return {"version": self.version, "coordinates": self.coordinates()}

    n_arranged = 0

    def arrange(self):
        self.n_arranged += 1
        for share in (0.5, 1.0):
            yield {"version": self.version, "coordinates": self.coordinates(), "share": share}

    def coordinates(self):
        return np.full((self.n_rows, 2), self.version, dtype=np.float32)

    def about(self):
        return {"n_rows": self.n_rows}

    def close(self):
        self.closed = True


def told(message):
    """Kind and version of what a tab was sent."""
    if isinstance(message, bytes):
        version, of_neighbors = struct.unpack_from("<IB", message)
        return "map" if of_neighbors else "layout", version
    content = json.loads(message)
    return content["type"], content.get("version")


def all_told(tab):
    """Listen until the tab is closed, which raises."""
    while True:
        tab.recv(timeout=PATIENCE)


def refits(lesson):
    """Refits that write down what they give, and an event of their first report."""
    given, done = [], threading.Event()

    def tell(kind, found):
        given.append((kind, found["message"] if kind == "problem" else found["version"]))
        if kind == "report":
            done.set()

    found = Refits(lesson, tell)
    return found, given, done
