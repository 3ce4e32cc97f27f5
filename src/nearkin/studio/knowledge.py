"""Pairs, groups and counts that follow from a series of answers."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearkin._types import Ints
from nearkin.errors import InputError
from nearkin.pairs.answers import UNNAMED
from nearkin.pairs.closure import ends_of, keys_of, list_pairs_across, list_pairs_within
from nearkin.pairs.pairs import Conflict, Pairs
from nearkin.studio.events import Event, Name, Pair, Said, State, Told, Which, word_of


def match_names(names: Sequence[str], before: Sequence[Ints], after: Ints) -> list[str | None]:
    """Give names to groups by the rows that were in the named groups ``before``; None for no name.

    A name goes to the group with most of its rows, as long as they are at least half of the named
    group or of that one: most of the named group is still there, whatever has joined it, or most of
    the new one comes from it. Of several names for a group, that of which more is left. The caller
    keeps names that no group has, in case a group with these rows comes back. ``after`` has the
    group of each row now, from 0; −1 for rows of none.

    >>> given = [np.array([0, 1, 2]), np.array([3, 4])]
    >>> match_names(["cats", "dogs"], given, np.array([1, 1, 1, 0, 0, 0, 2]))
    ['dogs', 'cats', None]
    """
    found: list[str | None] = [None] * (int(after.max(initial=-1)) + 1)
    sizes = Counter(after.tolist())
    claims = []
    for name, rows in zip(names, before, strict=True):
        for group, n in Counter(after[rows].tolist()).items():
            if group >= 0 and 2 * n >= min(len(rows), sizes[group]):
                claims.append((-n / len(rows), -n, group, name))
    left = set(names)
    for *_, group, name in sorted(claims):
        if found[group] is None and name in left:
            found[group] = name
            left.remove(name)
    return found


class Counts(NamedTuple):
    """Numbers of answers that still count, by what they say."""

    # Answers that say of at least one pair that it is the same.
    same: int
    different: int
    unsure: int
    # Length of the run of latest answers of which none said "same".
    run: int

    @property
    def told(self) -> int:
        """Number of answers that a metric can learn from."""
        return self.same + self.different

    @property
    def n_answers(self) -> int:
        """Number of all answers."""
        return self.same + self.different + self.unsure


def answers_by_event(state: State) -> dict[int, dict[Pair, Said]]:
    """Group what counts of pairs by the numbers of the events that said it.

    Each pair that was known from the start is an answer of its own, with a number below 0.
    """
    found: dict[int, dict[Pair, Said]] = {}
    for k, (pair, told) in enumerate(state.pairs.items()):
        found.setdefault(told.entry or -k - 1, {})[pair] = told.same
    return found


def count_answers(state: State) -> Counts:
    """Count the answers that are neither withdrawn nor wholly overwritten, by what they say."""
    answers = answers_by_event(state)
    kinds: dict[int, Said] = {}
    for number, said in answers.items():  # same if of any pair, else different, else unsure
        kinds[number] = next(kind for kind in (True, False, None) if kind in said.values())
    latest = [kinds[number] for number in sorted(kinds, reverse=True) if number > 0]
    run = next((k for k, kind in enumerate(latest) if kind is True), len(latest))
    told = list(kinds.values())
    return Counts(told.count(True), told.count(False), told.count(None), run)


class Spoken(NamedTuple):
    """What one answer says of pairs, as far as it is neither withdrawn nor overwritten."""

    # Number of the event; below 0 for a pair that was known from the start.
    number: int
    # Name of the person who gave it.
    by: str
    # From pairs to True for same, False for different, None for unsure.
    said: Mapping[Pair, Said]


def list_spoken(state: State) -> tuple[Spoken, ...]:
    """List all answers with who gave them. One answer may speak of several pairs."""
    found: dict[tuple[int, str], dict[Pair, Said]] = defaultdict(dict)
    named: set[Pair] = set()
    for (i, j, name), told in state.voices.items():
        named.add((i, j))
        found[told.entry, name][i, j] = told.same
    for number, said in answers_by_event(state).items():
        for pair, same in said.items():
            if pair not in named:
                found[number, UNNAMED][pair] = same
    return tuple(Spoken(number, by, said) for (number, by), said in found.items())


def telling_pairs(spoken: Sequence[Spoken], chance: Mapping[Pair, float]) -> dict[int, Pair]:
    """Choose of each answer the one pair by which it is judged right or wrong, by its number.

    That is a must-link if the answer has any, else a cannot-link; of several, the one that is
    likeliest wrong by its ``chance`` to be the same (0.5 if unknown). So a choice among several
    groups counts once. Answers that say only "unsure" are left out.

    >>> chosen = Spoken(1, "Ann", {(0, 1): False, (0, 2): True})
    >>> none_of_them = Spoken(2, "Bob", {(1, 3): False, (2, 3): False})
    >>> telling_pairs([chosen, none_of_them], {(2, 3): 0.9})
    {1: (0, 2), 2: (2, 3)}
    """
    found = {}
    for number, _, said in spoken:
        alike = [pair for pair, same in said.items() if same]
        apart = [pair for pair, same in said.items() if same is False]
        if alike:
            found[number] = min(alike, key=lambda pair: chance.get(pair, 0.5))
        elif apart:
            found[number] = max(apart, key=lambda pair: chance.get(pair, 0.5))
    return found


def find_placers(spoken: Sequence[Spoken]) -> dict[int, str]:
    """Map each row with a must-link to the name of the person who gave its first one."""
    found: dict[int, str] = {}
    for _, by, said in sorted(spoken, key=lambda one: one.number):
        for pair, same in said.items():
            if same:
                for row in pair:
                    found.setdefault(row, by)
    return found


def find_confirmed_pairs(spoken: Sequence[Spoken]) -> set[Pair]:
    """Pairs to which at least two people have given the same answer."""
    heard: dict[tuple[Pair, bool], set[str]] = defaultdict(set)
    for _, by, said in spoken:
        for pair, same in said.items():
            if same is not None:
                heard[pair, same].add(by)
    return {pair for (pair, _), names in heard.items() if len(names) > 1}


# Pairs of each kind that a learner is told, of all that follow: ITML takes 30 ms for 1000 pairs.
MOST_TOLD = 1000
# Rows among which these are looked for: 45 000 pairs.
_MOST_ROWS = 300


@dataclass(frozen=True)
class Knowledge:
    """All that is known at one moment, as an immutable value."""

    # How many changes there were.
    version: int
    # Must-links and cannot-links, with the number of rows.
    pairs: Pairs
    # Triplets alone, which were given with the data.
    triplets: Pairs
    # Pairs that were answered with "unsure".
    unsure: Ints
    # What was said of these rows, by whom, which all this comes from.
    events: State = field(repr=False)

    @cached_property
    def counts(self) -> Counts:
        """Numbers of answers, each of which may speak of many pairs."""
        return count_answers(self.events)

    @cached_property
    def spoken(self) -> tuple[Spoken, ...]:
        """All answers with who gave them, see :func:`list_spoken`."""
        return list_spoken(self.events)

    @cached_property
    def groups(self) -> KnownGroups:
        """Groups of rows that the answers imply, see :func:`number_rows`."""
        labels = np.full(int(self.pairs.n_rows or 0), -1)
        for row, number in number_rows(self.events).items():
            labels[row] = number
        names = self.events.names
        rows = [np.array(some) for some in names.values()]
        return KnownGroups(labels, match_names(list(names), rows, labels))

    @property
    def n_steps(self) -> int:
        """Number of steps that can be undone."""
        return len(self.events.undo)

    @cached_property
    def n_conflicts(self) -> int:
        """Number of cannot-links between rows that must-links tie together."""
        return int(self.pairs.groups.contradicted.sum())

    @property
    def n_answers(self) -> int:
        """Number of answers, each of which may speak of several pairs."""
        return self.counts.n_answers

    def state(self) -> dict[str, Any]:
        """Counts as plain values, see :meth:`nearkin.studio.lesson.Lesson.state`."""
        same, different, unsure, _ = self.counts
        asked = self.events.asked
        return {
            "version": self.version,
            "n_answers": self.n_answers,
            "n_same": same,
            "n_different": different,
            "n_unsure": unsure,
            "can_undo": bool(self.events.undo),
            "can_redo": bool(self.events.redo),
            "conflicts": self.n_conflicts,
            "asked": asked and {"purpose": asked.purpose, "words": asked.words},
        }

    def list_pairs(self) -> dict[str, Any]:
        """All answered pairs by kind, as flat lists of row numbers."""
        return {
            "version": self.version,
            "must_link": self.pairs.must_link.ravel().tolist(),
            "cannot_link": self.pairs.cannot_link.ravel().tolist(),
            "unsure": self.unsure.ravel().tolist(),
        }

    @cached_property
    def told(self) -> Pairs:
        """What a learner is given: the answered pairs, pairs that follow, and the triplets.

        Groups whose answers contradict each other contribute their answered pairs alone, since
        anything follows from a contradiction. At most 1000 pairs of each kind are added.
        """
        pairs, groups = self.pairs, self.pairs.groups
        wrong = groups.cannot[groups.contradicted, 0]
        ends = np.concatenate([groups.must[:, None].repeat(2, axis=1), groups.cannot])
        drawn = _sample_closure(pairs.subset(~np.isin(ends, wrong).any(axis=1)))
        return pairs + drawn + self.triplets

    def without(self, link: tuple[int, int]) -> Knowledge:
        """Return what would be known if a pair had not been answered."""
        return replace(self, pairs=self.pairs.without([link]))

    def latest_pairs(self, n: int) -> list[tuple[Pair, bool]]:
        """List the pairs of the last n answers, if each says of one pair that it is same or not."""
        answers = answers_by_event(self.events)
        latest = [answers[number] for number in sorted(answers, reverse=True)[:n] if number > 0]
        if any(len(said) > 1 for said in latest):
            return []
        return [(pair, same) for said in latest for pair, same in said.items() if same is not None]

    def are_open(self, questions: Ints) -> NDArray[np.bool_]:
        """Whether each of some pairs is open: neither answered nor implied by answers."""
        unsure = np.isin(keys_of(questions), keys_of(self.unsure))
        return ~(self.pairs.groups.tell(questions) | unsure)

    def find_relations(self, row: int, others: Ints) -> list[bool | None]:
        """Say of each other row whether it is the same as a row: None where that is unknown."""
        groups = self.pairs.groups
        links = np.column_stack([np.full(len(others), row), others])
        different = np.isin(keys_of(links), keys_of(self.pairs.cannot_link))
        said = np.where(groups.alike(links), 1, np.where(groups.differ(links), 0, -1))
        said[different] = 0
        return [None if answer < 0 else bool(answer) for answer in said]


# Contradictions that are told of.
_MOST_CONTRADICTIONS = 5


def contradictions_of(known: Knowledge) -> list[dict[str, Any]]:
    """List contradictions among answers, at most five, as plain values.

    Each is a cannot-link (``left``, ``right``) and a ``chain`` of rows from one to the other, each
    of which has a must-link to the next.
    """
    if not known.n_conflicts:
        return []
    return [
        {
            "left": conflict.cannot_link[0],
            "right": conflict.cannot_link[1],
            "chain": list(conflict.chain),
        }
        for conflict in known.pairs.conflicts()[:_MOST_CONTRADICTIONS]
        if isinstance(conflict, Conflict)
    ]


# Answers that were given with the data, with their weights.
Weights = Mapping[Pair, tuple[bool, float]]


def read_given_pairs(pairs: Pairs) -> tuple[State, Weights, list[str]]:
    """Turn pairs that are given with the data into the state before the first answer.

    Also returns the pairs' answers with their weights (empty if all weights are 1), and sentences
    for the user.
    """
    weights: dict[Pair, tuple[bool, float]] = {}
    twice = set()
    kinds = ((True, pairs.must_link, pairs.must_weight),)
    for same, links, weight in (*kinds, (False, pairs.cannot_link, pairs.cannot_weight)):
        for (i, j), w in zip(links.tolist(), weight.tolist(), strict=True):
            if (i, j) in weights:
                twice.add((i, j))
            weights[i, j] = (same, w)
    for pair in twice:
        del weights[pair]
    notes = []
    if twice:
        notes.append(
            f"{len(twice)} of the given pairs are said to be both the same and different, and are "
            "left out."
        )
    state = State({pair: Told(same) for pair, (same, _) in weights.items()})
    if all(weight == 1 for _, weight in weights.values()):
        weights = {}
    return state, weights, notes


def build_knowledge(
    events: State, version: int, n_rows: int, weights: Weights, triplets: Pairs
) -> Knowledge:
    """Sort what was said into pairs of each kind for learners.

    Answers about rows from ``n_rows`` on, which are missing from the data, do not count. Weights of
    given pairs hold until the answer is changed; all other pairs have weight 1.
    """
    here = events.among(n_rows)
    kinds: dict[Said, list[Pair]] = {True: [], False: [], None: []}
    for pair, told in here.pairs.items():
        kinds[told.same].append(pair)

    def weighted(said: bool) -> list[float] | None:
        """Weights of the must-links (True) or cannot-links (False)."""
        if not weights:
            return None
        given = (weights.get(pair, (said, 1.0)) for pair in kinds[said])
        return [weight if same is said else 1.0 for same, weight in given]

    pairs = Pairs(
        kinds[True],
        kinds[False],
        must_weight=weighted(True),
        cannot_weight=weighted(False),
        n_rows=n_rows,
    )
    unsure = np.array(kinds[None], dtype=np.int64).reshape(-1, 2)
    return Knowledge(version, pairs, triplets, unsure, here)


def _sample_closure(pairs: Pairs) -> Pairs:
    """Return pairs with their closure, or a sample of 1000 of each kind if there are more.

    A hash of each pair decides whether it is in the sample, so one more answer leaves most of the
    sample, and so the picture, as it was. The pairs must not contradict each other.
    """
    points, group = pairs.points, pairs.groups.number
    sizes = np.bincount(group)
    one, two = ends_of(pairs.groups.differing).T
    if max((sizes * (sizes - 1) // 2).sum(), (sizes[one] * sizes[two]).sum()) <= MOST_TOLD:
        return pairs.closure()
    some = _pick_by_hash(points, _MOST_ROWS)
    order = some[np.argsort(group[some], kind="stable")]
    members, sizes = points[order], np.bincount(group[order], minlength=len(sizes))
    starts = np.cumsum(sizes) - sizes
    must, _ = list_pairs_within(np.arange((sizes * (sizes - 1) // 2).sum()), starts, sizes)
    cannot, _ = list_pairs_across(
        np.arange((sizes[one] * sizes[two]).sum()), starts[one], sizes[one], starts[two], sizes[two]
    )
    least = min(np.concatenate([pairs.must_weight, pairs.cannot_weight]))
    links = [members[links] for links in (must, cannot)]
    links = [some[_pick_by_hash(keys_of(some), MOST_TOLD)] for some in links]
    return Pairs(
        *links,
        must_weight=np.full(len(links[0]), least),
        cannot_weight=np.full(len(links[1]), least),
        n_rows=pairs.n_rows,
    )


def _pick_by_hash(numbers: Ints, most: int) -> Ints:
    """Return the positions of the ``most`` numbers with the smallest hashes, in order."""
    if len(numbers) <= most:
        return np.arange(len(numbers))
    # The mixing steps of SplitMix64.
    mixed = numbers.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    mixed ^= mixed >> np.uint64(31)
    return np.sort(np.argpartition(mixed, most)[:most])


def group_name(name: str | None, group: int) -> str:
    """Return a group's name, or "group k" by its number, counted from 1, if it has none."""
    return f"group {group + 1}" if name is None else name


# Rows that are alone, but known to differ from all groups, count as groups: so many at a time.
_MOST_ALONE = 20


@dataclass(frozen=True)
class KnownGroups:
    """Groups of rows that answers imply, each with a number that it keeps."""

    # Number of each row's group, from 0; −1 for rows of none. Some numbers may be free.
    labels: Ints
    # Names that people gave to the groups, by number.
    names: list[str | None]

    @cached_property
    def sizes(self) -> list[int]:
        """Number of rows of each group; 0 where a number is free."""
        sizes = np.bincount(self.labels[self.labels >= 0], minlength=len(self.names))
        return [int(size) for size in sizes]

    @property
    def numbers(self) -> list[int]:
        """Numbers that groups have, increasing."""
        return [number for number, size in enumerate(self.sizes) if size]

    def rows(self, number: int) -> Ints:
        """Row numbers of the members of a group."""
        return np.flatnonzero(self.labels == number)

    def of(self, row: int) -> dict[str, Any] | None:
        """Describe the group of a row: number, name, named by people, size; None without group."""
        number = int(self.labels[row])
        return None if number < 0 else self.describe(number)

    def describe(self, number: int) -> dict[str, Any]:
        """Describe a group: its number, its name, whether people named it, and its size."""
        name = self.names[number]
        named = {"name": group_name(name, number), "named": name is not None}
        return {"number": number, **named, "size": self.sizes[number]}

    def rename(self, row: int, name: str | None) -> Name:
        """Make the event that gives the group of a row a name, or takes it away (None)."""
        number = int(self.labels[row])
        if number < 0:
            raise InputError(f"row {row} is in no group that could have a name.")
        before = self.names[number]
        if name is None and before is None:
            raise InputError("this group has no name to be taken away.")
        if name is not None and name in self.names and name != before:
            raise InputError(
                f"another group is called {name!r:.80}: give this one another name, or say that "
                "the two are one group."
            )
        rows = () if name is None else self.rows(number).tolist()
        return Name(name=name, rows=rows, instead=before)


def number_rows(state: State) -> dict[int, int]:
    """Number the groups that answers make of rows, from 0; rows of no group are left out.

    Rows that are the same are a group. So is a row alone that differs from all groups which there
    were then, at most 20 at a time. Answers are gone through in the order in which they were given:
    a new group takes the smallest number that is free, and one made of two keeps the smaller of
    theirs. So numbers stay through merges, undo and restarts.

    >>> said = {(2, 5): False, (7, 8): True, (5, 9): True, (2, 7): True}
    >>> number_rows(State({pair: Told(said[pair], k) for k, pair in enumerate(said)}))
    {2: 0, 5: 1, 7: 0, 8: 0, 9: 1}
    """
    groups: dict[int, _Group] = {}
    numbered: dict[int, _Group] = {}
    for pair, told in sorted(state.pairs.items(), key=lambda one: (one[1].entry, one[0])):
        one, two = (groups.setdefault(row, _Group([row])) for row in pair)
        if told.same is None or one is two:
            continue
        if told.same:
            one, two = (one, two) if len(one.rows) >= len(two.rows) else (two, one)
            one.join(two)
            groups |= dict.fromkeys(two.rows, one)
            numbers = [group.number for group in (one, two) if group.number is not None]
            for number in numbers:
                del numbered[number]
            one.number = min(numbers) if numbers else _free_number(numbered)
            numbered[one.number] = one
            continue
        one.apart.add(two)
        two.apart.add(one)
        for group in (one, two):
            others = numbered.values()
            alone = sum(len(other.rows) == 1 for other in others)
            is_new = group.number is None and alone < _MOST_ALONE
            if is_new and group.apart.issuperset(others):
                group.number = _free_number(numbered)
                numbered[group.number] = group
    found = {row: number for number, group in numbered.items() for row in group.rows}
    return dict(sorted(found.items()))


@dataclass(eq=False)
class _Group:
    """Rows that are the same, and the groups that are known to differ from them."""

    rows: list[int]
    apart: set[_Group] = field(default_factory=set)
    number: int | None = None

    def join(self, other: _Group) -> None:
        """Take in the rows of another group, and what they differ from."""
        self.rows += other.rows
        for one in other.apart:
            one.apart.discard(other)
            if one is not self:
                one.apart.add(self)
                self.apart.add(one)


def _free_number(taken: Container[int]) -> int:
    """Find the smallest number that is not taken."""
    return next(number for number in count() if number not in taken)


def list_answers(state: State, events: Sequence[Event]) -> list[dict[str, Any]]:
    """List the events whose answers about pairs still count, the newest first.

    Each has the ``number`` of the event, 0 for a pair that was known from the start; ``left`` and
    ``right``, the rows as they were shown, or the first pair of several; ``n_pairs`` and ``n_rows``
    that the event speaks of; ``said``, the answer in a word, or ``"several"``; ``by`` and ``at``,
    None where unknown; and ``voices``: ``by``, ``said`` and ``at`` of each person.

    >>> from nearkin.studio.events import Answer, after
    >>> answer = Answer(left=5, right=2, same=True, by="Ann")
    >>> (one,) = list_answers(after(State(), answer, n_rows=10), [answer])
    >>> one["left"], one["right"], one["said"], one["by"]
    (5, 2, 'same', 'Ann')
    """
    voices: dict[Pair, list[dict[str, Any]]] = defaultdict(list)
    for (i, j, name), told in state.voices.items():
        one = {"by": name, "said": word_of(told), "at": events[told.entry - 1].at}
        voices[i, j].append(one)
    return [
        _describe_answer(max(number, 0), said, events[number - 1] if number > 0 else None, voices)
        for number, said in sorted(answers_by_event(state).items(), reverse=True)
    ]


def _describe_answer(
    number: int,
    said: Mapping[Pair, Said],
    event: Event | None,
    voices: Mapping[Pair, list[dict[str, Any]]],
) -> dict[str, Any]:
    """Describe an answer by its pairs that still count, as :func:`list_answers` does."""
    # Of a choice among groups, what it was found to be like.
    liked = [pair for pair, same in said.items() if same] if isinstance(event, Which) else []
    pair = min(liked or said)
    left, right = _orient_pair(pair, event)
    several = not liked and len(set(said.values())) > 1
    return {
        "number": number,
        "left": left,
        "right": right,
        "n_pairs": len(said),
        "n_rows": len({row for one in said for row in one}),
        "said": "several" if several else word_of(Told(said[pair])),
        "by": event and event.by,
        "at": event and event.at,
        "voices": voices.get(pair, []) if len(said) == 1 else [],
    }


def _orient_pair(pair: Pair, event: Event | None) -> Pair:
    """Return a pair in the order in which its rows were shown, if its event tells that."""
    left, right = pair
    shown = getattr(event, "left", None), getattr(event, "right", None)
    return (right, left) if shown == (right, left) else pair


def orient_changes(state: State, events: Sequence[Event]) -> list[dict[str, Any]]:
    """List the last event's changes, see :meth:`State.changes`, with rows in the order shown."""
    changes = state.changes()
    if len(changes) != 1:
        return changes
    change = changes[0]
    steps = {"undo": state.redo, "redo": state.undo}.get(events[-1].do, ())[-1:]
    event = events[steps[0].number - 1] if steps else events[-1]
    change["left"], change["right"] = _orient_pair((change["left"], change["right"]), event)
    return changes
