"""A model that agents are given: where its answers come from, which name stands for which, and how it is asked."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

Usd = Annotated[float, Meta(ge=0.0, le=1_000_000.0)]
ModelName = Annotated[str, Meta(min_length=1, max_length=200)]
SourceKind = Literal["scripted", "openai", "cassette", "none"]


class ModelSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """How an upstream is asked. `timeout_ms`: one attempt, from the first byte sent to the last one read.

    `retries` of one call, for faults of the upstream. `concurrency`: calls at once, of all trials together.
    `max_cost_usd`: what the whole run may spend; None: what its trials may.
    """

    timeout_ms: Annotated[int, Meta(ge=1, le=3_600_000)] = 60_000
    retries: Annotated[int, Meta(ge=0, le=20)] = 3
    concurrency: Annotated[int, Meta(ge=1, le=256)] = 8
    max_cost_usd: Usd | None = None


class Price(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """US dollars per million tokens; `cached`: of those read from the provider's cache, None: as all others.

    `date` (ISO 8601) and `source` say when and where it was read.
    """

    input: Usd
    output: Usd
    cached: Usd | None = None
    date: str = ""
    source: str = ""


class NameRule(Struct, frozen=True):
    """Agents that ask for a model whose name `asked` matches (a glob) are given `used`."""

    asked: ModelName
    used: ModelName


class ModelSpec(Struct, frozen=True):
    """Where a run's answers of models come from; the default is the pack's own turns. Never holds a key.

    openai: `model` at `base_url`, an empty `model` stands for whatever name the agent asks for. cassette: the file
    `cassette`, whose sha256 is `cassette_digest`. none: every call is refused. `prices`: the user's own.
    """

    source: SourceKind = "scripted"
    model: str = ""
    base_url: str = ""
    cassette: str = ""
    cassette_digest: str = ""
    names: tuple[NameRule, ...] = ()
    settings: ModelSettings = ModelSettings()
    prices: dict[str, Price] = {}

    def __str__(self) -> str:
        """What a comparison of two runs calls it: without address and path, which say nothing of quality."""
        if self.source == "openai":
            what = f"openai:{self.model}"
        else:
            what = f"cassette:{self.cassette_digest[:12]}" if self.source == "cassette" else self.source
        return what + "".join(f" {rule.asked}={rule.used}" for rule in self.names)
