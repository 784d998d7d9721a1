"""Attacks on a neighbour: a line that costs the harness seconds must not cost other trials their time."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import anyio
import msgspec
import pytest

from harness.app.clock import MonotonicClock
from harness.app.kit import make_kit
from harness.domain.outcome import End
from harness.domain.pack import ToolReply
from harness.runs.trial import run_trial
from harness.testing.engine import Inside, MemoryEngine
from tests.support import DONE, LOOK, QUICK, READY, ListJournal, line, spec

pytestmark = pytest.mark.anyio
SCRUB_S = 1.0


class SlowJournal(ListJournal):
    """Takes its time for a state, as a real one does for 4 MiB of small strings; notices two uses at once."""

    busy = False
    crossed = False

    def append(self, kind: str, source: Any, t: int, data: Mapping[str, Any]) -> int:
        self.crossed |= self.busy
        self.busy = True
        time.sleep(SCRUB_S if kind == "state" else 0)
        self.busy = False
        return super().append(kind, source, t, data)


async def hostile(inside: Inside) -> int:
    """A delayed call, whose reply comes due while the heavy line is being looked at."""
    await inside.write(READY)
    await inside.read_line()
    await inside.write(line(type="tool_call", id="1", name="look", arguments={"q": "x"}))
    await inside.write(line(type="state", snapshot="x" * 100_000))
    await inside.read_line()
    await inside.write(DONE)
    return 0


async def test_a_heavy_line_holds_up_neither_the_loop_nor_the_order_of_the_record() -> None:
    lags: list[float] = []

    async def neighbour() -> None:
        while True:
            began = time.monotonic()
            await anyio.sleep(0.01)
            lags.append(time.monotonic() - began)

    slow = msgspec.structs.replace(LOOK, replies=[ToolReply(return_={"found": 1}, delay_ms=300)])
    journal = SlowJournal()
    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(neighbour)
            engine = MemoryEngine(tasks, {"agent": hostile})
            outcome = await run_trial(
                spec(limits=msgspec.structs.replace(QUICK, idle_ms=10_000, wall_ms=10_000), tools={"look": slow}),
                await engine.inspect("agent"),
                engine,
                lambda trial, image: make_kit(trial, image, lambda _spec, _scrubber: journal, {}),
                MonotonicClock(),
            )
            tasks.cancel_scope.cancel()
    assert outcome.end is End.COMPLETED
    assert not journal.crossed
    assert max(lags) < SCRUB_S / 2
