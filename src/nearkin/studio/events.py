"""Answers and other events as values, and the state after a series of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from numbers import Integral
from typing import Any, ClassVar, Literal, NamedTuple, get_args

import numpy as np

from nearkin._types import Ints
from nearkin.errors import InputError, InputTypeError

# Two rows, the smaller first.
Pair = tuple[int, int]
# Two rows with who has answered: what they said last is evidence of how reliable they are.
Voice = tuple[int, int, str]
# Of two rows: the same, different, or unsure.
Said = bool | None

# Characters of a name.
LONGEST_NAME = 60
# What may be said of two rows, in a word.
Word = Literal["same", "different", "unsure", "nothing"]
# What may be asked: which rows are the same kind of thing, or which are the same thing twice.
Purpose = Literal["kinds", "things"]
# Where something may have been answered.
Origin = Literal["question", "sought", "check", "suspect", "neighbors", "group", "review", "list"]
# Cannot-links that two groups are turned into at most.
MOST_BETWEEN = 2000

# Parts of an entry that name a row, several rows, and lists of rows.
_ROW = ("left", "right")
_ROWS = ("first", "second", "rows")
_LISTS = ("triplets", "pairs")


def rename_rows(entry: Mapping[str, Any], name: Callable[[Any], Any]) -> dict[str, Any]:
    """Return a copy of an entry in which each row is replaced by ``name(row)``.

    The journal uses it to go from row numbers to records' keys and back.

    >>> rename_rows({"do": "groups", "first": [3, 1]}, "row {}".format)
    {'do': 'groups', 'first': ['row 3', 'row 1']}
    """
    found = dict(entry)
    for part, value in entry.items():
        if part in _ROW:
            found[part] = name(value)
        elif part in _ROWS and isinstance(value, list | tuple):
            found[part] = [name(one) for one in value]
        elif part in _LISTS and isinstance(value, list | tuple):
            found[part] = [[name(one) for one in some] for some in value]
    return found


def rows_in(entry: Mapping[str, Any]) -> Iterator[Any]:
    """Iterate over all rows that an entry names, in order, repeated ones as often as named."""
    found: list[Any] = []
    rename_rows(entry, found.append)
    return iter(found)


def check_name(by: Any) -> str:
    """Return a person's or group's name without blanks around it; raise if it is no valid name."""
    if not isinstance(by, str):
        raise InputTypeError(f"{by!r:.60} is not a name.")
    name = by.strip()
    if not 0 < len(name) <= LONGEST_NAME:
        raise InputError(f"a name has 1 to {LONGEST_NAME} characters, not {len(name)}.")
    return name


def check_row(row: Any, n_rows: int) -> int:
    """Return a row number; raise if there is no such row."""
    if isinstance(row, bool) or not isinstance(row, Integral):
        raise InputTypeError(f"{row!r:.60} is not a row number.")
    if not 0 <= int(row) < n_rows:
        raise InputError(f"there is no row {row}: rows are numbered from 0 to {n_rows - 1}.")
    return int(row)


def check_pair(left: Any, right: Any, n_rows: int) -> Pair:
    """Return two row numbers, the smaller first; raise if they are equal or no valid rows."""
    rows = [check_row(row, n_rows) for row in (left, right)]
    if rows[0] == rows[1]:
        raise InputError(f"a pair takes two rows, not row {rows[0]} twice.")
    return min(rows), max(rows)


def check_choice(what: str, said: Any, among: Any) -> None:
    """Raise InputError if ``what`` is none of the choices of a Literal."""
    if said not in get_args(among):
        raise InputError(f"{what} must be one of {', '.join(get_args(among))}, not {said!r:.60}.")


def check_answer(same: Any) -> Said:
    """Return True for same, False for different, None for unsure; raise if it is none of these."""
    if same is None or isinstance(same, (bool, np.bool_)):
        return None if same is None else bool(same)
    raise InputTypeError(f"same must be True, False, or None for unsure, not {same!r:.60}.")


def deduplicate_rows(rows: Sequence[int], n_rows: int) -> Ints:
    """Drop repeated row numbers and keep the order; raise if there is an invalid one."""
    found = np.asarray(rows)
    if not found.size:
        return np.empty(0, dtype=np.int64)
    if found.ndim != 1 or found.dtype.kind not in "iu":
        raise InputTypeError("a group is a list of row numbers.")
    outside = found[(found < 0) | (found >= n_rows)]
    if len(outside):
        raise InputError(f"there is no row {outside[0]}: rows are numbered from 0 to {n_rows - 1}.")
    _, first = np.unique(found, return_index=True)
    return found[np.sort(first)].astype(np.int64)


def pairs_of_groups(first: Sequence[int], second: Sequence[int], same: bool, n_rows: int) -> Ints:
    """Make must-links that join two groups of rows, or cannot-links between them, shape (k, 2).

    With ``same`` every row of both is linked to the next, in the order in which they are given, and
    the second may be empty; else every row of one with every row of the other, or an even choice of
    2000 such pairs where there are more.

    >>> pairs_of_groups([4, 7], [1], True, n_rows=10).tolist()
    [[4, 7], [1, 7]]
    """
    one, two = (deduplicate_rows(rows, n_rows) for rows in (first, second))
    both = np.intersect1d(one, two, assume_unique=True)
    if len(both):
        raise InputError(
            f"row {both[0]} is in both groups"
            + (f", and so are {len(both) - 1} others." if len(both) > 1 else ".")
        )
    if same:
        rows = np.concatenate([one, two])
        if len(rows) < 2:
            raise InputError("a pair takes two rows: select more.")
        return np.sort(np.column_stack([rows[:-1], rows[1:]]), axis=1)
    if not len(one) or not len(two):
        raise InputError("one group is empty: select rows of two groups that differ.")
    # Slowly through one group and round and round through the other: no pair twice, and the rows
    # of each group in equally many pairs, give or take one.
    n_taken = min(len(one) * len(two), MOST_BETWEEN)
    step = np.arange(n_taken)
    links = np.column_stack([one[step * len(one) // n_taken], two[step % len(two)]])
    return np.sort(links, axis=1)


@dataclass(frozen=True, kw_only=True)
class Event:
    """Something that somebody (``by``) did at a time (``at``, in UTC), as far as that is known."""

    do: ClassVar[str]
    by: str | None = None
    at: str | None = None

    def entry(self) -> dict[str, Any]:
        """Return the event as plain values for the journal, without what is not told."""
        told = {one.name: getattr(self, one.name) for one in fields(self)}
        kept = {name: value for name, value in told.items() if value is not None or name == "same"}
        return {"do": self.do} | {name: _to_plain(value) for name, value in kept.items()}


def _to_plain(value: Any) -> Any:
    """Convert NumPy numbers and arrays to plain Python, so that JSON can hold them."""
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    return [_to_plain(one) for one in value] if isinstance(value, (list, tuple)) else value


@dataclass(frozen=True, kw_only=True)
class PairsEvent(Event):
    """An event that says something of pairs. ``origin`` is where it was answered."""

    origin: str | None = None

    def pairs(self, n_rows: int) -> list[tuple[Pair, Said]]:
        """List the pairs with what is said of them; raise if that is not possible."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class Answer(PairsEvent):
    """Two rows are the same, different, or it is not clear."""

    do = "answer"
    left: int
    right: int
    same: Said

    def pairs(self, n_rows: int) -> list[tuple[Pair, Said]]:
        """Return the pair."""
        return [(check_pair(self.left, self.right, n_rows), check_answer(self.same))]


@dataclass(frozen=True, kw_only=True)
class Which(PairsEvent):
    """Which of some rows, each of another group, a row is like.

    ``same`` is True with ``right``, one of ``rows``; False if it is like none of them; None for
    unsure. The rows stand for groups that differ: a row that is like one is unlike the others.

    >>> Which(left=5, rows=[7, 2], right=2, same=True).pairs(n_rows=10)
    [((5, 7), False), ((2, 5), True)]
    """

    do = "which"
    left: int
    rows: Sequence[int]
    right: int | None = None
    same: Said

    def pairs(self, n_rows: int) -> list[tuple[Pair, Said]]:
        """List the pairs that follow."""
        same = check_answer(self.same)
        beside = [check_pair(self.left, row, n_rows) for row in self.rows]
        if len(set(beside)) < len(beside) or not beside:
            raise InputError("it takes at least one row to choose from, and each of them once.")
        if (self.right is None) is (same is True):
            raise InputError(
                "the row that it is like must be given if there is one, and only then."
            )
        if same is not True:
            return [(pair, same) for pair in beside]
        liked = check_pair(self.left, self.right, n_rows)
        if liked not in beside:
            raise InputError(f"row {self.right} is not one of those that were shown.")
        return [(pair, pair == liked) for pair in beside]


@dataclass(frozen=True, kw_only=True)
class Groups(PairsEvent):
    """All rows of two groups are the same, or the two groups differ."""

    do = "groups"
    first: Sequence[int]
    second: Sequence[int]
    same: bool

    def pairs(self, n_rows: int) -> list[tuple[Pair, Said]]:
        """List the pairs that are made of the groups."""
        same = check_answer(self.same)
        if same is None:
            raise InputError("same must be true or false for groups.")
        return _list_links(pairs_of_groups(self.first, self.second, same, n_rows), same)


@dataclass(frozen=True, kw_only=True)
class Split(PairsEvent):
    """All rows of the first group are the same, and differ from those of the second."""

    do = "split"
    first: Sequence[int]
    second: Sequence[int]

    def pairs(self, n_rows: int) -> list[tuple[Pair, Said]]:
        """List the pairs that are made of the groups."""
        apart = _list_links(pairs_of_groups(self.first, self.second, False, n_rows), False)
        if len(set(self.first)) == 1:
            return apart
        return _list_links(pairs_of_groups(self.first, (), True, n_rows), True) + apart


def _list_links(links: Ints, same: bool) -> list[tuple[Pair, Said]]:
    """List pairs of rows with what is said of all of them."""
    return [((i, j), same) for i, j in links.tolist()]


@dataclass(frozen=True, kw_only=True)
class Withdraw(Event):
    """What was said of ``pairs``, or of ``left`` and ``right``, does not count any more."""

    do = "withdraw"
    left: int | None = None
    right: int | None = None
    pairs: Sequence[Sequence[int]] | None = None

    def meant(self, n_rows: int) -> list[Pair]:
        """Return the pairs; raise if there are no such rows."""
        ends = [(self.left, self.right)] if self.pairs is None else self.pairs
        return [check_pair(i, j, n_rows) for i, j in ends]


@dataclass(frozen=True, kw_only=True)
class Name(Event):
    """A group of rows is called ``name``, ``instead`` of its name before; either may be None."""

    do = "name"
    name: str | None = None
    rows: Sequence[int] = ()
    instead: str | None = None


@dataclass(frozen=True, kw_only=True)
class Ask(Event):
    """What is asked from now on, and in which words: no step that is undone."""

    do = "ask"
    purpose: str
    words: str


@dataclass(frozen=True, kw_only=True)
class Undo(Event):
    """The last step is undone."""

    do = "undo"


@dataclass(frozen=True, kw_only=True)
class Redo(Event):
    """The step that was undone last is done again."""

    do = "redo"


@dataclass(frozen=True, kw_only=True)
class Order(Event):
    """Triplets of rows that were given with the data, as older journals have them.

    It says nothing: whoever opens the journal gives them again, as pairs that are known.
    """

    do = "closer"
    triplets: Sequence[Sequence[int]]
    weights: Sequence[float] | None = None
    given: bool = False


_KINDS: dict[Any, type[Event]] = {
    one.do: one for one in (Answer, Which, Groups, Split, Withdraw, Name, Ask, Undo, Redo, Order)
}


def read_event(entry: Mapping[str, Any]) -> Event:
    """Make an event of an entry of the journal; raise if it is none.

    >>> read_event({"do": "answer", "left": 5, "right": 2, "same": True})
    Answer(by=None, at=None, origin=None, left=5, right=2, same=True)
    """
    kind = _KINDS.get(entry.get("do"))
    if kind is None:
        raise InputError(f"an entry that says do={entry.get('do')!r:.60} is unknown.")
    told = {part: value for part, value in entry.items() if part != "do"}
    unknown = [part for part in told if part not in kind.__dataclass_fields__]
    if unknown:
        raise InputError(f"an entry says {unknown[0]!r:.60}, which no journal knows.")
    return kind(**told)


class Told(NamedTuple):
    """What counts of two rows: True for same, False for different, None for unsure.

    ``entry`` is the number of the event that said it, from 1; 0 if it was known from the start.
    """

    same: Said
    entry: int = 0


def word_of(told: Told | None) -> str:
    """Word for what is said of a pair: same, different, unsure or nothing.

    >>> [word_of(told) for told in (Told(True), Told(False), Told(None), None)]
    ['same', 'different', 'unsure', 'nothing']
    """
    if told is None:
        return "nothing"
    return "unsure" if told.same is None else "same" if told.same else "different"


@dataclass(frozen=True)
class Change:
    """What is said from now on of pairs, by people of pairs, and of names; None for nothing."""

    pairs: Mapping[Pair, Told | None] = field(default_factory=dict)
    voices: Mapping[Voice, Told | None] = field(default_factory=dict)
    names: Mapping[str, tuple[int, ...] | None] = field(default_factory=dict)


class Step(NamedTuple):
    """The change that reverts the event of this number, from 1."""

    number: int
    back: Change


@dataclass(frozen=True)
class State:
    """What is said after a series of events, with undo and redo; :func:`after` makes the next."""

    # What counts of each pair: the last answer, whoever gave it.
    pairs: dict[Pair, Told] = field(default_factory=dict)
    # Each person's last answer to each pair.
    voices: dict[Voice, Told] = field(default_factory=dict)
    # From groups' names to the rows that were in them when they were named.
    names: dict[str, tuple[int, ...]] = field(default_factory=dict)
    # Changes that undo each step, and that redo each undone step; the latest step is last.
    undo: tuple[Step, ...] = ()
    redo: tuple[Step, ...] = ()
    # The change that reverts the last event, whatever that was.
    back: Change = field(default_factory=Change)
    n_events: int = 0
    # What is asked, as it was chosen last.
    asked: Ask | None = None

    def changes(self) -> list[dict[str, Any]]:
        """List the pairs whose answer the last event has changed.

        Each has the rows ``left`` and ``right``, and the answers ``before`` and ``now`` in a word.
        """
        found = []
        for pair, told in self.back.pairs.items():
            before, now = word_of(told), word_of(self.pairs.get(pair))
            if now != before:
                found.append({"left": pair[0], "right": pair[1], "before": before, "now": now})
        return found

    def among(self, n_rows: int) -> State:
        """Return the state without what is said of rows from ``n_rows`` on."""
        if all(j < n_rows for _, j in self.pairs):
            voices, pairs = self.voices, self.pairs
        else:
            pairs = {pair: told for pair, told in self.pairs.items() if pair[1] < n_rows}
            voices = {voice: told for voice, told in self.voices.items() if voice[1] < n_rows}
        here = {name: tuple(r for r in rows if r < n_rows) for name, rows in self.names.items()}
        names = {name: rows for name, rows in here.items() if rows}
        return replace(self, pairs=pairs, voices=voices, names=names)


def after(state: State, event: Event, n_rows: int) -> State:
    """Apply one more event to a state, and return the new state.

    Raises ValueError or TypeError if the event names rows that do not exist, withdraws what was not
    said, or undoes where there is nothing to undo.

    >>> state = after(State(), Answer(left=5, right=2, same=True), n_rows=10)
    >>> state.pairs
    {(2, 5): Told(same=True, entry=1)}
    >>> after(state, Undo(), n_rows=10).pairs
    {}
    """
    pairs, voices, names = dict(state.pairs), dict(state.voices), dict(state.names)
    return after_in_place(replace(state, pairs=pairs, voices=voices, names=names), event, n_rows)


def after_in_place(state: State, event: Event, n_rows: int) -> State:
    """Do as :func:`after`, but reuse and so destroy the mappings of ``state``: for long series."""
    if isinstance(event, Ask):
        check_choice("purpose", event.purpose, Purpose)
        check_name(event.words)
        return _add_event(state, Change(), asked=event)
    if isinstance(event, Undo):
        if not state.undo:
            raise InputError("there is nothing to undo.")
        back = _apply(state, state.undo[-1].back)
        redo = (*state.redo, Step(state.undo[-1].number, back))
        return _add_event(state, back, undo=state.undo[:-1], redo=redo)
    if isinstance(event, Redo):
        if not state.redo:
            raise InputError("there is nothing to do again.")
        back = _apply(state, state.redo[-1].back)
        undo = (*state.undo, Step(state.redo[-1].number, back))
        return _add_event(state, back, undo=undo, redo=state.redo[:-1])
    if isinstance(event, Order) and event.given:
        return _add_event(state, Change())
    return add_step(state, _apply(state, change_of(state, event, n_rows)))


def _add_event(state: State, back: Change, **parts: Any) -> State:
    """Return the state after one more event, with the change that reverts it."""
    return replace(state, back=back, n_events=state.n_events + 1, **parts)


def add_step(state: State, back: Change) -> State:
    """Return the state after one more event that can be undone, by the change ``back``."""
    undo = (*state.undo, Step(state.n_events + 1, back))
    return _add_event(state, back, undo=undo, redo=())


def change_of(state: State, event: Event, n_rows: int) -> Change:
    """Find what an event changes; it must not be an undo, a redo or a choice of what is asked."""
    if isinstance(event, PairsEvent):
        said = {pair: Told(same, state.n_events + 1) for pair, same in event.pairs(n_rows)}
        if event.by is None:
            return Change(said)
        by = check_name(event.by)
        return Change(said, {(*pair, by): told for pair, told in said.items()})
    if isinstance(event, Withdraw):
        meant: dict[Pair, None] = dict.fromkeys(event.meant(n_rows))
        for i, j in meant:
            if (i, j) not in state.pairs:
                raise NothingSaid(f"nothing was said of rows {i} and {j}.")
        return Change(meant, dict.fromkeys(voice for voice in state.voices if voice[:2] in meant))
    if isinstance(event, Name):
        return _rename_group(state, event, n_rows)
    raise InputError(
        "the order of three rows was given on the page of an older version: begin a new journal, "
        "and give triplets with the data."
    )


def _rename_group(state: State, event: Name, n_rows: int) -> Change:
    """Return the change that gives a group another name, or takes its name away."""
    name, instead = (
        None if one is None else check_name(one) for one in (event.name, event.instead)
    )
    names: dict[str, tuple[int, ...] | None] = {}
    if instead is not None and instead != name:
        if instead not in state.names:
            raise InputError(f"no group is called {instead!r:.80}.")
        names[instead] = None
    if name is not None:
        rows = deduplicate_rows(event.rows, n_rows)
        if not len(rows):
            raise InputError("a group that has a name has rows.")
        names[name] = tuple(np.sort(rows).tolist())
    if not names:
        raise InputError("an entry that names a group has a name, or takes one away.")
    return Change(names=names)


def _apply(state: State, change: Change) -> Change:
    """Make a change in place, and return the one that reverts it."""
    return Change(
        _put(state.pairs, change.pairs),
        _put(state.voices, change.voices),
        _put(state.names, change.names),
    )


def _put(now: dict[Any, Any], new: Mapping[Any, Any]) -> dict[Any, Any]:
    """Set values, or remove them where None; returns those before."""
    before = {key: now.get(key) for key in new}
    for key, value in new.items():
        if value is None:
            now.pop(key, None)
        else:
            now[key] = value
    return before


class NothingSaid(InputError):
    """What is to be withdrawn was not said."""


class AnswerConflict(InputError):
    """Something else was ``said`` meanwhile, in a word, than whoever answers believes."""

    def __init__(self, message: str, said: str) -> None:
        super().__init__(message)
        self.said = said


def check_belief(state: State, change: Change, believed: str) -> None:
    """Raise AnswerConflict if a pair's answer is neither the one ``believed`` nor the new one.

    So nobody overwrites another person's answer without having seen it.
    """
    check_choice("before", believed, Word)
    now = {pair: word_of(state.pairs.get(pair)) for pair in change.pairs}
    other = [
        (pair, now[pair])
        for pair, told in change.pairs.items()
        if now[pair] not in (believed, word_of(told))
    ]
    if not other:
        return
    (left, right), word = other[0]
    if len(change.pairs) == 1:
        message = f"{word} was said of rows {left} and {right} meanwhile."
        raise AnswerConflict(message, word)
    raise AnswerConflict(
        f"of {len(other)} of these {len(change.pairs)} pairs something else was said before: of "
        f"rows {left} and {right}, {word}.",
        word,
    )
