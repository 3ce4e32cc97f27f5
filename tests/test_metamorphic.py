"""A short run of ``python -m benchmarks.metamorphic``, and what its relations would notice."""

import numpy as np

from benchmarks import metamorphic
from benchmarks.campaign import short, tried
from benchmarks.metamorphic import CAMPAIGN, CHANGES, PROMISED, SUBJECTS, WITHIN
from tests.cases import each
from tests.common.learners import firsts

CASE = {"rows": "blobs", "supervision": "pairs", "seed": 0}
CASE |= {"n": 20, "d": 3, "classes": 2, "pairs": 10}


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
