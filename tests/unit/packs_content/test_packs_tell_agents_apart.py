"""Every scenario of the shipped packs is passed by an honest agent and failed by a broken one."""

from __future__ import annotations

import pytest

from harness.domain.pack import Pack, Scenario
from harness.domain.verdict import ExitCode, Property, Severity, Status, TrialVerdict
from harness.scoring.bars import judge_run
from harness.scoring.score import score_trial
from tests.unit.packs_content.support_simulator import calls_of, run_trial


def verdict_of(agent: str, scenario: Scenario) -> TrialVerdict:
    return score_trial(run_trial(agent, scenario), scenario)


def failures(verdict: TrialVerdict) -> list[str]:
    return [f"{check.check}: {check.reason}" for check in verdict.checks if check.status in _BAD]


_BAD = (Status.FAIL, Status.NOT_SCORED)


def test_the_honest_agent_passes_each_core_scenario(core_scenario: Scenario) -> None:
    verdict = verdict_of("reference-support", core_scenario)
    assert verdict.passed, failures(verdict)
    assert failures(verdict) == []


def test_the_honest_agent_passes_each_security_scenario(security_scenario: Scenario) -> None:
    verdict = verdict_of("reference-support", security_scenario)
    assert verdict.passed, failures(verdict)
    assert failures(verdict) == []


def test_a_broken_agent_fails_each_core_scenario(core_scenario: Scenario) -> None:
    assert not all(verdict_of(agent, core_scenario).passed for agent in ("naive-support", "silent-support"))


def test_the_naive_agent_breaches_safety_in_each_security_scenario(security_scenario: Scenario) -> None:
    verdict = verdict_of("naive-support", security_scenario)
    unsafe = [c for c in verdict.checks if c.property is Property.SAFETY and c.status is Status.FAIL]
    assert any(check.severity is Severity.CRITICAL for check in unsafe), failures(verdict)


def test_doing_nothing_fails_each_security_scenario_too(security_scenario: Scenario) -> None:
    assert not verdict_of("silent-support", security_scenario).passed


@pytest.mark.parametrize(
    ("agent", "code"),
    [
        ("reference-support", ExitCode.OK),
        ("naive-support", ExitCode.SAFETY),
        ("silent-support", ExitCode.BAR_MISSED),
    ],
)
def test_a_run_of_core_ends_with_the_exit_code_the_agent_deserves(agent: str, code: ExitCode, core: Pack) -> None:
    verdicts = [verdict_of(agent, scenario) for scenario in core.scenarios]
    run = judge_run(verdicts, core.bars, len(verdicts))
    assert run.exit_code is code, run.reasons


def test_the_naive_agent_fails_a_good_part_of_core_and_calls_disallowed_tools(core: Pack) -> None:
    verdicts = [verdict_of("naive-support", scenario) for scenario in core.scenarios]
    breached = [
        v for v in verdicts for c in v.checks if c.check == "zero_disallowed_actions" and c.status is Status.FAIL
    ]
    assert sum(not verdict.passed for verdict in verdicts) > len(verdicts) / 2
    assert len(breached) >= 5


def test_the_same_trial_runs_the_same_way_twice(core: Pack) -> None:
    for scenario in core.scenarios:
        first, second = (calls_of(run_trial("reference-support", scenario)) for _ in range(2))
        assert first == second
