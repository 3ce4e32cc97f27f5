"""Parts of what is known: some of the pairs, or those of some rows, cut together with X."""

from __future__ import annotations

import sys
from typing import Any, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn import get_config
from sklearn.metrics._scorer import _PassthroughScorer
from sklearn.utils import check_random_state

from nearkin._types import Doubles, Ints
from nearkin.errors import InputError, InputTypeError
from nearkin.pairs.checks import (
    as_tuple,
    checked_count,
    checked_pairs,
    checked_triplets,
    chosen_rows,
    counts_to_test,
    first_true,
)
from nearkin.pairs.closure import normalised
from nearkin.pairs.numbering import places_among
from nearkin.pairs.triplets import normalised_triplets

# Calls between where scikit-learn learns from a fold and where it cuts a parameter, at most.
_FRAMES_OF_A_CUT = 12


class CutWithRows:
    """Knowledge about rows of X, which ``restrict(rows)`` makes knowledge about ``X[rows]``."""

    must_link: Ints
    cannot_link: Ints
    closer: Ints
    n_rows: int | None

    @property
    def _kinds(self) -> tuple[tuple[Ints, Doubles], ...]:
        """Must-links, cannot-links and triplets, each with their weights."""
        raise NotImplementedError  # Pairs brings it

    @classmethod
    def _of_normalised(cls, *parts: Any) -> Self:
        raise NotImplementedError  # Pairs brings it

    def __len__(self) -> int:
        return sum(len(links) for links, _ in self._kinds)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NoReturn:
        raise InputTypeError("Pairs are not an array: use .closer, .must_link or .cannot_link")

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

    def __getitem__(self, rows: Any) -> Self:
        """Keep the pairs among some rows of X, as ``restrict`` does; slices of rows work too."""
        _refuse_to_be_judged_without()
        if isinstance(rows, slice):
            rows = np.arange(*self.shape)[rows]
        if np.ndim(rows) == 0:
            raise InputTypeError(
                f"pairs[{rows!r}]: Pairs are cut by rows of X, as in pairs[rows]; triplets are "
                "in .closer, single pairs in .must_link and .cannot_link"
            )
        return self.restrict(rows)

    @property
    def iloc(self) -> Self:
        """The pairs themselves, as they are cut by row number.

        Data frames have it too, and scikit-learn cuts what has it without making an array of it.
        """
        return self

    loc = iloc

    def take(self, rows: ArrayLike, axis: int = 0) -> Self:
        """Keep the pairs among some rows of X: ``restrict`` by the name that data frames have.

        Examples
        --------
        >>> from nearkin import Pairs
        >>> Pairs([(0, 5), (2, 5)]).take([5, 1, 2]).must_link.tolist()
        [[0, 2]]
        """
        _refuse_to_be_judged_without()
        return self.restrict(rows)

    def check_rows(self, n_rows: int) -> None:
        """Raise ValueError unless the pairs can speak of an X with this many rows.

        Parameters
        ----------
        n_rows : int
            How many rows X has.

        Examples
        --------
        >>> from nearkin import Pairs
        >>> Pairs([(0, 5)]).check_rows(6)
        >>> Pairs([(0, 5)]).check_rows(5)
        Traceback (most recent call last):
        ...
        nearkin.errors.InputError: must-link (0, 5) names row 5, but X has 5 rows
        """
        if self.n_rows is not None and self.n_rows != n_rows:
            remedy = "for X[rows] use pairs.restrict(rows)"
            if self.n_rows < n_rows:
                remedy += f"; after rows at the end of X were added, pairs.extend(n_rows={n_rows})"
            raise InputError(
                f"pairs are for {self.n_rows} rows, X has {n_rows}: pairs name rows of the X they "
                f"are given with; {remedy}"
            )
        kinds = {
            "must-link": self.must_link,
            "cannot-link": self.cannot_link,
            "triplet": self.closer,
        }
        for kind, links in kinds.items():
            if (bad := first_true((links >= n_rows).any(axis=1))) is not None:
                said = as_tuple(links[bad])
                raise InputError(f"{kind} {said} names row {max(said)}, but X has {n_rows} rows")

    def extend(self, *, n_rows: int) -> Self:
        """Take the pairs for those of an X with more rows, which were added at its end.

        Parameters
        ----------
        n_rows : int
            How many rows X has now.

        Returns
        -------
        Pairs

        Examples
        --------
        >>> from nearkin import Pairs
        >>> Pairs([(0, 5)], n_rows=6).extend(n_rows=8)
        Pairs(1 must-link, 0 cannot-links, n_rows=8)
        """
        n_rows = checked_count(n_rows, "n_rows", least=0)
        if self.n_rows is not None and n_rows < self.n_rows:
            raise InputError(
                f"pairs for {self.n_rows} rows cannot be extended to {n_rows}: for fewer rows use "
                "pairs.restrict(rows)"
            )
        unbound = self._of_normalised(*(part for kind in self._kinds for part in kind), None)
        unbound.check_rows(n_rows)
        return self._of_normalised(*(part for kind in self._kinds for part in kind), n_rows)

    def split(self, test_size: float = 0.25, random_state: Any = None) -> tuple[Self, Self]:
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

        Examples
        --------
        >>> from nearkin import Pairs
        >>> pairs = Pairs([(0, 1), (2, 3), (4, 5), (6, 7)], [(0, 2), (1, 3), (4, 6), (5, 7)])
        >>> pairs.split(test_size=0.25, random_state=0)
        (Pairs(3 must-links, 3 cannot-links), Pairs(1 must-link, 1 cannot-link))
        """
        counts = counts_to_test(test_size, *(len(links) for links, _ in self._kinds))
        rng = check_random_state(random_state)
        in_test = np.zeros(len(self), dtype=bool)
        start = 0
        for (links, _), count in zip(self._kinds, counts, strict=True):
            in_test[start + rng.permutation(len(links))[:count]] = True
            start += len(links)
        return self.subset(~in_test), self.subset(in_test)

    def subset(self, chosen: ArrayLike) -> Self:
        """Keep some of the pairs.

        Parameters
        ----------
        chosen : array-like of bool, shape (len(pairs),)
            Which to keep: must-links first, then cannot-links, then triplets, in their order.

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
        kept: list[Any] = []
        for links, weights in self._kinds:
            chosen_now, mask = np.split(mask, [len(links)])
            kept += links[chosen_now], weights[chosen_now]
        return self._of_normalised(*kept, self.n_rows)

    def without(self, links: ArrayLike) -> Self:
        """Withdraw pairs, whether they are must-links or cannot-links, or triplets.

        Parameters
        ----------
        links : array-like of int, shape (k, 2) or (k, 3)
            Pairs of row numbers, in any order, or triplets; those that are not there change
            nothing. ``pairs.without(pairs.closer)`` leaves out all triplets.

        Returns
        -------
        Pairs

        Examples
        --------
        >>> from nearkin import Pairs
        >>> Pairs([(0, 5), (2, 5)], [(1, 2)]).without([(5, 2)])
        Pairs(1 must-link, 1 cannot-link)
        """
        if np.shape(links)[1:] == (3,):
            said = checked_triplets(links, "triplet", None)
        else:
            said = np.sort(checked_pairs(links, "pair", None), axis=1)
        gone = set(map(tuple, said.tolist()))
        given = [tuple(link) for kind, _ in self._kinds for link in kind.tolist()]
        return self.subset(np.array([link not in gone for link in given], dtype=bool))

    def restrict(self, rows: ArrayLike) -> Self:
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
        if (mask := np.asarray(rows)).dtype.kind == "b" and self.n_rows in (None, len(mask)):
            self.check_rows(len(mask))
        chosen = chosen_rows(rows, self.n_rows)
        place = places_among(chosen)

        def inside(links: Ints, weights: Doubles) -> tuple[Ints, Doubles]:
            places = place(links)
            kept = (places >= 0).all(axis=1)
            return places[kept], weights[kept]

        must, cannot, closer = (inside(*kind) for kind in self._kinds)
        return self._of_normalised(
            *normalised(*must), *normalised(*cannot), *normalised_triplets(*closer), len(chosen)
        )


def _refuse_to_be_judged_without() -> None:
    """Raise if scikit-learn cuts pairs to learn from a fold, and will have nothing to judge it by.

    Without its metadata routing it hands pairs to ``fit`` alone; an error in ``score`` it turns
    into NaN.
    """
    if get_config()["enable_metadata_routing"]:
        return
    frame = sys._getframe(2)
    for _ in range(_FRAMES_OF_A_CUT):
        if frame.f_code.co_name == "_fit_and_score":
            known = frame.f_locals
            if known.get("y") is None and isinstance(known.get("scorer"), _PassthroughScorer):
                raise InputError(
                    "there is nothing to judge by: scikit-learn hands pairs to fit, but not to "
                    "score. Use nearkin.grid_search(learner, grid, X, pairs=pairs) or "
                    "nearkin.cross_validate(learner, X, pairs=pairs), or write "
                    "sklearn.set_config(enable_metadata_routing=True) before."
                )
        if frame.f_back is None:
            return
        frame = frame.f_back
