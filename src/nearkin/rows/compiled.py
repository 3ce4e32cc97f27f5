"""Loops that Numba compiles: once on a machine, and not in silence.

Every compiled loop of the house is made here, so that all of them are kept. Numba keeps what it
compiled beside the source file, or in the user's cache where that folder is read-only, or in the
folder that the environment variable ``NUMBA_CACHE_DIR`` names.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, TypeVar, cast

from numba import njit
from numba.core import event

from nearkin.rows.progress import note

# Sums may be reordered for speed; infinities and NaN keep their meaning.
REORDER = frozenset({"reassoc", "contract", "nsz"})

_Function = TypeVar("_Function", bound=Callable[..., Any])


def compiled(*, fastmath: Collection[str] = ()) -> Callable[[_Function], _Function]:
    """Compile a function when it is first called, for the types of its arguments, and keep that.

    The function does not hold Python's lock. Where no folder can be written, nothing is kept, and
    every process compiles anew.

    Parameters
    ----------
    fastmath : collection of str, optional
        Liberties with floating point numbers, by LLVM's names; such as :data:`REORDER`.

    Returns
    -------
    callable
        A decorator.
    """

    def decorate(function: _Function) -> _Function:
        options: dict[str, Any] = {"nogil": True, "fastmath": set(fastmath)}
        try:
            made: Any = njit(cache=True, **options)(function)
        except RuntimeError:  # no folder to keep it in
            made = njit(**options)(function)
        return cast(_Function, made)

    return decorate


class Announcer(event.Listener):
    """Says that something is being compiled: once, and only if it was not kept."""

    def __init__(self) -> None:
        self.said = False

    def on_start(self, event: Any) -> None:
        """What Numba calls before it compiles a function."""
        dispatcher = event.data["dispatcher"]
        package = (dispatcher.py_func.__module__ or "").partition(".")[0]
        if self.said or package != "nearkin":
            return
        self.said = True
        if dispatcher.stats.cache_path is None:
            note(
                "nearkin: compiling, which takes some seconds in every program, since no folder "
                "can be written to keep it in: let NUMBA_CACHE_DIR name one"
            )
        else:
            note("nearkin: compiling for this machine, which takes some seconds the first time")

    def on_end(self, event: Any) -> None:
        """What Numba calls when it is done."""


_listen: Any = event.register  # which has no types
_listen("numba:compile", Announcer())
