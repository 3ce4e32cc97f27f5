"""A running lesson: changes in order, learning in threads, and news to all tabs."""

from __future__ import annotations

import asyncio
import logging
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from nearkin.studio.events import LONGEST_NAME
from nearkin.studio.server.encoding import as_json, encode_layout

if TYPE_CHECKING:
    from nearkin.studio.lesson import Lesson
    from nearkin.studio.pictures import Image


# Seconds that a report waits for what is seen next, at each of its steps.
_LONGEST_PAUSE = 0.5
_LOG = logging.getLogger(__name__)


class Worker(threading.Thread):
    """A thread that runs one job on request; requests during a run lead to one more run.

    ``on_error`` is called with what the job raises, and the thread goes on.
    """

    def __init__(
        self, job: Callable[[], None], on_error: Callable[[Exception], None], name: str
    ) -> None:
        super().__init__(name=name, daemon=True)
        self._job, self._on_error = job, on_error
        self._wishes = threading.Condition()
        self._wanted = False
        self.is_ending = False  # so a long job may stop early

    def want(self) -> None:
        """Request a run of the job that begins after this moment."""
        with self._wishes:
            self._wanted = True
            self._wishes.notify()

    def stop(self) -> None:
        """End the thread after the present run, without waiting for it."""
        with self._wishes:
            self.is_ending = True
            self._wishes.notify()

    def run(self) -> None:
        """Run the job on each request until the end."""
        while True:
            with self._wishes:
                self._wishes.wait_for(lambda: self._wanted or self.is_ending)
                self._wanted = False
            if self.is_ending:
                return
            try:
                self._job()
            except Exception as error:  # whatever it is, the next wish may fare better
                self._on_error(error)


class Refits:
    """Learning after changes, in threads; the newest knowledge wins.

    Changes during learning are learned together, once. When the layout is out, the map of
    neighbours begins in a second thread, if somebody looks at it. After its first picture, or
    without maps after the layout, a report begins in a third thread, and pauses while the next
    layout is learned. A fourth thread makes reviews, once somebody wants to see them.

    ``tell`` is called in these threads with "layout", "map", "report" or "review" and the result of
    :meth:`Lesson.place`, :meth:`Lesson.arrange`, :meth:`Lesson.report` or :meth:`Lesson.review`;
    with "problem" and ``message``, a sentence, if one of them raises.
    """

    def __init__(self, lesson: Lesson, tell: Callable[[str, Mapping[str, Any]], None]) -> None:
        self._lesson, self._tell = lesson, tell
        self._is_mapped = self._is_reviewed = False
        self._may_go_on = threading.Event()
        self._placing = Worker(self._place, self._tell_failure, "nearkin-layouts")
        self._arranging = Worker(self._arrange, self._tell_failure, "nearkin-maps")
        self._reporting = Worker(self._report, self._tell_failure, "nearkin-reports")
        self._reviewing = Worker(self._review, self._tell_failure, "nearkin-reviews")
        self._workers = self._placing, self._arranging, self._reporting, self._reviewing

    def start(self) -> None:
        """Start the threads, with a first layout and report."""
        self.want()
        for worker in self._workers:
            worker.start()

    def want(self) -> None:
        """Request learning from the newest knowledge."""
        self._placing.want()

    def make_way(self) -> None:
        """Pause reports, since a change has come whose layout goes first."""
        self._may_go_on.clear()

    def go_on(self) -> None:
        """Let reports go on, since no layout is waited for."""
        self._may_go_on.set()

    def want_reviews(self) -> None:
        """Request a review of records, now and after each change."""
        if not self._is_reviewed:
            self._is_reviewed = True
            self._reviewing.want()

    def want_maps(self, wanted: bool) -> None:
        """Request maps of neighbours, now and after each change, or no more maps."""
        if wanted and not self._is_mapped:
            self._arranging.want()
        self._is_mapped = wanted

    def stop(self, patience: float = 10.0) -> bool:
        """End all threads; return whether they have ended within ``patience`` seconds."""
        end = time.monotonic() + patience
        for worker in self._workers:
            worker.stop()
        started = [worker for worker in self._workers if worker.ident is not None]
        for worker in started:
            worker.join(max(0.0, end - time.monotonic()))
        return not any(worker.is_alive() for worker in started)

    def _place(self) -> None:
        """Learn the layout, hand it on, and request what follows it: a thread's job."""
        self.make_way()
        try:
            layout = self._lesson.place()
        except Exception:
            self.go_on()
            raise
        self._tell("layout", layout)
        if self._is_mapped:
            self._arranging.want()  # what takes longer waits for its first picture
        else:
            self._tell_the_rest()

    def _arrange(self) -> None:
        """Make the map of neighbours, and hand on each picture of it: a thread's job."""
        pictures = self._lesson.arrange()
        try:
            self._tell("map", next(pictures))
        finally:
            self._tell_the_rest()
        for picture in pictures:
            if self._arranging.is_ending or not self._is_mapped:
                return
            self._tell("map", picture)

    def _tell_the_rest(self) -> None:
        """Request the report, and the review if somebody looks at reviews."""
        self.go_on()
        self._reporting.want()
        if self._is_reviewed:
            self._reviewing.want()

    def _report(self) -> None:
        """Make a report that pauses for layouts, and hand it on: a thread's job."""
        report = self._lesson.report(lambda: self._may_go_on.wait(_LONGEST_PAUSE))
        self._tell("report", report)

    def _review(self) -> None:
        """Make a review, and hand it on: a thread's job."""
        found = self._lesson.review()
        if found is not None:
            self._tell("review", found)

    def _tell_failure(self, error: Exception) -> None:
        """Hand on a sentence on an error of learning."""
        _LOG.debug("learning failed", exc_info=error)
        said = " ".join(str(error).split()) or type(error).__name__
        message = f"Learning failed, what you said is kept: {said}"
        self._tell("problem", {"message": message})


# Text goes out as text, bytes as bytes.
Message = str | bytes


class Mailbox:
    """The messages that one tab has not been sent yet: the newest of each kind.

    A message holds all there is to say of its kind, so it replaces the one before. However slow a
    tab is, at most one message of each kind waits.
    """

    def __init__(self) -> None:
        self.follows = "axes"  # which of the two maps the tab shows, one of CHOICES
        self._waiting: dict[str, Message | None] = {}
        self._kinds: set[str] = set()  # that there have been
        self._filled = asyncio.Event()

    def put(self, kind: str, message: Message | None) -> None:
        """Queue a message in place of an older one of its kind; None disconnects the tab."""
        self._waiting[kind] = message
        self._kinds.add(kind)
        self._filled.set()

    def greet(self, kind: str, message: Message) -> None:
        """Queue a message that may be outdated, unless one of its kind was queued before."""
        if kind not in self._kinds:
            self.put(kind, message)

    async def next(self) -> Message | None:
        """Wait for and return the oldest message; None if the tab is to be disconnected."""
        while not self._waiting:
            self._filled.clear()
            await self._filled.wait()
        return self._waiting.pop(next(iter(self._waiting)))


class Live:
    """The mailboxes of all tabs.

    All methods run on the event loop that :meth:`open` was called on, except :meth:`tell`, which
    any thread may call.
    """

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._mailboxes: set[Mailbox] = set()

    def open(self) -> None:
        """Start, on the running event loop."""
        self._loop = asyncio.get_running_loop()

    def close(self) -> None:
        """Stop sending messages."""
        self._loop = None

    def __len__(self) -> int:
        return len(self._mailboxes)

    def join(self) -> Mailbox:
        """Add a tab, and return its mailbox."""
        mailbox = Mailbox()
        self._mailboxes.add(mailbox)
        return mailbox

    def leave(self, mailbox: Mailbox) -> None:
        """Remove the mailbox of a tab that has gone."""
        self._mailboxes.discard(mailbox)

    def are_there(self, follows: str) -> bool:
        """Whether some tab shows the map ``follows``."""
        return any(mailbox.follows == follows for mailbox in self._mailboxes)

    def cut_off(self) -> None:
        """Disconnect all tabs, which may connect again."""
        for mailbox in self._mailboxes:
            mailbox.put("end", None)

    def tell(self, kind: str, message: Message, to: str | None = None) -> None:
        """Send a message to all tabs, or those that show the map ``to``; from any thread."""
        loop = self._loop
        if loop is not None:
            with suppress(RuntimeError):  # it has just been closed, and with it all tabs
                loop.call_soon_threadsafe(self._tell, kind, message, to)

    def _tell(self, kind: str, message: Message, to: str | None) -> None:
        """Put a message in the mailboxes, on the event loop."""
        for mailbox in self._mailboxes:
            if to is None or mailbox.follows == to:
                mailbox.put(kind, message)


_LONGEST_ID = 40
# Of what a tab says of itself.
_LONGEST = 1000


class Person(BaseModel):
    """Someone who answers: by name, or whoever uses a browser."""

    model_config = ConfigDict(frozen=True)
    # Id of the browser; all its tabs are one person.
    browser: Annotated[str, Field(min_length=1, max_length=_LONGEST_ID)]
    name: str | None = None

    @field_validator("name")
    @classmethod
    def _shorten_name(cls, name: str | None) -> str | None:
        """Leave out blanks around a name, and what is too long; None if nothing is left."""
        return (name or "").strip()[:LONGEST_NAME] or None

    @property
    def key(self) -> str:
        """Key of the person: the name, whatever the browser, or else the browser."""
        return f"browser {self.browser}" if self.name is None else f"name {self.name}"


def read_person(text: str) -> Person | None:
    """Decode the message by which a tab names its person; None if it is no such message.

    >>> read_person('{"browser": "b1", "name": " Ann "}')
    Person(browser='b1', name='Ann')
    >>> read_person("ping")
    """
    try:
        return Person.model_validate_json(text) if len(text) <= _LONGEST else None
    except ValidationError:
        return None


# Pictures that are opened at once; each may take as much memory as a large one has pixels.
_MOST_PICTURES = 2
# Maps of which a tab shows one.
CHOICES = ("axes", "neighbors")


class Room:
    """A lesson with its threads and tabs, shared by all routes.

    One thread applies changes, one after the other; each is in the journal before its reply goes
    out. Learning runs in threads of their own, whose results go to every tab. Two more threads read
    pictures.
    """

    def __init__(self, lesson: Lesson) -> None:
        self.lesson = lesson
        self.live = Live()
        # Versions of another run of the same data may be lower.
        self.run = secrets.token_hex(8)
        self._people: dict[Mailbox, Person] = {}  # as far as tabs have said whose they are
        # The last of each.
        self.report: Mapping[str, Any] | None = None
        self.review: Mapping[str, Any] | None = None
        self._map: bytes | None = None
        self._changes = ThreadPoolExecutor(1, thread_name_prefix="nearkin-changes")
        self._pictures = ThreadPoolExecutor(_MOST_PICTURES, thread_name_prefix="nearkin-pictures")
        self._refits = Refits(lesson, self._tell)

    def open(self) -> None:
        """Start the threads, on the running event loop."""
        self.live.open()
        self._refits.start()

    async def give_way(self) -> None:
        """End once what has begun is done: another room takes over, and shares the answers."""
        self.live.cut_off()
        await asyncio.to_thread(self._pictures.shutdown)
        await self.close()

    async def close(self) -> None:
        """Stop all threads; changes that have begun are finished."""
        self.live.close()
        self._pictures.shutdown(wait=False, cancel_futures=True)
        await asyncio.to_thread(self._changes.shutdown)
        await asyncio.to_thread(self._refits.stop)

    async def change(self, change: Callable[[Lesson], dict[str, Any]]) -> dict[str, Any]:
        """Change answers of the lesson, one change after the other; returns the new state."""
        loop = asyncio.get_running_loop()
        self._refits.make_way()
        return await loop.run_in_executor(self._changes, self._apply_change, change)

    def _apply_change(self, change: Callable[[Lesson], dict[str, Any]]) -> dict[str, Any]:
        """Apply a change in the thread of changes, tell all tabs, and request learning."""
        try:
            found = change(self.lesson)
        except Exception:
            self._refits.go_on()
            raise
        self.tell_state()
        self._refits.want()
        return found

    def hear(self, mailbox: Mailbox, text: str) -> None:
        """Handle a message of a tab: its person, the map that it shows, or "ping"."""
        if text == "ping":
            mailbox.put("pong", _encode_message("pong", {}))
        elif text in CHOICES:
            self._follow(mailbox, text)
        else:
            person = read_person(text)
            if person is not None and person != self._people.get(mailbox):
                self._people[mailbox] = person
                self._tell_people()

    def leave(self, mailbox: Mailbox) -> None:
        """Remove a tab that has gone, and tell the others who is still there."""
        self.live.leave(mailbox)
        self._refits.want_maps(self.live.are_there("neighbors"))
        if self._people.pop(mailbox, None) is not None:
            self._tell_people()

    def _follow(self, mailbox: Mailbox, choice: str) -> None:
        """Send a tab the map that it has chosen to show, now and from now on."""
        if choice == mailbox.follows:
            return
        mailbox.follows = choice
        if choice == "axes":
            mailbox.put("layout", encode_layout(self.lesson.layout()))
        elif self._map is not None:
            mailbox.put("map", self._map)
        self._refits.want_maps(self.live.are_there("neighbors"))

    def _tell_people(self) -> None:
        """Send all tabs the list of people."""
        everybody = {person.key: person.model_dump() for person in self._people.values()}
        self.live.tell("people", _encode_message("people", {"people": list(everybody.values())}))

    async def image(self, row: int, side: int) -> Image | str:
        """Read a row's picture in a thread: bytes and media type, or why there is none."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._pictures, self.lesson.records.image, row, side)

    async def greet(self, mailbox: Mailbox) -> None:
        """Send a new tab the state, layout, report and review of this moment."""
        state, layout = await asyncio.to_thread(self._current_messages)
        mailbox.greet("state", state)
        mailbox.greet("layout", layout)
        if self.report is not None:
            mailbox.greet("report", _encode_message("report", self.report))
        if self.review is not None:
            mailbox.greet("review", _encode_message("review", self.review))

    def _current_messages(self) -> tuple[str, bytes]:
        """Encode the state and the layout of this moment."""
        state = _encode_message("state", self.lesson.state())
        return state, encode_layout(self.lesson.layout())

    def look_again(self) -> None:
        """Tell all tabs the state and learn again, since another lesson may have added answers."""
        self._run_after_changes(self.tell_state)
        self._refits.want()

    def tell_state(self) -> None:
        """Send all tabs the state; called in the thread of changes, so that none comes too late."""
        self.live.tell("state", _encode_message("state", self.lesson.state()))

    def _tell(self, kind: str, found: Mapping[str, Any]) -> None:
        """Send tabs a result of learning, or a problem."""
        if kind == "layout":
            # Until there is a map of neighbours, the axes are shown in its place.
            self.live.tell(kind, encode_layout(found), None if self._map is None else "axes")
            return
        if kind == "map":
            self._map = encode_layout(found)
            self.live.tell(kind, self._map, "neighbors")
            return
        if kind == "report":
            self.report = found
        elif kind == "review":
            self.review = found
        self.live.tell(kind, _encode_message(kind, found))
        if kind == "report":  # the state holds its next question
            self._run_after_changes(self.tell_state)

    def _run_after_changes(self, tell: Callable[[], None]) -> None:
        """Call a function in the thread of changes, unless that was closed meanwhile."""
        with suppress(RuntimeError):
            self._changes.submit(tell)

    def look_at_review(self) -> Mapping[str, Any] | None:
        """Return the last review, and request new ones for all tabs from now on."""
        self._refits.want_reviews()
        return self.review


def _encode_message(kind: str, content: Mapping[str, Any]) -> str:
    """Encode a message to tabs as JSON, with its kind as ``type``."""
    return as_json({"type": kind, **content})


class Sessions:
    """The room of the lesson that is taught now; where other columns are chosen, another opens.

    Tabs are disconnected then, and find the new room when they connect again.
    """

    def __init__(self, lesson: Lesson) -> None:
        self.room = Room(lesson)
        self._replacing = asyncio.Lock()
        self._ending: set[asyncio.Task[None]] = set()

    @property
    def lesson(self) -> Lesson:
        """The lesson that is taught now."""
        return self.room.lesson

    async def replace(self, old: Lesson, lesson: Callable[[], Lesson]) -> bool:
        """Teach another lesson from now on; returns False if ``old`` is not taught any more.

        ``lesson`` makes the new one, in another thread, while the old one goes on.
        """
        async with self._replacing:
            if self.lesson is not old:
                return False
            room, before = Room(await asyncio.to_thread(lesson)), self.room
            room.open()
            self.room = room
            task = asyncio.create_task(self._end(before))
            self._ending.add(task)
            task.add_done_callback(self._ending.discard)
            return True

    async def _end(self, before: Room) -> None:
        """End the room of before, and learn what was answered there meanwhile."""
        await before.give_way()
        self.room.look_again()

    async def close(self) -> None:
        """Close all rooms."""
        await asyncio.gather(*self._ending, return_exceptions=True)
        await self.room.close()
