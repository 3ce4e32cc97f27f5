"""Which pairs, and which rows beside groups, to ask about next."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from nearkin._types import Ints
from nearkin.pairs.closure import keys_of
from nearkin.questions.strategies import (
    Choice,
    Scene,
    WhichQuestion,
    draw_candidate_rows,
    find_strategy,
    make_scene,
    pick_by_likeness,
    pick_questions,
    pick_which_questions,
)
from nearkin.rows.distances import linked_distances
from nearkin.studio.events import Event, Which
from nearkin.studio.knowledge import Knowledge
from nearkin.studio.metric import TaughtMetric
from nearkin.studio.records import StudioRecords

# How many are chosen at a time, so that the next one is there at once.
N_QUESTIONS = 12
# By what pairs are chosen, see nearkin.suggest_pairs; and which rows are to be placed, in turn.
# Rows at random are those that the metric is judged by; the farthest teach most, and soonest find
# groups that nobody has seen.
_STRATEGY = "consolidate"
_TURNS: tuple[Choice, ...] = ("random", "far", "far", "far")
# After so many answers in a row that found nothing alike, something likely is asked.
_LONGEST_RUN = 5
# Likely questions are looked for if it may come to that within so many answers: these may come
# faster than questions are chosen anew.
_SOON = 2
# Every so many answers, one is asked for that follows from the others.
CHECK_EVERY = 17
# So many answers before that, it is chosen.
_AHEAD = 4
# Pairs that follow, of which the least likely is asked.
_LOOKED_AT = 20


@dataclass(frozen=True)
class WhichAsked:
    """The question which of some rows, each of another group, a row is like."""

    row: int
    # Rows to choose from; with one alone, the question is whether the two are the same.
    shown: Ints
    # Whether the row was chosen for what it teaches; rows drawn at random are fair tests.
    sought: bool

    def find_open_rows(self, known: Knowledge) -> Ints:
        """Return the rows shown whose relation to the row is unknown.

        None are returned if the row's group is known, or if two rows shown may be of one group.
        """
        groups = known.pairs.groups
        links = np.column_stack([np.full(len(self.shown), self.row), self.shown])
        apart = self.shown[np.column_stack(np.triu_indices(len(links), 1))]
        if groups.alike(links).any() or not groups.differ(apart).all():
            return self.shown[:0]
        return np.asarray(self.shown[known.are_open(links)])

    def describe(self, known: Knowledge) -> dict[str, Any] | None:
        """Return the question as plain values, groups by their numbers; None if it is answered."""
        shown = self.find_open_rows(known).tolist()
        if len(shown) == 1:  # a pair, of rows of any group or none
            return {"left": self.row, "rows": shown, "groups": [], "origin": self._origin}
        shown.sort(key=lambda row: known.groups.labels[row])
        return _describe_choice(self.row, shown, self._origin, known)

    @property
    def _origin(self) -> str:
        """Where the answer comes from, for the journal."""
        return "sought" if self.sought else "question"


@dataclass(frozen=True)
class NextQuestions:
    """What to ask next, the best first."""

    # Pairs to ask about, shape (k, 2).
    pairs: Ints
    # Rows to compare with several groups, in place of pairs where that tells more.
    which: tuple[WhichAsked, ...]
    # A pair that follows from answers, asked to see whether these are right: shape (0 or 1, 2).
    check: Ints

    @classmethod
    def none(cls) -> NextQuestions:
        """Return a value without questions."""
        nothing = np.empty((0, 2), dtype=np.int64)
        return cls(nothing, (), nothing)

    def state(self, known: Knowledge) -> dict[str, Any]:
        """Return the next open question of each kind as plain values; None where there is none."""
        told = (which.describe(known) for which in self.which)
        is_due = (known.n_steps + 1) % CHECK_EVERY == 0
        return {
            "question": _first_pair(self.pairs[known.are_open(self.pairs)]),
            "which": next((one for one in told if one is not None), None),
            "check": _first_pair(self.check[_are_implied(known, self.check)]) if is_due else None,
        }


def choose_questions(
    known: Knowledge,
    learned: TaughtMetric,
    n: int = N_QUESTIONS,
    *,
    most_shown: int = 9,
    seed: int = 0,
) -> NextQuestions:
    """Choose the n questions whose answers would teach the metric most.

    Pairs are chosen as by :func:`nearkin.suggest_pairs`, in the learned coordinates that are there
    already; there are fewer if fewer are open. Those that are answered, implied or "unsure" are not
    asked, but for an implied one now and then as a check. At most ``most_shown`` groups are shown
    beside a row. The same knowledge gives the same questions.
    """
    rng = np.random.RandomState(seed)
    rows = draw_candidate_rows(known.pairs, int(known.pairs.n_rows or 0), n, rng)
    Z = np.asarray(learned.view.embedding(rows), dtype=np.float64)
    scene = make_scene(Z, learned.threshold, rows, known.pairs, known.unsure)
    found = pick_questions(scene, find_strategy(_STRATEGY), n, rng)
    which = list(_choose_which_questions(scene, rows, known, n, most_shown, rng))
    at = max(0, _LONGEST_RUN - known.counts.run)
    if at <= _SOON:
        likely = _find_likely(scene, most_shown, rng)
        pairs = [[one.row, one.shown[0]] for one in likely]
        found = np.concatenate([found[:at], np.array(pairs).reshape(-1, 2), found[at:]])[:n]
        placed = [WhichAsked(int(rows[one.row]), rows[one.shown], sought=True) for one in likely]
        which[at:at] = placed if which else []
    return NextQuestions(np.asarray(rows[found]), tuple(which), _choose_check(known, learned, rng))


def _find_likely(scene: Scene, most_shown: int, rng: np.random.RandomState) -> list[WhichQuestion]:
    """Find a question about a row's likely group, or else a pair that is likely the same."""
    near = pick_which_questions(scene, 1, rng, "near", most_shown)
    if near and np.linalg.norm(scene.Z[near[0].row] - scene.Z[near[0].shown[0]]) < scene.threshold:
        return near
    pairs = pick_by_likeness(scene, 1, rng)
    return [WhichQuestion(int(i), np.array([j])) for i, j in pairs.tolist()]


def _choose_which_questions(
    scene: Scene,
    rows: Ints,
    known: Knowledge,
    n: int,
    most_shown: int,
    rng: np.random.RandomState,
) -> Iterator[WhichAsked]:
    """Choose n rows to compare with groups, at random and the farthest in turn, each row once.

    ``rows`` are the row numbers of the scene's points.
    """
    order = [_TURNS[(known.n_steps + k) % len(_TURNS)] for k in range(n)]
    lists = {
        choose: iter(pick_which_questions(scene, n, rng, choose, most_shown))
        for choose in set(order)
    }
    asked: set[int] = set()
    for choose in order:
        which = next((one for one in lists[choose] if one.row not in asked), None)
        if which is not None:
            asked.add(which.row)
            sought = choose != "random"
            yield WhichAsked(int(rows[which.row]), rows[which.shown], sought)


def _choose_check(known: Knowledge, learned: TaughtMetric, rng: np.random.RandomState) -> Ints:
    """Choose an implied pair as a check, the least likely of a sample by its distance.

    Returns an array of shape (1, 2), or (0, 2) if no check is due soon or no pair is implied.
    """
    groups, none = known.pairs.groups, np.empty((0, 2), dtype=np.int64)
    soon = (known.n_steps + _AHEAD) % CHECK_EVERY < _AHEAD
    if not soon or known.n_conflicts or not len(groups.points):
        return none
    drawn = rng.choice(groups.points, size=(_LOOKED_AT * 50, 2))
    drawn = np.sort(drawn[drawn[:, 0] != drawn[:, 1]], axis=1)
    drawn = drawn[_are_implied(known, drawn)]
    alike = groups.alike(drawn)
    # Pairs that are to be the same and lie far apart, and others that lie close together, in turn.
    turn = (known.n_steps + _AHEAD) // CHECK_EVERY
    same = bool(alike.any()) and (turn % 2 == 1 or bool(alike.all()))
    some = drawn[alike == same][:_LOOKED_AT]
    if not len(some):
        return none
    ends, place = np.unique(some, return_inverse=True)
    distance = linked_distances(learned.view.embedding(ends), place.reshape(some.shape))
    return np.asarray(some[[distance.argmax() if same else distance.argmin()]])


def _are_implied(known: Knowledge, links: Ints) -> Any:
    """Whether each pair follows from answers without having been answered itself."""
    pairs = known.pairs
    said = np.concatenate([pairs.must_link, pairs.cannot_link, known.unsure])
    return pairs.groups.tell(links) & ~np.isin(keys_of(links), keys_of(said))


def _first_pair(links: Ints) -> dict[str, int] | None:
    """Return the first pair as plain values, or None if there is none."""
    return {"left": int(links[0, 0]), "right": int(links[0, 1])} if len(links) else None


# Groups that a row is shown beside: pictures are seen at a glance, words are to be read.
MOST_PICTURES, MOST_TEXTS = 9, 5


def question_of(event: Event | None, known: Knowledge) -> dict[str, Any] | None:
    """Return the question which group a row belongs to that an event answered.

    None if the event answered another kind of question, or if its groups are gone.
    """
    n_rows = int(known.pairs.n_rows or 0)
    if not isinstance(event, Which) or event.left >= n_rows:
        return None
    origin = "sought" if event.origin == "sought" else "question"
    return _describe_choice(event.left, [r for r in event.rows if r < n_rows], origin, known)


def _describe_choice(
    left: int, rows: list[int], origin: str, known: Knowledge
) -> dict[str, Any] | None:
    """Describe a row beside rows of groups as plain values; None if none of these has a group."""
    told = [(row, known.groups.of(row)) for row in rows]
    shown = [(row, group) for row, group in told if group is not None]
    if not shown:
        return None
    rows, groups = (list(part) for part in zip(*shown, strict=True))
    return {"left": left, "rows": rows, "groups": groups, "origin": origin}


# So many answers in a row that say the same are looked into.
_EQUAL_ANSWERS = 10
# A column of at most so many values may say where records come from.
_FEW_VALUES = 8


def explain_equal_answers(known: Knowledge, records: StudioRecords) -> dict[str, Any] | None:
    """Name the column that may be why the last ten answers were all the same or all different.

    Where such a column is learned from, questions are about pairs that agree in it, or that do not.
    Returns ``same``, what was answered, and ``column``, None if there is no such column; or None,
    unless the last ten answers said one thing of a pair each.
    """
    latest = known.latest_pairs(_EQUAL_ANSWERS)
    if len(latest) < _EQUAL_ANSWERS or len({same for _, same in latest}) > 1:
        return None
    best: tuple[float, str | None] = (0.5, None)
    choice = records.choice
    for name in () if choice is None else choice.learned:
        cells = records.columns.get(name)
        if cells is None:
            continue
        values, count = np.unique([str(cell) for cell in cells], return_counts=True)
        if not 2 <= len(values) <= _FEW_VALUES:
            continue
        alike = [str(cells[i]) == str(cells[j]) for (i, j), _ in latest]
        usual = float(((count / count.sum()) ** 2).sum())  # of any two rows, so many agree
        chance = (usual if alike[0] else 1 - usual) ** len(alike)
        if len(set(alike)) == 1 and chance < best[0]:
            best = chance, name
    return {"same": latest[0][1], "column": best[1]}
