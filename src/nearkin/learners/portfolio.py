"""The learners that MetricLearner chooses among, and what it makes of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from nearkin.learners.column_weights import ColumnWeights
from nearkin.learners.compositions import Chain
from nearkin.learners.cosine_metric import CosineMetric
from nearkin.learners.euclidean import Euclidean
from nearkin.learners.geometry_aware import GeometryAware
from nearkin.learners.gmml import GMML
from nearkin.learners.itml import ITML
from nearkin.learners.kernel_beta import KernelBeta
from nearkin.learners.plda import PLDA
from nearkin.learners.rca import RCA
from nearkin.learners.selection_report import EUCLIDEAN, Recipe

COSINE = "CosineMetric"
_OF_ALL_COLUMNS = " of all columns"
# Landmarks of a metric on a graph.
_LEAST_ON_GRAPH = 1000


@dataclass(frozen=True)
class Ingredient:
    """A learner that may be a part of the metric.

    Attributes
    ----------
    learner : estimator
    seconds : float
        About as many takes a fit to 1000 rows.
    share : float
        In the usual blend; shares of all are in proportion to this.
    needs_must_links : bool
    sees_all_columns : bool
        Where others see only the leading principal axes.
    takes_triplets : bool
    carries_over : bool
        To classes that no pair told of: it changes what there is of distances, where others find
        the few directions that tell known classes apart.
    keeps_columns : bool
        Where others see axes, however many.
    """

    learner: Any
    seconds: float
    share: float = 0.0
    needs_must_links: bool = False
    sees_all_columns: bool = False
    takes_triplets: bool = True
    carries_over: bool = False
    keeps_columns: bool = False


def ingredients(
    n_landmarks: int, n_rows: int, seed: int, *, some_columns: bool = False, groups: Any = None
) -> dict[str, Ingredient]:
    """Learners by name, the cheapest first.

    Parameters
    ----------
    n_landmarks, n_rows, seed : int
    some_columns : bool, default=False
        Whether learners see less than all columns. Some of them may take part on all columns then.
    groups : array of str, optional
        For each column, what it belongs to, where columns belong together.
    """
    some: dict[str, Any] = {"random_state": seed}
    landmarks: dict[str, Any] = {
        "n_landmarks": n_landmarks if n_landmarks < n_rows else None,
        **some,
    }
    # Between fewer rows of a graph too much of what it tells is lost.
    n_on_graph = max(n_landmarks, _LEAST_ON_GRAPH)
    on_graph = {"n_landmarks": n_on_graph if n_on_graph < n_rows else None, **some}
    cosine = KernelBeta(kernel="cosine", **landmarks)
    # Rows far from all landmarks keep their distance to them by the Nyström formula only.
    far = {"extension": "nystroem", **landmarks}
    rbf = KernelBeta(gamma="median", **far)
    in_kernel = ITML(kernel="rbf", tol=1e-3, **far)
    linear, columns = ITML(tol=1e-3, **some), ColumnWeights(**some)
    found = {
        EUCLIDEAN: Ingredient(Euclidean(**some), 0.0, sees_all_columns=True),
        "ITML": Ingredient(linear, 0.02, 0.05, carries_over=True),
        "column weights": Ingredient(columns, 0.02, 0.05, takes_triplets=False, carries_over=True),
        "ITML, then cosine kernel": Ingredient(Chain([linear, cosine]), 0.05, 0.11),
        "ITML, then rbf kernel": Ingredient(Chain([linear, rbf]), 0.05, 0.11),
        "ITML, then ITML in rbf kernel": Ingredient(
            Chain([linear, in_kernel]), 0.05, 0.11, carries_over=True
        ),
        "GMML, then cosine kernel": Ingredient(
            Chain([GMML(**some), cosine]), 0.05, 0.11, takes_triplets=False
        ),
        "RCA, then cosine kernel": Ingredient(
            Chain([RCA(**some), cosine]),
            0.05,
            0.11,
            needs_must_links=True,
            takes_triplets=False,
        ),
        "column weights, then rbf kernel": Ingredient(
            Chain([columns, rbf]), 0.05, 0.1, takes_triplets=False
        ),
        "ITML in rbf kernel": Ingredient(in_kernel, 0.05, 0.1, carries_over=True),
        COSINE: Ingredient(
            CosineMetric(**some), 0.05, 0.1, takes_triplets=False, carries_over=True
        ),
        f"{COSINE}, rbf kernel": Ingredient(
            CosineMetric(kernel="rbf", **far), 0.05, 0.3, takes_triplets=False, carries_over=True
        ),
        "PLDA": Ingredient(
            PLDA(**some),
            0.02,
            0.1,
            needs_must_links=True,
            takes_triplets=False,
            carries_over=True,
        ),
        "KernelBeta": Ingredient(KernelBeta(**far), 0.05, 0.05),
        "KernelBeta, cosine": Ingredient(cosine, 0.05, 0.05),
        "GeometryAware": Ingredient(GeometryAware(n_iter=3, **on_graph), 0.1),
    }
    if groups is not None:
        plain = {EUCLIDEAN: found.pop(EUCLIDEAN)}
        found = plain | _of_groups(ColumnWeights(groups=groups, **some), rbf) | found
    if not some_columns:
        return found
    of_all_columns = {
        name + _OF_ALL_COLUMNS: replace(one, sees_all_columns=True, share=0.0)
        for name, one in found.items()
        if name.startswith(("ITML", "GMML", "RCA", "PLDA", COSINE)) and name != "ITML in rbf kernel"
    }
    return {**found, **of_all_columns}


def _of_groups(weights: ColumnWeights, rbf: KernelBeta) -> dict[str, Ingredient]:
    """Learners that know which columns belong together: few pairs can tell little else."""
    options: dict[str, Any] = {"takes_triplets": False, "keeps_columns": True}
    return {
        "weights of groups": Ingredient(weights, 0.02, 6.0, carries_over=True, **options),
        "weights of groups, then rbf kernel": Ingredient(Chain([weights, rbf]), 0.05, **options),
    }


def carrying_over(found: dict[str, Ingredient]) -> dict[str, Ingredient]:
    """Those that carry over to new classes, of equal shares, and the Euclidean distance."""
    return {
        name: replace(one, share=float(one.share > 0))
        for name, one in found.items()
        if one.carries_over or name == EUCLIDEAN
    }


def usual_blend(ingredients: dict[str, Ingredient]) -> Recipe:
    """Shares of those that could be fitted, before any pair is looked at."""
    total = sum(one.share for one in ingredients.values())
    return {name: one.share / total for name, one in ingredients.items() if one.share}
