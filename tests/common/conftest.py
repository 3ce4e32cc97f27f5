"""What the common tests do not mind."""

import warnings

import pytest

from nearkin import FidelityWarning, SelectionWarning
from nearkin.learners import selection
from tests.common.learners import few_of


@pytest.fixture(scope="module")
def few_ingredients():
    """MetricLearner chooses among few learners, all of which the common tests run over, too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(selection, "make_ingredients", few_of)
        yield


@pytest.fixture(autouse=True)
def _choice_is_not_at_issue():
    """MetricLearner says that few rows or pairs are too little to choose by, and so on."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SelectionWarning)
        warnings.simplefilter("ignore", FidelityWarning)
        yield
