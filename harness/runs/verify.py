"""Hidden tests: a command in a fresh container after the agent is gone; its exit code is the verdict."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import anyio
from msgspec import Struct

from harness.domain.workspace import Taken
from harness.errors import ContainerLost, FrictionError, PackFault
from harness.ports import Clock, Container, ContainerSpec, Engine, ExitInfo
from harness.runs.container import opened
from harness.session.tail import Tail

KEPT_BYTES = 16 * 1024
"""Of each stream of the tests, its end."""
MAX_NAMED = 50


class Box(Struct, frozen=True):
    """The container of one verification, and what of the agent's files is in it."""

    container: ContainerSpec
    taken: int
    refused: tuple[str, ...]


class Verification(Struct, frozen=True):
    """The hidden tests of one trial; `box` makes their container from the workspace the agent left."""

    image: str
    digest: str
    command: tuple[str, ...]
    timeout_ms: int
    box: Callable[[Taken], Box]


async def verify(work: Verification, left: Taken, engine: Engine, clock: Clock, scrub: Callable[[str], str]) -> Any:
    """The data of the `verify` event. PackFault where the tests cannot run; EngineError where the engine failed."""
    head = {"image": work.image, "image_digest": work.digest, "command": list(work.command)}
    if not left.whole:
        return {**head, "skipped": "the workspace could not be taken out whole"}
    box = work.box(left)
    began = clock.now_ms()
    out, err = Tail(KEPT_BYTES), Tail(KEPT_BYTES)
    with _the_packs(work.image):
        async with opened(engine, box.container) as container:
            info, timed_out = await _finished(container, work.timeout_ms, box.container.limits.engine_call_ms, out, err)
    if info.not_started:
        raise PackFault(f"verify: {work.command[0]!r} cannot be run in {work.image}: {info.not_started}")
    if not timed_out and not info.oom_killed and (info.stopped or not info.reported):
        raise ContainerLost("the container of the hidden tests was ended from outside")
    return {
        **head,
        "exit_code": None if timed_out else info.code,
        "timed_out": timed_out,
        "oom_killed": info.oom_killed,
        "ms": clock.now_ms() - began,
        "stdout": out.text(scrub),
        "stderr": err.text(scrub),
        "stdout_bytes": out.total,
        "stderr_bytes": err.total,
        "taken": box.taken,
        "not_taken": list(box.refused[:MAX_NAMED]),
    }


@contextmanager
def _the_packs(image: str) -> Iterator[None]:
    """An image that cannot be started is friction of an agent's; here it is the pack's mistake."""
    try:
        yield
    except FrictionError as error:
        raise PackFault(f"verify: image {image} cannot be used: {error.message}", error.remedy) from error


async def _finished(container: Container, timeout_ms: int, call_ms: int, out: Tail, err: Tail) -> tuple[ExitInfo, bool]:
    """How the command ended, and whether it had to be killed; both streams are drained all the while."""

    async def drain() -> None:
        while (chunk := await container.receive()) is not None:
            (out if chunk.stream == "stdout" else err).feed(chunk.data)

    await container.close_stdin()
    with anyio.move_on_after(timeout_ms / 1000) as scope:
        await drain()
    if scope.cancelled_caught:
        await container.signal("KILL")
        with anyio.move_on_after(call_ms / 1000) as bound:
            await drain()
        if bound.cancelled_caught:
            raise ContainerLost("the engine gave no end of stream after KILL", "see the engine's log")
    return await container.wait(), scope.cancelled_caught
