"""A command refuses what cannot fit into memory or on the disk, with the remedy."""

from types import SimpleNamespace

import numpy as np
import pytest

from nearkin import estimates, open_rows
from nearkin.cli.common import UserError
from nearkin.cli.transform import refuse_without_room


@pytest.fixture
def rows(tmp_path):
    np.save(tmp_path / "rows.npy", np.random.default_rng(0).normal(size=(200, 4)))
    (tmp_path / "pairs.csv").write_text("left,right,same\n0,1,yes\n2,3,no\n4,5,no\n")
    return tmp_path


def fit(run, rows, *more, **result):
    files = [rows / "rows.npy", "--pairs", rows / "pairs.csv", "-o", rows / "m.nearkin", "--force"]
    return run("fit", *map(str, files), *more, **result)


def test_what_cannot_fit_is_refused_with_the_remedy(run, rows, monkeypatch):
    monkeypatch.setattr(estimates, "available_memory", lambda: 100_000)
    err = fit(run, rows, "--learner", "kernel-beta", status=2).err
    assert "KernelBeta needs 0.33 MB at least for 200 rows of 4 columns, but 0.1 MB are free" in err
    assert "--set n_landmarks=1000" in err
    fit(run, rows, "--learner", "kernel-beta", "--set", "n_landmarks=20")
    monkeypatch.setattr(estimates, "available_memory", lambda: 10)
    err = fit(run, rows, "--learner", "lmnn", status=2).err
    assert "--learner kernel-beta, which reads them block by block" in err


def transform(run, rows, output, *more, **result):
    files = [rows / "m.nearkin", rows / "rows.npy", "-o", rows / output, "--force"]
    return run("transform", *map(str, files), *more, **result)


def test_an_embedding_that_cannot_fit_is_refused_with_the_remedy(run, rows, monkeypatch):
    fit(run, rows, "--learner", "kernel-beta")
    monkeypatch.setattr(estimates, "available_memory", lambda: 10_000)
    err = transform(run, rows, "Z.parquet", status=2).err
    assert "200 of them, which are worked on at a time, need" in err
    assert "but 0.01 MB are free: nearkin fit --components 10" in err
    assert not (rows / "Z.parquet").exists()
    monkeypatch.undo()
    monkeypatch.setattr("shutil.disk_usage", lambda folder: SimpleNamespace(free=1000))
    err = transform(run, rows, "Z.npy", status=2).err
    assert "Z.npy: 200 rows have" in err
    assert "name a file on another disk" in err
    transform(run, rows, "Z.npy", "--components", "2")
    transform(run, rows, "Z.parquet")


def test_blocks_of_a_file_are_counted_as_they_are_read(monkeypatch):
    monkeypatch.setattr(estimates, "available_memory", lambda: 10_000)
    blocks = open_rows([np.ones((20, 4)) for _ in range(10)])
    refuse_without_room(blocks, blocks, None, by_axes=False)
    with pytest.raises(UserError, match="20 of them"):
        refuse_without_room(
            blocks, blocks.mapped(lambda X: np.ones((len(X), 80)), ["z"] * 80), None, by_axes=False
        )
