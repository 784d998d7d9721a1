"""A stored run handed on to other programs: which forms there are, and what each is given."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from harness.app.scored import Yardstick
    from harness.domain.ids import TrialKey
    from harness.domain.verdict import RunVerdict, TrialVerdict
    from harness.report.view import RunView
    from harness.store.run import StoredRun

# The writers import what they need when they are called: the command line reads the names of FORMATS for its help.


class Source:
    """A run by its newest scoring, as the writers read it: trial by trial."""

    def __init__(self, run: StoredRun, stick: Yardstick) -> None:
        self.run = run
        self.run_id = run.run_id
        self._stick = stick

    def families(self) -> Mapping[str, str]:
        """The family of each scenario."""
        return self._stick.families()

    def verdicts(self) -> Iterator[TrialVerdict]:
        """One per trial; in a self-test, whether it came out as the pack says."""
        return (self._stick.counted(verdict) for verdict in self.run.scores())

    def missing(self) -> Iterator[TrialKey]:
        """The planned trials without a verdict."""
        seen = {verdict.key for verdict in self.run.scores()}
        return (key for key in self.run.plan.cells() if key not in seen)

    def view(self) -> RunView:
        """The whole run at a glance. UsageError where it has no verdict yet."""
        return self._stick.view(self._verdict(), self.run.scores())

    def _verdict(self) -> RunVerdict:
        import msgspec

        from harness.domain.verdict import RunVerdict
        from harness.errors import UsageError

        verdict = self.run.verdict()
        if not verdict:
            raise UsageError(f"run {self.run_id} has no verdict yet", f"fumehood run --resume {self.run_id}")
        return msgspec.convert(verdict, RunVerdict)


def open_source(root: Path, ref: str) -> Source:
    """The run `ref` (an id, the beginning of one, or last) of the store `root`.

    UsageError where there is none, AuditMismatch where it is not as it was sealed.
    """
    from harness.app import logs
    from harness.app.scored import yardstick
    from harness.store.store import Store

    logs.configure()
    run = Store(root).open_run(ref)
    run.hold_seal()
    return Source(run, yardstick(run.pack(), run.plan))


def _csv(source: Source, file: BinaryIO) -> None:
    import io

    from harness.report.csv_export import write_csv

    text = io.TextIOWrapper(file, "utf-8", newline="", write_through=True)
    try:
        write_csv(text, source.verdicts(), source.families())
    finally:
        text.detach()  # or it would close a file that is not its own


def _junit(source: Source, file: BinaryIO) -> None:
    from harness.report.junit import junit_to

    junit_to(file, source.run_id, source.verdicts(), source.families(), source.missing())


def _markdown(source: Source, file: BinaryIO) -> None:
    from harness.report.markdown import markdown

    file.write(markdown(source.view()).encode())


def _atif(source: Source, file: BinaryIO) -> None:
    from harness.app.trajectories import write_lines

    write_lines("atif", source, file)


def _inspect(source: Source, file: BinaryIO) -> None:
    from harness.app.trajectories import records
    from harness.report.inspect_log import write_inspect

    write_inspect(file, source.run.plan, source.run.state(), records(source))


def _otel(source: Source, file: BinaryIO) -> None:
    from harness.app.trajectories import write_lines

    write_lines("otel", source, file)


FORMATS: dict[str, Callable[[Source, BinaryIO], None]] = {
    "atif": _atif,
    "csv": _csv,
    "inspect": _inspect,
    "junit": _junit,
    "markdown": _markdown,
    "otel": _otel,
}
"""Writers by the name that `fumehood runs export --to` takes: a new form is a writer and a row here."""
