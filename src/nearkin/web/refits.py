"""Learning anew, in a thread of its own, for whatever is known at the time."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol

_LOG = logging.getLogger(__name__)
# Seconds that a change may wait for the report while other changes keep coming.
_REPORT_AFTER = 1.0


class Learning(Protocol):
    """The slow part of a lesson."""

    def place(self) -> dict[str, Any]:
        """Learn from the newest knowledge, and say where all points are now."""

    def report(self) -> dict[str, Any]:
        """How good the metric is, and what to ask next."""


class Refits:
    """A worker that learns again after changes; the newest knowledge wins.

    Changes that come while it learns are learned together, once. Layouts come first: a report is
    made when no change is waiting for its layout, or when the last report is a second old.

    Parameters
    ----------
    lesson : Lesson
    on_layout, on_report : callable
        Given what :meth:`Lesson.place` and :meth:`Lesson.report` give, in the worker's thread.
    on_problem : callable
        Given a sentence, if either of them raises.
    """

    def __init__(
        self,
        lesson: Learning,
        *,
        on_layout: Callable[[Mapping[str, Any]], None],
        on_report: Callable[[Mapping[str, Any]], None],
        on_problem: Callable[[str], None],
    ) -> None:
        self._lesson = lesson
        self._on_layout, self._on_report = on_layout, on_report
        self._on_problem = on_problem
        self._changed = threading.Condition()
        self._wanted = False
        self._ending = False
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin, with a first layout and report."""
        self._thread = threading.Thread(target=self._work, name="nearkin-refits", daemon=True)
        self.want()
        self._thread.start()

    def want(self) -> None:
        """Have what is known now learned."""
        with self._changed:
            self._wanted = True
            self._changed.notify()

    def stop(self, patience: float = 10.0) -> bool:
        """End after what is being computed; whether it has ended within some seconds."""
        with self._changed:
            self._ending = True
            self._changed.notify()
        if self._thread is None:
            return True
        self._thread.join(patience)
        return not self._thread.is_alive()

    def _work(self) -> None:
        reported = 0.0
        while self._awaited():
            if not self._tried(self._lesson.place, self._on_layout):
                continue
            overdue = time.monotonic() - reported > _REPORT_AFTER
            if overdue or not self._is_wanted():
                self._tried(self._lesson.report, self._on_report)
                reported = time.monotonic()

    def _awaited(self) -> bool:
        """Wait for a change; False at the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._wanted or self._ending)
            self._wanted = False
            return not self._ending

    def _is_wanted(self) -> bool:
        with self._changed:
            return self._wanted or self._ending

    def _tried(
        self, compute: Callable[[], dict[str, Any]], give: Callable[[Mapping[str, Any]], None]
    ) -> bool:
        try:
            give(compute())
        except Exception as error:  # whatever it is, the next change is learned again
            _LOG.debug("a refit failed", exc_info=True)
            said = " ".join(str(error).split()) or type(error).__name__
            self._on_problem(f"Learning failed, what you said is kept: {said}")
            return False
        return True
