"""Learn a distance from a few pairs."""

from nearkin import datasets, scores
from nearkin.learners.geometry_aware import GeometryAware
from nearkin.learners.itml import ITML
from nearkin.learners.kernel_a import KernelA
from nearkin.learners.kernel_beta import KernelBeta
from nearkin.learners.llma import LLMA
from nearkin.learners.rca import RCA
from nearkin.pairs import Conflict, Pairs
from nearkin.tasks.manifold_alignment import ManifoldAlignment, pairs_between
from nearkin.tasks.mpck_means import MPCKMeans

__all__ = [
    "ITML",
    "LLMA",
    "RCA",
    "Conflict",
    "GeometryAware",
    "KernelA",
    "KernelBeta",
    "MPCKMeans",
    "ManifoldAlignment",
    "Pairs",
    "datasets",
    "pairs_between",
    "scores",
]

__version__ = "0.1.0"
