from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits, load_iris, make_moons
from sklearn.neighbors import KNeighborsClassifier

from nearkin import GeometryAware, Pairs, load
from nearkin.learners.geometry_aware import FewRowsWarning, count_gaining_rounds, warn_of_few_rows
from nearkin.pairs.supervision import draw_of_each_kind
from nearkin.scores import pair_auc
from nearkin.solvers.kernel_families import SpectralFamily, alternate
from nearkin.solvers.logdet import bound_pairs, draw_random_pairs, estimate_bounds
from nearkin.spaces.graph import neighbor_graph, smoothest_functions
from tests.cases import each

FAMILIES = ("spectral", "data_dependent", "rbf")
each_family = each("family", FAMILIES)
SLACK = 5.0


X, Y = make_moons(200, noise=0.06, random_state=0)
PAIRS = Pairs.from_labels(Y, 30, random_state=0)


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:550], y[:550]


@pytest.fixture(scope="module")
def taught():
    """One learner of each family, after its fit."""
    return {
        family: GeometryAware(family=family, random_state=0, tol=0.0).fit(X, pairs=PAIRS)
        for family in FAMILIES
    }


@each_family
def test_objective_never_rises_and_the_embedding_is_the_transform(taught, family):
    objective = taught[family].objective_
    assert len(objective) >= 3
    assert all(b <= a * (1 + 1e-5) for a, b in pairwise(objective))
    assert_allclose(taught[family].transform(X), taught[family].embedding_, atol=1e-10)


def test_learned_distances_are_those_of_the_learned_kernel():
    metric = GeometryAware(random_state=0, n_iter=1).fit(X, pairs=PAIRS)
    _, V = smoothest_functions(neighbor_graph(X, 10, weight="heat"), 20, random_state=0)
    # Fit the metric in these coordinates from the distances it gives: it must reproduce them all.
    assert metric.embedding_.shape[1] <= 20
    coefficients = np.linalg.lstsq(V, metric.embedding_, rcond=None)[0]
    assert_allclose(
        V @ coefficients, metric.embedding_, atol=1e-6 * np.abs(metric.embedding_).max()
    )


def test_axes_are_those_of_eigenmaps_where_pairs_ask_for_nothing():
    pairs = Pairs([(0, 1)])
    metric = GeometryAware(random_state=0, bounds=(1e6, 1e7)).fit(X, pairs=pairs)
    _, V = smoothest_functions(neighbor_graph(X, 10, weight="heat"), 20, random_state=0)
    cosines = V[:, 1:].T @ (metric.embedding_ / np.linalg.norm(metric.embedding_, axis=0))
    assert metric.n_components_ == 19  # the constant function tells nothing apart
    assert_allclose(np.abs(cosines), np.eye(19), atol=1e-4)


def test_few_labels_suffice_along_the_data():
    labels = np.full(len(Y), -1)
    for kind in (0, 1):
        labels[np.flatnonzero(kind == Y)[:3]] = kind
    metric = GeometryAware(random_state=0).fit(X, labels)
    X_new, y_new = make_moons(200, noise=0.06, random_state=1)
    assert metric.score(X_new, y_new) > 0.98
    known = labels >= 0
    nearest = KNeighborsClassifier(1).fit(metric.embedding_[known], labels[known])
    assert nearest.score(metric.transform(X_new), y_new) > 0.97


@pytest.mark.night
@each_family
def test_held_out_digits_gain_over_euclid(digits, family):
    X, y = digits
    labels = np.where(np.arange(350) % 5 == 0, y[:350], -1)
    metric = GeometryAware(family=family, random_state=0).fit(X[:350], labels)
    known = labels >= 0

    def accuracy(Z, Z_new):
        return KNeighborsClassifier(1).fit(Z[known], labels[known]).score(Z_new, y[350:])

    plain = accuracy(X[:350], X[350:])
    assert accuracy(metric.embedding_, metric.transform(X[350:])) > plain - 0.02
    assert metric.score(X[350:], y[350:]) > 0.88


def test_must_links_alone_leave_rows_apart(digits):
    X, y = digits
    pairs = Pairs.from_labels(y[:200], 60, kind="must", random_state=0)
    one, many = (
        GeometryAware(n_iter=n_iter, random_state=0).fit(X[:200], pairs=pairs) for n_iter in (1, 20)
    )
    assert many.embedding_.var() > one.embedding_.var()
    assert many.score(X[:200], y[:200]) > 0.93


def test_fewer_axes_are_the_leading_ones():
    full = GeometryAware(random_state=0).fit(X, pairs=PAIRS)
    few = GeometryAware(random_state=0, n_components=2).fit(X, pairs=PAIRS)
    assert few.n_components_ == 2
    assert_allclose(few.embedding_, full.embedding_[:, :2], atol=1e-9)
    deviations = full.embedding_.std(axis=0)
    assert (np.diff(deviations) <= 1e-9).all()


@each("options", [{"coordinates": "lle"}, {"coordinates": "isomap"}, {"radius": 0.35}])
def test_other_coordinates_and_graphs(options):
    metric = GeometryAware(n_vectors=20 if "radius" in options else 8, random_state=0, **options)
    assert metric.fit(X, pairs=PAIRS).score(X, Y) > (0.95 if "radius" in options else 0.9)


def test_text_like_rows_under_the_cosine():
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(200, 0.05), size=3)
    y = rng.integers(3, size=240)
    X = sp.csr_array(np.array([rng.multinomial(60, topics[kind]) for kind in y], dtype=float))
    metric = GeometryAware(metric="cosine", edge_weight="cosine", random_state=0)
    metric.fit(X[:200], pairs=Pairs.from_labels(y[:200], 20, random_state=0))
    assert metric.score(X[200:], y[200:]) > 0.95


# Bad input


@pytest.mark.filterwarnings("ignore::nearkin.learners.geometry_aware.FewRowsWarning")  # it is so
def test_rows_of_zeros_under_the_cosine_are_told_of():
    rows = np.abs(X)
    rows[7] = 0
    with pytest.warns(UserWarning, match="zero"):
        metric = GeometryAware(metric="cosine", random_state=0).fit(rows, pairs=PAIRS)
    assert np.isfinite(metric.embedding_).all()
    assert np.isfinite(metric.transform(np.zeros((1, 2)))).all()


def test_a_graph_of_many_parts_is_told_of():
    X = np.repeat(np.arange(30.0) * 100, 3)[:, None] + np.tile([0.0, 1, 2], 30)[:, None]
    metric = GeometryAware(graph_neighbors=2, n_vectors=10, random_state=0)
    with pytest.warns(UserWarning, match="at least 10 parts.*Raise n_vectors") as record:
        metric.fit(X, pairs=Pairs([(0, 3)], [(0, 6)]))
    assert record[0].filename == __file__
    assert np.isfinite(metric.transform(X)).all()


def test_parts_are_joined_by_links():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2, 3], 30)
    X = 100.0 * y[:, None] + rng.standard_normal((120, 2))
    metric = GeometryAware(n_vectors=6, slack=10, random_state=0)
    metric.fit(X, pairs=Pairs([(0, 30), (5, 41)], [(0, 60), (0, 90)]))
    D = metric.distance(X)
    assert D[y == 0][:, y == 1].mean() < 0.7 * D[y == 0][:, y == 2].mean()


@each_family
def test_more_vectors_and_neighbours_than_rows(family):
    X, y = make_moons(12, random_state=0)
    metric = GeometryAware(family=family, n_vectors=50, graph_neighbors=99, random_state=0)
    metric.fit(X, y)
    assert np.isfinite(metric.transform(X)).all()
    if family == "spectral":
        assert metric.n_vectors_ == 12


@each_family
def test_duplicated_rows_are_one_place(family):
    rows, n = np.concatenate([X[:80], X[:20], X[:5]]), 80
    pairs = Pairs([(0, n), (1, n + 1), (2, 3)], [(0, 9)])  # of equal rows, too
    metric = GeometryAware(family=family, n_iter=5, random_state=0).fit(rows, pairs=pairs)
    assert np.isfinite(metric.embedding_).all()
    assert_allclose(metric.embedding_[n : n + 20], metric.embedding_[:20], atol=1e-9)


@each(
    ("options", "message"),
    [
        *(({"bounds": bad}, "bounds") for bad in ((2.0, 1.0), (1.0, 1.0), (0.0, 1.0), (1.0,), "w")),
        ({"family": "data_dependent", "kernel": "precomputed"}, "kernel"),
        ({"family": "rbf", "n_landmarks": 1}, "n_landmarks=1 is one row"),
        ({"family": "rbf", "stop": "held_out"}, 'stop="held_out" counts rounds on a graph'),
    ],
)
def test_wrong_parameters(options, message):
    with pytest.raises(ValueError, match=message):
        GeometryAware(random_state=0, **options).fit(X, pairs=PAIRS)


def test_a_width_is_judged_by_some_pairs_of_each_kind():
    pairs = Pairs.from_labels(np.arange(40) % 2, 300, random_state=0)
    some = draw_of_each_kind(pairs, 50, np.random.RandomState(0))
    assert (len(some.must_link), len(some.cannot_link)) == (50, 50)
    assert_allclose(some.must_weight.sum(), pairs.must_weight.sum())
    assert_allclose(some.cannot_weight.sum(), pairs.cannot_weight.sum())
    assert draw_of_each_kind(pairs, 300, np.random.RandomState(0)) == pairs


def test_a_direction_that_must_links_let_grow_without_end_is_told():
    X, y = load_iris(return_X_y=True)  # the graph falls into two parts, which no pair joins
    pairs = Pairs.from_labels(y, 40, kind="must", random_state=0)
    with pytest.warns(UserWarning, match="others vanish. Must-links alone may let it grow"):
        found = GeometryAware(random_state=0).fit(X, pairs=pairs).transform(X)
    assert np.isfinite(found).all()
    assert np.ptp(found) > 0
    GeometryAware(random_state=0, n_iter=3).fit(X, pairs=pairs)  # without a word


def test_functions_that_sit_on_few_rows_are_told():
    rng = np.random.RandomState(0)
    digits, y = load_digits(n_class=2, return_X_y=True)
    links = rng.randint(len(y), size=(400, 2))
    alike = links[(y[links[:, 0]] == y[links[:, 1]]) & (links[:, 0] != links[:, 1])][:30]
    both = Pairs.from_labels(y, 30, random_state=0)
    GeometryAware(random_state=0).fit(digits, pairs=both)  # no warning
    far = np.vstack([digits, 60 + 5 * rng.normal(size=(3, 64))])
    with pytest.warns(FewRowsWarning, match=r"a few of 363 rows.*Use normalized=True"):
        GeometryAware(random_state=0).fit(far, pairs=Pairs(alike))
    with pytest.warns(FewRowsWarning, match=r"all others\. Join more rows"):
        warn_of_few_rows(np.eye(300)[:, :1], can_normalize=False)
    warn_of_few_rows(np.zeros((100, 2)), can_normalize=True)


# Rounds are taken as long as pairs that are held out gain


class Told:
    """Sixty points that their first coordinate tells apart, and pairs by labels partly wrong."""

    def __init__(self, weights, wrong):
        rng = np.random.RandomState(1)
        self.y = np.arange(60) % 2
        informative = self.y - 0.5 + 0.05 * rng.randn(60)
        self.F = np.linalg.qr(np.column_stack([informative, rng.randn(60, 9)]))[0]
        self.family = SpectralFamily(self.F, np.asarray(weights, dtype=float))
        told = np.where(rng.rand(60) < wrong, 1 - self.y, self.y)
        self.links = Pairs.from_labels(told, 200, random_state=1)
        self.ends = draw_random_pairs(60, rng)
        self.bounds = estimate_bounds(self.F, self.ends, self.family.prior)

    def rounds(self, links=None, most=10):
        links, rng = self.links if links is None else links, np.random.RandomState(0)
        return count_gaining_rounds(
            self.family, links, self.bounds, SLACK, self.ends, most=most, rng=rng
        )

    def auc(self, n_iter):
        """After so many rounds with all pairs, by what is true."""
        B = self.family.prior
        if n_iter:
            bounded = bound_pairs(self.links, self.bounds, SLACK)
            B = alternate(self.family, bounded, n_iter=n_iter).solution.B
        return pair_auc(self.F @ np.linalg.cholesky(B), self.y)


def test_rounds_are_taken_where_they_help_and_the_start_stays_where_they_harm():
    told = Told([1.0] + 9 * [0.05], wrong=0.3)
    assert told.auc(0) == pytest.approx(1)
    assert told.auc(10) < 0.8
    assert told.rounds() == 0
    told = Told(10 * [1.0], wrong=0.1)
    found = told.rounds()
    assert found >= 1
    assert told.auc(found) > told.auc(0) + 0.1
    assert told.rounds(most=1) == 1
    assert told.rounds() == found


def test_one_kind_of_pair_is_judged_beside_random_ones():
    told = Told(10 * [1.0], wrong=0.0)
    for links in (Pairs(told.links.must_link), Pairs((), told.links.cannot_link)):
        assert told.rounds(links) >= 1
    assert told.rounds(Pairs([(0, 2)])) == 0  # nothing is left to judge by


@each("family", ["spectral", "data_dependent"])
def test_a_learner_takes_that_many_rounds_with_all_pairs(family):
    X, y = make_moons(150, noise=0.2, random_state=0)
    y = np.where(np.arange(150) % 5 == 0, y, -1)
    metric, again = (
        GeometryAware(family=family, stop="held_out", random_state=0).fit(X, y) for _ in range(2)
    )
    assert_array_equal(again.embedding_, metric.embedding_)
    assert 1 <= metric.n_iter_ <= 20
    as_many = GeometryAware(family=family, n_iter=metric.n_iter_, tol=0, random_state=0).fit(X, y)
    assert_array_equal(as_many.embedding_, metric.embedding_)


def test_a_learner_that_stays_at_its_start_can_be_stored(tmp_path):
    X, _ = make_moons(150, noise=0.2, random_state=0)
    pairs = Pairs([(0, 1)], [(2, 3)], closer=[(4, 5, 6)])
    metric = GeometryAware(stop="held_out", random_state=0).fit(X, pairs=pairs)
    assert (metric.n_iter_, len(metric.objective_)) == (0, 0)
    assert_array_equal(metric.weights_, np.exp(-metric.diffusion * metric.eigenvalues_))
    metric.save(tmp_path / "start.nearkin")
    assert_array_equal(load(tmp_path / "start.nearkin").transform(X), metric.transform(X))
