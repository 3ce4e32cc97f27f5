"""Several people at once: who is here."""

import json

from nearkin.studio.lesson import Lesson
from nearkin.studio.server.session import read_person
from tests.cases import each
from tests.studio.server.conftest import running, small_records
from tests.waiting import PATIENCE


def hello(tab, name, browser):
    tab.send(json.dumps({"browser": browser, "name": name}))


def waits_for_names(tab, names):
    """Wait until a tab is told that these people are here, each once."""
    found = None
    while found != names:
        text = tab.recv(timeout=PATIENCE)
        if isinstance(text, str) and (said := json.loads(text))["type"] == "people":
            found = sorted(one["name"] or one["browser"] for one in said["people"])


def test_everybody_who_is_here_is_listed_once():
    with running(Lesson(small_records(), seed=0)) as studio, studio.live() as one:
        hello(one, "Ann", "first")
        waits_for_names(one, ["Ann"])
        with studio.live() as two, studio.live() as three:
            hello(two, "Bob", "second")
            waits_for_names(one, ["Ann", "Bob"])
            hello(two, "Ann", "second")  # one name is one person, whatever the browser
            waits_for_names(one, ["Ann"])
            hello(three, None, "third")
            waits_for_names(one, ["Ann", "third"])
        waits_for_names(one, ["Ann"])


@each(
    "text",
    [
        "", "ping", "[1]", "null", "{", '{"name": "a"}', '{"browser": 1}', '{"browser": ""}',
        '{"browser": "b", "name": 3}', json.dumps({"browser": "b" * 41}),
        json.dumps({"browser": "b", "name": "n" * 2000}),
    ],
)  # fmt: skip
def test_what_is_no_person_is_passed_over(text):
    assert read_person(text) is None
