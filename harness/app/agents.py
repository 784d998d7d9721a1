"""From what a user calls an agent to what a run needs of it: a safe name, a pinned image, or its friction."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

import msgspec
from msgspec import Struct

from harness.app import images
from harness.app.data import or_shipped
from harness.domain.ids import safe_id
from harness.domain.outcome import End
from harness.domain.pack import Scenario
from harness.domain.spec import AgentRef
from harness.errors import FrictionError
from harness.ports import Engine, ImageInfo
from harness.runs.plan import probe_agent


class Fleet(Struct, frozen=True):
    """The agents of a run, and the images of those that can be run."""

    agents: tuple[AgentRef, ...]
    images: dict[str, ImageInfo]


async def gather(engine: Engine, wanted: Sequence[str], say: Callable[[str], None]) -> Fleet:
    """Build or find each agent. One that cannot be had costs only its own cells: it is kept, with its friction."""
    named = _distinct((_name(text), text) for text in wanted)
    return await _pin(engine, [(name, partial(images.locate_agent, text), text) for name, text in named], say)


async def gather_probes(engine: Engine, scenarios: Iterable[Scenario], say: Callable[[str], None]) -> Fleet:
    """The probe of each self-test scenario."""
    probes = dict.fromkeys(s.selftest.probe for s in scenarios if s.selftest)
    made = [(probe_agent(probe), partial(_probe, probe), probe) for probe in probes]
    return await _pin(engine, made, say)


async def again(engine: Engine, agents: Iterable[AgentRef]) -> Fleet:
    """The agents of a stored run, by the digests they had: a rebuilt image is another agent."""
    known = [(a.name, partial(lambda *pair: pair, a.image, a.digest or a.image), a.image) for a in agents]
    return await _pin(engine, known, lambda _: None)


def _probe(name: str) -> tuple[str, str]:
    ref = images.build_probe(name)
    return ref, ref


async def _pin(
    engine: Engine, wanted: Sequence[tuple[str, Callable[[], tuple[str, str]], str]], say: Callable[[str], None]
) -> Fleet:
    import anyio.to_thread

    agents, found = [], {}
    for name, resolve, given in wanted:
        ref = AgentRef(name, given)
        try:
            called, ident = await anyio.to_thread.run_sync(resolve)
            image = msgspec.structs.replace(await engine.inspect(ident), ref=called)
        except FrictionError as error:
            end = End(error.code) if error.code in {e.value for e in End} else End.IMAGE_INVALID
            ref = msgspec.structs.replace(ref, friction=str(error), friction_end=end.value)
            say(f"agent {name} cannot be run: {error}")
        else:
            ref = msgspec.structs.replace(ref, image=image.ref, digest=image.digest)
            found[name] = image
        agents.append(ref)
    return Fleet(tuple(agents), found)


def names(wanted: Sequence[str]) -> list[str]:
    """What `gather` calls them."""
    return [name for name, _ in _distinct((_name(text), text) for text in wanted)]


def _name(text: str) -> str:
    """`fumehood/support:2` and `path/to/support/` are both `support`; a folder `desk/agent` is `desk`.

    `init` calls every agent's folder `agent`: that says nothing beside another one.
    """
    folder = or_shipped(Path(text))
    if folder.is_dir():
        folder = folder.resolve()
        return safe_id(folder.parent.name if folder.name == "agent" else folder.name, "agent")
    return safe_id(text.rsplit("/", 1)[-1].split("@", 1)[0].split(":", 1)[0], "agent")


def _distinct(pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    taken: dict[str, str] = {}
    for name, text in pairs:
        unique, number = name, 2
        while unique in taken:
            unique, number = f"{name}-{number}", number + 1
        taken[unique] = text
    return list(taken.items())
