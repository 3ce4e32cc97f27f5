"""A learner is added by its file, a line of the registry, and a test entry with its oracle.

A toy is added so to a copy of the package, and is found wherever the library lists learners.
"""

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import nearkin

for package in ("dask.array", "onnxruntime", "pyarrow", "typer"):
    pytest.importorskip(package)

THE_FILE = '''
"""Columns divided by how far they reach from their means."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from nearkin.learners.base import MetricMixin, gather_read_once, replace_state
from nearkin.learners.base import stored_learner
from nearkin.pairs.pairs import Pairs
from nearkin.pairs.supervision import gather_evidence
from nearkin.rows import access
from nearkin.spaces.maps import Affine


@stored_learner()
class Toy(MetricMixin, BaseEstimator):
    """Columns divided by how far they reach from their means."""

    _remote: ClassVar[bool] = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "scale": ["boolean"],
        "random_state": ["random_state"],
    }

    def __init__(self, *, scale: bool = False, random_state: Any = None) -> None:
        self.scale = scale
        self.random_state = random_state

    @replace_state
    def fit(self, X: Any, y: Any = None, *, pairs: Pairs | None = None) -> Self:
        """Find means and reaches."""
        self._validate_params()
        X = self._check_and_scale(gather_read_once(self, X, y, pairs), reset=True)
        evidence = gather_evidence(X.shape[0], y, pairs)
        mean, covariance = access.moments(X)
        self.n_components_ = X.shape[1]
        learned = Affine(np.diag(1 / np.sqrt(np.diag(covariance))), mean)
        self._keep(learned, X, evidence, check_random_state(self.random_state))
        return self
'''

THE_LINE = '    Learner("Toy", "toy", "toy", elsewhere=True),\n'

THE_ORACLE = """
def toy_distances(X):
    reach = [sum((x - sum(column) / len(X)) ** 2 for x in column) / len(X) for column in X.T]
    return [[sum((a - b) ** 2 / reach) ** 0.5 for b in X] for a in X]
"""

CHECKS = """
import dask.array
import numpy as np
import onnxruntime
from numpy.testing import assert_allclose, assert_array_equal

import nearkin as nk
from nearkin.cli import main
from nearkin.dask import DaskToy

assert "Toy" in nk.__all__ and "Toy" in dir(nk)
X, y = nk.datasets.make_xor(80, random_state=0)
pairs = nk.Pairs.from_labels(y, 20, random_state=0)
metric = nk.Toy(random_state=0).fit(X, pairs=pairs)
assert_allclose(metric.distance(X), toy_distances(X), atol=1e-9)
Z = metric.transform(X)

# in the command line
np.save("rows.npy", X)
with open("pairs.csv", "w") as file:
    print("left,right,same", file=file)
    for links, same in ((pairs.must_link, "yes"), (pairs.cannot_link, "no")):
        file.writelines(f"{i},{j},{same}\\n" for i, j in links)
given = ["rows.npy", "-p", "pairs.csv", "--learner", "toy", "--seed", "0", "-o", "toy.nearkin"]
assert main(["fit", *given, "--quiet"]) == 0

# in a saved file
assert type(nk.load("toy.nearkin")) is nk.Toy
metric.save("again.nearkin")
assert_array_equal(nk.load("again.nearkin").transform(X), Z)
assert nk.model_file.describe("again.nearkin").learner == "Toy"

# in ONNX
nk.onnx_file.export(metric, "toy.onnx")
found = onnxruntime.InferenceSession("toy.onnx").run(["Z"], {"X": X.astype(np.float32)})[0]
assert_allclose(found, Z, atol=1e-5)

# as a stream
stream = nk.Toy(random_state=0).fit(nk.open_rows(np.split(X, 4)), pairs=pairs)
assert_allclose(stream.transform(X), Z, atol=1e-9)

# on Dask
metric = DaskToy(random_state=0).fit(dask.array.from_array(X, chunks=(20, 2)), pairs=pairs)
assert_allclose(metric.transform(X), Z, atol=1e-9)
assert type(metric.to_local()) is nk.Toy
"""


@pytest.mark.night
def test_a_toy_is_added_in_three_places(tmp_path):
    source, copy = Path(nearkin.__file__).parent, tmp_path / "nearkin"
    # What Python has compiled goes with it; what it or Numba is just writing does not.
    left_out = shutil.ignore_patterns("page", "*.nbi", "*.nbc", "*.pyc.*", "*tmp*")
    shutil.copytree(source, copy, ignore=left_out)
    (copy / "learners" / "toy.py").write_text(THE_FILE)
    registry = (copy / "registry.py").read_text()
    before, first, after = registry.partition('    Learner("MetricLearner"')
    (copy / "registry.py").write_text(before + THE_LINE + first + after)
    code = THE_ORACLE + textwrap.dedent(CHECKS)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "NUMBA_DISABLE_JIT": "1"}
    command = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
