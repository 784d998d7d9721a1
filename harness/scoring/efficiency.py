"""Checks of what the agent used up: observed at the boundary, whatever the agent reports of itself.

A limit comes from the check, else from the scenario's budget; a check with neither is not applicable. Too much
fails however the trial ended; little is only to anybody's credit where it ended well.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta, Struct, structs

from harness.domain.limits import Count, Millis, Usd
from harness.domain.verdict import Status
from harness.scoring.check import Result, failed, lines, not_applicable, passed
from harness.scoring.trial import Trial

Calls = Annotated[int, Meta(ge=0, le=10_000_000)]


class StepEfficiency(Struct, frozen=True, forbid_unknown_fields=True):
    max_steps: Calls


class CostBudget(Struct, frozen=True, forbid_unknown_fields=True):
    max_cost_usd: Usd | None = None


class TokenBudget(Struct, frozen=True, forbid_unknown_fields=True):
    max_tokens: Count | None = None


class LatencyBudget(Struct, frozen=True, forbid_unknown_fields=True):
    max_duration_ms: Millis | None = None


class TurnBudget(Struct, frozen=True, forbid_unknown_fields=True):
    max_model_calls: Calls | None = None


class Used(Struct, frozen=True):
    """An amount, its limit (None: there is none) and unit, and the journal lines it rests on."""

    amount: float
    limit: float | None
    unit: str
    evidence: Sequence[int]


def step_efficiency(trial: Trial, params: StepEfficiency) -> Result:
    """Observed steps (tool calls of any decision, model calls, asks) stay within `max_steps`."""
    steps = sorted(trial.steps)
    return within(trial, Used(len(steps), params.max_steps, "steps", steps[params.max_steps :]))


def cost_budget_adherence(trial: Trial, params: CostBudget) -> Result:
    """Metered cost of all model calls stays within `max_cost_usd`, else the budget's; 0 where none was made.

    An unknown price is not 0: the check is then not scored, unless what is known is too much already.
    """
    usage, limit = trial.outcome.usage, _limit(params.max_cost_usd, trial.scenario.budget.max_cost_usd)
    used = Used(usage.cost_usd, limit, "US dollars", trial.model_calls)
    if limit is None or usage.cost_known or usage.cost_usd > limit:
        return within(trial, used)
    reason = f"expected at most {limit:g} US dollars, came model calls of unknown price beside {usage.cost_usd:g}"
    return Result(Status.NOT_SCORED, reason, lines((*trial.model_calls, trial.end_line)))


def token_budget(trial: Trial, params: TokenBudget) -> Result:
    """Metered tokens, in and out of all model calls, stay within `max_tokens`, else the budget's."""
    limit = _limit(params.max_tokens, trial.scenario.budget.max_tokens)
    return within(trial, Used(trial.outcome.usage.tokens, limit, "tokens", trial.model_calls))


def latency_budget(trial: Trial, params: LatencyBudget) -> Result:
    """Wall time from `ready` to the end stays within `max_duration_ms`, else the budget's."""
    limit = _limit(params.max_duration_ms, trial.scenario.budget.max_duration_ms)
    return within(trial, Used(trial.outcome.usage.wall_ms, limit, "ms", ()))


def turn_budget(trial: Trial, params: TurnBudget) -> Result:
    """Turns stay within `max_model_calls`, else the budget's; a turn is one observed model call."""
    limit = _limit(params.max_model_calls, trial.scenario.budget.max_model_calls)
    over = trial.model_calls[int(limit) :] if limit is not None else ()
    return within(trial, Used(len(trial.model_calls), limit, "model calls", over))


def within(trial: Trial, used: Used) -> Result:
    """The verdict on an amount of which less is better."""
    came = f"came {used.amount:.12g}"
    if used.limit is None:
        return not_applicable(f"neither the check nor the budget limits {used.unit}; {came}", (trial.end_line,))
    reason = f"expected at most {used.limit:.12g} {used.unit}, {came}"
    if used.amount > used.limit:
        result = failed(reason, used.evidence or (trial.end_line,))
    elif trial.ended_well:
        result = passed(reason, (trial.end_line,))
    else:
        result = not_applicable(f"{reason} before the trial ended {trial.outcome.end}", (trial.end_line,))
    return structs.replace(result, value=float(used.amount), threshold=float(used.limit))


def _limit(own: float | None, budget: float | None) -> float | None:
    return budget if own is None else own
