import ast
import copy
import pickle
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.parallel import Parallel, delayed

import nearkin
from nearkin import ITML, Blend, Chain, ContradictionWarning, Pairs
from nearkin.messages import (
    Note,
    collect_notices,
    hand_on,
    is_heard,
    mute_categories,
    mute_third_party,
    notice,
    show_progress,
)
from tests.cases import each

SOURCES = Path(nearkin.__file__).parent
CONTRADICTING = Pairs([(0, 1)], [(0, 1), (2, 3)])


def test_what_is_noticed_is_a_warning_where_nobody_listens():
    with pytest.warns(ConvergenceWarning, match="not yet") as caught:
        notice("not yet", ConvergenceWarning)
    assert caught[0].filename == __file__


def test_who_listens_has_each_note_once_and_may_hand_it_on():
    with collect_notices() as notes:
        notice("this")
        with collect_notices() as inner:
            notice("that", ConvergenceWarning)
        hand_on(inner)
        notice("this")
    assert notes == [Note("this"), Note("that", ConvergenceWarning)]
    with pytest.warns(UserWarning, match="this"):
        hand_on(notes[:1])


def test_nothing_is_said_of_categories_that_are_left_out():
    with mute_categories(ConvergenceWarning), collect_notices() as notes:
        with mute_categories(ContradictionWarning):
            notice("a", ContradictionWarning)
        notice("b", ConvergenceWarning)
        notice("c", ContradictionWarning)
        assert not is_heard(ConvergenceWarning)
        assert is_heard(UserWarning)
    assert notes == [Note("c", ContradictionWarning)]
    assert is_heard(ConvergenceWarning)


def test_other_threads_are_not_listened_to():
    def work():
        with collect_notices() as notes:
            notice("of another thread")
        heard.extend(notes)

    heard: list[Note] = []
    with collect_notices() as notes:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert notes == []
    assert heard == [Note("of another thread")]


@each(
    "learner",
    [
        ITML(random_state=0),
        Chain([ITML(random_state=0), ITML(random_state=0)]),
        Blend([ITML(random_state=0), Chain([ITML(random_state=0)])], random_state=0),
    ],
)
def test_learners_made_of_learners_say_everything_once_where_fit_was_called(learner):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        learner.fit(np.ones((6, 2)), pairs=CONTRADICTING)
    said = [str(one.message)[:16] for one in caught]
    assert sorted(said) == ["all rows of X co", "pairs contradict"]
    assert {one.filename for one in caught} == {__file__}


def test_nobody_else_warns_or_changes_filters():
    """Only ``notice`` warns; filters are changed for other libraries and by the command line."""
    may = {
        "warn": {"messages.py"},
        "catch_warnings": {"cli/app.py"},
        "filterwarnings": {"cli/app.py"},
        "simplefilter": set(),
    }
    for path in SOURCES.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if "warnings" in text else ():
            if isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "warnings":
                where = path.relative_to(SOURCES).as_posix()
                assert where in may.get(node.attr, {where}), f"{where}:{node.lineno}"


def test_items_pass_unchanged_and_nothing_need_be_printed(capsys):
    assert list(show_progress([1, 2], "counting")) == [1, 2]
    assert capsys.readouterr().err
    assert list(show_progress(range(5), "counting", shown=False)) == [0, 1, 2, 3, 4]
    assert list(show_progress([], "counting")) == []
    assert capsys.readouterr() == ("", "")


@each(
    ("items", "options", "seen", "unseen"),
    [
        ([1, 2], {}, ["doing ╌", "0/2", "1/2"], "━" * 25),
        (
            iter([[0] * 30, [0] * 10]),  # an item may be more than one
            {"total": 40, "amount": len},
            ["0/40", f"{'━' * 18}{'╌' * 6} 30/40"],
            "━" * 25,
        ),
        (iter("abc"), {}, ["doing 2"], "/"),  # without a total it counts
        (iter("abc"), {"total": 1}, [], "━" * 25),  # more than expected
    ],
)
def test_the_line_says_how_far_it_is_and_goes(items, options, seen, unseen, capsys):
    list(show_progress(items, "doing", **options))
    shown = capsys.readouterr().err
    assert [text for text in seen if text not in shown] == []
    assert unseen not in shown
    assert shown.endswith("\r\x1b[K")


def test_the_line_goes_after_an_error_too(capsys):
    def failing():
        yield 1
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        list(show_progress(failing(), "reading"))
    assert capsys.readouterr().err.endswith("\r\x1b[K")


def test_warnings_are_left_out_in_blocks_which_may_be_nested():
    with mute_third_party():
        with mute_third_party():
            warnings.warn("this", stacklevel=1)
        warnings.warn("this", stacklevel=1)
    with pytest.warns(UserWarning, match="this"):
        warnings.warn("this", stacklevel=1)


def test_other_threads_hear_of_theirs_and_filters_stay():
    heard = []

    def work():
        try:
            warnings.warn("of another thread", stacklevel=1)
        except UserWarning as warning:  # an error, as all warnings in these tests
            heard.append(str(warning))

    with mute_third_party():
        within = list(warnings.filters)
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert heard == ["of another thread"]
    with mute_third_party(), mute_third_party():
        assert warnings.filters == within


def test_searches_that_make_filters_anew_leave_the_same_out():
    def search():  # as kneighbors does by a tree
        Parallel(1)([delayed(warnings.warn)("this")])

    with mute_third_party():
        search()
    with pytest.warns(UserWarning, match="this"):
        search()


def test_filters_can_be_sent_to_other_processes():
    with mute_third_party():
        copied = pickle.loads(pickle.dumps(list(warnings.filters)))
    assert len(copy.deepcopy(copied)) == len(warnings.filters)
