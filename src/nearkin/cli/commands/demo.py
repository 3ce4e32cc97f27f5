"""``nearkin demo``: the demonstration."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nearkin.cli import options as o
from nearkin.errors import explain_missing_package


def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FOLDER", help="For the pictures.")
    ] = Path("demo-output"),
    pairs: Annotated[int, typer.Option(min=1, help="How many pairs to learn from.")] = 50,
    seed: o.Seed = 0,
) -> None:
    """Show what a few pairs can do, on data that comes with it: tables and two pictures."""
    with explain_missing_package("the demonstration needs more", "demo"):
        from nearkin.demo import main
    main(["--output", str(output), "--pairs", str(pairs), "--seed", str(seed)])
