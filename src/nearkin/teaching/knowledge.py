"""What is known at one moment, as learners and questions take it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearkin._types import Ints
from nearkin.pairs.closure import ends_of, keys_of, pairs_across, pairs_within
from nearkin.pairs.pairs import Conflict, Pairs
from nearkin.teaching.counting import NO_ANSWERS, Counts, counts_of
from nearkin.teaching.history import DISPUTED, Past, Voice, is_pair
from nearkin.teaching.row_checks import Pair, Triplet
from nearkin.teaching.spoken import Spoken, spoken_of

# Pairs of each kind that a learner is told, of all that follow: ITML takes 30 ms for 1000 pairs.
MOST_TOLD = 1000
# Rows among which these are looked for: 45 000 pairs.
_MOST_ROWS = 300


@dataclass(frozen=True)
class Knowledge:
    """What is known after so many changes. Nothing of it ever changes.

    Attributes
    ----------
    version : int
        How many changes there were.
    pairs : Pairs
        With the number of rows, without triplets.
    triplets : Pairs
        Triplets alone.
    unsure : int ndarray of shape (k, 2)
    can_undo, can_redo : bool
    voices : mapping
        Of pairs with who has answered to what these said last, where it is known who; what counts
        of a pair is what was said last, whoever said it.
    names : mapping
        Of what groups are called to the rows that were in them when they were named.
    disputed : int ndarray of shape (k, 2)
        Pairs of which people say opposite things, and nobody has settled it: nothing is learned of
        them.
    mentioned : int ndarray of shape (m,)
        Rows of pairs, in the order in which something was first said of them.
    n_steps : int
        Answers, names and the like that can be undone.
    counts : Counts
        Of answers, which may say something of many pairs each.
    settled : frozenset of pairs
        Those that people disagreed about until somebody looked at both answers.
    past : Past
        What it comes from.
    """

    version: int
    pairs: Pairs
    triplets: Pairs
    unsure: Ints
    can_undo: bool
    can_redo: bool
    voices: Mapping[Voice, bool | None] = field(default_factory=dict)
    names: Mapping[str, Ints] = field(default_factory=dict)
    disputed: Ints = field(default_factory=lambda: np.empty((0, 2), dtype=np.int64))
    mentioned: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    n_steps: int = 0
    counts: Counts = NO_ANSWERS
    settled: frozenset[Pair] = frozenset()
    past: Past = field(default_factory=Past, repr=False)

    @cached_property
    def spoken(self) -> tuple[Spoken, ...]:
        """Who said what, in one answer each."""
        return spoken_of(self.past, int(self.pairs.n_rows or 0))

    @cached_property
    def n_conflicts(self) -> int:
        """Cannot-links between rows that must-links tie together."""
        return int(self.pairs.groups.contradicted.sum())

    @property
    def n_answers(self) -> int:
        """How often somebody has answered, whatever the answer speaks of."""
        return self.counts.n_answers

    def state(self) -> dict[str, Any]:
        """Counts as plain values, see :meth:`nearkin.teaching.lesson.Lesson.state`."""
        same, different, unsure, disputed, _ = self.counts
        return {
            "version": self.version,
            "n_answers": self.n_answers,
            "n_same": same,
            "n_different": different,
            "n_unsure": unsure,
            "n_disputed": disputed,
            "n_must_link": len(self.pairs.must_link),
            "n_cannot_link": len(self.pairs.cannot_link),
            "n_triplets": len(self.triplets),
            "can_undo": self.can_undo,
            "can_redo": self.can_redo,
            "conflicts": self.n_conflicts,
        }

    def listed(self) -> dict[str, Any]:
        """All pairs and triplets that something is said of, as flat lists of row numbers."""
        return {
            "version": self.version,
            "must_link": self.pairs.must_link.ravel().tolist(),
            "cannot_link": self.pairs.cannot_link.ravel().tolist(),
            "unsure": self.unsure.ravel().tolist(),
            "disputed": self.disputed.ravel().tolist(),
            "closer": self.triplets.closer.ravel().tolist(),
        }

    @cached_property
    def told(self) -> Pairs:
        """What a learner is told: these pairs, what follows from them, and the triplets.

        Of groups of rows that contradict themselves only what was said, since anything follows from
        a contradiction. At most 1000 pairs of each kind beside those that were said.
        """
        pairs, groups = self.pairs, self.pairs.groups
        wrong = groups.cannot[groups.contradicted, 0]
        ends = np.concatenate([groups.must[:, None].repeat(2, axis=1), groups.cannot])
        drawn = _drawn_of_closure(pairs.subset(~np.isin(ends, wrong).any(axis=1)))
        return pairs + drawn + self.triplets

    def without(self, link: tuple[int, int]) -> Knowledge:
        """What would be known if a pair had not been answered."""
        return replace(self, pairs=self.pairs.without([link]))

    def are_open(self, questions: Ints) -> NDArray[np.bool_]:
        """Whether nothing is said of each pair of rows, nor follows."""
        unsure = np.isin(keys_of(questions), keys_of(self.not_to_ask))
        return ~(self.pairs.groups.tell(questions) | unsure)

    @cached_property
    def not_to_ask(self) -> Ints:
        """Pairs that people were unsure of, or disagree about."""
        return np.concatenate([self.unsure, self.disputed])

    def said(self, left: int, right: int) -> bool:
        """Whether two rows, the smaller first, are said to be the same or different."""
        key = keys_of(np.array([[left, right]]))
        links = np.concatenate([self.pairs.must_link, self.pairs.cannot_link])
        return bool(np.isin(key, keys_of(links))[0])

    def first_open(self, questions: Ints) -> dict[str, int] | None:
        """The first of some pairs of rows of which nothing is known, or None."""
        left = questions[self.are_open(questions)] if len(questions) else questions
        return {"left": int(left[0, 0]), "right": int(left[0, 1])} if len(left) else None

    def said_of(self, row: int, others: Ints) -> list[bool | None]:
        """Whether a row is the same as others, as far as that was said or follows."""
        groups = self.pairs.groups
        links = np.column_stack([np.full(len(others), row), others])
        different = np.isin(keys_of(links), keys_of(self.pairs.cannot_link))
        said = np.where(groups.alike(links), 1, np.where(groups.differ(links), 0, -1))
        said[different] = 0
        return [None if answer < 0 else bool(answer) for answer in said]


# Contradictions that are told of.
_MOST_CONTRADICTIONS = 5


def contradictions_of(known: Knowledge) -> list[dict[str, Any]]:
    """Two rows that are said to differ, and a chain of rows, each said to be like the next."""
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


def start_of(
    pairs: Pairs | None,
) -> tuple[Past, dict[Pair, tuple[bool, float]], list[str]]:
    """What is known from the start, how much each pair counts, and what is to be said of it.

    Of pairs: triplets are in the journal, as answers are.
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


def knowledge_of(
    past: Past, version: int, n_rows: int, weights: Mapping[Pair, tuple[bool, float]]
) -> Knowledge:
    """What a series of answers lets learners know.

    Parameters
    ----------
    past : Past
    version : int
    n_rows : int
        What is said of rows beyond, which are not here, does not count.
    weights : mapping
        What was said of some pairs, and how much it counts while it is not changed; 1 otherwise.
    """
    kinds: dict[bool | str | None, list[Pair]] = {True: [], False: [], None: [], DISPUTED: []}
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
                kind = said if said is None or said == DISPUTED else bool(said)
                kinds[kind].append((left, right))

    def weighted(said: bool) -> list[float]:
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
    unsure, disputed = (
        np.array(kinds[kind], dtype=np.int64).reshape(-1, 2) for kind in (None, DISPUTED)
    )
    mentioned = dict.fromkeys(row for key in past.answers if is_pair(key) for row in key)
    return Knowledge(
        version,
        pairs,
        order,
        unsure,
        bool(past.undo),
        bool(past.redo),
        voices,
        names,
        disputed,
        np.array(list(mentioned), dtype=np.int64),
        len(past.undo),
        counts_of(past, n_rows),
        past=past,
    )


def _drawn_of_closure(pairs: Pairs) -> Pairs:
    """What follows from pairs without contradictions, or 1000 of each kind.

    Which ones is a matter of chance, but of the pair alone: one more answer leaves most of them as
    they were, so that the picture does not shake.
    """
    points, group = pairs.points, pairs.groups.number
    sizes = np.bincount(group)
    one, two = ends_of(pairs.groups.differing).T
    if max((sizes * (sizes - 1) // 2).sum(), (sizes[one] * sizes[two]).sum()) <= MOST_TOLD:
        return pairs.closure()
    some = _first_by_chance(points, _MOST_ROWS)
    order = some[np.argsort(group[some], kind="stable")]
    members, sizes = points[order], np.bincount(group[order], minlength=len(sizes))
    starts = np.cumsum(sizes) - sizes
    must, _ = pairs_within(np.arange((sizes * (sizes - 1) // 2).sum()), starts, sizes)
    cannot, _ = pairs_across(
        np.arange((sizes[one] * sizes[two]).sum()), starts[one], sizes[one], starts[two], sizes[two]
    )
    least = min(np.concatenate([pairs.must_weight, pairs.cannot_weight]))
    links = [members[links] for links in (must, cannot)]
    links = [some[_first_by_chance(keys_of(some), MOST_TOLD)] for some in links]
    return Pairs(
        *links,
        must_weight=np.full(len(links[0]), least),
        cannot_weight=np.full(len(links[1]), least),
        n_rows=pairs.n_rows,
    )


def _first_by_chance(numbers: Ints, most: int) -> Ints:
    """Positions of so many numbers: as if drawn, but each for what it is, whatever the others."""
    if len(numbers) <= most:
        return np.arange(len(numbers))
    # The mixing steps of SplitMix64.
    mixed = numbers.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    mixed ^= mixed >> np.uint64(31)
    return np.sort(np.argpartition(mixed, most)[:most])


def shown_name(name: str | None, group: int) -> str:
    """What a group is called, if need be by its number."""
    return f"group {group + 1}" if name is None else name
