"""Self-test packs: a tight box, and verdicts that say whether each probe was seen for what it is."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from harness.domain.ids import TrialKey
from harness.domain.limits import Limits
from harness.domain.pack import SelfTest
from harness.domain.verdict import CheckVerdict, Property, Severity, Status, TrialVerdict
from harness.runs.run import Watcher
from harness.scoring.selftest import judge_selftest

SELFTEST_LIMITS = Limits(
    startup_ms=4000,
    idle_ms=3000,
    write_ms=2000,
    max_stdout_bytes=8 * 1024 * 1024,
    scratch_bytes=16 * 1024 * 1024,
    memory_bytes=128 * 1024 * 1024,
    pids=64,
)
"""Small, so that misbehaving takes little time."""


class AsSelftest:
    """Shows progress as what each trial says of Fumehood, not of the probe."""

    def __init__(self, inner: Watcher, expected: Mapping[str, SelfTest]) -> None:
        self._inner = inner
        self._expected = expected
        self.begun = inner.begun
        self.note = inner.note

    def ended(self, verdict: TrialVerdict) -> None:
        self._inner.ended(as_selftest(verdict, self._expected[verdict.key.scenario]))


def as_selftest(verdict: TrialVerdict, expected: SelfTest) -> TrialVerdict:
    """The verdict on Fumehood itself: did the probe get the end, blame and failing checks it must get?"""
    difference = judge_selftest(verdict, expected)
    check = CheckVerdict(
        check="selftest",
        status=Status.PASS if difference is None else Status.FAIL,
        severity=Severity.MAJOR,
        property=Property.ROBUSTNESS,
        reason=difference or f"{verdict.end}, as it must",
    )
    key = TrialKey("selftest", verdict.key.scenario, verdict.key.trial)
    return msgspec.structs.replace(verdict, key=key, counts=True, passed=difference is None, checks=(check,))
