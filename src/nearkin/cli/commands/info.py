"""``nearkin info``: what a model file holds."""

from __future__ import annotations

from nearkin.cli import options as o


def info(
    model: o.ModelPath,
    as_json: o.Json = False,
    seed: o.Seed = 0,
) -> None:
    """Say what a model is, what it comes from, how good it is and what it can be used for.

    --debug shows its parameters and arrays too, and --json all that the file says of itself.
    """
    del seed  # nothing is random
    import dataclasses
    import json

    import typer

    from nearkin.cli.common import MANNER, UserError
    from nearkin.cli.description import in_words, matcher_as_plain_values, matcher_in_words
    from nearkin.cli.models import refuse_table
    from nearkin.records.matcher import is_matcher, load_matcher
    from nearkin.storage.models import describe

    if not model.exists():
        raise UserError(f"{model}: there is no such file.")
    refuse_table(model, str(model))
    if is_matcher(model):
        matcher = load_matcher(model)
        plain = matcher_as_plain_values(matcher)
        told = matcher_in_words(matcher, str(model))
        typer.echo(json.dumps(plain, ensure_ascii=False) if as_json else told)
        return
    found = describe(model)
    if as_json:
        typer.echo(json.dumps(dataclasses.asdict(found), ensure_ascii=False, default=str))
    else:
        typer.echo(in_words(found, str(model)))
        if MANNER.debug:
            typer.echo(f"\n{found}")
