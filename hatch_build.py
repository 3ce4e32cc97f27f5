"""Build the page of the studio when a wheel or a source distribution is made.

A wheel also gets a bill of materials, which lists what the page is built of.
"""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import subprocess
import tempfile
import uuid
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# Set to anything, it allows a distribution without the page.
WITHOUT = "NEARKIN_WITHOUT_PAGE"
# Set by pip while it installs from sources, where nobody sees what a build says that succeeds.
PIP_INSTALLS = "PIP_BUILD_TRACKER"
PAGE = "src/nearkin/studio/server/page"
TERMINAL = "CONOUT$" if os.name == "nt" else "/dev/tty"
# As licences.ts writes it before each notice: a package, its version and its licence.
_NOTICE = re.compile(r"^(\S+) (\d+\.\d+\.\d+\S*) \(([\w.+-]+)\)$", re.MULTILINE)


class StudioPage(BuildHookInterface[Any]):
    """Has ``make studio`` done where it has not been and Node.js is there.

    What is made to be given to others has the page, or is not made. Who installs from sources
    without Node.js gets all but the page, and is told so. An editable install takes the page from
    the folder that ``make studio`` writes to.
    """

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Before anything is packed."""
        if version == "editable":
            return
        root = Path(self.root)
        self._have_page(root)
        if self.target_name == "wheel":
            self._scratch = tempfile.TemporaryDirectory(prefix="nearkin-")
            path = Path(self._scratch.name, "nearkin.cdx.json")
            bill = bill_of_materials(root, self.metadata.version)
            path.write_text(json.dumps(bill, indent=2) + "\n", encoding="utf-8", newline="\n")
            build_data["sbom_files"].append(str(path))

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """After all is packed."""
        del version, build_data, artifact_path
        if hasattr(self, "_scratch"):
            self._scratch.cleanup()

    def _have_page(self, root: Path) -> None:
        page = root / PAGE
        if _is_whole(page):
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
            with suppress(OSError), open(TERMINAL, "w", encoding="utf-8") as terminal:
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


def bill_of_materials(root: Path, version: str) -> dict[str, Any]:
    """What is in a wheel that is not ours, as CycloneDX 1.6.

    The notices of the built page say what is bundled, and ``package-lock.json`` which bytes these
    packages were. There is no date in it, and its number is one of its content: the same sources
    give the same file.
    """
    notices = root / PAGE / "assets/licences.txt"
    text = notices.read_text(encoding="utf-8") if notices.is_file() else ""
    lock = root / "page/package-lock.json"
    locked = json.loads(lock.read_text(encoding="utf-8"))["packages"] if lock.is_file() else {}
    parts = [_part(*found, locked) for found in sorted(_NOTICE.findall(text))]
    whole = f"pkg:pypi/nearkin@{version}"
    bill = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "lifecycles": [{"phase": "build"}],
            "component": {
                "type": "library",
                "bom-ref": whole,
                "name": "nearkin",
                "version": version,
                "licenses": [{"license": {"id": "BSD-3-Clause"}}],
                "purl": whole,
            },
        },
        "components": parts,
        "dependencies": [
            {"ref": whole, "dependsOn": [part["bom-ref"] for part in parts]},
            *({"ref": part["bom-ref"]} for part in parts),
        ],
    }
    number = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(bill, sort_keys=True))
    return {**bill, "serialNumber": number.urn}


def _part(name: str, version: str, licence: str, locked: dict[str, Any]) -> dict[str, Any]:
    """A package of npm, as a component of a bill of materials."""
    group, _, own_name = name.rpartition("/")
    purl = f"pkg:npm/{quote(name, safe='/')}@{version}"
    digests = {
        one.get("integrity", "")
        for folder, one in locked.items()
        if folder.endswith(f"node_modules/{name}") and one.get("version") == version
    }
    hashes = [
        {"alg": "SHA-512", "content": base64.b64decode(digest.removeprefix("sha512-")).hex()}
        for digest in sorted(digests)
        if digest.startswith("sha512-")
    ]
    return {
        "type": "library",
        "bom-ref": purl,
        **({"group": group} if group else {}),
        "name": own_name,
        "version": version,
        **({"hashes": hashes} if hashes else {}),
        "licenses": [{"license": {"id": licence}}],
        "purl": purl,
    }
