"""Memoise pure functions during one fit.

Estimators are keyed by parameters, random states by state, small arrays by content.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any, NamedTuple, TypeVar

import numpy as np
from sklearn.base import BaseEstimator

from nearkin.messages import Note, collect_notices, hand_on

Result = TypeVar("Result")
# Arrays up to this many bytes are compared by what they hold, larger ones must be the same.
_SMALL = 65536


class _Done(NamedTuple):
    """A result, with its notices and the states in which it left random generators."""

    found: Any
    notes: list[Note]
    states: list[Any]
    held: tuple[Any, ...]  # function and arguments, so that no other object gets their identity


# Of this thread and block, as all that is in a context.
_results: ContextVar[dict[Hashable, _Done] | None] = ContextVar("results", default=None)


@contextmanager
def keep_results() -> Iterator[None]:
    """Memoise calls by :func:`call_once` until the block ends, in this thread."""
    before = _results.set({})
    try:
        yield
    finally:
        _results.reset(before)


def call_once(function: Callable[..., Result], *arguments: Any) -> Result:
    """Call a pure function, or return its earlier result within :func:`keep_results`.

    Parameters
    ----------
    function : callable
        It may draw from a RandomState among its arguments, and notice things.
    *arguments
        Estimators are taken by their parameters, generators of random numbers by their states, and
        small arrays by what they hold; anything else must be the same object. Nobody may change
        them afterwards, nor the result.

    Examples
    --------
    >>> from nearkin.rows.memo import keep_results, call_once
    >>> def drawn(rng):
    ...     print("drawing")
    ...     return rng.randint(10)
    >>> with keep_results():
    ...     twice = [call_once(drawn, np.random.RandomState(0)) for _ in range(2)]
    drawing
    >>> twice
    [5, 5]
    """
    results = _results.get()
    if results is None:
        return function(*arguments)
    generators = [one for one in arguments if isinstance(one, np.random.RandomState)]
    key = (function, *map(_key, arguments))
    if key not in results:
        with collect_notices() as notes:
            found = function(*arguments)
        states = [rng.get_state() for rng in generators]
        results[key] = _Done(found, notes, states, (function, *arguments))
    done = results[key]
    hand_on(done.notes)
    for rng, state in zip(generators, done.states, strict=True):
        rng.set_state(state)
    again: Result = done.found
    return again


def _key(argument: Any) -> Hashable:
    if isinstance(argument, BaseEstimator):
        names = _parameters(type(argument))  # type: ignore[arg-type]
        return type(argument), _content([getattr(argument, name) for name in names], argument)
    if isinstance(argument, np.random.RandomState):
        return _content(argument.get_state(), argument)
    if isinstance(argument, np.ndarray) and argument.nbytes <= _SMALL:
        return _content(argument, argument)
    return id(argument)


@cache
def _parameters(kind: type[BaseEstimator]) -> list[str]:
    """Names of the parameters of a class, which scikit-learn takes long to find."""
    return list(kind._get_param_names())


def _content(of: Any, argument: Any) -> Hashable:
    try:
        return pickle.dumps(of)
    except (pickle.PicklingError, AttributeError, TypeError):  # such as a lambda
        return id(argument)
