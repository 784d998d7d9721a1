"""Several agents in one file (`--agents`), exactly as written in YAML."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from harness.domain.limits import OwnLimits
from harness.domain.model import ModelName
from harness.domain.pack import Id
from harness.domain.spec import WritablePolicy


class AgentEntry(Struct, frozen=True, forbid_unknown_fields=True):
    """One agent: an `image`, or a folder `dir` (from the file's own) that is built. The rest replaces the run's.

    `model_map`: name of a model (a glob) as the agent asks for it -> the one it is given, before `--model-map`.
    """

    name: Id
    image: str | None = None
    dir: str | None = None
    writable: WritablePolicy | None = None
    writable_paths: list[str] = []
    limits: OwnLimits = OwnLimits()
    model_map: dict[ModelName, ModelName] = {}


class AgentsFile(Struct, frozen=True, forbid_unknown_fields=True):
    """The whole file."""

    agents: Annotated[list[AgentEntry], Meta(min_length=1, max_length=200)]
    fumehood: Literal[1] = 1
