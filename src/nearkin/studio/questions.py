"""The next questions, by the rows as the metric sees them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import numpy as np

from nearkin._types import Ints
from nearkin.errors import InputError, InputTypeError
from nearkin.pairs.answers import UNNAMED
from nearkin.pairs.closure import keys_of, list_pairs_within
from nearkin.questions.strategies import (
    STRATEGIES,
    Scene,
    draw_candidate_rows,
    find_strategy,
    make_scene,
    pick_by_likeness,
    pick_questions,
)
from nearkin.questions.which import Choice, WhichQuestion, pick_which_questions
from nearkin.rows.distances import linked_distances
from nearkin.studio.events import SETTLING, Pair, checked_name
from nearkin.studio.knowledge import Knowledge, KnownGroups, Spoken, known_groups, telling_pairs
from nearkin.studio.looking import Looking
from nearkin.studio.metric import TaughtMetric
from nearkin.studio.suspects import Heard

# How many are chosen at a time, so that the next one is there at once.
N_QUESTIONS = 12
# The strategy that looks for groups, and the one for distances beside it.
_FOR_GROUPS, _FOR_DISTANCES = "clusters", "consolidate"
# Which rows are to be placed, in turn, where questions are chosen so. Rows at random are those that
# the metric is judged by; the farthest teach most. On other data than digits, every other row at
# random lost nothing that could be seen.
_TURNS: dict[str, tuple[Choice, ...]] = {
    "consolidate": ("random", "far"),
    "neighborhoods": ("far",),
    "clusters": (*("clusters",) * 9, "random"),
}
# After so many answers in a row that found nothing alike, something likely is asked.
_LONGEST_RUN = 5
# Likely questions are looked for if it may come to that within so many answers: these may come
# faster than questions are chosen anew.
_SOON = 2
# A question beside several groups takes longer to read: it must tell so many times as much.
_WORTH = 1.05
# Every so many answers, one is asked for that follows from the others.
CHECK_EVERY = 17
# So many answers before that, it is chosen.
_AHEAD = 4
# Pairs that follow, of which the least likely is asked.
_LOOKED_AT = 20


def strategies_by_goal(strategy: str) -> dict[str, str]:
    """What questions may be for, ``"distance"`` or ``"clusters"``, and how they are chosen then.

    Parameters
    ----------
    strategy : str
        The one of the lesson.
    """
    find_strategy(strategy)
    found = {"distance": _FOR_DISTANCES if strategy == _FOR_GROUPS else strategy}
    if _FOR_GROUPS in STRATEGIES:
        found["clusters"] = _FOR_GROUPS
    return found


@dataclass(frozen=True)
class WhichAsked:
    """Which of some rows, of groups that differ, a row is like.

    Attributes
    ----------
    row : int
    shown : int ndarray of shape (k,)
        If there is but one, it is asked of the two whether they are the same.
    sought : bool
        Whether the row was looked for: it is no fair test then.
    """

    row: int
    shown: Ints
    sought: bool

    def open_part(self, known: Knowledge) -> Ints:
        """Those of the rows shown that it may still be like; none if it has found its group."""
        groups = known.pairs.groups
        links = np.column_stack([np.full(len(self.shown), self.row), self.shown])
        apart, _ = list_pairs_within(
            np.arange(len(links) * (len(links) - 1) // 2), np.zeros(1, int), np.array([len(links)])
        )
        if groups.alike(links).any() or not groups.differ(self.shown[apart]).all():
            return self.shown[:0]
        return np.asarray(self.shown[known.are_open(links)])

    def described(self, known: Knowledge, groups: KnownGroups) -> dict[str, Any] | None:
        """Plain values, groups in the order of their numbers; None if it is not open any more."""
        shown = self.open_part(known).tolist()
        if len(shown) == 1:  # a pair, of rows of any group or none
            return {"left": self.row, "rows": shown, "groups": [], "origin": self._origin}
        of_row = [(groups.of(row), row) for row in shown]
        told = [(group, row) for group, row in of_row if group is not None]
        if not told:
            return None
        told.sort(key=lambda one: one[0]["number"])
        return {
            "left": self.row,
            "rows": [row for _, row in told],
            "groups": [group for group, _ in told],
            "origin": self._origin,
        }

    @property
    def _origin(self) -> str:
        return "sought" if self.sought else "question"


@dataclass(frozen=True)
class Questions:
    """What to ask next, the best first.

    Attributes
    ----------
    pairs : int ndarray of shape (k, 2)
        Whether these are the same.
    which : tuple of WhichAsked
        In place of pairs, where that tells more.
    check : int ndarray of shape (0 or 1, 2)
        A pair that follows from answers, asked to see whether these are right.
    """

    pairs: Ints
    which: tuple[WhichAsked, ...]
    check: Ints

    @classmethod
    def none(cls) -> Questions:
        """Nothing to ask."""
        nothing = np.empty((0, 2), dtype=np.int64)
        return cls(nothing, (), nothing)

    def state(self, known: Knowledge, groups: KnownGroups) -> dict[str, Any]:
        """Those that are next by what is known, as plain values."""
        told = (which.described(known, groups) for which in self.which)
        return {
            "question": known.first_open(self.pairs),
            "which": next((one for one in told if one is not None), None),
            "check": _first(self.check[_follow(known, self.check)]) if _is_due(known) else None,
        }


def next_questions(
    known: Knowledge,
    learned: TaughtMetric,
    n: int = N_QUESTIONS,
    *,
    strategy: str,
    most_shown: int = 9,
    seed: int = 0,
) -> Questions:
    """What to ask next: the answers would teach most.

    Pairs are chosen as by :func:`nearkin.suggest_pairs`, in the learned coordinates that are there
    already. The same knowledge gives the same questions.

    Parameters
    ----------
    known : Knowledge
        Neither what is known is asked nor what follows, nor what someone was unsure of; but now and
        then what follows, as a check.
    learned : TaughtMetric
    n : int
        There may be fewer, or none, where there are no more open questions.
    strategy : str
    most_shown : int
        Groups beside a row.
    seed : int
    """
    rng = np.random.RandomState(seed)
    rows = draw_candidate_rows(known.pairs, int(known.pairs.n_rows or 0), n, rng)
    Z = np.asarray(learned.view.embedding(rows), dtype=np.float64)
    scene = make_scene(Z, learned.threshold, rows, known.pairs, known.not_to_ask)
    found = pick_questions(scene, find_strategy(strategy), n, rng)
    which = list(_whiches(scene, rows, known, _TURNS.get(strategy, ()), n, most_shown, rng))
    at = max(0, _LONGEST_RUN - known.counts.run)
    if at <= _SOON:
        likely = _likely(scene, most_shown, rng)
        pairs = [[one.row, one.shown[0]] for one in likely]
        found = np.concatenate([found[:at], np.array(pairs).reshape(-1, 2), found[at:]])[:n]
        placed = [WhichAsked(int(rows[one.row]), rows[one.shown], sought=True) for one in likely]
        which[at:at] = placed if which else []
    return Questions(np.asarray(rows[found]), tuple(which), _check(known, learned, rng))


def _is_due(known: Knowledge) -> bool:
    """Whether it is time to check answers."""
    return (known.n_steps + 1) % CHECK_EVERY == 0


def _likely(scene: Scene, most_shown: int, rng: np.random.RandomState) -> list[WhichQuestion]:
    """A row that is likely like one of the groups, or else two rows that are likely the same."""
    near = pick_which_questions(scene, 1, rng, "near", most_shown)
    if near and np.linalg.norm(scene.Z[near[0].row] - scene.Z[near[0].shown[0]]) < scene.threshold:
        return near
    pairs = pick_by_likeness(scene, 1, rng)
    return [WhichQuestion(int(i), np.array([j]), 1.0, 1.0) for i, j in pairs.tolist()]


def _whiches(
    scene: Scene,
    rows: Ints,
    known: Knowledge,
    turns: tuple[Choice, ...],
    n: int,
    most_shown: int,
    rng: np.random.RandomState,
) -> Iterator[WhichAsked]:
    """Rows in turn, each once."""
    order = [turns[(known.n_steps + k) % len(turns)] for k in range(n if turns else 0)]
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
            yield WhichAsked(int(rows[which.row]), rows[_worth_showing(which)], sought)


def _worth_showing(which: WhichQuestion) -> Ints:
    """All groups, or the likeliest alone if the others add next to nothing."""
    return which.shown if which.information > _WORTH * which.plain else which.shown[:1]


def _check(known: Knowledge, learned: TaughtMetric, rng: np.random.RandomState) -> Ints:
    """A pair that follows, the least likely of some by its distance, if it is soon time for one."""
    groups, none = known.pairs.groups, np.empty((0, 2), dtype=np.int64)
    soon = (known.n_steps + _AHEAD) % CHECK_EVERY < _AHEAD
    if not soon or known.n_conflicts or not len(groups.points):
        return none
    drawn = rng.choice(groups.points, size=(_LOOKED_AT * 50, 2))
    drawn = np.sort(drawn[drawn[:, 0] != drawn[:, 1]], axis=1)
    drawn = drawn[_follow(known, drawn)]
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


def _follow(known: Knowledge, links: Ints) -> Any:
    """Whether pairs follow from answers without having been answered."""
    pairs = known.pairs
    said = np.concatenate([pairs.must_link, pairs.cannot_link, known.not_to_ask])
    return pairs.groups.tell(links) & ~np.isin(keys_of(links), keys_of(said))


def follows(known: Knowledge, left: int, right: int) -> bool:
    """Whether something follows of two rows without having been answered."""
    return bool(_follow(known, np.array([[min(left, right), max(left, right)]]))[0])


def _first(links: Ints) -> dict[str, int] | None:
    return {"left": int(links[0, 0]), "right": int(links[0, 1])} if len(links) else None


# What a lesson asks next, and what for.


# Where something may have been answered, for the journal.
ORIGINS = (
    "question", "sought", "check", "suspect", "neighbors", "group", "review", "list", SETTLING,
)  # fmt: skip
# Groups that a row is shown beside: pictures are seen at a glance, words are to be read.
_PICTURES, _TEXTS = 9, 5


class Asking(Looking):
    """The questions of a :class:`nearkin.studio.lesson.Lesson`.

    Parameters
    ----------
    strategy : str
        How questions are chosen.
    seed : int
    """

    def __init__(self, strategy: str, seed: int) -> None:
        self._seed, self._strategies = seed, strategies_by_goal(strategy)
        self._goal = next(goal for goal, one in self._strategies.items() if one == strategy)
        self._questions = Questions.none()
        self._grouped: tuple[int, KnownGroups] | None = None

    def state(self) -> dict[str, Any]:
        """Counts, and the next question, as plain values."""
        raise NotImplementedError  # Lesson brings it

    def _change(self, entry: dict[str, Any], *, before: str | None = None) -> dict[str, Any]:
        raise NotImplementedError  # Lesson brings it

    def _voiced(self, entry: dict[str, Any], by: str | None) -> dict[str, Any]:
        raise NotImplementedError  # Lesson brings it

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
        """Say which of some rows, of groups that differ, a row is like.

        It is like that one and unlike all others. It is one answer, and undone as one.

        Parameters
        ----------
        left : int
        rows : sequence of int
            Those that were shown beside it.
        right : int or None
            One of them.
        same : bool or None
            True with ``right``; False if it is like none of them; None for unsure.
        origin, before, by
            As in :meth:`answer`; ``before`` of all these pairs.

        Returns
        -------
        dict
            As :meth:`answer`.
        """
        check_origin(origin)
        entry = {"do": "which", "left": left, "rows": list(rows), "same": same, "origin": origin}
        if right is not None:
            entry["right"] = right
        return self._change(self._voiced(entry, by), before=before)

    def name_known_group(self, row: int, name: str | None) -> dict[str, Any]:
        """Give the group that answers have put a row in a name, or None to take it away.

        As :meth:`answer`.
        """
        row = self.records.checked_row(row)
        name = None if name is None else checked_name(name)
        return self._change(self._known_groups(self._book.known).naming(row, name))

    def questions(self) -> list[dict[str, int]]:
        """The next questions, the best first: those of a report, which takes longer."""
        known, seen = self._newest()
        return self._ask(known, seen.learned)

    def _ask(self, known: Knowledge, learned: TaughtMetric) -> list[dict[str, int]]:
        goal = self._goal
        found = next_questions(
            known,
            learned,
            strategy=self._strategies[goal],
            most_shown=_TEXTS if self.records.pictures is None else _PICTURES,
            seed=self._seed,
        )
        if goal == self._goal:
            self._questions = found
        return [{"left": i, "right": j} for i, j in found.pairs.tolist()]

    def _asked(self, known: Knowledge) -> dict[str, Any]:
        """What is next, as plain values, see :meth:`state`."""
        return self._questions.state(known, self._known_groups(known)) | {"goal": self._goal}

    def _which_of(self, entry: Mapping[str, Any] | None) -> dict[str, Any] | None:
        """The question that an entry answers, if it is one beside groups that are still there."""
        if entry is None or entry["do"] != "which":
            return None
        groups = self._known_groups(self._book.known)
        n_rows = len(self.records)
        told = [(row, groups.of(row)) for row in entry["rows"] if row < n_rows]
        shown = [(row, group) for row, group in told if group is not None]
        if not shown or entry["left"] >= n_rows:
            return None
        rows, found = zip(*shown, strict=True)
        origin = "sought" if entry["origin"] == "sought" else "question"
        return {"left": entry["left"], "rows": list(rows), "groups": list(found), "origin": origin}

    def _said_in(self, left: int, right: int) -> dict[str, Any]:
        """The ``number`` of the entry that says something of two rows, and what that answered."""
        number, entry = self._book.entry_of((left, right))
        return {"number": number, "which": self._which_of(entry)}

    def _known_groups(self, known: Knowledge) -> KnownGroups:
        """Groups that answers make; the last ones are kept."""
        kept = self._grouped
        if kept is None or kept[0] != known.version:
            kept = self._grouped = (known.version, known_groups(known, len(self.records)))
        return kept[1]

    def aim(self, goal: str) -> dict[str, Any]:
        """Choose what questions are for, from the next report on.

        Parameters
        ----------
        goal : {"distance", "clusters"}
            To improve the distance, or to find the groups.

        Returns
        -------
        dict
            As :meth:`state`; there is no question until the next report.
        """
        if goal not in self._strategies:
            raise InputError(
                f"goal must be one of {', '.join(self._strategies)}, not {goal!r:.60}."
            )
        if goal != self._goal:
            self._goal = goal
            self._questions = Questions.none()
        return self.state()


def check_origin(origin: str) -> None:
    """Raise if nothing is answered in a place of that name."""
    if origin not in ORIGINS:
        raise InputError(f"origin must be one of {', '.join(ORIGINS)}, not {origin!r:.60}.")


# Answers that a second person is asked for too, so that it is seen who is how often wrong.


# Of so many that are asked twice, one is any: nobody is to be judged by the hardest alone.
_ONE_OF = 4
# Groups that can be shown beside a row; what is said of more was not asked.
_MOST_PAIRS = 9


def checked_share(share: float) -> float:
    """A share from 0 to 1, or an error."""
    if isinstance(share, bool) or not isinstance(share, (int, float)):
        raise InputTypeError(f"a share is a number from 0 to 1, not {share!r:.60}.")
    if not 0 <= share <= 1:
        raise InputError(f"a share is a number from 0 to 1, not {share:g}.")
    return float(share)


def second_opinions(
    spoken: Sequence[Spoken],
    telling: Mapping[int, Pair],
    doubts: Mapping[int, float],
    share: float,
    name: str,
) -> list[Pair]:
    """Pairs that someone else alone has answered, and this person is to answer too.

    Those first that are likeliest wrong, so that mistakes come to light; but every fourth is any.
    Whoever's own answers are likeliest wrong is asked for none: others are, about these.

    Parameters
    ----------
    spoken : sequence of Spoken
        What each person said.
    telling : mapping
        Of the numbers of answers to the pairs by which they are judged.
    doubts : mapping
        Of their numbers to the chance that they are wrong, where that is known.
    share : float
        Of the questions that anybody answered, those that two people are asked.
    name : str
        Whom to ask.

    Returns
    -------
    list of (int, int)
        The first is to be asked first; none if the share is reached.

    Examples
    --------
    >>> from nearkin.studio.questions import second_opinions
    >>> from nearkin.studio.knowledge import Spoken
    >>> said = {1: (0, 1), 2: (2, 3), 3: (4, 5)}
    >>> who = {1: "Ann", 2: "Ann", 3: "Bob"}
    >>> spoken = [Spoken(number, who[number], {pair: True}) for number, pair in said.items()]
    >>> second_opinions(spoken, said, {1: 0.1, 2: 0.7}, 0.5, "Bob")
    [(2, 3)]
    """
    heard_of: dict[Pair, set[str]] = defaultdict(set)
    for one in spoken:
        for pair in one.said:
            heard_of[pair].add(one.by)
    asked = [
        one
        for one in spoken
        if one.number in telling and one.by != UNNAMED and len(one.said) <= _MOST_PAIRS
    ]
    single = [one for one in asked if len(heard_of[telling[one.number]]) == 1]
    n_twice = (len(asked) - len(single)) // 2
    wanted = int(share * (len(single) + n_twice)) - n_twice
    by = {one.number: one.by for one in single}
    doubtful = iter(sorted(by, key=lambda number: -doubts.get(number, 0.0)))
    drawn = iter(sorted(by, key=lambda number: crc32(f"{telling[number]}".encode())))
    order: dict[int, None] = {}
    while len(order) < min(wanted, len(by)):
        turn = drawn if (n_twice + len(order)) % _ONE_OF == _ONE_OF - 1 else doubtful
        order[next(number for number in turn if number not in order)] = None
    return [telling[number] for number in order if by[number] != name]


# Questions of a lesson that several people share: each has their own, but for some of two.


class Sharing(Looking):
    """What each person is asked in a :class:`nearkin.studio.lesson.Lesson`.

    Parameters
    ----------
    overlap : float
        Share of the questions that two people are asked.

    Attributes
    ----------
    overlap : float
    """

    _questions: Questions

    def _known_groups(self, known: Knowledge) -> KnownGroups:
        raise NotImplementedError  # Asking brings it

    def __init__(self, overlap: float) -> None:
        self.overlap = checked_share(overlap)
        self._heard: Heard | None = None

    def share(self, overlap: float) -> dict[str, Any]:
        """Have another share of the questions asked of two people; gives the state."""
        self.overlap = checked_share(overlap)
        return self.state()

    def state(self) -> dict[str, Any]:
        """Counts, and the next question, as plain values."""
        raise NotImplementedError  # Lesson brings it

    def still_asked(self, pair: Pair, name: str | None, second: bool) -> bool:
        """Whether a question that one person has need not change, whatever others answered.

        Parameters
        ----------
        pair : (int, int)
        name : str or None
            Who it is.
        second : bool
            Whether it is a second opinion.
        """
        known = self._book.known
        if not second:
            return bool(known.are_open(np.array([pair]))[0])
        left, right = sorted(pair)
        return known.said(left, right) and (left, right, name) not in known.voices

    def has_answered(self, pair: Pair, name: str | None) -> bool:
        """Whether a person has answered a pair; of whoever has no name, whether anybody has."""
        known, ends = self._book.known, (min(pair), max(pair))
        return known.said(*ends) if name is None else (*ends, name) in known.voices

    def questions_for(
        self, name: str | None, taken: Collection[Pair] = ()
    ) -> tuple[list[Pair], list[Pair]]:
        """What to ask one of several people.

        Parameters
        ----------
        name : str or None
            Who it is. Those without a name are asked for no second opinions, since nobody would
            know whose they are.
        taken : collection of (int, int)
            What others are being asked, the smaller row first.

        Returns
        -------
        second, fresh : list of (int, int)
            Pairs that somebody else alone has answered, and open questions, the best first.
        """
        known = self._book.known
        second: list[Pair] = []
        if name is not None and self.overlap > 0:
            telling = telling_pairs(known.spoken, {})
            doubts: Mapping[int, float] = {}
            if self._heard is not None:
                telling |= self._heard.telling
                doubts = self._heard.doubts
            second = second_opinions(known.spoken, telling, doubts, self.overlap, name)
        questions = self._questions.pairs
        fresh = questions[known.are_open(questions)] if len(questions) else np.empty((0, 2), int)
        pairs = [(int(i), int(j)) for i, j in fresh.tolist()]
        return [pair for pair in second if pair not in taken], [
            pair for pair in pairs if (min(pair), max(pair)) not in taken
        ]

    def asked_of(self, pair: Pair) -> dict[str, Any] | None:
        """The question beside groups that answered a pair, as ``which`` of a state, if it was one.

        None if its groups are not what they were.
        """
        number, entry = self._book.entry_of((min(pair), max(pair)))
        which = self._which_of(entry) if number else None
        if which is None or len(which["rows"]) < 2:
            return None
        groups = [group["number"] for group in which["groups"]]
        shown = {which["left"], *which["rows"]}
        return which if len(set(groups)) == len(groups) and shown >= set(pair) else None

    def _which_of(self, entry: Mapping[str, Any] | None) -> dict[str, Any] | None:
        raise NotImplementedError  # Asking brings it

    def rows_to_place(self) -> list[dict[str, Any]]:
        """Rows beside groups that they may be in, the best first, as ``which`` of a state."""
        known = self._book.known
        groups = self._known_groups(known)
        told = (which.described(known, groups) for which in self._questions.which)
        return [one for one in told if one is not None]

    def still_to_place(self, which: Mapping[str, Any]) -> dict[str, Any] | None:
        """A row beside groups that somebody is asked about, as it is now; None if it was placed."""
        known = self._book.known
        asked = WhichAsked(which["left"], np.array(which["rows"]), which["origin"] == "sought")
        return asked.described(known, self._known_groups(known))

    def still_to_check(self, check: Mapping[str, int]) -> bool:
        """Whether a pair still follows from answers, and was not answered itself."""
        return follows(self._book.known, check["left"], check["right"])
