"""Anthropic Messages, out: a chat completion as a message, whole or as the events of a stream."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from harness.models.shapes.shape import Completion, Json, compact, counts, finish_of, message_of, stem

_STOPPED = {
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "length": "max_tokens",
    "content_filter": "refusal",
}
"""A chat completion does not say which stop sequence ended it, or whether one did: that is `end_turn` too."""


def message_body(completion: Completion) -> Json:
    """The message. ValueError where the model called a tool with arguments that are no JSON object."""
    said = message_of(completion)
    sent, answered, cached, _ = counts(completion)
    reason = "refusal" if said.get("refusal") else _STOPPED.get(finish_of(completion), "end_turn")
    return {
        "id": f"msg_{stem(completion)}",
        "type": "message",
        "role": "assistant",
        "model": completion["model"],
        "content": list(_blocks(said)),
        "stop_reason": reason,
        "stop_sequence": None,
        "stop_details": None,
        "usage": {
            "input_tokens": sent - cached if cached <= sent else sent,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": cached if cached <= sent else 0,
            "output_tokens": answered,
        },
    }


def _blocks(said: Json) -> Iterator[Json]:
    for text in (said.get("content"), said.get("refusal")):
        if text:
            yield {"type": "text", "text": text}
    for call in said.get("tool_calls") or ():
        function = call.get("function") or {}
        yield {"type": "tool_use", "id": call["id"], "name": function.get("name"), "input": _input(function)}


def _input(function: Json) -> Any:
    try:
        found = msgspec.json.decode(function.get("arguments") or "{}")
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise ValueError(f"the model called {str(function.get('name'))[:80]} with arguments that are no JSON object")
    return found


def event_list(message: Json) -> list[Json]:
    """The events of a stream that comes to `message`, each as {event, data}."""
    usage = message["usage"]
    begun = {**message, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 0}}
    events: list[Json] = [{"type": "message_start", "message": begun}]
    for index, block in enumerate(message["content"]):
        events += _block_events(block, index)
    delta = {"stop_reason": message["stop_reason"], "stop_sequence": None, "stop_details": None}
    events.append({"type": "message_delta", "delta": delta, "usage": {"output_tokens": usage["output_tokens"]}})
    events.append({"type": "message_stop"})
    return [{"event": event["type"], "data": event} for event in events]


def _block_events(block: Json, index: int) -> Iterator[Json]:
    if block["type"] == "text":
        empty, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
    else:
        empty, delta = {**block, "input": {}}, {"type": "input_json_delta", "partial_json": compact(block["input"])}
    yield {"type": "content_block_start", "index": index, "content_block": empty}
    yield {"type": "content_block_delta", "index": index, "delta": delta}
    yield {"type": "content_block_stop", "index": index}
