"""The wheel where it is installed: no sources, no Node.js, and only what it asks for."""

import shutil
from importlib import metadata
from pathlib import Path

import pytest

import nearkin

FIT = """
import nearkin as nk

X, y = nk.datasets.make_xor(60, random_state=0)
pairs = nk.Pairs.from_labels(y, n_pairs=30, random_state=0)
metric = nk.GMML().fit(X, pairs=pairs)
metric.save("metric.nearkin")
read = nk.load("metric.nearkin")
print((read.transform(X) == metric.transform(X)).all(), nk.__version__, nk.__file__, sep="\\n")
"""


@pytest.fixture(scope="module")
def bare(fresh_environment):
    """The wheel without extras."""
    return fresh_environment()


def test_an_environment_has_what_the_wheel_asks_for_and_nothing_else(bare):
    there = {one.name.lower() for one in metadata.distributions(path=[str(bare.packages)])}
    assert {"nearkin", "numpy", "scipy", "scikit-learn", "numba"} <= there
    assert not {"typer", "rich", "pyarrow", "fastapi", "matplotlib", "pytest", "pip"} & there
    assert shutil.which("node", path=bare.environ()["PATH"]) is None
    told = bare.run("python", "-c", "import sys; print(*sys.path, sep='\\n')").stdout
    sources = Path(nearkin.__file__).parents[1]
    assert not [line for line in told.splitlines() if Path(line).is_relative_to(sources)]


def test_a_metric_is_learned_kept_and_read(bare, tmp_path):
    done = bare.run("python", "-W", "error", "-c", FIT, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    same, version, place = done.stdout.splitlines()
    assert same == "True"
    assert version == nearkin.__version__
    assert Path(place).is_relative_to(bare.folder)


def test_the_command_says_which_extra_is_missing(bare):
    done = bare.run("nearkin", "fit", "rows.csv")
    assert done.returncode == 2
    assert done.stderr == "the command line needs more packages: pip install 'nearkin[cli]'\n"
