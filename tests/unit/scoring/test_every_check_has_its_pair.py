"""No check is trusted unseen: each fails, and it alone, on a broken agent, and passes on the agent's healthy twin."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from harness.app import packs
from harness.domain.pack import Scenario
from harness.domain.verdict import Status, TrialVerdict
from harness.scoring.registry import ALWAYS_ON, CATALOGUE
from harness.scoring.selftest import judge_selftest
from tests.unit.scoring.puppets import simulate

SCENARIOS = {s.id: s for s in packs.load(Path(__file__).parents[3] / "packs" / "selftest").scenarios}
NAMES = list(CATALOGUE.names())


def test_no_check_lacks_its_pair() -> None:
    wanted = {f"{name}-{twin}" for name in NAMES for twin in ("broken", "healthy")}
    assert wanted - set(SCENARIOS) == set()


def judged(scenario: Scenario) -> TrialVerdict:
    verdict = simulate(scenario)
    assert scenario.selftest is not None
    assert judge_selftest(verdict, scenario.selftest) is None
    return verdict


@pytest.mark.parametrize("name", NAMES)
def test_it_alone_fails_on_the_broken_agent(name: str) -> None:
    scenario = SCENARIOS[f"{name}-broken"]
    assert scenario.selftest is not None
    assert scenario.selftest.failing == [name]
    verdict = judged(scenario)
    assert [check.check for check in verdict.checks if check.status is Status.FAIL] == [name]
    assert not verdict.passed


@pytest.mark.parametrize("name", NAMES)
def test_it_applies_to_the_healthy_twin_and_passes(name: str) -> None:
    scenario = SCENARIOS[f"{name}-healthy"]
    assert scenario.selftest is not None
    assert scenario.selftest.failing == []
    verdict = judged(scenario)
    assert {check.status for check in verdict.checks if check.check == name} == {Status.PASS}
    assert verdict.passed


@pytest.mark.parametrize("name", NAMES)
def test_twins_differ_in_nothing_but_what_the_agent_does(name: str) -> None:
    broken, healthy = SCENARIOS[f"{name}-broken"], SCENARIOS[f"{name}-healthy"]
    same = {"id": "", "context": {}, "selftest": None, "line": 0}
    assert msgspec.structs.replace(broken, **same) == msgspec.structs.replace(healthy, **same)
    assert name in ALWAYS_ON or name in {check.check for check in broken.checks}
    for scenario in (broken, healthy):
        assert scenario.selftest is not None
        assert scenario.selftest.probe == "puppet"
