"""The real clock."""

from __future__ import annotations

import time


class MonotonicClock:
    """`ports.Clock` over time.monotonic_ns, which no change of the wall clock moves."""

    def now_ms(self) -> int:
        return time.monotonic_ns() // 1_000_000
