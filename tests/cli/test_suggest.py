import io
import subprocess

import pytest
from sklearn.preprocessing import FunctionTransformer

from nearkin import suggest_pairs
from nearkin.cli import main
from tests.cases import each
from tests.waiting import PATIENCE

NAMED = ("rows.csv", "--id", "name", "-p", "pairs.csv")


@pytest.fixture
def answering(monkeypatch):
    def answering(text):
        monkeypatch.setattr("sys.stdin", io.StringIO(text))

    return answering


def test_questions_are_those_of_the_library(run, files, sample, model):
    records = run("suggest", "model.nearkin", *NAMED, "-n", 4).records
    expected = suggest_pairs(model, sample.X, sample.pairs, 4, random_state=0)
    assert [(r["left"], r["right"]) for r in records] == [(f"n{i}", f"n{j}") for i, j in expected]
    assert all(r["same"] == "" for r in records)


def test_a_file_of_questions_can_be_filled_in_and_learned_from(run, files, model):
    run("suggest", "model.nearkin", *NAMED, "-n", 4, "-o", "next.csv")
    text = (files / "next.csv").read_text()
    (files / "next.csv").write_text(text.replace(",\n", ",yes\n"))
    arguments = ("--exclude", "kind", "-p", "next.csv", "--learner", "rca", "-o", "m.nearkin")
    assert "4 pairs" in run("fit", "rows.csv", "--id", "name", *arguments).err


def test_answers_are_kept_one_by_one(run, files, model, answering):
    answering("y\nwhat\nn\nu\nq\n")
    arguments = ("suggest", "model.nearkin", *NAMED, "--ask", "-o", "answers.csv")
    result = run(*arguments)
    assert result.out == ""
    assert "3 answers added to answers.csv" in result.err
    lines = (files / "answers.csv").read_text().splitlines()
    assert lines[0] == "left,right,same"
    assert [line.rpartition(",")[2] for line in lines[1:]] == ["true", "false", ""]
    answering("y\n")  # and the end of the input
    assert "1 answer added" in run(*arguments).err
    again = (files / "answers.csv").read_text().splitlines()
    assert again[:4] == lines
    assert len({tuple(sorted(line.split(",")[:2])) for line in again[1:]}) == 4


def test_an_answer_is_on_the_disk_before_the_next_question(run, files, model, monkeypatch):
    seen = []

    class Person:
        def readline(self):
            seen.append(len((files / "answers.csv").read_text().splitlines()))
            if len(seen) == 3:
                raise KeyboardInterrupt
            return "n\n"

    monkeypatch.setattr("sys.stdin", Person())
    arguments = ("suggest", "model.nearkin", *NAMED, "--ask", "-o", "answers.csv")
    assert "interrupted" in run(*arguments, status=130).err
    assert seen == [1, 2, 3]
    assert len((files / "answers.csv").read_text().splitlines()) == 3


def given(path):
    return [line.rpartition(",")[2] for line in path.read_text().splitlines()[1:]]


ASK = ("suggest", "model.nearkin", *NAMED, "--ask", "-o", "answers.csv")


def test_each_answer_is_followed_by_what_more_are_worth(run, files, model, answering):
    answering("s\nd\nu\nq\n")
    lines = [line for line in run(*ASK).err.splitlines() if "more answers? " in line]
    assert len(lines) == 2  # nothing new after an unsure one
    assert all("pair AUC" in line or "too early to tell" in line for line in lines)
    answering("s\nq\n")
    quietly = run(*ASK, "--quiet").err
    assert "the same?" in quietly
    assert "more answers?" not in quietly
    assert "added to" not in quietly


def test_the_studio_s_keys_answer_too(run, files, model, answering):
    answering("s\nd\nSame\ndifferent\nunsure\nq\n")
    err = run(*ASK).err
    assert given(files / "answers.csv") == ["true", "false", "true", "false", ""]
    assert "s or y (same), d or n (different), u (unsure), z (undo), q (enough)" in err


def test_undo_brings_the_question_back(run, files, model, answering):
    answering("s\nd\n" + "z\n" * 2 + "n\nq\n")
    err = run(*ASK, "--show", "kind").err
    shown = [line for line in err.splitlines() if line.startswith("┃")]
    assert shown[3:5] == shown[1::-1]  # one, two, three, and back
    assert len(set(shown[:3])) == 3
    assert given(files / "answers.csv") == ["false"]
    assert "1 answer added to answers.csv" in err
    assert "kind" in err  # and no other column is shown
    assert "│ a " not in err
    answering("z\nq\n")  # what was answered another time stays
    assert "there is no answer of now to take back" in run(*ASK).err
    assert given(files / "answers.csv") == ["false"]


def test_ten_lines_that_are_no_answer_end_it(program, files, model):
    lines = "s\n" + "what\n" * 9 + "d\n" + "\n" * 100
    done = subprocess.run(
        [program, *ASK],
        cwd=files, input=lines, capture_output=True, text=True, check=False, timeout=PATIENCE,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stdout == ""
    assert "10 lines in a row were no answer" in done.stderr.splitlines()[-1]
    assert "2 answers added to answers.csv" in done.stderr
    assert given(files / "answers.csv") == ["true", "false"]


def test_answers_are_not_lost_in_a_new_file(run, files, model, monkeypatch):
    class Person:
        def readline(self):
            (files / "answers.csv").rename(files / "moved.csv")
            return "s\n"

    monkeypatch.setattr("sys.stdin", Person())
    assert main([*map(str, ASK)]) == 2
    assert not (files / "answers.csv").exists()


def test_what_another_program_adds_is_not_taken_back(run, files, model, monkeypatch, capsys):
    said = iter(["s\n", "z\n"])

    class Person:
        def readline(self):
            word = next(said)
            if word == "z\n":
                with open(files / "answers.csv", "a") as file:
                    file.write("n1,n2,true\n")
            return word

    monkeypatch.setattr("sys.stdin", Person())
    assert main([*map(str, ASK)]) == 2
    assert "was changed by another program" in capsys.readouterr().err
    assert given(files / "answers.csv") == ["true", "true"]


def test_the_first_questions_need_no_model(run, files, answering):
    which = ("suggest", "none", "rows.csv", "--id", "name", "--exclude", "kind")
    assert len(run(*which, "-n", 3).records) == 3
    answering("y\nn\nn\n")
    run(*which, "-n", 3, "--ask", "-o", "answers.csv")
    arguments = ("--exclude", "kind", "-p", "answers.csv", "--learner", "gmml", "-o", "m.nearkin")
    assert "3 pairs" in run("fit", "rows.csv", "--id", "name", *arguments).err


@each(
    ("arguments", "message"),
    [
        (("--ask", "-o", "answers.txt"), "answers go to a .csv file"),
        (("--ask", "-o", "rows.csv"), "other columns than left, right and same"),
        (("--strategy", "luck"), "strategy"),
        (("-n", 0), "--number"),
    ],
)
def test_wrong_arguments_are_explained(run, files, model, arguments, message):
    assert message in run("suggest", "model.nearkin", *NAMED, *arguments, status=2).err


def test_questions_for_groups_learn_from_the_answers(run, files, monkeypatch, answering):
    told = []

    class Learner(FunctionTransformer):
        def __init__(self, random_state=None):
            super().__init__()
            self.random_state = random_state

        def fit(self, X, *, pairs):
            told.append(len(pairs))
            self.threshold_ = 1.0
            return super().fit(X)

    monkeypatch.setattr("nearkin.MetricLearner", Learner)
    answering("s\nd\n" * 6 + "q\n")
    arguments = ("--strategy", "clusters", "--ask", "-o", "answers.csv")
    run("suggest", "none", "rows.csv", "--id", "name", "--exclude", "kind", *arguments)
    assert len(given(files / "answers.csv")) == 12
    assert len(told) == 2  # after five answers, and after ten
