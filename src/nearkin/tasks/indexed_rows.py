"""Rows that an index holds, as its metric sees them, and the search among them."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import _num_samples, check_is_fitted

from nearkin._types import Floats, Ints
from nearkin.errors import InputError, InputTypeError, about_input
from nearkin.learners.base import WholeState
from nearkin.learners.compositions import last_learner, sees_any_rows
from nearkin.pairs.pairs import first_true
from nearkin.rows import access, backends, device_math, validation
from nearkin.rows.ids import Ids, with_new_ids
from nearkin.rows.sparse import dense, is_sparse, plain
from nearkin.rows.streams import placed
from nearkin.rows.validation import refuse_what_is_no_table
from nearkin.spaces.neighbors import Cells, Search, nearest, nearest_by_cells

# From this many rows on, "auto" is approximate.
_MANY_ROWS = 100_000
# Cells are made anew when more than this share of the rows came after them.
_LATER_ROWS = 1 / 16
# Rows that tell whether the metric is still the one they were added with: if they stay where they
# were, up to this share of their coordinates.
_WITNESSES = 3
_SAME_PLACE = 1e-5
_DTYPES = (np.float64, np.float32)
# Numbers that can be squared and summed up.
_MOST = {np.dtype(kind): float(np.finfo(kind).max) ** 0.5 / 1000 for kind in _DTYPES}
# Arrays up to this size that nothing is wrong with are seen to be so at once.
_FEW_NUMBERS = 2**14


class IndexedRows(WholeState, BaseEstimator):
    """Embeddings of rows, with an id for each.

    The parameters are those of :class:`nearkin.NeighborIndex`.
    """

    metric: Any
    search: Search
    n_neighbors: int
    target_recall: float
    random_state: Any
    device: str | None
    _vectors: list[Floats]
    _ids: list[Ids]
    _known: set[Any] | range | None
    _cells: Cells | None
    _witnesses: tuple[Any, Floats] | None
    # What the metric had learned when it saw the witnesses last: a value that no fit changes.
    _seen_by: Any = None
    # The vectors, and where they are on the device.
    _there: tuple[Any, Any] | None = None

    @property
    def vectors(self) -> Floats:
        """Embeddings of all rows, of shape (n, q), sparse if they are; not to be written to."""
        self._check_not_empty()
        if len(self._vectors) > 1:
            self._vectors = [_read_only(_stacked(self._vectors))]
        return self._vectors[0]

    @property
    def ids(self) -> Ids:
        """Ids of all rows; not to be written to."""
        self._check_not_empty()
        if len(self._ids) > 1:
            self._ids = [_read_only(np.concatenate(self._ids))]
        return self._ids[0]

    @property
    def threshold_(self) -> float | None:
        """Distance up to which two rows are the same thing, where the metric has one."""
        return self._of_metric("threshold")

    def _of_metric(self, name: str) -> float | None:
        """What the metric has found, or was stored of it."""
        value = getattr(last_learner(self.metric), f"{name}_", None)
        if value is None:
            value = getattr(self, f"_stored_{name}", None)
        return None if value is None else float(value)

    def __len__(self) -> int:
        return sum(int(part.shape[0]) for part in getattr(self, "_vectors", []))

    def __sklearn_is_fitted__(self) -> bool:
        return len(self) > 0

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"_there": None}  # devices differ from machine to machine

    def _hold(self, vectors: Floats, ids: Ids, *, numbered: bool | None) -> None:
        """Take vectors and their ids; ``numbered`` is None for ids that are known to differ.

        A set of these is made when more are added.
        """
        if numbered is None:
            self._known = None
        else:
            self._known = with_new_ids(range(0), ids, numbered=numbered)
        self._vectors, self._ids = [_read_only(vectors)], [_read_only(ids)]
        self._cells = None
        self._witnesses = None
        self._seen_by = None
        self._there = None

    def _embedded(self, X: Any, name: str) -> Floats:
        """Rows as the metric sees them, checked, and C-contiguous."""
        metric = self.metric
        Z: Floats
        if metric is None and _is_plain(X):
            Z = X
            return Z
        if metric is None or not sees_any_rows(metric):
            refuse_what_is_no_table(X, name)
        with about_input():
            n_rows = _num_samples(X)
        if n_rows == 0:
            raise InputError(f"{name} has no rows: at least one is needed.")
        if metric is None:
            Z = validation.checked_rows(X, name, accept_sparse="csr", order="C")
        else:
            check_fitted(metric)
            Z = metric.transform(X)
            if _is_plain(Z):
                return Z
            Z = check_array(
                plain(Z),
                accept_sparse="csr",
                dtype=list(_DTYPES),
                order="C",
                ensure_all_finite=False,
                input_name=name,
            )
        if is_sparse(Z) and self.search == "approximate":
            raise InputError(
                "search='approximate' needs dense vectors, but these rows are sparse: use "
                "search='exact', or a metric with few columns, such as Chain([TruncatedSVD(100), "
                "Euclidean()])."
            )
        most = _MOST[Z.dtype]
        fine = (dense(Z.max(axis=1)) <= most) & (dense(Z.min(axis=1)) >= -most)
        if (row := first_true(~fine.ravel())) is not None:
            what = "" if self.metric is None else "the embedding of "
            raise InputError(
                f"{what}row {row} of {name} holds NaN, infinity or numbers beyond {most:.0e}, too "
                "large to be squared. Leave the row out, or fill in what is missing."
            )
        return Z

    def _witnesses_among(self, X: Any) -> tuple[Any, Floats] | None:
        """Some rows as they were given, and what the metric makes of them: whether it stays so.

        None without a metric, and for one that makes different things of a row at different times.
        """
        if self.metric is None:
            return None
        rows = access.take(X, np.unique(access.evenly_spaced(_num_samples(X), _WITNESSES)))
        first, again = (dense(self._embedded(rows, "X")) for _ in range(2))
        return (rows, first) if np.array_equal(first, again) else None

    def _check_metric(self) -> None:
        """Raise if the metric sees rows otherwise than when they were added."""
        if self._witnesses is None or self.metric is None:
            return
        learned = vars(self.metric).get("map_") if hasattr(self.metric, "__dict__") else None
        if learned is not None and learned is self._seen_by:
            return
        rows, then = self._witnesses
        now = dense(self._embedded(rows, "X"))
        if now.shape != then.shape or not np.allclose(
            now, then, rtol=_SAME_PLACE, atol=_SAME_PLACE * float(np.abs(then).max())
        ):
            raise InputError(
                "the metric was fitted again after rows were added to this index: their vectors "
                "are of the metric as it was, and cannot be compared with new ones. Make a new "
                "index, NeighborIndex(metric).fit(X)."
            )
        self._seen_by = learned

    def _new_rows(self, X: Any) -> Floats:
        """Rows to keep, whatever becomes of X."""
        Z = self._embedded(X, "X")
        shared = self.metric is None or (isinstance(X, np.ndarray) and np.may_share_memory(X, Z))
        return Z.copy() if shared else Z

    def _queries(self, X_new: Any) -> Floats:
        Q = self._embedded(X_new, "X_new")
        self._check_columns(Q, "X_new")
        found: Floats = self._stored_alike(Q).astype(self.vectors.dtype, copy=False)
        return found

    def _stored_alike(self, Z: Any) -> Any:
        """Sparse or dense, as the rows that are there."""
        return sp.csr_array(Z) if is_sparse(self._vectors[0]) else dense(Z)

    def _check_columns(self, Z: Floats, name: str) -> None:
        q = self._vectors[0].shape[1]
        if Z.shape[1] == q:
            return
        hint = ""
        if getattr(self, "_stored_threshold", None) is not None and self.metric is None:
            hint = " It was loaded without a metric: give rows embedded by it, or load(metric=...)."
        raise InputError(
            f"{name} has {Z.shape[1]} columns, but the vectors of the index have {q}.{hint}"
        )

    def _nearest(self, Q: Floats, k: int) -> tuple[Floats, Ints]:
        Z = self.vectors
        if self.device is not None:
            return self._nearest_there(Q, k)
        if not self._is_approximate():
            return nearest(Z, Q, k)
        cells = self._cells
        if cells is None or len(Z) > (1 + _LATER_ROWS) * cells.n_rows:
            rng = check_random_state(self.random_state)
            self._cells = cells = Cells(Z, self.target_recall, rng, earlier=cells)
        cells.Z = Z[: cells.n_rows]  # where they are now: once is enough
        return nearest_by_cells(cells, Z, Q, k)

    def _nearest_there(self, Q: Floats, k: int) -> tuple[Floats, Ints]:
        """By comparison with all rows, on the device."""
        Z = self.vectors
        if is_sparse(Z):
            raise InputError(
                f"device={self.device!r} needs dense vectors, but these rows are sparse: leave "
                "device out, or use a metric with few columns."
            )
        if self._there is None or self._there[0] is not Z:
            self._there = Z, placed(Z, str(self.device))
        squared, rows = device_math.nearest_rows(placed(Q, str(self.device)), self._there[1], k)
        distances = np.sqrt(backends.to_numpy(squared)).astype(Z.dtype)
        return distances, backends.to_numpy(rows)

    def _is_approximate(self) -> bool:
        if self.device is not None:
            return False
        if self.search == "auto":
            return len(self) >= _MANY_ROWS and not is_sparse(self._vectors[0])
        return self.search == "approximate" and len(self) > 1

    def _radius(self, radius: float | None) -> float:
        if radius is None:
            radius = self.threshold_
            if radius is None:
                raise InputError(
                    "radius is needed, since the index has no metric with a threshold_: give the "
                    "distance up to which two rows are the same."
                )
        if isinstance(radius, bool) or not isinstance(radius, Real):
            raise InputTypeError(f"radius must be a number, not {radius!r}.")
        if not (math.isfinite(radius) and radius >= 0):
            raise InputError(f"radius must be finite and not negative, got {radius!r}.")
        return float(radius)

    def _refuse_sparse(self, what: str) -> None:
        if is_sparse(self._vectors[0]):
            raise InputError(
                f"{what} writes dense vectors, but those of this index are sparse: give it a "
                "metric with few columns, such as Chain([TruncatedSVD(100), Euclidean()])."
            )

    def _check_not_empty(self) -> None:
        if not len(self):
            raise NotFittedError("this NeighborIndex holds no rows yet: call fit(X) or add(X).")


def _is_plain(X: Any) -> bool:
    """Whether X is a small array as others are made to be, which takes the checks long to find."""
    if type(X) is not np.ndarray or X.ndim != 2 or not 0 < X.size <= _FEW_NUMBERS:
        return False
    if X.dtype not in _MOST or not (X.flags.c_contiguous and X.flags.aligned):
        return False
    most = _MOST[X.dtype]
    return bool(X.max() <= most and X.min() >= -most)


def check_fitted(metric: Any) -> None:
    """Raise unless the metric can be asked for distances."""
    if isinstance(metric, type) or not hasattr(metric, "transform"):
        raise InputTypeError(
            "metric must be None or a fitted learner, such as KernelBeta().fit(X, pairs=pairs), "
            f"not {metric!r:.60}."
        )
    check_is_fitted(
        metric,
        msg="this %(name)s is not fitted, so it knows no distances yet: call its fit(X, "
        "pairs=pairs) before it is given to an index.",
    )


def _stacked(parts: list[Any]) -> Any:
    """Vectors below one another."""
    return sp.vstack(parts, format="csr") if is_sparse(parts[0]) else np.concatenate(parts)


def _read_only(array: Any) -> Any:
    for part in (array.data, array.indices, array.indptr) if is_sparse(array) else (array,):
        part.flags.writeable = False
    return array
