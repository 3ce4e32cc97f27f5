"""Rows as learners see them: with columns of one width, or a word if they have not.

Every learner takes the rows that it learns from through :func:`scaled`. There the columns are
divided by what ``fit`` found (``column_scale_``) where the learner was asked to (``scale``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.preprocessing import StandardScaler

from nearkin.errors import InputError
from nearkin.rows import devices
from nearkin.rows.arrays import Floats
from nearkin.rows.base import Parts, RemoteRows, added
from nearkin.rows.column_scales import UnitsDiffer, differing_units, scales_of, without_rounding
from nearkin.rows.notices import is_heard, notice
from nearkin.rows.sparse import is_sparse


class ScaleWarning(UserWarning):
    """Spreads of columns differ so much that the widest columns dominate distances.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> import nearkin as nk
    >>> X = np.random.default_rng(0).normal(size=(40, 2)) * [1, 1000]
    >>> with warnings.catch_warnings(record=True) as told:
    ...     warnings.simplefilter("always")
    ...     metric = nk.ITML(random_state=0).fit(X, X[:, 0] > 0)
    >>> [warning.category.__name__ for warning in told]
    ['ScaleWarning']
    >>> metric = nk.ITML(scale=True, random_state=0).fit(X, X[:, 0] > 0)  # no warning
    """


def scaled(learner: Any, X: Any, *, reset: bool) -> Any:
    """Checked rows as a learner sees them, their columns divided if that is wanted.

    Parameters
    ----------
    learner : estimator
        With the parameter ``scale``.
    X : array, sparse matrix or RemoteRows
    reset : bool
        Whether this is ``fit``, which sets ``column_scale_``: None with ``scale=False``.

    Warns
    -----
    ScaleWarning
        In ``fit`` with ``scale=False``, if units differ by more than 100.
    """
    if reset:
        learner.column_scale_ = _column_scale(learner, X)
    return divided(X, getattr(learner, "column_scale_", None))


def divided(X: Any, scale: Floats | None) -> Any:
    """Rows whose columns are divided, in the type of X; sparse rows stay sparse."""
    if scale is None:
        return X
    if devices.is_remote(X):
        return DividedRows(X, scale)
    if devices.is_foreign(X):
        return X / devices.moved(scale, X)
    if is_sparse(X):
        X = sparse.csr_array(X, copy=True)
        X.data = (X.data / scale[X.indices]).astype(X.dtype)
        return X
    return (X / scale).astype(X.dtype, copy=False)


def fitted_scaler(blocks: Iterable[Floats]) -> StandardScaler:
    """What standardises rows: columns of rounding noise are centred, but not blown up.

    Parameters
    ----------
    blocks : iterable of ndarray of shape (n, d)
        The rows, or some of them at a time.

    Examples
    --------
    >>> import numpy as np
    >>> from nearkin.rows.scaled import fitted_scaler
    >>> fitted_scaler([np.array([[0.0, 0.0], [4.0, 1e-33]])]).scale_
    array([2., 1.])
    """
    scaler = StandardScaler()
    for block in blocks:
        scaler.partial_fit(block)
    scaler.scale_[without_rounding(np.sqrt(scaler.var_)) == 0] = 1.0
    return scaler


def warn_of_units(learner: Any, X: Any, remedy: str) -> None:
    """Warn if the columns of checked rows have units that differ by more than 100."""
    if not is_heard(ScaleWarning):
        return
    found = differing_units(X)
    if found is not None:
        names = getattr(learner, "feature_names_in_", None)
        notice(f"{in_words(found, names)}. {remedy}", ScaleWarning)


def in_words(found: UnitsDiffer, names: Sequence[str] | None) -> str:
    """Which columns differ, and by how much."""
    widest, narrowest = (
        f"column {column if names is None else repr(str(names[column]))}"
        for column in (found.widest, found.narrowest)
    )
    return (
        f"{widest} reaches {found.ratio:.3g} times as far as {narrowest}, so that distances hardly "
        "see the latter"
    )


def _column_scale(learner: Any, X: Any) -> Floats | None:
    if hasattr(learner, "table_"):  # whose columns have one width
        return None
    if getattr(learner, "kernel", None) == "precomputed":
        if learner.scale:
            raise InputError(
                "scale=True divides columns, but the columns of a precomputed kernel are rows: "
                "scale them before the kernel is computed."
            )
        return None
    if learner.scale:
        return scales_of(X)
    remedy = f"Use {type(learner).__name__}(scale=True, ...), which divides columns by their spread"
    warn_of_units(learner, X, f"{remedy}, or give them the weight they should have.")
    return None


@dataclass(frozen=True)
class _OfDivided:
    """A function of blocks of rows, of the same rows divided."""

    function: Callable[..., Any]
    scale: Floats

    def __call__(self, rows: Floats, *aligned: NDArray[Any]) -> Any:
        return self.function(divided(rows, self.scale), *aligned)


class DividedRows(RemoteRows):
    """Remote rows whose columns are divided as they are read."""

    def __init__(self, rows: RemoteRows, scale: Floats) -> None:
        self._rows, self._scale = rows, scale
        self.dtype, self.names, self.numbers = rows.dtype, rows.names, rows.numbers
        self.device = rows.device

    @property
    def shape(self) -> tuple[int, int]:  # type: ignore[override]
        """Numbers of rows and columns; rows are counted when this is first asked for."""
        return self._rows.shape

    def take(self, rows: NDArray[np.integer]) -> Floats:
        """Some rows by their numbers, in that order."""
        return np.asarray(divided(self._rows.take(rows), self._scale))

    def reduced(
        self,
        function: Callable[..., Parts],
        *aligned: NDArray[Any],
        combine: Callable[[Parts, Parts], Parts] = added,
    ) -> Parts:
        """``function`` of each block of rows, all results combined."""
        return self._rows.reduced(_OfDivided(function, self._scale), *aligned, combine=combine)

    def mapped(self, function: Callable[[Floats], Floats], names: list[str]) -> Any:
        """The same rows after a function of blocks of them, which is called when they are read."""
        return self._rows.mapped(_OfDivided(function, self._scale), names)

    def moments(self) -> tuple[Floats, Floats]:
        """Mean (d) and covariance (d, d), not corrected for the mean."""
        mean, covariance = self._rows.moments()
        return mean / self._scale, covariance / np.multiply.outer(self._scale, self._scale)

    def squared_deviations(self) -> float:
        """Sum of squared distances from the mean."""
        if self.numbers is None:
            return super().squared_deviations()
        return float(self.shape[0] * np.trace(self.moments()[1]))  # the rows have passed

    @property
    def n_columns(self) -> int:
        """Number of columns, which is known even where that of rows is not yet."""
        return self._rows.n_columns
