"""Files that a run is asked to leave for others to read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from harness.app.scored import Yardstick
from harness.domain.ids import TrialKey
from harness.domain.verdict import TrialVerdict
from harness.report.output import output_file, require_writable
from harness.report.view import RunView
from harness.store.run import StoredRun
from harness.store.scorings import FIRST


class Outputs(Struct, frozen=True, kw_only=True):
    """Where each goes; None: not asked for."""

    junit: Path | None = None
    markdown: Path | None = None
    html: Path | None = None


def require(outputs: Outputs) -> None:
    """UsageError where one could not be written: before the first trial, not after the last."""
    for path in (outputs.junit, outputs.markdown, outputs.html):
        if path is not None:
            require_writable(path)


class Source(Struct, frozen=True):
    """A run that has ended: what it is held against, its report, its folder and its store's."""

    stick: Yardstick
    view: RunView
    stored: StoredRun
    store: Path

    def verdicts(self) -> Iterator[TrialVerdict]:
        """Those that count, read anew each time."""
        return map(self.stick.counted, self.stored.scores(FIRST))


def write(outputs: Outputs, source: Source) -> None:
    """UsageError where a file cannot be written."""
    if outputs.junit is not None:
        _junit(outputs.junit, source)
    if outputs.markdown is not None:
        from harness.report.markdown import write_markdown

        write_markdown(outputs.markdown, source.view)
    if outputs.html is not None:
        from harness.app.report import page_source
        from harness.report.html.page import write_page

        with output_file(outputs.html) as file:
            write_page(page_source(source.stored, source.store), file)


def _junit(path: Path, source: Source) -> None:
    """In a self-test a verdict speaks of the scenario under another agent's name, so that names are left out."""
    from harness.report.junit import write_junit

    whole = not source.stick.expected
    seen: set[tuple[str, str, int]] = set()

    def cell(key: TrialKey) -> tuple[str, str, int]:
        return key.agent if whole else "", key.scenario, key.trial

    def noted() -> Iterator[TrialVerdict]:
        for verdict in source.verdicts():
            seen.add(cell(verdict.key))
            yield verdict

    missing = (key for key in source.stick.plan.cells() if cell(key) not in seen)
    write_junit(path, source.view.run_id, noted(), source.stick.families(), missing)
