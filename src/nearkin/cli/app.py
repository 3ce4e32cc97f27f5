"""The program: its commands, and what becomes of errors.

A command is a function whose signature typer reads, in the module that does its work. Help must be
there at once, so these modules have what is large from :mod:`nearkin.cli.common`, imported late.
"""

from __future__ import annotations

import sys
import traceback
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from nearkin._version import __version__
from nearkin.cli import (
    cluster,
    evaluate,
    fit,
    forget,
    info,
    neighbors,
    records,
    same,
    studio,
    suggest,
    transform,
)
from nearkin.cli import options as o
from nearkin.cli.common import (
    DEFECT,
    DONE,
    INTERRUPTED,
    MANNER,
    MISUSE,
    PIPE_CLOSED,
    UserError,
    complain,
    find_similar,
    is_watched,
    reword_for_options,
    say,
)
from nearkin.cli.files.inputs import keep_streams, refuse_same_files
from nearkin.errors import NearkinError, explain_missing_package
from nearkin.messages import hush

_EPILOG = (
    "Results go to standard output or to a file, messages to standard error. Rows count from 0. "
    "The status is 0 if all went well, 2 if the user can put something right, 1 for a defect of "
    "nearkin, 130 after Ctrl-C and 141 if the reader of a pipe has gone."
)
_EVERYWHERE = (
    "In every command: --quiet for no messages but errors, --debug to see where one arose."
)
# Options that name a file to write to, at their first name; all other files are read.
_WRITTEN = ("--output", "--embedding", "--save")
# What commands are called elsewhere.
_MEANT = {
    "transform": ("embed", "embedding", "encode", "project", "map", "apply", "infer"),
    "fit": ("train", "learn", "teach", "build"),
    "same": ("predict", "compare", "match", "judge", "verify", "distance"),
    "duplicates": ("dedupe", "dedup", "deduplicate", "duplicate", "resolve"),
    "link": ("linkage", "join", "merge", "reconcile"),
    "neighbors": ("knn", "nn", "search", "query", "nearest", "neighbours", "neighbour"),
    "evaluate": ("score", "test", "eval", "validate", "measure", "benchmark"),
    "studio": ("serve", "label", "annotate", "ui", "web", "server"),
    "suggest": ("ask", "questions", "active", "next"),
    "cluster": ("group", "kmeans", "hdbscan", "segment"),
    "plot": ("draw", "picture", "visualise", "visualize", "show"),
    "info": ("describe", "inspect", "about", "details", "summary"),
    "demo": ("example", "examples", "try"),
    "warm-up": ("warmup", "warm", "compile", "prepare", "precompile"),
}


class Commands(TyperGroup):
    """The group of all commands, which handles interruptions and closed pipes."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command; warnings become notes."""
        try:
            # Those of other libraries too, in a program that has one thread yet.
            with warnings.catch_warnings(), keep_streams():
                warnings.filterwarnings("always", category=UserWarning)
                warnings.showwarning = _show_note
                return super().invoke(ctx)
        except BrokenPipeError:
            forget(sys.stdout)
            raise typer.Exit(PIPE_CLOSED) from None
        except KeyboardInterrupt:
            complain("interrupted")
            raise typer.Exit(INTERRUPTED) from None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find a command by its name; for an unknown name, suggest the one that is meant."""
        try:
            return super().resolve_command(ctx, args)
        except Exception as error:
            said = args[0]
            meant = next((name for name, others in _MEANT.items() if said.lower() in others), None)
            if meant is not None and hasattr(error, "message"):
                error.message = f"No such command {said!r}. Did you mean {meant!r}?"
            raise


class Command(TyperCommand):
    """A command that refuses to write over its inputs."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command, once its input and output files are known to differ."""
        named = {
            p.opts[0] if p.opts[0].startswith("-") else p.opts[0].upper(): path
            for p in self.params
            if isinstance(path := ctx.params.get(p.name), Path)
        }
        MANNER.given = {p.opts[0]: _texts(ctx.params.get(p.name)) for p in self.params}
        outputs = {name: path for name, path in named.items() if name in _WRITTEN}
        inputs = {name: path for name, path in named.items() if name not in _WRITTEN}
        if not ctx.params.get("ask"):  # answers are added to what is there
            refuse_same_files(outputs, inputs)
        return super().invoke(ctx)


def _texts(value: Any) -> list[str]:
    """What an option was given, as texts; none if it is left out."""
    if value is None or isinstance(value, bool):
        return []
    return [str(one) for one in value] if isinstance(value, list | tuple) else [str(value)]


def show_demo(
    output: Path = o.option("--output -o FOLDER", "For the pictures.", Path("demo-output")),
    pairs: int = o.option("--pairs", "How many pairs to learn from.", 50, min=1),
    seed: int = o.SEED,
) -> None:
    """Show what a few pairs can do, on data that comes with it: tables and two pictures."""
    with explain_missing_package("the demonstration needs more", "demo"):
        from nearkin.demo import run_demo
    run_demo(["--output", str(output), "--pairs", str(pairs), "--seed", str(seed)])


def compile_loops() -> None:
    """Compile for this machine what other commands and programs would compile when first used.

    Worth it once after an installation. What is compiled is kept beside the library, in the
    user's cache if that folder is read-only, or in the folder that NUMBA_CACHE_DIR names. It is
    found again by those who can write there, on processors of the same kind.
    """
    from nearkin.warm_up import warm_up

    hush()  # that it is compiled is what was asked for
    done = warm_up(verbose=is_watched())
    say(f"{done.n_compiled} loops compiled in {done.seconds:.1f} s, kept below {done.folder}")


app = typer.Typer(
    name="nearkin",
    cls=Commands,
    help="Learn a distance from a few pairs, and use it.",
    epilog=_EPILOG,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
_COMMANDS: dict[str, Callable[..., None]] = {
    "fit": fit.fit,
    "transform": transform.transform,
    "same": same.judge_pairs,
    "neighbors": neighbors.list_neighbors,
    "duplicates": records.find_duplicates,
    "link": records.link_files,
    "cluster": cluster.cluster,
    "evaluate": evaluate.evaluate,
    "suggest": suggest.suggest,
    "plot": transform.plot_model,
    "info": info.describe_model,
    "demo": show_demo,
    "studio": studio.serve_studio,
    "warm-up": compile_loops,
}
for _name, _command in _COMMANDS.items():
    app.command(_name, cls=Command, epilog=_EVERYWHERE)(o.spread_groups(_command))


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def _program(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Show the version."
    ),
    quiet: bool = typer.Option(
        False, "--quiet", help="No messages but errors. Anywhere in the line, as --debug."
    ),
    debug: bool = typer.Option(
        False, "--debug", help="Show where in the program an error arose; info shows more."
    ),
) -> None:
    """Options of the program; run_command has already handled --quiet and --debug."""
    del version, quiet, debug


@cache
def _commands() -> Any:
    """The command line of all commands, built once: reading their signatures takes long."""
    return typer.main.get_command(app)


def run_command(arguments: Sequence[str] | None = None) -> int:
    """Run the program with arguments; returns the exit status."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    # Anywhere in the line, since they are thought of last.
    MANNER.debug, MANNER.quiet = "--debug" in given, "--quiet" in given
    hush(MANNER.quiet)
    given = [word for word in given if word not in ("--debug", "--quiet")] or ["--help"]
    try:
        status = _commands()(args=given, prog_name="nearkin", standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()
    except typer.Abort:
        complain("interrupted")
        return INTERRUPTED
    except SystemExit as end:
        # Of libraries that print and find nobody who reads.
        if not isinstance(end.__context__, BrokenPipeError):
            raise
        forget(sys.stdout)
        return PIPE_CLOSED
    except BrokenPipeError:
        forget(sys.stdout)
        return PIPE_CLOSED
    except Exception as error:
        if MANNER.debug:
            traceback.print_exc()
        return _report_error(error, given)
    return int(status) if isinstance(status, int) else DONE


def _report_error(error: Exception, given: list[str]) -> int:
    """Write an error in a line or two; returns the exit status."""
    if hasattr(error, "format_message"):  # of the command line itself
        path = getattr(getattr(error, "ctx", None), "command_path", "nearkin")
        complain(f"{path}: {_explain_misuse(error) or f'see {path} --help'}")
        return MISUSE
    command = " ".join(["nearkin", *[word for word in given if not word.startswith("-")][:1]])
    if isinstance(error, MemoryError):
        complain(f"{command}: there is not enough memory; --learner kernel-beta needs little.")
        return MISUSE
    if isinstance(error, NearkinError | OSError | ImportError):
        said = str(error) or type(error).__name__
        if isinstance(error, OSError) and error.strerror and error.filename:
            said = f"{error.filename}: {error.strerror}"
        elif isinstance(error, NearkinError) and not isinstance(error, UserError):
            said = reword_for_options(said)
        complain(f"{command}: {_in_two_lines(said)}")
        return MISUSE
    if not MANNER.debug:
        complain(
            f"{command}: {type(error).__name__}: {_in_two_lines(str(error))}\n"
            "This is a defect of nearkin; --debug shows where."
        )
    return DEFECT


def _explain_misuse(error: Any) -> str:
    """Message for an error in the command line, with the option that may be meant."""
    command = getattr(getattr(error, "ctx", None), "command", None)
    option = getattr(error, "option_name", None)
    if option is not None and command is not None:
        known = [name for parameter in command.params for name in parameter.opts]
        meant = find_similar(option, [name for name in known if name.startswith("--")])
        return f"No such option: {option}" + (f". Did you mean {meant}?" if meant else "")
    message = " ".join(error.format_message().split())
    names = [parameter.name for parameter in getattr(command, "params", ())]
    missing = getattr(getattr(error, "param", None), "name", None)
    if {"model", "data"} <= {*names} and (missing == "data" or "extra argument" in message):
        line = f"{error.ctx.command_path} model.nearkin rows.csv"
        message += f" The model comes first, then the rows: {line}"
    return message


def _in_two_lines(message: str) -> str:
    """A message's first line, and all others joined to one."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    return "\n".join([lines[0], " ".join(lines[1:])]).rstrip() if lines else ""


def _show_note(message: Any, category: Any, *place: Any, **more: Any) -> None:
    """Show a warning as a note; replaces ``warnings.showwarning``."""
    del category, place, more
    say(f"note: {' '.join(reword_for_options(str(message)).split())}")
