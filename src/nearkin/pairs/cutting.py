"""What is cut together with X: what scikit-learn and data frames ask of such a thing."""

from __future__ import annotations

from typing import Any, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nearkin.errors import InputError, InputTypeError
from nearkin.pairs.checks import as_tuple, first_true


class CutWithRows:
    """Knowledge about rows of X, which ``restrict(rows)`` makes knowledge about ``X[rows]``."""

    must_link: NDArray[np.int64]
    cannot_link: NDArray[np.int64]
    n_rows: int | None

    def restrict(self, rows: ArrayLike) -> Self:
        """Keep what is known of some rows of X, renumbered to fit ``X[rows]``."""
        raise NotImplementedError  # Pairs brings it

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

    def __getitem__(self, rows: Any) -> Self:
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
    def iloc(self) -> Self:
        """The pairs themselves, as they are cut by row number.

        Data frames have it too, and scikit-learn cuts what has it without making an array of it.
        """
        return self

    loc = iloc

    def take(self, rows: ArrayLike, axis: int = 0) -> Self:
        """Keep the pairs among some rows of X: ``restrict`` by the name that data frames have."""
        return self.restrict(rows)

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
