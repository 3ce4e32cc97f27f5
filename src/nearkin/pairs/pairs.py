"""Pairs: what is known to be alike or different among the rows of X."""

from __future__ import annotations

from functools import cached_property
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, NamedTuple, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, connected_components
from sklearn.utils import check_random_state

from nearkin.errors import InputError, InputTypeError
from nearkin.pairs.checks import (
    as_tuple,
    checked_count,
    checked_pairs,
    checked_weights,
    first_true,
    refuse_difference_from_itself,
)
from nearkin.pairs.frames import read_frame, row_of_id, write_frame
from nearkin.pairs.labels import class_numbers
from nearkin.pairs.numbering import draw_numbers, pairs_between, pairs_within, sorted_once
from nearkin.rows.notices import notice

__all__ = ["Conflict", "Pairs"]

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]

_MOST_LISTED = 10_000_000


class Conflict(NamedTuple):
    """A cannot-link whose two ends are joined by must-links.

    Attributes
    ----------
    cannot_link : tuple of two ints
        The two rows said to differ.
    chain : tuple of ints
        Rows from one end to the other; each two neighbours are a given must-link.
    """

    cannot_link: tuple[int, int]
    chain: tuple[int, ...]

    def __str__(self) -> str:
        first, second = self.cannot_link
        chain = " = ".join(map(str, self.chain))
        return f"rows {first} and {second} cannot be linked, yet {chain} by must-links"


class Pairs:
    """What is known to be alike or different among the rows of X.

    A must-link says that two rows are alike, a cannot-link that they differ. Pairs are kept in a
    normal form, so that equal knowledge compares equal: the smaller row first, sorted, each pair
    once with the larger of its weights. A must-link of a row with itself says nothing and is
    dropped. The object is immutable, and deliberately no array: its length is a number of pairs,
    not of rows. Where it knows ``n_rows``, it is cut as X is: ``pairs[rows]`` speaks of
    ``X[rows]``, and what of scikit-learn cuts rows, as ``train_test_split(X, pairs)``, cuts both.

    Parameters
    ----------
    must_link, cannot_link : array-like of int, shape (k, 2), default=()
        Pairs of row numbers of X, counted from 0.
    must_weight, cannot_weight : array-like of float, shape (k,), default=None
        How much each pair counts, above 0; None stands for 1 each.
    n_rows : int, default=None
        How many rows X has, when known; a fit with an X of another length is then refused.
        ``pairs + Pairs(n_rows=len(X))`` says it of pairs that are there.

    Attributes
    ----------
    must_link, cannot_link : read-only int64 arrays of shape (k, 2)
    must_weight, cannot_weight : read-only float64 arrays of shape (k,)
    n_rows : int or None
    points : read-only int64 array
        The rows named in any pair, sorted.

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
    """

    must_link: IntArray
    cannot_link: IntArray
    must_weight: FloatArray
    cannot_weight: FloatArray
    n_rows: int | None

    __iter__: ClassVar[None] = None

    def __init__(
        self,
        must_link: ArrayLike = (),
        cannot_link: ArrayLike = (),
        *,
        must_weight: ArrayLike | None = None,
        cannot_weight: ArrayLike | None = None,
        n_rows: int | None = None,
    ) -> None:
        n_rows = None if n_rows is None else checked_count(n_rows, "n_rows", least=0)
        must = checked_pairs(must_link, "must_link pair", n_rows)
        cannot = checked_pairs(cannot_link, "cannot_link pair", n_rows)
        must_weights = checked_weights(must_weight, len(must), "must_weight of pair")
        cannot_weights = checked_weights(cannot_weight, len(cannot), "cannot_weight of pair")
        refuse_difference_from_itself(cannot, "cannot_link pair", np.ones(len(cannot), bool))
        telling = must[:, 0] != must[:, 1]
        must, must_weights = _normalised(must[telling], must_weights[telling])
        self._fill(must, must_weights, *_normalised(cannot, cannot_weights), n_rows)

    @property
    def _parts(self) -> tuple[Any, ...]:
        links = (self.must_link, self.must_weight, self.cannot_link, self.cannot_weight)
        return (*links, self.n_rows)

    def _fill(self, *parts: Any) -> None:
        for array in parts[:4]:
            array.setflags(write=False)
        names = ("must_link", "must_weight", "cannot_link", "cannot_weight", "n_rows")
        self.__dict__.update(zip(names, parts, strict=True))

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
            numbers, None and NaN mean unknown; such rows take part in no pair.
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
        if kind not in ("both", "must", "cannot"):
            raise InputError(f'kind must be "both", "must" or "cannot", not {kind!r}')
        wanted = None if n_pairs is None else checked_count(n_pairs, "n_pairs", least=1)
        classes = class_numbers(y)
        rows = np.flatnonzero(classes >= 0)
        if not len(rows):
            raise InputError("every label in y is unknown (negative, None or NaN): no pair follows")

        rows = rows[np.argsort(classes[rows], kind="stable")]
        sizes = np.bincount(classes[rows])
        ends = np.cumsum(sizes)
        starts, later = ends - sizes, len(rows) - ends
        n_must = int((sizes * (sizes - 1) // 2).sum()) if kind != "cannot" else 0
        n_cannot = int((sizes * later).sum()) if kind != "must" else 0
        if n_must + n_cannot == 0:
            reason = {
                "both": "a single row is labelled",
                "must": "no two labelled rows share a class",
                "cannot": "all labelled rows are of one class",
            }[kind]
            raise InputError(f'no pair of kind="{kind}" can be made of y: {reason}')
        if wanted is None:
            if n_must + n_cannot > _MOST_LISTED:
                raise InputError(
                    f"y makes {n_must + n_cannot:,} pairs, more than the {_MOST_LISTED:,} that are "
                    "listed at once: draw some with n_pairs=, or give y itself to fit"
                )
            wanted = n_must + n_cannot
        elif wanted > n_must + n_cannot:
            notice(
                f"n_pairs={wanted}, but y makes only {n_must + n_cannot} pairs: all are taken",
            )
        take_must = min(n_must, max((wanted + 1) // 2, wanted - n_cannot))
        take_cannot = min(n_cannot, wanted - take_must)

        rng = check_random_state(random_state)
        within, _ = pairs_within(draw_numbers(n_must, take_must, rng), starts, sizes)
        between, _ = pairs_between(
            draw_numbers(n_cannot, take_cannot, rng), starts, sizes, ends, later
        )
        return cls(rows[within], rows[between], n_rows=len(classes))

    @classmethod
    def from_frame(cls, frame: Any, *, ids: Any = None, n_rows: int | None = None) -> Pairs:
        """Read pairs from a dataframe with the columns left, right, same and perhaps weight.

        Parameters
        ----------
        frame : dataframe
            Any that narwhals knows (pandas, polars, pyarrow, ...). ``same`` is true, 1, "yes" or
            "same" for a must-link, false, 0, "no" or "different" for a cannot-link, in capitals or
            not, and null or empty for unsure: such a pair is left out.
        ids : sequence of hashable, default=None
            The identifier of each row of X, looked up for ``left`` and ``right``; without it
            these columns hold row numbers.
        n_rows : int, default=None
            How many rows X has; taken from ``ids`` where they are given.

        Returns
        -------
        Pairs
        """
        ends, same, weights, n_rows = read_frame(frame, ids, n_rows)
        return cls(
            ends[same],
            ends[~same],
            must_weight=weights[same],
            cannot_weight=weights[~same],
            n_rows=n_rows,
        )

    def to_frame(self, *, ids: Any = None, backend: str | None = None) -> Any:
        """Write the pairs as a dataframe that ``from_frame`` reads back.

        Parameters
        ----------
        ids : sequence of hashable, default=None
            The identifier of each row of X, written instead of its number.
        backend : {"pandas", "polars", "pyarrow"}, default=None
            The kind of dataframe; None for the first of these that is installed.

        Returns
        -------
        dataframe
            With the columns left, right, same and weight, must-links first.
        """
        if ids is not None:
            ids = list(row_of_id(ids))
            self.check_rows(len(ids))
        return write_frame(
            np.concatenate([self.must_link, self.cannot_link]),
            np.arange(len(self)) < len(self.must_link),
            np.concatenate([self.must_weight, self.cannot_weight]),
            ids,
            backend,
        )

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"Pairs are immutable: cannot set {name!r}; make new Pairs instead")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"Pairs are immutable: cannot delete {name!r}")

    def __len__(self) -> int:
        return len(self.must_link) + len(self.cannot_link)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Pairs):
            return NotImplemented
        return all(map(np.array_equal, self._parts, other._parts))

    def __hash__(self) -> int:
        return hash((self.n_rows, *(array.tobytes() for array in self._parts[:4])))

    def __repr__(self) -> str:
        counts = {"must-link": len(self.must_link), "cannot-link": len(self.cannot_link)}
        parts = [f"{count} {kind}{'s' * (count != 1)}" for kind, count in counts.items()]
        if self.n_rows is not None:
            parts.append(f"n_rows={self.n_rows}")
        return f"Pairs({', '.join(parts)})"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NoReturn:
        raise InputTypeError("Pairs are not an array: use .must_link or .cannot_link")

    @property
    def shape(self) -> tuple[int]:
        """How many rows of X the pairs speak of: (n_rows,).

        scikit-learn looks here to see whether a parameter is to be cut together with X. If it is
        not, X alone is cut, and row numbers mean other rows than before.

        Raises
        ------
        ValueError
            If ``n_rows`` is not known.
        """
        # Not an AttributeError, which would read as "has no shape, so it is left whole".
        if self.n_rows is None:
            raise InputError(
                "these pairs do not say how many rows X has, so they cannot be cut together with "
                "it, and left whole they would name wrong rows of a part of X. Use "
                "nearkin.cross_validate(learner, X, pairs=pairs, cv=nearkin.PairKFold(5)) or "
                "nearkin.grid_search; for other functions of scikit-learn, give "
                "pairs + nearkin.Pairs(n_rows=len(X))."
            )
        return (self.n_rows,)

    def __getitem__(self, rows: Any) -> Pairs:
        """Keep the pairs among some rows of X, as ``restrict`` does; slices of rows work too."""
        if isinstance(rows, slice):
            rows = np.arange(*self.shape)[rows]
        if np.ndim(rows) == 0:
            raise InputTypeError(
                f"pairs[{rows!r}]: Pairs are cut by rows of X, as in pairs[rows]; single pairs are "
                "in .must_link and .cannot_link"
            )
        return self.restrict(rows)

    @property
    def iloc(self) -> Pairs:
        """The pairs themselves, as they are cut by row number.

        Data frames have it too, and scikit-learn cuts what has it without making an array of it.
        """
        return self

    loc = iloc

    def take(self, rows: ArrayLike, axis: int = 0) -> Pairs:
        """Keep the pairs among some rows of X: ``restrict`` by the name that data frames have."""
        return self.restrict(rows)

    def __add__(self, other: object) -> Pairs:
        """Take the pairs of both; of a pair in both, the larger weight."""
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
        both = zip(self._parts[:4], other._parts[:4], strict=True)
        must, must_weight, cannot, cannot_weight = map(np.concatenate, both)
        must_part, cannot_part = _normalised(must, must_weight), _normalised(cannot, cannot_weight)
        return self._of_normalised(*must_part, *cannot_part, n_rows)

    @cached_property
    def points(self) -> IntArray:
        """The rows named in any pair, sorted."""
        points = sorted_once(np.concatenate([self.must_link, self.cannot_link]))
        points.setflags(write=False)
        return points

    def components(self) -> IntArray:
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
        links = np.searchsorted(self.points, self.must_link)
        _, labels = connected_components(_graph(links, len(self.points)), directed=False)
        _, first, group = np.unique(labels, return_index=True, return_inverse=True)
        return np.argsort(np.argsort(first))[group]

    def closure(self, max_pairs: int = _MOST_LISTED) -> Pairs:
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
        """
        group = self.components()
        members = self.points[np.argsort(group)]
        sizes = np.bincount(group)
        starts = np.cumsum(sizes) - sizes
        must_groups = group[np.searchsorted(self.points, self.must_link[:, 0])]
        cannot_groups = group[np.searchsorted(self.points, self.cannot_link)]
        weakest = np.full(len(sizes), np.inf)
        np.minimum.at(weakest, must_groups, self.must_weight)
        spread = cannot_groups[:, 0] != cannot_groups[:, 1]
        differing, strongest = _normalised(cannot_groups[spread], self.cannot_weight[spread])
        one, two = differing.T

        n_must = int((sizes * (sizes - 1) // 2).sum())
        n_between = int((sizes[one] * sizes[two]).sum())
        total = n_must + n_between + int((~spread).sum())
        if total > max_pairs:
            raise InputError(
                f"the closure has {total:,} pairs, more than max_pairs={max_pairs:,}; components() "
                "tells the same without listing them"
            )
        within, block = pairs_within(np.arange(n_must), starts, sizes)
        # The larger weight is that of the given pair: nothing inferred is stronger.
        must = _normalised(
            np.concatenate([self.must_link, members[within]]),
            np.concatenate([self.must_weight, weakest[block]]),
        )
        between, block = pairs_between(
            np.arange(n_between), starts[one], sizes[one], starts[two], sizes[two]
        )
        strength = np.minimum(strongest, np.minimum(weakest[one], weakest[two]))
        cannot = _normalised(
            np.concatenate([self.cannot_link, members[between]]),
            np.concatenate([self.cannot_weight, strength[block]]),
            keep_first=True,
        )
        return self._of_normalised(*must, *cannot, self.n_rows)

    def conflicts(self) -> list[Conflict]:
        """Find the cannot-links that the must-links contradict.

        Returns
        -------
        list of Conflict
            Each with a chain of must-links that joins the two ends; not always the shortest.

        Examples
        --------
        >>> from nearkin import Pairs
        >>> for conflict in Pairs([(3, 5), (5, 9)], [(3, 9), (3, 4)]).conflicts():
        ...     print(conflict)
        rows 3 and 9 cannot be linked, yet 3 = 5 = 9 by must-links
        """
        group = self.components()
        ends = np.searchsorted(self.points, self.cannot_link)
        ends = ends[group[ends[:, 0]] == group[ends[:, 1]]]
        if not len(ends):
            return []
        # A root joined to one point of each component lets a single search reach all of them.
        links, root = np.searchsorted(self.points, self.must_link), len(self.points)
        _, first = np.unique(group, return_index=True)
        to_root = np.column_stack([first, np.full(len(first), root)])
        forest = _graph(np.concatenate([links, to_root]), root + 1)
        order, parents = breadth_first_order(forest, root, directed=False)

        given_as_both = np.isin(ends @ [root, 1], links @ [root, 1]).tolist()
        rank, parent, row = np.argsort(order).tolist(), parents.tolist(), self.points.tolist()
        found = []
        for (start, end), direct in zip(ends.tolist(), given_as_both, strict=True):
            chain = [start, end] if direct else _tree_path(start, end, parent, rank)
            found.append(Conflict((row[start], row[end]), tuple(row[point] for point in chain)))
        return found

    def split(self, test_size: float = 0.25, random_state: Any = None) -> tuple[Pairs, Pairs]:
        """Split the pairs at random into two parts, each kind by the same share.

        The parts may share rows, so that a pair of one follows from pairs of the other. To judge a
        learner, hold out rows with their pairs: :class:`nearkin.PairKFold`.

        Parameters
        ----------
        test_size : float or int, default=0.25
            The share of the pairs, between 0 and 1, or their number that go to the second part.
        random_state : int, RandomState instance or None, default=None
            Makes the split repeatable.

        Returns
        -------
        train, test : Pairs
        """
        if isinstance(test_size, bool) or not isinstance(test_size, Real):
            raise InputTypeError(
                f"test_size must be a share or a number of pairs, not {test_size!r}"
            )
        if isinstance(test_size, Integral):
            test_must = round(test_size * len(self.must_link) / max(len(self), 1))
            test_cannot = int(test_size) - test_must
        elif 0 < test_size < 1:
            test_must = round(test_size * len(self.must_link))
            test_cannot = round(test_size * len(self.cannot_link))
        else:
            raise InputError(f"test_size={test_size} is no share between 0 and 1, nor an integer")
        if not 0 < test_must + test_cannot < len(self):
            raise InputError(
                f"test_size={test_size} of {len(self)} pairs puts {test_must + test_cannot} on the "
                "test side; each side must get at least one"
            )
        rng = check_random_state(random_state)
        train: list[Any] = []
        test: list[Any] = []
        must, must_weight, cannot, cannot_weight, n_rows = self._parts
        kinds = ((must, must_weight, test_must), (cannot, cannot_weight, test_cannot))
        for links, weights, count in kinds:
            in_test = np.zeros(len(links), dtype=bool)
            in_test[rng.permutation(len(links))[:count]] = True
            train += links[~in_test], weights[~in_test]
            test += links[in_test], weights[in_test]
        return self._of_normalised(*train, n_rows), self._of_normalised(*test, n_rows)

    def subset(self, chosen: ArrayLike) -> Pairs:
        """Keep some of the pairs.

        Parameters
        ----------
        chosen : array-like of bool, shape (len(pairs),)
            Which to keep: must-links first, then cannot-links, in their order.

        Returns
        -------
        Pairs

        Examples
        --------
        >>> from nearkin import Pairs
        >>> Pairs([(0, 5), (2, 5)], [(1, 2)]).subset([True, False, True])
        Pairs(1 must-link, 1 cannot-link)
        """
        mask = np.asarray(chosen)
        if mask.shape != (len(self),) or mask.dtype.kind != "b":
            raise InputError(
                f"subset takes a boolean for each of the {len(self)} pairs, got {mask.dtype} of "
                f"shape {mask.shape}"
            )
        must, cannot = np.split(mask, [len(self.must_link)])
        return self._of_normalised(
            self.must_link[must],
            self.must_weight[must],
            self.cannot_link[cannot],
            self.cannot_weight[cannot],
            self.n_rows,
        )

    def without(self, links: ArrayLike) -> Pairs:
        """Withdraw pairs, whether they are must-links or cannot-links.

        Parameters
        ----------
        links : array-like of int, shape (k, 2)
            Pairs of row numbers, in any order; those that are not there change nothing.

        Returns
        -------
        Pairs

        Examples
        --------
        >>> from nearkin import Pairs
        >>> Pairs([(0, 5), (2, 5)], [(1, 2)]).without([(5, 2)])
        Pairs(1 must-link, 1 cannot-link)
        """
        gone = set(map(tuple, np.sort(checked_pairs(links, "pair", None), axis=1).tolist()))
        given = np.concatenate([self.must_link, self.cannot_link]).tolist()
        return self.subset(np.array([tuple(link) not in gone for link in given], dtype=bool))

    def restrict(self, rows: ArrayLike) -> Pairs:
        """Keep the pairs among some rows of X, renumbered to fit ``X[rows]``.

        Parameters
        ----------
        rows : array-like of int or bool
            Row numbers, each once, or a mask over the rows of X.

        Returns
        -------
        Pairs
            With ``n_rows=len(X[rows])``.

        Examples
        --------
        >>> from nearkin import Pairs
        >>> Pairs([(0, 5), (2, 5)]).restrict([5, 1, 2]).must_link.tolist()
        [[0, 2]]
        """
        chosen = np.asarray(rows)
        if chosen.ndim != 1:
            raise InputError(f"rows must be one-dimensional, got shape {chosen.shape}")
        if chosen.dtype.kind == "b":
            if self.n_rows not in (None, len(chosen)):
                raise InputError(f"a mask over {self.n_rows} rows is needed, not {len(chosen)}")
            self.check_rows(len(chosen))
            chosen = np.flatnonzero(chosen)
        elif len(chosen) and chosen.dtype.kind not in "iu":
            raise InputTypeError(f"rows must be integers or a boolean mask, not {chosen.dtype}")
        chosen = chosen.astype(np.int64)
        outside = chosen < 0 if self.n_rows is None else (chosen < 0) | (chosen >= self.n_rows)
        if (place := first_true(outside)) is not None:
            most = "" if self.n_rows is None else f" to {self.n_rows - 1}"
            raise InputError(f"rows[{place}] is {chosen[place]}: row numbers run from 0{most}")
        order = np.argsort(chosen)
        ascending = chosen[order]
        if (place := first_true(ascending[1:] == ascending[:-1])) is not None:
            raise InputError(f"rows names row {ascending[place]} more than once")

        def renumbered(links: IntArray, weights: FloatArray) -> tuple[IntArray, FloatArray]:
            places = np.searchsorted(ascending, links)
            inside = (np.append(ascending, -1)[places] == links).all(axis=1)
            return _normalised(order[places[inside]], weights[inside])

        must = renumbered(self.must_link, self.must_weight)
        cannot = renumbered(self.cannot_link, self.cannot_weight)
        return self._of_normalised(*must, *cannot, len(chosen))

    def check_rows(self, n_rows: int) -> None:
        """Raise ValueError unless the pairs can speak of an X with this many rows.

        Parameters
        ----------
        n_rows : int
            How many rows X has.
        """
        if self.n_rows not in (None, n_rows):
            raise InputError(
                f"pairs are for {self.n_rows} rows, X has {n_rows}: pairs name rows of the X they "
                "are given with; for X[rows] use pairs.restrict(rows)"
            )
        for kind, links in (("must-link", self.must_link), ("cannot-link", self.cannot_link)):
            if (bad := first_true(links[:, 1] >= n_rows)) is not None:
                pair = as_tuple(links[bad])
                raise InputError(f"{kind} {pair} names row {pair[1]}, but X has {n_rows} rows")


def check_roles(y: Any, pairs: Any, name: str = "pairs") -> None:
    """Raise TypeError if pairs were given in the place of labels, or something else as pairs."""
    if isinstance(y, Pairs):
        raise InputTypeError(
            "pairs must be given by name, as pairs=pairs: the second place is for y"
        )
    if pairs is not None and not isinstance(pairs, Pairs):
        raise InputTypeError(
            f"{name} must be a nearkin.Pairs, not {type(pairs).__name__}: use "
            "Pairs(must_link=..., cannot_link=...) or Pairs.from_frame(frame)"
        )


def _normalised(
    pairs: IntArray, weights: FloatArray, *, keep_first: bool = False
) -> tuple[IntArray, FloatArray]:
    """Put each pair's smaller row first, sort, and keep each once: its larger or first weight."""
    low, high = np.minimum(*pairs.T), np.maximum(*pairs.T)
    order = np.lexsort((high, low))
    low, high, weights = low[order], high[order], weights[order]
    fresh = np.ones(len(order), dtype=bool)
    fresh[1:] = (low[1:] != low[:-1]) | (high[1:] != high[:-1])
    firsts = np.flatnonzero(fresh)
    if keep_first or len(firsts) == len(order):
        weights = weights[firsts]
    else:
        weights = np.maximum.reduceat(weights, firsts)
    return np.column_stack([low[firsts], high[firsts]]), weights


def _graph(links: IntArray, n_nodes: int) -> Any:
    return csr_array((np.ones(len(links)), (links[:, 0], links[:, 1])), shape=(n_nodes, n_nodes))


def _tree_path(start: int, end: int, parent: list[int], rank: list[int]) -> list[int]:
    """Find the way between two nodes of a tree whose nodes rank above their parents."""
    up, down = [start], [end]
    while up[-1] != down[-1]:
        # The higher ranked of two nodes is no ancestor of the other, so the way goes up from it.
        path = up if rank[up[-1]] > rank[down[-1]] else down
        path.append(parent[path[-1]])
    return up + down[-2::-1]
