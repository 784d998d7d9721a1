"""One trial: one fresh container, one session, one outcome, whatever goes wrong."""

from __future__ import annotations

from collections.abc import Callable

import anyio
import structlog
from msgspec import Struct, to_builtins

from harness.domain.outcome import Breach, End, Outcome, Usage
from harness.domain.spec import TrialSpec
from harness.errors import EngineError, FumehoodError
from harness.ports import Clock, ContainerSpec, Engine, ImageInfo, Journal
from harness.session.rules import Rules
from harness.session.session import Session

log = structlog.get_logger()
REMOVE_MS = 20_000


class Kit(Struct, frozen=True):
    """The parts of one trial, made for it alone."""

    rules: Rules
    container: ContainerSpec
    journal: Journal
    scrub: Callable[[str], str]


KitMaker = Callable[[TrialSpec, ImageInfo], Kit]


async def run_trial(spec: TrialSpec, image: ImageInfo, engine: Engine, make_kit: KitMaker, clock: Clock) -> Outcome:
    """Run one trial to its outcome; its journal ends with it. Only cancellation passes through."""
    kit = make_kit(spec, image)
    session = Session(kit.rules, kit.journal, clock, kit.scrub)
    try:
        session.record("trial", "harness", _head(spec, image))
        try:
            if spec.agent.friction_end:
                breach, usage = Breach(End(spec.agent.friction_end), spec.agent.friction or ""), Usage()
            else:
                breach, usage = await _in_container(engine, kit, session)
        except Exception as error:
            breach, usage = _fault(error), Usage()
        return session.finish(spec.key, spec.attempt, breach, usage)
    finally:
        kit.journal.close()


async def _in_container(engine: Engine, kit: Kit, session: Session) -> tuple[Breach, Usage]:
    container = await engine.start(kit.container)
    try:
        session.record("start", "observed", {"container": container.id[:12]})
        return await session.run(container)
    finally:
        # A slow or failing removal must not take a finished trial with it; the reaper gets what is left.
        with anyio.move_on_after(REMOVE_MS / 1000, shield=True) as scope:
            try:
                await container.remove()
            except EngineError as error:
                log.warning("container not removed", container=container.id[:12], error=str(error))
        if scope.cancelled_caught:
            log.warning("container not removed in time", container=container.id[:12])


def _fault(error: Exception) -> Breach:
    """The end for an exception: known ones by their code, all others are ours and loud."""
    if isinstance(error, FumehoodError):
        ends = {end.value: end for end in End}
        kind = End.ENGINE_ERROR if isinstance(error, EngineError) else End.HARNESS_ERROR
        end = ends.get(error.code, kind)
        return Breach(end, str(error), {"code": error.code})
    log.error("unexpected error in a trial", exc_info=error)
    return Breach(
        End.HARNESS_ERROR, f"unexpected {type(error).__name__} in the harness", {"error": type(error).__name__}
    )


def _head(spec: TrialSpec, image: ImageInfo) -> dict[str, object]:
    scenario = spec.scenario
    return {
        "run_id": spec.run_id,
        "agent": spec.key.agent,
        "scenario": spec.key.scenario,
        "trial": spec.key.trial,
        "attempt": spec.attempt,
        "image": spec.agent.image,
        "image_digest": image.digest,
        "policy": to_builtins(spec.policy),
        "limits": to_builtins(spec.limits),
        "budget": to_builtins(scenario.budget),
        "allowed_tools": list(scenario.allowed_tools),
        "disallowed_tools": list(scenario.disallowed_tools),
    }
