"""One line for each learner, and everything that goes by these lines."""

import ast
import inspect
from importlib import import_module
from pathlib import Path

import pytest
from sklearn.utils import get_tags

import nearkin
from nearkin import registry
from nearkin.cli.options import CLASSES
from nearkin.learners.base import MetricMixin
from nearkin.storage.schema import fields_of
from tests.cases import each
from tests.common.learners import ENTRIES

each = each("learner", registry.LEARNERS, ids=lambda learner: learner.name)


@each
def test_a_line_says_what_is_so(learner):
    cls = getattr(nearkin, learner.name)
    assert issubclass(cls, MetricMixin)
    assert cls.__module__ == learner.home
    assert learner.name in nearkin.__all__
    assert fields_of(learner.name)
    assert getattr(cls, "_remote", False) is learner.elsewhere
    if learner.module != "compositions":  # which take what their parts take
        assert get_tags(cls()).input_tags.sparse is learner.sparse


def test_every_learner_has_a_line():
    package = Path(nearkin.__file__).parent / "learners"
    for file in package.glob("*.py"):
        module = import_module(f"nearkin.learners.{file.stem}")
        found = {
            name
            for name, cls in inspect.getmembers(module, inspect.isclass)
            if cls.__module__ == module.__name__ and "threshold_" in fields_of(cls)
        }
        lines = {x.name for x in registry.LEARNERS if x.home == module.__name__}
        assert found == lines, file.name


@each
def test_every_learner_has_an_entry_with_an_oracle(learner):
    file, _, test = ENTRIES[learner.name].oracle.partition("::")
    assert f"def {test}(" in (Path(__file__).parent / "learners" / file).read_text()


def test_every_entry_is_of_a_learner():
    assert set(ENTRIES) == {learner.name for learner in registry.LEARNERS}


def test_commands_have_the_names_of_the_list():
    assert list(CLASSES.items()) == [
        (learner.command, learner.name) for learner in registry.LEARNERS if learner.command
    ]


def test_dask_has_those_that_learn_from_rows_elsewhere():
    on_dask = pytest.importorskip("nearkin.dask")
    names = {f"Dask{learner.name}" for learner in registry.LEARNERS if learner.elsewhere}
    assert set(on_dask.__all__) == names | {"DaskMetric", "DaskRows"}
    for name in names:
        cls = getattr(on_dask, name)
        assert (cls.__name__, cls.__module__) == (name, "nearkin.dask")
        assert issubclass(cls, on_dask.DaskMetric)
        assert name.removeprefix("Dask") in inspect.getdoc(cls).partition("\n")[0]
    assert _names_for_type_checkers(on_dask) == names


def test_type_checkers_see_all_that_is_public():
    assert _names_for_type_checkers(nearkin) == {*nearkin.__all__, "models"}


def _names_for_type_checkers(module):
    """Names in the module's block for type checkers, each from where the package imports it."""
    names = set()
    for node in ast.walk(ast.parse(Path(module.__file__).read_text())):
        if not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"):
            continue
        for line in node.body:
            if isinstance(line, ast.Assign):
                names |= {target.id for target in line.targets}
                continue
            for alias in line.names:
                names.add(alias.asname or alias.name)
                home = nearkin._HOMES.get(alias.name, line.module)
                assert line.module == home, alias.name
    return names


def test_no_module_imports_from_above_by_name():
    """Only the package itself, above all, and dask, above the learners, go by the list.

    The command line, which is above all too, imports late; its layers see that for types.
    """
    package = Path(nearkin.__file__).parent
    strings = {
        str(path.relative_to(package))
        for path in package.rglob("*.py")
        if "import_module(" in path.read_text() or "__import__(" in path.read_text()
    }
    other_packages = {"rows/backends.py", "studio/notebook.py"}
    assert strings <= {"__init__.py", "dask.py", "cli/common.py", *other_packages}
