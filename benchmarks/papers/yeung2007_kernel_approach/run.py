"""Figures 1 to 4 and Tables II and III of Yeung and Chang (2007), by the paper's protocol.

Clustering by k-means under each metric, scored by balanced Rand: the mean over 20 runs of k-means
for each draw of pairs. One setting of every learner for all data sets; "as published" does what the
text says, other rows have the names of what they do. NOTES.md says what the paper leaves out.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.papers.overview import AGREES, BELOW, NOT_COMPARABLE, Line
from benchmarks.papers.yeung2007_kernel_approach import published
from benchmarks.papers.yeung2007_kernel_approach.comparison import (
    BETTER,
    ENOUGH,
    KERNEL_BASED,
    PUBLISHED,
    RIVALS,
    VERSIONS,
    WORSE,
    Results,
    best_of,
    compared,
    complete_draws,
    counted,
    mean,
    results_of,
    values,
)
from benchmarks.papers.yeung2007_kernel_approach.methods import (
    ARTIFICIAL,
    BETA,
    CENTRED_CUT,
    DIGITS,
    DRAWS,
    LLMA_,
    METRICS,
    MPCK,
    ORDER,
    OWN_DIGITS,
    RCA_,
    RUNS,
    UCI,
    Row,
    data_set,
    jobs,
)
from benchmarks.papers.yeung2007_kernel_approach.seen import ON_SITE, SEEN
from benchmarks.record import Page, Picture, Table, Text, publish_page, stored
from benchmarks.resume import complete
from nearkin import Pairs, plot

__all__ = ["FOLDER", "ON_SITE", "RAW", "SEEN", "TIME", "TITLE", "overview", "page"]

FOLDER = Path(__file__).parent
RAW = FOLDER / "results.jsonl"
TITLE = "A kernel approach for semisupervised metric learning (2007)"
TIME = "some twenty minutes on one core, and an hour and a half for the digits, estimated"
NAMES = (*ARTIFICIAL, *UCI, *DIGITS, *OWN_DIGITS)
_SHOWN = ("Euclidean", RCA_, LLMA_, *PUBLISHED)


def run(draws: int) -> None:
    """Measure what is not stored yet, in the paper's number of draws; the digits come last."""
    for names in ((*ARTIFICIAL, *UCI), *((name,) for name in (*DIGITS, *OWN_DIGITS))):
        complete(RAW, jobs(names), " ".join(names[-1:]))


def score() -> None:
    """Write tables and draw pictures."""
    import matplotlib as mpl

    mpl.use("Agg")
    publish_page(FOLDER / "RESULTS.md", page())
    boxes(results_of(stored(RAW)[1]))
    for name in ARTIFICIAL:
        embeddings(name)


def page() -> Page:
    """Means and deviations, and paired t-tests, from the stored results."""
    source, rows = stored(RAW)
    results = results_of(rows)
    words = (
        f"Each figure is a mean over draws of pairs, each of which has {RUNS} runs of k-means. "
        "No published number survives in the text that we have; what the paper concludes from its "
        "tables and figures is in the last table."
    )
    return Page(
        "A kernel approach, reproduced",
        [
            Text(words),
            means(results, "Figures 3 and 4: balanced Rand of k-means", (*ARTIFICIAL, *UCI)),
            means(results, "Table III, digits: balanced Rand of k-means", DIGITS),
            means(results, "Other digits, of our own: balanced Rand of k-means", OWN_DIGITS),
            tests(results),
            conclusions(rows),
            Picture("xor.png", "Figure 1: XOR under five metrics"),
            Picture("two_moons.png", "Figure 2: two moons under five metrics"),
            Picture("boxes.png", "Figures 3 and 4 and Table III as box plots"),
        ],
        source,
    )


def means(results: Results, title: str, names: tuple[str, ...]) -> Table:
    """Means and deviations over draws, with the number of draws."""

    def cell(name: str, method: str) -> str:
        found = np.array(list(values(results, name, method).values()))
        if len(found) == 0:
            return "not measured"
        deviation = found.std(ddof=1) if len(found) > 1 else 0.0
        fewer = f" ({len(found)} draws)" if len(found) < DRAWS[name] else ""
        return f"{found.mean():.3f} ± {deviation:.3f}{fewer}"

    body = [["draws of pairs", *[str(DRAWS[name]) for name in names]]]
    body += [[method, *[cell(name, method) for name in names]] for method in ORDER]
    return Table(f"{title}, mean and deviation of draws", ["", *names], body)


def tests(results: Results) -> Table:
    """Table II, for all data sets and more methods."""
    body = [
        [f"{ours} against {rival}", *[compared(results, name, ours, rival) for name in NAMES]]
        for rival in ("Euclidean", *RIVALS, "RCA, shrunk")
        for ours in KERNEL_BASED
    ]
    title = (
        "Table II, paired t-tests at 0.05: + significantly above, − below, = neither, "
        "nothing where fewer than two draws are measured"
    )
    return Table(title, ["", *NAMES], body)


def conclusions(rows: list[Row]) -> Table:
    """What the paper concludes, and whether our results do."""
    body = [[x.what, x.published, x.ours, x.best, x.verdict] for x in overview(rows)]
    columns = ["", "published", "as published, by us", "best of ours", "verdict"]
    return Table("What the paper concludes", columns, body, n_words=5)


def overview(rows: list[Row]) -> list[Line]:
    """A line for each figure, each comparison of Table II and each column of Table III."""
    results = results_of(rows)
    pictures = [
        Line(what, words, told(results, name, PUBLISHED), best(results, name), _UNCOUNTED)
        for what, words, name in (
            ("Figure 1, XOR, a picture", published.FIGURE_1, "xor"),
            ("Figure 2, two moons, a picture", published.FIGURE_2, "two moons"),
        )
    ]
    return [
        *pictures,
        *(above_rca(results, "xor", ours) for ours in PUBLISHED),
        *(promising(results, ours) for ours in PUBLISHED),
        *(
            generally(results, f"{what}, {VERSIONS[ours][0]}", words, ours, rivals)
            for what, words, rivals in (
                ("Figure 4, UCI, against RCA", published.FIGURE_4, (RCA_,)),
                ("Table II, UCI, against MPCK-means", published.TABLE_2_MPCK, MPCK),
                ("Table II, UCI, against LLMA", published.TABLE_2_LLMA, (LLMA_,)),
            )
            for ours in PUBLISHED
        ),
        *(best_of_all(results, name) for name in DIGITS),
    ]


_UNCOUNTED = f"{NOT_COMPARABLE}: {published.NO_NUMBER}"


def told(results: Results, name: str, methods: tuple[str, ...]) -> str:
    return ", ".join(
        f"{method.split(',')[0]} {mean(results, name, method):.3f}" for method in methods
    )


def best(results: Results, name: str, methods: tuple[str, ...] = KERNEL_BASED) -> str:
    method = best_of(results, name, methods)
    return f"{mean(results, name, method):.3f} ({method})"


def above_rca(results: Results, name: str, ours: str) -> Line:
    """Figure 3: a method as published is significantly above RCA."""
    called, versions = VERSIONS[ours]
    return Line(
        f"Figure 3, {name}, {called}",
        published.FIGURE_3,
        told(results, name, (ours, RCA_)),
        best(results, name, versions),
        AGREES if compared(results, name, ours, RCA_) == BETTER else f"{BELOW}: not above RCA",
    )


def promising(results: Results, ours: str) -> Line:
    """Figure 3, two moons: the text claims no more than that."""
    called, versions = VERSIONS[ours]
    return Line(
        f"Figure 3, two moons, {called}",
        published.FIGURE_3_MOONS,
        told(results, "two moons", (ours, RCA_)),
        best(results, "two moons", versions),
        f"{NOT_COMPARABLE}: the text does not say of what it is above",
    )


def generally(results: Results, what: str, words: str, ours: str, rivals: tuple[str, ...]) -> Line:
    """A method as published is better on more of the UCI sets than it is worse."""
    counts = {method: counted(results, UCI, method, rivals) for method in VERSIONS[ours][1]}
    most = max(counts, key=lambda method: counts[method][0] - counts[method][1])
    told = {method: f"{above} + {below} −" for method, (above, below) in counts.items()}
    above, below = counts[ours]
    # "Comparable" asks for less than "above": as often better as worse.
    agrees = above >= below if rivals == (LLMA_,) else above > below
    word = AGREES if agrees else f"{BELOW}: {_why_below(told, ours)}"
    return Line(what, words, told[ours], f"{told[most]} ({most})", word)


def _why_below(told: dict[str, str], ours: str) -> str:
    if ours != BETA:
        return "not known"
    return (
        "without centring and a cut the weakest directions weigh most; with both, as the learner "
        f"has it, {told[CENTRED_CUT]}"
    )


def best_of_all(results: Results, name: str) -> Line:
    """Table III: no rival significantly above the better of the two methods."""
    what = f"Table III, digits {name}"
    if complete_draws(results, name) < ENOUGH:
        reason = f"{NOT_COMPARABLE}: fewer than {ENOUGH} draws are measured as published"
        return Line(what, published.TABLE_3, "", best(results, name), reason)
    ours, rival = best_of(results, name, PUBLISHED), best_of(results, name, RIVALS)
    beaten = compared(results, name, ours, rival) == WORSE
    return Line(
        what,
        published.TABLE_3,
        told(results, name, (*PUBLISHED, rival)) + f"; {complete_draws(results, name)} draws",
        best(results, name),
        f"{BELOW}: {rival} is significantly above" if beaten else AGREES,
    )


def embeddings(name: str) -> None:
    """Figures 1 and 2: where each metric puts the points."""
    import matplotlib.pyplot as plt

    X, y, n_pairs = data_set(name)
    pairs = Pairs.from_labels(y, n_pairs, kind="must", random_state=0)
    figure, axes = plt.subplots(1, len(_SHOWN), figsize=(17, 3.6), layout="constrained")
    for ax, method in zip(axes, _SHOWN, strict=True):
        plot.embedding(METRICS[method](X, pairs), y, pairs=pairs, ax=ax, title=method)
    figure.savefig(FOLDER / f"{name.replace(' ', '_')}.png", dpi=90)
    plt.close(figure)


def boxes(results: Results) -> None:
    """Figures 3 and 4, and Table III as a picture."""
    import matplotlib.pyplot as plt

    columns = 4
    lines = -(-(len(NAMES) + 1) // columns)
    size = (4 * columns, 3 * lines)
    figure, axes = plt.subplots(lines, columns, figsize=size, layout="constrained")
    for ax, name in zip(axes.flat, NAMES, strict=False):
        found = [list(values(results, name, method).values()) for method in ORDER]
        ax.boxplot(found, widths=0.6)
        ax.set_title(name, fontsize=10)
        ax.tick_params(labelsize=7)
    for ax in list(axes.flat)[len(NAMES) :]:
        ax.axis("off")
    numbered = "\n".join(f"{i}  {method}" for i, method in enumerate(ORDER, 1))
    axes.flat[len(NAMES)].text(0, 1, numbered, fontsize=8, verticalalignment="top")
    figure.savefig(FOLDER / "boxes.png", dpi=80)
    plt.close(figure)
