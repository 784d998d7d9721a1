"""The gate: which of what a comparison found blocks, and why.

A candidate is a regression (exit 5) where any of these holds, for any agent:

critical   a critical check fails that did not fail in the same trial of the base. One is enough, whatever the rates.
bar        a property is under its bar, and the base's was not. The bar is the higher of the two packs' bars, so that
           a pack cannot lower it unseen. Rates are those of the whole runs.
mcnemar    more trials regressed than improved, and the exact two-sided McNemar test gives p < 0.05. Given the scenarios
           trials are independent, so the test holds for this pack; it says nothing of scenarios that are not in it.
rate       of the compared pairs, the share that keeps a property, or that passes at all, fell by more than the drift
           threshold (absolute). The base is whatever was given: against a golden baseline, small steps add up.

It cannot say (exit 6) where the candidate lacks trials it was to run, where a trial that the base can be compared by
is inconclusive, or where friction left a whole scenario of the base without a comparison; nor (exit 3) where such a
trial was not judged. Scenarios that the candidate was never asked to run do not block; the comparison says so first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Literal

from harness.domain.comparison import Comparison, Critical, Gate, GateReason, Pair
from harness.domain.record import Header, Standing
from harness.domain.verdict import ExitCode, Property, PropertyRate

ALPHA = 0.05
_SAYS = (Standing.PASS, Standing.FAIL)
_SHOWN = 3


def gate_of(comparison: Comparison) -> Gate:
    """What blocks in a comparison; pure."""
    reasons = (
        *_critical(comparison.critical),
        *_bars(comparison),
        *_losses(comparison),
        *_drops(comparison),
        *_unsaid(comparison),
    )
    return Gate(reasons, comparison.critical)


def _critical(found: Iterable[Critical]) -> Iterator[GateReason]:
    for one in found:
        text = f"critical regression: {one.check} ({one.property}) fails in {one.trial}; in the base: {one.base}"
        yield GateReason(ExitCode.REGRESSION, "critical", text)


def _bars(comparison: Comparison) -> Iterator[GateReason]:
    before, after = _rates(comparison.base), _rates(comparison.candidate)
    for ours, theirs in comparison.agents:
        for prop in Property:
            one, other = before.get((ours, prop)), after.get((theirs, prop))
            if one is None or other is None:
                continue
            bar = max(one.bar, other.bar)
            if other.rate < bar <= one.rate:
                text = (
                    f"{theirs}: {prop} is under its bar of {bar:.4g} with {other.passes} of {other.n}; "
                    f"the base was not, with {one.passes} of {one.n}"
                )
                yield GateReason(ExitCode.REGRESSION, "bar", text)


def _rates(header: Header) -> dict[tuple[str, Property], PropertyRate]:
    return {(rate.agent, rate.property): rate for rate in header.summary.rates}


def _losses(comparison: Comparison) -> Iterator[GateReason]:
    for group in comparison.groups:
        test = group.test
        if group.kind == "pack" and test.lost > test.gained and test.p_value < ALPHA:
            text = f"{group.agent}: {test.lost} trials regressed, {test.gained} improved; {group.reading}"
            yield GateReason(ExitCode.REGRESSION, "mcnemar", text)


def _drops(comparison: Comparison) -> Iterator[GateReason]:
    """In whole numbers: in floats 0.8 - 0.7 is more than 0.1."""
    limit = Fraction(comparison.drift).limit_denominator(1_000_000)
    for group in comparison.groups:
        if group.kind not in ("pack", "property") or group.before - group.after <= limit * group.test.n:
            continue
        what = "its pass rate" if group.kind == "pack" else group.name
        text = (
            f"{group.agent}: {what} fell by more than {comparison.drift:.4g}, from {group.before} to {group.after} "
            f"of {group.test.n} compared trials"
        )
        yield GateReason(ExitCode.REGRESSION, "rate", text)


def _unsaid(comparison: Comparison) -> Iterator[GateReason]:
    missing = comparison.candidate.summary.missing
    if missing:
        yield GateReason(ExitCode.NO_VERDICT, "incomplete", f"the candidate lacks {missing} of its planned trials")
    lost = [pair for pair in comparison.pairs if _lost(pair)]
    by_standing: dict[Standing, list[Pair]] = {}
    for pair in lost:
        assert pair.candidate is not None
        by_standing.setdefault(pair.candidate.standing, []).append(pair)
    if found := by_standing.get(Standing.INCONCLUSIVE):
        yield _cannot_say(ExitCode.NO_VERDICT, found, "are inconclusive in the candidate")
    if found := by_standing.get(Standing.FRICTION):
        compared = {_cell(pair) for pair in comparison.pairs if pair.comparable}
        blind = [pair for pair in found if _cell(pair) not in compared]
        if blind:
            yield _cannot_say(ExitCode.NO_VERDICT, blind, "met only friction, as did all others of their scenarios")
    if found := by_standing.get(Standing.NOT_JUDGED):
        yield _cannot_say(ExitCode.NOT_JUDGED, found, "were not judged in the candidate")


def _lost(pair: Pair) -> bool:
    """The base says pass or fail, and the candidate, which ran it, does not."""
    both = pair.base is not None and pair.candidate is not None
    return both and not pair.comparable and pair.base is not None and pair.base.standing in _SAYS


def _cell(pair: Pair) -> tuple[str, str]:
    return pair.key.agent, pair.key.scenario


def _cannot_say(code: ExitCode, pairs: list[Pair], what: str) -> GateReason:
    names = ", ".join(str(pair.key) for pair in pairs[:_SHOWN])
    more = f" and {len(pairs) - _SHOWN} more" if len(pairs) > _SHOWN else ""
    rule: Literal["incomplete", "not_judged"] = "not_judged" if code is ExitCode.NOT_JUDGED else "incomplete"
    return GateReason(code, rule, f"{len(pairs)} trials that the base can be compared by {what}: {names}{more}")
