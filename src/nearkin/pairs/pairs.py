"""Pairs: what is known to be alike or different among the rows of X."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar, Literal, NoReturn

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from nearkin._types import Doubles, Ints
from nearkin.errors import InputError, counted
from nearkin.pairs.checks import (
    checked_count,
    checked_pairs,
    checked_triplets,
    checked_weights,
    refuse_difference_from_itself,
)
from nearkin.pairs.closure import (
    Conflict,
    Groups,
    all_that_follows,
    contradictions,
    groups_of,
    normalised,
)
from nearkin.pairs.cutting import CutWithRows
from nearkin.pairs.frames import read_frame, read_triplets, row_of_id, write_frame, write_triplets
from nearkin.pairs.labels import MOST_LISTED, class_numbers, drawn_pairs
from nearkin.pairs.numbering import sorted_once
from nearkin.pairs.triplets import (
    WEAK,
    TripletCircle,
    circles_in,
    normalised_triplets,
    refuse_repeated_points,
)

__all__ = ["Conflict", "Pairs", "TripletCircle"]

_PARTS = (
    *("must_link", "must_weight", "cannot_link", "cannot_weight", "closer", "closer_weight"),
    "n_rows",
)


class Pairs(CutWithRows):
    """Must-links, cannot-links and triplets between rows of X.

    A must-link says that two rows are alike, a cannot-link that they differ; a triplet (a, b, c)
    says less, that a is nearer to b than to c. All are kept in a normal form, so that equal
    knowledge compares equal: the smaller row of a pair first, sorted, each once with the larger of
    its weights. A must-link of a row with itself says nothing and is dropped. The object is
    immutable, and deliberately no array: its length is a number of pairs and triplets, not of
    rows. Where it knows ``n_rows``, it is cut as X is: ``pairs[rows]`` speaks of ``X[rows]``, and
    what of scikit-learn cuts rows, as ``train_test_split(X, pairs)``, cuts both.

    Parameters
    ----------
    must_link, cannot_link : array-like of int, shape (k, 2), default=()
        Pairs of row numbers of X, counted from 0.
    closer : array-like of int, shape (k, 3), default=()
        Triplets (a, b, c) of row numbers: a is nearer to b than to c. They are taken by
        :class:`ITML`, :class:`GeometryAware`, :class:`KernelBeta`, :class:`KernelA` and
        :class:`MetricLearner`; others refuse them. Circles of them are among the :meth:`conflicts`.
    must_weight, cannot_weight, closer_weight : array-like of float, shape (k,), default=None
        How much each counts, above 0; None stands for 1 each.
    n_rows : int, default=None
        How many rows X has, when known; a fit with an X of another length is then refused.
        ``pairs + Pairs(n_rows=len(X))`` says it of pairs that are there.

    Attributes
    ----------
    must_link, cannot_link : read-only int64 arrays of shape (k, 2)
    closer : read-only int64 array of shape (k, 3)
    must_weight, cannot_weight, closer_weight : read-only float64 arrays of shape (k,)
    n_rows : int or None
    points : read-only int64 array
        The rows named in any pair or triplet, sorted.

    Examples
    --------
    >>> from nearkin import Pairs
    >>> pairs = Pairs(must_link=[(5, 0), (5, 7)], cannot_link=[(0, 2)])
    >>> pairs
    Pairs(2 must-links, 1 cannot-link)
    >>> pairs.must_link.tolist()
    [[0, 5], [5, 7]]
    >>> pairs.closure().cannot_link.tolist()
    [[0, 2], [2, 5], [2, 7]]
    >>> Pairs(closer=[(0, 5, 2)])  # 0 is nearer to 5 than to 2
    Pairs(0 must-links, 0 cannot-links, 1 triplet)
    """

    must_link: Ints
    cannot_link: Ints
    must_weight: Doubles
    cannot_weight: Doubles
    closer: Ints
    closer_weight: Doubles
    n_rows: int | None

    __iter__: ClassVar[None] = None

    def __init__(
        self,
        must_link: ArrayLike = (),
        cannot_link: ArrayLike = (),
        *,
        must_weight: ArrayLike | None = None,
        cannot_weight: ArrayLike | None = None,
        closer: ArrayLike = (),
        closer_weight: ArrayLike | None = None,
        n_rows: int | None = None,
    ) -> None:
        n_rows = None if n_rows is None else checked_count(n_rows, "n_rows", least=0)
        must = checked_pairs(must_link, "must_link pair", n_rows)
        cannot = checked_pairs(cannot_link, "cannot_link pair", n_rows)
        must_weights = checked_weights(must_weight, len(must), "must_weight of pair")
        cannot_weights = checked_weights(cannot_weight, len(cannot), "cannot_weight of pair")
        refuse_difference_from_itself(cannot, "cannot_link pair", np.ones(len(cannot), bool))
        telling = must[:, 0] != must[:, 1]
        if not telling.all():
            must, must_weights = must[telling], must_weights[telling]
        triplets = checked_triplets(closer, "closer triplet", n_rows)
        weights = checked_weights(closer_weight, len(triplets), "closer_weight of triplet")
        refuse_repeated_points(triplets, "closer triplet")
        self._fill(
            *normalised(must, must_weights),
            *normalised(cannot, cannot_weights),
            *normalised_triplets(triplets, weights),
            n_rows,
        )

    @property
    def _parts(self) -> tuple[Any, ...]:
        return (*(part for kind in self._kinds for part in kind), self.n_rows)

    @property
    def _kinds(self) -> tuple[tuple[Ints, Doubles], ...]:
        return (
            (self.must_link, self.must_weight),
            (self.cannot_link, self.cannot_weight),
            (self.closer, self.closer_weight),
        )

    def _fill(self, *parts: Any) -> None:
        if len(parts) == 5:  # pickled before there were triplets
            parts = (*parts[:4], np.empty((0, 3), dtype=np.int64), np.empty(0), parts[4])
        for array in parts[:6]:
            array.setflags(write=False)
        self.__dict__.update(zip(_PARTS, parts, strict=True))

    @classmethod
    def _of_normalised(cls, *parts: Any) -> Pairs:
        pairs = cls.__new__(cls)
        pairs._fill(*parts)
        return pairs

    def __reduce__(self) -> tuple[Any, ...]:
        # Copied and unpickled arrays come back writable: going through _fill seals them again.
        return type(self)._of_normalised, self._parts

    @classmethod
    def from_labels(
        cls,
        y: Any,
        n_pairs: int | None = None,
        *,
        kind: Literal["both", "must", "cannot"] = "both",
        random_state: Any = None,
    ) -> Pairs:
        """Make pairs of class labels: rows of one class are alike, of two classes different.

        Parameters
        ----------
        y : array-like of shape (n_rows,)
            Classes as whole numbers, strings, booleans or other hashable objects. Negative
            numbers, None, NaN and blank strings mean unknown; such rows take part in no pair.
        n_pairs : int, default=None
            How many pairs to draw, uniformly and without replacement within each kind; None for
            all there are.
        kind : {"both", "must", "cannot"}, default="both"
            "both" draws half of each, the odd one a must-link; where one kind has too few pairs
            the other fills up.
        random_state : int, RandomState instance or None, default=None
            Makes the draw repeatable.

        Returns
        -------
        Pairs
            With ``n_rows=len(y)``.

        Examples
        --------
        >>> from nearkin import Pairs
        >>> Pairs.from_labels([0, 0, 1, -1])
        Pairs(1 must-link, 2 cannot-links, n_rows=4)
        """
        wanted = None if n_pairs is None else checked_count(n_pairs, "n_pairs", least=1)
        classes = class_numbers(y)
        rng = check_random_state(random_state)
        return cls(*drawn_pairs(classes, wanted, kind, rng), n_rows=len(classes))

    @classmethod
    def from_frame(cls, frame: Any, *, ids: Any = None, n_rows: int | None = None) -> Pairs:
        """Read pairs from a dataframe with the columns left, right, same and perhaps weight.

        One with the columns anchor, closer, farther and perhaps weight holds triplets.

        Parameters
        ----------
        frame : dataframe
            Any that narwhals knows (pandas, polars, pyarrow, ...). ``same`` is true, 1, "yes" or
            "same" for a must-link, false, 0, "no" or "different" for a cannot-link, in capitals or
            not, and null or empty for unsure: such a pair is left out.
        ids : sequence of hashable, default=None
            The identifier of each row of X, looked up for ``left`` and ``right`` or for
            the three of a triplet; without it these columns hold row numbers.
        n_rows : int, default=None
            How many rows X has; taken from ``ids`` where they are given.

        Returns
        -------
        Pairs

        Examples
        --------
        >>> import pandas as pd
        >>> from nearkin import Pairs
        >>> said = pd.DataFrame({"left": ["a", "a"], "right": ["b", "c"], "same": ["yes", "no"]})
        >>> Pairs.from_frame(said, ids=["c", "b", "a"]).must_link.tolist()
        [[1, 2]]
        """
        if (found := read_triplets(frame, ids, n_rows)) is not None:
            closer, weights, n_rows = found
            return cls(closer=closer, closer_weight=weights, n_rows=n_rows)
        ends, same, weights, n_rows = read_frame(frame, ids, n_rows)
        return cls(
            ends[same],
            ends[~same],
            must_weight=weights[same],
            cannot_weight=weights[~same],
            n_rows=n_rows,
        )

    def to_frame(
        self, *, ids: Any = None, backend: str | None = None, closer: bool | None = None
    ) -> Any:
        """Write the pairs, or the triplets, as a dataframe that ``from_frame`` reads back.

        Parameters
        ----------
        ids : sequence of hashable, default=None
            The identifier of each row of X, written instead of its number.
        backend : {"pandas", "polars", "pyarrow"}, default=None
            The kind of dataframe; None for the first of these that is installed.
        closer : bool, default=None
            Whether to write triplets; None for what there is, which must be of one kind.

        Returns
        -------
        dataframe
            With the columns left, right, same and weight, must-links first; or with the columns
            anchor, closer, farther and weight.

        Examples
        --------
        >>> from nearkin import Pairs
        >>> print(Pairs([(0, 1)], [(1, 2)]).to_frame(ids=["a", "b", "c"], backend="pandas"))
          left right   same  weight
        0    a     b   True     1.0
        1    b     c  False     1.0
        """
        n_pairs = len(self) - len(self.closer)
        if closer is None and n_pairs and len(self.closer):
            raise InputError(
                f"{counted(n_pairs, 'pair')} and {counted(len(self.closer), 'triplet')} do not fit "
                "in one table: use to_frame(closer=False) and to_frame(closer=True), and add what "
                "is read back"
            )
        if ids is not None:
            ids = list(row_of_id(ids))
            self.check_rows(len(ids))
        if closer or (closer is None and len(self.closer)):
            return write_triplets(self.closer, self.closer_weight, ids, backend)
        return write_frame(
            np.concatenate([self.must_link, self.cannot_link]),
            np.arange(n_pairs) < len(self.must_link),
            np.concatenate([self.must_weight, self.cannot_weight]),
            ids,
            backend,
        )

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"Pairs are immutable: cannot set {name!r}; make new Pairs instead")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"Pairs are immutable: cannot delete {name!r}")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Pairs):
            return NotImplemented
        return all(map(np.array_equal, self._parts, other._parts))

    def __hash__(self) -> int:
        return hash((self.n_rows, *(array.tobytes() for array in self._parts[:6])))

    def __repr__(self) -> str:
        counts = {"must-link": len(self.must_link), "cannot-link": len(self.cannot_link)}
        parts = [counted(count, kind) for kind, count in counts.items()]
        if len(self.closer):
            parts.append(counted(len(self.closer), "triplet"))
        if self.n_rows is not None:
            parts.append(f"n_rows={self.n_rows}")
        return f"Pairs({', '.join(parts)})"

    def __add__(self, other: object) -> Pairs:
        """Take the pairs and triplets of both; of one in both, the larger weight."""
        if not isinstance(other, Pairs):
            return NotImplemented
        n_rows = self.n_rows if self.n_rows is not None else other.n_rows
        if other.n_rows not in (None, n_rows):
            raise InputError(
                f"cannot add pairs for {self.n_rows} rows and pairs for {other.n_rows} rows: both "
                "must speak of the same X"
            )
        if n_rows is not None:
            self.check_rows(n_rows)
            other.check_rows(n_rows)
        both = zip(self._parts[:6], other._parts[:6], strict=True)
        must, must_weight, cannot, cannot_weight, *closer = map(np.concatenate, both)
        return self._of_normalised(
            *normalised(must, must_weight),
            *normalised(cannot, cannot_weight),
            *normalised_triplets(*closer),
            n_rows,
        )

    @cached_property
    def points(self) -> Ints:
        """The rows named in any pair or triplet, sorted."""
        points = sorted_once(np.concatenate([links.ravel() for links, _ in self._kinds]))
        points.setflags(write=False)
        return points

    def components(self) -> Ints:
        """Tell which points the must-links tie together.

        Returns
        -------
        array of int, aligned with ``points``
            The group of each point, numbered from 0 in order of first appearance; a point without
            a must-link is a group of its own.

        Examples
        --------
        >>> from nearkin import Pairs
        >>> Pairs(must_link=[(0, 5), (5, 7)], cannot_link=[(0, 2)]).components().tolist()
        [0, 1, 0, 0]
        """
        return self.groups.number.copy()

    @cached_property
    def groups(self) -> Groups:
        """Who belongs together, and who differs, as far as pairs say so."""
        return groups_of(self.points, self.must_link, self.cannot_link)

    def closure(self, max_pairs: int = MOST_LISTED) -> Pairs:
        """Add every pair that follows from those given.

        Must-links are transitive, and a cannot-link holds between all of the one and all of the
        other component. Given pairs keep their weight; an inferred one is only as strong as the
        weakest must-link of its components, and as the strongest cannot-link between them. A
        cannot-link inside one component contradicts it: it is kept as given, and not spread.

        Parameters
        ----------
        max_pairs : int, default=10_000_000
            Refuse to list more pairs than this.

        Returns
        -------
        Pairs

        Examples
        --------
        >>> from nearkin import Pairs
        >>> everything = Pairs([(0, 1), (1, 2)], [(2, 3)]).closure()
        >>> everything.must_link.tolist(), everything.cannot_link.tolist()
        ([[0, 1], [0, 2], [1, 2]], [[0, 3], [1, 3], [2, 3]])
        """
        must, cannot = (self.must_link, self.must_weight), (self.cannot_link, self.cannot_weight)
        found = all_that_follows(self.groups, must, cannot, max_pairs)
        return self._of_normalised(*found, self.closer, self.closer_weight, self.n_rows)

    def as_weak_pairs(self) -> Pairs:
        """Take each triplet for a must-link with the nearer and a cannot-link with the farther row.

        For what knows no order of distances. They have half the triplet's weight.

        Returns
        -------
        Pairs
            Without triplets.

        Examples
        --------
        >>> from nearkin import Pairs
        >>> weak = Pairs(closer=[(0, 1, 2)]).as_weak_pairs()  # 0 is closer to 1 than to 2
        >>> weak.must_link.tolist(), weak.cannot_link.tolist(), weak.must_weight.tolist()
        ([[0, 1]], [[0, 2]], [0.5])
        """
        if not len(self.closer):
            return self
        weight = WEAK * self.closer_weight
        near, far = self.closer[:, [0, 1]], self.closer[:, [0, 2]]
        weak = Pairs(near, far, must_weight=weight, cannot_weight=weight)
        return self.without(self.closer) + weak

    def conflicts(self) -> list[Conflict | TripletCircle]:
        """Find the cannot-links that the must-links contradict, and circles of triplets.

        Returns
        -------
        list of Conflict and TripletCircle
            A Conflict has the ``cannot_link`` and a ``chain`` of must-links that joins its two
            ends, not always the shortest. A TripletCircle has ``triplets`` that no distances can
            follow, as d(0, 1) < d(0, 2) < d(0, 1); leaving out the last of each leaves none.

        Examples
        --------
        >>> from nearkin import Pairs
        >>> for conflict in Pairs([(3, 5), (5, 9)], [(3, 9), (3, 4)]).conflicts():
        ...     print(conflict)
        rows 3 and 9 cannot be linked, yet 3 = 5 = 9 by must-links
        >>> Pairs(closer=[(0, 1, 2), (2, 0, 1), (1, 2, 0)]).conflicts()[0].told()
        'd(0, 1) < d(0, 2) < d(1, 2) < d(0, 1) by triplets'
        """
        order = circles_in(self.closer)
        circles = [order.circle(*arc) for arc in order.closing]
        return [*contradictions(self.groups, self.must_link, self.cannot_link), *circles]
