"""What a job will cost: formulas, prices, what is kept, and what is said."""

import json
import re
import sys
from dataclasses import replace

import numpy as np
import pytest

import nearkin as nk
from nearkin.costs import clusters, estimates, kept, trial_runs
from nearkin.costs.fitting import fitted_prices
from nearkin.costs.formulas import Size, fewest_rows, job_terms, landmarks_of, least_memory
from nearkin.costs.kept import Run, Runs
from nearkin.costs.memory import bytes_of
from tests.cases import each

LEARNERS = [
    nk.KernelBeta(),
    nk.KernelBeta(n_landmarks=100),
    nk.KernelA(),
    nk.LLMA(),
    nk.ITML(),
    nk.GMML(kernel="rbf", n_landmarks=50),
    nk.RCA(),
    nk.LMNN(),
    nk.Generative(),
    nk.GeometryAware(),
    nk.MetricLearner(),
    nk.Euclidean(),
    nk.Chain([nk.RCA(), nk.KernelBeta(n_landmarks=100)]),
    nk.Blend([nk.ITML(), nk.GMML()]),
]


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("NEARKIN_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def costing(price, *, memory=1e8, passes=2):
    """Trial runs in which each row and each column costs so much."""
    runs = []
    for n in (500, 1500, 4500):
        seconds, held = price * n * 100, 80 * n + int(memory)
        runs.append(Run(Size(n, 10), 0.01 + seconds, seconds, held, held))
    return Runs(runs, passes)


@each("learner", LEARNERS, ids=str)
@each("job", ["fit", "transform", "fit_memory"])
def test_no_term_shrinks_with_rows_or_columns(learner, job):
    m = landmarks_of(learner)
    for n in (3000, 10**5):
        small = job_terms(learner, Size(n, 20, m), job)
        assert small["start"] == 1
        for larger in (Size(2 * n, 20, m), Size(n, 40, m)):
            grown = job_terms(learner, larger, job)
            assert grown.keys() == small.keys()
            assert all(grown[name] >= small[name] for name in small)
            assert any(grown[name] > small[name] for name in small)


def test_least_memory_is_that_of_the_matrix_of_all_pairs_or_of_the_rows():
    assert least_memory(nk.KernelBeta(), Size(1000, 3), in_memory=False) == 8 * 1000**2
    size = Size(1000, 3, 10)
    assert least_memory(nk.KernelBeta(n_landmarks=10), size) == 8 * (3000 + 10**2)
    assert least_memory(nk.KernelBeta(landmarks=[1, 2]), Size(10**6, 3), in_memory=False) == 8 * 4
    # Of many rows there are 1000 landmarks, unless more are asked for.
    assert least_memory(nk.KernelBeta(), Size(10**6, 3), in_memory=False) == 8 * 1000**2
    every = nk.KernelBeta(n_landmarks=10**6)
    assert least_memory(every, Size(10**5, 3), in_memory=False) == 8 * 10**10
    assert least_memory(nk.Chain([nk.RCA(), nk.KernelBeta()]), Size(10, 1)) == 80 + 800


def test_prices_are_those_that_jobs_were_made_with():
    terms = [{"start": 1, "rows": n, "squares": n * n} for n in (10, 100, 1000, 5000)]
    costs = [2 + 0.1 * one["rows"] for one in terms]
    prices = fitted_prices(terms, costs)
    assert prices.of["start"] == pytest.approx(2)
    assert prices.of["rows"] == pytest.approx(0.1)
    assert prices.of["squares"] == pytest.approx(0, abs=1e-9)
    assert prices.error < 1e-6
    assert prices.total({"rows": 10**6, "unheard of": 5}) == pytest.approx(1e5)
    spreads = [prices.spread(cost) for cost in (1, 1000, 10**6, 10**12)]
    assert spreads == sorted(spreads)
    assert spreads[0] > 0
    assert spreads[-1] < 1


def test_memory_grows_by_rows_and_images_and_what_else_always_grows():
    held = (100_000, 5_000_000, 5_100_000 + 900_000)  # the first rows bring buffers
    runs = [
        Run(Size(n, 10), 1.0, 1.0, memory, memory, columns=5)
        for n, memory in zip((100, 1000, 10_000), held, strict=True)
    ]
    least = 80  # bytes of a row, and the last run says more
    found = bytes_of(nk.GMML(), Size(20_000, 10), Runs(runs, 2), "fit")
    assert found == pytest.approx(6_000_000 + 10_000 * (1_000_000 / 9000), rel=1e-3)
    assert found > 6_000_000 + 10_000 * least
    found = bytes_of(nk.GMML(), Size(20_000, 10), Runs(runs, 2), "transform")
    assert found == 6_000_000 + 10_000 * 120


def test_a_transform_waits_for_memory_where_much_is_new():
    runs = Runs([replace(run, columns=1) for run in costing(1e-7).runs], 2)
    slow = replace(runs, new_memory=2e-9)
    found = {
        n: [
            estimates.foretold(nk.GMML(), Size(n, 10), "transform", one).seconds
            for one in (runs, slow)
        ]
        for n in (10**6, 10**8)
    }
    assert found[10**6][0] == found[10**6][1]
    assert found[10**8][1] == pytest.approx(found[10**8][0] + 2e-9 * (8 * 10**8 - 2**28))


def test_an_estimate_adds_up_its_parts_and_grows():
    runs = costing(1e-7)
    found = [
        estimates.foretold(nk.GMML(), Size(n, 10), "both", runs) for n in (10**4, 10**5, 10**6)
    ]
    for one, n in zip(found, (10**4, 10**5, 10**6), strict=True):
        assert one.seconds == pytest.approx(0.01 + 2e-5 * n, rel=0.01)
        assert one.seconds == pytest.approx(sum(one.parts.values()))
        assert one.seconds_low < one.seconds < one.seconds_high
        assert one.memory == pytest.approx(1e8 + 80 * n, rel=0.01)
        assert one.passes == 3
        assert one.fits
    only = estimates.foretold(nk.GMML(), Size(10**5, 10), "transform", runs)
    assert only.passes == 1
    assert only.seconds < found[1].seconds


def test_it_is_said_in_a_line_and_in_a_table():
    found = estimates.foretold(nk.GMML(), Size(2 * 10**6, 10), "fit", costing(2e-7))
    assert re.fullmatch(
        r"about 40 s \(\d+ s to \d+ s\), 0\.26 GB, 2 passes over the data", str(found)
    )
    assert "fit: rows" in found.table()
    assert "100 %" in found.table()


def test_what_does_not_fit_says_what_to_do(monkeypatch):
    monkeypatch.setattr(estimates, "available_memory", lambda: 10**9)
    exact = costing(1e-7, memory=5e9)
    every = nk.KernelBeta(n_landmarks=10**6)
    shown = str(estimates.foretold(every, Size(10**6, 10, 10**6), "fit", exact))
    assert "1 GB are free: use KernelBeta(n_landmarks=1000)" in shown
    shown = str(estimates.foretold(nk.GMML(), Size(10**8, 10), "fit", costing(1e-7)))
    assert "nearkin.open_rows" in shown
    runs = costing(1e-7, memory=5e9, passes=None)
    found = estimates.foretold(nk.LMNN(), Size(10**6, 10), "fit", runs)
    assert not found.fits
    assert "LMNN needs all rows in memory" in found.remedy
    assert "passes" not in str(found)


def test_workers_share_what_grows_with_rows():
    runs = costing(1e-7)
    size = Size(10**9, 10)
    found = {
        workers: estimates.foretold(nk.GMML(), size, "fit", runs, workers=workers)
        for workers in (1, 16, 1000)
    }
    seconds = [one.seconds for one in found.values()]
    assert seconds == sorted(seconds, reverse=True)
    shared = "workers, fit: rows"
    assert found[16].parts[shared] == pytest.approx(found[1].parts[shared] / 16)
    assert found[16].parts["client, graphs"] == found[1000].parts["client, graphs"] > 0
    # The scheduler hears of more workers: so much as was measured.
    assert 2 < found[1000].parts["scheduler"] / found[1].parts["scheduler"] < 3
    assert found[16].memory < 10**9
    assert found[16].seconds_low < found[16].seconds < found[16].seconds_high


def test_tasks_are_those_of_the_tree_of_sums():
    pytest.importorskip("dask")
    from nearkin.rows.dask_rows import _FAN_IN, _tree

    assert clusters._FAN_IN == _FAN_IN
    for chunks in (1, 8, 9, 100):
        parts = [nk_delayed(i) for i in range(chunks)]
        tree = _tree(max, parts)
        assert len(dict(tree.__dask_graph__())) == clusters.n_tasks(chunks, 1)
    assert clusters.n_tasks(100, 3) == 3 * clusters.n_tasks(100, 1)


def nk_delayed(i):
    import dask

    return dask.delayed(int, pure=False)(i)


def sizes_of(order):
    """Sizes of all runs, if there is time for each."""
    found = [trial_runs.first_size(order)]
    while following := trial_runs.next_sizes(order, found[-1]):
        found.append(following[0])
    return found


def test_trial_runs_stay_below_half_of_the_job_and_of_its_kind():
    for learner, n, d, m in (
        (nk.KernelBeta(n_landmarks=300), 10**5, 300, 300),
        (nk.KernelBeta(), 4000, 10, None),
        (nk.GMML(), 900, 3, None),
        (nk.KernelA(), 10**4, 3, None),
    ):
        order = trial_runs.Order(learner, Size(n, d, m), by_labels=False, seconds=1.0)
        found = sizes_of(order)
        assert all(fewest_rows(learner, n) <= size.n <= n // 2 or n <= 4000 for size in found)
        assert found[-1] == Size(n // 2, d, m)
        assert [size.n for size in found] == sorted(size.n for size in found)
        # Only rows grow at last: what they cost is not mistaken for what pairs do.
        assert len([size for size in found if (size.d, size.m, size.p) == (d, m, 200)]) >= 2


def test_pairs_grow_with_rows_where_most_rows_are_in_some():
    order = trial_runs.Order(nk.ITML(), Size(1000, 3, p=3000), by_labels=False, seconds=1.0)
    assert sizes_of(order)[-1] == Size(500, 3, p=1500)
    order = trial_runs.Order(nk.ITML(), Size(10**5, 3, p=3000), by_labels=False, seconds=1.0)
    assert [(size.n, size.p) for size in sizes_of(order)][:3] == [
        (500, 500),
        (1500, 1500),
        (4500, 3000),
    ]


def test_the_learner_itself_is_run_and_its_passes_are_counted():
    order = trial_runs.Order(nk.GMML(), Size(20_000, 4, p=20), by_labels=False, seconds=300.0)
    runs = trial_runs.made(order)
    assert runs.passes == 3
    assert len(runs.runs) >= 2
    assert all(run.fit > 0 and run.transform > 0 for run in runs.runs)
    assert all(run.fit_memory > 0 and run.transform_memory > 0 for run in runs.runs)
    assert runs.runs[-1].columns == 4
    labels = trial_runs.Order(nk.LMNN(), Size(300, 3), by_labels=True, seconds=0.1)
    assert trial_runs.made(labels).passes is None


@pytest.mark.night
def test_trial_runs_are_made_once(cache, monkeypatch):
    learner = nk.GMML()
    first = nk.estimate(learner, n=5000, d=4, n_pairs=20, calibration=0.2)
    assert len(list(cache.iterdir())) == 1
    monkeypatch.setattr(estimates, "ordered", lambda order: pytest.fail("made again"))
    again = nk.estimate(learner, n=5000, d=4, n_pairs=20, calibration=0.2)
    assert again.parts == first.parts
    monkeypatch.setattr(estimates, "ordered", lambda order: costing(1e-6))
    # Too few rows tell nothing of so many, and other settings have other costs.
    assert nk.estimate(learner, n=10**7, d=4, n_pairs=20).seconds > 100
    assert nk.estimate(nk.GMML(balance=0.4), n=5000, d=4, n_pairs=20).parts != first.parts


def test_runs_of_another_version_or_of_no_form_are_passed_by(cache, monkeypatch):
    key = kept.key_of("a learner", 3)
    kept.keep(key, costing(1e-7))
    assert kept.recalled(key) == costing(1e-7)
    file = next(cache.iterdir())
    whole = json.loads(file.read_text())
    for broken in (
        json.dumps({**whole, "signature": {**whole["signature"], "nearkin": "0.0.1"}}),
        json.dumps({**whole, "runs": [{"size": 3}]}),
        json.dumps({**whole, "runs": []}),
        json.dumps([1, 2]),
        file.read_text()[:50],
        "",
    ):
        file.write_text(broken)
        assert kept.recalled(key) is None
    monkeypatch.setattr(kept, "signature", lambda: {"cpu": "another"})
    assert kept.key_of("a learner", 3) != key
    monkeypatch.setenv("NEARKIN_CACHE_DIR", "/proc/no such folder")
    kept.keep(key, costing(1e-7))


@each(
    ("settings", "said"),
    [
        ({"n": 0}, "n must be at least 2"),
        ({"d": 0}, "d must be at least 1"),
        ({"n": 1.5}, "n must be a whole number"),
        ({"workers": 0}, "workers must be at least 1"),
        ({"where": "mars"}, 'where must be "host" or "cuda"'),
        ({"job": "sleep"}, "job must be"),
        ({"dtype": "int8"}, "dtype must be float32 or float64"),
        ({"calibration": 0}, "calibration must be"),
        ({"learner": nk.KernelBeta}, "a class: call it"),
        ({"learner": 3}, "must be one of nearkin's"),
        ({"learner": nk.KernelBeta(kernel="precomputed")}, "precomputed"),
        ({"learner": nk.LMNN(), "workers": 4}, "does not learn from rows on a cluster"),
        ({"learner": nk.ITML(slack=-1), "n": 100}, "cannot be run on 5 columns.*slack"),
    ],
)
def test_bad_input_is_refused(settings, said):
    given = {"learner": nk.GMML(), "n": 1000, "d": 5, **settings}
    with pytest.raises((ValueError, TypeError), match=said) as caught:
        nk.estimate(given.pop("learner"), **given)
    assert isinstance(caught.value, nk.NearkinError)


def test_a_device_that_is_not_there_is_refused(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match="needs torch"):
        nk.estimate(nk.GMML(), n=1000, d=5, where="cuda")


def test_made_up_rows_have_clusters():
    X, y = trial_runs.synthetic_rows(Size(500, 12, itemsize=4))
    assert X.dtype == np.float32
    assert X.shape == (500, 12)
    assert len(np.unique(y)) == 10
