"""Do 90 % intervals of answerers' rates hold the true ones? Simulated, over many settings.

    python -m benchmarks.answerers.intervals [HOW_MANY]

Each simulation draws two to six answerers with error rates between 5 and 40 %, rows of two to ten
classes, so few of them that pairs form triangles or so many that they hardly do, 60 to 500 pairs,
how many answer each pair, and how well a metric tells pairs apart that was learned elsewhere.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.record import Table, Text, provenance, publish
from nearkin import Answers, Pairs
from nearkin.pairs.closure import keys_of
from nearkin.scores.held_out import estimate_chances

FOLDER = Path(__file__).parent
PARTS = ("answerers", "rows", "classes", "pairs", "overlap", "metric", "rate")
FIGURES = ("held", "width", "error")
OVERLAP = {"none": 1, "two answer each pair": 2, "all answer each pair": 6}
# By how many standard deviations same pairs are nearer than others.
METRIC = {"no metric": 0.0, "weak metric": 1.0, "good metric": 2.0}


def simulated(seed: int) -> list[dict[str, Any]]:
    """One simulation: a line for each answerer."""
    rng = np.random.RandomState(seed)
    rates = rng.uniform(0.05, 0.4, rng.randint(2, 7))
    n_rows, n_classes = int(rng.choice([40, 150, 1000])), int(rng.choice([2, 4, 10]))
    n_pairs = int(rng.choice([60, 200, 500] if n_rows > 40 else [60, 200, 300]))
    overlap, metric = str(rng.choice(list(OVERLAP))), str(rng.choice(list(METRIC)))
    y = rng.randint(n_classes, size=n_rows)
    pairs = Pairs.from_labels(y, n_pairs, random_state=seed)
    links = np.concatenate([pairs.must_link, pairs.cannot_link])
    each = min(OVERLAP[overlap], len(rates))
    pair = np.repeat(np.arange(len(links)), each)
    who = np.concatenate([rng.permutation(len(rates))[:each] for _ in links])
    said = (y[links[pair, 0]] == y[links[pair, 1]]) ^ (rng.rand(len(pair)) < rates[who])
    answers = Answers(links[pair], said, who, n_rows=n_rows)
    before = seen_by_a_metric(answers, y, METRIC[metric], rng) if METRIC[metric] else None
    setting = {
        "answerers": len(rates),
        "rows": n_rows,
        "classes": n_classes,
        "pairs": n_pairs,
        "overlap": overlap,
        "metric": metric,
    }
    return [
        {
            **setting,
            "rate": f"{10 * round(10 * rates[int(one.name)])} %",
            "held": one.wrong.low <= rates[int(one.name)] <= one.wrong.high,
            "width": one.wrong.high - one.wrong.low,
            "error": abs(one.wrong.value - rates[int(one.name)]),
        }
        for one in answers.agreed(before).answerers
    ]


def seen_by_a_metric(
    answers: Answers, y: Any, deviations: float, rng: np.random.RandomState
) -> Any:
    """Chances of pairs by distances, as MetricLearner has them of held-out pairs."""
    given = answers.pairs
    links = np.concatenate([given.must_link, given.cannot_link])
    distance = rng.randn(len(links)) - deviations * (y[links[:, 0]] == y[links[:, 1]])
    before = np.empty(len(links))
    place = np.searchsorted(keys_of(answers.links), keys_of(links))
    before[place] = estimate_chances(given, np.argsort(np.argsort(distance)) / len(distance))
    return before


def main(how_many: int) -> None:
    """Simulate, and publish a table: all, and by each part of the setting."""
    groups: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for seed in range(how_many):
        for line in simulated(seed):
            groups["all"].append(line)
            for part in PARTS:
                groups[f"{part}: {line[part]}"].append(line)
    body = []
    for name in sorted(groups):
        of = groups[name]
        figures = [np.mean([line[figure] for line in of]) for figure in FIGURES]
        body.append([name, str(len(of)), *(f"{figure:.3f}" for figure in figures)])
    columns = ["setting", "answerers", "intervals that hold", "mean width", "mean error"]
    table = Table(f"90 % intervals of rates, {how_many} simulations", columns, body)
    words = Text(__doc__.rpartition("\n\n")[2])
    page = FOLDER / "INTERVALS.md"
    publish(page, "Answerers, simulated", [words, table], provenance())


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 600)
