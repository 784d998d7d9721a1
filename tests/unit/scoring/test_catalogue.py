"""The catalogue: every mistake of a written check named with its path, and defaults filled in."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from harness.domain.pack import CheckSpec
from harness.domain.verdict import Property, Severity
from harness.errors import PackError
from harness.ports import CheckCatalogue
from harness.scoring.registry import ALWAYS_ON, CATALOGUE, CHECKS

TOOLS = ("look", "send_mail")
SOUND: list[dict[str, Any]] = [
    {"check": "exact", "value": None},
    {"check": "output_contains", "value": "x"},
    {"check": "output_not_contains", "value": ["x", "y"], "ignore_case": False},
    {"check": "regex", "pattern": "^a"},
    {"check": "schema_validity", "schema": {"type": "object"}},
    {"check": "refused"},
    {"check": "json_field_equals", "path": "a.b", "value": None},
    {"check": "field_correctness", "fields": {"a": {"b": 1}}, "types": {"a.b": "integer"}, "threshold": 0.5},
    {"check": "tool_called", "tool": "look", "args": {"q": 1}, "min_times": 1, "max_times": 2},
    {"check": "tool_not_called", "tool": "look", "args_match": {"q": "x"}},
    {"check": "tool_arg_equals", "tool": "look", "arg": "a.b", "value": 1},
    {"check": "tool_call_order", "tools": ["look", "send_mail"]},
    {"check": "step_efficiency", "max_steps": 3, "severity": "minor", "property": "policy"},
    {"check": "cost_budget_adherence", "max_cost_usd": 0.5},
    {"check": "token_budget"},
    {"check": "latency_budget", "max_duration_ms": 100},
    {"check": "turn_budget", "max_model_calls": 0},
    {"check": "retry_discipline", "max_retries": 0},
    {"check": "phantom_steps"},
    {"check": "output_grounding", "threshold": 0.5, "allow_input": True},
    {"check": "factual_consistency"},
    {"check": "source_citation", "pattern": "KB-[0-9]+", "ids": ["KB-1"], "min_citations": 2},
    {"check": "contradiction_detection"},
    {"check": "answered", "must_cover": ["60 days"]},
    {"check": "asked", "pattern": "which"},
    {"check": "tool_correctness", "tools": [], "threshold": 0.5},
    {"check": "tool_sequence", "tools": ["look", "look"]},
    {"check": "argument_correctness", "args": {"look": {"q": 1}, "send_mail": [{"a": 1}, {}]}, "match": "exact"},
    {"check": "no_duplicate_calls", "polling": ["look"]},
    {"check": "unsafe_action_avoidance", "tools": ["send_mail"], "confirm_tool": "look", "affirmative": "(?i)^ja"},
    {"check": "prompt_injection_resistance", "tools": ["send_mail"], "args": ["x@y"], "markers": ["PWNED"]},
    {"check": "data_exfiltration_prevention", "values": ["a-secret-value"], "patterns": ["[0-9]{16}"]},
    {"check": "ssrf_prevention", "allow": ["10.1.0.0/16", "*.corp.example", "localhost", "::1"]},
    {"check": "sandbox_escape_resistance"},
    {"check": "no_self_report_mismatch", "property": "policy"},
    {"check": "task_completion"},
    {"check": "output_correctness", "reference": "60 days", "criteria": ["It is short"], "threshold": 0.5},
    {"check": "synthesis_quality", "threshold": 0.66},
    {"check": "clarification_quality", "criteria": ["a", "b"]},
    {"check": "refusal_quality"},
    {"check": "recovery_quality"},
    {"check": "blast_radius_accuracy"},
    {"check": "verification_quality", "severity": "minor"},
    {"check": "hypothesis_quality"},
    {"check": "evidence_grounding"},
    {"check": "hallucination_rate"},
    {"check": "policy_adherence", "rules": ["No promises"], "forbidden": ["(?i)promise"], "required": ["RET-[0-9]"]},
    {"check": "workspace_diff", "allowed": ["src/*.py"], "required": ["src/total.py"]},
    {"check": "verify", "severity": "critical"},
    {"check": "zero_disallowed_actions"},
    {"check": "end"},
]


def problems(check: dict[str, Any]) -> list[tuple[tuple[str | int, ...], str]]:
    return list(CATALOGUE.problems(check["check"], {k: v for k, v in check.items() if k != "check"}, TOOLS))


def test_the_catalogue_keeps_its_port() -> None:
    port: CheckCatalogue = CATALOGUE
    assert set(port.names()) == {*CHECKS, *ALWAYS_ON}


@pytest.mark.parametrize("check", SOUND, ids=lambda check: check["check"])
def test_a_sound_check_has_no_problems_and_resolves(check: dict[str, Any]) -> None:
    assert problems(check) == []
    spec = CATALOGUE.resolve(check)
    assert spec.check == check["check"]
    assert spec.severity == check.get("severity", spec.severity)


def test_every_check_has_a_sound_example() -> None:
    assert {check["check"] for check in SOUND} == set(CATALOGUE.names())


@pytest.mark.parametrize(
    ("check", "path", "message"),
    [
        ({"check": "exakt", "value": 1}, ("check",), "did you mean 'exact'?"),
        ({"check": "exact"}, (), "expected 'value', which is missing"),
        ({"check": "field_correctness"}, (), "came neither"),
        ({"check": "source_citation"}, (), "came neither"),
        ({"check": "source_citation", "pattern": "("}, ("pattern",), "regular expression"),
        ({"check": "answered", "must_cover": ["a", "..."]}, ("must_cover", 1), "a term with a word or a number"),
        ({"check": "output_grounding", "threshold": 1.5}, ("threshold",), "<= 1"),
        ({"check": "field_correctness", "types": {"a": "flaot"}}, ("types",), "types out of string"),
        ({"check": "field_correctness", "fields": {"a": 1}, "threshold": 0}, ("threshold",), "> 0"),
        ({"check": "exact", "value": 1, "valeu": 2}, ("valeu",), "did you mean 'value'?"),
        ({"check": "exact", "value": 1, "severty": "minor"}, ("severty",), "did you mean 'severity'?"),
        ({"check": "exact", "value": 1, "name": "n"}, ("name",), "it takes value"),
        ({"check": "refused", "value": 1}, ("value",), "it takes no params"),
        ({"check": "exact", "value": 1, "severity": "high"}, ("severity",), "critical, major, minor; came 'high'"),
        ({"check": "exact", "value": 1, "property": ["safety"]}, ("property",), "expected one of safety"),
        ({"check": "output_contains", "value": ""}, ("value",), "length >= 1"),
        ({"check": "output_contains", "value": ["a", 5]}, ("value", 1), "expected `str`, got `int`, came ['a', 5]"),
        ({"check": "output_contains", "value": []}, ("value",), "length >= 1"),
        ({"check": "output_contains", "value": "a", "ignore_case": "no"}, ("ignore_case",), "expected `bool`"),
        ({"check": "regex", "pattern": "("}, ("pattern",), "regular expression"),
        ({"check": "asked", "pattern": "(?=x)"}, ("pattern",), "look-around"),
        ({"check": "step_efficiency", "max_steps": True}, ("max_steps",), "expected `int`"),
        ({"check": "step_efficiency", "max_steps": -1}, ("max_steps",), ">= 0"),
        ({"check": "tool_called", "tool": "lok"}, ("tool",), "unknown tool 'lok': did you mean 'look'?"),
        ({"check": "tool_called", "tool": "zzz"}, ("tool",), "the pack has look, send_mail"),
        ({"check": "tool_called", "tool": "look", "min_times": 3, "max_times": 2}, ("max_times",), "min_times (3)"),
        ({"check": "tool_called", "tool": "look", "min_times": 0}, ("min_times",), "always holds"),
        ({"check": "tool_called", "tool": "look", "min_times": 0, "max_times": 0}, ("max_times",), "tool_not_called"),
        ({"check": "tool_not_called", "tool": "send-mail"}, ("tool",), "did you mean 'send_mail'?"),
        ({"check": "tool_not_called", "tool": "look", "args_match": {"a.b": "("}}, ("args_match", "a.b"), "regular"),
        ({"check": "tool_arg_equals", "tool": "lok", "arg": "a", "value": 1}, ("tool",), "unknown tool"),
        ({"check": "tool_call_order", "tools": ["look", "sendmail"]}, ("tools", 1), "did you mean 'send_mail'?"),
        ({"check": "tool_correctness", "tools": ["lok"]}, ("tools", 0), "did you mean 'look'?"),
        ({"check": "tool_correctness", "tools": ["look"], "threshold": 2}, ("threshold",), "<= 1.0"),
        ({"check": "tool_sequence", "tools": []}, ("tools",), "length >= 1"),
        ({"check": "argument_correctness", "args": {"lok": {}}}, ("args", "lok"), "did you mean 'look'?"),
        ({"check": "argument_correctness", "args": {"look": []}}, ("args", "look"), "at least one set"),
        ({"check": "argument_correctness", "args": {"look": {}}, "match": "regex"}, ("match",), "regex"),
        ({"check": "no_duplicate_calls", "polling": ["lok"]}, ("polling", 0), "unknown tool"),
        ({"check": "unsafe_action_avoidance", "confirm_tool": "lok"}, ("confirm_tool",), "unknown tool"),
        ({"check": "unsafe_action_avoidance", "affirmative": "("}, ("affirmative",), "regular expression"),
        ({"check": "prompt_injection_resistance"}, (), "at least one of tools, args and markers"),
        ({"check": "prompt_injection_resistance", "args": ["("]}, ("args", 0), "regular expression"),
        ({"check": "data_exfiltration_prevention", "values": ["1234"]}, ("values", 0), "10 or more letters"),
        ({"check": "data_exfiltration_prevention", "patterns": ["(?=x)"]}, ("patterns", 0), "look-around"),
        ({"check": "ssrf_prevention", "allow": ["10.1.0.0/8"]}, ("allow", 0), "has host bits set"),
        ({"check": "ssrf_prevention", "allow": ["https://a/b"]}, ("allow", 0), "a host, *.domain or network"),
        ({"check": "sandbox_escape_resistance", "paths": []}, ("paths",), "it takes no params"),
        ({"check": "zero_disallowed_actions", "severity": "minor"}, ("severity",), "always on, with severity critical"),
        ({"check": "end", "property": "safety"}, ("property",), "always on, with property robustness"),
    ],
)
def test_a_mistake_is_named_with_its_path(check: dict[str, Any], path: tuple[str | int, ...], message: str) -> None:
    found = problems(check)
    assert [place for place, _ in found] == [path]
    assert message in found[0][1]


def test_all_mistakes_of_a_check_are_named_at_once() -> None:
    found = problems({"check": "tool_called", "tol": "look", "args": [], "min_times": "two", "severity": "big"})
    assert {place for place, _ in found} == {("severity",), ("tol",), ("args",), ("min_times",), ()}


def test_defaults_are_filled_in_and_can_be_overridden() -> None:
    assert CATALOGUE.resolve({"check": "exact", "value": 1}) == CheckSpec(
        "exact", Severity.MAJOR, Property.CORRECTNESS, {"value": 1}
    )
    spec = CATALOGUE.resolve({"check": "exact", "value": 1, "severity": "critical", "property": "policy"})
    assert (spec.severity, spec.property) == (Severity.CRITICAL, Property.POLICY)


def test_an_always_on_check_keeps_its_severity_whatever_a_pack_writes() -> None:
    spec = CATALOGUE.resolve({"check": "zero_disallowed_actions", "severity": "minor", "property": "policy"})
    assert (spec.severity, spec.property) == (Severity.CRITICAL, Property.SAFETY)


@pytest.mark.parametrize("raw", [{}, {"check": "nope"}, {"check": 5}, {"check": "exact", "severity": "x", "value": 1}])
def test_what_is_no_check_does_not_resolve(raw: dict[str, Any]) -> None:
    with pytest.raises(PackError):
        CATALOGUE.resolve(raw)


def test_no_param_is_named_like_a_common_key() -> None:
    for check in CHECKS.values():
        fields = {field.encode_name for field in msgspec.structs.fields(check.params)}
        assert not fields & {"check", "severity", "property"}
