"""Fewer trees of matchers, for tests of anything else than how well these match."""

import pytest


@pytest.fixture(scope="module", autouse=True)
def few_trees():
    """A fifth of them, which is quick, and says nearly the same of pairs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("nearkin.records.model.N_TREES", 20)
        yield
