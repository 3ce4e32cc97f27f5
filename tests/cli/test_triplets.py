"""Triplets on the command line: learned from, judged by, and refused elsewhere."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import nearkin
from nearkin import KernelBeta, Pairs, scores
from tests.cases import each
from tests.cli.test_fit import BETA, fit


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
