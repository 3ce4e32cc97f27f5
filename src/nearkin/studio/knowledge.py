"""Pairs, triplets, groups and counts that follow from a series of answers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from nearkin._types import Ints
from nearkin.errors import InputError
from nearkin.pairs.answers import UNNAMED
from nearkin.pairs.closure import ends_of, keys_of, list_pairs_across, list_pairs_within
from nearkin.pairs.pairs import Conflict, Pairs
from nearkin.studio.events import (
    Pair,
    Past,
    Said,
    Triplet,
    Voice,
    is_pair,
    is_voice,
    word_of,
)


def match_names(names: Sequence[str], before: Sequence[Ints], after: Ints) -> list[str | None]:
    """Give names to groups by the rows that were in the named groups before.

    Names go to groups such that as many rows as possible keep theirs, see :func:`match_groups`.

    Parameters
    ----------
    before : sequence of int ndarray
        The rows that each name was given to; they may overlap.
    after : int ndarray of shape (n,)
        Group of each row now, from 0; −1 for rows of none.

    Returns
    -------
    list of str or None
        Name of each group; None for groups without. The caller keeps names that no group has, in
        case a group with these rows comes back.

    Examples
    --------
    >>> import numpy as np
    >>> from nearkin.studio.knowledge import match_names
    >>> given = [np.array([0, 1, 2]), np.array([3, 4])]
    >>> match_names(["cats", "dogs"], given, np.array([1, 1, 1, 0, 0, 0, 2]))
    ['dogs', 'cats', None]
    """
    found: list[str | None] = [None] * _count_groups(after)
    for name, group in zip(names, match_groups(before, after).tolist(), strict=True):
        if group >= 0:
            found[group] = name
    return found


def match_groups(before: Sequence[Ints], after: Ints) -> Ints:
    """Match groups of before to groups of now, one to one, such that most rows are shared.

    Two groups may match only if they share at least half of the rows of one of them: most of the
    old group is still there, whatever has joined it, or most of the new one comes from it.

    Parameters
    ----------
    before : sequence of int ndarray
        Rows of each group.
    after : int ndarray of shape (n,)
        Group of each row now, from 0; −1 for rows of none.

    Returns
    -------
    int ndarray of shape (len(before),)
        The group of now that each group of before is matched to; −1 if none.

    Notes
    -----
    For b groups before and a after, O(n + a b min(a, b)) time and a b numbers of memory.
    """
    n_after = _count_groups(after)
    sizes = np.bincount(after[after >= 0], minlength=n_after)
    shared = np.zeros((len(before), n_after), dtype=np.int64)
    for k, rows in enumerate(before):
        groups = after[rows]
        shared[k] = np.bincount(groups[groups >= 0], minlength=n_after)
    least = np.minimum(np.array([len(rows) for rows in before], dtype=np.int64)[:, None], sizes)
    shared[2 * shared < least] = 0
    one, other = linear_sum_assignment(shared, maximize=True)
    kept = shared[one, other] > 0
    found = np.full(len(before), -1, dtype=np.int64)
    found[one[kept]] = other[kept]
    return found


def _count_groups(labels: Ints) -> int:
    """Count the groups of labels from 0; −1 is no group."""
    return int(labels.max(initial=-1)) + 1


class Counts(NamedTuple):
    """Numbers of answers that still count, by what they say.

    Attributes
    ----------
    same : int
        Answers that say of at least one pair that it is the same.
    different, unsure : int
    run : int
        Length of the run of latest answers of which none said "same".
    """

    same: int
    different: int
    unsure: int
    run: int

    @property
    def told(self) -> int:
        """Number of answers that a metric can learn from."""
        return self.same + self.different

    @property
    def n_answers(self) -> int:
        """Number of all answers."""
        return self.same + self.different + self.unsure


NO_ANSWERS = Counts(0, 0, 0, 0)


def count_answers(past: Past, n_rows: int) -> Counts:
    """Count the answers that are neither withdrawn nor wholly overwritten, by what they say.

    Only pairs of the first ``n_rows`` rows count: records of the journal that are missing from the
    data have larger numbers. Each pair that was known from the start is an answer of its own.

    Examples
    --------
    >>> from nearkin.studio.knowledge import count_answers
    >>> from nearkin.studio.events import Past, after
    >>> entry = {"do": "which", "left": 5, "rows": [1, 2, 3], "right": 2, "same": True}
    >>> count_answers(after(Past(), entry, n_rows=10), n_rows=10)
    Counts(same=1, different=0, unsure=0, run=0)
    """
    answers: dict[int, list[Said]] = {}
    for k, (rows, said) in enumerate(past.answers.items()):
        if is_pair(rows) and max(rows) < n_rows:
            answers.setdefault(past.sources.get(rows) or -k - 1, []).append(said)
    kinds = [_sum_up(said) for said in answers.values()]
    latest = [_sum_up(answers[number]) for number in sorted(answers, reverse=True) if number > 0]
    run = next((k for k, kind in enumerate(latest) if kind is True), len(latest))
    return Counts(kinds.count(True), kinds.count(False), kinds.count(None), run)


def _sum_up(said: Iterable[Said]) -> Said:
    """Sum up what one answer says of its pairs: same if of any, else different, else unsure."""
    told = set(said)
    return next(kind for kind in (True, False, None) if kind in told)


class Spoken(NamedTuple):
    """What one answer says of pairs, as far as it is neither withdrawn nor overwritten.

    Attributes
    ----------
    number : int
        Number of the entry; below 0 for a pair that was known from the start.
    by : str
        Name of the person who gave it.
    said : mapping
        From pairs to True for same, False for different, None for unsure.
    """

    number: int
    by: str
    said: Mapping[Pair, bool | None]


def list_spoken(past: Past, n_rows: int) -> tuple[Spoken, ...]:
    """List all answers about the first ``n_rows`` rows with who gave them.

    One answer may speak of several pairs.

    Examples
    --------
    >>> from nearkin.studio.events import Past, after
    >>> from nearkin.studio.knowledge import list_spoken
    >>> entry = {"do": "which", "left": 0, "rows": [1, 2], "right": 2, "same": True, "by": "Ann"}
    >>> list_spoken(after(Past(), entry, n_rows=3), n_rows=3)
    (Spoken(number=1, by='Ann', said={(0, 1): False, (0, 2): True}),)
    """
    found: dict[tuple[int, str], dict[Pair, bool | None]] = defaultdict(dict)
    named: set[Pair] = set()
    for rows, said in past.answers.items():
        if is_voice(rows) and max(rows[:2]) < n_rows:
            pair = rows[:2]
            named.add(pair)
            found[past.sources.get(rows, 0), rows[2]][pair] = None if said is None else bool(said)
    for k, (rows, said) in enumerate(past.answers.items()):
        if is_pair(rows) and max(rows) < n_rows and rows not in named:
            number = past.sources.get(rows) or -k - 1
            found[number, UNNAMED][rows] = None if said is None else bool(said)
    return tuple(Spoken(number, by, said) for (number, by), said in found.items())


def telling_pairs(spoken: Sequence[Spoken], chance: Mapping[Pair, float]) -> dict[int, Pair]:
    """Choose of each answer the one pair by which it is judged right or wrong.

    That is a must-link if the answer has any, else a cannot-link; of several, the one that is
    likeliest wrong. So a choice among several groups counts once.

    Parameters
    ----------
    chance : mapping
        From pairs to the chance that they are the same; 0.5 is assumed for pairs left out.

    Returns
    -------
    dict
        From the numbers of answers to pairs; answers that say only "unsure" are left out.

    Examples
    --------
    >>> from nearkin.studio.knowledge import Spoken, telling_pairs
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
    """All that is known at one moment, as an immutable value.

    Attributes
    ----------
    version : int
        How many changes there were.
    pairs : Pairs
        Must-links and cannot-links, with the number of rows.
    triplets : Pairs
        Triplets alone.
    unsure : int ndarray of shape (k, 2)
        Pairs that were answered with "unsure".
    can_undo, can_redo : bool
    voices : mapping
        From pairs with a person's name to that person's last answer. What counts of a pair is the
        last answer, whoever gave it.
    names : mapping
        From groups' names to the rows that were in them when they were named.
    n_steps : int
        Number of steps that can be undone.
    counts : Counts
        Numbers of answers, each of which may speak of many pairs.
    past : Past
        The state of answers that all this comes from.
    """

    version: int
    pairs: Pairs
    triplets: Pairs
    unsure: Ints
    can_undo: bool
    can_redo: bool
    voices: Mapping[Voice, bool | None] = field(default_factory=dict)
    names: Mapping[str, Ints] = field(default_factory=dict)
    n_steps: int = 0
    counts: Counts = NO_ANSWERS
    past: Past = field(default_factory=Past, repr=False)

    @cached_property
    def spoken(self) -> tuple[Spoken, ...]:
        """All answers with who gave them, see :func:`list_spoken`."""
        return list_spoken(self.past, int(self.pairs.n_rows or 0))

    @cached_property
    def groups(self) -> KnownGroups:
        """Groups of rows that the answers imply, see :func:`group_answers`."""
        return group_answers(self, int(self.pairs.n_rows or 0))

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
        return {
            "version": self.version,
            "n_answers": self.n_answers,
            "n_same": same,
            "n_different": different,
            "n_unsure": unsure,
            "n_must_link": len(self.pairs.must_link),
            "n_cannot_link": len(self.pairs.cannot_link),
            "n_triplets": len(self.triplets),
            "can_undo": self.can_undo,
            "can_redo": self.can_redo,
            "conflicts": self.n_conflicts,
            "asked": None if self.past.asked is None else self.past.asked._asdict(),
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
        past, n_rows = self.past, int(self.pairs.n_rows or 0)
        found: dict[int, list[tuple[Pair, Said]]] = defaultdict(list)
        for rows, said in past.answers.items():
            if is_pair(rows) and max(rows) < n_rows:
                found[past.sources.get(rows, 0)].append((rows, said))
        latest = [found[number] for number in sorted(found, reverse=True)[:n] if number > 0]
        told = [(one[0][0], bool(one[0][1])) for one in latest if one[0][1] is not None]
        return told if all(len(one) == 1 for one in latest) else []

    def are_open(self, questions: Ints) -> NDArray[np.bool_]:
        """Whether each of some pairs is open: neither answered nor implied by answers."""
        unsure = np.isin(keys_of(questions), keys_of(self.unsure))
        return ~(self.pairs.groups.tell(questions) | unsure)

    def first_open(self, questions: Ints) -> dict[str, int] | None:
        """Return the first open one of some pairs of rows, or None if there is none."""
        left = questions[self.are_open(questions)] if len(questions) else questions
        return {"left": int(left[0, 0]), "right": int(left[0, 1])} if len(left) else None

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


def read_given_pairs(
    pairs: Pairs | None,
) -> tuple[Past, dict[Pair, tuple[bool, float]], list[str]]:
    """Turn pairs that are given with the data into the state before the first answer.

    Returns the state, a mapping from pairs to their answer and weight (empty if all weights are 1),
    and sentences for the user. Triplets are left out: the journal has them, as it has answers.
    """
    if pairs is None:
        return Past(), {}, []
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
    past = Past({pair: same for pair, (same, _) in weights.items()})
    if all(weight == 1 for _, weight in weights.values()):
        weights = {}
    return past, weights, notes


def build_knowledge(
    past: Past, version: int, n_rows: int, weights: Mapping[Pair, tuple[bool, float]]
) -> Knowledge:
    """Sort a series of answers into pairs, triplets, voices and names for learners.

    Parameters
    ----------
    n_rows : int
        Answers about rows with larger numbers, which are missing from the data, do not count.
    weights : mapping
        From given pairs to their answer and weight, which holds until the answer is changed; all
        other pairs have weight 1.
    """
    kinds: dict[bool | None, list[Pair]] = {True: [], False: [], None: []}
    triplets: dict[Triplet, float] = {}
    voices: dict[Voice, bool | None] = {}
    names: dict[str, Ints] = {}
    for rows, said in past.answers.items():
        match rows:
            case (str(name),):
                here = [row for row in said if row < n_rows] if isinstance(said, tuple) else []
                if here:
                    names[name] = np.array(here, dtype=np.int64)
            case _ if any(isinstance(row, int) and row >= n_rows for row in rows):
                continue
            case (left, right, str(name)):
                voices[left, right, name] = None if said is None else bool(said)
            case (anchor, closer, int(farther)) if not isinstance(said, tuple):
                triplets[anchor, closer, farther] = float(said or 0)
            case (left, right):
                kinds[None if said is None else bool(said)].append((left, right))

    def weighted(said: bool) -> list[float]:
        """Weights of the must-links (True) or cannot-links (False)."""
        given = ((weights.get(pair, (said, 1.0))) for pair in kinds[said])
        return [weight if same is said else 1.0 for same, weight in given]

    pairs = Pairs(
        kinds[True],
        kinds[False],
        must_weight=weighted(True) if weights else None,
        cannot_weight=weighted(False) if weights else None,
        n_rows=n_rows,
    )
    order = Pairs(closer=list(triplets), closer_weight=list(triplets.values()), n_rows=n_rows)
    unsure = np.array(kinds[None], dtype=np.int64).reshape(-1, 2)
    return Knowledge(
        version,
        pairs,
        order,
        unsure,
        bool(past.undo),
        bool(past.redo),
        voices,
        names,
        len(past.undo),
        count_answers(past, n_rows),
        past=past,
    )


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
    """Groups of rows that answers imply, each with a number that it keeps.

    Attributes
    ----------
    labels : int ndarray of shape (n,)
        Number of each row's group, from 0; −1 for rows of none. Some numbers may be free.
    names : list of str or None
        Names that people gave to the groups, by number.
    """

    labels: Ints
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

    def make_name_entry(self, row: int, name: str | None) -> dict[str, Any]:
        """Make the journal entry that gives the group of a row a name, or takes it away (None)."""
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
        entry: dict[str, Any] = {"do": "name", "name": name, "instead": before}
        return entry if name is None else entry | {"rows": self.rows(number)}


def group_answers(known: Knowledge, n_rows: int) -> KnownGroups:
    """Label rows by the groups that answers make of them, see :func:`number_rows`."""
    labels = np.full(n_rows, -1)
    for row, number in number_rows(known.past).items():
        if row < n_rows:
            labels[row] = number
    names: list[str | None] = [None] * _count_groups(labels)
    if known.names:
        names = match_names(list(known.names), list(known.names.values()), labels)
    return KnownGroups(labels, names)


def number_rows(past: Past) -> dict[int, int]:
    """Number the groups that answers make of rows, from 0; rows of no group are left out.

    Rows that are the same are a group. So is a row alone that differs from all groups which there
    were then, at most 20 at a time. Answers are gone through in the order in which they were given:
    a new group takes the smallest number that is free, and one made of two keeps the smaller of
    theirs. So numbers stay through merges, undo and restarts.

    Examples
    --------
    >>> from nearkin.studio.events import Past, after
    >>> from nearkin.studio.knowledge import number_rows
    >>> past = Past()
    >>> for left, right, same in ((5, 2, False), (7, 8, True), (5, 9, True), (2, 7, True)):
    ...     entry = {"do": "answer", "left": left, "right": right, "same": same}
    ...     past = after(past, entry, n_rows=10)
    >>> number_rows(past)
    {2: 0, 5: 1, 7: 0, 8: 0, 9: 1}
    """
    groups = _NumberedGroups()
    order = sorted(
        ((past.sources.get(rows, 0), rows) for rows in past.answers if is_pair(rows)),
        key=lambda one: one[0],
    )
    for _, (left, right) in order:
        same = past.answers[left, right]
        if same is not None:
            (groups.tie if same else groups.part)(left, right)
    return groups.by_row()


class _NumberedGroups:
    """Groups of rows, as they grow with answers; each is known by one of its rows, its head."""

    def __init__(self) -> None:
        self._next: dict[int, int] = {}  # from rows towards the heads of their groups
        self._size: dict[int, int] = {}
        self._apart: defaultdict[int, set[int]] = defaultdict(set)  # heads that differ
        self._number: dict[int, int] = {}  # of heads

    def tie(self, left: int, right: int) -> None:
        """Take in that two rows are the same."""
        head, other = self._head(left), self._head(right)
        if head == other:
            return
        if self._size[head] < self._size[other]:
            head, other = other, head
        self._next[other] = head
        self._size[head] += self._size.pop(other)
        for one in self._apart.pop(other, set()):
            self._apart[one].discard(other)
            if one != head:
                self._apart[one].add(head)
                self._apart[head].add(one)
        numbers = [self._number.pop(one) for one in (head, other) if one in self._number]
        self._number[head] = min(numbers) if numbers else self._free_number()

    def part(self, left: int, right: int) -> None:
        """Take in that two rows differ."""
        heads = self._head(left), self._head(right)
        if heads[0] == heads[1]:
            return
        for head, other in (heads, heads[::-1]):
            self._apart[head].add(other)
        for head in heads:
            alone = sum(self._size[one] == 1 for one in self._number)
            is_new = head not in self._number and alone < _MOST_ALONE
            if is_new and self._apart[head].issuperset(self._number):
                self._number[head] = self._free_number()

    def by_row(self) -> dict[int, int]:
        """Map the rows of all groups to their numbers."""
        found = {row: self._number.get(self._head(row), -1) for row in sorted(self._next)}
        return {row: number for row, number in found.items() if number >= 0}

    def _head(self, row: int) -> int:
        """Find the head of a row's group; a row that is new is one of its own."""
        head = self._next.setdefault(row, row)
        if head == row:
            self._size.setdefault(row, 1)
            return row
        while self._next[head] != head:
            self._next[row] = head = self._next[head]
        return head

    def _free_number(self) -> int:
        """Find the smallest number that no group has."""
        taken = set(self._number.values())
        return next(number for number in count() if number not in taken)


Entry = Mapping[str, Any]


def list_answers(past: Past, entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """List the entries whose answers about pairs still count, the newest first.

    Returns
    -------
    list of dict
        ``number`` of the entry, 0 for a pair that was known from the start; ``left`` and ``right``,
        the rows as they were shown, or the first pair of several; ``n_pairs`` and ``n_rows`` that
        the entry speaks of; ``said``, the answer in a word, or ``"several"``; ``by``, ``at`` and
        ``origin``, None where unknown; and ``voices``: ``by``, ``said`` and ``at`` of each person.

    Examples
    --------
    >>> from nearkin.studio.events import Past, after
    >>> entry = {"do": "answer", "left": 5, "right": 2, "same": True, "by": "Ann"}
    >>> (one,) = list_answers(after(Past(), entry, n_rows=10), [entry])
    >>> one["left"], one["right"], one["said"], one["by"]
    (5, 2, 'same', 'Ann')
    """
    voices: dict[Pair, list[tuple[str, Said, int]]] = defaultdict(list)
    by_entry: dict[int, list[tuple[Pair, str]]] = defaultdict(list)
    for rows, said in past.answers.items():
        source = past.sources.get(rows, 0)
        if is_voice(rows):
            left, right, name = rows
            voices[left, right].append((name, said, source))
        elif is_pair(rows):
            by_entry[source].append((rows, word_of(said)))
    items = [
        _describe_entry(number, said_of, entries, voices)
        for number, said_of in by_entry.items()
        if number > 0
    ]
    items.sort(key=lambda item: -item["number"])
    given = [_describe_entry(0, [one], entries, voices) for one in by_entry.get(0, ())]
    return [*items, *given]


def _describe_entry(
    number: int,
    said_of: list[tuple[Pair, str]],
    entries: Sequence[Entry],
    voices: Mapping[Pair, list[tuple[str, Said, int]]],
) -> dict[str, Any]:
    """Describe an entry by the pairs whose answers come from it, as :func:`list_answers` does."""
    entry = entries[number - 1] if number else {}
    # Of a choice among groups, what it was found to be like.
    liked = [one for one in said_of if one[1] == "same"] if entry.get("do") == "which" else []
    pair, word = min(liked or said_of)
    single = len(said_of) == 1
    left, right = _orient_pair(pair, entry)
    several = not liked and len({said for _, said in said_of}) > 1
    return {
        "number": number,
        "left": left,
        "right": right,
        "n_pairs": len(said_of),
        "n_rows": 2 if single else len({row for rows, _ in said_of for row in rows}),
        "said": "several" if several else word,
        "by": entry.get("by"),
        "at": entry.get("at"),
        "origin": entry.get("origin"),
        "voices": [
            {"by": name, "said": word_of(said), "at": entries[source - 1].get("at")}
            for name, said, source in (voices.get(pair, ()) if single else ())
        ],
    }


def _orient_pair(pair: Pair, entry: Entry) -> Pair:
    """Return a pair in the order in which its rows were shown, if its entry tells that."""
    left, right = pair
    return (right, left) if (entry.get("left"), entry.get("right")) == (right, left) else pair


def orient_changes(past: Past, entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """List the last entry's changes, see :meth:`Past.changes`, with rows in the order shown."""
    changes = past.changes()
    if len(changes) != 1:
        return changes
    change = changes[0]
    number = {"undo": past.redo, "redo": past.undo}.get(entries[-1]["do"], ())[-1:]
    entry = entries[number[0].number - 1] if number else entries[-1]
    change["left"], change["right"] = _orient_pair((change["left"], change["right"]), entry)
    return changes
