import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.preprocessing import StandardScaler

import nearkin
from nearkin import RCA, Chain, KernelBeta
from nearkin.cli import learning

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


def test_labels_teach_too(run, files, sample):
    fit(run, "rows.csv", "--labels", "kind", "--exclude", "name", "--learner", "rca")
    found = nearkin.load("new.nearkin")
    expected = RCA(random_state=0).fit(sample.X, sample.y)
    assert_allclose(found.components_, expected.components_)


def test_unknown_labels_are_empty_or_negative(run, tmp_path, sample):
    shown = sample.y.astype(object)
    shown[::2] = None
    pd.DataFrame({"a": sample.X[:, 0], "b": sample.X[:, 1], "y": shown}).to_csv(
        tmp_path / "some.csv", index=False
    )
    fit(run, "some.csv", "--labels", "y", "--learner", "rca")
    expected = RCA(random_state=0).fit(sample.X, np.where(shown == None, -1, sample.y))  # noqa: E711
    assert_allclose(nearkin.load("new.nearkin").components_, expected.components_)


@pytest.mark.parametrize("by_blocks", [False, True])
def test_standardised_models_remember_how(run, files, sample, monkeypatch, by_blocks):
    if by_blocks:
        monkeypatch.setattr(learning, "_MOST_READ", 1)
    arguments = ("--columns", "a,b", "-p", "numbered.csv", "--standardise", *BETA)
    fit(run, "rows.csv", *arguments)
    chain = Chain([StandardScaler(), KernelBeta(n_landmarks=30, random_state=0)])
    expected = chain.fit(sample.X, pairs=sample.pairs)
    found = nearkin.load("new.nearkin")
    frame = pd.DataFrame(sample.X, columns=["a", "b"])
    assert_allclose(found.transform(frame), expected.transform(sample.X), atol=1e-9)
    assert found.threshold_ == pytest.approx(expected.threshold_)


def test_auto_says_why_it_chose(run, files):
    result = fit(
        run, "rows.csv", "--id", "name", "--exclude", "kind", "-p", "pairs.csv", "--set",
        "time_budget=1",
    )  # fmt: skip
    assert "MetricLearner learned from 120 rows of 2 columns and 40 pairs" in result.err
    assert "Euclidean distance" in result.err


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
    fit(run, "rows.csv", "-c", "a,b", "--one-hot", "kind", "-l", "kind", "--learner", "euclidean")
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
    err = run("transform", "new.nearkin", "other.csv", status=2).err
    assert "column 'kind' of other.csv is 'k7', which the model has not seen" in err


def test_units_that_differ_are_worth_a_note(run, files, sample):
    np.save("wide.npy", sample.X * [1000, 1])
    err = fit(run, "wide.npy", "-p", "numbered.csv", "--learner", "rca").err
    assert "note: column 0 reaches" in err
    assert "--standardise" in err


def test_many_rows_get_landmarks(run, tmp_path):
    X = np.random.default_rng(0).normal(size=(5001, 2))
    np.save(tmp_path / "many.npy", X)
    (tmp_path / "p.csv").write_text("left,right,same\n0,1,1\n2,3,0\n")
    err = fit(run, "many.npy", "-p", "p.csv", "--learner", "kernel-beta").err
    assert "1000 of them serve as landmarks" in err
    assert nearkin.load("new.nearkin").n_landmarks == 1000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "nothing to learn from: give --pairs FILE or --labels COLUMN"),
        (("-p", "numbered.csv", "--learner", "kernel-gamma"), "did you mean 'kernel-"),
        (("-p", "numbered.csv", *BETA[:2], "--set", "n_landmark=3"), "mean 'n_landmarks'?"),
        (("-p", "numbered.csv", *BETA[:2], "--set", "n_landmarks"), "give a name and a value"),
        (("-p", "numbered.csv", *BETA[:2], "--set", "random_state=3"), "use --seed"),
        (("-p", "numbered.csv", *BETA[:2], "--set", "n_landmarks=few"), "'n_landmarks' parameter"),
        (("-l", "knd"), "--labels knd: no such column in rows.csv; did you mean 'kind'?"),
        (("-p", "numbered.csv", "--seed", "-1"), "--seed"),
        (("-p", "numbered.csv", "--nonsense"), "--nonsense"),
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


def test_info_shows_a_model(run, model):
    assert "column names: ['a', 'b']" in run("info", "model.nearkin").out
    found = json.loads(run("info", "model.nearkin", "--json").out)
    assert found["learner"] == "KernelBeta"
    assert found["n_features"] == 2


def test_info_refuses_other_files(run, files):
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
    assert "column names: not kept" in run("info", "new.nearkin").out
    Z = pd.read_csv("learned.csv").drop(columns="name").to_numpy()
    assert_allclose(Z, model.transform(sample.X), atol=1e-12)


def test_one_hot_needs_names(run, files):
    which = ["rows.csv", "--labels", "kind", "--one-hot", "name", "--forget-names"]
    assert "--one-hot needs the names" in fit(run, *which, status=2).err
