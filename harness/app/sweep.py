"""`gc`: remove what has no living owner."""

from __future__ import annotations

from harness.app import owner, wiring


async def sweep(dry_run: bool) -> list[str]:
    """What was removed, each with its kind. Raises EngineError."""
    engine = wiring.engine()
    containers = [f"container {name}" for name in await engine.reap(owner.is_living, dry_run)]
    return [*containers, *(f"image {name}" for name in await engine.prune(dry_run))]
