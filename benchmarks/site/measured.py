"""What the benchmarks show, in a line or two each: docs/measured/index.md."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

import numpy as np

from benchmarks.published_tables import published, rows_where, without_title
from benchmarks.record import Table
from benchmarks.site import rows_of

_PAPERS = (
    "yeung2007_scalable",
    "yeung2007_kernel_approach",
    "lu2009_geometry_aware",
    "shi2011_generative",
)


def papers() -> str:
    """What each paper's run.py says of it in a sentence."""
    lines = []
    for name in _PAPERS:
        paper = import_module(f"benchmarks.papers.{name}.run")
        rows = rows_of(f"papers/{name}/results.jsonl")
        lines += [f"- [{paper.TITLE}](papers/{name}.md)", ""]
        lines += [f"  {claim.sentence(rows)}." for claim in paper.ON_SITE] + [""]
    return "\n".join(lines[:-1])


def _cell(page: str, title: str, row: str, column: str | int) -> str:
    """One cell of a published table: the first row that begins so, and a column by its name."""
    table = rows_where(published(page, title), 0, row)
    at = column if isinstance(column, int) else table.columns.index(column)
    return table.rows[0][at]


def _few_pairs() -> str:
    table = dict(published("few_pairs/RESULTS.md", "MetricLearner on 15 sets reported").rows)
    *_, unseen = (name for name in table if name.startswith("unseen classes"))
    return (
        f"`MetricLearner` has a mean rank of {table['mean rank in pair AUC']}, a mean gain in pair "
        f"AUC over the Euclidean distance of {table['mean gain over Euclidean']}, and in its worst "
        f"case {table['worst cell against Euclidean']}. With one pair in five wrong "
        f"{table['share of the gain kept with 20 % wrong']} of the gain is kept. On "
        f"{unseen.partition(':')[0]}, mean and worst gain are {table[unseen]}."
    )


def _must_links() -> str:
    title = "Held-out pair AUC: Euclidean, and gains over it"
    ours, published_ = (
        _cell("few_pairs/MUST_LINKS.md", title, "mean", name)
        for name in ("KernelBeta", "KernelBeta, paper")
    )
    rca = _cell("few_pairs/MUST_LINKS.md", title, "mean", "RCA")
    return (
        f"From must-links alone `KernelBeta` gains {ours} in pair AUC on average; the published "
        f"formula gains {published_}, and `RCA` {rca}."
    )


def _calibration() -> str:
    page = "calibration/RESULTS.md"
    errors = published(page, "Probabilities by number of pairs; sets reported")
    error = rows_where(errors, 0, "expected calibration error").rows[0]
    held = rows_where(published(page, "Share of 90 % intervals"), 0, "report_ of all").rows[0]
    return (
        f"Stated probabilities are off by {error[2]} on average with {errors.columns[2]} pairs and "
        f"by {error[4]} with {errors.columns[4]}. Of the 90 % intervals of a report, the share "
        f"that holds the truth is {held[1].split()[0]} for pair AUC and {held[3].split()[0]} for "
        "recall."
    )


def _clusters() -> str:
    table = published("clusters/RESULTS.md", "What it shows")
    first, last = table.rows[0][1].split(":")[0].split(", "), table.rows[-1][1]
    return (
        f"With 200 pairs `Clusters` reaches an adjusted Rand index of {first[0]}; k-means that is "
        f"told the true number of groups has {first[1]} in the same metric. The number of groups "
        f"is within a fifth of the truth in {last}."
    )


def _records() -> str:
    rows = [
        row
        for row in rows_of("records/results.jsonl")
        if row.get("method") == "RecordMatcher"
        and row["seed"] < 2
        and row["data"] != "DBLP and ACM"
    ]
    said = []
    for n in (0, 50):
        of = [row["f1"] for row in rows if row["n_answers"] == n and row["protocol"] == "suggested"]
        words = f"with {n} answers" if n else "without any answer"
        said.append(f"{np.mean(of):.3f} {words} (at worst {min(of):.3f})")
    return f"F1 of duplicates over the tables tried: {said[0]}, {said[1]}."


def _answerers() -> str:
    found = rows_where(published("answerers/INTERVALS.md", "90 % intervals of rates"), 0, "all")
    return (
        "Each person's error rate is estimated from answers to the same pairs: "
        f"{float(found.rows[0][2]):.0%} of the 90 % intervals hold the true rate, and the mean "
        f"error is {found.rows[0][4]}."
    )


def _active() -> str:
    title = "{}: the AUC of 500 random pairs by questions of each strategy"
    told = []
    for name in ("KernelBeta", "ITML"):
        table = published("active/RESULTS.md", title.format(name))
        told.append(f"`{name}` {rows_where(table, 0, 'neighborhoods').rows[0][1]}")
    return (
        "On how many data sets 200 suggested questions teach as much as 500 random pairs: "
        f"{', '.join(told)}. On the others they do not."
    )


def _outlook() -> str:
    table = rows_where(published("outlook/RESULTS.md", "Gain of the next ten answers"), 0, "random")
    rows = rows_where(table, 1, "MetricLearner").rows
    (first, *_, last) = (dict(zip(table.columns, row, strict=True)) for row in rows)
    inside = sorted((row[5] for row in rows), key=lambda share: int(share.rstrip("%")))
    return (
        f"Ten more answers after {first['answers']} raise pair AUC of `MetricLearner` by "
        f"{first['real']}, where `outlook` expects {first['expected']}, and after "
        f"{last['answers']} by {last['real']} instead of {last['expected']}. Of its 90 % "
        f"intervals, {inside[0]} to {inside[-1]} hold the gain."
    )


def _explanations() -> str:
    table = rows_where(published("explanations/RESULTS.md", "Columns taken away"), 0, "to report")
    row = next(row for row in table.rows if row[1:3] == ["MetricLearner", "any"])
    return (
        "Without the three columns that `explain` names, the chance to be the same moves "
        f"{row[-1]} times as far as without three others ({row[-3]} and {row[-2]})."
    )


def _presses() -> str:
    table = published("teaching/PRESSES.md", "Pair AUC on rows that were held out, by key presses")
    at = dict(zip(table.columns, table.rows[0], strict=True))
    return (
        f"On digits, pair AUC is {at['0']} at first, {at['30']} after 30 key presses and "
        f"{at['60']} after 60."
    )


def _groups() -> str:
    table = published("teaching/GROUPS.md", "Points by the group that the studio colours them by")
    right = {row[0]: row[5] for row in table.rows if row[1] == "40"}
    told = ", ".join(f"{name} {share}" for name, share in right.items())
    return f"Share of points coloured rightly after 40 key presses: {told}."


def _studio() -> str:
    table = published("studio/RESULTS.md", "Milliseconds from an answer")
    told = [f"{row[5]} ms for {row[0]}" for row in table.rows if row[1] == "points at rest"]
    return (
        f"From a key press to the first frame with what was learned: {', '.join(told)} (medians)."
    )


def _studio_map() -> str:
    table = published("studio_map/RESULTS.md", "10-NN accuracy in the plane")
    at = {name: table.columns.index(name) for name in ("set", "map", "UMAP", "map / UMAP")}
    beside = [f"{row[at['set']]} {row[at['map / UMAP']]}" for row in table.rows if row[at["UMAP"]]]
    if beside:
        return f"Accuracy in the plane as a share of that of UMAP: {', '.join(beside)}."
    alone = ", ".join(f"{row[at['set']]} {row[at['map']]}" for row in table.rows)
    return f"Accuracy in the plane: {alone}."


def _speed() -> str:
    table = dict(published("speed/README.md", "What to expect").rows)
    million = table["`KernelBeta`, 1,000,000 rows of 50 columns, 1000 landmarks: fit and transform"]
    disk = table["`KernelBeta`, 10,000,000 rows of 50 columns from one Parquet file to another"]
    return (
        f"`KernelBeta`, fit and transform of a million rows of 50 columns on two cores: {million}. "
        f"Ten million rows from one Parquet file to another: {disk}."
    )


def _mutants() -> str:
    table = published("mutants/RESULTS.md", "Score")
    scores = [float(row[-1].split()[0]) for row in table.rows]
    return (
        f"Tests notice between {min(scores):.1f} and {max(scores):.1f} % of small mistakes that "
        f"were put into {len(scores)} modules."
    )


def _campaigns() -> str:
    table = published("campaigns/RESULTS.md", "Campaigns")
    trials, open_ = (table.columns.index(name) for name in ("trials", "open"))
    n = sum(int(row[trials]) for row in table.rows)
    left = sum(int(row[open_] or 0) for row in table.rows)
    return (
        f"{n:,} random trials of what nearkin promises: damaged files, hostile requests, odd data, "
        f"killed processes. Kinds of broken promises that are not mended: {left}."
    )


def _listed(pages: dict[str, tuple[str, Callable[[], str]]]) -> Callable[[], str]:
    def block() -> str:
        body = [[f"[{title}]({page}.md)", shown()] for page, (title, shown) in pages.items()]
        return without_title(Table("", ["page", "what it shows"], body, 2))

    return block


BLOCKS = {
    "papers": papers,
    "measured_metrics": _listed(
        {
            "few_pairs": ("Few pairs", _few_pairs),
            "must_links": ("Must-links only", _must_links),
            "calibration": ("Probabilities and intervals", _calibration),
            "explanations": ("Explanations", _explanations),
        }
    ),
    "measured_tasks": _listed(
        {
            "clusters": ("Clusters from pairs", _clusters),
            "records": ("Duplicates among records", _records),
        }
    ),
    "measured_people": _listed(
        {
            "active": ("Questions instead of random pairs", _active),
            "outlook": ("What ten more answers gain", _outlook),
            "answer_intervals": ("Who is how often wrong", _answerers),
            "presses": ("Key presses", _presses),
            "groups": ("Groups by key presses", _groups),
            "studio": ("The studio in a browser", _studio),
            "studio_map": ("The map of the studio", _studio_map),
        }
    ),
    "measured_speed": _listed({"speed/index": ("Speed and memory", _speed)}),
    "measured_trust": _listed(
        {"mutants": ("Mutants", _mutants), "campaigns": ("Campaigns", _campaigns)}
    ),
}
