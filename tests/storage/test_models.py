import copy
import pickle
import tracemalloc
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_breast_cancer
from sklearn.decomposition import PCA, FastICA, TruncatedSVD
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    RobustScaler,
    StandardScaler,
)
from threadpoolctl import threadpool_limits

import nearkin as nk
from nearkin.learners import base
from nearkin.spaces.kernels import Kernel
from nearkin.storage.arrays import read_arrays, write_arrays
from nearkin.storage.models import (
    KIND,
    MOST_MARKS,
    VERSION,
    Facts,
    Trial,
    describe,
    load_with_facts,
    save,
)
from tests.cases import each
from tests.common.learners import example

GOLDEN = Path(__file__).parents[1] / "golden"
ROWS = np.array([[0, 0, 0], [1, 1, 1], [-1, 1, -1], [2, -0.5, -1]])


@pytest.fixture(scope="module")
def data():
    return example()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.nearkin"


@each("name", ["learners", "model", "table"])
def test_stored_models_are_read_and_written_as_they_are(name, path):
    """Of this format; see the next tests for what is in them."""
    metric, facts = load_with_facts(GOLDEN / f"{name}.nearkin")
    save(metric, path, facts=facts)
    assert path.read_bytes() == (GOLDEN / f"{name}.nearkin").read_bytes()


def test_a_stored_blend_of_all_learners():
    """From 16 rows of XOR."""
    metric = nk.load(GOLDEN / "learners.nearkin")
    expected = [0.77908748, 0.66194997, 0.85807798, 1.29146885, 1.38092246, 0.8716023]
    distances = metric.distance(pd.DataFrame(ROWS, columns=list("abc")))
    assert_allclose(distances[np.triu_indices(4, 1)], expected, rtol=1e-6)


def test_a_stored_blend_with_scales_marks_and_trials():
    """Of rows in other units, calibrated by four pairs of rows and at another prevalence."""
    metric, facts = load_with_facts(GOLDEN / "model.nearkin")
    units = np.array([1, 1000, 0.001])
    expected = [0.8897691, 0.64554798, 0.86219928, 1.32336228, 1.36107951, 0.95472762]
    distances = metric.distance(pd.DataFrame(ROWS * units, columns=list("abc")))
    assert_allclose(distances[np.triu_indices(4, 1)], expected, rtol=1e-6)
    assert metric.prevalence_ == 0.2
    assert 0 < metric.sharpness_ != metric.far_sharpness_ > 0
    assert metric.same_distance_ == pytest.approx(np.mean([0.64554798, 0.86219928]))
    assert len(facts.marks) > 0
    assert facts.tested == [Trial("pairs", "pair_auc", 0.75, 0.5, 10, 20)]
    info = describe(GOLDEN / "model.nearkin")
    assert info.format_version == VERSION
    assert info.feature_names == ["a", "b", "c"]
    assert info.learned_from["rows"] == 16
    assert "learned from: 16 rows" in str(info)


def test_a_stored_metric_of_tables():
    metric = nk.load(GOLDEN / "table.nearkin")
    rows = pd.DataFrame(
        {
            "name": ["Ada L.", "Alan T.", "Ada Lo.", "Allan T."],
            "born": ["1815-12-10", "1912-06-23", "1815-12-10", None],
            "paid": ["yes", "no", "yes", "no"],
            "field": ["maths", "logic", "maths", "logic"],
            "height": [1.6, 1.8, 1.6, None],
        }
    )
    expected = [5.13222793, 0.15929297, 3.7453859, 5.15945809, 2.44261691, 3.76007156]
    assert_allclose(metric.distance(rows)[np.triu_indices(4, 1)], expected, rtol=1e-6)
    assert describe(GOLDEN / "table.nearkin").kinds == {
        "name": "name", "born": "date", "paid": "yes or no", "field": "category",
        "height": "number",
    }  # fmt: skip


def test_a_file_may_say_more_of_rows(data, path):
    metric = nk.Euclidean().fit(*data[:2])
    facts = Facts(
        marks=np.array([3, 5], dtype=np.uint32),
        tested=[
            Trial("pairs", "pair_auc", 0.75, 0.5, 10, 20),
            Trial("labels", "separability", np.inf, 0.5, 10, 20),  # no number that a file has
        ],
    )
    save(metric, path, facts=facts)
    found, known = load_with_facts(path)
    assert_array_equal(found.transform(data[0]), metric.transform(data[0]))
    assert_array_equal(known.marks, facts.marks)
    assert known.tested == facts.tested[:1]
    info = describe(path)
    assert info.tested == facts.tested[:1]
    assert info.n_marks == len(facts.marks)
    assert nk.load(path).threshold_ == metric.threshold_
    metric.save(path)
    assert load_with_facts(path)[1] == Facts(None, [])


@each(
    "tested",
    [
        None,
        [{}],
        [{"judged_by": 1}],
        [[]],
        [vars(Trial("pairs", "pair_auc", 1, 0.5, 10, 20))],
        [vars(Trial("pairs", "pair_auc", 1.0, 0.5, 10, 20))] * 101,
    ],
)
def test_forged_tests(data, path, tested):
    nk.Euclidean().fit(*data[:2]).save(path)
    forged(path, lambda content, _: content.update(tested=tested))
    for reader in (nk.load, describe):
        with pytest.raises(nk.StorageError, match="says of its test"):
            reader(path)


@each(
    "marks",
    [
        np.arange(3.0),
        np.arange(3),
        np.array([2, 1], dtype=np.uint32),
        np.array([1, 1], dtype=np.uint32),
        np.zeros((2, 2), dtype=np.uint32),
        np.arange(MOST_MARKS + 1, dtype=np.uint32),
    ],
)
def test_forged_marks(marks, data, path):
    nk.Euclidean().fit(*data[:2]).save(path)
    forged(path, lambda _, arrays: arrays.update({"learned rows": marks}))
    with pytest.raises(nk.StorageError, match="are no marks of rows"):
        nk.load(path)


def test_a_description_says_where_training_rows_are(data, path):
    X, y, pairs, _ = data
    learner = nk.KernelBeta(n_landmarks=20, kernel="laplacian", random_state=0)
    metric = nk.Chain([StandardScaler(), learner]).fit(X, y, pairs=pairs)
    metric.save(path)
    info = describe(path)
    n_landmarks = len(metric.steps_[1].landmarks_)
    assert info.training_rows == {"steps_.1.map_.extension.landmarks.rows": (n_landmarks, 3)}
    assert info.parameters == {"steps": ["StandardScaler(...)", "KernelBeta(...)"]}
    assert f"rows of the training data: {n_landmarks} in steps_.1.map_" in str(info)
    assert "from 3 columns to" in str(info)
    for learner, place in ((nk.LLMA(), "anchor_rows_"), (nk.Generative(), "_known")):
        learner.fit(X, y).save(path)
        assert describe(path).training_rows == {place: (50, 3)}
    nk.RCA().fit(X, y).save(path)
    assert describe(path).training_rows == {}
    assert "rows of the training data: none" in str(describe(path))


def test_estimators_that_are_parameters_are_stored_without_what_they_learned(data, path):
    X, y, _, _ = data
    step = nk.KernelBeta(random_state=0).fit(X, y)
    nk.Chain([step]).fit(X[:5], y[:5]).save(path)
    loaded = nk.load(path)
    assert list(describe(path).training_rows.values()) == [(5, 3)]
    assert not hasattr(loaded.steps[0], "threshold_")
    assert loaded.steps[0].get_params() == step.get_params()


def test_how_rows_came_from_a_file_is_kept(data, path):
    X, y, _, _ = data
    metric = nk.RCA().fit(X, y)
    metric.vector_column_ = "v"
    metric.fill_values_ = np.array([1.0, 2.0, 3.0])
    metric.save(path)
    found = nk.load(path)
    assert found.vector_column_ == "v"
    assert_array_equal(found.fill_values_, [1, 2, 3])
    metric.save(path, forget_names=True)
    found = nk.load(path)
    assert not hasattr(found, "vector_column_")
    assert_array_equal(found.fill_values_, [1, 2, 3])
    for wrong in (np.ones(2), np.array([1, np.nan, 3])):
        metric.fill_values_ = wrong
        with pytest.raises(nk.StorageError, match="fill_values_"):
            metric.save(path)


def test_a_linear_metric_takes_little_more_than_its_matrix(path):
    X = np.random.RandomState(0).standard_normal((300, 100))
    nk.GMML().fit(X, pairs=nk.Pairs([(0, 1)], [(2, 3)])).save(path)
    assert path.stat().st_size < 8 * 100 * 100 + 3000


def test_parameters_come_back(data, path):
    X, _, _, _ = data
    learner = nk.ITML(bounds=(0.1, 2.0), prior=np.eye(3), slack=np.inf, random_state=0)
    learner.fit(X, pairs=nk.Pairs([(0, 1)])).save(path)
    found = nk.load(path).get_params()
    assert_array_equal(found.pop("prior"), np.eye(3))
    expected = learner.get_params()
    del expected["prior"]
    assert found == expected
    assert describe(path).parameters["slack"] == np.inf
    assert describe(path).parameters["bounds"] == [0.1, 2.0]


@each(
    "step",
    [
        PCA(2, whiten=True, random_state=0),
        TruncatedSVD(2, random_state=0),
        StandardScaler(),
        StandardScaler(with_mean=False),
        StandardScaler(with_std=False),
        MinMaxScaler(),
        MaxAbsScaler(),
        RobustScaler(),
        RobustScaler(with_centering=False),
        Normalizer("l1"),
    ],
    ids=repr,
)
def test_transformers_within_a_chain(step, data, path):
    X, y, _, X_new = data
    metric = nk.Chain([step, nk.RCA(random_state=0)]).fit(X, y)
    metric.save(path)
    loaded = nk.load(path)
    assert type(loaded.steps_[0]) is type(step)
    assert repr(loaded) == repr(metric)
    assert_array_equal(loaded.transform(X_new), metric.transform(X_new))
    public = {name for name in vars(metric.steps_[0]) if not name.startswith("_")}
    assert public <= set(vars(loaded.steps_[0]))


def test_what_is_no_data_is_refused(data, path):
    X, y, _, X_new = data

    class Mine(nk.Euclidean):
        pass

    generator = nk.Euclidean(random_state=np.random.RandomState(0))
    for learner, message in (
        (
            nk.Chain([FastICA(2, random_state=0), nk.RCA()]),
            r"steps\.0 is a FastICA.*stored.*PCA, Trunc",
        ),
        (nk.KernelBeta(kernel=lambda a, b: a @ b.T), r"kernel is a function.*kernel='precomputed'"),
        (generator, r"random_state is a RandomState.*number or None"),
        (Mine(), "this is a Mine, which is not stored"),
    ):
        with pytest.raises(nk.StorageError, match=message):
            learner.fit(X, y).save(path)
        assert not path.exists()
    generator.set_params(random_state=None).save(path)
    metric = nk.KernelBeta(kernel=Kernel("poly", degree=2)).fit(X, y)
    metric.save(path)
    assert_array_equal(nk.load(path).transform(X_new), metric.transform(X_new))


def test_loading_anew_is_exact_after_use(data, path):
    """What a learner computes and keeps while it is used is no part of it."""
    X, y, _, X_new = data
    metric = nk.KernelBeta(kernel="laplacian", random_state=0).fit(X, y)
    metric.save(path)
    before = path.read_bytes()
    metric.transform(X_new)
    metric.set_output(transform="pandas").transform(X_new)
    metric.save(path)
    assert path.read_bytes() == before


def test_how_many_threads_fit_had_makes_no_difference(path):
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    pairs = nk.Pairs.from_labels(y, 80, random_state=1)
    learners = [
        nk.KernelBeta(n_landmarks=100, extension="nystroem", random_state=0),
        nk.ITML(kernel="rbf", n_landmarks=100, extension="nystroem", random_state=0),
        nk.KernelBeta(kernel="precomputed", random_state=0),
    ]
    for learner in learners:
        rows = rbf_kernel(X, gamma=0.03) if learner.kernel == "precomputed" else X
        with threadpool_limits(1, user_api="blas"):
            metric = learner.fit(rows, pairs=pairs)
            metric.transform(rows[:3])
            metric.save(path)
        with threadpool_limits(2, user_api="blas"):
            again = nk.load(path)
            assert_array_equal(again.transform(rows[:7]), metric.transform(rows[:7]), str(learner))


# What is refused


def forged(path, change=lambda content, arrays: None, version=VERSION):
    arrays, content = read_arrays(path, KIND, VERSION)
    change(content, arrays)
    write_arrays(path, KIND, version, arrays, content)
    return path


def test_no_model(path):
    path.write_bytes(pickle.dumps(nk.Euclidean()))
    with pytest.raises(nk.StorageError, match=r"model\.nearkin is no nearkin model file"):
        nk.load(path)
    write_arrays(path, "nearkin index", 1, {}, {})
    with pytest.raises(nk.StorageError, match="is a nearkin index file, not a nearkin model file"):
        nk.load(path)
    for content in ({}, [], None, {"nearkin": "1", "model": {}}, {"model": {"class": "PCA"}}):
        write_arrays(path, KIND, VERSION, {}, content)
        for reader in (nk.load, describe):
            with pytest.raises(nk.StorageError, match="holds no whole model"):
                reader(path)


@each(
    ("version", "said"),
    [
        (
            VERSION + 1,
            f"written by a newer nearkin {nk.__version__}, in format version {VERSION + 1}, "
            f"and this nearkin reads version {VERSION}: update yours",
        ),
        (
            VERSION - 1,
            f"written by an older nearkin {nk.__version__}, .* reads version {VERSION}: fit "
            "again and save",
        ),
    ],
)
def test_other_versions(version, said, data, path):
    nk.Euclidean().fit(*data[:2]).save(path)
    forged(path, version=version)
    for reader in (nk.load, describe):
        with pytest.raises(nk.StorageError, match=said):
            reader(path)


@each("state", ["unfitted", "wrong columns", "too many columns"])
def test_forged_models(state, data, path):
    nk.Euclidean().fit(*data[:2]).save(path)

    def change(content, _):
        if state == "unfitted":
            content["model"]["state"] = {}
        else:
            content["model"]["state"]["n_features_in_"] = 4 if state == "wrong columns" else 10**12

    message = {
        "unfitted": "no fitted learner",
        "wrong columns": r"image has shape \(1, 4\)",
        "too many columns": "1000000000000 columns are more than 16777216",
    }
    with pytest.raises(nk.StorageError, match=message[state]):
        nk.load(forged(path, change))


def test_a_description_is_printable(data, path):
    nk.Euclidean().fit(*data[:2]).save(path)

    def change(content, _):
        content["nearkin"] = content["model"]["class"] = "\x1b[2J"
        content["model"]["parameters"]["\x1b[2J"] = content["model"]["state"]["\r"] = "\x07"

    assert str(describe(forged(path, change))).replace("\n", "").isprintable()
    with pytest.raises(nk.StorageError) as caught:
        nk.load(path)
    assert str(caught.value).isprintable()


def test_what_landmarks_say_must_fit(data, path):
    nk.KernelBeta(random_state=0).fit(*data[:2]).save(path)

    def too_few(_, arrays):
        arrays["map_.extension.landmarks.rows"] = arrays["map_.extension.landmarks.rows"][:10]

    with pytest.raises(nk.StorageError, match="coordinates of 50 landmarks, but there are 10"):
        nk.load(forged(path, too_few))


def test_loading_takes_no_more_memory_than_its_file_lets_expect(data, path):
    X, y, _, _ = data
    nk.KernelBeta(kernel="laplacian", n_landmarks=20, random_state=0).fit(X, y).save(path)
    n = 20_000  # a matrix of all pairs would take 3 GB

    def more_landmarks(content, arrays):
        for name, array in arrays.items():
            if 20 in array.shape:
                arrays[name] = np.concatenate([array] * (n // 20), axis=array.shape.index(20))

    forged(path, more_landmarks)
    assert list(describe(path).training_rows.values()) == [(n, 3)]
    tracemalloc.start()
    nk.load(path)
    assert tracemalloc.get_traced_memory()[1] < 10 * path.stat().st_size
    tracemalloc.stop()


def of_many(n_learners, learner, change):
    """A chain of many learners that are one, after a change of what it says."""

    def forge(content, arrays):
        chain = content["model"]["state"]
        one = chain["steps_"][0]
        change(one["state"], arrays)
        chain["steps_"] = [one] * n_learners
        chain["n_features_in_"] = one["state"]["n_features_in_"]
        chain["n_components_"] = one["state"]["n_components_"]

    return nk.Chain([learner]), forge


def wide(columns):
    def change(state, _):
        state.update(n_features_in_=columns, n_components_=columns)

    return change


def long_words(state, _):
    state["feature_names_in_"] = {"words": ["x" * 4000, *["y"] * 3999], "dtype": "str"}
    state["n_features_in_"] = state["n_components_"] = 4000


def many_landmarks(state, arrays):
    for name, array in arrays.items():
        if 10 in array.shape:
            axis = array.shape.index(10)
            arrays[name] = np.concatenate([array] * 90, axis=axis)


@each(
    ("learner", "n_learners", "change", "message"),
    [
        (nk.Euclidean(random_state=0), 100, wide(2**19), "for all learners in it together"),
        (nk.Euclidean(random_state=0), 10, wide(2**19), None),
        (nk.Euclidean(random_state=0), 100, long_words, "too long"),
        (
            nk.KernelBeta(kernel="laplacian", n_landmarks=10, random_state=0),
            20,
            many_landmarks,
            None,
        ),
    ],
)
def test_limits_hold_for_the_whole_tree(learner, n_learners, change, message, data, path):
    chain, forge = of_many(n_learners, learner, change)
    chain.fit(*data[:2]).save(path)
    forged(path, forge)
    allowed = 4 * path.stat().st_size + 100 * 10**6
    tracemalloc.start()
    try:
        with pytest.raises(nk.StorageError, match=message) if message else nullcontext():
            nk.load(path)
        assert tracemalloc.get_traced_memory()[1] < allowed
    finally:
        tracemalloc.stop()


def test_headers_of_very_many_values_are_not_read(data, path):
    nk.Euclidean().fit(*data[:2]).save(path)
    whole = path.read_bytes()
    header = b"[" + b"[],[]," * 500_000 + b"[]]"
    path.write_bytes(len(header).to_bytes(8, "little") + header + whole[-8:])
    tracemalloc.start()
    for reader in (nk.load, describe):
        with pytest.raises(nk.StorageError, match="no nearkin model file, or a damaged one"):
            reader(path)
    assert tracemalloc.get_traced_memory()[1] < 2 * len(header)
    tracemalloc.stop()
    with pytest.raises(nk.StorageError, match="too many values"):
        write_arrays(path, KIND, VERSION, {}, [[]] * 1_000_000)


@each("estimator", [nk.RCA(), nk.MetricKMeans(2, random_state=0)])
def test_pickles_are_for_one_version(estimator, monkeypatch):
    X, told = [[0.0, 0], [1, 0], [0, 5]], {"pairs": nk.Pairs([(0, 1)])}
    estimator.fit(X, **(told if isinstance(estimator, nk.RCA) else {}))
    content = pickle.dumps(estimator)
    same = pickle.loads(content)
    assert set(vars(same)) == set(vars(estimator))
    assert set(vars(copy.deepcopy(estimator))) == set(vars(estimator))
    assert_array_equal(same.components_, estimator.components_)
    monkeypatch.setattr(base, "__version__", "99.0")
    reason = f"of nearkin {nk.__version__}, .* not by nearkin 99.0.*metric.save"
    with pytest.raises(nk.StorageError, match=reason):
        pickle.loads(content)
    with pytest.raises(nk.StorageError, match="nearkin of an earlier version"):
        nk.RCA().__setstate__({"components_": None})
