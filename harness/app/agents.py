"""From what a user calls an agent to what a run needs of it: a safe name, a pinned image, or its friction."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

import msgspec
from msgspec import Struct

from harness.app import images
from harness.app.data import or_shipped
from harness.boundary.environment import redirect_targets
from harness.domain.agents import AgentEntry
from harness.domain.ids import safe_id
from harness.domain.manifest import MANIFEST
from harness.domain.model import NameRule
from harness.domain.outcome import End
from harness.domain.pack import Scenario
from harness.domain.spec import AgentRef, Policy
from harness.errors import FrictionError, PackError, UsageError
from harness.packs.agents import load_agents
from harness.packs.manifest import load_manifest
from harness.ports import Engine, ImageInfo
from harness.runs.plan import probe_agent

_SHOWN_PROBLEMS = 5


class Fleet(Struct, frozen=True):
    """The agents of a run, and the images of those that can be run."""

    agents: tuple[AgentRef, ...]
    images: dict[str, ImageInfo]


class Wanted(Struct, frozen=True):
    """An agent to be had: its name and own settings, and how its image is found (or built).

    `given` is what the user calls it where that may be a folder, maybe with a manifest.
    """

    ref: AgentRef
    locate: Callable[[], tuple[str, str]]
    given: str = ""


def wanted(given: Sequence[str], file: Path | None) -> list[Wanted]:
    """The agents of the command line, then those of the file. PackError with every problem of the file.

    A name in the file is kept as it is; those made up for the command line's give way to it.
    """
    listed = [] if file is None else [_entry(entry, file) for entry in load_agents(file, partial(_refused, file))]
    named = _distinct(((_name(text), text) for text in given), {one.ref.name for one in listed})
    return [*(Wanted(AgentRef(name, text), partial(images.locate_agent, text), text) for name, text in named), *listed]


async def gather(engine: Engine, agents: Sequence[Wanted], say: Callable[[str], None]) -> Fleet:
    """Build or find each agent. One that cannot be had costs only its own cells: it is kept, with its friction."""
    return await _pin(engine, agents, say)


async def gather_probes(engine: Engine, scenarios: Iterable[Scenario], say: Callable[[str], None]) -> Fleet:
    """The probe of each self-test scenario."""
    probes = dict.fromkeys(s.selftest.probe for s in scenarios if s.selftest)
    made = [Wanted(AgentRef(probe_agent(probe), probe), partial(_probe, probe)) for probe in probes]
    return await _pin(engine, made, say)


async def again(engine: Engine, agents: Iterable[AgentRef]) -> Fleet:
    """The agents of a stored run, by the digests they had: a rebuilt image is another agent."""
    known = [Wanted(a, partial(lambda *pair: pair, a.image, a.digest or a.image)) for a in agents]
    return await _pin(engine, known, lambda _: None)


def _probe(name: str) -> tuple[str, str]:
    ref = images.build_probe(name)
    return ref, ref


def _entry(entry: AgentEntry, file: Path) -> Wanted:
    text = entry.image if entry.dir is None else str(_folder(file, entry.dir))
    ref = AgentRef(
        entry.name,
        text or "",
        writable=entry.writable,
        writable_paths=tuple(entry.writable_paths),
        limits=entry.limits,
        model_names=tuple(NameRule(asked, used) for asked, used in entry.model_map.items()),
    )
    return Wanted(ref, partial(images.locate_agent, text or ""), text or "" if entry.dir is not None else "")


def _folder(file: Path, text: str) -> Path:
    """From the file's own folder; where nothing is there, one of ours by its name."""
    beside = file.parent / text
    return beside if beside.exists() else or_shipped(Path(text))


def _refused(file: Path, field: str, text: str) -> str | None:
    """Why a field of the file cannot be what is written there, as far as can be told before anything is built."""
    if field == "image":
        return None if images.is_reference(text) else f"not an image name: {text[:100]!r}"
    if field == "dir":
        return images.folder_problem(_folder(file, text))
    try:
        redirect_targets(Policy("redirect", (text,)))
    except UsageError as error:
        return error.message
    return None


async def _pin(engine: Engine, agents: Sequence[Wanted], say: Callable[[str], None]) -> Fleet:
    import anyio.to_thread

    pinned, found = [], {}
    for one in agents:
        ref = one.ref
        if ref.friction:  # of a run that goes on: what could not be had then stays so
            pinned.append(ref)
            continue
        try:
            called, ident = await anyio.to_thread.run_sync(one.locate)
            ref = msgspec.structs.replace(ref, adapter=_adapter(one.given) or ref.adapter)
            image = msgspec.structs.replace(await engine.inspect(ident), ref=called)
        except (FrictionError, PackError) as error:
            end = End(error.code) if error.code in {e.value for e in End} else End.IMAGE_INVALID
            told = _told(error)
            if end is End.IMAGE_MISSING and one.given:  # a folder's name, mistyped, is an image's name too
                told += f"; and there is no folder {one.given}"
            ref = msgspec.structs.replace(ref, friction=told, friction_end=end.value)
            say(f"agent {ref.name} cannot be run: {told}")
        else:
            ref = msgspec.structs.replace(ref, image=image.ref, digest=image.digest)
            found[ref.name] = image
        pinned.append(ref)
    return Fleet(tuple(pinned), found)


def _adapter(given: str) -> str:
    """The adapter a folder's manifest asks for; empty where it has none."""
    folder = or_shipped(Path(given))
    return load_manifest(folder).adapter if given and (folder / MANIFEST).is_file() else ""


def _told(error: FrictionError | PackError) -> str:
    """A mistake in an agent's own manifest keeps its places: it is that agent's friction, not the run's."""
    problems = getattr(error, "problems", ())
    return "; ".join([str(error), *(str(problem) for problem in problems[:_SHOWN_PROBLEMS])])


def names(given: Sequence[str]) -> list[str]:
    """What `wanted` calls the agents of the command line."""
    return [name for name, _ in _distinct((_name(text), text) for text in given)]


def _name(text: str) -> str:
    """`fumehood/support:2` and `path/to/support/` are both `support`; a folder `desk/agent` is `desk`.

    `init` calls every agent's folder `agent`: that says nothing beside another one.
    """
    folder = or_shipped(Path(text))
    if folder.is_dir():
        folder = folder.resolve()
        return safe_id(folder.parent.name if folder.name == "agent" else folder.name, "agent")
    return safe_id(text.rsplit("/", 1)[-1].split("@", 1)[0].split(":", 1)[0], "agent")


def _distinct(pairs: Iterable[tuple[str, str]], others: Iterable[str] = ()) -> list[tuple[str, str]]:
    """`others`: names that are taken already."""
    taken = set(others)
    found = []
    for name, text in pairs:
        unique, number = name, 2
        while unique in taken:
            unique, number = f"{name}-{number}", number + 1
        taken.add(unique)
        found.append((unique, text))
    return found
