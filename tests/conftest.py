import gc
import os

import pytest
from hypothesis import HealthCheck, settings

from nearkin import messages
from tests.clusters import dask_client as dask_client  # fixtures
from tests.wheel import fresh_environment as fresh_environment
from tests.wheel import wheel as wheel

# The first call of a compiled loop takes a second: no deadline, and no complaint about it.
settings.register_profile(
    "local", deadline=None, max_examples=20, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("ci", settings.get_profile("local"), derandomize=True)
settings.register_profile(
    "night", settings.get_profile("local"), max_examples=1000, print_blob=True
)
settings.register_profile("ten-thousand", settings.get_profile("night"), max_examples=10_000)
# pytest --hypothesis-profile=... comes later, and prevails.
settings.load_profile(
    os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "local")
)


@pytest.fixture(autouse=True)
def _notes_are_written():
    """Undo what a command with --quiet leaves behind in this process."""
    yield
    messages.hush(False)


def pytest_collection_finish():
    """Look for garbage no more among thousands of tests, which stay until the end."""
    gc.freeze()


@pytest.hookimpl(optionalhook=True)  # which is of pytest-xdist
def pytest_xdist_auto_num_workers():
    """One process more than cores: tests in a browser and of processes wait half of their time."""
    return (os.cpu_count() or 1) + 1
