"""Two people teach a lesson, one of them 10 % wrong: how many wrong answers come to light?

Ann and Bob answer the questions of a lesson on digits in turn, 150 answers in all, second opinions
among them. Ann is always right, Bob is wrong at random. As soon as the two disagree, both look
again, and settle it rightly. A wrong answer has come to light if the two disagreed about its pair,
or if it is listed as a suspect in the end.

    python -m benchmarks.answerers.two_people --draws 5 --overlap 0.2 --overlap 0.5
"""

from __future__ import annotations

import argparse
from typing import NamedTuple

import numpy as np

from nearkin.teaching.lesson import Lesson
from nearkin.teaching.records import records_of_digits
from nearkin.teaching.row_checks import Pair

N_ANSWERS = 150
WRONG = 0.1
NAMES = ("Ann", "Bob")
# A report takes longer than a question, so that people answer some questions between two of them.
_REPORT_EVERY = 5


class Found(NamedTuple):
    """How many answers were wrong, how many are listed, and rightly so; and Bob's rate."""

    wrong: int
    listed: int
    rightly: int
    rate: float


def one_draw(overlap: float, seed: int) -> Found:
    """A lesson of two people."""
    records = records_of_digits()
    y = np.array(records.columns["digit"])
    lesson = Lesson(records, overlap=overlap, seed=seed)
    rng = np.random.default_rng(seed)
    wrong: set[Pair] = set()
    listed: set[Pair] = set()
    for k in range(N_ANSWERS):
        if k % _REPORT_EVERY == 0:
            lesson.report()
        else:
            lesson.questions()
        name = NAMES[k % 2]
        second, fresh = lesson.questions_for(name)
        left, right = (second or fresh)[0]
        pair = min(left, right), max(left, right)
        same = bool(y[left] == y[right])
        lie = name == "Bob" and rng.random() < WRONG
        state = lesson.answer(left, right, same != lie, before="nothing", by=name)
        if lie:
            wrong.add(pair)
        if state["n_disputed"]:
            listed.add(pair)
            lesson.answer(left, right, same, "conflict", before="disputed", by="Ann")
    report = lesson.report()
    for one in report["suspects"]:
        listed.add((min(one["left"], one["right"]), max(one["left"], one["right"])))
    rates = {one["name"]: one["wrong"] for one in report["answerers"]["listed"]}
    return Found(len(wrong), len(listed), len(wrong & listed), rates["Bob"])


def main() -> None:
    """Print a line for each share of pairs that both are asked about."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--overlap", type=float, action="append")
    wanted = parser.parse_args()
    print("overlap  wrong answers  brought to light  precision  rate found of Bob")
    for overlap in wanted.overlap or [0.0, 0.2, 0.5]:
        found = [one_draw(overlap, seed) for seed in range(wanted.draws)]
        wrong, listed, rightly, rate = map(sum, zip(*found, strict=True))
        recall, precision = rightly / max(1, wrong), rightly / max(1, listed)
        print(
            f"{overlap:7.0%}  {wrong:13}  {recall:16.0%}  {precision:9.0%}"
            f"  {rate / len(found):17.1%}",
            flush=True,
        )


if __name__ == "__main__":
    main()
