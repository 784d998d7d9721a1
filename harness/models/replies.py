"""What an upstream sent back, as a completion that can be relied on: right types, one usage, no key in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from harness.models.client import tokens
from harness.models.outgoing import sent_tokens

Json = dict[str, Any]
_SHORTEST_KEY = 6
"""A shorter one would be found in ordinary words, and no server has it for a secret."""


class _Function(Struct):
    name: str
    arguments: str = ""


class _Custom(Struct):
    name: str
    input: str = ""


class _Call(Struct):
    id: str
    function: _Function | None = None
    custom: _Custom | None = None


class _Message(Struct):
    content: str | None = None
    refusal: str | None = None
    tool_calls: list[_Call] | None = None


class _Choice(Struct):
    message: _Message
    finish_reason: str | None = None


class _Completion(Struct):
    """The part of a completion that shapes, budgets and agents rely on."""

    choices: list[_Choice]


class _Embedding(Struct):
    embedding: list[float] | str


class _Embeddings(Struct):
    data: list[_Embedding]


class _Model(Struct):
    id: str


class Listed(Struct):
    """The list of models; only the names are passed on."""

    data: list[_Model]


class Counted(Struct, frozen=True):
    """A reply with what it took; `estimated`: the server did not say."""

    body: Json
    sent: int
    answered: int
    cached: int = 0
    estimated: bool = False


def decoded(data: bytes, key: str) -> Json:
    """A JSON object without the key, whatever way it was spelled in it. ValueError where it is none."""
    value = msgspec.json.decode(data)
    if not isinstance(value, dict):
        raise ValueError("no JSON object")
    clean: Json = without_key(value, key)
    return clean


def without_key(value: Any, key: str) -> Any:
    """`value` with the key masked: servers echo what they were sent, and agents hear what servers say."""
    if len(key) < _SHORTEST_KEY:
        return value
    spelled = msgspec.json.encode(key)[1:-1]
    data = msgspec.json.encode(value)
    return msgspec.json.decode(data.replace(spelled, b"[key]")) if spelled in data else value


def counted_completion(body: Json, request: Mapping[str, Any]) -> Counted:
    """A chat completion, with its usage put right. ValueError where it is none."""
    read = msgspec.convert(body, _Completion)
    if not read.choices:
        raise ValueError("it has no choices")
    choices = [_completed(choice) for choice in body["choices"]]
    usage = body.get("usage")
    sent, answered = (tokens(usage, name) for name in ("prompt_tokens", "completion_tokens"))
    estimated = min(sent, answered) < 0
    if estimated:
        sent, answered = sent_tokens(request), sent_tokens([choice["message"] for choice in choices])
    told = usage if isinstance(usage, dict) and not estimated else {}
    usage = {**told, "prompt_tokens": sent, "completion_tokens": answered, "total_tokens": sent + answered}
    head = {"id": "chatcmpl", "object": "chat.completion", "created": 0}
    cached = max(0, tokens(told.get("prompt_tokens_details"), "cached_tokens"))
    return Counted({**head, **body, "choices": choices, "usage": usage}, sent, answered, cached, estimated)


def _completed(choice: Json) -> Json:
    message = {"role": "assistant", "content": None, **choice["message"]}
    if message.get("tool_calls") is None:
        message.pop("tool_calls", None)
    else:
        message["tool_calls"] = [
            {"type": "custom" if "custom" in c else "function", **c} for c in message["tool_calls"]
        ]
    return {"index": 0, "finish_reason": "stop", **choice, "message": message}


def counted_embeddings(body: Json, request: Mapping[str, Any]) -> Counted:
    """A list of embeddings. ValueError where it is none."""
    msgspec.convert(body, _Embeddings)
    sent = tokens(body.get("usage"), "prompt_tokens")
    estimated = sent < 0
    sent = sent_tokens(request.get("input")) if estimated else sent
    return Counted({**body, "usage": {"prompt_tokens": sent, "total_tokens": sent}}, sent, 0, 0, estimated)


def joined(chunks: list[Json]) -> Json:
    """The completion that a stream comes to. ValueError where its chunks are none."""
    from openai.lib.streaming.chat import ChatCompletionStreamState
    from openai.types.chat import ChatCompletionChunk

    state = ChatCompletionStreamState()
    usage = None
    for chunk in chunks:
        usage = chunk.get("usage") or usage
        if chunk.get("choices"):
            head = {"id": "chatcmpl", "object": "chat.completion.chunk", "created": 0, "model": ""}
            state.handle_chunk(ChatCompletionChunk.model_validate({**head, **chunk}))
    whole: Json = state.current_completion_snapshot.to_dict(mode="json", warnings=False)
    for choice in whole["choices"]:
        choice["message"].pop("parsed", None)
        for call in choice["message"].get("tool_calls") or ():
            call.pop("index", None)
            (call.get("function") or {}).pop("parsed_arguments", None)
    return {**whole, "object": "chat.completion", "usage": usage}
