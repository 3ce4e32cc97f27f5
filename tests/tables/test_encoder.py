"""Tables as rows of numbers."""

import datetime
from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import HashingVectorizer, TfidfVectorizer
from sklearn.metrics.pairwise import cosine_similarity
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

from nearkin import TableEncoder, TableWarning
from nearkin.errors import InputError
from nearkin.tables.encoder import Categories, DateParts, NumberScale, Pieces
from nearkin.tables.reading import read_table
from tests.cases import each

DAY = datetime.date(2020, 1, 1)


def people(n=60, seed=0):
    """A table with a column of every kind, and gaps."""
    rng = np.random.default_rng(seed)
    first = ["Ada", "Bob", "Carla", "Dirk", "Eve", "Fritz", "Gül", "היא"]
    gap = lambda values: [None if rng.random() < 0.1 else value for value in values]  # noqa: E731
    return {
        "id": [f"p{i}" for i in range(n)],
        "name": gap(
            f"{first[rng.integers(8)]} {'xyz'[rng.integers(3)]}{rng.integers(99)}mann"
            for _ in range(n)
        ),
        "city": gap(["Rome", "Paris", "Bonn"][rng.integers(3)] for _ in range(n)),
        "phone": gap(f"0{rng.integers(10**8)}" for _ in range(n)),
        "born": gap(DAY - datetime.timedelta(int(rng.integers(20_000))) for _ in range(n)),
        "paid": gap(bool(rng.integers(2)) for _ in range(n)),
        "income": gap(float(rng.lognormal(8, 1)) for _ in range(n)),
        "vector": [rng.normal(size=3).tolist() for _ in range(n)],
    }


@pytest.fixture(scope="module")
def table():
    return people()


def test_scikit_learn_checks():
    check_estimator(TableEncoder(), on_skip=None)


def test_kinds_groups_and_names(table):
    encoder = TableEncoder().fit(table)
    assert encoder.kinds_ == {
        "id": "ignored", "name": "name", "city": "category", "phone": "code", "born": "date",
        "paid": "yes or no", "income": "number", "vector": "vector",
    }  # fmt: skip
    assert encoder.columns_ == [name for name in table if name != "id"]
    names = encoder.get_feature_names_out()
    assert all(name.startswith(group) for name, group in zip(names, encoder.groups_, strict=True))
    assert {"city=rome", "city=other", "city is missing", "born month", "paid"} <= set(names)
    assert "vector is missing" not in names
    assert encoder.transform(table).shape == (60, len(names))
    frame = TableEncoder().set_output(transform="pandas").fit_transform(pd.DataFrame(table))
    assert list(frame.columns) == list(names)


@each("frame_of", [pd.DataFrame, pl.DataFrame, pa.table])
def test_all_libraries_give_the_same(frame_of, table):
    expected = TableEncoder().fit_transform(table)
    frame = frame_of(table)
    encoder = TableEncoder().fit(frame)
    assert_array_equal(encoder.transform(frame), expected)
    assert_array_equal(encoder.transform(table), expected)
    if frame_of is pd.DataFrame:
        typed = frame.assign(
            city=frame["city"].astype("category"),
            born=pd.to_datetime(frame["born"]),
            paid=frame["paid"].astype("boolean"),
        )
        assert_array_equal(TableEncoder().fit_transform(typed), expected)


def test_every_column_has_the_same_say(table):
    encoder = TableEncoder().fit(table)
    Z = encoder.transform(table)
    for column in encoder.columns_:
        there = np.array([cell is not None for cell in table[column]])
        marks = np.char.endswith(encoder.get_feature_names_out().astype(str), " is missing")
        part = Z[:, (encoder.groups_ == column) & ~marks]
        assert_allclose(part[there].mean(axis=0), 0, atol=1e-12)
        assert_allclose(part[there].var(axis=0).sum(), 1)
        assert_array_equal(part[~there], 0)  # in the middle
    # Rows are the same alone and among others, and those of gaps are fine.
    alone = [encoder.transform({k: v[i : i + 1] for k, v in table.items()}) for i in range(5)]
    assert_allclose(np.vstack(alone), Z[:5], atol=1e-12)
    Z = encoder.transform({name: [None, cells[0]] for name, cells in table.items()})
    assert (Z[0, marks] > 0).all()
    assert_array_equal(Z[0, ~marks], 0)
    assert np.isfinite(Z).all()


def test_new_values_other_order_and_more_columns(table):
    encoder = TableEncoder().fit(table)
    some = {name: cells[:3] for name, cells in table.items() if name != "id"}
    expected = encoder.transform(table)[:3]
    turned = dict(reversed(some.items())) | {"new": [1, 2, 3]}
    assert_array_equal(encoder.transform(turned), expected)
    other = encoder.transform(some | {"city": ["Oslo", "Lima", None]})
    names = encoder.get_feature_names_out().tolist()
    assert other[0, names.index("city=other")] > 0
    assert_array_equal(other[0], np.where(encoder.groups_ == "city", other[1], other[0]))
    del some["city"]
    with pytest.raises(ValueError, match="the table has no column 'city'"):
        encoder.transform(some)
    encoder = TableEncoder().fit({"day": ["1/25/2024", "2/3/2024", "3/4/2024"]})
    assert encoder.codes_[0].order == "month first"  # which stays as it was
    plain = encoder.transform({"day": ["2024-02-03"]})
    assert_array_equal(encoder.transform({"day": ["2/3/2024"]}), plain)


@each(
    "bad",
    [{}, {"a": []}, {"a": [1]}, {"a": [1, 2], "b": [1]}, {"a": ["x", "x"]}, {"id": ["x", "y"]}],
)
def test_nothing_to_learn_from(bad):
    with pytest.raises(ValueError, match=r"required|needed|length|tells rows apart"):
        TableEncoder().fit(bad)


def test_messages_name_column_and_row():
    encoder = TableEncoder().fit({"size": ["1", "2", "3", "4"]})
    with pytest.raises(InputError, match="the first in row 101: 'x'"):
        encoder.coordinates({"size": ["5", "x", "y", "z"]}, first_row=100)
    with pytest.warns(TableWarning) as told:
        TableEncoder().fit_transform({"size": [*map(str, range(40)), "large"]})
    assert len(told) == 1
    with pytest.raises(ValueError, match=r"column 'v' holds vectors of 2 .* row 1 has 3"):
        TableEncoder().fit({"v": [[1.0, 2.0], [1.0, 2.0, 3.0]]})
    encoder = TableEncoder().fit({"v": [[1.0, 2.0], [3.0, 1.0]]})
    with pytest.raises(ValueError, match="column 'v': vectors of 1 numbers; in fit they had 2"):
        encoder.transform({"v": [[1.0]]})


def test_megabytes_and_strange_letters():
    texts = ["lorem ipsum " * 200_000, "😀😀 right-to-left שלום", "\ud800 half", "plain words"]
    Z = TableEncoder(kinds={"t": "text"}).fit_transform({"t": texts})
    assert np.isfinite(Z).all()
    cut = [text[:4000] for text in texts]
    assert_allclose(TableEncoder(kinds={"t": "text"}).fit_transform({"t": cut}), Z)


# Encoders


def test_numbers_far_out_are_held_near_the_others():
    values = np.random.default_rng(0).normal(size=1000)
    scale = NumberScale.fit(np.append(values, [1e9, np.inf]))
    z = scale.apply(np.array([scale.middle, scale.middle + scale.spread, 1e9, np.inf, -np.inf]))
    assert_allclose(z[:, 0], [0, 1 / np.sqrt(1 + 1 / 25), 5, 5, -5], atol=1e-4)
    assert (np.diff(scale.apply(np.sort(values))[:, 0]) > 0).all()
    for extreme in ([1e300, -1e300], [0.0, 5e-324], [np.inf, -np.inf], [1e308] * 3):
        assert np.isfinite(NumberScale.fit(np.array(extreme)).apply(np.array(extreme))).all()


def test_a_slip_in_a_date_leaves_its_other_parts():
    day, other = (
        (datetime.date(*date) - datetime.date(1970, 1, 1)).days
        for date in ((1942, 1, 27), (1924, 1, 27))
    )
    parts = DateParts.fit(np.arange(-20_000.0, 10_000.0, 37))
    a, b = parts.apply(np.array([day, other], dtype=float))
    assert_array_equal(a[2:], b[2:])
    assert (a[:2] != b[:2]).all()
    assert np.isfinite(parts.apply(np.array([1e18, -1e18, np.inf]))).all()


def test_frequent_categories_have_a_coordinate():
    texts = np.array(["a"] * 3 + ["b"] * 2 + [f"rare {i}" for i in range(60)], dtype=object)
    found = Categories.fit(texts)
    assert found.values[:2].tolist() == ["a", "b"]
    assert len(found.values) == 50
    Z = found.apply(np.array(["a", "rare 59", "new"], dtype=object))
    assert_array_equal(Z.sum(axis=1), 1)
    assert_array_equal(Z[1:, -1], 1)


def test_pieces_are_those_of_tf_idf_and_a_truncated_svd():
    rng = np.random.default_rng(0)
    texts = [
        f"{a}{b} {c}"
        for a, b, c in zip(
            rng.choice(["an", "be", "ca"], 80), rng.choice(["na", "rt", "lo"], 80),
            rng.choice(["smith", "smyth", "miller", "moller"], 80), strict=True,
        )
    ]  # fmt: skip
    # With few pieces no two fall into one class but by chance, and all axes keep all similarities.
    plain = TfidfVectorizer(analyzer="char_wb", ngram_range=(1, 3)).fit_transform(texts)
    found = Pieces.fit(np.array(texts, dtype=object), 10**3, ignores_signs=False)
    Z = found.apply(np.array(texts, dtype=object))
    assert_allclose(Z @ Z.T, cosine_similarity(plain), atol=0.06)
    # Along few axes it keeps as much as the best of so many.
    few = Pieces.fit(np.array(texts, dtype=object), 5, ignores_signs=False)
    kept = np.sum(few.apply(np.array(texts, dtype=object)) ** 2)
    assert_allclose(
        kept, np.sum(TruncatedSVD(5, random_state=0).fit_transform(plain) ** 2), rtol=0.02
    )


def test_signs_in_codes_do_not_count():
    texts = np.array(["310/246-1501", "818/762-1221", "213 848 0100"], dtype=object)
    found = Pieces.fit(texts, 30, ignores_signs=True)
    same = np.array(["(310) 2461501", "8187621221", "213.848.0100"], dtype=object)
    assert_allclose(found.apply(same), found.apply(texts), atol=1e-12)


# Encoders of texts of one's own


def lengths(texts):
    return np.array([[len(text), text.count("a")] for text in texts], dtype=float)


@each("own", [lengths, TfidfVectorizer(analyzer="char")])
def test_text_encoders_of_ones_own(own, table):
    encoder = TableEncoder(text_encoder=own).fit(table)
    Z = encoder.transform(table)
    width = (encoder.groups_ == "name").sum() - 1
    [names] = read_table({"name": table["name"]})
    known = sorted({text for text in names.values if text})
    if own is lengths:
        assert width == 2
    else:
        assert width == clone(own).fit_transform(known).shape[1]
    usual = TableEncoder().fit(table)
    assert (encoder.groups_ == "phone").sum() == (usual.groups_ == "phone").sum()
    assert np.isfinite(Z).all()


class Doubled:
    """As scikit-learn has them, but of no class of its."""

    def fit(self, texts):
        self.n_texts_ = len(texts)
        return self

    def transform(self, texts):
        return [[len(text), 2 * len(text)] for text in texts]


@each(
    "own",
    [
        lengths,
        Doubled(),
        make_pipeline(TfidfVectorizer(), TruncatedSVD(2, random_state=0)),
        HashingVectorizer(n_features=8),
    ],
)
def test_an_encoder_for_one_column(own, table):
    usual, encoder = TableEncoder().fit(table), TableEncoder(text_encoder={"city": own}).fit(table)
    widths = [dict(Counter(one.groups_)) for one in (usual, encoder)]
    assert widths[0].pop("city") != widths[1].pop("city")
    assert widths[0] == widths[1]
    assert np.isfinite(encoder.transform(table)).all()
    clone(encoder).fit(table)


def test_wrong_encoders_are_named(table):
    with pytest.raises(InputError, match=r"text_encoder\['nobody'\]: the column is not there"):
        TableEncoder(text_encoder={"nobody": lengths}).fit(table)
    with pytest.raises(InputError, match=r"text_encoder\['income'\]: the column is number"):
        TableEncoder(text_encoder={"income": lengths}).fit(table)
    with pytest.raises(TypeError, match=r"text_encoder\['name'\] must be a function"):
        TableEncoder(text_encoder={"name": 7}).fit(table)
    for wrong in (np.zeros, lambda n: np.full((n, 2), np.nan)):
        with pytest.raises(ValueError, match="text_encoder must give a finite array"):
            TableEncoder(text_encoder=lambda texts, wrong=wrong: wrong(len(texts))).fit(table)
