"""Ending a container in stages, each bounded: ask, close its input, TERM, KILL."""

from __future__ import annotations

from collections.abc import Callable

import anyio

from harness.domain.limits import Limits
from harness.errors import ContainerLost, EngineTimeout
from harness.ports import Container, ExitInfo
from harness.session.rules import Finish

TAKE_OUT_MS = 20_000
"""What taking a workspace out may take once the agent is gone."""
KILL_SPARE_MS = 1500
"""After TERM's grace the guard kills everything and reports; only then is the container killed from outside."""


async def stop(
    container: Container, eof: anyio.Event, finish: Finish | None, limits: Limits, say: Callable[[str], None]
) -> tuple[bool, ExitInfo]:
    """(had to be signalled, how it ended). Raises EngineError where even KILL does not end it in time."""
    if finish is not None and finish.cancel is not None:
        say(finish.cancel)
        await anyio.sleep(0.02)  # let the writer put `cancel` before the end of input
    await container.close_stdin()
    killed = False
    if not await _over(container, eof, limits.cancel_grace_ms):
        killed = True
        await container.signal("TERM")
        if not await _over(container, eof, limits.term_grace_ms + KILL_SPARE_MS):
            await container.signal("KILL")
            if not await _within(eof, limits.engine_call_ms):
                raise ContainerLost("the engine gave no end of stream after KILL", "see the engine's log")
    try:
        with anyio.fail_after(limits.engine_call_ms / 1000):
            return killed, await container.wait()
    except TimeoutError as error:
        raise EngineTimeout(f"the engine told no exit within {limits.engine_call_ms} ms") from error


async def _over(container: Container, eof: anyio.Event, ms: int) -> bool:
    """The stream is at its end in time. An agent that is gone in time has done its part: its workspace takes longer."""
    return await _within(eof, ms) or (container.ended and await _within(eof, TAKE_OUT_MS))


async def _within(event: anyio.Event, ms: int) -> bool:
    with anyio.move_on_after(ms / 1000):
        await event.wait()
    return event.is_set()
