"""What is compared: every learner of the library by default, MetricLearner, and rivals."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.decomposition import PCA

from benchmarks.few_pairs import peers
from benchmarks.few_pairs.rivals import rivals
from nearkin import (
    GMML,
    ITML,
    LLMA,
    LMNN,
    PLDA,
    RCA,
    ColumnWeights,
    CosineMetric,
    Euclidean,
    Generative,
    GeometryAware,
    KernelA,
    KernelBeta,
    MetricLearner,
)

OURS = "MetricLearner"
FOR_SEARCH = 'MetricLearner, goal="search"'
EUCLIDEAN = "Euclidean"
COSINE = "CosineMetric, rbf"


class Whitened(BaseEstimator):
    """Principal axes of equal variance, which knows nothing of pairs."""

    def fit(self, X: np.ndarray, y: Any = None, *, pairs: Any = None) -> Whitened:
        rank = np.linalg.matrix_rank(X - X.mean(axis=0))
        self.axes_ = PCA(rank, whiten=True, random_state=0).fit(X)
        return self

    def transform(self, X: np.ndarray) -> np.ndarray:
        return self.axes_.transform(X)


def metrics(seed: int) -> dict[str, Any]:
    """Learners with their default settings."""
    return {
        EUCLIDEAN: Euclidean(random_state=seed),
        "PCA whitening": Whitened(),
        "RCA": RCA(random_state=seed),
        "ITML": ITML(random_state=seed),
        "GMML": GMML(random_state=seed),
        "LMNN": LMNN(random_state=seed),
        "KernelBeta": KernelBeta(random_state=seed),
        "KernelA": KernelA(random_state=seed),
        "LLMA": LLMA(random_state=seed),
        "GeometryAware": GeometryAware(random_state=seed),
        "Generative": Generative(random_state=seed),
        "ITML, rbf": ITML(kernel="rbf", random_state=seed),
        "ColumnWeights": ColumnWeights(random_state=seed),
        "PLDA": PLDA(random_state=seed),
        "CosineMetric": CosineMetric(random_state=seed),
        COSINE: CosineMetric(kernel="rbf", random_state=seed),
        OURS: MetricLearner(random_state=seed),
        FOR_SEARCH: MetricLearner(goal="search", random_state=seed),
    }


def chief() -> tuple[str, ...]:
    """Those that are measured most: the Euclidean distance, what is best, and what people use."""
    best = EUCLIDEAN, "ITML", "KernelBeta", "PLDA", "CosineMetric", "CosineMetric, rbf", OURS
    return (*best, *(name for name in rivals(0) if name not in peers.NAMES))


CHIEF = chief()


def methods(seed: int) -> dict[str, Any]:
    """Metrics first, then what tells same from different in another way."""
    return {**metrics(seed), **rivals(seed)}
