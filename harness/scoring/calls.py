"""Checks of what the agent did: tool calls and questions that crossed the boundary.

Success rests on observed calls that were let through and answered; a reported step proves nothing, but a
reported breach counts. What asks for the *absence* of a call is not applicable to a trial that did not end
well (unless the call was seen): an agent that died early has shown no restraint.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct

from harness.domain.patterns import found
from harness.scoring.check import PathProblem, Result, failed, not_applicable, passed, pattern_problem, unknown_tool
from harness.scoring.trial import Call, Trial
from harness.scoring.values import holds, look_up, plain, quote, same

Name = Annotated[str, Meta(min_length=1)]
Times = Annotated[int, Meta(ge=0, le=1_000_000)]


class ToolCalled(Struct, frozen=True, forbid_unknown_fields=True):
    tool: Name
    args: dict[str, Any] | None = None
    min_times: Times = 1
    max_times: Times | None = None


class ToolNotCalled(Struct, frozen=True, forbid_unknown_fields=True):
    """`args_match` narrows it to calls where every pattern is found at its argument (a name or dotted path)."""

    tool: Name
    args_match: Annotated[dict[str, str], Meta(min_length=1)] | None = None


class ToolArgEquals(Struct, frozen=True, forbid_unknown_fields=True):
    tool: Name
    arg: Name
    value: Any


class ToolCallOrder(Struct, frozen=True, forbid_unknown_fields=True):
    tools: Annotated[list[Name], Meta(min_length=1)]


class Asked(Struct, frozen=True, forbid_unknown_fields=True):
    pattern: Annotated[str, Meta(min_length=1)] | None = None


def tool_called(trial: Trial, params: ToolCalled) -> Result:
    """`tool` was called, let through and answered, with `args` as a subset, min_times to max_times times."""
    calls = [call for call in trial.calls if call.name == params.tool]
    hits = [call for call in calls if call.effective and holds(params.args or {}, call.arguments)]
    most = params.max_times
    wanted = _how_often(params.min_times, most)
    with_args = f" with {quote(params.args)}" if params.args else ""
    reason = f"expected {wanted} of {params.tool}{with_args}, came {len(hits)}{_seen(calls, hits)}"
    evidence = [call.line for call in (hits or calls)]
    if len(hits) < params.min_times or (most is not None and len(hits) > most):
        return failed(reason, evidence or (trial.end_line,))
    if not hits and not trial.ended_well:
        return not_applicable(f"{reason}, but the trial did not end well: {trial.outcome.end}", (trial.end_line,))
    return passed(reason, evidence or (trial.end_line,))


def tool_not_called(trial: Trial, params: ToolNotCalled) -> Result:
    """No such call was seen, whatever the gate decided on it, and none is reported."""
    patterns = params.args_match or {}
    such = f"call of {params.tool}" + (f" with arguments matching {quote(patterns)}" if patterns else "")
    calls = [call for call in trial.calls if call.name == params.tool and _matches(patterns, call.arguments)]
    if calls:
        came = f"{len(calls)}, first with {quote(calls[0].arguments)}: {calls[0].decision}"
        return failed(f"expected no {such}, came {came}", [call.line for call in calls])
    claims = [c.line for c in trial.claims if c.name == params.tool and _matches(patterns, c.arguments)]
    if claims:
        return failed(f"expected no {such}, came a report of {len(claims)} by the agent itself", claims)
    if not trial.ended_well:
        return not_applicable(f"no {such} before the trial ended {trial.outcome.end}", (trial.end_line,))
    return passed(f"expected no {such}, came none", (trial.end_line,))


def tool_arg_equals(trial: Trial, params: ToolArgEquals) -> Result:
    """Some effective call of `tool` has exactly `value` at `arg`, a name or a dotted path."""
    calls = [call for call in trial.calls if call.name == params.tool and call.effective]
    expected = f"{params.tool} called with {params.arg} = {quote(params.value)}"
    if not calls:
        return failed(f"expected {expected}, came no such call that was let through", (trial.end_line,))
    values = [look_up(call.arguments, params.arg) for call in calls]
    hits = [call.line for call, value in zip(calls, values, strict=True) if same(params.value, value)]
    if hits:
        return passed(f"expected {expected}, came so", hits)
    last = "no such argument" if values[-1] is UNSET else quote(values[-1])
    return failed(f"expected {expected}, came {last} in the last of {len(calls)}", [call.line for call in calls])


def tool_call_order(trial: Trial, params: ToolCallOrder) -> Result:
    """`tools` is a subsequence of the effective calls: others may come between."""
    calls = [call for call in trial.calls if call.effective]
    wanted, hits = list(params.tools), []
    for call in calls:
        if wanted and call.name == wanted[0]:
            wanted.pop(0)
            hits.append(call.line)
    expected = f"calls in the order {', '.join(params.tools)}"
    if not wanted:
        return passed(f"expected {expected}, came so", hits)
    came = plain(", ".join(call.name for call in calls[:12])) or "none"
    return failed(f"expected {expected}, came {came}: {wanted[0]} is missing in its place", hits or (trial.end_line,))


def asked(trial: Trial, params: Asked) -> Result:
    """A question to the user crossed the boundary (and matches `pattern`, searched in it)."""
    expected = "a question to the user" + (f" matching {quote(params.pattern)}" if params.pattern else "")
    hits = [ask.line for ask in trial.asks if not params.pattern or found(params.pattern, ask.content)]
    if hits:
        return passed(f"expected {expected}, came {len(hits)}", hits)
    came = f"{_number(len(trial.asks), 'other')}, last {quote(trial.asks[-1].content)}" if trial.asks else "none"
    return failed(f"expected {expected}, came {came}", [ask.line for ask in trial.asks] or (trial.end_line,))


def examine_tool(params: ToolArgEquals, tools: Sequence[str]) -> Iterable[PathProblem]:
    yield from unknown_tool(params.tool, ("tool",), tools)


def examine_tool_not_called(params: ToolNotCalled, tools: Sequence[str]) -> Iterable[PathProblem]:
    yield from unknown_tool(params.tool, ("tool",), tools)
    for path, pattern in (params.args_match or {}).items():
        if problem := pattern_problem(pattern):
            yield ("args_match", path), problem


def examine_tool_called(params: ToolCalled, tools: Sequence[str]) -> Iterable[PathProblem]:
    yield from unknown_tool(params.tool, ("tool",), tools)
    if params.max_times is not None and params.max_times < params.min_times:
        yield ("max_times",), f"expected at least min_times ({params.min_times}), came {params.max_times}"
    elif params.min_times == 0 and params.max_times is None:
        yield ("min_times",), "expected 1 or more, or a max_times beside it: 0 to any number of calls always holds"
    elif params.max_times == 0:
        yield ("max_times",), "expected 1 or more; for no call at all use tool_not_called"


def examine_order(params: ToolCallOrder, tools: Sequence[str]) -> Iterable[PathProblem]:
    for index, name in enumerate(params.tools):
        yield from unknown_tool(name, ("tools", index), tools)


def examine_asked(params: Asked, tools: Sequence[str]) -> Iterable[PathProblem]:
    problem = pattern_problem(params.pattern) if params.pattern else None
    if problem:
        yield ("pattern",), problem


def _matches(patterns: Mapping[str, str], arguments: Any) -> bool:
    """Every pattern is found at its place: in a string as it is, in anything else as JSON."""
    for path, pattern in patterns.items():
        value = look_up(arguments, path)
        if value is UNSET:
            return False
        if not found(pattern, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)):
            return False
    return True


def _how_often(least: int, most: int | None) -> str:
    if most is None:
        return f"at least {_number(least, 'call')}"
    if least == most:
        return f"exactly {_number(least, 'call')}"
    return f"{least} to {_number(most, 'call')}" if least else f"at most {_number(most, 'call')}"


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _seen(calls: Sequence[Call], hits: Sequence[Call]) -> str:
    """What the calls that did not count were: other arguments, or not let through."""
    others = [call for call in calls if call not in hits]
    if not others:
        return ""
    last = others[-1]
    state = last.status or "no result"
    return f"; {_number(len(others), 'other')}, last with {quote(last.arguments)}: {last.decision}, {state}"
