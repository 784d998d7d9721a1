"""Trials as ATIF documents: the Agent Trajectory Interchange Format of the Harbor project, version 1.8.

Format: https://github.com/harbor-framework/harbor, its models `harbor.models.trajectories`. What has a place there is
put there; everything else we know (decisions, blame, checks, limits, stderr ...) is in `extra`, so nothing is lost.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from harness.domain.events import Event
from harness.report.record import TrialRecord, answer_text, as_text, choice, ident, mapping, number, objects, turns

VERSION = "ATIF-v1.8"
_STEPS = {"invoke", "tool_call", "tool_result", "model_call", "model_result", "ask", "answer", "trajectory", "end"}
"""Kinds that become steps, or the observation of one. The first `ready` becomes the agent."""


class AtifModel(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Base of all objects of the format: no field but its own, and absent means null."""


class Call(AtifModel, frozen=True):
    tool_call_id: str
    function_name: str
    arguments: dict[str, Any]
    extra: dict[str, Any] | None = None


class ObservationResult(AtifModel, frozen=True):
    source_call_id: str | None = None
    content: str | list[dict[str, Any]] | None = None
    subagent_trajectory_ref: list[dict[str, Any]] | None = None
    extra: dict[str, Any] | None = None


class Observation(AtifModel, frozen=True):
    results: list[ObservationResult]


class Metrics(AtifModel, frozen=True):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    cost_usd: float | None = None
    prompt_token_ids: list[int] | None = None
    completion_token_ids: list[int] | None = None
    logprobs: list[float] | None = None
    extra: dict[str, Any] | None = None


class AtifStep(AtifModel, frozen=True, kw_only=True):
    """One turn; a tool's answer is the observation of the step that called it."""

    step_id: int
    source: str
    message: str | list[dict[str, Any]]
    timestamp: str | None = None
    model_name: str | None = None
    reasoning_effort: str | float | None = None
    reasoning_content: str | None = None
    tool_calls: list[Call] | None = None
    observation: Observation | None = None
    metrics: Metrics | None = None
    is_copied_context: bool | None = None
    llm_call_count: int | None = None
    extra: dict[str, Any] | None = None


class AtifAgent(AtifModel, frozen=True):
    name: str
    version: str
    model_name: str | None = None
    tool_definitions: list[dict[str, Any]] | None = None
    extra: dict[str, Any] | None = None


class FinalMetrics(AtifModel, frozen=True):
    total_prompt_tokens: int | None = None
    total_completion_tokens: int | None = None
    total_cached_tokens: int | None = None
    total_cost_usd: float | None = None
    total_steps: int | None = None
    extra: dict[str, Any] | None = None


class AtifDocument(AtifModel, frozen=True, kw_only=True):
    """One trajectory."""

    schema_version: str
    agent: AtifAgent
    steps: list[AtifStep]
    session_id: str | None = None
    trajectory_id: str | None = None
    notes: str | None = None
    final_metrics: FinalMetrics | None = None
    continued_trajectory_ref: str | None = None
    extra: dict[str, Any] | None = None
    subagent_trajectories: list[dict[str, Any]] | None = None


def to_atif(record: TrialRecord) -> dict[str, Any]:
    """The ATIF document of a trial, as plain JSON values."""
    steps = [
        msgspec.structs.replace(step, step_id=number) for number, step in enumerate(_steps(record, record.results()), 1)
    ]
    verdict = msgspec.to_builtins(record.verdict) if record.verdict is not None else None
    rest = [msgspec.to_builtins(event) for event in record.events if event.kind not in _STEPS]
    document = AtifDocument(
        schema_version=VERSION,
        session_id=record.run_id,
        trajectory_id=f"{record.run_id}/{record.key}",
        agent=_agent(record),
        steps=steps,
        notes="Tool calls, their results and model calls were observed at the boundary of the agent's container; "
        "steps with extra.source `reported` are the agent's own word. Times are relative to the beginning of the run.",
        final_metrics=_final(record, len(steps)),
        extra={"fumehood": {"pack": record.pack, "verdict": verdict, "events": rest}},
    )
    plain: dict[str, Any] = msgspec.to_builtins(document)
    return plain


def _agent(record: TrialRecord) -> AtifAgent:
    ready = record.first("ready")
    said = mapping(ready.get("agent"))
    tools = [
        {"type": "function", "function": {"name": t.get("name"), "description": t.get("description"),
                                          "parameters": t.get("input_schema")}}
        for t in objects(record.first("invoke").get("tools"))
    ]  # fmt: skip
    return AtifAgent(
        name=str(said.get("name") or record.key.agent),
        version=str(said.get("version") or "unknown"),
        model_name=str(said["model"]) if said.get("model") else None,
        tool_definitions=tools or None,
        extra={
            "name_in_run": record.key.agent,
            "image": record.image,
            "image_digest": record.first("trial").get("image_digest"),
            "framework": said.get("framework"),
            "capabilities": ready.get("capabilities"),
        },
    )


def _steps(record: TrialRecord, results: Mapping[int, Event]) -> Iterator[AtifStep]:
    """At least one: how it ended."""
    answered = {event.line for event in results.values()}
    for event in record.events:
        if event.kind == "invoke":
            yield from _input(record, event)
        elif event.kind == "tool_call":
            yield _tool(record, event, results.get(event.line))
        elif event.kind == "model_call":
            yield _model(record, event, results.get(event.line))
        elif event.kind == "ask":
            yield _step(record, event, "agent", as_text(event.data.get("content")), llm_call_count=0)
        elif event.kind == "answer":
            yield _step(record, event, "user", as_text(event.data.get("content")))
        elif event.kind == "trajectory":
            yield _step(record, event, "agent", answer_text(event.data), data=event.data)
        elif event.kind == "end":
            yield _step(record, event, "system", f"{event.data.get('end')}: {event.data.get('reason')}", event.data)
        elif event.kind in _STEPS and event.line not in answered:
            # an answer to nothing: evidence of another version, kept all the same
            yield _step(record, event, "system", event.kind, event.data)
    if not record.first("end"):
        last = record.events[-1] if record.events else Event("end", "harness", 0, {})
        yield _step(record, last, "system", "the journal has no end: this trial did not run to it")


def _step(
    record: TrialRecord, event: Event, source: str, message: str, data: Mapping[str, Any] | None = None, **more: Any
) -> AtifStep:
    extra = {"source": event.source, "kind": event.kind, "line": event.line, **({"data": dict(data)} if data else {})}
    at = record.at(event.t).isoformat(timespec="milliseconds")
    return AtifStep(step_id=1, source=source, message=message, timestamp=at, extra=extra, **more)


def _input(record: TrialRecord, event: Event) -> Iterator[AtifStep]:
    rest = {key: value for key, value in event.data.items() if key not in ("type", "input", "tools")}
    for place, (role, content) in enumerate(turns(event.data.get("input"))):
        # what the agent is told it said before is no step of this trial
        source, copied = ("agent", True) if role == "assistant" else (role if role == "system" else "user", None)
        yield _step(record, event, source, content, None if place else rest, is_copied_context=copied)


def _tool(record: TrialRecord, event: Event, result: Event | None) -> AtifStep:
    data = event.data
    call = Call(
        ident(data),
        str(data.get("name") or ""),
        mapping(data.get("arguments")),
        {"decision": data.get("decision"), **({"reason": data["reason"]} if data.get("reason") else {})},
    )
    observation = None
    if result is not None:
        said = {key: result.data.get(key) for key in ("status", "reason", "ms") if result.data.get(key) is not None}
        content = result.data.get("content")
        text = None if content is None else as_text(content)
        observation = Observation([ObservationResult(ident(data), text, extra={**said, "line": result.line})])
    return _step(record, event, "agent", "", tool_calls=[call], observation=observation, llm_call_count=0)


def _model(record: TrialRecord, event: Event, result: Event | None) -> AtifStep:
    request = mapping(event.data.get("request"))
    given = result.data if result is not None else {}
    message = mapping(choice(given).get("message"))
    model = mapping(given.get("response")).get("model") or request.get("model")
    reasoning = message.get("reasoning_content")
    return _step(
        record, event, "agent", as_text(message.get("content") or ""), {"request": request, "result": given},
        model_name=str(model) if model else None,
        reasoning_content=reasoning if isinstance(reasoning, str) else None,
        metrics=_metrics(mapping(given.get("usage"))) if result is not None else None,
        llm_call_count=1,
    )  # fmt: skip


def _metrics(usage: Mapping[str, Any]) -> Metrics:
    return Metrics(
        number(usage.get("input_tokens")), number(usage.get("output_tokens")), cost_usd=usage.get("cost_usd")
    )


def _final(record: TrialRecord, steps: int) -> FinalMetrics:
    """Sums of what was metered; null where a part of it is not known."""
    metered = [_metrics(mapping(e.data.get("usage"))) for e in record.events if e.kind == "model_result"]

    def total(values: list[Any]) -> Any:
        return None if None in values else sum(values)

    usage = mapping(record.first("end").get("usage"))
    return FinalMetrics(
        total_prompt_tokens=total([m.prompt_tokens for m in metered]),
        total_completion_tokens=total([m.completion_tokens for m in metered]),
        total_cost_usd=total([m.cost_usd for m in metered]),
        total_steps=steps,
        extra=usage or None,
    )
