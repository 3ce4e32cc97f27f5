"""Commands one after another, in a shell, on files of real data."""

import csv
import json
import os
import subprocess

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_wine

import nearkin
from nearkin import Pairs
from tests.cli.conftest import write_csv
from tests.waiting import PATIENCE

SCRIPT = r"""
set -euo pipefail
nearkin fit wines.csv --id name --exclude kind --pairs pairs.csv --standardise \
    --learner kernel-beta --set n_landmarks=60 -o wines.nearkin --embedding learned.parquet
nearkin evaluate wines.nearkin wines.csv --labels kind --json > quality.jsonl
nearkin transform wines.nearkin wines.csv --id name | head -n 1 > names.txt || test $? = 141
nearkin transform wines.nearkin wines.csv --id name -o learned.csv
nearkin same wines.nearkin wines.csv --id name --pairs pairs.csv > verdicts.csv
nearkin neighbors wines.nearkin wines.csv --id name -k 3 | cut -d, -f1,3 > neighbors.csv
printf 's\nn\ny\nz\nu\nq\n' |
    nearkin suggest wines.csv --id name --columns 'a*,m*' --ask -o answers.csv
nearkin plot wines.nearkin wines.csv --id name --labels kind --pairs pairs.csv \
    -o picture.svg
nearkin info wines.nearkin --json > info.json
nearkin studio wines.csv --id name --no-browser --port 0 > address.txt &
until grep --quiet token address.txt; do kill -0 $!; sleep 0.1; done
kill $!
wait $! || test $? = 143
nearkin fit wines.csv --id name --exclude kind --pairs nothing.csv -o no.nearkin && exit 9 ||
    test $? = 2
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory, program):
    """A folder in which the script has run."""
    folder = tmp_path_factory.mktemp("as_a_user")
    wine = load_wine()
    columns = [name.replace("/", "_") for name in wine.feature_names]
    names = [f"wine {i}" for i in range(len(wine.data))]
    rows = [
        [name, *row, f"cultivar {kind}"]
        for name, row, kind in zip(names, wine.data.tolist(), wine.target, strict=True)
    ]
    write_csv(folder / "wines.csv", ["name", *columns, "kind"], rows)
    pairs = Pairs.from_labels(wine.target, 40, random_state=0)
    links = [(names[i], names[j], "yes") for i, j in pairs.must_link]
    links += [(names[i], names[j], "no") for i, j in pairs.cannot_link]
    write_csv(folder / "pairs.csv", ["left", "right", "same"], links)
    path = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", SCRIPT],
        cwd=folder,
        env={**os.environ, "MPLBACKEND": "Agg", "PATH": path},
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    (folder / "messages.txt").write_text(done.stderr)
    return folder


def records(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.night
def test_the_model_is_the_library_s_and_better_than_euclidean(folder):
    metric = nearkin.load(folder / "wines.nearkin")
    assert metric.learned_from_["must_links"] == 20
    quality = [json.loads(line) for line in (folder / "quality.jsonl").read_text().splitlines()]
    auc = next(line for line in quality if line["measure"] == "pair_auc")
    assert auc["learned"] > auc["euclidean"] + 0.05
    assert json.loads((folder / "info.json").read_text())["learner"] == "Chain"
    assert "178 of the 178 rows judged" in (folder / "messages.txt").read_text()


@pytest.mark.night
def test_what_goes_through_a_pipe_is_what_goes_to_a_file(folder):
    header = (folder / "learned.csv").read_text().splitlines()[0]
    assert (folder / "names.txt").read_text().strip() == header
    rows = records(folder / "learned.csv")
    assert [row["name"] for row in rows] == [f"wine {i}" for i in range(178)]
    in_a_frame = pd.read_parquet(folder / "learned.parquet")
    assert list(in_a_frame) == header.split(",")
    Z = np.array([[float(row[name]) for name in header.split(",")[1:]] for row in rows])
    assert_allclose(in_a_frame.drop(columns="name").to_numpy(), Z, atol=1e-12)


def test_verdicts_agree_with_most_of_what_was_said(folder):
    said = [row["same"] == "yes" for row in records(folder / "pairs.csv")]
    verdicts = records(folder / "verdicts.csv")
    assert (
        np.mean([(row["same"] == "true") == s for row, s in zip(verdicts, said, strict=True)]) > 0.8
    )
    assert all(0 < float(row["probability"]) < 1 for row in verdicts)


def test_neighbors(folder):
    kind = {row["name"]: row["kind"] for row in records(folder / "wines.csv")}
    near = records(folder / "neighbors.csv")
    assert len(near) == 3 * 178
    assert np.mean([kind[row["name"]] == kind[row["neighbor"]] for row in near]) > 0.9


def test_answers(folder):
    assert [row["same"] for row in records(folder / "answers.csv")] == ["true", "false", ""]


def test_the_studio(folder):
    assert (folder / "address.txt").read_text().startswith("http://127.0.0.1:")
    assert (folder / "wines.csv.answers.jsonl").exists()


def test_pictures_and_messages(folder):
    assert "</svg>" in (folder / "picture.svg").read_text()
    messages = (folder / "messages.txt").read_text()
    assert "nothing.csv: there is no such file" in messages
    assert not (folder / "no.nearkin").exists()
    assert not [path for path in folder.iterdir() if path.name.startswith(".")]
