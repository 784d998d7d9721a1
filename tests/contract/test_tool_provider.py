"""What every ToolProvider promises its caller (`harness.ports.ToolProvider`)."""

from __future__ import annotations

import copy
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import anyio
import pytest

from harness.app.kit import make_kit
from harness.app.models import SCRIPTED, Models
from harness.domain.pack import ReplyError, Tool, ToolReply, ToolServer
from harness.errors import PackFault
from harness.models.cassette import Cassette, Recorder
from harness.ports import ToolAnswer, ToolLater, ToolProvider
from harness.runs.servers import serving
from harness.testing.engine import Inside, MemoryEngine
from harness.tools.scripted import ScriptedTools
from tests.mcp_server import rpc, says, server
from tests.support import ListJournal, healthy, spec

pytestmark = pytest.mark.anyio
GOOD = {"list": [1, None, "x"]}
"""Each provider knows `good`: this for the first {"a": 1}, then an error; and nothing else."""
Make = Callable[[], AbstractAsyncContextManager[ToolProvider]]


@asynccontextmanager
async def scripted() -> AsyncIterator[ToolProvider]:
    replies = [
        ToolReply(when={"a": 1}, return_=GOOD, times=1),
        ToolReply(when={"a": 1}, error=ReplyError("GONE"), delay_ms=5),
    ]
    yield ScriptedTools({"good": Tool("", {}, replies=replies)}, {}, lambda value: value)


ONE = {"tools": {"good": Tool("", {}, server="one")}, "servers": {"one": ToolServer("server")}}


@asynccontextmanager
async def served(models: Models = SCRIPTED) -> AsyncIterator[ToolProvider]:
    calls: list[Any] = []

    async def answer(inside: Inside, request: dict[str, Any]) -> None:
        if request["params"]["arguments"].get("a") != 1:
            await inside.write(rpc(id=request["id"], error={"code": -32603, "message": "no such thing"}))
            return
        calls.append(1)
        first = len(calls) == 1
        await (says(GOOD) if first else says("gone", isError=True))(inside, request)

    async with anyio.create_task_group() as tasks:
        engine = MemoryEngine(tasks, {"agent": healthy, "server": server(answer, ("good",))})
        images = {"server": await engine.inspect("server")}
        image = await engine.inspect("agent")
        kit = make_kit(spec(**ONE), image, lambda _spec, _scrubber: ListJournal(), {}, images, models)
        async with serving(engine, kit.servers):
            yield kit.rules.tools
        tasks.cancel_scope.cancel()


@asynccontextmanager
async def played() -> AsyncIterator[ToolProvider]:
    """What `served` said, from a cassette; there is no image of the server."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "tape")
        async with served(Models(recorder=Recorder(path))) as tools:
            for _ in range(3):
                await ask(tools, "good", {"a": 1})
            await ask(tools, "good", {"a": 1, "b": {"c": [1]}})
        async with anyio.create_task_group() as tasks:
            image = await MemoryEngine(tasks, {"agent": healthy}).inspect("agent")
            models = Models(tools=Cassette(path))
            kit = make_kit(spec(**ONE), image, lambda _spec, _scrubber: ListJournal(), {}, models=models)
        assert kit.servers == ()
        yield kit.rules.tools


async def ask(tools: ToolProvider, name: str, arguments: dict[str, Any]) -> ToolAnswer:
    """The answer, waited for where it has to be."""
    answer = tools.call(name, arguments)
    return await answer.answer() if isinstance(answer, ToolLater) else answer


make = pytest.mark.parametrize("make", [scripted, served, played])


@make
async def test_an_answer_is_json_with_status_reason_and_delay(make: Make) -> None:
    async with make() as tools:
        good, bad = await ask(tools, "good", {"a": 1}), await ask(tools, "good", {"a": 1})
    assert (good.status, good.reason, json.loads(json.dumps(good.content))) == ("ok", None, GOOD)
    assert bad.status == "error"
    assert bad.reason
    assert min(good.delay_ms, bad.delay_ms) >= 0


@make
@pytest.mark.parametrize(("name", "arguments"), [("good", {"a": 2}), ("good", {}), ("bad", {"a": 1}), ("", {})])
async def test_what_no_reply_matches_is_the_packs_fault(make: Make, name: str, arguments: dict[str, Any]) -> None:
    async with make() as tools:
        with pytest.raises(PackFault):
            await ask(tools, name, arguments)


@make
async def test_two_providers_share_no_state_and_answer_alike(make: Make) -> None:
    async with make() as first, make() as second:
        answers = [[await ask(tools, "good", {"a": 1}) for _ in range(3)] for tools in (first, second)]
    assert answers[0] == answers[1]


@make
async def test_arguments_are_not_changed(make: Make) -> None:
    arguments = {"a": 1, "b": {"c": [1]}}
    before = copy.deepcopy(arguments)
    async with make() as tools:
        await ask(tools, "good", arguments)
    assert arguments == before
