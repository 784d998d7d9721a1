"""How a trial ends: what happened, who is to blame, and the three fixed answers per end."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from msgspec import Struct

from harness.domain.ids import TrialKey


class Blame(StrEnum):
    """Whose doing an end is."""

    AGENT = "agent"
    INTEGRATION = "integration"
    PACK = "pack"
    UPSTREAM = "upstream"
    HARNESS = "harness"


class End(StrEnum):
    """What happened at the end of a trial; the value is the machine code in every record."""

    COMPLETED = "completed"
    REFUSED = "refused"
    BLANK_COMPLETION = "blank_completion"
    AGENT_FAILED = "agent_failed"
    EXITED = "exited"
    CRASHED = "crashed"
    BUDGET_EXCEEDED = "budget_exceeded"
    RETRY_LIMIT = "retry_limit"
    TIMEOUT = "timeout"
    IDLE = "idle"
    CALL_TIMEOUT = "call_timeout"
    OUTPUT_LIMIT = "output_limit"
    OOM_KILLED = "oom_killed"
    PIDS_LIMIT = "pids_limit"
    DISK_FULL = "disk_full"
    PROTOCOL_VIOLATION = "protocol_violation"
    STARTUP_FAILED = "startup_failed"
    VERSION_MISMATCH = "version_mismatch"
    IMAGE_MISSING = "image_missing"
    IMAGE_INVALID = "image_invalid"
    PACK_ERROR = "pack_error"
    UPSTREAM_ERROR = "upstream_error"
    ENGINE_ERROR = "engine_error"
    CONTAINER_LOST = "container_lost"
    CANCELLED = "cancelled"
    HARNESS_ERROR = "harness_error"


class EndRule(Struct, frozen=True):
    """The fixed answers for an end: may it be retried, is it scored, where does it count."""

    blame: Blame
    retry: bool
    scored: bool
    counts: bool

    @property
    def friction(self) -> bool:
        """Counted as friction of the integration, never as quality."""
        return self.blame is Blame.INTEGRATION

    @property
    def inconclusive(self) -> bool:
        """No verdict can rest on it: the pack's, the upstream's or our own fault."""
        return self.blame in (Blame.PACK, Blame.UPSTREAM, Blame.HARNESS)


_AGENT = EndRule(Blame.AGENT, retry=False, scored=True, counts=True)
_INTEGRATION = EndRule(Blame.INTEGRATION, retry=False, scored=False, counts=False)
_HARNESS = EndRule(Blame.HARNESS, retry=False, scored=False, counts=False)
_ENGINE = EndRule(Blame.HARNESS, retry=True, scored=False, counts=False)

END_RULES: dict[End, EndRule] = {
    **dict.fromkeys(
        (
            End.COMPLETED, End.REFUSED, End.BLANK_COMPLETION, End.AGENT_FAILED, End.EXITED, End.CRASHED,
            End.BUDGET_EXCEEDED, End.RETRY_LIMIT, End.TIMEOUT, End.IDLE, End.CALL_TIMEOUT,
            End.OUTPUT_LIMIT, End.OOM_KILLED, End.PIDS_LIMIT, End.DISK_FULL, End.PROTOCOL_VIOLATION,
        ),
        _AGENT,
    ),
    **dict.fromkeys((End.STARTUP_FAILED, End.VERSION_MISMATCH, End.IMAGE_MISSING, End.IMAGE_INVALID), _INTEGRATION),
    End.PACK_ERROR: EndRule(Blame.PACK, retry=False, scored=False, counts=False),
    End.UPSTREAM_ERROR: EndRule(Blame.UPSTREAM, retry=True, scored=False, counts=False),
    End.ENGINE_ERROR: _ENGINE,
    End.CONTAINER_LOST: _ENGINE,
    End.CANCELLED: _HARNESS,
    End.HARNESS_ERROR: _HARNESS,
}  # fmt: skip


def rule_for(end: End, spoke: bool = True) -> EndRule:
    """The rule of an end. What an agent does before `ready` is the integration's trouble, whatever it is."""
    rule = END_RULES[end]
    return _INTEGRATION if rule is _AGENT and not spoke else rule


class Usage(Struct, frozen=True):
    """What a trial used, observed at the boundary; times in ms, memory in bytes, -1: not known.

    `cost_known` is False once a model call had no known price: then `cost_usd` is only what is known of it.
    """

    steps: int = 0
    tool_calls: int = 0
    model_calls: int = 0
    asks: int = 0
    tokens: int = 0
    cost_usd: float = 0.0
    cost_known: bool = True
    wall_ms: int = 0
    startup_ms: int = 0
    stdout_bytes: int = 0
    stderr_bytes: int = 0
    peak_memory_bytes: int = -1


class Breach(Struct, frozen=True):
    """A rule was broken in a way that ends the trial: which end, why, and the numbers."""

    end: End
    reason: str
    detail: dict[str, Any] = {}


class Outcome(Struct, frozen=True):
    """The last event of a trial: what happened, to whom it is charged, and why in one sentence.

    `detail` is machine-readable: {"budget": "max_steps", "limit": 12, "count": 13} for a budget,
    {"timer": "wall_ms", "limit_ms": 60000} for a timer, {"code": "bad_json", "offset": 17} for a line,
    {"exit_code": 3} or {"signal": 11} for an exit.
    """

    key: TrialKey
    attempt: int
    end: End
    blame: Blame
    reason: str
    spoke: bool
    usage: Usage
    detail: dict[str, Any] = {}

    @property
    def rule(self) -> EndRule:
        return rule_for(self.end, self.spoke)
