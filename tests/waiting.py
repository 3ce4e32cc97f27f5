"""Wait for what other threads, processes and sockets do, however busy the machine is."""

import time

# Seconds after which a test gives up: far more than anything takes where nothing is wrong.
PATIENCE = 600.0


def until(condition):
    """Wait until a condition holds, and return what it gives then; an error if it never does."""
    deadline = time.monotonic() + PATIENCE
    while not (found := condition()):
        if time.monotonic() > deadline:
            raise TimeoutError("what was waited for has not come about")
        time.sleep(0.005)
    return found
