"""The README as a program: its Python blocks run in order, in one interpreter.

    python -m tests.readme_blocks            # in this folder, with what each block printed as JSON
    python -m tests.readme_blocks --write    # put what they print into the README instead

A ``text`` block right after a Python block shows what that prints. A line of three dots in it
stands for lines that are left out: ``--write`` keeps as many before and after it as there were.
"""

import contextlib
import functools
import importlib
import io
import itertools
import json
import os
import re
import sys
import tempfile
import textwrap
from dataclasses import dataclass
from pathlib import Path

import nearkin

README = Path(__file__).parent.parent / "README.md"
# Packages that need not be there, by the reason: a block that imports one is skipped without it.
MAY_BE_ABSENT = {"torch": "torch is large, and not among what the tests install"}
# What shown and printed numbers may differ by: other platforms and versions round differently.
TOLERANCE = 0.02
_FENCED = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# A call with a number in its comment, which is what it gives: ``score(X, y)  # 1.0: always``.
_SAID = re.compile(r"^([\w.]+\([^#\n]*\))  # (-?\d+(?:\.\d+)?)(?=[:;,]|$)", re.MULTILINE)
_LEFT_OUT = "  ..."
_WIDTH = 100


@dataclass(frozen=True)
class Block:
    """What stands between fences: its language, its text, and where it is in the README."""

    language: str
    text: str
    start: int
    end: int
    line: int


def blocks_of(readme: str) -> list[Block]:
    """All blocks in their order."""
    return [
        Block(m[1], m[2], m.start(2), m.end(2), readme.count("\n", 0, m.start(2)) + 1)
        for m in _FENCED.finditer(readme)
    ]


def shown_after(readme: str) -> dict[int, Block]:
    """The output that the README shows, by the line of the Python block that it follows."""
    blocks = blocks_of(readme)
    return {
        code.line: output
        for code, output in itertools.pairwise(blocks)
        if (code.language, output.language) == ("python", "text")
        and readme[code.end : output.start] == "```\n\n```text\n"
    }


def run(readme: str) -> list[dict]:
    """What each Python block printed and said, or why it was skipped. The first error ends it."""
    # What a machine that is not in a hurry prints: candidates are compared until time is up.
    nearkin.MetricLearner.__init__.__kwdefaults__["time_budget"] = 600.0
    # Threads do what processes would, which import for seconds first.
    with contextlib.suppress(ModuleNotFoundError):
        distributed = importlib.import_module("distributed")
        distributed.LocalCluster = functools.partial(distributed.LocalCluster, processes=False)
    names: dict = {"__name__": "__main__"}
    results = []
    for block in blocks_of(readme):
        if block.language != "python":
            continue
        code = compile("\n" * (block.line - 1) + block.text, str(README), "exec")
        skipped = None
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            try:
                exec(code, names)
            except ModuleNotFoundError as error:
                if error.name not in MAY_BE_ABSENT:
                    raise
                skipped = MAY_BE_ABSENT[error.name]
        said = [] if skipped else [(n, eval(e, names)) for e, n in _SAID.findall(block.text)]
        result = {"line": block.line, "printed": printed.getvalue(), "skipped": skipped}
        results.append({**result, "said": [(float(n), float(value)) for n, value in said]})
    return results


def shortened(printed: str, like: str) -> str:
    """Output as the README shows it: wrapped, with as many lines left out as before."""
    lines = printed.rstrip().splitlines()
    before, dots, after = like.partition(f"{_LEFT_OUT}\n")
    head, tail = before.count("\n"), len(_unwrapped(after))
    if dots and len(lines) > head + tail + 1:
        lines = [*lines[:head], _LEFT_OUT, *lines[len(lines) - tail :]]
    wrapped = (line if line[:1] in " →" else textwrap.fill(line, _WIDTH) for line in lines)
    return "\n".join(wrapped) + "\n"


def _unwrapped(text: str) -> list[str]:
    """Lines as they were before they were wrapped: of the next one, no word had room."""
    lines: list[str] = []
    before = ""
    for line in text.splitlines():
        word = line.split(" ", 1)[0]
        if before[:1] not in ("", " ", "→") and len(before) + 1 + len(word) > _WIDTH:
            lines[-1] += f" {line}"
        else:
            lines.append(line)
        before = line
    return lines


def agree(shown: str, expected: str) -> bool:
    """Whether two texts have the same words, and numbers that are nearly the same."""
    words = shown.split(), expected.split()
    if len(words[0]) != len(words[1]):
        return False
    return all(map(_agree, *words))


def _agree(a: str, b: str) -> bool:
    number = re.compile(r"[-+−]?\d+(?:\.\d+)?")
    if number.sub("#", a) != number.sub("#", b):
        return False
    pairs = zip(number.findall(a), number.findall(b), strict=True)
    return all(abs(_value(x) - _value(y)) <= _tolerance(x) for x, y in pairs)


def _value(number: str) -> float:
    return float(number.replace("−", "-"))


def _tolerance(number: str) -> float:
    return TOLERANCE if "." in number else 100 * TOLERANCE  # shares, and per cent or counts


def write() -> None:
    """Put what blocks print into the README."""
    readme = README.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        printed = {result["line"]: result["printed"] for result in run(readme)}
    for line, block in reversed(shown_after(readme).items()):
        new = shortened(printed[line], block.text)
        readme = readme[: block.start] + new + readme[block.end :]
    README.write_text(readme, encoding="utf-8")


if __name__ == "__main__":
    os.environ.setdefault("MPLBACKEND", "Agg")
    if sys.argv[1:] == ["--write"]:
        write()
    else:
        json.dump(run(README.read_text(encoding="utf-8")), sys.stdout)
