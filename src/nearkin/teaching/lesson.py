"""A lesson: data, what was answered of them, the metric learned from that, and pictures of it."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.preprocessing import StandardScaler

from nearkin._types import Ints
from nearkin.errors import InputError
from nearkin.pairs.pairs import Pairs
from nearkin.pairs.supervision import check_roles
from nearkin.questions.outlook import outlook_of
from nearkin.storage.files import StrPath
from nearkin.teaching.answer_book import AnswerBook
from nearkin.teaching.answerers import answerers_of, chances_of, heard
from nearkin.teaching.arranging import Arranging
from nearkin.teaching.asking import Asking, check_origin
from nearkin.teaching.course import Course
from nearkin.teaching.group_links import pairs_of_groups
from nearkin.teaching.in_groups import InGroups
from nearkin.teaching.knowledge import Knowledge, contradictions_of
from nearkin.teaching.listing import Listing
from nearkin.teaching.looking import Seen
from nearkin.teaching.looks import Looks
from nearkin.teaching.plane import aligned
from nearkin.teaching.quality import quality_of, trial_of
from nearkin.teaching.record_review import NEEDS_RAPIDFUZZ, RecordReview, can_compare
from nearkin.teaching.records import Records
from nearkin.teaching.row_checks import checked_name
from nearkin.teaching.scaling import scaling_of
from nearkin.teaching.sharing import Sharing
from nearkin.teaching.spoken import placed_by, telling_pairs
from nearkin.teaching.suspicion import suspects_of
from nearkin.teaching.taught_metric import (
    PlainView,
    checked_learner,
    first_learned,
    learned_after,
    metric_of_records,
    refuse_triplets_for,
    shares_of,
    untaught,
)

# Pairs that a change tells of.
_MOST_CHANGES = 20


class Lesson(Asking, InGroups, Listing, Sharing, Arranging):
    """Teach a metric by answers to "are these two the same?".

    Parameters
    ----------
    records : Records
        The data, see :func:`nearkin.teaching.records.records_of`.
    journal : path, optional
        File that every answer is written to before it counts. If it is there already, the lesson
        goes on where it ended.
    pairs : Pairs, optional
        What is known of rows of ``records.X`` before the first answer. Triplets of it go to the
        journal, so that they need not be given again.
    entries : sequence of dict, optional
        Of a lesson about the same records (its ``entries``) that this one goes on from, unless the
        journal has some of its own.
    learner : KernelBeta, ITML or GMML, optional
        ``ITML(kernel="rbf")`` by default, on 500 landmarks where there are more than 1000 rows.
    standardise : bool, optional
        Give all columns the same deviation first. The metric takes rows as they are all the same.
        By default where columns have units that differ by more than 100.
    strategy : str, default="consolidate"
        How questions are chosen, see :func:`nearkin.suggest_pairs`. With rows that come up at
        random what follows from the answers is a fair test of the metric. ``"neighborhoods"`` asks
        about outliers: it teaches a little more, but quality is judged by the hardest rows then.
    by : str, optional
        Who answers, unless an answer says so itself.
    overlap : float, default=0
        Share of the questions that two people are asked, where several answer.
    seed : int, default=0
    book : AnswerBook, optional
        Of a lesson about the same records, whose answers this one shares from now on.

    Notes
    -----
    Changes (``answer``, ``answer_groups``, ``withdraw``, ``undo``, ``redo``) take milliseconds, and
    are in the journal when they return. ``place`` and ``report`` learn, and ``arrange`` makes the
    map of that; they may run in other threads meanwhile, and speak of what was known when they
    began. Everything else only looks.

    Examples
    --------
    >>> from nearkin.datasets import make_xor
    >>> from nearkin.teaching.lesson import Lesson
    >>> from nearkin.teaching.records import records_of
    >>> X, y = make_xor(200, random_state=0)
    >>> lesson = Lesson(records_of(X))
    >>> for _ in range(20):
    ...     question = lesson.questions()[0]
    ...     left, right = question["left"], question["right"]
    ...     state = lesson.answer(left, right, bool(y[left] == y[right]))
    >>> state["n_answers"]
    20
    >>> lesson.place()["coordinates"].shape
    (200, 2)
    >>> lesson.metric.score(X, y) > 0.9
    True
    """

    def __init__(
        self,
        records: Records,
        *,
        journal: StrPath | None = None,
        pairs: Pairs | None = None,
        entries: Sequence[Mapping[str, Any]] = (),
        learner: Any = None,
        standardise: bool | None = None,
        strategy: str = "consolidate",
        by: str | None = None,
        overlap: float = 0.0,
        seed: int = 0,
        book: AnswerBook | None = None,
    ) -> None:
        Asking.__init__(self, strategy, seed)
        Sharing.__init__(self, overlap)
        InGroups.__init__(self)
        Listing.__init__(self)
        Arranging.__init__(self)
        check_roles(None, pairs, triplets=True)
        if pairs is not None:
            pairs.check_rows(len(records))
        self.records = records
        self._by = None if by is None else checked_name(by)
        self._learner = checked_learner(learner, len(records), seed)
        self._learning = threading.RLock()
        self._course = Course()
        scaled = scaling_of(records, standardise)
        self._scaler = scaled.scaler
        self._explaining = threading.Lock()
        self._rows = records.X if self._scaler is None else self._scaler.transform(records.X)
        self._book = AnswerBook(len(records), pairs) if book is None else book
        self._review, notes = _review_of(records, seed)
        notes = [*scaled.notes, *notes]
        if journal is not None:
            self._book.open(journal, records)
        try:
            self._book.go_on_from(entries)
            self._euclidean = aligned(PlainView(self._rows).coordinates(), None)
            first = first_learned(self._learner, self._rows, self._book.known.told)
            self._seen = Seen(first, aligned(first.view.coordinates(), self._euclidean))
            self._before = shares_of(untaught(first, self._rows))
            self._n_resumed = len(self._book.entries)
            if self._book.entries and book is None:
                self._book.resume()
            self._looks = Looks(records, [*notes, *self._book.notes], seed)
            if pairs is not None:
                refuse_triplets_for(self._learner, len(pairs.closer))
                self._book.order(pairs)
            refuse_triplets_for(self._learner, len(self._book.known.triplets))
            if self._book.entries:
                self.place()
        except BaseException:
            if book is None:
                self.close()
            raise

    # Changes

    def answer(
        self,
        left: int,
        right: int,
        same: bool | None,
        origin: str = "question",
        before: str | None = None,
        by: str | None = None,
    ) -> dict[str, Any]:
        """Say of two rows that they are the same, or different, or that one cannot tell.

        It takes the place of what was said of them before, as long as that is what was believed.

        Parameters
        ----------
        left, right : int
            Row numbers of ``records.X``.
        same : bool or None
            None for unsure: they are not asked about again, and nothing is learned.
        origin : str
            Where it was answered, for the journal: one of ``ORIGINS``. From ``"sought"`` the left
            row was looked for, so that it is no fair test; from ``"check"`` the answer was known to
            follow. What settles a ``"conflict"`` is nobody's own answer: what each of them said
            stays.
        before : {"same", "different", "unsure", "disputed", "nothing"}, optional
            What whoever answers believes to be said of the two. Without, whatever it is.
        by : str, optional
            Who answers. What each of several people said last of two rows is kept, to tell how
            reliable they are.

        Returns
        -------
        dict
            As :meth:`state`, with ``changes``: pairs with what was said of them ``before`` and is
            ``now``. All changes give these.

        Raises
        ------
        Conflict
            If something else was said meanwhile, by somebody else: neither that nor this. Nothing
            is changed. Where both are named and nothing was believed to be said, both answers are
            kept instead: the pair is disputed, and teaches nothing, until somebody settles it.
        """
        check_origin(origin)
        entry = {"do": "answer", "left": left, "right": right, "same": same, "origin": origin}
        return self._change(self._voiced(entry, by), before=before)

    def _voiced(self, entry: dict[str, Any], by: str | None) -> dict[str, Any]:
        """An entry with who says it, if that is known."""
        name = self._by if by is None else by
        return entry if name is None else entry | {"by": checked_name(name)}

    def answer_groups(
        self,
        first: Sequence[int],
        second: Sequence[int],
        same: bool,
        before: str | None = None,
        by: str | None = None,
    ) -> dict[str, Any]:
        """Say of two groups of rows that all of them are the same, or that the two differ.

        Parameters
        ----------
        first, second : sequence of int
            Row numbers, none in both.
        same : bool
        before : str, optional
            With ``"nothing"`` it is a Conflict if one of these pairs was said to be otherwise.
        by : str, optional
            Who answers.

        Returns
        -------
        dict
            As :meth:`answer`, with ``n_pairs`` that were made of it and ``n_possible`` that follow.
            See :func:`nearkin.teaching.group_links.pairs_of_groups`.
        """
        links, n_possible = pairs_of_groups(first, second, bool(same), len(self.records))
        entry = {"do": "groups", "first": list(first), "second": list(second), "same": same}
        entry["origin"] = "group"
        return self._change(self._voiced(entry, by), before=before) | {
            "n_pairs": len(links),
            "n_possible": n_possible,
        }

    def withdraw(self, left: int, right: int, before: str | None = None) -> dict[str, Any]:
        """Take back what was said of two rows, whenever that was; ``before`` as in ``answer``."""
        return self._change({"do": "withdraw", "left": left, "right": right}, before=before)

    def answer_order(self, anchor: int, closer: int, farther: int) -> dict[str, Any]:
        """Say of a row that it is nearer to one than to another.

        It takes the place of the opposite. ValueError if distances cannot follow it beside others.

        Parameters
        ----------
        anchor, closer, farther : int
            Row numbers of ``records.X``.

        Returns
        -------
        dict
            As :meth:`answer`.
        """
        refuse_triplets_for(self._learner, 1)
        return self._change({"do": "closer", "triplets": [[anchor, closer, farther]]})

    def withdraw_order(self, anchor: int, closer: int, farther: int) -> dict[str, Any]:
        """Take back that a row is nearer to one than to another, whenever that was said."""
        return self._change({"do": "withdraw", "triplet": [anchor, closer, farther]})

    def undo(self, version: int | None = None, step: int | None = None) -> dict[str, Any]:
        """Take back the last change; ValueError if there is none.

        With a version it is a Conflict if there were changes after that one. With a step, the
        version that a change led to, that change is taken back whatever came after it; it is a
        Conflict if something else was said of its rows since. Where that was a choice among groups,
        there is ``undone``: the question, as ``which`` of :meth:`state`.
        """
        state = self._change(_stepped("undo", step), version=version)
        which = self._which_of(self._book.undone)
        return state if which is None else state | {"undone": which}

    def redo(self, version: int | None = None, step: int | None = None) -> dict[str, Any]:
        """Do again what was taken back last; ValueError if there is nothing. As ``undo``."""
        return self._change(_stepped("redo", step), version=version)

    def _change(
        self, entry: dict[str, Any], *, before: str | None = None, version: int | None = None
    ) -> dict[str, Any]:
        known, changes = self._book.change(entry, before=before, version=version)
        told = {"changes": changes[:_MOST_CHANGES], "n_changes": len(changes)}
        return self._state_of(known) | told

    # What is known

    def state(self) -> dict[str, Any]:
        """Counts, and the next question, as plain values.

        Returns
        -------
        dict
            ``version``, which grows by one with every change; ``n_answers``, ``n_same``,
            ``n_different``, ``n_unsure``, ``n_disputed``, of answers; ``n_must_link``,
            ``n_cannot_link``, of pairs that these speak of; ``n_triplets``; ``can_undo``,
            ``can_redo`` and ``last_by``, who made the change that is undone next; ``overlap``;
            ``conflicts``, the number of different pairs that follow to be the same;
            ``question``, the first of the last report's questions that is still open, or None;
            ``which``, what to ask in its place, see :meth:`answer_which`, if there are groups to
            choose from: ``left``, ``rows``, their ``groups``, and ``origin``; if there is but one
            of ``rows``, whether the two are the same; ``check``, a pair that follows from answers,
            if it is time to see whether these are right; and ``goal``, what questions are for.
        """
        return self._state_of(self._book.known)

    def _state_of(self, known: Knowledge) -> dict[str, Any]:
        own = {"last_by": self._book.last_by, "overlap": self.overlap}
        return known.state() | self._asked(known) | own

    def known(self) -> dict[str, Any]:
        """All pairs and triplets that something is said of, as flat lists of row numbers."""
        return self._book.known.listed()

    @property
    def entries(self) -> list[dict[str, Any]]:
        """All that was answered and undone, as the journal has it."""
        return self._book.entries

    @property
    def notes_on_answers(self) -> list[str]:
        """What is to be said of the pairs that were given, and of the journal."""
        return list(self._book.notes)

    @property
    def journal(self) -> Path | None:
        """Where answers are kept, None if only in memory."""
        return self._book.path

    @property
    def pairs(self) -> Pairs:
        """What is known, as rows of ``records.X``; without what someone was unsure of."""
        return self._book.known.pairs + self._book.known.triplets

    # Learning

    def place(self) -> dict[str, Any]:
        """Learn from all that is known, and give the picture of it.

        Returns
        -------
        dict
            ``version`` of the knowledge, and ``coordinates``, a float32 array of shape (n, 2) that
            is turned towards the picture before.
        """
        seen = self._newest()[1]
        return {"version": seen.learned.version, "coordinates": seen.coordinates}

    def _newest(self) -> tuple[Knowledge, Seen]:
        with self._learning:
            known, seen = self._book.known, self._seen
            if known.version == seen.learned.version:
                return known, seen
            before = seen.learned
            if before.succeeded and known.told == before.step.told:
                seen = replace(seen, learned=replace(before, version=known.version))
            else:
                learned = learned_after(before, self._rows, known.told, known.version)
                turned = aligned(learned.view.coordinates(), seen.coordinates)
                turned.setflags(write=False)
                seen = Seen(learned, turned)
            self._seen = seen
            return known, seen

    def report(self) -> dict[str, Any]:
        """The next questions, how good the metric is, and which answers look wrong.

        Returns
        -------
        dict
            ``version``, ``learner``, ``quality``, ``course`` of quality over answers, ``outlook``,
            ``spectrum``, ``suspects``, ``contradictions``, ``answerers``, ``questions`` and
            ``notes``: plain values.
        """
        known, seen = self._newest()
        learned = seen.learned
        questions = self._ask(known, learned)
        trial = trial_of(
            learned, self._rows, known.told, self._seed, self._sought(), placed_by(known.spoken)
        )
        quality = quality_of(trial)
        self._course.add(known.n_answers, quality)
        telling = telling_pairs(known.spoken, chances_of(trial, known.pairs))
        self._heard = found = heard(trial, known, telling)
        return {
            "version": known.version,
            "learner": learned.step.described(self._scaler),
            "quality": quality,
            "course": self._course.listed(),
            "outlook": outlook_of(self._rows, known.pairs, known.counts.told),
            "spectrum": {"before": self._before, "after": shares_of(learned.view)},
            "contradictions": contradictions_of(known),
            "suspects": [
                one | self._said_in(one["left"], one["right"])
                for one in suspects_of(
                    trial,
                    known.pairs,
                    self.records.ids,
                    known.spoken,
                    telling,
                    self._n_disputes(),
                )
            ],
            "answerers": answerers_of(found),
            "questions": questions,
            "notes": [*self._looks.notes, *learned.notes],
        }

    def recall(self) -> Iterator[list[dict[str, float]]]:
        """How good the metric was earlier, found again from the journal: point by point.

        Whoever goes on with a lesson sees the whole curve by it. It takes as long as some reports.
        """
        sought = self._sought()
        for n in self._course.missing(self._n_resumed):
            known = self._book.after_entries(n)
            learned = learned_after(self._seen.learned, self._rows, known.told, known.version)
            trial = trial_of(learned, self._rows, known.told, self._seed, sought)
            self._course.fill(known.n_answers, quality_of(trial))
            yield self._course.listed()

    def _n_disputes(self) -> int:
        """How often people have said opposite things: one of them is wrong each time."""
        settled = sum(bool(entry.get("settles")) for entry in self._book.entries)
        return settled + self._book.known.counts.disputed

    def _sought(self) -> Ints:
        """Rows that were looked for, which are no fair test."""
        entries = self._book.entries
        rows = {entry["left"] for entry in entries if entry.get("origin") == "sought"}
        return np.array(sorted(rows), dtype=np.int64)

    def review(self) -> dict[str, Any] | None:
        """Doubtful pairs of records, and how good the groups are; None if there are no records.

        See :meth:`nearkin.teaching.record_review.RecordReview.after`. It learns as ``report`` does,
        and takes longer the first time.
        """
        return None if self._review is None else self._review.after(self._book.known)

    @property
    def metric(self) -> Any:
        """A copy of the metric that all that is known gives; it takes rows as ``records.X``.

        ValueError if the learner can make nothing of what is known.
        """
        return metric_of_records(self._newest()[1].learned, self.records, self._scaler)

    def column_roles(self) -> dict[str, Any]:
        """What is learned from and what is not, as plain values.

        Returns
        -------
        dict
            ``columns``, each with ``name``, ``kind``, whether it is ``learned`` from, ``why`` not,
            and whether it ``can`` be; none of an array, whose columns have no names. And whether
            columns are ``standardised``.
        """
        choice = self.records.choice
        return {
            "columns": [] if choice is None else choice.listed(),
            "standardised": isinstance(self._scaler, StandardScaler),
        }

    def learning_from(self, columns: Sequence[str], standardise: bool | None = None) -> Lesson:
        """A lesson about the same records and with the same answers that learns from others.

        Parameters
        ----------
        columns : sequence of str
            Of those that :meth:`column_roles` lists.
        standardise : bool, optional
            As for a new lesson.

        Returns
        -------
        Lesson
            Answers of either are known to both. Close one of them only.
        """
        choice = self.records.choice
        if choice is None:
            raise InputError("these are rows of an array, which is learned from as it is.")
        records = choice.records(columns)
        if len(records) != len(self.records):
            raise InputError("the data have changed since the studio was opened: open it anew.")
        found = Lesson(
            records,
            learner=self._learner,
            standardise=standardise,
            strategy=self._strategies[self._goal],
            by=self._by,
            overlap=self.overlap,
            seed=self._seed,
            book=self._book,
        )
        found.place()
        return found

    def close(self) -> None:
        """Let others have the journal, once a change that has begun is in it.

        Closing twice does no harm.
        """
        self._book.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def _stepped(do: str, step: int | None) -> dict[str, Any]:
    return {"do": do} if step is None else {"do": do, "step": step}


def _review_of(records: Records, seed: int) -> tuple[RecordReview | None, list[str]]:
    """The review of records, or a word on why there is none.

    Of rows that are learned from by numbers, "same" may mean the same kind, not the same thing.
    """
    if not records.are_things:
        return None, []
    return (RecordReview(records, seed), []) if can_compare() else (None, [NEEDS_RAPIDFUZZ])
