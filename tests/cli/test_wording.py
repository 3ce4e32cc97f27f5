"""Messages of the library on the command line: options, no Python."""

import ast
import re
from pathlib import Path

import pandas as pd
import pytest

import nearkin
from nearkin.cli.common import PYTHON, list_settings, reword_for_options

SOURCES = Path(nearkin.__file__).parent
# What commands never run, or say in words of their own.
ELSEWHERE = (
    "cli/",
    "plot.py",
    "dask.py",
    "demo.py",
    "teaching/notebook",
    "teaching/places",
    "teaching/server/",
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
