"""nearkin beside other tools, where these were measured: docs/which_tool.md."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

import numpy as np

from benchmarks.few_pairs.data import REPORTED
from benchmarks.few_pairs.methods import EUCLIDEAN, OURS, metrics
from benchmarks.few_pairs.peers import NAMES as PEERS
from benchmarks.few_pairs.protocols import CLEAN, DRAWS, NOISY, PROTOCOLS
from benchmarks.few_pairs.tables import Means
from benchmarks.published_tables import published, without_title
from benchmarks.record import Table
from benchmarks.site import Row, rows_of, wrapped

_OURS_SHOWN = (OURS, "ITML", EUCLIDEAN)
_RECORDS, _MATCHER = "records/results.jsonl", "RecordMatcher"
_PACKAGES = ("splink", "dedupe", "recordlinkage")


@cache
def _means(draws: int) -> Means:
    return Means(rows_of("few_pairs/results.jsonl"), draws)


def _classifiers(means: Means, protocol: str = CLEAN) -> list[str]:
    """Classifiers of pairs, and other models that are no metric."""
    return [name for name in means.names(protocol, REPORTED) if name not in metrics(0)]


def _listed(names: Iterable[str]) -> str:
    """Names in a sentence."""
    names = list(names)
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _words(data: str) -> str:
    return data.replace("_counts", "").replace("_", " ")


def pairs_beside_others() -> str:
    """Pair AUC of what people use instead, all of them on the same draw."""
    title = "Pair AUC, all pairs right; 15 sets reported, other packages too"
    table = published("few_pairs/RESULTS.md", title)
    shown = [row for row in table.rows if row[0] not in metrics(0) or row[0] in _OURS_SHOWN]
    at = table.columns.index("200 pairs")
    body = [
        [_whose(name), *aucs] for name, _, *aucs in sorted(shown, key=lambda row: -float(row[at]))
    ]
    said = (
        f"Pair AUC on new rows of {len(REPORTED)} data sets, one draw of pairs, the same for all "
        "methods:"
    )
    return f"{said}\n\n{_table(['', *table.columns[2:]], body)}"


def _whose(name: str) -> str:
    return f"**{name}**" if name == OURS else f"{name} of nearkin" if name == "ITML" else name


def _table(columns: list[str], body: list[list[str]], n_words: int = 1) -> str:
    return without_title(Table("", columns, body, n_words))


def classifiers_win() -> str:
    """How often, and where, a classifier of pairs is better than MetricLearner."""
    means = _means(DRAWS)
    names = [name for name in _classifiers(means) if name not in PEERS]
    table = means.table(CLEAN, REPORTED, "auc", [OURS, *names])
    ahead = table[..., 1:].max(axis=-1) > table[..., 0]
    numbers = PROTOCOLS[CLEAN].n_pairs
    shares = [f"{count} with {n}" for n, count in zip(numbers, ahead.sum(axis=0), strict=True)]
    sets = means.data(CLEAN, REPORTED)
    often = [_words(sets[i]) for i in np.argsort(-ahead.sum(axis=1)) if ahead[i].sum() > 2]
    each = (table[..., 1:] > table[..., :1]).sum(axis=(0, 1))
    best = int(each.argmax())
    said = (
        f"Of {len(sets)} data sets, the best of {len(names)} classifiers and models of pairs, "
        f"chosen afterwards, is ahead of `MetricLearner` on {_listed(shares)} pairs. "
        f"The one that is ahead most often is the {names[best]}: in {each[best]} of "
        f"{ahead.size} cases."
    )
    where = f" On {_listed(often)} one of them is ahead more often than not." if often else ""
    noisy, first = _means(2), OURS
    rivals = [name for name in _classifiers(noisy, NOISY) if name not in PEERS]
    wrong = noisy.table(NOISY, REPORTED, "auc", [first, *rivals]).mean(axis=(0, 1))
    rest = (
        f" With one pair in five wrong, `MetricLearner` has a mean pair AUC of {wrong[0]:.3f} and "
        f"the best of them {wrong[1:].max():.3f}."
    )
    return wrapped(said + where + rest)


def same_learner_twice() -> str:
    """Learners that both libraries have."""
    return without_title(published("speed/README.md", "The same learner of two libraries"))


def clusters_beside_others() -> str:
    """Adjusted Rand index by method."""
    table = published("clusters/RESULTS.md", "Adjusted Rand index and mean rank, by method")
    body = [row[:4] for row in table.rows]
    return _table(["method", *table.columns[1:4]], sorted(body, key=lambda row: -float(row[3])))


def clusters_where_others_win() -> str:
    """Data sets on which another method is ahead of Clusters with 200 pairs."""
    table = published("clusters/RESULTS.md", "Adjusted Rand index with 200 pairs, by data set")
    ours, names = table.columns.index("Clusters"), table.columns
    rivals = [i for i, name in enumerate(names) if i not in (0, ours) and "our metric" not in name]
    lost = {}
    for row in table.rows:
        best = max(rivals, key=lambda i: float(row[i]))
        if float(row[best]) > float(row[ours]):
            lost[_words(row[0])] = f"{names[best]} {row[best]} beside {row[ours]}"
    plain = names.index("k-means, true k, our metric")
    knows = sum(float(row[plain]) > float(row[ours]) for row in table.rows)
    return wrapped(
        f"With 200 pairs another method is ahead of `Clusters` on {len(lost)} of "
        f"{len(table.rows)} data sets: "
        + "; ".join(f"{data} ({told})" for data, told in lost.items())
        + f". Plain k-means in the metric that nearkin learned, if told the true number of "
        f"groups, is ahead on {knows}."
    )


def records_beside_others() -> str:
    """F1 of all packages, without answers and with 100 that were drawn at random."""
    rows = [row for row in rows_of(_RECORDS) if "method" in row and row["seed"] == 0]
    sets = [d for d in dict.fromkeys(row["data"] for row in rows) if _rivals(rows, d)]
    parts = []
    for n, words in ((0, "Without any answer"), (100, "With 100 answers, drawn at random")):
        cells = {
            (row["method"], row["data"]): row
            for row in rows
            if row["n_answers"] == n and (n == 0 or row["protocol"] == "random")
        }
        methods = dict.fromkeys(method for method, data in cells if data in sets)
        methods = sorted(methods, key=lambda name: -_mean_f1(cells, name, sets))
        body = [[name, *(_f1(cells.get((name, data))) for data in sets)] for name in methods]
        parts.append(f"{words}, F1 of pairs:\n\n{_table(['', *map(_words, sets)], body)}")
    return "\n\n".join(parts)


def _rivals(rows: list[Row], data: str) -> bool:
    return any(row["data"] == data and row["method"].startswith(_PACKAGES) for row in rows)


def _f1(row: Row | None) -> str:
    if row is None:
        return ""
    return row["refused"] if "refused" in row else f"{row['f1']:.3f}"


def _mean_f1(cells: dict[tuple[str, str], Row], name: str, sets: list[str]) -> float:
    return float(np.mean([cells.get((name, data), {}).get("f1", 0.0) for data in sets]))


def records_where_others_win() -> str:
    """Where a package is ahead of RecordMatcher."""
    rows = [row for row in rows_of(_RECORDS) if "method" in row and row["seed"] == 0]
    lost, cells = [], 0
    for ours in rows:
        if ours["method"] != _MATCHER:
            continue
        key = ("data", "protocol", "n_answers")
        beside = [
            row
            for row in rows
            if row["method"].startswith(_PACKAGES) and "f1" in row
            if all(row[name] == ours[name] for name in key)
        ]
        if not beside:
            continue
        cells += 1
        best = max(beside, key=lambda row: row["f1"])
        if best["f1"] > ours["f1"]:
            how = f"{ours['n_answers']} answers" if ours["n_answers"] else "no answer"
            how += f", {ours['protocol']}" if ours["n_answers"] else ""
            figures = f"{best['method']} {best['f1']:.4f} beside {ours['f1']:.4f}"
            lost.append(f"{ours['data']} with {how} ({figures})")
    said = (
        f"Another package is ahead of `RecordMatcher` in {len(lost)} of {cells} comparisons on the "
        "same answers"
    )
    return wrapped(f"{said}: {'; '.join(lost)}." if lost else f"{said}.")


def maps_beside_umap() -> str:
    """The map of the studio beside UMAP, where UMAP was there to be measured."""
    table = published("studio_map/RESULTS.md", "10-NN accuracy in the plane")
    at = {name: table.columns.index(name) for name in ("set", "rows", "map", "UMAP", "UMAP, s")}
    body = [row for row in table.rows if row[at["UMAP"]]]
    if not body:
        return "UMAP has not been measured beside it yet."
    said = (
        "Share of the ten nearest in the plane that are of the same class, after 100 answers: the "
        "studio's own map, and UMAP of the same learned coordinates:"
    )
    first = at["set"], at["rows"], at["map"], at["UMAP"]
    shown = [[row[i] for i in first] for row in body]
    return f"{wrapped(said)}\n\n{_table(['', 'rows', 'map of the studio', 'UMAP'], shown)}"


BLOCKS = {
    "tools_pairs": pairs_beside_others,
    "tools_classifiers_win": classifiers_win,
    "tools_same_learner": same_learner_twice,
    "tools_clusters": clusters_beside_others,
    "tools_clusters_lost": clusters_where_others_win,
    "tools_records": records_beside_others,
    "tools_records_lost": records_where_others_win,
    "tools_maps": maps_beside_umap,
}
