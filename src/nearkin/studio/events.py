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
_NO_ROWS = (
    *("do", "same", "origin", "by", "at", "weights", "given", "name", "instead"),
    *("purpose", "words"),
)


def rename_rows(entry: Mapping[str, Any], name: Callable[[Any], Any]) -> dict[str, Any]:
    """Return a copy of an entry in which each row is replaced by ``name(row)``.

    The journal uses it to go from row numbers to records' keys and back.

    Examples
    --------
    >>> from nearkin.studio.events import rename_rows
    >>> rename_rows({"do": "withdraw", "triplet": [3, 1, 2]}, "row {}".format)
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
    """Iterate over all rows that an entry names, in order, repeated ones as often as named."""
    found: list[Any] = []
    rename_rows(entry, found.append)
    return iter(found)


def check_parts(entry: Mapping[str, Any]) -> None:
    """Raise InputError if an entry has a key other than those that entries may have."""
    unknown = [part for part in entry if part not in (*_ROW, *_ROWS, *_LISTS, *_NO_ROWS)]
    if unknown:
        raise InputError(f"an entry says {unknown[0]!r:.60}, which no journal knows.")


def sort_groups(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of an entry with the rows of its two groups sorted, each row once.

    Which pairs are made of groups depends on that order, which must not depend on where somebody
    began to select rows.
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


def check_name(by: Any) -> str:
    """Return a person's or group's name without blanks around it; raise if it is no valid name."""
    if not isinstance(by, str):
        raise InputTypeError(f"{by!r:.60} is not a name.")
    name = by.strip()
    if not 0 < len(name) <= LONGEST_NAME:
        raise InputError(f"a name has 1 to {LONGEST_NAME} characters, not {len(name)}.")
    return name


def check_pair(left: Any, right: Any, n_rows: int) -> Pair:
    """Return two row numbers, the smaller first; raise if they are equal or no valid rows."""
    rows = [_check_row(row, n_rows) for row in (left, right)]
    if rows[0] == rows[1]:
        raise InputError(f"a pair takes two rows, not row {rows[0]} twice.")
    return min(rows), max(rows)


def check_triplet(rows: Any, n_rows: int) -> Triplet:
    """Return three row numbers as ints; raise if two are equal or one is no valid row."""
    a, b, c = (_check_row(row, n_rows) for row in rows)
    if len({a, b, c}) < 3:
        raise InputError(f"a triplet takes three rows: ({a}, {b}, {c}) names one twice.")
    return a, b, c


def _check_row(row: Any, n_rows: int) -> int:
    """Return a row number as an int; raise if it is none from 0 to ``n_rows`` − 1."""
    if isinstance(row, bool) or not isinstance(row, Integral):
        raise InputTypeError(f"{row!r:.60} is not a row number.")
    if not 0 <= int(row) < n_rows:
        raise InputError(f"there is no row {row}: rows are numbered from 0 to {n_rows - 1}.")
    return int(row)


def check_answer(same: Any) -> bool | None:
    """Return True for same, False for different, None for unsure; raise if it is none of these."""
    if same is None or isinstance(same, (bool, np.bool_)):
        return None if same is None else bool(same)
    raise InputTypeError(f"same must be True, False, or None for unsure, not {same!r:.60}.")


def sort_rows(rows: Sequence[int], n_rows: int) -> Ints:
    """Sort row numbers and drop repeated ones; raise if there is an invalid one."""
    return np.sort(deduplicate_rows(rows, n_rows))


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


# Cannot-links that two groups are turned into at most.
MOST_BETWEEN = 2000


def pairs_of_groups(
    first: Sequence[int], second: Sequence[int], same: bool, n_rows: int
) -> tuple[Ints, int]:
    """Make must-links that join two groups of rows, or cannot-links between them.

    Parameters
    ----------
    first, second : sequence of int
        Row numbers; with ``same`` the second may be empty.
    same : bool
        True links every row of both to the next, in the order in which they are given. False links
        every row of one with every row of the other, or an even choice of 2000 such pairs where
        there are more.

    Returns
    -------
    links : int ndarray of shape (k, 2)
        The smaller row first.
    n_possible : int
        How many pairs the statement implies in all.

    Examples
    --------
    >>> from nearkin.studio.events import pairs_of_groups
    >>> links, n_possible = pairs_of_groups([4, 7], [1], True, n_rows=10)
    >>> links.tolist(), n_possible
    ([[4, 7], [1, 7]], 3)
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


def pairs_of_split(first: Sequence[int], second: Sequence[int], n_rows: int) -> dict[bool, Ints]:
    """Must-links within the first group (key True) and cannot-links to the second (key False).

    Each value is an int ndarray of shape (k, 2), made by :func:`pairs_of_groups`.
    """
    apart, _ = pairs_of_groups(first, second, False, n_rows)
    together = np.empty((0, 2), dtype=np.int64)
    if len(set(first)) > 1:
        together, _ = pairs_of_groups(first, (), True, n_rows)
    return {True: together, False: apart}


def pairs_of_which(entry: Mapping[str, Any], n_rows: int) -> list[tuple[Pair, bool | None]]:
    """Pairs that follow from an answer to "which of these rows is this one like?".

    The rows offered stand for groups that differ, so a row that is like one of them is unlike the
    others. Each pair comes with True for same, False for different or None for unsure.

    Examples
    --------
    >>> from nearkin.studio.events import pairs_of_which
    >>> pairs_of_which({"left": 5, "rows": [7, 2], "right": 2, "same": True}, n_rows=10)
    [((5, 7), False), ((2, 5), True)]
    """
    same, chosen = check_answer(entry["same"]), entry.get("right")
    beside = [check_pair(entry["left"], row, n_rows) for row in entry["rows"]]
    if len(set(beside)) < len(beside) or not beside:
        raise InputError("it takes at least one row to choose from, and each of them once.")
    if (chosen is None) is (same is True):
        raise InputError("the row that it is like must be given if there is one, and only then.")
    if same is not True:
        return [(pair, same) for pair in beside]
    liked = check_pair(entry["left"], chosen, n_rows)
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


# What may be asked: which rows are the same kind of thing, or which are the same thing twice.
PURPOSES = ("kinds", "things")


class Asked(NamedTuple):
    """What is asked, and in which words.

    Attributes
    ----------
    purpose : {"kinds", "things"}
    words : str
    """

    purpose: str
    words: str


def _read_asked(entry: Mapping[str, Any]) -> Asked:
    """Read what is asked from an entry; raise if it is no valid one."""
    purpose = entry.get("purpose")
    if purpose not in PURPOSES:
        raise InputError(f"purpose must be one of {', '.join(PURPOSES)}, not {purpose!r:.60}.")
    return Asked(purpose, check_name(entry.get("words")))


class TakenStep(NamedTuple):
    """The change that reverts an entry.

    Attributes
    ----------
    number : int
        Number of the entry, from 1.
    back : list
        Keys of answers with what was said of them before, and the number of the entry that said it.
    """

    number: int
    back: Sourced


@dataclass(frozen=True)
class Past:
    """All answers after a series of entries, with undo and redo. :func:`after` makes the next.

    Attributes
    ----------
    answers : mapping
        From pairs to True, False or None, from triplets to their weights, from pairs with a
        person's name to that person's answer, and from groups' names to their rows.
    undo, redo : tuple of TakenStep
        Changes that undo each step, and that redo each undone step; the latest step is last.
    back : list
        The change that reverts the last entry, whatever that was.
    sources : mapping
        From keys of ``answers`` to the numbers of the entries that said them; keys that were known
        from the start are left out.
    n_entries : int
    asked : Asked or None
        What is asked, as it was chosen last; no step that is undone.
    """

    answers: Answers = field(default_factory=dict)
    undo: tuple[TakenStep, ...] = ()
    redo: tuple[TakenStep, ...] = ()
    back: Sourced = field(default_factory=list)
    sources: Sources = field(default_factory=dict)
    n_entries: int = 0
    asked: Asked | None = None

    def changes(self) -> list[dict[str, Any]]:
        """List the pairs whose answer the last entry has changed.

        Each has the rows ``left`` and ``right``, and the answers ``before`` and ``now`` in a word.
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
    """Apply one more entry to a state of answers, and return the new state.

    Raises ValueError or TypeError if the entry names rows that do not exist, withdraws what was not
    said, or undoes where there is nothing to undo.

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
    """Do as :func:`after`, but reuse and so destroy the mappings of ``past``: for long series."""
    do = entry.get("do")
    number = past.n_entries + 1
    if do == "ask":
        return replace(past, asked=_read_asked(entry), back=[], n_entries=number)
    if do in ("undo", "redo"):
        steps = past.undo if do == "undo" else past.redo
        if not steps:
            raise InputError(f"there is nothing to {'undo' if do == 'undo' else 'do again'}.")
        answers, sources, back = _apply_change(past, steps[-1].back)
        step = TakenStep(steps[-1].number, back)
        undo, redo = (
            (past.undo[:-1], (*past.redo, step))
            if do == "undo"
            else ((*past.undo, step), past.redo[:-1])
        )
        return Past(answers, undo, redo, back, sources, number, past.asked)
    change = change_of(past.answers, entry, n_rows)
    answers, sources, back = _apply_change(past, [(key, said, number) for key, said in change])
    if entry.get("given"):
        return Past(answers, past.undo, past.redo, back, sources, number, past.asked)
    undo = (*past.undo, TakenStep(number, back))
    return Past(answers, undo, (), back, sources, number, past.asked)


def withdraws_nothing(past: Past, entry: Mapping[str, Any], n_rows: int) -> bool:
    """Whether an entry withdraws the answer to a pair that has none."""
    if entry.get("do") != "withdraw" or "triplet" in entry:
        return False
    return any(pair not in past.answers for pair in _pairs_to_withdraw(entry, n_rows))


def add_idle_step(past: Past) -> Past:
    """Return the state after an entry that changes no answer, but can be undone as all others."""
    number = past.n_entries + 1
    undo = (*past.undo, TakenStep(number, []))
    return replace(past, undo=undo, redo=(), back=[], n_entries=number)


def _pairs_to_withdraw(entry: Mapping[str, Any], n_rows: int) -> list[Pair]:
    """Pairs whose answers an entry with ``do="withdraw"`` withdraws."""
    ends = entry["pairs"] if "pairs" in entry else [(entry["left"], entry["right"])]
    return [check_pair(i, j, n_rows) for i, j in ends]


def change_of(answers: Answers, entry: Mapping[str, Any], n_rows: int) -> Change:
    """List the answers that an entry sets or withdraws; it must not be an undo or redo.

    Returns keys of ``answers`` with what is said of them from now on, or NOTHING if withdrawn.
    """
    do = entry.get("do")
    if do == "answer":
        pair = check_pair(entry["left"], entry["right"], n_rows)
        return _add_voices([(pair, check_answer(entry["same"]))], entry.get("by"))
    if do == "which":
        return _add_voices(pairs_of_which(entry, n_rows), entry.get("by"))
    if do == "withdraw" and "triplet" in entry:
        triplet = check_triplet(entry["triplet"], n_rows)
        if triplet not in answers:
            raise InputError("row {} was not said to be nearer to {} than to {}.".format(*triplet))
        return [(triplet, NOTHING)]
    if do == "withdraw":
        meant = dict.fromkeys(_pairs_to_withdraw(entry, n_rows), NOTHING)
        for i, j in meant:
            if (i, j) not in answers:
                raise InputError(f"nothing was said of rows {i} and {j}.")
        voices = [rows for rows in answers if is_voice(rows) and rows[:2] in meant]
        return [*meant.items(), *((rows, NOTHING) for rows in voices)]
    if do == "groups":
        same = check_answer(entry["same"])
        if same is None:
            raise InputError("same must be true or false for groups.")
        links, _ = pairs_of_groups(entry["first"], entry["second"], same, n_rows)
        return _add_voices([((i, j), same) for i, j in links.tolist()], entry.get("by"))
    if do == "split":
        kinds = pairs_of_split(entry["first"], entry["second"], n_rows)
        pairs = [((i, j), same) for same, links in kinds.items() for i, j in links.tolist()]
        return _add_voices(pairs, entry.get("by"))
    if do == "name":
        return _rename_group(answers, entry, n_rows)
    if do == "closer":
        triplets = [check_triplet(rows, n_rows) for rows in entry["triplets"]]
        weights = check_pair_weights(entry.get("weights"), len(triplets), "weight of triplet")
        opposites = () if entry.get("given") else answers
        return _replace_opposites(opposites, triplets, weights.tolist())
    raise InputError(f"an entry that says do={do!r} is unknown.")


def is_pair(rows: Key) -> TypeGuard[Pair]:
    """Whether a key of answers is a pair of rows."""
    return len(rows) == 2


def is_about_rows(rows: Key) -> TypeGuard[Pair | Triplet]:
    """Whether a key of answers is a pair or a triplet of rows."""
    return len(rows) > 1 and not is_voice(rows)


def is_voice(rows: Key) -> TypeGuard[Voice]:
    """Whether a key of answers is a pair of rows with the name of a person who answered."""
    return len(rows) == 3 and isinstance(rows[-1], str)


def _rename_group(answers: Answers, entry: Mapping[str, Any], n_rows: int) -> Change:
    """Return the change that gives a group another name, or takes its name away."""
    name, instead = (
        None if entry.get(key) is None else check_name(entry[key]) for key in ("name", "instead")
    )
    change: Change = []
    if instead is not None and instead != name:
        if (instead,) not in answers:
            raise InputError(f"no group is called {instead!r:.80}.")
        change.append(((instead,), NOTHING))
    if name is not None:
        rows = sort_rows(entry["rows"], n_rows)
        if not len(rows):
            raise InputError("a group that has a name has rows.")
        change.append(((name,), tuple(rows.tolist())))
    if not change:
        raise InputError("an entry that names a group has a name, or takes one away.")
    return change


def _add_voices(change: Sequence[tuple[Pair, bool | None]], by: Any) -> Change:
    """Add to answers about pairs who gave them: the person's name, or None if unknown."""
    if by is None:
        return list(change)
    name = check_name(by)
    return [*change, *(((*pair, name), said) for pair, said in change)]


def _replace_opposites(
    answers: Collection[Key], triplets: list[Triplet], weights: list[float]
) -> Change:
    """Return the change that adds triplets and removes their opposites from the answers."""
    change: Change = []
    for (a, b, c), weight in zip(triplets, weights, strict=True):
        if (a, c, b) in answers:
            change.append(((a, c, b), NOTHING))
        change.append(((a, b, c), weight))
    return change


def word_of(said: Said | Nothing) -> str:
    """Word for an answer about a pair: same, different, unsure or nothing.

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
    """Raise AnswerConflict if a pair's answer is neither the one believed nor the new one.

    So nobody overwrites another person's answer without having seen it.

    Parameters
    ----------
    answers : mapping
        The answers that count now.
    change : list
        The new answers.
    believed : {"same", "different", "unsure", "nothing"}
        The answer that the person who answers saw for these pairs.
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


def _apply_change(past: Past, change: Sourced) -> tuple[Answers, Sources, Sourced]:
    """Set and remove answers in place.

    Returns the answers, the entries that they come from, and the change that reverts this one.
    """
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
