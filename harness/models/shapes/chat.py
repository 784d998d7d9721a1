"""Chat completions: passed on as they are; without `api` in the protocol's first form, with it as whole events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from harness.models.shapes.shape import Completion, Json, openai_error

_ONLY_IN_COMPLETIONS = ("choices", "usage", "object")


class PlainChat:
    """A body without `api`: a streamed delta is a choice's delta, the last one holds its `finish_reason`."""

    chunked = True

    def __init__(self, request: Mapping[str, Any]) -> None:
        self.body = {name: value for name, value in request.items() if name != "stream"}

    def response(self, completion: Completion) -> Any:
        return completion

    def deltas(self, completion: Completion, chunks: Sequence[Json]) -> list[Any]:
        choice = completion["choices"][0]
        said = [piece for chunk in chunks for piece in _pieces(chunk)] or [choice["message"]]
        return [*said, {"finish_reason": choice.get("finish_reason")}]

    def error(self, status: int, message: str) -> Any:
        return None


class Chat(PlainChat):
    """A body with `api: chat`: a streamed delta is a whole event, as a server would send it."""

    def __init__(self, request: Mapping[str, Any]) -> None:
        super().__init__(request)
        options = request.get("stream_options")
        self._counts = isinstance(options, Mapping) and options.get("include_usage") is True

    def deltas(self, completion: Completion, chunks: Sequence[Json]) -> list[Any]:
        events = list(chunks) or list(_chunks(completion))
        if not self._counts:  # the broker asks for usage; the agent did not
            events = [chunk for chunk in events if chunk.get("choices")]
        return [{"event": None, "data": chunk} for chunk in events]

    def error(self, status: int, message: str) -> Any:
        return openai_error(status, message)


def _pieces(chunk: Json) -> Iterator[Json]:
    for choice in chunk.get("choices") or ():
        if choice.get("index", 0) == 0 and choice.get("delta"):
            yield choice["delta"]


def _chunks(completion: Completion) -> Iterator[Json]:
    """A completion as if it had been streamed: what each choice says, how it ends, what it took."""
    head = {name: value for name, value in completion.items() if name not in _ONLY_IN_COMPLETIONS}
    head["object"] = "chat.completion.chunk"
    for index, choice in enumerate(completion["choices"]):
        delta = dict(choice["message"])
        if delta.get("tool_calls"):
            delta["tool_calls"] = [{"index": i, **call} for i, call in enumerate(delta["tool_calls"])]
        yield {**head, "choices": [{"index": index, "delta": delta, "finish_reason": None}]}
        end = choice.get("finish_reason")
        yield {**head, "choices": [{"index": index, "delta": {}, "finish_reason": end}]}
    yield {**head, "choices": [], "usage": completion.get("usage")}
