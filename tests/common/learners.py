"""Every learner of the library, in the settings that the common tests run over."""

import copy
import functools
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel

from nearkin import (
    GMML,
    ITML,
    LLMA,
    LMNN,
    RCA,
    Blend,
    Chain,
    Euclidean,
    Generative,
    GeometryAware,
    KernelA,
    KernelBeta,
    MetricLearner,
    Pairs,
)
from nearkin.datasets import make_xor
from nearkin.spaces.kernels import Kernel

LEARNERS = {
    "exact": KernelBeta(random_state=0),
    "paper": KernelBeta(weighting="paper", random_state=0),
    "landmarks": KernelBeta(n_landmarks=20, landmarks="kmeans++", random_state=0),
    "iterated": KernelBeta(n_landmarks=20, n_iter=3, random_state=0),
    "nystroem": KernelBeta(n_landmarks=20, extension="nystroem", random_state=0),
    "laplacian": KernelBeta(kernel="laplacian", random_state=0),
    "poly": KernelBeta(kernel="poly", degree=2, random_state=0),
    "cosine": KernelBeta(kernel="cosine", n_components=3, random_state=0),
    "linear": KernelBeta(kernel="linear", random_state=0),
    # A function's name would hold its address, which differs between test processes.
    "callable": KernelBeta(kernel=Kernel("laplacian", gamma=0.5), random_state=0),
    "precomputed": KernelBeta(kernel="precomputed", random_state=0),
    "KernelA": KernelA(random_state=0),
    "KernelA scaled": KernelA(n_landmarks=20, window_neighbors=6, random_state=0),
    "LLMA": LLMA(random_state=0),
    "ITML": ITML(random_state=0),
    "ITML kernel": ITML(kernel="rbf", random_state=0),
    "GMML": GMML(random_state=0),
    "GMML kernel": GMML(kernel="rbf", random_state=0),
    "GeometryAware": GeometryAware(random_state=0),
    "GeometryAware data-dependent": GeometryAware(family="data_dependent", random_state=0),
    "GeometryAware rbf": GeometryAware(family="rbf", random_state=0),
    "Generative": Generative(random_state=0),
    "Generative kde": Generative(combine="kde", random_state=0),
    "LMNN": LMNN(random_state=0),
    "RCA": RCA(random_state=0),
    "Euclidean": Euclidean(random_state=0),
    "Chain": Chain([ITML(random_state=0), KernelBeta(random_state=0)]),
    "Blend": Blend([ITML(random_state=0), KernelBeta(random_state=0)], random_state=0),
    "MetricLearner": MetricLearner(time_budget=0.02, random_state=0),
    "RCA as published": RCA(shrinkage=0.0, random_state=0),
}

# One setting for every way that rows and knowledge take through the code: for promises that have
# nothing to do with kernels and weights.
ONE_OF_EACH = [
    *("exact", "landmarks", "precomputed", "KernelA", "LLMA", "ITML", "ITML kernel", "GMML"),
    *("GeometryAware", "Generative", "LMNN", "RCA", "Euclidean", "Chain", "Blend", "MetricLearner"),
]


def _each(names):
    return pytest.mark.parametrize("learner", [pytest.param(LEARNERS[x], id=x) for x in names])


each_learner = _each(ONE_OF_EACH)
each_setting = _each(LEARNERS)
# Those that take rows of any number of columns, not kernel values.
each_learner_of_rows = _each(name for name in ONE_OF_EACH if name != "precomputed")
each_setting_of_rows = _each(name for name in LEARNERS if name != "precomputed")
each_kernel_beta = _each(name for name, x in LEARNERS.items() if isinstance(x, KernelBeta))


def as_seen_by(learner, X, X_train=None):
    """Rows as the learner takes them: kernel values against the training rows if precomputed."""
    if getattr(learner, "kernel", None) != "precomputed":
        return X
    return rbf_kernel(X, X if X_train is None else X_train, gamma=0.3).astype(X.dtype)


def example():
    """Training rows, labels, pairs of both kinds, and new rows."""
    X, y = make_xor(50, random_state=0)
    X = np.column_stack([X, X[:, 0] * X[:, 1]])
    X_new = make_xor(30, random_state=1)[0]
    X_new = np.column_stack([X_new, X_new[:, 0] * X_new[:, 1]])
    return X, y, Pairs.from_labels(y, 24, random_state=0), X_new


def fitted(learner, X, y=None, pairs=None):
    """A learner of the list after its fit, which is done once for all tests that ask for it."""
    return copy.deepcopy(_fitted(learner, pickle.dumps((X, y, pairs))))


@functools.lru_cache(256)
def _fitted(learner, given):
    X, y, pairs = pickle.loads(given)
    return clone(learner).fit(as_seen_by(learner, X), y, pairs=pairs)
