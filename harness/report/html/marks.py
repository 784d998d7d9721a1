"""How a trial is marked on the page: one word, one shape, one colour, and why in one line."""

from __future__ import annotations

from enum import StrEnum

from harness.domain.verdict import Severity, Status, TrialVerdict
from harness.report.words import Result, gravest, result_of

WHY_CHARS = 240


class Mark(StrEnum):
    """What a trial comes to; the value is the word on the page, and the name of its shape and colour."""

    PASS = "pass"
    FAIL = "fail"
    FRICTION = "friction"
    INCONCLUSIVE = "inconclusive"
    UNSCORED = "unscored"
    MISSING = "missing"


MARKS = tuple(Mark)
WORDS = {
    Mark.PASS: "passed",
    Mark.FAIL: "failed",
    Mark.FRICTION: "friction",
    Mark.INCONCLUSIVE: "inconclusive",
    Mark.UNSCORED: "not scored",
    Mark.MISSING: "not run",
}
_OF = {
    Result.PASS: Mark.PASS,
    Result.FAIL: Mark.FAIL,
    Result.NOT_SCORED: Mark.UNSCORED,
    Result.FRICTION: Mark.FRICTION,
    Result.INCONCLUSIVE: Mark.INCONCLUSIVE,
}


def mark_of(trial: TrialVerdict) -> Mark:
    """The mark of what every form of a report says of the trial."""
    return _OF[result_of(trial)]


def is_critical(trial: TrialVerdict) -> bool:
    """Whether a critical check failed, whatever else the trial came to."""
    return any(check.status is Status.FAIL and check.severity is Severity.CRITICAL for check in trial.checks)


def why(trial: TrialVerdict) -> str:
    """The gravest failed check, else the first unscored one, else how it ended; empty for a clean pass."""
    worst = gravest(trial.checks)
    if worst is not None:
        text = f"{worst.check}: {worst.reason}"
    else:
        text = "" if trial.passed else f"{trial.end}: {trial.reason}"
    return text if len(text) <= WHY_CHARS else text[: WHY_CHARS - 1] + "…"
