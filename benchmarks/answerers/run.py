"""Three answerers who are wrong in 10, 20 and 35 % of their answers: how much of the gain is kept?

Draws are those of the few pairs: 200 pairs of 60 % of up to 1000 rows, and pair AUC on the others.
Each pair is answered by two of the three, whichever two, or by all three. MetricLearner is given
these answers, or what most of them say (where two contradict each other, nothing), or right answers
to all 200 pairs. Settings were chosen on other data sets (``few_pairs.data.TUNED_ON``).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
from sklearn.metrics import roc_auc_score

from benchmarks.few_pairs.data import REPORTED, Draw, draw
from benchmarks.few_pairs.judging import judged_links
from benchmarks.record import Page, Table, Text, publish_page, stored
from benchmarks.resume import Job, complete
from nearkin import Answers, Euclidean, MetricLearner, Pairs
from nearkin.rows.distances import linked_distances

FOLDER = Path(__file__).parent
RAW = FOLDER / "results.jsonl"
N_PAIRS = 200
RATES = {"Ann": 0.1, "Bob": 0.2, "Cy": 0.35}
EUCLIDEAN, RIGHT, ANSWERS, MAJORITY = "Euclidean", "right answers", "answers", "majority"
# How many answer each pair, and what is made of it.
WAYS = ((0, EUCLIDEAN), (0, RIGHT), *((n, way) for n in (2, 3) for way in (ANSWERS, MAJORITY)))
Row = dict[str, Any]


class Asked(NamedTuple):
    """Answers to pairs, in arrays, one for each answer."""

    links: np.ndarray
    same: np.ndarray
    by: np.ndarray


def asked(part: Draw, n_each: int, data: str, seed: int) -> Asked:
    """What so many of the answerers say of each pair."""
    rng = np.random.RandomState(crc32(data.encode()) + seed)
    pairs = np.concatenate([part.pairs.must_link, part.pairs.cannot_link])
    by = np.concatenate([rng.permutation(list(RATES))[:n_each] for _ in pairs])
    links = np.repeat(pairs, n_each, axis=0)
    same = part.y[links[:, 0]] == part.y[links[:, 1]]
    wrong = rng.rand(len(by)) < np.array([RATES[name] for name in by])
    return Asked(links, same ^ wrong, by)


def majority(said: Asked, n_each: int, n_rows: int) -> Pairs:
    """What most say; nothing of pairs of which as many say the opposite."""
    votes = np.where(said.same, 1, -1).reshape(-1, n_each).sum(axis=1)
    links = said.links[::n_each]
    return Pairs(links[votes > 0], links[votes < 0], n_rows=n_rows)


def jobs(seeds: Iterable[int], sets: Iterable[str] = REPORTED) -> Iterator[Job]:
    """All ways, draw by draw."""
    for seed in seeds:
        for data in sets:
            for n_each, way in WAYS:
                names = {"data": data, "seed": seed, "n_each": n_each, "way": way}
                yield Job(names, measure, (data, seed, n_each, way))


def run(draws: int) -> None:
    """Measure what is not stored yet."""
    complete(RAW, jobs(range(draws)), "answerers", processes=2)


@lru_cache(maxsize=1)
def _part(data: str, seed: int) -> Draw:
    return draw(data, N_PAIRS, 0.0, seed)


def measure(data: str, seed: int, n_each: int, way: str) -> list[Row]:
    """One metric on one draw, and the rates that it found."""
    part = _part(data, seed)
    metric = Euclidean() if way == EUCLIDEAN else MetricLearner(random_state=seed)
    pairs: Any = part.pairs
    if n_each:
        said = asked(part, n_each, data, seed)
        pairs = majority(said, n_each, len(part.X))
        if way == ANSWERS:
            pairs = Answers(*said, n_rows=len(part.X))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        metric.fit(part.X, pairs=pairs)
    links, same = judged_links(part, seed)
    auc = roc_auc_score(same, -linked_distances(metric.transform(part.X_test), links))
    found: Row = {"auc": round(float(auc), 4)}
    if way == ANSWERS:
        found["rates"] = {
            one.name: [
                round(figure, 4) for figure in (one.wrong.value, one.wrong.low, one.wrong.high)
            ]
            for one in metric.answerers_
        }
    return [found]


def score() -> None:
    """Tables from the stored results."""
    publish_page(FOLDER / "RESULTS.md", page(*stored(RAW)))


def page(source: Any, rows: list[Row]) -> Page:
    """Tables from results."""
    return Page(
        "Three answerers", [Text(__doc__.partition("\n\n")[2]), _gains(rows), _rates(rows)], source
    )


def _gains(rows: list[Row]) -> Table:
    sets = list(dict.fromkeys(row["data"] for row in rows))
    draws = len({row["seed"] for row in rows})

    def mean(data: str, n_each: int, way: str) -> float:
        wanted = {"data": data, "n_each": n_each, "way": way}
        return float(np.mean([row["auc"] for row in rows if wanted.items() <= row.items()]))

    found = np.array([[mean(data, *way) for way in WAYS] for data in sets])
    gain = (found[:, 1:] - found[:, :1]).mean(axis=0)
    body = [[data, *(f"{auc:.3f}" for auc in line)] for data, line in zip(sets, found, strict=True)]
    body.append(["mean", *(f"{auc:.3f}" for auc in found.mean(axis=0))])
    body.append(["share of the gain kept", "", *(f"{share:.0%}" for share in gain / gain[0])])
    named = [f"{way}, {n} each" if n else way for n, way in WAYS]
    return Table(f"Pair AUC, {draws} draws", ["data", *named], body)


def _rates(rows: list[Row]) -> Table:
    body = []
    for n_each in (2, 3):
        for name, rate in RATES.items():
            wanted = {"n_each": n_each, "way": ANSWERS}
            value, low, high = np.array(
                [row["rates"][name] for row in rows if wanted.items() <= row.items()]
            ).T
            held = np.mean((low <= rate) & (rate <= high))
            figures = (value.mean(), np.abs(value - rate).mean(), (high - low).mean(), held)
            body.append([name, str(n_each), f"{rate:.2f}", *(f"{x:.3f}" for x in figures)])
    columns = ["who", "answer each pair", "true rate", "mean found", "mean error", "mean width"]
    return Table("Rates of wrong answers", [*columns, "90 % intervals that hold"], body)
