"""Groups that answers make: who belongs together, which differ, what they are called."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from nearkin._types import Ints
from nearkin.errors import InputError
from nearkin.pairs.closure import Groups
from nearkin.questions.strategies import all_different
from nearkin.tasks.grouping.names import carried
from nearkin.teaching.knowledge import Knowledge, shown_name

# Rows that are alone, but known to differ from all groups, count as groups: the first so many.
_MOST_ALONE = 20


@dataclass(frozen=True)
class KnownGroups:
    """Groups in the order in which something was first said of them: so they keep their numbers.

    Attributes
    ----------
    labels : int ndarray of shape (n,)
        Group of each row, from 0; −1 for rows of none.
    names : list of str or None
        As people have named them.
    """

    labels: Ints
    names: list[str | None]

    @property
    def sizes(self) -> list[int]:
        """Rows of each."""
        sizes = np.bincount(self.labels[self.labels >= 0], minlength=len(self.names))
        return [int(size) for size in sizes]

    def rows(self, number: int) -> Ints:
        """Rows of a group."""
        return np.flatnonzero(self.labels == number)

    def of(self, row: int) -> dict[str, Any] | None:
        """Number, name and size of the group of a row, and whether people have named it."""
        number = int(self.labels[row])
        if number < 0:
            return None
        name = self.names[number]
        named = {"name": shown_name(name, number), "named": name is not None}
        return {"number": number, **named, "size": int((self.labels == number).sum())}

    def colours(self) -> dict[str, Any]:
        """Colours of the groups, by their numbers; NaN for rows of none."""
        values = np.where(self.labels < 0, np.nan, self.labels).astype(np.float32)
        names = [
            f"{shown_name(name, k)} ({size} {'row' if size == 1 else 'rows'})"
            for k, (name, size) in enumerate(zip(self.names, self.sizes, strict=True))
        ]
        return {"kind": "categories", "categories": names, "range": None, "values": values}

    def naming(self, row: int, name: str | None) -> dict[str, Any]:
        """An entry that gives the group of a row another name, or none."""
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


def known_groups(known: Knowledge, n_rows: int) -> KnownGroups:
    """The groups that answers make of so many rows."""
    groups = known.pairs.groups
    size = np.bincount(groups.number, minlength=groups.count)
    order = _by_age(known, groups)
    apart = set(all_different(order, size, groups.differing).tolist())
    alone = [group for group in order.tolist() if size[group] == 1 and group in apart]
    kept = set(alone[:_MOST_ALONE]) if len(apart) > 1 else set()
    listed = [group for group in order.tolist() if size[group] > 1 or group in kept]
    number = np.full(groups.count + 1, -1)
    number[listed] = np.arange(len(listed))
    labels = np.full(n_rows, -1)
    labels[groups.points] = number[groups.number]
    names: list[str | None] = [None] * len(listed)
    if known.names:
        found = carried(list(known.names), list(known.names.values()), labels)
        names[: len(found)] = found
    return KnownGroups(labels, names)


def _by_age(known: Knowledge, groups: Groups) -> Ints:
    """Groups in the order in which one of their rows was first named."""
    number = groups.of(known.mentioned)
    _, first = np.unique(number[number >= 0], return_index=True)
    return np.asarray(number[number >= 0][np.sort(first)])
