"""Pairs that say who answered, on the command line."""

import json

import numpy as np
import pytest

import nearkin
from nearkin import Answers
from tests.cli.conftest import write_csv

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
