"""A scripted OpenAI-compatible server on a local port, for tests of judges and models: real HTTP, no network.

with OpenAIServer(fails(500), says('{"met": true}')) as server:   # one step per request, the last one stays
    ... server.url ... server.requests

with OpenAIServer(answer=lambda request: {"verdicts": []}) as server:   # text, a JSON value, or a step
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any


@dataclass(frozen=True)
class Request:
    """What came: `body` is the JSON of it, `headers` have lower-case names."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]


@dataclass(frozen=True)
class Step:
    """One response. `pause`: seconds between bytes sent one at a time; `hang`: headers never come."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    pause: float = 0.0
    hang: bool = False
    repeat: int = 1


Scripted = Step | Callable[[Request], Step]


def says(text: str | None, tokens: tuple[int, int] | None = (12, 7), finish: str = "stop", **message: Any) -> Step:
    """A chat completion with this content; `tokens`: (prompt, completion), None: no usage."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text, **message}, "finish_reason": finish}
    body: dict[str, Any] = {"id": "chatcmpl-1", "object": "chat.completion", "created": 0, "model": "m"}
    body["choices"] = [choice]
    if tokens is not None:
        body["usage"] = {"prompt_tokens": tokens[0], "completion_tokens": tokens[1], "total_tokens": sum(tokens)}
    return raw(json.dumps(body))


def streams(*deltas: dict[str, Any], tokens: tuple[int, int] | None = (12, 7), finish: str = "stop") -> Step:
    """A chat completion as server-sent events, one per delta; `tokens` None: no usage, though it was asked for."""
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 0, "model": "m"}
    chunks = [{**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    chunks.append({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    if tokens is not None:
        usage = {"prompt_tokens": tokens[0], "completion_tokens": tokens[1], "total_tokens": sum(tokens)}
        chunks.append({**head, "choices": [], "usage": usage})
    lines = [*map(json.dumps, chunks), "[DONE]"]
    return raw("".join(f"data: {line}\n\n" for line in lines), Content_Type="text/event-stream")


def embeds(*vectors: list[float], tokens: int = 3) -> Step:
    data = [{"object": "embedding", "index": index, "embedding": vector} for index, vector in enumerate(vectors)]
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return raw(json.dumps({"object": "list", "model": "m", "data": data, "usage": usage}))


def lists(*names: str) -> Step:
    return raw(json.dumps({"object": "list", "data": [{"id": name, "object": "model"} for name in names]}))


def refuses(why: str = "I cannot help with that") -> Step:
    return says(None, refusal=why)


def cut(text: str) -> Step:
    """An answer that ran into its limit."""
    return says(text, finish="length")


def filtered() -> Step:
    return says("", finish="content_filter")


def fails(status: int, message: str = "no", headers: Mapping[str, str] | None = None, **error: Any) -> Step:
    """An error as OpenAI words it; `error` adds fields such as param and code."""
    body = {"error": {"message": message, "type": "error", **error}}
    return Step(status, json.dumps(body).encode(), headers or {})


def limited(seconds: float) -> Step:
    return fails(429, "slow down", {"Retry-After": f"{seconds:g}"})


def rejects(parameter: str) -> Step:
    return fails(400, f"Unsupported parameter: '{parameter}' is not supported with this model.", param=parameter)


def raw(body: str | bytes, status: int = 200, **headers: str) -> Step:
    data = body.encode() if isinstance(body, str) else body
    return Step(status, data, {name.replace("_", "-"): value for name, value in headers.items()})


def hangs() -> Step:
    return Step(hang=True)


def drips(body: bytes, pause: float) -> Step:
    return Step(body=body, pause=pause)


def floods(mebibytes: int, status: int = 200) -> Step:
    """A reply of this size, of a length not told beforehand."""
    return Step(status, b" " * 2**20, repeat=mebibytes)


def redirects(url: str) -> Step:
    return Step(307, b"", {"Location": url})


def echoes(status: int) -> Callable[[Request], Step]:
    """An error whose message holds the request's headers, as careless servers do."""
    return lambda request: fails(status, f"bad request with headers {dict(request.headers)}")


class OpenAIServer:
    """A context manager. `steps` answer one request each and the last one all further ones; or `answer` does."""

    def __init__(
        self, *steps: Scripted, answer: Callable[[dict[str, Any]], str | dict[str, Any] | Step] | None = None
    ) -> None:
        assert bool(steps) != bool(answer), "give steps, or a function that answers"
        self._steps = list(steps)
        self._answer = answer
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self.requests: list[Request] = []
        self.at_once = 0
        """The most requests that were being answered at the same time."""
        self._now = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    @property
    def bodies(self) -> list[dict[str, Any]]:
        return [request.body for request in self.requests]

    def __enter__(self) -> OpenAIServer:
        owner = self

        class Handler(_Handler):
            scripted = owner

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)

    def step(self, request: Request) -> Step:
        """What to send; the request is on record from now."""
        with self._lock:
            self.requests.append(request)
            scripted = None
            if self._steps:
                scripted = self._steps[0] if len(self._steps) == 1 else self._steps.pop(0)
        if scripted is not None:
            return scripted(request) if callable(scripted) else scripted
        assert self._answer is not None
        answered = self._answer(request.body)
        if isinstance(answered, Step):
            return answered
        return says(answered if isinstance(answered, str) else json.dumps(answered))

    def entered(self, by: int) -> None:
        with self._lock:
            self._now += by
            self.at_once = max(self.at_once, self._now)

    def wait(self, seconds: float | None) -> bool:
        """Whether the server closes meanwhile."""
        return self._closing.wait(seconds)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    scripted: OpenAIServer

    def do_POST(self) -> None:
        server = self.scripted
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        server.entered(1)
        try:
            step = server.step(Request(self.command, self.path, headers, json.loads(body) if body else {}))
            if step.hang:
                server.wait(None)
                self.close_connection = True
                return
            self._send(step)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True  # the other side had enough
        finally:
            server.entered(-1)

    do_GET = do_POST  # noqa: N815  (the name http.server looks for)

    def _send(self, step: Step) -> None:
        self.send_response(step.status)
        for name, value in {"Content-Type": "application/json", **step.headers}.items():
            self.send_header(name, value)
        if step.repeat == 1:
            self.send_header("Content-Length", str(len(step.body)))
        else:
            self.send_header("Connection", "close")
            self.close_connection = True
        self.end_headers()
        if step.pause:
            for byte in step.body:
                self.wfile.write(bytes([byte]))
                if self.scripted.wait(step.pause):
                    return
        else:
            for _ in range(step.repeat):
                self.wfile.write(step.body)

    def log_message(self, format: str, *args: Any) -> None:
        """Silent: `requests` is the record."""
