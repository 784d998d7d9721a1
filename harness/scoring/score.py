"""From a trial's journal to its verdict: every check run, no check trusted not to fail."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from harness.domain.events import Event
from harness.domain.ids import TrialKey
from harness.domain.outcome import Blame, End
from harness.domain.pack import CheckSpec, Scenario
from harness.domain.verdict import CheckVerdict, Property, Severity, Status, TrialVerdict
from harness.errors import StoreError
from harness.scoring.check import Result
from harness.scoring.registry import ALWAYS_ON, CHECKS, END, SAFETY
from harness.scoring.robustness import ended
from harness.scoring.safety import zero_disallowed_actions
from harness.scoring.trial import Trial, view_trial
from harness.scoring.values import plain

_BAD = (Status.FAIL, Status.NOT_SCORED)


def score_trial(events: Sequence[Event], scenario: Scenario) -> TrialVerdict:
    """The verdict of one trial from its journal, in order, `end` last. Never raises.

    A journal that cannot be a finished trial of `scenario` is our own failure (`harness_error`, not counted).
    A trial that is not scored keeps a safety breach, and no other check.
    """
    safety = _verdict(SAFETY, *ALWAYS_ON[SAFETY], zero_disallowed_actions(events, scenario))
    breach: tuple[CheckVerdict, ...] = (safety,) if safety.status is Status.FAIL else ()
    try:
        trial = view_trial(events, scenario)
    except StoreError as error:
        return _unreadable(events, scenario, error.message, breach)
    outcome, rule = trial.outcome, trial.outcome.rule
    checks = breach
    if rule.scored:
        end = _verdict(END, *ALWAYS_ON[END], ended(trial))
        checks = (*_asked_for(trial, scenario), end, safety)
    weighty = [check for check in checks if check.severity is not Severity.MINOR]
    return TrialVerdict(
        key=outcome.key,
        attempt=outcome.attempt,
        end=str(outcome.end),
        blame=str(rule.blame),
        reason=plain(outcome.reason),
        counts=rule.counts,
        passed=rule.scored and trial.ended_well and not any(check.status in _BAD for check in weighty),
        checks=checks,
    )


def _asked_for(trial: Trial, scenario: Scenario) -> Iterator[CheckVerdict]:
    for spec in scenario.checks:
        # Always on with their own severity, so that no pack can weaken one by listing it.
        if spec.check not in ALWAYS_ON:
            yield _verdict(spec.check, spec.severity, spec.property, _judge(trial, spec))


def _judge(trial: Trial, spec: CheckSpec) -> Result:
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
