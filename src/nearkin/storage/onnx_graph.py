"""Graphs of ONNX operators, written down as arithmetic.

A :class:`Tensor` stands for what will be computed. Arithmetic with it computes nothing: it adds an
operator to its :class:`Graph`, and gives the tensor that the operator will give. Numbers and NumPy
arrays among the operands become constants.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from nearkin.errors import InputError, explain_missing_package

# The first in which all reductions take their axes the same way: onnxruntime 1.14 and later.
OPSET, IR_VERSION = 18, 8
# A message of protocol buffers has no more bytes.
_MOST_BYTES = 2**31 - 1

Operand: TypeAlias = "Tensor | ArrayLike"


@dataclass
class Graph:
    """Operators in the order they were asked for, and the constants among their inputs.

    Parameters
    ----------
    dtype : float64 or float32
        Of all numbers between input and output, which are float32.
    """

    dtype: DTypeLike
    constants: dict[str, NDArray[Any]] = field(default_factory=dict)
    operators: list[tuple[str, list[str], list[str], dict[str, Any]]] = field(default_factory=list)

    def rows(self) -> Tensor:
        """The graph's input, whatever number of rows."""
        return self.apply("Cast", Tensor(self, "X"), to=_number_of(self.dtype))

    def constant(self, values: ArrayLike) -> Tensor:
        """Numbers in the graph's type; whole numbers of NumPy stay whole."""
        whole = isinstance(values, np.ndarray | np.integer) and values.dtype.kind == "i"
        array = np.asarray(values, dtype=np.int64 if whole else self.dtype)
        name = f"c{len(self.constants)}"
        self.constants[name] = np.ascontiguousarray(array).reshape(array.shape)
        return Tensor(self, name)

    def apply(self, operator: str, *inputs: Operand, **attributes: Any) -> Tensor:
        """The only result of an operator."""
        return self.apply_for(1, operator, *inputs, **attributes)[0]

    def apply_for(
        self, n_results: int, operator: str, *inputs: Operand, **attributes: Any
    ) -> list[Tensor]:
        """The results of an operator."""
        given = [one if isinstance(one, Tensor) else self.constant(one) for one in inputs]
        results = [f"t{len(self.operators)}_{i}" for i in range(n_results)]
        self.operators.append((operator, [one.name for one in given], results, attributes))
        return [Tensor(self, name) for name in results]

    def model(
        self, Z: Tensor, n_columns: int, n_components: int, producer: str, metadata: dict[str, str]
    ) -> bytes:
        """The whole as the content of a file, checked.

        Parameters
        ----------
        Z : Tensor of shape (n, n_components)
            The graph's output.
        n_columns : int
            Of the input.
        n_components : int
        producer : str
            Version of what makes the file.
        metadata : dict of str
        """
        onnx = _onnx()
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
            producer_version=producer,
        )
        helper.set_model_props(model, metadata)
        if model.ByteSize() > _MOST_BYTES:
            raise InputError(
                f"the graph takes {model.ByteSize()} bytes, and an ONNX file holds {_MOST_BYTES} "
                "at most: learn with fewer landmarks."
            )
        onnx.checker.check_model(model)
        return bytes(model.SerializeToString())


@dataclass(frozen=True, eq=False)
class Tensor:
    """What a graph will have computed at some place."""

    graph: Graph
    name: str
    __array_ufunc__ = None  # NumPy leaves arithmetic with its arrays to the methods below

    def __add__(self, other: Operand) -> Tensor:
        return self.graph.apply("Add", self, other)

    def __radd__(self, other: Operand) -> Tensor:
        return self.graph.apply("Add", other, self)

    def __sub__(self, other: Operand) -> Tensor:
        return self.graph.apply("Sub", self, other)

    def __rsub__(self, other: Operand) -> Tensor:
        return self.graph.apply("Sub", other, self)

    def __mul__(self, other: Operand) -> Tensor:
        return self.graph.apply("Mul", self, other)

    def __rmul__(self, other: Operand) -> Tensor:
        return self.graph.apply("Mul", other, self)

    def __truediv__(self, other: Operand) -> Tensor:
        return self.graph.apply("Div", self, other)

    def __pow__(self, other: Operand) -> Tensor:
        return self.graph.apply("Pow", self, other)

    def __matmul__(self, other: Operand) -> Tensor:
        return self.graph.apply("MatMul", self, other)

    def __gt__(self, other: Operand) -> Tensor:
        return self.graph.apply("Greater", self, other)

    def where(self, yes: Operand, no: Operand) -> Tensor:
        """One or the other, by what is true here."""
        return self.graph.apply("Where", self, yes, no)

    def larger(self, other: Operand) -> Tensor:
        """The larger of two, entry by entry."""
        return self.graph.apply("Max", self, other)

    def clip(self, least: float, most: float = np.inf) -> Tensor:
        """Entries raised to the one and lowered to the other."""
        return self.graph.apply("Clip", self, least, most)

    def sqrt(self) -> Tensor:
        """Square roots."""
        return self.graph.apply("Sqrt", self)

    def exp(self) -> Tensor:
        """Exponentials."""
        return self.graph.apply("Exp", self)

    def one_minus_exp(self) -> Tensor:
        """``1 − exp(−x)`` with all its digits, small x included: ``2 t / (1 + t)``, t = tanh(x/2).

        ONNX has no ``expm1``.
        """
        t = self.graph.apply("Tanh", 0.5 * self)
        return 2.0 * t / (1.0 + t)

    def abs(self) -> Tensor:
        """Absolute values."""
        return self.graph.apply("Abs", self)

    def sum(self, axis: int, keep: bool = True) -> Tensor:
        """Sums along an axis, which is left with length one."""
        return self._reduced("ReduceSum", axis, keep)

    def mean(self, axis: int) -> Tensor:
        """Means along an axis, which is left with length one."""
        return self._reduced("ReduceMean", axis, keep=True)

    def min(self, axis: int) -> Tensor:
        """Least entries along an axis, which is left with length one."""
        return self._reduced("ReduceMin", axis, keep=True)

    def max(self, axis: int) -> Tensor:
        """Largest entries along an axis, which is left with length one."""
        return self._reduced("ReduceMax", axis, keep=True)

    def _reduced(self, operator: str, axis: int, keep: bool) -> Tensor:
        return self.graph.apply(operator, self, np.array([axis]), keepdims=int(keep))

    def expanded(self, axis: int) -> Tensor:
        """The same with one more axis, of length one."""
        return self.graph.apply("Unsqueeze", self, np.array([axis]))

    def squeezed(self, axis: int) -> Tensor:
        """The same without an axis of length one."""
        return self.graph.apply("Squeeze", self, np.array([axis]))

    def at(self, axis: int, place: int) -> Tensor:
        """The entries at one place of an axis, which is left with length one."""
        bounds = (np.array([number]) for number in (place, place + 1, axis))
        return self.graph.apply("Slice", self, *bounds)

    def beside(self, *others: Tensor, axis: int) -> Tensor:
        """The tensor and others along an axis."""
        return self.graph.apply("Concat", self, *others, axis=axis)

    def above(self, rows: NDArray[Any]) -> Tensor:
        """The tensor with some rows more at its end."""
        return self.graph.apply("Concat", self, rows, axis=0)

    def without_last(self) -> Tensor:
        """The tensor without its last row."""
        return self.graph.apply("Slice", self, *(np.array([number]) for number in (0, -1, 0)))

    def smallest(self, k: int) -> tuple[Tensor, Tensor]:
        """The k smallest of each row in increasing order, ties by position, and their positions."""
        values, positions = self.graph.apply_for(
            2, "TopK", self, np.array([k]), axis=1, largest=0, sorted=1
        )
        return values, positions

    def coarse(self) -> Tensor:
        """The same in single precision, in which what differs by rounding is equal."""
        return self.graph.apply("Cast", self, to=_number_of(np.float32))

    def picked(self, positions: Tensor) -> Tensor:
        """The entries of each row at given positions."""
        return self.graph.apply("GatherElements", self, positions, axis=1)

    def taken_from(self, array: NDArray[Any]) -> Tensor:
        """``array[positions]`` for the positions here."""
        return self.graph.apply("Gather", array, self, axis=0)


def _number_of(dtype: DTypeLike) -> int:
    """ONNX's number of a type."""
    return int(_onnx().helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))


def _onnx() -> Any:
    with explain_missing_package("ONNX files need onnx", "onnx"):
        import onnx
        import onnx.checker
        import onnx.helper
        import onnx.numpy_helper
    return onnx
