"""Every kind of map against its formula, wherever rows are."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from nearkin.spaces.feature_space import KernelExpansion
from nearkin.spaces.kernels import Kernel
from nearkin.spaces.landmarks import KernelLandmarks
from nearkin.spaces.maps import (
    Affine,
    Composed,
    Displaced,
    Identity,
    Scaled,
    Summed,
    ThroughLandmarks,
    Transformed,
    compose,
    compose_after_scaling,
    follow_by_matrix,
)
from nearkin.storage.schema import pack, unpack
from tests.cases import each

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3)) + 2
SCALE, ORIGIN, MATRIX = (
    np.array([2.0, 0.5, 4.0]),
    np.array([1.0, -2.0, 3.0]),
    RNG.normal(size=(2, 3)),
)
LANDMARKS, COORDINATES = RNG.normal(size=(6, 3)), RNG.normal(size=(6, 2))
ANCHORS, MOVES, WIDTH = X[:4], RNG.normal(size=(4, 3)), 1.5
EXTENSION = KernelExpansion(KernelLandmarks(Kernel("rbf", 0.3), LANDMARKS))


def gaussians(rows, others, factor):
    return np.exp(-factor * ((rows[:, None] - others) ** 2).sum(axis=2))


# Each kind with what it is to make of rows.
KINDS = {
    "Identity": (Identity(), lambda X: X),
    "Scaled": (Scaled(SCALE), lambda X: X / SCALE),
    "Affine": (Affine(MATRIX, ORIGIN), lambda X: (X - ORIGIN) @ MATRIX.T),
    "linear": (Affine(MATRIX), lambda X: X @ MATRIX.T),
    "ThroughLandmarks": (
        ThroughLandmarks(EXTENSION, COORDINATES),
        lambda X: gaussians(X, LANDMARKS, 0.3) @ COORDINATES,
    ),
    "Displaced": (
        Displaced(ANCHORS, MOVES, ORIGIN, WIDTH),
        lambda X: X + gaussians(X, ANCHORS, WIDTH**-2) @ MOVES - ORIGIN,
    ),
    "Composed": (
        Composed((Scaled(SCALE), Affine(MATRIX, ORIGIN), Scaled(SCALE[:2]))),
        lambda X: (X / SCALE - ORIGIN) @ MATRIX.T / SCALE[:2],
    ),
    "Summed": (
        Summed((Identity(), Scaled(SCALE))),
        lambda X: X + X / SCALE,
    ),
    "Transformed": (
        Transformed(StandardScaler().fit(X)),
        lambda X: (X - X_MEAN) / X_DEVIATION,
    ),
}
X_MEAN, X_DEVIATION = X.mean(axis=0), X.std(axis=0)
each_kind = each(("learned", "formula"), KINDS.values(), ids=KINDS)
each_stored = each(
    "learned",
    [learned for name, (learned, _) in KINDS.items() if name not in ("Summed", "Transformed")],
)


@each_kind
@each("dtype", [np.float64, np.float32])
def test_a_map_is_its_formula_in_the_type_of_the_rows(learned, formula, dtype):
    found = learned.apply(X.astype(dtype))
    assert found.dtype == dtype
    assert_allclose(found, formula(X), atol=1e-12 if dtype == np.float64 else 1e-5)


@each("name", ["Identity", "Scaled", "Affine", "linear", "ThroughLandmarks", "Composed", "Summed"])
def test_sparse_rows_have_the_same_images(name):
    learned, formula = KINDS[name]
    rows = np.where(np.abs(X) < 1.5, 0, X)
    found = learned.apply(sp.csr_array(rows))
    assert sp.issparse(found) == (name in ("Identity", "Scaled", "Summed"))
    assert_allclose(found.toarray() if sp.issparse(found) else found, formula(rows), atol=1e-12)


@each_kind
def test_a_row_has_its_image_to_itself(learned, formula):
    assert_allclose(learned.apply(X)[7:8], learned.apply(X[7:8]), rtol=1e-12)


def test_rows_are_never_those_that_were_given():
    for rows in (X, sp.csr_array(X)):
        found = Identity().apply(rows)
        assert not np.shares_memory(
            *(one.data if sp.issparse(one) else one for one in (found, rows))
        )


@each_stored
def test_a_map_is_the_same_after_a_way_through_a_file(learned):
    found = unpack(pack(learned))
    assert repr(found) == repr(learned)
    assert_array_equal(found.apply(X), learned.apply(X))


def test_maps_say_what_they_are_in_a_line():
    learned = compose_after_scaling(SCALE, ThroughLandmarks(EXTENSION, COORDINATES))
    assert repr(learned) == "Composed(Scaled(3 columns), ThroughLandmarks(6 landmarks to 2))"
    assert compose_after_scaling(None, learned) is learned
    assert compose(learned) is learned
    both = Summed((Identity(), Displaced(ANCHORS, MOVES, ORIGIN, WIDTH)))
    assert repr(both) == "Summed(Identity(), Displaced(4 anchors))"
    assert repr(Composed((Affine(MATRIX), Transformed(PCA(1))))) == (
        "Composed(Affine(3 to 2), Transformed(PCA(n_components=1)))"
    )


# What comes from transformers, and goes to them


def test_what_a_transformer_leaves_missing_is_refused():
    gaps = X.copy()
    gaps[4, 1] = np.nan
    learned = Composed((Transformed(FunctionTransformer()), Affine(MATRIX)))
    with pytest.raises(ValueError, match="contains NaN in row 4, column 1"):
        learned.apply(gaps)
    filled = compose(Transformed(SimpleImputer().fit(X)), Affine(MATRIX))
    assert_allclose(filled.apply(gaps)[5:], X[5:] @ MATRIX.T)


def test_numbers_beyond_all_squares_are_refused_between_maps():
    far = Composed((Affine(1e200 * MATRIX), Affine(np.ones((1, 2)))))
    with pytest.raises(ValueError, match="column"):
        far.apply(X)


def test_transformers_see_rows_as_they_are_and_others_their_numbers():
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": np.arange(40)})
    shown = FunctionTransformer(lambda rows: rows[["b", "c"]]).fit(frame)
    both = Summed((compose(Transformed(shown), Affine(np.ones((1, 2)))), Affine(np.ones((1, 3)))))
    expected = frame["b"] + frame["c"] + frame.sum(axis=1)
    assert_allclose(both.apply(frame)[:, 0], expected)


@each_kind
def test_a_matrix_after_a_map_goes_into_its_last_step(learned, formula):
    turn = np.array([[2.0, -1.0, 0.5], [0.0, 3.0, 1.0]])[:, : formula(X).shape[1]]
    after = follow_by_matrix(learned, turn)
    assert_allclose(after.apply(X), formula(X) @ turn.T, atol=1e-12)
    as_long = getattr(after, "maps", (after,))
    folds = isinstance(learned, Identity | Scaled | Affine | ThroughLandmarks | Composed | Summed)
    assert len(as_long) == len(getattr(learned, "maps", (learned,))) + (not folds)


def test_a_transformer_after_a_map_has_the_names_that_it_knows():
    named = StandardScaler().fit(pd.DataFrame(X @ MATRIX.T, columns=["u", "v"]))
    learned = Composed((Affine(MATRIX), Transformed(named)))
    assert_allclose(learned.apply(X), StandardScaler().fit_transform(X @ MATRIX.T))
