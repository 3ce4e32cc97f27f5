"""The wheel where it is installed: no sources, no Node.js, and only what it asks for."""

import shutil
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path
from urllib.parse import urljoin, urlsplit
from urllib.request import urlopen

import pytest

import nearkin
from tests.cases import each
from tests.waiting import PATIENCE
from tests.wheel import ROOT

LEARNED = """
import nearkin as nk

X, y = nk.datasets.make_xor(60, random_state=0)
pairs = nk.Pairs.from_labels(y, n_pairs=30, random_state=0)
metric = nk.GMML().fit(X, pairs=pairs)
"""
KEPT = """
metric.save("metric.nearkin")
read = nk.load("metric.nearkin")
print((read.transform(X) == metric.transform(X)).all(), nk.__version__, nk.__file__, sep="\\n")
"""
# Loops as plain Python: a fresh environment would compile them anew.
QUICK = {"NUMBA_DISABLE_JIT": "1"}
# What each extra is for, as a program that fails if it is not there.
FEATURES = {
    "plot": """
import matplotlib
matplotlib.use("Agg")
nk.plot.embedding(metric.transform(X), y).figure.savefig("picture.png")
""",
    "demo": """
import matplotlib
from rich.console import Console
from rich.table import Table
from nearkin import demo
demo.show_records(demo.find_records(60, 10), Console(), Table())
""",
    "parquet": """
import pyarrow as pa, pyarrow.parquet
pyarrow.parquet.write_table(pa.table({"a": X[:, 0], "b": X[:, 1]}), "rows.parquet")
assert nk.GMML().fit(nk.open_rows("rows.parquet"), pairs=pairs).transform(X).shape[0] == 60
""",
    "dask": """
import dask.array as da
rows = da.from_array(X, chunks=(30, 2))
assert nk.dask.DaskGMML().fit(rows, pairs=pairs).transform(rows).compute().shape[0] == 60
""",
    "onnx": """
nk.onnx_file.export(metric, "metric.onnx")
import onnx
onnx.checker.check_model("metric.onnx")
""",
    "records": """
table, person = nk.datasets.make_records(60, random_state=0)
assert nk.RecordMatcher(random_state=0).fit(table).duplicates().groups
""",
}
# Of what says its extra when that is missing, in one process: a statement, and the words.
MISSING = {
    "nk.plot.embedding(X, y)": "nearkin[plot]",
    "nk.open_rows('rows.parquet')": "nearkin[parquet]",
    "nk.dask": "nearkin[dask]",
    "nk.onnx_file.export(metric, 'metric.onnx')": "nearkin[onnx]",
    "nk.RecordMatcher().fit([['Ann'], ['Anne'], ['Bob']])": "nearkin[records]",
    "nk.studio(X)": "nearkin[studio]",
}


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


def test_the_command_says_which_extra_is_missing(bare):
    done = bare.run("nearkin", "fit", "rows.csv")
    assert done.returncode == 2
    assert done.stderr == "the command line needs more packages: pip install 'nearkin[cli]'\n"


def test_a_metric_is_learned_kept_and_read_and_what_needs_an_extra_says_which(bare, tmp_path):
    (tmp_path / "rows.parquet").write_bytes(b"PAR1")
    program = f"""{LEARNED}{KEPT}
for statement in {[*MISSING]!r}:
    try:
        exec(statement)
    except ImportError as error:
        print(error)
    else:
        print("nothing is missing")
"""
    # Hashes of plain Python say that they overflow, those of compiled loops do not.
    quietly = ("-W", "error", "-W", "ignore:overflow encountered:RuntimeWarning")
    done = bare.run("python", *quietly, "-c", program, cwd=tmp_path, **QUICK)
    assert done.returncode == 0, done.stderr
    same, version, place, *said = done.stdout.splitlines()
    assert same == "True"
    assert version == nearkin.__version__
    assert Path(place).is_relative_to(bare.folder)
    unsaid = [
        words for words, line in zip(MISSING.values(), said, strict=True) if words not in line
    ]
    assert unsaid == [], said


def test_every_extra_is_tried():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    elsewhere = {"cli", "studio", "all", "torch"}  # torch is too large for this
    assert {*project["optional-dependencies"]} == {*FEATURES} | elsewhere


@pytest.mark.night
@each("extra", FEATURES)
def test_an_extra_brings_what_its_feature_needs(fresh_environment, tmp_path, extra):
    environment = fresh_environment(extra)
    done = environment.run("python", "-c", LEARNED + FEATURES[extra], cwd=tmp_path, **QUICK)
    assert done.returncode == 0, done.stderr


@pytest.mark.night  # test_the_studio_serves_its_page runs a command by day
def test_commands_learn_and_use_a_metric(fresh_environment, tmp_path):
    X, y = nearkin.datasets.make_xor(60, random_state=0)
    pairs = nearkin.Pairs.from_labels(y, n_pairs=30, random_state=0)
    rows = [f"{i},{a},{b}" for i, (a, b) in enumerate(X.tolist())]
    (tmp_path / "rows.csv").write_text("\n".join(["name,a,b", *rows]) + "\n")
    links = [f"{i},{j},yes" for i, j in pairs.must_link]
    links += [f"{i},{j},no" for i, j in pairs.cannot_link]
    (tmp_path / "pairs.csv").write_text("\n".join(["left,right,same", *links]) + "\n")
    environment = fresh_environment("cli")

    def run(*command):
        done = environment.run("nearkin", *command, cwd=tmp_path, **QUICK)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert run("--version").strip() == nearkin.__version__
    fit = ["fit", "rows.csv", "--id", "name", "--pairs", "pairs.csv", "--learner", "gmml"]
    run(*fit, "-o", "metric.nearkin")
    learned = run("transform", "metric.nearkin", "rows.csv", "--id", "name")
    assert len(learned.splitlines()) == 61


def test_the_studio_serves_its_page(fresh_environment, tmp_path):
    environment = fresh_environment("studio")
    rows = "\n".join(f"{i},{i % 7},{i % 5}" for i in range(40))
    (tmp_path / "rows.csv").write_text(f"name,a,b\n{rows}\n")
    program = shutil.which("nearkin", path=str(environment.programs))
    command = [program, "studio", "rows.csv", "--id", "name", "--no-browser", "--port", "0"]
    with subprocess.Popen(
        command,
        cwd=tmp_path,
        env=environment.environ(**QUICK),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as studio:
        try:
            address = studio.stdout.readline().strip()
            assert urlsplit(address).hostname == "127.0.0.1", address
            page = urlopen(address, timeout=PATIENCE).read().decode()
            (script,) = [part.partition('"')[0] for part in page.split('src="')[1:]]
            assert len(urlopen(urljoin(address, script), timeout=PATIENCE).read()) > 100_000
            licences = urlopen(urljoin(address, "./assets/licences.txt"), timeout=PATIENCE).read()
            assert b"regl-scatterplot" in licences
        finally:
            studio.terminate()
    assert studio.returncode in ((1, 3) if sys.platform == "win32" else (-15, 143, 0))
