"""Every learner of the library, in the settings that tests run over."""

import copy
import functools
import inspect
import pickle
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel

import nearkin
from nearkin import ITML, KernelBeta, Pairs, registry
from nearkin.datasets import make_xor
from nearkin.learners.selection import make_ingredients
from nearkin.spaces.kernels import Kernel
from tests.cases import each


@dataclass(frozen=True)
class Entry:
    """A learner in the tests.

    ``oracle`` is the test, in a file of ``tests/learners``, that compares it with a slow version
    that is plainly right, or with a closed form. The common tests run over ``settings``; the first
    of them is run also where the library lists learners: as streams, on Dask, with pairs that come
    one by one. ``more`` are for tests that name them.
    """

    oracle: str
    settings: dict[str, dict[str, Any]]
    more: dict[str, dict[str, Any]] = field(default_factory=dict)


# Stands for a number of landmarks, which depends on the number of rows.
SOME = object()
# A function's name would hold its address, which differs between test processes.
A_FUNCTION = Kernel("laplacian", gamma=0.5)
PARTS = [ITML(random_state=0), KernelBeta(random_state=0)]
ENTRIES = {
    "KernelBeta": Entry(
        "test_kernel_beta.py::test_exact_beta_equals_eq_4",
        {
            "exact": {},
            "paper": {"weighting": "paper"},
            "uncentred": {"center": False},
            "landmarks": {"n_landmarks": SOME, "landmarks": "kmeans++"},
            "iterated": {"n_landmarks": SOME, "n_iter": 3},
            "nystroem": {"n_landmarks": SOME, "extension": "nystroem"},
            "laplacian": {"kernel": "laplacian"},
            "poly": {"kernel": "poly", "degree": 2},
            "cosine": {"kernel": "cosine", "n_components": 3},
            "linear": {"kernel": "linear"},
            "callable": {"kernel": A_FUNCTION},
            "precomputed": {"kernel": "precomputed"},
        },
        {
            "random landmarks": {"n_landmarks": SOME},
            "paper landmarks": {"n_landmarks": SOME, "weighting": "paper"},
            "precomputed landmarks": {"n_landmarks": SOME, "kernel": "precomputed"},
            "twice": {"n_landmarks": SOME, "n_iter": 2},
            "components": {"n_landmarks": SOME, "n_components": 3},
            "iterated components": {"n_landmarks": SOME, "n_iter": 2, "n_components": 3},
            "cosine landmarks": {"n_landmarks": SOME, "kernel": "cosine"},
            "laplacian landmarks": {"n_landmarks": SOME, "kernel": "laplacian"},
            "poly landmarks": {"n_landmarks": SOME, "kernel": "poly", "degree": 2},
            "linear landmarks": {"n_landmarks": SOME, "kernel": "linear"},
            "callable landmarks": {"n_landmarks": SOME, "kernel": A_FUNCTION},
            "farthest": {"n_landmarks": SOME, "landmarks": "farthest"},
            "leverage": {"n_landmarks": SOME, "landmarks": "leverage"},
            "named landmarks": {"landmarks": [3, 77, 150, 201, 239]},
            "median": {"n_landmarks": SOME, "gamma": "median"},
            "gamma": {"n_landmarks": SOME, "gamma": 0.3},
        },
    ),
    "KernelA": Entry(
        "test_moving_points.py::test_exact_version_is_the_published_update",
        {
            "KernelA": {},
            "KernelA and weights": {"learn_weights": True},
            "KernelA scaled": {"n_landmarks": SOME, "window_neighbors": 6},
        },
    ),
    "LLMA": Entry("test_moving_points.py::test_steps_are_those_of_the_formula", {"LLMA": {}}),
    "ITML": Entry(
        "test_itml.py::test_learned_metric_is_that_of_the_plain_loop",
        {"ITML": {}, "ITML kernel": {"kernel": "rbf"}},
        {
            "ITML landmarks": {"kernel": "rbf", "n_landmarks": SOME},
            "ITML covariance": {"prior": "covariance", "n_components": 2},
            "ITML one axis": {"n_components": 1},
        },
    ),
    "GMML": Entry(
        "test_gmml.py::test_learned_metric_is_that_of_the_plain_loop",
        {"GMML": {}, "GMML kernel": {"kernel": "rbf"}},
        {
            "GMML landmarks": {"kernel": "rbf", "n_landmarks": SOME},
            "GMML cosine": {"kernel": "cosine", "n_landmarks": SOME},
            "GMML nystroem": {"kernel": "rbf", "n_landmarks": SOME, "extension": "nystroem"},
        },
    ),
    "CosineMetric": Entry(
        "test_cosine_metric.py::test_no_other_matrix_nearby_is_better",
        {"CosineMetric": {}, "CosineMetric kernel": {"kernel": "rbf", "n_landmarks": SOME}},
    ),
    "PLDA": Entry(
        "test_plda.py::test_metric_is_that_of_the_log_odds",
        {"PLDA": {}, "PLDA kernel": {"kernel": "rbf", "n_landmarks": SOME}},
    ),
    "ColumnWeights": Entry(
        "test_column_weights.py::test_weights_are_those_of_a_plain_search", {"ColumnWeights": {}}
    ),
    "GeometryAware": Entry(
        "test_geometry_aware.py::test_axes_are_those_of_eigenmaps_where_pairs_ask_for_nothing",
        {
            # Few turns: test_geometry_aware.py takes them all.
            "GeometryAware": {"n_iter": 3},
            "GeometryAware data-dependent": {"family": "data_dependent", "n_iter": 3},
            "GeometryAware rbf": {"family": "rbf", "n_landmarks": SOME},
        },
    ),
    "Generative": Entry(
        "test_generative.py::test_metric_is_the_mean_of_local_metrics",
        {"Generative": {}, "Generative kde": {"combine": "kde"}},
        {"Generative shared": {"covariance": "shared", "n_components": 2}},
    ),
    "LMNN": Entry("test_lmnn.py::test_objective_is_the_plain_sum", {"LMNN": {}}),
    "RCA": Entry(
        "test_rca.py::test_distance_is_the_mahalanobis_distance_of_the_chunklets",
        {"RCA": {}, "RCA as published": {"shrinkage": 0.0}},
        {"RCA of two axes": {"shrinkage": 0.0, "n_components": 2}},
    ),
    "Euclidean": Entry(
        "test_euclidean.py::test_distances_are_those_of_the_rows", {"Euclidean": {}}
    ),
    "Chain": Entry(
        "test_compositions.py::test_a_chain_is_its_steps_one_after_the_other",
        {"Chain": {"steps": PARTS}},
    ),
    "Blend": Entry(
        "test_compositions.py::test_a_blend_has_the_mean_of_scaled_squared_distances",
        {"Blend": {"learners": PARTS}},
    ),
    "Distilled": Entry(
        "test_compositions.py::test_a_distilled_metric_is_a_ridge_regression",
        {"Distilled": {"learner": PARTS[1], "n_landmarks": SOME, "min_fidelity": 0.0}},
    ),
    "MetricLearner": Entry(
        "test_metric_learner.py::test_the_metric_is_made_by_the_recipe",
        {"MetricLearner": {"time_budget": 0.02}},
    ),
}


def learners(names, n_landmarks=20):
    """Learners by the names of their settings."""
    return {name: _made(name, n_landmarks) for name in names}


def firsts(capability=lambda cls: True):
    """Name of the first setting of each learner of the registry whose class can do something."""
    classes = {line.name: getattr(nearkin, line.name) for line in registry.LEARNERS}
    return [next(iter(ENTRIES[name].settings)) for name, cls in classes.items() if capability(cls)]


def _made(name, n_landmarks):
    for learner, entry in ENTRIES.items():
        settings = entry.settings | entry.more
        if name in settings:
            cls, given = getattr(nearkin, learner), settings[name]
            given = {k: n_landmarks if v is SOME else v for k, v in given.items()}
            seed = (
                {"random_state": 0} if "random_state" in inspect.signature(cls).parameters else {}
            )
            return cls(**seed, **given)
    raise KeyError(name)


LEARNERS = learners(name for entry in ENTRIES.values() for name in entry.settings)

# One setting for every way that rows and knowledge take through the code: for promises that have
# nothing to do with kernels and weights.
ONE_OF_EACH = [*firsts(), "landmarks", "precomputed", "ITML kernel"]
# One setting for every class, and one whose rows are kernel values: for what is refused.
CLASSES = [*firsts(), "precomputed"]


def each_of(table):
    """Run a test over a table of learners: one for each class, with its settings as cases."""
    classes = {}
    for name, learner in table.items():
        cases = classes.setdefault(type(learner).__name__, [])
        cases.append(pytest.param(learner, id=name))

    def decorate(test):
        @functools.wraps(test)
        def run(learner, **fixtures):
            each("learner", learner)(test)(**fixtures)

        run.__signature__ = inspect.signature(test)
        return pytest.mark.parametrize("learner", classes.values(), ids=[*classes])(run)

    return decorate


def all_of(table):
    """Run a test over a table of learners, as cases of one test: for what takes no time."""
    return each("learner", [pytest.param(learner, id=name) for name, learner in table.items()])


def _tables(names):
    table = {name: LEARNERS[name] for name in names}
    return each_of(table), all_of(table)


each_learner, all_learners = _tables(ONE_OF_EACH)
each_class, all_classes = _tables(CLASSES)
each_setting, all_settings = _tables(LEARNERS)
# Those that take rows of any number of columns, not kernel values.
each_learner_of_rows, all_learners_of_rows = _tables(
    name for name in ONE_OF_EACH if name != "precomputed"
)
each_setting_of_rows, all_settings_of_rows = _tables(
    name for name in LEARNERS if name != "precomputed"
)
all_kernel_betas = all_of({name: x for name, x in LEARNERS.items() if isinstance(x, KernelBeta)})


def as_seen_by(learner, X, X_train=None):
    """Rows as the learner takes them: kernel values against the training rows if precomputed."""
    if getattr(learner, "kernel", None) != "precomputed":
        return X
    return rbf_kernel(X, X if X_train is None else X_train, gamma=0.3).astype(X.dtype)


def example():
    """Training rows, labels, pairs of both kinds, and new rows; float32 holds rows exactly."""
    X, y = make_xor(50, random_state=0)
    X, X_new = (
        np.column_stack([A, A[:, 0] * A[:, 1]]).astype(np.float32).astype(np.float64)
        for A in (X, make_xor(30, random_state=1)[0])
    )
    return X, y, Pairs.from_labels(y, 24, random_state=0), X_new


# What MetricLearner chooses among where the choice is not at issue, a learner for every branch: the
# plain distance, one that takes triplets, one that does not, and one of two steps that needs
# must-links.
FEW = ("Euclidean", "PLDA", "KernelBeta after ITML", "CosineMetric")


def few_of(*sizes, **options):
    """Few of MetricLearner's ingredients, to be put in the place of all of them."""
    return {name: one for name, one in make_ingredients(*sizes, **options).items() if name in FEW}


def fitted(learner, X, y=None, pairs=None):
    """A learner of the list after its fit, which is done once for all tests that ask for it."""
    return copy.deepcopy(_fitted(learner, pickle.dumps((X, y, pairs))))


@functools.cache
def _fitted(learner, given):
    X, y, pairs = pickle.loads(given)
    return clone(learner).fit(as_seen_by(learner, X), y, pairs=pairs)
