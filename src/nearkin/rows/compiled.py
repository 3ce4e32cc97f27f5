"""Loops that Numba compiles: once on a machine, and not in silence.

Every compiled loop of the house is made here, so that all of them are kept. Numba is imported when
one of them is first called (:mod:`nearkin.rows.numba_loops`): most commands end before that.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from functools import update_wrapper
from typing import Any, TypeVar, cast

# Sums may be reordered for speed; infinities and NaN keep their meaning.
REORDER = frozenset({"reassoc", "contract", "nsz"})

_Function = TypeVar("_Function", bound=Callable[..., Any])
_LOCK = threading.RLock()


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
        return cast(_Function, _Loop(function, {"nogil": True, "fastmath": set(fastmath)}))

    return decorate


class _Loop:
    """A function that Numba takes over when it is first needed, by Python or by another loop."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        update_wrapper(self, function)
        self._function = function
        self._options = options
        self._made: Any = None

    def __call__(self, *arguments: Any) -> Any:
        return (self._made or self._dispatcher())(*arguments)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._dispatcher(), name)

    @property
    def _numba_type_(self) -> Any:
        """What Numba asks for, where one loop calls another."""
        return self._dispatcher()._numba_type_

    def __reduce__(self) -> str:
        return self._function.__qualname__

    def _dispatcher(self) -> Any:
        from nearkin.rows.numba_loops import dispatcher

        with _LOCK:
            if self._made is None:
                self._made = dispatcher(self._function, self._options)
            return self._made


def get_ready() -> threading.Thread:
    """Import Numba in a thread of its own, with all that loops need when they are first called.

    That takes half a second of a core, in which files can be read.
    """
    thread = threading.Thread(target=_imported, name="nearkin-compiled")
    thread.start()
    return thread


def _imported() -> None:
    from nearkin.rows.numba_loops import get_ready

    get_ready()
