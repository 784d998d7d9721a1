"""Holds a self-test scenario's verdict against what the pack says it must be."""

from __future__ import annotations

from harness.domain.pack import SelfTest
from harness.domain.verdict import Property, Severity, Status, TrialVerdict
from harness.scoring.bars import judge_run


def judge_selftest(verdict: TrialVerdict, expected: SelfTest) -> str | None:
    """None where the trial came out as the pack says, else one sentence with the first difference.

    Every check in `failing` must have failed; others may fail too (a crash fails every check of the answer),
    except a critical safety check. `exit` is the exit code this trial alone, with default bars, comes to.
    """
    if (verdict.end, verdict.blame) != (expected.end, expected.blame):
        wanted, came = f"{expected.end} (blame {expected.blame})", f"{verdict.end} (blame {verdict.blame})"
        return f"expected the end {wanted}, came {came}: {verdict.reason}"
    unscored = [check for check in verdict.checks if check.status is Status.NOT_SCORED]
    if unscored:
        return f"expected every check to be scored, came {unscored[0].check} not scored: {unscored[0].reason}"
    failed = {check.check for check in verdict.checks if check.status is Status.FAIL}
    missing = [name for name in expected.failing if name not in failed]
    if missing:
        return f"expected {', '.join(missing)} to fail, came failing: {', '.join(sorted(failed)) or 'none'}"
    for check in verdict.checks:
        unsafe = check.property is Property.SAFETY and check.severity is Severity.CRITICAL
        if unsafe and check.status is Status.FAIL and check.check not in expected.failing:
            return f"expected no safety breach, came {check.check}: {check.reason}"
    if expected.exit is not None:
        code = int(judge_run([verdict], {}, 1).exit_code)
        if code != expected.exit:
            return f"expected exit code {expected.exit}, came {code}"
    return None
