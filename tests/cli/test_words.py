"""Files with words, dates and codes: src/nearkin/cli/files/columns.py."""

import ast
import csv
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import nearkin
import nearkin as nk
from nearkin.cli.common import PYTHON, list_settings, reword_for_options
from tests.cases import each
from tests.tables.test_encoder import people


@pytest.fixture
def frame(tmp_path):
    """Persons in files of both kinds, each twice, with pairs."""
    once = pd.DataFrame(people(40)).drop(columns="vector")
    again = once.assign(
        id=[f"q{i}" for i in range(40)],
        city="Oslo",
        income=once["income"].sample(frac=1, random_state=0).values,
    )
    frame = pd.concat([once, again], ignore_index=True)
    frame["paid"] = frame["paid"].astype("boolean")
    frame.to_csv(tmp_path / "people.csv", index=False)
    frame.to_parquet(tmp_path / "people.parquet")
    pairs = [(f"p{i}", f"q{i}", "yes") for i in range(12)]
    pairs += [(f"p{i}", f"q{i + 1}", "no") for i in range(12)]
    with open(tmp_path / "pairs.csv", "w", newline="") as file:
        csv.writer(file).writerows([("left", "right", "same"), *pairs])
    return frame


FIT = ("--id", "id", "-p", "pairs.csv", "-o", "m.nearkin", "--force", "--learner")


@each("file", ["people.csv", "people.parquet"])
def test_a_file_with_words_is_learned_from_as_it_is(run, frame, file):
    told = run("fit", file, *FIT, "column-weights").err
    assert "'name' (name), 'city' (category), 'phone' (code), 'born' (date)" in told
    assert "learned from 80 rows of 6 columns and 24 pairs" in told
    metric = nk.load("m.nearkin")
    assert metric.group_weights_["phone"] > metric.group_weights_["city"]
    # Python has the same.
    by_hand = nk.ColumnWeights(random_state=0)
    rows = pd.read_parquet("people.parquet").drop(columns="id")
    pairs = nk.Pairs([(i, i + 40) for i in range(12)], [(i, i + 41) for i in range(12)])
    by_hand.fit(rows, pairs=pairs)
    assert_allclose(metric.distance(rows[:5]), by_hand.distance(rows[:5]), rtol=1e-6)


@pytest.mark.parametrize(
    "learner",
    ["column-weights", *(pytest.param(name, marks=pytest.mark.night) for name in ("auto", "rca"))],
)
def test_all_commands_take_the_words_of_a_model(run, frame, learner):
    run("fit", "people.csv", *FIT, learner)
    metric = nk.load("m.nearkin")
    run("transform", "m.nearkin", "people.parquet", "-o", "z.npy")
    assert_allclose(np.load("z.npy"), metric.transform(frame), atol=1e-9)
    found = run("neighbors", "m.nearkin", "people.csv", "--id", "id", "-k", "1").out
    nearest = {one["id"]: one["neighbor"] for one in csv.DictReader(found.splitlines())}
    assert sum(nearest[f"p{i}"] == f"q{i}" for i in range(40)) > 30
    said = run("same", "m.nearkin", "people.csv", "--id", "id", "-p", "pairs.csv").out
    assert len(said.splitlines()) == 25
    assert (
        "pair_auc"
        in run("evaluate", "m.nearkin", "people.csv", "--id", "id", "-p", "pairs.csv").out
    )
    assert "phone (code)" in run("info", "m.nearkin").out
    kinds = json.loads(run("info", "m.nearkin", "--json").out)["kinds"]
    assert kinds["born"] == "date"


def test_kinds_and_dates_are_stated(run, frame, tmp_path):
    (tmp_path / "d.csv").write_text("name,day\nann,1/2/2024\nbob,3/4/2024\nanna,1/2/2024\n")
    (tmp_path / "p.csv").write_text("left,right,same\n0,2,yes\n0,1,no\n")
    arguments = ("fit", "d.csv", "-p", "p.csv", "-o", "m.nearkin", "--force", "--learner", "rca")
    assert "nothing tells days from months" in run(*arguments).err
    told = run(*arguments, "--dates", "month", "--kinds", "name=code").err
    assert "nothing tells" not in told
    table = nk.load("m.nearkin").table_
    assert table.kinds_ == {"name": "code", "day": "date"}
    assert table.codes_[1].order == "month first"
    for wrong, message in (
        ("name", "give a column and what it holds, such as phone=code"),
        ("name=phone", "that is one of number, date"),
        ("nobody=name", "d.csv has no such column to learn from; there are 'name', 'day'"),
    ):
        assert message in run(*arguments, "--kinds", wrong, status=2).err


def test_a_chain_that_begins_with_a_table(run, frame):
    pairs = nk.Pairs([(i, i + 40) for i in range(12)], [(i, i + 41) for i in range(12)])
    chain = nk.Chain([nk.TableEncoder(kinds={"city": "ignored"}), nk.RCA()])
    chain.fit(frame, pairs=pairs).save("m.nearkin")
    run("transform", "m.nearkin", "people.csv", "-o", "z.npy")
    assert_allclose(np.load("z.npy"), chain.transform(frame), atol=1e-9)


def test_what_does_not_fit_a_model_of_words(run, frame, tmp_path):
    run("fit", "people.csv", *FIT, "rca")
    frame.drop(columns="phone").to_csv(tmp_path / "less.csv", index=False)
    message = "was learned from columns that less.csv does not have: 'phone'"
    assert message in run("transform", "m.nearkin", "less.csv", "-o", "z.npy", status=2).err
    message = "--exclude phone: m.nearkin was learned from it"
    arguments = ("transform", "m.nearkin", "people.csv", "-o", "z.npy", "--exclude", "phone")
    assert message in run(*arguments, status=2).err
    arguments = ("fit", "people.csv", *FIT, "rca", "--forget-names")
    assert "columns of words are known by their names" in run(*arguments, status=2).err


def test_without_a_model_words_are_encoded_too(run, frame):
    assert len(run("suggest", "none", "people.csv", "--id", "id", "-n", "3").out.splitlines()) == 4
    found = run("cluster", "none", "people.csv", "--clusters", "2", "--method", "kmeans").out
    assert len(found.splitlines()) == 81


def test_types_and_ways_of_writing_are_taken_at_their_word(run, frame):
    kinds = pd.Categorical(np.tile([1, 5, 8, 2], 20))
    frame.assign(city=kinds, income=[f"{n},50 €" for n in range(80)]).to_parquet("typed.parquet")
    told = run("fit", "typed.parquet", *FIT, "column-weights").err
    assert "'city' (category)" in told
    assert "'income' (number, decimal comma)" in told
    assert nk.load("m.nearkin").table_.kinds_["city"] == "category"


def test_columns_of_rounding_noise_are_not_blown_up(run, frame, monkeypatch):
    rng = np.random.default_rng(0)
    table = {"id": frame["id"], "a": rng.normal(size=80), "b": rng.normal(size=80)}
    pd.DataFrame({**table, "c": 3e-33 * rng.normal(size=80)}).to_parquet("dead.parquet")
    for most in (2**23, 1):  # in memory, and block by block
        monkeypatch.setattr("nearkin.cli.fit._MOST_READ", most)
        told = run("fit", "dead.parquet", *FIT, "rca", "--standardise").err
        assert "reaches" not in told
        assert nk.load("m.nearkin").steps_[0].scale_[2] == 1
    assert "reaches" not in run("fit", "dead.parquet", *FIT, "rca").err


# Messages of the library on the command line: options, no Python


SOURCES = Path(nearkin.__file__).parent
# What commands never run, or say in words of their own.
ELSEWHERE = (
    "cli/",
    "plot.py",
    "dask.py",
    "demo.py",
    "studio/notebook",
    "studio/server/",
)
RAISED = {"InputError", "InputTypeError", "notice", "NotFittedError"}


def messages():
    """Texts of errors and notices in the sources, with 7 for what is filled in."""
    for path in SOURCES.rglob("*.py"):
        name = path.relative_to(SOURCES).as_posix()
        if name.startswith(ELSEWHERE):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            called = getattr(getattr(node, "func", None), "id", None)
            if isinstance(node, ast.Call) and called in RAISED and node.args:
                yield f"{name}:{node.lineno}", text_of(node.args[0])


def text_of(node):
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(map(text_of, node.values))
    if isinstance(node, ast.BinOp):
        return text_of(node.left) + text_of(node.right)
    return "7" if isinstance(node, ast.FormattedValue) else ""


def test_no_message_of_the_library_has_python_in_it_on_the_command_line():
    found = dict(messages())
    assert len(found) > 300
    assert sum(PYTHON.search(text) is not None for text in found.values()) > 50
    left = {}
    for place, text in found.items():
        said = reword_for_options(text)
        if "nearkin.Pairs, not " in text:  # commands make none
            continue
        python = PYTHON.search(said) or any(
            name in {*list_settings(), "radius", "precision", "prevalence", "random_state"}
            for name in re.findall(r"(?<!--set )(?<![-\w])([a-z]\w*)=", said)
        )
        if python or (text.strip() and len(said) < min(len(text), 12)):
            left[place] = said
    assert not left, "\n".join(f"{place}: {text}" for place, text in left.items())


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (
            "1 cell cannot be read. kinds={'a b': 'name'} (--kinds a b=name) in fit compares them "
            "letter by letter.",
            "1 cell cannot be read. --kinds a b=name compares them letter by letter.",
        ),
        (
            "such as '3/4'. Say dates='day first' or 'month first' (--dates day or month).",
            "such as '3/4'. Say --dates day or month.",
        ),
        (
            "Give precision=0.99 or a smaller radius=; for classes, cluster metric.transform(X).",
            "Give --precision 0.99 or a smaller --radius; for classes, use nearkin cluster.",
        ),
        ("give radius= or prevalence=.", "give --radius or --prevalence."),
        (
            "pairs contradict each other: 1 and 2; pairs.conflicts() lists all.",
            "pairs contradict each other: 1 and 2.",
        ),
        ("n_vectors=9 functions are few.", "--set n_vectors=9 functions are few."),
        (
            "X contains NaN in row 1. Fill it:\n\n    import numpy\n\nand new rows by "
            "imputer.transform(X_new).",
            "X contains NaN in row 1. Fill it.",
        ),
        ("rows.csv, column a=b of 'x=1.csv'", "rows.csv, column a=b of 'x=1.csv'"),
    ],
)
def test_words_of_the_command_line(said, expected):
    assert reword_for_options(said) == expected


def test_warnings_and_errors_of_commands_are_in_their_words(run):
    rows = pd.DataFrame({"born": ["3/4/2024", "5/6/2023", "7/8/2022", "1/2/2021"] * 5})
    rows.assign(name=[f"n{k}" for k in range(20)]).to_csv("rows.csv", index=False)
    Path("pairs.csv").write_text("left,right,same\n0,4,yes\n1,5,yes\n0,1,no\n", encoding="utf-8")
    usual = ("fit", "rows.csv", "-p", "pairs.csv", "-o", "m.nearkin")
    told = run(*usual, "--learner", "rca").err
    assert "Say --dates day or month." in told
    assert "dates=" not in told
    wrong = ("--learner", "kernel-beta", "--set", "n_iter=2", "--set", "extension=nystroem")
    told = run("--quiet", *usual, *wrong, "--force", status=2).err
    assert "use --set extension='local' or --set n_iter=1" in told
