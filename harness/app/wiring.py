"""The engine, put together: the only place that says which one."""

from __future__ import annotations

from harness.domain.limits import Limits
from harness.ports import Engine


def engine() -> Engine:
    """The container engine of this machine. Raises EngineUnreachable."""
    from harness.engines.client import connect
    from harness.engines.docker import DockerEngine

    call_ms = Limits().engine_call_ms
    return DockerEngine(connect(call_ms // 1000), call_ms)
