"""Commands that use a model: same, neighbors, duplicates, cluster, evaluate."""

import csv
import json
from copy import deepcopy

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

import nearkin as nk
from nearkin import MPCKMeans, NeighborIndex, Pairs, scores
from tests.cases import each
from tests.cli.conftest import write_csv

NAMED = ("rows.csv", "--id", "name")


def test_same_judges_pairs(run, files, sample, model):
    arguments = ("same", "model.nearkin", *NAMED, "-p", "pairs.csv", "--known", "pairs.csv")
    records = run(*arguments).records
    links = np.concatenate([sample.pairs.must_link, sample.pairs.cannot_link])
    assert [r["left"] for r in records] == [f"n{i}" for i in links[:, 0]]
    X_a, X_b = sample.X[links[:, 0]], sample.X[links[:, 1]]
    distance = np.array([float(r["distance"]) for r in records])
    assert_allclose(distance, model.pair_distance(X_a, X_b))
    assert [r["same"] == "true" for r in records] == model.same(X_a, X_b).tolist()
    chance = np.array([float(r["probability"]) for r in records])
    assert ((chance > 0) & (chance < 1)).all()
    assert (np.diff(chance[np.argsort(distance)]) <= 0).all()
    n_must = len(sample.pairs.must_link)
    assert chance[:n_must].mean() > 0.6 > 0.4 > chance[n_must:].mean()


def test_same_is_as_frequent_as_it_is_said(run, files, sample, model):
    arguments = ("same", "model.nearkin", *NAMED, "-p", "pairs.csv")
    links = np.concatenate([sample.pairs.must_link, sample.pairs.cannot_link])
    X_a, X_b = sample.X[links[:, 0]], sample.X[links[:, 1]]
    records = run(*arguments, "--prevalence", 0.05).records
    chance = np.array([float(r["probability"]) for r in records])
    assert_allclose(chance, model.chance_same(X_a, X_b, prevalence=0.05))
    assert [r["same"] == "true" for r in records] == (chance >= 0.5).tolist()
    assert "between 0 and 1" in run(*arguments, "--prevalence", 1, status=2).err
    # By known pairs, as in Python.
    rare = Pairs(sample.pairs.must_link[:5], sample.pairs.cannot_link)
    names = [(sample.ids[a], sample.ids[b], 1) for a, b in rare.must_link]
    names += [(sample.ids[a], sample.ids[b], 0) for a, b in rare.cannot_link]
    write_csv(files / "known.csv", ["left", "right", "same"], names)
    records = run(*arguments, "--known", "known.csv").records
    known = deepcopy(model).calibrate(sample.X, pairs=rare)
    assert_allclose([float(r["probability"]) for r in records], known.chance_same(X_a, X_b))
    assert [r["same"] == "true" for r in records] == known.same(X_a, X_b).tolist()


def test_same_needs_no_answers(run, files, sample, model):
    write_csv(files / "ask.csv", ["left", "right"], [(0, 1), (5, 5)])
    records = run("same", "model.nearkin", "rows.csv", "-p", "ask.csv").records
    assert list(records[0]) == ["left", "right", "distance", "same", "probability"]
    assert float(records[1]["distance"]) == 0
    chance = [float(r["probability"]) for r in records]
    ends = np.array([(0, 1), (5, 5)])
    assert_allclose(chance, model.chance_same(sample.X[ends[:, 0]], sample.X[ends[:, 1]]))
    write_csv(files / "known.csv", ["left", "right", "same"], [(0, 1, 1)])
    arguments = ("same", "model.nearkin", "rows.csv", "-p", "ask.csv", "--known", "known.csv")
    assert "1 pairs that are the same and 0 that are different" in run(*arguments, status=2).err


def test_neighbors_are_those_of_the_index(run, files, sample, model):
    records = run("neighbors", "model.nearkin", *NAMED, "-k", 3).records
    distances, ids = NeighborIndex(model).fit(sample.X, ids=sample.ids).query(sample.X, 4)
    assert len(records) == 3 * len(sample.X)
    assert [r["neighbor"] for r in records[:3]] == ids[0, 1:].tolist()
    assert_allclose([float(r["distance"]) for r in records[:3]], distances[0, 1:])
    assert [r["rank"] for r in records[:4]] == ["1", "2", "3", "1"]
    assert all(r["name"] != r["neighbor"] for r in records)


def test_neighbors_of_other_rows(run, files, sample, model):
    write_csv(files / "new.csv", ["a", "b"], sample.X[[7, 3]].tolist())
    records = run("neighbors", "model.nearkin", "rows.csv", "-q", "new.csv", "-k", 1).records
    assert [(r["row"], r["neighbor"]) for r in records] == [("0", "7"), ("1", "3")]
    assert [float(r["distance"]) for r in records] == [0, 0]
    # Equal rows are neighbours of each other.
    write_csv(files / "twice.csv", ["a", "b"], [[1, 1]] * 5)
    records = run("neighbors", "model.nearkin", "twice.csv", "-k", 2).records
    assert len(records) == 10
    assert all(r["row"] != r["neighbor"] for r in records)


def test_duplicates_are_groups(run, files, sample, model):
    result = run("duplicates", "model.nearkin", *NAMED, "--radius", 0.02)
    found = {}
    for record in result.records:
        found.setdefault(record["group"], []).append(record["name"])
    expected = NeighborIndex(model).fit(sample.X, ids=sample.ids).duplicates(0.02)
    assert list(found.values()) == [group.tolist() for group in expected]
    assert f"{len(expected)} group" in result.err
    assert run("duplicates", "model.nearkin", *NAMED, "--radius", 0).out == "group,name\n"


def write_copies(files):
    """many.csv, in which ten of 300 rows are there twice."""
    X = np.random.default_rng(0).uniform(-3, 3, size=(300, 2))
    X[200:210] = X[:10] + 1e-4
    write_csv(files / "many.csv", ["a", "b"], X.tolist())


def test_duplicates_are_found_without_a_radius(run, files, model):
    write_copies(files)
    result = run("duplicates", "model.nearkin", "many.csv", "--precision", 0.9)
    found = {(r["group"], int(r["row"]) % 200) for r in result.records}
    assert {row for _, row in found} >= set(range(8))
    share = 10 / (300 * 299 / 2)
    assert len(run("duplicates", "model.nearkin", "many.csv", "--prevalence", share).records) == 20
    both = ("--prevalence", share, "--precision", 0.9)
    wrong = run("duplicates", "model.nearkin", "many.csv", *both, status=2).err
    assert "give one of precision and prevalence" in wrong


def test_classes_among_duplicates_are_a_note(run, files, model):
    result = run("duplicates", "model.nearkin", *NAMED)
    assert "seem to be classes" in result.err
    assert "For classes, use nearkin cluster" in result.err
    result = run("duplicates", "model.nearkin", *NAMED, "--radius", float(model.threshold_))
    assert "note: the largest of" in result.err
    assert "of 120 rows" in result.err


@pytest.mark.parametrize("method", ["kmeans", "mpck", "hdbscan"])
def test_clusters_are_a_new_column(run, files, sample, model, method):
    more = () if method == "hdbscan" else ("--clusters", 2)
    more += ("--id", "name", "-p", "pairs.csv") if method == "mpck" else ()
    arguments = ("cluster", "model.nearkin", "rows.csv", "--method", method)
    run(*arguments, *more, "-o", "new.csv")
    frame, old = pd.read_csv("new.csv"), pd.read_csv("rows.csv")
    pd.testing.assert_frame_equal(frame[old.columns], old)
    Z = model.transform(sample.X)
    if method == "kmeans":
        expected = KMeans(2, n_init=10, random_state=0).fit_predict(Z)
    elif method == "mpck":
        expected = MPCKMeans(2, random_state=0).fit_predict(Z, pairs=sample.pairs)
    else:
        assert frame["cluster"].nunique() >= 2
        return
    assert adjusted_rand_score(frame["cluster"], expected) == 1


@pytest.mark.night
def test_clusters_and_their_number_are_found_from_pairs(run, files, sample, model):
    arguments = ("rows.csv", "-c", "a,b", "--id", "name", "-p", "pairs.csv")
    result = run("cluster", *arguments)
    found = [int(r["cluster"]) for r in result.records]
    assert adjusted_rand_score(sample.y, found) > 0.9
    assert "2 groups" in result.err
    assert "held-out pairs" in result.err
    bounded = run("cluster", "model.nearkin", "rows.csv", "--clusters", "2-3")
    assert len({r["cluster"] for r in bounded.records}) in (2, 3)


def test_clusters_without_a_model(run, files, sample):
    arguments = ("cluster", "none", "rows.csv", "-c", "a,b", "--clusters", 4, "--name", "corner")
    records = run(*arguments, "--method", "kmeans").records
    expected = KMeans(4, n_init=10, random_state=0).fit_predict(sample.X)
    assert [int(r["corner"]) for r in records] == expected.tolist()


@each(
    ("arguments", "message"),
    [
        (("--method", "kmeans"), "--clusters: say how many"),
        (("--method", "kmeans", "--clusters", 500), "--clusters 500: there are only 120 rows"),
        (("--clusters", 500), "--clusters 500: there are only 120 rows"),
        (("--clusters", "500-600"), "--clusters 500: there are only 120 rows"),
        (("--clusters", "few"), "--clusters few: use a number, such as 10, or two, such as 5-20"),
        (("--clusters", "9-3"), "--clusters 9-3: the first number is the least"),
        (("--soft", "--method", "mpck", "--clusters", 2), "--soft: only --method auto"),
        (("--clusters", 2, "--name", "kind"), "the data has a column 'kind' already"),
        (("--method", "kmeans", "--clusters", 2, "-p", "numbered.csv"), "kmeans takes none"),
        (("--method", "hdbscan", "--min-size", 500), "there are only 120 rows"),
        (("--method", "dbscan"), "dbscan"),
    ],
)
def test_clusters_that_cannot_be(run, files, arguments, message):
    assert message in run("cluster", "none", "rows.csv", "-c", "a,b", *arguments, status=2).err


@pytest.mark.night
@each(
    ("pairs", "arguments", "message"),
    [
        (
            "left,right,same\nr0,r1,1\nr1,r2,1\nr0,r2,0\n",
            (),
            "rows 'r0' and 'r2' cannot be linked, yet 'r0' = 'r1' = 'r2' by must-links. Leave out "
            "one pair of each chain, or let pairs be broken at a cost with --soft.",
        ),
        (
            "left,right,same\nr0,r1,0\nr1,r2,0\nr0,r2,0\n",
            ("--clusters", 2),
            "rows 'r0', 'r1', 'r2' all differ from one another. Allow more groups",
        ),
        (
            "left,right,same\n" + "".join(f"r0,r{k},1\n" for k in range(1, 40)),
            ("--clusters", 3),
            "--clusters 3: must-links leave 1 groups at most. Ask for fewer, leave out a "
            "must-link, or let pairs be broken with --soft.",
        ),
    ],
)
def test_pairs_that_clusters_cannot_keep_are_named_by_ids(run, files, pairs, arguments, message):
    rows = [[f"r{k}", k % 7, k % 11] for k in range(40)]
    write_csv(files / "named.csv", ["key", "a", "b"], rows)
    (files / "answers.csv").write_text(pairs)
    known = ("cluster", "named.csv", "--id", "key", "-p", "answers.csv", *arguments)
    said = run(*known, status=2).err
    assert message in " ".join(said.split())
    assert "keep=" not in said
    softly = run(*known, "--soft").err
    assert "rows 'r" in softly or not pairs.endswith("0\n")


def test_the_model_comes_first_in_every_command(run, files, model):
    say_how = "The model comes first, then the rows: nearkin {} model.nearkin rows.csv"
    for command in ("transform", "neighbors", "evaluate"):  # suggest takes a table alone, too
        err = run(command, "rows.csv", status=2).err
        assert "Missing argument" in err
        assert say_how.format(command) in err


def test_evaluate_compares_with_euclidean(run, files, sample, model):
    arguments = ("evaluate", "model.nearkin", *NAMED, "-p", "pairs.csv", "-l", "kind")
    records = run(*arguments).records
    found = {
        (r["judged_by"], r["measure"]): (float(r["learned"]), float(r["euclidean"] or "nan"))
        for r in records
    }
    Z = model.transform(sample.X)
    assert_allclose(
        found["pairs", "pair_auc"],
        [scores.pair_auc(rows, pairs=sample.pairs) for rows in (Z, sample.X)],
    )
    assert_allclose(
        found["labels", "separability"],
        [scores.separability(rows, sample.y) for rows in (Z, sample.X)],
    )
    assert found["labels", "balanced_rand"][0] > 0.9 > found["labels", "balanced_rand"][1]


def test_evaluate_needs_something_to_judge_by(run, files, model):
    assert "give --pairs" in run("evaluate", "model.nearkin", "rows.csv", status=2).err
    write_csv(files / "p.csv", ["left", "right", "same"], [(0, 1, 1)])
    arguments = ("evaluate", "model.nearkin", "rows.csv", "-p", "p.csv")
    assert "to be compared it needs both" in run(*arguments, status=2).err


def test_evaluate_gives_intervals(run, files, sample, model):
    arguments = ("evaluate", "model.nearkin", *NAMED, "-p", "pairs.csv")
    result = run(*arguments, "--prevalence", 0.2)
    found = {
        r["measure"]: [float(r[name]) for name in ("learned", "low", "high")]
        for r in result.records
    }
    expected = model.quality(sample.X, pairs=sample.pairs, prevalence=0.2)
    for name in ("precision", "recall", "f1"):
        figure = getattr(expected, name)
        assert_allclose(found[name], [figure.value, figure.low, figure.high])
    assert_allclose(found["pair_auc"], [expected.auc.value, expected.auc.low, expected.auc.high])
    assert "share of 0.2 of all pairs" in result.err
    assert len(run(*arguments, "--prevalence", "estimated").records) == 4
    assert "such as 0.1, or estimated" in run(*arguments, "--prevalence", "rare", status=2).err
    assert "between 0 and 1" in run(*arguments, "--prevalence", 0, status=2).err


def test_same_says_what_is_to_be_expected(run, files, sample, model):
    links = np.concatenate([sample.pairs.must_link, sample.pairs.cannot_link])
    arguments = ("same", "model.nearkin", *NAMED, "-p", "pairs.csv", "--known", "pairs.csv")
    known = deepcopy(model).calibrate(sample.X, pairs=sample.pairs)
    surer = run(*arguments, "--precision", 0.9)
    radius = known.threshold_for(0.9)
    called = [float(r["distance"]) <= radius for r in surer.records]
    assert [r["same"] == "true" for r in surer.records] == called
    assert 0 < sum(called) < known.same(*sample.X[links.T]).sum()
    assert f"by {len(sample.pairs)} known pairs" in surer.err
    assert "do not show that 0.9 is reached: that takes about" in surer.err
    nothing = run(*arguments, "--precision", 0.99999)
    assert not any(r["same"] == "true" for r in nothing.records)
    assert "nothing is called the same: at no distance is the chance 0.99999" in nothing.err
    assert "warning" not in run(*arguments, "--precision", 0.5).err
    share = run(*arguments, "--prevalence", "estimated").err
    assert "estimated prevalence: 0." in share


def test_duplicates_are_judged_by_known_pairs(run, files, sample, model):
    write_csv(files / "known.csv", ["left", "right", "same"], [(0, 200, 1), (1, 201, 1), (2, 3, 0)])
    write_copies(files)
    arguments = ("duplicates", "model.nearkin", "many.csv", "--known", "known.csv")
    err = run(*arguments, "--precision", 0.99).err
    assert "expected: precision 1.000 (0." in err
    assert "by 3 known pairs" in err
    assert "do not show that 0.99 is reached" in err


def test_a_model_that_held_pairs_out_says_what_is_to_be_expected(run, files):
    which = ("-c", "a,b", "-p", "numbered.csv", "--set", "time_budget=1")
    said = run("fit", "rows.csv", *which, "-o", "new.nearkin").err
    assert "On held-out pairs, with 90 % intervals: auc" in said
    arguments = ("same", "new.nearkin", "rows.csv", "-p", "numbered.csv")
    assert "by 40 held-out pairs" in run(*arguments).err
    assert "expected" not in run(*arguments, "--prevalence", 0.1).err


# ``nearkin same --why``: src/nearkin/cli/same.py


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
