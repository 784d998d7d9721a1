"""Budgets (what an agent may use up) and limits (what the box can bear), with their units."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import asdict, replace

Count = Annotated[int, Meta(ge=1, le=10_000_000)]
Millis = Annotated[int, Meta(ge=1, le=86_400_000)]
Bytes = Annotated[int, Meta(ge=1, le=1 << 40)]
Usd = Annotated[float, Meta(gt=0, le=1_000_000)]


class Budget(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a pack grants one trial; None: not limited (the box's limits always hold).

    A step is any tool call, model call or ask. `max_retries_per_tool` counts calls beyond the first
    of the same tool after it failed, or of the very same call. 0 is allowed only where it has a
    meaning (no retries, no calls of a kind).
    """

    max_steps: Count | None = None
    max_tool_calls: Annotated[int, Meta(ge=0, le=10_000_000)] | None = None
    max_model_calls: Annotated[int, Meta(ge=0, le=10_000_000)] | None = None
    max_asks: Annotated[int, Meta(ge=0, le=10_000_000)] | None = None
    max_tokens: Count | None = None
    max_cost_usd: Usd | None = None
    max_retries_per_tool: Annotated[int, Meta(ge=0, le=10_000)] | None = None
    max_duration_ms: Millis | None = None


class Limits(Struct, frozen=True, forbid_unknown_fields=True):
    """What the boundary and the container bear; sizes in bytes, times in milliseconds."""

    max_line_bytes: Annotated[int, Meta(ge=1024, le=64 * 1024 * 1024)] = 4 * 1024 * 1024
    max_stdout_bytes: Bytes = 32 * 1024 * 1024
    max_stderr_bytes: Bytes = 256 * 1024 * 1024
    kept_stderr_bytes: Bytes = 64 * 1024
    max_messages_per_second: Count = 2000
    startup_ms: Millis = 20_000
    wall_ms: Millis = 300_000
    idle_ms: Millis = 60_000
    write_ms: Millis = 10_000
    call_ms: Millis = 120_000
    cancel_grace_ms: Millis = 1000
    term_grace_ms: Millis = 700
    engine_call_ms: Millis = 60_000
    memory_bytes: Annotated[int, Meta(ge=8 * 1024 * 1024, le=1 << 40)] = 512 * 1024 * 1024
    cpus: Annotated[float, Meta(gt=0, le=1024)] = 1.0
    pids: Annotated[int, Meta(ge=4, le=32768)] = 128
    nofile: Annotated[int, Meta(ge=16, le=20000)] = 1024
    scratch_bytes: Bytes = 64 * 1024 * 1024
    shm_bytes: Bytes = 16 * 1024 * 1024


class OwnLimits(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Limits that one agent needs otherwise than the run has them: of its box and its start, as in `Limits`.

    What its work may take (wall time, output, messages) is the same for all: their results are compared.
    """

    startup_ms: Millis | None = None
    memory_bytes: Annotated[int, Meta(ge=8 * 1024 * 1024, le=1 << 40)] | None = None
    cpus: Annotated[float, Meta(gt=0, le=1024)] | None = None
    pids: Annotated[int, Meta(ge=4, le=32768)] | None = None
    nofile: Annotated[int, Meta(ge=16, le=20000)] | None = None
    scratch_bytes: Bytes | None = None
    shm_bytes: Bytes | None = None

    def over(self, limits: Limits) -> Limits:
        """`limits` with these in their place."""
        return replace(limits, **{name: value for name, value in asdict(self).items() if value is not None})
