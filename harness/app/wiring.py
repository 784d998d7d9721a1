"""The engine, put together: the only place that says which one."""

from __future__ import annotations

from harness.domain.limits import Limits
from harness.errors import UsageError
from harness.ports import Engine


def engine() -> Engine:
    """The container engine of this machine. Raises EngineUnreachable."""
    from harness.engines.client import connect
    from harness.engines.docker import DockerEngine

    call_ms = Limits().engine_call_ms
    return DockerEngine(connect(call_ms // 1000), call_ms)


def require_runtime(name: str) -> None:
    """UsageError where the engine does not know the OCI runtime: every trial would end in an engine error.

    A containerd shim (`io.containerd....`) needs no entry in the engine's list, so it is left to the engine.
    """
    from harness.engines.facts import engine_facts

    known = engine_facts().runtimes
    if known and name not in known and not name.startswith("io.containerd."):
        raise UsageError(f"the engine has no runtime {name!r}", f"one of {', '.join(known)}; or install it")
