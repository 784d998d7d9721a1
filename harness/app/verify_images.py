"""The images a pack names, of hidden tests and tool servers: found and pinned before the first trial."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import anyio.to_thread
from msgspec import UNSET

from harness.app import images
from harness.domain.pack import Scenario
from harness.errors import FrictionError, PackError, UsageError
from harness.ports import Engine, ImageInfo

Images = dict[str, ImageInfo]
"""By the name that packs call them."""


async def gather(engine: Engine, scenarios: Iterable[Scenario], servers: bool = True) -> Images:
    """Build, find or pull each; those of tool servers only where `servers` are to run.

    PackError where one cannot be had: its scenarios could not be judged.
    """
    found: Images = {}
    for scenario in scenarios:
        for name, whose in _named(scenario, servers):
            if name in found:
                continue
            try:
                ident = await anyio.to_thread.run_sync(images.locate_image, name)
                found[name] = await engine.inspect(ident)
            except (FrictionError, UsageError) as error:
                where = f"scenario {scenario.id}: the image of its {whose} cannot be used: {error.message}"
                raise PackError(where, remedy=error.remedy) from error
    return found


def _named(scenario: Scenario, servers: bool) -> Iterator[tuple[str, str]]:
    """Each image a scenario names, and whose it is."""
    if scenario.verify is not UNSET:
        yield scenario.verify.image, "hidden tests"
    for name, server in (scenario.servers or {}).items() if servers else ():
        yield server.image, f"tool server {name}"


async def again(engine: Engine, pinned: Mapping[str, str]) -> Images:
    """Those of a stored run, by the digests they had. PackError where one is gone."""
    found: Images = {}
    for name, digest in pinned.items():
        try:
            found[name] = await engine.inspect(digest)
        except FrictionError as error:
            what = f"image {name}, which the pack names, is not the one the run began with any more ({digest[:19]})"
            raise PackError(what, remedy="put it back, or start a new run") from error
    return found
