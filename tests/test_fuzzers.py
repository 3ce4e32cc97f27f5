"""Short runs of the campaigns, of which benchmarks has the long ones."""

import sys
from collections import Counter

import pytest

from benchmarks.campaign import Campaign, short, shrunk, tried


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
