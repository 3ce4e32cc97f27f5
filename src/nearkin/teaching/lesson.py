"""A lesson: data, what was answered of them, the metric learned from that, and pictures of it."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import StandardScaler

from nearkin.errors import InputError
from nearkin.learners.compositions import Chain
from nearkin.pairs.pairs import Pairs
from nearkin.pairs.supervision import check_roles
from nearkin.storage.whole_file import StrPath
from nearkin.tasks.questions.strategies import strategy_named
from nearkin.teaching import colours, exports
from nearkin.teaching.history import (
    Conflict,
    Past,
    after,
    change_of,
    check_belief,
    pairs_of_groups,
)
from nearkin.teaching.journal import InMemory, Journal, JournalError
from nearkin.teaching.knowledge import Knowledge, knowledge_of, start_of
from nearkin.teaching.plane import aligned
from nearkin.teaching.quality import quality_of, suspects_of, trial_of
from nearkin.teaching.questions import next_questions
from nearkin.teaching.records import Records, unequal_columns
from nearkin.teaching.taught_metric import (
    Learned,
    PlainView,
    checked_learner,
    distances_from,
    first_learned,
    learned_after,
    shares_of,
    untaught,
)
from nearkin.teaching.thumbnails import Image

Floats = NDArray[np.floating]
Ints = NDArray[np.int64]

ORIGINS = ("question", "suspect", "neighbors", "group")
EXPORTS = ("pairs", "embedding", "clusters", "model")
# Names of features that are told.
_MOST_NAMES = 200
_CLUSTERS = 10
# Pairs that a change tells of.
_MOST_CHANGES = 20


@dataclass(frozen=True)
class _Seen:
    """What was learned last, and the picture of it."""

    learned: Learned
    coordinates: NDArray[np.float32]


class Lesson:
    """Teach a metric by answers to "are these two the same?".

    Parameters
    ----------
    records : Records
        The data, see :func:`nearkin.teaching.records.records_of`.
    journal : path, optional
        File that every answer is written to before it counts. If it is there already, the lesson
        goes on where it ended.
    pairs : Pairs, optional
        What is known of rows of ``records.X`` before the first answer.
    entries : sequence of dict, optional
        Of a lesson about the same records (its ``entries``) that this one goes on from, unless the
        journal has some of its own.
    learner : KernelBeta, ITML or GMML, optional
        ``ITML(kernel="rbf")`` by default, on 500 landmarks where there are more than 1000 rows.
    standardise : bool, default=False
        Give all columns the same deviation first. The metric takes rows as they are all the same.
    strategy : str, default="consolidate"
        How questions are chosen, see :func:`nearkin.suggest_pairs`. With rows that come up at
        random what follows from the answers is a fair test of the metric. ``"neighborhoods"`` asks
        about outliers: it teaches a little more, but quality is judged by the hardest rows then.
    seed : int, default=0

    Notes
    -----
    Changes (``answer``, ``answer_groups``, ``withdraw``, ``undo``, ``redo``) take milliseconds, and
    are in the journal when they return. ``place`` and ``report`` learn; they may run in another
    thread meanwhile, and speak of what was known when they began. Everything else only looks.

    Examples
    --------
    >>> from nearkin.datasets import make_xor
    >>> from nearkin.teaching.lesson import Lesson
    >>> from nearkin.teaching.records import records_of
    >>> X, y = make_xor(200, random_state=0)
    >>> lesson = Lesson(records_of(X))
    >>> for _ in range(20):
    ...     question = lesson.report()["questions"][0]
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
        standardise: bool = False,
        strategy: str = "consolidate",
        seed: int = 0,
    ) -> None:
        check_roles(None, pairs)
        strategy_named(strategy)
        if pairs is not None:
            pairs.check_rows(len(records))
        self.records = records
        self._seed, self._strategy = seed, strategy
        self._learner = checked_learner(learner, len(records), seed)
        self._changing, self._learning = threading.RLock(), threading.RLock()
        self._scaler = StandardScaler().fit(records.X) if standardise else None
        self._rows: Floats = (
            records.X if self._scaler is None else self._scaler.transform(records.X)
        )
        self._past, self._weights, self._start_notes = start_of(pairs)
        self._known = self._known_of(self._past, 0)
        self._questions: Ints = np.empty((0, 2), dtype=np.int64)
        self._found_clusters: tuple[tuple[int, int], Ints] | None = None
        self._journal: Journal | InMemory = InMemory()
        if journal is not None:
            about = {"source": records.source, "rows": len(records)}
            about |= {"features": records.features[:_MOST_NAMES]}
            self._journal = Journal(os.fspath(journal), records.fingerprint, about)
        try:
            if not self._journal.entries:
                for entry in entries:
                    self._journal.append(dict(entry))
            self._euclidean = aligned(PlainView(self._rows).coordinates(), None)
            first = first_learned(self._learner, self._rows, self._known.told)
            self._seen = _Seen(first, aligned(first.view.coordinates(), self._euclidean))
            self._before = shares_of(untaught(first, self._rows))
            self._resume()
        except BaseException:
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
    ) -> dict[str, Any]:
        """Say of two rows that they are the same, or different, or that one cannot tell.

        It takes the place of what was said of them before, as long as that is what was believed.

        Parameters
        ----------
        left, right : int
            Row numbers of ``records.X``.
        same : bool or None
            None for unsure: they are not asked about again, and nothing is learned.
        origin : {"question", "suspect", "neighbors", "group"}
            Where it was answered, for the journal.
        before : {"same", "different", "unsure", "nothing"}, optional
            What whoever answers believes to be said of the two. Without, whatever it is.

        Returns
        -------
        dict
            As :meth:`state`, with ``changes``: pairs with what was said of them ``before`` and is
            ``now``. All changes give these.

        Raises
        ------
        Conflict
            If something else was said meanwhile, by somebody else: neither that nor this. Nothing
            is changed.
        """
        if origin not in ORIGINS:
            raise InputError(f"origin must be one of {', '.join(ORIGINS)}, not {origin!r:.60}.")
        entry = {"do": "answer", "left": left, "right": right, "same": same, "origin": origin}
        return self._change(entry, before=before)

    def answer_groups(
        self,
        first: Sequence[int],
        second: Sequence[int],
        same: bool,
        before: str | None = None,
    ) -> dict[str, Any]:
        """Say of two groups of rows that all of them are the same, or that the two differ.

        Parameters
        ----------
        first, second : sequence of int
            Row numbers, none in both.
        same : bool
        before : str, optional
            With ``"nothing"`` it is a Conflict if one of these pairs was said to be otherwise.

        Returns
        -------
        dict
            As :meth:`answer`, with ``n_pairs`` that were made of it and ``n_possible`` that follow.
            See :func:`nearkin.teaching.history.pairs_of_groups`.
        """
        links, n_possible = pairs_of_groups(first, second, bool(same), len(self.records))
        entry = {"do": "groups", "first": list(first), "second": list(second), "same": same}
        entry["origin"] = "group"
        return self._change(entry, before=before) | {
            "n_pairs": len(links),
            "n_possible": n_possible,
        }

    def withdraw(self, left: int, right: int, before: str | None = None) -> dict[str, Any]:
        """Take back what was said of two rows, whenever that was; ``before`` as in ``answer``."""
        return self._change({"do": "withdraw", "left": left, "right": right}, before=before)

    def undo(self, version: int | None = None) -> dict[str, Any]:
        """Take back the last change; ValueError if there is none.

        With a version it is a Conflict if there were changes after that one.
        """
        return self._change({"do": "undo"}, version=version)

    def redo(self, version: int | None = None) -> dict[str, Any]:
        """Do again what was taken back last; ValueError if there is nothing. As ``undo``."""
        return self._change({"do": "redo"}, version=version)

    def _change(
        self, entry: dict[str, Any], *, before: str | None = None, version: int | None = None
    ) -> dict[str, Any]:
        with self._changing:
            entry = _plain(entry)
            past = after(self._past, entry, len(self.records))
            if before is not None:
                change = change_of(self._past.answers, entry, len(self.records))
                check_belief(self._past.answers, change, before)
            if version is not None and version != self._known.version:
                raise Conflict(
                    "something was answered meanwhile, and nothing is undone: look at it, and try "
                    "again.",
                    "nothing",
                )
            known = self._known_of(past, self._known.version + 1)
            self._journal.append(entry | {"at": _now()})
            self._past, self._known = past, known
            changes = past.changes()
            return self._state_of(known) | {
                "changes": changes[:_MOST_CHANGES],
                "n_changes": len(changes),
            }

    def _known_of(self, past: Past, version: int) -> Knowledge:
        return knowledge_of(past, version, len(self.records), self._weights)

    def _resume(self) -> None:
        """Go through the journal, and learn what it says."""
        if not self._journal.entries:
            return
        past = self._past
        for number, entry in enumerate(self._journal.entries, 1):
            try:
                past = after(past, entry, len(self.records))
            except (ValueError, TypeError, KeyError) as error:
                raise JournalError(
                    f"entry {number} of {self._journal.path or 'what was answered'} does not fit "
                    f"what was known before: {error} Give the pairs that the lesson was begun with."
                ) from error
        self._past, self._known = past, self._known_of(past, len(self._journal.entries))
        self.place()

    # What is known

    def state(self) -> dict[str, Any]:
        """Counts, and the next question, as plain values.

        Returns
        -------
        dict
            ``version``, which grows by one with every change; ``n_answers``, ``n_same``,
            ``n_different``, ``n_unsure``; ``can_undo``, ``can_redo``; ``conflicts``, the number of
            different pairs that follow to be the same; and ``question``, the first of the last
            report's questions that is still open, or None.
        """
        return self._state_of(self._known)

    def _state_of(self, known: Knowledge) -> dict[str, Any]:
        n_same, n_different = len(known.pairs.must_link), len(known.pairs.cannot_link)
        return {
            "version": known.version,
            "n_answers": n_same + n_different + len(known.unsure),
            "n_same": n_same,
            "n_different": n_different,
            "n_unsure": len(known.unsure),
            "can_undo": known.can_undo,
            "can_redo": known.can_redo,
            "conflicts": known.n_conflicts,
            "question": known.first_open(self._questions),
        }

    def known(self) -> dict[str, Any]:
        """All pairs that something is said of, as flat lists of row numbers."""
        known = self._known
        return {
            "version": known.version,
            "must_link": known.pairs.must_link.ravel().tolist(),
            "cannot_link": known.pairs.cannot_link.ravel().tolist(),
            "unsure": known.unsure.ravel().tolist(),
        }

    @property
    def entries(self) -> list[dict[str, Any]]:
        """All that was answered and undone, as the journal has it."""
        return list(self._journal.entries)

    @property
    def journal(self) -> Path | None:
        """Where answers are kept, None if only in memory."""
        return self._journal.path

    @property
    def pairs(self) -> Pairs:
        """What is known, as rows of ``records.X``; without what someone was unsure of."""
        return self._known.pairs

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

    def _newest(self) -> tuple[Knowledge, _Seen]:
        with self._learning:
            known, seen = self._known, self._seen
            if known.version == seen.learned.version:
                return known, seen
            before = seen.learned
            if before.succeeded and known.told == before.step.told:
                seen = replace(seen, learned=replace(before, version=known.version))
            else:
                learned = learned_after(before, self._rows, known.told, known.version)
                turned = aligned(learned.view.coordinates(), seen.coordinates)
                turned.setflags(write=False)
                seen = _Seen(learned, turned)
            self._seen = seen
            return known, seen

    def report(self) -> dict[str, Any]:
        """The next questions, how good the metric is, and which answers look wrong.

        Returns
        -------
        dict
            ``version``, ``learner``, ``quality``, ``spectrum``, ``suspects``, ``questions`` and
            ``notes``: plain values.
        """
        known, seen = self._newest()
        learned = seen.learned
        questions = self._ask(known, learned)
        trial = trial_of(learned, self._rows, known.told, self._seed)
        return {
            "version": known.version,
            "learner": self._learner_text,
            "quality": quality_of(trial),
            "spectrum": {"before": self._before, "after": shares_of(learned.view)},
            "suspects": suspects_of(trial, known.pairs, self.records.ids),
            "questions": questions,
            "notes": [*self._notes, *learned.notes],
        }

    def questions(self) -> list[dict[str, int]]:
        """The next questions, the best first: those of a report, which takes longer."""
        known, seen = self._newest()
        return self._ask(known, seen.learned)

    def _ask(self, known: Knowledge, learned: Learned) -> list[dict[str, int]]:
        found = next_questions(known, learned, strategy=self._strategy, seed=self._seed)
        self._questions = found
        return [{"left": i, "right": j} for i, j in found.tolist()]

    @property
    def metric(self) -> Any:
        """A copy of the metric that all that is known gives; it takes rows as ``records.X``.

        ValueError if the learner can make nothing of what is known.
        """
        return self._composed(self._newest()[1].learned)

    def _composed(self, learned: Learned) -> Any:
        metric = learned.metric
        if metric is None:
            raise InputError(f"there is no metric yet. {learned.notes[-1]}")
        metric = deepcopy(metric)
        if self._scaler is not None:
            chain = Chain([StandardScaler(), self._learner])
            metric = chain._made_of([self._scaler, metric], self.records.X.shape[1])
        if self.records.named:
            metric.feature_names_in_ = np.array(self.records.features, dtype=object)
        for name, value in self.records.remembered.items():
            setattr(metric, name, value)
        return metric

    @cached_property
    def _learner_text(self) -> str:
        text = type(self._learner).__name__
        landmarks = getattr(self._seen.learned.step.metric, "landmarks_", None)
        if landmarks is not None:
            text += f", {len(landmarks)} landmarks"
        return text if self._scaler is None else f"{text}, standardised columns"

    # Looking

    def about(self) -> dict[str, Any]:
        """What the data are, as plain values."""
        records = self.records
        return {
            "source": records.source,
            "n_rows": len(records),
            "n_total": records.n_total,
            "n_features": len(records.features),
            "features": records.features[:_MOST_NAMES],
            "has_images": records.pictures is not None,
            "id_name": records.id_name,
            "colourings": [dict(one) for one in self._colourings.values()],
            "journal": None if self.journal is None else self.journal.name,
            "notes": list(self._notes),
        }

    @cached_property
    def _notes(self) -> list[str]:
        records = self.records
        notes = list(records.notes)
        if records.n_total > len(records):
            notes.append(
                f"{_spaced(len(records))} of {_spaced(records.n_total)} rows are shown, drawn at "
                "random; the metric is learned from these."
            )
        if self._scaler is None and (unequal := unequal_columns(records)):
            notes.append(unequal)
        if not records.ids_differ:
            notes.append("Some rows have the same id: exported files go by row numbers instead.")
        return [*notes, *self._start_notes]

    @cached_property
    def _colourings(self) -> dict[str, dict[str, str]]:
        found = [("known", "known groups", "categories"), ("clusters", "clusters", "categories")]
        for j, (name, values) in enumerate(self.records.columns.items()):
            kind = colours.kind_of(values)
            if kind is not None:
                found.append((f"column-{j}", name, kind))
        for j, name in enumerate(self.records.features[: colours.MOST_FEATURES]):
            found.append((f"feature-{j}", name, "numbers"))
        return {key: {"key": key, "name": name, "kind": kind} for key, name, kind in found}

    def layout(self, name: str) -> dict[str, Any]:
        """The picture that is there: ``"euclidean"``, or ``"learned"`` as it was placed last."""
        if name == "euclidean":
            return {"version": 0, "coordinates": self._euclidean}
        if name == "learned":
            seen = self._seen
            return {"version": seen.learned.version, "coordinates": seen.coordinates}
        raise InputError(f"there is no layout {name!r:.60}: euclidean and learned there are.")

    def colouring(self, key: str, n_clusters: int | None = None) -> dict[str, Any]:
        """Colours of the rows.

        Parameters
        ----------
        key : str
            One of those that :meth:`about` lists.
        n_clusters : int, optional
            For ``"clusters"``.

        Returns
        -------
        dict
            ``key``, ``name``, ``kind``, ``categories`` (names) or ``range`` (least and most), and
            ``values``, a float32 array of shape (n,): numbers of categories, or amounts; NaN where
            unknown.
        """
        if key not in self._colourings:
            raise InputError(f"there is no colouring {key!r:.60}.")
        about = self._colourings[key]
        if key == "known":
            found = colours.colours_of_known(self._known.pairs, len(self.records))
        elif key == "clusters":
            found = colours.colours_of_clusters(self._clusters(n_clusters))
        elif key.startswith("column-"):
            values = list(self.records.columns.values())[int(key.removeprefix("column-"))]
            found = colours.colours_of_column(values, about["kind"])
        else:
            column = self.records.X[:, int(key.removeprefix("feature-"))]
            found = colours.colours_of_numbers(column)
        return {**about, **found}

    def _clusters(self, n_clusters: int | None) -> Ints:
        n = len(self.records)
        count = min(_CLUSTERS, n) if n_clusters is None else n_clusters
        learned = self._seen.learned
        found = self._found_clusters
        if found is None or found[0] != (learned.version, count):
            clusters = colours.clusters_of(learned.view, n, count, self._seed)
            found = self._found_clusters = ((learned.version, count), clusters)
        return found[1]

    def record(self, row: int, beside: int | None = None) -> dict[str, Any]:
        """What to show of a row, see :meth:`nearkin.teaching.records.Records.record`."""
        return self.records.record(row, beside)

    def image(self, row: int) -> Image | None:
        """Bytes and media type of a row's thumbnail, or None."""
        return self.records.image(row)

    def neighbors(self, row: int, n: int = 10) -> dict[str, Any]:
        """The rows nearest to one in the learned metric.

        Parameters
        ----------
        row : int
        n : int, default=10

        Returns
        -------
        dict
            ``version`` and ``neighbors``, the nearest first, each with ``row``, ``id``,
            ``distance`` and ``same``: what is known of the two or follows, None if nothing.
        """
        row = self.records.checked_row(row)
        n = max(0, min(int(n), len(self.records) - 1))
        learned, known = self._seen.learned, self._known
        distances = distances_from(learned.view, row, len(self.records))
        distances[row] = np.inf
        nearest = np.argpartition(distances, max(n - 1, 0))[:n]
        nearest = nearest[np.argsort(distances[nearest], kind="stable")]
        said = known.said_of(row, nearest)
        return {
            "version": learned.version,
            "neighbors": [
                {
                    "row": other,
                    "id": str(self.records.ids[other])[:200],
                    "distance": float(distances[other]),
                    "same": same,
                }
                for other, same in zip(nearest.tolist(), said, strict=True)
            ],
        }

    def export(self, what: str, n_clusters: int | None = None) -> tuple[str, bytes]:
        """A file of what was taught: its name and its content.

        Parameters
        ----------
        what : {"pairs", "embedding", "clusters", "model"}
            What was answered, by the ids of the rows; the learned coordinates of all rows shown;
            their clusters; or the metric, as :func:`nearkin.load` reads it.
        n_clusters : int, optional
            10 by default.
        """
        if what not in EXPORTS:
            raise InputError(f"there is {', '.join(EXPORTS)} to export, not {what!r:.60}.")
        known, seen = self._newest()
        ids, id_name = self.records.ids, self.records.id_name
        if not self.records.ids_differ:
            ids, id_name = self.records.numbers.tolist(), "row"
        if what == "pairs":
            return exports.pairs_file(known.pairs, known.unsure, ids)
        if what == "clusters":
            return exports.clusters_file(self._clusters(n_clusters), ids, id_name)
        if what == "embedding":
            Z = seen.learned.view.embedding()
            return exports.embedding_file(Z, seen.coordinates, ids, id_name)
        return exports.model_file(self._composed(seen.learned))

    def close(self) -> None:
        """Let others have the journal, once a change that has begun is in it.

        Closing twice does no harm.
        """
        with self._changing:
            self._journal.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def _plain(entry: dict[str, Any]) -> dict[str, Any]:
    """Numbers of NumPy as Python's own, so that they can be written."""

    def plain(value: Any) -> Any:
        if isinstance(value, (np.generic, np.ndarray)):
            return value.tolist()
        return [plain(one) for one in value] if isinstance(value, (list, tuple)) else value

    return {key: plain(value) for key, value in entry.items()}


def _spaced(number: int) -> str:
    return f"{number:,}".replace(",", " ")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
