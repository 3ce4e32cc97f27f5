"""Pairs follow their rows through every split, or there is an error."""

import contextlib
import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from hypothesis import assume, given
from hypothesis import strategies as st
from joblib import parallel_config
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn import model_selection as sk
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_wine
from sklearn.ensemble import BaggingClassifier
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, cross_validate
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale
from sklearn.utils import _safe_indexing, shuffle

import nearkin as nk
from nearkin.datasets import make_three_normal
from nearkin.rows.streams import open_rows
from nearkin.tasks.cross_validation import PairScorer
from tests.cases import each

N = 60


@pytest.fixture(scope="module")
def data():
    X, y = make_three_normal(N, random_state=0)
    return X, y, nk.Pairs.from_labels(y, 50, random_state=0)


def by_hand(pairs):
    """The same pairs, without the number of rows."""
    return nk.Pairs(
        pairs.must_link,
        pairs.cannot_link,
        must_weight=pairs.must_weight,
        cannot_weight=pairs.cannot_weight,
    )


class Witness(ClassifierMixin, BaseEstimator):
    """Checks that the pairs it is given are of the rows it is given; a row's first column is its
    number in the whole, and pairs are right if both numbers leave the same remainder by 3."""

    __metadata_request__fit = {"pairs": True}  # noqa: RUF012

    def __init__(self, parameter=0):
        self.parameter = parameter

    def fit(self, X, y=None, *, pairs):
        pairs.check_rows(len(X))
        assert pairs.n_rows == len(X)
        assert len(pairs.must_link)
        assert len(pairs.cannot_link)
        kind = X[:, 0].astype(int) % 3
        assert (kind[pairs.must_link[:, 0]] == kind[pairs.must_link[:, 1]]).all()
        assert (kind[pairs.cannot_link[:, 0]] != kind[pairs.cannot_link[:, 1]]).all()
        self.classes_ = np.unique(y)
        self.n_features_in_ = 1
        return self

    def predict(self, X):
        return self.classes_[np.arange(len(X)) % len(self.classes_)]

    def predict_proba(self, X):
        return np.tile([0.3, 0.7], (len(X), 1))


ROWS = np.arange(90.0)[:, None]
LABELS = np.arange(90) % 2
FOLDS = sk.StratifiedKFold(3, shuffle=True, random_state=0)


def cut_by(function, **options):
    """A call of a function that cuts rows, with pairs that follow them."""
    return lambda pairs: function(
        Witness(), ROWS, LABELS, params={"pairs": pairs}, cv=FOLDS, **options
    )


def fitted_by(search, *given, **options):
    """A fit of what cuts rows, with pairs that follow them."""
    return lambda pairs: search(Witness(), *given, cv=FOLDS, **options).fit(
        ROWS, LABELS, pairs=pairs
    )


RAISE, GRID = {"error_score": "raise"}, {"parameter": [1, 2]}
# What of scikit-learn cuts rows, and takes more than X and y.
CUTTERS = {
    "cross_validate": cut_by(cross_validate, **RAISE),
    "cross_val_score": cut_by(sk.cross_val_score, **RAISE),
    "cross_val_predict": cut_by(sk.cross_val_predict),
    "learning_curve": cut_by(sk.learning_curve, train_sizes=[0.6, 1.0], **RAISE),
    "validation_curve": cut_by(
        sk.validation_curve, param_name="parameter", param_range=[1, 2], **RAISE
    ),
    "permutation_test_score": cut_by(sk.permutation_test_score, n_permutations=2),
    "GridSearchCV": fitted_by(GridSearchCV, GRID, **RAISE),
    "RandomizedSearchCV": fitted_by(sk.RandomizedSearchCV, GRID, n_iter=1, **RAISE),
    "CalibratedClassifierCV": fitted_by(CalibratedClassifierCV),
}


@pytest.fixture(scope="module")
def true_pairs():
    return nk.Pairs.from_labels(np.arange(90) % 3, 600, random_state=0)


@each("routing", [False, True])
@each("cutter", CUTTERS)
def test_pairs_that_know_their_rows_follow_them_through_scikit_learn(cutter, routing, true_pairs):
    with sklearn.config_context(enable_metadata_routing=routing):
        CUTTERS[cutter](true_pairs)
        with pytest.raises(ValueError, match=r"nearkin\.cross_validate.*nearkin\.PairKFold\(5\)"):
            CUTTERS[cutter](by_hand(true_pairs))


def test_rows_drawn_twice_are_refused(true_pairs):
    with sklearn.config_context(enable_metadata_routing=True):
        bagging = BaggingClassifier(Witness(), n_estimators=2, random_state=0)
        with pytest.raises(ValueError, match="more than once"):
            bagging.fit(ROWS, LABELS, pairs=true_pairs)
        bagging.set_params(bootstrap=False, max_samples=0.7)
        bagging.fit(ROWS, LABELS, pairs=true_pairs)


def test_pairs_made_by_hand_are_not_applied_to_other_rows():
    X, y = load_wine(return_X_y=True)
    known = nk.Pairs.from_labels(y[:100], 60, random_state=0)
    pairs = nk.Pairs(known.must_link, known.cannot_link)
    folds = KFold(3, shuffle=True, random_state=0)
    with pytest.raises(ValueError, match=r"nearkin\.cross_validate"):
        cross_validate(nk.ITML(), scale(X), params={"pairs": pairs}, cv=folds)
    found = nk.cross_validate(
        nk.ITML(random_state=0), scale(X), pairs=pairs, cv=folds, return_estimator=True
    )
    for (train, _), metric in zip(folds.split(X), found["estimator"], strict=True):
        assert metric.learned_from_["must_links"] == len(pairs.restrict(train).must_link)
    whole = nk.cross_validate(nk.ITML(random_state=0), scale(X), pairs=pairs)
    assert whole["test_score"].mean() > 0.9


def test_without_routing_what_can_be_judged_is_and_else_it_is_said_what_would_be_right(data):
    X, y, pairs = data
    right = r"nothing to judge by.*nearkin\.grid_search.*nearkin\.cross_validate"
    with pytest.raises(ValueError, match=right):
        cross_validate(nk.RCA(), X, params={"pairs": pairs}, cv=3)
    search = GridSearchCV(nk.RCA(), {"shrinkage": [0.1, 0.9]}, cv=3)
    with pytest.raises(ValueError, match=right):
        clone(search).fit(X, pairs=pairs)
    partly = np.where(np.arange(N) % 4, y, -1)
    for known in ({"y": y}, {"y": y, "pairs": pairs}, {"y": partly}):
        assert np.isfinite(clone(search).fit(X, **known).cv_results_["mean_test_score"]).all()

    def size(learner, X, y=None):
        return len(X)

    found = cross_validate(nk.RCA(), X, params={"pairs": pairs}, cv=3, scoring=size)
    assert found["test_score"].sum() == N


def test_rows_and_pairs_are_split_together(true_pairs):
    first, second, of_first, of_second = sk.train_test_split(ROWS, true_pairs, random_state=0)
    for rows, pairs in ((first, of_first), (second, of_second)):
        Witness().fit(rows, LABELS[: len(rows)], pairs=pairs)
    rows, pairs = shuffle(ROWS, true_pairs, random_state=0)
    Witness().fit(rows, LABELS, pairs=pairs)
    assert len(pairs) == len(true_pairs)
    with pytest.raises(ValueError, match="do not say how many rows"):
        sk.train_test_split(ROWS, by_hand(true_pairs))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        sk.train_test_split(ROWS[:80], true_pairs)


def test_pairs_are_cut_like_rows():
    pairs = nk.Pairs([(0, 5), (2, 3)], n_rows=6)
    assert pairs.shape == (6,)
    assert pairs[[5, 0]] == pairs.restrict([5, 0])
    assert pairs[2:] == pairs.restrict([2, 3, 4, 5])
    assert pairs[np.arange(6) > 1] == pairs[2:]
    assert pairs[::-1].must_link.tolist() == [[0, 5], [2, 3]]
    for number in (0, np.int64(1)):
        with pytest.raises(TypeError, match=r"by rows of X.* in \.must_link and \.cannot_link$"):
            pairs[number]
    with pytest.raises(ValueError, match="do not say how many rows"):
        nk.Pairs([(0, 5)])[1:]
    assert len(pairs + nk.Pairs(n_rows=6)) == len(pairs) == 2
    for rows in ([5, 0], np.array([5, 0]), slice(2, None), np.arange(6) > 1, []):
        assert _safe_indexing(pairs, rows) == pairs.restrict(np.arange(6)[rows])


@given(
    st.integers(8, 80), st.integers(6, 60), st.integers(2, 5), st.integers(0, 1000), st.booleans()
)
def test_folds_share_no_linked_row_and_test_every_row_once(n, n_pairs, n_splits, seed, shuffled):
    rng = np.random.RandomState(seed)
    links = rng.randint(n, size=(n_pairs, 2))
    links = links[links[:, 0] != links[:, 1]]
    same = rng.rand(len(links)) < 0.5
    pairs = nk.Pairs(links[same], links[~same])
    folds = nk.PairKFold(n_splits, shuffle=shuffled, random_state=seed if shuffled else None)
    found = []
    with contextlib.suppress(ValueError):  # too few pairs for so many folds
        found = list(folds.split(np.zeros((n, 1)), pairs=pairs))
    assume(found)
    assert len(found) == n_splits == folds.get_n_splits()
    assert_array_equal(np.sort(np.concatenate([test for _, test in found])), np.arange(n))
    for train, test in found:
        assert_array_equal(np.sort(np.concatenate([train, test])), np.arange(n))
        assert len(pairs.restrict(train))
        assert len(pairs.restrict(test))
    again = list(folds.split(np.zeros((n, 1)), pairs=pairs))
    for (_, one), (_, two) in zip(found, again, strict=True):
        assert_array_equal(one, two)


@each("shuffled", [False, True])
def test_folds_are_even_in_rows_and_in_both_kinds_of_pairs(shuffled):
    must = [(2 * i, 2 * i + 1) for i in range(15)]
    cannot = [(30 + 2 * i, 31 + 2 * i) for i in range(10)]
    pairs = nk.Pairs(must, cannot)
    folds = nk.PairKFold(5, shuffle=shuffled, random_state=0 if shuffled else None)
    for _, test in folds.split(np.zeros((103, 2)), pairs=pairs):
        held_out = pairs.restrict(test)
        assert len(held_out.must_link) == 3
        assert len(held_out.cannot_link) == 2
        assert len(test) in (20, 21)
    # Linked rows stay together up to a whole fold.
    pairs = nk.Pairs([(0, 1), (1, 2), (2, 3), (4, 5), (5, 6), (6, 7)])
    folds = nk.PairKFold(2).split(np.zeros((8, 1)), pairs=pairs)
    assert [test.tolist() for _, test in folds] == [[0, 1, 2, 3], [4, 5, 6, 7]]
    # Of many pairs among few rows most are still judged.
    pairs = nk.Pairs.from_labels(np.arange(90) % 3, 100, random_state=0)
    folds = list(nk.PairKFold(5).split(np.zeros((90, 1)), pairs=pairs))
    judged = [pairs.restrict(test) for _, test in folds]
    assert sum(map(len, judged)) > len(pairs) / 2  # dealt out one by one, it were a fifth
    assert all(len(part.must_link) and len(part.cannot_link) for part in judged)
    assert np.ptp([len(test) for _, test in folds]) <= 4


def test_what_a_splitter_refuses():
    rows, pairs = np.zeros((6, 1)), nk.Pairs([(0, 1), (2, 3)])
    for wrong in (1, 2.5, True, "5"):
        with pytest.raises(ValueError, match="n_splits must be a whole number"):
            nk.PairKFold(wrong)
    with pytest.raises(ValueError, match="with shuffle=True only"):
        nk.PairKFold(5, random_state=0)
    for n_splits, X, known, error, message in (
        (3, rows, pairs, ValueError, "2 pairs of 4 rows do not make 3 folds"),
        (2, rows, nk.Pairs(), ValueError, "do not make 2 folds"),
        (2, rows, None, TypeError, r"nearkin\.cross_validate.*enable_metadata_routing"),
        (2, rows[:3], pairs, ValueError, "names row 3, but X has 3 rows"),
    ):
        with pytest.raises(error, match=message):
            next(nk.PairKFold(n_splits).split(X, pairs=known))
    with pytest.raises(TypeError, match="enable_metadata_routing"):
        cross_validate(nk.RCA(), rows, params={"pairs": pairs}, cv=nk.PairKFold(2))
    assert "n_splits=2" in repr(nk.PairKFold(2))


def one_by_one(learner, X, pairs, folds, **known):
    """Scores of a loop over folds."""
    scores = []
    for train, test in folds:
        of_train, of_test = ({name: y[rows] for name, y in known.items()} for rows in (train, test))
        metric = clone(learner).fit(X[train], pairs=pairs.restrict(train), **of_train)
        scores.append(metric.score(X[test], pairs=pairs.restrict(test), **of_test))
    return scores


@each("known", [True, False])
@each("cv", [4, nk.PairKFold(3, shuffle=True, random_state=1), KFold(2)])
def test_cross_validation_is_what_a_loop_over_folds_does(cv, known, data):
    X, _, pairs = data
    pairs = pairs if known else by_hand(pairs)
    splitter = nk.PairKFold(cv) if cv == 4 else cv
    more = {} if isinstance(cv, KFold) else {"pairs": pairs}
    expected = one_by_one(nk.ITML(random_state=0), X, pairs, splitter.split(X, **more))
    found = nk.cross_validate(nk.ITML(random_state=0), X, pairs=pairs, cv=cv)
    assert_allclose(found["test_score"], expected)


def test_clusters_and_the_space_of_a_pipelines_last_step_are_judged(data):
    X, _, pairs = data
    clusters = nk.MPCKMeans(3, hold=0, random_state=0)  # classes are elongated here
    found = nk.cross_validate(clusters, X, pairs=pairs, cv=3)
    assert (found["test_score"] > 0.5).all()
    learner = nk.KernelBeta(random_state=0)
    found = nk.cross_validate(make_pipeline(StandardScaler(), learner), X, pairs=pairs, cv=3)
    expected = []
    for train, test in nk.PairKFold(3).split(X, pairs=pairs):
        scaler = StandardScaler().fit(X[train])
        metric = clone(learner).fit(scaler.transform(X[train]), pairs=pairs.restrict(train))
        expected.append(metric.score(scaler.transform(X[test]), pairs=pairs.restrict(test)))
    assert_allclose(found["test_score"], expected)


def test_a_classifier_after_a_learner_is_judged_by_labels(data):
    X, y, pairs = data
    pipeline = make_pipeline(nk.ITML(random_state=0), KNeighborsClassifier(3))
    found = nk.cross_validate(
        pipeline, X, y, pairs=pairs, cv=3, return_estimator=True, return_indices=True
    )
    for train, fitted in zip(found["indices"]["train"], found["estimator"], strict=True):
        assert fitted[0].learned_from_["must_links"] == len(pairs.restrict(train).must_link)
    by_name = nk.cross_validate(pipeline, X, y, pairs=pairs, cv=3, scoring="accuracy")
    assert_allclose(found["test_score"], by_name["test_score"])


def test_rows_may_be_in_any_form(data):
    X, _, pairs = data
    expected = nk.cross_validate(nk.RCA(), X, pairs=pairs, cv=3)["test_score"]
    for rows in (pd.DataFrame(X), X.tolist(), pd.DataFrame(X, index=range(N, 0, -1))):
        found = nk.cross_validate(nk.RCA(), rows, pairs=pairs, cv=3)["test_score"]
        assert_allclose(found, expected)
    # Embeddings that stay sparse are scored.
    X = np.random.RandomState(0).poisson(0.5, size=(60, 20)).astype(float)
    pairs = nk.Pairs.from_labels(np.arange(60) % 2, 40, random_state=0)
    sparse, dense = (
        nk.cross_validate(nk.Euclidean(), rows, pairs=pairs, cv=nk.PairKFold(3))["test_score"]
        for rows in (csr_array(X), X)
    )
    assert_allclose(sparse, dense)


def test_sparse_rows_and_precomputed_kernels(data):
    X, _, pairs = data

    def fitted(learner, rows):
        return nk.cross_validate(learner, rows, pairs=pairs, cv=3, return_estimator=True)

    options = {"extension": "nystroem", "random_state": 0}
    plain = fitted(nk.KernelBeta(gamma=0.5, **options), X)
    sparse = fitted(nk.KernelBeta(gamma=0.5, **options), csr_array(X))
    K = rbf_kernel(X, gamma=0.5)
    kernel = fitted(nk.KernelBeta(kernel="precomputed", **options), K)
    folds = nk.PairKFold(3).split(X, pairs=pairs)
    for i, (train, _) in enumerate(folds):
        # Not the scores, which jump where distances are all but equal.
        expected = plain["estimator"][i].distance(X)
        assert_allclose(sparse["estimator"][i].distance(csr_array(X)), expected, atol=1e-6)
        assert_allclose(kernel["estimator"][i].distance(K[:, train]), expected, atol=1e-6)


def test_several_folds_at_a_time(data):
    X, _, pairs = data
    expected = nk.cross_validate(nk.RCA(), X, pairs=pairs, cv=3)["test_score"]
    with parallel_config(backend="threading"):
        found = nk.cross_validate(nk.RCA(), X, pairs=pairs, cv=3, n_jobs=2)["test_score"]
    assert_array_equal(found, expected)
    metric = nk.RCA().fit(X, pairs=pairs)
    sent = pickle.loads(pickle.dumps(PairScorer()))  # as other processes get it
    assert sent(metric, X, pairs=pairs) == metric.score(X, pairs=pairs)


def kept_apart(learner, X, y, pairs):
    apart = learner.pair_distance(X[pairs.cannot_link[:, 0]], X[pairs.cannot_link[:, 1]])
    return float(np.mean(apart > learner.threshold_))


def test_scores_of_ones_own(data):
    X, _, pairs = data
    scoring = {"auc": PairScorer(), "apart": kept_apart, "rows": lambda learner, X: len(X)}
    found = nk.cross_validate(
        nk.ITML(random_state=0), X, pairs=pairs, cv=3, scoring=scoring, return_train_score=True
    )
    usual = nk.cross_validate(nk.ITML(random_state=0), X, pairs=pairs, cv=3)
    assert_allclose(found["test_auc"], usual["test_score"])
    assert found["test_rows"].sum() == N
    assert found["train_rows"].sum() == 2 * N
    assert (found["test_apart"] <= 1).all()
    alone = nk.cross_validate(nk.ITML(random_state=0), X, pairs=pairs, cv=3, scoring=kept_apart)
    assert_allclose(alone["test_score"], found["test_apart"])


def test_labels_and_other_things_that_belong_to_rows_follow_too(data):
    X, y, pairs = data
    partly = np.where(np.arange(N) % 2, y, -1)
    found = nk.cross_validate(nk.ITML(random_state=0), X, partly, pairs=pairs, cv=3)
    folds = nk.PairKFold(3).split(X, pairs=pairs)
    expected = one_by_one(nk.ITML(random_state=0), X, pairs, folds, y=partly)
    assert_allclose(found["test_score"], expected)
    few = np.full(N, -1)  # parts with one known class, too
    few[[np.flatnonzero(y == 0)[0], *np.flatnonzero(y == 1)[:2]]] = [0, 1, 1]
    found = nk.cross_validate(nk.ITML(), X, few, pairs=pairs, cv=3)
    assert np.isfinite(found["test_score"]).all()
    groups = np.arange(N) // 10
    found = nk.cross_validate(
        nk.RCA(), X, pairs=pairs, cv=GroupKFold(2), params={"groups": groups}, return_indices=True
    )
    for test in found["indices"]["test"]:
        assert len(test) == 10 * len(set(groups[test]))


def test_what_cross_validation_refuses(data):
    X, y, pairs = data
    for function in (nk.cross_validate, lambda *a, **k: nk.grid_search(a[0], {}, *a[1:], **k)):
        for rows, known, error, message in (
            (X, {"y": y, "pairs": None}, TypeError, "needs pairs"),
            (X, {"y": pairs, "pairs": pairs}, TypeError, "by name"),
            (X, {"pairs": [(0, 1)]}, TypeError, r"must be a nearkin\.Pairs"),
            (X, {"pairs": pairs, "params": {"pairs": pairs}}, TypeError, "not in params"),
            (X[:10], {"pairs": pairs}, ValueError, f"pairs are for {N} rows, X has 10"),
            (open_rows([X]), {"pairs": pairs}, TypeError, "takes rows in memory"),
        ):
            with pytest.raises(error, match=message):
                function(nk.RCA(), rows, **known)
    only_must = nk.Pairs(pairs.must_link)
    with pytest.raises(ValueError, match="needs both"):
        nk.cross_validate(nk.RCA(), X, pairs=only_must, cv=3)


def test_a_grid_search_finds_what_cross_validation_says(data):
    X, _, pairs = data
    values = [0.01, 0.5, 5.0]
    with pytest.warns(UserWarning, match="slack=5 is the largest that was tried"):
        search = nk.grid_search(
            nk.ITML(random_state=0), {"slack": values}, X, pairs=by_hand(pairs), cv=3
        )
    expected = [
        nk.cross_validate(nk.ITML(slack=value, random_state=0), X, pairs=pairs, cv=3)
        for value in values
    ]
    means = [result["test_score"].mean() for result in expected]
    assert_allclose(search.cv_results_["mean_test_score"], means)
    assert search.best_params_ == {"slack": values[np.argmax(means)]}
    whole = nk.ITML(random_state=0, **search.best_params_).fit(X, pairs=pairs)
    assert_array_equal(search.best_estimator_.transform(X), whole.transform(X))
    pipeline = make_pipeline(StandardScaler(), nk.RCA())
    grid = [{"rca__shrinkage": [0.1, 0.9]}, {"rca": [nk.Euclidean(), nk.ITML(random_state=0)]}]
    search = nk.grid_search(pipeline, grid, X, pairs=pairs, cv=3)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_estimator_[-1].learned_from_["cannot_links"] == len(pairs.cannot_link)


def test_a_grid_search_says_that_the_best_is_at_the_end_of_what_was_tried(data):
    X, _, pairs = data
    steps = make_pipeline(StandardScaler(), nk.RCA())
    with pytest.warns(UserWarning, match="best rca__shrinkage=0.*try (smaller|larger) ones"):
        nk.grid_search(steps, {"rca__shrinkage": [0.4, 0.40001, 0.40002]}, X, pairs=pairs, cv=3)
    # No less than 0 is allowed, and of two values each is at an end.
    for values in ([0.0, 1.0, 1.0], [0.1, 0.2]):
        nk.grid_search(nk.RCA(), {"shrinkage": values}, X, pairs=pairs, cv=3)


def test_scikit_learns_own_search_gets_pairs_by_routing_and_may_be_judged_itself(data):
    X, _, pairs = data
    grid = {"slack": [0.1, 2.0]}
    expected = nk.grid_search(nk.ITML(random_state=0), grid, X, pairs=pairs, cv=3)
    search = GridSearchCV(nk.ITML(random_state=0), grid, cv=nk.PairKFold(3), error_score="raise")
    with sklearn.config_context(enable_metadata_routing=True):
        search.fit(X, pairs=pairs)
    assert_allclose(search.cv_results_["mean_test_score"], expected.cv_results_["mean_test_score"])
    nested = nk.cross_validate(search, X, pairs=pairs, cv=3, return_estimator=True)
    assert np.isfinite(nested["test_score"]).all()
    assert {fitted.best_params_["slack"] for fitted in nested["estimator"]} <= {0.1, 2.0}
