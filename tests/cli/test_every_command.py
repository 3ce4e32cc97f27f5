"""Every command once, one after the other, on files as people have them."""

import io
import shlex

import pytest

from nearkin import Pairs
from nearkin.datasets import make_records, make_xor
from tests.cli.conftest import write_csv
from tests.few_trees import few_trees as few_trees  # for all tests here

ANSWERS = "y\nn\nu\nq\n"
# All but the studio, a server: tests/cli/test_as_a_user.py starts and ends one.
COMMANDS = """
nearkin fit rows.csv --id name --pairs pairs.csv -o model.nearkin
nearkin fit rows.csv --id name --pairs pairs.csv --test 0.2 -o tested.nearkin
nearkin info model.nearkin
nearkin evaluate model.nearkin new.csv --labels kind
nearkin transform model.nearkin new.csv --id name -o learned.parquet
nearkin same model.nearkin new.csv --id name --pairs questions.csv
nearkin neighbors model.nearkin rows.csv --id name --queries new.csv -k 5
nearkin duplicates model.nearkin rows.csv --id name
nearkin cluster rows.csv --id name --pairs pairs.csv -o clustered.csv
nearkin cluster model.nearkin rows.csv --clusters 10 -o clustered.csv
nearkin suggest model.nearkin rows.csv --id name --pairs pairs.csv --ask -o answers.csv
nearkin suggest none rows.csv --id name --ask -o answers.csv
nearkin plot model.nearkin new.csv --kind embedding --labels kind -o picture.svg
nearkin suggest none people.csv --id id --ask -o answers.csv
nearkin duplicates people.csv --id id --pairs answers.csv --save people.nearkin -o groups.csv
nearkin duplicates people.csv --id id --pairs answers.csv --precision 0.99 --canonical -o once.csv
nearkin duplicates people.nearkin more.csv --id id -o more_groups.csv
nearkin neighbors people.nearkin people.csv --id id -k 3
nearkin evaluate people.nearkin more.csv --id id --pairs known.csv
nearkin suggest none people.csv --id id --pairs answers.csv --review -n 20
nearkin link people.csv more.csv --id id -o links.csv
"""


@pytest.mark.night
def test_all_commands_run_in_order(run, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    X, y = make_xor(72, random_state=0)
    rows = [[f"row {i}", *x] for i, x in enumerate(X.tolist())]
    kinds = ["round" if k else "square" for k in y]
    write_csv(tmp_path / "rows.csv", ["name", "width", "height"], rows[:60])
    with_kind = [[*row, kind] for row, kind in zip(rows, kinds, strict=True)]
    write_csv(tmp_path / "new.csv", ["name", "width", "height", "kind"], with_kind[60:])
    pairs = Pairs.from_labels(y[:60], 24, random_state=0)
    links = [(f"row {i}", f"row {j}", "yes") for i, j in pairs.must_link]
    links += [(f"row {i}", f"row {j}", "no") for i, j in pairs.cannot_link]
    write_csv(tmp_path / "pairs.csv", ["left", "right", "same"], links)
    questions = [("row 60", "row 61"), ("row 62", "row 71")]
    write_csv(tmp_path / "questions.csv", ["left", "right"], questions)
    people, person = make_records(150, random_state=0)
    records = [[f"p{i}", *cells] for i, cells in enumerate(zip(*people.values(), strict=True))]
    write_csv(tmp_path / "people.csv", ["id", *people], records[:90])
    write_csv(tmp_path / "more.csv", ["id", *people], records[90:])
    known = [
        (f"p{i}", f"p{j}", person[i] == person[j]) for i in range(90, 150) for j in range(90, i)
    ]
    write_csv(tmp_path / "known.csv", ["left", "right", "same"], known)
    done = []
    for _, *arguments in map(shlex.split, COMMANDS.strip().splitlines()):
        monkeypatch.setattr("sys.stdin", io.StringIO(ANSWERS))
        if (
            "-o" in arguments
            and (there := tmp_path / arguments[arguments.index("-o") + 1]).exists()
        ):
            there.unlink()  # there are two ways to make it
        run(*arguments)
        done.append(arguments[0])
    assert {"fit", "evaluate", "transform", "same", "neighbors", "duplicates"} < set(done)
    assert {"cluster", "suggest", "plot", "info", "link"} < set(done)
    assert "</svg>" in (tmp_path / "picture.svg").read_text()
