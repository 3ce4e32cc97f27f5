"""The ``transform`` of fitted learners as ONNX files, for programs without Python.

Each kind of map (:mod:`nearkin.spaces.maps`) is written down once more here, in the operators of
ONNX and in the order that the map itself has. A :class:`Tensor` stands for what will be computed:
arithmetic with it adds an operator to its :class:`Graph`, and gives the tensor that the operator
will give. Numbers and NumPy arrays among the operands become constants.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray
from sklearn import preprocessing
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.utils.validation import check_is_fitted

from nearkin._types import Floats
from nearkin._version import __version__
from nearkin.errors import InputError, explain_missing_package
from nearkin.learners.base import MetricMixin
from nearkin.learners.compositions import as_metric
from nearkin.rows.distances import FAR
from nearkin.rows.sparse import to_dense
from nearkin.spaces import maps
from nearkin.spaces.feature_space import KernelExpansion, LocalExtension, NystroemExtension
from nearkin.spaces.kernels import Kernel, unit_rows
from nearkin.spaces.landmarks import KernelLandmarks
from nearkin.spaces.local_weights import EPSILON, NEARER
from nearkin.storage.files import StrPath, whole_file

__all__ = ["export"]

PRECISIONS = ("float64", "float32")
# The first in which all reductions take their axes the same way: onnxruntime 1.14 and later.
OPSET, IR_VERSION = 18, 8
# A message of protocol buffers has no more bytes.
_MOST_BYTES = 2**31 - 1

Operand: TypeAlias = "Tensor | ArrayLike"


def export(
    metric: Any, path: StrPath, *, forget_names: bool = False, precision: str = "float64"
) -> None:
    """Write the ``transform`` of a fitted learner as an ONNX file.

    The graph has one input ``"X"``, float32 of shape (n, d) for any number of rows n, and one
    output ``"Z"``, float32 of shape (n, q). Euclidean distances between rows of Z are the learned
    distances. Needs onnx (``pip install "nearkin[onnx]"``).

    Parameters
    ----------
    metric : learner
        Any, fitted, or a pipeline whose last step is one. Kernels that are functions or precomputed
        are refused, and so are transformers in a :class:`nearkin.Chain` other than those that a
        model file holds. Of a metric that was learned from a table with words, the graph takes
        what ``metric.table_.transform`` gives.
    path : path
        By custom with the ending ``.onnx``. A file that is there already is replaced once the new
        one is complete.
    forget_names : bool, default=False
        Leave out the names of the columns.
    precision : {"float64", "float32"}, default="float64"
        Of the numbers inside the graph. With ``"float32"`` the file has half the size and runs
        where float64 is unknown, as on many accelerators and in browsers. Most metrics keep five
        digits then, some only three.

    Raises
    ------
    ValueError
        If the learner cannot be written in ONNX.

    Notes
    -----
    A graph cannot refuse rows as ``transform`` does: one with NaN or infinite entries becomes NaN,
    and so does one whose kernel values overflow.

    The file's metadata have the version of nearkin (``nearkin``), the ``learner``, its
    ``threshold``, ``sharpness``, ``far_sharpness`` and ``prevalence``, and ``feature_names`` as
    JSON. Its constants are what the metric needs: **landmarks are rows of the training data**.

    Running it takes memory for n × m numbers with m landmarks, and for n × k² × d with k
    neighbours: give some thousand rows at a time. With the laplacian kernel the graph has seven
    operators for each column.

    Examples
    --------
    >>> import tempfile, nearkin
    >>> X, y = nearkin.datasets.make_xor(100, random_state=0)
    >>> metric = nearkin.KernelBeta(n_landmarks=20, random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     nearkin.onnx_file.export(metric, f"{folder}/xor.onnx")

    With onnxruntime: ``InferenceSession("xor.onnx").run(["Z"], {"X": X.astype("float32")})[0]``.
    """
    metric = as_metric(metric)
    if not isinstance(metric, MetricMixin):
        remedy = "metric.to_local()" if hasattr(metric, "to_local") else "one, such as KernelBeta()"
        raise InputError(
            f"{type(metric).__name__} is no learner that can be written in ONNX: give {remedy}."
        )
    check_is_fitted(metric)
    if precision not in PRECISIONS:
        raise InputError(f"precision={precision!r}: use one of {PRECISIONS}.")
    graph = Graph(precision)
    X = graph.rows()
    # Zero for finite entries, NaN for others: clipping could hide them.
    Z = _embed(metric.map_, X) + (X * 0.0).sum(1)
    metadata = {
        "nearkin": __version__,
        "learner": type(metric).__name__,
        "threshold": repr(float(metric.threshold_)),
    }
    for name in ("sharpness", "far_sharpness", "prevalence"):
        if (value := getattr(metric, f"{name}_", None)) is not None:
            metadata[name] = repr(float(value))
    if hasattr(metric, "feature_names_in_") and not forget_names:
        metadata["feature_names"] = json.dumps(metric.feature_names_in_.tolist())
    content = graph.model(Z, int(metric.n_features_in_), int(metric.n_components_), metadata)
    with whole_file(path) as unfinished:
        unfinished.write_bytes(content)


@dataclass
class Graph:
    """An ONNX graph being built, of numbers of ``dtype``: operators in order, and constants."""

    dtype: DTypeLike
    constants: dict[str, NDArray[Any]] = field(default_factory=dict)
    operators: list[tuple[str, list[str], list[str], dict[str, Any]]] = field(default_factory=list)

    def rows(self) -> Tensor:
        """The input of the graph, a tensor (n, d)."""
        return self.apply("Cast", Tensor(self, "X"), to=_onnx_type(self.dtype))

    def constant(self, values: ArrayLike) -> Tensor:
        """A tensor with these values in the graph's type; NumPy integers stay int64."""
        whole = isinstance(values, np.ndarray | np.integer) and values.dtype.kind == "i"
        array = np.asarray(values, dtype=np.int64 if whole else self.dtype)
        name = f"c{len(self.constants)}"
        self.constants[name] = np.ascontiguousarray(array).reshape(array.shape)
        return Tensor(self, name)

    def apply(self, operator: str, *inputs: Operand, **attributes: Any) -> Tensor:
        """Apply an operator; its only result."""
        return self.apply_with_results(1, operator, *inputs, **attributes)[0]

    def apply_with_results(
        self, n_results: int, operator: str, *inputs: Operand, **attributes: Any
    ) -> list[Tensor]:
        """Apply an operator; its ``n_results`` results."""
        given = [one if isinstance(one, Tensor) else self.constant(one) for one in inputs]
        results = [f"t{len(self.operators)}_{i}" for i in range(n_results)]
        self.operators.append((operator, [one.name for one in given], results, attributes))
        return [Tensor(self, name) for name in results]

    def model(
        self, Z: Tensor, n_columns: int, n_components: int, metadata: dict[str, str]
    ) -> bytes:
        """Content of an ONNX file whose output is ``Z``, checked."""
        onnx = _import_onnx()
        helper, single = onnx.helper, onnx.TensorProto.FLOAT
        nodes = [
            # Some versions of onnxruntime make names of others of these, which must differ.
            helper.make_node(operator, inputs, outputs, name=outputs[0], **attributes)
            for operator, inputs, outputs, attributes in self.operators
        ]
        nodes.append(helper.make_node("Cast", [Z.name], ["Z"], name="Z", to=single))
        graph = helper.make_graph(
            nodes,
            "nearkin",
            [helper.make_tensor_value_info("X", single, ["n", n_columns])],
            [helper.make_tensor_value_info("Z", single, ["n", n_components])],
            [onnx.numpy_helper.from_array(array, name) for name, array in self.constants.items()],
        )
        model = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", OPSET)],
            ir_version=IR_VERSION,
            producer_name="nearkin",
            producer_version=__version__,
        )
        helper.set_model_props(model, metadata)
        if model.ByteSize() > _MOST_BYTES:
            raise InputError(
                f"the graph takes {model.ByteSize()} bytes, and an ONNX file holds {_MOST_BYTES} "
                "at most: learn with fewer landmarks."
            )
        onnx.checker.check_model(model)
        return bytes(model.SerializeToString())


def _make_method(operator: str) -> Callable[..., Tensor]:
    """Make a method of tensors that applies an operator to the tensor and its arguments."""
    return lambda tensor, *others: tensor.graph.apply(operator, tensor, *others)


def _make_reflected_method(operator: str) -> Callable[[Tensor, Operand], Tensor]:
    """Make a method of tensors for an operator with the tensor on the right-hand side."""
    return lambda tensor, other: tensor.graph.apply(operator, other, tensor)


def _make_reduction(operator: str) -> Callable[[Tensor, int], Tensor]:
    """Make a method of tensors that reduces along an axis, which stays with length one."""
    return lambda tensor, axis: tensor.graph.apply(operator, tensor, np.array([axis]), keepdims=1)


@dataclass(frozen=True, eq=False)
class Tensor:
    """A value in an ONNX graph, with arithmetic."""

    graph: Graph
    name: str
    __array_ufunc__ = None  # NumPy leaves arithmetic with its arrays to the methods below

    __add__ = _make_method("Add")
    __radd__ = _make_reflected_method("Add")
    __sub__ = _make_method("Sub")
    __rsub__ = _make_reflected_method("Sub")
    __mul__ = _make_method("Mul")
    __rmul__ = _make_reflected_method("Mul")
    __truediv__ = _make_method("Div")
    __pow__ = _make_method("Pow")
    __matmul__ = _make_method("MatMul")
    __gt__ = _make_method("Greater")

    where = _make_method("Where")  # the one or the other, by what is true
    larger = _make_method("Max")
    sqrt = _make_method("Sqrt")
    exp = _make_method("Exp")
    abs = _make_method("Abs")
    # Along an axis, which is left with length one.
    sum = _make_reduction("ReduceSum")
    mean = _make_reduction("ReduceMean")
    min = _make_reduction("ReduceMin")
    max = _make_reduction("ReduceMax")

    def clip(self, least: float, most: float = np.inf) -> Tensor:
        """Entries clipped to the range."""
        return self.graph.apply("Clip", self, least, most)

    def one_minus_exp(self) -> Tensor:
        """``1 − exp(−x)`` without cancellation, by tanh of x / 2: ONNX has no ``expm1``."""
        t = self.graph.apply("Tanh", 0.5 * self)
        return 2.0 * t / (1.0 + t)

    def expand(self, axis: int) -> Tensor:
        """The tensor with a new axis of length one."""
        return self.graph.apply("Unsqueeze", self, np.array([axis]))

    def squeeze(self, axis: int) -> Tensor:
        """The tensor without an axis of length one."""
        return self.graph.apply("Squeeze", self, np.array([axis]))

    def slice_at(self, axis: int, position: int) -> Tensor:
        """Entries at one position of an axis, which stays with length one."""
        bounds = (np.array([number]) for number in (position, position + 1, axis))
        return self.graph.apply("Slice", self, *bounds)

    def concatenate(self, *others: Operand, axis: int) -> Tensor:
        """The tensor and others concatenated along an axis."""
        return self.graph.apply("Concat", self, *others, axis=axis)

    def find_smallest(self, k: int) -> tuple[Tensor, Tensor]:
        """The k smallest values of each row in order, and their positions."""
        values, positions = self.graph.apply_with_results(
            2, "TopK", self, np.array([k]), axis=1, largest=0, sorted=1
        )
        return values, positions

    def to_single(self) -> Tensor:
        """The tensor in float32, in which values that differ by rounding are equal."""
        return self.graph.apply("Cast", self, to=_onnx_type(np.float32))

    def gather_entries(self, positions: Tensor) -> Tensor:
        """Entries of each row at given positions."""
        return self.graph.apply("GatherElements", self, positions, axis=1)

    def look_up_in(self, array: NDArray[Any]) -> Tensor:
        """``array[positions]``, where this tensor has the positions."""
        return self.graph.apply("Gather", array, self, axis=0)


def _onnx_type(dtype: DTypeLike) -> int:
    return int(_import_onnx().helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))


def _import_onnx() -> Any:
    with explain_missing_package("ONNX files need onnx", "onnx"):
        import onnx
        import onnx.checker
        import onnx.helper
        import onnx.numpy_helper
    return onnx


def _embed(learned: maps.Map, X: Tensor) -> Tensor:
    """Embedded rows: a learned map applied to a tensor of rows."""
    match learned:
        case maps.Identity():
            return X
        case maps.Scaled():
            return X / learned.scale
        case maps.Affine():
            return (X if learned.origin is None else X - learned.origin) @ learned.matrix.T
        case maps.ThroughLandmarks():
            return _extend(learned.extension, X, learned.coordinates)
        case maps.Displaced():
            anchors = (learned.anchors - learned.origin) / learned.width
            F = X - learned.origin
            squared = _squared_distances((F / learned.width).clip(-FAR, FAR), anchors)
            return F + (-1.0 * squared).exp() @ learned.displacements
        case maps.UnitLength():
            return _unit_rows(X)
        case maps.Transformed():
            return _transform(learned.transformer, X)
        case maps.Composed():
            for one in learned.maps:
                X = _embed(one, X)
            return X
        case maps.Summed():
            first, *others = (_embed(one, X) for one in learned.maps)
            for Z in others:
                first = first + Z
            return first
    raise InputError(f"{type(learned).__name__} cannot be written in ONNX.")


def _transform(transformer: Any, X: Tensor) -> Tensor:
    """Rows after one of scikit-learn's transformers."""
    match transformer:
        case preprocessing.StandardScaler():
            if transformer.mean_ is not None and transformer.with_mean:
                X = X - transformer.mean_
            return X if transformer.scale_ is None else X / transformer.scale_
        case preprocessing.RobustScaler():
            X = X if transformer.center_ is None else X - transformer.center_
            return X if transformer.scale_ is None else X / transformer.scale_
        case preprocessing.MinMaxScaler():
            X = X * transformer.scale_ + transformer.min_
            return X.clip(*map(float, transformer.feature_range)) if transformer.clip else X
        case preprocessing.MaxAbsScaler():
            X = X / transformer.scale_
            clips = getattr(transformer, "clip", False)  # since scikit-learn 1.8
            return X.clip(-1.0, 1.0) if clips else X
        case preprocessing.Normalizer(norm=norm):
            if norm == "l2":
                length = (X * X).sum(1).sqrt()
            else:
                length = X.abs().sum(1) if norm == "l1" else X.abs().max(1)
            # As scikit-learn does, which takes very short rows for zero.
            return X / (length > 10 * np.finfo(X.graph.dtype).eps).where(length, 1.0)
        case PCA():
            Z = (X - transformer.mean_) @ transformer.components_.T
            if not transformer.whiten:
                return Z
            deviations = np.sqrt(transformer.explained_variance_)
            return Z / np.maximum(deviations, np.finfo(deviations.dtype).eps)
        case TruncatedSVD():
            return X @ transformer.components_.T
    raise InputError(
        f"{type(transformer).__name__} cannot be written in ONNX. Of scikit-learn's transformers "
        "these can: StandardScaler, RobustScaler, MinMaxScaler, MaxAbsScaler, Normalizer, PCA, "
        "TruncatedSVD. Apply others to the rows beforehand."
    )


def _extend(extension: Any, X: Tensor, coordinates: Floats) -> Tensor:
    """Coordinates of rows: those of landmarks, weighted by an extension."""
    match extension:
        case KernelExpansion():
            return _kernel_values(_check_exportable(extension.landmarks), X) @ coordinates
        case NystroemExtension(landmarks=landmarks, eigenvectors=V, eigenvalues=values):
            means = landmarks.column_means
            K = _kernel_values(_check_exportable(landmarks), X)
            return (K - K.mean(1) - (means - means.mean())) @ ((V / values) @ (V.T @ coordinates))
        case LocalExtension():
            pass
        case _:
            raise InputError(f"{type(extension).__name__} cannot be written in ONNX.")
    # From those of the nearest landmarks.
    extension = LocalExtension(_check_exportable(extension.landmarks), extension.n_neighbors)
    # TopK of no rows ends the process in some versions of onnxruntime: there is always one more.
    X = X.concatenate(np.zeros((1, extension.landmarks.rows.shape[1])), axis=0)
    if extension.landmarks.kernel.is_euclidean:
        neighbors, e, gram = _find_near_by_rows(extension, X)
    else:
        neighbors, e, gram = _find_near_by_kernel(extension, X)
    weights = _local_weights(e, gram, extension.n_neighbors)
    found = (weights.expand(1) @ neighbors.look_up_in(coordinates)).squeeze(1)
    return X.graph.apply("Slice", found, *(np.array([number]) for number in (0, -1, 0)))


def _check_exportable(landmarks: KernelLandmarks) -> KernelLandmarks:
    """Landmarks with dense rows and a named kernel; an error for other kernels."""
    kernel = landmarks.kernel
    if isinstance(kernel.function, Kernel):
        kernel = kernel.function
    if kernel.function is not None or landmarks.columns is not None:
        what = "a function" if landmarks.columns is None else "precomputed"
        raise InputError(
            f"a kernel that is {what} cannot be written in ONNX: use one by its name, such as "
            "kernel='rbf'."
        )
    return KernelLandmarks(kernel, to_dense(landmarks.rows).astype(np.float64, copy=False))


def _find_near_by_rows(extension: LocalExtension, X: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Nearest landmarks, half squared feature distances to them (n, k) and among them (n, k, k)."""
    dtype = X.graph.dtype
    points = extension.prepared_landmarks(dtype)
    if extension.landmarks.kernel.name == "cosine":
        prepared = _unit_rows(X)
    else:
        center, scale = extension.center_and_scale
        prepared = ((X - center) * scale).clip(-FAR, FAR)
    ranking = _squared_distances(prepared, points)
    _, neighbors = ranking.to_single().find_smallest(extension.n_neighbors)
    near = neighbors.look_up_in(points)
    squared = _squares(near - prepared.expand(1)).squeeze(2)
    # One column at a time: products with a transpose are fused by some versions of onnxruntime into
    # an operator that is there for float32 only.
    first, *others = (_squares(near - near.slice_at(1, a)) for a in range(extension.n_neighbors))
    among = first.concatenate(*others, axis=2)
    if extension.landmarks.kernel.name == "rbf":
        return neighbors, squared.one_minus_exp(), among.one_minus_exp()
    return neighbors, 0.5 * squared, 0.5 * among


def _squares(differences: Tensor) -> Tensor:
    """Squared lengths (n, k, 1) of vectors (n, k, d)."""
    return (differences * differences).sum(2)


def _find_near_by_kernel(extension: LocalExtension, X: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """As :func:`_find_near_by_rows`, for kernels that Euclidean distances do not determine."""
    kernel, rows = extension.landmarks.kernel, extension.landmarks.rows
    if kernel.name == "laplacian":
        found = kernel.gamma * _city_block_distances(X, rows)
        _, neighbors = found.to_single().find_smallest(extension.n_neighbors)
        e = found.gather_entries(neighbors).one_minus_exp()
    else:  # poly
        own = kernel.polynomial(kernel.gamma * (X * X).sum(1))
        others = kernel.diagonal(rows)
        found = 0.5 * (own + others) - _kernel_values(extension.landmarks, X)
        _, neighbors = found.clip(0.0).to_single().find_smallest(extension.n_neighbors)
        e = found.clip(0.0).gather_entries(neighbors)
        rounding = 8 * np.finfo(X.graph.dtype).eps * (own + others.max())
        e = (e > rounding).where(e, 0.0)
    places = neighbors.expand(2) * np.int64(len(rows)) + neighbors.expand(1)
    return neighbors, e, places.look_up_in(extension.among.ravel())


def _local_weights(e: Tensor, gram: Tensor, k: int) -> Tensor:
    """Weights (n, k), as :func:`nearkin.spaces.feature_space.solve_local_weights` finds them."""
    root = e.sqrt()
    scale = 2.0 * root.expand(2) * root.expand(1)
    apart = NEARER * scale > e.expand(2).larger(e.expand(1))
    correlation = (e.expand(2) + e.expand(1) - gram) / apart.where(scale, 1.0)
    correlation = apart.where(correlation.clip(-1.0, 1.0), 0.0)
    identity = np.eye(k)
    matrices = correlation * (1 - identity) + (1 + EPSILON) * identity
    nearest = e.min(1)
    farther = e > nearest
    ratio = farther.where((nearest / farther.where(e, 1.0)).sqrt(), 1.0)
    weights = _solve(matrices, ratio, k) * ratio
    return weights / weights.sum(1)


def _solve(matrices: Tensor, right: Tensor, k: int) -> Tensor:
    """Solve n positive definite systems (n, k, k) by Gauss–Jordan elimination; solutions (n, k).

    In exact arithmetic no pivot is below the smallest eigenvalue, which is EPSILON at least.
    """
    system = matrices.concatenate(right.expand(2), axis=2)
    for a in range(k):
        row = system.slice_at(1, a)
        row = row / row.slice_at(2, a).clip(EPSILON)
        system = system - (system.slice_at(2, a) - np.eye(k)[:, [a]]) * row
    return system.slice_at(2, k).squeeze(2)


def _kernel_values(landmarks: KernelLandmarks, X: Tensor) -> Tensor:
    """Kernel values (n, m) between rows and landmarks."""
    rows, origin = landmarks.rows, landmarks.middle
    if landmarks.kernel.name == "linear":
        X, rows = X - origin, rows - origin
    return landmarks.kernel.values(_Between(X, rows, origin))


@dataclass(frozen=True)
class _Between:
    """Distances and products of a graph's rows with landmarks, from which kernels are computed."""

    X: Tensor
    rows: Floats
    origin: Floats

    def squared_distances(self) -> Tensor:
        """Squared distances (n, m) between rows and landmarks."""
        return _squared_distances(self.X - self.origin, self.rows - self.origin)

    def city_block_distances(self) -> Tensor:
        return _city_block_distances(self.X, self.rows)

    def products(self, factor: float = 1.0) -> Tensor:
        """Inner products (n, m), times a factor."""
        # Not times the product: onnxruntime makes such a factor part of it, in single precision.
        return self.X @ (factor * self.rows.T)

    def cosines(self) -> Tensor:
        return _unit_rows(self.X) @ unit_rows(self.rows).T

    def exp(self, values: Tensor) -> Tensor:
        return values.exp()


def _squared_distances(X: Tensor, rows: Floats) -> Tensor:
    """Squared distances (n, m) from rows of the graph to constant rows, by products."""
    products = X @ (2 * rows.T)
    return ((X * X).sum(1) + (rows**2).sum(axis=1) - products).clip(0.0)


def _city_block_distances(X: Tensor, rows: Floats) -> Tensor:
    """City block distances (n, m) to constant rows, column by column to save memory."""
    found = (X.slice_at(1, 0) - rows[:, 0]).abs()
    for j in range(1, rows.shape[1]):
        # A zero that makes the column wait: onnxruntime would hold all differences at once.
        column = X.slice_at(1, j) + 0.0 * found.slice_at(1, 0)
        found = found + (column - rows[:, j]).abs()
    return found


def _unit_rows(X: Tensor) -> Tensor:
    """Rows divided by their lengths, safely for any size; rows of zeros stay."""
    largest = X.abs().max(1)
    X = X / (largest > 0.0).where(largest, 1.0)
    length = (X * X).sum(1).sqrt()
    return X / (length > 0.0).where(length, 1.0)


def __dir__() -> list[str]:
    return __all__
