"""Short runs of the campaigns that try learners and threads: benchmarks has the long ones."""

from benchmarks import fuzz_learners, fuzz_threads
from benchmarks.campaign import short


def test_random_fits():
    outcomes = short(fuzz_learners.CAMPAIGN, 20, seed=1)
    assert outcomes["fitted"] > outcomes["refused"]


def test_threads_at_once():
    assert short(fuzz_threads.CAMPAIGN, 2, seed=1).total() == 2
