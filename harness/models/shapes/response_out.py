"""OpenAI Responses, out: a chat completion as a response, whole or as the events of a stream."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from harness.models.shapes.shape import Completion, Json, counts, finish_of, message_of, stem

_INCOMPLETE = {"length": "max_output_tokens", "content_filter": "content_filter"}


def response_body(completion: Completion, asked: Mapping[str, Any]) -> Json:
    """The response; `asked`: the request, some of which a response repeats."""
    mark = stem(completion)
    reason = _INCOMPLETE.get(finish_of(completion))
    sent, answered, cached, thought = counts(completion)
    reasoning = asked["reasoning"] or {}
    return {
        "id": f"resp_{mark}",
        "object": "response",
        "created_at": _created(completion),
        "status": "incomplete" if reason else "completed",
        "background": False,
        "error": None,
        "incomplete_details": {"reason": reason} if reason else None,
        "instructions": asked["instructions"],
        "max_output_tokens": asked["max_output_tokens"],
        "metadata": asked["metadata"] or {},
        "model": completion["model"],
        "output": list(_items(message_of(completion), mark, "incomplete" if reason else "completed")),
        "parallel_tool_calls": asked["parallel_tool_calls"] is not False,
        "previous_response_id": None,
        "reasoning": {"effort": reasoning.get("effort"), "summary": None},
        "store": False,
        "temperature": asked["temperature"],
        "text": asked["text"] or {"format": {"type": "text"}},
        "tool_choice": asked["tool_choice"] or "auto",
        "tools": asked["tools"] or [],
        "top_p": asked["top_p"],
        "truncation": "disabled",
        "usage": {
            "input_tokens": sent,
            "input_tokens_details": {"cached_tokens": cached, "cache_write_tokens": 0},
            "output_tokens": answered,
            "output_tokens_details": {"reasoning_tokens": thought},
            "total_tokens": sent + answered,
        },
        "user": asked["user"],
    }


def _created(completion: Completion) -> int:
    created = completion.get("created")
    return created if type(created) is int else 0


def _items(message: Json, mark: str, status: str) -> Iterator[Json]:
    parts: list[Json] = []
    if message.get("content"):
        parts.append({"type": "output_text", "text": message["content"], "annotations": [], "logprobs": []})
    if message.get("refusal"):
        parts.append({"type": "refusal", "refusal": message["refusal"]})
    calls = message.get("tool_calls") or ()
    if parts or not calls:
        head = {"type": "message", "id": f"msg_{mark}", "role": "assistant", "status": status}
        yield {**head, "content": parts or [{"type": "output_text", "text": "", "annotations": [], "logprobs": []}]}
    for index, call in enumerate(calls):
        if call.get("type") == "custom":
            said = call["custom"]
            head = {"type": "custom_tool_call", "id": f"ctc_{mark}_{index}", "call_id": call["id"]}
            yield {**head, "name": said["name"], "input": said["input"]}
        else:
            said = call["function"]
            head = {"type": "function_call", "id": f"fc_{mark}_{index}", "call_id": call["id"]}
            yield {**head, "name": said["name"], "arguments": said["arguments"], "status": status}


def event_list(response: Json) -> list[Json]:
    """The events of a stream that comes to `response`, each as {event, data}, numbered from 0."""
    begun = {**response, "status": "in_progress", "output": [], "usage": None, "incomplete_details": None}
    events: list[Json] = [
        {"type": "response.created", "response": begun},
        {"type": "response.in_progress", "response": begun},
    ]
    for index, item in enumerate(response["output"]):
        events += _item_events(item, index)
    events.append({"type": f"response.{response['status']}", "response": response})
    return [
        {"event": event["type"], "data": {**event, "sequence_number": number}} for number, event in enumerate(events)
    ]


def _item_events(item: Json, index: int) -> Iterator[Json]:
    where = {"output_index": index}
    yield {"type": "response.output_item.added", **where, "item": _empty(item)}
    where["item_id"] = item["id"]
    if item["type"] == "message":
        for number, part in enumerate(item["content"]):
            yield from _part_events(part, {**where, "content_index": number})
    else:
        field, name = _ARGUMENTS[item["type"]]
        yield {"type": f"response.{name}.delta", **where, "delta": item[field]}
        named = {"name": item["name"]} if item["type"] == "function_call" else {}
        yield {"type": f"response.{name}.done", **where, **named, field: item[field]}
    yield {"type": "response.output_item.done", "output_index": index, "item": item}


_ARGUMENTS = {
    "function_call": ("arguments", "function_call_arguments"),
    "custom_tool_call": ("input", "custom_tool_call_input"),
}


def _empty(item: Json) -> Json:
    if item["type"] == "message":
        return {**item, "status": "in_progress", "content": []}
    field, _ = _ARGUMENTS[item["type"]]
    return {**item, **({"status": "in_progress"} if "status" in item else {}), field: ""}


def _part_events(part: Json, where: Json) -> Iterator[Json]:
    text = part["type"] == "output_text"
    field, name = ("text", "output_text") if text else ("refusal", "refusal")
    more: Json = {"logprobs": []} if text else {}
    yield {"type": "response.content_part.added", **where, "part": {**part, field: ""}}
    if part[field]:
        yield {"type": f"response.{name}.delta", **where, "delta": part[field], **more}
    yield {"type": f"response.{name}.done", **where, field: part[field], **more}
    yield {"type": "response.content_part.done", **where, "part": part}
