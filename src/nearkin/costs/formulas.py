"""How the work and the memory of learners grow: the terms of a sum, without their prices.

A term is a number of operations, or of bytes, up to a factor that trial runs tell
(:mod:`nearkin.costs.fitting`).
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any

from sklearn.base import clone

from nearkin.spaces.feature_space import USUAL_LANDMARKS, default_n_landmarks

Terms = dict[str, float]
JOBS = ("fit", "transform")

# Learners whose work grows faster than the rows, whatever their landmarks.
_BY_SQUARES = ("LMNN", "KernelA", "LLMA", "GeometryAware", "MetricLearner")
# Up to here these learners look at all pairs of rows, beyond at neighbours.
_DENSE_ROWS = 2000
# Rows that MetricLearner compares learners on.
_COMPARED_ROWS = 5000


@dataclass(frozen=True)
class Size:
    """How large a job is.

    Attributes
    ----------
    n, d : int
        Rows and columns.
    m : int or None
        Landmarks; None if every row is one.
    p : int
        Pairs.
    itemsize : int
        Bytes of a number.
    """

    n: int
    d: int
    m: int | None = None
    p: int = 200
    itemsize: int = 8

    @property
    def k(self) -> int:
        """Rows that the kernel is computed for."""
        return self.n if self.m is None else min(self.m, self.n)


def has_kernel(learner: Any) -> bool:
    """Whether a learner works in the feature space of a kernel."""
    return getattr(learner, "kernel", None) is not None and type(learner).__name__ != (
        "GeometryAware"
    )


def is_exact(learner: Any) -> bool:
    """Whether every row is a landmark, so that n × n numbers are held."""
    named = not isinstance(getattr(learner, "landmarks", "random"), str)
    return has_kernel(learner) and getattr(learner, "n_landmarks", 0) is None and not named


def takes_many_landmarks(learner: Any) -> bool:
    """Whether fewer landmarks would save much memory."""
    return is_exact(learner) or (has_kernel(learner) and _kernel_rows(learner, 0) > USUAL_LANDMARKS)


def with_usual_landmarks(learner: Any, n: int) -> Any:
    """The learner with as many landmarks as it takes of n rows where nobody says it."""
    usual = default_n_landmarks(n)
    if usual is None or not any(map(is_exact, parts_of(learner))):
        return learner
    settled = clone(learner)
    for part in parts_of(settled):
        if is_exact(part):
            part.set_params(n_landmarks=usual)
    return settled


def has_squares(learner: Any) -> bool:
    """Whether work grows faster than the rows, so that runs must be near the job."""
    return any(is_exact(part) or type(part).__name__ in _BY_SQUARES for part in parts_of(learner))


def name_of_rows(job: str) -> str:
    """The term for all that grows with the rows."""
    return "rows" if job == "fit" else "products"


def holds_squares(learner: Any, size: Size) -> bool:
    """Whether as many numbers are held as there are pairs of rows."""
    few = ("KernelA", "LLMA") if size.n <= _DENSE_ROWS else ()
    return any(
        is_exact(part) or type(part).__name__ in ("LMNN", *few) for part in parts_of(learner)
    )


def landmarks_of(learner: Any) -> int | None:
    """How many landmarks a learner takes, None if it takes all rows or needs none."""
    named = getattr(learner, "landmarks", "random")
    if not isinstance(named, str):
        return len(named)
    found: int | None = getattr(learner, "n_landmarks", None)
    return found


def parts_of(learner: Any) -> list[Any]:
    """The learners of a composition, or the learner itself."""
    steps = getattr(learner, "steps", None) or getattr(learner, "learners", None)
    return [learner] if steps is None else [part for step in steps for part in parts_of(step)]


def fit_terms(learner: Any, size: Size) -> Terms:
    """The parts of ``fit`` of one learner."""
    n, d, p, k = size.n, size.d, size.p, size.k
    name = type(learner).__name__
    if name == "LMNN":
        return {"start": 1, "neighbours": n * n * d, "rows": n * d * d}
    if name == "Generative":
        return {"start": 1, "rows": n * d * d, "a matrix for each row": n * d**3}
    if name in ("KernelA", "LLMA"):
        if n <= _DENSE_ROWS:
            return {"start": 1, "pairs of rows": n * n * d, "n × n matrices": n**3}
        return {"start": 1, "neighbours": n * n * d, "rows": n * min(k, _DENSE_ROWS) * d}
    if name == "GeometryAware":
        return {"start": 1, "neighbours": n * n * d, "vectors": n * learner.n_vectors}
    if name == "MetricLearner":
        return {"start": 1, "comparison": min(n, _COMPARED_ROWS), "rows": n * d}
    if has_kernel(learner):
        kernel = {"kernel": k * k * d, "eigenvectors": k**3, "pairs": p * k}
        return {"start": 1, "rows": n * d, **kernel}
    return {"start": 1, "rows": n * d * d, "d × d matrices": d**3, "pairs": p * d * d}


def transform_terms(learner: Any, size: Size) -> Terms:
    """The parts of ``transform`` of as many rows."""
    n, d, k = size.n, size.d, size.k
    if has_kernel(learner) or type(learner).__name__ in ("MetricLearner", "KernelA"):
        columns = min(getattr(learner, "n_components", None) or k, k)
        products = {"products with landmarks": n * k * d, "columns": n * columns}
        if is_exact(learner):
            products["n × n matrices"] = n * k * columns
        return {"start": 1, **products}
    if type(learner).__name__ == "GeometryAware":
        return {"start": 1, "neighbours": n * k * d}
    return {"start": 1, "products": n * d * d}


def memory_terms(learner: Any, size: Size) -> Terms:
    """What is held at a time: rows, images, and what has as many numbers as landmarks squared."""
    n, d, k = size.n, size.d, size.k
    rows = {"start": 1.0, "rows": n * d * size.itemsize}
    if type(learner).__name__ in ("KernelA", "LLMA"):
        few = {"pairs of rows": n * n * size.itemsize}
        return {**rows, **(few if n <= _DENSE_ROWS else {"images": n * k * size.itemsize})}
    if has_kernel(learner):
        return {**rows, "images": n * k * size.itemsize, "k × k matrices": k * k * size.itemsize}
    if type(learner).__name__ == "LMNN":
        return {**rows, "pairs of rows": n * n}
    return {**rows, "d × d matrices": d * d * 8}


def job_terms(learner: Any, size: Size, job: str) -> Terms:
    """The parts of a job, of all learners of a composition together."""
    terms = {
        "fit": fit_terms,
        "transform": transform_terms,
        "fit_memory": memory_terms,
        "transform_memory": memory_terms,
    }[job]
    found: Terms = {}
    for part in parts_of(learner):
        if hasattr(part, "random_state") or hasattr(part, "scale"):
            for name, amount in terms(part, size).items():
                found[name] = found.get(name, 0.0) + amount
    return {**(found or {"rows": size.n * size.d}), "start": 1}


def least_memory(learner: Any, size: Size, *, in_memory: bool = True) -> int:
    """Bytes that a fit needs at least, whatever the machine; rows may be read from files."""
    rows = size.n * size.d * size.itemsize if in_memory else 0
    square = max(min(_kernel_rows(part, size.n), size.n) for part in parts_of(learner))
    return rows + square * square * size.itemsize


def _kernel_rows(learner: Any, n: int) -> int:
    """Rows that a learner's kernel matrix is of, if there are so many; 0 without a kernel."""
    if not has_kernel(learner):
        return 0
    found: Any = landmarks_of(learner)
    if found is None:
        return default_n_landmarks(n) or n
    return int(found) if isinstance(found, Integral) else 0  # fit refuses what is no number


def fewest_rows(learner: Any, n: int) -> int:
    """From how many rows on a learner works as it does with n."""
    names = {type(part).__name__ for part in parts_of(learner)}
    return _DENSE_ROWS + 1 if names & {"KernelA", "LLMA"} and n > _DENSE_ROWS else 500
