"""What a shape is to the broker, and small readers that the shapes share."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import msgspec

from harness.domain.canonical import canonical

Json = dict[str, Any]
Completion = Mapping[str, Any]


class Shape(Protocol):
    """One call in the words of its API.

    `body` is what a source is asked: a chat-completions body, or with the key `api` one of embeddings or of models.
    `chunked`: a source's own chunks can be passed on.
    """

    body: Json
    chunked: bool

    def response(self, completion: Completion) -> Any:
        """The answer in the API's own shape. ValueError where it cannot be said in it."""
        ...

    def deltas(self, completion: Completion, chunks: Sequence[Json]) -> list[Any]:
        """The same, streamed. `chunks`: as the source sent them; none where it did not stream."""
        ...

    def error(self, status: int, message: str) -> Any:
        """The body of an error; None where the API of the call has none."""
        ...


def message_of(completion: Completion) -> Json:
    """The first choice's message; every source has made sure that there is one."""
    message: Json = completion["choices"][0]["message"]
    return message


def finish_of(completion: Completion) -> str:
    return str(completion["choices"][0].get("finish_reason") or "stop")


def stem(completion: Completion) -> str:
    """What ids made for this answer begin with: the same for the same completion, so that a replay is too."""
    return hashlib.sha256(canonical(completion).encode("utf-8", "surrogatepass")).hexdigest()[:24]


def counts(completion: Completion) -> tuple[int, int, int, int]:
    """Tokens: in, out, of those read from a cache, of those spent on reasoning."""
    usage = completion.get("usage") or {}
    cached = _count(usage.get("prompt_tokens_details"), "cached_tokens")
    thought = _count(usage.get("completion_tokens_details"), "reasoning_tokens")
    return _count(usage, "prompt_tokens"), _count(usage, "completion_tokens"), cached, thought


def _count(value: Any, name: str) -> int:
    count = value.get(name) if isinstance(value, Mapping) else None
    return count if type(count) is int and count >= 0 else 0


def openai_error(status: int, message: str) -> Json:
    """An error as OpenAI's APIs word it."""
    kinds = {401: "authentication_error", 403: "permission_error", 404: "not_found_error", 429: "rate_limit_error"}
    kind = kinds.get(status, "invalid_request_error" if status < 500 else "server_error")
    return {"error": {"message": message, "type": kind, "param": None, "code": None}}


def compact(value: Any) -> str:
    """JSON in one line, as models write arguments."""
    return msgspec.json.encode(value).decode()


def given(**fields: Any) -> Json:
    """The fields that are there: None stands for one that was not sent."""
    return {name: value for name, value in fields.items() if value is not None}


def image_part(url: str, detail: str | None = None) -> Json:
    """An image as chat has it. ValueError for an address: to fetch it is network access the agent does not have."""
    if not url.startswith("data:"):
        raise ValueError("images are taken as data: URLs only: an agent has no network, and an upstream none for it")
    return {"type": "image_url", "image_url": given(url=url, detail=detail)}


def content_of(parts: list[Json]) -> str | list[Json]:
    """One text as plain text, all else as parts."""
    if all(part["type"] == "text" for part in parts):
        return "\n".join(part["text"] for part in parts) if len(parts) != 1 else str(parts[0]["text"])
    return parts


class Turns:
    """Chat messages in the making: what an assistant says and calls in one turn is one message."""

    def __init__(self) -> None:
        self.messages: list[Json] = []

    def say(self, role: str, parts: list[Json]) -> None:
        self.messages.append({"role": role, "content": content_of(parts)})

    def assistant(self, text: str | None, calls: list[Json]) -> None:
        last = self.messages[-1] if self.messages else {}
        if calls and last.get("role") == "assistant":
            last.setdefault("tool_calls", []).extend(calls)
        elif not calls and last.get("role") == "assistant" and last["content"] is None:
            last["content"] = text
        else:
            self.messages.append({"role": "assistant", "content": text, **({"tool_calls": calls} if calls else {})})

    def result(self, call_id: str, text: str) -> None:
        self.messages.append({"role": "tool", "tool_call_id": call_id, "content": text})


def function_call(call_id: str, name: str, arguments: str) -> Json:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
