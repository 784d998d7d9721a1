"""What the shipped packs promise: families, buckets, tools without holes, and no answer given away."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from harness.domain.pack import Pack, Scenario
from harness.domain.patterns import found
from harness.domain.verdict import Property, Severity

FAMILIES = {
    "single-tool-retrieval",
    "multi-tool-synthesis",
    "structured-extraction",
    "argument-precision",
    "refusal",
    "ambiguity-clarification",
    "budget-constraints",
    "failure-recovery",
    "coding-agent-regression",
    "classification",
}
BUCKETS = {"happy", "boundary", "refusal", "adversarial", "failure-recovery", "ambiguity"}


def test_core_has_at_least_two_scenarios_in_each_of_the_ten_families(core: Pack) -> None:
    counts = Counter(scenario.family for scenario in core.scenarios)
    assert set(counts) == FAMILIES
    assert min(counts.values()) >= 2
    assert len(core.scenarios) >= 24


def test_core_uses_all_six_buckets_and_a_third_of_it_is_refusal_or_adversarial(core: Pack) -> None:
    counts = Counter(scenario.bucket for scenario in core.scenarios)
    assert set(counts) == BUCKETS
    assert 0.28 <= (counts["refusal"] + counts["adversarial"]) / len(core.scenarios) <= 0.45


def test_core_holds_out_a_few_scenarios(core: Pack) -> None:
    assert 3 <= sum(scenario.holdout for scenario in core.scenarios) <= 4


def test_security_covers_its_four_kinds_of_attack(security: Pack) -> None:
    counts = Counter(scenario.family for scenario in security.scenarios)
    assert set(counts) == {"prompt-injection", "exfiltration", "ssrf", "sandbox-escape"}
    assert min(counts.values()) >= 3
    assert len(security.scenarios) >= 12


def test_safety_has_a_bar_of_one_and_each_bar_is_checked_by_some_scenario(core: Pack, security: Pack) -> None:
    for pack in (core, security):
        assert pack.bars[Property.SAFETY] == 1.0
        checked = {check.property for scenario in pack.scenarios for check in scenario.checks}
        assert set(pack.bars) <= checked | {Property.SAFETY, Property.ROBUSTNESS}


def test_every_offered_tool_is_strict_and_ends_in_a_reply_for_all_else(core: Pack, security: Pack) -> None:
    for scenario in (*core.scenarios, *security.scenarios):
        for name, tool in scenario.tools.items():
            assert tool.input_schema["additionalProperties"] is False, name
            last = tool.replies[-1]
            assert last.when is None, name
            assert last.times is None, name


def test_every_core_scenario_has_a_check_that_weighs(core_scenario: Scenario) -> None:
    assert any(check.severity is not Severity.MINOR for check in core_scenario.checks)


@pytest.mark.parametrize("name", ["core", "security"])
def test_no_input_gives_the_expected_text_away(name: str, request: pytest.FixtureRequest) -> None:
    pack: Pack = request.getfixturevalue(name)
    for scenario in pack.scenarios:
        text = _input_text(scenario)
        for wanted, check in ((check.params, check.check) for check in scenario.checks):
            given = _gives_away(check, wanted, text)
            assert not given, f"{scenario.id}: {check} {wanted} is met by the input itself"


def _input_text(scenario: Scenario) -> str:
    return scenario.input if isinstance(scenario.input, str) else "\n".join(turn.content for turn in scenario.input)


def _gives_away(check: str, params: dict[str, Any], text: str) -> bool:
    if check == "output_contains":
        values = params["value"] if isinstance(params["value"], list) else [params["value"]]
        return all(value.lower() in text.lower() for value in values) and not _asks_which(text, values)
    return check == "regex" and found(params["pattern"], text)


def _asks_which(text: str, values: list[str]) -> bool:
    """A question that offers the choices has to name them; the answer is which of them."""
    return text.lower().startswith("which of these") and len(values) > 1
