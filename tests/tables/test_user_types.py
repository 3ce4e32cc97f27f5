"""What a column's type and way of writing say: categories, decimal commas, currencies, per cent."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.preprocessing import StandardScaler

import nearkin as nk
from nearkin.studio.records import records_of
from nearkin.tables.reading import read_columns, read_numerals

RNG = np.random.default_rng(0)
Y = RNG.integers(0, 3, 120)
# Numbers that stand for kinds of things: their order says nothing of the classes.
KINDS = np.array([[1, 5, 8], [2, 9, 4], [7, 3, 6]])[Y, RNG.integers(0, 3, 120)]
NOISE = RNG.normal(size=120)
TEXTS = [str(kind) for kind in KINDS]
FRAMES = {
    "pandas": pd.DataFrame({"kind": pd.Categorical(KINDS), "x": NOISE}),
    "ordered": pd.DataFrame({"kind": pd.Categorical(KINDS, ordered=True), "x": NOISE}),
    "polars": pl.DataFrame({"kind": pl.Series(TEXTS, dtype=pl.Categorical), "x": NOISE}),
    "enum": pl.DataFrame({"kind": pl.Series(TEXTS, dtype=pl.Enum([*"123456789"])), "x": NOISE}),
    "pyarrow": pa.table({"kind": pa.array(KINDS).dictionary_encode(), "x": NOISE}),
}


def test_categories_of_any_library_are_categories_though_their_values_are_numbers(tmp_path):
    pairs = nk.Pairs.from_labels(Y, 60, random_state=0)
    for library, frame in FRAMES.items():
        metric = nk.ITML(random_state=0).fit(frame, pairs=pairs)
        assert metric.table_.kinds_ == {"kind": "category", "x": "number"}, library
        assert metric.score(frame, Y) > 0.95, library
        assert [column.kind for column in read_columns(frame)] == ["category", "number"], library
        # The studio: beside numbers, kinds of things may well be the classes.
        records = records_of(frame)
        assert records.choice.left_out == {"kind": "kinds of things"}, library
        assert records_of(frame, learn_from=["kind", "x"]).encoder.kinds_["kind"] == "category"
    metric.save(tmp_path / "metric")
    again = nk.load(tmp_path / "metric").transform(FRAMES["pandas"])
    np.testing.assert_array_equal(again, metric.transform(FRAMES["pandas"]))


def test_many_texts_that_are_kept_as_categories_are_names():
    names = [f"{first} {last}" for first in ("ada", "alan", "grace") for last in range(30)]
    column = pd.Series(names + names).astype("category")
    encoder = nk.TableEncoder().fit(pd.DataFrame({"who": column, "code": range(180)}))
    assert encoder.kinds_["who"] == "name"


@pytest.mark.parametrize(
    ("texts", "values", "decimal"),
    [
        (["12,30", "5,1"], [12.3, 5.1], "decimal comma"),
        (["€12.30", "€1,200"], [12.3, 1200], "decimal point"),
        (["1.234,50 €", "2.000 €", "−3 €"], [1234.5, 2000, -3], "decimal comma"),
        (["45%", "3 %"], [45, 3], None),
        (["12.5 chf", "7"], [12.5, 7], "decimal point"),
        (["us$5.00", "-us$1'000"], [5, -1000], "decimal point"),
        (["1 234,5", "2 000"], [1234.5, 2000], "decimal comma"),
        (["1.5", "1e5", "inf"], [1.5, 1e5, np.inf], "decimal point"),
    ],
)
def test_numbers_as_people_write_them(texts, values, decimal):
    found = read_numerals(texts)
    assert [found.values[text] for text in texts] == values
    assert found.decimal == decimal
    assert not found.ambiguous
    names = ["Ada", "Bob", "Eve", "Cy"] * 4
    encoder = nk.TableEncoder().fit({"paid": texts * 5, "name": names[: len(texts) * 5]})
    assert encoder.kinds_["paid"] == "number"


def test_what_is_no_number_of_one_unit():
    for texts in (["1,2,3", "4,5,6"], ["555 123", "123 456"], ["1.234.567", "2.345.678"]):
        assert not read_numerals(texts).values, texts
    assert read_numerals(["45%", "0.3"]).values == {"45%": 45}
    assert read_numerals(["$5", "$6", "€6"]).values == {"$5": 5, "$6": 6}


def test_what_a_comma_means_is_told_where_nothing_tells():
    table = {"paid": ["1,234", "2,500"] * 9, "name": ["Ada", "Bob"] * 9}
    with pytest.warns(nk.TableWarning, match="column 'paid', such as '1,234', are read with a"):
        encoder = nk.TableEncoder().fit(table)
    assert encoder.held_["paid"] == "number, decimal point"


def test_decimals_are_read_as_they_were_in_fit(tmp_path):
    prices = [f"{price:.2f}".replace(".", ",") for price in RNG.uniform(1, 900, 60)]
    table = pd.DataFrame({"price": prices, "title": [f"book {k % 25}" for k in range(60)]})
    pairs = nk.Pairs([(0, 25), (1, 26), (2, 27), (3, 28)], [(0, 1), (2, 3), (1, 2), (4, 5)])
    with pytest.warns(nk.SelectionWarning):
        metric = nk.MetricLearner(random_state=0, time_budget=0).fit(table, pairs=pairs)
    assert "Columns hold 'price' (number, decimal comma), 'title' (name)." in str(metric.report_)
    metric.save(tmp_path / "metric")
    one, other = (pd.DataFrame({"price": [text], "title": ["book"]}) for text in ("1,234", "1.234"))
    for known in (metric, nk.load(tmp_path / "metric")):
        assert known.distance(one, other)[0, 0] > 1  # nearly 1 and more than a thousand


def test_frames_of_numbers_are_known_by_the_names_of_their_columns():
    X = pd.DataFrame(RNG.normal(size=(60, 3)), columns=["a", "b", "c"])
    y = (X["a"] > 0).to_numpy()
    pairs = nk.Pairs.from_labels(y, 30, random_state=0)
    other = X[["c", "a", "b"]].assign(more="words")[["more", "c", "a", "b"]]
    learners = {
        "ITML": nk.ITML(random_state=0),
        "scaled": nk.RCA(scale=True),
        "MetricLearner": nk.MetricLearner(random_state=0, time_budget=0.1),
        "Chain": nk.Chain([StandardScaler(), nk.RCA()]),
        "of learners": nk.Chain([nk.RCA(), nk.KernelBeta(random_state=0)]),
        "Blend": nk.Blend([nk.RCA(), nk.Euclidean()], random_state=0),
        "table": nk.Chain([nk.TableEncoder(), nk.RCA()]),
    }
    for name, learner in learners.items():
        metric = learner.fit(X, pairs=pairs)
        expected = metric.transform(X)
        for frame in (other, pl.from_pandas(other), pa.table(other)):
            np.testing.assert_array_equal(metric.transform(frame), expected, err_msg=name)
        with pytest.raises(ValueError, match="c"):
            metric.transform(X[["b", "a"]])
    for task in (nk.EnergyClassifier(), nk.MPCKMeans(2, random_state=0)):
        found = task.fit(X, y) if hasattr(task, "classes_") else task.fit(X, y.astype(int))
        np.testing.assert_array_equal(found.predict(other), found.predict(X))


def test_gaps_of_a_frame_of_numbers_name_what_takes_them():
    X = pd.DataFrame(RNG.normal(size=(60, 3)), columns=["a", "b", "c"])
    pairs = nk.Pairs.from_labels((X["a"] > 0).to_numpy(), 30, random_state=0)
    gaps = X.mask(X > 1.5)
    takes = {
        nk.MetricLearner(random_state=0, time_budget=0.1): "MetricLearner(table=TableEncoder())",
        nk.ITML(random_state=0): "Chain([TableEncoder(), ITML()])",
    }
    for learner, code in takes.items():
        with pytest.raises(ValueError, match="NaN") as raised:
            learner.fit(gaps, pairs=pairs)
        assert f"its gaps as they are, fit {code}." in str(raised.value)
        names = ("TableEncoder", "Chain", "MetricLearner", "ITML")
        metric = eval(code, {name: getattr(nk, name) for name in names})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", nk.SelectionWarning)
            assert np.isfinite(metric.fit(gaps, pairs=pairs).transform(gaps)).all()
        with pytest.raises(ValueError, match="NaN") as raised:
            learner.fit(X, pairs=pairs).transform(gaps)
        assert code in str(raised.value)
