"""What the page shows of a comparison: which trials changed and why, and the base's transcripts of those."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from msgspec import Struct

from harness.domain.comparison import CheckChange, Comparison, Gate, Group, Pair, PairKind
from harness.domain.events import Event
from harness.domain.ids import TrialKey
from harness.domain.verdict import TrialVerdict
from harness.report.html.chunks import ChunkWriter
from harness.report.html.record import record

MAX_LISTED = 60
"""Trials listed of a kind; the rest are counted."""
MAX_PAIRS = 500
"""Base transcripts in a page."""
MAX_PAIR_BYTES = 16 * 2**20
LISTED = {
    PairKind.REGRESSED: "Regressed",
    PairKind.NEW_FAILURE: "New failures",
    PairKind.FAILED_DIFFERENTLY: "Failed differently",
    PairKind.IMPROVED: "Improved",
    PairKind.MISSING: "Missing: in the base only",
    PairKind.NOT_COMPARED: "Not compared: friction, inconclusive or not judged on a side",
}
_BESIDE = (PairKind.REGRESSED, PairKind.FAILED_DIFFERENTLY, PairKind.IMPROVED)
"""Pairs worth reading side by side, in this order."""


class Against(Struct, frozen=True):
    """A comparison with this run as its candidate. `scores` and `events`: of the base; None: its run is not there."""

    comparison: Comparison
    gate: Gate
    scores: Callable[[], Iterable[TrialVerdict]] | None = None
    events: Callable[[TrialKey], Iterable[Event]] | None = None


class ChangedTrial(Struct, frozen=True):
    """`trial` is the candidate's key; `beside`: the page has both transcripts; `there`: the candidate ran it."""

    trial: str
    why: str
    beside: bool
    there: bool


class ChangedList(Struct, frozen=True):
    title: str
    kind: PairKind
    trials: tuple[ChangedTrial, ...]
    more: int


def changed_lists(comparison: Comparison, beside: Iterable[str]) -> list[ChangedList]:
    """Each kind that occurs; `beside`: keys of the pairs whose base transcript is in the page."""
    known = set(beside)
    lists = []
    for kind, title in LISTED.items():
        found = [pair for pair in comparison.pairs if pair.kind is kind]
        if found:
            rows = tuple(
                ChangedTrial(str(pair.key), why_of(pair), str(pair.key) in known, pair.candidate is not None)
                for pair in found[:MAX_LISTED]
            )
            lists.append(ChangedList(title, kind, rows, max(0, len(found) - MAX_LISTED)))
    return lists


def counts(comparison: Comparison) -> dict[str, int]:
    """Trials of each kind that occurs, in the order of `PairKind`."""
    found = Counter(pair.kind for pair in comparison.pairs)
    return {kind.value.replace("_", " "): found[kind] for kind in PairKind if found[kind]}


def groups(comparison: Comparison, kind: str) -> list[Group]:
    """Of families and buckets only those where something changed; of properties and the pack all."""
    return [g for g in comparison.groups if g.kind == kind and g.test.n and (kind in ("pack", "property") or g.changed)]


def criticals(gate: Gate) -> list[tuple[str, str]]:
    """(trial, its critical checks that began to fail and what they were in the base), each trial once."""
    found: dict[str, list[str]] = {}
    for one in gate.critical:
        found.setdefault(str(one.trial), []).append(f"{one.check} ({one.property}; in the base: {one.base})")
    return [(trial, ", ".join(checks)) for trial, checks in found.items()]


def why_of(pair: Pair) -> str:
    """In one line, what is different about a pair."""
    parts = [pair.why] if pair.why else []
    if pair.base is not None and pair.candidate is not None and pair.base.end != pair.candidate.end and not pair.why:
        parts.append(f"{pair.base.end} → {pair.candidate.end}")
    parts += [f"now fails {_names(pair.worse)}"] if pair.worse else []
    parts += [f"no longer fails {_names(pair.better)}"] if pair.better else []
    parts += [f"{', '.join(pair.changes)} changed"] if pair.changes else []
    return "; ".join(parts)


def _names(changes: Iterable[CheckChange]) -> str:
    return ", ".join(f"{change.check} ({change.severity})" for change in changes)


def base_transcripts(against: Against, chunks: ChunkWriter) -> dict[str, list[Any]]:
    """Write the base's side of the pairs to be read side by side: candidate's key -> [kind, base's key, block, record].

    Bounded: the first `MAX_PAIRS`, regressions before all else, and `MAX_PAIR_BYTES`.
    """
    if against.scores is None or against.events is None:
        return {}
    wanted = {pair.base.key: pair for pair in _beside(against.comparison) if pair.base is not None}
    found: dict[str, list[Any]] = {}
    for verdict in against.scores():
        pair = wanted.get(verdict.key)
        if pair is not None and chunks.size < MAX_PAIR_BYTES:
            place = chunks.add(record(verdict, against.events(verdict.key)))
            found[str(pair.key)] = [pair.kind.value.replace("_", " "), str(verdict.key), *place]
    chunks.flush()
    return found


def _beside(comparison: Comparison) -> Iterator[Pair]:
    pairs = [pair for kind in _BESIDE for pair in comparison.pairs if pair.kind is kind]
    return iter(pairs[:MAX_PAIRS])
