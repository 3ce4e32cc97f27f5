"""Which programs of the site can be run here: those whose imports are all there."""

import ast
import re
from importlib.util import find_spec

from sphinx.util import logging

log = logging.getLogger(__name__)


def imported(path):
    """Packages that a program imports, anywhere in it."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names.add(node.module.partition(".")[0])
    return names


def missing(path):
    """Packages that a program imports and that are not there, nor beside it."""
    beside = {other.stem for other in path.parent.glob("*.py")}
    return sorted(name for name in imported(path) - beside if not find_spec(name))


def not_runnable(folder):
    """Examples that need what is not installed, and what that is."""
    needs = {path: missing(path) for path in sorted(folder.rglob("plot_*.py"))}
    return {path: names for path, names in needs.items() if names}


def pattern(folder):
    """What the paths of examples that are run look like. Says which are not."""
    left_out = not_runnable(folder)
    for path, names in left_out.items():
        log.info("not run: %s needs %s", path.name, ", ".join(names))
    besides = "".join(f"(?!{re.escape(path.name)})" for path in left_out)
    return rf"[\\/]{besides}plot_[^\\/]*$"
