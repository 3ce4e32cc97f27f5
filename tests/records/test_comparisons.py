import numpy as np
import pytest

from nearkin.errors import InputError
from nearkin.records.comparisons import compare_pairs, comparisons_of, prepare_columns
from nearkin.tables.reading import Column
from tests.records.conftest import words

pytest.importorskip("rapidfuzz")

TABLE = [
    words("given", ["anna", "berta", "carla", "anna", "doris"]),
    words("family", ["berta", "anna", "moll", "moll", None]),
    Column("born", "date", np.array([0.0, 1.0, 5000.0, 0.0, np.nan])),
    Column("size", "number", np.array([1.5, 1.5, 7.0, 1.6, 2.0])),
    words("constant", ["x"] * 5),
    words("empty", [None] * 5),
]


def compared(pairs):
    plan = comparisons_of(TABLE)
    found = compare_pairs(plan, prepare_columns(plan, TABLE), np.array(pairs))
    return [dict(zip(plan.names, row, strict=True)) for row in found.tolist()]


def test_comparisons_have_names_and_are_symmetric():
    pairs = [(i, j) for i in range(5) for j in range(i)]
    there, back = compared(pairs), compared([pair[::-1] for pair in pairs])
    assert there == back
    assert {name.partition(":")[0] for name in there[0]} == {"given", "family", "born", "size"}
    assert np.isfinite([list(row.values()) for row in there]).all()


def test_equal_other_and_missing_cells():
    [alike, other, gap] = compared([(0, 3), (0, 1), (0, 4)])
    assert alike["given: letters"] == alike["given: edits"] == alike["born: near"] == 1
    assert alike["given: rarity"] > 0 == other["given: rarity"]
    assert gap["family: letters"] == gap["born: near"] == -1
    assert (gap["family: missing"], alike["family: missing"]) == (1, 0)


def test_nearer_numbers_and_dates_are_more_alike():
    near, far = compared([(0, 1), (0, 2)])
    for name in ("born: near", "size: near"):
        assert near[name] > far[name] >= 0


def test_vectors_are_compared_by_their_distance():
    Z = np.array([[0.0, 0.0], [0.0, 0.1], [3.0, 4.0], [np.nan, 0.0]])
    table = [Column("metric", "vector", Z), words("name", ["a", "b", "c", "d"])]
    plan = comparisons_of(table)
    near = compare_pairs(plan, prepare_columns(plan, table), np.array([(0, 1), (0, 2), (0, 3)]))[
        :, 0
    ]
    assert near[0] > 0.9 > 0.3 > near[1] > near[2] == -1
    assert near[1] == pytest.approx(np.exp(-5 / plan.columns[0].scale), rel=1e-5)


def test_tables_that_cannot_be_compared():
    with pytest.raises(InputError, match="no column can be compared"):
        comparisons_of(TABLE[5:])
    plan = comparisons_of(TABLE)
    with pytest.raises(InputError, match="no column 'family'"):
        prepare_columns(plan, [TABLE[0], *TABLE[2:]])


def test_words_and_trigrams_are_compared_as_weighed_sets():
    texts = ["red fox inn", "fox inn", "inn of the red fox", "inn", "green man inn", None, "x"]
    table = [words("name", texts)]
    plan = comparisons_of(table)
    column = plan.columns[0]
    often = {"inn": 5, "fox": 3, "red": 2, "of": 1, "the": 1, "green": 1, "man": 1, "x": 1}
    weight = {w: np.clip(np.log(7 / (0.5 + n)) / np.log(7), 0.02, 1) for w, n in often.items()}

    def cosine(a, b):
        a, b = set(a.split()), set(b.split())
        norm = [np.sqrt(sum(weight[w] ** 2 for w in words_)) for words_ in (a, b)]
        return sum(weight[w] ** 2 for w in a & b) / (norm[0] * norm[1])

    pairs = [(i, j) for i in range(5) for j in range(i)]
    found = compare_pairs(plan, prepare_columns(plan, table), np.array(pairs))
    at = column.parts.index("words")
    expected = [cosine(texts[i], texts[j]) for i, j in pairs]
    assert found[:, at] == pytest.approx(expected, abs=1e-5)
    assert found[pairs.index((2, 0)), column.parts.index("rarity")] == pytest.approx(
        weight["red"], abs=1e-5
    )


def test_long_texts_are_compared_by_their_beginnings():
    rng = np.random.RandomState(0)
    some = [" ".join(f"word{k}" for k in rng.randint(500, size=2000)) for _ in range(3)]
    table = [words("text", [*some, some[0] + " more"], "text")]
    plan = comparisons_of(table)
    found = compare_pairs(plan, prepare_columns(plan, table), np.array([(0, 3), (0, 1)]))
    assert found[0, 1] > 0.99 > 0.8 > found[1, 1]
