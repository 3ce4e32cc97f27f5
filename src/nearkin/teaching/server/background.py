"""Learning anew, in threads of its own, for whatever is known at the time."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

from nearkin.rows.parallel import pausing

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
        with pausing(lambda: self._may_go_on.wait(_LONGEST_PAUSE)):
            self._on_report(self._lesson.report())

    def _review(self) -> None:
        found = self._lesson.review()
        if found is not None:
            self._on_review(found)

    def _failed(self, error: Exception) -> None:
        self._on_problem(why_it_failed("Learning failed, what you said is kept", error))
