"""Parameters of estimators as fields of dataclasses, and those that many learners share."""

from __future__ import annotations

from dataclasses import dataclass, field
from inspect import signature
from numbers import Integral
from typing import Any, ClassVar, TypeVar, cast, dataclass_transform

from numpy.typing import ArrayLike
from sklearn.utils import Tags
from sklearn.utils._param_validation import Interval

from nearkin.spaces.feature_space import (
    PARAMETER_CONSTRAINTS,
    check_rows_for_kernel,
    set_kernel_tags,
)

_Class = TypeVar("_Class", bound=type)


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(field,))
def with_parameters(cls: _Class) -> _Class:
    """Decorate an estimator whose fields are its parameters, which are given by name.

    It has those of its bases too, after its own in signatures, and their
    ``_parameter_constraints`` beside its own, which need not name a ``bool``.
    """
    made: Any = dataclass(kw_only=True, eq=False, repr=False)(cls)
    constraints: dict[str, list[Any]] = {}
    names = ["self"]
    for base in made.__mro__:
        if "__dataclass_fields__" in vars(base):
            kinds = base.__annotations__
            known = {name: ["boolean"] for name, kind in kinds.items() if kind == "bool"}
            constraints = known | vars(base).get("_parameter_constraints", {}) | constraints
            names += kinds
    made._parameter_constraints = constraints
    given = signature(made.__init__)
    ordered = sorted(given.parameters.values(), key=lambda one: names.index(one.name))
    made.__init__.__signature__ = given.replace(parameters=ordered)
    return cast("_Class", made)


@with_parameters
class SeedParameter:
    """The seed of whatever draws at random."""

    random_state: Any = None

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {"random_state": ["random_state"]}


@with_parameters
class UsualParameters(SeedParameter):
    """Parameters of most learners."""

    n_components: int | None = None
    scale: bool = False

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
    }


@with_parameters
class KernelParameters(UsualParameters):
    """Parameters of learners in the feature space of a kernel, but for the kernel itself."""

    n_landmarks: int | None = None
    landmarks: str | ArrayLike = "random"
    gamma: str | float = "mean"
    degree: float = 3
    coef0: float = 1
    rank_tol: float | None = None
    n_neighbors: int = 5

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = PARAMETER_CONSTRAINTS


class KernelRowsMixin:
    """Rows such as a learner's ``kernel`` takes, if it has one; before other bases."""

    kernel: Any

    def _check_rows(self, X: Any, *, reset: bool = False) -> Any:
        """Return X checked as rows for the kernel."""
        if self.kernel is None:
            return super()._check_rows(X, reset=reset)  # type: ignore[misc]
        return check_rows_for_kernel(self, X, reset=reset)

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()  # type: ignore[misc]
        return tags if self.kernel is None else set_kernel_tags(tags, self.kernel)
