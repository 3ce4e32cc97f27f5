"""What a command imports before it works, and what it does meanwhile."""

import subprocess
import sys

import numpy as np
import pytest

from nearkin import open_rows
from nearkin.cli.fit import read_ahead
from nearkin.cli.models import MarkedRows, mark_rows
from nearkin.rows.streams import RowStream


def printed(code):
    command = [sys.executable, "-W", "error", "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


def test_a_command_imports_no_more_than_it_needs(tmp_path):
    rows = np.random.default_rng(0).normal(size=(60, 3))
    np.save(tmp_path / "rows.npy", rows)
    (tmp_path / "pairs.csv").write_text("left,right,same\n0,1,yes\n2,3,no\n4,5,no\n")
    code = (
        "import sys; from nearkin.cli import main; "
        f"sys.argv[1:] = ['fit', '{tmp_path}/rows.npy', '--pairs', '{tmp_path}/pairs.csv', "
        f"'--learner', 'gmml', '-o', '{tmp_path}/m.nearkin']; status = main(); "
        "print(status, *{name.partition('.')[0] for name in sys.modules})"
    )
    status, *loaded = printed(code)
    assert status == "0"
    assert not {"numba", "torch", "matplotlib", "dask"} & set(loaded)


def test_marks_are_made_while_rows_are_read():
    X = np.random.default_rng(0).normal(size=(100, 3))
    passes = []

    def blocks():
        passes.append(len(passes))
        yield from np.array_split(X, 5)

    marked = MarkedRows(open_rows(blocks))
    n_opened = len(passes)
    marked.rows.take(np.arange(4))
    next(iter(marked.rows))
    n_before = len(passes)
    np.testing.assert_array_equal(marked.rows.to_numpy(), X)
    np.testing.assert_array_equal(marked.marks(), np.unique(mark_rows(X)))
    assert len(passes) == n_before + 1 > n_opened
    unread = MarkedRows(open_rows(lambda: np.array_split(X, 5)))
    np.testing.assert_array_equal(unread.marks(), marked.marks())


def test_rows_are_read_ahead(monkeypatch):
    monkeypatch.setattr("nearkin.cli.fit._FEWEST", 10)
    X = np.random.default_rng(0).normal(size=(5000, 3))
    rows = open_rows([X])
    with read_ahead(rows):
        pass
    numbers, kept = rows._remembered
    assert len(numbers) == 2000
    np.testing.assert_array_equal(kept, X[numbers])


def test_what_is_wrong_with_rows_is_said_to_who_needs_them(monkeypatch):
    monkeypatch.setattr("nearkin.cli.fit._FEWEST", 10)

    def read(wanted):
        raise ValueError("no such rows")

    broken = RowStream(read, n_rows=5000, n_columns=3, dtype=float)
    with read_ahead(broken):
        pass
    with pytest.raises(ValueError, match="no such rows"):
        broken.take(np.arange(5))
