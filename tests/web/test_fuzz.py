"""What the schema allows and what it does not, at random; benchmarks/fuzz_studio.py asks more."""

import pytest

from nearkin.teaching.lesson import Lesson
from tests.web.conftest import running, small_records

pytest.importorskip("schemathesis")


# Of hypothesis: schemathesis draws from strategies that it has not declared.
@pytest.mark.filterwarnings("ignore::hypothesis.errors.HypothesisWarning")
def test_no_request_is_a_defect(tmp_path):
    from benchmarks.fuzz_studio import fuzz

    with running(Lesson(small_records(), journal=tmp_path / "a.jsonl")) as studio:
        found = fuzz(studio.serving, n_examples=8)
    routes = {label for label, _ in found}
    assert len(routes) == 15
    assert max(status for _, status in found) < 500
    assert found["POST /api/answers", 200] > 0
    assert found["POST /api/answers", 422] > 0
