"""Trials as OpenTelemetry spans: the one place that knows the GenAI semantic conventions and OTLP's JSON.

Conventions: `gen_ai.*` of https://opentelemetry.io/docs/specs/semconv/gen-ai/ (all still *development*), names as of
1.40; what they have no name for is `fumehood.*`. JSON encoding: https://opentelemetry.io/docs/specs/otlp/, with ids in
hex, enums as numbers and 64-bit integers as text.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from harness import __version__
from harness.domain.events import Event
from harness.domain.outcome import End
from harness.domain.verdict import CheckVerdict
from harness.report.record import TrialRecord, answer_text, as_text, choice, ident, mapping, number, objects, turns

SCHEMA = "https://opentelemetry.io/schemas/1.40.0"
_INTERNAL, _CLIENT = 1, 3
_ERROR = 2
_GOOD_ENDS = (End.COMPLETED, End.REFUSED)
_EVENT_KINDS = ("violation", "finding", "ask", "answer", "write", "connect", "cancel")
"""Events of a journal that have no span of their own: they stand on the trial's span."""


def to_otlp(record: TrialRecord) -> dict[str, Any]:
    """One trial as an `ExportTraceServiceRequest`: one trace, its root the agent's invocation."""
    spans = [_invocation(record)]
    results = record.results()
    last = max((event.t for event in record.events), default=0)
    for event in record.events:
        if event.kind in ("tool_call", "model_call"):
            answer = results.get(event.line)
            make = _tool if event.kind == "tool_call" else _chat
            spans.append(_span(record, event, answer.t if answer else last, make(event.data, answer)))
    resource = {"service.name": "fumehood", "service.version": __version__}
    scope = {"name": "fumehood", "version": __version__}
    grouped = {"scope": scope, "spans": spans, "schemaUrl": SCHEMA}
    return {"resourceSpans": [{"resource": {"attributes": _attributes(resource)}, "scopeSpans": [grouped]}]}


def trace_id(record: TrialRecord) -> str:
    """32 hex digits: the same for the same trial of the same run, in every export."""
    return hashlib.sha256(f"fumehood-trace\n{record.run_id}\n{record.key}".encode()).hexdigest()[:32]


def span_id(record: TrialRecord, line: int) -> str:
    """16 hex digits for the span that begins at this journal line; 0: the trial's own."""
    return hashlib.sha256(f"fumehood-span\n{record.run_id}\n{record.key}\n{line}".encode()).hexdigest()[:16]


def _invocation(record: TrialRecord) -> dict[str, Any]:
    begin, end = record.first("invoke"), record.first("end")
    began = next((event.t for event in record.events if event.kind == "invoke"), 0)
    failed = end.get("end") not in _GOOD_ENDS
    # start-up is not the agent's time: its span begins when it is asked
    span = {
        "traceId": trace_id(record),
        "spanId": span_id(record, 0),
        "name": f"invoke_agent {record.key.agent}",
        "kind": _CLIENT,
        "startTimeUnixNano": _nanos(record, began),
        "endTimeUnixNano": _nanos(record, max((event.t for event in record.events), default=began)),
        "attributes": _attributes({**_about_agent(record, begin), **_about_end(record, end, failed)}),
        "events": [*_happened(record), *_evaluated(record)],
    }
    return {**span, "status": {"code": _ERROR, "message": str(end.get("reason") or "no end")}} if failed else span


def _about_agent(record: TrialRecord, invoke: Mapping[str, Any]) -> dict[str, Any]:
    said = mapping(record.first("ready").get("agent"))
    answer = record.first("trajectory")
    return {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.provider.name": "fumehood",
        "gen_ai.agent.name": record.key.agent,
        "gen_ai.agent.version": said.get("version"),
        "gen_ai.request.model": said.get("model"),
        "gen_ai.conversation.id": f"{record.run_id}/{record.key}",
        "gen_ai.tool.definitions": _json([{"type": "function", **tool} for tool in objects(invoke.get("tools"))]),
        "gen_ai.input.messages": _json([_message(*turn) for turn in turns(invoke.get("input"))]) if invoke else None,
        "gen_ai.output.messages": _json([{**_message("assistant", answer_text(answer)), "finish_reason": "stop"}])
        if answer
        else None,
    }


def _about_end(record: TrialRecord, end: Mapping[str, Any], failed: bool) -> dict[str, Any]:
    verdict, usage = record.verdict, mapping(end.get("usage"))
    metered = [mapping(event.data.get("usage")) for event in record.events if event.kind == "model_result"]
    known = [(number(u.get("input_tokens")), number(u.get("output_tokens"))) for u in metered]
    sure = bool(known) and all(None not in pair for pair in known)
    return {
        "error.type": str(end.get("end") or "unfinished") if failed else None,
        "gen_ai.usage.input_tokens": sum(pair[0] or 0 for pair in known) if sure else None,
        "gen_ai.usage.output_tokens": sum(pair[1] or 0 for pair in known) if sure else None,
        "fumehood.run_id": record.run_id,
        "fumehood.pack": record.pack,
        "fumehood.scenario": record.key.scenario,
        "fumehood.trial": record.key.trial,
        "fumehood.image": record.image,
        "fumehood.image_digest": record.first("trial").get("image_digest"),
        "fumehood.end": end.get("end"),
        "fumehood.blame": end.get("blame"),
        "fumehood.reason": end.get("reason"),
        "fumehood.passed": verdict.passed if verdict else None,
        "fumehood.counts": verdict.counts if verdict else None,
        **{f"fumehood.usage.{name}": value for name, value in usage.items()},
    }


def _happened(record: TrialRecord) -> list[dict[str, Any]]:
    return [
        _event(
            record, event.t, f"fumehood.{event.kind}", {f"fumehood.{name}": value for name, value in event.data.items()}
        )
        for event in record.events
        if event.kind in _EVENT_KINDS
    ]


def _evaluated(record: TrialRecord) -> list[dict[str, Any]]:
    """Each check as an evaluation's result, at the end."""
    last = max((event.t for event in record.events), default=0)
    checks = record.verdict.checks if record.verdict else ()
    return [_event(record, last, "gen_ai.evaluation.result", _check(check)) for check in checks]


def _check(check: CheckVerdict) -> dict[str, Any]:
    return {
        "gen_ai.evaluation.name": check.check,
        "gen_ai.evaluation.score.label": str(check.status),
        "gen_ai.evaluation.score.value": check.value,
        "gen_ai.evaluation.explanation": check.reason,
        "fumehood.property": str(check.property),
        "fumehood.severity": str(check.severity),
        "fumehood.evidence": list(check.evidence),
    }


def _event(record: TrialRecord, t: int, name: str, attributes: Mapping[str, Any]) -> dict[str, Any]:
    return {"timeUnixNano": _nanos(record, t), "name": name, "attributes": _attributes(attributes)}


class _Made(Struct, frozen=True):
    """What a kind of span has of its own. `error`: a word of few, None where it went well; `message`: in full."""

    name: str
    kind: int
    attributes: dict[str, Any]
    error: str | None
    message: str = ""


def _span(record: TrialRecord, event: Event, end: int, made: _Made) -> dict[str, Any]:
    own = {**made.attributes, "error.type": made.error, "fumehood.line": event.line}
    return {
        "traceId": trace_id(record),
        "spanId": span_id(record, event.line),
        "parentSpanId": span_id(record, 0),
        "name": made.name,
        "kind": made.kind,
        "startTimeUnixNano": _nanos(record, event.t),
        "endTimeUnixNano": _nanos(record, max(end, event.t)),
        "attributes": _attributes(own),
        **({"status": {"code": _ERROR, "message": made.message}} if made.error else {}),
    }


def _tool(data: Mapping[str, Any], answer: Event | None) -> _Made:
    given = answer.data if answer is not None else {}
    status = given.get("status")
    return _Made(
        f"execute_tool {data.get('name')}",
        _INTERNAL,
        {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": data.get("name"),
            "gen_ai.tool.type": "function",
            "gen_ai.tool.call.id": ident(data),
            "gen_ai.tool.call.arguments": _json(data.get("arguments")),
            "gen_ai.tool.call.result": as_text(given["content"]) if given.get("content") is not None else None,
            "fumehood.decision": data.get("decision"),
            "fumehood.reason": data.get("reason") or given.get("reason"),
        },
        None if status == "ok" else str(status or "unanswered"),
        str(given.get("reason") or ""),
    )


def _chat(data: Mapping[str, Any], answer: Event | None) -> _Made:
    request, given = mapping(data.get("request")), answer.data if answer is not None else {}
    response, usage, chosen = mapping(given.get("response")), mapping(given.get("usage")), choice(given)
    finish, model = chosen.get("finish_reason"), request.get("model")
    asked = [_message(str(m.get("role")), m.get("content")) for m in objects(request.get("messages"))]
    said = mapping(chosen.get("message"))
    reply = {**_message(str(said.get("role") or "assistant"), said.get("content")), "finish_reason": finish or "stop"}
    for call in objects(said.get("tool_calls")):
        function = mapping(call.get("function"))
        part = {"type": "tool_call", "id": call.get("id"), "name": function.get("name")}
        reply["parts"].append({**part, "arguments": function.get("arguments")})
    return _Made(
        f"chat {model}" if model else "chat",
        _CLIENT,
        {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": "fumehood",
            "gen_ai.request.model": model,
            **{f"gen_ai.request.{n}": request.get(n) for n in ("temperature", "top_p", "max_tokens", "seed")},
            "gen_ai.response.model": response.get("model"),
            "gen_ai.response.id": response.get("id"),
            "gen_ai.response.finish_reasons": [str(finish)] if finish else None,
            "gen_ai.usage.input_tokens": number(usage.get("input_tokens")),
            "gen_ai.usage.output_tokens": number(usage.get("output_tokens")),
            "gen_ai.input.messages": _json(asked),
            "gen_ai.output.messages": _json([reply]) if response else None,
            "fumehood.cost_usd": usage.get("cost_usd"),
        },
        None if response else "upstream_error" if given.get("error") else "unanswered",
        str(given.get("error") or ""),
    )


def _message(role: str, content: Any) -> dict[str, Any]:
    parts = [{"type": "text", "content": as_text(content)}] if content else []
    return {"role": role, "parts": parts}


def _json(value: Any) -> str | None:
    """Structured attributes as JSON text, which the conventions allow on spans."""
    return None if value is None else json.dumps(value, ensure_ascii=False)


def _attributes(values: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": _value(value)} for key, value in values.items() if value is not None]


def _value(value: Any) -> dict[str, Any]:
    """An `AnyValue`; what is no scalar and no list of them becomes JSON text."""
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        # beyond 64 bits there is only text
        return {"intValue": str(value)} if -(2**63) <= value < 2**63 else {"stringValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, list) and all(isinstance(item, str | int | float) for item in value):
        return {"arrayValue": {"values": [_value(item) for item in value]}}
    return {"stringValue": as_text(value)}


def _nanos(record: TrialRecord, t: int) -> str:
    return str(round(record.at(0).timestamp() * 1000) * 1_000_000 + t * 1_000_000)
