"""Functions of a kernel that are smooth along a graph, for new rows too."""

import numpy as np
import scipy.sparse as sp
from numpy.testing import assert_allclose
from scipy.linalg import eigh
from scipy.spatial.distance import cdist
from sklearn.datasets import make_blobs, make_moons

from nearkin import GeometryAware, Pairs
from nearkin.spaces import bent_functions
from nearkin.spaces.bent_functions import find_bent_functions
from nearkin.spaces.graph import laplacian, neighbor_graph


def kernel_coordinates(X, landmarks, gamma=1.0):
    """Kernel values of landmarks, of all rows against them, and coordinates with those products."""
    K_mm = np.exp(-gamma * cdist(landmarks, landmarks) ** 2)
    K_nm = np.exp(-gamma * cdist(X, landmarks) ** 2)
    values, vectors = np.linalg.eigh(K_mm)
    real = values > 1e-9 * values[-1]
    return K_mm, K_nm, K_nm @ vectors[:, real] / np.sqrt(values[real])


def test_they_are_the_smallest_solutions_as_the_problem_is_stated():
    rng = np.random.RandomState(0)
    X = rng.standard_normal((60, 2))
    K_mm, K_nm, Phi = kernel_coordinates(X, X[:15])
    L = laplacian(neighbor_graph(X, 5, weight="binary"))
    mean_length = (Phi**2).sum(axis=1).mean()
    rho = bent_functions._NORM_SHARE * mean_length * L.diagonal().mean()
    mu, a = eigh(rho * K_mm + K_nm.T @ (L @ K_nm), K_nm.T @ K_nm)
    roughness, C = find_bent_functions(Phi, L, 4)
    assert_allclose(roughness, mu[:4], rtol=1e-6)
    ours, theirs = Phi @ C, K_nm @ a[:, :4]
    assert_allclose(ours.T @ ours, np.eye(4), atol=1e-8)
    assert_allclose(np.abs(np.sum(ours * theirs, axis=0)), 1, rtol=1e-6)


def test_without_edges_they_are_the_leading_directions_of_the_kernel():
    X = np.random.RandomState(0).standard_normal((40, 3))
    _, _, Phi = kernel_coordinates(X, X[:10])
    _, C = find_bent_functions(Phi, sp.csr_array((40, 40)), 3)
    leading = np.linalg.svd(Phi, full_matrices=False)[0][:, :3]
    assert_allclose(np.abs(np.sum((Phi @ C) * leading, axis=0)), 1, rtol=1e-8)


def test_fewer_directions_than_functions_and_rows_that_coincide():
    L = laplacian(sp.csr_array(np.ones((6, 6)) - np.eye(6)))
    Phi = np.random.RandomState(0).standard_normal((6, 2))
    assert find_bent_functions(Phi, L, 5)[1].shape == (2, 2)
    roughness, C = find_bent_functions(np.column_stack([Phi, Phi[:, 0]]), L, 5)
    assert C.shape == (3, 2)  # two columns are one function
    assert np.isfinite(roughness).all()
    assert find_bent_functions(np.zeros((6, 2)), L, 5)[1].shape == (2, 1)


def test_parts_of_a_graph_are_told_apart_and_isolated_rows_have_no_function_of_their_own():
    X, y = make_blobs(120, centers=[[0, 0], [8, 0], [4, 7]], cluster_std=0.6, random_state=0)
    X = np.vstack([X, [[4.0, 2.0]]])  # far from all: without an edge in a mutual graph
    W = neighbor_graph(X, 8, weight="binary", mutual=True)
    W = sp.lil_array(W)
    W[120], W[:, 120] = 0, 0
    _, _, Phi = kernel_coordinates(X, X, gamma=0.1)
    _, C = find_bent_functions(Phi, laplacian(sp.csr_array(W)), 3)
    Z = Phi @ C
    assert (Z[120] ** 2).max() < 0.1
    within = max(Z[:120][y == k].std(axis=0).max() for k in range(3))
    centres = np.array([Z[:120][y == k].mean(axis=0) for k in range(3)])
    assert within < 0.2 * min(np.linalg.norm(centres[i] - centres[i - 1]) for i in range(3))


def test_new_rows_of_two_moons_lie_where_training_rows_do():
    X, y = make_moons(400, noise=0.06, random_state=0)
    pairs = Pairs.from_labels(y[:200], 30, random_state=0)
    metric = GeometryAware(family="data_dependent", gamma=5.0, random_state=0)
    metric.fit(X[:200], pairs=pairs)
    assert_allclose(metric.transform(X[:200]), metric.embedding_, atol=1e-8)
    assert metric.score(X[200:], y[200:]) > 0.9
