"""Requests at random and attacks; benchmarks/fuzz_studio.py has more of both."""

import numpy as np
import pytest

from benchmarks.fuzz_studio import check_replies, honest
from benchmarks.studio.attacks import ATTACKS, Target
from nearkin.studio.lesson import Lesson
from tests.cases import each
from tests.studio.server.conftest import HOSTILE, running, small_records


# Of hypothesis: schemathesis draws from strategies that it has not declared.
@pytest.mark.filterwarnings("ignore::hypothesis.errors.HypothesisWarning")
@pytest.mark.night
def test_no_request_is_a_defect(tmp_path):
    pytest.importorskip("schemathesis")
    from benchmarks.fuzz_studio import fuzz

    with running(Lesson(small_records(), journal=tmp_path / "a.jsonl")) as studio:
        found = fuzz(studio.serving, n_examples=20)
        paths = studio.serving.app.openapi()["paths"]
    routes = {f"{method.upper()} {path}" for path, of in paths.items() for method in of}
    assert {label for label, _ in found} == routes
    assert max(status for _, status in found) < 500
    assert found["POST /api/answers", 200] > 0
    assert found["POST /api/answers", 422] > 0


@pytest.fixture(scope="module")
def target():
    with running(Lesson(small_records(), seed=0)) as studio:
        found = Target(studio.port, studio.token, HOSTILE.encode(), n_rows=40)
        yield found
        for connection in found.left_open:
            connection.close()


@each("kind", sorted(set(ATTACKS) - {"patience"}))
@each("known", [False, True])
def test_attacks_hurt_nobody_else(target, kind, known, caplog):
    case = {"kind": kind, "known": known, "sockets": 3, "seed": 0}
    check_replies(target, case, ATTACKS[kind](target, case))
    honest(target, np.random.default_rng(0))
    assert caplog.text == ""
