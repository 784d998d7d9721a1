"""Golden dialogues answer as the broker does; `python -m tests.unit.models.test_golden_replies` writes them."""

from __future__ import annotations

from typing import Any

import anyio
import msgspec

from harness.models.broker import Broker
from harness.models.shapes.listing import model_list
from harness.ports import ModelAnswer
from protocol import dialogue

ASKED: dict[str, dict[str, Any]] = {
    "": {"messages": []},
    "chat": {"messages": []},
    "responses": {"input": "Hello"},
    "messages": {"max_tokens": 100, "messages": [{"role": "user", "content": "Hello"}]},
    "embeddings": {"input": "Hello"},
    "models": {},
}
USAGE = {"prompt_tokens": 10, "completion_tokens": 7, "total_tokens": 17}
MESSAGE = {"role": "assistant", "content": "Returns are free within 60 days."}
ANSWERS: dict[str, dict[str, Any]] = {
    "embeddings": {
        "object": "list",
        "data": [{"object": "embedding", "index": 0, "embedding": [0.6, 0.8]}],
        "model": "golden",
        "usage": {"prompt_tokens": 1, "total_tokens": 1},
    },
    "models": model_list(["golden"]),
    "chat": {
        "id": "golden",
        "object": "chat.completion",
        "created": 0,
        "model": "golden",
        "choices": [{"index": 0, "message": MESSAGE, "finish_reason": "stop"}],
        "usage": USAGE,
    },
}


class Golden:
    async def complete(self, request: Any) -> ModelAnswer:
        return ModelAnswer(ANSWERS[request.get("api", "chat")], 10, 7, 0.0)


def generated() -> dict[str, Any]:
    async def ask() -> dict[str, Any]:
        found = {}
        for api, body in ASKED.items():
            request = {"api": api, **body} if api else body
            answer = await Broker(Golden()).complete(request, True, None)
            found[api] = {"response": answer.response, "deltas": list(answer.chunks)}
        return found

    return anyio.run(ask)


def test_the_stored_replies_are_not_stale() -> None:
    assert msgspec.to_builtins(dialogue.model_replies()) == generated()


if __name__ == "__main__":
    dialogue._REPLIES.write_bytes(msgspec.json.format(msgspec.json.encode(generated()), indent=1) + b"\n")
