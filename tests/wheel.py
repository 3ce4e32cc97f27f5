"""The built wheel, and fresh environments that have it, what it asks for, and nothing else."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.waiting import until

ROOT = Path(__file__).parents[1]


def built(kind, root, folder, **environ):
    """Make a wheel or a source distribution of the sources in a folder."""
    return subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(folder)],
        cwd=root,
        env={**os.environ, "NEARKIN_WITHOUT_PAGE": "", "PIP_BUILD_TRACKER": "", **environ},
        capture_output=True,
        text=True,
        check=False,
    )


def skip_or_fail(reason):
    """Skip a test that cannot be run here; it has to run where CI is set."""
    if os.environ.get("CI", "").lower() in ("1", "true"):
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


def need_hatchling():
    """Skip, or fail in CI, if nothing can be built here."""
    if find_spec("hatchling") is None:
        skip_or_fail("tests of the wheel need hatchling: pip install hatchling")


def need_what_builds():
    """Skip, or fail in CI, if no distribution with the page can be built here."""
    from nearkin.studio.server import encoding

    need_hatchling()
    if encoding.page_folder() is None and shutil.which("npm") is None:
        skip_or_fail("there is no page of the studio, and no npm to build it with")


@dataclass(frozen=True)
class Environment:
    """A folder with a Python of its own that knows nothing of the sources."""

    folder: Path
    home: Path  # what programs in it take for the user's folder

    @property
    def programs(self) -> Path:
        """Where its programs are."""
        return self.folder / ("Scripts" if os.name == "nt" else "bin")

    @property
    def packages(self) -> Path:
        """Where its packages are."""
        if os.name == "nt":
            return self.folder / "Lib/site-packages"
        return self.folder / "lib/python{}.{}/site-packages".format(*sys.version_info)

    def environ(self, **more: str) -> dict[str, str]:
        """What its programs are told: nothing that leads to the sources, to Node.js or to data."""
        kept = ("LANG", "SYSTEMROOT", "TEMP", "TMP", "TMPDIR")
        ours = os.environ.items()
        return {
            **{name: x for name, x in ours if name in kept or name.endswith("_NUM_THREADS")},
            "HOME": str(self.home),
            "USERPROFILE": str(self.home),
            "PATH": str(self.programs),
            "PYTHONNOUSERSITE": "1",
            **more,
        }

    def run(
        self, *command: str, cwd: Path | None = None, typed: str | None = None, **environ: str
    ) -> subprocess.CompletedProcess[str]:
        """Run one of its programs, such as ``python`` or ``nearkin``, where no sources are."""
        program = shutil.which(command[0], path=str(self.programs))
        assert program is not None, f"{command[0]} is not in {self.programs}"
        return subprocess.run(
            [program, *command[1:]],
            cwd=self.home if cwd is None else cwd,
            env=self.environ(**environ),
            input=typed or "",
            capture_output=True,
            text=True,
            check=False,
        )


def needed(requirements: Iterable[str]) -> dict[str, str]:
    """Distributions that requirements ask for, and all that these ask for, with their versions."""
    found: dict[str, str] = {}
    seen: set[tuple[str, str]] = set()

    def follow(lines: Iterable[str], extras: Iterable[str]) -> None:
        for one in map(Requirement, lines):
            name = canonicalize_name(one.name)
            new = {(name, extra) for extra in ("", *one.extras)} - seen
            if _holds(one, extras) and new:
                seen.update(new)
                found[name] = metadata.version(name)
                follow(metadata.requires(name) or (), one.extras)

    follow(requirements, ())
    return found


def make_environment(
    wheel: Path, folder: Path, extras: Iterable[str] = (), others: Iterable[str] = ()
) -> Environment:
    """Install a wheel in a folder, beside what it asks for.

    What it asks for is linked from where the tests run, package by package: nothing is downloaded,
    and what it does not ask for is not there. ``others`` are more requirements, such as "pandas".
    """
    home = folder.parent / "home"
    home.mkdir(exist_ok=True)
    made = Environment(folder, home)
    quietly = {"capture_output": True, "text": True, "check": True}
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], **quietly)
    python = made.programs / ("python.exe" if os.name == "nt" else "python")
    install = ["install", "--quiet", "--no-deps", "--no-index", "--no-compile"]
    pip = [sys.executable, "-m", "pip", "--python", str(python), *install]
    subprocess.run([*pip, str(wheel)], **quietly)
    (info,) = made.packages.glob("nearkin-*.dist-info")
    asked = metadata.PathDistribution(info).requires or ()
    try:
        names = needed([*_with_extras(asked, extras), *others])
    except metadata.PackageNotFoundError as error:
        skip_or_fail(f"an environment for the wheel needs {error.name}: pip install {error.name}")
    for name in names:
        _link(metadata.distribution(name), made.packages)
    return made


def _with_extras(asked: Iterable[str], extras: Iterable[str]) -> list[str]:
    """Requirements that hold with some extras, those of extras that name others too."""
    asked = list(asked)
    wanted, before = set(extras), set()
    while wanted != before:
        before = set(wanted)
        for one in map(Requirement, asked):
            if one.name == "nearkin" and _holds(one, wanted):
                wanted |= one.extras
    chosen = [one for one in map(Requirement, asked) if one.name != "nearkin"]
    kept = [one for one in chosen if _holds(one, wanted)]
    for one in kept:
        one.marker = None
    return [str(one) for one in kept]


def _holds(requirement: Requirement, extras: Iterable[str]) -> bool:
    marker = requirement.marker
    return marker is None or any(marker.evaluate({"extra": extra}) for extra in ("", *extras))


def _link(package: metadata.Distribution, packages: Path) -> None:
    """Make what a distribution has installed to be found in another folder, too."""
    for top in {file.parts[0] for file in package.files or ()} - {"..", "__pycache__"}:
        there, here = Path(str(package.locate_file(top))), packages / top
        if here.exists() or not there.exists():
            continue
        try:
            here.symlink_to(there, target_is_directory=there.is_dir())
        except OSError:  # Windows, for those who may not make links
            (shutil.copytree if there.is_dir() else shutil.copyfile)(there, here)


def once(tmp_path_factory: pytest.TempPathFactory, name: str, make):
    """A folder that is made once, by the first of all processes that run tests."""
    base = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent
    folder = base / f"once-{name}"
    try:
        folder.mkdir()
    except FileExistsError:
        until(lambda: any((folder / end).exists() for end in ("done", "failed")))
        if (folder / "failed").exists():
            skip_or_fail(f"another process could not make {name}")
        return folder
    try:
        make(folder)
    except BaseException:
        (folder / "failed").touch()
        raise
    (folder / "done").touch()
    return folder


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from these sources, with the page of the studio; or the one to be tested."""
    if "NEARKIN_WHEEL" in os.environ:
        return Path(os.environ["NEARKIN_WHEEL"])
    need_what_builds()

    def make(folder: Path) -> None:
        done = built("wheel", ROOT, folder / "dist")
        assert done.returncode == 0, done.stderr

    (path,) = (once(tmp_path_factory, "wheel", make) / "dist").glob("*.whl")
    return path


@pytest.fixture(scope="session")
def fresh_environment(tmp_path_factory: pytest.TempPathFactory, wheel: Path):
    """Fresh environments with the wheel: ``fresh_environment("cli", others=["pandas"])``.

    Each is made once for all tests; what is written there stays.
    """

    def environment(*extras: str, others: Iterable[str] = ()) -> Environment:
        name = "-".join(["environment", *sorted(extras), *sorted(others)])
        folder = once(
            tmp_path_factory,
            name,
            lambda folder: make_environment(wheel, folder / "env", extras, others),
        )
        return Environment(folder / "env", folder / "home")

    return environment
