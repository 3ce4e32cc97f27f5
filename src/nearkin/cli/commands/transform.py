"""``nearkin transform``: rows in the learned space."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nearkin.cli import options as o

if TYPE_CHECKING:
    from nearkin.cli.files.columns import Choice
    from nearkin.cli.files.output import Output
    from nearkin.cli.models import Model
    from nearkin.rows.streams import RowStream


def checked_output(
    path: Path | None, *, as_json: bool = False, force: bool = False, quote: bool = False
) -> Output:
    """Where an embedding goes: a table or an array."""
    from nearkin.cli.files.output import TABLES, Output

    return Output(path, as_json=as_json, force=force, quote=quote, suffixes=(*TABLES, ".npy"))


def on_device(rows: RowStream, device: str) -> RowStream:
    """The same rows, worked on on a device of torch; an error if it is not there."""
    from nearkin.rows.streams import Feed

    return rows.on(Feed(device))


def transform(
    model: o.ModelPath,
    data: o.Data,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            show_default=False,
            help="Where to write to, .csv, .tsv, .jsonl (also .gz), .parquet, .feather or .npy. "
            "Without, or -: standard output.",
        ),
    ] = None,
    components: Annotated[
        int | None,
        typer.Option(
            "--components",
            metavar="N",
            min=1,
            show_default=False,
            help="Only the N columns that tell most: the principal axes of these rows. Other rows "
            "have others; fit --components gives the same for all.",
        ),
    ] = None,
    carry: o.Carry = [],
    columns: o.Columns = [],
    exclude: o.Exclude = [],
    id_column: o.Id = None,
    delimiter: o.Delimiter = None,
    form: o.Form = None,
    missing: o.Missing = None,
    as_json: o.Json = False,
    force: o.Force = False,
    quote: o.Quote = False,
    device: o.Device = None,
    seed: o.Seed = 0,
) -> None:
    """Write rows so that Euclidean distances between them are the learned ones.

    Rows are read and written block by block: the file may be larger than memory. Of a column of
    vectors, files that can have one get one back.
    """
    del seed  # nothing is random
    from nearkin.cli.models import Model

    out = checked_output(output, as_json=as_json, force=force, quote=quote)
    choice = o.choice_of(columns, exclude, [], id_column, delimiter, form, missing)
    write_embedding(
        Model(model), data, out, choice, carry=carry, components=components, device=device
    )


def write_embedding(
    learned: Model,
    data: Path,
    out: Output,
    choice: Choice,
    *,
    carry: Sequence[str] = (),
    components: int | None = None,
    device: str | None = None,
) -> None:
    """Write the rows of a file in the learned space."""
    from nearkin.cli.common import UserError, is_watched
    from nearkin.cli.costs import refuse_embedding_that_cannot_fit
    from nearkin.cli.files.output import WITH_VECTORS, ending, with_carried
    from nearkin.cli.files.tables import open_table
    from nearkin.cli.learning import along_axes

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
    table = open_table(data, choice, carry=along, model=learned)
    if device is None:
        stream = table.rows.mapped(learned.embed, learned.output_names)
    else:
        stream = learned.metric.transform(on_device(table.rows, device))
    kind = ".jsonl" if out.as_json else "" if out.path is None else ending(out.path)
    vector = table.vector if kind in WITH_VECTORS else None

    by_axes = components is not None
    if device is None:
        refuse_embedding_that_cannot_fit(
            table.rows, stream, out.path if is_array and not by_axes else None, by_axes=by_axes
        )
    if components is not None:
        stream = along_axes(stream, components)
    if out.path is not None and (is_array or (kind == ".parquet" and vector is None)):
        stream.write(out.path, verbose=is_watched())
    else:
        out.write(with_carried(stream, vector), len(stream), verbose=is_watched())
