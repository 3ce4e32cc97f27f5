"""Files as a user has them, and a way to run the program on them."""

import csv
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from nearkin import Pairs
from nearkin.cli import main
from nearkin.datasets import make_xor
from tests.cli.copies import serving


@dataclass(frozen=True)
class Result:
    status: int
    out: str
    err: str

    @property
    def records(self):
        return list(csv.DictReader(self.out.splitlines()))


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    """Run nearkin in a folder of its own; status 0 is expected unless another is named."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments, status=0):
        capsys.readouterr()
        found = main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        assert found == status, err
        assert "Traceback" not in err
        assert "feature names" not in err  # of scikit-learn: they are checked before
        if status == 2:
            assert 1 <= len(err.strip().splitlines()) <= 2, err
            assert out == ""
        return Result(found, out, err)

    return run


@pytest.fixture(scope="session")
def program():
    """``nearkin`` as a program that starts at once, for shells and processes: see copies.py."""
    if sys.platform == "win32":
        pytest.skip("copies of a process are forks")
    with serving("-W", "error") as address:
        program = address.with_name("nearkin")
        copies = Path(__file__).with_name("copies.py")
        program.write_text(
            f'#!/bin/sh\nexec "{sys.executable}" -I -S "{copies}" ask "{address}" "$@"\n'
        )
        program.chmod(0o755)
        yield program


def write_csv(path, header, rows, delimiter=","):
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file, delimiter=delimiter).writerows([header, *rows])


@dataclass(frozen=True)
class Sample:
    X: np.ndarray
    y: np.ndarray
    pairs: Pairs
    ids: list


@pytest.fixture(scope="session")
def sample():
    X, y = make_xor(120, random_state=0)
    ids = [f"n{i}" for i in range(len(X))]
    return Sample(X, y, Pairs.from_labels(y, 40, random_state=0), ids)


@pytest.fixture
def files(sample, tmp_path):
    """rows.csv with ids and classes, pairs.csv by id, numbered.csv by row number."""
    rows = [
        [name, *row, f"k{k}"]
        for name, row, k in zip(sample.ids, sample.X.tolist(), sample.y, strict=True)
    ]
    write_csv(tmp_path / "rows.csv", ["name", "a", "b", "kind"], rows)
    links = [(i, j, "yes") for i, j in sample.pairs.must_link.tolist()]
    links += [(i, j, "no") for i, j in sample.pairs.cannot_link.tolist()]
    header = ["left", "right", "same"]
    write_csv(tmp_path / "pairs.csv", header, [(f"n{i}", f"n{j}", s) for i, j, s in links])
    write_csv(tmp_path / "numbered.csv", header, links)
    return tmp_path


@pytest.fixture
def model(files, sample):
    """model.nearkin, learned from columns a and b."""
    from nearkin import KernelBeta

    metric = KernelBeta(n_landmarks=30, random_state=0).fit(sample.X, pairs=sample.pairs)
    metric.feature_names_in_ = np.array(["a", "b"], dtype=object)
    metric.save(files / "model.nearkin")
    del metric.feature_names_in_
    return metric
