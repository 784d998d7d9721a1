"""ATIF documents of others as events: all of them *reported*, because nobody of ours was there."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import msgspec

from harness.domain.events import Event
from harness.errors import UsageError
from harness.report.atif import AtifDocument, AtifStep, Observation

VERSIONS = tuple(f"ATIF-v1.{minor}" for minor in range(9))
_AGENT_ONLY = ("model_name", "reasoning_effort", "reasoning_content", "tool_calls", "metrics")


def read_atif(data: bytes, name: str = "the document") -> tuple[Event, ...]:
    """The events an ATIF document (1.0 to 1.8) tells of, in order, each `reported`; lines count from 1.

    Kinds as in a journal: ready, invoke, tool_call (without a decision: nothing was decided), tool_result (status
    `unknown` where the document does not say), model_result, answer, note, and trajectory for the agent's last word.
    Media and subagents are named, not followed. Raises UsageError, naming the step, for what is no sound document.
    """
    try:
        document = msgspec.json.decode(data, type=AtifDocument)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"{name} is no ATIF document: {error}", "give a trajectory.json of ATIF 1.0 to 1.8") from error
    if document.schema_version not in VERSIONS:
        raise UsageError(f"{name} is {document.schema_version[:40]!r}, not ATIF 1.0 to 1.8", "write it as ATIF-v1.8")
    problem = next(_problems(document), None)
    if problem:
        raise UsageError(f"{name} is no sound ATIF document: {problem}", "mend it at its source")
    began = min((at for step in document.steps if (at := _when(step))), default=None)
    told = [(_since(began, step), kind, data) for step in document.steps for kind, data in _events(document, step)]
    head = (0, "ready", _ready(document))
    return tuple(Event(kind, "reported", t, data, line) for line, (t, kind, data) in enumerate([head, *told], 1))


def _problems(document: AtifDocument) -> Iterator[str]:
    """The rules of the published models that types alone do not hold."""
    if not document.steps:
        yield "it has no step"
    for place, step in enumerate(document.steps, 1):
        where = f"step {place}"
        if step.step_id != place:
            yield f"{where}: expected step_id {place}, came {step.step_id}"
        if step.source not in ("system", "user", "agent"):
            yield f"{where}: expected source system, user or agent, came {step.source[:40]!r}"
        if step.source != "agent":
            yield from (f"{where}: only an agent's step has {name}" for name in _AGENT_ONLY if getattr(step, name))
        calls = {call.tool_call_id for call in step.tool_calls or ()}
        for result in step.observation.results if step.observation else ():
            if result.source_call_id is not None and result.source_call_id not in calls:
                yield f"{where}: an observation of call {result.source_call_id[:40]!r}, which the step does not make"
        if step.timestamp is not None and _when(step) is None:
            yield f"{where}: expected an ISO 8601 timestamp, came {step.timestamp[:40]!r}"


def _ready(document: AtifDocument) -> dict[str, Any]:
    agent = document.agent
    said = {"name": agent.name, "version": agent.version, **({"model": agent.model_name} if agent.model_name else {})}
    return {"type": "ready", "protocol": [], "agent": said, "capabilities": []}


def _events(document: AtifDocument, step: AtifStep) -> Iterator[tuple[str, dict[str, Any]]]:
    text = _text(step.message)
    if step.source == "system":
        yield "note", {"level": "info", "text": text}
    elif step.source == "user":
        first = next(each for each in document.steps if each.source == "user")
        tools = [_tool(tool) for tool in document.agent.tool_definitions or ()]
        yield ("invoke", {"type": "invoke", "input": text, "tools": tools}) if step is first else (
            "answer", {"id": "", "content": text},
        )  # fmt: skip
    elif step is _last_word(document):
        yield "trajectory", {"status": "completed", "output": {"text": text}, "steps": [], "usage": None, "error": None}
    else:
        if text or step.metrics:
            yield "model_result", _model(step, text)
        for call in step.tool_calls or ():
            yield "tool_call", {"id": call.tool_call_id, "name": call.function_name, "arguments": call.arguments}
    if step.observation is not None:
        yield from _results(step, step.observation)


def _last_word(document: AtifDocument) -> AtifStep | None:
    """The agent's last step, where it only speaks. That it completed is the document's claim, as all of it."""
    last = next((step for step in reversed(document.steps) if step.source == "agent"), None)
    return last if last is not None and not last.tool_calls else None


def _tool(definition: dict[str, Any]) -> dict[str, Any]:
    function = definition.get("function")
    inner = function if isinstance(function, dict) else definition
    return {"name": inner.get("name"), "description": inner.get("description"), "input_schema": inner.get("parameters")}


def _model(step: AtifStep, text: str) -> dict[str, Any]:
    usage = step.metrics
    return {
        "id": str(step.step_id),
        "response": {"model": step.model_name, "choices": [{"message": {"role": "assistant", "content": text}}]},
        "usage": {
            "input_tokens": usage.prompt_tokens if usage else None,
            "output_tokens": usage.completion_tokens if usage else None,
            "cost_usd": usage.cost_usd if usage else None,
        },
    }


def _results(step: AtifStep, observation: Observation) -> Iterator[tuple[str, dict[str, Any]]]:
    names = {call.tool_call_id: call.function_name for call in step.tool_calls or ()}
    for result in observation.results:
        content = None if result.content is None else _text(result.content)
        refs = (
            f" [{len(result.subagent_trajectory_ref)} subagent trajectories]" if result.subagent_trajectory_ref else ""
        )
        if result.source_call_id is None:
            yield "note", {"level": "info", "text": f"{content or ''}{refs}"}
            continue
        status = (result.extra or {}).get("status")
        yield (
            "tool_result",
            {
                "id": result.source_call_id,
                "name": names[result.source_call_id],
                "status": status if status in ("ok", "error", "denied") else "unknown",
                "content": f"{content or ''}{refs}" if refs else content,
            },
        )


def _text(message: str | list[dict[str, Any]]) -> str:
    if isinstance(message, str):
        return message
    return "\n".join(str(part.get("text")) if part.get("type") == "text" else f"[{part}]" for part in message)


def _when(step: AtifStep) -> datetime | None:
    try:
        at = datetime.fromisoformat(step.timestamp or "")
    except ValueError:
        return None
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def _since(began: datetime | None, step: AtifStep) -> int:
    """ms since the first step that has a time; 0 where nothing says."""
    at = _when(step)
    return max(0, int((at - began).total_seconds() * 1000)) if at and began else 0
