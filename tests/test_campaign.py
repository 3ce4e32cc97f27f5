"""The harness of campaigns: broken promises are found, made small, kept, and mended."""

from __future__ import annotations

import time
from collections import Counter
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool

import pytest

from benchmarks import campaign
from benchmarks.campaign import Broken, Campaign, Log, Stretch, short, shrunk, tried


def draw(rng):
    return {"numbers": rng.integers(0, 100, 8).tolist(), "name": "some"}


def check(case):
    assert max(case["numbers"]) < 90, f"all are small: {case['numbers']}"
    return "fine"


SMALL = Campaign("small", "numbers", draw, check)


def test_same_trial_same_case():
    assert SMALL.case(3, 5) == SMALL.case(3, 5) != SMALL.case(3, 6)


def test_a_broken_promise_is_made_as_small_as_it_gets():
    case = {"numbers": [3, 95, 7, 91, 20], "name": "some"}
    _, broken = tried(SMALL, case)
    assert shrunk(SMALL, broken).case["numbers"] == [90]


def test_short_runs_count_outcomes_and_print_the_reproduction():
    fine = Campaign("fine", "numbers", draw, lambda case: case["name"])
    assert short(fine, 5) == Counter(some=5)
    with pytest.raises(AssertionError, match=r"(?s)-m benchmarks.small --case .*all are small"):
        short(SMALL, 50)


def test_a_trial_without_end_is_broken():
    slow = Campaign("slow", "naps", draw, lambda case: time.sleep(9) or "slept", seconds=0.05)
    assert tried(slow, {})[1].sign == "TimeoutError"


def test_what_was_done_is_kept_and_counted_by_kind(tmp_path):
    log = Log()
    log.add(Stretch(0, 0, 50, "abc", False, 1.0, 0.1, Counter(fine=49, broken=1)), [])
    log.add(
        Stretch(0, 50, 100, "abc", False, 1.0, 0.3, Counter(fine=48, broken=2)),
        [Broken("here", "error", {"a": 1}), Broken("here", "error", {"a": 2})],
    )
    log.add(Stretch(0, 100, 120, "def", False), [])
    log.write(tmp_path / "kept.jsonl")
    back = Log.read(tmp_path / "kept.jsonl")
    assert back == log
    assert back.done(0) == 120
    assert back.done(1) == 0
    assert [(x.start, x.stop, x.longest) for x in back.stretches] == [
        (0, 100, 0.3),
        (100, 120, 0.0),
    ]
    assert [(x.sign, x.count) for x in back.open()] == [("here", 2)]


class Here:
    """Stands for a pool of processes."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def shutdown(self, **_):
        pass

    def submit(self, function, *arguments):
        future = Future()
        try:
            future.set_result(function(*arguments))
        except BrokenProcessPool as error:
            future.set_exception(error)
        return future


def test_campaigns_go_on_and_mended_cases_are_closed(tmp_path, monkeypatch):
    monkeypatch.setattr(campaign, "_named", lambda name: now)
    monkeypatch.setattr(campaign, "_pool", lambda workers: Here())
    for name in ("OMP", "OPENBLAS", "MKL", "NUMBA"):
        monkeypatch.setenv(f"{name}_NUM_THREADS", "1")
    path = tmp_path / "small.jsonl"
    now = SMALL
    log = campaign.run(SMALL, 20, 0, 1, path)
    assert log.done(0) == 20
    assert len(log.open()) == 1
    now = Campaign("small", "numbers", draw, lambda case: "fine")
    log = campaign.run(now, 130, 0, 1, path)
    assert log.done(0) == 130
    assert not log.open()
    assert sum(x.outcomes["broken"] for x in log.stretches) == log.broken[0].count > 0


def test_a_trial_that_takes_its_process_with_it_is_found(monkeypatch, tmp_path):
    def deadly(case):
        if case["numbers"] == SMALL.case(0, 3)["numbers"]:
            raise BrokenProcessPool
        return "fine"

    monkeypatch.setattr(campaign, "_batch", _counted(deadly))
    monkeypatch.setattr(campaign, "_pool", lambda workers: Here())
    for name in ("OMP", "OPENBLAS", "MKL", "NUMBA"):
        monkeypatch.setenv(f"{name}_NUM_THREADS", "1")
    log = campaign.run(SMALL, 20, 0, 1, tmp_path / "small.jsonl")
    assert [x.case for x in log.open()] == [SMALL.case(0, 3)]
    assert sum(x.outcomes.total() for x in log.stretches) == 20


def _counted(check):
    def batch(name, seed, start, stop):
        outcomes = Counter(check(SMALL.case(seed, i)) for i in range(start, stop))
        return Stretch(seed, start, stop, "", False, outcomes=outcomes), []

    return batch
