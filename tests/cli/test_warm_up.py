"""``nearkin warm-up``: small jobs that call loops as large ones do."""

import os
import subprocess
import sys

import numpy as np
import pytest

from nearkin import warm_up
from nearkin.messages import collect_notices, mute_third_party
from nearkin.registry import LEARNERS
from tests.cases import each

needs_loops = pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled"
)


def name_of(job):
    """What a job does, in a word."""
    function, arguments = getattr(job, "func", job), getattr(job, "args", ())
    return arguments[0] if len(arguments) == 2 else function.__name__


def in_double_precision():
    """All jobs, those that come in both precisions once."""
    return [job for job in warm_up.jobs() if np.float32 not in getattr(job, "args", ())]


@needs_loops
def test_it_says_how_long_it_took_and_where_loops_are(run, monkeypatch):
    done = []
    monkeypatch.setattr(warm_up, "jobs", lambda: [lambda: done.append(1), lambda: done.append(2)])
    said = run("warm-up")
    assert done == [1, 2]
    assert said.out == ""
    assert " s, kept below " in said.err
    folder = said.err.strip().partition("kept below ")[2]
    assert os.path.isdir(folder)
    assert run("warm-up", "--quiet").err == ""


def test_where_nothing_can_be_kept_it_is_said_before_any_work(run, monkeypatch):
    monkeypatch.setattr("nearkin.rows.numba_loops.find_cache_folder", lambda: None)
    monkeypatch.setattr(warm_up, "jobs", lambda: [lambda: 1 / 0])
    assert "NUMBA_CACHE_DIR" in run("warm-up", status=2).err


def test_every_learner_has_a_job_in_both_precisions():
    names = [name_of(job) for job in warm_up.jobs()]
    assert all(names.count(one.name) == 2 for one in LEARNERS if one.command)


@pytest.mark.night
@each("job", in_double_precision(), ids=name_of)
def test_every_job_can_be_done(job):
    with collect_notices(), mute_third_party():
        job()


JOB = """
import sys, numpy as np, nearkin as nk
from nearkin.rows.numba_loops import count_compiled
rng = np.random.RandomState(1)
group = rng.randint(9, size=30_000)
X = 9 * rng.normal(size=(9, 7))[group] + rng.normal(size=(30_000, 7))
pairs = nk.Pairs.from_labels(group, 50, random_state=0)
for Y in (X, X.astype(np.float32), np.asfortranarray(X), nk.open_rows(X)):
    metric = nk.KernelBeta(n_landmarks=300, random_state=0).fit(Y, pairs=pairs)
    for rows in metric.transform(Y):
        pass
nk.NeighborIndex(metric, search="approximate", random_state=0).add(X).query(X[:99])
print(count_compiled())
"""


@needs_loops
@pytest.mark.night
def test_after_it_nothing_is_compiled(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}

    def shown(*arguments):
        command = [sys.executable, *arguments]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        return done.stdout + done.stderr

    assert not shown("-m", "nearkin", "warm-up").startswith("0 ")
    assert shown("-c", JOB).strip() == "0"
    assert shown("-m", "nearkin", "warm-up").startswith("0 loops")
