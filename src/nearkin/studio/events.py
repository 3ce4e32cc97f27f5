"""A series of answers as entries: what they may hold, and what is so after them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Integral
from typing import Any, NamedTuple, TypeGuard

import numpy as np

from nearkin._types import Ints
from nearkin.errors import InputError, InputTypeError
from nearkin.pairs.pairs import check_pair_weights

# Parts of an entry that name a row, several rows, lists of rows, and no rows.
_ROW = ("left", "right")
_ROWS = ("first", "second", "rows", "triplet")
_LISTS = ("triplets", "pairs")
_NO_ROWS = ("do", "same", "origin", "by", "at", "weights", "given", "name", "instead")


def renamed(entry: Mapping[str, Any], name: Callable[[Any], Any]) -> dict[str, Any]:
    """An entry with other names of its rows.

    Examples
    --------
    >>> from nearkin.studio.events import renamed
    >>> renamed({"do": "withdraw", "triplet": [3, 1, 2]}, "row {}".format)
    {'do': 'withdraw', 'triplet': ['row 3', 'row 1', 'row 2']}
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
    """The rows that an entry names, in their order."""
    found: list[Any] = []
    renamed(entry, found.append)
    return iter(found)


def check_parts(entry: Mapping[str, Any]) -> None:
    """Raise if it is not known whether a part of an entry names rows."""
    unknown = [part for part in entry if part not in (*_ROW, *_ROWS, *_LISTS, *_NO_ROWS)]
    if unknown:
        raise InputError(f"an entry says {unknown[0]!r:.60}, which no journal knows.")


def sort_groups(entry: Mapping[str, Any]) -> dict[str, Any]:
    """An entry whose groups of rows are in the order of their numbers.

    Which pairs are made of groups depends on the order: it is to be the same wherever somebody
    began to select them.
    """
    if entry.get("do") not in ("groups", "split"):
        return dict(entry)
    return {
        **entry,
        **{part: sorted(set(entry[part])) for part in ("first", "second") if part in entry},
    }


# Two rows, the smaller first.
Pair = tuple[int, int]
# Three rows, the first nearer to the second than to the third.
Triplet = tuple[int, int, int]

# Characters of a name.
LONGEST_NAME = 60


def checked_name(by: Any) -> str:
    """A name without blanks around it, or an error."""
    if not isinstance(by, str):
        raise InputTypeError(f"{by!r:.60} is not a name.")
    name = by.strip()
    if not 0 < len(name) <= LONGEST_NAME:
        raise InputError(f"a name has 1 to {LONGEST_NAME} characters, not {len(name)}.")
    return name


def checked_pair(left: Any, right: Any, n_rows: int) -> Pair:
    """Two different rows, the smaller first, or an error."""
    rows = [_checked_row(row, n_rows) for row in (left, right)]
    if rows[0] == rows[1]:
        raise InputError(f"a pair takes two rows, not row {rows[0]} twice.")
    return min(rows), max(rows)


def checked_triplet(rows: Any, n_rows: int) -> Triplet:
    """Three different rows, or an error."""
    a, b, c = (_checked_row(row, n_rows) for row in rows)
    if len({a, b, c}) < 3:
        raise InputError(f"a triplet takes three rows: ({a}, {b}, {c}) names one twice.")
    return a, b, c


def _checked_row(row: Any, n_rows: int) -> int:
    if isinstance(row, bool) or not isinstance(row, Integral):
        raise InputTypeError(f"{row!r:.60} is not a row number.")
    if not 0 <= int(row) < n_rows:
        raise InputError(f"there is no row {row}: rows are numbered from 0 to {n_rows - 1}.")
    return int(row)


def checked_answer(same: Any) -> bool | None:
    """True, False or None, or an error."""
    if same is None or isinstance(same, (bool, np.bool_)):
        return None if same is None else bool(same)
    raise InputTypeError(f"same must be True, False, or None for unsure, not {same!r:.60}.")


def sorted_rows(rows: Sequence[int], n_rows: int) -> Ints:
    """Rows in the order of their numbers, each once, or an error."""
    return np.sort(rows_once(rows, n_rows))


def rows_once(rows: Sequence[int], n_rows: int) -> Ints:
    """Rows as they are given, each once, or an error."""
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


# Cannot-links that two groups are turned into at most.
MOST_BETWEEN = 2000


def pairs_of_groups(
    first: Sequence[int], second: Sequence[int], same: bool, n_rows: int
) -> tuple[Ints, int]:
    """Pairs that say that two groups of rows are the same, or that they differ.

    Parameters
    ----------
    first, second : sequence of int
        Row numbers; with ``same`` the second may be empty.
    same : bool
        True links every row of both to the next, in the order in which they are given. False links
        every row of one with every row of the other, or an even choice of 2000 such pairs where
        there are more.
    n_rows : int

    Returns
    -------
    links : int ndarray of shape (k, 2)
        The smaller row first.
    n_possible : int
        How many pairs follow from what was said.

    Examples
    --------
    >>> from nearkin.studio.events import pairs_of_groups
    >>> links, n_possible = pairs_of_groups([4, 7], [1], True, n_rows=10)
    >>> links.tolist(), n_possible
    ([[4, 7], [1, 7]], 3)
    """
    one, two = (rows_once(rows, n_rows) for rows in (first, second))
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
        links = np.column_stack([rows[:-1], rows[1:]])
        return np.sort(links, axis=1), len(rows) * (len(rows) - 1) // 2
    if not len(one) or not len(two):
        raise InputError("one group is empty: select rows of two groups that differ.")
    n_possible = len(one) * len(two)
    n_taken = min(n_possible, MOST_BETWEEN)
    # Slowly through one group and round and round through the other: no pair twice, and the rows
    # of each group in equally many pairs, give or take one.
    step = np.arange(n_taken)
    links = np.column_stack([one[step * len(one) // n_taken], two[step % len(two)]])
    return np.sort(links, axis=1), n_possible


def split_of_groups(first: Sequence[int], second: Sequence[int], n_rows: int) -> dict[bool, Ints]:
    """Pairs that say that rows belong together, and to none of others: must- and cannot-links.

    As :func:`pairs_of_groups` makes them, of the first group alone and of both.
    """
    apart, _ = pairs_of_groups(first, second, False, n_rows)
    together = np.empty((0, 2), dtype=np.int64)
    if len(set(first)) > 1:
        together, _ = pairs_of_groups(first, (), True, n_rows)
    return {True: together, False: apart}


def pairs_of_which(entry: Mapping[str, Any], n_rows: int) -> list[tuple[Pair, bool | None]]:
    """What it says of a row and each of those beside it which of them it is like.

    Those beside it stand for groups that differ, so a row that is like one is unlike the others.

    Examples
    --------
    >>> from nearkin.studio.events import pairs_of_which
    >>> pairs_of_which({"left": 5, "rows": [7, 2], "right": 2, "same": True}, n_rows=10)
    [((5, 7), False), ((2, 5), True)]
    """
    same, chosen = checked_answer(entry["same"]), entry.get("right")
    beside = [checked_pair(entry["left"], row, n_rows) for row in entry["rows"]]
    if len(set(beside)) < len(beside) or not beside:
        raise InputError("it takes at least one row to choose from, and each of them once.")
    if (chosen is None) is (same is True):
        raise InputError("the row that it is like must be given if there is one, and only then.")
    if same is not True:
        return [(pair, same) for pair in beside]
    liked = checked_pair(entry["left"], chosen, n_rows)
    if liked not in beside:
        raise InputError(f"row {chosen} is not one of those that were shown.")
    return [(pair, pair == liked) for pair in beside]


# Of pairs it is said that they are same, different, or None for unsure; of triplets, how much they
# count. Two rows with who has answered: what they said last is evidence of how reliable they are.
Voice = tuple[int, int, str]
# What a group is called; what is said is which rows are in it.
GroupName = tuple[str]
Key = Pair | Triplet | Voice | GroupName
Said = bool | float | tuple[int, ...] | None
Answers = dict[Key, Said]
Sources = dict[Key, int]
# A change: rows with what is said of them from then on; of those that are not known, "nothing".
Change = list[tuple[Key, "Said | Nothing"]]
# The same with the number of the entry that said it, 0 for what was known from the start.
Sourced = list[tuple[Key, "Said | Nothing", int]]


class Nothing:
    """Stands for: nothing is said."""


NOTHING = Nothing()
# What may be said of two rows, in a word.
WORDS = ("same", "different", "unsure", "nothing")


class AnswerConflict(InputError):
    """Something else was said meanwhile than whoever answers believes.

    Attributes
    ----------
    said : str
        What is said now, in a word.
    """

    def __init__(self, message: str, said: str) -> None:
        super().__init__(message)
        self.said = said


class TakenStep(NamedTuple):
    """What an entry has done, as what takes it back.

    Attributes
    ----------
    number : int
        Of the entry, from 1.
    back : list
        Rows with what was said of them before, and by which entry.
    """

    number: int
    back: Sourced


@dataclass(frozen=True)
class Past:
    """What is known, and the way back and forth. Never changed: :func:`after` gives another.

    Attributes
    ----------
    answers : mapping
        Of pairs to True, False or None, of triplets to their weights, of pairs with who
        has answered to what these said, and of names of groups to their rows.
    undo, redo : tuple of TakenStep
        What takes back each step, the latest at the end, and what does each step again that was
        taken back.
    back : list
        What takes back the last entry, whatever that was.
    sources : mapping
        Numbers of the entries by which each is said, of all that is not known from the start.
    n_entries : int
    """

    answers: Answers = field(default_factory=dict)
    undo: tuple[TakenStep, ...] = ()
    redo: tuple[TakenStep, ...] = ()
    back: Sourced = field(default_factory=list)
    sources: Sources = field(default_factory=dict)
    n_entries: int = 0

    def changes(self) -> list[dict[str, Any]]:
        """The pairs that the last entry has changed.

        Each with ``left``, ``right``, and ``before`` and ``now``.
        """
        found = []
        for rows, before, _ in reversed(self.back):
            now = self.answers.get(rows, NOTHING)
            if len(rows) == 2 and now is not before:
                left, right = rows
                found.append({"left": left, "right": right, "before": word_of(before)})
                found[-1]["now"] = word_of(now)
        return found


def after(past: Past, entry: Mapping[str, Any], n_rows: int) -> Past:
    """What is known after one more entry.

    ValueError or TypeError if it is not possible: it names rows that are not there, takes back what
    was not said, or undoes where there is nothing to undo.

    Examples
    --------
    >>> from nearkin.studio.events import Past, after
    >>> said = {"do": "answer", "left": 5, "right": 2, "same": True}
    >>> past = after(Past(), said, n_rows=10)
    >>> past.answers
    {(2, 5): True}
    >>> after(past, {"do": "undo"}, n_rows=10).answers
    {}
    """
    own = replace(past, answers=dict(past.answers), sources=dict(past.sources))
    return after_in_place(own, entry, n_rows)


def after_in_place(past: Past, entry: Mapping[str, Any], n_rows: int) -> Past:
    """As :func:`after`, but what was known before is lost: for long series."""
    do = entry.get("do")
    number = past.n_entries + 1
    if do in ("undo", "redo"):
        steps = past.undo if do == "undo" else past.redo
        if not steps:
            raise InputError(f"there is nothing to {'undo' if do == 'undo' else 'do again'}.")
        answers, sources, back = _changed(past, steps[-1].back)
        step = TakenStep(steps[-1].number, back)
        undo, redo = (
            (past.undo[:-1], (*past.redo, step))
            if do == "undo"
            else ((*past.undo, step), past.redo[:-1])
        )
        return Past(answers, undo, redo, back, sources, number)
    change = change_of(past.answers, entry, n_rows)
    answers, sources, back = _changed(past, [(key, said, number) for key, said in change])
    if entry.get("given"):
        return Past(answers, past.undo, past.redo, back, sources, number)
    return Past(answers, (*past.undo, TakenStep(number, back)), (), back, sources, number)


def takes_back_nothing(past: Past, entry: Mapping[str, Any], n_rows: int) -> bool:
    """Whether an entry takes back what was said of pairs, of one of which nothing is said."""
    if entry.get("do") != "withdraw" or "triplet" in entry:
        return False
    return any(pair not in past.answers for pair in _taken_back(entry, n_rows))


def idle_step(past: Past) -> Past:
    """What is known after a step that changes nothing, but can be undone as all others."""
    number = past.n_entries + 1
    undo = (*past.undo, TakenStep(number, []))
    return replace(past, undo=undo, redo=(), back=[], n_entries=number)


def _taken_back(entry: Mapping[str, Any], n_rows: int) -> list[Pair]:
    ends = entry["pairs"] if "pairs" in entry else [(entry["left"], entry["right"])]
    return [checked_pair(i, j, n_rows) for i, j in ends]


def change_of(answers: Answers, entry: Mapping[str, Any], n_rows: int) -> Change:
    """What an entry other than undo and redo changes."""
    do = entry.get("do")
    if do == "answer":
        pair = checked_pair(entry["left"], entry["right"], n_rows)
        return _voiced([(pair, checked_answer(entry["same"]))], entry.get("by"))
    if do == "which":
        return _voiced(pairs_of_which(entry, n_rows), entry.get("by"))
    if do == "withdraw" and "triplet" in entry:
        triplet = checked_triplet(entry["triplet"], n_rows)
        if triplet not in answers:
            raise InputError("row {} was not said to be nearer to {} than to {}.".format(*triplet))
        return [(triplet, NOTHING)]
    if do == "withdraw":
        meant = dict.fromkeys(_taken_back(entry, n_rows), NOTHING)
        for i, j in meant:
            if (i, j) not in answers:
                raise InputError(f"nothing was said of rows {i} and {j}.")
        voices = [rows for rows in answers if is_voice(rows) and rows[:2] in meant]
        return [*meant.items(), *((rows, NOTHING) for rows in voices)]
    if do == "groups":
        same = checked_answer(entry["same"])
        if same is None:
            raise InputError("same must be true or false for groups.")
        links, _ = pairs_of_groups(entry["first"], entry["second"], same, n_rows)
        return _voiced([((i, j), same) for i, j in links.tolist()], entry.get("by"))
    if do == "split":
        kinds = split_of_groups(entry["first"], entry["second"], n_rows)
        pairs = [((i, j), same) for same, links in kinds.items() for i, j in links.tolist()]
        return _voiced(pairs, entry.get("by"))
    if do == "name":
        return _named(answers, entry, n_rows)
    if do == "closer":
        triplets = [checked_triplet(rows, n_rows) for rows in entry["triplets"]]
        weights = check_pair_weights(entry.get("weights"), len(triplets), "weight of triplet")
        opposites = () if entry.get("given") else answers
        return _ordered(opposites, triplets, weights.tolist())
    raise InputError(f"an entry that says do={do!r} is unknown.")


def is_pair(rows: Key) -> TypeGuard[Pair]:
    """Whether it is two rows and nothing else."""
    return len(rows) == 2


def is_about_rows(rows: Key) -> TypeGuard[Pair | Triplet]:
    """Whether it is two or three rows, whoever says something of them."""
    return len(rows) > 1 and not is_voice(rows)


def is_voice(rows: Key) -> TypeGuard[Voice]:
    """Whether it is said who has answered."""
    return len(rows) == 3 and isinstance(rows[-1], str)


def _named(answers: Answers, entry: Mapping[str, Any], n_rows: int) -> Change:
    """A group has another name, or none any more."""
    name, instead = (
        None if entry.get(key) is None else checked_name(entry[key]) for key in ("name", "instead")
    )
    change: Change = []
    if instead is not None and instead != name:
        if (instead,) not in answers:
            raise InputError(f"no group is called {instead!r:.80}.")
        change.append(((instead,), NOTHING))
    if name is not None:
        rows = sorted_rows(entry["rows"], n_rows)
        if not len(rows):
            raise InputError("a group that has a name has rows.")
        change.append(((name,), tuple(rows.tolist())))
    if not change:
        raise InputError("an entry that names a group has a name, or takes one away.")
    return change


def _voiced(change: Sequence[tuple[Pair, bool | None]], by: Any) -> Change:
    """What is said of pairs, and who says it, if that is known."""
    if by is None:
        return list(change)
    name = checked_name(by)
    return [*change, *(((*pair, name), said) for pair, said in change)]


def _ordered(answers: Collection[Key], triplets: list[Triplet], weights: list[float]) -> Change:
    """Triplets that are said; each takes the place of its opposite among the answers."""
    change: Change = []
    for (a, b, c), weight in zip(triplets, weights, strict=True):
        if (a, c, b) in answers:
            change.append(((a, c, b), NOTHING))
        change.append(((a, b, c), weight))
    return change


def word_of(said: Said | Nothing) -> str:
    """What is said of two rows, in a word.

    Examples
    --------
    >>> from nearkin.studio.events import NOTHING, word_of
    >>> [word_of(said) for said in (True, False, None, NOTHING)]
    ['same', 'different', 'unsure', 'nothing']
    """
    if isinstance(said, Nothing):
        return "nothing"
    return "unsure" if said is None else "same" if said else "different"


def check_belief(answers: Answers, change: Change, believed: str) -> None:
    """Raise if something else is said of a pair than is believed, or than is to be said.

    Parameters
    ----------
    answers : mapping
    change : list
        What is to be said.
    believed : {"same", "different", "unsure", "nothing"}
        What whoever says it believes to be said of these pairs now.
    """
    if believed not in WORDS:
        raise InputError(f"before must be one of {', '.join(WORDS)}, not {believed!r:.60}.")
    other = []
    change = [(rows, to_say) for rows, to_say in change if not is_voice(rows)]
    for pair, to_say in change:
        said = answers.get(pair, NOTHING)
        if len(pair) > 1 and said is not to_say and word_of(said) != believed:
            other.append((*pair[:2], word_of(said)))
    if not other:
        return
    left, right, word = other[0]
    if len(change) == 1:
        message = f"{word} was said of rows {left} and {right} meanwhile."
        raise AnswerConflict(message, word)
    raise AnswerConflict(
        f"of {len(other)} of these {len(change)} pairs something else was said before: of rows "
        f"{left} and {right}, {word}.",
        word,
    )


def _changed(past: Past, change: Sourced) -> tuple[Answers, Sources, Sourced]:
    """Answers and their sources, which are changed, and the change back."""
    answers, sources = past.answers, past.sources
    back: Sourced = []
    for key, said, source in change:
        back.append((key, answers.get(key, NOTHING), sources.get(key, 0)))
        if isinstance(said, Nothing):
            answers.pop(key, None)
        else:
            answers[key] = said
        if source and not isinstance(said, Nothing):
            sources[key] = source
        else:
            sources.pop(key, None)
    back.reverse()
    return answers, sources, back
