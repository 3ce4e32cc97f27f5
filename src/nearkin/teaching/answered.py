"""Answers as people look back at them: what still counts, who said it and when."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from nearkin.teaching.history import DISPUTED, Past, Said, is_pair, is_voice, word_of
from nearkin.teaching.row_checks import Pair

Entry = Mapping[str, Any]


def answered(past: Past, entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """One item for each entry that something said of pairs still comes from, the newest first.

    Parameters
    ----------
    past : Past
    entries : sequence of dict
        All of them, in their order.

    Returns
    -------
    list of dict
        ``number`` of the entry, 0 for what was known from the start; ``left`` and ``right``, the
        rows as they were shown, or the first pair of several; ``n_pairs`` and ``n_rows`` of all of
        it; ``said``, in a word, or ``"several"``; ``by``, ``at`` and ``origin``, None where they
        are not known; and ``voices``: ``by``, ``said`` and ``at`` of everyone who is named.

    Examples
    --------
    >>> from nearkin.teaching.history import Past, after
    >>> entry = {"do": "answer", "left": 5, "right": 2, "same": True, "by": "Ann"}
    >>> (one,) = answered(after(Past(), entry, n_rows=10), [entry])
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
        _item(number, said_of, entries, voices)
        for number, said_of in by_entry.items()
        if number > 0
    ]
    items.sort(key=lambda item: -item["number"])
    given = [_item(0, [one], entries, voices) for one in by_entry.get(0, ())]
    return [*items, *given]


def _item(
    number: int,
    said_of: list[tuple[Pair, str]],
    entries: Sequence[Entry],
    voices: Mapping[Pair, list[tuple[str, Said, int]]],
) -> dict[str, Any]:
    entry = entries[number - 1] if number else {}
    # Of a choice among groups, what it was found to be like, or what people disagree about.
    chosen = entry.get("do") == "which"
    parts = ([one for one in said_of if one[1] == word] for word in ("same", DISPUTED))
    liked = next(filter(None, parts), []) if chosen else []
    pair, word = min(liked or said_of)
    single = len(said_of) == 1
    left, right = _shown(pair, entry)
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
            for name, said, source in (voices.get(pair, ()) if single or word == DISPUTED else ())
        ],
    }


def _shown(pair: Pair, entry: Entry) -> Pair:
    """The rows of a pair in the order in which they were shown, if an entry tells that."""
    left, right = pair
    return (right, left) if (entry.get("left"), entry.get("right")) == (right, left) else pair


def as_shown(past: Past, entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """What the last entry changed, see :meth:`Past.changes`, with the rows as they were shown."""
    changes = past.changes()
    if len(changes) != 1:
        return changes
    change = changes[0]
    number = {"undo": past.redo, "redo": past.undo}.get(entries[-1]["do"], ())[-1:]
    entry = entries[number[0].number - 1] if number else entries[-1]
    change["left"], change["right"] = _shown((change["left"], change["right"]), entry)
    return changes
