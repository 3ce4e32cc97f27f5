"""What a release holds, and what becomes of one that would lack the page of the studio."""

import email
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import time
import zipfile
from importlib import import_module
from pathlib import Path

import pytest

import nearkin
from tests.cases import each
from tests.wheel import ROOT, built, need_hatchling, need_what_builds, once

PAGE = "nearkin/studio/server/page"
INFO = f"nearkin-{nearkin.__version__}.dist-info"
# All that a wheel may hold. Whatever is new has to be thought of here.
IN_A_WHEEL = [
    *(r"nearkin/(\w+/)*\w+\.py", r"nearkin/py\.typed", rf"{PAGE}/index\.html"),
    *(rf"{PAGE}/assets/licences\.txt", rf"{PAGE}/assets/(index|icon)-[\w-]{{8}}\.(js|css|svg)"),
    rf"{re.escape(INFO)}/(METADATA|RECORD|WHEEL|entry_points\.txt)",
    rf"{re.escape(INFO)}/licenses/(LICENSE|page/licences/bundled\.txt)",
    rf"{re.escape(INFO)}/sboms/nearkin\.cdx\.json",
]
IN_A_SOURCE_DISTRIBUTION = [
    r"(src|page|tests|benchmarks|examples|docs|recipe|\.ci)/.*",
    r"(Makefile|LICENSE|PKG-INFO|CITATION\.cff|hatch_build\.py|pyproject\.toml|\.gitignore)",
    r"(CHANGELOG|CODE_OF_CONDUCT|CONTRIBUTING|GOVERNANCE|README|SECURITY)\.md",
]
NEVER = r"(^|/)(__pycache__|node_modules|\.git|\.venv|\.env|scratch|build|\.DS_Store)(/|$)|\.pyc$"


@pytest.fixture(scope="module", autouse=True)
def hatchling():
    need_hatchling()


def contents(path):
    """The files of a distribution, by their names without what is before src."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as file:
            return {name: file.read(name) for name in file.namelist()}
    with tarfile.open(path) as file:
        return {
            one.name.partition("/")[2]: file.extractfile(one).read()
            for one in file.getmembers()
            if one.isfile()
        }


@pytest.fixture(scope="module")
def in_the_wheel(wheel):
    return contents(wheel)


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """The source distribution."""
    need_what_builds()

    def make(folder):
        done = built("sdist", ROOT, folder / "dist")
        assert done.returncode == 0, done.stderr

    (path,) = (once(tmp_path_factory, "sdist", make) / "dist").iterdir()
    return path


@pytest.fixture(scope="module")
def in_the_sources(sources):
    return contents(sources)


def digest(path):
    """Bytes of a file in short: pytest would look for differences of long ones for an hour."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def not_allowed(names, patterns):
    allowed = re.compile("|".join(f"(?:{pattern})" for pattern in patterns))
    return [name for name in names if not allowed.fullmatch(name) or re.search(NEVER, name)]


def bill_of(files):
    return json.loads(files[f"{INFO}/sboms/nearkin.cdx.json"])


def notices_of(files):
    """Package, version and licence, of all that the page is built of."""
    text = files[f"{PAGE}/assets/licences.txt"].decode()
    return re.findall(r"^(\S+) (\d+\.\d+\.\d+) \(([\w.-]+)\)$", text, re.MULTILINE)


@each(("kind", "before"), [("in_the_wheel", ""), ("in_the_sources", "src/")])
def test_what_is_released_has_the_page_and_the_licences_of_what_is_in_it(request, kind, before):
    files = request.getfixturevalue(kind)
    page = f"{before}{PAGE}"
    named = re.findall(r'(?:src|href)="\./([^"]+)"', files[f"{page}/index.html"].decode())
    assert any(name.endswith(".js") for name in named)
    assert any(name.endswith(".css") for name in named)
    for name in named:
        assert len(files[f"{page}/{name}"]) > 100
    notices = files[f"{page}/assets/licences.txt"].decode()
    found = set(re.findall(r"^(\S+) \d+\.\d+\.\d+ \([\w.-]+\)$", notices, re.MULTILINE))
    assert {"regl", "regl-scatterplot", "kdbush"} <= found
    assert notices.count("opyright") >= len(found)
    assert any(name.endswith("LICENSE") for name in files)


def test_a_wheel_holds_what_it_should_and_nothing_else(in_the_wheel):
    assert not_allowed(in_the_wheel, IN_A_WHEEL) == []
    ours = {f"nearkin/{path.relative_to(ROOT / 'src/nearkin').as_posix()}" for path in _modules()}
    assert {name for name in in_the_wheel if name.endswith(".py")} == ours
    assert sum(map(len, in_the_wheel.values())) < 6e6


def _modules():
    return (ROOT / "src/nearkin").rglob("*.py")


def test_a_source_distribution_holds_what_it_should_and_nothing_else(in_the_sources):
    assert not_allowed(in_the_sources, IN_A_SOURCE_DISTRIBUTION) == []
    for name in ("hatch_build.py", "page/package-lock.json", "tests/test_wheel.py", "Makefile"):
        assert hashlib.sha256(in_the_sources[name]).hexdigest() == digest(ROOT / name)


def test_licences_are_where_tools_look_for_them(in_the_wheel):
    told = email.message_from_bytes(in_the_wheel[f"{INFO}/METADATA"])
    assert told.get_all("License-File") == ["LICENSE", "page/licences/bundled.txt"]
    bundled = {licence for _, _, licence in notices_of(in_the_wheel)}
    assert {*told["License-Expression"].split(" AND ")} == {"BSD-3-Clause", *bundled}
    kept = in_the_wheel[f"{INFO}/licenses/page/licences/bundled.txt"]
    # If not: make studio, which writes the file anew.
    assert kept.decode() == in_the_wheel[f"{PAGE}/assets/licences.txt"].decode()


def test_the_bill_of_materials_lists_what_is_bundled_with_its_digests(in_the_wheel):
    bill = bill_of(in_the_wheel)
    assert bill["metadata"]["component"]["version"] == nearkin.__version__
    listed = [
        (
            "/".join([part["group"], part["name"]] if "group" in part else [part["name"]]),
            part["version"],
            part["licenses"][0]["license"]["id"],
        )
        for part in bill["components"]
    ]
    assert sorted(listed) == sorted(notices_of(in_the_wheel))
    lone = [part["name"] for part in bill["components"] if "hashes" not in part]
    assert lone == ["kdbush"]  # a copy
    locked = json.loads((ROOT / "page/package-lock.json").read_text(encoding="utf-8"))["packages"]
    needed = {
        (name.rpartition("node_modules/")[2], one["version"], one["license"])
        for name, one in locked.items()
        if name and not one.get("dev")
    }
    assert needed <= {*listed}
    assert "timestamp" not in json.dumps(bill)


@pytest.mark.night
def test_the_bill_of_materials_is_valid(in_the_wheel):
    pytest.importorskip("cyclonedx")
    pytest.importorskip("jsonschema")
    validation = import_module("cyclonedx.validation.json")
    version = import_module("cyclonedx.schema").SchemaVersion.V1_6
    text = in_the_wheel[f"{INFO}/sboms/nearkin.cdx.json"].decode()
    assert validation.JsonStrictValidator(version).validate_str(text) is None


def test_metadata_are_as_an_index_wants_them(wheel, sources):
    pytest.importorskip("twine")
    command = [sys.executable, "-m", "twine", "check", "--strict", str(wheel), str(sources)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.night
def test_builds_from_the_sources_on_another_day_by_another_user_are_the_same(
    sources, wheel, tmp_path
):
    """Without Node.js. Those of clones, which build the page, are compared by make release."""
    other = tmp_path / "another place"
    with tarfile.open(sources) as archive:
        archive.extractall(other, filter="data")
    (folder,) = other.iterdir()
    day = time.time() - 3e7
    for path in folder.rglob("*"):
        os.utime(path, (day, day))
        path.chmod(0o700 if path.is_dir() or path.stat().st_mode & 0o100 else 0o600)
    environ = {"TZ": "Pacific/Kiritimati", "LC_ALL": "C", "PYTHONHASHSEED": "7"}
    for kind, first in (("wheel", wheel), ("sdist", sources)):
        done = built(kind, folder, tmp_path / kind, PATH="", **environ)
        assert done.returncode == 0, done.stderr
        (again,) = (tmp_path / kind).iterdir()
        assert digest(again) == digest(first), kind


@pytest.mark.night
def test_two_builds_of_the_page_are_the_same(tmp_path):
    if shutil.which("npm") is None or not (ROOT / "page/node_modules").exists():
        pytest.skip("no npm, or nothing to build the page with")
    pages = []
    for name in ("a", "b/longer name"):
        folder = tmp_path / name / "page"
        shutil.copytree(ROOT / "page", folder, ignore=shutil.ignore_patterns("node_modules"))
        (folder / "node_modules").symlink_to((ROOT / "page/node_modules").resolve())
        subprocess.run(["npm", "run", "--silent", "build"], cwd=folder, check=True)
        page = folder.parent / "src" / PAGE
        pages.append({p.relative_to(page): digest(p) for p in page.rglob("*") if p.is_file()})
    assert pages[0] == pages[1]
    assert Path("index.html") in pages[0]


@pytest.fixture
def bare(tmp_path):
    """Sources without a page, and a way to what is there that has no npm."""
    root = tmp_path / "sources"
    (root / "src/nearkin").mkdir(parents=True)
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, root / name)
    for name in ("__init__.py", "_version.py"):
        shutil.copy(ROOT / "src/nearkin" / name, root / "src/nearkin" / name)
    return root


@each("kind", ["wheel", "sdist"])
def test_no_release_is_made_without_the_page(bare, tmp_path, kind):
    done = built(kind, bare, tmp_path / "out", PATH="")
    assert done.returncode != 0
    assert "there is no npm" in done.stderr
    assert "NEARKIN_WITHOUT_PAGE=1" in done.stderr
    assert not (tmp_path / "out").exists() or not [*(tmp_path / "out").iterdir()]


@each("allowed", ["NEARKIN_WITHOUT_PAGE", "PIP_BUILD_TRACKER"])
def test_who_installs_or_asks_for_it_gets_all_but_the_page_and_is_told(bare, tmp_path, allowed):
    done = built("wheel", bare, tmp_path / "out", PATH="", **{allowed: "1"})
    assert done.returncode == 0, done.stderr
    assert "nearkin studio will have no page" in done.stderr + done.stdout
    files = contents(next((tmp_path / "out").iterdir()))
    assert "nearkin/__init__.py" in files
    assert not [name for name in files if name.startswith(PAGE)]
    assert bill_of(files)["components"] == []


def test_a_source_distribution_without_the_page_becomes_a_wheel_without_it(bare, tmp_path):
    done = built("sdist", bare, tmp_path / "out", PATH="", NEARKIN_WITHOUT_PAGE="1")
    assert done.returncode == 0, done.stderr
    (path,) = (tmp_path / "out").iterdir()
    with tarfile.open(path) as archive:
        archive.extractall(tmp_path / "unpacked", filter="data")
    (folder,) = (tmp_path / "unpacked").iterdir()
    done = built("wheel", folder, tmp_path / "wheel", PATH="", PIP_BUILD_TRACKER="1")
    assert done.returncode == 0, done.stderr
    assert "nearkin studio will have no page" in done.stderr + done.stdout
    assert "nearkin/__init__.py" in contents(next((tmp_path / "wheel").iterdir()))
