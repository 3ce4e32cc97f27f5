"""A session in the studio: from a file to a page, and what is said at its beginning and end."""

from __future__ import annotations

import os
import sys
import threading
import webbrowser
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from nearkin.cli.failures import UserError
from nearkin.cli.files.column_choice import Choice
from nearkin.cli.files.inputs import is_stream
from nearkin.cli.learners import landmarks_for, learner_class, parameters
from nearkin.cli.messages import say
from nearkin.cli.studio_pictures import for_pictures, is_picture_folder, of_pictures
from nearkin.cli.studio_rows import Wishes, records_of_file
from nearkin.errors import InputError, counted
from nearkin.pairs.pairs import Pairs
from nearkin.studio.journal import JournalError, JournalInUse
from nearkin.studio.lesson import Lesson
from nearkin.studio.records import MOST_SHOWN, Records, records_of_digits
from nearkin.studio.server.encoding import page_folder, why_no_page
from nearkin.studio.server.security import checked_names, is_this_machine, listens_everywhere
from nearkin.studio.server.serving import THIS_MACHINE, AddressError, Serving

_DEMO_JOURNAL = Path("nearkin-demo.answers.jsonl")


def hold(
    data: Path | None,
    wishes: Wishes,
    *,
    vectors: Path | None = None,
    journal: Path | None = None,
    learner: str | None = None,
    settings: Sequence[str] = (),
    standardise: bool | None = None,
    by: str | None = None,
    overlap: float = 0.0,
    port: int | None = None,
    listen: str | None = None,
    allow_hosts: Sequence[str] = (),
    browser: bool = True,
    most: int = MOST_SHOWN,
) -> None:
    """Serve the page of a file until Ctrl-C.

    Parameters
    ----------
    data : Path or None
        None for the demonstration.
    wishes : Wishes
    vectors : Path, optional
        Of the pictures in a folder, in place of their pixels.
    journal : Path, optional
        Without: beside the data.
    learner : str, optional
        Its name on the command line; without, the lesson's own.
    settings : list of str
        Parameters of the learner, as ``name=value``.
    standardise : bool, optional
    by : str, optional
        Who answers.
    overlap : float
        Share of the pairs that two people are asked about.
    port : int, optional
    listen : str, optional
        An address of this machine that others reach.
    allow_hosts : list of str
        Names of proxies.
    browser : bool
        Whether to open one.
    most : int
        Rows to show.
    """
    allowed = _checked_hosts(allow_hosts)
    if data is None:
        _refuse_for_demo(wishes, vectors)
        records, pairs = records_of_digits(), None
    else:
        if is_stream(data):
            raise UserError(
                f"{data}: answers are kept beside the rows, which must therefore be in a file."
            )
        of_folder = is_picture_folder(data)
        if vectors is not None and not of_folder:
            raise UserError(f"--vectors is for folders of pictures, and {data} is none.")
        records, pairs = records_of_file(data, for_pictures(wishes) if of_folder else wishes, most)
        if of_folder:
            records = of_pictures(records, vectors)
    path = journal or journal_beside(data)
    is_new = not path.exists()
    taught = _learner(learner, settings, len(records), wishes.seed)
    with _lesson(
        records,
        pairs,
        path,
        learner=taught,
        standardise=standardise,
        by=by,
        overlap=overlap,
        seed=wishes.seed,
    ) as lesson:
        serving = _serving(lesson, listen, port, allowed)
        n_given = 0 if pairs is None else len(pairs) - len(pairs.closer)
        for note in lesson.notes_on_answers:
            say(f"note: {note}")
        _say_how_it_begins(path, lesson.state(), n_given, listen, is_new)
        _say_what_is_missing()
        _say_way_through_hub(serving, allowed)
        say("Ctrl-C ends. Open this address:")
        if sys.stdout is not None:  # closed from the start
            sys.stdout.write(f"{serving.url}\n")
            sys.stdout.flush()
        if browser:
            address = serving.url_for_a_program()
            threading.Thread(target=webbrowser.open, args=[address], daemon=True).start()
        serving.run()
        lesson = serving.lesson  # columns may have been chosen anew
        _say_how_it_ended(lesson.journal or path, lesson.state(), n_given)


def journal_beside(data: Path | None) -> Path:
    """Where answers about a file are kept unless another place is named."""
    if data is None:
        return _DEMO_JOURNAL
    if data.name in ("", ".."):  # a folder that is not named by its own name
        data = data.resolve()
    return data.with_name(f"{data.name}.answers.jsonl")


def _learner(name: str | None, settings: Sequence[str], n_rows: int, seed: int) -> Any:
    if name is None:
        if settings:
            raise UserError("--set: name the learner that it is for with --learner.")
        return None
    cls = learner_class(name)
    if not hasattr(cls, "partial_fit"):
        raise UserError(f"--learner {name}: the studio teaches itml, kernel-beta or gmml.")
    given = parameters(cls, settings, seed)
    landmarks = landmarks_for(cls, given, n_rows)
    return cls(**(given if landmarks is None else {**given, "n_landmarks": landmarks}))


def _lesson(records: Records, pairs: Pairs | None, journal: Path, **options: Any) -> Lesson:
    """A lesson that goes on where its journal ends."""
    try:
        return Lesson(records, journal=journal, pairs=pairs, **options)
    except (JournalInUse, JournalError) as error:
        raise UserError(f"{error} (--journal)") from error
    except OSError as error:
        raise UserError(
            f"answers cannot be kept in {journal}: {error.strerror or error}. Name another file "
            "with --journal."
        ) from error


def _refuse_for_demo(wishes: Wishes, vectors: Path | None) -> None:
    if vectors is not None or replace(wishes, seed=0) != Wishes(Choice(), show=[]):
        raise UserError("--demo has data of its own: options for columns and pairs are for files.")


def _serving(
    lesson: Lesson, listen: str | None, port: int | None, allowed: Sequence[str]
) -> Serving:
    try:
        return Serving(lesson, address=listen or THIS_MACHINE, port=port, allowed=allowed)
    except AddressError as error:
        option = "--port" if "port" in str(error) else "--listen"
        raise UserError(f"{option}: {error}") from error


def _say_how_it_begins(
    path: Path, state: dict[str, int], n_given: int, listen: str | None, is_new: bool
) -> None:
    if state["version"] and not is_new:
        say(f"resumed {_answers(state, n_given)} from {path}")
    else:
        say(f"answers are kept in {path}")
    if listen is not None and not is_this_machine(listen):
        say(
            f"warning: other machines can reach {listen}. Whoever has the address below sees the "
            "data and can answer, and the connection is not encrypted."
        )
        if listens_everywhere(listen):
            say("On other machines, put this one's address (a number) in place of 127.0.0.1.")


def _say_what_is_missing() -> None:
    if page_folder() is None:
        problem, remedy = why_no_page()
        say(f"warning: {problem} {remedy}")


def _say_way_through_hub(serving: Serving, allowed: Sequence[str]) -> None:
    """Say where JupyterHub shows ports, which is the only way to some machines."""
    prefix = os.environ.get("JUPYTERHUB_SERVICE_PREFIX")
    if prefix is None:
        return
    path = f"{prefix.rstrip('/')}/proxy/{serving.port}/?token={serving.token}"
    names = [name for name in allowed if not name.startswith("*")]
    if names:
        say(f"Through JupyterHub, with jupyter-server-proxy: https://{names[0]}{path}")
    else:
        say(
            "Through JupyterHub, with jupyter-server-proxy: start this again with --allow-host and "
            "the name of the hub."
        )


def _checked_hosts(names: Sequence[str]) -> list[str]:
    try:
        return checked_names(names)
    except InputError as error:
        raise UserError(f"--allow-host: {error}") from error


def _say_how_it_ended(path: Path, state: dict[str, int], n_given: int) -> None:
    say(
        f"{_answers(state, n_given)} in {path}; known are {state['n_same']} same, "
        f"{state['n_different']} different, {state['n_unsure']} unsure. The same command goes on."
    )


def _answers(state: dict[str, int], n_given: int) -> str:
    """How many there are beside the pairs that were given, and triplets, if there are any."""
    said = counted(max(0, state["n_answers"] - n_given), "answer")
    return said + f" and {counted(state['n_triplets'], 'triplet')}" * bool(state["n_triplets"])
