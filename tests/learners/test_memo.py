import threading

import numpy as np
import pytest

from nearkin import ITML
from nearkin.learners.fit_steps import call_once, keep_results
from nearkin.messages import Note, collect_notices, notice
from tests.cases import each


class Counted:
    """A function that counts its calls, draws and notices."""

    def __init__(self):
        self.calls = 0

    def __call__(self, *arguments):
        self.calls += 1
        notice("seen")
        rngs = [one for one in arguments if isinstance(one, np.random.RandomState)]
        return [rng.randint(1000) for rng in rngs]


@each(
    ("first", "second", "calls"),
    [
        (np.arange(3), np.arange(3), 1),
        (np.arange(3), np.arange(3.0), 2),
        (np.arange(20_000), np.arange(20_000), 2),  # too large to be compared
        (ITML(tol=0.1), ITML(tol=0.1), 1),
        (ITML(tol=0.1), ITML(tol=0.2), 2),
        (ITML(landmarks=np.arange(5000)), ITML(landmarks=np.arange(5000) // 2), 2),
        (ITML(kernel=lambda A, B: A @ B.T), ITML(kernel=lambda A, B: A @ B.T), 2),
        (np.random.RandomState(0), np.random.RandomState(0), 1),
        (np.random.RandomState(0), np.random.RandomState(1), 2),
    ],
)
def test_equal_arguments_are_worked_on_once(first, second, calls):
    function = Counted()
    with keep_results(), collect_notices():
        call_once(function, first)
        call_once(function, second)
    assert function.calls == calls


def test_a_second_call_leaves_generators_and_notes_as_the_first_did():
    function = Counted()
    first, second = (np.random.RandomState(0) for _ in range(2))
    with keep_results():
        for rng in (first, second):
            with collect_notices() as notes:
                found = call_once(function, rng)
            assert notes == [Note("seen")]
            assert found == [684]
    assert function.calls == 1
    assert first.randint(1000) == second.randint(1000)


def test_nothing_is_kept_outside_a_block_or_for_other_threads():
    function = Counted()
    with collect_notices():
        call_once(function, 1)
        call_once(function, 1)
        assert function.calls == 2
        with keep_results():
            call_once(function, 1)

            def work():
                with collect_notices():
                    call_once(function, 1)

            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
        assert function.calls == 4
        with keep_results():
            call_once(function, 1)
    assert function.calls == 5


def test_errors_are_not_kept():
    def refused(value):
        raise ValueError(f"{value}")

    with keep_results():
        for _ in range(2):
            with pytest.raises(ValueError, match="3"):
                call_once(refused, 3)
