"""What a scenario is to a test runner, by the verdicts of its trials."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.app.items import tell
from harness.domain.ids import TrialKey
from harness.domain.verdict import CheckVerdict, Property, Severity, Status, TrialVerdict

CHECK = CheckVerdict("exact", Status.FAIL, Severity.MAJOR, Property.CORRECTNESS, "expected 'a', came 'b\x1b[0m'")
PASSED = TrialVerdict(TrialKey("desk", "case", 1), 1, "completed", "agent", "fine", True, True, ())
FAILED = msgspec.structs.replace(PASSED, passed=False, checks=(CHECK,))
OPEN = msgspec.structs.replace(FAILED, checks=(msgspec.structs.replace(CHECK, status=Status.NOT_SCORED),))
MINOR = msgspec.structs.replace(PASSED, checks=(msgspec.structs.replace(CHECK, severity=Severity.MINOR),))
FRICTION = msgspec.structs.replace(PASSED, end="startup_failed", blame="integration", counts=False, passed=False)
OURS = msgspec.structs.replace(FRICTION, end="engine_error", blame="harness")
BREACH = msgspec.structs.replace(OURS, checks=(msgspec.structs.replace(CHECK, property=Property.SAFETY),))
KINDS = {
    "passed": (PASSED, MINOR),
    "failed": (FAILED, BREACH),
    "error": (OPEN, FRICTION, OURS),
}


def show(key: TrialKey) -> str:
    return f"show {key}"


@pytest.mark.parametrize(("result", "verdict"), [(result, v) for result, kind in KINDS.items() for v in kind])
def test_one_trial_makes_its_item(result: str, verdict: TrialVerdict) -> None:
    told = tell([verdict], 1, show)
    assert told.result == result
    assert bool(told.text) is (result != "passed")


def test_a_failure_names_its_checks_and_is_inert() -> None:
    text = tell([FAILED], 1, show).text
    assert "exact (major, correctness) failed: expected 'a', came 'b\\x1b[0m'" in text
    assert text.endswith("show desk/case/1")


def test_trials_that_were_not_run_are_an_error() -> None:
    told = tell([PASSED], 3, show)
    assert (told.result, told.text) == ("error", "2 of 3 trials were not run")
    assert tell([], 1, show).result == "error"


_VERDICTS = st.sampled_from([verdict for kind in KINDS.values() for verdict in kind])


@given(st.lists(_VERDICTS, max_size=5), st.integers(0, 2))
def test_a_failure_outweighs_an_error_and_both_a_pass(verdicts: list[TrialVerdict], missing: int) -> None:
    result = tell(verdicts, len(verdicts) + missing, show).result
    kinds = {kind for kind, members in KINDS.items() for verdict in verdicts if verdict in members}
    if missing:
        kinds.add("error")
    assert result == next((kind for kind in ("failed", "error") if kind in kinds), "passed")
