"""What a job will take: how it grows, what is said of it, and what is refused."""

import re
from types import SimpleNamespace

import numpy as np
import pytest

import nearkin as nk
from nearkin import estimates
from nearkin.estimates import Estimate, available_memory, count_kernel_rows, least_memory
from tests.cases import each


def job(learner, n, d=10, p=200, *, by_labels=False):
    return estimates._Trial(learner, n, d, p, np.dtype(float), by_labels)


@each(
    "learner",
    [
        nk.KernelBeta(n_landmarks=100),
        nk.KernelA(n_landmarks=100),
        nk.RCA(),
        nk.LMNN(),
        nk.GeometryAware(),
        nk.Chain([nk.RCA(), nk.KernelBeta(n_landmarks=100)]),
        nk.Blend([nk.ITML(), nk.GMML()]),
    ],
    ids=str,
)
def test_work_and_memory_grow_with_rows_and_columns(learner):
    for n in (3000, 10**5):
        small = job(learner, n, 20)
        for larger in (job(learner, 2 * n, 20), job(learner, n, 40)):
            for what in ("fit", "transform"):
                assert larger.work(what) > small.work(what)
                assert estimates._estimate_memory(larger, 5, what) > estimates._estimate_memory(
                    small, 5, what
                )


def test_least_memory_is_that_of_the_matrix_of_all_pairs_or_of_the_rows():
    assert least_memory(nk.KernelBeta(), 1000, 3, in_memory=False) == 8 * 1000**2
    assert least_memory(nk.KernelBeta(n_landmarks=10), 1000, 3) == 8 * (3000 + 10**2)
    assert least_memory(nk.KernelBeta(landmarks=[1, 2]), 10**6, 3, in_memory=False) == 8 * 4
    # Of many rows there are 1000 landmarks, unless more are asked for.
    assert least_memory(nk.KernelBeta(), 10**6, 3, in_memory=False) == 8 * 1000**2
    every = nk.KernelBeta(n_landmarks=10**6)
    assert least_memory(every, 10**5, 3, in_memory=False) == 8 * 10**10
    assert least_memory(nk.Chain([nk.RCA(), nk.KernelBeta()]), 10, 1, 4) == 40 + 400


@each(
    ("learner", "n"),
    [
        (nk.KernelBeta(n_landmarks=300), 10**5),
        (nk.KernelBeta(), 10**9),
        (nk.KernelBeta(n_landmarks=10**6), 10**6),
        (nk.KernelBeta(landmarks=[0, 99_999]), 10**5),
        (nk.GMML(), 900),
        (nk.KernelA(), 10**4),
        (nk.MetricLearner(), 10**6),
    ],
)
def test_a_trial_is_of_the_job_s_kind_and_no_larger(learner, n):
    """The landmarks and pairs of the job, unless they are too many to be tried."""
    whole = job(learner, n)
    for few in (whole.shrink(1000, n // 4), whole.shrink(4000, n // 2)):
        assert few.n <= min(n // 2, 6000)
        assert few.n > estimates._ROWS_OF_A_KIND.get(type(learner).__name__, 0)
        assert few.p == min(200, n // 4, few.n // 2)
        count = count_kernel_rows(learner, n)
        found = count_kernel_rows(few.learner, few.n)
        assert found == (few.n if count == n else min(count, 2000, few.n))
        assert few.work("fit") < whole.work("fit")


def test_rows_that_are_made_up_have_clusters_and_pairs():
    X, known = job(nk.GMML(), 500, 12, 40).make_rows()
    assert X.shape == (500, 12)
    assert len(known["pairs"].points) == 80
    assert len(known["pairs"].must_link) == len(known["pairs"].cannot_link) == 20
    crowded = job(nk.GMML(), 100, 12, 300).make_rows()[1]["pairs"]
    assert len(crowded.must_link) + len(crowded.cannot_link) == 300
    assert len(np.unique(job(nk.LMNN(), 500, by_labels=True).make_rows()[1]["y"])) == 10


def test_time_is_a_constant_and_a_part_that_grows():
    assert estimates._extrapolate((10, 3.0), (100, 12.0), 1000) == pytest.approx(102.0)
    # Never more than in proportion, nor less than before: small times are not exact.
    assert estimates._extrapolate((10, 0.1), (100, 12.0), 1000) == pytest.approx(120.0)
    assert estimates._extrapolate((10, 3.0), (100, 2.0), 1000) == pytest.approx(2.0)
    assert estimates._extrapolate((10, 3.0), (10, 2.0), 10) == 2.0


def test_an_estimate_is_of_the_jobs_asked_for(monkeypatch):
    """A second for each row of a fit, a tenth of it for each row of a transform."""
    learner = SimpleNamespace(transform=lambda X: X if len(X) == 2 else len(X) / 10)
    monkeypatch.setattr(estimates, "_time_call", lambda call: call())
    monkeypatch.setattr(
        estimates, "_time_fit", lambda trial: (float(trial.n), learner, np.ones((trial.n, 10)))
    )
    trial = job(nk.GMML(), 10**6)
    for jobs, seconds in ((["fit"], 10**6), (["transform"], 10**5), (["fit", "transform"], 1.1e6)):
        found, columns = estimates._extrapolate_jobs(trial, jobs)
        assert list(found) == jobs
        assert sum(found.values()) == pytest.approx(seconds)
        assert columns == 10


def test_what_metric_learner_chooses_may_take_nothing():
    for kind, least in (("fit", 10), ("transform", 0.0)):
        low, high = estimates._bound_seconds(job(nk.MetricLearner(), 10**5), kind, 20.0)
        assert 0 <= low <= least < 20 < high


def test_passes_are_counted():
    found = {one: nk.estimate(nk.GMML(), n=20_000, d=4, job=one) for one in ("fit", "both")}
    assert {one: cost.passes for one, cost in found.items()} == {"fit": 2, "both": 3}
    assert all(cost.fits for cost in found.values())
    assert nk.estimate(nk.GMML(), n=2000, d=4, job="transform", dtype="float32").passes == 1
    assert nk.estimate(nk.LMNN(), n=300, d=3).passes is None


def test_it_is_said_in_a_line():
    times, sizes = (40, 400, 1e6), (3e6, 123e9, 8e12)
    assert [*map(estimates.format_time, times)] == ["40 s", "6.7 min", "11.6 days"]
    assert [*map(estimates.format_bytes, sizes)] == ["3 MB", "0.12 TB", "8 TB"]
    cost = Estimate(40.0, 20.0, 81.0, int(2.6e8), 2, 10**10)
    assert str(cost) == "about 40 s (20 s to 81 s), 0.26 GB, 2 passes over the data"
    assert str(Estimate(0.5, 0.2, 0.9, 10**9, None, 1)) == "about 0.5 s (0.2 s to 0.9 s), 1 GB"


def test_what_does_not_fit_says_what_to_do(monkeypatch):
    monkeypatch.setattr(estimates, "available_memory", lambda: 10**8)
    cost = nk.estimate(nk.LMNN(), n=300, d=3)
    assert not cost.fits
    assert re.search("but 0.1 GB are free: LMNN needs all rows in memory: give it", str(cost))
    assert "KernelBeta(n_landmarks=1000)" in estimates._suggest_remedy(nk.KernelBeta(), 4000, 3)
    assert "nearkin.open_rows" in estimates._suggest_remedy(nk.GMML(), 10**8, 3)


@each(
    ("settings", "said"),
    [
        ({"n": 0}, "n must be 2 or more"),
        ({"d": 0}, "d must be 1 or more"),
        ({"d": 10**9}, "d must be 16777216 at most"),
        ({"n": 1.5}, "n must be an integer"),
        ({"n_pairs": True}, "n_pairs must be an integer"),
        ({"job": "sleep"}, "job must be"),
        ({"dtype": "int8"}, "dtype must be float32 or float64"),
        ({"learner": nk.KernelBeta}, "a class: call it"),
        ({"learner": 3}, "must be one of nearkin's"),
        ({"learner": nk.KernelBeta(kernel="precomputed")}, "precomputed"),
        ({"learner": nk.ITML(slack=-1), "n": 100}, "slack"),
    ],
)
def test_bad_input_is_refused(settings, said):
    given = {"learner": nk.GMML(), "n": 1000, "d": 5, **settings}
    with pytest.raises((ValueError, TypeError), match=said) as caught:
        nk.estimate(given.pop("learner"), **given)
    assert isinstance(caught.value, nk.NearkinError)


def test_memory_that_is_free_is_known():
    assert 10**6 < available_memory() < 10**15
