"""The commands of the README, as it prints them, on files such as it names."""

import io
import shlex

import pytest

from nearkin import Pairs
from nearkin.datasets import make_records, make_xor
from tests.cli.conftest import write_csv
from tests.readme_blocks import README, blocks_of

ANSWERS = "y\nn\nu\nq\n"
# A server: tests/cli/test_as_a_user.py starts and ends one.
ENDLESS = "studio"


def commands():
    """Lines of shell blocks that call nearkin, without their comments."""
    blocks = blocks_of(README.read_text(encoding="utf-8"))
    lines = [line for b in blocks if b.language == "console" for line in b.text.splitlines()]
    return [shlex.split(line, comments=True) for line in lines if line.startswith("nearkin ")]


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
    for _, *arguments in commands():
        if arguments[0] == ENDLESS:
            continue
        monkeypatch.setattr("sys.stdin", io.StringIO(ANSWERS))
        if (
            "-o" in arguments
            and (there := tmp_path / arguments[arguments.index("-o") + 1]).exists()
        ):
            there.unlink()  # the README shows two ways to make it
        run(*arguments)
        done.append(arguments[0])
    assert {"fit", "evaluate", "transform", "same", "neighbors", "duplicates"} < set(done)
    assert {"cluster", "suggest", "plot", "info", "link"} < set(done)
    assert "</svg>" in (tmp_path / "picture.svg").read_text()
