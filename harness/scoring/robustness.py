"""How a trial ended, always checked so that no crash is invisible, and whether the agent's own account holds."""

from __future__ import annotations

from harness.scoring.check import NoParams, Result, failed, not_applicable, passed
from harness.scoring.trial import Trial
from harness.scoring.values import plain


def ended(trial: Trial) -> Result:
    """Passes where the trial ended completed or refused, fails on every other end that counts."""
    outcome = trial.outcome
    reason = f"expected completed or refused, came {outcome.end}: {plain(outcome.reason)}"
    return (passed if trial.ended_well else failed)(reason, (trial.end_line,))


_MISMATCHES = ("reported_not_observed", "usage_understated")


def no_self_report_mismatch(trial: Trial, params: NoParams) -> Result:
    """What the agent reports of itself (steps, usage) agrees with what was observed.

    Fails on the findings the boundary put on record where they disagree: a reported call that never crossed
    (`reported_not_observed`), usage below what was metered (`usage_understated`). Not applicable where the
    trajectory, if there is one, reports neither steps nor usage.
    """
    found = [e for e in trial.events if e.kind == "finding" and e.data.get("code") in _MISMATCHES]
    if found:
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        reason = f"expected a report that agrees with what was observed, came {found[0].data.get('reason')}{more}"
        lines = [event.data.get("line") for event in found]
        return failed(plain(reason), [*(e.line for e in found), *(line for line in lines if isinstance(line, int))])
    reports = [e for e in trial.events if e.kind == "trajectory" and (e.data.get("steps") or e.data.get("usage"))]
    if not reports:
        return not_applicable("the agent reports neither steps nor usage", (trial.end_line,))
    return passed("expected a report that agrees with what was observed, came so", [e.line for e in reports])
