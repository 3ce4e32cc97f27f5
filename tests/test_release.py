"""Files around the library agree with it: versions, dependencies, workflows, what systems have."""

import importlib.util
import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

import nearkin
from tests.cases import each
from tests.wheel import ROOT

yaml = pytest.importorskip("yaml")

WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
TEMPLATES = sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PYTHONS = [
    line.rpartition(" ")[2]
    for line in PROJECT["project"]["classifiers"]
    if re.search(r":: 3\.\d+$", line)
]
# Packages that conda-forge has by other names.
OF_CONDA = {"matplotlib": "matplotlib-base", "torch": "pytorch"}
# What may be written, by the job that needs it.
MAY_WRITE = {
    ("docs.yml", "deploy"): {"pages", "id-token"},
    ("release.yml", "publish"): {"id-token", "attestations"},
    ("release.yml", "page"): {"contents"},
}


def loaded(path):
    return yaml.safe_load(path.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def release():
    """The program that makes releases, as a module."""
    spec = importlib.util.spec_from_file_location("release", ROOT / ".ci/release.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def copied(release, tmp_path):
    """A repository with those files that name a version."""
    for name in (*release.NAMED, release.CHANGELOG):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    changes = (
        "# Changelog\n\n## [Unreleased]\n\n- A change.\n\n## [0.0.1] - 2026-01-01\n\n- First.\n"
    )
    (tmp_path / release.CHANGELOG).write_text(changes)
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "All"]):
        who = ["-c", "user.name=n", "-c", "user.email=n@example.org"]
        subprocess.run(["git", *who, *command], cwd=tmp_path, check=True)
    return tmp_path


def test_all_files_name_one_version(release):
    assert release.disagreements() == []
    assert {*release.named_versions(ROOT).values()} == {nearkin.__version__}


def test_a_release_is_prepared_in_all_files_at_once(release, copied):
    release.prepare("1.2.0", "2026-12-01", copied)  # as high as the version of CITATION's format
    assert {*release.named_versions(copied).values()} == {"1.2.0"}
    assert release.disagreements(copied) == []
    assert release.sections(copied)["1.2.0"] == ("2026-12-01", "- A change.")
    assert release.unready(copied) == ["There are changes that are not committed."]
    assert loaded(copied / "CITATION.cff")["version"] == "1.2.0"
    assert str(loaded(copied / "CITATION.cff")["date-released"]) == "2026-12-01"
    with pytest.raises(release.NotReady, match=r"a section 1\.2\.0 already"):
        release.prepare("1.2.0", "2026-12-02", copied)
    with pytest.raises(release.NotReady, match=r"1\.2 is not a version"):
        release.prepare("1.2", "2026-12-02", copied)
    release.prepare("1.3.0", "2026-12-03", copied)
    assert release.disagreements(copied) == []
    assert (copied / "CITATION.cff").read_text(encoding="utf-8").count("date-released") == 1


def test_what_does_not_agree_is_named(release, copied):
    assert release.unready(copied) == [
        f"CHANGELOG.md has no section {nearkin.__version__}: "
        f"python .ci/release.py prepare {nearkin.__version__}"
    ]
    path = copied / "CITATION.cff"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace(f"\nversion: {nearkin.__version__}", "\nversion: 7.0.0"))
    (copied / "CHANGELOG.md").write_text("## [0.0.1] - 2026-01-01\n## [99.0.0]\n")
    assert release.disagreements(copied) == [
        f"CITATION.cff has version 7.0.0, and {release.VERSION} has {nearkin.__version__}.",
        "CHANGELOG.md has no date for 99.0.0.",
        "CHANGELOG.md does not have the newest version first.",
    ]


def test_archives_that_differ_are_told_apart(release, tmp_path):
    import zipfile

    for name, text in (("a", "same"), ("b", "other")):
        (tmp_path / name).mkdir()
        with zipfile.ZipFile(tmp_path / name / "x.whl", "w") as file:
            file.writestr(zipfile.ZipInfo("kept.py"), "1")
            file.writestr(zipfile.ZipInfo("changed.py"), text)
    one, other = tmp_path / "a/x.whl", tmp_path / "b/x.whl"
    release.compare([one], [one])
    with pytest.raises(release.NotReady, match=r"Two builds of x\.whl differ: changed\.py\."):
        release.compare([one], [other])


def floors(lines):
    """The lowest version of each package, by its name."""
    found = [Requirement(line) for line in lines if not line.startswith(("python ", "nearkin"))]
    return {one.name: str(one.specifier) for one in found}


def test_the_recipe_asks_for_what_the_package_does():
    recipe = loaded(ROOT / "recipe/recipe.yaml")
    needs = recipe["requirements"]
    project = PROJECT["project"]
    assert floors(needs["run"]) == floors(project["dependencies"])
    extras = floors(line for some in project["optional-dependencies"].values() for line in some)
    extras = {OF_CONDA.get(name, name): version for name, version in extras.items()}
    dependencies = floors(project["dependencies"])
    optional = {name: version for name, version in extras.items() if name not in dependencies}
    assert floors(needs["run_constraints"]) == optional
    assert floors(PROJECT["build-system"]["requires"]).items() <= floors(needs["host"]).items()
    assert project["requires-python"] == f">={recipe['context']['python_min']}"
    assert recipe["about"]["license"] == project["license"]
    assert recipe["about"]["license_file"] == project["license-files"]
    (command,) = recipe["build"]["python"]["entry_points"]
    assert command == f"nearkin = {project['scripts']['nearkin']}"


def test_oldest_versions_are_the_floors():
    text = (ROOT / ".ci/oldest.txt").read_text(encoding="utf-8")
    pinned = dict(re.findall(r"^([\w-]+)==([\w.]+)", text, re.MULTILINE))
    wanted = floors(PROJECT["project"]["dependencies"])
    for some in PROJECT["project"]["optional-dependencies"].values():
        wanted |= floors(some)
    wanted = {name: floor for name, floor in wanted.items() if name in pinned}
    assert {"numpy", "scikit-learn", "pyarrow", "fastapi"} <= {*wanted}
    differing = {
        name: (floor, pinned[name])
        for name, floor in wanted.items()
        if Version(floor.removeprefix(">=")) != Version(pinned[name])
        and name not in ("scikit-learn", "scipy")  # whose floors are higher with torch
    }
    assert differing == {}


def test_workflows_may_do_no_more_than_they_need():
    pins = set()
    for path in WORKFLOWS:
        workflow = loaded(path)
        assert workflow["permissions"] == {}
        for name, job in workflow["jobs"].items():
            written = {what for what, right in job["permissions"].items() if right == "write"}
            assert written == MAY_WRITE.get((path.name, name), set())
            assert job["timeout-minutes"] <= 360
            for step in job["steps"]:
                if step.get("uses", "").startswith("actions/checkout@"):
                    assert step["with"]["persist-credentials"] is False
                # What others name, such as a branch, is never part of a program.
                assert "${{" not in step.get("run", "")
        text = path.read_text(encoding="utf-8")
        assert "secrets." not in text
        uses = re.findall(r"uses: (.+)", text)
        pin = re.compile(r"([\w./-]+)@([0-9a-f]{40}) # v\d+\.\d+\.\d+")
        found = [pin.fullmatch(use) for use in uses]
        assert found
        assert None not in found, uses
        pins |= {one.groups() for one in found}
    assert len({name for name, _ in pins}) == len(pins)  # one version of each


def test_workflows_have_no_known_kind_of_hole():
    program = shutil.which("zizmor", path=str(Path(sys.executable).parent))
    if program is None:
        pytest.skip("zizmor is not installed")
    command = [program, "--offline", "--no-progress", "--quiet", str(ROOT / ".github")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_what_is_said_to_be_supported_is_tested():
    jobs = loaded(ROOT / ".github/workflows/ci.yml")["jobs"]
    assert jobs["linux"]["strategy"]["matrix"]["python"] == PYTHONS
    elsewhere = jobs["elsewhere"]["strategy"]["matrix"]
    assert elsewhere["system"] == ["macos-latest", "windows-latest"]
    assert elsewhere["python"] == [PYTHONS[0], PYTHONS[-1]]
    assert PROJECT["project"]["requires-python"] == f">={PYTHONS[0]}"
    systems = [line for line in PROJECT["project"]["classifiers"] if line.startswith("Operating")]
    assert len(systems) == 3
    assert "CONSTRAINTS=.ci/oldest.txt" in json.dumps(jobs["oldest"])


@each(
    ("schema", "paths"),
    [
        ("github-workflows", WORKFLOWS),
        ("github-issue-forms", [path for path in TEMPLATES if path.name != "config.yml"]),
        ("github-issue-config", [ROOT / ".github/ISSUE_TEMPLATE/config.yml"]),
        ("dependabot", [ROOT / ".github/dependabot.yml"]),
        ("citation-file-format", [ROOT / "CITATION.cff"]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
@pytest.mark.night
def test_files_for_services_are_as_these_want_them(schema, paths):
    schemas = pytest.importorskip("check_jsonschema.builtin_schemas")
    validator_for = pytest.importorskip("jsonschema_rs").validator_for
    validator = validator_for(schemas.get_builtin_schema(f"vendor.{schema}"))
    for path in paths:
        # YAML 1.1 takes the word "on" for true, and has dates.
        found = {("on" if name is True else name): value for name, value in loaded(path).items()}
        validator.validate(json.loads(json.dumps(found, default=str)))


def test_what_was_to_be_removed_by_now_is_gone():
    due = []
    for path in (ROOT / "src").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        for version in re.findall(r"removed in nearkin (\d+(?:\.\d+)+)", text):
            if Version(version) <= Version(nearkin.__version__):
                due.append(f"{path.name}: {version}")
        if "FutureWarning" in text and "warn" in text:
            assert "removed in nearkin" in text or "FutureWarning)" not in text, path
    assert due == []


# What Windows lacks, taken from the modules of ours that might use it.
WINDOWS = """
import importlib, os, pkgutil, signal, sys
from types import ModuleType
import nearkin as nk

LACKS = {
    "os": ["chown", "fchmod", "fchown", "fork", "getegid", "geteuid", "getgid", "getloadavg",
           "getpgid", "getuid", "killpg", "mkfifo", "posix_fadvise", "sched_getaffinity", "setsid",
           "statvfs", "sync", "sysconf", "uname"],
    "signal": ["SIGALRM", "SIGCHLD", "SIGHUP", "SIGKILL", "SIGPIPE", "SIGQUIT", "SIGUSR1",
               "alarm", "pthread_sigmask", "setitimer", "sigwait"],
}
FOLDERS = ("storage", "rows", "cli", "learners")
importlib.import_module("nearkin.estimates")
for folder in FOLDERS:
    package = importlib.import_module(f"nearkin.{folder}")
    for one in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if not any(word in one.name for word in ("triton", "dask")):
            importlib.import_module(one.name)
for name, missing in LACKS.items():
    whole = importlib.import_module(name)
    part = ModuleType(name)
    vars(part).update((key, value) for key, value in vars(whole).items() if key not in missing)
    for module in [*sys.modules.values()]:
        if module.__name__.startswith("nearkin") and getattr(module, name, None) is whole:
            setattr(module, name, part)
for name in ("fcntl", "resource", "pwd", "grp", "termios", "pty"):
    sys.modules[name] = None
X, y = nk.datasets.make_xor(60, random_state=0)
metric = nk.GMML().fit(X, y)
metric.save("metric.nearkin")
metric.save("metric.nearkin")  # in the place of another
assert (nk.load("metric.nearkin").transform(X) == metric.transform(X)).all()
from nearkin.cli import main
assert main(["info", "metric.nearkin"]) == 0
from nearkin.estimates import available_memory
assert available_memory() > 0
"""


@pytest.mark.night  # by day the next one looks at imports
@pytest.mark.skipif(sys.platform == "win32", reason="there it is so")
def test_nothing_is_called_that_windows_lacks(tmp_path):
    """From rows to a file, and a command; locks of files have a way of their own."""
    command = [sys.executable, "-W", "ignore", "-c", WINDOWS]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_modules_of_posix_are_imported_where_they_are_needed_only():
    posix = re.compile(
        r"^(import|from) (fcntl|resource|pwd|grp|termios|pty|tty|posix)\b", re.MULTILINE
    )
    sources = (ROOT / "src").rglob("*.py")
    assert [path for path in sources if posix.search(path.read_text(encoding="utf-8"))] == []


def test_pages_of_the_project_are_on_the_site():
    index = (ROOT / "docs/project/index.md").read_text(encoding="utf-8")
    listed = re.search(r"```\{toctree\}.*?\n\n(.*?)```", index, re.DOTALL)[1].split()
    there = {path.stem for path in (ROOT / "docs/project").glob("*.md")} - {"index"}
    assert {*listed} == there
    shown = "".join(path.read_text("utf-8") for path in (ROOT / "docs/project").glob("*.md"))
    for name in ("CHANGELOG", "CODE_OF_CONDUCT", "CONTRIBUTING", "GOVERNANCE", "SECURITY"):
        assert f"<!-- file: {name}.md -->" in shown
        assert Path(ROOT / f"{name}.md").is_file()
