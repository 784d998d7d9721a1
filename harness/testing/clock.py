"""A clock that tests move by hand."""

from __future__ import annotations


class ManualClock:
    """`ports.Clock` that stands still until it is moved."""

    def __init__(self) -> None:
        self.ms = 0

    def now_ms(self) -> int:
        return self.ms
