"""A container for as long as it is needed: started, and removed whatever happens."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import structlog

from harness.errors import EngineError
from harness.ports import Container, ContainerSpec, Engine

log = structlog.get_logger()
REMOVE_MS = 20_000


@asynccontextmanager
async def opened(engine: Engine, spec: ContainerSpec) -> AsyncIterator[Container]:
    """Raises what `Engine.start` raises. A slow or failing removal does not: the reaper gets what is left."""
    container = await engine.start(spec)
    try:
        yield container
    finally:
        with anyio.move_on_after(REMOVE_MS / 1000, shield=True) as scope:
            try:
                await container.remove()
            except EngineError as error:
                log.warning("container not removed", container=container.id[:12], error=str(error))
        if scope.cancelled_caught:
            log.warning("container not removed in time", container=container.id[:12])
