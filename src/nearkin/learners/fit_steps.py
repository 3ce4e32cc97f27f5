"""``fit`` in two steps, so that the small one can be done again when pairs come or go.

:func:`find_space` finds where to learn: kernel, landmarks and eigenvectors, or mean and covariance.
:func:`learn_in_space` learns a metric there from the coordinates of a few rows, in milliseconds.
Neither changes the learner. ``fit`` takes both steps; ``partial_fit`` and the studio take the
second again with other pairs.

A learner has three methods for them, none of which changes it:

- ``_find_space(X, points, rng)`` returns the space, whose ``coordinates(X)`` has shape (n, r);
  ``points`` are the numbers of the rows that pairs name, which become landmarks;
- ``_prepare_space(space, evidence, X, rng)`` returns whatever else does not depend on pairs, such
  as sums over labelled rows, or None; ``_learn`` finds it as ``taught.prepared``;
- ``_learn(taught, coordinates, rng)`` returns a :class:`Learned`; ``coordinates(rows)`` returns
  coordinates of rows of X by their numbers.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, NamedTuple, Protocol, TypeVar, cast

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from nearkin._types import Floats, Integers, Rng
from nearkin.messages import Note, collect_notices, hand_on
from nearkin.pairs.pairs import Pairs
from nearkin.pairs.supervision import Evidence, gather_evidence
from nearkin.rows import access, backends
from nearkin.scores.verdicts import draw_examples
from nearkin.spaces.maps import Map

# Coordinates of some rows of X in the space, on the host or where X is.
Coordinates = Callable[[Integers], Any]

# Rows of coordinates held at a time while the threshold is chosen by labels, which bounds memory.
_BLOCK = 65536


class Image(Protocol):
    """The map from coordinates in the space to the learned embedding, up to a motion."""

    def __call__(self, coordinates: Any, /) -> Any:
        """Map coordinates to the learned space; keeps device and dtype."""

    @property
    def matrix(self) -> Floats | None:
        """The map as a matrix of shape (r, q), or None if it is not linear."""


@dataclass(frozen=True)
class Taught:
    """What a fitted learner keeps so that pairs can be added and withdrawn.

    Rows of X are not kept, and of labelled rows their labels only: O(p r) numbers for r
    coordinates of p rows, those named in pairs and up to 4000 random ones.
    """

    n_rows: int
    # How many rows X has, or the numbers of those that can be drawn.
    takeable_rows: int | Integers
    space: Any
    # What else does not depend on pairs, such as sums over labelled rows.
    prepared: Any
    # What was learned from; what the space was found with, before that.
    evidence: Evidence
    # Of the generator before the draws of the second step, which are the same at every call.
    random_state: dict[str, Any]
    # The p rows of X whose coordinates are known, sorted, and these, of shape (p, r) in float64.
    rows: Integers
    coordinates: Floats
    # What was learned; None before that.
    image: Image | None = None
    # What would be learned without some of the pairs, once somebody has asked for it.
    left_out: dict[tuple[int, int], tuple[Any, float]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def make_reader(self, X: Any) -> Coordinates:
        """Return a function from row numbers of a checked X to coordinates, shape (k, r)."""
        return lambda rows: self.space.coordinates(access.take(X, rows))

    def get_coordinates(self, rows: Integers) -> Floats:
        """Coordinates, of shape (k, r), of rows that are among ``self.rows``."""
        return self.coordinates[np.searchsorted(self.rows, rows)]

    def prefer_known(self, read: Coordinates) -> Coordinates:
        """Return a function from row numbers to coordinates, which ``read``s unknown rows."""

        def coordinates(rows: Integers) -> Any:
            known = np.isin(rows, self.rows, assume_unique=True).all()
            return self.get_coordinates(rows) if known else read(rows)

        return coordinates

    def add_coordinates(self, rows: Integers, read: Coordinates) -> Taught:
        """Return a copy that has coordinates of these rows too; ``read`` gives missing ones."""
        new = np.setdiff1d(rows, self.rows, assume_unique=True)
        if not len(new):
            return self
        all_rows = np.concatenate([self.rows, new])
        order = np.argsort(all_rows)
        coordinates = np.concatenate([self.coordinates, to_host_float64(read(new))])
        return replace(self, rows=all_rows[order], coordinates=coordinates[order])


@dataclass(frozen=True)
class Learned:
    """What a learner makes of coordinates."""

    map: Map  # of rows as the learner sees them, with their columns divided
    attributes: dict[str, Any]
    image: Image  # of coordinates


def find_space(learner: Any, X: Any, evidence: Evidence, rng: Rng) -> Taught:
    """First step of a fit: find the space to learn in, and all that does not depend on pairs.

    X is checked and scaled (``_check_and_scale``). Of the pairs, if any, only the rows that they
    name matter, which become landmarks.
    """
    points = evidence.pairs.points
    space = learner._find_space(X, points, rng)
    prepared = learner._prepare_space(space, evidence, X, rng)
    return Taught(
        n_rows=X.shape[0],
        takeable_rows=access.takeable_rows(X),
        space=space,
        prepared=prepared,
        evidence=evidence,
        random_state=rng.get_state(legacy=False),
        rows=points,
        coordinates=to_host_float64(space.coordinates(access.take(X, points))),
    )


def learn_in_space(
    learner: Any,
    taught: Taught,
    evidence: Evidence,
    read: Coordinates,
    rng: Rng | None = None,
    *,
    judges: bool = True,
) -> tuple[Learned, Taught]:
    """Second step of a fit: learn a metric in the space that :func:`find_space` found.

    With ``judges`` its threshold is found too. ``taught`` comes from the first step or an earlier
    second one, ``evidence`` has the labels that the first step had, and ``read(rows)`` returns
    coordinates of unknown rows of X. ``rng`` is by default as the first step left it.

    Returns what was learned, and ``taught`` with the image and the coordinates read meanwhile.
    """
    if rng is None:
        rng = np.random.RandomState(0)
        rng.set_state(taught.random_state)
    taught = replace(taught, evidence=evidence).add_coordinates(evidence.pairs.points, read)
    learned = learner._learn(taught, taught.prefer_known(read), rng)
    taught = replace(taught, image=learned.image)
    attributes = {**learned.attributes, "learned_from_": evidence.counts(taught.n_rows)}
    if judges:
        examples = draw_examples(taught.takeable_rows, evidence, rng)
        rows, image = examples.rows, learned.image
        if evidence.has_labels:
            embedded = access.fill_by_blocks(
                len(rows), _BLOCK, lambda block: image(read(rows[block]))
            )
        else:  # points of pairs, and random rows beside them: few enough to keep
            taught = taught.add_coordinates(rows, read)
            embedded = image(taught.get_coordinates(rows))
        attributes |= examples.verdicts(embedded)
    return replace(learned, attributes=attributes), taught


def embed_by_pairs(learner: Any, X: Floats, pairs: Pairs, named: Evidence) -> Floats:
    """Embed rows X by a metric learned from pairs of them, in the space of the evidence ``named``.

    The result, of shape (n, q), is that of ``fit`` and ``transform``. Rows need no check and no
    scale, and no threshold is found. Folds share the space, whatever ``pairs``.
    """
    evidence = gather_evidence(
        len(X), None, pairs, triplets=learner._takes_triplets, graded=learner._takes_graded
    )
    rng = check_random_state(learner.random_state)
    taught = call_once(find_space, learner, X, named, rng)
    learned, _ = learn_in_space(learner, taught, evidence, taught.make_reader(X), rng, judges=False)
    return np.asarray(learned.map.apply(X))


def to_host_float64(coordinates: Any) -> Floats:
    """Return an array on the host, in float64."""
    return backends.to_numpy(coordinates).astype(np.float64, copy=False)


# Steps that candidates of one fit share are done once, however deep in a chain or blend they are.
Found = TypeVar("Found")
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


def call_once(function: Callable[..., Found], *arguments: Any) -> Found:
    """Call a pure function, or return its earlier result within :func:`keep_results`.

    It may draw from a RandomState among its arguments, and notice things. Estimators are known by
    their parameters, generators by their states, and small arrays by what they hold; anything else
    must be the same object. Nobody may change them afterwards, nor the result.
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
    return cast("Found", done.found)


def _key(argument: Any) -> Hashable:
    """Return a hashable key of an argument, equal for arguments that give the same result."""
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
    """Return the parameter names of a class, which scikit-learn takes long to find."""
    return list(kind._get_param_names())


def _content(of: Any, argument: Any) -> Hashable:
    """Return an object's content as bytes, or the identity of ``argument`` if that has none."""
    try:
        return pickle.dumps(of)
    except (pickle.PicklingError, AttributeError, TypeError):
        return id(argument)
