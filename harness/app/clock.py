"""The real clocks: one that only goes forward, and the date."""

from __future__ import annotations

import time
from datetime import UTC, datetime


class MonotonicClock:
    """`ports.Clock` over time.monotonic_ns, which no change of the wall clock moves."""

    def now_ms(self) -> int:
        return time.monotonic_ns() // 1_000_000


def now() -> str:
    """ISO 8601 in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")
