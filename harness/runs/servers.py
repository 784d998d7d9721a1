"""Servers of a trial's tools: each in a container of its own, begun before the agent and removed after it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

import anyio
from msgspec import Struct

from harness.errors import FrictionError, PackFault, sole
from harness.ports import ContainerSpec, Engine, ToolServer
from harness.runs.container import opened


class Served(Struct, frozen=True):
    """One server: what it is called, its container, and whoever talks with it."""

    name: str
    container: ContainerSpec
    server: ToolServer


@asynccontextmanager
async def serving(engine: Engine, servers: Sequence[Served]) -> AsyncIterator[None]:
    """While all of them are up. Raises PackFault where one does not come up, EngineError where the engine failed."""
    if not servers:
        yield
        return
    try:
        async with AsyncExitStack() as stack, anyio.create_task_group() as tasks:
            for one in servers:
                try:
                    container = await stack.enter_async_context(opened(engine, one.container))
                except FrictionError as error:
                    raise PackFault(f"tool server {one.name} cannot be used: {error.message}", error.remedy) from error
                tasks.start_soon(one.server.attend, container)
            for one in servers:
                await one.server.greet()
            yield
            tasks.cancel_scope.cancel()
    except BaseExceptionGroup as group:
        raise sole(group) from None
