"""A judge: which model, how it is asked, and what it may spend."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

Count = Annotated[int, Meta(ge=1, le=1_000_000_000)]
Usd = Annotated[float, Meta(ge=0.0, le=1_000_000.0)]


class JudgeRef(Struct, frozen=True):
    """A model behind an OpenAI-compatible API; an empty `base_url` is the client's own default."""

    model: str
    base_url: str = ""


class JudgeSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """How a judge is asked. Prices in USD per million tokens; None: not known, and then no cost is known either.

    `samples` votes per check, most of which must agree; sample i is drawn with seed `seed` + i. `answer_tokens`
    bounds one reply. `retries` of one call, for faults of the upstream, with growing waits. `concurrency`: calls at
    once. `max_*`: what judging may spend in all; what no longer fits is *not scored*.
    """

    samples: Annotated[int, Meta(ge=1, le=25)] = 3
    temperature: Annotated[float, Meta(ge=0.0, le=2.0)] = 0.5
    seed: int = 0
    answer_tokens: Annotated[int, Meta(ge=16, le=100_000)] = 1500
    timeout_ms: Annotated[int, Meta(ge=1, le=3_600_000)] = 60_000
    retries: Annotated[int, Meta(ge=0, le=20)] = 3
    concurrency: Annotated[int, Meta(ge=1, le=256)] = 4
    max_calls: Count | None = None
    max_tokens: Count | None = None
    max_cost_usd: Usd | None = None
    usd_per_mtok_in: Usd | None = None
    usd_per_mtok_out: Usd | None = None


class JudgeSpec(Struct, frozen=True):
    """A judge as a run or a scoring used it."""

    ref: JudgeRef
    settings: JudgeSettings
