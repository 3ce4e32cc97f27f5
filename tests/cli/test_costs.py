"""A command says what it will cost, and refuses what cannot fit."""

import numpy as np
import pytest

from nearkin.cli import costs
from nearkin.costs import estimates, machine
from nearkin.costs.formulas import Size
from nearkin.costs.kept import Run, Runs


@pytest.fixture
def rows(tmp_path):
    np.save(tmp_path / "rows.npy", np.random.default_rng(0).normal(size=(200, 4)))
    (tmp_path / "pairs.csv").write_text("left,right,same\n0,1,yes\n2,3,no\n4,5,no\n")
    return tmp_path


def fit(run, rows, *more, **result):
    files = [rows / "rows.npy", "--pairs", rows / "pairs.csv", "-o", rows / "m.nearkin", "--force"]
    return run("fit", *map(str, files), *more, **result)


def test_what_cannot_fit_is_refused_with_the_remedy(run, rows, monkeypatch):
    monkeypatch.setattr(machine, "available_memory", lambda: 100_000)
    err = fit(run, rows, "--learner", "kernel-beta", status=2).err
    assert "KernelBeta needs 0.33 MB at least for 200 rows of 4 columns, but 0.1 MB are free" in err
    assert "--set n_landmarks=1000" in err
    fit(run, rows, "--learner", "kernel-beta", "--set", "n_landmarks=20")
    monkeypatch.setattr(machine, "available_memory", lambda: 10)
    err = fit(run, rows, "--learner", "lmnn", status=2).err
    assert "--learner kernel-beta, which reads them block by block" in err


def test_who_looks_on_is_told_how_long_it_takes(run, rows, monkeypatch):
    monkeypatch.setattr("nearkin.cli.learning._MOST_READ", 10)
    sizes = [Size(n, 4) for n in (500, 1500)]
    runs = Runs([Run(size, 0.1 * size.n, 0.01, 0, 10**8) for size in sizes], 2)
    monkeypatch.setattr(estimates, "ordered", lambda order: runs)
    monkeypatch.setenv("NEARKIN_CACHE_DIR", str(rows / "cache"))
    assert "about" not in fit(run, rows, "--learner", "gmml").err
    monkeypatch.setattr(costs, "is_watched", lambda: True)
    monkeypatch.setattr(costs, "_MANY_NUMBERS", 10)
    assert "about 20 s, 0.1 GB, 2 passes over the rows" in fit(run, rows, "--learner", "gmml").err

    def fail(*given, **more):
        raise RuntimeError

    monkeypatch.setattr(estimates, "estimate", fail)
    assert "about" not in fit(run, rows, "--learner", "gmml").err


def test_pairs_are_counted_to_one_digit():
    assert [costs._rounded(n) for n in (0, 7, 42, 1499, 96)] == [1, 7, 40, 1000, 100]
