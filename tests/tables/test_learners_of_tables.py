"""Learners that are given tables with words, their files, and what columns tell."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics.pairwise import euclidean_distances

import nearkin as nk
from nearkin.learners.explain import matrix_of
from tests.cases import each
from tests.tables.test_encoder import people


@pytest.fixture(scope="module")
def copies():
    """Persons, each twice: the phone number stays, the name nearly, and all else is anything."""
    rng = np.random.default_rng(0)
    once, again = (pd.DataFrame(people(60, seed)) for seed in (0, 1))
    again["phone"] = once["phone"]
    again["name"] = once["name"].str.replace("m", "n", n=1)
    frame = pd.concat([once, again], ignore_index=True)
    must = [(i, i + 60) for i in range(10)]
    cannot = [(i, int(rng.integers(20, 60))) for i in range(10)]
    return frame, nk.Pairs(must, cannot)


def found_again(metric, frame):
    """Share of persons whose other record is the nearest."""
    index = nk.NeighborIndex(metric).fit(frame)
    ids = index.query(frame[:60], n_neighbors=2)[1]
    return np.mean([(i + 60) in ids[i] for i in range(60)])


def test_twenty_pairs_tell_which_columns_matter(copies):
    frame, pairs = copies
    metric = nk.ColumnWeights(random_state=0).fit(frame, pairs=pairs)
    weights = metric.group_weights_
    assert set(weights) == set(metric.table_.columns_)
    assert min(weights["phone"], weights["name"]) > 2 * max(
        weights[column] for column in ("city", "born", "paid", "income")
    )
    plain = nk.Euclidean().fit(frame, pairs=pairs)
    assert found_again(metric, frame) > found_again(plain, frame) + 0.2


def test_groups_are_weighed_as_one():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 6))
    groups = ["a", "b", "a", "b", "c", "c"]
    pairs = nk.Pairs.from_labels(X[:, 0] + X[:, 2] > 0, 60, random_state=0)
    metric = nk.ColumnWeights(groups=groups, random_state=0).fit(X, pairs=pairs)
    assert_array_equal(metric.weights_, [metric.group_weights_[name] for name in groups])
    assert max(metric.group_weights_, key=metric.group_weights_.get) == "a"
    # A group of one is a column.
    each = nk.ColumnWeights(groups=range(6), random_state=0).fit(X, pairs=pairs)
    plain = nk.ColumnWeights(random_state=0).fit(X, pairs=pairs)
    assert_allclose(each.weights_, plain.weights_, rtol=1e-4)
    for learner in (nk.ColumnWeights, nk.MetricLearner):
        with pytest.raises(ValueError, match="groups has 5 entries, but X has 6 columns"):
            learner(groups=range(5), random_state=0).fit(X, pairs=pairs)


def test_groups_of_rows_that_are_seen_along_axes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 1200)) / 10
    X[:, 0] = rng.normal(size=100)
    groups = ["first"] + ["rest"] * 1199
    pairs = nk.Pairs.from_labels(X[:, 0] > 0, 60, random_state=0)
    metric = nk.ColumnWeights(groups=groups, random_state=0).fit(X, pairs=pairs)
    assert metric.group_weights_["first"] > 2 * metric.group_weights_["rest"]
    weighed = X * np.sqrt(metric.weights_)
    assert_allclose(metric.distance(X[:5]), euclidean_distances(weighed[:5]), atol=1e-6)


def test_metric_learner_knows_the_groups(copies):
    frame, pairs = copies
    metric = nk.MetricLearner(time_budget=1, random_state=0).fit(frame, pairs=pairs)
    assert "KernelBeta after group weights" in {line.name for line in metric.report_.candidates}
    plain = nk.Euclidean().fit(frame, pairs=pairs)
    assert found_again(metric, frame) > found_again(plain, frame) + 0.2
    table = nk.TableEncoder(kinds={"city": "ignored"})
    stated = nk.MetricLearner(time_budget=0, table=table, random_state=0)
    with pytest.warns(nk.SelectionWarning):
        stated.fit(frame, pairs=pairs)
    assert "city" not in stated.table_.columns_


@pytest.mark.filterwarnings("ignore::nearkin.SelectionWarning")
def test_frames_of_numbers_stay_as_they_are():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(80, 3)), columns=["id", "b", "c"])
    pairs = nk.Pairs.from_labels(X["b"] > 0, 40, random_state=0)
    quick = nk.MetricLearner(time_budget=0, random_state=0)
    for learner in (quick, nk.ColumnWeights(random_state=0)):
        metric = learner.fit(X, pairs=pairs)
        assert not hasattr(metric, "table_")
        assert_array_equal(
            metric.transform(X), learner.fit(X.to_numpy(), pairs=pairs).transform(X.to_numpy())
        )
    gaps = pd.DataFrame({"a": [1.0, 2.0, None, 4.0], "b": [1.0, 1.0, 2.0, 2.0]})  # with a table
    metric = nk.Chain([nk.TableEncoder(), nk.RCA()]).fit(gaps, [0, 0, 1, 1])
    assert np.isfinite(metric.transform(gaps)).all()


LEARNERS = {
    "MetricLearner": nk.MetricLearner(time_budget=0.1, random_state=0),
    "ColumnWeights": nk.ColumnWeights(random_state=0),
    "KernelBeta": nk.KernelBeta(n_landmarks=30, random_state=0),
    "Chain": nk.Chain([nk.TableEncoder(kinds={"city": "name"}), nk.ITML(random_state=0)]),
    "chain of numbers": nk.Chain([nk.RCA(), nk.ITML(random_state=0)]),
    "Blend": nk.Blend([nk.RCA(), nk.ITML(random_state=0)], random_state=0),
}


@each("learner", LEARNERS.values(), ids=LEARNERS)
def test_all_that_a_metric_can_do_with_a_table(learner, copies, tmp_path):
    frame, pairs = copies
    metric = learner.fit(frame, pairs=pairs)
    Z = metric.transform(frame)
    assert_allclose(metric.distance(frame[:3], frame[3:5]), euclidean_distances(Z[:3], Z[3:5]))
    assert metric.score(frame, pairs=pairs) > 0.8
    assert metric.quality(frame, pairs=pairs).auc.value > 0.8
    assert metric.same(frame[:3], frame[60:63]).shape == (3,)
    one = metric.pair_distance(frame.iloc[0], frame.iloc[1])
    assert_allclose(one, np.linalg.norm(Z[0] - Z[1]))
    path = tmp_path / "table.nearkin"
    metric.save(path)
    loaded = nk.load(path)
    assert_array_equal(loaded.transform(frame), Z)
    assert_array_equal(loaded.transform(pl.from_pandas(frame)), Z)
    info = nk.model_file.describe(path)
    assert info.kinds["phone"] == "code"
    assert "'phone' (code)" in str(info)


def test_files_hold_no_names_or_texts(copies, tmp_path):
    frame, pairs = copies
    path = tmp_path / "table.nearkin"
    metric = nk.ColumnWeights(random_state=0).fit(frame, pairs=pairs)
    metric.save(path)
    content = path.read_bytes()
    assert b"rome" in content  # a category
    names = [name.lower().encode() for name in frame["name"] if isinstance(name, str)]
    assert not any(name in content for name in names)
    with pytest.raises(ValueError, match="known by their names"):
        metric.save(path, forget_names=True)


@each(
    ("own", "message"),
    [
        (lambda texts: np.ones((len(texts), 1)), "text_encoder is a function, that is code"),
        (TfidfVectorizer(analyzer="char"), "text_encoder is a TfidfVectorizer, which is not"),
    ],
)
def test_encoders_of_ones_own_are_not_stored(own, message, copies, tmp_path):
    frame, pairs = copies
    metric = nk.Chain([nk.TableEncoder(text_encoder=own), nk.RCA()]).fit(frame, pairs=pairs)
    with pytest.raises(nk.StorageError, match=message):
        metric.save(tmp_path / "table.nearkin")


def test_new_rows_must_have_names_and_columns(copies):
    frame, pairs = copies
    metric = nk.RCA().fit(frame, pairs=pairs)
    with pytest.raises(ValueError, match=r"X has no names of columns.*'name', 'city'"):
        metric.transform(frame.to_numpy())
    with pytest.raises(ValueError, match="no column 'phone'"):
        metric.transform(frame.drop(columns="phone"))


def test_answers_are_asked_for_rows_of_a_table(copies):
    frame, _ = copies
    result = nk.learn_actively(
        frame, lambda i, j: i % 60 == j % 60, 6, learner=nk.ITML(), random_state=0
    )
    assert result.metric.transform(frame).shape[0] == 120


# Swapped cells


@pytest.fixture(scope="module")
def exchanged():
    """Sixty people, and again with a typo; of every third, given name and surname are swapped."""
    rng = np.random.default_rng(0)
    names = ["".join(rng.choice(list("abdeiklmnorstu"), 6)) for _ in range(90)]
    given, family = rng.choice(names, 60), rng.choice(names, 60)
    again = [name[:-1] + "x" for name in given]
    swap = np.arange(60) % 3 == 0
    frame = pd.DataFrame(
        {
            "given": [*given, *np.where(swap, family, again)],
            "family": [*family, *np.where(swap, again, family)],
            "town": rng.choice(["Rome", "Bonn", "Graz"], 120),
        }
    )
    near = [(i, i + 60) for i in range(0, 30, 3)] + [(i, i + 60) for i in range(1, 30, 6)]
    return frame, nk.Pairs(near, [(i, i + 61) for i in range(20)])


def test_swapped_cells_are_near_to_learners(exchanged):
    frame, pairs = exchanged
    metric = nk.ColumnWeights(random_state=0).fit(frame, pairs=pairs)
    assert metric.table_.swapped_ == [("given", "family")]
    assert metric.table_.columns_ == ["given", "family", "town"]
    assert found_again(metric, frame) > 0.9
    parts = metric.contributions(frame[:1], frame[60:61])
    assert list(parts) == ["given", "family", "town", "given and family"]
    assert parts["given and family"] < min(parts["given"], parts["family"])


def test_columns_that_may_be_swapped_have_the_say_of_two(exchanged, tmp_path):
    frame, pairs = exchanged
    encoder = nk.TableEncoder().fit(frame)
    Z = encoder.transform(frame)
    assert_allclose(Z.var(axis=0).sum(), 3)
    names = encoder.groups_ != "town"
    turned = frame.rename(columns={"given": "family", "family": "given"})
    both = encoder.groups_ == "given and family"
    assert_allclose(encoder.transform(turned)[:, both], Z[:, both], atol=1e-9)
    assert_allclose(Z[:, names].var(axis=0).sum(), 2)
    metric = nk.ColumnWeights(random_state=0).fit(frame, pairs=pairs)
    metric.save(tmp_path / "metric.nearkin")
    assert_array_equal(
        nk.load(tmp_path / "metric.nearkin").transform(turned), metric.transform(turned)
    )


# Contributions


def test_parts_of_linear_metrics_sum_to_one(copies):
    frame, pairs = copies
    metric = nk.ColumnWeights(random_state=0).fit(frame, pairs=pairs)
    parts = metric.contributions(frame[:5], frame[5:10])
    assert list(parts) == metric.table_.columns_
    assert_allclose(sum(parts.values()), 1)
    # By hand: weighted squared differences.
    A, B = (metric.table_.transform(rows) for rows in (frame[:5], frame[5:10]))
    squared = metric.weights_ * (A - B) ** 2
    phone = squared[:, metric.table_.groups_ == "phone"].sum(axis=1) / squared.sum(axis=1)
    assert_allclose(parts["phone"], phone)
    one = metric.contributions(frame.iloc[0], frame.iloc[5])
    assert_allclose(one["phone"], parts["phone"][0])
    assert set(metric.contributions(frame.iloc[0], frame.iloc[0]).values()) == {0.0}


def test_parts_of_other_metrics_sum_to_one(copies):
    frame, pairs = copies
    metric = nk.KernelBeta(random_state=0).fit(frame, pairs=pairs)
    a, b = frame[:4].reset_index(drop=True), frame[4:8].reset_index(drop=True)
    parts = metric.contributions(a, b)
    assert_allclose(sum(parts.values()), 1)
    assert_allclose(metric.contributions(b, a)["phone"], parts["phone"])
    # A column that is the same in both has no part.
    assert_array_equal(metric.contributions(a, b.assign(phone=a["phone"]))["phone"], 0)


def test_parts_by_column_of_rows_of_numbers():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(50, 3)), columns=list("abc"))
    pairs = nk.Pairs.from_labels(X["a"] > 0, 30, random_state=0)
    metric = nk.ITML(scale=True, random_state=0).fit(X, pairs=pairs)
    assert list(metric.contributions(X[:2], X[2:4])) == ["a", "b", "c"]
    chain = nk.Chain([nk.RCA(), nk.ITML(random_state=0)]).fit(X, pairs=pairs)
    blend = nk.Blend([nk.RCA(), chain], random_state=0).fit(X, pairs=pairs)
    M = matrix_of(blend.map_, 3)
    assert_allclose(
        blend.pair_distance(X[:5], X[5:10]),
        np.linalg.norm((X[:5].to_numpy() - X[5:10].to_numpy()) @ M.T, axis=1),
    )
    assert_allclose(sum(blend.contributions(X[:2], X[2:4]).values()), 1)
    plain = nk.RCA().fit(X.to_numpy(), pairs=pairs)
    assert list(plain.contributions(X.to_numpy()[0], X.to_numpy()[1])) == ["0", "1", "2"]
