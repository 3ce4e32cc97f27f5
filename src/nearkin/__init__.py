"""Learn a distance from a few pairs."""

from nearkin import datasets, onnx_file, plot, scores
from nearkin._version import __version__ as __version__
from nearkin.array_file import StorageError
from nearkin.learners.compositions import Blend, Chain
from nearkin.learners.euclidean import Euclidean
from nearkin.learners.generative import Generative
from nearkin.learners.geometry_aware import GeometryAware
from nearkin.learners.gmml import GMML
from nearkin.learners.itml import ITML
from nearkin.learners.kernel_a import KernelA
from nearkin.learners.kernel_beta import KernelBeta
from nearkin.learners.llma import LLMA
from nearkin.learners.lmnn import LMNN
from nearkin.learners.metric_learner import MetricLearner
from nearkin.learners.rca import RCA
from nearkin.model_file import load
from nearkin.open_rows import open_rows
from nearkin.pairs import Conflict, Pairs
from nearkin.propagation import spread_pairs
from nearkin.selection import SelectionWarning
from nearkin.suspicion import Suspect
from nearkin.tasks.energy_classifier import EnergyClassifier
from nearkin.tasks.learn_actively import ActiveResult, Oracle, learn_actively
from nearkin.tasks.live_view import LiveView
from nearkin.tasks.manifold_alignment import ManifoldAlignment, pairs_between
from nearkin.tasks.metric_kmeans import MetricKMeans
from nearkin.tasks.mpck_means import MPCKMeans
from nearkin.tasks.multiple_kernel import MultipleKernelClassifier
from nearkin.tasks.neighbor_index import NeighborIndex
from nearkin.tasks.suggest import suggest_pairs

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
    "NeighborIndex",
    "Oracle",
    "Pairs",
    "SelectionWarning",
    "StorageError",
    "Suspect",
    "datasets",
    "learn_actively",
    "load",
    "onnx_file",
    "open_rows",
    "pairs_between",
    "plot",
    "scores",
    "spread_pairs",
    "suggest_pairs",
]
