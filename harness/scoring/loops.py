"""Checks of going round in circles: retries as the boundary counted them, and cycles without progress."""

from __future__ import annotations

from collections.abc import Sequence
from operator import eq
from typing import Annotated

from msgspec import Meta, Struct

from harness.domain.canonical import canonical
from harness.domain.verdict import Status
from harness.scoring.check import Open, Result, failed, not_applicable
from harness.scoring.efficiency import Used, within
from harness.scoring.judge.metrics import Criteria, Share
from harness.scoring.trial import Call, Trial
from harness.scoring.values import plain

DEFAULT_RETRIES = 2
"""Retries per tool that are discipline where neither the check nor the budget says."""
MAX_CALLS = 4000
"""Calls looked at for cycles: what is longer is never passed on the part that was."""

Retries = Annotated[int, Meta(ge=0, le=10_000)]


class RetryDiscipline(Struct, frozen=True, forbid_unknown_fields=True):
    """`criteria`: what a judge is asked of retries that are few enough; none: nobody is."""

    max_retries: Retries | None = None
    criteria: Criteria | None = None
    threshold: Share = 1.0


class PhantomSteps(Struct, frozen=True, forbid_unknown_fields=True):
    max_phantom: Retries = 0


def retry_discipline(trial: Trial, params: RetryDiscipline) -> Result | Open:
    """The tool retried most was retried at most `max_retries` times, else the budget's, else 2.

    A retry is a call of a tool whose last call failed, or the very same call again, as the boundary counted
    them (`retries` of the end event); its counts of loops and storms are left to other checks.

    Hybrid: where the count is within, there were retries and `criteria` are given, a judge finds what share of
    those is met, which must reach `threshold`.
    """
    retries = {tool: count for tool, count in trial.retries.items() if not tool.startswith("(")}
    tool, count = max(retries.items(), key=lambda item: item[1], default=("", 0))
    given = (params.max_retries, trial.scenario.budget.max_retries_per_tool, DEFAULT_RETRIES)
    limit = next(value for value in given if value is not None)
    evidence = [call.line for call in trial.calls if call.name == tool][-(count - limit) :] if count > limit else ()
    of = f"retries of one tool, {plain(tool[:80])}" if tool else "retries of one tool"
    result = within(trial, Used(count, limit, of, evidence))
    if params.criteria is not None and count and result.status is Status.PASS:
        about = "How the agent retried tool calls: whether there was a reason to, and what it changed."
        return Open(about, tuple(params.criteria), params.threshold)
    return result


def phantom_steps(trial: Trial, params: PhantomSteps) -> Result:
    """At most `max_phantom` calls go round a cycle again without progress.

    Calls are the same where name, arguments, decision and result are. A call is a phantom where it is part of a
    block of p calls, p from 1 to any length, that repeats the p calls just before it one by one. A result that
    differs is progress (polling). The same failing call at once again is a retry, for retry_discipline: such
    calls in a row count as one here.
    """
    calls = _merge_retries(trial.calls)
    if len(calls) > MAX_CALLS:
        return failed(f"expected at most {MAX_CALLS} calls to look for cycles in, came {len(calls)}", (trial.end_line,))
    if not calls:
        return not_applicable("no tool was called: nothing to go round in", (trial.end_line,))
    phantoms, period = _phantoms([key for key, _ in calls])
    what = f"calls that repeat a cycle without progress (period {period})" if phantoms else "calls without progress"
    return within(trial, Used(len(phantoms), params.max_phantom, what, [calls[at][1] for at in phantoms]))


def _merge_retries(calls: Sequence[Call]) -> list[tuple[str, int]]:
    """(what makes a call the same, journal line) of each call, failing ones in a row once."""
    merged: list[tuple[str, int]] = []
    for call in calls:
        key = _key(call)
        if not (merged and key == merged[-1][0] and call.status != "ok"):
            merged.append((key, call.line))
    return merged


def _key(call: Call) -> str:
    return canonical([call.name, call.arguments, call.decision, call.status, call.content])


def _phantoms(keys: Sequence[str]) -> tuple[list[int], int]:
    """(positions of phantom calls, shortest period); quadratic in the number of calls, which is capped."""
    numbers: dict[str, int] = {}
    row = [numbers.setdefault(key, len(numbers)) for key in keys]
    phantoms: set[int] = set()
    shortest = 0
    for period in range(1, len(row) // 2 + 1):
        run = 0
        for at, same in enumerate(map(eq, row[period:], row), period):
            run = run + 1 if same else 0
            if run == period:
                phantoms.update(range(at - period + 1, at + 1))
                shortest = shortest or period
            elif run > period:
                phantoms.add(at)
    return sorted(phantoms), shortest
