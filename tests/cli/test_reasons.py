"""``nearkin same --why``: src/nearkin/cli/same.py."""

import csv
import json

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import nearkin as nk
from tests.cli.conftest import write_csv

SAME = ("same", "model.nearkin", "rows.csv", "--id", "name", "-p", "ask.csv", "--why")


@pytest.fixture
def asked(files, model):
    write_csv(files / "ask.csv", ["left", "right"], [("n0", "n1"), ("n5", "n5")])


def test_reasons_are_printed(run, files, sample, model, asked):
    told = run(*SAME).out
    first, second = told.split("\nn5 and n5\n")
    found = model.explain(sample.X[0], sample.X[1])
    assert first.startswith(f"n0 and n1\nThey are {found.distance:.3g} apart")
    assert "What sets them apart, by column:\n" in first
    assert f"{max(found.shares.values()):.0%}" in first
    assert "--taught ANSWERS" in first
    assert "No column sets them apart." in second


def test_answers_that_the_model_was_learned_from_are_named(run, files, sample, model, asked):
    told = run(*SAME, "--taught", "pairs.csv").out
    found = model.explain(sample.X[0], sample.X[1], X=sample.X, pairs=sample.pairs)
    strongest = found.together[0]
    said = "the same" if strongest.same else "different"
    assert f"  n{strongest.left} and n{strongest.right} are {said}: without it" in told


def test_tables_have_a_column_of_reasons(run, files, sample, model, asked):
    found = model.explain(sample.X[0], sample.X[1])
    shares = dict(zip("ab", found.shares.values(), strict=True))
    names = sorted("ab", key=lambda name: -abs(shares[name]))
    brief = ", ".join(f"{name} {shares[name]:.0%}" for name in names)
    records = [json.loads(line) for line in run(*SAME, "--json").out.splitlines()]
    assert [one["why"] for one in records] == [brief, ""]
    run(*SAME, "-o", "same.csv")
    with open("same.csv", encoding="utf-8") as file:
        assert [one["why"] for one in csv.DictReader(file)] == [brief, ""]


def test_words_of_tables_are_told(run, tmp_path):
    texts = [f"a {colour} {animal} in the {place}" for colour in ("grey", "black", "white")
             for animal in ("cat", "dog", "owl", "fox") for place in ("house", "yard")]  # fmt: skip
    sizes = np.random.default_rng(0).normal(size=24).round(2)
    write_csv(tmp_path / "tales.csv", ["tale", "size"], list(zip(texts, sizes, strict=True)))
    write_csv(tmp_path / "pairs.csv", ["left", "right", "same"], [(0, 1, "yes"), (0, 20, "no")])
    run("fit", "tales.csv", "-p", "pairs.csv", "-o", "m.nearkin", "--learner", "itml")
    told = run("same", "m.nearkin", "tales.csv", "-p", "pairs.csv", "--why").out
    assert "a grey cat in the house  /  a grey cat in the yard" in told.replace("…", "")
    assert "Words of tale: 'yard' (right, " in told or "Words of tale: 'house' (left, " in told
    metric = nk.load("m.nearkin")
    rows = pd.DataFrame({"tale": texts, "size": sizes})
    found = metric.explain(rows[:1], rows[1:2])
    assert_allclose(sum(found.shares.values()), 1)
    for name, share in found.shares.items():
        assert f"  {name}  {share:>5.0%}" in told


def test_wrong_arguments_are_explained(run, files, sample, model, asked):
    arguments = SAME[:-1]
    assert "--taught is for --why" in run(*arguments, "--taught", "pairs.csv", status=2).err
    write_csv(files / "none.csv", ["left", "right", "same"], [("n0", "n1", "unsure")])
    assert "no answers" in run(*SAME, "--taught", "none.csv", status=2).err
