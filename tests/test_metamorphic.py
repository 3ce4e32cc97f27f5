"""A short run of ``python -m benchmarks.metamorphic``, and what its relations would notice."""

import numpy as np

from benchmarks import metamorphic
from benchmarks.campaign import short, tried
from benchmarks.metamorphic import CAMPAIGN, CHANGES, PROMISED, ROWS, SUBJECTS, WITHIN
from tests.cases import each
from tests.common.learners import firsts

CASE = {
    "rows": "blobs",
    "supervision": "pairs",
    "n": 20,
    "d": 3,
    "classes": 2,
    "pairs": 10,
    "seed": 0,
}


def test_some_relations_hold():
    assert short(CAMPAIGN, 12, seed=1)["held"] > 9


@each("relation", [*CHANGES, *WITHIN])
def test_every_relation_can_be_tried(relation):
    quick = ("Euclidean", "neighbor_graph", "separability")
    subject = next(name for name in PROMISED[relation] if name in quick)
    change = CHANGES.get(relation)
    supervision = change.supervision[0] if change else "pairs"
    case = {**CASE, "relation": relation, "subject": subject, "supervision": supervision}
    outcome, broken = tried(CAMPAIGN, case)
    assert outcome == "held", broken


@each("relation", ["shift", "scaling", "rotation", "order of rows", "order of columns"])
def test_every_learner_keeps_what_is_promised_of_it(relation):
    for subject in set(firsts()) & set(PROMISED[relation]):
        outcome, broken = tried(CAMPAIGN, {**CASE, "relation": relation, "subject": subject})
        assert outcome == "held", broken


@each("relation", ["shift", "rotation", "order of rows", "images of rows"])
def test_a_subject_that_breaks_its_promise_is_noticed(relation, monkeypatch):
    if relation in CHANGES:  # a distance that sees where zero is, how rows lie and come
        monkeypatch.setitem(
            SUBJECTS, "Euclidean", lambda data: np.abs(data.new * data.X[0]).sum(axis=1)
        )
    else:
        monkeypatch.setattr(metamorphic, "learned", lambda *_: Crowded())
    _, broken = tried(CAMPAIGN, {**CASE, "relation": relation, "subject": "Euclidean"})
    assert broken is not None
    assert f"{relation} of Euclidean" in broken.sign


class Crowded:
    """An embedding that centres whichever rows it is given."""

    def transform(self, rows):
        return rows - rows.mean(axis=0)


def test_cases_are_drawn_from_all_there_is():
    rng = np.random.default_rng(0)
    cases = [metamorphic.draw(rng) for _ in range(500)]
    assert {case["relation"] for case in cases} == {*CHANGES, *WITHIN}
    assert {case["rows"] for case in cases} == set(ROWS)
    assert len({case["subject"] for case in cases}) > 30


def test_what_equal_eigenvalues_leave_open_is_known():
    """Rows far from all others are alike to a kernel: which directions they have is chance."""
    case = {**CASE, "subject": "callable"}
    data = metamorphic.data_of(case)
    assert not metamorphic.directions_are_tied(case, data)
    far = data.with_rows(lambda X: 200 * X)
    assert metamorphic.directions_are_tied(case, far)
    assert not metamorphic.directions_are_tied({**case, "subject": "Euclidean"}, far)
