"""Rounds are taken as long as pairs that are held out gain."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import make_moons

from nearkin import GeometryAware, Pairs, load
from nearkin.learners.geometry_aware import rounds_that_gain
from nearkin.scores import pair_auc
from nearkin.solvers.kernel_families import SpectralFamily, alternate
from nearkin.solvers.logdet import bound_pairs, draw_random_pairs, estimate_bounds
from tests.cases import each

SLACK = 5.0


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
        return rounds_that_gain(
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


@pytest.fixture(scope="module")
def moons():
    X, y = make_moons(150, noise=0.2, random_state=0)
    return X, np.where(np.arange(150) % 5 == 0, y, -1)


@each("family", ["spectral", "data_dependent"])
def test_a_learner_takes_that_many_rounds_with_all_pairs(moons, family):
    X, y = moons
    metric = GeometryAware(family=family, stop="held_out", random_state=0).fit(X, y)
    again = GeometryAware(family=family, stop="held_out", random_state=0).fit(X, y)
    assert_array_equal(again.embedding_, metric.embedding_)
    assert 1 <= metric.n_iter_ <= 20
    as_many = GeometryAware(family=family, n_iter=metric.n_iter_, tol=0, random_state=0).fit(X, y)
    assert_array_equal(as_many.embedding_, metric.embedding_)


def test_a_learner_that_stays_at_its_start_can_be_stored(moons, tmp_path):
    X, _ = moons
    pairs = Pairs([(0, 1)], [(2, 3)], closer=[(4, 5, 6)])
    metric = GeometryAware(stop="held_out", random_state=0).fit(X, pairs=pairs)
    assert (metric.n_iter_, len(metric.objective_)) == (0, 0)
    assert_array_equal(metric.weights_, np.exp(-metric.diffusion * metric.eigenvalues_))
    metric.save(tmp_path / "start.nearkin")
    assert_array_equal(load(tmp_path / "start.nearkin").transform(X), metric.transform(X))


def test_a_width_has_no_such_rounds(moons):
    with pytest.raises(ValueError, match='stop="held_out" counts rounds on a graph'):
        GeometryAware(family="rbf", stop="held_out").fit(*moons)
