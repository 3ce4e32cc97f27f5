"""What a release holds, and what becomes of one that would lack the page of the studio."""

import re
import shutil
import tarfile
import zipfile

import pytest

from tests.wheel import ROOT, built, need_hatchling, need_what_builds

PAGE = "nearkin/teaching/server/page"


@pytest.fixture(scope="module", autouse=True)
def hatchling():
    need_hatchling()


def contents(folder):
    """The files of the one distribution in a folder, by their names without what is before src."""
    (path,) = folder.iterdir()
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as file:
            return {name: file.read(name) for name in file.namelist()}
    with tarfile.open(path) as file:
        return {
            one.name.partition("/")[2]: file.extractfile(one).read()
            for one in file.getmembers()
            if one.isfile()
        }


@pytest.mark.parametrize(("kind", "before"), [("wheel", ""), ("sdist", "src/")])
def test_what_is_released_has_the_page_and_the_licences_of_what_is_in_it(tmp_path, kind, before):
    need_what_builds()
    done = built(kind, ROOT, tmp_path)
    assert done.returncode == 0, done.stderr
    files = contents(tmp_path)
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
    assert not [name for name in files if "node_modules" in name]


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


@pytest.mark.parametrize("kind", ["wheel", "sdist"])
def test_no_release_is_made_without_the_page(bare, tmp_path, kind):
    done = built(kind, bare, tmp_path / "out", PATH="")
    assert done.returncode != 0
    assert "there is no npm" in done.stderr
    assert "NEARKIN_WITHOUT_PAGE=1" in done.stderr
    assert not (tmp_path / "out").exists() or not [*(tmp_path / "out").iterdir()]


@pytest.mark.parametrize("allowed", ["NEARKIN_WITHOUT_PAGE", "PIP_BUILD_TRACKER"])
def test_who_installs_or_asks_for_it_gets_all_but_the_page_and_is_told(bare, tmp_path, allowed):
    done = built("wheel", bare, tmp_path / "out", PATH="", **{allowed: "1"})
    assert done.returncode == 0, done.stderr
    assert "nearkin studio will have no page" in done.stderr + done.stdout
    files = contents(tmp_path / "out")
    assert "nearkin/__init__.py" in files
    assert not [name for name in files if name.startswith(PAGE)]
