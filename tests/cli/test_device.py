"""Rows that a command works on on a device of torch, and what is said if it is not there."""

import importlib.util

import numpy as np
import pytest

from tests.cases import each

HAS_TORCH = importlib.util.find_spec("torch") is not None


@pytest.fixture
def files(tmp_path):
    np.save(tmp_path / "rows.npy", np.random.default_rng(0).normal(size=(60, 3)))
    (tmp_path / "pairs.csv").write_text("left,right,same\n0,1,yes\n2,3,no\n4,5,no\n6,7,yes\n")
    return tmp_path


def fit(run, files, *more, status=0):
    known = ["--pairs", files / "pairs.csv", "-o", files / "m.nearkin", "--force"]
    return run("fit", files / "rows.npy", *known, *more, status=status)


@pytest.mark.skipif(HAS_TORCH, reason="torch is there")
def test_without_torch_it_is_said_how_to_get_it(run, files):
    done = fit(run, files, "--learner", "kernel-beta", "--device", "cuda", status=2)
    assert "need torch" in done.err
    assert not (files / "m.nearkin").exists()


@each("more", [["--standardise"], ["--test", "0.2"]])
def test_what_works_on_the_host_only_is_refused(run, files, more):
    done = fit(run, files, "--learner", "kernel-beta", "--device", "cpu", *more, status=2)
    assert "--device" in done.err


@pytest.mark.skipif(not HAS_TORCH, reason="needs torch")
def test_a_device_that_is_not_there_is_named(run, files):
    done = fit(run, files, "--learner", "kernel-beta", "--device", "abacus", status=2)
    assert "abacus" in done.err
    done = fit(run, files, "--learner", "lmnn", "--device", "cpu", status=2)
    assert "LMNN needs all rows" in done.err


@pytest.mark.skipif(not HAS_TORCH, reason="needs torch")
def test_a_device_gives_what_the_host_does(run, files):
    learner = ["--learner", "kernel-beta", "--set", "n_landmarks=20"]
    found = []
    for name, device in (("host", []), ("there", ["--device", "cpu"])):
        one, two = files / f"{name}1.npy", files / f"{name}2.npy"
        fit(run, files, *learner, "--embedding", one, *device)
        run("transform", files / "m.nearkin", files / "rows.npy", "-o", two, *device)
        found += [np.load(one), np.load(two)]
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0], rtol=1e-6, atol=1e-8)
