"""Runs that many tests look at: made once per session."""

from __future__ import annotations

import pytest

from tests.e2e.runs import SelfTestRun, selftest_run


@pytest.fixture(scope="session")
def selftest(tmp_path_factory: pytest.TempPathFactory) -> SelfTestRun:
    """One run of the whole self-test pack."""
    return selftest_run(tmp_path_factory.getbasetemp())
