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
from nearkin.storage.files import StrPath
from nearkin.studio.answers import AnswerBook
from nearkin.studio.events import (
    DISPUTED,
    Conflict,
    checked_name,
    checked_rows,
    pairs_of_groups,
    split_of_groups,
)
from nearkin.studio.groups import (
    FoundGroups,
    found_groups,
    representatives,
    representatives_by_group,
    typical,
)
from nearkin.studio.knowledge import Knowledge, contradictions_of, placed_by, telling_pairs
from nearkin.studio.looking import Looking, Looks, Seen
from nearkin.studio.metric import (
    NeighborMap,
    PlainView,
    View,
    aligned,
    arranged,
    checked_learner,
    first_learned,
    learned_after,
    metric_of_records,
    refuse_triplets_for,
    shares_of,
    untaught,
)
from nearkin.studio.quality import outlook_of_answers, quality_of, trial_of
from nearkin.studio.questions import Asking, Sharing, check_origin
from nearkin.studio.records import Records, scaling_of
from nearkin.studio.reports import NEEDS_RAPIDFUZZ, RecordReview, can_compare
from nearkin.studio.suspects import answerers_of, chances_of, heard, suspects_of

# The answers of a lesson as a list that can be searched, and from which they can be taken back.


# Rows whose text is kept for the next search.
_MOST_TEXTS = 200_000


class Listing(Looking):
    """The list of answers of a :class:`nearkin.studio.lesson.Lesson`."""

    def __init__(self) -> None:
        self._texts: dict[int, str] = {}

    def _change(
        self, entry: dict[str, Any], *, before: str | None = None, version: int | None = None
    ) -> dict[str, Any]:
        raise NotImplementedError  # Lesson brings it

    def answers(
        self,
        start: int = 0,
        n: int = 50,
        text: str = "",
        said: str | None = None,
        by: str | None = None,
    ) -> dict[str, Any]:
        """What was answered and still counts, the newest first.

        Parameters
        ----------
        start, n : int
            Which of those that are found.
        text : str
            Words that ids or fields of either record have in them, or names of who answered, in
            capitals or not; all of them must be there.
        said : {"same", "different", "unsure", "disputed"}, optional
        by : str, optional
            Who answered.

        Returns
        -------
        dict
            ``version``; ``n_answers`` in the list, and ``n_found`` of these; ``names`` of all who
            answered; and ``answers``, as :func:`nearkin.studio.knowledge.answered` gives them,
            with ``ids`` of both records, and ``which``, the question beside groups that people
            disagree about, or None.
        """
        version, n_rows = self._book.known.version, len(self.records)
        # Records that are gone have numbers behind those of all rows.
        listed = [item for item in self._book.listed() if max(item["left"], item["right"]) < n_rows]
        words = text.casefold().split()
        found = [
            item
            for item in listed
            if (said is None or item["said"] == said)
            and (by is None or by in _names_of(item))
            and self._has(item, words)
        ]
        ids = self.records.ids
        shown = [
            item
            | {"ids": [str(ids[item[end]])[:200] for end in ("left", "right")]}
            | {"which": self._asked_in(item)}
            for item in found[start : start + n]
        ]
        names = sorted({name for item in listed for name in _names_of(item)})
        return {
            "version": version,
            "n_answers": len(listed),
            "n_found": len(found),
            "names": names,
            "answers": shown,
        }

    def _asked_in(self, item: dict[str, Any]) -> dict[str, Any] | None:
        disputed = item["said"] == DISPUTED and item["number"]
        return self._which_of(self._book.entries[item["number"] - 1]) if disputed else None

    def _which_of(self, entry: Mapping[str, Any] | None) -> dict[str, Any] | None:
        raise NotImplementedError  # Asking brings it

    def _has(self, item: dict[str, Any], words: list[str]) -> bool:
        if not words:
            return True
        parts = [self._text(item["left"]), self._text(item["right"]), *_names_of(item)]
        whole = "\n".join(parts).casefold()
        return all(word in whole for word in words)

    def _text(self, row: int) -> str:
        """What can be searched of a record."""
        found = self._texts.get(row)
        if found is None:
            record = self.records.record(row)
            values = (str(field["value"]) for field in record["fields"])
            found = "\n".join([str(record["id"]), *values]).casefold()
            if len(self._texts) < _MOST_TEXTS:
                self._texts[row] = found
        return found

    def withdraw_entry(self, number: int) -> dict[str, Any]:
        """Take back all that an entry said of pairs and that still counts.

        Parameters
        ----------
        number : int
            As :meth:`answers` lists them.

        Returns
        -------
        dict
            As :meth:`nearkin.studio.lesson.Lesson.answer`.
        """
        pairs = self._book.pairs_of_entry(number)
        if not pairs:
            raise InputError("what was said there does not count any more, and nothing is changed.")
        return self._change({"do": "withdraw", "pairs": [list(pair) for pair in pairs]})


def _names_of(item: dict[str, Any]) -> list[str]:
    """Who said something of it."""
    names = [voice["by"] for voice in item["voices"]]
    return names if names or item["by"] is None else [item["by"]]


# Groups of a lesson: found anew when that is wanted, named, joined and split by what is said.


# Whatever a group is called; no name is empty.
ANY_NAME = ""


class InGroups(Looking):
    """The groups of a :class:`nearkin.studio.lesson.Lesson`, which brings these."""

    _book: AnswerBook
    _rows: Any

    def __init__(self) -> None:
        self._grouping = threading.Lock()

    def _change(self, entry: dict[str, Any], *, before: str | None = None) -> dict[str, Any]:
        raise NotImplementedError  # Lesson brings it

    def _voiced(self, entry: dict[str, Any], by: str | None) -> dict[str, Any]:
        raise NotImplementedError  # Lesson brings it

    def answer_groups(
        self,
        first: Sequence[int],
        second: Sequence[int],
        same: bool,
        before: str | None = None,
        by: str | None = None,
    ) -> dict[str, Any]:
        """Say of two groups of rows whether they are the same."""
        raise NotImplementedError  # Lesson brings it

    # Finding

    def find_groups(self) -> dict[str, Any]:
        """Find groups of all rows in the learned metric, by all that is known.

        It takes seconds, and may run in another thread while answers are taken.

        Returns
        -------
        dict
            As :meth:`groups`.
        """
        with self._grouping:
            known, seen = self._newest()
            self._found = found_groups(self._rows, seen.learned, known, self._found, self._seed)
            return self._found.described(self._book.known)

    def groups(self) -> dict[str, Any] | None:
        """The groups that were found last, as plain values; None if there are none yet.

        Returns
        -------
        dict or None
            ``number`` of this grouping; ``version`` of the knowledge that it comes from; ``said``
            and ``reason``, what was chosen and why; ``groups``, each with ``name``, whether it is
            ``named`` by people, ``size`` and ``medoid``, the row that is an example of it;
            ``n_outliers``; ``waiting``, names of groups that are not there now; and ``notes``.
        """
        found = self._found
        return None if found is None else found.described(self._book.known)

    # Changes

    def name_group(
        self,
        group: int,
        name: str | None,
        number: int | None = None,
        before: str | None = ANY_NAME,
    ) -> dict[str, Any]:
        """Give a group a name, in place of the one that it has.

        Names survive relearning: each goes by the rows that were in the group when it was named,
        see :func:`nearkin.studio.knowledge.carried`.

        Parameters
        ----------
        group : int
            From 0, as :meth:`groups` lists them.
        name : str or None
            None takes the name away.
        number : int, optional
            Of the grouping that is meant: InputError if there is another one by now.
        before : str or None, optional
            What whoever names it believes it to be called, None if it has no name: a Conflict if
            somebody has given it another one meanwhile. Without, whatever it is.

        Returns
        -------
        dict
            As :meth:`nearkin.studio.lesson.Lesson.answer`.
        """
        found = self._meant(number)
        rows = self._rows_of(found, group)
        names = found.names(self._book.known)
        if before != ANY_NAME and before != names[group] != name:
            now = "without a name" if names[group] is None else f"called {names[group]!r:.80}"
            raise Conflict(
                f"this group is {now} meanwhile, and nothing was changed: name it again to have "
                f"{'no name' if name is None else repr(name)[:80]} in its place.",
                "nothing",
            )
        entry: dict[str, Any] = {"do": "name", "name": None, "instead": names[group]}
        if name is not None:
            entry |= {"name": checked_name(name), "rows": rows}
            if entry["name"] in names[:group] + names[group + 1 :]:
                raise InputError(
                    f"another group is called {entry['name']!r:.80}: give this one another name, "
                    "or say that the two are one group."
                )
        elif names[group] is None:
            raise InputError(f"group {group + 1} has no name to be taken away.")
        return self._change(entry)

    def say_one_group(
        self,
        rows: Sequence[int],
        number: int | None = None,
        before: str | None = None,
        by: str | None = None,
    ) -> dict[str, Any]:
        """Say of some rows that they belong to one group.

        Must-links tie a few of them to one another, five of each group that they are in now.

        Parameters
        ----------
        rows : sequence of int
        number : int, optional
            Of the grouping, as in :meth:`name_group`.
        before, by : str, optional
            As in :meth:`nearkin.studio.lesson.Lesson.answer_groups`.

        Returns
        -------
        dict
            As :meth:`nearkin.studio.lesson.Lesson.answer_groups`.
        """
        found = self._meant(number)
        some = checked_rows(rows, len(self.records))
        chosen = representatives_by_group(self._view, some, found.labels)
        return self.answer_groups(chosen.tolist(), (), True, before, by)

    def split_off(
        self,
        rows: Sequence[int],
        number: int | None = None,
        before: str | None = None,
        by: str | None = None,
    ) -> dict[str, Any]:
        """Say of some rows of a group that they belong together, and not to the rest of it.

        Must-links tie five of them together, and cannot-links part these from the three rows in the
        middle of the rest.
        Rows of other groups than the one that most are in are left out.

        Parameters
        ----------
        rows, number, before, by
            As in :meth:`say_one_group`.

        Returns
        -------
        dict
            As :meth:`nearkin.studio.lesson.Lesson.answer`, with ``n_pairs`` that were made of it,
            ``group``, the one that was split, and ``n_left_out`` rows.
        """
        found = self._meant(number)
        some = checked_rows(rows, len(self.records))
        inside = found.labels[some]
        if not (inside >= 0).any():
            raise InputError("none of these rows is in a group that could be split.")
        group = int(np.bincount(inside[inside >= 0]).argmax())
        part = some[inside == group]
        rest = np.setdiff1d(found.rows(group), part)
        if not len(rest):
            raise InputError("this is a whole group: select a part of it.")
        first = representatives(self._view, part).tolist()
        second = typical(self._view, rest).tolist()
        n_pairs = sum(map(len, split_of_groups(first, second, len(self.records)).values()))
        entry = {"do": "split", "first": first, "second": second, "origin": "group"}
        told = {"n_pairs": n_pairs, "group": group, "n_left_out": len(some) - len(part)}
        return self._change(self._voiced(entry, by), before=before) | told

    def say_of_groups(
        self,
        first: int,
        second: int,
        same: bool,
        number: int | None = None,
        before: str | None = None,
        by: str | None = None,
    ) -> dict[str, Any]:
        """Say of two groups that they are one, or that they are to be kept apart.

        It is said of the three rows in the middle of each.

        Parameters
        ----------
        first, second : int
            From 0, as :meth:`groups` lists them.
        same : bool
        number, before, by
            As in :meth:`say_one_group`.

        Returns
        -------
        dict
            As :meth:`nearkin.studio.lesson.Lesson.answer_groups`.
        """
        found = self._meant(number)
        if first == second:
            raise InputError("these are one group already: give two.")
        one, two = (
            typical(self._view, self._rows_of(found, group)).tolist() for group in (first, second)
        )
        return self.answer_groups(one, two, same, before, by)

    @property
    def _view(self) -> Any:
        return self._seen.learned.view

    def _meant(self, number: int | None) -> FoundGroups:
        found = self._found
        if found is None:
            raise InputError("no groups were found yet: find them first.")
        if number is not None and number != found.number:
            raise InputError(
                "groups were found anew meanwhile, and nothing was changed: look at them, and try "
                "again."
            )
        return found

    def _rows_of(self, found: FoundGroups, group: int) -> Ints:
        if not 0 <= group < len(found.medoids):
            raise InputError(f"there is no group {group}: there are {len(found.medoids)}, from 0.")
        return found.rows(group)


# The map of neighbours of a lesson, as it follows what is learned.


class Arranging(Looking):
    """The map of a :class:`nearkin.studio.lesson.Lesson`; one thread at a time makes it."""

    def __init__(self) -> None:
        self._map: tuple[View, NeighborMap] | None = None

    def arrange(self) -> Iterator[dict[str, Any]]:
        """Pictures on the way to the map of what was learned last, from the one before.

        Ends early once something else has been learned: the next map then goes on from there.

        Yields
        ------
        dict
            ``version`` of the knowledge; ``coordinates``, a float32 array of shape (n, 2); and
            ``share`` of the way that is gone, 1 at its end.
        """
        seen = self._seen
        view = seen.learned.view
        before = None if self._map is None else self._map[1]
        if self._map is not None and self._map[0] is view and self._map[1].share == 1.0:
            yield _told(seen.learned.version, self._map[1])
            return
        for found in arranged(view, seen.coordinates, before, self._seed):
            self._map = view, found
            yield _told(seen.learned.version, found)
            if self._seen.learned.view is not view:
                return


def _told(version: int, found: NeighborMap) -> dict[str, Any]:
    return {"version": version, "coordinates": found.places, "share": found.share}


# How good the metric was after each number of answers: kept, and found again from the journal.


# Points that are found again from a journal, and those that are kept at all.
_FOUND_AGAIN = 12
_MOST_POINTS = 300


class Course:
    """Points of a curve, by the number of answers. What was undone has none."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._points: dict[int, dict[str, float]] = {}

    def add(self, n_answers: int, quality: Mapping[str, Any]) -> None:
        """Keep what was found after so many answers, and nothing of more answers."""
        with self._lock:
            self._points = {n: one for n, one in self._points.items() if n < n_answers}
            self._keep(n_answers, quality)

    def fill(self, n_answers: int, quality: Mapping[str, Any]) -> None:
        """Keep what was found again, unless something is known of so many answers, or of fewer."""
        with self._lock:
            if self._points and n_answers < max(self._points) and n_answers not in self._points:
                self._keep(n_answers, quality)

    def _keep(self, n_answers: int, quality: Mapping[str, Any]) -> None:
        figures = quality["figures"]
        if quality["enough"]:
            auc, low, high = figures["auc"]
            euclidean, euclidean_low, euclidean_high = figures["euclidean_auc"]
            self._points[n_answers] = {
                "answers": n_answers,
                "auc": auc,
                "low": low,
                "high": high,
                "euclidean": euclidean,
                "euclidean_low": euclidean_low,
                "euclidean_high": euclidean_high,
            }

    def listed(self) -> list[dict[str, float]]:
        """The points in the order of answers; of many, the last."""
        with self._lock:
            return [self._points[n] for n in sorted(self._points)][-_MOST_POINTS:]

    def missing(self, n_entries: int) -> list[int]:
        """After how many of so many entries points are to be found again, the last first."""
        wanted = np.linspace(0, n_entries, _FOUND_AGAIN + 1)[1:-1].astype(int)
        return sorted({int(n) for n in wanted if n > 0}, reverse=True)


# Pairs that a change tells of.
_MOST_CHANGES = 20


class Lesson(Asking, InGroups, Listing, Sharing, Arranging):
    """Teach a metric by answers to "are these two the same?".

    Parameters
    ----------
    records : Records
        The data, see :func:`nearkin.studio.records.records_of`.
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
    >>> from nearkin.studio.lesson import Lesson
    >>> from nearkin.studio.records import records_of
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
            See :func:`nearkin.studio.events.pairs_of_groups`.
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
            "outlook": outlook_of_answers(self._rows, known.pairs, known.counts.told),
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

        See :meth:`nearkin.studio.reports.RecordReview.after`. It learns as ``report`` does,
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
