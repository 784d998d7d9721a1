"""Checks of what the agent used up."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct, structs

from harness.scoring.check import Result, failed, not_applicable, passed
from harness.scoring.trial import Trial


class StepEfficiency(Struct, frozen=True, forbid_unknown_fields=True):
    max_steps: Annotated[int, Meta(ge=0, le=10_000_000)]


def step_efficiency(trial: Trial, params: StepEfficiency) -> Result:
    """Observed steps (tool calls of any decision, model calls, asks) stay within `max_steps`.

    Too many fail however the trial ended; few are only to anybody's credit where it ended well.
    """
    steps = sorted(trial.steps)
    reason = f"expected at most {params.max_steps} steps, came {len(steps)}"
    if len(steps) > params.max_steps:
        result = failed(reason, steps[params.max_steps :])
    elif trial.ended_well:
        result = passed(reason, (trial.end_line,))
    else:
        result = not_applicable(f"{reason} before the trial ended {trial.outcome.end}", (trial.end_line,))
    return structs.replace(result, value=float(len(steps)), threshold=float(params.max_steps))
