"""Commands for records."""

import csv
import datetime
import io
import json
import re
import subprocess
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import nearkin as nk
from nearkin.cli.suggest import _explain_equal, mark_differences
from tests.cases import each
from tests.cli.conftest import write_csv
from tests.waiting import PATIENCE

N = 120
GROUPS = ("duplicates", "people.csv", "--id", "id", "--pairs", "answers.csv")
ASK = ("suggest", "none", "people.csv", "--id", "id", "--ask", "-o", "said.csv")


@pytest.fixture(scope="module")
def drawn():
    table, person = nk.datasets.make_records(N, random_state=1)
    names = list(table)
    rows = [[f"p{i}", *(table[name][i] or "" for name in names)] for i in range(N)]
    return SimpleNamespace(header=["id", *names], rows=rows, person=person)


@pytest.fixture
def people(drawn, tmp_path):
    """people.csv, and answers.csv about some of them."""
    write_csv(tmp_path / "people.csv", drawn.header, drawn.rows)
    write_csv(tmp_path / "answers.csv", ["left", "right", "same"], answers(drawn.person))
    return drawn


def answers(person, left="p", right="p"):
    """Ten pairs that are the same, and ten that are not."""
    same = [(i, j) for i in range(N) for j in range(i + 1, N) if person[i] == person[j]]
    different = [(i, i + 1) for i in range(N - 1) if person[i] != person[i + 1]]
    told = [(f"{left}{i}", f"{right}{j}", "yes") for i, j in same[:10]]
    return told + [(f"{left}{i}", f"{right}{j}", "no") for i, j in different[:10]]


def kept_by(found):
    """Whether groups keep all answers."""
    with open("answers.csv", newline="") as file:
        said = list(csv.DictReader(file))
    group = {one["id"]: one["group"] for one in found}
    together = [one["left"] in group and group[one["left"]] == group.get(one["right"])
                for one in said]  # fmt: skip
    return together == [one["same"] == "yes" for one in said]


def share_right(person, pairs):
    return np.mean([person[i] == person[j] for i, j in pairs])


def number(name):
    return int(name[1:])


# duplicates


def test_groups_of_records_need_no_model(run, people):
    result = run(*GROUPS, "--carry", "surname,town", "-o", "groups.csv")
    with open("groups.csv", newline="") as file:
        found = list(csv.DictReader(file))
    assert list(found[0]) == ["group", "id", "chance", "surname", "town"]
    members = {}
    for one in found:
        members.setdefault(one["group"], []).append(number(one["id"]))
        assert 0 <= float(one["chance"]) <= 1
        assert one["surname"] == people.rows[number(one["id"])][2]
    pairs = [(group[0], other) for group in members.values() for other in group[1:]]
    assert share_right(people.person, pairs) > 0.9
    assert len(pairs) > 0.8 * (N - len(set(people.person.tolist())))
    assert f"{len(members)} groups with {len(found)} records" in result.err
    assert "precision and recall are not known yet: " in result.err
    assert "recall" in result.err
    assert "; what was found is by 20 answers" in result.err
    assert " for each record\n" in result.err
    assert kept_by(found)


def test_none_and_a_table_is_the_same_as_the_table(run, people):
    alone = run(*GROUPS).out
    assert run("duplicates", "none", *GROUPS[1:]).out == alone
    guess = run("duplicates", "none", "people.csv", "--id", "id")
    assert "not known yet: 30 more answers would tell" in guess.err
    assert len(guess.records) > 20


def test_a_matcher_is_kept_and_used(run, people, tmp_path):
    first = run(*GROUPS, "--save", "m.nearkin")
    assert "matcher: m.nearkin" in first.err
    assert isinstance(nk.load("m.nearkin"), nk.RecordMatcher)
    again = run("duplicates", "m.nearkin", "people.csv", "--id", "id", "--known", "answers.csv")
    assert "these records are like those that the matcher learned from" in again.err
    assert "by 20 known pairs" in again.err
    assert len(again.records) > 0.8 * len(first.records)
    told = run("info", "m.nearkin").out
    assert "10 pairs that are the same and 10 that are different" in told
    assert "surname (name)" in told
    plain = json.loads(run("info", "m.nearkin", "--json").out)
    assert plain["n_records"] == N
    assert plain["precision"]["low"] <= plain["precision"]["value"]
    arguments = ("duplicates", "m.nearkin", "people.csv", "--id", "id", "-p", "answers.csv")
    told = run(*arguments)
    assert "the answers are kept, but not learned from: m.nearkin has learned already" in told.err
    assert kept_by(told.records)
    write_csv(tmp_path / "less.csv", ["id", "town"], [["a", "x"], ["b", "y"]])
    message = "compares columns that less.csv does not have: 'given_name'"
    assert message in run("duplicates", "m.nearkin", "less.csv", status=2).err
    assert "exists already" in run(*GROUPS, "--save", "m.nearkin", status=2).err


def test_files_and_frames_of_any_library_give_the_same(run, drawn, tmp_path):
    import pandas as pd
    import polars as pl

    columns = list(zip(*drawn.rows, strict=True))
    table = {n: [c or None for c in v] for n, v in zip(drawn.header, columns, strict=True)}
    del table["born"]
    rng = np.random.default_rng(0)
    table["year"] = [1900 + int(p) % 90 if rng.random() > 0.1 else None for p in drawn.person]
    days = [datetime.date(2000, 1, 1) + datetime.timedelta(7 * int(p)) for p in drawn.person]
    table["since"] = days
    arrow = pa.table(table)
    pa.parquet.write_table(arrow, "people.parquet")
    rows = zip(*(["" if cell is None else cell for cell in v] for v in table.values()), strict=True)
    write_csv(tmp_path / "people.csv", list(table), rows)
    libraries = [table, pd.DataFrame(table), pl.DataFrame(table), arrow]
    libraries += [pd.read_csv("people.csv", dtype={"postcode": str, "phone": str})]
    found = [nk.RecordMatcher(random_state=0).fit(one).duplicates() for one in libraries]
    for one in found[1:]:
        assert np.array_equal(one.labels, found[0].labels)
        assert np.allclose(one.chance, found[0].chance)
    written = [run("duplicates", f"people.{form}", "--id", "id").out for form in ("csv", "parquet")]
    assert written[0] == written[1]
    assert len(written[0].splitlines()) == 1 + sum(map(len, found[0].groups))


def test_one_record_for_each_thing(run, drawn, tmp_path):
    columns = list(zip(*drawn.rows, strict=True))
    table = {n: [c or None for c in v] for n, v in zip(drawn.header, columns, strict=True)}
    years = [int(born[:4]) if born and born[:4].isdigit() else None for born in table["born"]]
    pa.parquet.write_table(pa.table({**table, "year": years}), tmp_path / "people.parquet")
    arguments = ("--id", "id", "--canonical", "-o", "once.parquet")
    run("duplicates", "people.parquet", *arguments)
    once = pa.parquet.read_table("once.parquet")
    assert once.column_names == ["id", "records", *drawn.header[1:], "year"]
    assert sum(once["records"].to_pylist()) == N
    assert pa.types.is_integer(once.schema.field("year").type)
    labels = run("duplicates", "people.parquet", "--id", "id").records
    assert len(once) == N - len(labels) + len({one["group"] for one in labels})
    alone = once.filter(pa.compute.equal(once["records"], 1)).to_pylist()
    for one in alone:
        row = drawn.rows[number(one["id"])]
        assert [one[name] or "" for name in drawn.header] == row


def test_options_are_for_records_or_for_rows(run, people, files, model):
    rows = ("duplicates", "model.nearkin", "rows.csv", "--id", "name")
    for option in (("--canonical",), ("--save", "m"), ("--pairs", "pairs.csv"), ("--dates", "day")):
        assert f"{option[0]}: this is for records" in run(*rows, *option, status=2).err
    for option in (("--radius", 1), ("--prevalence", 0.1)):
        assert f"{option[0]}: this is for rows" in run(*GROUPS, *option, status=2).err
    # Rows of numbers are grouped as ever; columns may go along.
    plain = run(*rows, "--radius", 0.01).records
    carried = run(*rows, "--radius", 0.01, "--carry", "kind").records
    assert [{**one, "kind": "k"} for one in plain] == [{**one, "kind": "k"} for one in carried]
    assert {one["kind"] for one in carried} <= {"k0", "k1"}
    write_csv(files / "numbers.csv", ["a", "b"], [[1, 2], [3, 4]])
    err = run("duplicates", "numbers.csv", status=2).err
    assert "The model comes first, then the rows: nearkin duplicates model.nearkin rows.csv" in err
    assert "Tables with words need no model" in err
    assert "Missing argument 'DATA'" in run("duplicates", "model.nearkin", status=2).err


# what was learned, in other commands


@pytest.fixture
def matcher(people):
    """m.nearkin, which people.csv was learned into by itself, and known.csv."""
    columns = [[row[1 + j] or None for row in people.rows] for j in range(len(people.header) - 1)]
    table = dict(zip(people.header[1:], columns, strict=True))
    kinds = {"born": "name"}
    matcher = nk.RecordMatcher(kinds=kinds, random_state=0).fit(table)
    matcher.save("m.nearkin")
    return SimpleNamespace(matcher=matcher, table=table)


def test_pairs_are_judged_by_a_matcher(run, matcher):
    asked = ("same", "m.nearkin", "people.csv", "--id", "id", "--pairs", "answers.csv")
    result = run(*asked, "--known", "answers.csv")
    assert list(result.records[0]) == ["left", "right", "same", "probability"]
    ends = [(number(one["left"]), number(one["right"])) for one in result.records]
    chance = matcher.matcher.chance_of_pairs(ends)
    assert np.allclose([float(one["probability"]) for one in result.records], chance)
    assert [one["same"] == "true" for one in result.records] == (chance >= 0.5).tolist()
    assert "by 20 known pairs" in result.err
    sure = run(*asked, "--precision", 0.999).records
    assert [one["same"] == "true" for one in sure] == (chance >= 0.999).tolist()
    assert "--prevalence: m.nearkin knows it" in run(*asked, "--prevalence", 0.1, status=2).err


def people_of(matcher, row):
    """The thing that a record is of, as the matcher groups it."""
    return matcher.matcher.duplicates().labels[row]


def test_neighbors_by_a_matcher(run, matcher, tmp_path):
    asked = ("neighbors", "m.nearkin", "people.csv", "--id", "id", "-k", "2")
    found = run(*asked).records
    assert list(found[0]) == ["id", "rank", "neighbor", "chance"]
    rows, chance = matcher.matcher.neighbors(n_neighbors=2)
    told = {(number(x["id"]), int(x["rank"]) - 1): x for x in found}
    assert {*told} == {*map(tuple, np.argwhere(rows >= 0).tolist())}
    assert all(number(one["neighbor"]) == rows[place] for place, one in told.items())
    assert all(float(one["chance"]) == pytest.approx(chance[place]) for place, one in told.items())
    text = (tmp_path / "people.csv").read_text().splitlines()
    (tmp_path / "one.csv").write_text("\n".join([text[0], text[5].replace("p4", "x")]))
    of_one = run(*asked, "--queries", "one.csv").records
    assert "p4" in [x["neighbor"] for x in of_one]
    first = of_one[0]
    # A second record of p4's is as near.
    assert first["id"] == "x"
    assert people_of(matcher, number(first["neighbor"])) == people_of(matcher, 4)


def test_a_matcher_is_judged(run, people, matcher, tmp_path):
    rows = [[*row, f"e{n}"] for row, n in zip(people.rows, people.person, strict=True)]
    write_csv(tmp_path / "true.csv", [*people.header, "entity"], rows)
    asked = ("evaluate", "m.nearkin", "true.csv", "--id", "id")
    result = run(*asked, "--pairs", "answers.csv", "--labels", "entity")
    found = {(one["judged_by"], one["measure"]): one for one in result.records}
    assert [*found] == [("pairs", name) for name in ("pair_auc", "precision", "recall", "f1")] + [
        ("labels", name) for name in ("precision", "recall", "f1")
    ]
    recall = found["pairs", "recall"]
    assert float(recall["low"]) <= float(recall["learned"]) <= float(recall["high"])
    labels = matcher.matcher.duplicates().labels
    i, j = np.triu_indices(N, 1)
    called, same = labels[i] == labels[j], people.person[i] == people.person[j]
    assert float(found["labels", "precision"]["learned"]) == pytest.approx(same[called].mean())
    assert float(found["labels", "recall"]["learned"]) == pytest.approx(called[same].mean())
    assert "--labels town: m.nearkin compares this" in run(*asked, "-l", "town", status=2).err
    estimated = ("--pairs", "answers.csv", "--prevalence", "estimated")
    assert "this goes by distances; give a share" in run(*asked, *estimated, status=2).err


def test_a_matcher_asks_about_other_records(run, matcher, monkeypatch, tmp_path):
    asked = ("suggest", "m.nearkin", "people.csv", "--id", "id")
    found = [(number(x["left"]), number(x["right"])) for x in run(*asked, "-n", 4).records]
    assert found == [tuple(pair) for pair in matcher.matcher.suggest(4).tolist()]
    monkeypatch.setattr("sys.stdin", io.StringIO("s\nd\nd\nd\ns\nd\n"))
    result = run(*asked, "--ask", "-o", "said.csv")
    assert "after 5 answers: precision" in result.err
    lines = (tmp_path / "said.csv").read_text().splitlines()
    assert len({frozenset(line.split(",")[:2]) for line in lines[1:]}) == 6
    assert "--strategy: a matcher asks" in run(*asked, "--strategy", "random", status=2).err


def test_a_matcher_links_other_tables(run, people, matcher, tmp_path):
    write_csv(tmp_path / "a.csv", people.header, people.rows[:60])
    write_csv(tmp_path / "b.csv", people.header, people.rows[60:])
    arguments = ("m.nearkin", "a.csv", "b.csv", "--id", "id", "--carry", "surname,town")
    found = run("link", *arguments)
    assert list(found.records[0])[3:] == [
        "left_surname",
        "left_town",
        "right_surname",
        "right_town",
    ]
    halves = [
        {name: values[rows] for name, values in matcher.table.items()}
        for rows in (slice(60), slice(60, None))
    ]
    links = matcher.matcher.link(*halves).pairs.tolist()
    assert [(number(x["left"]), number(x["right"]) - 60) for x in found.records] == [
        tuple(pair) for pair in links
    ]
    first = found.records[0]
    assert first["left_surname"] == people.rows[number(first["left"])][2]
    assert "these records are like those that" in found.err
    assert "--carry nobody: neither a.csv nor b.csv" in run(
        "link", *arguments[:-1], "nobody", status=2
    ).err  # fmt: skip
    assert "people.csv is no matcher" in run("link", "people.csv", "a.csv", "b.csv", status=2).err
    assert "Missing argument 'RIGHT'" in run("link", "m.nearkin", "a.csv", status=2).err


@each(
    "command",
    [
        ("transform", "m.nearkin", "people.csv"),
        ("cluster", "m.nearkin", "people.csv", "--clusters", "3"),
        ("plot", "m.nearkin", "people.csv", "-o", "picture.png"),
    ],
)
def test_what_needs_coordinates_says_what_to_use_instead(run, matcher, command):
    err = run(*command, status=2).err
    assert "m.nearkin is a matcher of records, which has no coordinates" in err
    assert "nearkin fit people.csv --pairs answers.csv" in err
    if command[0] == "transform":
        tables = [("fit", "m.nearkin", "-p", "answers.csv", "-o", "x"), ("studio", "m.nearkin")]
        for wrong in tables:
            assert "is a matcher of records, not a table" in run(*wrong, status=2).err


def test_kinds_and_dates_are_part_of_the_matcher(run, people, tmp_path):
    born = np.random.RandomState(0).randint(1, 13, size=(N, 2))
    rows = [[*row, f"{m}/{d}/1980"] for row, (m, d) in zip(people.rows, born, strict=True)]
    write_csv(tmp_path / "people.csv", [*people.header, "since"], rows)
    stated = ("--dates", "month", "--kinds", "postcode=name", "--save", "m.nearkin")
    assert "nothing tells days from months" not in run(*GROUPS, *stated).err
    told = run("info", "m.nearkin").out
    assert "since (date, month first, as stated)" in " ".join(told.split())
    assert "postcode (name, as stated)" in " ".join(told.split())
    plain = json.loads(run("info", "m.nearkin", "--json").out)
    assert plain["dates"]["since"] == "month first"
    assert plain["kinds"]["postcode"] == "name"
    again = ("duplicates", "m.nearkin", "people.csv", "--id", "id")
    err = run(*again).err
    assert "nothing tells days from months" not in err
    assert "columns hold" not in err
    message = "--kinds postcode=code: to the matcher, 'postcode' is name"
    assert message in run(*again, "--kinds", "postcode=code", status=2).err
    assert run(*again, "--dates", "day").out != run(*again).out
    assert "--exclude town: the matcher was learned from it" in run(
        *again, "--exclude", "town", status=2
    ).err  # fmt: skip


# link


def test_two_tables_are_linked_by_their_ids(run, drawn, tmp_path):
    half = N // 2
    left = [row[:-1] for row in drawn.rows[:half]]
    write_csv(tmp_path / "a.csv", drawn.header[:-1], left)
    right = [[f"q{i}", *row[1:], "x"] for i, row in enumerate(drawn.rows)][half:]
    write_csv(tmp_path / "b.csv", ["nr", *drawn.header[1:], "note"], right)
    said = [one for one in answers(drawn.person, right="q") if number(one[0]) < half]
    said = [one for one in said if number(one[1]) >= half]
    write_csv(tmp_path / "said.csv", ["left", "right", "same"], said)
    arguments = ("link", "a.csv", "b.csv", "--id", "id", "--right-id", "nr", "-p", "said.csv")
    result = run(*arguments, "-o", "links.csv", "--save", "m.nearkin")
    with open("links.csv", newline="") as file:
        found = [(number(x["left"]), number(x["right"])) for x in csv.DictReader(file)]
    assert all(i < half <= j for i, j in found)
    assert len({i for i, _ in found}) == len({j for _, j in found}) == len(found)
    # Python finds the same.
    tables = [
        {name: [row[1 + j] or None for row in rows] for j, name in enumerate(drawn.header[1:-1])}
        for rows in (left, right)
    ]
    ends = [(number(i), number(j), same == "yes") for i, j, same in said]
    must, cannot = ([(i, j) for i, j, same in ends if same is one] for one in (True, False))
    kinds = nk.load("m.nearkin").kinds_
    matcher = nk.RecordMatcher(kinds=kinds, random_state=0)
    with pytest.warns(nk.TableWarning):
        matcher.fit_link(*tables, nk.Pairs(must, cannot, n_rows=N))
    links = matcher.link()
    assert found == [(i, half + j) for i, j in links.pairs.tolist()]
    assert {*must} & {*found}
    assert not {*cannot} & {*found}
    assert "not compared, since only b.csv has them: 'phone', 'note'" in result.err
    assert f"{len(found)} links" in result.err
    many = run(*arguments, "--many").records
    assert len(many) >= len(found)


def test_what_cannot_be_linked(run, people, tmp_path):
    write_csv(tmp_path / "b.csv", ["id", "vorname"], [["q1", "Ann"], ["q2", "Bob"]])
    err = run("link", "people.csv", "b.csv", "--id", "id", status=2).err
    assert "people.csv and b.csv have no column in common to compare" in err
    assert "the other 'vorname'" in err
    write_csv(tmp_path / "b.csv", ["id", "surname"], [["q1", "Ann"], ["q2", "Bob"]])
    write_csv(tmp_path / "p.csv", ["left", "right", "same"], [["p1", "q1", "no"], ["p2", "p3", 1]])
    err = run("link", "people.csv", "b.csv", "--id", "id", "-p", "p.csv", status=2).err
    assert "1 ids in p.csv are not in b.csv: 'p3'. The first is in line 3, column 'right'" in err
    assert "name two tables, such as people.csv" in run("link", "people.csv", status=2).err


# suggest


@pytest.fixture
def person_says(monkeypatch, people):
    """Somebody who looks at the questions, and knows the answers."""

    def person_says(text):
        monkeypatch.setattr("sys.stdin", io.StringIO(text))

    return person_says


def test_records_are_asked_about_and_learned_from(run, people, person_says, tmp_path):
    person_says("s\nd\nu\nd\nd\nd\nz\nq\n")
    result = run(*ASK)
    assert "after 4 answers: precision" in result.err
    assert "5 answers added to said.csv" in result.err
    assert "≠ " in result.err
    lines = (tmp_path / "said.csv").read_text().splitlines()
    assert [line.rpartition(",")[2] for line in lines[1:]] == [
        "true",
        "false",
        "",
        "false",
        "false",
    ]
    person_says("d\n")
    run(*ASK)
    again = (tmp_path / "said.csv").read_text().splitlines()
    assert again[:6] == lines
    assert len({frozenset(line.split(",")[:2]) for line in again[1:]}) == 6
    assert "by 5 answers" in run("duplicates", "people.csv", "--id", "id", "-p", "said.csv").err


def test_the_path_of_somebody_who_has_read_nothing(run, people, person_says, tmp_path):
    (tmp_path / "answers.csv").unlink()
    asked = [(number(x["left"]), number(x["right"])) for x in run(
        "suggest", "none", "people.csv", "--id", "id", "-n", 5).records]  # fmt: skip
    same = ["s" if people.person[i] == people.person[j] else "d" for i, j in asked]
    person_says("\n".join([*same, *"d" * 15, ""]))
    result = run("suggest", "none", "people.csv", "--ask")
    assert "records of people.csv go by their row numbers; --id id names them" in result.err
    assert "20 of 20" in result.err
    assert "20 answers added to answers.csv" in result.err
    following = "nearkin duplicates people.csv --pairs answers.csv -o groups.csv"
    assert f"next: {following}" in result.err
    found = run(*following.split()[1:], "--precision", 0.99)
    assert "by 20 answers" in found.err
    with open("groups.csv", newline="") as file:
        assert list(next(csv.DictReader(file))) == ["group", "row", "chance"]


def test_what_link_recommends_asks_about_the_same_tables(run, people, person_says, tmp_path):
    renamed = ["nr", "first", *people.header[2:]]
    write_csv(tmp_path / "more.csv", renamed, [[f"q{i}", *row[1:]] for i, row in
                                               enumerate(people.rows[60:])])  # fmt: skip
    write_csv(tmp_path / "some.csv", people.header, people.rows[:60])
    tables = ("some.csv", "more.csv", "--id", "id", "--right-id", "nr")
    asked = run("link", *tables, "--match", "given_name=first").err.splitlines()[-1]
    assert asked.startswith("next: nearkin suggest some.csv more.csv --ask")
    (tmp_path / "answers.csv").unlink()
    for said in ("", "q\n"):  # no answer: no file, and nothing that would fail without one
        person_says(said)
        result = run(*asked.split()[2:])
        assert "no answers, so that nothing is written" in result.err
        assert "next:" not in result.err
        assert not (tmp_path / "answers.csv").exists()
    person_says("s\nd\n")
    following = run(*asked.split()[2:]).err.splitlines()[-1]
    assert "--match given_name=first" in following
    assert "by 2 answers" in run(*following.split()[2:]).err


def test_after_ten_equal_answers_others_are_asked_and_the_reason_is_said(
    run, people, person_says, tmp_path
):
    rows = [[*row, "ab"[i % 2]] for i, row in enumerate(people.rows)]
    write_csv(tmp_path / "both.csv", [*people.header, "origin"], rows)
    person_says("d\n" * 20)
    told = run("suggest", "both.csv", "--id", "id", "--ask", "-n", 20, "-o", "said.csv").err
    assert told.count("10 answers in a row were different: pairs of another kind") == 2
    assert _explain_equal(False, [(0, 1), (2, 5)], pa.table({"origin": ["a", "b"] * 3})) == (
        "2 answers in a row were different: pairs of another kind are asked now. 'origin' differs "
        "in all of them: if it names where records are from, begin again with --exclude origin."
    )


def test_answers_about_records_stay_when_it_is_stopped(program, people, tmp_path):
    with subprocess.Popen(
        [program, *ASK], cwd=tmp_path, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as asking:
        asking.stdin.write("s\nd\n")
        asking.stdin.flush()
        for line in asking.stderr:
            if "3 of 20" in line:
                break
        asking.terminate()
        asking.wait(PATIENCE)
    assert len((tmp_path / "said.csv").read_text().splitlines()) == 3


def test_records_that_are_all_equal_are_one_group(run, tmp_path):
    for n in (2, 5):
        write_csv(tmp_path / "b.csv", ["name", "town"], [["Ann", "X"]] * n)
        assert [one["group"] for one in run("duplicates", "b.csv").records] == ["0"] * n


def test_where_no_two_are_alike_nothing_is_recommended(run, tmp_path):
    write_csv(tmp_path / "b.csv", ["name", "town"], [["Ann", "X"], ["Bob", "Y"], ["Cid", "Z"]])
    told = run("duplicates", "b.csv").err.splitlines()
    assert "there is nothing to ask" in told[-1]
    assert "there is nothing to ask" in run("suggest", "b.csv").err
    assert "there is nothing more to ask" in run("suggest", "b.csv", "--ask").err


def test_questions_are_those_of_the_matcher(run, people):
    import pandas as pd

    frame = pd.read_csv("people.csv", dtype=str).drop(columns="id")
    with pytest.warns(nk.TableWarning):
        matcher = nk.RecordMatcher(random_state=0).fit(frame)
    asked = ("suggest", "none", "people.csv", "--id", "id", "-n", "4")
    found = [(number(x["left"]), number(x["right"])) for x in run(*asked).records]
    assert found == [tuple(pair) for pair in matcher.suggest(4).tolist()]
    reviewed = [(number(x["left"]), number(x["right"])) for x in run(*asked, "--review").records]
    assert reviewed == [tuple(pair) for pair in matcher.review(4)[0].tolist()]
    # A strategy of metrics is asked for by its name.
    assert len(run(*asked, "--strategy", "random").records) == 4
    assert "--review: this is for records" in run(
        *asked, "--strategy", "random", "--review", status=2
    ).err  # fmt: skip


def test_what_differs_is_marked():
    name, left, right = mark_differences("name", "Ann Smith", "ann Smyth")
    assert name.plain == "≠ name"
    assert [left.plain[span.start : span.end] for span in left.spans] == ["i"]
    assert [right.plain[span.start : span.end] for span in right.spans] == ["y"]
    for pair in (("Ann  B", "ann b"), (None, "ann")):
        name, left, right = mark_differences("name", *pair)
        assert name.plain == "  name"
        assert not left.spans
        assert not right.spans
    assert mark_differences("a", "[bold]", None)[1].plain == "[bold]"


# what is wrong


def test_wrong_files_of_records(run, people, tmp_path):
    write_csv(
        tmp_path / "p.csv", ["left", "right", "same"], [["p1", "p2", "no"], ["p3", "x", "no"]]
    )
    err = run(*GROUPS[:-1], "p.csv", status=2).err
    assert (
        "1 ids in p.csv are not in people.csv: 'x'. The first is in line 3, column 'right'" in err
    )
    write_csv(tmp_path / "empty.csv", ["id", "name"], [])
    assert "empty.csv has a header but no rows" in run("duplicates", "empty.csv", status=2).err
    write_csv(tmp_path / "one.csv", ["id", "name"], [["a", "Ann"]])
    assert "one.csv has too few rows" in run("duplicates", "one.csv", status=2).err
    pa.parquet.write_table(pa.table({"name": pa.array([], pa.string())}), tmp_path / "no.parquet")
    assert "no.parquet has too few rows" in run("duplicates", "none", "no.parquet", status=2).err
    (tmp_path / "old.csv").write_bytes("id,name\na,Ann\nb,J\xf6rg\n".encode("latin-1"))
    err = run("duplicates", "old.csv", status=2).err
    assert "old.csv is not a table in UTF-8 text: line 3 has the byte f6" in err
    assert "no such file" in run("duplicates", "nowhere.csv", status=2).err
    np.save(tmp_path / "rows.npy", np.ones((3, 2)))
    assert "is an array of numbers" in run("duplicates", "none", "rows.npy", status=2).err
    message = "--kinds nobody=name: people.csv has no such column"
    assert message in run(*GROUPS, "--kinds", "nobody=name", status=2).err
    message = "the data has a column 'group' already"
    write_csv(tmp_path / "g.csv", ["name", "group"], [["Ann B", "x"], ["Ann B", "y"], ["C", "z"]])
    assert message in run("duplicates", "g.csv", "--carry", "group", status=2).err


def test_answers_that_contradict_each_other_are_named_by_their_ids(run, people, tmp_path):
    told = [["p0", "p1", "yes"], ["p1", "p5", "yes"], ["p0", "p5", "no"], ["p2", "p3", "yes"]]
    write_csv(tmp_path / "a.csv", ["left", "right", "same"], [*told, ["p3", "p2", "no"]])
    for command in (("duplicates", "people.csv"), ("link", "people.csv", "b.csv")):
        if "b.csv" in command:
            write_csv(tmp_path / "b.csv", people.header, people.rows[:9])
            lines = ["p0,p1,yes", "p2,p1,yes", "p2,p3,yes", "p0,p3,no", "p5,p5,yes", "p5,p5,no"]
            (tmp_path / "a.csv").write_text("\n".join(["left,right,same", *lines]))
        err = run(*command, "--id", "id", "-p", "a.csv").err
        assert "and yet the first and the last differ" in err
        assert "are said to be the same and to differ" in err
        assert "p5" in err


def test_long_work_says_how_far_it_is(run, people, monkeypatch):
    monkeypatch.setattr("nearkin.cli.common._LONG", 0)
    monkeypatch.setattr("nearkin.cli.common._SELDOM", 0)
    err = run(*GROUPS).err
    assert "looking for records that may be the same (0 s, 50% done)" in err
    assert re.search(r"comparing [\d,]+ pairs of records \(\d s, 0% done\)", err)


def test_all_rows_and_all_candidates_can_be_written(run, people, tmp_path):
    every = run(*GROUPS, "--all").records
    assert list(every[0]) == ["group", *people.header]
    assert [[row[name] for name in people.header] for row in every] == people.rows
    groups = {}
    for one in run(*GROUPS).records:
        groups.setdefault(one["group"], set()).add(one["id"])
    of_each = {}
    for one in every:
        of_each.setdefault(one["group"], set()).add(one["id"])
    assert [ids for ids in of_each.values() if len(ids) > 1] == [*groups.values()]
    compared = run(*GROUPS, "--candidates", "--why").records
    says = [f"says {name}" for name in ("any two", *people.header[1:])]
    assert list(compared[0]) == ["left", "right", "chance", *says]
    told = {line.strip() for line in (tmp_path / "answers.csv").read_text().splitlines()}
    for one in compared[:200]:
        odds = sum(float(one[name]) for name in says)
        if not any({one["left"], one["right"]} <= {*line.split(",")} for line in told):
            assert float(one["chance"]) == pytest.approx(1 / (1 + np.exp(-odds)), abs=1e-4)
    write_csv(tmp_path / "b.csv", people.header, [[f"q{r[0]}", *r[1:]] for r in people.rows[:40]])
    links = run("link", "people.csv", "b.csv", "--id", "id", "--why").records
    pairs = run("link", "people.csv", "b.csv", "--id", "id", "--candidates").records
    assert {(x["left"], x["right"]) for x in links} < {(x["left"], x["right"]) for x in pairs}
    assert all(one["left"].startswith("p") and one["right"].startswith("qp") for one in pairs)
    assert says[1] in links[0]
    err = run(*GROUPS, "--all", "--canonical", status=2).err
    assert "--all, --candidates and --canonical: give one of them" in err
    assert "--why: say --candidates too" in run(*GROUPS, "--why", status=2).err
