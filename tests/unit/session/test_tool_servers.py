"""Tools answered by a server: gated and on record as any other, and what goes wrong with one is never the agent's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest

from harness.app.clock import MonotonicClock
from harness.app.kit import make_kit
from harness.app.models import SCRIPTED, Models
from harness.boundary.redaction import Scrubber
from harness.domain.limits import Limits
from harness.domain.outcome import Blame, End, Outcome
from harness.domain.pack import ScenarioReplies, ToolReply, ToolServer
from harness.models.cassette import Cassette, Recorder
from harness.runs.trial import run_trial
from harness.session.timers import HELD_MS, Timers
from harness.testing.engine import Inside, MemoryEngine, Script
from tests.mcp_server import Answer, rpc, says, server
from tests.support import DONE, LOOK, QUICK, READY, ListJournal, healthy, line, spec

pytestmark = pytest.mark.anyio
SERVED = msgspec.structs.replace(LOOK, replies=[], server="files")


class Ran:
    def __init__(self, outcome: Outcome, journal: ListJournal, engine: MemoryEngine) -> None:
        self.outcome, self.journal, self.left = outcome, journal, len(engine.containers)
        self.started = engine.started


async def run(agent: Script, answer: Answer, **changes: Any) -> Ran:
    return await run_beside(server(answer), agent, **changes)


async def run_beside(
    script: Script,
    agent: Script,
    timeout_ms: int = 300,
    limits: Limits = QUICK,
    models: Models = SCRIPTED,
    **changes: Any,
) -> Ran:
    """One trial of an agent whose tool `look` the server `script` answers."""
    asked = ToolServer("tools/files", env={"KEY": "{{canary:KEY}}"}, timeout_ms=timeout_ms)
    changes = {"tools": {"look": SERVED}, "servers": {"files": asked}, "canaries": ("KEY",), **changes}
    journals: list[ListJournal] = []

    def opened(_spec: Any, scrubber: Scrubber) -> ListJournal:
        journals.append(ListJournal(scrubber))
        return journals[-1]

    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:
            engine = MemoryEngine(tasks, {"agent": agent, "tools/files": script})
            images = {"tools/files": await engine.inspect("tools/files")}

            def kit(trial: Any, image: Any) -> Any:
                return make_kit(trial, image, opened, {}, images, models)

            one = spec(limits=limits, **changes)
            outcome = await run_trial(one, await engine.inspect("agent"), engine, kit, MonotonicClock())
            ran = Ran(outcome, journals[-1], engine)
            tasks.cancel_scope.cancel()
    return ran


def calling(*calls: dict[str, Any], heard: list[bytes] | None = None) -> Script:
    """An agent that calls `look` so, one after the other, and is done."""

    async def agent(inside: Inside) -> int:
        await inside.write(READY)
        await inside.read_line()
        for number, arguments in enumerate(calls):
            await inside.write(line(type="tool_call", id=str(number), name="look", arguments=arguments))
            reply = await inside.read_line()
            if heard is not None and reply is not None:
                heard.append(reply)
        await inside.write(DONE)
        return 0

    return agent


async def hang(inside: Inside, request: dict[str, Any]) -> None:
    await anyio.sleep_forever()


async def test_a_call_is_answered_by_the_server_and_on_record_as_any_other() -> None:
    ran = await run(healthy, says({"found": 7}))
    assert (ran.outcome.end, ran.left, ran.started) == (End.COMPLETED, 0, 2)
    kinds = ["trial", "start", "ready", "invoke", "tool_call", "tool_result", "trajectory", "exit", "end"]
    assert ran.journal.kinds() == kinds
    (result,) = ran.journal.of("tool_result")
    assert (result["status"], result["content"]) == ("ok", {"found": 7})
    assert result["ms"] >= 0


async def test_what_the_gate_refuses_never_reaches_the_server() -> None:
    asked: list[Any] = []

    async def listening(inside: Inside, request: dict[str, Any]) -> None:
        asked.append(request["params"]["arguments"])
        await says("x")(inside, request)

    ran = await run(calling({"q": 5}, {"q": "a"}, {"p": 1}), listening)
    assert [result["status"] for result in ran.journal.of("tool_result")] == ["error", "ok", "error"]
    assert asked == [{"q": "a"}]


async def test_scripted_replies_come_first() -> None:
    replies = ScenarioReplies(tools={"look": [ToolReply(times=1, return_="scripted")]})
    ran = await run(calling({"q": "a"}, {"q": "b"}), says("served"), replies=replies)
    assert [result["content"] for result in ran.journal.of("tool_result")] == ["scripted", "served"]


async def test_the_server_has_its_own_secrets_and_the_record_has_none_of_them() -> None:
    keys: list[str] = []

    async def telling(inside: Inside, request: dict[str, Any]) -> None:
        keys.append(inside.env["KEY"])
        await says(f"the key is {inside.env['KEY']}")(inside, request)

    heard: list[bytes] = []
    ran = await run(calling({"q": "a"}, heard=heard), telling)
    assert "{{" not in keys[0]
    assert keys[0].encode() in heard[0]
    assert keys[0] not in str(ran.journal.events)


async def test_a_recording_answers_as_the_server_did_and_no_server_is_run(tmp_path: Path) -> None:
    keys: list[str] = []

    async def telling(inside: Inside, request: dict[str, Any]) -> None:
        keys.append(inside.env["KEY"])
        await says({"n": len(keys), "key": f"the key is {inside.env['KEY']}"})(inside, request)

    path = tmp_path / "tape"
    agent = calling({"q": "a"}, {"q": "scripted"}, {"q": "a"})
    replies = ScenarioReplies(tools={"look": [ToolReply(when={"q": "scripted"}, return_="from the pack")]})
    before = await run(agent, telling, models=Models(recorder=Recorder(path)), replies=replies)
    assert keys[0].encode() not in path.read_bytes()
    assert b"from the pack" not in path.read_bytes()

    heard: list[bytes] = []
    agent = calling({"q": "a"}, {"q": "scripted"}, {"q": "a"}, heard=heard)
    models = Models(tools=Cassette(path))
    first, second = [await run(agent, hang, models=models, replies=replies) for _ in range(2)]
    assert (before.started, first.started, first.outcome.end) == (2, 1, End.COMPLETED)
    assert keys[0].encode() in heard[0]
    kinds = ("tool_call", "tool_result", "trajectory")
    stories = [
        [(event.kind, event.data) for event in one.journal.events if event.kind in kinds] for one in (first, second)
    ]
    assert stories[0] == stories[1]
    recorded = [result["content"] for result in before.journal.of("tool_result")]
    assert [result["content"] for result in first.journal.of("tool_result")] == recorded


async def test_a_call_that_was_not_recorded_ends_the_trial_and_asks_no_server(tmp_path: Path) -> None:
    path = tmp_path / "tape"
    await run(calling({"q": "a"}), says("x"), models=Models(recorder=Recorder(path)))
    ran = await run(calling({"q": "a"}, {"q": "b"}), says("live"), models=Models(tools=Cassette(path)))
    assert (ran.outcome.end, ran.outcome.blame, ran.started) == (End.PACK_ERROR, Blame.PACK, 1)
    assert [result["content"] for result in ran.journal.of("tool_result")] == ["x"]
    (end,) = ran.journal.of("end")
    assert end["detail"]["code"] == "cassette_miss"


async def test_a_server_that_gave_no_answer_is_not_recorded(tmp_path: Path) -> None:
    path = tmp_path / "tape"
    await run(healthy, nonsense, models=Models(recorder=Recorder(path)))
    assert Cassette(path).told("agent/plain/1") == []


async def nonsense(inside: Inside, request: dict[str, Any]) -> None:
    await inside.write(rpc(id=request["id"], result={"content": "no list"}))


@pytest.mark.parametrize("answer", [hang, nonsense])
async def test_a_server_that_fails_a_call_is_the_packs_fault(answer: Answer) -> None:
    ran = await run(healthy, answer)
    assert (ran.outcome.end, ran.outcome.blame, ran.left) == (End.PACK_ERROR, Blame.PACK, 0)
    assert "tool server files" in ran.outcome.reason


async def test_a_server_that_hangs_is_its_own_fault_though_the_agents_time_is_over_meanwhile() -> None:
    short = msgspec.structs.replace(QUICK, wall_ms=300, call_ms=200, idle_ms=200)
    ran = await run(healthy, hang, timeout_ms=900, limits=short)
    assert (ran.outcome.end, ran.outcome.blame) == (End.PACK_ERROR, Blame.PACK)


async def test_time_of_a_server_that_answers_is_time_of_the_trial() -> None:
    async def slow(inside: Inside, request: dict[str, Any]) -> None:
        await anyio.sleep(0.5)
        await says("x")(inside, request)

    async def lingering(inside: Inside) -> int:
        await inside.write(READY)
        await inside.read_line()
        await inside.write(line(type="tool_call", id="1", name="look", arguments={"q": "x"}))
        await anyio.sleep_forever()
        return 0

    short = msgspec.structs.replace(QUICK, wall_ms=300)
    ran = await run(lingering, slow, timeout_ms=2000, limits=short)
    assert (ran.outcome.end, len(ran.journal.of("tool_result"))) == (End.TIMEOUT, 1)


async def test_a_server_that_does_not_come_up_ends_the_trial_before_the_agent_begins() -> None:
    async def dead(inside: Inside) -> int:
        return 127

    ran = await run_beside(dead, healthy)
    assert (ran.outcome.end, ran.left, ran.started) == (End.PACK_ERROR, 0, 1)
    assert ran.journal.kinds() == ["trial", "end"]


async def test_a_server_that_breaks_after_the_agent_is_done_changes_nothing() -> None:
    async def agent(inside: Inside) -> int:
        await inside.write(READY)
        await inside.read_line()
        await inside.write(line(type="tool_call", id="1", name="look", arguments={"q": "x"}))
        await inside.write(DONE)
        await anyio.sleep(0.6)
        return 0

    slow_to_stop = msgspec.structs.replace(QUICK, cancel_grace_ms=2000)
    ran = await run(agent, hang, timeout_ms=200, limits=slow_to_stop)
    assert ran.outcome.end is End.COMPLETED


async def test_an_agents_small_box_is_not_its_servers() -> None:
    seen: list[tuple[int, int]] = []

    async def look(inside: Inside) -> int:
        seen.append((inside._container.spec.limits.pids, inside._container.spec.limits.memory_bytes))
        await server(says("x"))(inside)
        return 0

    small = msgspec.structs.replace(QUICK, pids=4, memory_bytes=8 * 1024 * 1024)
    await run_beside(look, healthy, limits=small)
    assert seen == [(Limits().pids, Limits().memory_bytes)]


def test_a_deadline_is_held_by_calls_that_began_before_it_and_by_no_later_one() -> None:
    timers = Timers(msgspec.structs.replace(QUICK, wall_ms=1000, idle_ms=10_000, call_ms=10_000), None)
    timers.ready(0)
    timers.asked("a", 900, served=True)
    assert timers.fired(1100, writing=False) is None
    assert timers.due(1100) == 1100 + HELD_MS
    timers.asked("b", 1100, served=True)
    assert timers.answered("a", 1200) == 300
    breach = timers.fired(1200, writing=False)
    assert breach is not None
    assert (breach.end, timers.due(1200)) == (End.TIMEOUT, 1000)
