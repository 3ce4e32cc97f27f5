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
  ``Answers``: the same from several people, who may disagree
- ``MetricLearner``: chooses a metric by pairs that it holds out; ``metric.report_`` says why.
  ``KernelBeta``, ``KernelA``, ``LLMA``, ``ITML``, ``GMML``, ``CosineMetric``, ``PLDA``,
  ``ColumnWeights``, ``GeometryAware``, ``Generative``, ``LMNN``, ``RCA``: one method each;
  ``Chain``, ``Blend``: several of them together
- ``TableEncoder``: tables with words, dates and gaps as rows of numbers, as learners take them, too
- ``cross_validate``, ``grid_search``, ``PairKFold``, ``scores``: how good is it?
- ``NeighborIndex``, ``Clusters``, ``MPCKMeans``, ``EnergyClassifier``, ``ManifoldAlignment``: what
  to do with it
- ``RecordMatcher``, ``link``: records of a table, or of two, that are the same thing
- ``suggest_pairs``, ``learn_actively``, ``studio``: which pairs to ask about, and where to answer;
  ``outlook``: what further answers would gain
- ``estimate``: what a job will cost, before it is begun
- ``metric.map_``, ``maps``: what was learned, as a value
- ``metric.save``, ``load``, ``onnx_file``: keep a metric in a file; ``open_rows``: rows that do not
  fit into memory; ``nearkin.dask``: rows on a cluster; ``plot``: pictures

``help(nk.MetricLearner)`` says more of each. ``nearkin --help`` is the same for files.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from nearkin._version import __version__ as __version__
from nearkin.registry import LEARNERS, add_importer

if TYPE_CHECKING:
    from nearkin import datasets as datasets
    from nearkin import onnx_file as onnx_file
    from nearkin import plot as plot
    from nearkin import scores as scores
    from nearkin import studio as studio
    from nearkin.clustering.clusters import Clusters as Clusters
    from nearkin.clustering.metric_kmeans import MetricKMeans as MetricKMeans
    from nearkin.clustering.mpck_means import MPCKMeans as MPCKMeans
    from nearkin.errors import NearkinError as NearkinError
    from nearkin.estimates import Estimate as Estimate
    from nearkin.estimates import estimate as estimate
    from nearkin.learners.column_weights import ColumnWeights as ColumnWeights
    from nearkin.learners.compositions import Blend as Blend
    from nearkin.learners.compositions import Chain as Chain
    from nearkin.learners.compositions import Distilled as Distilled
    from nearkin.learners.compositions import FidelityWarning as FidelityWarning
    from nearkin.learners.cosine_metric import CosineMetric as CosineMetric
    from nearkin.learners.euclidean import Euclidean as Euclidean
    from nearkin.learners.generative import Generative as Generative
    from nearkin.learners.geometry_aware import GeometryAware as GeometryAware
    from nearkin.learners.gmml import GMML as GMML
    from nearkin.learners.itml import ITML as ITML
    from nearkin.learners.kernel_beta import KernelBeta as KernelBeta
    from nearkin.learners.live_view import LiveView as LiveView
    from nearkin.learners.lmnn import LMNN as LMNN
    from nearkin.learners.metric_learner import MetricLearner as MetricLearner
    from nearkin.learners.moving_points import LLMA as LLMA
    from nearkin.learners.moving_points import KernelA as KernelA
    from nearkin.learners.plda import PLDA as PLDA
    from nearkin.learners.rca import RCA as RCA
    from nearkin.learners.selection import SelectionWarning as SelectionWarning
    from nearkin.pairs.answers import Answerer as Answerer
    from nearkin.pairs.answers import Answers as Answers
    from nearkin.pairs.pairs import Conflict as Conflict
    from nearkin.pairs.pairs import Pairs as Pairs
    from nearkin.pairs.pairs import TripletCircle as TripletCircle
    from nearkin.pairs.supervision import ContradictionWarning as ContradictionWarning
    from nearkin.questions.active import ActiveResult as ActiveResult
    from nearkin.questions.active import Oracle as Oracle
    from nearkin.questions.active import learn_actively as learn_actively
    from nearkin.questions.outlook import Outlook as Outlook
    from nearkin.questions.outlook import outlook as outlook
    from nearkin.questions.strategies import suggest_pairs as suggest_pairs
    from nearkin.records.matcher import RecordMatcher as RecordMatcher
    from nearkin.records.matcher import link as link
    from nearkin.records.matcher import load as load
    from nearkin.rows.scaling import ScaleWarning as ScaleWarning
    from nearkin.rows.streams import open_rows as open_rows
    from nearkin.scores.held_out import Suspect as Suspect
    from nearkin.search import NeighborIndex as NeighborIndex
    from nearkin.spaces import maps as maps
    from nearkin.spaces.spread_pairs import spread_pairs as spread_pairs
    from nearkin.storage import models
    from nearkin.storage.arrays import StorageError as StorageError
    from nearkin.tables.encoder import TableEncoder as TableEncoder
    from nearkin.tables.reading import TableWarning as TableWarning
    from nearkin.tasks.cross_validation import PairKFold as PairKFold
    from nearkin.tasks.cross_validation import cross_validate as cross_validate
    from nearkin.tasks.cross_validation import grid_search as grid_search
    from nearkin.tasks.energy_classifier import EnergyClassifier as EnergyClassifier
    from nearkin.tasks.manifold_alignment import ManifoldAlignment as ManifoldAlignment
    from nearkin.tasks.manifold_alignment import pairs_between as pairs_between
    from nearkin.tasks.multiple_kernel import MultipleKernelClassifier as MultipleKernelClassifier

    model_file = models

# Where names are, beside those of learners. They are imported when first used, so that what needs
# little of the library, such as the command line's help, does not wait for the rest.
_NAMES = {
    "nearkin.clustering.clusters": "Clusters",
    "nearkin.clustering.metric_kmeans": "MetricKMeans",
    "nearkin.clustering.mpck_means": "MPCKMeans",
    "nearkin.errors": "NearkinError",
    "nearkin.estimates": "Estimate estimate",
    "nearkin.learners.compositions": "FidelityWarning",
    "nearkin.learners.live_view": "LiveView",
    "nearkin.learners.selection": "SelectionWarning",
    "nearkin.pairs.answers": "Answerer Answers",
    "nearkin.pairs.pairs": "Conflict Pairs TripletCircle",
    "nearkin.pairs.supervision": "ContradictionWarning",
    "nearkin.questions.active": "ActiveResult Oracle learn_actively",
    "nearkin.questions.outlook": "Outlook outlook",
    "nearkin.questions.strategies": "suggest_pairs",
    "nearkin.records.matcher": "RecordMatcher link load",
    "nearkin.rows.scaling": "ScaleWarning",
    "nearkin.rows.streams": "open_rows",
    "nearkin.scores.held_out": "Suspect",
    "nearkin.search": "NeighborIndex",
    "nearkin.spaces.spread_pairs": "spread_pairs",
    "nearkin.storage.arrays": "StorageError",
    "nearkin.tables.encoder": "TableEncoder",
    "nearkin.tables.reading": "TableWarning",
    "nearkin.tasks.cross_validation": "PairKFold cross_validate grid_search",
    "nearkin.tasks.energy_classifier": "EnergyClassifier",
    "nearkin.tasks.manifold_alignment": "ManifoldAlignment pairs_between",
    "nearkin.tasks.multiple_kernel": "MultipleKernelClassifier",
}
_HOMES = {learner.name: learner.home for learner in LEARNERS}
_HOMES |= {name: home for home, names in _NAMES.items() for name in names.split()}

# Modules that are public. All others are private: they may change from one version to the next.
_MODULES = {
    "dask": "nearkin.dask",
    "datasets": "nearkin.datasets",
    "maps": "nearkin.spaces.maps",
    "model_file": "nearkin.storage.models",
    "onnx_file": "nearkin.onnx_file",
    "plot": "nearkin.plot",
    "scores": "nearkin.scores",
    "studio": "nearkin.studio",  # which can be called
}

__all__ = sorted({*_HOMES, *_MODULES} - {"dask"})  # which is an extra


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
    elif name in _MODULES:
        value = import_module(_MODULES[name])
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def _import_learner(name: str) -> None:
    """Import a class that model files may name."""
    if name in {"TableEncoder", "RecordMatcher", *(learner.name for learner in LEARNERS)}:
        __getattr__(name)


add_importer(_import_learner)


def __dir__() -> list[str]:
    return sorted([*__all__, "__doc__", "__version__"])
