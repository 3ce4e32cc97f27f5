"""``nearkin cluster``: a column with the cluster of each row."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import nearkin as nk
from nearkin.cli import options as o
from nearkin.cli.common import (
    UserError,
    constraints,
    frozen,
    is_watched,
    models,
    np,
    outputs,
    pair_files,
    preprocessing,
    say,
    sklearn_cluster,
    tables,
)

if TYPE_CHECKING:
    from nearkin._types import Ints

Method: TypeAlias = Literal["auto", "kmeans", "hdbscan", "mpck"]


def cluster(
    model: Path = o.argument(
        ...,
        metavar="[MODEL]",
        help="A model that fit has written; without, a metric is learned from the pairs.",
    ),
    data: Path | None = o.argument(None, metavar="DATA", help=o.DATA_HELP),
    method: Method = o.option(
        "--method",
        "auto finds the number of clusters and keeps the pairs; mpck is k-means that does.",
        "auto",
    ),
    number: str | None = o.option(
        "--clusters -k NUMBER",
        "How many, or the least and the most, such as 5-20; auto finds out without. Not "
        "for hdbscan.",
    ),
    soft: bool = o.option("--soft", "Break pairs where that costs less than keeping them.", False),
    min_size: int = o.option("--min-size", "Rows of a cluster at least, for hdbscan.", 5, min=2),
    pairs: Path | None = o.PAIRS,
    name: str = o.option("--name", "Name of the new column.", "cluster"),
    *,
    out: o.TableOutput,
    choice: o.AnyColumns,
    seed: int = o.SEED,
) -> None:
    """Add a column with the cluster of each row; -1 is noise.

    nearkin cluster rows.csv --pairs answers.csv -o clustered.csv

    Their number is found by pairs that are held out, and pairs are kept. With a model, rows are
    clustered where it puts them. The rows to cluster are held in memory.
    """
    bounds = _read_bounds(number)
    by_hand = method != "auto"
    if method not in ("auto", "hdbscan") and not isinstance(bounds, int):
        raise UserError(f"--clusters: say how many clusters {method} is to make.")
    if pairs is not None and method not in ("auto", "mpck"):
        raise UserError(f"--pairs: {method} takes none; --method auto and mpck do.")
    if soft and by_hand:
        raise UserError("--soft: only --method auto breaks or keeps pairs as asked.")
    if data is None:
        model, data = Path("none"), model
    learned = None if str(model) == "none" else models.Model(model)
    table = tables.open_table(data, choice, carry=None, model=learned)
    known = pair_files.read_known_pairs(table, pairs, choice.delimiter)
    rows = table.rows
    if learned is not None:
        rows = rows.mapped(learned.embed, learned.output_names)
    X = rows.to_numpy()
    least = bounds[0] if isinstance(bounds, tuple) else bounds
    if least is not None and least > len(X):
        raise UserError(f"--clusters {least}: there are only {len(X)} rows.")
    notes: list[str] = []
    if by_hand:
        found = _cluster_by_method(method, X, least or 0, min_size, known, seed)
    else:
        mapped = learned is not None
        found, notes = _find_clusters(
            X, bounds, known, seed, mapped=mapped, soft=soft, ids=table.ids()
        )
    out.write(outputs.with_column(table.rows, name, found))
    for note in notes:
        say(note)


def _cluster_by_method(
    method: Method, X: Any, n_clusters: int, min_size: int, pairs: nk.Pairs | None, seed: int
) -> Ints:
    """Cluster (n,) of each row by the method named, -1 for noise."""
    if method == "hdbscan":
        if len(X) < min_size:
            raise UserError(f"--min-size {min_size}: there are only {len(X)} rows.")
        found = sklearn_cluster.HDBSCAN(min_cluster_size=min_size, copy=True).fit_predict(X)
    elif method == "mpck":
        found = nk.MPCKMeans(n_clusters, random_state=seed).fit_predict(X, pairs=pairs)
    else:
        found = sklearn_cluster.KMeans(n_clusters, n_init=10, random_state=seed).fit_predict(X)
    return np.asarray(found)


def _find_clusters(
    X: Any,
    n_clusters: int | tuple[int, int] | None,
    pairs: nk.Pairs | None,
    seed: int,
    *,
    mapped: bool,
    soft: bool,
    ids: Any = None,
) -> tuple[Ints, list[str]]:
    """Cluster (n,) of each row by :class:`nearkin.Clusters`, and remarks on the result.

    ``mapped`` says that a model has embedded the rows, so that no metric is learned; ``ids``, an
    array of pyarrow, are names of rows for messages.
    """

    def name(row: int) -> str:
        return str(row) if ids is None else repr(ids[row].as_py())

    as_it_is = frozen.FrozenEstimator(preprocessing.FunctionTransformer().fit(X[:1]))
    found = nk.Clusters(
        n_clusters,
        metric=as_it_is if mapped else None,
        keep="soft" if soft else "hard",
        verbose=is_watched(),
        random_state=seed,
    )
    try:
        found.fit(X, pairs=pairs)
    except constraints.PairsError as error:
        raise UserError(error.tell(name, "--clusters ", "--soft")) from error
    lines = [f"{found.report_.summary}. {found.report_.reason}"]
    broken = found.broken_
    for links, saved, should in (
        (broken.must_link, broken.must_saved, "the same"),
        (broken.cannot_link, broken.cannot_saved, "different"),
    ):
        for (left, right), cost in zip(links.tolist(), saved.tolist(), strict=True):
            dearer = f": {cost:.2g} dearer" if np.isfinite(cost) else ""
            rows = f"rows {name(left)} and {name(right)}"
            lines.append(f"{rows}, {should} by the pairs, are not{dearer}.")
    return np.asarray(found.labels_), lines


def _read_bounds(text: str | None) -> int | tuple[int, int] | None:
    """Number of clusters, or least and most, from a text such as 10 or 5-20."""
    if text is None:
        return None
    parts = text.split("-")
    if len(parts) > 2 or not all(part.strip().isdecimal() and int(part) > 0 for part in parts):
        raise UserError(f"--clusters {text}: use a number, such as 10, or two, such as 5-20.")
    numbers = [int(part) for part in parts]
    if len(numbers) == 1:
        return numbers[0]
    if numbers[0] > numbers[1]:
        raise UserError(f"--clusters {text}: the first number is the least, the second the most.")
    return numbers[0], numbers[1]
