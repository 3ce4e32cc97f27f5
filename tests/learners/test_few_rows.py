"""Learners that can be led astray by few rows say so."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

import nearkin as nk
from nearkin.learners.geometry_aware import FewRowsWarning, warn_of_few_rows

X, Y = load_digits(return_X_y=True)


def test_functions_that_sit_on_few_rows_are_told():
    rng = np.random.RandomState(0)
    known = Y < 2
    digits, y = X[known], Y[known]
    links = rng.randint(len(y), size=(400, 2))
    alike = links[(y[links[:, 0]] == y[links[:, 1]]) & (links[:, 0] != links[:, 1])][:30]
    both = nk.Pairs.from_labels(y, 30, random_state=0)
    nk.GeometryAware(random_state=0).fit(digits, pairs=both)  # no warning
    far = np.vstack([digits, 60 + 5 * rng.normal(size=(3, 64))])
    with pytest.warns(FewRowsWarning, match=r"a few of 363 rows.*Use normalized=True"):
        nk.GeometryAware(random_state=0).fit(far, pairs=nk.Pairs(alike))
    with pytest.warns(FewRowsWarning, match=r"all others\. Join more rows"):
        warn_of_few_rows(np.eye(300)[:, :1], can_normalize=False)
    warn_of_few_rows(np.zeros((100, 2)), can_normalize=True)


def test_lmnn_with_fewer_rows_than_columns_stops_early_or_says_so():
    few = np.concatenate([np.flatnonzero(digit == Y)[:5] for digit in range(10)])
    rest = np.setdiff1d(np.arange(len(Y)), few)[::4]
    early = nk.LMNN(random_state=0).fit(X[few], Y[few])
    with pytest.warns(UserWarning, match="LMNN has 50 rows of known class and 5[0-9] columns"):
        late = nk.LMNN(random_state=0, max_iter=500).fit(X[few], Y[few])
    euclidean = nk.Euclidean().fit(X[few], Y[few])
    early, late, euclidean = (m.score(X[rest], Y[rest]) for m in (early, late, euclidean))
    assert early > euclidean + 0.01 > late
