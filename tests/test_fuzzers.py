"""Short runs of the campaigns, of which benchmarks has the long ones."""

import sys
from collections import Counter

import numpy as np
import pytest

from benchmarks import metamorphic
from benchmarks.campaign import Campaign, short, shrunk, tried
from benchmarks.metamorphic import CAMPAIGN, CHANGES, PROMISED, SUBJECTS, WITHIN
from tests.cases import each
from tests.common.learners import firsts


def test_a_broken_promise_is_made_small_and_printed_with_its_reproduction():
    def check(case):
        assert max(case["numbers"]) < 90, f"all are small: {case['numbers']}"
        return "fine"

    def draw(rng):
        return {"numbers": rng.integers(0, 100, 8).tolist(), "name": "some"}

    small = Campaign("small", "numbers", draw, check)
    assert small.case(3, 5) == small.case(3, 5) != small.case(3, 6)
    _, broken = tried(small, {"numbers": [3, 95, 7, 91, 20], "name": "some"})
    assert shrunk(small, broken).case["numbers"] == [90]
    fine = Campaign("fine", "numbers", draw, lambda case: case["name"])
    assert short(fine, 5) == Counter(some=5)
    with pytest.raises(AssertionError, match=r"(?s)-m benchmarks.small --case .*all are small"):
        short(small, 50)


def test_random_fits():
    from benchmarks import fuzz_learners

    outcomes = short(fuzz_learners.CAMPAIGN, 20, seed=1)
    assert outcomes["fitted"] > outcomes["refused"]


def test_threads_at_once():
    from benchmarks import fuzz_threads

    assert short(fuzz_threads.CAMPAIGN, 2, seed=1).total() == 2


@pytest.mark.night
@pytest.mark.skipif(sys.platform == "win32", reason="alarms and peaks of memory")
def test_files_of_every_kind_are_read_or_refused():
    pytest.importorskip("pyarrow")
    from benchmarks import fuzz_files

    outcomes = short(fuzz_files.CAMPAIGN, 45, seed=6)
    kinds = {outcome.partition(":")[0] for outcome in outcomes}
    assert kinds == {"model", "index", "csv", "tsv", "jsonl", "parquet", "npy", "pairs", "journal"}
    assert sum(n for outcome, n in outcomes.items() if "refused" in outcome) > 20
    assert sum(n for outcome, n in outcomes.items() if "read" in outcome) > 5


@pytest.mark.skipif(sys.platform == "win32", reason="pipes and signals")
def test_whatever_a_line_says_the_program_ends_well():
    pytest.importorskip("typer")
    from benchmarks import fuzz_command_line

    outcomes = short(fuzz_command_line.CAMPAIGN, 40, seed=5)
    assert outcomes["here: done"] > 3
    assert outcomes["here: refused"] > 15


# A short run of ``python -m benchmarks.metamorphic``, and what its relations would notice


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
