"""``nearkin info``: what a model file holds."""

from __future__ import annotations

from nearkin.cli import options as o


def info(
    model: o.ModelPath,
    as_json: o.Json = False,
    seed: o.Seed = 0,
) -> None:
    """Show what a model file holds: learner, parameters, columns, and rows of the training data."""
    del seed  # nothing is random
    import dataclasses
    import json

    import typer

    from nearkin.cli.failures import UserError
    from nearkin.model_file import describe

    if not model.exists():
        raise UserError(f"{model}: there is no such file.")
    found = describe(model)
    if as_json:
        typer.echo(json.dumps(dataclasses.asdict(found), ensure_ascii=False, default=str))
    else:
        typer.echo(str(found))
