"""A lesson with all who take part in it: changes in their order, refits, and tabs that follow."""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI

from nearkin.studio.events import LONGEST_NAME
from nearkin.studio.server.encoding import as_json, layout_bytes

if TYPE_CHECKING:
    from nearkin.studio.lesson import Lesson
    from nearkin.studio.pictures import Image


# Seconds that a report waits for what is seen next, at each of its steps.
_LONGEST_PAUSE = 0.5
_LOG = logging.getLogger(__name__)


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
        lesson: Lesson,
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
        self._on_report(self._lesson.report(lambda: self._may_go_on.wait(_LONGEST_PAUSE)))

    def _review(self) -> None:
        found = self._lesson.review()
        if found is not None:
            self._on_review(found)

    def _failed(self, error: Exception) -> None:
        self._on_problem(why_it_failed("Learning failed, what you said is kept", error))


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

    def tell(self, kind: str, told: Told, to: str | None = None) -> None:
        """Tell all tabs, or those that show a map; what one thread tells keeps its order."""
        loop = self._loop
        if loop is not None:
            try:
                loop.call_soon_threadsafe(self._tell, kind, told, to)
            except RuntimeError:  # it has just been closed, and with it all tabs
                return

    def _tell(self, kind: str, told: Told, to: str | None) -> None:
        for mailbox in self._mailboxes:
            if to is None or mailbox.follows == to:
                mailbox.put(kind, told)


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


def read_person(text: str) -> Person | None:
    """The person whose tab says something of itself; None if it says something else.

    Examples
    --------
    >>> read_person('{"browser": "b1", "name": " Ann "}')
    Person(browser='b1', name='Ann')
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
    browser, name = said.get("browser"), said.get("name")
    if not isinstance(browser, str) or not 0 < len(browser) <= _LONGEST_ID:
        return None
    if name is not None and not isinstance(name, str):
        return None
    name = None if name is None else name.strip()[:LONGEST_NAME]
    return Person(browser, name or None)


# Pictures that are opened at once; each may take as much memory as a large one has pixels.
_MOST_PICTURES = 2
# Maps of which a tab shows one.
CHOICES = ("axes", "neighbors")


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
    report, review, grouping : mapping or None
        The last ones.
    """

    def __init__(self, lesson: Lesson) -> None:
        self.lesson = lesson
        self.live = Live()
        self.run = secrets.token_hex(8)
        self._people: dict[Mailbox, Person] = {}  # as far as tabs have said whose they are
        self.report: Mapping[str, Any] | None = None
        self.review: Mapping[str, Any] | None = None
        self.grouping: Mapping[str, Any] | None = None
        self._groups = Worker(self._find_groups, self._not_found, "nearkin-groups")
        self._map: bytes | None = None
        self._recalling = Worker(self._recall, self._not_found, "nearkin-history")
        self._is_closing = False
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
        self._recalling.start()

    async def close(self) -> None:
        """End: changes that have begun are finished, refits as soon as they can be."""
        self.live.close()
        self._pictures.shutdown(wait=False, cancel_futures=True)
        await asyncio.to_thread(self._changes.shutdown)
        self._is_closing = True
        self._groups.stop()
        self._recalling.stop()
        await asyncio.to_thread(self._refits.stop)

    async def change(
        self, change: Callable[..., dict[str, Any]], *arguments: Any
    ) -> dict[str, Any]:
        """Change what is known, after all changes before this one; gives the new state."""
        loop = asyncio.get_running_loop()
        self._refits.make_way()
        return await loop.run_in_executor(self._changes, self._changed, change, arguments)

    def _changed(
        self, change: Callable[..., dict[str, Any]], arguments: tuple[Any, ...]
    ) -> dict[str, Any]:
        try:
            found = change(*arguments)
        except Exception:
            self._refits.go_on()
            raise
        self.tell_state()
        if self.grouping is not None and self.lesson.groups() != self.grouping:
            self._tell_grouping()  # names are others
        self._refits.want()
        return found

    def hear(self, mailbox: Mailbox, text: str) -> None:
        """What a tab says: who it is, which map it shows, or only that it is there."""
        if text == "ping":
            mailbox.put("pong", _typed("pong", {}))
        elif text in CHOICES:
            self._follow(mailbox, text)
        else:
            person = read_person(text)
            if person is not None and person != self._people.get(mailbox):
                self._people[mailbox] = person
                self._tell_people()

    def leave(self, mailbox: Mailbox) -> None:
        """Forget a tab that has gone."""
        self.live.leave(mailbox)
        self._refits.want_maps(self.live.are_there("neighbors"))
        if self._people.pop(mailbox, None) is not None:
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
        everybody = {person.key: asdict(person) for person in self._people.values()}
        self.live.tell("people", _typed("people", {"people": list(everybody.values())}))

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
        self.live.tell("state", _typed("state", self.lesson.state()))

    def _tell_layout(self, layout: Mapping[str, Any]) -> None:
        # Until there is a map of neighbours, the axes are shown in its place.
        self.live.tell("layout", layout_bytes(layout), None if self._map is None else "axes")

    def _tell_map(self, picture: Mapping[str, Any]) -> None:
        self._map = layout_bytes(picture)
        self.live.tell("map", self._map, "neighbors")

    def _tell_report(self, report: Mapping[str, Any]) -> None:
        if self.report is None:
            self._recalling.want()
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
