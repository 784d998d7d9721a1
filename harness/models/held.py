"""Time of one trial that passes for its upstream's sake: in line for it, and in attempts that come to nothing."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import httpx2

from harness.models.bounded import BoundedClient

_RETRIED = frozenset({408, 409, 429})


class Held:
    """The union of all waits, in ms; several at once count once."""

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self.now_ms = now_ms
        self._open: dict[object, int] = {}
        self._done = 0
        self._until = 0

    def begin(self, wait: object, since: int | None = None) -> None:
        """A wait of its own begins now, or began at `since`."""
        self._open.setdefault(wait, self.now_ms() if since is None else since)

    def end(self, wait: object) -> None:
        if wait in self._open:
            self._done = self.ms()
            self._until = self.now_ms()
            del self._open[wait]

    def ms(self) -> int:
        if not self._open:
            return self._done
        return self._done + max(0, self.now_ms() - max(self._until, min(self._open.values())))


class Attempts:
    """The attempts of one call: one that fails was in vain, and so is all that follows until the next one begins."""

    def __init__(self, held: Held) -> None:
        self._held = held
        self._since = 0

    def begin(self) -> None:
        self._held.end(self)
        self._since = self._held.now_ms()

    def failed(self) -> None:
        self._held.begin(self, self._since)

    def over(self) -> None:
        self._held.end(self)


CURRENT: ContextVar[Attempts | None] = ContextVar("attempts", default=None)
"""Those of the call that is being made in this task."""


class WatchedClient(BoundedClient):
    """Tells the call it sends for when an attempt begins, and when it fails: the retries are openai's business."""

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        attempts = CURRENT.get()
        if attempts is None:
            return await super().send(request, **options)
        attempts.begin()
        try:
            response = await super().send(request, **options)
        except Exception:
            attempts.failed()
            raise
        if response.status_code in _RETRIED or response.status_code >= 500:
            attempts.failed()
        return response
