import os

from hypothesis import HealthCheck, settings

# The first call of a compiled loop takes a second: no deadline, and no complaint about it.
settings.register_profile(
    "local", deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("ci", settings.get_profile("local"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")
