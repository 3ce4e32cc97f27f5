"""What Numba has compiled for one array serves for others of the same numbers, however they lie."""

import sys

import numpy as np
from numba.core.dispatcher import Dispatcher
from sklearn.base import clone

import nearkin
from nearkin import GMML, ITML, LMNN, RCA, KernelA, KernelBeta, NeighborIndex, Pairs
from nearkin.datasets import make_xor
from tests.cases import each

N = 60
X, Y = make_xor(N, random_state=0)
PAIRS = Pairs.from_labels(Y, 30, random_state=0)
LEARNERS = [
    RCA(),
    GMML(random_state=0),
    ITML(random_state=0),
    ITML(kernel="rbf", n_landmarks=20, random_state=0),
    KernelBeta(random_state=0),
    KernelBeta(n_landmarks=20, kernel="laplacian", n_iter=2, random_state=0),
    KernelA(n_landmarks=20, random_state=0),
    LMNN(n_neighbors=2, random_state=0),
]


def read_only(A):
    A = A.copy()
    A.setflags(write=False)
    return A


LAID_OUT = {
    "read-only": read_only,
    "by columns": np.asfortranarray,
    "every second column": lambda A: np.repeat(A, 2, axis=1)[:, ::2],
    "backwards": lambda A: A[::-1].copy()[::-1],
    "whole numbers": lambda A: np.round(10 * A).astype(np.int32),
}


def signatures():
    """How many types each compiled loop of the package is there for, compiled or from the disk."""
    found = {}
    for name, module in list(sys.modules.items()):
        if name.startswith("nearkin"):
            for value in vars(module).values():
                if isinstance(value, Dispatcher):
                    key = f"{value.py_func.__module__}.{value.py_func.__name__}"
                    found[key] = list(value.signatures)
    return found


def used(learner, A):
    told = {"y": Y} if isinstance(learner, LMNN) else {"pairs": PAIRS}
    metric = clone(learner).fit(A, **told)
    metric.transform(A)
    NeighborIndex(metric).fit(A).query(A[:3], 2)
    return metric


@each("learner", LEARNERS, ids=repr)
def test_nothing_is_compiled_anew_for_rows_that_lie_otherwise(learner):
    used(learner, X)
    before = signatures()
    for name, laid_out in LAID_OUT.items():
        used(learner, laid_out(X))
        assert signatures() == before, name


@each("learner", LEARNERS, ids=repr)
def test_nothing_is_compiled_anew_for_a_model_of_a_file(learner, tmp_path):
    used(learner, X).save(tmp_path / "model.nearkin")
    before = signatures()
    nearkin.load(tmp_path / "model.nearkin").transform(X)
    assert signatures() == before
