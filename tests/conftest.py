"""For all tests: a slow machine is not a failure, and slow random tests get a new seed each day."""

from __future__ import annotations

import os
from datetime import UTC, datetime

from hypothesis import HealthCheck, settings

settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")

# Slow random tests try a few examples, others each day. All processes of a run share the seed by the environment.
SEED = "WHENCE_SEED"
os.environ.setdefault(SEED, datetime.now(UTC).strftime("%Y%m%d"))


def pytest_report_header() -> str:
    return f"seed of the random pipelines: {SEED}={os.environ[SEED]} (set it to repeat a run)"
