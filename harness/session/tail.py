"""The end of a stream that may be endless: what is kept, how much there was, what was dropped."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

SPARE = 8192
"""Bytes kept before the tail, so that a secret cut at its edge is whole when it is scrubbed."""


class Tail:
    """Keeps the last `keep` bytes of what it is fed, in memory bounded by twice that."""

    def __init__(self, keep: int) -> None:
        self._keep = keep
        self._parts: deque[bytes] = deque()
        self._held = 0
        self.total = 0

    def feed(self, data: bytes) -> None:
        self.total += len(data)
        self._parts.append(data[-(self._keep + SPARE) :])
        self._held += len(self._parts[-1])
        while self._held - len(self._parts[0]) >= self._keep + SPARE:
            self._held -= len(self._parts.popleft())

    def text(self, scrub: Callable[[str], str]) -> str:
        """The kept tail as text, scrubbed before it is cut to size; invalid bytes replaced."""
        whole = scrub(b"".join(self._parts).decode("utf-8", "replace"))
        if self._held < self.total:
            # Half a secret may stand at the front, and masks may have made the rest shorter than what is kept.
            whole = whole[SPARE:]
        return whole if self.total <= self._keep else whole[-self._keep :]

    @property
    def dropped(self) -> int:
        """Bytes that are not in `text`."""
        return max(0, self.total - self._keep)
