"""Pages on few pairs are what stored results give, and blends are judged as the library does."""

import numpy as np
import pytest

from benchmarks.few_pairs import candidates, constants, distilled, neighbours
from nearkin.learners import selection
from tests.cases import each


@each("module", [candidates, constants, distilled, neighbours])
def test_a_page_shows_what_is_stored(module):
    stored = module.RAW.with_name(f"{module.RAW.stem.upper()}.md").read_text()
    assert module.page().markdown() == stored


def test_the_compiled_pair_auc_is_that_of_the_library():
    rng = np.random.RandomState(0)
    distances, weight = rng.randint(6, size=50) / 2, rng.rand(50)
    same = rng.rand(50) < 0.4
    expected = selection.weighted_auc(distances, same, weight)
    assert candidates.weighted_auc(distances, same, weight) == pytest.approx(expected)
