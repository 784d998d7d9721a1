"""MCP servers for tests: one as a coroutine for the engine in memory, one as a program for a real container."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from harness.testing.engine import Inside, Script
from tests.support import line

Answer = Callable[[Inside, dict[str, Any]], Awaitable[None]]
"""What a server does when it is called: the whole request as it came."""


def rpc(**message: Any) -> bytes:
    return line(jsonrpc="2.0", **message)


def says(content: Any, **more: Any) -> Answer:
    """A call is answered with this text, or with `structuredContent`."""

    async def answer(inside: Inside, request: dict[str, Any]) -> None:
        if isinstance(content, str):
            result = {"content": [{"type": "text", "text": content}], **more}
        else:
            result = {"content": [], "structuredContent": content, **more}
        await inside.write(rpc(id=request["id"], result=result))

    return answer


def server(answer: Answer, tools: Sequence[str] = ("look",), version: Any = "2025-06-18") -> Script:
    """A well-behaved server, but for what `answer` does."""

    async def script(inside: Inside) -> int:
        while (raw := await inside.read_line()) is not None:
            request = json.loads(raw)
            match request.get("method"):
                case "initialize":
                    await inside.write(rpc(id=request["id"], result={"protocolVersion": version, "capabilities": {}}))
                case "tools/list":
                    listed = [{"name": name, "inputSchema": {"type": "object"}} for name in tools]
                    await inside.write(rpc(id=request["id"], result={"tools": listed}))
                case "tools/call":
                    await answer(inside, request)
        return 0

    return script


PROGRAM = """
import json, os, socket, sys, time

def say(**message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\\n")
    sys.stdout.flush()

def tried(what):
    try:
        what()
    except OSError as error:
        return type(error).__name__
    return "worked"

calls = 0
for raw in sys.stdin:
    request = json.loads(raw)
    method, ident = request.get("method"), request.get("id")
    if method == "initialize":
        say(id=ident, result={"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}})
    elif method == "tools/list":
        say(id=ident, result={"tools": [{"name": "act", "inputSchema": {"type": "object"}}]})
    elif method == "tools/call":
        calls += 1
        do = request["params"]["arguments"].get("do")
        if do == "die":
            print("the disk is full", file=sys.stderr)
            os._exit(3)
        if do == "hang":
            time.sleep(600)
        if do == "garbage":
            print("hello there", flush=True)
        if do == "flood":
            sys.stdout.write("x" * 64_000_000)
        if do == "bomb":
            print('{"jsonrpc": "2.0", "id": %d, "result": %s1%s}' % (ident, "[" * 5000, "]" * 5000), flush=True)
        if do == "memory":
            held = bytearray(2_000_000_000)
        told = {
            "calls": calls,
            "env": {k: v for k, v in os.environ.items() if k.isupper()},
            "user": os.getuid(),
            "network": tried(lambda: socket.create_connection(("10.0.0.1", 80), 2)),
            "root": tried(lambda: open("/x", "w")),
        }
        say(id=ident, result={"content": [{"type": "text", "text": "see"}], "structuredContent": told})
"""
"""A server with one tool, `act`, that tells of its box, or misbehaves as it is asked to by `do`."""
