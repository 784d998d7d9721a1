"""Whole sessions over the engine in memory: every stage of the end, on both back ends."""

from __future__ import annotations

import time
from typing import Any

import anyio
import anyio.lowlevel
import msgspec
import pytest

from harness.app.clock import MonotonicClock
from harness.app.kit import make_kit
from harness.domain.limits import Budget, Limits
from harness.domain.outcome import Blame, End, Outcome
from harness.domain.pack import ScenarioReplies, Tool, ToolReply
from harness.errors import EngineError
from harness.ports import ConnectAttempt, ExitInfo, PathAttempt
from harness.runs.trial import run_trial
from harness.testing.engine import Inside, MemoryContainer, MemoryEngine, Script, exited
from tests.support import DONE, QUICK, READY, ListJournal, healthy, line, spec

pytestmark = pytest.mark.anyio


class Ran:
    def __init__(self, outcome: Outcome, journal: ListJournal, left: int) -> None:
        self.outcome, self.journal, self.left = outcome, journal, left


async def run(script: Script, limits: Limits = QUICK, **changes: Any) -> Ran:
    """One trial of a scripted agent, with the real rules around it."""
    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:
            engine = MemoryEngine(tasks, {"agent": script})
            one = spec(limits=limits, **changes)
            journal = ListJournal()

            def kit(trial: Any, image: Any) -> Any:
                return make_kit(trial, image, lambda _spec, _scrubber: journal, {})

            outcome = await run_trial(one, await engine.inspect("agent"), engine, kit, MonotonicClock())
            left = len(engine.containers)
            tasks.cancel_scope.cancel()
    return Ran(outcome, journal, left)


async def test_healthy_agent_completes_and_leaves_nothing() -> None:
    ran = await run(healthy)
    assert (ran.outcome.end, ran.outcome.blame) == (End.COMPLETED, Blame.AGENT)
    kinds = ["trial", "start", "ready", "invoke", "tool_call", "tool_result", "trajectory", "exit", "end"]
    assert ran.journal.kinds() == kinds
    assert (ran.left, ran.journal.closed, ran.outcome.usage.tool_calls) == (0, True, 1)


def saying(*lines: bytes, code: int | ExitInfo = 0, wait: bool = False) -> Script:
    """An agent that says these lines and ends, or waits for ever."""

    async def agent(inside: Inside) -> int | ExitInfo:
        for one in lines:
            await inside.write(one)
        if wait:
            await anyio.sleep_forever()
        return code

    return agent


def exit_with(**changes: Any) -> ExitInfo:
    return msgspec.structs.replace(exited(0), **changes)


TRAJECTORY = {"type": "trajectory", "status": "completed"}
BLANK = line(**TRAJECTORY, output={"text": " \n"})
EMPTY = line(**TRAJECTORY, output={"data": {}})
ZERO = line(**TRAJECTORY, output={"data": 0})
OOM = exit_with(code=137, signal=9, oom_killed=True)
CUT_OFF = exit_with(code=137, signal=9, reported=False)
ALIEN = line(type="ready", protocol=["9"], agent={"name": "x"})

ENDS: list[tuple[str, Script, End, Blame]] = [
    ("refusal", saying(READY, line(type="trajectory", status="refused")), End.REFUSED, Blame.AGENT),
    ("failure", saying(READY, line(type="trajectory", status="failed")), End.AGENT_FAILED, Blame.AGENT),
    ("blank", saying(READY, BLANK), End.BLANK_COMPLETION, Blame.AGENT),
    ("blank data", saying(READY, EMPTY), End.BLANK_COMPLETION, Blame.AGENT),
    ("zero is an answer", saying(READY, ZERO), End.COMPLETED, Blame.AGENT),
    ("exit code after the answer", saying(READY, DONE, code=3), End.EXITED, Blame.AGENT),
    ("no trajectory", saying(READY, code=0), End.EXITED, Blame.AGENT),
    ("signal", saying(READY, code=139), End.CRASHED, Blame.AGENT),
    ("half a line", saying(READY, b'{"type":'), End.PROTOCOL_VIOLATION, Blame.AGENT),
    ("rubbish", saying(READY, b"rubbish\n"), End.PROTOCOL_VIOLATION, Blame.AGENT),
    ("print before ready", saying(b"hello\n", READY, DONE), End.PROTOCOL_VIOLATION, Blame.INTEGRATION),
    ("dies at start", saying(code=1), End.STARTUP_FAILED, Blame.INTEGRATION),
    ("never ready", saying(wait=True), End.STARTUP_FAILED, Blame.INTEGRATION),
    ("wrong version", saying(ALIEN), End.VERSION_MISMATCH, Blame.INTEGRATION),
    ("silence", saying(READY, wait=True), End.IDLE, Blame.AGENT),
    ("killed by memory", saying(READY, code=OOM), End.OOM_KILLED, Blame.AGENT),
    ("memory of a child", saying(READY, DONE, code=exit_with(oom_killed=True)), End.OOM_KILLED, Blame.AGENT),
    ("memory before ready", saying(code=OOM), End.OOM_KILLED, Blame.INTEGRATION),
    ("processes", saying(READY, code=exit_with(code=1, pids_limit_hit=True)), End.PIDS_LIMIT, Blame.AGENT),
    ("disk", saying(READY, DONE, code=exit_with(scratch_full=True)), End.DISK_FULL, Blame.AGENT),
    ("killed from outside", saying(READY, DONE, code=CUT_OFF), End.CONTAINER_LOST, Blame.HARNESS),
]  # fmt: skip


@pytest.mark.parametrize(("script", "end", "blame"), [row[1:] for row in ENDS], ids=[row[0] for row in ENDS])
async def test_each_end_has_its_name_and_its_blame(script: Script, end: End, blame: Blame) -> None:
    ran = await run(script)
    assert (ran.outcome.end, ran.outcome.blame) == (end, blame)
    assert ran.journal.kinds()[-1] == "end"
    assert ran.left == 0


async def test_budget_of_time_fires_in_its_own_time_not_in_that_of_the_start() -> None:
    limits = msgspec.structs.replace(QUICK, startup_ms=15_000, idle_ms=15_000)
    ran = await run(saying(READY, wait=True), limits, budget=Budget(max_duration_ms=300))
    assert ran.outcome.end is End.TIMEOUT
    assert ran.outcome.usage.wall_ms < 5000


async def test_agent_that_still_writes_to_stderr_is_not_idle() -> None:
    async def busy(inside: Inside) -> int:
        await inside.write(READY)
        for _ in range(12):
            await inside.write(b"working\n", "stderr")
            await anyio.sleep(0.1)
        await inside.write(DONE)
        return 0

    ran = await run(busy, msgspec.structs.replace(QUICK, idle_ms=500))
    assert ran.outcome.end is End.COMPLETED


async def test_agent_that_ignores_everything_is_killed_within_its_graces() -> None:
    ran = await run(saying(READY, DONE, wait=True), QUICK)
    assert ran.outcome.end is End.COMPLETED
    assert [f["code"] for f in ran.journal.of("finding")] == ["did_not_exit"]


async def test_agent_that_writes_for_ever_and_ignores_term_ends_with_both_streams_drained() -> None:
    async def flood(inside: Inside) -> int:
        await inside.write(READY)
        while True:
            await inside.write(b"x" * 65536, "stderr")
            await inside.write(line(type="note", level="info", text="y" * 60_000))
            await anyio.lowlevel.checkpoint()

    limits = msgspec.structs.replace(QUICK, max_stdout_bytes=1_000_000, max_stderr_bytes=1 << 40)
    ran = await run(flood, limits)
    assert ran.outcome.end is End.OUTPUT_LIMIT
    said = ran.journal.of("stderr")[0]
    assert said["total_bytes"] == said["dropped_bytes"] + limits.kept_stderr_bytes


async def test_cancel_is_sent_and_a_well_behaved_agent_ends_by_itself() -> None:
    heard: list[bytes | None] = []

    async def polite(inside: Inside) -> int:
        await inside.write(READY)
        await inside.read_line()
        for number in range(3):
            await inside.write(line(type="tool_call", id=str(number), name="look", arguments={"q": str(number)}))
        while (got := await inside.read_line()) is not None:
            heard.append(got)
        return 0

    ran = await run(polite, budget=Budget(max_tool_calls=2))
    assert ran.outcome.end is End.BUDGET_EXCEEDED
    assert heard[-1] is not None
    assert b'"type":"cancel"' in heard[-1]
    assert [f["code"] for f in ran.journal.of("finding")] == []


async def test_lost_stream_is_the_harnesss_fault_and_keeps_what_was_seen() -> None:
    async def lost(inside: Inside) -> int:
        await inside.write(READY)
        await inside.read_line()
        inside.lose_stream()
        return 0

    ran = await run(lost)
    assert (ran.outcome.end, ran.outcome.blame) == (End.CONTAINER_LOST, Blame.HARNESS)
    assert "ready" in ran.journal.kinds()


async def test_time_in_which_the_harness_was_held_up_is_not_the_agents() -> None:
    async def working(inside: Inside) -> int:
        await inside.write(READY)
        await inside.read_line()
        time.sleep(0.6)  # noqa: ASYNC251  what a neighbour's huge line does to the loop
        await anyio.sleep(0.2)
        await inside.write(DONE)
        return 0

    ran = await run(working, budget=Budget(max_duration_ms=500))
    assert ran.outcome.end is End.COMPLETED


async def test_exit_that_is_never_told_ends_the_trial_with_a_named_error(monkeypatch: pytest.MonkeyPatch) -> None:
    async def never(_self: MemoryContainer) -> ExitInfo:
        await anyio.sleep_forever()
        raise AssertionError

    monkeypatch.setattr(MemoryContainer, "wait", never)
    ran = await run(healthy, msgspec.structs.replace(QUICK, engine_call_ms=300))
    assert (ran.outcome.end, ran.outcome.blame) == (End.ENGINE_ERROR, Blame.HARNESS)
    assert "300 ms" in ran.outcome.reason


async def test_removal_that_fails_does_not_take_the_finished_trial_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(_self: MemoryContainer) -> None:
        raise EngineError("the engine is gone")

    monkeypatch.setattr(MemoryContainer, "remove", broken)
    assert (await run(healthy)).outcome.end is End.COMPLETED


@pytest.mark.parametrize(
    "tool",
    [Tool("no reply", {"type": "object"}), Tool("no schema", {"type": "nonsense"}, replies=[ToolReply(return_=1)])],
    ids=["no reply", "no schema"],
)
async def test_what_only_running_shows_of_a_packs_mistakes_is_its_fault_with_all_evidence_kept(tool: Tool) -> None:
    ran = await run(healthy, tools={"look": tool})
    assert (ran.outcome.end, ran.outcome.blame) == (End.PACK_ERROR, Blame.PACK)
    assert ran.journal.kinds()[-3:] == ["cancel", "exit", "end"]


async def test_delayed_tool_answers_while_the_agent_waits_beyond_its_idle_time() -> None:
    slow = ScenarioReplies(tools={"look": [ToolReply(return_=1, delay_ms=700)]})
    ran = await run(healthy, msgspec.structs.replace(QUICK, idle_ms=200), replies=slow)
    assert ran.outcome.end is End.COMPLETED


async def test_attempts_to_write_and_connect_are_on_record_with_their_targets() -> None:
    info = exit_with(
        writes=(PathAttempt("/root/x", "open", 13, 2), PathAttempt("/var/tmp/y", "open", 0, 1)),
        connects=(ConnectAttempt("1.1.1.1:53", 1),),
    )
    ran = await run(saying(READY, DONE, code=info))
    assert [(w["path"], w["allowed"]) for w in ran.journal.of("write")] == [("/root/x", False), ("/var/tmp/y", True)]
    assert ran.journal.of("connect") == [{"address": "1.1.1.1:53", "count": 1}]


async def test_start_that_dies_of_a_denied_write_names_the_path() -> None:
    info = exit_with(code=1, writes=(PathAttempt("/root/x", "open", 13, 1),))
    ran = await run(saying(code=info))
    assert ran.outcome.end is End.STARTUP_FAILED
    assert "/root/x" in ran.outcome.reason


@pytest.mark.parametrize("split", range(1, 60, 7))
async def test_how_bytes_are_split_changes_nothing(split: int) -> None:
    whole = READY + line(type="trajectory", status="completed", output={"text": "naïve 🧪"})

    async def dribble(inside: Inside) -> int:
        for start in range(0, len(whole), split):
            await inside.write(whole[start : start + split])
        return 0

    ran = await run(dribble)
    assert ran.outcome.end is End.COMPLETED
    assert ran.journal.of("trajectory")[0]["output"] == {"text": "naïve 🧪"}


async def test_error_nobody_knows_is_the_harnesss_and_loud() -> None:
    def broken(_trial: Any, _image: Any) -> Any:
        return msgspec.structs.replace(real(_trial, _image), container=None)

    journal = ListJournal()

    def real(trial: Any, image: Any) -> Any:
        return make_kit(trial, image, lambda _spec, _scrubber: journal, {})

    async with anyio.create_task_group() as tasks:
        engine = MemoryEngine(tasks, {"agent": healthy})
        outcome = await run_trial(spec(), await engine.inspect("agent"), engine, broken, MonotonicClock())
    assert (outcome.end, outcome.blame) == (End.HARNESS_ERROR, Blame.HARNESS)
    assert "AttributeError" in outcome.reason
