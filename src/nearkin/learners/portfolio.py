"""The learners that MetricLearner chooses among, and what it makes of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from nearkin.learners.compositions import Chain
from nearkin.learners.euclidean import Euclidean
from nearkin.learners.geometry_aware import GeometryAware
from nearkin.learners.gmml import GMML
from nearkin.learners.itml import ITML
from nearkin.learners.kernel_a import KernelA
from nearkin.learners.kernel_beta import KernelBeta
from nearkin.learners.lmnn import LMNN
from nearkin.learners.rca import RCA
from nearkin.learners.selection import EUCLIDEAN, Recipe

USUAL = "usual blend"
_OF_ALL_COLUMNS = " of all columns"
USUAL_OF_ALL_COLUMNS = USUAL + _OF_ALL_COLUMNS
# Parts of the usual blend, which is better in the mean than any of them: their mistakes differ.
_USUAL_PARTS = (
    "ITML, then cosine kernel",
    "ITML, then rbf kernel",
    "ITML, then ITML in rbf kernel",
    "GMML, then cosine kernel",
    "RCA, then cosine kernel",
)
_IN_KERNEL = "ITML in rbf kernel"
_ON_GRAPH = "GeometryAware"


@dataclass(frozen=True)
class Ingredient:
    """A learner, about how many seconds a fit to 1000 rows takes, and what it needs.

    Must-links perhaps, all columns where others see only the leading principal axes, and nothing
    but pairs.
    """

    learner: Any
    seconds: float
    needs_must_links: bool = False
    sees_all_columns: bool = False
    takes_triplets: bool = True


def ingredients(
    n_landmarks: int, n_rows: int, seed: int, *, some_columns: bool = False
) -> dict[str, Ingredient]:
    """Learners by name, those of the usual blend first, then by their cost.

    Parameters
    ----------
    n_landmarks, n_rows, seed : int
    some_columns : bool, default=False
        Whether learners see less than all columns. Some of them are compared with themselves on
        all columns then.
    """
    some: dict[str, Any] = {"random_state": seed}
    landmarks: dict[str, Any] = {
        "n_landmarks": n_landmarks if n_landmarks < n_rows else None,
        **some,
    }
    cosine = KernelBeta(kernel="cosine", **landmarks)
    # Rows far from all landmarks keep their distance to them by the Nyström formula only.
    rbf = KernelBeta(gamma="median", extension="nystroem", **landmarks)
    in_kernel = ITML(kernel="rbf", tol=1e-3, extension="nystroem", **landmarks)
    linear = ITML(tol=1e-3, **some)
    parts = (
        Ingredient(Chain([linear, cosine]), 0.05),
        Ingredient(Chain([linear, rbf]), 0.05),
        Ingredient(Chain([linear, in_kernel]), 0.05),
        Ingredient(Chain([GMML(**some), cosine]), 0.05, takes_triplets=False),
        Ingredient(Chain([RCA(**some), cosine]), 0.05, needs_must_links=True, takes_triplets=False),
    )
    usual = dict(zip(_USUAL_PARTS, parts, strict=True))
    of_all_columns = {**usual, "ITML": Ingredient(linear, 0.02)} if some_columns else {}
    return {
        EUCLIDEAN: Ingredient(Euclidean(**some), 0.0, sees_all_columns=True),
        **usual,
        "ITML": Ingredient(linear, 0.02),
        **{
            name + _OF_ALL_COLUMNS: replace(ingredient, sees_all_columns=True)
            for name, ingredient in of_all_columns.items()
        },
        _IN_KERNEL: Ingredient(in_kernel, 0.05),
        _ON_GRAPH: Ingredient(GeometryAware(**some), 0.1),
        "KernelA": Ingredient(KernelA(**landmarks), 0.3),
        "LMNN": Ingredient(LMNN(**some), 2.0, takes_triplets=False),
    }


def recipes(available: list[str]) -> dict[str, Recipe]:
    """The metrics to compare, of the learners that could be fitted.

    A usual blend has those of its parts that could, with equal shares.
    """
    usual = _usual(available, "")
    blends = {USUAL: usual}
    if of_all_columns := _usual(available, _OF_ALL_COLUMNS):
        blends[USUAL_OF_ALL_COLUMNS] = of_all_columns
    for other in (_IN_KERNEL, _ON_GRAPH):
        if other in available:
            shares = {name: 0.7 * share for name, share in usual.items()}
            blends[f"{USUAL} and {other}"] = {**shares, other: 0.3}
    # Its parts on all columns are compared as one only: each is no new idea.
    alone = [name for name in available if name not in of_all_columns]
    return {**{name: {name: 1.0} for name in alone}, **blends}


def _usual(available: list[str], kind: str) -> Recipe:
    parts = [name + kind for name in _USUAL_PARTS if name + kind in available]
    return {name: 1 / len(parts) for name in parts}
