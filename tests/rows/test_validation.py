"""What is given as rows: errors that say what it is, and code in them that runs as printed."""

import datetime
import re
import textwrap

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pytest
import scipy.sparse as sp

import nearkin as nk
from tests.cases import each

N = 60


@pytest.fixture(scope="module")
def records():
    """Ten columns of words, one of dates, one of truths and two of numbers."""
    rng = np.random.default_rng(0)
    y = np.arange(N) % 2
    day = datetime.date(2024, 1, 1)
    columns = {f"word {i}": [f"{'ab'[k]}{rng.integers(i + 1)}" for k in y] for i in range(10)}
    columns["word 0"][3] = None
    columns |= {
        "bought": [day + datetime.timedelta(i) for i in range(N)],
        "used": (y == rng.integers(2, size=N)).tolist(),
        "width": (y + rng.normal(size=N)).tolist(),
        "count": rng.integers(9, size=N).tolist(),
    }
    return columns, y


def as_pandas(columns):
    frame = pd.DataFrame(columns)
    if "bought" in frame:
        frame["bought"] = pd.to_datetime(frame["bought"])
    if "word 1" in frame:
        frame["word 1"] = frame["word 1"].astype("category")
    return frame


def as_polars(columns):
    frame = pl.DataFrame(columns)
    return frame.with_columns(pl.col("word 1").cast(pl.Categorical)) if "word 1" in frame else frame


each_frame = each("frame_of", [as_pandas, as_polars, pa.table], ids=["pandas", "polars", "pyarrow"])


def refusal(fit, X, **options):
    with pytest.raises((TypeError, ValueError)) as caught:
        fit(X, **options)
    return str(caught.value)


def followed(message, X):
    """X after the code in the message."""
    code = re.search(r"\n\n((?:    .*\n)+)\n", message)
    names = {"X": X}
    exec(textwrap.dedent(code.group(1)), names)
    return names


# Words


@each_frame
def test_the_remedy_for_words_runs_as_it_is_printed(frame_of, records):
    columns, y = records
    X, clusters = frame_of(columns), nk.MPCKMeans(2, random_state=0)
    message = refusal(clusters.fit, X)
    assert re.match(r"11 of the 14 columns of X are not numbers: .* and 6 more\. Turn", message)
    names = followed(message, X)
    clusters.fit(names["X"], pairs=nk.Pairs.from_labels(y, 40, random_state=0))
    assert len(clusters.predict(names["encoder"].transform(X))) == N


@each_frame
@each("learner", [nk.RCA(), nk.KernelBeta(random_state=0)], ids=["RCA", "KernelBeta"])
def test_learners_take_words_as_the_remedy_has_them(frame_of, learner, records):
    columns, y = records
    X = frame_of(columns)
    encoder = followed(refusal(nk.MPCKMeans(2).fit, X), X)["encoder"]
    by_hand = nk.Chain([encoder, learner]).fit(X, y)
    metric = learner.fit(X, y)
    assert metric.score(X, y) > 0.9
    assert np.array_equal(metric.transform(X), by_hand.transform(X))


def test_a_kernel_matrix_has_no_words(records):
    message = refusal(nk.KernelBeta(kernel="precomputed").fit, as_pandas(records[0]), y=records[1])
    assert "11 of the 14 columns of X are not numbers" in message


def test_columns_whose_names_are_numbers(records):
    columns, y = records
    X = pd.DataFrame(list(columns.values())[8:10] + list(columns.values())[12:]).T.infer_objects()
    X.columns = [7, 8, 9, 10]
    names = followed(refusal(nk.MPCKMeans(2).fit, X), X)
    assert nk.RCA().fit(names["X"], y).score(names["X"], y) > 0.7


@each("cell", ["a", [1.0, 2.0], "7"])
def test_objects_that_are_no_numbers(cell):
    column = pd.Series([1.5, 2.5, 3.5, None, 4.5], dtype=object)
    column[3] = cell
    X = pd.DataFrame({"mixed": column, "width": np.arange(5.0)})
    message = refusal(nk.MPCKMeans(2).fit, X)
    assert "1 of the 2 columns of X are not numbers: 'mixed' (Object)" in message
    assert len(followed(message, X)["X"]) == 5


def test_objects_that_are_nothing_at_all():
    X = pd.DataFrame({"thing": [1.5, object(), "a"], "width": [1.0, 2.0, 3.0]})
    assert re.match(
        r"column 'thing' holds <object .* in row 1", refusal(nk.RCA().fit, X, y=[0, 0, 1])
    )


# Missing numbers


@each_frame
def test_the_remedy_for_gaps_runs_as_it_is_printed(frame_of):
    rng = np.random.default_rng(0)
    columns = {f"c{i}": rng.normal(size=N).tolist() for i in range(8)}
    columns["count"] = list(range(N))
    columns["count"][5] = None
    for i in range(7):
        columns[f"c{i}"][10 + i] = columns[f"c{i}"][30] = None
    X, y = frame_of(columns), np.arange(N) % 2
    message = refusal(nk.RCA().fit, X, y=y)
    assert message.startswith(
        "X contains NaN in row 5, column 'count'. 15 cells of 8 columns of 9 are missing: "
        "'c0' (2), 'c1' (2), 'c2' (2), 'c3' (2), 'c4' (2) and 3 more. "
    )
    names = followed(message, X)
    metric = nk.RCA().fit(names["X"], y)
    assert np.isfinite(metric.transform(names["imputer"].transform(X))).all()
    assert nk.Chain([names["imputer"], nk.RCA()]).fit(X, y).transform(X).shape == (N, 9)


@each(
    "rows_of",
    [np.asarray, lambda X: pd.DataFrame(X, columns=list("abc")), pl.DataFrame, sp.csr_array, list],
    ids=["array", "pandas", "polars", "sparse", "list"],
)
def test_the_remedy_for_infinity(rows_of):
    X = np.random.default_rng(0).normal(size=(N, 3))
    X[2, 1] = -np.inf
    X[2, 2] = X[7, 1] = np.nan
    rows, y = rows_of(X), np.arange(N) % 2
    message = refusal(nk.KernelBeta().fit, rows, y=y)
    name = {pd.DataFrame: "'b'", pl.DataFrame: "'column_1'"}.get(type(rows), "1")
    assert message.startswith(f"X contains infinity in row 2, column {name}. 3 cells of 2 columns ")
    assert "are missing or infinite" in message
    nk.KernelBeta().fit(followed(message, rows)["X"], y)


def test_a_column_without_any_number():
    X = pd.DataFrame({"a": np.arange(6.0), "b": [None] * 6})
    message = refusal(nk.RCA().fit, X, y=[0, 1] * 3)
    assert "row 0, column 'b'. 6 cells of 1 column of 2 are missing: 'b' (6)." in message
    nk.RCA().fit(followed(message, X)["X"], [0, 1] * 3)


def test_gaps_in_new_rows():
    X = pd.DataFrame(np.arange(12.0).reshape(6, 2), columns=["a", "b"])
    metric = nk.RCA().fit(X, [0, 1] * 3)
    X.loc[4, "b"] = np.nan
    with pytest.raises(ValueError, match=r"in row 4, column 'b'\. 1 cell .* is missing.*Chain"):
        metric.transform(X)


def all_but_words(X):
    return nk.learn_actively(X, lambda i, j: True, 3)


@each(
    "refuse",
    [
        lambda X: nk.NeighborIndex().fit(X),
        lambda X: nk.MPCKMeans(2).fit(X),
        lambda X: nk.MetricKMeans(2).fit(X),
        lambda X: nk.EnergyClassifier().fit(X, np.arange(20) % 2),
        lambda X: nk.ManifoldAlignment().fit([X, X], pairs=nk.Pairs([(0, 1)])),
        lambda X: nk.scores.pair_auc(X, np.arange(20) % 2),
        all_but_words,
    ],
    ids=["index", "MPCKMeans", "MetricKMeans", "energy", "alignment", "scores", "active"],
)
def test_all_entrances_name_columns(refuse):
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(20, 3)), columns=list("abc"))
    gap = X.copy()
    gap.loc[4, "b"] = np.nan
    with pytest.raises(ValueError, match=r"row 4, column 'b'"):
        refuse(gap)
    if refuse is not all_but_words:
        message = r"1 of the 3 columns .* are not numbers: 'c' \(String\)"
        with pytest.raises(ValueError, match=message):
            refuse(X.assign(c="x"))
    with pytest.raises(TypeError, match=r"polars's LazyFrame, .*\.collect\(\)"):
        refuse(pl.DataFrame(X.to_numpy()).lazy())


# Near misses


def near_misses():
    import dask.array
    import dask.dataframe

    rows = [[0.0, 1.0], [1.0, 0.0], [2.0, 2.0], [0.5, 0.25]]
    frame = pd.DataFrame(rows, columns=["a", "b"])
    return {
        "lazy": (pl.DataFrame(frame.to_dict("list")).lazy(), r"X\.collect\(\)"),
        "dask array": (dask.array.from_array(np.array(rows)), r"X\.compute\(\).*open_rows"),
        "dask frame": (dask.dataframe.from_pandas(frame), r"X\.compute\(\).*open_rows"),
        "dataset": (pa.dataset.dataset(pa.table(frame.to_dict("list"))), r"X\.to_table\(\)"),
        "records": (frame.to_dict("records"), r"a list of dict, .*pandas\.DataFrame\(X\)"),
        "dict": (frame.to_dict("list"), r"a dict, .*pandas\.DataFrame\(X\)"),
        "pandas series": (frame["a"], r"pandas's Series, .*X\.to_frame\(\)"),
        "polars series": (pl.Series([1.0, 2.0, 3.0]), r"polars's Series, .*X\.to_frame\(\)"),
        "generator": ((row for row in rows), r"a generator, .*list\(X\).*open_rows"),
        "path": ("rows.csv", r"'rows\.csv', a text or a path, .*nearkin\.open_rows\(path\)"),
    }


@each("kind", list(near_misses()))
def test_what_is_nearly_a_table(kind):
    X, message = near_misses()[kind]
    pairs = nk.Pairs([(0, 1)], [(0, 2)])
    with pytest.raises(TypeError, match=message):
        nk.ITML().fit(X, pairs=pairs)
    with pytest.raises(TypeError, match=message):
        nk.MetricLearner().fit(near_misses()[kind][0], pairs=pairs)
    metric = nk.ITML().fit([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]], pairs=pairs)
    for use in (metric.transform, lambda X: nk.suggest_pairs(metric, X)):
        with pytest.raises(TypeError, match=message):
            use(near_misses()[kind][0])
    with pytest.raises(TypeError, match=message):
        metric.score(near_misses()[kind][0], pairs=pairs)
    with pytest.raises(TypeError, match=message):
        nk.learn_actively(near_misses()[kind][0], lambda i, j: True, 3)


def test_a_record_batch_is_a_table_too():
    columns = {"a": [0.0, 1.0, 2.0], "b": [1.0, 0.0, 2.0]}
    rows, batch = pa.table(columns), pa.RecordBatch.from_pydict(columns)
    for given in (rows, batch):
        metric = nk.ITML().fit(given, pairs=nk.Pairs([(0, 1)], [(0, 2)]))
        assert metric.transform(given).shape == (3, 2)


def test_hidden_cells_are_not_taken_for_numbers():
    X = np.ma.array(np.arange(12).reshape(6, 2), mask=[[0, 1], *([[0, 0]] * 5)])
    y = np.ma.array([0, 1, 0, 1, 0, 9], mask=[0, 0, 0, 0, 0, 1])
    with pytest.raises(ValueError, match=r"masked array, .*: 1 cells\.") as refused:
        nk.Euclidean().fit(X, y)
    filled = eval(re.search(r"X\.astype.*?\)\)", str(refused.value))[0], {"X": X})
    with pytest.raises(ValueError, match="NaN in row 0, column 1"):
        nk.Euclidean().fit(filled, y)
    assert nk.Euclidean().fit(X.filled(0), y).learned_from_["labels"] == 5
    assert nk.Euclidean().fit(np.ma.array(X.data), y).learned_from_["labels"] == 5


@each("rows_of", [np.array, sp.csr_array, lambda X: pd.DataFrame(X)])
def test_numbers_whose_squares_overflow(rows_of):
    X = np.ones((4, 3))
    X[2, 1] = -1e200
    with pytest.raises(ValueError, match=r"column 1 of X reaches 1e\+200, whose square overflows"):
        nk.Euclidean().fit(rows_of(X), [0, 0, 1, 1])
    nk.Euclidean().fit(rows_of(X.clip(-1e150)), [0, 0, 1, 1])
    with pytest.raises(ValueError, match="no value is beyond 1e\\+18"):
        nk.Euclidean().fit(np.eye(4, dtype=np.float32) * 1e30, [0, 0, 1, 1])
