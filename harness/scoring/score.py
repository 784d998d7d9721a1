"""From a trial's journal to its verdict: every check run, no check trusted not to fail."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from harness.domain.events import Event
from harness.domain.ids import TrialKey
from harness.domain.outcome import Blame, End
from harness.domain.pack import CheckSpec, Scenario
from harness.domain.verdict import CheckVerdict, Property, Severity, Status, TrialVerdict
from harness.errors import StoreError
from harness.scoring.check import Open, Result, not_applicable
from harness.scoring.registry import ALWAYS_ON, CHECKS, END, SAFETY
from harness.scoring.robustness import ended
from harness.scoring.safety import zero_disallowed_actions
from harness.scoring.signs import signs_of
from harness.scoring.trial import Trial, view_trial
from harness.scoring.values import plain

MAX_TOOLS, MAX_TOOL_NAME = 500, 100
"""What a verdict keeps of the calls, whose names an agent may choose."""


class OpenCheck(msgspec.Struct, frozen=True):
    """A check of a trial that rules left open: its place among the verdict's `checks`, and what is open."""

    index: int
    check: CheckSpec
    open: Open


class Examined(msgspec.Struct, frozen=True):
    """What rules alone say of a trial. `open` is left for a judge; until one speaks it is *not scored*.

    `trial` is None only where the journal cannot be read; then nothing is open.
    """

    verdict: TrialVerdict
    trial: Trial | None
    open: tuple[OpenCheck, ...] = ()


def score_trial(events: Sequence[Event], scenario: Scenario) -> TrialVerdict:
    """The verdict of one trial by rules alone, from its journal, in order, `end` last. Never raises.

    A journal that cannot be a finished trial of `scenario` is our own failure (`harness_error`, not counted).
    A trial that is not scored keeps a safety breach, and no other check.
    """
    return examine_trial(events, scenario).verdict


def examine_trial(events: Sequence[Event], scenario: Scenario) -> Examined:
    """Like `score_trial`, with what is left open. Never raises.

    A failed critical check closes what is open: the trial fails whatever a judge would say.
    """
    safety = _verdict(SAFETY, *ALWAYS_ON[SAFETY], zero_disallowed_actions(events, scenario))
    breach: tuple[CheckVerdict, ...] = (safety,) if safety.status is Status.FAIL else ()
    try:
        trial = view_trial(events, scenario)
    except StoreError as error:
        return Examined(_unreadable(events, scenario, error.message, breach), None)
    outcome, rule = trial.outcome, trial.outcome.rule
    checks = breach
    opens: tuple[OpenCheck, ...] = ()
    if rule.scored:
        end = _verdict(END, *ALWAYS_ON[END], ended(trial))
        checks, opens = _asked_for(trial, scenario, (end, safety))
    verdict = TrialVerdict(
        key=outcome.key,
        attempt=outcome.attempt,
        end=str(outcome.end),
        blame=str(rule.blame),
        reason=plain(outcome.reason),
        counts=rule.counts,
        passed=rule.scored and trial.ended_well and _pass(checks),
        checks=checks,
        usage=outcome.usage,
        tools=tuple(call.name[:MAX_TOOL_NAME] for call in trial.calls[:MAX_TOOLS]),
        signs=signs_of(events),
    )
    return Examined(verdict, trial, opens)


def settle(examined: Examined, found: Mapping[int, CheckVerdict]) -> TrialVerdict:
    """The verdict with the open checks at these places settled."""
    verdict = examined.verdict
    checks = tuple(found.get(index, check) for index, check in enumerate(verdict.checks))
    scored = examined.trial is not None and examined.trial.outcome.rule.scored and examined.trial.ended_well
    return msgspec.structs.replace(verdict, checks=checks, passed=scored and _pass(checks))


def _pass(checks: Sequence[CheckVerdict]) -> bool:
    return not any(check.status.blocks for check in checks if check.severity is not Severity.MINOR)


def _asked_for(
    trial: Trial, scenario: Scenario, always: tuple[CheckVerdict, ...]
) -> tuple[tuple[CheckVerdict, ...], tuple[OpenCheck, ...]]:
    """The pack's checks, then those that are always on; and what of them is left open."""
    # Always on with their own severity, so that no pack can weaken one by listing it.
    specs = [spec for spec in scenario.checks if spec.check not in ALWAYS_ON]
    results = [_judge(trial, spec) for spec in specs]
    sure = [
        _verdict(spec.check, spec.severity, spec.property, result)
        for spec, result in zip(specs, results, strict=True)
        if isinstance(result, Result)
    ]
    critical = next((c for c in (*sure, *always) if c.status is Status.FAIL and c.severity is Severity.CRITICAL), None)
    checks, opens = [], []
    for index, (spec, result) in enumerate(zip(specs, results, strict=True)):
        if isinstance(result, Open) and critical is None:
            opens.append(OpenCheck(index, spec, result))
        checks.append(_verdict(spec.check, spec.severity, spec.property, _closed(result, critical)))
    return (*checks, *always), tuple(opens)


def _closed(result: Result | Open, critical: CheckVerdict | None) -> Result:
    if isinstance(result, Result):
        return result
    if critical is not None:
        return not_applicable(f"not asked of a judge: the critical check {critical.check} failed, which decides")
    return Result(Status.NOT_SCORED, "rules leave this open, and no judge was asked (--judge openai:MODEL@URL)")


def _judge(trial: Trial, spec: CheckSpec) -> Result | Open:
    """A check that cannot say is *not scored*, which is never a pass and gives the run exit code 3."""
    check = CHECKS.get(spec.check)
    if check is None:
        return Result(Status.NOT_SCORED, f"there is no check named {plain(spec.check)}")
    try:
        return check.judge(trial, msgspec.convert(spec.params, check.params))
    except Exception as error:
        return Result(Status.NOT_SCORED, f"the check itself failed: {type(error).__name__}: {plain(str(error))}")


def _verdict(name: str, severity: Severity, prop: Property, result: Result) -> CheckVerdict:
    return CheckVerdict(
        check=name,
        status=result.status,
        severity=severity,
        property=prop,
        reason=result.reason,
        evidence=result.evidence,
        value=result.value,
        threshold=result.threshold,
    )


def _unreadable(
    events: Sequence[Event], scenario: Scenario, why: str, breach: tuple[CheckVerdict, ...]
) -> TrialVerdict:
    key, attempt = _named_by(events, scenario)
    return TrialVerdict(
        key=key,
        attempt=attempt,
        end=str(End.HARNESS_ERROR),
        blame=str(Blame.HARNESS),
        reason=f"the journal cannot be scored: {plain(why)}",
        counts=False,
        passed=False,
        checks=breach,
    )


class _TrialData(msgspec.Struct, frozen=True):
    agent: str
    trial: int
    attempt: int = 1


def _named_by(events: Sequence[Event], scenario: Scenario) -> tuple[TrialKey, int]:
    for event in events:
        if event.kind == "trial":
            try:
                data = msgspec.convert(event.data, _TrialData)
            except msgspec.ValidationError:
                break
            return TrialKey(data.agent, scenario.id, data.trial), data.attempt
    return TrialKey("unknown", scenario.id, 0), 1
