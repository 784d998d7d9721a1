"""The always-on check of how a trial ended, so that no crash or timeout is ever invisible."""

from __future__ import annotations

from harness.scoring.check import Result, failed, passed
from harness.scoring.trial import Trial
from harness.scoring.values import plain


def ended(trial: Trial) -> Result:
    """Passes where the trial ended completed or refused, fails on every other end that counts."""
    outcome = trial.outcome
    reason = f"expected completed or refused, came {outcome.end}: {plain(outcome.reason)}"
    return (passed if trial.ended_well else failed)(reason, (trial.end_line,))
