"""Graded pairs: how much alike two rows are, on a scale."""

import pickle

import numpy as np
import pandas as pd
import pytest

from nearkin import ContradictionWarning, Pairs
from nearkin.pairs.supervision import gather_evidence, revise_evidence
from tests.cases import each

MIXED = Pairs(
    [(0, 1)],
    [(2, 3)],
    closer=[(4, 0, 2)],
    graded=[(5, 4), (0, 2)],
    grades=[0.25, 0.75],
    graded_weight=[2.0, 1.0],
    n_rows=6,
)


def test_they_are_sorted_once_and_sealed():
    assert MIXED.graded.tolist() == [[0, 2], [4, 5]]
    assert MIXED.grades.tolist() == [0.75, 0.25]
    assert MIXED.graded_weight.tolist() == [1.0, 2.0]
    assert len(MIXED) == 5
    assert MIXED.points.tolist() == [0, 1, 2, 3, 4, 5]
    said = "Pairs(1 must-link, 1 cannot-link, 1 triplet, 2 graded pairs, n_rows=6)"
    assert repr(MIXED) == said
    assert pickle.loads(pickle.dumps(MIXED)) == MIXED
    assert MIXED.without(MIXED.graded) != MIXED
    with pytest.raises(ValueError, match="read-only"):
        MIXED.grades[0] = 1
    again = Pairs(graded=[(0, 1), (1, 0)], grades=[0.5, 0.5], graded_weight=[1, 3])
    assert again.graded_weight.tolist() == [3.0]
    assert len(Pairs(graded=[(2, 2)], grades=[1])) == 0  # a row is alike itself


@each(
    ("graded", "grades", "said"),
    [
        ([(0, 1)], None, "grades have shape .* for each of 1 graded pair"),
        ([(0, 1)], [0.5, 0.5], "grades have shape"),
        ([(0, 1), (1, 2)], [0.5, 4], r"grade of graded pair 1 is 4: .*scale=\(low, high\)"),
        ([(0, 1)], [-0.1], "grade of graded pair 0 is -0.1"),
        ([(0, 1)], [np.nan], "grade of graded pair 0 is nan"),
        ([(0, 1)], ["much"], "grades must be numbers"),
        ([(3, 3)], [0.5], "row 3 cannot differ from itself"),
        ([(0, 1), (1, 0)], [0.2, 0.8], r"\(0, 1\) has two grades, 0.2 and 0.8: .*mean"),
    ],
)
def test_wrong_grades_are_named(graded, grades, said):
    with pytest.raises((ValueError, TypeError), match=said):
        Pairs(graded=graded, grades=grades)


def test_parts_of_them_and_sums():
    assert MIXED.restrict([4, 5, 2, 0]).graded.tolist() == [[0, 1], [2, 3]]
    assert MIXED.restrict([4, 5, 2, 0]).grades.tolist() == [0.25, 0.75]
    assert MIXED.subset([False] * 4 + [True]).grades.tolist() == [0.25]
    assert MIXED.extend(n_rows=9).grades.tolist() == [0.75, 0.25]
    assert MIXED.closure().grades.tolist() == [0.75, 0.25]
    sum_ = MIXED + Pairs(graded=[(1, 5)], grades=[0.1])
    assert sum_.grades.tolist() == [0.75, 0.1, 0.25]
    with pytest.raises(ValueError, match="two grades"):
        MIXED + Pairs(graded=[(0, 2)], grades=[0.1])
    first, second = MIXED.split(0.4, random_state=0)
    assert first + second == MIXED
    with pytest.raises(ValueError, match=r"graded pair \(4, 5\) names row 5"):
        Pairs(graded=[(4, 5)], grades=[0.5]).check_rows(5)


def test_as_weak_pairs_is_by_the_nearer_end():
    weak = Pairs(
        graded=[(0, 1), (0, 2), (0, 3)], grades=[1, 0.5, 0.25], graded_weight=[2, 1, 1]
    ).as_weak_pairs()
    assert weak == Pairs([(0, 1)], [(0, 3)], must_weight=[2.0], cannot_weight=[0.5])


@each(
    ("column", "values", "scale", "grades"),
    [
        ("similarity", [1, 0.25], None, [1, 0.25]),
        ("distance", [0, 0.75], None, [1, 0.25]),
        ("similarity", [5, 2], (1, 5), [1, 0.25]),
        ("distance", [0, 30.0], (0, 40), [1, 0.25]),
    ],
)
def test_frames(column, values, scale, grades):
    frame = pd.DataFrame({"left": ["a", "b"], "right": ["b", "c"], column: values})
    pairs = Pairs.from_frame(frame, ids=["a", "b", "c"], scale=scale)
    assert pairs.graded.tolist() == [[0, 1], [1, 2]]
    assert pairs.grades.tolist() == grades
    back = pairs.to_frame(ids=["a", "b", "c"], backend="pandas")
    assert list(back.columns) == ["left", "right", "similarity", "weight"]
    assert Pairs.from_frame(back, ids=["a", "b", "c"]) == pairs


def test_frames_leave_out_what_has_no_grade_and_same_comes_first():
    frame = pd.DataFrame({"left": [0, 1], "right": [1, 2], "distance": [0.5, None]})
    assert Pairs.from_frame(frame) == Pairs(graded=[(0, 1)], grades=[0.5])
    frame["same"] = [True, False]
    assert Pairs.from_frame(frame) == Pairs([(0, 1)], [(1, 2)])


@each(
    ("columns", "scale", "said"),
    [
        ({"distance": [0.5, 3]}, None, r"frame row 1 has distance=3, outside .*scale=\(1, 5\)"),
        ({"similarity": [0, 3]}, (1, 5), "frame row 0 has similarity=0, outside the scale from 1"),
        ({"similarity": ["a", "b"]}, None, "must hold numbers"),
        ({"similarity": [0, 1], "distance": [0, 1]}, None, "leave one of them"),
        ({"similarity": [0, 1]}, (5, 1), "the lower one first"),
        ({"similarity": [0, 1]}, 5, "must be two numbers"),
        ({"same": [True, False]}, (1, 5), "scale is that of a column similarity or distance"),
    ],
)
def test_wrong_frames_are_named(columns, scale, said):
    frame = pd.DataFrame({"left": [0, 1], "right": [1, 2], **columns})
    with pytest.raises((ValueError, TypeError), match=said):
        Pairs.from_frame(frame, scale=scale)


def test_mixed_ones_do_not_fit_in_one_table():
    with pytest.raises(ValueError, match=r"2 graded pairs .*add what is read back"):
        MIXED.to_frame()


def test_what_contradicts_or_says_nothing_is_noted():
    against = Pairs([(0, 1)], [(2, 3)], graded=[(0, 1), (2, 3)], grades=[0.2, 0.9])
    with pytest.warns(ContradictionWarning, match=r"must-link \(0, 1\) with the grade 0.2 \(and 1"):
        gather_evidence(6, pairs=against, graded=True)
    equal = Pairs(graded=[(0, 1), (2, 3)], grades=[0.2, 0.2])
    with pytest.warns(UserWarning, match=r"all 2 graded pairs have the grade 0\.2"):
        gather_evidence(6, pairs=equal, graded=True)
    with pytest.raises(ValueError, match=r"2 graded pairs, .*ITML, GeometryAware.*as_weak_pairs"):
        gather_evidence(6, pairs=equal)


def test_added_and_withdrawn():
    evidence = gather_evidence(6, pairs=MIXED, triplets=True, graded=True)
    assert evidence.counts(6)["graded_pairs"] == 2
    fewer = revise_evidence(evidence, 6, None, Pairs(graded=[(0, 2)], grades=[0.75]))
    assert fewer.pairs.grades.tolist() == [0.25]
