"""How wide columns are, and whether they have one unit."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from nearkin.rows import scaling
from nearkin.rows.scaling import (
    column_scales,
    column_spreads,
    column_units,
    find_differing_units,
    ratio_of_spreads,
)
from tests.cases import each


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def counts(n: int = 400, d: int = 300) -> np.ndarray:
    """Word counts: some words in every document, many in few."""
    return rng().poisson(10 / np.arange(1, d + 1), size=(n, d)).astype(float)


def test_spread_is_the_standard_deviation_long_tails_included() -> None:
    X = np.column_stack([rng().normal(size=1001), rng().lognormal(size=1001)])
    np.testing.assert_allclose(column_spreads(X * [1, 100]), X.std(axis=0) * [1, 100])


def test_outliers_count_as_twenty_deviations_of_the_others() -> None:
    X = rng().normal(size=(1001, 1))
    X[::50] = 1e9
    low, high = np.quantile(X, [0.05, 0.95], axis=0)  # entries themselves for 1001 rows
    reach = 20 * np.clip(X, low, high).std(axis=0)
    middle = np.median(X)
    expected = np.clip(X, middle - reach, middle + reach).std(axis=0)
    np.testing.assert_allclose(column_spreads(X), expected)
    assert column_spreads(X)[0] < 3


def test_where_only_outliers_differ_the_plain_deviation_counts() -> None:
    X = np.zeros((100, 1))
    X[:3] = 7
    assert column_spreads(X)[0] == pytest.approx(X.std())


@each("value", [0.0, 0.1, 1e300, -1e-300])
def test_constant_columns_have_no_spread(value: float) -> None:
    X = np.full((50, 2), value)
    assert not column_spreads(X).any()
    assert (column_scales(X) == 1).all()


def test_rounding_is_no_spread() -> None:
    column = np.array([[0.1 + 0.2], [0.3]] * 20)
    assert not column_spreads(column).any()
    assert not column_spreads(column.astype(np.float32) + np.float32(1e-9)).any()


@each("factor", [1e-320, 1e-300, 1e300])
def test_neither_huge_nor_tiny_numbers_overflow(factor: float) -> None:
    X = np.clip(rng().normal(size=(200, 4)), -5, 5)
    X[0, 0] = 1e8
    with np.errstate(all="raise", under="ignore"):
        spreads = column_spreads(X * factor)
    np.testing.assert_allclose(spreads, column_spreads(X) * factor, rtol=1e-2)


def test_an_offset_takes_no_digits() -> None:
    X = rng().normal(size=(500, 2))
    np.testing.assert_allclose(column_spreads(X + 1e12), column_spreads(X), rtol=1e-3)


@each("share", [0.02, 0.049, 0.05, 0.051, 0.3, 0.9])
@each("n", [20, 101, 400])
def test_sparse_columns_are_as_wide_as_dense_ones(share: float, n: int) -> None:
    X = rng().lognormal(size=(n, 30)) * (rng().random(size=(n, 30)) < share) * 1e200
    for form in (sparse.csr_array, sparse.csc_matrix, sparse.coo_array):
        np.testing.assert_allclose(column_spreads(form(X)), column_spreads(X), rtol=1e-12)
        np.testing.assert_array_equal(column_units(form(X)), column_units(X))


def test_many_rows_are_sampled_evenly() -> None:
    X = np.arange(25_000.0)[:, np.newaxis]
    assert column_spreads(X)[0] == pytest.approx(column_spreads(X[::5])[0], rel=1e-3)
    assert column_spreads(sparse.csr_array(X))[0] == pytest.approx(column_spreads(X)[0])


def test_ratio_leaves_constant_columns_out() -> None:
    assert ratio_of_spreads(np.array([0.0, 2.0, 500.0])) == 250
    assert ratio_of_spreads(np.zeros(3)) == 1


def test_rare_entries_have_the_unit_of_frequent_ones() -> None:
    X = np.zeros((1000, 3))
    X[:500, 0] = X[:10, 1] = X[:2, 2] = 3
    np.testing.assert_array_equal(column_units(X), [3, 3, 0])


ONE_UNIT = {
    "iris": load_iris().data,
    "digits": load_digits().data,
    "scaled-digits": load_digits().data / 16,
    "few-digits": load_digits().data[:100],
    "standardised-wine": StandardScaler().fit_transform(load_wine().data),
    "standardised-tails": StandardScaler().fit_transform(
        rng().lognormal(sigma=np.arange(0.1, 3), size=(500, 3))
    ),
    "components": PCA().fit_transform(load_digits().data),
    "wine-components": PCA().fit_transform(load_wine().data),
    "counts": counts(),
    "sparse-counts": sparse.csr_array(counts()),
    "one-hot": np.eye(20)[rng().integers(20, size=300)],
    "embedding": rng().normal(size=(100, 30)) * rng().lognormal(size=30),
    "dark-edge": np.c_[load_digits().data, 1e-3 * load_digits().data[:, 20]],
    "constant": np.ones((10, 3)),
    "one-column": np.arange(3.0)[:, np.newaxis],
}


@each("name", ONE_UNIT)
def test_one_unit(name: str) -> None:
    assert find_differing_units(ONE_UNIT[name]) is None


def test_wine_has_several_units() -> None:
    wine = load_wine()
    found = find_differing_units(wine.data)
    assert found is not None
    assert wine.feature_names[found.widest] == "proline"
    assert found.ratio > 1000
    assert find_differing_units(load_breast_cancer().data) is not None


@each("form", [np.asarray, sparse.csr_array])
def test_a_column_of_millions_beside_one_of_units(form) -> None:  # type: ignore[no-untyped-def]
    X = rng().random(size=(300, 2)) * [1, 1e6]
    found = find_differing_units(form(X))
    assert found is not None
    assert (found.widest, found.narrowest) == (1, 0)
    assert find_differing_units(form(X * [1e6, 1])) is None


def test_one_hot_columns_beside_an_income() -> None:
    kinds = np.eye(4)[rng().integers(4, size=300)]
    assert find_differing_units(np.c_[kinds, rng().lognormal(10, size=300)]) is not None
    assert find_differing_units(np.c_[kinds, rng().normal(40, 10, size=300)]) is None  # ages


@each("dtype", [np.float32, np.float64])
def test_columns_seen_to_have_one_unit_without_sorting_have_one(dtype):
    rng = np.random.default_rng(0)
    seen = 0
    for _ in range(300):
        n, d = rng.integers(2, 60), rng.integers(1, 5)
        X = rng.standard_t(rng.choice([1, 3, 30]), size=(n, d)) * 10 ** rng.uniform(-2, 2, d)
        X = np.where(rng.random((n, d)) < rng.random(), X, rng.choice([0.0, 1e6])).astype(dtype)
        if scaling._have_one_unit(X):
            seen += 1
            units = scaling.column_units(X)
            assert scaling.ratio_of_spreads(units) <= scaling.MOST_RATIO
    assert seen > 20


def test_what_rounding_left_of_a_constant_has_no_spread_and_no_unit() -> None:
    X = rng().normal(size=(300, 4))
    for form in (np.asarray, sparse.csr_array):
        dead = np.c_[X, 3e-33 * X[:, 0], 1e-14 * X[:, 1]]
        assert (column_spreads(form(dead))[4:] == 0).all()
        assert (column_scales(form(dead))[4:] == 1).all()
        assert find_differing_units(form(dead)) is None
    # A nanosecond is not rounding beside a year, nor is a column because another is wide.
    np.testing.assert_array_equal(column_spreads(X * [1, 1e-11, 1, 1]) > 0, True)
    np.testing.assert_array_equal(column_spreads(X * [1, 1, 1, 1e20]) > 0, True)
