"""Several people at once: who is here, and who is asked what."""

import json

import numpy as np
import pytest

from nearkin.studio.lesson import Lesson
from nearkin.studio.records import records_of
from nearkin.studio.server.session import read_person
from tests.cases import each
from tests.studio.server.conftest import running
from tests.waiting import PATIENCE


@pytest.fixture
def studio():
    X = np.random.default_rng(0).normal(size=(30, 3))
    with running(Lesson(records_of(X), overlap=1.0, seed=0)) as studio:
        yield studio


def hello(tab, name, browser=None):
    said = {"tab": f"tab {name}", "browser": browser or f"browser {name}", "name": name}
    tab.send(json.dumps(said))


def told(tab, kind, good=lambda told: True):
    """The next message of a kind that is good."""
    while True:
        text = tab.recv(timeout=PATIENCE)
        if isinstance(text, str) and (said := json.loads(text))["type"] == kind and good(said):
            return said


def asked(tab, good=lambda state: True):
    state = told(tab, "state", lambda state: state.get("question") and good(state))
    return (state["question"]["left"], state["question"]["right"]), state


def of_two(state):
    return "second" in state


def test_everybody_has_a_question_of_their_own_that_stays(studio):
    with studio.live() as ann, studio.live() as bob, studio.client() as client:
        hello(ann, "Ann")
        hello(bob, "Bob")
        both = told(bob, "people", lambda said: len(said["people"]) == 2)["people"]
        assert {one["name"] for one in both} == {"Ann", "Bob"}
        mine, _ = asked(ann, of_two)
        other, _ = asked(bob, of_two)
        assert mine != other
        body = {"left": mine[0], "right": mine[1], "same": True, "before": "nothing", "by": "Ann"}
        tab = {"X-Nearkin-Tab": "tab Ann"}
        reply = client.post("/api/answers", json=body, headers=tab).json()
        assert (reply["question"]["left"], reply["question"]["right"]) not in (mine, other)
        still, state = asked(bob, lambda state: state["version"] == 1)
        assert still == other
        assert state["second"] is False
        # Once that is answered, what Ann has answered is asked for a second opinion.
        body |= {"left": other[0], "right": other[1], "same": None, "by": "Bob"}
        reply = client.post("/api/answers", json=body, headers={"X-Nearkin-Tab": "tab Bob"}).json()
        assert reply["second"] is True
        assert {reply["question"]["left"], reply["question"]["right"]} == set(mine)


def test_tabs_of_one_browser_are_one_person(studio):
    with studio.live() as one, studio.live() as two:
        hello(one, "Ann")
        hello(two, "Ann", browser="another one")
        people = told(two, "people")["people"]
        assert [person["name"] for person in people] == ["Ann"]
        one.send("ping")
        assert told(one, "pong") == {"type": "pong"}


@each(
    "text",
    [
        "", "ping", "[1]", "null", "{", '{"tab": "a"}', '{"tab": 1, "browser": "b"}',
        '{"tab": "a", "browser": "b", "name": 3}', '{"tab": "", "browser": "b"}',
        json.dumps({"tab": "a" * 41, "browser": "b"}),
        json.dumps({"tab": "a", "browser": "b", "name": "n" * 2000}),
    ],
)  # fmt: skip
def test_what_is_no_person_is_passed_over(text):
    assert read_person(text) is None
