"""One trial: one fresh container, one session, one outcome, whatever goes wrong."""

from __future__ import annotations

from collections.abc import Callable

import structlog
from msgspec import Struct, to_builtins

from harness.domain.outcome import Breach, End, Outcome, Usage
from harness.domain.spec import TrialSpec
from harness.errors import EngineError, FumehoodError
from harness.ports import Clock, ContainerSpec, Engine, ImageInfo, Journal
from harness.runs.container import opened
from harness.runs.servers import Served, serving
from harness.runs.verify import Verification, verify
from harness.session.rules import Rules
from harness.session.session import Session

log = structlog.get_logger()


class Kit(Struct, frozen=True):
    """The parts of one trial, made for it alone."""

    rules: Rules
    container: ContainerSpec
    journal: Journal
    scrub: Callable[[str], str]
    verification: Verification | None = None
    servers: tuple[Served, ...] = ()


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
                breach = await _verified(breach, engine, kit, session, clock)
        except Exception as error:
            breach, usage = _fault(error), Usage()
        return session.finish(spec.key, spec.attempt, breach, usage)
    finally:
        kit.journal.close()


async def _in_container(engine: Engine, kit: Kit, session: Session) -> tuple[Breach, Usage]:
    async with serving(engine, kit.servers), opened(engine, kit.container) as container:
        session.record("start", "observed", {"container": container.id[:12]})
        return await session.run(container)


async def _verified(breach: Breach, engine: Engine, kit: Kit, session: Session, clock: Clock) -> Breach:
    """The end, after the hidden tests of an agent that ended well; theirs where they could not be run at all."""
    if kit.verification is None or session.taken is None or breach.end not in (End.COMPLETED, End.REFUSED):
        return breach
    try:
        found = await verify(kit.verification, session.taken, engine, clock, kit.scrub)
    except Exception as error:
        return _fault(error)
    session.record("verify", "observed", found)
    return breach


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
