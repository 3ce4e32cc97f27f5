import numpy as np
import scipy.sparse as sp
from numpy.testing import assert_allclose

from nearkin.spaces.graph import average_equal_rows


def test_equal_rows_have_one_place_however_they_are_stored():
    X = np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 0.0], [3.0, 0.0]])
    Z = np.arange(8.0).reshape(4, 2)
    expected = np.array([[2.0, 3], [2, 3], [2, 3], [6, 7]])
    expected[1] = Z[1]
    twice = sp.csr_array(([0.5, 0.5, 2, 1, 0, 3], [0, 0, 1, 0, 1, 0], [0, 2, 3, 5, 6]), (4, 2))
    for rows in (X, sp.csr_array(X), twice):
        assert_allclose(average_equal_rows(rows, Z), expected)
        parallel = average_equal_rows(rows, Z, "cosine")
        assert_allclose(parallel[[0, 2, 3]], [Z[[0, 2, 3]].mean(axis=0)] * 3)
