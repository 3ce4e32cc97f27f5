"""Build the page of the studio when a wheel or a source distribution is made."""

from __future__ import annotations

import os
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# Set to anything, it allows a distribution without the page.
WITHOUT = "NEARKIN_WITHOUT_PAGE"
# Set by pip while it installs from sources, where nobody sees what a build says that succeeds.
PIP_INSTALLS = "PIP_BUILD_TRACKER"


class StudioPage(BuildHookInterface[Any]):
    """Has ``make studio`` done where it has not been and Node.js is there.

    What is made to be given to others has the page, or is not made. Who installs from sources
    without Node.js gets all but the page, and is told so. An editable install takes the page from
    the folder that ``make studio`` writes to.
    """

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Before anything is packed."""
        root = Path(self.root)
        page = root / "src/nearkin/teaching/server/page"
        if version == "editable" or _is_whole(page):
            return
        problem = _built(root / "page")
        if problem is None and not _is_whole(page):
            problem = f"the build has left no page in {page}"
        if problem is None:
            return
        if os.environ.get(WITHOUT) or os.environ.get(PIP_INSTALLS):
            self._warn(f"{problem}: nearkin studio will have no page, and says how to get it.")
            return
        self.app.abort(
            f"{problem}. The page of the studio belongs to what is released: install Node.js 20.19 "
            f"or later, or set {WITHOUT}=1 to go without."
        )

    def _warn(self, sentence: str) -> None:
        """Tell who reads the output, and who sits at the terminal if pip keeps that to itself."""
        self.app.display_warning(f"nearkin: {sentence}")
        if os.environ.get(PIP_INSTALLS):
            with suppress(OSError), Path("/dev/tty").open("w") as terminal:
                terminal.write(f"\nnearkin: {sentence}\n")


def _is_whole(page: Path) -> bool:
    """Whether there is a page, with the licences of what is in it."""
    return (page / "index.html").is_file() and (page / "assets/licences.txt").is_file()


def _built(sources: Path) -> str | None:
    """Build the page; why not, if that fails."""
    npm = shutil.which("npm")
    if npm is None:
        return "there is no npm to build the page with"
    if not (sources / "package.json").is_file():
        return "the sources of the page are missing"
    for command in ([npm, "ci", "--no-audit", "--no-fund"], [npm, "run", "build"]):
        if subprocess.run(command, cwd=sources, check=False).returncode:
            return f"npm {' '.join(command[1:])} failed"
    return None
