"""The maps from rows to coordinates that metrics learn, as values.

A learned metric is a Euclidean embedding, and there are few kinds of those. A fitted learner has
its own as ``map_``, and whatever is done with a metric is written for the kinds here, once:
``transform`` wherever rows are, files, ONNX. A map is applied to rows that were checked, in any
container that the learner takes; a row's image does not depend on the other rows, so that blocks
can be mapped wherever they are.

>>> import nearkin
>>> X, y = nearkin.datasets.make_three_normal(random_state=0)
>>> metric = nearkin.Chain([nearkin.RCA(), nearkin.KernelBeta(n_components=3, random_state=0)])
>>> metric.fit(X, y).map_
Composed(Affine(2 to 2), ThroughLandmarks(600 landmarks to 3))
>>> bool((metric.map_.apply(X) == metric.transform(X)).all())
True
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from sklearn.decomposition import PCA
from sklearn.utils.extmath import row_norms

from nearkin._types import Floats
from nearkin.rows import access, backends, validation
from nearkin.rows.parallel import block_of, one_core, run_in_blocks
from nearkin.rows.scaling import divide_columns
from nearkin.rows.sparse import is_sparse, to_dense, to_plain
from nearkin.spaces.feature_space import EXTENSION, Extension
from nearkin.spaces.kernels import unit_rows
from nearkin.storage.schema import a, floats, many, maybe, positive, positive_floats, stored

__all__ = [
    "Affine",
    "Composed",
    "Displaced",
    "Identity",
    "Scaled",
    "Summed",
    "ThroughLandmarks",
    "Transformed",
    "UnitLength",
]

# Rows are taken to lie no farther away than this many widths: squares of sums must not overflow.
_FAR = 1e100
# Rows of which the images under several maps are held at a time, on each core. Chosen by hand.
_BLOCK_ROWS = 4096
# Any of the maps that are stored, as a field of a learner. Others are made of learners that are.
MAP = a("Identity", "Scaled", "Affine", "ThroughLandmarks", "Displaced", "UnitLength", "Composed")


@stored()
@dataclass(frozen=True, eq=False)
class Identity:
    """Leave rows as they are.

    Examples
    --------
    >>> import numpy as np
    >>> from nearkin import maps
    >>> maps.Identity().apply(np.array([[1.0, 2.0]]))
    array([[1., 2.]])
    """

    def apply(self, X: Any) -> Any:
        """A copy of the rows; sparse ones stay sparse."""
        if backends.is_foreign(X):
            return backends.namespace(X).asarray(X, copy=True)
        return X.copy()


@stored(scale=positive_floats("d"))
@dataclass(frozen=True, eq=False)
class Scaled:
    """Divide each column by a number.

    Attributes
    ----------
    scale : ndarray of shape (d,)
        What columns are divided by.

    Examples
    --------
    >>> import numpy as np
    >>> from nearkin import maps
    >>> maps.Scaled(np.array([1.0, 10.0])).apply(np.array([[1.0, 2.0]]))
    array([[1. , 0.2]])
    """

    scale: Floats

    def apply(self, X: Any) -> Any:
        """The rows divided, in their type; sparse ones stay sparse."""
        return divide_columns(X, self.scale)

    def __repr__(self) -> str:
        return f"Scaled({len(self.scale)} columns)"


@stored(matrix=floats("q d"), origin=maybe(floats("d")))
@dataclass(frozen=True, eq=False)
class Affine:
    """``(x − origin) @ matrix.T``.

    Attributes
    ----------
    matrix : ndarray of shape (q, d)
    origin : ndarray of shape (d,) or None
        What is subtracted first, if anything is.

    Examples
    --------
    >>> import numpy as np
    >>> from nearkin import maps
    >>> turned = maps.Affine(np.array([[0.0, 1.0], [-1.0, 0.0]]), origin=np.array([1.0, 1.0]))
    >>> turned.apply(np.array([[2.0, 1.0]])).tolist()
    [[0.0, -1.0]]
    """

    matrix: Floats
    origin: Floats | None = None

    def apply(self, X: Any) -> Any:
        """Images of rows, in the type of the rows, by blocks on all cores."""
        if backends.is_foreign(X):
            X = X if self.origin is None else X - backends.move_to(self.origin, X)
            return X @ backends.move_to(self.matrix, X).T
        out = np.empty((X.shape[0], len(self.matrix)), dtype=X.dtype)
        matrix = self.matrix.astype(X.dtype, copy=False)
        sparse_offset = None
        if is_sparse(X) and self.origin is not None:  # less the origin they would not be sparse
            sparse_offset = self.origin @ self.matrix.T

        def work(rows: slice) -> None:
            if sparse_offset is not None:
                out[rows] = X[rows] @ matrix.T - sparse_offset
                return
            some = X[rows] if self.origin is None else X[rows] - self.origin
            if isinstance(some, np.ndarray):  # without more memory
                np.matmul(some.astype(X.dtype, copy=False), matrix.T, out=out[rows])
            else:
                out[rows] = some @ matrix.T

        access.for_each_block(work, X, 8 * sum(self.matrix.shape))
        return out

    def __repr__(self) -> str:
        q, d = self.matrix.shape
        return f"Affine({d} to {q})"


@stored(extension=EXTENSION, coordinates=floats("m q"))
@dataclass(frozen=True, eq=False)
class ThroughLandmarks:
    """Map a row to a weighted sum of the coordinates of landmarks.

    Attributes
    ----------
    extension : Extension
        The landmarks, and how a row's weights over them are found.
    coordinates : ndarray of shape (m, q)
        Of the landmarks.

    Examples
    --------
    >>> import nearkin as nk
    >>> X, y = nk.datasets.make_xor(100, random_state=0)
    >>> learned = nk.KernelBeta(n_landmarks=20, n_components=2, random_state=0).fit(X, y).map_
    >>> learned
    ThroughLandmarks(20 landmarks to 2)
    >>> learned.apply(X).shape
    (100, 2)
    """

    extension: Extension
    coordinates: Floats

    def apply(self, X: Any) -> Any:
        """Images of rows, where they are and in their type."""
        return self.extension.embed(X, self.coordinates)

    def __repr__(self) -> str:
        m, q = self.coordinates.shape
        return f"ThroughLandmarks({m} landmarks to {q})"


# The learner says that its anchors are rows of the training data.
@stored(anchors=floats("a d"), displacements=floats("a d"), origin=floats("d"), width=positive)
@dataclass(frozen=True, eq=False)
class Displaced:
    r"""Move rows along with near anchors: :math:`x + \sum_j e^{-\|x - a_j\|^2 / σ^2} b_j`.

    Attributes
    ----------
    anchors : ndarray of shape (a, d)
    displacements : ndarray of shape (a, d)
        What a row at the anchor moves by, but for the other anchors.
    origin : ndarray of shape (d,)
        What is subtracted from the images.
    width : float
        σ.

    Examples
    --------
    >>> import numpy as np
    >>> from nearkin import maps
    >>> anchor, zero = np.array([[0.0, 0.0]]), np.zeros(2)
    >>> moved = maps.Displaced(anchor, np.array([[1.0, 0.0]]), origin=zero, width=0.5)
    >>> moved.apply(np.array([[0.0, 0.0], [9.0, 9.0]]))
    array([[1., 0.],
           [9., 9.]])
    """

    anchors: Floats
    displacements: Floats
    origin: Floats
    width: float

    def apply(self, X: Any) -> Any:
        """Images of rows, in their type, by blocks of rows on all cores."""
        anchors = (self.anchors - self.origin) / self.width
        out = np.empty(X.shape, dtype=X.dtype)

        def work(rows: slice) -> None:
            F = X[rows] - self.origin
            with np.errstate(over="ignore"):
                U = F / self.width
            out[rows] = F + gaussian_weights(U, anchors) @ self.displacements

        access.for_each_block(work, X, 8 * (len(anchors) + 3 * X.shape[1]))
        return out

    def __repr__(self) -> str:
        return f"Displaced({len(self.anchors)} anchors)"


def gaussian_weights(U: Floats, anchors: Floats) -> Floats:
    r"""Gaussian weights of m anchors at n rows, :math:`\exp(-\|u_i - a_j\|^2)`, of shape (n, m)."""
    U = np.clip(U, -_FAR, _FAR)
    weights: Floats = U @ anchors.T
    weights *= 2
    weights -= row_norms(U, squared=True)[:, None]
    weights -= row_norms(anchors, squared=True)
    np.minimum(weights, 0, out=weights)
    return np.exp(weights, out=weights)


@stored()
@dataclass(frozen=True, eq=False)
class UnitLength:
    """Divide rows by their lengths, so that only directions matter; rows of zeros stay.

    Examples
    --------
    >>> import numpy as np
    >>> from nearkin import maps
    >>> maps.UnitLength().apply(np.array([[3.0, 4.0]]))
    array([[0.6, 0.8]])
    """

    def apply(self, X: Any) -> Any:
        """Directions of rows, in their type."""
        return unit_rows(X)


@dataclass(frozen=True, eq=False)
class Transformed:
    """Apply a transformer of scikit-learn, or a compatible one.

    Attributes
    ----------
    transformer : estimator
        Fitted.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.decomposition import PCA
    >>> from nearkin import maps
    >>> X = np.array([[0.0, 1.0], [2.0, 1.0], [4.0, 1.0]])
    >>> maps.Transformed(PCA(1).fit(X)).apply(X).shape
    (3, 1)
    """

    transformer: Any

    def apply(self, X: Any) -> Any:
        """The transformer's output: perhaps a data frame, or of another type than X."""
        fitted = self.transformer
        if backends.is_foreign(X) and isinstance(fitted, PCA) and not fitted.whiten:
            # Its own method wants the rows of fit to have been there.
            return Affine(fitted.components_, fitted.mean_).apply(X)
        return fitted.transform(X)

    def named(self, X: Any) -> Any:
        """Name the columns of another map's output as the transformer knows them.

        Examples
        --------
        >>> import numpy as np
        >>> import pandas as pd
        >>> from sklearn.preprocessing import StandardScaler
        >>> from nearkin import maps
        >>> known = maps.Transformed(StandardScaler().fit(pd.DataFrame({"a": [1.0, 2.0]})))
        >>> list(known.named(np.array([[3.0]])).columns)
        ['a']
        """
        names = getattr(self.transformer, "feature_names_in_", None)
        if names is None or not isinstance(X, np.ndarray) or not find_spec("pandas"):
            return X
        import pandas as pd

        return pd.DataFrame(X, columns=names)

    def __repr__(self) -> str:
        return f"Transformed({self.transformer!r})"


@stored(maps=many(MAP))
@dataclass(frozen=True, eq=False)
class Composed:
    """Apply one map after the other.

    Attributes
    ----------
    maps : tuple of maps
        The first to be applied comes first.

    Examples
    --------
    >>> import numpy as np
    >>> from nearkin import maps
    >>> both = maps.Composed((maps.Scaled(np.array([3.0, 2.0])), maps.UnitLength()))
    >>> both.apply(np.array([[9.0, 8.0]]))
    array([[0.6, 0.8]])
    """

    maps: tuple[Map, ...]

    def apply(self, X: Any) -> Any:
        """Images of rows; by blocks if one of the maps is a sum."""
        if any(isinstance(one, Summed) for one in self.maps):
            return _apply_by_blocks(self._apply_in_turn, X)
        return self._apply_in_turn(X)

    def _apply_in_turn(self, X: Any) -> Any:
        before: Map | None = None
        for one in self.maps:
            # Columns that are divided are as good as they were given.
            X = X if before is None or isinstance(before, Scaled) else _check_entering(one, X)
            X, before = one.apply(X), one
        return X

    def __repr__(self) -> str:
        return f"Composed({', '.join(map(repr, self.maps))})"


@dataclass(frozen=True, eq=False)
class Summed:
    """Add the outputs of several maps.

    Attributes
    ----------
    maps : tuple of maps
        With as many output columns each.

    Examples
    --------
    >>> import numpy as np
    >>> from nearkin import maps
    >>> both = maps.Summed((maps.Identity(), maps.UnitLength()))
    >>> both.apply(np.array([[3.0, 4.0]]))
    array([[3.6, 4.8]])
    """

    maps: tuple[Map, ...]

    def apply(self, X: Any) -> Any:
        """Images of rows, where they are and in their type; sparse if all outputs are.

        Dense rows by blocks on all cores, so that what all maps make of them is not held at once.
        """
        return _apply_by_blocks(self._sum_outputs, X)

    def _sum_outputs(self, X: Any) -> Any:
        """Apply all maps, and add their outputs."""
        if not any(map(_takes_any_rows, self.maps)):
            X = _check_entering(self, X)
            parts = [one.apply(X) for one in self.maps]
        else:
            parts = [one.apply(_check_entering(one, X)) for one in self.maps]
        if backends.is_foreign(X):
            return sum(parts[1:], start=parts[0])
        plain = [to_plain(Z) for Z in parts]
        if all(map(is_sparse, plain)):
            return sum(plain[1:], start=sp.csr_array(plain[0]))
        total, *others = map(to_dense, plain)
        total = np.array(total)
        for Z in others:
            total += Z
        return total

    def __repr__(self) -> str:
        return f"Summed({', '.join(map(repr, self.maps))})"


_Step: TypeAlias = Identity | Scaled | Affine | ThroughLandmarks | Displaced | UnitLength
Map: TypeAlias = _Step | Transformed | Composed | Summed


def compose(*maps: Map) -> Map:
    """Make one map of several, one after the other."""
    if len(maps) == 1:
        return maps[0]
    steps: list[Map] = []
    for one in maps:
        steps.extend(one.maps if isinstance(one, Composed) else [one])
    return Composed(tuple(steps))


def add_maps(maps: Sequence[Map]) -> Map:
    """Make the map whose output is the sum of theirs; first steps that are the same are one."""
    if len(maps) == 1:
        return maps[0]
    chains = [one.maps if isinstance(one, Composed) else (one,) for one in maps]
    n_common = 0
    for steps in zip(*(chain[:-1] for chain in chains), strict=False):
        if not all(_are_equal_matrices(steps[0], one) for one in steps[1:]):
            break
        n_common += 1
    if n_common == 0:
        return Summed(tuple(maps))
    rest = Summed(tuple(compose(*chain[n_common:]) for chain in chains))
    return Composed((*chains[0][:n_common], rest))


def _are_equal_matrices(one: Map, other: Map) -> bool:
    """Whether both are the same affine map."""
    if not (isinstance(one, Affine) and isinstance(other, Affine)):
        return False
    first, second = (0.0 if m.origin is None else m.origin for m in (one, other))
    return np.array_equal(one.matrix, other.matrix) and np.array_equal(first, second)


def follow_by_matrix(one: Map, matrix: Floats) -> Map:
    """Make the map ``x ↦ matrix @ one(x)``, with the matrix in the last step where it can be."""
    match one:
        case Identity():
            return Affine(matrix)
        case Scaled(scale):
            return Affine(matrix / scale)
        case Affine(first, origin):
            return Affine(matrix @ first, origin)
        case ThroughLandmarks(extension, coordinates):
            return ThroughLandmarks(extension, coordinates @ matrix.T)
        case Composed(maps):
            return compose(*maps[:-1], follow_by_matrix(maps[-1], matrix))
        case Summed(maps):
            return Summed(tuple(follow_by_matrix(part, matrix) for part in maps))
    return compose(one, Affine(matrix))


def compose_after_scaling(scale: Floats | None, learned: Map) -> Map:
    """Make a map for rows as they are given of one learned from rows with scaled columns."""
    return learned if scale is None else compose(Scaled(scale), learned)


def _apply_by_blocks(work: Callable[[Any], Any], X: Any) -> Any:
    """Map dense rows on the host by blocks on all cores; others at once."""
    if not (isinstance(X, np.ndarray) and X.dtype.kind == "f"):
        return work(X)
    if len(X) <= _BLOCK_ROWS:
        with one_core():  # threads of BLAS wait for each other longer than so few rows take
            return work(X)
    with block_of(len(X)):
        first = work(X[:1])
    if is_sparse(first):
        return work(X)
    out = np.empty((len(X), first.shape[1]), dtype=first.dtype)

    def write_block(rows: slice) -> None:
        with block_of(len(X)):  # other cores have blocks of their own
            out[rows] = work(X[rows])

    run_in_blocks(write_block, len(X), _BLOCK_ROWS)
    return out


def _check_entering(one: Map, X: Any) -> Any:
    """Check rows that enter a map: finite numbers, unless a transformer takes anything."""
    if isinstance(one, Transformed):
        return one.named(X)
    if backends.is_foreign(X) or _takes_any_rows(one):
        return X
    if type(X) is np.ndarray and X.ndim == 2 and X.size and X.dtype in (np.float64, np.float32):
        validation.refuse_unseen_gaps(X, X)  # all that may be wrong with what a map gave
        return X
    rows = sp.csr_array(X) if is_sparse(X) else X
    return validation.check_input(rows, accept_sparse="csr", ensure_min_samples=0)


def _takes_any_rows(one: Map) -> bool:
    """Whether rows first meet a transformer, which may take words and missing values."""
    match one:
        case Transformed():
            return True
        case Composed():
            return _takes_any_rows(one.maps[0])
        case Summed():
            return any(map(_takes_any_rows, one.maps))
    return False


def __dir__() -> list[str]:
    return __all__
