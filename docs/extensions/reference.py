"""The reference: what of a class is shown, and the commands of the program.

Members that come from elsewhere, such as those of scikit-learn's base classes, are left out. Below
each name stand the examples of the gallery that use it. The comment ``<!-- commands -->``, on a
line of its own, becomes all commands with their options, as the program itself has them.
"""

import inspect
import re
from functools import cached_property
from importlib import import_module
from pathlib import Path

from sphinx.util import logging

log = logging.getLogger(__name__)
_COMMANDS = re.compile(r"^<!-- commands -->$", re.MULTILINE)
# Names such as n_components_ in a type, which reStructuredText would take for links.
_ENDS_SO = re.compile(r"(?<=[\s(,])([A-Za-z]\w*)_(?=[,)\s×]|$)(?! :)")
_ITEM = re.compile(r"([\\*_<>\[\]`$|])")


def is_left_out(app, what, name, member, skip, options):
    """Whether a member is no method and no property of ours."""
    function = member
    if isinstance(member, property | cached_property):
        function = member.fget if isinstance(member, property) else member.func
    function = inspect.unwrap(getattr(function, "__func__", function))
    ours = (getattr(function, "__module__", None) or "").startswith("nearkin")
    return True if name.startswith("_") or not callable(function) or not ours else skip


def with_names_escaped(app, what, name, found, options, lines):
    """Keep a docstring's names that end in an underscore from being links."""
    for i, line in enumerate(lines):
        if "`" not in line and not line.lstrip().startswith((">>>", "...")):
            lines[i] = _ENDS_SO.sub(r"\1\\_", line)


def is_there(name):
    """Whether a name, such as ``nearkin.solvers.logdet.logdet_objective``, is one of ours."""
    module, found = name, []
    while module:
        try:
            value = import_module(module)
        except ImportError:
            module, _, last = module.rpartition(".")
            found.insert(0, last)
            continue
        return all((value := getattr(value, part, None)) is not None for part in found)
    return False


def without_link(app, env, node, contnode):
    """What docstrings say of private parts, which have no page, is not linked but must be there."""
    target = node.get("reftarget", "")
    ours = node.get("refdomain") == "py" and target.startswith("nearkin.")
    return contnode if ours and is_there(target) else None


def commands():
    """All commands of the program, in Markdown."""
    import typer

    from nearkin.cli.app import app

    program = typer.main.get_command(app)
    above = typer.Context(program, info_name="nearkin")
    return "\n".join(
        line
        for name, command in program.commands.items()
        for line in shown(command, typer.Context(command, info_name=name, parent=above))
    )


def shown(command, context):
    """A command: what it does, how a line with it looks, and what can be given."""
    told = [" ".join(part.split()) for part in re.split(r"\n\n|\b\f", command.help or "")]
    usage = command.get_usage(context).partition(":")[2].strip()
    yield from (f"## {context.command_path}", "")
    for part in told:
        if not part.startswith("nearkin "):
            yield from (plain(part), "")
    lines = [usage, *(part for part in told if part.startswith("nearkin "))]
    yield from ("```text", *lines, "```", "")
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None and parameter.name != "help":
            names, told = record
            yield from (f"`{names}`", f": {plain(told)}", "")


def plain(text):
    """Text in which Markdown sees no marks."""
    return _ITEM.sub(r"\\\1", " ".join(text.split()))


def put_gallery_in(app, docname, source):
    """Below a name of the reference, the examples of the gallery that use it."""
    folder, _, name = docname.rpartition("/")
    used = Path(app.srcdir, "api", "backreferences", f"{name}.examples")
    if folder == "api/generated" and used.is_file() and used.stat().st_size:
        source[0] += f"\n\n.. include:: ../backreferences/{used.name}\n"


def put_in(app, docname, source):
    if not _COMMANDS.search(source[0]):
        return
    try:
        found = commands()
    except ImportError as error:
        log.info("not shown: the commands, which need %s", error.name)
        found = "The packages of the command line were not there when this page was built."
    source[0] = _COMMANDS.sub(lambda _: found, source[0])
    for path in sorted((Path(__file__).parents[2] / "src/nearkin/cli").rglob("*.py")):
        app.env.note_dependency(str(path), docname=docname)


def setup(app):
    app.connect("autodoc-skip-member", is_left_out)
    app.connect("autodoc-process-docstring", with_names_escaped, priority=100)
    app.connect("missing-reference", without_link)
    app.connect("source-read", put_gallery_in)
    app.connect("source-read", put_in)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
