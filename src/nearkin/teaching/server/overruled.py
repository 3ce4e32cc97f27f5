"""What is said to those whose answers another browser overrules."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from nearkin.teaching.history import Conflict


def overruled_sentence(state: Mapping[str, Any], name: Callable[[int], str]) -> str | None:
    """What of earlier answers a change has taken the place of; None if of nothing.

    Parameters
    ----------
    state : mapping
        As :meth:`nearkin.teaching.lesson.Lesson.answer` gives it.
    name : callable
        What a row is called.

    Examples
    --------
    >>> change = {"left": 3, "right": 5, "before": "same", "now": "different"}
    >>> overruled_sentence({"changes": [change], "n_changes": 1}, str)
    'Another browser has said different of 3 and 5, of which same was said before.'
    """
    overruled = [one for one in state.get("changes", ()) if one["before"] != "nothing"]
    if not overruled:
        return None
    first = overruled[0]
    both = f"{name(first['left'])} and {name(first['right'])}"
    more = f" The same goes for more pairs, {state['n_changes']} in all." * (len(overruled) > 1)
    if first["now"] == "disputed":
        return (
            f"People disagree about {both}: somebody else has said the opposite of "
            f"{first['before']}. The list of answers (h) has both, to settle it.{more}"
        )
    if first["now"] == "nothing":
        return f"Another browser has taken back what was said of {both}: {first['before']}.{more}"
    return (
        f"Another browser has said {first['now']} of {both}, of which {first['before']} was said "
        f"before.{more}"
    )


def conflict_sentence(conflict: Conflict, name: Callable[[int], str]) -> str | None:
    """What came to nothing because something else was said before; None if nothing was said.

    Examples
    --------
    >>> conflict_sentence(Conflict("same was said meanwhile.", "same", (3, 5)), str)
    'Another browser disagrees: same was said of 3 and 5. It is asked which is right.'
    """
    if conflict.pair is None:
        return None
    left, right = map(name, conflict.pair)
    said = f"{conflict.said} was said" if conflict.said != "nothing" else "nothing is said"
    return f"Another browser disagrees: {said} of {left} and {right}. It is asked which is right."
