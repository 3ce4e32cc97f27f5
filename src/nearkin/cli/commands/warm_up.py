"""``nearkin warm-up``: have loops compiled before they are needed."""

from __future__ import annotations

from nearkin.cli import options as o


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
