"""Two records laid side by side, trial by trial: what became of each, and which checks turned."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from harness.domain.comparison import CheckChange, Critical, Pair, PairKind
from harness.domain.ids import TrialKey
from harness.domain.record import CheckRow, Standing, TrialRow
from harness.domain.verdict import Severity, Status

_SAYS = (Standing.PASS, Standing.FAIL)
"""What can be compared."""


def paired(base: Iterable[TrialRow], candidate: Iterable[TrialRow], agents: Mapping[str, str]) -> tuple[Pair, ...]:
    """Every trial of either side once, sorted by key. `agents`: base name -> candidate name of those compared.

    Trials of other agents are left out.
    """
    before = {
        TrialKey(agents[row.key.agent], row.key.scenario, row.key.trial): row for row in base if row.key.agent in agents
    }
    compared = set(agents.values())
    after = {row.key: row for row in candidate if row.key.agent in compared}
    return tuple(_pair(key, before.get(key), after.get(key)) for key in sorted({*before, *after}))


def _pair(key: TrialKey, base: TrialRow | None, candidate: TrialRow | None) -> Pair:
    row = candidate or base
    assert row is not None
    pair = Pair(PairKind.MISSING, key, row.family, row.bucket, base, candidate)
    if candidate is None:
        return pair
    doubtful = [
        f"{side}: {row.standing} ({row.end})"
        for side, row in (("base", base), ("candidate", candidate))
        if row is not None and row.standing not in _SAYS
    ]
    if base is not None:
        better = tuple(map(_swapped, _turned(candidate, base)))
        pair = msgspec.structs.replace(pair, worse=_turned(base, candidate), better=better)
    if doubtful:
        return msgspec.structs.replace(pair, kind=PairKind.NOT_COMPARED, why="; ".join(doubtful))
    if base is None:
        kind = PairKind.NEW_PASS if candidate.passed else PairKind.NEW_FAILURE
        return msgspec.structs.replace(pair, kind=kind)
    changes = () if base.passed or candidate.passed else tuple(_changes(base, candidate))
    return msgspec.structs.replace(pair, kind=_kind(base.passed, candidate.passed, bool(changes)), changes=changes)


def _kind(before: bool, after: bool, differs: bool) -> PairKind:
    if before != after:
        return PairKind.IMPROVED if after else PairKind.REGRESSED
    return PairKind.FAILED_DIFFERENTLY if differs else PairKind.UNCHANGED


def _changes(base: TrialRow, candidate: TrialRow) -> Iterator[str]:
    if base.end != candidate.end:
        yield "end"
    if _failing(base) != _failing(candidate):
        yield "checks"
    if base.tools != candidate.tools:
        yield "tools"


def _failing(row: TrialRow) -> set[str]:
    """The checks that made a trial fail."""
    return {
        label for label, c in row.labelled() if c.severity is not Severity.MINOR and c.status is not Status.PASS
        and c.status is not Status.NOT_APPLICABLE
    }  # fmt: skip


def _turned(base: TrialRow, candidate: TrialRow) -> tuple[CheckChange, ...]:
    """The checks that fail in `candidate` and not in `base`."""
    before = dict(base.labelled())
    return tuple(
        CheckChange(label, _gravest(check, before.get(label)), check.property, _status(before.get(label)), check.status)
        for label, check in candidate.labelled()
        if check.status is Status.FAIL and _status(before.get(label)) is not Status.FAIL
    )


def _swapped(change: CheckChange) -> CheckChange:
    return msgspec.structs.replace(change, base=change.candidate, candidate=change.base)


def _status(check: CheckRow | None) -> Status | None:
    return check.status if check is not None else None


def _gravest(*checks: CheckRow | None) -> Severity:
    """A pack that calls a check less severe than it did does not make its failure so."""
    return min((check.severity for check in checks if check is not None), key=list(Severity).index)


def criticals(pairs: Iterable[Pair]) -> tuple[Critical, ...]:
    """Critical checks that began to fail, wherever they did: in a fail that was one before, in a trial cut short.

    Where the base has no counted trial to stand against, its other trials of the scenario speak: none of them may
    have failed the check. A scenario that the base never ran says nothing of a regression.
    """
    counted: set[tuple[str, str]] = set()
    failed: dict[tuple[str, str], set[str]] = {}
    alone: list[tuple[Pair, TrialRow]] = []
    found: list[Critical] = []
    for pair in pairs:
        cell = (pair.key.agent, pair.key.scenario)
        base, candidate = pair.base, pair.candidate
        if base is not None:
            failed.setdefault(cell, set()).update(label for label, c in base.labelled() if c.status is Status.FAIL)
            counted |= {cell} if base.counts else set()
        if base is not None and base.counts:
            turned = (change for change in pair.worse if change.severity is Severity.CRITICAL)
            found += [Critical(pair.key, c.check, c.property, c.base or "no such check") for c in turned]
        elif candidate is not None:
            alone.append((pair, candidate))
    for pair, candidate in alone:
        cell = (pair.key.agent, pair.key.scenario)
        if cell in counted:
            found += [
                Critical(pair.key, label, check.property, "failed in no trial of the scenario")
                for label, check in candidate.labelled()
                if _failed_critically(check) and label not in failed[cell]
            ]
    return tuple(sorted(found, key=lambda critical: (critical.trial, critical.check)))


def _failed_critically(check: CheckRow) -> bool:
    return check.status is Status.FAIL and check.severity is Severity.CRITICAL
