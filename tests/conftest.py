"""Fixtures for every test: anyio tests run on both back ends."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

# A busy machine is no reason to fail: how long an example takes says nothing here.
settings.register_profile("fumehood", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("fumehood")


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    """Both back ends, because anyio code may lean on one without noticing."""
    return str(request.param)
