import re

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.decomposition import PCA

from nearkin import GMML, ITML, LMNN, RCA, Chain, Generative, MetricLearner, Pairs
from nearkin.rows import sparse as wide_rows
from nearkin.rows.sparse import axes_of_wide_rows
from tests.cases import each

# Wide rows are few for their columns by nature.
FEW_ROWS = pytest.mark.filterwarnings("ignore:LMNN has .* rows of known class")


def wide_example(n=20, d=60, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    X = rng.standard_normal((n, d)) + 2 * np.outer(y, rng.standard_normal(d)) + 5
    return X, y


@pytest.fixture
def few_columns_are_many(monkeypatch):
    monkeypatch.setattr(wide_rows, "MOST_COLUMNS", 30)


def test_rows_of_few_columns_are_taken_as_they_are():
    X, _ = wide_example()
    assert axes_of_wide_rows(X, X.mean(axis=0), 0) is None


@pytest.mark.usefixtures("few_columns_are_many")
@each("scale", [1e-200, 1.0, 1e200])
def test_a_basis_of_the_differences_loses_nothing(scale):
    X = scale * wide_example()[0]
    X[3] = X[4]  # one direction less
    axes = axes_of_wide_rows(X, X.mean(axis=0), 0)
    assert axes.shape == (18, 60)
    assert_allclose(axes @ axes.T, np.eye(18), atol=1e-12)
    centred = X - X.mean(axis=0)
    assert_allclose(centred @ axes.T @ axes, centred, atol=1e-12 * np.abs(centred).max())


@pytest.mark.usefixtures("few_columns_are_many")
def test_equal_rows_have_one_axis():
    X = np.ones((4, 60))
    assert axes_of_wide_rows(X, X.mean(axis=0), 0).shape == (1, 60)


@pytest.mark.usefixtures("few_columns_are_many")
def test_leading_axes_say_what_they_hold():
    X, _ = wide_example(200)
    with pytest.warns(UserWarning, match=r"60 columns, .* along 10 axes, which hold \d\d% of its"):
        axes = axes_of_wide_rows(X, X.mean(axis=0), 0, most_directions=10)
    assert axes.shape == (10, 60)
    low_rank = X[:, :5] @ np.random.default_rng(0).standard_normal((5, 60))
    axes = axes_of_wide_rows(low_rank, low_rank.mean(axis=0), 0, most_directions=10)  # no warning
    assert axes.shape == (5, 60)


@FEW_ROWS
@each(
    "learner",
    [
        ITML(random_state=0),
        ITML(prior=np.diag(np.arange(1.0, 61)), random_state=0),
        LMNN(random_state=0),
        LMNN(n_components=3, init="identity", random_state=0),
        LMNN(n_components=3, random_state=0),
        RCA(shrinkage=0.0, random_state=0),
    ],
    ids=["ITML", "ITML prior", "LMNN", "LMNN identity", "LMNN pca", "RCA"],
)
def test_distances_of_training_rows_are_those_without_axes(learner, monkeypatch):
    X, y = wide_example()
    plain = learner.fit(X, y).distance(X, X)
    monkeypatch.setattr(wide_rows, "MOST_COLUMNS", 30)
    learner.fit(X, y)
    assert learner.n_components_ < 20
    assert_allclose(learner.distance(X, X), plain, rtol=1e-5, atol=1e-5 * plain.max())


@FEW_ROWS
@each("learner", [ITML, GMML, LMNN, RCA])
def test_twenty_thousand_columns_take_little_time_and_memory(learner):
    X, y = wide_example(24, 20_000)
    pairs = Pairs.from_labels(y, 12, random_state=0)
    metric = learner(random_state=0).fit(X, y, pairs=pairs)
    assert metric.transform(X).shape[1] <= 23
    assert metric.score(X, y) > 0.9


def test_the_choice_among_metrics_is_made_along_the_axes():
    X, y = wide_example(24, 20_000)
    pairs = Pairs.from_labels(y, 12, random_state=0)
    metric = MetricLearner(time_budget=0.02, random_state=0).fit(X, pairs=pairs)
    assert metric.axes_.shape == (23, 20_000)
    assert metric.score(X, y) > 0.9


def test_generative_says_how_to_reduce_columns_first():
    X, y = wide_example(24, 2000)
    with pytest.raises(ValueError, match=r"2000 columns.* 1000 columns at most") as refused:
        Generative().fit(X, y)
    remedy = re.search(r"Chain\(.*\)\)?(?= with)", str(refused.value))[0]
    chain = eval(remedy, {"Chain": Chain, "PCA": PCA, "Generative": Generative})
    assert chain.fit(X, y).score(X, y) > 0.9
