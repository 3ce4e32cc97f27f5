"""Build the page of the studio when a wheel or a source distribution is made."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class StudioPage(BuildHookInterface[Any]):
    """Has ``make studio`` done where it has not been and Node.js is there.

    An editable install takes the page from the folder that ``make studio`` writes to.
    """

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Before anything is packed."""
        root = Path(self.root)
        if (
            version == "editable"
            or (root / "src/nearkin/teaching/server/page/index.html").is_file()
        ):
            return
        npm = shutil.which("npm")
        if npm is None or not (root / "page/package.json").is_file():
            self.app.display_warning("no npm: nearkin studio will have no page (make studio)")
            return
        for command in ([npm, "ci", "--no-audit", "--no-fund"], [npm, "run", "build"]):
            if subprocess.run(command, cwd=root / "page", check=False).returncode:
                self.app.display_warning(
                    f"{' '.join(command[1:])} failed: nearkin studio will have no page"
                )
                return
