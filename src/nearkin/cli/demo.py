"""``nearkin demo``: the demonstration."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nearkin.cli import options as o
from nearkin.errors import needing


def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FOLDER", help="For the pictures.")
    ] = Path("demo-output"),
    pairs: Annotated[int, typer.Option(min=1, help="How many pairs to learn from.")] = 50,
    seed: o.Seed = 0,
) -> None:
    """Show what a few pairs can do, on data that comes with it: tables and two pictures."""
    with needing("the demonstration needs more", "demo"):
        from nearkin.demo import main
    main(["--output", str(output), "--pairs", str(pairs), "--seed", str(seed)])


# ``nearkin warm-up``: have loops compiled before they are needed.


def warm_up(seed: o.Seed = 0) -> None:
    """Compile for this machine what other commands and programs would compile when first used.

    Worth it once after an installation. What is compiled is kept beside the library, in the
    user's cache if that folder is read-only, or in the folder that NUMBA_CACHE_DIR names. It is
    found again by those who can write there, on processors of the same kind.
    """
    del seed  # nothing is random
    from nearkin.cli.common import is_watched, say
    from nearkin.messages import hush
    from nearkin.warm_up import warm_up

    hush()  # that it is compiled is what was asked for
    done = warm_up(verbose=is_watched())
    say(f"{done.n_compiled} loops compiled in {done.seconds:.1f} s, kept below {done.folder}")
