"""A lesson: data, answers about them, the metric learned from these, and pictures of it."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self, get_args

import numpy as np
from sklearn.preprocessing import StandardScaler

from nearkin._types import Ints
from nearkin.errors import InputError
from nearkin.pairs.pairs import Pairs
from nearkin.pairs.supervision import check_roles
from nearkin.storage.files import StrPath
from nearkin.studio import reports
from nearkin.studio.answers import AnswerBook, AnswerList
from nearkin.studio.events import (
    Answer,
    Ask,
    Event,
    Groups,
    Origin,
    PairsEvent,
    Redo,
    Split,
    Undo,
    Which,
    Withdraw,
    check_choice,
    check_name,
    deduplicate_rows,
)
from nearkin.studio.find import Finder, Wanted
from nearkin.studio.groups import GroupContents, LikelyGroups, join_neighbors, place_rows
from nearkin.studio.knowledge import Knowledge, contradictions_of, find_placers, telling_pairs
from nearkin.studio.metric import (
    NeighborMaps,
    PictureSeries,
    PlainView,
    Seen,
    check_learner,
    distances_from,
    learn_again_from,
    learn_first,
    metric_of_records,
    refuse_triplets_for,
    scale_to_unit_size,
)
from nearkin.studio.quality import (
    QualityHistory,
    chances_of,
    describe_quality,
    find_suspects,
    held_out_ranks,
    judge_answerers,
    n_disagreements,
    outlook_of_answers,
)
from nearkin.studio.questions import (
    MOST_PICTURES,
    MOST_TEXTS,
    NextQuestions,
    choose_questions,
    explain_equal_answers,
    question_of,
)
from nearkin.studio.records import StudioRecords, choose_scaling
from nearkin.studio.reports import Export, Looks, RecordReview, why

# Pairs that a change tells of.
_MOST_CHANGES = 20


class Lesson:
    """Teach a metric by answers to "are these two the same?".

    Parameters
    ----------
    records : StudioRecords
        The data, see :func:`nearkin.studio.records.records_of`.
    journal : path, optional
        File that every answer is written to before it counts. If it is there already, the lesson
        goes on where it ended.
    pairs : Pairs, optional
        What is known of rows of ``records.X`` before the first answer; the same is to be given when
        the journal is opened again.
    events : sequence of Event, optional
        ``events`` of a lesson about the same records that this one continues, unless the journal
        has some of its own.
    learner : KernelBeta, ITML or GMML, optional
        ``ITML(kernel="rbf")`` by default, on 500 landmarks where there are more than 1000 rows.
    standardise : bool, optional
        Give all columns the same deviation first. The metric takes rows as they are all the same.
        By default where columns have units that differ by more than 100.
    by : str, optional
        Name of the person who answers, unless an answer has a name itself.
    book : AnswerBook, optional
        Answers of a lesson about the same records, which this one shares from now on.

    Notes
    -----
    Changes (``answer``, ``answer_groups``, ``withdraw``, ``undo``, ``redo``) take milliseconds, and
    are in the journal when they return. ``place`` and ``report`` learn, and ``arrange`` makes the
    map of that; they may run in other threads meanwhile, and speak of what was known when they
    began. Everything else only looks.

    Examples
    --------
    >>> from nearkin.datasets import make_xor
    >>> from nearkin.studio.records import records_of
    >>> X, y = make_xor(200, random_state=0)
    >>> lesson = Lesson(records_of(X))
    >>> for _ in range(20):
    ...     question = lesson.questions()[0]
    ...     left, right = question["left"], question["right"]
    ...     state = lesson.answer(left, right, bool(y[left] == y[right]))
    >>> lesson.place()["coordinates"].shape
    (200, 2)
    >>> lesson.metric.score(X, y) > 0.9
    True
    """

    def __init__(
        self,
        records: StudioRecords,
        *,
        journal: StrPath | None = None,
        pairs: Pairs | None = None,
        events: Sequence[Event] = (),
        learner: Any = None,
        standardise: bool | None = None,
        by: str | None = None,
        seed: int = 0,
        book: AnswerBook | None = None,
    ) -> None:
        check_roles(None, pairs, triplets=True)
        if pairs is not None:
            pairs.check_rows(len(records))
        self.records = records
        self._by = None if by is None else check_name(by)
        self._seed = seed
        self._learner = check_learner(learner, len(records), seed)
        refuse_triplets_for(self._learner, 0 if pairs is None else len(pairs.closer))
        self._next = NextQuestions.none()
        self._learning = threading.RLock()
        self._grouping = threading.Lock()
        self._explaining = threading.Lock()
        self._history = QualityHistory()
        self._maps = NeighborMaps(seed)
        self._placed: tuple[tuple[int, int], LikelyGroups] | None = None
        self._scaler, notes = choose_scaling(records, standardise)
        self._rows = records.X if self._scaler is None else self._scaler.transform(records.X)
        self._book = AnswerBook(len(records), pairs) if book is None else book
        self._answer_list = AnswerList(records, self._book)
        self._review = RecordReview(records, seed) if records.are_things else None
        try:
            self._book.open(journal, records, events)
            plane = scale_to_unit_size(PlainView(self._rows).coordinates())
            self._pictures = PictureSeries(plane.astype(np.float32))
            told = self._book.known.told
            first = learn_first(self._learner, self._rows, told)
            self._seen = self._pictures.take(first, told)
            if self._book.events and book is None:
                self._book.resume()
            self.looks = Looks(records, [*notes, *self._book.notes])
            if self._book.events:
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
        """Record that two rows are the same, different, or impossible to tell (None).

        Returns the :meth:`state`, with ``changes``: pairs with their answers ``before`` and
        ``now``. All methods that change answers return this, and take the following.

        Parameters
        ----------
        origin : str
            Where it was answered, for the journal: an ``Origin``. ``"sought"``: the left row
            was chosen for what it teaches, and is no fair test; ``"check"``: the answer follows
            from others.
        before : {"same", "different", "unsure", "nothing"}, optional
            The answer that the person saw; not checked by default.
        by : str, optional
            Name of the person. Each person's last answer to a pair is kept, to estimate how
            reliable they are.

        Raises
        ------
        AnswerConflict
            If the answer is now neither ``before`` nor this one. Nothing is changed.
        """
        answer = Answer(left=left, right=right, same=same, origin=origin, by=by)
        return self._answer(answer, before)

    def answer_which(
        self,
        left: int,
        rows: Sequence[int],
        right: int | None,
        same: bool | None,
        origin: str = "question",
        before: str | None = None,
        by: str | None = None,
    ) -> dict[str, Any]:
        """Record which of some rows, each of another group, a row is like.

        It is like that one and unlike all others: one answer, and undone as one. ``same`` is True
        with ``right``, one of ``rows``; False if it is like none of them; None for unsure.
        """
        which = Which(left=left, rows=rows, right=right, same=same, origin=origin, by=by)
        return self._answer(which, before)

    def _answer(self, event: PairsEvent, before: str | None) -> dict[str, Any]:
        """Record an answer about pairs, with the name of the person who gives it, if known."""
        check_choice("origin", event.origin, Origin)
        by = self._by if event.by is None else check_name(event.by)
        state = self._change(replace(event, by=by), before=before)
        return state | {"n_pairs": len(event.pairs(len(self.records)))}

    def answer_groups(
        self,
        first: Sequence[int],
        second: Sequence[int],
        same: bool,
        before: str | None = None,
        by: str | None = None,
    ) -> dict[str, Any]:
        """Record that all rows of two groups are the same, or that the two groups differ.

        ``n_pairs`` are stored, see :func:`nearkin.studio.events.pairs_of_groups`.
        """
        one, two = self._sort_rows(first), self._sort_rows(second)
        return self._answer(Groups(first=one, second=two, same=same, origin="group", by=by), before)

    def _sort_rows(self, rows: Sequence[int]) -> list[int]:
        """Sort rows of a group: which pairs are made of it must not depend on where one began."""
        return sorted(deduplicate_rows(rows, len(self.records)).tolist())

    def withdraw_entry(self, number: int) -> dict[str, Any]:
        """Withdraw all answers about pairs that come from an event of :meth:`answers`."""
        pairs = self._book.pairs_of_event(number)
        if not pairs:
            raise InputError("what was said there does not count any more, and nothing is changed.")
        return self._change(Withdraw(pairs=pairs))

    def withdraw(self, left: int, right: int, before: str | None = None) -> dict[str, Any]:
        """Withdraw the answer to a pair, however old it is; ``before`` as in ``answer``."""
        return self._change(Withdraw(left=left, right=right), before=before)

    def ask(self, purpose: str, words: str) -> dict[str, Any]:
        """Choose what is asked, a ``Purpose``, and in which words. Undo leaves that alone."""
        return self._change(Ask(purpose=purpose, words=check_name(words)))

    def undo(self, version: int | None = None) -> dict[str, Any]:
        """Undo the last change; ValueError if there is none.

        With a version, AnswerConflict is raised if there were changes after that one. If a choice
        among groups was undone, the result has ``undone``: its question, as ``which`` of
        :meth:`state`.
        """
        state = self._change(Undo(), version=version)
        which = question_of(self._book.undone, self._book.known)
        return state if which is None else state | {"undone": which}

    def redo(self, version: int | None = None) -> dict[str, Any]:
        """Redo the change that was undone last; ValueError if there is none. As ``undo``."""
        return self._change(Redo(), version=version)

    def _change(
        self, event: Event, *, before: str | None = None, version: int | None = None
    ) -> dict[str, Any]:
        """Apply an event, and return the new state with the changed pairs."""
        known, changes = self._book.change(event, before=before, version=version)
        told = {"changes": changes[:_MOST_CHANGES], "n_changes": len(changes)}
        return self._state_of(known) | told

    # Groups

    def groups(self) -> dict[str, Any]:
        """Return the groups of all rows: what answers say, and the metric makes likely.

        ``groups`` are described by :meth:`nearkin.studio.groups.LikelyGroups.describe`; ``values``
        is a float32 array of shape (n,): the number of each row's group, a half more where that is
        unsure, NaN without group.
        """
        known, likely = self._place_rows()
        return {
            "version": likely.version,
            "groups": likely.describe(known, self._contents),
            "values": likely.values(),
        }

    @cached_property
    def _graph(self) -> Any:
        """Rows joined with their neighbours, found when there are groups first."""
        return join_neighbors(self._rows, self._seed)

    @cached_property
    def _contents(self) -> GroupContents:
        """What tells groups apart, made when first needed."""
        return GroupContents(self.records)

    def _place_rows(self) -> tuple[Knowledge, LikelyGroups]:
        """Place all rows in groups by the newest knowledge and the last metric."""
        with self._grouping:
            known, seen = self._book.known, self._seen
            made = known.version, seen.learned.version
            if self._placed is None or self._placed[0] != made:
                view, n_rows = seen.learned.view, len(self.records)
                graph = self._graph if known.groups.numbers else None
                found = place_rows(view, known, made[1], n_rows, graph)
                self._placed = made, found
            return known, self._placed[1]

    def name_group(self, row: int, name: str | None) -> dict[str, Any]:
        """Name the group that answers have put a row in, or take its name away with None."""
        row = self.records.check_row(row)
        name = None if name is None else check_name(name)
        return self._change(self._book.known.groups.rename(row, name))

    def split_off(
        self,
        rows: Sequence[int],
        others: Sequence[int],
        before: str | None = None,
        by: str | None = None,
    ) -> dict[str, Any]:
        """Record that some rows are the same, and differ from all of some others."""
        one, two = self._sort_rows(rows), self._sort_rows(others)
        return self._answer(Split(first=one, second=two, origin="group", by=by), before)

    # What is known

    def state(self) -> dict[str, Any]:
        """Counts, and the next question, as plain values.

        ``version`` grows by one with every change; ``n_answers``, ``n_same``, ``n_different`` and
        ``n_unsure`` count answers; ``last_by`` is the person whose change is undone next;
        ``conflicts`` is the number of cannot-links within groups; ``question``, the first of the
        last report's questions that is still open; ``which``, asked in its place if there are
        groups to choose from, has ``left``, ``rows``, their ``groups``, and ``origin`` (with one of
        ``rows`` alone, whether the two are the same); ``check``, an implied pair, if it is time to
        check answers; ``asked``, what :meth:`ask` has chosen; and ``equal``, see
        :func:`nearkin.studio.questions.explain_equal_answers`.
        """
        return self._state_of(self._book.known)

    def _state_of(self, known: Knowledge) -> dict[str, Any]:
        """Plain values of :meth:`state` for this knowledge."""
        more = {
            "last_by": self._book.last_by,
            "equal": explain_equal_answers(known, self.records),
        }
        return known.state() | self._next.state(known) | more

    def known(self) -> dict[str, Any]:
        """All answered pairs by kind, as flat lists of row numbers."""
        return self._book.known.list_pairs()

    def answers(
        self,
        start: int = 0,
        n: int = 50,
        text: str = "",
        said: str | None = None,
        by: str | None = None,
    ) -> dict[str, Any]:
        """List or search the answers that still count, the newest first.

        Those are found that have all words of ``text`` in ids or fields of either record or in
        names of people, ``said`` this, and are ``by`` this person; n are returned from the
        ``start``-th on, as :func:`nearkin.studio.knowledge.list_answers` describes them, with
        ``ids`` of both records; beside them ``n_answers`` in all, ``n_found``, and the ``names`` of
        all people.
        """
        return self._answer_list.page(start, n, text, said, by)

    def questions(self) -> list[dict[str, int]]:
        """Choose the next pairs to ask about, the best first, as :meth:`report` does."""
        known, seen = self._learn_newest()
        return self._choose_questions(known, seen)

    def _choose_questions(self, known: Knowledge, seen: Seen) -> list[dict[str, int]]:
        """Choose the next questions, and return those about pairs."""
        most_shown = MOST_TEXTS if self.records.pictures is None else MOST_PICTURES
        self._next = choose_questions(known, seen.learned, most_shown=most_shown, seed=self._seed)
        return [{"left": i, "right": j} for i, j in self._next.pairs.tolist()]

    def _trace_answer(self, left: int, right: int) -> dict[str, Any]:
        """Find the event that a pair's answer comes from: its ``number`` and question ``which``."""
        number, event = self._book.event_of((left, right))
        return {"number": number, "which": question_of(event, self._book.known)}

    @property
    def events(self) -> list[Event]:
        """All events of the journal, also undone ones."""
        return self._book.events

    @property
    def notes_on_answers(self) -> list[str]:
        """Sentences for the user on the given pairs and on the journal."""
        return list(self._book.notes)

    @property
    def journal(self) -> Path | None:
        """The journal's file, or None if answers are only in memory."""
        return self._book.path

    @property
    def pairs(self) -> Pairs:
        """Answered pairs and triplets by row numbers of ``records.X``, without unsure ones."""
        return self._book.known.pairs + self._book.known.triplets

    # Learning

    def place(self) -> dict[str, Any]:
        """Learn from all answers, and project the rows to two dimensions.

        Returns ``version`` of the knowledge, and ``coordinates``, a float32 array of shape (n, 2),
        rotated towards the picture before.
        """
        self._learn_newest()
        return self.layout()

    def _learn_newest(self) -> tuple[Knowledge, Seen]:
        """Learn from the newest knowledge, if need be; return it with metric and picture."""
        with self._learning:
            known, seen = self._book.known, self._seen
            if known.version == seen.learned.version:
                return known, seen
            before = seen.learned
            if before.succeeded and known.told == before.step.told:
                seen = replace(seen, learned=replace(before, version=known.version))
            else:
                learned = learn_again_from(before, self._rows, known.told, known.version)
                seen = self._pictures.take(learned, known.told)
            self._seen = seen
            return known, seen

    def arrange(self) -> Iterator[dict[str, Any]]:
        """Lay rows out as a map of neighbours under the last metric, and yield unfinished maps too.

        Each has the ``version`` of the knowledge, ``coordinates``, and the ``share`` of the work
        that is done, 1 for the finished map. Ends early once another metric has been learned: the
        next map then goes on from there. One thread at a time makes maps.
        """
        return self._maps.follow(lambda: self._seen)

    def report(self, before_each_fit: Callable[[], object] = lambda: None) -> dict[str, Any]:
        """Choose the next questions, measure the metric's quality, and find suspicious answers.

        ``before_each_fit`` is called before each fit; it may wait for more urgent work.
        """
        known, seen = self._learn_newest()
        learned = seen.learned
        questions = self._choose_questions(known, seen)
        held_out = held_out_ranks(
            learned,
            self._rows,
            known.told,
            self._seed,
            self._sought_rows(),
            find_placers(known.spoken),
            before_each_fit,
        )
        quality = describe_quality(held_out)
        telling = telling_pairs(known.spoken, chances_of(held_out, known.pairs))
        return {
            "version": known.version,
            "learner": learned.step.describe(self._scaler),
            "quality": quality,
            "course": self._history.add(known.n_answers, quality),
            "outlook": outlook_of_answers(
                self._rows, known.pairs, known.counts.told, before_each_fit
            ),
            "contradictions": contradictions_of(known),
            "suspects": [
                one | self._trace_answer(one["left"], one["right"])
                for one in find_suspects(
                    held_out,
                    known.pairs,
                    self.records.ids,
                    known.spoken,
                    telling,
                    n_disagreements(known),
                )
            ],
            "answerers": judge_answerers(held_out, known, telling),
            "questions": questions,
            "notes": [*self.looks.notes, *map(_without_code, learned.notes)],
        }

    def _sought_rows(self) -> Ints:
        """Row numbers that were chosen for what they teach, which are no fair test of quality."""
        asked = (one for one in self._book.events if isinstance(one, Answer | Which))
        rows = {one.left for one in asked if one.origin == "sought"}
        return np.array(sorted(rows), dtype=np.int64)

    def review(self) -> dict[str, Any] | None:
        """Review records, see :meth:`nearkin.studio.reports.RecordReview.pairs_to_review`.

        None if rows are no records.
        """
        return None if self._review is None else self._review.pairs_to_review(self._book.known)

    @property
    def metric(self) -> Any:
        """A copy of the metric learned from all answers; it takes rows as ``records.X``.

        ValueError if the learner cannot learn from these answers.
        """
        return metric_of_records(self._learn_newest()[1].learned, self.records, self._scaler)

    # What is seen

    def about(self) -> dict[str, Any]:
        """Describe the data, and what the lesson can do with them, as plain values."""
        path = self._book.path
        about = self.looks.about(None if path is None else path.name)
        return about | {"by": self._by, "review": self._review is not None}

    def layout(self) -> dict[str, Any]:
        """Return the last picture: ``version`` of its metric, and ``coordinates`` of the rows."""
        seen = self._seen
        return {"version": seen.learned.version, "coordinates": seen.coordinates}

    @cached_property
    def finder(self) -> Finder:
        """Search for rows, made when first needed."""
        return Finder(self.records)

    def find(self, wanted: Wanted) -> dict[str, Any]:
        """Search for rows: ``version``, ``matches`` (a bool for each row), and ``notes``."""
        learned = self._seen.learned
        labels = self._place_rows()[1].labels if wanted.groups else None
        found, notes = self.finder.matches(wanted, learned, labels)
        return {"version": learned.version, "matches": found, "notes": notes}

    def rows_file(self, rows: Sequence[int]) -> tuple[str, bytes]:
        """Name and bytes of a CSV file of some rows, with their fields and likely groups."""
        known, likely = self._place_rows()
        return reports.rows_file(self.records, rows, likely.names(known))

    def neighbors(self, row: int, n: int = 10) -> dict[str, Any]:
        """List the n rows nearest to a row in the learned metric: ``version`` and ``neighbors``.

        The nearest is first, each with ``row``, ``id``, ``distance`` and ``same``: the answer to
        the pair, given or implied, or None.
        """
        learned, records = self._seen.learned, self.records
        row = records.check_row(row)
        n = max(0, min(int(n), len(records) - 1))
        distances = distances_from(learned.view, row, len(records))
        distances[row] = np.inf
        nearest = np.argpartition(distances, max(n - 1, 0))[:n]
        nearest = nearest[np.argsort(distances[nearest], kind="stable")]
        said = self._book.known.find_relations(row, nearest)
        found = [
            {
                "row": other,
                "id": str(records.ids[other])[:200],
                "distance": float(distances[other]),
                "same": same,
            }
            for other, same in zip(nearest.tolist(), said, strict=True)
        ]
        return {"version": learned.version, "neighbors": found}

    def why(self, left: int, right: int) -> dict[str, Any]:
        """Explain the learned distance of two rows, see :func:`nearkin.studio.reports.why`."""
        ends = np.array([self.records.check_row(row) for row in (left, right)])
        known, seen = self._learn_newest()
        with self._explaining:  # one at a time: each keeps a core busy
            return why(seen.learned, known, self.records, self._rows, self._scaler, ends)

    def export(self, what: str) -> tuple[str, bytes]:
        """Export answers, groups or the metric as a file: its name and its bytes.

        These are answered pairs by ids of the rows, the learned coordinates of all rows shown, the
        metric as :func:`nearkin.load` reads it, the likely group of each row, or groups of records
        that are the same thing.
        """
        if what not in get_args(Export):
            raise InputError(f"there is {', '.join(get_args(Export))} to export, not {what!r:.60}.")
        if what == "duplicates" and self._review is None:
            raise InputError("there are no duplicates: this is for records of things.")
        known, seen = self._learn_newest()
        names = self.records.names_in_files
        if what == "pairs":
            return reports.pairs_file(known.pairs, known.unsure, names[0], known.events.voices)
        if what == "duplicates" and self._review is not None:
            return reports.duplicates_file(self._review.groups(known), *names)
        if what == "groups":
            known, likely = self._place_rows()
            return reports.groups_file(likely.labels, likely.names(known), likely.sure, *names)
        if what == "embedding":
            rows = seen.learned.view.embedding()
            return reports.embedding_file(rows, seen.coordinates, *names)
        return reports.model_file(self.metric)

    # Columns

    def column_roles(self) -> dict[str, Any]:
        """List which columns are learned from, see :class:`nearkin.tables.choice.ColumnChoice`.

        The list is empty for an array, whose columns have no names.
        """
        choice = self.records.choice
        return {
            "columns": [] if choice is None else choice.listed(),
            "standardised": isinstance(self._scaler, StandardScaler),
        }

    def learning_from(self, columns: Sequence[str], standardise: bool | None = None) -> Lesson:
        """Make a lesson about the same records that learns from other columns.

        The two share all answers. Close one of them only.
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
            by=self._by,
            seed=self._seed,
            book=self._book,
        )
        found.place()
        return found

    def close(self) -> None:
        """Close the journal, once a change that has begun is in it. Closing twice does no harm."""
        self._book.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def _without_code(note: str) -> str:
    """Leave out of a library's message what it says to people who program."""
    return re.sub(r"; [\w.]+\(\)[^;.]*", "", note)
