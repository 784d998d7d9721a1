"""Ctrl-C while something is awaited: the work is cancelled, and its caller told."""

from __future__ import annotations

import signal
from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio

T = TypeVar("T")


async def until_interrupted(work: Callable[[], Awaitable[T]]) -> T | None:
    """What `work` comes to; None where SIGINT came first and it was cancelled.

    Not left to asyncio: it cancels once, and a cancellation that meets a busy thread is lost.
    """
    results: list[T] = []
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_cancel_on_interrupt, tasks.cancel_scope)
        results.append(await work())
        tasks.cancel_scope.cancel()
    return results[0] if results else None


async def _cancel_on_interrupt(scope: anyio.CancelScope) -> None:
    with anyio.open_signal_receiver(signal.SIGINT) as signals:
        async for _ in signals:
            scope.cancel()
            return
