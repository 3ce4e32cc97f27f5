"""Every learner in one line, which all go by that list learners.

A learner that is in this list is found as ``nearkin.<name>``, by ``nearkin fit --learner
<command>``, in model files, and as ``nearkin.dask.Dask<name>``. Nothing is imported for it here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Learner:
    """A learner's class name, module and abilities."""

    name: str
    module: str  # of nearkin.learners
    command: str | None = None  # its name on the command line
    sparse: bool = False  # whether it learns from sparse rows
    elsewhere: bool = False  # and from files, streams and Dask

    @property
    def home(self) -> str:
        """Dotted name of the module of its class."""
        return f"nearkin.learners.{self.module}"


# In the order in which they are named to users.
LEARNERS = (
    Learner("MetricLearner", "metric_learner", "auto", sparse=True, elsewhere=True),
    Learner("KernelBeta", "kernel_beta", "kernel-beta", sparse=True, elsewhere=True),
    Learner("KernelA", "moving_points", "kernel-a", sparse=True),
    Learner("LLMA", "moving_points", "llma"),
    Learner("ITML", "itml", "itml", sparse=True, elsewhere=True),
    Learner("GMML", "gmml", "gmml", sparse=True, elsewhere=True),
    Learner("CosineMetric", "cosine_metric", "cosine", sparse=True, elsewhere=True),
    Learner("PLDA", "plda", "plda", sparse=True, elsewhere=True),
    Learner("ColumnWeights", "column_weights", "column-weights", sparse=True, elsewhere=True),
    Learner("GeometryAware", "geometry_aware", "geometry-aware", sparse=True),
    Learner("Generative", "generative", "generative", elsewhere=True),
    Learner("LMNN", "lmnn", "lmnn"),
    Learner("RCA", "rca", "rca", sparse=True, elsewhere=True),
    Learner("Euclidean", "euclidean", "euclidean", sparse=True, elsewhere=True),
    Learner("Chain", "compositions"),
    Learner("Blend", "compositions"),
    Learner("Distilled", "compositions", sparse=True),
)

_importers: list[Callable[[str], object]] = []


def add_importer(importer: Callable[[str], object]) -> None:
    """Register a function that imports the class of a name, if it knows the name."""
    _importers.append(importer)


def import_named(name: str) -> None:
    """Import the class that a model file names, by the registered importers."""
    for importer in _importers:
        importer(name)
