"""``nearkin transform`` and ``plot``: rows in the learned space, as a table or a picture."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import nearkin as nk
from nearkin.cli import options as o
from nearkin.cli.common import (
    UserError,
    estimates,
    is_watched,
    linalg,
    models,
    np,
    outputs,
    pair_files,
    say,
    streams,
    tables,
    validation,
)
from nearkin.cli.files.columns import Choice
from nearkin.cli.files.inputs import ending
from nearkin.errors import explain_missing_package
from nearkin.storage.files import whole_file

if TYPE_CHECKING:
    from nearkin.rows.streams import RowStream

# Rows that a picture shows at most.
_MOST_DRAWN = 20_000


def transform(
    model: Path = o.MODEL,
    data: Path = o.DATA,
    output: Path | None = o.option(
        "--output -o FILE",
        "Where to write to, .csv, .tsv, .jsonl (also .gz), .parquet, .feather or .npy. "
        "Without, or -: standard output.",
    ),
    components: int | None = o.option(
        "--components N",
        "Only the N columns that tell most: the principal axes of these rows. Other rows "
        "have others; fit --components gives the same for all.",
        min=1,
    ),
    carry: list[str] = o.CARRY,
    *,
    choice: o.Columns,
    as_json: bool = o.JSON,
    force: bool = o.FORCE,
    quote: bool = o.QUOTE,
    device: str | None = o.DEVICE,
) -> None:
    """Write rows so that Euclidean distances between them are the learned ones.

    Rows are read and written block by block: the file may be larger than memory. Of a column of
    vectors, files that can have one get one back.
    """
    suffixes = outputs.TABLES_AND_ARRAYS
    out = outputs.Output(output, as_json=as_json, force=force, quote=quote, suffixes=suffixes)
    learned = models.Model(model)
    write_embedding(learned, data, out, choice, carry=carry, components=components, device=device)


def write_embedding(
    learned: models.Model,
    data: Path,
    out: outputs.Output,
    choice: Choice,
    *,
    carry: Sequence[str] = (),
    components: int | None = None,
    device: str | None = None,
) -> None:
    """Embed the rows of a file, and write them."""
    along = [*([] if choice.id_column is None else [choice.id_column]), *carry]
    is_array = out.path is not None and out.path.suffix.lower() == ".npy"
    if is_array and along:
        raise UserError(
            f"{out.path}: an array has no room for other columns; leave out --carry and --id."
        )
    if device is not None and components is not None:
        raise UserError("--device: principal axes are found on the host; leave out --components.")
    if device is not None and hasattr(learned.metric, "steps_"):
        raise UserError(
            f"--device: {learned.file} has several steps, such as --standardise makes, which work "
            "on the host; leave it out."
        )
    table = tables.open_table(data, choice, carry=along, model=learned)
    if device is None:
        stream = table.rows.mapped(learned.embed, learned.output_names)
    else:
        stream = learned.metric.transform(table.rows.on(streams.Feed(device)))
    kind = ".jsonl" if out.as_json else "" if out.path is None else ending(out.path)
    vector = table.vector if kind in outputs.WITH_VECTORS else None

    by_axes = components is not None
    if device is None:
        refuse_without_room(
            table.rows, stream, out.path if is_array and not by_axes else None, by_axes=by_axes
        )
    if components is not None:
        stream = _project_on_axes(stream, components)
    if out.path is not None and (is_array or (kind == ".parquet" and vector is None)):
        stream.write(out.path, verbose=is_watched())
    else:
        out.write(outputs.with_carried(stream, vector), len(stream), verbose=is_watched())


def _project_on_axes(rows: RowStream, n: int) -> RowStream:
    """Stream of rows along their first n principal axes.

    Rows are read once to find the axes, and again for output. Memory for q × q numbers.
    """
    q = rows.n_columns
    if n > q:
        raise UserError(f"--components {n}: rows have {q} columns in the learned space.")
    mean, covariance = rows.moments()
    variances, vectors = np.linalg.eigh(covariance)
    axes = linalg.fix_signs(vectors[:, ::-1][:, :n])
    total = float(variances.sum())
    if total > 0:
        say(f"{n} of {q} columns have {variances[::-1][:n].sum() / total:.0%} of the variance")
    return rows.mapped(
        lambda block: np.asarray((block - mean) @ axes, dtype=block.dtype),
        [f"axis{j}" for j in range(n)],
    )


def refuse_without_room(
    rows: RowStream, embedded: RowStream, array: Path | None, *, by_axes: bool
) -> None:
    """Raise if memory cannot hold a block of embedded rows, or the disk the whole ``array``."""
    n, q = embedded.shape
    size = embedded.dtype.itemsize
    free = estimates.available_memory()

    def bytes_needed(block: int) -> int:
        return block * (rows.n_columns + q) * size + (8 * q * q if by_axes else 0)

    remedy = "nearkin fit --components 10 learns a metric whose rows have fewer."
    # Files are often read by fewer rows than that, which only the first block tells.
    if bytes_needed(min(n, validation.rows_per_read(rows.n_columns, rows.dtype))) > free:
        block = sum(len(block.rows) for block in islice(rows.blocks(), 1))
        if bytes_needed(block) > free:
            wanted, there = (estimates.format_bytes(size) for size in (bytes_needed(block), free))
            raise UserError(
                f"rows have {q} columns in the learned space: {block} of them, which are worked on "
                f"at a time, need {wanted} at least, but {there} are free: {remedy}"
            )
    if array is not None:
        room = shutil.disk_usage(array.parent).free
        whole = n * q * size
        if whole > room:
            wanted, there = estimates.format_bytes(whole), estimates.format_bytes(room)
            raise UserError(
                f"{array}: {n} rows have {q} columns in the learned space, {wanted} in all, but "
                f"{there} are free there: name a file on another disk, or {remedy}"
            )


def plot_model(
    model: Path = o.MODEL,
    data: Path = o.DATA,
    output: Path | None = o.option("--output -o FILE", "The picture: .png or .svg."),
    pairs: Path | None = o.PAIRS,
    labels: str | None = o.LABELS,
    *,
    choice: o.Columns,
    force: bool = o.FORCE,
    seed: int = o.SEED,
) -> None:
    """Draw rows along two axes of the learned space, and pairs as lines. Of many rows 20 000.

    nearkin plot model.nearkin rows.csv -o picture.svg
    """
    if output is None:
        raise UserError("--output: name a file for the picture, .png or .svg.")
    outputs.check_target(output, (".png", ".svg"), force=force)
    learned = models.Model(model)
    table = tables.open_table(data, choice, labels=labels, model=learned)
    known = pair_files.read_known_pairs(table, pairs, choice.delimiter)
    y = None if labels is None else table.labels(labels)
    with explain_missing_package("pictures need matplotlib", "plot"):
        from matplotlib.figure import Figure
    figure = Figure(figsize=(7, 5.5), layout="constrained")  # without a window
    numbers = np.arange(len(table.rows))
    if len(numbers) > _MOST_DRAWN:  # some, and those in pairs
        drawn = np.random.default_rng(seed).choice(len(numbers), _MOST_DRAWN, replace=False)
        numbers = np.unique(drawn if known is None else np.concatenate([drawn, known.points]))
    nk.plot.embedding(
        learned.embed(table.rows.take(numbers)),
        None if y is None else y[numbers],
        pairs=None if known is None else known.restrict(numbers),
        ax=figure.subplots(),
        title=Path(learned.file).name,
        legend=True,
    )
    with whole_file(output) as unfinished:
        figure.savefig(unfinished, format=output.suffix.lower()[1:], dpi=150)
