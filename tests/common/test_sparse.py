"""Sparse rows give what the same rows give as arrays."""

import tracemalloc
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.decomposition import TruncatedSVD
from sklearn.utils import get_tags

import nearkin as nk
from nearkin.rows import sparse as sparse_rows
from nearkin.rows.distances import rowwise_distances
from nearkin.rows.sparse import MOST_AXES, leading_axes, project_along, to_dense
from tests.cases import each
from tests.common.learners import LEARNERS

TAKING = {name: one for name, one in LEARNERS.items() if get_tags(one).input_tags.sparse}
REFUSING = {
    name: one
    for name, one in LEARNERS.items()
    if name not in TAKING and not isinstance(one, nk.MetricLearner)
}


def example(n=60, d=12):
    """Weights of words, whose topic is the class; and pairs."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % 3
    often = np.where(np.arange(d) % 3 == y[:, None], 1.5, 0.3)
    X = rng.poisson(often) * rng.uniform(0.5, 1, size=(n, d))  # no two are equally far
    return X, y, nk.Pairs.from_labels(y, 30, random_state=0)


X, Y, PAIRS = example()


def documents():
    """Rows of more columns than there are axes."""
    return example(120, 400)


def both(estimator, X, *given, **named):
    """Clones that are fitted to dense and to sparse rows."""
    return (clone(estimator).fit(f(X), *given, **named) for f in (np.array, sp.csr_array))


@each("learner", [pytest.param(one, id=name) for name, one in TAKING.items()])
def test_learners(learner):
    S = sp.csr_array(X)
    of_dense, of_sparse = both(learner, X, pairs=PAIRS)
    D = of_dense.distance(X[:25], X[25:])
    close = {"rtol": 1e-5, "atol": 1e-5 * D.max()}  # kernels of sparse rows are inner products
    assert_allclose(of_sparse.distance(S[:25], S[25:]), D, **close)
    assert_allclose(of_sparse.distance(S), of_dense.distance(X), **close)
    assert_allclose(of_sparse.pair_distance(S, S), 0, atol=1e-9 * D.max())
    assert_array_equal(of_sparse.same(S[:25], S[25:50]), of_dense.same(X[:25], X[25:50]))
    assert_allclose(of_sparse.threshold_, of_dense.threshold_, rtol=1e-4)
    assert_allclose(of_sparse.score(S, Y), of_dense.score(X, Y), atol=1e-6)
    assert_allclose(of_sparse.score(S, pairs=PAIRS), of_dense.score(X, pairs=PAIRS), atol=1e-6)
    K = of_dense.kernel_matrix(X[:5], X)
    assert_allclose(of_sparse.kernel_matrix(S[:5], S), K, rtol=1e-5, atol=1e-5 * abs(K).max())


@each("learner", [nk.ITML(random_state=0), nk.GMML(), nk.RCA(), nk.Euclidean()])
@each("scale", [False, True])
def test_linear_learners_to_the_last_digits(learner, scale):
    learner = clone(learner).set_params(scale=scale)
    of_labels, of_pairs = clone(learner).fit(X, Y), clone(learner).fit(X, pairs=PAIRS)
    for form, of_dense, knowledge in (
        (sp.csr_array, of_labels, {"y": Y}),
        (sp.csc_matrix, of_pairs, {"pairs": PAIRS}),
        (sp.coo_array, of_pairs, {"pairs": PAIRS}),
    ):
        of_sparse = clone(learner).fit(form(X), **knowledge)
        Z = to_dense(of_sparse.transform(form(X)))
        assert_allclose(Z, of_dense.transform(X), rtol=1e-9, atol=1e-9)
        # A metric learned from either takes both.
        assert_allclose(to_dense(of_dense.transform(form(X))), Z, rtol=1e-9, atol=1e-9)
        assert_allclose(of_sparse.transform(X), Z, rtol=1e-9, atol=1e-9)


@each("learner", [nk.ITML(random_state=0), nk.GMML(), nk.RCA(), nk.Euclidean()])
def test_float32(learner):
    S = sp.csr_array(X.astype(np.float32))
    metric = clone(learner).fit(S, pairs=PAIRS)
    assert metric.transform(S).dtype == np.float32
    assert_allclose(metric.distance(S), clone(learner).fit(X, pairs=PAIRS).distance(X), atol=1e-4)


@each("learner", [nk.ITML(random_state=0), nk.GMML(), nk.RCA(random_state=0)])
def test_many_columns_are_seen_along_their_leading_axes(learner):
    X, y, pairs = documents()
    metric = clone(learner).fit(sp.csr_array(X), pairs=pairs)
    assert metric.components_.shape == (metric.n_components_, 400)
    assert metric.mean_.shape == (400,)
    axes = leading_axes(sp.csr_array(X), 0)
    by_hand = clone(learner).fit(X @ axes.T, pairs=pairs)
    # Other axes of the same space are as good.
    assert_allclose(metric.score(sp.csr_array(X), y), by_hand.score(X @ axes.T, y), atol=0.02)
    assert metric.score(sp.csr_array(X), y) > 0.9


@each("learner", [nk.ITML(random_state=0), nk.RCA(shrinkage=0.5, random_state=0)])
def test_axes_lose_nothing_of_few_rows(learner):
    X, _, pairs = documents()
    assert X.shape[0] <= MOST_AXES  # so that the axes span them
    of_dense, of_sparse = both(learner, X, pairs=pairs)
    if isinstance(learner, nk.ITML):  # whose prior is the identity, on all columns or on all axes
        D = of_dense.distance(X)
        assert_allclose(of_sparse.distance(sp.csr_array(X)), D, rtol=1e-6, atol=1e-6 * D.max())
    assert of_sparse.n_components_ <= 120


def test_leading_axes():
    rng = np.random.default_rng(0)
    low = rng.normal(size=(150, 5)) @ rng.normal(size=(5, 400))
    axes = leading_axes(sp.csr_array(low), 0)
    assert axes.shape == (5, 400)  # those that are there
    assert_allclose(axes @ axes.T, np.eye(5), atol=1e-12)
    assert_allclose(project_along(sp.csr_array(low), axes) @ axes, low, atol=1e-9)
    assert leading_axes(sp.csr_array(low[:, :MOST_AXES]), 0) is None
    assert leading_axes(sp.csr_array((10, 400)), 0).shape == (1, 400)  # nothing to see
    tiny = leading_axes(sp.csr_array(low * 1e-200), 0)
    assert_allclose(abs(tiny @ axes.T).sum(), abs(np.eye(5)).sum(), rtol=1e-6)


def test_neither_rows_nor_metric_are_ever_dense(monkeypatch):
    """A dense copy of these rows would take 240 MB, a metric of all columns 800 MB."""
    monkeypatch.setattr(sparse_rows, "_MOST_ROWS", 400)
    rng = np.random.default_rng(0)
    X = sp.random_array((3_000, 10_000), density=5e-5, format="csr", random_state=rng)
    pairs = nk.Pairs([(0, 1), (2, 3)], [(0, 2), (1, 3)])
    learners = (nk.Euclidean(), nk.RCA(random_state=0))
    tracemalloc.start()
    for learner in learners:
        learner.fit(X, pairs=pairs).transform(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.5e8


def test_partial_fit_of_many_columns():
    X, y, pairs = documents()
    S, more = sp.csr_array(X), nk.Pairs.from_labels(y, 20, random_state=7)
    metric = nk.ITML(random_state=0).fit(S, pairs=pairs).partial_fit(S, pairs=more)
    whole = nk.ITML(random_state=0).fit(S, pairs=pairs + more)
    D = whole.distance(S[:30])
    assert_allclose(metric.distance(S[:30]), D, rtol=1e-6, atol=1e-6 * D.max())


@each("name", ["ITML", "GMML", "RCA"])
def test_stored_models_of_many_columns(name, tmp_path):
    X, _, pairs = documents()
    metric = clone(LEARNERS[name]).set_params(scale=True).fit(sp.csr_array(X), pairs=pairs)
    metric.save(tmp_path / "text.nearkin")
    loaded = nk.load(tmp_path / "text.nearkin")
    S = sp.csr_array(X[:9])
    assert_array_equal(loaded.transform(S), metric.transform(S))
    assert_allclose(loaded.transform(X[:9]), metric.transform(S), rtol=1e-9, atol=1e-9)


def test_a_prior_has_no_meaning_along_axes():
    X, _, pairs = documents()
    with pytest.raises(ValueError, match="no meaning along the axes of sparse rows"):
        nk.ITML(prior=np.eye(400)).fit(sp.csr_array(X), pairs=pairs)


def test_equal_rows_are_told_of():
    X = sp.csr_array(np.ones((10, 1)) * [[0, 1.5, 0]])
    with pytest.warns(UserWarning, match="all rows of X coincide"):
        nk.GMML().fit(X, pairs=nk.Pairs([(0, 1)]))


# Compositions


def test_a_blend_with_the_euclidean_distance():
    blend = nk.Blend(
        [nk.Euclidean(), nk.KernelBeta(random_state=0)], weights=[1, 2], random_state=0
    )
    of_dense, of_sparse = both(blend, X, pairs=PAIRS)
    D = of_dense.distance(X)
    assert_allclose(of_sparse.distance(sp.csr_array(X)), D, rtol=1e-5, atol=1e-5)
    assert_allclose(of_sparse.score(sp.csr_array(X), Y), of_dense.score(X, Y), atol=1e-6)


def test_a_chain_whose_first_step_keeps_rows_sparse():
    chain = nk.Chain([nk.Euclidean(scale=True), nk.ITML(random_state=0)])
    of_dense, of_sparse = both(chain, X, pairs=PAIRS)
    assert_allclose(of_sparse.transform(sp.csr_array(X)), of_dense.transform(X), atol=1e-9)


# Distances


@each("dtype", [np.float32, np.float64])
def test_distances_keep_the_digits_of_near_rows(dtype):
    rng = np.random.default_rng(0)
    X = np.repeat(rng.poisson(0.3, size=(40, 50)) * 1e4, 2, axis=0)
    X[1::2, 0] += 1e-3 * rng.integers(0, 2, size=40)
    S = sp.csr_array(X.astype(dtype))
    D = sparse_rows.sparse_distances(S, S)
    A = S.toarray().astype(float)
    expected = np.linalg.norm(A[:, None] - A[None], axis=2)
    assert_allclose(D, expected, rtol=1e-9)
    assert_array_equal(np.diag(D), 0)
    rows = np.arange(40)
    apart = rowwise_distances(S, S, rows, rows + 7)
    assert_allclose(apart, expected[rows, rows + 7])


# Tasks


def test_neighbors():
    X, _, pairs = example()
    X = X + np.arange(60)[:, None] * 1e-3  # no ties
    S = sp.csr_array(X)
    plain, index = nk.NeighborIndex().fit(X), nk.NeighborIndex().fit(S[:40]).add(S[40:])
    for a, b in zip(index.query(S, 4), plain.query(X, 4), strict=True):
        assert_allclose(a, b, atol=1e-12)
    assert_array_equal(index.query(X, 4)[1], plain.query(S, 4)[1])  # either finds either
    for radius in (0.5, 3.0):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "the largest of")  # a chain, of either alike
            assert_array_equal(index.group_labels(radius), plain.group_labels(radius))
        found, expected = index.query_radius(S, radius)[1], plain.query_radius(X, radius)[1]
        assert list(map(list, found)) == list(map(list, expected))
    metric = nk.Euclidean(scale=True).fit(S, pairs=pairs)
    of_metric = nk.NeighborIndex(metric).fit(S).query(S, 3)[1]
    assert_array_equal(of_metric, nk.NeighborIndex(metric).fit(X).query(X, 3)[1])


def test_duplicates_among_sparse_rows():
    rng = np.random.default_rng(0)
    X = sp.random_array((300, 5000), density=0.01, format="csr", random_state=rng)
    X = sp.vstack([X, X[:3]], format="csr")
    groups = nk.NeighborIndex().fit(X).duplicates(radius=0)
    assert [group.tolist() for group in groups] == [[0, 300], [1, 301], [2, 302]]


def test_what_an_index_of_sparse_rows_cannot(tmp_path):
    S = sp.csr_array(example()[0])
    index = nk.NeighborIndex().fit(S)
    for write in (index.save, index.export):
        with pytest.raises(ValueError, match="writes dense vectors, but those of this index"):
            write(tmp_path / "rows.npy")
    with pytest.raises(ValueError, match="'approximate' needs dense vectors"):
        nk.NeighborIndex(search="approximate").fit(S)


@each("learn_metric", [True, False])
@each("knowledge", ["pairs", "labels", "nothing"])
def test_clusters(learn_metric, knowledge):
    given = {"pairs": {"pairs": PAIRS}, "labels": {"y": Y}, "nothing": {}}[knowledge]
    clusters = nk.MPCKMeans(3, learn_metric=learn_metric, random_state=0, n_init=1)
    of_dense, of_sparse = both(clusters, X, **given)
    assert_array_equal(of_sparse.labels_, of_dense.labels_)
    assert_allclose(of_sparse.cluster_centers_, of_dense.cluster_centers_, atol=1e-9)
    assert_allclose(of_sparse.metric_weights_, of_dense.metric_weights_)
    assert_allclose(of_sparse.objective_, of_dense.objective_)
    S = sp.csr_array(X)
    assert_array_equal(of_sparse.predict(S), of_dense.predict(X))
    assert_allclose(of_sparse.transform(S), of_dense.transform(X))


@each("metric", [None, nk.RCA(), nk.Euclidean(scale=True)])
def test_classes(metric):
    X, y, _ = example(120)
    S = sp.csr_array(X)
    of_dense, of_sparse = both(nk.EnergyClassifier(metric, random_state=0), X[::2], y[::2])
    assert_allclose(of_sparse.margin_, of_dense.margin_, rtol=1e-9)
    scores = of_dense.decision_function(X[1::2])
    assert_allclose(of_sparse.decision_function(S[1::2]), scores, rtol=1e-7)
    assert_array_equal(of_sparse.predict(S[1::2]), of_dense.predict(X[1::2]))


# Those that do not


@each("estimator", [*REFUSING.values(), nk.MetricKMeans()])
def test_others_say_who_does_and_what_helps(estimator):
    if getattr(estimator, "kernel", None) == "precomputed":
        pytest.skip("a kernel matrix is dense")
    with pytest.raises(TypeError, match="does not take") as error:
        clone(estimator).fit(sp.csr_array(X), np.arange(60) % 3)
    name = type(estimator).__name__
    assert f"Chain([TruncatedSVD(100), {name}(...)])" in str(error.value)
    told = str(error.value).partition("does not take.")[2]
    assert "GMML, CosineMetric, PLDA, ColumnWeights, GeometryAware, RCA, Euclidean" in told
    assert name not in told.partition(" do;")[0]


def test_the_remedy_works():
    X, y, pairs = documents()
    chain = nk.Chain([TruncatedSVD(100, random_state=0), nk.LMNN()])
    assert chain.fit(sp.csr_array(X), y, pairs=pairs).score(sp.csr_array(X), y) > 0.9


def in_parts(X):
    """The same matrix, of which every entry is stored in two halves."""
    S = sp.csr_array(X)
    return sp.csr_array((np.repeat(S.data / 2, 2), np.repeat(S.indices, 2), 2 * S.indptr), S.shape)


EQUAL_FORMS = {
    "in parts": in_parts,
    "COO in parts": lambda X: in_parts(X).tocoo(),
    "BSR": sp.bsr_array,
    "with zeros": lambda X: sp.csr_array(
        (X.ravel(), np.tile(np.arange(X.shape[1]), len(X)), np.arange(0, X.size + 1, X.shape[1]))
    ),
}


@each("name", ["exact", "laplacian", "ITML", "GeometryAware", "Euclidean"])
def test_equal_matrices_are_equal_however_they_are_stored(name):
    plain = sp.csr_array(X)
    theirs = clone(LEARNERS[name]).fit(plain, pairs=PAIRS)
    D, scores = theirs.distance(plain), (theirs.score(plain, Y), theirs.score(plain, pairs=PAIRS))
    for stored, form in EQUAL_FORMS.items():
        given = form(X)
        before = given.copy()
        ours = clone(LEARNERS[name]).fit(given, pairs=PAIRS)
        assert_array_equal(ours.distance(given), D, stored)
        assert (ours.score(given, Y), ours.score(given, pairs=PAIRS)) == scores, stored
        assert given.nnz == before.nnz, stored
        assert_array_equal(given.data, before.data, stored)


def test_equal_matrices_are_equal_in_tasks():

    def found(rows):
        return (
            nk.spread_pairs(rows, PAIRS).must_weight,
            nk.scores.separability(rows, Y),
            nk.MPCKMeans(3, n_init=1, random_state=0).fit(rows, pairs=PAIRS).cluster_centers_,
            nk.EnergyClassifier().fit(rows, Y).decision_function(rows),
            nk.NeighborIndex().fit(rows).query(rows, 3)[0],
        )

    expected = found(sp.csr_array(X))
    for stored, form in EQUAL_FORMS.items():
        for ours, theirs in zip(found(form(X)), expected, strict=True):
            assert_array_equal(ours, theirs, stored)
