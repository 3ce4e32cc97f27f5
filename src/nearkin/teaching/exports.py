"""What was taught, as files that the rest of the library and other programs read."""

from __future__ import annotations

import csv
import io
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearkin._types import Floats
from nearkin.pairs.pairs import TRIPLET, Pairs
from nearkin.records.results import Duplicates
from nearkin.storage.files import quoted
from nearkin.teaching.history import Voice

# A file's name and its content.
File = tuple[str, bytes]


def pairs_file(
    pairs: Pairs,
    unsure: NDArray[np.int64],
    ids: Sequence[Any],
    voices: Mapping[Voice, bool | None] | None = None,
) -> File:
    """Pairs by their ids as ``nearkin fit --pairs`` reads them; same is empty for unsure.

    Ids that a spreadsheet would take for formulas have a quotation mark before them, which
    ``--pairs`` knows. Where it is known who answered, there is a column ``by`` and a line for what
    each of them said.
    """
    n_must = len(pairs.must_link)
    weights = np.concatenate([pairs.must_weight, pairs.cannot_weight]).tolist()
    links = np.concatenate([pairs.must_link, pairs.cannot_link]).tolist()
    lines: list[list[Any]] = [["left", "right", "same", "weight"]]
    for k, (i, j) in enumerate(links):
        lines.append([ids[i], ids[j], "true" if k < n_must else "false", f"{weights[k]:g}"])
    lines += [[ids[i], ids[j], "", "1"] for i, j in unsure.tolist()]
    return "pairs.csv", _csv(_with_names(lines, ids, voices) if voices else lines)


def _with_names(
    lines: list[list[Any]], ids: Sequence[Any], voices: Mapping[Voice, bool | None]
) -> list[list[Any]]:
    """Lines of pairs, in place of which are those of everyone who is named."""
    words = {True: "true", False: "false", None: ""}
    named = {(ids[i], ids[j]) for i, j, _ in voices}
    header, *others = lines
    told = [[*line, ""] for line in others if (line[0], line[1]) not in named]
    told += [[ids[i], ids[j], words[said], "1", name] for (i, j, name), said in voices.items()]
    return [[*header, "by"], *told]


def triplets_file(triplets: Pairs, ids: Sequence[Any]) -> File:
    """Triplets by their ids as ``nearkin fit --triplets`` reads them."""
    lines: list[list[Any]] = [[*TRIPLET, "weight"]]
    for rows, weight in zip(triplets.closer.tolist(), triplets.closer_weight.tolist(), strict=True):
        lines.append([*(ids[row] for row in rows), f"{weight:g}"])
    return "triplets.csv", _csv(lines)


def clusters_file(clusters: NDArray[np.int64], ids: Sequence[Any], id_name: str) -> File:
    """Number of each row's cluster, from 1."""
    lines = zip(ids, (clusters + 1).tolist(), strict=True)
    return "clusters.csv", _csv([[id_name, "cluster"], *map(list, lines)])


def grouping_file(
    labels: NDArray[np.int64], names: Sequence[str], ids: Sequence[Any], id_name: str
) -> File:
    """Number of each row's group, from 1, and what it is called; both are empty for outliers."""
    first = id_name if id_name not in ("group", "name") else f"{id_name} (id)"
    lines: list[list[Any]] = [[first, "group", "name"]]
    for one, group in zip(ids, labels.tolist(), strict=True):
        lines.append([one, "", ""] if group < 0 else [one, group + 1, names[group]])
    return "grouping.csv", _csv(lines)


def rows_file(
    lines: Iterable[Sequence[Any]], names: Sequence[str], id_name: str, row_name: str
) -> File:
    """Some rows with all that is shown of them: ids, row numbers of the file, and fields."""
    taken = {*names}
    first = [name if name not in taken else f"{name} (id)" for name in (id_name, row_name)]
    first = first[:1] if id_name == row_name else first
    return "selection.csv", _csv([[*first, *names], *map(list, lines)])


def groups_file(found: Duplicates, ids: Sequence[Any], id_name: str) -> File:
    """A line for each record that is in a group, as ``nearkin duplicates`` writes it."""
    lines: list[list[Any]] = [["group", id_name, "chance"]]
    for number, rows in enumerate(found.groups):
        lines += [[number, ids[row], f"{found.chance[row]:.6g}"] for row in rows.tolist()]
    return "groups.csv", _csv(lines)


def embedding_file(Z: Floats, plane: Floats, ids: Sequence[Any], id_name: str) -> File:
    """Ids, the two coordinates of the picture, and all learned ones, ``z0`` and so on.

    Euclidean distances between the learned ones are the learned distances. Parquet where pyarrow is
    installed, CSV otherwise.
    """
    names = [id_name if id_name not in ("x", "y") else f"{id_name} (id)", "x", "y"]
    names += [f"z{j}" for j in range(Z.shape[1])]
    try:
        import pyarrow as pa
        import pyarrow.parquet
    except ImportError:
        rows = zip(ids, plane.tolist(), Z.tolist(), strict=True)
        return "embedding.csv", _csv([names, *([name, *xy, *z] for name, xy, z in rows)])
    try:
        first = pa.array(list(ids))
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):  # of several types
        first = pa.array([str(one) for one in ids])
    table = pa.table([first, *map(pa.array, plane.T.copy()), *map(pa.array, Z.T.copy())], names)
    content = io.BytesIO()
    pyarrow.parquet.write_table(table, content)
    return "embedding.parquet", content.getvalue()


def model_file(metric: Any) -> File:
    """The metric as :func:`nearkin.load` reads it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.nearkin"
        metric.save(path)
        return path.name, path.read_bytes()


def _csv(lines: Iterable[list[Any]]) -> bytes:
    """A table whose cells are no formulas in a spreadsheet."""
    text = io.StringIO(newline="")
    cells = ([quoted(c) if isinstance(c, str) else c for c in line] for line in lines)
    csv.writer(text, lineterminator="\n").writerows(cells)
    return text.getvalue().encode(errors="surrogatepass")
