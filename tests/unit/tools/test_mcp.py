"""An MCP server as the harness calls it: what it answers, and that whatever else it does is the pack's fault."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import ContainerLost, PackFault, sole
from harness.ports import ContainerSpec, ToolAnswer
from harness.runs.servers import Served, serving
from harness.testing.engine import Inside, MemoryEngine, Script, exited
from harness.tools.mcp import MAX_MESSAGES, Caps, McpServer
from harness.tools.mcp_messages import MAX_DEPTH, Incoming, answer_of, read_line
from tests.mcp_server import Answer, rpc, says, server
from tests.support import spec

CAPS = Caps(line=100_000, stdout=1_000_000, stderr=10_000, start_ms=400, answer_ms=300)


async def box(engine: MemoryEngine) -> ContainerSpec:
    image = await engine.inspect("server")
    plain = spec()
    return ContainerSpec(image, {}, {}, plain.limits, plain.policy, "/tmp", (), ("/tmp",))


@asynccontextmanager
async def up(script: Script, tools: tuple[str, ...] = ("look",), caps: Caps = CAPS) -> AsyncIterator[McpServer]:
    try:
        async with anyio.create_task_group() as tasks:
            engine = MemoryEngine(tasks, {"server": script})
            one = McpServer("files", frozenset(tools), caps)
            try:
                async with serving(engine, [Served("files", await box(engine), one)]):
                    yield one
            finally:
                assert engine.containers == {}
            tasks.cancel_scope.cancel()
    except BaseExceptionGroup as group:  # of the engine's own tasks
        raise sole(group) from None


async def called(answer: Answer) -> ToolAnswer:
    async with up(server(answer)) as one:
        return await one.call("look", {"q": "x"})


def raw(*lines: bytes, stream: str = "stdout") -> Answer:
    async def answer(inside: Inside, request: dict[str, Any]) -> None:
        for one in lines:
            await inside.write(one, stream)  # type: ignore[arg-type]

    return answer


def reply(**message: Any) -> Answer:
    async def answer(inside: Inside, request: dict[str, Any]) -> None:
        await inside.write(rpc(id=request["id"], **message))

    return answer


async def faulty(script: Script, calls: int = 1) -> str:
    """The message of the PackFault that must come."""

    async def work() -> None:
        async with up(script) as one:
            for _ in range(calls):
                await one.call("look", {})

    with pytest.raises(PackFault) as caught:
        await work()
    return str(caught.value)


pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("answer", "wanted"),
    [
        (says("it is there"), ToolAnswer("ok", "it is there")),
        (says({"found": [1, None]}), ToolAnswer("ok", {"found": [1, None]})),
        (says("no such file", isError=True), ToolAnswer("error", "no such file", "no such file")),
        (says({"code": 5}, isError=True), ToolAnswer("error", {"code": 5}, "the tool failed")),
        (
            reply(error={"code": -32602, "message": "q must be a number"}),
            ToolAnswer("error", {"code": -32602, "message": "q must be a number"}, "q must be a number"),
        ),
        (
            reply(result={"content": [{"type": "image", "data": "aGk=", "mimeType": "image/png"}]}),
            ToolAnswer("ok", [{"type": "image", "data": "aGk=", "mimeType": "image/png"}]),
        ),
        (reply(result={}), ToolAnswer("ok", [])),
    ],
)
async def test_an_answer_is_what_the_tool_said(answer: Answer, wanted: ToolAnswer) -> None:
    assert await called(answer) == wanted


async def test_arguments_reach_it_as_they_are_and_calls_may_cross() -> None:
    waiting: list[dict[str, Any]] = []

    async def both(inside: Inside, request: dict[str, Any]) -> None:
        waiting.append(request)
        if len(waiting) == 2:
            for one in reversed(waiting):
                await says(one["params"]["arguments"])(inside, one)

    found: dict[str, Any] = {}

    async def ask(one: McpServer, word: str) -> None:
        found[word] = (await one.call("look", {"q": word, "deep": [{"x": 1.5}]})).content

    async with up(server(both)) as one, anyio.create_task_group() as tasks:
        for word in "ab":
            tasks.start_soon(ask, one, word)
    assert found == {word: {"q": word, "deep": [{"x": 1.5}]} for word in "ab"}


async def test_it_may_chat_and_ask_meanwhile() -> None:
    heard = []

    async def chatty(inside: Inside, request: dict[str, Any]) -> None:
        await inside.write(rpc(method="notifications/message", params={"level": "info"}))
        await inside.write(rpc(id="p", method="ping"))
        await inside.write(rpc(id="s", method="sampling/createMessage", params={}))
        heard.extend([json.loads(await inside.read_line() or b"") for _ in range(2)])
        await inside.write(b"some log\n", "stderr")
        await says("done")(inside, request)

    assert (await called(chatty)).content == "done"
    assert [one.get("result") for one in heard] == [{}, None]
    assert heard[1]["error"]["code"] == -32601


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (raw(b"hello there\n"), "no JSON-RPC message"),
        (raw(b"[]\n"), "no JSON-RPC message"),
        (raw(b"\n"), "no JSON-RPC message"),
        (raw(b'{"jsonrpc": "1.0", "id": 3, "result": {}}\n'), "no JSON-RPC 2.0"),
        (raw(b'{"jsonrpc": "2.0", "id": 3}\n'), "no JSON-RPC 2.0"),
        (raw(b'{"jsonrpc": "2.0", "id": 3, "id": 3, "result": {}}\n'), "a key twice"),
        (raw(b'{"jsonrpc": "2.0", "id": 3, "result": NaN}\n'), "NaN"),
        (raw(b'{"jsonrpc": "2.0", "id": 3, "result": 1e999}\n'), "without bound"),
        (raw(b'{"jsonrpc": "2.0", "id": 3, "result": "\\ud800"}\n'), "surrogates"),
        (raw(b'{"jsonrpc": "2.0", "id": 3, "result": "\xff"}\n'), "utf-8"),
        (raw(rpc(id=99, result={})), "what was not asked"),
        (raw(rpc(id="3", result={})), "what was not asked"),
        (raw(b"x" * 200_000), "a line of more than 100000 bytes"),
        (raw(*[b"x" * 50_000] * 3), "a line of more than 100000 bytes"),
        (raw(*[b'{"jsonrpc": "2.0", "method": "x", "params": "' + b"y" * 90_000 + b'"}\n'] * 12), "to stdout"),
        (raw(b"y" * 20_000, stream="stderr"), "to stderr"),
        (raw(rpc(method="x") * (MAX_MESSAGES + 1)), "lines"),
        (reply(result={"content": "text"}), "no result of a tool"),
        (reply(result=None), "no result of a tool"),
        (reply(error={"code": -32603, "message": "I broke"}), "error -32603: I broke"),
        (raw(), "gave no answer to look within 300 ms"),
    ],
)
async def test_whatever_else_it_says_is_the_packs_fault(answer: Answer, why: str) -> None:
    assert why in await faulty(server(answer))


@pytest.mark.parametrize("depth", [MAX_DEPTH + 2, 5000, 40_000])
async def test_a_result_nested_too_deep_is_refused(depth: int) -> None:
    bomb = b'{"jsonrpc": "2.0", "id": 3, "result": ' + b"[" * depth + b"]" * depth + b"}\n"
    assert "deep" in await faulty(server(raw(bomb)))


async def test_its_end_is_told_with_its_code_and_last_words_to_every_later_call() -> None:
    async def dying(inside: Inside) -> int:
        await inside.write(b"first\nthe disk is full\n", "stderr")
        return 3

    with pytest.raises(PackFault, match="exit code 3; last words: the disk is full"):
        async with up(dying):
            raise AssertionError("it cannot have been ready")


async def test_one_that_dies_between_calls_is_told_of_at_every_later_one() -> None:
    async def last(inside: Inside, request: dict[str, Any]) -> None:
        await says("x")(inside, request)
        raise anyio.ClosedResourceError

    async with up(server(last)) as one:
        assert (await one.call("look", {})).content == "x"
        for _ in range(3):
            with pytest.raises(PackFault, match="exit code 1"):
                await one.call("look", {})


async def test_one_killed_for_its_memory_is_the_packs_and_one_ended_from_outside_the_engines() -> None:
    def ends(**how: Any) -> Script:
        async def script(inside: Inside) -> Any:
            await inside.read_line()
            return msgspec.structs.replace(exited(137), **how)

        return script

    assert "memory limit" in await faulty(ends(oom_killed=True))
    assert "could not be started: no such file" in await faulty(ends(not_started="no such file"))
    with pytest.raises(ContainerLost):
        async with up(ends(stopped=True)):
            pass


async def test_a_stream_that_breaks_is_the_engines() -> None:
    async def broken(inside: Inside, request: dict[str, Any]) -> None:
        inside.lose_stream()
        raise anyio.ClosedResourceError

    with pytest.raises(ContainerLost):
        await called(broken)


@pytest.mark.parametrize(
    ("script", "why"),
    [
        (server(says("x"), tools=()), "offers no tool look"),
        (server(says("x"), version=7), "no version of MCP"),
        (server(says("x"), version="next"), "no version of MCP"),
    ],
)
async def test_a_server_that_is_not_what_the_pack_says_fails_before_the_agent_begins(script: Script, why: str) -> None:
    assert why in await faulty(script, calls=0)


async def test_one_that_never_answers_the_greeting_is_given_up() -> None:
    async def deaf(inside: Inside) -> int:
        await anyio.sleep_forever()
        return 0

    assert "was not ready within 400 ms" in await faulty(deaf, calls=0)


async def test_endless_pages_of_tools_are_refused() -> None:
    async def script(inside: Inside) -> int:
        while (line := await inside.read_line()) is not None:
            request = json.loads(line)
            if "id" in request:
                result = {"protocolVersion": "2025-06-18", "tools": [], "nextCursor": "again"}
                await inside.write(rpc(id=request["id"], result=result))
        return 0

    assert "pages of tools" in await faulty(script, calls=0)


async def test_an_image_that_cannot_be_started_is_the_packs_fault() -> None:
    async with anyio.create_task_group() as tasks:
        engine = MemoryEngine(tasks, {"server": server(says("x"))})
        made = await box(engine)
        gone = msgspec.structs.replace(made, image=msgspec.structs.replace(made.image, digest="sha256:00"))
        with pytest.raises(PackFault, match="tool server files cannot be used"):
            async with serving(engine, [Served("files", gone, McpServer("files", frozenset(), CAPS))]):
                raise AssertionError("it cannot have started")


async def test_an_error_of_the_agents_trial_passes_through_and_all_is_removed() -> None:
    class Oops(Exception):
        pass

    with pytest.raises(Oops):
        async with up(server(says("x"))):
            raise Oops


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
)


@given(st.binary(max_size=300))
def test_no_bytes_make_reading_raise_anything_but_a_value_error(data: bytes) -> None:
    with suppress(ValueError):
        assert isinstance(read_line(data), Incoming)


@given(JSON)
def test_no_result_makes_an_answer_that_cannot_be_told(result: Any) -> None:
    try:
        said = read_line(json.dumps({"jsonrpc": "2.0", "id": 1, "result": result}).encode())
        answer = answer_of(said)
    except ValueError:
        return
    assert json.loads(json.dumps(answer.content)) == answer.content
