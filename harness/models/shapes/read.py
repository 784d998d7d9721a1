"""From a `model_call`'s request to the shape it is in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from harness.models.shapes.chat import Chat, PlainChat
from harness.models.shapes.listing import Embeddings, Models
from harness.models.shapes.messages import Messages
from harness.models.shapes.responses import Responses
from harness.models.shapes.shape import Shape, openai_error

_SHAPES: dict[str, Callable[[Mapping[str, Any]], Shape]] = {
    "chat": Chat,
    "responses": Responses,
    "messages": Messages,
    "embeddings": Embeddings,
    "models": Models,
}


def read(request: Mapping[str, Any]) -> Shape:
    """The shape of a request. ValueError, in words for whoever wrote the agent, where it cannot be taken."""
    if "api" not in request:
        return PlainChat(request)
    api = request["api"]
    shape = _SHAPES.get(api) if isinstance(api, str) else None
    if shape is None:
        raise ValueError(f"`api` is one of {', '.join(_SHAPES)}; came {str(api)[:40]!r}")
    try:
        return shape({name: value for name, value in request.items() if name != "api"})
    except ValueError as error:
        raise ValueError(f"this {api} request cannot be taken: {error}") from error


def unread_error(request: Mapping[str, Any], status: int, message: str) -> Any:
    """The error body for a request that has no shape."""
    api = request.get("api")
    if api == "messages":
        return Messages.error_body(status, message)
    return None if api is None else openai_error(status, message)
