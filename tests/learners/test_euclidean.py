import numpy as np
from numpy.testing import assert_allclose

from nearkin import Euclidean
from tests.common.learners import example


def test_distances_are_those_of_the_rows():
    X, _, pairs, X_new = example()
    metric = Euclidean(random_state=0).fit(X, pairs=pairs)
    expected = [[np.sqrt(sum((a - b) ** 2)) for b in X] for a in X_new]
    assert_allclose(metric.distance(X_new, X), expected, rtol=1e-12)
