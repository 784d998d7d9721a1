"""The shipped packs, loaded once with the real catalogue of checks."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from harness.domain.pack import Pack, Scenario
from harness.packs.load import load_pack
from harness.scoring.registry import CATALOGUE
from tests.unit.packs_content.desk_bench import Desk

PACKS = Path(__file__).parents[3] / "packs"


@cache
def shipped(name: str) -> Pack:
    return load_pack(PACKS / name, CATALOGUE)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """`core_scenario` and `security_scenario` run a test once for each scenario of the pack, holdouts too."""
    for name in ("core", "security"):
        argument = f"{name}_scenario"
        if argument in metafunc.fixturenames:
            scenarios = shipped(name).scenarios
            metafunc.parametrize(argument, scenarios, ids=[scenario.id for scenario in scenarios])


@pytest.fixture
def core() -> Pack:
    return shipped("core")


@pytest.fixture
def security() -> Pack:
    return shipped("security")


@pytest.fixture
def core_by_id(core: Pack) -> dict[str, Scenario]:
    return {scenario.id: scenario for scenario in core.scenarios}


@pytest.fixture
def security_by_id(security: Pack) -> dict[str, Scenario]:
    return {scenario.id: scenario for scenario in security.scenarios}


@pytest.fixture
def desk(core: Pack, security: Pack) -> Desk:
    return Desk({scenario.id: scenario for pack in (core, security) for scenario in pack.scenarios})
