"""A model whose turns the pack wrote down, answering as an OpenAI chat completion."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from harness.domain.pack import ModelTurn
from harness.domain.patterns import found
from harness.errors import PackFault
from harness.models.hashed import embedded
from harness.models.shapes.listing import model_list, one_model
from harness.ports import ModelAnswer

_CHARS_PER_TOKEN = 4
_STATUS = {
    "bad_request": 400,
    "invalid_request": 400,
    "unauthorized": 401,
    "forbidden": 403,
    "not_found": 404,
    "context_length_exceeded": 400,
    "rate_limit": 429,
    "rate_limited": 429,
    "rate_limit_exceeded": 429,
    "unavailable": 503,
    "overloaded": 503,
    "timeout": 504,
}
"""The HTTP status that an agent's client is told for a scripted error of that code."""


class ScriptedModel:
    """The model of one trial (a `harness.ports.ModelProvider`).

    The first turn that is not used up and whose `when` is found in the last message answers; a turn without
    `when` fits always. Same requests in the same order give the same bytes. `substitute` puts this trial's
    canaries into a JSON value.
    """

    def __init__(self, turns: Sequence[ModelTurn], substitute: Callable[[Any], Any]) -> None:
        self._turns = turns
        self._used = [0] * len(turns)
        self._calls = 0
        self._substitute = substitute

    async def complete(self, request: Mapping[str, Any]) -> ModelAnswer:
        """The next turn. PackFault where none is left that fits.

        A scripted error costs nothing unless it says so; an answer without `cost_usd` has no known price. Embeddings
        and lists of models take no turn.
        """
        api = request.get("api")
        if api == "embeddings":
            return embedded(request)
        if api == "models":
            name = request.get("model")
            return ModelAnswer(model_list(["default"]) if name is None else one_model(name), 0, 0, 0.0)
        turn = self._next(_last_message(request))
        self._calls += 1
        if turn.error is not None:
            said = self._substitute(turn.error.message)
            error = f"{turn.error.code}: {said}" if said else turn.error.code
            used = turn.input_tokens or 0, turn.output_tokens or 0, turn.cost_usd or 0.0
            return ModelAnswer(None, *used, error, _status(turn.error.code))
        message = self._message(turn)
        sent = turn.input_tokens if turn.input_tokens is not None else _tokens(request)
        spoken = [message["content"] or "", *(call["function"] for call in message.get("tool_calls", ()))]
        answered = turn.output_tokens if turn.output_tokens is not None else sum(map(_tokens, spoken))
        body = {
            "id": f"chatcmpl-{self._calls}",
            "object": "chat.completion",
            "created": 0,
            "model": _model(request),
            "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls" if turn.tool_calls else "stop"}],
            "usage": {"prompt_tokens": sent, "completion_tokens": answered, "total_tokens": sent + answered},
        }
        return ModelAnswer(body, sent, answered, turn.cost_usd)

    def _next(self, heard: str) -> ModelTurn:
        for index, turn in enumerate(self._turns):
            if (turn.times is None or self._used[index] < turn.times) and _fits(turn, heard):
                self._used[index] += 1
                return turn
        raise PackFault(
            f"no scripted model turn is left for model call {self._calls + 1} ({len(self._turns)} are written)",
            "add a turn to replies.model, or `times: null` to the last one",
        )

    def _message(self, turn: ModelTurn) -> dict[str, Any]:
        content = None if turn.content is None else self._substitute(turn.content)
        if not turn.tool_calls:
            return {"role": "assistant", "content": content or ""}
        calls = [
            {
                "id": f"call_{self._calls}_{index}",
                "type": "function",
                "function": {"name": call.name, "arguments": json.dumps(self._substitute(call.arguments))},
            }
            for index, call in enumerate(turn.tool_calls)
        ]
        return {"role": "assistant", "content": content, "tool_calls": calls}


def _status(code: str) -> int:
    """A code that is an HTTP status is that one; of words, the usual ones."""
    if code.isdecimal() and 400 <= int(code) <= 599:
        return int(code)
    return _STATUS.get(code.lower(), 500)


def _fits(turn: ModelTurn, heard: str) -> bool:
    try:
        return turn.when is None or found(turn.when, heard)
    except ValueError as err:
        raise PackFault(f"a scripted model turn cannot be used: {err}", "correct its `when`") from err


def _last_message(request: Mapping[str, Any]) -> str:
    """Text of the last message, whatever the agent sent in its place: a string, or a list of text parts."""
    messages = request.get("messages")
    last = messages[-1] if isinstance(messages, list) and messages else None
    content = last.get("content") if isinstance(last, dict) else None
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        return "\n".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else ""


def _model(request: Mapping[str, Any]) -> str:
    model = request.get("model")
    return model[:200] if isinstance(model, str) else "scripted"


def _tokens(value: Any) -> int:
    """One per four characters, rounded up: of a string as it is, of anything else as compact JSON."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return -(-len(text) // _CHARS_PER_TOKEN)
