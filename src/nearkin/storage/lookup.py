"""Classes that a file names and that nothing has imported yet.

What is stored knows no learner. Whoever knows where they are says so here, and is asked when a file
names one.
"""

from __future__ import annotations

from collections.abc import Callable

_asked: list[Callable[[str], object]] = []


def ask(importer: Callable[[str], object]) -> None:
    """From now on, ask this function to import the class of a name, if it knows of one."""
    _asked.append(importer)


def import_named(name: str) -> None:
    """Import the class of a name, if anyone knows where it is."""
    for importer in _asked:
        importer(name)
