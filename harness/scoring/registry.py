"""The one list of checks: a name here is a name in a pack."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import msgspec

from harness.domain.pack import CHECK_FIELDS, CheckSpec
from harness.domain.verdict import Property, Severity
from harness.errors import PackError
from harness.scoring import (
    calls,
    conduct,
    consistency,
    efficiency,
    escape,
    exfiltration,
    fields,
    grounding,
    loops,
    robustness,
    ssrf,
    state,
    structure,
    text,
    tool_use,
)
from harness.scoring.check import Check, NoParams, Path
from harness.scoring.judge import metrics, policy
from harness.scoring.params import common_problems, param_problems
from harness.scoring.values import quote

SAFETY = "zero_disallowed_actions"
END = "end"
ALWAYS_ON = {SAFETY: (Severity.CRITICAL, Property.SAFETY), END: (Severity.MAJOR, Property.ROBUSTNESS)}
"""Checks of every trial, with what they are fixed to: a pack may name them, which changes nothing."""

_MAJOR = Severity.MAJOR
_CORRECTNESS, _TOOL_USE = Property.CORRECTNESS, Property.TOOL_USE
_EFFICIENCY, _GROUNDING = Property.EFFICIENCY, Property.GROUNDING
_POLICY, _ROBUSTNESS = Property.POLICY, Property.ROBUSTNESS
_SAFE = (Severity.CRITICAL, Property.SAFETY)

CHECKS: dict[str, Check] = {
    "exact": Check(fields.Exact, fields.exact, _MAJOR, _CORRECTNESS),
    "output_contains": Check(text.Contains, text.output_contains, _MAJOR, _CORRECTNESS),
    "output_not_contains": Check(text.Contains, text.output_not_contains, _MAJOR, _CORRECTNESS),
    "regex": Check(text.Regex, text.regex, _MAJOR, _CORRECTNESS, text.examine_regex),
    "refused": Check(NoParams, text.refused, _MAJOR, _CORRECTNESS),
    "schema_validity": Check(
        structure.SchemaValidity, structure.schema_validity, _MAJOR, _CORRECTNESS, structure.examine_schema
    ),
    "json_field_equals": Check(fields.JsonFieldEquals, fields.json_field_equals, _MAJOR, _CORRECTNESS),
    "field_correctness": Check(
        fields.FieldCorrectness, fields.field_correctness, _MAJOR, _CORRECTNESS, fields.examine_fields
    ),
    "tool_called": Check(calls.ToolCalled, calls.tool_called, _MAJOR, _TOOL_USE, calls.examine_tool_called),
    "tool_not_called": Check(
        calls.ToolNotCalled, calls.tool_not_called, _MAJOR, _TOOL_USE, calls.examine_tool_not_called
    ),
    "tool_arg_equals": Check(calls.ToolArgEquals, calls.tool_arg_equals, _MAJOR, _TOOL_USE, calls.examine_tool),
    "tool_call_order": Check(calls.ToolCallOrder, calls.tool_call_order, _MAJOR, _TOOL_USE, calls.examine_order),
    "asked": Check(calls.Asked, calls.asked, _MAJOR, _CORRECTNESS, calls.examine_asked),
    "step_efficiency": Check(efficiency.StepEfficiency, efficiency.step_efficiency, _MAJOR, _EFFICIENCY),
    "cost_budget_adherence": Check(efficiency.CostBudget, efficiency.cost_budget_adherence, _MAJOR, _EFFICIENCY),
    "token_budget": Check(efficiency.TokenBudget, efficiency.token_budget, _MAJOR, _EFFICIENCY),
    "latency_budget": Check(efficiency.LatencyBudget, efficiency.latency_budget, _MAJOR, _EFFICIENCY),
    "turn_budget": Check(efficiency.TurnBudget, efficiency.turn_budget, _MAJOR, _EFFICIENCY),
    "retry_discipline": Check(loops.RetryDiscipline, loops.retry_discipline, _MAJOR, _EFFICIENCY),
    "phantom_steps": Check(loops.PhantomSteps, loops.phantom_steps, _MAJOR, _EFFICIENCY),
    "output_grounding": Check(grounding.OutputGrounding, grounding.output_grounding, _MAJOR, _GROUNDING),
    "factual_consistency": Check(consistency.FactualConsistency, consistency.factual_consistency, _MAJOR, _GROUNDING),
    "source_citation": Check(
        grounding.SourceCitation, grounding.source_citation, _MAJOR, _GROUNDING, grounding.examine_citation
    ),
    "contradiction_detection": Check(NoParams, consistency.contradiction_detection, _MAJOR, _GROUNDING),
    "answered": Check(grounding.Answered, grounding.answered, _MAJOR, Property.ANSWERED, grounding.examine_answered),
    "tool_correctness": Check(
        tool_use.ToolCorrectness, tool_use.tool_correctness, _MAJOR, _TOOL_USE, tool_use.examine_tools
    ),
    "tool_sequence": Check(tool_use.ToolSequence, tool_use.tool_sequence, _MAJOR, _TOOL_USE, tool_use.examine_tools),
    "argument_correctness": Check(
        tool_use.ArgumentCorrectness, tool_use.argument_correctness, _MAJOR, _TOOL_USE, tool_use.examine_arguments
    ),
    "no_duplicate_calls": Check(
        tool_use.NoDuplicateCalls, tool_use.no_duplicate_calls, _MAJOR, _TOOL_USE, tool_use.examine_polling
    ),
    "unsafe_action_avoidance": Check(
        conduct.UnsafeAction, conduct.unsafe_action_avoidance, *_SAFE, conduct.examine_unsafe
    ),
    "prompt_injection_resistance": Check(
        conduct.PromptInjection, conduct.prompt_injection_resistance, *_SAFE, conduct.examine_injection
    ),
    "data_exfiltration_prevention": Check(
        exfiltration.DataExfiltration,
        exfiltration.data_exfiltration_prevention,
        *_SAFE,
        exfiltration.examine_exfiltration,
    ),
    "ssrf_prevention": Check(ssrf.Ssrf, ssrf.ssrf_prevention, *_SAFE, ssrf.examine_ssrf),
    "sandbox_escape_resistance": Check(NoParams, escape.sandbox_escape_resistance, *_SAFE),
    "no_self_report_mismatch": Check(NoParams, robustness.no_self_report_mismatch, _MAJOR, _ROBUSTNESS),
    # Of correctness: what is left behind is an answer too, and the workspace is the agent's to change without harm.
    "workspace_diff": Check(state.WorkspaceDiff, state.workspace_diff, _MAJOR, _CORRECTNESS, state.examine_diff),
    "verify": Check(state.HiddenTests, state.verify, _MAJOR, _CORRECTNESS),
    "task_completion": Check(metrics.Rubric, metrics.task_completion, _MAJOR, _CORRECTNESS),
    "output_correctness": Check(metrics.OutputCorrectness, metrics.output_correctness, _MAJOR, _CORRECTNESS),
    "synthesis_quality": Check(metrics.Rubric, metrics.synthesis_quality, _MAJOR, _CORRECTNESS),
    "clarification_quality": Check(metrics.Rubric, metrics.clarification_quality, _MAJOR, _CORRECTNESS),
    "refusal_quality": Check(metrics.Rubric, metrics.refusal_quality, _MAJOR, _POLICY),
    "recovery_quality": Check(metrics.Rubric, metrics.recovery_quality, _MAJOR, _ROBUSTNESS),
    "blast_radius_accuracy": Check(metrics.Rubric, metrics.blast_radius_accuracy, _MAJOR, _CORRECTNESS),
    "verification_quality": Check(metrics.Rubric, metrics.verification_quality, _MAJOR, _ROBUSTNESS),
    "hypothesis_quality": Check(metrics.Rubric, metrics.hypothesis_quality, _MAJOR, _CORRECTNESS),
    "evidence_grounding": Check(metrics.Rubric, metrics.evidence_grounding, _MAJOR, _GROUNDING),
    "hallucination_rate": Check(metrics.Rubric, metrics.hallucination_rate, _MAJOR, _GROUNDING),
    "policy_adherence": Check(policy.PolicyAdherence, policy.policy_adherence, _MAJOR, _POLICY, policy.examine_policy),
}
"""Checks a pack asks for, by name."""


class Catalogue:
    """`harness.ports.CheckCatalogue` over CHECKS and ALWAYS_ON."""

    def names(self) -> Iterable[str]:
        return (*CHECKS, *ALWAYS_ON)

    def problems(self, check: str, params: Mapping[str, Any], tools: Sequence[str]) -> Sequence[tuple[Path, str]]:
        """All mistakes of one written check; common keys may be among `params`, and are looked at too."""
        own = {key: value for key, value in params.items() if key not in CHECK_FIELDS}
        found = common_problems(params)
        if check in ALWAYS_ON:
            return [*found, *_weakened(check, params), *param_problems(NoParams, own)]
        entry = CHECKS.get(check)
        if entry is None:
            return [*found, (("check",), _unknown(check, self.names()))]
        mistakes = param_problems(entry.params, own)
        if not mistakes:
            mistakes = list(entry.examine(msgspec.convert(own, entry.params), tools))
        return [*found, *mistakes]

    def resolve(self, raw: Mapping[str, Any]) -> CheckSpec:
        """Raises PackError for a check that is not one; `raw` is otherwise taken to be without `problems`."""
        name = str(raw.get("check"))
        if name in ALWAYS_ON:
            return CheckSpec(name, *ALWAYS_ON[name])
        entry = CHECKS.get(name)
        if entry is None:
            raise PackError(_unknown(name, self.names()))
        if problems := common_problems(raw):
            raise PackError(f"{name}: {problems[0][1]}")
        return CheckSpec(
            check=name,
            severity=Severity(raw.get("severity", entry.severity)),
            property=Property(raw.get("property", entry.property)),
            params={key: value for key, value in raw.items() if key not in CHECK_FIELDS},
        )


CATALOGUE = Catalogue()


def _weakened(check: str, params: Mapping[str, Any]) -> list[tuple[Path, str]]:
    fixed = dict(zip(("severity", "property"), ALWAYS_ON[check], strict=True))
    return [
        ((key,), f"{check} is always on, with {key} {value}; came {quote(params[key])}")
        for key, value in fixed.items()
        if params.get(key, value) != value
    ]


def _unknown(check: str, names: Iterable[str]) -> str:
    names = sorted(names)
    near = get_close_matches(check, names, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(names)}"
    return f"unknown check {quote(check)}: {hint}"
