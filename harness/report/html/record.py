"""The heavy part of one trial: its verdict and transcript as JSON, cut to a size a browser can bear, and saying so."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import Struct, field

from harness.domain.events import Event
from harness.domain.verdict import TrialVerdict
from harness.errors import StoreError

EVENT_CHARS = 48_000
TRANSCRIPT_CHARS = 384_000
"""Characters of JSON kept of one event, and of one transcript."""
_STRINGS = (12_000, 3_000, 500, 60)
"""How far strings of too large an event are cut, tried in this order."""
_ITEMS = 400
_EXACT = 2**53
_LONG_NUMBER = re.compile(r"\d{16}")
_ESSENTIAL = frozenset({"trial", "invoke", "violation", "finding", "cancel", "trajectory", "stderr", "exit", "end"})
_MOST_ESSENTIAL = 200


class _Kept(Struct):
    """What is kept so far. `cut`: characters left out of events that are there; `skipped`: events left out whole."""

    events: list[Any] = field(default_factory=list)
    chars: int = 0
    essential: int = 0
    cut: int = 0
    skipped: int = 0
    skipped_chars: int = 0
    broken: str = ""


def record(verdict: TrialVerdict, events: Iterable[Event]) -> bytes:
    """`{"v": verdict, "e": [[line, t, source, kind, data, cut], ...], "skipped": n, "chars": n, "broken": why}`.

    Over `TRANSCRIPT_CHARS` only the lines that checks rest on and those that say how it ended are kept. `broken`:
    where the journal cannot be read (on), with what could be read before. One event is in memory at a time.
    """
    evidence = {line for check in verdict.checks for line in check.evidence}
    kept = _Kept()
    try:
        for event in events:
            _keep(kept, event, event.line in evidence)
    except StoreError as error:
        kept.broken = error.message
    whole: dict[str, Any] = {"v": msgspec.to_builtins(verdict), "e": kept.events}
    whole |= {"skipped": kept.skipped, "chars": kept.cut + kept.skipped_chars} if kept.cut or kept.skipped else {}
    whole |= {"broken": kept.broken} if kept.broken else {}
    return _json(whole).encode("utf-8", "replace")


def _keep(kept: _Kept, event: Event, evidence: bool) -> None:
    data, size, cut = fit(event.data, tail=event.kind == "stderr")
    if kept.chars + size > TRANSCRIPT_CHARS:
        # what an agent can send without end must not push the page's size, not even as evidence
        if kept.essential >= _MOST_ESSENTIAL or not (evidence or event.kind in _ESSENTIAL):
            kept.skipped += 1
            kept.skipped_chars += size + cut
            return
        kept.essential += 1
    kept.chars += size
    kept.cut += cut
    kept.events.append([event.line, event.t, event.source, event.kind, data, *([cut] if cut else [])])


def fit(data: Any, tail: bool = False) -> tuple[Any, int, int]:
    """`data` in at most `EVENT_CHARS` of JSON; its size now, and how many characters were left out.

    Long strings lose their end (or with `tail` their beginning) first; what is too large even so becomes a text.
    """
    whole = _json(data)
    if _LONG_NUMBER.search(whole):
        data = _exact(data)
        whole = _json(data)
    if len(whole) <= EVENT_CHARS:
        return data, len(whole), 0
    for limit in _STRINGS:
        short = _shorten(data, limit, tail)
        size = len(_json(short))
        if size <= EVENT_CHARS:
            return short, size, max(1, len(whole) - size)
    return whole[:EVENT_CHARS], EVENT_CHARS, len(whole) - EVENT_CHARS


def _exact(value: Any) -> Any:
    """Whole numbers that a browser would round, as texts of their digits."""
    if isinstance(value, int) and not -_EXACT <= value <= _EXACT:
        return str(value)
    if isinstance(value, dict):
        return {key: _exact(item) for key, item in value.items()}
    return [_exact(item) for item in value] if isinstance(value, list | tuple) else value


def _shorten(value: Any, limit: int, tail: bool) -> Any:
    if isinstance(value, str):
        if len(value) <= limit:
            return value
        return "…" + value[-limit:] if tail else value[:limit] + "…"
    if isinstance(value, dict):
        return {_shorten(k, limit, tail): _shorten(value[k], limit, tail) for k in list(value)[:_ITEMS]}
    if isinstance(value, list | tuple):
        return [_shorten(item, limit, tail) for item in value[:_ITEMS]]
    return value


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
