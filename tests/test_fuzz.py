"""Short runs of the campaigns on files and on the command line."""

import sys

import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("typer")


@pytest.mark.night
@pytest.mark.skipif(sys.platform == "win32", reason="alarms and peaks of memory")
def test_files_of_every_kind_are_read_or_refused():
    from benchmarks import fuzz_files
    from benchmarks.campaign import short

    outcomes = short(fuzz_files.CAMPAIGN, 45, seed=6)
    kinds = {outcome.partition(":")[0] for outcome in outcomes}
    assert kinds == {"model", "index", "csv", "tsv", "jsonl", "parquet", "npy", "pairs", "journal"}
    assert sum(n for outcome, n in outcomes.items() if "refused" in outcome) > 20
    assert sum(n for outcome, n in outcomes.items() if "read" in outcome) > 5


@pytest.mark.skipif(sys.platform == "win32", reason="pipes and signals")
def test_whatever_a_line_says_the_program_ends_well():
    from benchmarks import fuzz_command_line
    from benchmarks.campaign import short

    outcomes = short(fuzz_command_line.CAMPAIGN, 40, seed=5)
    assert outcomes["here: done"] > 3
    assert outcomes["here: refused"] > 15
