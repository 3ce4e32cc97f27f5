"""What the common tests do not mind."""

import warnings

import pytest

from nearkin import SelectionWarning


@pytest.fixture(autouse=True)
def _choice_is_not_at_issue():
    """MetricLearner says that a few rows or pairs are too little to choose by."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SelectionWarning)
        yield
