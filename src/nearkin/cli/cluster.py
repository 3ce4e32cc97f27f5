"""``nearkin cluster``: a column with the cluster of each row."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.frozen import FrozenEstimator
from sklearn.preprocessing import FunctionTransformer

from nearkin.cli import options as o
from nearkin.cli.common import UserError, is_watched
from nearkin.clustering.clusters import Clusters
from nearkin.clustering.constraints import PairsError
from nearkin.clustering.mpck_means import MPCKMeans
from nearkin.pairs.pairs import Pairs


class Method(StrEnum):
    """How to cluster."""

    auto = "auto"
    kmeans = "kmeans"
    hdbscan = "hdbscan"
    mpck = "mpck"


def cluster(
    model: Annotated[
        Path,
        typer.Argument(
            show_default=False,
            metavar="[MODEL]",
            help="A model that fit has written; without, a metric is learned from the pairs.",
        ),
    ],
    data: Annotated[
        Path | None,
        typer.Argument(show_default=False, metavar="DATA", help=o.DATA_HELP),
    ] = None,
    method: Annotated[
        Method,
        typer.Option(
            help="auto finds the number of clusters and keeps the pairs; mpck is k-means that does."
        ),
    ] = Method.auto,
    number: Annotated[
        str | None,
        typer.Option(
            "--clusters",
            metavar="NUMBER",
            show_default=False,
            help="How many, or the least and the most, such as 5-20; auto finds out without. Not "
            "for hdbscan.",
        ),
    ] = None,
    soft: Annotated[
        bool, typer.Option("--soft", help="Break pairs where that costs less than keeping them.")
    ] = False,
    min_size: Annotated[
        int, typer.Option("--min-size", min=2, help="Rows of a cluster at least, for hdbscan.")
    ] = 5,
    pairs: o.PairsPath = None,
    name: Annotated[str, typer.Option(help="Name of the new column.")] = "cluster",
    output: o.OutputPath = None,
    columns: o.Columns = [],
    exclude: o.Exclude = [],
    one_hot: o.OneHot = [],
    id_column: o.Id = None,
    delimiter: o.Delimiter = None,
    form: o.Form = None,
    missing: o.Missing = None,
    kinds: o.ColumnKinds = [],
    dates: o.Dates = None,
    as_json: o.Json = False,
    force: o.Force = False,
    quote: o.Quote = False,
    seed: o.Seed = 0,
    old_model: Annotated[
        str | None,
        typer.Option(
            "--model",
            "-m",
            hidden=True,
            is_eager=True,
            callback=o.misplaced(
                "the model comes first, as in nearkin cluster model.nearkin rows.csv."
            ),
        ),
    ] = None,
    old_k: Annotated[
        str | None,
        typer.Option(
            "-k",
            hidden=True,
            is_eager=True,
            callback=o.misplaced(
                "that is a number of neighbours, in every command; --clusters says how many "
                "clusters to make."
            ),
        ),
    ] = None,
) -> None:
    """Add a column with the cluster of each row; -1 is noise.

    nearkin cluster rows.csv --pairs answers.csv -o clustered.csv

    Their number is found by pairs that are held out, and pairs are kept. With a model, rows are
    clustered where it puts them. The rows to cluster are held in memory.
    """
    del old_model, old_k  # refused before
    from nearkin.cli.common import UserError, say
    from nearkin.cli.files.output import Output, with_column
    from nearkin.cli.files.tables import open_table
    from nearkin.cli.fit import known_pairs
    from nearkin.cli.models import model_or_none

    n_clusters = bounds_of(number)
    by_hand = method is not Method.auto
    if method not in (Method.auto, Method.hdbscan) and not isinstance(n_clusters, int):
        raise UserError(f"--clusters: say how many clusters {method} is to make.")
    if pairs is not None and method not in (Method.auto, Method.mpck):
        raise UserError(f"--pairs: {method} takes none; --method auto and mpck do.")
    if soft and by_hand:
        raise UserError("--soft: only --method auto breaks or keeps pairs as asked.")
    if data is None:
        model, data = Path("none"), model
    out = Output(output, as_json=as_json, force=force, quote=quote)
    learned = model_or_none(model)
    choice = o.choice_of(
        columns, exclude, one_hot, id_column, delimiter, form, missing, kinds, dates
    )
    table = open_table(data, choice, carry=None, model=learned)
    known = known_pairs(table, pairs, choice.delimiter)
    rows = table.rows
    if learned is not None:
        rows = rows.mapped(learned.embed, learned.output_names)
    X = rows.to_numpy()
    lines: list[str] = []
    if by_hand:
        k = n_clusters if isinstance(n_clusters, int) else 0
        found = clusters(str(method), X, k, min_size, known, seed)
    else:
        mapped = learned is not None
        found, lines = found_clusters(
            X, n_clusters, known, seed, mapped=mapped, soft=soft, ids=table.ids()
        )
    out.write(with_column(table.rows, name, found))
    for line in lines:
        say(line)


# Clusters of rows in memory.


def clusters(
    method: str, X: Any, n_clusters: int, min_size: int, pairs: Pairs | None, seed: int
) -> NDArray[np.integer]:
    """Number of the cluster of each row, or -1 for none, by a method that is named."""
    if method == "hdbscan":
        if len(X) < min_size:
            raise UserError(f"--min-size {min_size}: there are only {len(X)} rows.")
        return np.asarray(HDBSCAN(min_cluster_size=min_size, copy=True).fit_predict(X))
    if n_clusters > len(X):
        raise UserError(f"--clusters {n_clusters}: there are only {len(X)} rows.")
    if method == "mpck":
        found = MPCKMeans(n_clusters, random_state=seed).fit_predict(X, pairs=pairs)
        return np.asarray(found)
    return np.asarray(KMeans(n_clusters, n_init=10, random_state=seed).fit_predict(X))


def found_clusters(
    X: Any,
    n_clusters: int | tuple[int, int] | None,
    pairs: Pairs | None,
    seed: int,
    *,
    mapped: bool,
    soft: bool,
    ids: Any = None,
) -> tuple[NDArray[np.integer], list[str]]:
    """Number of the cluster of each row, and what there is to say of that, line by line.

    ``mapped`` says that rows are where a model puts them, so that no metric is to be learned;
    ``ids``, an array of pyarrow, what to call rows.
    """
    least = n_clusters[0] if isinstance(n_clusters, tuple) else n_clusters
    if least is not None and least > len(X):
        raise UserError(f"--clusters {least}: there are only {len(X)} rows.")

    def name(row: int) -> str:
        return str(row) if ids is None else repr(ids[row].as_py())

    metric = FrozenEstimator(FunctionTransformer().fit(X[:1])) if mapped else None
    keep = "soft" if soft else "hard"
    found = Clusters(n_clusters, metric=metric, keep=keep, verbose=is_watched(), random_state=seed)
    try:
        found.fit(X, pairs=pairs)
    except PairsError as error:
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


def bounds_of(text: str | None) -> int | tuple[int, int] | None:
    """A number of clusters, or the least and the most, as typed: 10 or 5-20."""
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
