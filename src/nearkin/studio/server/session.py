"""A lesson with all who take part in it: changes in their order, refits, and tabs that follow."""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from fastapi import FastAPI

from nearkin.rows.parallel import pause_by
from nearkin.studio.events import LONGEST_NAME, Conflict, Pair
from nearkin.studio.server.encoding import as_json, layout_bytes

if TYPE_CHECKING:
    from nearkin.studio.lesson import Lesson
    from nearkin.studio.pictures import Image


# Learning anew, in threads of its own, for whatever is known at the time.


# Seconds that a report waits for what is seen next, at each of its steps.
_LONGEST_PAUSE = 0.5
_LOG = logging.getLogger(__name__)


class Learning(Protocol):
    """The slow part of a lesson."""

    def review(self) -> dict[str, Any] | None:
        """Which pairs of records are doubtful; None if there are no records."""

    def place(self) -> dict[str, Any]:
        """Learn from the newest knowledge, and say where all points are now."""

    def arrange(self) -> Iterator[dict[str, Any]]:
        """Pictures on the way to the map of neighbours; it ends when something else is learned."""

    def report(self) -> dict[str, Any]:
        """How good the metric is, and what to ask next."""


class Worker:
    """A thread that does one job whenever that is wanted; once for all wishes that come meanwhile.

    Parameters
    ----------
    job : callable
    on_error : callable
        Given what the job raises. The thread goes on.
    name : str
        Of the thread.
    """

    def __init__(
        self, job: Callable[[], None], on_error: Callable[[Exception], None], name: str
    ) -> None:
        self._job, self._on_error = job, on_error
        self._changed = threading.Condition()
        self._wanted = self._ending = False
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)

    def start(self) -> None:
        """Start the thread that waits for work."""
        self._thread.start()

    def want(self) -> None:
        """Have the job done, after this moment."""
        with self._changed:
            self._wanted = True
            self._changed.notify()

    def stop(self) -> None:
        """End after the job that has begun, if there is one."""
        with self._changed:
            self._ending = True
            self._changed.notify()

    @property
    def is_ending(self) -> bool:
        """Whether it is to end, so that a long job may be given up."""
        return self._ending

    def join(self, seconds: float) -> bool:
        """Wait for the end; whether it has come within some seconds."""
        if self._thread.ident is not None:
            self._thread.join(seconds)
        return not self._thread.is_alive()

    def _work(self) -> None:
        while self._awaited():
            try:
                self._job()
            except Exception as error:  # whatever it is, the next wish may fare better
                self._on_error(error)

    def _awaited(self) -> bool:
        """Wait for a wish; False at the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._wanted or self._ending)
            self._wanted = False
            return not self._ending


def why_it_failed(what: str, error: Exception) -> str:
    """A sentence on what came to nothing in a thread; the log has where."""
    _LOG.debug(what, exc_info=error)
    said = " ".join(str(error).split()) or type(error).__name__
    return f"{what}: {said}"


class Refits:
    """Learning after changes; the newest knowledge wins.

    Changes that come while it learns are learned together, once. The map of neighbours begins when
    the layout is out, in a second thread, as long as somebody looks at it. When its first picture
    is out, or the layout where nobody looks at maps, a report begins in a third thread, so that the
    layout after the next change does not wait for it: it pauses meanwhile. In a fourth a review is
    made, from the time on that somebody wants to see it.

    Parameters
    ----------
    lesson : Lesson
    on_layout, on_map, on_report, on_review : callable
        Given what :meth:`Lesson.place`, :meth:`Lesson.arrange`, :meth:`Lesson.report` and
        :meth:`Lesson.review` give, in another thread.
    on_problem : callable
        Given a sentence, if either of them raises.
    """

    def __init__(
        self,
        lesson: Learning,
        *,
        on_layout: Callable[[Mapping[str, Any]], None],
        on_map: Callable[[Mapping[str, Any]], None],
        on_report: Callable[[Mapping[str, Any]], None],
        on_review: Callable[[Mapping[str, Any]], None],
        on_problem: Callable[[str], None],
    ) -> None:
        self._lesson = lesson
        self._on_layout, self._on_map = on_layout, on_map
        self._on_report, self._on_review = on_report, on_review
        self._is_mapped = self._is_reviewed = False
        self._on_problem = on_problem
        self._may_go_on = threading.Event()
        self._placing = Worker(self._place, self._failed, "nearkin-layouts")
        self._arranging = Worker(self._arrange, self._failed, "nearkin-maps")
        self._reporting = Worker(self._report, self._failed, "nearkin-reports")
        self._reviewing = Worker(self._review, self._failed, "nearkin-reviews")

    def start(self) -> None:
        """Begin, with a first layout and report."""
        self.want()
        for worker in self._workers:
            worker.start()

    def want(self) -> None:
        """Have what is known now learned."""
        self._placing.want()

    def make_way(self) -> None:
        """Have reports pause: a change has come, whose layout goes first."""
        self._may_go_on.clear()

    def go_on(self) -> None:
        """Have reports go on: there is no layout to wait for."""
        self._may_go_on.set()

    def want_reviews(self) -> None:
        """Have records reviewed, now and after each change."""
        if not self._is_reviewed:
            self._is_reviewed = True
            self._reviewing.want()

    def want_maps(self, wanted: bool) -> None:
        """Have maps of neighbours made, now and after each change; or none any more."""
        if wanted and not self._is_mapped:
            self._arranging.want()
        self._is_mapped = wanted

    @property
    def _workers(self) -> tuple[Worker, ...]:
        return self._placing, self._arranging, self._reporting, self._reviewing

    def stop(self, patience: float = 10.0) -> bool:
        """End after what is being computed; whether all has ended within some seconds."""
        end = time.monotonic() + patience
        for worker in self._workers:
            worker.stop()
        ended = [worker.join(max(0.0, end - time.monotonic())) for worker in self._workers]
        return all(ended)

    def _place(self) -> None:
        self.make_way()
        try:
            layout = self._lesson.place()
        except Exception:
            self.go_on()
            raise
        self._on_layout(layout)
        if self._is_mapped:
            self._arranging.want()  # what takes longer waits for its first picture
        else:
            self._tell_the_rest()

    def _arrange(self) -> None:
        pictures = self._lesson.arrange()
        try:
            self._on_map(next(pictures))
        finally:
            self._tell_the_rest()
        for picture in pictures:
            if self._arranging.is_ending or not self._is_mapped:
                return
            self._on_map(picture)

    def _tell_the_rest(self) -> None:
        self.go_on()
        self._reporting.want()
        if self._is_reviewed:
            self._reviewing.want()

    def _report(self) -> None:
        with pause_by(lambda: self._may_go_on.wait(_LONGEST_PAUSE)):
            self._on_report(self._lesson.report())

    def _review(self) -> None:
        found = self._lesson.review()
        if found is not None:
            self._on_review(found)

    def _failed(self, error: Exception) -> None:
        self._on_problem(why_it_failed("Learning failed, what you said is kept", error))


# The tabs that are open, and what each of them is still to be told.


# Text goes out as text, bytes as bytes.
Told = str | bytes


class Mailbox:
    """What one tab has not been sent yet: of each kind the newest only.

    A message holds all there is to say of its kind, so the one before it need not be sent any more.
    However slow a tab is, it never has more than one of each kind waiting.

    Attributes
    ----------
    follows : {"axes", "neighbors"}
        Which of the two maps the tab shows.
    """

    def __init__(self) -> None:
        self.follows = "axes"
        self._waiting: dict[str, Told | None] = {}
        self._kinds: set[str] = set()  # that there have been
        self._filled = asyncio.Event()

    def put(self, kind: str, told: Told | None) -> None:
        """Have something sent, in place of an older message of its kind; None cuts the tab off."""
        self._waiting[kind] = told
        self._kinds.add(kind)
        self._filled.set()

    def greet(self, kind: str, told: Told) -> None:
        """Have something sent that was so a moment ago, unless news of its kind have come since."""
        if kind not in self._kinds:
            self.put(kind, told)

    async def next(self) -> Told | None:
        """The message that has waited longest; None if the tab is to be cut off."""
        while not self._waiting:
            self._filled.clear()
            await self._filled.wait()
        return self._waiting.pop(next(iter(self._waiting)))


class Live:
    """All tabs, told the same things.

    Everything runs on the event loop that :meth:`open` was called on, but :meth:`tell` may be
    called by any thread.
    """

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._mailboxes: set[Mailbox] = set()

    def open(self) -> None:
        """Begin, on the event loop that now runs."""
        self._loop = asyncio.get_running_loop()

    def close(self) -> None:
        """End: nothing is told any more."""
        self._loop = None

    def __len__(self) -> int:
        return len(self._mailboxes)

    def join(self) -> Mailbox:
        """A mailbox for one more tab."""
        mailbox = Mailbox()
        self._mailboxes.add(mailbox)
        return mailbox

    def leave(self, mailbox: Mailbox) -> None:
        """Forget a tab that has gone."""
        self._mailboxes.discard(mailbox)

    def are_there(self, follows: str) -> bool:
        """Whether some tab shows one of the maps; on the event loop."""
        return any(mailbox.follows == follows for mailbox in self._mailboxes)

    def cut_off(self) -> None:
        """Close the lines to all tabs, which may connect again."""
        for mailbox in self._mailboxes:
            mailbox.put("end", None)

    def tell(self, kind: str, told: Told, to: Collection[Mailbox] | str | None = None) -> None:
        """Tell all tabs, some, or those that show a map; what one thread tells keeps its order."""
        loop = self._loop
        if loop is not None:
            try:
                loop.call_soon_threadsafe(self._tell, kind, told, to)
            except RuntimeError:  # it has just been closed, and with it all tabs
                return

    def _tell(self, kind: str, told: Told, to: Collection[Mailbox] | str | None) -> None:
        for mailbox in self._mailboxes:
            if to is None or (mailbox.follows == to if isinstance(to, str) else mailbox in to):
                mailbox.put(kind, told)


# Who is here: people have names or at least browsers of their own, and perhaps several tabs.


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


# Whom to ask what, where several people answer: nobody is asked what another is asked just now.


class _Turn(NamedTuple):
    """What somebody is asked: whatever of it is shown, it stays until it is answered.

    Attributes
    ----------
    pair : (int, int)
    second : bool
        Whether it is a second opinion.
    goal : str
        What questions are for.
    which : mapping or None
        A row beside groups, in place of the pair.
    check : mapping or None
        A pair that follows from answers, in place of both.
    """

    pair: Pair
    second: bool
    goal: str
    which: Mapping[str, Any] | None = None
    check: Mapping[str, int] | None = None


class Turns:
    """The question of each person. It stays the same until it is answered, whatever others do.

    Parameters
    ----------
    lesson : Lesson
    """

    def __init__(self, lesson: Lesson) -> None:
        self._lesson = lesson
        self._asked: dict[str, _Turn] = {}
        self._noted: tuple[str, int] | None = None

    def note(self, state: dict[str, Any], person: Person) -> None:
        """Remember what somebody is asked who is alone, should others join.

        Their page shows what it is told after each change, and keeps that until the next one.
        """
        question, noted = state["question"], (person.key, state["version"])
        if self._noted == noted and self._kept(state, person) is not None:
            return
        self._asked, self._noted = {}, None
        if question is not None:
            pair = question["left"], question["right"]
            turn = _Turn(pair, False, state["goal"], state["which"], state["check"])
            self._asked, self._noted = {person.key: turn}, noted

    def own(self, state: dict[str, Any], person: Person, here: Collection[str]) -> dict[str, Any]:
        """A state with what this person is asked.

        Parameters
        ----------
        state : dict
            As all are told.
        person : Person
        here : collection of str
            Keys of everybody who is here.
        """
        self._asked = {key: turn for key, turn in self._asked.items() if key in here}
        turn = self._kept(state, person) or self._next(state, person)
        if turn is None:
            self._asked.pop(person.key, None)
            return state | {"question": None, "which": None, "check": None, "second": False}
        self._asked[person.key] = turn
        left, right = turn.pair
        which = self._lesson.asked_of(turn.pair) if turn.second else turn.which
        own = {"question": {"left": left, "right": right}, "which": which, "check": turn.check}
        return state | own | {"second": turn.second}

    def _kept(self, state: dict[str, Any], person: Person) -> _Turn | None:
        """What somebody is asked, as it is by now; None if it was answered."""
        turn, lesson = self._asked.get(person.key), self._lesson
        if turn is None or turn.goal != state["goal"]:
            return None
        if turn.check is not None and not lesson.still_to_check(turn.check):
            return None
        which = None if turn.which is None else lesson.still_to_place(turn.which)
        if which is None and turn.which is not None:
            return None
        if lesson.still_asked(turn.pair, person.name, turn.second):
            return turn._replace(which=which)
        if which is None or lesson.has_answered(turn.pair, person.name):
            return None
        # Others have answered it, but this person may be looking at the row.
        pair = self._fresh(person)
        return None if pair is None else turn._replace(pair=pair, which=which)

    def _next(self, state: dict[str, Any], person: Person) -> _Turn | None:
        second, fresh = self._lesson.questions_for(person.name, self._taken(person))
        goal = state["goal"]
        if second:
            return _Turn(second[0], True, goal)
        if not fresh:
            return None
        others = [turn for key, turn in self._asked.items() if key != person.key]
        rows = {turn.which["left"] for turn in others if turn.which is not None}
        found = (one for one in self._lesson.rows_to_place() if one["left"] not in rows)
        # What follows from answers is checked by one of them.
        check = None if any(turn.check for turn in others) else state["check"]
        return _Turn(fresh[0], False, goal, next(found, None), check)

    def _fresh(self, person: Person) -> Pair | None:
        _, fresh = self._lesson.questions_for(person.name, self._taken(person))
        return next(iter(fresh), None)

    def _taken(self, person: Person) -> set[Pair]:
        """What others are asked."""
        others = (turn.pair for key, turn in self._asked.items() if key != person.key)
        return {(min(pair), max(pair)) for pair in others}


# What is said to those whose answers another browser overrules.


def overruled_sentence(state: Mapping[str, Any], name: Callable[[int], str]) -> str | None:
    """What of earlier answers a change has taken the place of; None if of nothing.

    Parameters
    ----------
    state : mapping
        As :meth:`nearkin.studio.lesson.Lesson.answer` gives it.
    name : callable
        What a row is called.

    Examples
    --------
    >>> change = {"left": 3, "right": 5, "before": "same", "now": "different"}
    >>> overruled_sentence({"changes": [change], "n_changes": 1}, str)
    'Another browser has said different of 3 and 5, of which same was said before.'
    """
    overruled = [one for one in state.get("changes", ()) if one["before"] != "nothing"]
    if not overruled:
        return None
    first = overruled[0]
    both = f"{name(first['left'])} and {name(first['right'])}"
    more = f" The same goes for more pairs, {state['n_changes']} in all." * (len(overruled) > 1)
    if first["now"] == "disputed":
        return (
            f"People disagree about {both}: somebody else has said the opposite of "
            f"{first['before']}. The list of answers (h) has both, to settle it.{more}"
        )
    if first["now"] == "nothing":
        return f"Another browser has taken back what was said of {both}: {first['before']}.{more}"
    return (
        f"Another browser has said {first['now']} of {both}, of which {first['before']} was said "
        f"before.{more}"
    )


def conflict_sentence(conflict: Conflict, name: Callable[[int], str]) -> str | None:
    """What came to nothing because something else was said before; None if nothing was said.

    Examples
    --------
    >>> conflict_sentence(Conflict("same was said meanwhile.", "same", (3, 5)), str)
    'Another browser disagrees: same was said of 3 and 5. It is asked which is right.'
    """
    if conflict.pair is None:
        return None
    left, right = map(name, conflict.pair)
    said = f"{conflict.said} was said" if conflict.said != "nothing" else "nothing is said"
    return f"Another browser disagrees: {said} of {left} and {right}. It is asked which is right."


# Pictures that are opened at once; each may take as much memory as a large one has pixels.
_MOST_PICTURES = 2
# Maps of which a tab shows one.
CHOICES = ("axes", "neighbors")
# Sentences that a tab which does not listen may have waiting.
_MOST_SENTENCES = 16


class Room:
    """What the routes share.

    Changes come from one thread, one after the other; each is in the journal before its answer goes
    out. Refits run in threads of their own, and so does finding groups when somebody wants them;
    whatever comes of all that is told to every tab. Pictures are made in two more.

    Attributes
    ----------
    lesson : Lesson
    live : Live
    run : str
        Tells this run from others of the same data, whose versions may be lower.
    people : People
    report, review, grouping : mapping or None
        The last ones.
    """

    def __init__(self, lesson: Lesson) -> None:
        self.lesson = lesson
        self.live = Live()
        self.run = secrets.token_hex(8)
        self.people = People()
        self._turns = Turns(lesson)
        self.report: Mapping[str, Any] | None = None
        self.review: Mapping[str, Any] | None = None
        self.grouping: Mapping[str, Any] | None = None
        self._groups = Worker(self._find_groups, self._not_found, "nearkin-groups")
        self._map: bytes | None = None
        self._course = Worker(self._recall, self._not_found, "nearkin-course")
        self._is_closing = False
        self._n_sentences = 0
        self._changes = ThreadPoolExecutor(1, thread_name_prefix="nearkin-changes")
        self._pictures = ThreadPoolExecutor(_MOST_PICTURES, thread_name_prefix="nearkin-pictures")
        self._refits = Refits(
            lesson,
            on_layout=self._tell_layout,
            on_map=self._tell_map,
            on_report=self._tell_report,
            on_review=self._tell_review,
            on_problem=self._tell_problem,
        )

    def open(self) -> None:
        """Begin, on the event loop that now runs."""
        self.live.open()
        self._refits.start()
        self._groups.start()
        self._course.start()

    async def close(self) -> None:
        """End: changes that have begun are finished, refits as soon as they can be."""
        self.live.close()
        self._pictures.shutdown(wait=False, cancel_futures=True)
        await asyncio.to_thread(self._changes.shutdown)
        self._is_closing = True
        self._groups.stop()
        self._course.stop()
        await asyncio.to_thread(self._refits.stop)

    async def change(
        self, by: str, change: Callable[..., dict[str, Any]], *arguments: Any
    ) -> dict[str, Any]:
        """Change what is known, after all changes before this one; gives the new state.

        Whoever does not have this tab, ``by``, is told if it overrules what was said before.
        """
        loop = asyncio.get_running_loop()
        self._refits.make_way()
        return await loop.run_in_executor(self._changes, self._changed, by, change, arguments)

    def _changed(
        self, by: str, change: Callable[..., dict[str, Any]], arguments: tuple[Any, ...]
    ) -> dict[str, Any]:
        try:
            found = change(*arguments)
        except Exception as problem:
            self._refits.go_on()
            if isinstance(problem, Conflict):
                self._tell_others(by, conflict_sentence(problem, self._name))
            raise
        self.tell_state()
        found |= self._own_question(found, by)
        if self.grouping is not None and self.lesson.groups() != self.grouping:
            self._tell_grouping()  # names are others
        self._tell_others(by, overruled_sentence(found, self._name))
        self._refits.want()
        return found

    def _own_question(self, state: dict[str, Any], tab: str) -> dict[str, Any]:
        """What whoever has this tab is asked, if several people are here."""
        here, person = self.people.tabs(), self.people.of_tab(tab)
        return {} if person is None or len(here) < 2 else self._turns.own(state, person, here)

    def hear(self, mailbox: Mailbox, text: str) -> None:
        """What a tab says: who it is, which map it shows, or only that it is there."""
        if text == "ping":
            mailbox.put("pong", _typed("pong", {}))
        elif text in CHOICES:
            self._follow(mailbox, text)
        elif self.people.hear(mailbox, text):
            self._tell_people()

    def leave(self, mailbox: Mailbox) -> None:
        """Forget a tab that has gone."""
        self.live.leave(mailbox)
        self._refits.want_maps(self.live.are_there("neighbors"))
        if self.people.leave(mailbox):
            self._tell_people()

    def _follow(self, mailbox: Mailbox, choice: str) -> None:
        """Tell a tab of the map that it has chosen to show, now and from now on."""
        if choice == mailbox.follows:
            return
        mailbox.follows = choice
        if choice == "axes":
            mailbox.put("layout", layout_bytes(self.lesson.layout("learned")))
        elif self._map is not None:
            mailbox.put("map", self._map)
        self._refits.want_maps(self.live.are_there("neighbors"))

    def _tell_people(self) -> None:
        self.live.tell("people", _typed("people", {"people": self.people.listed()}))
        self._among_changes(self.tell_state)

    def _name(self, row: int) -> str:
        return str(self.lesson.record(row)["id"])[:100]

    def _tell_others(self, by: str, sentence: str | None) -> None:
        if sentence is not None:
            self._n_sentences = (self._n_sentences + 1) % _MOST_SENTENCES
            told = _typed("notice", {"by": by, "message": sentence})
            self.live.tell(f"notice {self._n_sentences}", told)

    async def image(self, row: int, side: int) -> Image | str:
        """Bytes and media type of a row's picture, when it is this one's turn; or why none."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._pictures, self._image, row, side)

    def _image(self, row: int, side: int) -> Image | str:
        found = self.lesson.image(row, side)
        return self.lesson.picture_problem(row) if found is None else found

    async def greet(self, mailbox: Mailbox) -> None:
        """Tell a tab that has just been opened how things stand."""
        state, layout = await asyncio.to_thread(self._standing)
        mailbox.greet("state", state)
        mailbox.greet("layout", layout)
        if self.report is not None:
            mailbox.greet("report", _typed("report", self.report))
        if self.review is not None:
            mailbox.greet("review", _typed("review", self.review))
        if self.grouping is not None:
            mailbox.greet("grouping", _typed("grouping", self.grouping))

    def _standing(self) -> tuple[str, bytes]:
        state = _typed("state", self.lesson.state())
        return state, layout_bytes(self.lesson.layout("learned"))

    def look_again(self) -> None:
        """Learn from what is known now, and tell all tabs: somebody else may have changed it."""
        self._among_changes(self.tell_state)
        self._refits.want()

    def tell_state(self) -> None:
        """Tell all tabs the state; from the thread of changes, so that none overtakes another."""
        state, here = self.lesson.state(), self.people.tabs()
        if len(here) < 2:
            for person, _ in here.values():
                self._turns.note(state, person)
            self.live.tell("state", _typed("state", state))
            return
        for person, tabs in here.values():
            own = self._turns.own(state, person, here)
            self.live.tell("state", _typed("state", own), tabs)

    def _tell_layout(self, layout: Mapping[str, Any]) -> None:
        # Until there is a map of neighbours, the axes are shown in its place.
        self.live.tell("layout", layout_bytes(layout), None if self._map is None else "axes")

    def _tell_map(self, picture: Mapping[str, Any]) -> None:
        self._map = layout_bytes(picture)
        self.live.tell("map", self._map, "neighbors")

    def _tell_report(self, report: Mapping[str, Any]) -> None:
        if self.report is None:
            self._course.want()
        self.report = report
        self.live.tell("report", _typed("report", report))
        # It has brought questions, and the state says which is next.
        self._among_changes(self.tell_state)

    def _among_changes(self, tell: Callable[[], None]) -> None:
        """Tell something from the thread of changes, unless that was closed meanwhile."""
        with suppress(RuntimeError):
            self._changes.submit(tell)

    def look_at_review(self) -> Mapping[str, Any] | None:
        """The last review; tabs are told of it from now on."""
        self._refits.want_reviews()
        return self.review

    def _tell_review(self, review: Mapping[str, Any]) -> None:
        self.review = review
        self.live.tell("review", _typed("review", review))

    def _recall(self) -> None:
        """Find the curve of quality again, and tell all tabs at its end."""
        course = None
        for found in self.lesson.recall():
            if self._is_closing:
                return
            course = found
        if course is not None and self.report is not None:
            self.report = {**self.report, "course": course}
            self.live.tell("report", _typed("report", self.report))

    def want_groups(self) -> None:
        """Have groups found by what is known now; all tabs are told of them."""
        self._groups.want()

    def _find_groups(self) -> None:
        self.lesson.find_groups()
        self._among_changes(self._tell_grouping)

    def _tell_grouping(self) -> None:
        """Tell all tabs of the groups; from the thread of changes, so that no names are older."""
        self.grouping = self.lesson.groups()
        if self.grouping is not None:
            self.live.tell("grouping", _typed("grouping", self.grouping))

    def _not_found(self, error: Exception) -> None:
        self._tell_problem(why_it_failed("Groups could not be found", error))

    def _tell_problem(self, sentence: str) -> None:
        self.live.tell("problem", _typed("problem", {"message": sentence}))


def _typed(kind: str, content: Mapping[str, Any]) -> str:
    return as_json({"type": kind, **content})


# An app that another can take the place of, while all who are connected stay so.


# Seconds that requests to the app before may take to end.
_PATIENCE = 30.0


class Replaceable:
    """The app of a lesson, until another lesson takes its place.

    Requests that come later go to the new app. Those that have begun are finished by the old one,
    which knows of all answers, since both lessons share them; then it ends. Tabs are cut off, and
    find the new lesson when they connect again.

    Parameters
    ----------
    make : callable
        Given a lesson and this, makes an app and its room.
    lesson : Lesson

    Attributes
    ----------
    lesson : Lesson
        The one that is taught now.
    """

    def __init__(
        self, make: Callable[[Lesson, Replaceable], tuple[FastAPI, Room]], lesson: Lesson
    ) -> None:
        self._make, self.lesson = make, lesson
        self._app, self._room = make(lesson, self)
        self._life: AbstractAsyncContextManager[Any] | None = None
        self._n_begun: Counter[int] = Counter()
        self._replacing = asyncio.Lock()
        self._ending: set[asyncio.Task[None]] = set()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve a request, or begin and end with the server."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        app = self._app
        self._n_begun[id(app)] += scope["type"] == "http"
        try:
            await app(scope, receive, send)
        finally:
            self._n_begun[id(app)] -= scope["type"] == "http"

    def openapi(self) -> dict[str, Any]:
        """What requests there are."""
        return self._app.openapi()

    async def replace(self, old: Lesson, lesson: Callable[[], Lesson]) -> bool:
        """Teach another lesson from now on; False if the old one is not taught any more.

        ``lesson`` makes it, in another thread, while the old one goes on.
        """
        async with self._replacing:
            if self.lesson is not old:
                return False
            new = await asyncio.to_thread(lesson)
            app, room = self._make(new, self)
            life = _life_of(app)
            await life.__aenter__()
            before = self._app, self._room, self._life
            self.lesson, self._app, self._room, self._life = new, app, room, life
            task = asyncio.create_task(self._end(*before))
            self._ending.add(task)
            task.add_done_callback(self._ending.discard)
            return True

    async def _end(self, app: FastAPI, room: Room, life: Any) -> None:
        """End an app once its requests are done."""
        room.live.cut_off()
        end = time.monotonic() + _PATIENCE
        while self._n_begun[id(app)] and time.monotonic() < end:
            await asyncio.sleep(0.02)
        await life.__aexit__(None, None, None)
        self._room.look_again()  # at what the other has taken meanwhile

    async def _live(self, receive: Any, send: Any) -> None:
        await receive()
        try:
            self._life = _life_of(self._app)
            await self._life.__aenter__()
        except BaseException as error:
            await send({"type": "lifespan.startup.failed", "message": str(error)})
            raise
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await asyncio.gather(*self._ending, return_exceptions=True)
        await self._life.__aexit__(None, None, None)
        await send({"type": "lifespan.shutdown.complete"})


def _life_of(app: FastAPI) -> AbstractAsyncContextManager[Any]:
    return app.router.lifespan_context(app)
