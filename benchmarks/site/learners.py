"""What pages on learners, on choosing, on numbers of pairs and on noise say of stored results."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable
from functools import cache, partial
from importlib import import_module
from typing import Any

import numpy as np
from scipy.stats import rankdata

from benchmarks.answerers import run as answerers
from benchmarks.few_pairs import must_links
from benchmarks.few_pairs.data import REPORTED
from benchmarks.few_pairs.methods import EUCLIDEAN, FOR_SEARCH, OURS, metrics
from benchmarks.few_pairs.protocols import CLEAN, DRAWS, FEW_DRAWS, NOISY, PROTOCOLS, UNSEEN
from benchmarks.few_pairs.run import RAW as FEW_PAIRS
from benchmarks.papers.claims import plain
from benchmarks.published_tables import published, rows_where, without_title
from benchmarks.record import Table, stored

_WIDTH = 110
# Numbers of pairs that pages on learners look at.
_FEW, _MANY = 50, 200
_N_EXTREMES = 3
_MUST_LINKS = "must-links only"
_CIRCUMSTANCES = {
    "5 % of pairs wrong": "one pair in twenty is wrong",
    NOISY: "one pair in five is wrong",
    "35 % of pairs wrong": "one pair in three is wrong (35 %)",
    _MUST_LINKS: "must-links only",
    UNSEEN: "unseen classes (in no pair)",
}


# Few pairs


@cache
def _measured() -> dict[tuple[str, str, int, str], dict[int, dict[str, Any]]]:
    """Rows of the few pairs: by protocol, data set, number of pairs and method, then by draw."""
    found: dict[tuple[str, str, int, str], dict[int, dict[str, Any]]] = {}
    for row in stored(FEW_PAIRS)[1]:
        cell = row["protocol"], row["data"], row["n_pairs"], row["method"]
        found.setdefault(cell, {})[row["seed"]] = row
    return found


def _draws(protocol: str, data: str, n_pairs: int, method: str) -> dict[int, dict[str, Any]]:
    return _measured().get((protocol, data, n_pairs, method), {})


def _sets(protocol: str, method: str) -> list[str]:
    """Sets to report on, on which a method was measured with all numbers of pairs."""
    numbers = PROTOCOLS[protocol].n_pairs
    return [d for d in REPORTED if all(_draws(protocol, d, n, method) for n in numbers)]


def _mean(protocol: str, data: str, n_pairs: int, method: str, seeds: Iterable[int]) -> float:
    """Pair AUC over some draws."""
    draws = _draws(protocol, data, n_pairs, method)
    return float(np.mean([draws[seed]["auc"] for seed in seeds]))


def _gains(protocol: str, n_pairs: int, method: str, most: int = DRAWS) -> dict[str, float]:
    """Over the Euclidean distance, in the mean of the draws of the method."""
    found = {}
    for data in _sets(protocol, method):
        seeds = [seed for seed in _draws(protocol, data, n_pairs, method) if seed < most]
        auc, before = (_mean(protocol, data, n_pairs, m, seeds) for m in (method, EUCLIDEAN))
        found[data] = auc - before
    return found


def _mean_gain(protocol: str, n_pairs: int, method: str, most: int = DRAWS) -> float:
    return float(np.mean(list(_gains(protocol, n_pairs, method, most).values())))


def _single() -> list[str]:
    """Single learners: neither a choice among others nor what knows nothing of distances."""
    return [name for name in metrics(0) if name not in (OURS, FOR_SEARCH, "PCA whitening")]


def _ranks(n_pairs: int) -> dict[str, dict[str, float]]:
    """Rank of single learners in pair AUC, 1 the best, by learner and data set; two draws."""
    names = _single()
    found: dict[str, dict[str, float]] = {name: {} for name in names}
    for data in REPORTED:
        auc = [_mean(CLEAN, data, n_pairs, name, range(FEW_DRAWS)) for name in names]
        for name, rank in zip(names, rankdata(-np.array(auc)), strict=True):
            found[name][data] = float(rank)
    return found


def _words(data: str) -> str:
    return data.replace("_counts", "").replace("_", " ")


def _named(gains: dict[str, float], order: list[str]) -> str:
    return ", ".join(f"{_words(data)} {gains[data]:+.3f}" for data in order)


def few_pairs(*methods: str) -> str:
    """Where a learner gains and loses with 50 and 200 pairs, and in other circumstances."""
    body = []
    for method in methods:
        for n_pairs in (_FEW, _MANY):
            gains = _gains(CLEAN, n_pairs, method)
            order = sorted(gains, key=lambda data: -gains[data])
            auc = np.mean(
                [_mean(CLEAN, d, n_pairs, method, _draws(CLEAN, d, n_pairs, method)) for d in gains]
            )
            name = f"{method}, {n_pairs} pairs" if len(methods) > 1 else f"{n_pairs} pairs"
            above = sum(gain > 0 for gain in gains.values())
            figures = [
                f"{auc:.3f}",
                f"{_mean_gain(CLEAN, n_pairs, method):+.3f}",
                f"{above} of {len(gains)}",
            ]
            most, least = order[:_N_EXTREMES], order[: -_N_EXTREMES - 1 : -1]
            body.append([name, *figures, _named(gains, most), _named(gains, least)])
    columns = ["", "pair AUC", "gain", "sets with a gain", "gains most on", "gains least on"]
    draws = {len(_draws(CLEAN, REPORTED[0], _FEW, method)) for method in methods}
    said = (
        f"Gains in pair AUC over the Euclidean distance, on new rows of {len(REPORTED)} data sets "
        f"not used for tuning; means of {' or '.join(map(str, sorted(draws)))} draws:"
    )
    parts = [_filled(said), without_title(Table("", columns, body, 6)), _rank_words(methods)]
    elsewhere = _other_circumstances(methods)
    if elsewhere:
        parts += ["Mean gain in other circumstances, with the number of sets that gain:"]
        parts += [elsewhere]
    return "\n\n".join(part for part in parts if part)


def _rank_words(methods: tuple[str, ...]) -> str:
    """Ranks among single learners, and where it is the best of them, in sentences."""
    sentences = []
    for method in methods:
        if method not in _single():
            continue
        told = []
        for n_pairs in (_FEW, _MANY):
            ranks = _ranks(n_pairs)
            mine = ranks[method]
            first = [_words(data) for data, rank in mine.items() if rank == 1]
            last = [_words(data) for data, rank in mine.items() if rank == len(ranks)]
            words = f"{np.mean(list(mine.values())):.1f} with {n_pairs} pairs"
            ends = []
            if first:
                ends.append(f"the first on {_listed(first)}")
            if last:
                ends.append(f"the last on {_listed(last)}")
            told.append(words + (f" ({'; '.join(ends)})" if ends else ""))
        sentences.append(
            f"Mean rank of `{method}` among {len(_single())} single learners, 1 the best: "
            f"{' and '.join(told)}."
        )
    return _filled(" ".join(sentences))


def _other_circumstances(methods: tuple[str, ...]) -> str:
    body = []
    for method in methods:
        for protocol, words in _CIRCUMSTANCES.items():
            if not _sets(protocol, method):
                continue
            cells = []
            for n_pairs in (_FEW, _MANY):
                gains = _gains(protocol, n_pairs, method)
                above = sum(gain > 0 for gain in gains.values())
                mean = _mean_gain(protocol, n_pairs, method)
                cells.append(f"{mean:+.3f} ({above} of {len(gains)})")
            name = f"{method}: {words}" if len(methods) > 1 else words
            body.append([name, *cells])
    columns = ["", f"{_FEW} pairs", f"{_MANY} pairs"]
    return without_title(Table("", columns, body)) if body else ""


def overview() -> str:
    """All methods of the few pairs in one table."""
    table = published("few_pairs/RESULTS.md", "Pair AUC, all pairs right; 15 sets reported, all")
    took = published("few_pairs/RESULTS.md", "Seconds of a fit on one core")
    at = took.columns.index(f"{_MANY} pairs")
    seconds = {row[0]: row[at] for row in took.rows}
    ours = [*_single(), OURS]
    body = [
        [row[0] if row[0] in ours else f"*{row[0]}*", *row[1:], seconds[row[0]]]
        for row in table.rows
    ]
    columns = [*table.columns, f"seconds, {_MANY} pairs"]
    said = (
        "Pair AUC on new rows, means over 15 data sets not used for tuning and two draws, and the "
        f"median time of a fit to at most 600 rows with {_MANY} pairs on one core. Methods in "
        "italics are not part of nearkin:"
    )
    return f"{_filled(said)}\n\n{without_title(Table('', columns, body))}"


def below_euclidean() -> str:
    """What ten pairs make worse than no pair at all."""
    table = published("few_pairs/RESULTS.md", "Pair AUC, all pairs right; 15 sets reported, all")
    at = table.columns.index("10 pairs")
    auc = {row[0]: float(row[at]) for row in table.rows}
    below = [name for name in auc if auc[name] < auc[EUCLIDEAN]]
    ours = sorted(f"`{name}`" for name in below if name in _single())
    others = sorted(name.replace("|", r"\|") for name in below if name not in _single())
    return _filled(
        f"With ten pairs, {_listed(ours)} are below the Euclidean distance on average over fifteen "
        f"data sets. So are these methods from outside nearkin: {_listed(others)}."
    )


def unseen_classes() -> str:
    """Methods on rows of classes that are in no pair."""
    return without_title(published("few_pairs/RESULTS.md", "Pair AUC, unseen classes; 5 sets"))


def by_number_of_pairs() -> str:
    """Pair AUC of the chooser by data set and number of pairs."""
    numbers = PROTOCOLS[CLEAN].n_pairs
    body = []
    for data in REPORTED:
        auc = [_mean(CLEAN, data, n, OURS, range(DRAWS)) for n in numbers]
        before = _mean(CLEAN, data, numbers[0], EUCLIDEAN, range(DRAWS))
        half = next(
            n for n, a in zip(numbers, auc, strict=True) if a - before >= (auc[-1] - before) / 2
        )
        body.append([_words(data), f"{before:.3f}", *(f"{a:.3f}" for a in auc), str(half)])
    columns = ["", "Euclidean", *(f"{n} pairs" for n in numbers), "half of the gain by"]
    return without_title(Table("", columns, body))


def gain_kept() -> str:
    """The share of the gain that is left where pairs are wrong."""
    names = [OURS, "CosineMetric", "CosineMetric, rbf", "KernelBeta", "ITML", "PLDA"]
    rivals = ["random forest of pairs", "matrix for cosine"]
    protocols = (CLEAN, "5 % of pairs wrong", NOISY, "35 % of pairs wrong")
    body = []
    for method in [*names, *rivals]:
        cells = (
            f"{_mean_gain(protocol, n_pairs, method, FEW_DRAWS):+.3f}"
            for protocol in protocols
            for n_pairs in (_FEW, _MANY)
        )
        body.append([method if method in names else f"*{method}*", *cells])
    shares = ("all right", "5 % wrong", "20 % wrong", "35 % wrong")
    columns = ["", *(f"{share}, {n}" for share in shares for n in (_FEW, _MANY))]
    said = (
        f"Mean gain in pair AUC over the Euclidean distance, {len(REPORTED)} data sets and two "
        f"draws, with {_FEW} and {_MANY} pairs. Methods in italics are not part of nearkin:"
    )
    return f"{_filled(said)}\n\n{without_title(Table('', columns, body))}"


def with_must_links() -> str:
    """Gains of RCA and KernelBeta from must-links alone, by data set."""
    _, rows = stored(must_links.RAW)
    learners = [name for name in must_links.methods(0) if name != EUCLIDEAN]

    def mean(**wanted: Any) -> float:
        return float(np.mean([row["auc"] for row in rows if wanted.items() <= row.items()]))

    body = []
    for data in (*must_links.DATA, None):
        where = {"data": data} if data else {}
        before = mean(method=EUCLIDEAN, **where)
        gains = (mean(method=name, **where) - before for name in learners)
        body.append([_words(data or "mean"), f"{before:.3f}", *(f"{gain:+.3f}" for gain in gains)])
    said = "Pair AUC of the Euclidean distance, and gains over it; the mean of 10 to 50 must-links:"
    return f"{said}\n\n{without_title(Table('', ['', EUCLIDEAN, *learners], body))}"


# Costs


def cost(method: str, *tables: Callable[[], str]) -> str:
    """Median seconds of the few pairs, and what else was measured."""
    took = published("few_pairs/RESULTS.md", "Seconds of a fit on one core")
    row = next(row for row in took.rows if row[0] == method)
    seconds = dict(zip(took.columns, row, strict=True))
    said = (
        f"A fit to 600 rows at most takes {_seconds(seconds['50 pairs'])} with 50 pairs and "
        f"{_seconds(seconds['1000 pairs'])} with 1000, on one core (medians over fifteen data "
        "sets)."
    )
    return "\n\n".join([_filled(said), *(table() for table in tables)])


def _seconds(text: str) -> str:
    return "less than 0.01 s" if float(text) == 0 else f"{text} s"


def growth(method: str) -> str:
    """How time grows with rows, columns, landmarks and pairs."""
    table = published("speed/README.md", "Fit and transform; exponents")
    rows = [
        [row[0].partition(":")[0], *row[1:]]
        for row in table.rows
        if row[0].partition(": ")[2] == method
    ]
    columns = ["what grows", *table.columns[1:]]
    said = (
        "Fit and transform on two cores, from the smallest to the largest size; the exponent is "
        "that of a power law fitted to the last three sizes:"
    )
    return f"{_filled(said)}\n\n{without_title(Table('', columns, rows, table.n_words))}"


def one_more_pair(*methods: str) -> str:
    """What a person waits for after an answer."""
    table = published("speed/ONE_MORE_PAIR.md", "Milliseconds to the plane")
    rows = [row for row in table.rows if row[0] in methods]
    said = (
        "One more pair, with `partial_fit` and with `fit` anew: milliseconds until all 10,000 rows "
        "of 50 columns are in their new places:"
    )
    kept = [0, 1, 2, 3, len(table.columns) - 1]
    body = [[row[i] for i in kept] for row in rows]
    columns = [table.columns[i] for i in kept]
    return f"{_filled(said)}\n\n{without_title(Table('', columns, body))}"


def table_of(page: str, title: str, said: str) -> str:
    """A published table below a sentence."""
    return f"{_filled(said)}\n\n{without_title(published(page, title))}"


# Papers


def seen(paper: str, *begins: str) -> str:
    """Sentences of a paper's notes, found by how their templates begin, as a list."""
    run = import_module(f"benchmarks.papers.{paper}.run")
    rows = stored(run.RAW)[1]
    chosen = []
    for begin in begins:
        found = [claim for claim in run.SEEN if plain(claim.text).startswith(begin)]
        if len(found) != 1:
            raise ValueError(f"{len(found)} sentences on {paper} begin with {begin!r}.")
        chosen.append(found[0].sentence(rows))
    return "\n".join(_filled(f"- {sentence}", "  ") for sentence in chosen)


def ranks_of_paper() -> str:
    """Mean ranks of the generative paper's methods, printed and found."""
    table = published(f"papers/{_GENERATIVE}/RESULTS.md", "Tables 1 and 5. Mean ranks")
    begin = "Table 1: "
    body = [
        [row[0].removeprefix(begin), *row[1:]] for row in table.rows if row[0].startswith(begin)
    ]
    return without_title(Table("", table.columns, body))


# Choosing, numbers of pairs, noise


def report_intervals() -> str:
    """How often intervals of the report hold the truth."""
    table = published("calibration/RESULTS.md", "Share of 90 % intervals")
    table = rows_where(table, 0, "report_")
    rows = [[row[0].removeprefix("report_ of "), *row[1:]] for row in table.rows]
    said = (
        "How often the 90 % intervals of `report_` contained the figure measured on all pairs of "
        "new rows, and their mean width:"
    )
    columns = ["learned from", *table.columns[1:]]
    return f"{_filled(said)}\n\n{without_title(Table('', columns, rows))}"


def expected_gains() -> str:
    """What ten more answers gain, expected and real."""
    table = published("outlook/RESULTS.md", "Gain of the next ten answers")
    return without_title(rows_where(table, 0, "random"))


def questions() -> str:
    """Questions beside random pairs."""
    body = []
    for learner in ("KernelBeta", "ITML"):
        table = published("active/RESULTS.md", f"{learner}: the AUC of 500 random pairs")
        body += [
            [learner, row[0], row[1], row[4]]
            for row in table.rows
            if row[0] in ("neighborhoods", "uncertainty", "random")
        ]
    columns = ["learner", "questions", "data sets on which 200 or fewer are as good", "mean gap"]
    return without_title(Table("", columns, body, 2))


def suspects() -> str:
    """How many wrong pairs are found."""
    table = published("few_pairs/RESULTS.md", "suspects_")
    return without_title(table)


def several_answerers() -> str:
    """What answers of three are worth beside right ones."""
    gains = answerers.page(*stored(answerers.RAW)).blocks[1]
    assert isinstance(gains, Table)
    rows = [row for row in gains.rows if row[0] in ("mean", "share of the gain kept")]
    return without_title(Table("", ["", *gains.columns[1:]], rows))


def rates_of_answerers() -> str:
    """How near the rates of wrong answers are that are found."""
    rates = answerers.page(*stored(answerers.RAW)).blocks[2]
    assert isinstance(rates, Table)
    return without_title(rates)


def simulated_answerers() -> str:
    """How often intervals of rates hold, by who answers what."""
    table = published("answerers/INTERVALS.md", "90 % intervals of rates")
    return without_title(rows_where(table, 0, "all", "overlap", "pairs"))


def _listed(names: list[str]) -> str:
    return ", ".join(names[:-1]) + f" and {names[-1]}" if len(names) > 1 else names[0]


def _filled(text: str, indent: str = "") -> str:
    return textwrap.fill(
        text,
        _WIDTH,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


_KERNEL_PAPER, _SCALABLE = "yeung2007_kernel_approach", "yeung2007_scalable"
_GEOMETRY, _GENERATIVE = "lu2009_geometry_aware", "shi2011_generative"

BLOCKS: dict[str, Callable[[], str]] = {
    "few_pairs_overview": overview,
    "few_pairs_metric_learner": partial(few_pairs, OURS),
    "few_pairs_unseen_classes": unseen_classes,
    "few_pairs_below_euclidean": below_euclidean,
    "few_pairs_kernel_beta": partial(few_pairs, "KernelBeta"),
    "few_pairs_kernel_a": partial(few_pairs, "KernelA"),
    "few_pairs_llma": partial(few_pairs, "LLMA"),
    "few_pairs_itml": partial(few_pairs, "ITML", "ITML, rbf"),
    "few_pairs_gmml": partial(few_pairs, "GMML"),
    "few_pairs_geometry_aware": partial(few_pairs, "GeometryAware"),
    "few_pairs_generative": partial(few_pairs, "Generative"),
    "few_pairs_lmnn": partial(few_pairs, "LMNN"),
    "few_pairs_rca": partial(few_pairs, "RCA"),
    "few_pairs_plda": partial(few_pairs, "PLDA"),
    "few_pairs_cosine_metric": partial(few_pairs, "CosineMetric", "CosineMetric, rbf"),
    "few_pairs_column_weights": partial(few_pairs, "ColumnWeights"),
    "must_links": with_must_links,
    "cost_metric_learner": partial(
        cost,
        OURS,
        partial(
            table_of,
            "speed/METRIC_LEARNER.md",
            "Seconds of a first fit",
            "The first fit of a program, with 200 pairs, on two cores, in seconds:",
        ),
        partial(growth, OURS),
    ),
    "cost_kernel_beta": partial(
        cost, "KernelBeta", partial(growth, "KernelBeta"), partial(one_more_pair, "KernelBeta")
    ),
    "cost_kernel_a": partial(
        cost,
        "KernelA",
        partial(
            table_of,
            "speed/KERNEL_A.md",
            "Scaled",
            "Many rows of 50 columns, with 500 landmarks, 30 neighbours and 200 must-links:",
        ),
    ),
    "cost_llma": partial(cost, "LLMA"),
    "cost_itml": partial(
        cost, "ITML", partial(growth, "ITML"), partial(one_more_pair, "ITML", "ITML, rbf kernel")
    ),
    "cost_gmml": partial(
        cost, "GMML", partial(growth, "GMML"), partial(one_more_pair, "GMML", "GMML, rbf kernel")
    ),
    "cost_geometry_aware": partial(
        cost,
        "GeometryAware",
        partial(
            table_of,
            "speed/GEOMETRY_AWARE.md",
            "10 neighbours",
            "Many rows of 50 columns, with 10 neighbours, 20 smooth functions and 1000 pairs:",
        ),
    ),
    "cost_generative": partial(
        cost,
        "Generative",
        partial(growth, "Generative"),
        partial(
            table_of,
            "speed/GENERATIVE.md",
            "Median of three",
            "All 60,000 digits of MNIST, beside the bare eigenvectors and `LMNN`:",
        ),
    ),
    "cost_lmnn": partial(
        cost,
        "LMNN",
        partial(
            table_of,
            "speed/LMNN.md",
            "MNIST",
            "Digits of MNIST, 5000 rows of 40 principal components with all labels, judged by 2000 "
            "others (`by energy` is `EnergyClassifier`):",
        ),
    ),
    "cost_rca": partial(
        cost,
        "RCA",
        partial(
            table_of,
            "speed/README.md",
            "The same learner of two libraries",
            "Beside metric-learn, with rows of 30 columns; larger than 1 is faster than theirs:",
        ),
    ),
    "cost_plda": partial(cost, "PLDA"),
    "cost_cosine_metric": partial(cost, "CosineMetric"),
    "cost_column_weights": partial(cost, "ColumnWeights"),
    "speed_itml": partial(
        table_of,
        "speed/ITML.md",
        "Digits, 64 columns",
        "The same problem, 2000 pairs of digits of 64 columns, solved by metric-learn and here:",
    ),
    "papers_kernel_beta": partial(
        seen,
        _SCALABLE,
        "As published, {n_agrees} of {n} figures of KernelBeta",
        "J alone misleads",
        "As published, more landmarks need",
    ),
    "papers_kernel_beta_uci": partial(
        seen, _KERNEL_PAPER, "On the six UCI sets calibrated KernelBeta", "Two moons with ten pairs"
    ),
    "papers_kernel_a": partial(
        seen,
        _KERNEL_PAPER,
        "XOR with ten pairs",
        "On the six UCI sets KernelA with its defaults",
        "Two moons with ten pairs",
        "With its defaults, on ten draws",
    ),
    "papers_llma": partial(
        seen,
        _KERNEL_PAPER,
        "XOR with ten pairs",
        "On the six UCI sets KernelA with its defaults",
        "On the six UCI sets calibrated KernelBeta",
    ),
    "papers_geometry_aware": partial(
        seen,
        _GEOMETRY,
        "Few labels, means over all",
        "Ten digits with 50 labels",
        "New rows, by `transform`",
        "With must-links only",
    ),
    "papers_generative": partial(
        seen,
        _GENERATIVE,
        "As published, {n_agrees} of {n} figures of the generative",
        "Regularised covariances are better",
        "Letters, scaled",
        "M^UNI is {least",
    ),
    "papers_lmnn": partial(seen, _GENERATIVE, "Letters, scaled", "M^UNI is {least"),
    "papers_ranks": ranks_of_paper,
    "papers_multiple_kernel": partial(seen, _GENERATIVE, "Multiple kernels, splits"),
    "papers_manifold_alignment": partial(
        seen, _GEOMETRY, "Faces, ten random couples", "Objects, ten random triples"
    ),
    "report_intervals": report_intervals,
    "by_number_of_pairs": by_number_of_pairs,
    "expected_gains": expected_gains,
    "questions_or_random": questions,
    "gain_kept_with_wrong_pairs": gain_kept,
    "suspects_found": suspects,
    "several_answerers": several_answerers,
    "rates_of_answerers": rates_of_answerers,
    "simulated_answerers": simulated_answerers,
}
