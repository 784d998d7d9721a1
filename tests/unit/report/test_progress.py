"""The progress of a run, on a terminal and in a log."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from harness.domain.ids import TrialKey
from harness.domain.verdict import TrialVerdict
from harness.report.progress import ProgressView


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
