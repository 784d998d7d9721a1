"""Embeddings and lists of models: passed on, once it is clear that they are what they claim to be."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import msgspec
from msgspec import Struct

from harness.models.shapes.shape import Completion, Json, given, openai_error


class EmbeddingsBody(Struct, frozen=True, forbid_unknown_fields=True):
    """A request of OpenAI's embeddings; `stream` means nothing in it, `user` goes nowhere."""

    input: str | list[str | int | list[int]]
    model: str | None = None
    dimensions: int | None = None
    encoding_format: Literal["float", "base64"] | None = None
    user: str | None = None
    stream: bool | None = None


class ModelsBody(Struct, frozen=True, forbid_unknown_fields=True):
    """A request for the list of models, or with `model` for that one."""

    model: str | None = None
    stream: bool | None = None


class _Whole:
    """Never streamed: one delta holds the whole answer."""

    chunked = False

    def response(self, completion: Completion) -> Any:
        return completion

    def deltas(self, completion: Completion, chunks: Sequence[Json]) -> list[Any]:
        return [{"event": None, "data": completion}]

    def error(self, status: int, message: str) -> Any:
        return openai_error(status, message)


class Embeddings(_Whole):
    """A call of embeddings."""

    def __init__(self, request: Mapping[str, Any]) -> None:
        read = msgspec.convert(request, EmbeddingsBody)
        if isinstance(read.input, list) and len({type(item) for item in read.input}) != 1:
            raise ValueError("`input` must be a text, tokens, or a list of one of them")
        self.body = given(
            api="embeddings",
            model=read.model,
            input=read.input,
            dimensions=read.dimensions,
            encoding_format=read.encoding_format,
        )


class Models(_Whole):
    """A call for the list of models."""

    def __init__(self, request: Mapping[str, Any]) -> None:
        read = msgspec.convert(request, ModelsBody)
        self.body = given(api="models", model=read.model)


def model_list(names: Iterable[str]) -> Json:
    """A list of models that OpenAI's and Anthropic's clients both read."""
    data = [one_model(name) for name in names]
    ends = {"first_id": data[0]["id"], "last_id": data[-1]["id"]} if data else {"first_id": None, "last_id": None}
    return {"object": "list", "data": data, "has_more": False, **ends}


def one_model(name: str) -> Json:
    """One model, with what both clients look for."""
    both = {"id": name, "object": "model", "type": "model", "display_name": name}
    return {**both, "created": 0, "created_at": "1970-01-01T00:00:00Z", "owned_by": "organization"}
