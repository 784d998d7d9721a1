"""Fixtures for every test: anyio tests run on both back ends."""

from __future__ import annotations

import pytest


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    """Both back ends, because anyio code may lean on one without noticing."""
    return str(request.param)
