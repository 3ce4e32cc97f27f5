"""Chains whose first step sees the rows as they are, and pipelines that end in a learner."""

import warnings
from importlib.util import find_spec

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from nearkin import (
    ITML,
    RCA,
    Blend,
    Chain,
    EnergyClassifier,
    KernelBeta,
    LiveView,
    MetricLearner,
    NeighborIndex,
    Pairs,
    StorageError,
    learn_actively,
    onnx_file,
    plot,
    suggest_pairs,
)
from tests.cases import each

N = 60


@pytest.fixture(scope="module")
def records():
    """Columns with words and a gap, kinds of the rows, pairs, and a frame of the columns."""
    rng = np.random.default_rng(0)
    y = np.arange(N) % 3
    columns = {
        "kind": ["abc"[k] if rng.random() < 0.9 else "d" for k in y],
        "width": (y + rng.normal(size=N)).tolist(),
        "area": rng.normal(size=N).tolist(),
    }
    columns["area"][7] = None
    return columns, y, Pairs.from_labels(y, 30, random_state=0), pd.DataFrame(columns)


def encoder(**options):
    return make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["kind"]),
        (SimpleImputer(), ["width", "area"]),
        **options,
    )


def as_table(columns):
    """pyarrow's, of whose columns scikit-learn knows no names: pandas in the tests."""
    return pa.table(columns).to_pandas()


each_frame = each(
    "frame_of", [pd.DataFrame, pl.DataFrame, as_table], ids=["pandas", "polars", "pyarrow"]
)


# Chains and blends


@each_frame
@each("sparse", [False, True])
def test_a_chain_takes_words_and_gaps(frame_of, sparse, records):
    columns, y, pairs, _ = records
    X = frame_of(columns)
    first = encoder(sparse_threshold=1 if sparse else 0)
    chain = Chain([first, KernelBeta(random_state=0)]).fit(X, pairs=pairs)
    assert chain.score(X, y) > 0.7
    assert chain.score(X, pairs=pairs) > 0.7
    assert list(chain.feature_names_in_) == list(columns)
    assert chain.n_features_in_ == 3
    numbers = clone(first).fit_transform(X)
    alone = KernelBeta(random_state=0).fit(numbers, pairs=pairs)
    assert_array_equal(chain.transform(X), alone.transform(numbers))
    other = frame_of({"sort": columns["kind"], **columns})  # columns are known by their names
    assert_array_equal(chain.transform(other), chain.transform(X))
    fewer = frame_of({"sort": columns["kind"], **dict(list(columns.items())[1:])})
    with pytest.raises(ValueError, match=r"feature names should match|not in|features"):
        chain.transform(fewer)


@each_frame
def test_a_blend_of_chains_takes_words(frame_of, records):
    columns, y, pairs, _ = records
    X = frame_of(columns)
    chains = [Chain([encoder(sparse_threshold=0), one]) for one in (ITML(), KernelBeta())]
    blend = Blend(chains, random_state=0).fit(X, pairs=pairs)
    assert blend.score(X, y) > 0.8
    assert Chain([blend, RCA()]).fit(X, y).score(X, y) > 0.8
    beside = Blend([chains[0], KernelBeta()], random_state=0).fit(X, pairs=pairs)
    assert beside.score(X, y) > 0.8  # each makes numbers of words in its own way


def test_a_blend_draws_rows_of_a_frame(records, monkeypatch):
    _, y, pairs, X = records
    monkeypatch.setattr("nearkin.learners.compositions._MOST_SCALED", 20)
    blend = Blend([Chain([encoder(sparse_threshold=0), RCA()])], random_state=0)
    assert blend.fit(X, pairs=pairs).score(X, y)


def test_metrics_of_any_kind_in_a_chain_that_takes_words(records):
    _, y, _, X = records
    chain = Chain([encoder(sparse_threshold=0), MetricLearner(time_budget=0.1, random_state=0)])
    pairs = Pairs.from_labels(y, 60, random_state=0)
    assert chain.fit(X, pairs=pairs).score(X, y) > 0.8
    if find_spec("matplotlib"):
        assert plot.selection(chain).get_title() == chain.steps_[-1].report_.reason


def test_texts_alone():
    texts = ["red apple", "green apple", "blue sky", "grey sky", "apples of red", "skies in blue"]
    steps = [TfidfVectorizer(analyzer="char", ngram_range=(2, 3)), TruncatedSVD(3), ITML()]
    for given in (texts, pd.Series(texts), np.array(texts)):
        chain = Chain(steps).fit(given, pairs=Pairs([(0, 1), (2, 3)], [(0, 2), (1, 3)]))
        assert chain.same(["red apples", "blue sky"], ["green apple", "red apples"]).tolist() == [
            True,
            False,
        ]
        assert suggest_pairs(chain, given, n=2, random_state=0).shape == (2, 2)
        assert chain.score(given, pairs=Pairs([(0, 4)], [(0, 5)])) == 1


def test_steps_that_take_numbers_only_are_given_nothing_else(records):
    columns, y, _, X = records
    chain = Chain([StandardScaler(), RCA()]).fit(X, y)
    assert chain.steps_[0].n_features_in_ == len(chain.table_.groups_)
    assert chain.score(X, y) > 0.8
    with pytest.raises(ValueError, match="row 7, column 'area'"):
        Chain([StandardScaler(), RCA()]).fit(X[["width", "area"]], y)
    with pytest.raises(TypeError, match=r"polars's LazyFrame, .*collect"):
        Chain([encoder(), RCA()]).fit(pl.DataFrame(columns).lazy(), y)


def test_saving_says_which_step_cannot_be_stored(records, tmp_path):
    _, _, pairs, X = records
    chain = Chain([encoder(sparse_threshold=0), RCA()]).fit(X, pairs=pairs)
    with pytest.raises(StorageError, match=r"steps\.0 is a ColumnTransformer, which is not stored"):
        chain.save(tmp_path / "no.nearkin")
    assert not list(tmp_path.iterdir())


def test_energies_under_a_metric_that_takes_words(records):
    columns, y, _, X = records
    metric = Chain([encoder(sparse_threshold=0), RCA()])
    for given in (metric, clone(metric).fit(X, y), make_pipeline(*metric.steps)):
        model = EnergyClassifier(metric=given, random_state=0).fit(X, y)
        assert model.score(X, y) > 0.8
        assert list(model.feature_names_in_) == list(columns)


def test_active_learning_from_words(records):
    _, y, _, X = records
    steps = encoder(sparse_threshold=0), KernelBeta(random_state=0)
    for learner in (Chain(steps), make_pipeline(*steps)):
        result = learn_actively(
            X, lambda i, j: bool(y[i] == y[j]), 20, learner=learner, random_state=0
        )
        assert result.metric.score(X, y) > 0.7


# Pipelines


@pytest.fixture(scope="module")
def pipeline(records):
    """Fitted, with the rows that it takes."""
    _, y, _, X = records
    return make_pipeline(encoder(), KernelBeta(random_state=0)).fit(X, y), X, y


def test_a_pipeline_as_a_chain(pipeline):
    pipe, X, y = pipeline
    chain = Chain.from_pipeline(pipe)
    assert_array_equal(chain.transform(X), pipe.transform(X))
    assert chain.threshold_ == pipe[-1].threshold_
    assert chain.chance_same(X[:5], X[5:10]).shape == (5,)
    assert list(chain.feature_names_in_) == list(X)
    unfitted = Chain.from_pipeline(clone(pipe))
    assert not hasattr(unfitted, "threshold_")
    assert_array_equal(unfitted.fit(X, y).transform(X), pipe.transform(X))
    with pytest.raises(ValueError, match="the last of steps must be a learner"):
        Chain.from_pipeline(make_pipeline(RCA(), KMeans()))


def test_a_pipeline_of_frames_passes_names_on():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 3)), columns=list("abc"))
    y = np.arange(40) % 2
    pipe = make_pipeline("passthrough", StandardScaler(), RCA()).set_output(transform="pandas")
    pipe.fit(X, y)
    chain = Chain.from_pipeline(pipe)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_array_equal(chain.transform(X), pipe.transform(X))


def test_consumers_understand_a_fitted_pipeline(pipeline, tmp_path):
    pipe, X, _ = pipeline
    expected = suggest_pairs(Chain.from_pipeline(pipe), X, n=5, random_state=0)
    assert_array_equal(suggest_pairs(pipe, X, n=5, random_state=0), expected)
    NeighborIndex(pipe).fit(X).save(tmp_path / "rows.index")
    for index in (
        NeighborIndex(pipe).fit(X),
        NeighborIndex.load(tmp_path / "rows.index", metric=pipe),
    ):
        assert index.threshold_ == pipe[-1].threshold_
        distances, ids = index.query(X[:4], 1)
        assert_array_equal(ids[:, 0], np.arange(4))
        assert_allclose(distances, 0, atol=1e-7)
        assert len(index.query_radius(X[:4])[0]) == 4
    with pytest.warns(UserWarning, match="they seem to be classes"):  # by the learner's own pairs
        assert index.group_labels().shape == (N,)
    other = make_pipeline(RCA()).fit([[0], [1]], [0, 0])
    with pytest.raises(ValueError, match="not the metric that the index was made with"):
        NeighborIndex.load(tmp_path / "rows.index", metric=other)
    if find_spec("matplotlib"):
        assert len(plot.spectrum(pipe).patches) == len(pipe[-1].beta_)


def test_a_view_of_a_pipeline_and_a_chain(pipeline):
    pipe, X, _ = pipeline
    expected = LiveView(pipe[-1], pipe[:-1].transform(X)).coordinates()
    assert_array_equal(LiveView(pipe, X).coordinates(), expected)
    assert_array_equal(LiveView(Chain.from_pipeline(pipe), X).coordinates(), expected)
    with pytest.raises(TypeError, match="for metrics with partial_fit, not RCA"):
        LiveView(make_pipeline(RCA()).fit([[0.0], [1.0]], [0, 0]), [[0.0]])


def test_a_pipeline_in_an_onnx_file(tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    X = np.random.default_rng(0).normal(size=(40, 4)).astype(np.float32)
    pipe = make_pipeline(StandardScaler(), PCA(3), RCA()).fit(X, np.arange(40) % 2)
    onnx_file.export(pipe, tmp_path / "pipe.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "pipe.onnx")
    assert_allclose(session.run(["Z"], {"X": X})[0], pipe.transform(X), atol=1e-4)


def test_pipelines_that_end_in_something_else_or_are_not_fitted():
    X = np.arange(12.0).reshape(6, 2)
    other = make_pipeline(RCA(), PCA()).fit(X, [0, 1] * 3)
    for use in (lambda: suggest_pairs(other, X), lambda: onnx_file.export(other, "never.onnx")):
        with pytest.raises((TypeError, ValueError), match=r"last step of this Pipeline is PCA\(\)"):
            use()
    index = NeighborIndex(other).fit(X)  # takes any transformer, but needs a radius then
    assert index.threshold_ is None
    assert index.query(X[:1], 1)[1].tolist() == [[0]]
    with pytest.raises(ValueError, match="radius is needed"):
        index.query_radius(X)
    pipe = make_pipeline(StandardScaler(), RCA())
    for use in (lambda: suggest_pairs(pipe, X), lambda: NeighborIndex(pipe).fit(X)):
        with pytest.raises(ValueError, match="is not fitted, so it knows no distances"):
            use()
