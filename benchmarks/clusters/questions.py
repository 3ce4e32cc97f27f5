"""Questions instead of random pairs: what groups are worth after 20, 40 and 80 answers.

Questions name rows that are not judged by, and the classes answer them. The control groups the same
rows from 200 random pairs, half must-links and half cannot-links. In the end it is always
:class:`nearkin.Clusters`; of answers it is told as ``learn_actively`` tells it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.clusters.protocol import Rows, rows
from benchmarks.few_pairs.data import REPORTED
from benchmarks.resume import Job, Row
from nearkin import Clusters, MetricLearner, Pairs, learn_actively
from nearkin.questions.active import cluster_by_answers

STRATEGIES = ("clusters", "neighborhoods")
N_ASKED = (20, 40, 80)
CONTROL, N_CONTROL = "random", 200


def jobs(draws: int, names: tuple[str, ...] = REPORTED) -> Iterator[Job]:
    """Every strategy and the control on every set, a step for each draw."""
    for seed in range(draws):
        for name in names:
            for strategy in (CONTROL, *STRATEGIES):
                labels = {"part": "questions", "data": name, "strategy": strategy, "seed": seed}
                measure = at_random if strategy == CONTROL else asked
                yield Job(labels, measure, (name, max(N_ASKED), seed, strategy))


def asked(name: str, budget: int, seed: int, strategy: str = "clusters") -> list[Row]:
    """Adjusted Rand index after each number of answers, up to the budget."""
    part = rows(name, 0, seed)
    result = learn_actively(
        part.X,
        lambda i, j: bool(part.y[i] == part.y[j]),
        budget,
        goal="clusters",
        strategy=strategy,
        among=np.arange(part.test.start),
        random_state=seed,
    )
    found = []
    for n_asked in N_ASKED:
        if n_asked < budget:
            pairs = first_answers(result.history, n_asked, len(part.y))
            learner, rng = MetricLearner(random_state=seed), np.random.RandomState(seed)
            clusters = cluster_by_answers(learner, part.X, pairs, rng)
            found.append(judged(part, clusters, pairs, n_asked))
    return [*found, judged(part, result.clusters, result.pairs, budget)]


def at_random(name: str, budget: int, seed: int, strategy: str = CONTROL) -> list[Row]:
    """The control, which needs no answers; the budget is not its."""
    del budget, strategy
    part = rows(name, N_CONTROL, seed)
    clusters = Clusters(random_state=seed).fit(part.X, pairs=part.pairs)
    return [judged(part, clusters, part.pairs, N_CONTROL)]


def first_answers(
    history: tuple[tuple[int, int, bool | None], ...], n_asked: int, n_rows: int
) -> Pairs:
    """What was known after so many answers."""
    must = [(i, j) for i, j, same in history[:n_asked] if same is True]
    cannot = [(i, j) for i, j, same in history[:n_asked] if same is False]
    return Pairs(must, cannot, n_rows=n_rows)


def judged(part: Rows, clusters: Clusters, pairs: Pairs, n_asked: int) -> Row:
    """A row of results."""
    return {
        "n_asked": n_asked,
        "ari": round(part.score(clusters.labels_), 5),
        "n_clusters": clusters.n_clusters_,
        "k_true": part.k_true,
        "n_must": len(pairs.must_link),
        "n_groups": pairs.groups.count,
    }


def reached(found: list[Row], strategy: str, n_asked: int) -> dict[str, tuple[float, float]]:
    """For each set, the mean index after so many answers and that of the control."""

    def mean(name: str, **names: object) -> float:
        wanted = {"part": "questions", "data": name, **names}.items()
        return float(np.mean([row["ari"] for row in found if wanted <= row.items()]))

    sets = dict.fromkeys(row["data"] for row in found if row.get("part") == "questions")
    return {
        name: (mean(name, strategy=strategy, n_asked=n_asked), mean(name, strategy=CONTROL))
        for name in sets
    }
