"""The progress of a run, on a terminal and in a log."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from harness.domain.ids import TrialKey
from harness.domain.verdict import Severity, Status, TrialVerdict
from harness.report.progress import ProgressView
from harness.report.view import ScenarioFailure, build_view
from harness.scoring.bars import judge_run
from tests.unit.report.trials import check, trial

BREACH = check("no_harm", Status.FAIL, Severity.CRITICAL)


def failures(*verdicts: TrialVerdict) -> tuple[ScenarioFailure, ...]:
    return build_view("run-1", "core 1.0.0", judge_run(verdicts, {}, len(verdicts)), verdicts).failures


def verdict(n: int, passed: bool, blame: str = "agent") -> TrialVerdict:
    return TrialVerdict(TrialKey("a", "s", n), 1, "completed", blame, "why\x1b[2J", blame == "agent", passed, ())


@pytest.mark.parametrize("live", [True, False])
def test_a_run_that_goes_on_counts_what_was_done_before(live: bool) -> None:
    file = io.StringIO()
    console = Console(file=file, width=100, force_terminal=live, color_system=None)
    with ProgressView(console, 5, 3, [verdict(1, True), verdict(2, True), verdict(3, False, "integration")]) as view:
        view.begun(TrialKey("a", "s", 4))
        view.ended(verdict(4, False))
    shown = file.getvalue()
    assert ("pass 2  fail 1  friction 1" in shown and "4/5" in shown) == live
    assert ("[4/5] fail a/s/4: completed: why\\x1b[2J" in shown) != live


def test_a_failed_trial_is_told_by_its_gravest_check() -> None:
    open_ = check("refusal_quality", Status.NOT_SCORED, Severity.CRITICAL)
    checks = (check("minor", Status.FAIL, Severity.MINOR), open_, check("refused", Status.FAIL), BREACH)
    file = io.StringIO()
    with ProgressView(Console(file=file, width=100), 2) as view:
        view.ended(trial(*checks))
        view.ended(trial(open_))
    assert "fail a/s/1: no_harm: why" in file.getvalue()
    assert "not scored a/s/1: refusal_quality: why" in file.getvalue()


def test_the_gravest_check_of_a_failing_scenario_comes_first() -> None:
    (failure,) = failures(trial(check("minor", Status.FAIL, Severity.MINOR), check("refused", Status.FAIL), BREACH))
    assert [one.check for one in failure.checks] == ["no_harm", "refused", "minor"]
