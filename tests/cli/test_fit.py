import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.preprocessing import StandardScaler

import nearkin
from nearkin import RCA, Answers, Chain, KernelBeta, Pairs, scores
from nearkin.cli.fit import Part, hold_out_rows
from nearkin.learners.selection import Candidate, SelectionReport, SelectionSample
from nearkin.rows.streams import RowStream, open_rows
from nearkin.scores.verdicts import read_verdicts
from tests.cases import each
from tests.cli.conftest import write_csv

BETA = ("--learner", "kernel-beta", "--set", "n_landmarks=30")


def fit(run, *arguments, status=0):
    return run("fit", *arguments, "-o", "new.nearkin", status=status)


@pytest.mark.parametrize("by", ["id", "row"])
def test_the_model_is_what_the_library_learns(run, files, sample, model, by):
    which = ["--id", "name", "--pairs", "pairs.csv"] if by == "id" else ["-p", "numbered.csv"]
    fit(run, "rows.csv", *which, "--columns", "a,b", *BETA)
    found = nearkin.load("new.nearkin")
    assert found.feature_names_in_.tolist() == ["a", "b"]
    frame = pd.DataFrame(sample.X, columns=["a", "b"])
    assert_array_equal(found.transform(frame), model.transform(sample.X))


@pytest.mark.parametrize("kind", ["csv", "tsv", "parquet", "feather", "npy", "npz"])
def test_every_kind_of_file_gives_the_same_model(run, files, sample, model, kind):
    table = pa.table({"name": sample.ids, "a": sample.X[:, 0], "b": sample.X[:, 1]})
    if kind in ("csv", "tsv"):
        sign = "\t" if kind == "tsv" else ","
        table.to_pandas().to_csv("all.tsv" if kind == "tsv" else "all.csv", sep=sign, index=False)
    elif kind == "parquet":
        pq.write_table(table, "all.parquet", row_group_size=50)
    elif kind == "feather":
        pyarrow.feather.write_feather(table, "all.feather", chunksize=50)
    elif kind == "npy":
        np.save("all.npy", sample.X)
    else:
        np.savez("all.npz", X=sample.X, name=np.array(sample.ids))
    which = ["-p", "numbered.csv"] if kind == "npy" else ["--id", "name", "-p", "pairs.csv"]
    fit(run, f"all.{kind}", *which, *BETA)
    found = nearkin.load("new.nearkin")
    vars(found).pop("feature_names_in_", None)
    assert_array_equal(found.transform(sample.X), model.transform(sample.X))


def test_columns_that_are_hardly_features_are_not_learned_from_unless_named(run, files, sample):
    frame = pd.DataFrame(sample.X, columns=["a", "b"])
    frame = frame.assign(user_id=range(120), target=sample.y, glad=sample.y > 0)
    frame.to_parquet("more.parquet")
    err = fit(run, "more.parquet", "-p", "numbered.csv", *BETA).err
    assert (
        "note: not learned from 'user_id' (names rows), 'target' (looks like classes), 'glad' (yes "
        "or no); --columns takes all that it names." in err
    )
    assert nearkin.load("new.nearkin").feature_names_in_.tolist() == ["a", "b"]
    which = ["--columns", "a,target,glad", "--force"]
    assert "note" not in fit(run, "more.parquet", "-p", "numbered.csv", *which, *BETA).err
    assert nearkin.load("new.nearkin").feature_names_in_.tolist() == ["a", "target", "glad"]


@each("unknown", [None, "", -1])
def test_labels_teach_too_but_those_that_are_unknown(run, tmp_path, sample, unknown):
    shown = sample.y.astype(object)
    if unknown is not None:
        shown[::2] = unknown
    frame = pd.DataFrame({"a": sample.X[:, 0], "b": sample.X[:, 1], "y": shown})
    frame.to_csv(tmp_path / "some.csv", index=False)
    fit(run, "some.csv", "--labels", "y", "--learner", "rca", "--force")
    expected = RCA(random_state=0).fit(sample.X, np.where(shown == unknown, -1, sample.y))
    assert_allclose(nearkin.load("new.nearkin").components_, expected.components_)


def test_labels_that_are_signs_are_refused_and_blank_ones_are_unknown(run, tmp_path, sample):
    frame = pd.DataFrame({"a": sample.X[:, 0], "b": sample.X[:, 1]})
    frame.assign(y=2 * sample.y - 1).to_csv(tmp_path / "signs.csv", index=False)
    err = run("fit", "signs.csv", "--labels", "y", "-o", "new.nearkin", status=2).err
    assert "column 'y' of signs.csv has the labels -1 and 1 alone" in err
    assert "Write 0 for -1 there if these are two classes" in err
    told = np.where(np.arange(len(frame)) % 3 == 0, " ", np.array(["left", "right"])[sample.y])
    frame.assign(y=told).to_csv(tmp_path / "blank.csv", index=False)
    fit(run, "blank.csv", "--labels", "y", "--learner", "rca")
    expected = RCA(random_state=0).fit(sample.X, np.where(told == " ", -1, sample.y))
    assert_allclose(nearkin.load("new.nearkin").components_, expected.components_)


@pytest.mark.parametrize("standardise", [[], ["--standardise"]])
def test_large_files_are_not_read_into_memory_to_choose_a_metric(
    run, files, sample, monkeypatch, standardise
):
    given = ("rows.csv", "--columns", "a,b", "-p", "numbered.csv", "--set", "time_budget=0.1")
    fit(run, *given, *standardise)
    frame = pd.DataFrame(sample.X, columns=["a", "b"])
    expected = nearkin.load("new.nearkin").transform(frame)
    monkeypatch.setattr("nearkin.cli.fit._MOST_READ", 1)
    monkeypatch.setattr(RowStream, "to_numpy", lambda rows: pytest.fail("read into memory"))
    fit(run, *given, *standardise, "--force")
    assert_allclose(nearkin.load("new.nearkin").transform(frame), expected, atol=1e-9)


@pytest.mark.parametrize("by_blocks", [False, True])
def test_standardised_models_remember_how(run, files, sample, monkeypatch, by_blocks):
    if by_blocks:
        monkeypatch.setattr("nearkin.cli.fit._MOST_READ", 1)
    arguments = ("--columns", "a,b", "-p", "numbered.csv", "--standardise", *BETA)
    fit(run, "rows.csv", *arguments)
    chain = Chain([StandardScaler(), KernelBeta(n_landmarks=30, random_state=0)])
    expected = chain.fit(sample.X, pairs=sample.pairs)
    found = nearkin.load("new.nearkin")
    frame = pd.DataFrame(sample.X, columns=["a", "b"])
    assert_allclose(found.transform(frame), expected.transform(sample.X), atol=1e-9)
    assert found.threshold_ == pytest.approx(expected.threshold_)


def test_the_seed_decides(run, files, sample):
    for seed, name in ((1, "one"), (1, "again"), (2, "two")):
        run(
            "fit", "rows.csv", "-c", "a,b", "-p", "numbered.csv", *BETA[:3], "n_landmarks=90",
            "--set", "landmarks=random", "--seed", seed, "-o", f"{name}.nearkin",
        )  # fmt: skip
    one, again, two = (nearkin.load(f"{name}.nearkin").beta_ for name in ("one", "again", "two"))
    assert_array_equal(one, again)
    assert one.shape != two.shape or not np.array_equal(one, two)


def test_text_becomes_columns_on_request(run, files, sample):
    which = ("-c", "a,b", "--one-hot", "kind", "--id", "name", "-p", "pairs.csv")
    fit(run, "rows.csv", *which, "--learner", "euclidean")
    assert nearkin.load("new.nearkin").feature_names_in_.tolist() == [
        "a", "b", "kind=k0", "kind=k1",
    ]  # fmt: skip
    records = run("transform", "new.nearkin", "rows.csv").records
    assert len(records) == len(sample.X)
    values = np.array([list(map(float, record.values())) for record in records])
    expected = np.column_stack([sample.X, sample.y == 0, sample.y == 1])
    assert_allclose(values - values[0], expected - expected[0], atol=1e-12)
    text = (files / "rows.csv").read_text().replace("k1", "k7")
    (files / "other.csv").write_text(text)
    err = run("transform", "new.nearkin", "other.csv", "-o", "other.parquet").err
    assert "with values of 'kind' that new.nearkin has not seen, such as 'k7'" in err


@each("by_blocks", [False, True])
def test_units_that_differ_are_worth_one_note(run, files, sample, monkeypatch, by_blocks):
    if by_blocks:
        monkeypatch.setattr("nearkin.cli.fit._MOST_READ", 1)
    frame = pd.DataFrame(sample.X * [1000, 1], columns=["wide", "narrow"])
    frame.to_csv("wide.csv", index=False)
    which = ("wide.csv", "-p", "numbered.csv", "--learner", "rca", "--force")
    err = fit(run, *which).err
    assert err.startswith("note: column 'wide' reaches ")
    assert "--standardise gives all columns the same say" in err
    assert err.count("note:") == 1
    assert "note" not in fit(run, *which, "--standardise").err
    assert "note" not in fit(run, *which, "--set", "scale=true").err


def test_auto_says_what_it_does_about_units(run, files, sample):
    np.save("wide.npy", sample.X * [1000, 1])
    err = fit(run, "wide.npy", "-p", "numbered.csv", "--set", "time_budget=0").err
    assert "\nColumns are divided by their spreads: column 0 reaches " in err
    assert "--standardise" not in err
    assert "Columns are divided" in run("info", "new.nearkin").out


def test_many_rows_get_landmarks(run, tmp_path):
    X = np.random.default_rng(0).normal(size=(5001, 2))
    np.save(tmp_path / "many.npy", X)
    (tmp_path / "p.csv").write_text("left,right,same\n0,1,1\n2,3,0\n")
    err = fit(run, "many.npy", "-p", "p.csv", "--learner", "kernel-beta").err
    assert "1000 of them serve as landmarks" in err
    assert nearkin.load("new.nearkin").n_landmarks == 1000


@each(
    ("arguments", "message"),
    [
        ((), "nothing to learn from: give --pairs FILE, --triplets FILE or --labels"),
        (("-p", "numbered.csv", "--learner", "kernel-gamma"), "did you mean 'kernel-"),
        (("-p", "numbered.csv", *BETA[:2], "--set", "n_landmark=3"), "mean 'n_landmarks'?"),
        (("-p", "numbered.csv", *BETA[:2], "--set", "n_landmarks"), "give a name and a value"),
        (("-p", "numbered.csv", *BETA[:2], "--set", "landmarks=3"), "'landmarks' parameter"),
        (("-p", "numbered.csv", *BETA[:2], "--set", "scale=3"), "must be true or false"),
        (("-p", "numbered.csv", *BETA[:2], "--set", "random_state=3"), "use --seed"),
        (("-p", "numbered.csv", *BETA[:2], "--set", "n_landmarks=few"), "'n_landmarks' parameter"),
        (("-l", "knd"), "--labels knd: no such column in rows.csv; did you mean 'kind'?"),
        (("-p", "numbered.csv", "--seed", "-1"), "--seed"),
        (("-p", "numbered.csv", "--nonsense"), "--nonsense"),
        (("-l", "kind", "--one-hot", "name", "--forget-names"), "--one-hot needs the names"),
        (("-p", "pairs.csv"), "is 'n0', not a row number; if pairs name ids, say with --id"),
    ],
)
def test_wrong_arguments_are_explained(run, files, arguments, message):
    assert message in fit(run, "rows.csv", "-c", "a,b", *arguments, status=2).err


def test_an_existing_model_is_replaced_by_force_only(run, files):
    (files / "new.nearkin").write_text("mine")
    arguments = ("rows.csv", "-c", "a,b", "-p", "numbered.csv", "--learner", "rca")
    assert "new.nearkin exists already" in fit(run, *arguments, status=2).err
    assert (files / "new.nearkin").read_text() == "mine"
    fit(run, *arguments, "--force")
    assert isinstance(nearkin.load("new.nearkin"), RCA)


def test_info_speaks_to_people(run, model):
    out = run("info", "model.nearkin").out
    for said in (
        "a learned distance, by KernelBeta",
        "120 rows of 2 columns; 20 pairs that are the same and 20 that are different",
        "columns         a, b\n",
        "called the same up to a distance of",
        "good for        nearkin transform, same, neighbors",
        "rows of the training data: whoever has this file can read them",
    ):
        assert said in " ".join(out.split("\n" + " " * 16))
    for inner in ("array", "shape", "float64", "n_landmarks", "threshold_"):
        assert inner not in out
    assert "n_landmarks=30" in run("info", "model.nearkin", "--debug").out


def test_info_says_how_it_was_tested_and_chosen(run, files):
    which = ("-c", "a,b", "-p", "numbered.csv", "--set", "time_budget=1", "--components", 1)
    said = fit(run, "rows.csv", *which, "--standardise", "--test", 0.25)
    assert "held-out pairs" in said.err  # the reason, of a step that is not the last
    out = " ".join(run("info", "new.nearkin").out.split())
    assert "by StandardScaler (all columns at one scale), then MetricLearner (the best of" in out
    assert "learned from" in out
    assert "tested pair_auc" in out
    assert "held out auc" in out
    assert "held-out pairs" in out
    assert "gives 1 column for a row" in out


def test_how_sure_is_what_the_library_says(run, model, sample):
    out = " ".join(run("info", "model.nearkin").out.split())
    same, different = map(
        float, re.search("the same below (.*) and .* above (.*), by", out).groups()
    )
    apart = np.array([same, different])
    chance = read_verdicts(model).chance(apart)
    assert_allclose(chance, [0.9, 0.1], atol=0.001)


def test_info_is_json_too_and_refuses_other_files(run, files, model):
    found = json.loads(run("info", "model.nearkin", "--json").out)
    assert found["learner"] == "KernelBeta"
    assert found["n_features"] == 2
    assert found["tested"] == []
    assert "rows.csv" in run("info", "rows.csv", status=2).err
    assert "there is no such file" in run("info", "none.nearkin", status=2).err


def test_the_embedding_is_that_of_transform(run, files):
    which = ["--id", "name", "--pairs", "pairs.csv", "--columns", "a,b", *BETA]
    fit(run, "rows.csv", *which, "--embedding", "learned.csv")
    run("transform", "new.nearkin", "rows.csv", "--id", "name", "-o", "again.csv")
    learned = (files / "learned.csv").read_text()
    assert learned == (files / "again.csv").read_text()
    assert learned.startswith("name,kernelbeta0")


def test_an_embedding_that_cannot_be_written_is_refused_before_work(run, files):
    (files / "learned.csv").write_text("mine")
    which = ["rows.csv", "--id", "name", "--pairs", "pairs.csv", "--columns", "a,b", *BETA]
    found = fit(run, *which, "--embedding", "learned.csv", status=2)
    assert "--force" in found.err
    assert not (files / "new.nearkin").exists()
    assert (files / "learned.csv").read_text() == "mine"


def test_names_are_forgotten_on_request(run, files, sample, model):
    which = ["--id", "name", "--pairs", "pairs.csv", "--columns", "a,b", *BETA]
    fit(run, "rows.csv", *which, "--forget-names", "--embedding", "learned.csv")
    found = nearkin.load("new.nearkin")
    assert not hasattr(found, "feature_names_in_")
    assert "2 without names: they go by their order" in run("info", "new.nearkin").out
    Z = pd.read_csv("learned.csv").drop(columns="name").to_numpy()
    assert_allclose(Z, model.transform(sample.X), atol=1e-12)


def test_rows_kept_apart_are_not_learned_from(run, files, sample):
    which = ("rows.csv", "--id", "name", "--exclude", "kind", "-p", "pairs.csv")
    result = fit(run, *which, *BETA, "--test", 0.2)
    [record] = result.records
    told = nearkin.load("new.nearkin").learned_from_
    n_test = 120 - told["rows"]
    assert n_test == pytest.approx(24, abs=2)
    assert (
        f"{n_test} of 120 rows are kept apart, with {record['pairs']} of 40 pairs\n" in result.err
    )
    assert told["must_links"] + told["cannot_links"] + int(record["pairs"]) == 40
    assert (record["judged_by"], record["measure"], record["seen"]) == ("pairs", "pair_auc", "0")
    assert 0 <= float(record["euclidean"]) <= 1
    # Judged again, by those that were kept apart: the rows that the model has no marks of.
    learned, test = hold_out_rows(Part(open_rows([sample.X]), None, sample.pairs), 0.2, 0)
    assert len(learned.rows) == told["rows"]
    found = nearkin.load("new.nearkin")
    del found.feature_names_in_
    assert found.score(test.rows.to_numpy(), pairs=test.pairs) == float(record["learned"])
    assert scores.pair_auc(test.rows.to_numpy(), pairs=test.pairs) == float(record["euclidean"])


def test_the_seed_decides_what_is_kept_apart(run, files):
    which = ("rows.csv", "-c", "a,b", "-p", "numbered.csv", "--learner", "rca", "--test", 0.3)
    one, again, two = (
        fit(run, *which, "--seed", seed, "--force").out for seed in (1, 1, 2)
    )  # fmt: skip
    assert one == again != two


def test_labels_are_kept_apart_too(run, files):
    which = ("rows.csv", "--exclude", "name", "-l", "kind", *BETA, "--test", 0.25, "--json")
    result = fit(run, *which)
    found = [json.loads(line) for line in result.out.splitlines()]
    assert [score["measure"] for score in found] == ["pair_auc", "separability", "balanced_rand"]
    assert {(score["pairs"], score["rows"], score["seen"]) for score in found} == {(435, 30, 0)}
    assert found[0]["learned"] > 0.9 > found[0]["euclidean"]
    assert nearkin.load("new.nearkin").learned_from_["labels"] == 90


def test_groups_that_pairs_tie_together_stay_together(sample):
    triples = np.arange(120).reshape(40, 3)
    pairs = Pairs(triples[:, :2], triples[:, 1:], n_rows=120)
    whole = Part(open_rows([sample.X[:50], sample.X[50:]]), sample.y, pairs)
    for seed in range(5):
        learn, test = hold_out_rows(whole, 0.2, seed)
        assert (len(test.rows), len(test.pairs), len(learn.pairs)) == (24, 16, 64)
        rows = {tuple(row) for row in test.rows.to_numpy()}
        assert not rows & {tuple(row) for row in learn.rows.to_numpy()}
        assert test.rows.take(np.array([5, 1])).tolist() == test.rows.to_numpy()[[5, 1]].tolist()
        assert [tuple(row) in rows for row in sample.X].count(True) == 24
        assert sample.y[[tuple(row) in rows for row in sample.X]].tolist() == test.labels.tolist()


def test_pairs_between_the_parts_are_not_used_and_that_is_said(run, files, sample):
    pairs = Pairs.from_labels(sample.y, 300, random_state=0)
    links = [(i, j, "yes") for i, j in pairs.must_link] + [
        (i, j, "no") for i, j in pairs.cannot_link
    ]
    write_csv(files / "many.csv", ["left", "right", "same"], links)
    which = ("rows.csv", "-c", "a,b", "-p", "many.csv", "--learner", "rca", "--test", 0.3)
    result = fit(run, *which)
    [record] = result.records
    told = nearkin.load("new.nearkin").learned_from_
    between = 300 - told["must_links"] - told["cannot_links"] - int(record["pairs"])
    assert between > 0
    assert f"; not used: {between} pairs between them and the others\n" in result.err


@each(
    ("share", "message"),
    [
        (0, "--test 0: give a share of the rows between 0 and 1"),
        (1.5, "--test 1.5: give a share"),
        (0.01, "kept apart have no pairs that are the same and others that are different"),
    ],
)
def test_shares_that_cannot_be(run, files, share, message):
    which = ("rows.csv", "-c", "a,b", "-p", "numbered.csv", "--learner", "rca", "--test", share)
    assert message in fit(run, *which, status=2).err
    assert not (files / "new.nearkin").exists()


def test_evaluation_on_rows_that_were_learned_from_says_so(run, files, sample):
    which = ("rows.csv", "-c", "a,b", "-p", "numbered.csv", *BETA)
    fit(run, *which, "--test", 0.25)
    n = nearkin.load("new.nearkin").learned_from_["rows"]
    result = run("evaluate", "new.nearkin", "rows.csv", "-l", "kind")
    assert {(r["rows"], r["seen"]) for r in result.records} == {("120", str(n))}
    assert (
        f"by labels, {n} of the 120 rows judged are rows that new.nearkin was learned" in result.err
    )
    assert "these figures are too good" in result.err
    # The same rows in a file of another kind, with less exact numbers and in another order.
    frame = pd.read_csv("rows.csv")[::-1].astype({"a": np.float32, "b": np.float32})
    frame.to_parquet("rows.parquet")
    again = run("evaluate", "new.nearkin", "rows.parquet", "-l", "kind")
    assert again.records[0]["seen"] == str(n)
    # New rows.
    frame["a"] += 1e-3
    frame.to_parquet("new.parquet")
    new = run("evaluate", "new.nearkin", "new.parquet", "-l", "kind")
    assert new.records[0]["seen"] == "0"
    assert "warning" not in new.err


def test_rows_that_are_read_block_by_block_are_known_again(run, files, monkeypatch):
    monkeypatch.setattr("nearkin.cli.fit._MOST_READ", 1)
    which = ("rows.csv", "-c", "a,b", "-p", "numbered.csv", "--standardise", *BETA)
    fit(run, *which, "--test", 0.2)
    result = run("evaluate", "new.nearkin", "rows.csv", "-p", "numbered.csv")
    assert int(result.records[0]["seen"]) > 0


def test_rows_are_forgotten_on_request(run, files, model):
    fit(run, "rows.csv", "-c", "a,b", "-p", "numbered.csv", "--learner", "rca", "--forget-rows")
    for name in ("new.nearkin", "model.nearkin"):  # which the library wrote, without a file of rows
        result = run("evaluate", name, "rows.csv", "-l", "kind")
        assert "warning" not in result.err
        assert result.records[0]["seen"] == ""


@pytest.mark.parametrize("learner", ["kernel-beta", "llma", "euclidean"])
@pytest.mark.parametrize("standardise", [False, True])
def test_few_columns_come_out(run, files, sample, learner, standardise):
    more = ("--standardise",) if standardise else ()
    which = ("rows.csv", "-c", "a,b", "-p", "numbered.csv", "--learner", learner, *more)
    fit(run, *which, "--components", 1, "--embedding", "learned.csv")
    found = nearkin.load("new.nearkin")
    assert found.n_components_ == 1
    assert found.learned_from_["must_links"] == 20
    assert pd.read_csv("learned.csv").shape == (120, 1)
    if learner == "kernel-beta":  # which has them itself
        assert "PCA" not in str(nearkin.storage.models.describe("new.nearkin"))
        return
    run("fit", *which, "-o", "all.nearkin")
    run("transform", "all.nearkin", "rows.csv", "--components", 1, "-o", "axis.csv")
    one, other = (pd.read_csv(name).to_numpy() for name in ("learned.csv", "axis.csv"))
    assert_allclose(np.abs(one - one[0]), np.abs(other - other[0]), atol=1e-9)


def test_fewer_dimensions_than_columns_asked_for_is_a_note(run, files):
    which = ("rows.csv", "-c", "a,b", "-p", "numbered.csv")
    for learner in ("rca", "euclidean"):
        err = fit(run, *which, "--learner", learner, "--components", 5, "--force").err
        assert "has 2 dimensions, so that rows have 2 columns, not 5" in err
    arguments = (*which, "--learner", "rca", "--set", "n_components=1", "--components", 1)
    assert "--set n_components says it already" in fit(run, *arguments, status=2).err


def test_a_blend_that_was_worse_than_euclidean_is_not_kept_without_a_word(run, files, monkeypatch):
    worse = [Candidate("blend", 0.5, -0.192, 0.109, chosen=True)]
    report = SelectionReport("A blend.", worse, 24, 0.6, {"Euclidean": 0.5, "PLDA": 0.5})
    monkeypatch.setattr(SelectionSample, "choice", lambda trial, names: report)
    told = fit(run, "rows.csv", "--columns", "a,b", "-p", "numbered.csv").err
    assert "The chosen blend was worse than the Euclidean distance on 24 held-out pairs" in told
    assert "by 0.192 ± 0.109 in pair AUC" in told


# Triplets on the command line: learned from, judged by, and refused elsewhere


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl"])
@pytest.mark.parametrize("by", ["id", "row"])
def test_triplets_teach_too(run, files, sample, kind, by):
    triplets = np.array([(0, 5, 9), (3, 4, 8), (5, 0, 7)])
    order = Pairs(closer=triplets, closer_weight=[1.0, 2.0, 1.0])
    frame = order.to_frame(backend="pandas", ids=sample.ids if by == "id" else None)
    if kind == "csv":
        frame.to_csv("order.csv", index=False)
    elif kind == "parquet":
        frame.to_parquet("order.parquet")
    else:
        frame.to_json("order.jsonl", orient="records", lines=True)
    which = ["--id", "name"] if by == "id" else []
    told = fit(run, "rows.csv", *which, "--triplets", f"order.{kind}", "--columns", "a,b", *BETA)
    assert "and 3 triplets: new.nearkin" in told.err
    expected = KernelBeta(n_landmarks=30, random_state=0).fit(sample.X, pairs=order)
    found = nearkin.load("new.nearkin")
    frame = pd.DataFrame(sample.X, columns=["a", "b"])
    assert_allclose(found.transform(frame), expected.transform(sample.X))
    assert found.learned_from_["triplets"] == 3


@each(
    ("lines", "said"),
    [
        (["anchor,closer", "0,1"], "has no column 'farther': triplets are in columns anchor"),
        (["anchor,closer,farther"], "order.csv has a header but no rows"),
        (["anchor,closer,farther", "0,1,"], "line 2, column 'farther' of order.csv is empty"),
        (["anchor,closer,farther", "0,1,2", "4,4,5"], "line 3 of order.csv names a row twice"),
        (["anchor,closer,farther", "0,1,999999"], "column 'farther' of order.csv is 999999"),
    ],
)
def test_wrong_triplets_are_named(run, files, lines, said):
    Path("order.csv").write_text("\n".join(lines) + "\n")
    told = fit(run, "rows.csv", "--triplets", "order.csv", "--columns", "a,b", *BETA, status=2)
    assert said in told.err


def test_a_circle_is_a_warning(run, files):
    Path("order.csv").write_text("anchor,closer,farther\nn0,n1,n2\nn0,n2,n1\n")
    which = ("rows.csv", "--id", "name", "--exclude", "kind", "--triplets", "order.csv")
    assert "triplets contradict each other: d(0, 1) < d(0, 2)" in fit(run, *which, *BETA).err


def test_what_takes_no_triplets_says_so(run, files):
    Path("order.csv").write_text("anchor,closer,farther\n0,1,2\n")
    columns = ("--columns", "a,b")
    told = fit(run, "rows.csv", "--pairs", "order.csv", *columns, status=2)
    assert "only nearkin fit, evaluate and studio take them, as --triplets FILE" in told.err
    of_triplets = ("--triplets", "order.csv", *columns)
    told = fit(run, "rows.csv", *of_triplets, "--learner", "gmml", status=2)
    assert "1 triplet, but only must-links and cannot-links" in told.err


def order_of_classes(y, n, seed=0):
    """Triplets, each of rows of its own, as long as there are enough."""
    rng = np.random.RandomState(seed)
    rows = rng.permutation(len(y))
    found = []
    while len(found) < n:
        a, b, c = (int(row) for row in rng.choice(rows, 3, replace=False))
        if y[a] == y[b] != y[c]:
            found.append((a, b, c))
            rows = np.setdiff1d(rows, (a, b, c))
    return Pairs(closer=found)


def test_evaluate_says_how_many_triplets_are_in_order(run, files, sample, model):
    order = order_of_classes(sample.y, 12)
    order.to_frame(backend="pandas", ids=sample.ids).to_csv("order.csv", index=False)
    which = ("model.nearkin", "rows.csv", "--id", "name", "--triplets", "order.csv")
    [record] = run("evaluate", *which).records
    assert (record["judged_by"], record["measure"]) == ("triplets", "triplets_kept")
    assert (record["pairs"], record["rows"]) == ("12", "36")
    learned = scores.triplets_kept(model.transform(sample.X), order)
    assert_allclose(float(record["learned"]), learned)
    assert_allclose(float(record["euclidean"]), scores.triplets_kept(sample.X, order))
    both = run("evaluate", *which, "-p", "pairs.csv").records
    expected = ["pair_auc", "precision", "recall", "f1", "triplets_kept"]
    assert [line["measure"] for line in both] == expected
    assert both[0]["pairs"] == "40"


def test_triplets_kept_apart_judge(run, files, sample):
    order = order_of_classes(sample.y, 20)
    order.to_frame(backend="pandas").to_csv("order.csv", index=False)
    which = ("rows.csv", "-c", "a,b", "--triplets", "order.csv", *BETA, "--test", 0.25)
    alone = fit(run, *which)
    [record] = alone.records
    assert (record["measure"], record["seen"]) == ("triplets_kept", "0")
    told = nearkin.load("new.nearkin").learned_from_
    assert told["triplets"] + int(record["pairs"]) == 20
    assert f"rows are kept apart, with {record['pairs']} of 20 triplets\n" in alone.err
    assert f"by {record['pairs']} triplets of" in " ".join(run("info", "new.nearkin").out.split())
    both = fit(run, *which, "-p", "numbered.csv", "--force")
    assert [line["measure"] for line in both.records] == ["pair_auc", "triplets_kept"]
    assert "of 40 pairs and" in both.err
    assert "learned from" in both.err


# Pairs that say who answered, on the command line


ROWS = ("rows.csv", "--id", "name", "--columns", "a,b")


@pytest.fixture
def answers(files, sample):
    """answers.csv by id: Ann is right, Bob often is not, and someone has no name."""
    rng = np.random.RandomState(0)
    links = np.concatenate([sample.pairs.must_link, sample.pairs.cannot_link]).tolist()
    lines = []
    for i, j in links:
        for name, rate in (("Ann", 0.0), ("Bob", 0.4), ("", 0.1)):
            same = (sample.y[i] == sample.y[j]) ^ (rng.rand() < rate)
            lines.append([i, j, bool(same), name])
    header = ["left", "right", "same", "annotator", "weight"]
    written = [[f"n{i}", f"n{j}", str(s).lower(), name, 3] for i, j, s, name in lines]
    write_csv(files / "answers.csv", header, [*written, ["n0", "n1", "unsure", "Ann", 1]])
    links, same, by = [line[:2] for line in lines], *zip(*[line[2:] for line in lines], strict=True)
    return Answers(links, same, [name or "unnamed" for name in by], n_rows=len(sample.X))


def test_fit_and_info_list_answerers(run, answers, sample):
    quick = ("--set", "time_budget=0")
    said = run("fit", *ROWS, "-p", "answers.csv", *quick, "-o", "new.nearkin").err
    metric = nearkin.load("new.nearkin")
    assert metric.answerers_ == answers.answerers
    assert metric.answerers_[-1].name == "Bob"
    assert "Bob           40  0." in said
    assert "Look at answers of Bob: many are wrong." in said
    assert " Bob, 40 answers, of which " in " ".join(run("info", "new.nearkin").out.split())
    listed = json.loads(run("info", "new.nearkin", "--json").out)["summary"]["answerers_"]
    assert [one["name"] for one in listed] == [one.name for one in metric.answerers_]
    assert [one["wrong_high"] for one in listed] == [one.wrong.high for one in metric.answerers_]


def test_answerers_are_listed_of_standardised_rows_and_of_a_part_too(run, answers):
    more = ("--standardise", "--test", "0.3", "--set", "time_budget=0")
    said = run("fit", *ROWS, "-p", "answers.csv", *more, "-o", "new.nearkin").err
    assert "Bob" in said
    (learner,) = nearkin.load("new.nearkin").steps_[1:]
    assert {one.name for one in learner.answerers_} == {"Ann", "Bob", "unnamed"}
    assert sum(one.n_answers for one in learner.answerers_) < answers.n_answers


def test_others_take_what_answers_come_to(run, answers, sample, model):
    run("fit", *ROWS, "-p", "answers.csv", "--learner", "rca", "-o", "new.nearkin")
    found = nearkin.load("new.nearkin").learned_from_
    assert found["must_links"] == len(answers.pairs.must_link)
    assert found["cannot_links"] == len(answers.pairs.cannot_link)
    columns = ("--columns", "a,b", "--id", "name")
    scores = run("evaluate", "model.nearkin", "rows.csv", *columns, "-p", "answers.csv").records
    assert {one["pairs"] for one in scores} == {str(len(answers.pairs))}
