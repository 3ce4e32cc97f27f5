"""Make a release: everything but the upload.

    python .ci/release.py prepare 0.2.0    # set the version wherever it stands, date the changelog
    python .ci/release.py make             # build twice, compare, check, test; it is in dist/ then
    python .ci/release.py make --trial     # the same of the last commit, whatever its version

The version is that of ``src/nearkin/_version.py``; what else names one is compared with it.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from collections.abc import Sequence
from datetime import date
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VERSION = "src/nearkin/_version.py"
CHANGELOG = "CHANGELOG.md"
# How files name the version. Each stands alone in its line.
NAMED = {
    VERSION: r'^__version__ = "(?P<version>[^"]+)"$',
    "CITATION.cff": r"^version: (?P<version>\S+)$",
    "recipe/recipe.yaml": r'^  version: "(?P<version>[^"]+)"$',
}
_RELEASED = re.compile(r"^date-released: (?P<date>\S+)\n", re.MULTILINE)
_SECTION = re.compile(r"^## \[(?P<name>[^\]]+)\](?: - (?P<date>\S+))?$", re.MULTILINE)
_FINAL = re.compile(r"\d+\.\d+\.\d+")
_NO_DIGEST = "0" * 64
# A first program of somebody who has installed the wheel and the command line.
_FIRST_PROGRAM = """
import nearkin as nk
X, y = nk.datasets.make_xor(200, random_state=0)
pairs = nk.Pairs.from_labels(y, n_pairs=50, random_state=0)
metric = nk.KernelBeta().fit(X, pairs=pairs)
metric.save("metric.nearkin")
assert nk.load("metric.nearkin").transform(X).shape[0] == 200
print("learned, kept and read with nearkin", nk.__version__)
"""


class NotReady(Exception):
    """Why no release can be made."""


def text_of(root: Path, name: str) -> str:
    return (root / name).read_text(encoding="utf-8")


def named_versions(root: Path) -> dict[str, str]:
    """Versions, by the files that name them."""
    found = {name: re.search(how, text_of(root, name), re.MULTILINE) for name, how in NAMED.items()}
    return {name: one["version"] if one else "none" for name, one in found.items()}


def sections(root: Path) -> dict[str, tuple[str | None, str]]:
    """Date and text of each section of the changelog, by its name, the newest first."""
    text = text_of(root, CHANGELOG)
    marks = [*_SECTION.finditer(text)]
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    return {
        mark["name"]: (mark["date"], text[mark.end() : end].strip())
        for mark, end in zip(marks, ends, strict=True)
    }


def disagreements(root: Path = ROOT) -> list[str]:
    """Where files name another version than the sources do, a sentence each."""
    versions = named_versions(root)
    ours = versions[VERSION]
    wrong = [
        f"{name} has version {other}, and {VERSION} has {ours}."
        for name, other in versions.items()
        if other != ours
    ]
    dated = {name: day for name, (day, _) in sections(root).items() if name != "Unreleased"}
    for name, day in dated.items():
        if day is None:
            wrong.append(f"{CHANGELOG} has no date for {name}.")
        elif _numbers(name) > _numbers(ours):
            wrong.append(f"{CHANGELOG} has version {name}, which is later than {ours}.")
    if [*dated] != sorted(dated, key=_numbers, reverse=True):
        wrong.append(f"{CHANGELOG} does not have the newest version first.")
    released = _RELEASED.search(text_of(root, "CITATION.cff"))
    if (released and released["date"]) != dated.get(ours):
        wrong.append(f"CITATION.cff and {CHANGELOG} have different dates of {ours}.")
    return wrong


def unready(root: Path = ROOT) -> list[str]:
    """What is left to do before a release of these sources, a sentence each."""
    ours = named_versions(root)[VERSION]
    left = disagreements(root)
    if not _FINAL.fullmatch(ours):
        left.append(f"{ours} is not a version such as 1.2.3.")
    kept = sections(root)
    if ours not in kept:
        left.append(f"{CHANGELOG} has no section {ours}: python .ci/release.py prepare {ours}")
    elif kept.get("Unreleased", (None, ""))[1]:
        left.append(f"{CHANGELOG} has changes that are in no version: which one has them?")
    if _git(root, "status", "--porcelain"):
        left.append("There are changes that are not committed.")
    return left


def prepare(version: str, day: str, root: Path = ROOT) -> None:
    """Put a version wherever one stands, and what was unreleased under it."""
    if not _FINAL.fullmatch(version):
        raise NotReady(f"{version} is not a version such as 1.2.3.")
    if version in sections(root):
        raise NotReady(f"{CHANGELOG} has a section {version} already.")
    for name, how in NAMED.items():
        text = text_of(root, name)
        found = re.search(how, text, re.MULTILINE)
        if found is None:
            raise NotReady(f"{name} has no line with a version.")
        released = f"\ndate-released: {day}" if name == "CITATION.cff" else ""
        after = _RELEASED.sub("", text[found.end("version") :])
        text = text[: found.start("version")] + version + released + after
        _write(root / name, text)
    text = text_of(root, CHANGELOG)
    heading = "## [Unreleased]\n"
    if heading not in text:
        raise NotReady(f"{CHANGELOG} has no section of unreleased changes.")
    _write(root / CHANGELOG, text.replace(heading, f"{heading}\n## [{version}] - {day}\n", 1))


def make(dist: Path, *, trial: bool, root: Path = ROOT) -> None:
    """Build, compare, check and test a release of the last commit."""
    left = disagreements(root) if trial else unready(root)
    if left:
        raise NotReady("\n".join(left))
    with tempfile.TemporaryDirectory(prefix="nearkin-release-") as scratch:
        folder = Path(scratch)
        first = _built(root, folder / "a", {"TZ": "UTC"}, umask=0o022)
        # Elsewhere, later, by somebody else: nothing of this may be seen in what is built.
        other = {"TZ": "Pacific/Kiritimati", "LC_ALL": "C", "PYTHONHASHSEED": "7"}
        second = _built(root, folder / "b/longer name", other, umask=0o077)
        compare(first, second)
        _say("Both builds are the same, byte by byte.")
        source, wheel = sorted(first, key=lambda path: path.suffix)
        again = _built_from(source, folder / "c")
        compare([wheel], [again])
        _say("A wheel from the source distribution, without Node.js, is the same too.")
        shutil.rmtree(dist, ignore_errors=True)
        dist.mkdir(parents=True)
        source, wheel = (Path(shutil.copy(path, dist)) for path in (source, wheel))
        _run([sys.executable, "-m", "twine", "check", "--strict", str(source), str(wheel)])
        _test(folder / "a", wheel, folder / "fresh")
    _write_beside(root, dist, source, wheel)
    _tell_next(root, dist, trial=trial)


def compare(some: Sequence[Path], others: Sequence[Path]) -> None:
    """Raise if files of one list differ from those of the other."""
    for one, other in zip(sorted(some), sorted(others), strict=True):
        if one.name != other.name or one.read_bytes() != other.read_bytes():
            differ = ", ".join(differing(one, other)[:10]) or "the way they are packed"
            raise NotReady(f"Two builds of {one.name} differ: {differ}.")


def differing(one: Path, other: Path) -> list[str]:
    """Names of what differs in two archives."""
    had, has = _members(one), _members(other)
    return sorted(name for name in {*had, *has} if had.get(name) != has.get(name))


def _members(path: Path) -> dict[str, object]:
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as file:
            return {
                one.filename: (file.read(one), one.external_attr, one.date_time)
                for one in file.infolist()
            }
    with tarfile.open(path) as archive:
        found = [(one, archive.extractfile(one)) for one in archive.getmembers()]
        return {
            one.name: (content and content.read(), one.mode, one.mtime, one.uid, one.gid, one.uname)
            for one, content in found
        }


def _built(root: Path, clone: Path, environ: dict[str, str], *, umask: int) -> list[Path]:
    """The distributions of a fresh clone."""
    _say(f"Building in {clone}")
    masked = {} if os.name == "nt" else {"umask": umask}
    _run(["git", "clone", "--quiet", "--no-local", str(root), str(clone)], **masked)
    out = clone.parent / f"{clone.name}-dist"
    _run(_hatchling(out), cwd=clone, env=_environ(**environ), **masked)
    return sorted(out.iterdir())


def _built_from(source: Path, folder: Path) -> Path:
    """The wheel of a source distribution, where there is no Node.js."""
    with tarfile.open(source) as archive:
        archive.extractall(folder, filter="data")
    (sources,) = folder.iterdir()
    out = folder / "dist"
    _run(_hatchling(out, "-t", "wheel"), cwd=sources, env=_environ(PATH=""))
    (wheel,) = out.iterdir()
    return wheel


def _hatchling(out: Path, *options: str) -> list[str]:
    return [sys.executable, "-m", "hatchling", "build", "-d", str(out), *options]


def _environ(**more: str) -> dict[str, str]:
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in ("SOURCE_DATE_EPOCH", "NEARKIN_WITHOUT_PAGE", "PYTHONPATH")
    }
    return {**kept, **more}


def _test(clone: Path, wheel: Path, fresh: Path) -> None:
    """Install a wheel in a fresh environment, use it there, and run the clone's tests of wheels."""
    _say("Testing the wheel in a fresh environment")
    venv.create(fresh, with_pip=True)
    programs = fresh / ("Scripts" if os.name == "nt" else "bin")
    environ = _environ(PATH=str(programs))
    python = str(programs / "python")
    _run([python, "-m", "pip", "install", "--quiet", f"{wheel}[cli]"], env=environ)
    _run([python, "-W", "error", "-c", _FIRST_PROGRAM], cwd=fresh, env=environ)
    _run([str(programs / "nearkin"), "info", "metric.nearkin"], cwd=fresh, env=environ)
    _run([python, "-m", "pip", "check"], env=environ)
    tests = ["tests/test_wheel.py", "tests/test_packaging.py"]
    environ = _environ(NEARKIN_WHEEL=str(wheel), CI="true", PYTHONPATH=str(clone / "src"))
    _run([sys.executable, "-m", "pytest", "-q", *tests], cwd=clone, env=environ)


def _write_beside(root: Path, dist: Path, source: Path, wheel: Path) -> None:
    """Digests, the bill of materials and the recipe for conda-forge."""
    digests = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in (source, wheel)}
    with zipfile.ZipFile(wheel) as file:
        (bill,) = (name for name in file.namelist() if name.endswith(".cdx.json"))
        path = dist / f"{source.name.removesuffix('.tar.gz')}.cdx.json"
        path.write_bytes(file.read(bill))
        digests[path.name] = hashlib.sha256(path.read_bytes()).hexdigest()
    recipe = text_of(root, "recipe/recipe.yaml")
    if recipe.count(_NO_DIGEST) != 1:
        raise NotReady("recipe/recipe.yaml has no place for a digest.")
    _write(dist / "recipe.yaml", recipe.replace(_NO_DIGEST, digests[source.name]))
    lines = (f"{digest}  {name}\n" for name, digest in sorted(digests.items()))
    _write(dist / "SHA256SUMS", "".join(lines))


def _tell_next(root: Path, dist: Path, *, trial: bool) -> None:
    version = named_versions(root)[VERSION]
    _say(f"\nIn {dist}:")
    for path in sorted(dist.iterdir()):
        _say(f"  {path.name}  {path.stat().st_size:,} bytes")
    if trial:
        _say("\nThis was a trial. Before a release: python .ci/release.py prepare VERSION")
        return
    _say(f"""
Next:
  git tag -s v{version} -m "nearkin {version}"
  git push origin v{version}
The workflow "Release" builds the same bytes, attests and uploads them: see dist/SHA256SUMS.
Then: dist/recipe.yaml goes to the feedstock of conda-forge.""")


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version))


def _git(root: Path, *arguments: str) -> str:
    command = ["git", "-C", str(root), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def _run(command: Sequence[str], **settings: object) -> None:
    done = subprocess.run(command, check=False, **settings)  # type: ignore[call-overload]
    if done.returncode:
        raise NotReady(f"{' '.join(command[:6])} … failed.")


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")


def _say(words: str) -> None:
    print(words, flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    tasks = parser.add_subparsers(dest="task", required=True)
    task = tasks.add_parser("prepare", help="set the version, and date the changelog")
    task.add_argument("version")
    task.add_argument("--date", default=date.today().isoformat())
    task = tasks.add_parser("make", help="build, compare, check and test")
    task.add_argument("--trial", action="store_true", help="whatever the version is")
    task.add_argument("--dist", type=Path, default=ROOT / "dist")
    chosen = parser.parse_args(arguments)
    try:
        if chosen.task == "prepare":
            prepare(chosen.version, chosen.date)
            _say(f"Look at it, then commit: git commit -am 'Release nearkin {chosen.version}'")
        else:
            make(chosen.dist.resolve(), trial=chosen.trial)
    except NotReady as reason:
        _say(f"No release:\n{reason}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
