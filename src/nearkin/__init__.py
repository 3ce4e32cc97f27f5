"""Learn a distance from a few pairs."""

from nearkin import datasets, scores
from nearkin.learners.generative import Generative
from nearkin.learners.geometry_aware import GeometryAware
from nearkin.learners.itml import ITML
from nearkin.learners.kernel_a import KernelA
from nearkin.learners.kernel_beta import KernelBeta
from nearkin.learners.llma import LLMA
from nearkin.learners.lmnn import LMNN
from nearkin.learners.rca import RCA
from nearkin.pairs import Conflict, Pairs
from nearkin.tasks.energy_classifier import EnergyClassifier
from nearkin.tasks.manifold_alignment import ManifoldAlignment, pairs_between
from nearkin.tasks.metric_kmeans import MetricKMeans
from nearkin.tasks.mpck_means import MPCKMeans
from nearkin.tasks.multiple_kernel import MultipleKernelClassifier

__all__ = [
    "ITML",
    "LLMA",
    "LMNN",
    "RCA",
    "Conflict",
    "EnergyClassifier",
    "Generative",
    "GeometryAware",
    "KernelA",
    "KernelBeta",
    "MPCKMeans",
    "ManifoldAlignment",
    "MetricKMeans",
    "MultipleKernelClassifier",
    "Pairs",
    "datasets",
    "pairs_between",
    "scores",
]

__version__ = "0.1.0"
