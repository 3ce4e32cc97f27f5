"""Why two rows are near or far: columns, words and answers, by every learner."""

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.utils.validation import NotFittedError

import nearkin as nk
from nearkin.learners import explain
from nearkin.learners.explain import parts_by_column
from nearkin.learners.teachable import learn_again
from nearkin.spaces.maps import Affine, Composed, Identity, Scaled, UnitLength
from tests.cases import each

LEARNERS = [
    nk.ITML(random_state=0),
    nk.ITML(kernel="rbf", random_state=0),
    nk.KernelBeta(n_landmarks=30, random_state=0),
    nk.GMML(random_state=0),
    nk.LLMA(),
    nk.RCA(),
    nk.KernelA(),
    nk.Euclidean(random_state=0),
    nk.Chain([nk.ITML(random_state=0), nk.KernelBeta(random_state=0)]),
    nk.Blend([nk.ITML(random_state=0), nk.CosineMetric(random_state=0)], random_state=0),
    nk.MetricLearner(time_budget=0.1, random_state=0),
]


X = np.random.default_rng(0).normal(size=(80, 4))
PAIRS = nk.Pairs.from_labels(X[:, 0] > 0, 30, random_state=0)


def shapley(learned, a, b):
    """Parts of columns, over all orders in which they can be exchanged."""
    orders = np.array(list(permutations(range(len(a)))))
    rows = np.tile(a, (len(orders), len(a) + 1, 1))
    for k, order in enumerate(orders):
        for step, j in enumerate(order):
            rows[k, step + 1 :, j] = b[j]
    images = learned.apply(rows.reshape(-1, len(a))).reshape(len(orders), len(a) + 1, -1)
    steps = np.diff(images, axis=1) @ (images[0, -1] - images[0, 0])
    return np.array([steps[orders == j].mean() for j in range(len(a))])


@each("learner", LEARNERS, ids=lambda one: type(one).__name__)
def test_parts_are_shapley_values_and_sum_to_the_squared_distance(learner):
    metric = clone(learner).fit(X, pairs=PAIRS)
    found = metric.explain(X[3], X[17])
    assert_allclose(list(found.contributions.values()), shapley(metric.map_, X[3], X[17]))
    assert_allclose(sum(found.contributions.values()), metric.pair_distance(X[3], X[17]) ** 2)
    assert_allclose(found.distance, metric.pair_distance(X[3], X[17]))
    assert_allclose(found.chance, metric.chance_same(X[3], X[17]))
    turned = metric.explain(X[17], X[3])
    assert_allclose(list(turned.contributions.values()), list(found.contributions.values()))
    assert str(found).startswith("They are ")
    assert_allclose(sum(metric.importances().values()), 1)
    alike = metric.explain(X[3], X[3])
    assert alike.distance == 0
    assert set(alike.contributions.values()) == {0.0}
    assert alike.answers == []
    assert "No column sets them apart." in str(alike)


def test_orders_of_many_columns_are_near_all_of_them():
    rng = np.random.default_rng(1)
    bent = Composed((Affine(rng.normal(size=(5, 6))), UnitLength()))
    a, b = rng.normal(size=(2, 6))
    found = parts_by_column(bent, a[None], b[None], np.arange(6))[0]
    exact = shapley(bent, a, b)
    assert_allclose(found, exact, atol=0.1 * np.abs(exact).max())
    assert_allclose(found.sum(), exact.sum())
    # Columns that belong together are exchanged together.
    of_two = parts_by_column(bent, a[None], b[None], np.array([0, 0, 0, 1, 1, 1]))[0]
    assert_allclose(of_two.sum(), exact.sum())


def test_parts_of_a_linear_map_are_those_of_its_matrix(monkeypatch):
    rng = np.random.default_rng(2)
    M, scale = rng.normal(size=(3, 7)), rng.uniform(1, 2, size=7)
    A, B = rng.normal(size=(2, 5, 7))
    linear = Composed((Scaled(scale), Affine(M, np.ones(7))))
    D = (B - A) / scale
    expected = D * (D @ M.T @ M)
    assert_allclose(parts_by_column(linear, A, B, np.arange(7)), expected)
    assert_allclose(parts_by_column(Identity(), A, B, np.arange(7)), (A - B) ** 2)
    # A narrow linear part is taken once: the same as if rows were mapped as a whole.
    bent = Composed((Affine(M), UnitLength()))
    monkeypatch.setattr(explain, "_BLOCK", 14)  # and by parts of a way
    slow = Composed((Composed((Identity(), bent)),))
    assert_allclose(
        parts_by_column(bent, A, B, np.arange(7)), parts_by_column(slow, A, B, np.arange(7))
    )


@each("kernel", [None, "rbf"])
def test_pulls_are_what_learning_again_without_an_answer_changes(kernel):
    metric = nk.ITML(kernel=kernel, random_state=0).fit(X, pairs=PAIRS)
    found = metric.explain(X[3], X[17])
    assert found.together[0].pull < 0 < found.apart[0].pull
    for answer in [*found.together[:2], *found.apart[:2]]:
        link = (answer.left, answer.right)
        same = [tuple(one) for one in PAIRS.must_link]
        assert answer.same == (link in same)
        fewer = learn_again(metric, X, PAIRS.without([link]))
        change = found.distance**2 - fewer.pair_distance(X[3], X[17]) ** 2
        assert_allclose(answer.pull, change, rtol=1e-6)
        percent = 100 * (fewer.pair_distance(X[3], X[17]) / found.distance - 1)
        assert_allclose(found.change_without(answer), percent, rtol=1e-6)


def test_pulls_in_a_chooser_are_of_its_parts():
    metric = nk.MetricLearner(time_budget=0.1, random_state=0).fit(X, pairs=PAIRS)
    found = metric.explain(X[3], X[17])
    links = [*PAIRS.must_link.tolist(), *PAIRS.cannot_link.tolist()]
    assert found.answers
    assert all([one.left, one.right] in links for one in found.answers)
    sizes = [abs(one.pull) for one in found.answers]
    assert sizes == sorted(sizes, reverse=True)
    assert metric.explain(X[3], X[17]) == found


def test_answers_count_after_partial_fit():
    metric = nk.ITML(random_state=0).fit(X, pairs=PAIRS)
    metric.explain(X[0], X[1])
    metric.partial_fit(X, pairs=nk.Pairs(must_link=[(0, 1)]))
    told = {(one.left, one.right): one for one in metric.explain(X[0], X[1]).answers}
    assert told[0, 1].same
    assert told[0, 1].pull < 0
    before = metric.importances()
    metric.partial_fit(X, pairs=nk.Pairs(must_link=[(5, 6), (7, 9)]))
    assert metric.importances() != before


def test_loaded_metrics_explain_and_say_what_is_missing(tmp_path):
    metric = nk.ITML(random_state=0).fit(X, pairs=PAIRS)
    metric.save(tmp_path / "metric.nearkin")
    loaded = nk.load(tmp_path / "metric.nearkin")
    found, before = loaded.explain(X[3], X[17]), metric.explain(X[3], X[17])
    assert found.contributions == before.contributions
    assert found.answers == []
    assert "explain(a, b, X=X, pairs=pairs)" in str(found)
    again = loaded.explain(X[3], X[17], X=X, pairs=PAIRS).answers
    assert [(a.left, a.right) for a in again] == [(a.left, a.right) for a in before.answers]
    with pytest.raises(ValueError, match="mean of contributions"):
        loaded.importances()
    by_labels = nk.ITML(random_state=0).fit(X, X[:, 0] > 0)
    assert "learned from labels" in by_labels.explain(X[3], X[17]).remark


def test_learners_that_are_slow_to_learn_take_rows_and_pairs():
    metric = nk.RCA().fit(X, pairs=PAIRS)
    assert metric.explain(X[3], X[17]).answers == []
    found = metric.explain(X[3], X[17], X=X, pairs=PAIRS)
    answer = found.answers[0]
    fewer = nk.RCA().fit(X, pairs=PAIRS.without([(answer.left, answer.right)]))
    assert_allclose(answer.pull, found.distance**2 - fewer.pair_distance(X[3], X[17]) ** 2)


def test_words_that_set_texts_apart(tmp_path):
    texts = [f"the {a} is {b} and {c}" for a in ("cat", "dog", "bird") for b in ("old", "young")
             for c in ("grey", "brown", "white", "small")]  # fmt: skip
    frame = pd.DataFrame({"story": texts, "legs": np.arange(24) % 3})
    metric = nk.ITML(random_state=0).fit(frame, pairs=nk.Pairs([(0, 1)], [(0, 20)]))
    found = metric.explain(frame.iloc[0], frame.iloc[1])
    words = {word.text: word for word in found.words["story"]}
    where = {text: words[text].where for text in ("grey", "brown", "cat")}
    assert where == {"grey": "left", "brown": "right", "cat": "both"}
    assert min(words["grey"].part, words["brown"].part) > 0 > words["cat"].part
    assert found.values["story"] == ("the cat is old and grey", "the cat is old and brown")
    assert "Words of story: " in str(found)
    metric.save(tmp_path / "metric.nearkin")
    assert nk.load(tmp_path / "metric.nearkin").explain(frame[:1], frame[1:2]).words == found.words


def test_texts_that_a_vectorizer_takes_apart():
    texts = [f"{a} {b}" for a in ("red", "green", "blue") for b in ("car", "bike", "boat")]
    chain = nk.Chain([TfidfVectorizer(), nk.Euclidean()])
    chain.fit(texts, pairs=nk.Pairs([(0, 1)], [(0, 8)]))
    found = chain.explain("red car", "red boat")
    assert set(found.named(2)) == {"car", "boat"}
    assert_allclose(sum(found.contributions.values()), found.distance**2)


def test_pictures_have_parts_of_pixels():
    found = nk.ITML(random_state=0).fit(X, pairs=PAIRS).explain(X[0], X[1])
    assert_allclose(found.pixels((2, 2)).ravel(), list(found.contributions.values()))
    with pytest.raises(ValueError, match=r"height times width must be 4"):
        found.pixels((3, 2))
    plain = found.as_dict()
    assert plain["contributions"] == found.contributions
    assert plain["answers"][0]["pull"] == found.answers[0].pull


def test_columns_of_vectors_are_not_all_printed():
    X = np.random.default_rng(0).normal(size=(40, 60))
    metric = nk.Euclidean().fit(X, pairs=nk.Pairs([(0, 1)], [(0, 2)]))
    found = metric.explain(X[0], X[1])
    assert found.is_of_vectors
    assert "57 other columns" in str(found)
    assert len(found._repr_html_()) < 2000


@each(
    ("arguments", "message"),
    [
        ({"a": X[:2]}, "a has 2 rows"),
        ({"b": X[:0]}, "b has 0 rows"),
        ({"a": X[0, :2]}, "features"),
        ({"b": np.array([1.0, np.nan, 0, 0])}, "NaN"),
        ({"X": X}, "X is given without pairs"),
        ({"pairs": PAIRS}, "pairs is given without X"),
        ({"X": X[:5], "pairs": PAIRS}, "pairs are for 80 rows, X has 5"),
    ],
)
def test_bad_rows_and_answers_are_named(arguments, message):
    metric = nk.ITML(random_state=0).fit(X, pairs=PAIRS)
    with pytest.raises(ValueError, match=message):
        metric.explain(**{"a": X[0], "b": X[1], **arguments})


def test_a_metric_that_is_not_fitted_has_nothing_to_explain():
    for use in (lambda: nk.ITML().explain([0.0], [1.0]), nk.ITML().importances):
        with pytest.raises(NotFittedError):
            use()


def test_looking_at_a_metric_computes_nothing(monkeypatch):
    X, y = load_iris(return_X_y=True)
    metric = nk.KernelBeta(random_state=0).fit(X, y)
    for name in ("parts_by_column", "draw_links"):
        monkeypatch.setattr(explain, name, lambda *_, **__: pytest.fail("computed"))
    monkeypatch.setattr(metric, "_find_late_verdicts", lambda: pytest.fail("computed"))
    assert "importances" in dir(metric)
    assert "text/html" in metric._repr_mimebundle_()
    assert repr(metric)
