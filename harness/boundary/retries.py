"""Retries per tool, with loops and storms told apart from an honest second try."""

from __future__ import annotations

import hashlib
from collections import OrderedDict, deque
from collections.abc import Mapping
from typing import Any

from harness.domain.canonical import canonical
from harness.domain.outcome import Breach, End

MAX_PERIOD = 16
"""Longest sequence of calls that is recognised as a loop when it repeats."""
STORM_OUTSTANDING = 16
"""Most calls that may wait for their results at once."""
_LOOP_REPEATS = 2
_KEPT_CALLS = 16_384
_KEPT_NAMES = 4_096


class RetryTracker:
    """Told of every tool call before it runs, and of every result; denied and invalid calls too, as failed.

    A retry is a call of a tool whose last result was a failure, or the very same call (1 == 1.0) made
    before. More than the limit ends the trial; `kind` says what it looked like: `loop` where a sequence of 2
    to MAX_PERIOD calls was seen again as a whole more often than the limit, else `retry`. `storm`: too many
    calls outstanding, whatever they are. Without a limit everything is only reported. Memory is bounded:
    calls and names far in the past are forgotten.
    """

    def __init__(self, max_retries_per_tool: int | None) -> None:
        self._limit = max_retries_per_tool
        self._repeats = _LOOP_REPEATS if max_retries_per_tool is None else max(max_retries_per_tool, 1)
        self._seen: OrderedDict[bytes, None] = OrderedDict()
        self._failed: OrderedDict[str, bool] = OrderedDict()
        self._retries: OrderedDict[str, int] = OrderedDict()
        self._recent: deque[bytes] = deque(maxlen=MAX_PERIOD)
        self._runs = [0] * (MAX_PERIOD + 1)
        self._outstanding = 0
        self._looping = self._storming = False
        self._loops = self._storms = 0

    def on_call(self, name: str, arguments: Mapping[str, Any]) -> Breach | None:
        """Before the tool runs. After a breach the call must not run, and has no result."""
        key = hashlib.sha256(canonical([name, arguments]).encode()).digest()
        retry = self._failed.get(name, False) or key in self._seen
        _keep(self._seen, key, None, _KEPT_CALLS)
        if retry:
            _keep(self._retries, name, self._retries.get(name, 0) + 1, _KEPT_NAMES)
        looping = self._sees_loop(key)
        breach = self._storm(name) or self._too_many(name, retry, looping)
        if breach is None:
            self._outstanding += 1
        return breach

    def on_result(self, name: str, failed: bool) -> None:
        """After the tool answered."""
        _keep(self._failed, name, failed, _KEPT_NAMES)
        self._outstanding = max(0, self._outstanding - 1)
        if self._outstanding < STORM_OUTSTANDING:
            self._storming = False

    def report(self) -> dict[str, int]:
        """Retries per tool (the refused one too), and episodes as `(loops)` and `(storms)`; what is 0 is left out."""
        episodes = {"(loops)": self._loops, "(storms)": self._storms}
        return {**dict(sorted(self._retries.items())), **{name: count for name, count in episodes.items() if count}}

    def _sees_loop(self, key: bytes) -> bool:
        """True while the last calls are one sequence over and over."""
        # _runs[p]: how many calls in a row, up to this one, were equal to the call p places before them.
        for period in range(1, MAX_PERIOD + 1):
            same = period <= len(self._recent) and self._recent[-period] == key
            self._runs[period] = self._runs[period] + 1 if same else 0
        self._recent.append(key)
        periods = (p for p in range(1, MAX_PERIOD + 1) if self._runs[p] > p * self._repeats)
        shortest = next(periods, 0)  # one call again and again has period 1: that is a retry
        looping = shortest > 1
        self._loops += looping and not self._looping
        self._looping = looping
        return looping

    def _storm(self, name: str) -> Breach | None:
        count = self._outstanding + 1
        if count <= STORM_OUTSTANDING:
            return None
        self._storms += not self._storming
        self._storming = True
        if self._limit is None:
            return None
        return _breach(name, "storm", count, STORM_OUTSTANDING)

    def _too_many(self, name: str, retry: bool, looping: bool) -> Breach | None:
        count = self._retries.get(name, 0)
        if self._limit is None or not retry or count <= self._limit:
            return None
        return _breach(name, "loop" if looping else "retry", count, self._limit)


def _breach(tool: str, kind: str, count: int, limit: int) -> Breach:
    shown = tool[:80]
    what = {
        "retry": f"tool {shown} was retried {count} times",
        "loop": f"tool {shown} was called {count} times again in a loop of the same calls",
        "storm": f"{count} tool calls were outstanding at once, {shown} the last",
    }[kind]
    detail = {"tool": shown, "kind": kind, "count": count, "limit": limit}
    return Breach(End.RETRY_LIMIT, f"{what}, and {limit} is the limit", detail)


def _keep(store: OrderedDict[Any, Any], key: Any, value: Any, limit: int) -> None:
    store[key] = value
    store.move_to_end(key)
    if len(store) > limit:
        store.popitem(last=False)
