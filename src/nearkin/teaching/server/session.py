"""A lesson with all who take part in it: changes in their order, refits, and tabs that follow."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from nearkin.teaching.history import Conflict
from nearkin.teaching.server.background import Refits, Worker, why_it_failed
from nearkin.teaching.server.broadcast import Live, Mailbox
from nearkin.teaching.server.encoding import as_json, layout_bytes
from nearkin.teaching.server.overruled import conflict_sentence, overruled_sentence
from nearkin.teaching.server.people import People
from nearkin.teaching.server.turns import Turns

if TYPE_CHECKING:
    from nearkin.teaching.lesson import Lesson
    from nearkin.teaching.thumbnails import Image


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
