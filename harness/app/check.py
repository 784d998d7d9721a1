"""`image check`: every golden dialogue against one image, each in a fresh hardened container."""

from __future__ import annotations

import anyio
from msgspec import Struct

from harness.app import owner, wiring
from harness.boundary.canary import plant
from harness.boundary.environment import SCRATCH, container_env, scratch_dirs
from harness.domain.ids import OWNER_LABEL
from harness.domain.limits import Limits
from harness.domain.spec import Policy
from harness.errors import FrictionError
from harness.ports import ContainerSpec, Engine, ImageInfo
from harness.session.conformance import Player
from protocol.dialogue import Dialogue, load_dialogues

LIMITS = Limits(startup_ms=20_000, wall_ms=10_000)


class DialogueResult(Struct, frozen=True):
    """One dialogue: whether the image conforms, and what does not."""

    name: str
    passed: bool
    reason: str


def check_image(ref: str) -> list[DialogueResult]:
    """Play every golden dialogue with the image. Raises ImageMissing, ImageInvalid, EngineError."""
    return anyio.run(_check, ref)


async def _check(ref: str) -> list[DialogueResult]:
    engine = wiring.engine()
    image = await engine.inspect(ref)
    return [await _play(engine, image, dialogue) for dialogue in load_dialogues()]


async def _play(engine: Engine, image: ImageInfo, dialogue: Dialogue) -> DialogueResult:
    try:
        container = await engine.start(_spec(image))
    except FrictionError as error:
        return DialogueResult(dialogue.name, False, str(error))
    try:
        problems = await Player(container, dialogue, LIMITS).play()
    finally:
        with anyio.CancelScope(shield=True):
            await container.remove()
    return DialogueResult(dialogue.name, not problems, "; ".join(problems) or dialogue.about)


def _spec(image: ImageInfo) -> ContainerSpec:
    return ContainerSpec(
        image=image,
        env=container_env(image.env, plant((), 0, "check")),
        labels={"fumehood.run": "image-check", OWNER_LABEL: owner.me()},
        limits=LIMITS,
        policy=Policy(),
        scratch=SCRATCH,
        dirs=scratch_dirs(),
        writable=(SCRATCH,),
    )
