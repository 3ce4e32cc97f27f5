"""The reference has every public name, and every public name has an example."""

import inspect
import re
from pathlib import Path

import nearkin as nk
from tests.cases import each

PAGES = Path(__file__).parents[1] / "docs" / "api"
MODULES = [
    "dask",
    *(
        name
        for name in nk.__all__
        if inspect.ismodule(getattr(nk, name)) and not callable(getattr(nk, name))
    ),
]


def public_names():
    """What users import, by its full name without "nearkin."."""
    for name in nk.__all__:
        if name not in MODULES:
            yield name, getattr(nk, name)
    for module in MODULES:
        found = getattr(nk, module)
        for name in found.__all__:
            yield f"{module}.{name}", getattr(found, name)


def public_methods():
    """Methods of ours that public classes have, each once with the class that it is shown with."""
    for name, found in public_names():
        for member in dir(found) if inspect.isclass(found) else ():
            defined = inspect.getattr_static(found, member)
            function = getattr(defined, "__func__", defined)
            ours = (getattr(function, "__module__", None) or "").startswith("nearkin")
            if ours and callable(function) and not member.startswith("_"):
                yield f"{name}.{member}", found, function


def reference():
    """Names that pages of the reference list."""
    text = "".join(page.read_text() for page in sorted(PAGES.glob("*.md")))
    listed = re.findall(r"^   ([\w.]+)$", text, flags=re.MULTILINE)
    modules = re.findall(r"^\.\. py:module:: nearkin\.(\w+)$", text, flags=re.MULTILINE)
    return listed, modules


def test_the_reference_has_every_public_name_once():
    listed, modules = reference()
    names = [name for name, _ in public_names()]
    assert sorted(name for name in names if listed.count(name) != 1) == []
    assert sorted(modules) == sorted(MODULES)


def test_the_reference_has_no_name_that_is_not_there():
    for name in reference()[0]:
        found = nk
        for part in name.split("."):
            found = getattr(found, part, None) or _submodule(found, part)
        assert inspect.getdoc(found), name


def _submodule(found, part):
    from importlib import import_module

    return import_module(f"{found.__name__}.{part}")


@each(("name", "found"), list(public_names()))
def test_every_public_name_has_an_example(name, found):
    assert ">>>" in (inspect.getdoc(found) or ""), f"nearkin.{name} has no example"


def test_every_public_method_has_an_example():
    """Its own, or one in the docstring of the class that it is shown with."""
    without = []
    for name, class_, function in public_methods():
        own, of_class = (inspect.getdoc(x) or "" for x in (function, class_))
        examples = "".join(x for x in of_class.splitlines() if ">>>" in x or "..." in x)
        if ">>>" not in own and f".{function.__name__}(" not in examples:
            without.append(name)
    assert without == []


def test_every_public_property_has_a_docstring():
    for name, found in public_names():
        for member in dir(found) if inspect.isclass(found) else ():
            defined = inspect.getattr_static(found, member)
            if isinstance(defined, property) and not member.startswith("_"):
                assert inspect.getdoc(defined), f"nearkin.{name}.{member}"
