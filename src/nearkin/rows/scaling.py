"""Column scales: the one definition, and rows divided by them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.stats import spearmanr
from sklearn.preprocessing import StandardScaler

from nearkin._types import Doubles, Floats
from nearkin.errors import InputError
from nearkin.messages import is_heard, notice
from nearkin.rows import access, backends, device_math
from nearkin.rows.backends import ROWS_FOR_UNITS, evenly_spaced
from nearkin.rows.sparse import is_sparse

# So many rows tell how wide columns are, fewer their units; so many numbers are looked at at once.
MOST_ROWS = 10_000
_BLOCK_NUMBERS = 2**22
# What follows is chosen by hand.
# The share of rows at either end that a column's spread is first found without, and how many times
# that the others may lie from the middle: long tails tell classes apart, and stay; what is farther
# out is a mistake, or stands for a missing number.
_TAIL = 0.05
_FAR = 20.0
# Units that differ by more are not those of one table, unless spreads differ by no more than this:
# columns that were brought to one scale may have a long tail.
MOST_RATIO = 100.0
_ONE_SCALE = 30.0
# Two entries within a unit are within two units of each other; a little more, against rounding.
_BOTH_NEAR = 2.02
# The part of the entries that differ from a column's middle which lies within its unit; where fewer
# differ than this, a column says nothing of its unit.
_WITHIN_UNIT = 0.9
_FEWEST_ENTRIES = 5
# A column with a smaller part of the median spread holds what rounding left of a constant.
_DEAD = 1e-12
# Principal components grow narrower by nature: so many columns in strict order are no accident.
_FEWEST_COMPONENTS = 8
# One column in so many may be narrow in any unit, as pixels at the edge of pictures are. By hand.
_ONE_IN = 50
_ORDER = -0.9


def column_spreads(X: Any) -> Doubles:
    """Standard deviations (d,) of columns after outliers are clipped, in float64.

    The 5 % largest and smallest entries are clipped for a first deviation, and then those that lie
    more than twenty of these from the median; none where all others are equal. 0 for columns whose
    entries differ by rounding at most: whose spread is below 1e-12 of the median spread.

    At most 10 000 evenly spaced rows are looked at. Time O(min(n, 10 000) d), less for sparse rows;
    beside the rows looked at, memory for four million numbers.
    """
    X = _sample_rows(X, MOST_ROWS)
    if backends.is_foreign(X):
        return drop_rounding(backends.to_numpy(_foreign_spreads(X)).astype(np.float64))
    if not is_sparse(X):
        return drop_rounding(_apply_by_blocks(X, _spreads))
    # Where fewer entries differ from zero than are cut back, zero is all that is left.
    n = X.shape[0]
    X = sparse.csc_array(X)
    filled = np.diff(X.indptr) > _count_tail(n)
    spreads = np.empty(X.shape[1])
    spreads[filled] = _apply_by_blocks(X[:, np.flatnonzero(filled)], _spreads)
    spreads[~filled] = _sparse_deviations(X[:, np.flatnonzero(~filled)])
    return drop_rounding(spreads)


def drop_rounding(spreads: Doubles) -> Doubles:
    """Spreads (d,) with 0 where one is below 1e-12 of the median of those that are not 0."""
    wide = spreads[spreads > 0]
    # Of an even number the wider one in the middle: of two columns, one may be left of a constant.
    middle = np.sort(wide)[len(wide) // 2] if len(wide) else 0.0
    return np.where(spreads < _DEAD * middle, 0.0, spreads)


def column_scales(X: Any) -> Doubles:
    """Divisors (d,) that give columns equal width: their spreads, and 1 for constant columns."""
    spreads = column_spreads(X)
    return np.where(spreads > 0, spreads, 1.0)


def ratio_of_spreads(spreads: Doubles) -> float:
    """Largest spread divided by the smallest that is not 0; 1 if all are 0."""
    wide = spreads[spreads > 0]
    with np.errstate(over="ignore"):
        return float(wide.max() / wide.min()) if len(wide) else 1.0


@dataclass(frozen=True)
class UnitsDiffer:
    """The columns of the largest and the smallest unit, and the ratio of the two."""

    widest: int
    narrowest: int
    ratio: float

    def describe(self, names: Sequence[str] | None) -> str:
        """Sentence part: which columns' units differ, and by how much."""
        widest, narrowest = (
            f"column {column if names is None else repr(str(names[column]))}"
            for column in (self.widest, self.narrowest)
        )
        return f"{widest} reaches {self.ratio:.2g} times as far as {narrowest}"


def find_differing_units(X: Any) -> UnitsDiffer | None:
    """The columns whose units differ most, if the ratio exceeds 100; else None.

    None too for columns that are equally wide, and for eight or more that grow narrower from first
    to last as principal components do. Of 50 columns or more the narrowest fiftieth is not counted.
    At most 2000 evenly spaced rows are looked at.
    """
    X = _sample_rows(X, ROWS_FOR_UNITS)
    if isinstance(X, np.ndarray) and _have_one_unit(X):
        return None
    units = drop_rounding(column_units(X))
    known = np.flatnonzero(units)
    narrow = np.argsort(units[known], kind="stable")[: len(known) // _ONE_IN]
    known = np.delete(known, narrow)
    ratio = ratio_of_spreads(units[known])
    if len(known) < 2 or ratio <= MOST_RATIO:
        return None
    place = np.arange(len(known))
    if len(place) >= _FEWEST_COMPONENTS and spearmanr(place, units[known]).statistic <= _ORDER:
        return None
    if ratio_of_spreads(column_spreads(X)[known]) <= _ONE_SCALE:
        return None
    widest, narrowest = known[units[known].argmax()], known[units[known].argmin()]
    return UnitsDiffer(int(widest), int(narrowest), ratio)


def _have_one_unit(X: NDArray[Any]) -> bool:
    """Whether no two columns have units that differ by more than 100, by a test without sorting.

    No unit is larger than the range of the widest column. Of a column with a unit below a hundredth
    of that, nine tenths of the entries lie within a hundredth from the middle; so of n / 2 pairs of
    entries, at most n / 10 differ by two hundredths or more.
    """
    n = len(X)
    if n < 2 or X.dtype.kind != "f":
        return False
    half = n // 2
    with np.errstate(over="ignore"):
        widest = np.ptp(X, axis=0).max(initial=0.0)
        apart = X[half:] - X[: n - half]
        np.abs(apart, out=apart)
    near = np.count_nonzero(apart < _BOTH_NEAR / MOST_RATIO * widest, axis=0)
    return bool(np.isfinite(widest) and (near < n - half - n / 10).all())


def column_units(X: Any) -> Doubles:
    """Units (d,) of columns: nine tenths of entries off the median are within one unit of it.

    1 for columns of zeros and ones, whichever is the rarer; 0 where fewer than five entries differ
    from the median. At most 2000 evenly spaced rows are looked at.
    """
    X = _sample_rows(X, ROWS_FOR_UNITS)
    if backends.is_foreign(X):
        return backends.to_numpy(_foreign_units(X)).astype(np.float64)
    if not is_sparse(X):
        return _apply_by_blocks(X, _units)
    # Where at most half of the entries differ from zero, it is the median.
    X = sparse.csc_array(X)
    X.eliminate_zeros()
    filled = 2 * np.diff(X.indptr) >= X.shape[0]
    units = np.zeros(X.shape[1])
    units[filled] = _apply_by_blocks(X[:, np.flatnonzero(filled)], _units)
    for column in np.flatnonzero(~filled & (np.diff(X.indptr) >= _FEWEST_ENTRIES)):
        entries = np.abs(X.data[X.indptr[column] : X.indptr[column + 1]])
        units[column] = np.sort(entries)[_place_of_unit(len(entries))]
    return units


def _sample_rows(X: Any, most: int) -> Any:
    """At most ``most`` evenly spaced rows of X, of those available, on X's device."""
    numbers = access.takeable_numbers(X)
    if len(numbers) <= most and not backends.is_remote(X):
        return X
    if len(numbers) > most:
        numbers = numbers[evenly_spaced(len(numbers), most)]
    return access.take(sparse.csr_array(X) if is_sparse(X) else X, numbers)


def _apply_by_blocks(X: Any, function: Any) -> Doubles:
    """Results (d,) of a function of dense columns, some columns at a time."""
    n, d = X.shape
    width = max(1, _BLOCK_NUMBERS // max(1, n))
    found = np.zeros(d)
    for start in range(0, d, width):
        part = X[:, start : start + width]
        dense = part.toarray() if is_sparse(part) else np.asarray(part)
        found[start : start + width] = function(dense)
    return found


def _centre_columns(columns: NDArray[Any]) -> tuple[Doubles, Doubles, Doubles]:
    """Columns less their medians, divided by powers of two; their exponents; and rounding errors.

    Powers of two change no digit, and bring the largest number to about 1: nothing overflows.
    """
    eps = np.finfo(columns.dtype).eps if columns.dtype.kind == "f" else 0.0
    columns = columns.astype(np.float64)
    exponents = np.frexp(np.abs(columns).max(axis=0, initial=0.0))[1]
    columns = np.ldexp(columns, -exponents)
    largest = np.abs(columns).max(axis=0, initial=0.0)
    middle = np.partition(columns, len(columns) // 2, axis=0)[len(columns) // 2]
    return columns - middle, exponents, 2 * eps * largest


def _count_tail(n: int) -> int:
    """Number of entries to clip at either end of n sorted ones."""
    return int(_TAIL * (n - 1))


def _spreads(columns: NDArray[Any]) -> Doubles:
    """Spreads (d,) of dense columns; see :func:`column_spreads`."""
    centred, exponents, rounding = _centre_columns(columns)
    n = len(centred)
    low, high = _count_tail(n), n - 1 - _count_tail(n)
    cut = np.partition(centred, (low, high), axis=0)
    spreads = np.clip(centred, cut[low], cut[high]).std(axis=0)
    narrow = spreads <= rounding
    reach = _FAR * spreads
    spreads = np.clip(centred, -reach, reach).std(axis=0)
    if narrow.any():
        spreads[narrow] = centred[:, narrow].std(axis=0)
    spreads[spreads <= rounding] = 0.0
    return np.asarray(np.ldexp(spreads, exponents))


def _sparse_deviations(X: Any) -> Doubles:
    """Standard deviations (d,) of sparse columns, zeros included."""
    n, d = X.shape
    exponents = np.frexp(abs(X).max(axis=0).toarray().ravel() if X.nnz else np.zeros(d))[1]
    column = np.repeat(np.arange(d), np.diff(X.indptr))
    entries = np.ldexp(X.data.astype(np.float64), -exponents[column])
    counts = np.bincount(column, minlength=d)
    means = np.bincount(column, entries, minlength=d) / n
    squares = np.bincount(column, (entries - means[column]) ** 2, minlength=d)
    deviations = np.sqrt((squares + (n - counts) * means**2) / n)
    return np.asarray(np.ldexp(deviations, exponents))


def _units(columns: NDArray[Any]) -> Doubles:
    """Units (d,) of dense columns; see :func:`column_units`."""
    centred, exponents, rounding = _centre_columns(columns)
    distances = np.abs(centred)
    distances[distances <= rounding] = 0.0
    n = len(distances)
    differing = np.count_nonzero(distances, axis=0)
    distances.sort(axis=0)  # those that do not differ come first
    reach = distances[
        np.minimum(n - differing + _place_of_unit(differing), n - 1), np.arange(distances.shape[1])
    ]
    return np.asarray(np.ldexp(np.where(differing < _FEWEST_ENTRIES, 0.0, reach), exponents))


def _place_of_unit(differing: Any) -> Any:
    """Position, among ``differing`` sorted distances, of the one within which nine tenths lie."""
    return np.maximum(np.ceil(_WITHIN_UNIT * differing).astype(np.int64), 1) - 1


def _centre_foreign_columns(X: Any) -> tuple[Any, Any, Any]:
    """Columns less their medians, divided by factors; the factors; and rounding errors."""
    xp = backends.namespace(X)
    eps = float(xp.finfo(X.dtype).eps)
    X = backends.widen(X)
    largest = xp.max(xp.abs(X), axis=0)
    factor = xp.where(largest > 0, largest, xp.ones_like(largest))
    X = X / factor
    centred = X - xp.sort(X, axis=0)[X.shape[0] // 2, :]
    return centred, factor, 2 * eps * xp.ones_like(factor)


def _foreign_spreads(X: Any) -> Any:
    """Spreads (d,) of columns on a device; see :func:`column_spreads`."""
    xp = backends.namespace(X)
    centred, factor, rounding = _centre_foreign_columns(X)
    n = centred.shape[0]
    ordered = xp.sort(centred, axis=0)
    low, high = ordered[_count_tail(n), :], ordered[n - 1 - _count_tail(n), :]
    cut = xp.where(centred < low, low, xp.where(centred > high, high, centred))
    first, plain = (xp.std(columns, axis=0) for columns in (cut, centred))
    reach = _FAR * first
    cut = xp.where(centred < -reach, -reach, xp.where(centred > reach, reach, centred))
    spreads = xp.where(first > rounding, xp.std(cut, axis=0), plain)
    return xp.where(spreads > rounding, spreads, xp.zeros_like(spreads)) * factor


def _foreign_units(X: Any) -> Any:
    """Units (d,) of columns on a device; see :func:`column_units`."""
    xp = backends.namespace(X)
    centred, factor, rounding = _centre_foreign_columns(X)
    distances = xp.abs(centred)
    distances = xp.where(distances > rounding, distances, xp.zeros_like(distances))
    n, d = distances.shape
    differing = backends.to_numpy(xp.sum(xp.astype(distances > 0, xp.int64), axis=0))
    place = np.minimum(n - differing + _place_of_unit(differing), n - 1) * d + np.arange(d)
    ordered = xp.reshape(xp.sort(distances, axis=0), (-1,))
    reach = device_math.gather(ordered, backends.move_to(place, X))
    known = backends.move_to((differing >= _FEWEST_ENTRIES).astype(np.float64), reach)
    return reach * known * factor


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


def scale_rows(learner: Any, X: Any, *, reset: bool) -> Any:
    """Rows divided by the learner's ``column_scale_``, as all its methods see them.

    With ``reset``, as in ``fit``, that is set first, to None where columns are not divided; then
    differing units are warned of.
    """
    if not reset:
        return divide_columns(X, getattr(learner, "column_scale_", None))
    learner.column_scale_ = None
    if hasattr(learner, "table_"):  # whose columns have one width
        return X
    if getattr(learner, "kernel", None) == "precomputed":
        if learner.scale:
            raise InputError(
                "scale=True divides columns, but the columns of a precomputed kernel are rows: "
                "scale them before the kernel is computed."
            )
    elif learner.scale:
        learner.column_scale_ = column_scales(X)
    else:
        remedy = f"Use {type(learner).__name__}(scale=True, ...), which divides columns by their"
        warn_of_units(learner, X, f"{remedy} spread, or give them the weight they should have.")
    return divide_columns(X, learner.column_scale_)


def divide_columns(X: Any, scale: Floats | None) -> Any:
    """Divide columns by ``scale`` (d,), if any, in the type of X; sparse rows stay sparse."""
    if scale is None:
        return X
    if backends.is_remote(X):
        return DividedRows(X, scale)
    if backends.is_foreign(X):
        return X / backends.move_to(scale, X)
    if is_sparse(X):
        X = sparse.csr_array(X, copy=True)
        X.data = (X.data / scale[X.indices]).astype(X.dtype)
        return X
    return (X / scale).astype(X.dtype, copy=False)


def fit_scaler(X: Any) -> StandardScaler:
    """Fit a StandardScaler that divides by :func:`column_scales` instead of deviations."""
    scaler = StandardScaler()
    for block in X if backends.is_remote(X) else [X]:
        scaler.partial_fit(block)
    scaler.scale_ = column_scales(X)
    return scaler


def choose_scales(X: Any, names: Any = None) -> tuple[Doubles | None, str]:
    """Choose what to divide columns by if their units differ, and say why.

    Plain distances may be better in the units that columns have, by luck; learned ones hardly ever
    are, so that pairs are not asked. ``names`` are those of the columns.
    """
    units = find_differing_units(X)
    if units is None:
        return None, ""
    return column_scales(X), f"Columns are divided by their spreads: {units.describe(names)}."


def warn_of_units(learner: Any, X: Any, remedy: str) -> None:
    """Warn, with ``remedy``, if units of columns differ by more than 100."""
    if not is_heard(ScaleWarning):
        return
    found = find_differing_units(X)
    if found is not None:
        names = getattr(learner, "feature_names_in_", None)
        notice(f"{describe_units(found, names)}. {remedy}", ScaleWarning)


def describe_units(found: UnitsDiffer, names: Sequence[str] | None) -> str:
    """Sentence that says which columns' units differ, and what that does to distances."""
    return f"{found.describe(names)}, so that distances hardly see the latter"


def _call_with_divided(
    function: Callable[..., Any], scale: Floats, rows: Floats, *aligned: NDArray[Any]
) -> Any:
    """Call a function with a block of rows, their columns divided, and aligned entries."""
    return function(divide_columns(rows, scale), *aligned)


class DividedRows(backends.RemoteRows):
    """Remote rows whose columns are divided as they are read."""

    def __init__(self, rows: backends.RemoteRows, scale: Floats) -> None:
        self._rows, self._scale = rows, scale
        self.dtype, self.names, self.numbers = rows.dtype, rows.names, rows.numbers
        self.device, self.n_columns = rows.device, rows.n_columns

    @property
    def shape(self) -> tuple[int, int]:  # type: ignore[override]
        """Numbers of rows and columns; remote rows may be counted when this is first read."""
        return self._rows.shape

    def take(self, rows: NDArray[np.integer]) -> Floats:
        """Rows (k, d) by their numbers, in that order."""
        return np.asarray(divide_columns(self._rows.take(rows), self._scale))

    def reduced(
        self,
        function: backends.OfBlock,
        *aligned: NDArray[Any],
        combine: backends.Combine = backends.add_parts,
    ) -> backends.Parts:
        """Apply ``function`` to each block of divided rows, and combine all results."""
        return self._rows.reduced(
            partial(_call_with_divided, function, self._scale), *aligned, combine=combine
        )

    def mapped(self, function: Callable[[Floats], Floats], names: list[str]) -> Any:
        """The rows after a function of blocks, which is called when they are read."""
        return self._rows.mapped(partial(_call_with_divided, function, self._scale), names)

    def moments(self) -> tuple[Floats, Floats]:
        """Mean (d,) and covariance (d, d) of all rows; the latter is divided by n."""
        mean, covariance = self._rows.moments()
        return mean / self._scale, covariance / np.multiply.outer(self._scale, self._scale)

    def squared_deviations(self) -> float:
        """Sum of squared distances from the mean."""
        if self.numbers is None:
            return super().squared_deviations()
        return float(self.shape[0] * np.trace(self.moments()[1]))
