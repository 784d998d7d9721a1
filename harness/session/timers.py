"""When a session must end at the latest: start-up, wall, idle and call time, each with its name; pure."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from harness.domain.limits import Limits
from harness.domain.outcome import Breach, End
from harness.session.ending import timer

HELD_MS = 200
"""How often a deadline is looked at that a call holds."""


class Timer(NamedTuple):
    """One deadline: when it is over (ms), and the end, name and value that a verdict then gives."""

    at: int
    end: End
    name: str
    limit_ms: int


class Timers:
    """All times of one session, in ms since it began. Start-up is not charged to the wall.

    Idle time does not run while the agent waits for us; a sign of life puts it off, and never the wall.
    """

    def __init__(self, limits: Limits, max_duration_ms: int | None) -> None:
        self._limits = limits
        self._wall = ("wall_ms", limits.wall_ms)
        if max_duration_ms is not None and max_duration_ms <= limits.wall_ms:
            self._wall = ("max_duration_ms", max_duration_ms)
        self.ready_ms: int | None = None
        self._heard = 0
        self._forgiven = 0
        self._waiting: dict[str, int] = {}
        self._served: set[str] = set()
        self._recent: deque[int] = deque(maxlen=limits.max_messages_per_second + 1)

    def ready(self, now: int) -> None:
        self.ready_ms = self._heard = now

    def heard(self, now: int) -> None:
        self._heard = now

    def asked(self, ident: str, now: int, served: bool = False) -> None:
        """The agent waits for us from now on; `served`: for a server of the pack, whose own time is bounded.

        No timer fires before that is over: a server that hangs is not the agent's doing.
        """
        self._waiting[ident] = now
        if served:
            self._served.add(ident)

    def answered(self, ident: str, now: int) -> int:
        """How long the agent waited, in ms."""
        began = self._waiting.pop(ident, now)
        self._served.discard(ident)
        self._heard = now
        return now - began

    def forgive(self, ms: int) -> None:
        """Time in which the harness was busy with something else, such as a neighbour's hostile line."""
        self._forgiven += ms

    def first(self) -> Timer:
        """The deadline that is over first."""
        limits = self._limits
        if self.ready_ms is None:
            return Timer(limits.startup_ms + self._forgiven, End.STARTUP_FAILED, "startup_ms", limits.startup_ms)
        name, wall = self._wall
        timers = [Timer(self.ready_ms + wall, End.TIMEOUT, name, wall)]
        if self._waiting:
            oldest = min(self._waiting.values())
            timers.append(Timer(oldest + limits.call_ms, End.CALL_TIMEOUT, "call_ms", limits.call_ms))
        else:
            timers.append(Timer(self._heard + limits.idle_ms, End.IDLE, "idle_ms", limits.idle_ms))
        first = min(timers, key=lambda timer: timer.at)
        return first._replace(at=first.at + self._forgiven)

    def due(self, now: int) -> int:
        """When to look at the timers again: at the first deadline, or a little later where that is held."""
        at = self.first().at
        return now + HELD_MS if at <= now and self._held(at) else at

    def _held(self, at: int) -> bool:
        """Whether a call of a server that began before the deadline is still out; a later one holds nothing."""
        return any(self._waiting[ident] < at for ident in self._served)

    def fired(self, now: int, writing: bool) -> Breach | None:
        """The timer that is over, if one is. `writing`: a line of ours is still on its way to the agent."""
        if writing:
            self._heard = now
        first = self.first()
        over = first.at <= now and not self._held(first.at)
        return timer(first.end, first.name, first.limit_ms) if over else None

    def too_fast(self, now: int) -> Breach | None:
        """Count one message; a breach where there were too many within the last second."""
        limit = self._limits.max_messages_per_second
        self._recent.append(now)
        if len(self._recent) <= limit or now - self._recent[0] >= 1000:
            return None
        detail = {"limit": "max_messages_per_second", "count": limit + 1}
        return Breach(End.OUTPUT_LIMIT, f"more than {limit} messages within a second", detail)
