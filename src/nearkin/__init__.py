"""Learn a distance from a few pairs.

You have rows of numbers, and know of some pairs of rows that they are alike or that they differ.
nearkin learns a distance that agrees with that, also for new rows:

>>> import nearkin as nk
>>> X, y = nk.datasets.make_xor(400, random_state=0)
>>> pairs = nk.Pairs.from_labels(y, n_pairs=50, random_state=0)  # or Pairs(must_link=[(0, 5)], ...)
>>> metric = nk.MetricLearner(random_state=0).fit(X, pairs=pairs)
>>> Z = metric.transform(X)  # Euclidean distances between rows of Z are the learned ones
>>> metric.score(X, y) > 0.9  # how often a pair of one class is closer than one of two
True

Where to look:

- ``Pairs``: what is known to be alike or different, from row numbers, labels or data frames
- ``MetricLearner``: chooses a metric by pairs that it holds out; ``metric.report_`` says why.
  ``KernelBeta``, ``KernelA``, ``LLMA``, ``ITML``, ``GMML``, ``GeometryAware``, ``Generative``,
  ``LMNN``, ``RCA``: one method each; ``Chain``, ``Blend``: several of them together
- ``cross_validate``, ``grid_search``, ``PairKFold``, ``scores``: how good is it?
- ``NeighborIndex``, ``MPCKMeans``, ``EnergyClassifier``, ``ManifoldAlignment``: what to do with it
- ``suggest_pairs``, ``learn_actively``, ``studio``: which pairs to ask about, and where to answer
- ``metric.save``, ``load``, ``onnx_file``: keep a metric in a file; ``open_rows``: rows that do not
  fit into memory; ``nearkin.dask``: rows on a cluster; ``plot``: pictures

``help(nk.MetricLearner)`` says more of each. ``nearkin --help`` is the same for files.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from nearkin._version import __version__ as __version__

if TYPE_CHECKING:
    from nearkin import datasets, onnx_file, plot, scores
    from nearkin.errors import NearkinError
    from nearkin.learners.compositions import Blend, Chain
    from nearkin.learners.euclidean import Euclidean
    from nearkin.learners.generative import Generative
    from nearkin.learners.geometry_aware import GeometryAware
    from nearkin.learners.gmml import GMML
    from nearkin.learners.itml import ITML
    from nearkin.learners.kernel_a import KernelA
    from nearkin.learners.kernel_beta import KernelBeta
    from nearkin.learners.live_view import LiveView
    from nearkin.learners.llma import LLMA
    from nearkin.learners.lmnn import LMNN
    from nearkin.learners.metric_learner import MetricLearner
    from nearkin.learners.rca import RCA
    from nearkin.learners.selection import SelectionWarning
    from nearkin.pairs.pairs import Conflict, Pairs
    from nearkin.pairs.supervision import ContradictionWarning
    from nearkin.rows.open import open_rows
    from nearkin.rows.scaled import ScaleWarning
    from nearkin.scores.suspects import Suspect
    from nearkin.spaces.spread_pairs import spread_pairs
    from nearkin.storage import models as model_file
    from nearkin.storage.arrays import StorageError
    from nearkin.storage.models import load
    from nearkin.tasks.cross_validation import PairKFold, cross_validate, grid_search
    from nearkin.tasks.energy_classifier import EnergyClassifier
    from nearkin.tasks.manifold_alignment import ManifoldAlignment, pairs_between
    from nearkin.tasks.metric_kmeans import MetricKMeans
    from nearkin.tasks.mpck_means import MPCKMeans
    from nearkin.tasks.multiple_kernel import MultipleKernelClassifier
    from nearkin.tasks.neighbor_index import NeighborIndex
    from nearkin.tasks.questions.active import ActiveResult, Oracle, learn_actively
    from nearkin.tasks.questions.suggest import suggest_pairs
    from nearkin.teaching.notebook import studio

__all__ = [
    "GMML",
    "ITML",
    "LLMA",
    "LMNN",
    "RCA",
    "ActiveResult",
    "Blend",
    "Chain",
    "Conflict",
    "ContradictionWarning",
    "EnergyClassifier",
    "Euclidean",
    "Generative",
    "GeometryAware",
    "KernelA",
    "KernelBeta",
    "LiveView",
    "MPCKMeans",
    "ManifoldAlignment",
    "MetricKMeans",
    "MetricLearner",
    "MultipleKernelClassifier",
    "NearkinError",
    "NeighborIndex",
    "Oracle",
    "PairKFold",
    "Pairs",
    "ScaleWarning",
    "SelectionWarning",
    "StorageError",
    "Suspect",
    "cross_validate",
    "datasets",
    "grid_search",
    "learn_actively",
    "load",
    "model_file",
    "onnx_file",
    "open_rows",
    "pairs_between",
    "plot",
    "scores",
    "spread_pairs",
    "studio",
    "suggest_pairs",
]

# Where each name is. They are imported when first used, so that what needs little of the library,
# such as the command line's help, does not wait for the rest.
_HOMES = {
    "ActiveResult": "nearkin.tasks.questions.active",
    "Blend": "nearkin.learners.compositions",
    "Chain": "nearkin.learners.compositions",
    "Conflict": "nearkin.pairs.pairs",
    "ContradictionWarning": "nearkin.pairs.supervision",
    "EnergyClassifier": "nearkin.tasks.energy_classifier",
    "Euclidean": "nearkin.learners.euclidean",
    "GMML": "nearkin.learners.gmml",
    "Generative": "nearkin.learners.generative",
    "GeometryAware": "nearkin.learners.geometry_aware",
    "ITML": "nearkin.learners.itml",
    "KernelA": "nearkin.learners.kernel_a",
    "KernelBeta": "nearkin.learners.kernel_beta",
    "LLMA": "nearkin.learners.llma",
    "LMNN": "nearkin.learners.lmnn",
    "LiveView": "nearkin.learners.live_view",
    "MPCKMeans": "nearkin.tasks.mpck_means",
    "ManifoldAlignment": "nearkin.tasks.manifold_alignment",
    "MetricKMeans": "nearkin.tasks.metric_kmeans",
    "MetricLearner": "nearkin.learners.metric_learner",
    "MultipleKernelClassifier": "nearkin.tasks.multiple_kernel",
    "NearkinError": "nearkin.errors",
    "NeighborIndex": "nearkin.tasks.neighbor_index",
    "Oracle": "nearkin.tasks.questions.active",
    "PairKFold": "nearkin.tasks.cross_validation",
    "Pairs": "nearkin.pairs.pairs",
    "RCA": "nearkin.learners.rca",
    "ScaleWarning": "nearkin.rows.scaled",
    "SelectionWarning": "nearkin.learners.selection",
    "StorageError": "nearkin.storage.arrays",
    "Suspect": "nearkin.scores.suspects",
    "cross_validate": "nearkin.tasks.cross_validation",
    "grid_search": "nearkin.tasks.cross_validation",
    "learn_actively": "nearkin.tasks.questions.active",
    "load": "nearkin.storage.models",
    "open_rows": "nearkin.rows.open",
    "pairs_between": "nearkin.tasks.manifold_alignment",
    "spread_pairs": "nearkin.spaces.spread_pairs",
    "studio": "nearkin.teaching.notebook",
    "suggest_pairs": "nearkin.tasks.questions.suggest",
}


# Modules that are public. All others are private: they may change from one version to the next.
_MODULES = {
    "dask": "nearkin.dask",
    "datasets": "nearkin.datasets",
    "model_file": "nearkin.storage.models",
    "onnx_file": "nearkin.onnx_file",
    "plot": "nearkin.plot",
    "scores": "nearkin.scores",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
    elif name in _MODULES:
        value = import_module(_MODULES[name])
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__doc__", "__version__"])
