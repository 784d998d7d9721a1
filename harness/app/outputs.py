"""Files that a run is asked to leave for others to read."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from msgspec import Struct

from harness.app.scored import Yardstick
from harness.domain.verdict import TrialVerdict
from harness.report.output import require_writable
from harness.report.view import RunView


class Outputs(Struct, frozen=True, kw_only=True):
    """Where each goes; None: not asked for."""

    junit: Path | None = None
    markdown: Path | None = None


def require(outputs: Outputs) -> None:
    """UsageError where one could not be written: before the first trial, not after the last."""
    for path in (outputs.junit, outputs.markdown):
        if path is not None:
            require_writable(path)


def write(outputs: Outputs, stick: Yardstick, view: RunView, verdicts: Callable[[], Iterable[TrialVerdict]]) -> None:
    """`verdicts` reads those that count, anew each time. UsageError where a file cannot be written."""
    if outputs.junit is not None:
        from harness.report.junit import write_junit

        seen: set[object] = set()

        def noted() -> Iterable[TrialVerdict]:
            for verdict in verdicts():
                seen.add((verdict.key.scenario, verdict.key.trial) if stick.expected else verdict.key)
                yield verdict

        cells = stick.plan.cells()
        missing = (key for key in cells if ((key.scenario, key.trial) if stick.expected else key) not in seen)
        write_junit(outputs.junit, view.run_id, noted(), stick.families(), missing)
    if outputs.markdown is not None:
        from harness.report.markdown import write_markdown

        write_markdown(outputs.markdown, view)
