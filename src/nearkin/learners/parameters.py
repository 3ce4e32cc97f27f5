"""Parameters of estimators as fields of dataclasses, and those that many learners share."""

from __future__ import annotations

from dataclasses import dataclass, field
from inspect import get_annotations, signature
from itertools import chain
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    ClassVar,
    Literal,
    TypeAlias,
    TypeVar,
    Union,
    cast,
    dataclass_transform,
    get_args,
    get_origin,
)

from numpy.typing import ArrayLike
from sklearn.utils import Tags
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from nearkin.spaces.feature_space import (
    PARAMETER_CONSTRAINTS,
    check_rows_for_kernel,
    set_kernel_tags,
)

_Class = TypeVar("_Class", bound=type)

# Types of parameters, and what scikit-learn is to check of them.
Count: TypeAlias = Annotated[int, Interval(Integral, 1, None, closed="left")]
Positive: TypeAlias = Annotated[float, Interval(Real, 0, None, closed="neither")]
NotNegative: TypeAlias = Annotated[float, Interval(Real, 0, None, closed="left")]
Share: TypeAlias = Annotated[float, Interval(Real, 0, 1, closed="both")]
Listed: TypeAlias = Annotated[ArrayLike, "array-like"]
Seed: TypeAlias = Annotated[Any, "random_state"]
Transformer: TypeAlias = Annotated[Any, HasMethods(["fit", "transform"])]


def list_constraints(kind: Any) -> list[Any]:
    """What scikit-learn is to allow where this is the type of a parameter; empty if it is open."""
    if get_origin(kind) is Annotated:
        return list(kind.__metadata__)
    if get_origin(kind) is Literal:
        return [StrOptions(set(get_args(kind)))]
    if get_origin(kind) in (Union, UnionType):
        parts = [list_constraints(part) for part in get_args(kind)]
        return list(chain(*parts)) if all(parts) else []
    plain: dict[Any, list[Any]] = {bool: ["boolean"], NoneType: [None]}
    return plain.get(kind, [])


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(field,))
def with_parameters(cls: _Class) -> _Class:
    """Decorate an estimator whose fields are its parameters, which are given by name.

    It has those of its bases too, after its own in signatures. What scikit-learn checks of one is
    told by its type, or else by ``_parameter_constraints``, also those of bases.
    """
    made: Any = dataclass(kw_only=True, eq=False, repr=False)(cls)
    constraints: dict[str, list[Any]] = {}
    names = ["self"]
    for base in made.__mro__:
        if "__dataclass_fields__" in vars(base):
            kinds = get_annotations(base, eval_str=True)
            told = {name: found for name in kinds if (found := list_constraints(kinds[name]))}
            constraints = told | vars(base).get("_parameter_constraints", {}) | constraints
            names += kinds
    made._parameter_constraints = constraints
    given = signature(made.__init__)
    ordered = sorted(given.parameters.values(), key=lambda one: names.index(one.name))
    made.__init__.__signature__ = given.replace(parameters=ordered)
    return cast("_Class", made)


@with_parameters
class SeedParameter:
    """The seed of whatever draws at random."""

    random_state: Seed = None


@with_parameters
class UsualParameters(SeedParameter):
    """Parameters of most learners."""

    n_components: Count | None = None
    scale: bool = False


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
