"""Who is here: people have names or at least browsers of their own, and perhaps several tabs."""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass
from typing import Any

from nearkin.teaching.row_checks import LONGEST_NAME
from nearkin.teaching.server.broadcast import Mailbox

_LONGEST_ID = 40
# Of what a tab says of itself.
_LONGEST = 1000


@dataclass(frozen=True)
class Person:
    """Someone who answers: by name, or whoever uses a browser.

    Attributes
    ----------
    browser : str
        Tells browsers from each other; tabs of one are one person.
    name : str or None
    """

    browser: str
    name: str | None

    @property
    def key(self) -> str:
        """Tells people from each other: one name is one person, whatever the browser."""
        return f"browser {self.browser}" if self.name is None else f"name {self.name}"


class People:
    """All who have a tab open, as far as these have said who they are. Any thread may ask."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._here: dict[Mailbox, tuple[str, Person]] = {}

    def hear(self, mailbox: Mailbox, text: str) -> bool:
        """What a tab says of itself; whether that is news."""
        found = read_person(text)
        if found is None:
            return False
        with self._lock:
            news = self._here.get(mailbox) != found
            self._here[mailbox] = found
        return news

    def leave(self, mailbox: Mailbox) -> bool:
        """Forget a tab; whether it had said who it was."""
        with self._lock:
            return self._here.pop(mailbox, None) is not None

    def tabs(self) -> dict[str, tuple[Person, list[Mailbox]]]:
        """People by their keys, with their tabs."""
        with self._lock:
            found: dict[str, tuple[Person, list[Mailbox]]] = {}
            for mailbox, (_, person) in self._here.items():
                found.setdefault(person.key, (person, []))[1].append(mailbox)
            return found

    def of_tab(self, tab: str) -> Person | None:
        """Whose tab it is."""
        with self._lock:
            return next((person for own, person in self._here.values() if own == tab), None)

    def listed(self) -> list[dict[str, Any]]:
        """Everybody once, as plain values."""
        return [
            {"browser": person.browser, "name": person.name} for person, _ in self.tabs().values()
        ]


def read_person(text: str) -> tuple[str, Person] | None:
    """A tab and its person, from what it says of itself; None if that is something else.

    Examples
    --------
    >>> read_person('{"tab": "t1", "browser": "b1", "name": " Ann "}')
    ('t1', Person(browser='b1', name='Ann'))
    >>> read_person("ping")
    """
    if len(text) > _LONGEST:
        return None
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(said, dict):
        return None
    tab, browser, name = said.get("tab"), said.get("browser"), said.get("name")
    if not all(isinstance(one, str) and 0 < len(one) <= _LONGEST_ID for one in (tab, browser)):
        return None
    if name is not None and not isinstance(name, str):
        return None
    name = None if name is None else name.strip()[:LONGEST_NAME]
    return str(tab), Person(str(browser), name or None)
