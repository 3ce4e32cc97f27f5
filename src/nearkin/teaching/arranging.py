"""The map of neighbours of a lesson, as it follows what is learned."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nearkin.teaching.looking import Looking
from nearkin.teaching.neighbor_map import NeighborMap, arranged
from nearkin.teaching.taught_metric import View


class Arranging(Looking):
    """The map of a :class:`nearkin.teaching.lesson.Lesson`; one thread at a time makes it."""

    def __init__(self) -> None:
        self._map: tuple[View, NeighborMap] | None = None

    def arrange(self) -> Iterator[dict[str, Any]]:
        """Pictures on the way to the map of what was learned last, from the one before.

        Ends early once something else has been learned: the next map then goes on from there.

        Yields
        ------
        dict
            ``version`` of the knowledge; ``coordinates``, a float32 array of shape (n, 2); and
            ``share`` of the way that is gone, 1 at its end.
        """
        seen = self._seen
        view = seen.learned.view
        before = None if self._map is None else self._map[1]
        if self._map is not None and self._map[0] is view and self._map[1].share == 1.0:
            yield _told(seen.learned.version, self._map[1])
            return
        for found in arranged(view, seen.coordinates, before, self._seed):
            self._map = view, found
            yield _told(seen.learned.version, found)
            if self._seen.learned.view is not view:
                return


def _told(version: int, found: NeighborMap) -> dict[str, Any]:
    return {"version": version, "coordinates": found.places, "share": found.share}
