"""The real OpenAI and Anthropic clients, talking to a broker: what a gateway does inside a container, without one."""

from __future__ import annotations

import json
from typing import Any

import anyio
import httpx2
from anthropic import Anthropic
from openai import OpenAI

from harness.models.broker import Broker
from harness.models.scripted import ScriptedModel
from harness.ports import ModelAnswer, ModelBroker

APIS = {"chat/completions": "chat", "responses": "responses", "messages": "messages", "embeddings": "embeddings"}


class Gateway(httpx2.BaseTransport):
    """Each HTTP request as a `model_call`, each answer as HTTP. Keeps both."""

    def __init__(self, broker: ModelBroker) -> None:
        self._broker = broker
        self.asked: list[dict[str, Any]] = []
        self.answers: list[ModelAnswer] = []

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        path = request.url.path.removeprefix("/v1/")
        body = json.loads(request.read() or b"{}")
        if path.startswith("models"):
            name = path.removeprefix("models").strip("/")
            body = {"model": name} if name else {}
        call = {"api": APIS.get(path, "models"), **body}
        self.asked.append(call)
        stream = body.get("stream") is True

        async def ask() -> ModelAnswer:
            return await self._broker.complete(call, stream, None)

        answer = anyio.run(ask)
        self.answers.append(answer)
        if answer.error is not None:
            return httpx2.Response(answer.status or 500, json=answer.response)
        if not stream:
            return httpx2.Response(200, json=answer.response)
        text = "".join(sse(delta) for delta in answer.chunks) + ("data: [DONE]\n\n" if path.startswith("chat") else "")
        return httpx2.Response(200, headers={"Content-Type": "text/event-stream"}, content=text.encode())


def sse(delta: dict[str, Any]) -> str:
    head = f"event: {delta['event']}\n" if delta["event"] else ""
    return f"{head}data: {json.dumps(delta['data'])}\n\n"


def openai_client(gateway: Gateway) -> OpenAI:
    http = httpx2.Client(transport=gateway)
    return OpenAI(api_key="placeholder", base_url="http://gateway/v1", http_client=http, max_retries=0)


def anthropic_client(gateway: Gateway) -> Anthropic:
    http = httpx2.Client(transport=gateway)
    return Anthropic(api_key="placeholder", base_url="http://gateway", http_client=http, max_retries=0)


class Saying:
    """A source that answers one completion's message, and keeps what it was asked."""

    def __init__(self, finish: str = "stop", **message: Any) -> None:
        self._choice = {
            "index": 0,
            "finish_reason": finish,
            "message": {"role": "assistant", "content": None, **message},
        }
        self.requests: list[dict[str, Any]] = []

    async def complete(self, request: Any) -> ModelAnswer:
        self.requests.append(dict(request))
        usage = {"prompt_tokens": 11, "completion_tokens": 5, "total_tokens": 16}
        usage["prompt_tokens_details"] = {"cached_tokens": 3}  # type: ignore[assignment]
        body = {"id": "chatcmpl-9", "object": "chat.completion", "created": 7, "model": "used", "usage": usage}
        return ModelAnswer({**body, "choices": [self._choice]}, 11, 5, 0.25)


def saying(finish: str = "stop", **message: Any) -> tuple[Gateway, Saying]:
    source = Saying(finish, **message)
    return Gateway(Broker(source)), source


def scripted(*turns: Any) -> Gateway:
    return Gateway(Broker(ScriptedModel(turns, lambda value: value)))


def tool_call(ident: str, name: str, arguments: str) -> dict[str, Any]:
    return {"id": ident, "type": "function", "function": {"name": name, "arguments": arguments}}


CALLS = [tool_call("c1", "look", '{"q":"a"}'), tool_call("c2", "look", '{"q":"é\\n"}')]
