"""A run held against a baseline as it ends, and what flipped run again to tell flaky from real."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

from harness.app import baselines, noise
from harness.app.compare import Compared, compared
from harness.app.scored import Yardstick
from harness.compare.diff import Options
from harness.compare.record import record_of
from harness.domain.comparison import DRIFT, PairKind, Rerun
from harness.domain.record import Record
from harness.domain.verdict import RunVerdict, TrialVerdict
from harness.errors import UsageError


class Against(Struct, frozen=True, kw_only=True):
    """What the command line asks for. `folder`: of the baselines, None: the store's. `rerun`: more trials of flips."""

    baseline: str | None = None
    folder: Path | None = None
    drift: float = DRIFT
    rerun: int = 0


def loaded(against: Against, store: Path) -> Record | None:
    """The baseline, read before the first trial; None: none was asked for. UsageError where it is not there."""
    if against.baseline is None:
        if against.rerun:
            raise UsageError("--rerun-flipped is for --baseline: nothing flips without one", "add --baseline NAME")
        return None
    return baselines.load(baselines.folder_of(store, against.folder), against.baseline).record


def held(
    base: Record, stick: Yardstick, verdicts: Iterable[TrialVerdict], verdict: RunVerdict, options: Options
) -> Compared:
    """A run that has just ended, by `verdicts` that count and what they come to, against its baseline."""
    return compared(base, record_of(stick.plan, stick.pack, verdicts, verdict), options)


def options_for(against: Against, base: Record, store: Path) -> Options:
    """How to compare: the threshold, and the noise floor that was measured for these agents."""
    floor, note = noise.floor_for(store, base.header)
    return Options(drift=against.drift, noise=floor, notes=(note,) if note else ())


def flipped_cells(found: Compared) -> dict[tuple[str, str], PairKind]:
    """(candidate agent, scenario) of what flipped; regressed where trials of it went both ways."""
    cells: dict[tuple[str, str], PairKind] = {}
    for pair in found.comparison.pairs:
        if pair.flipped:
            cell = (pair.key.agent, pair.key.scenario)
            cells[cell] = PairKind.REGRESSED if pair.kind is PairKind.REGRESSED else cells.get(cell, pair.kind)
    return cells


def reruns_of(
    cells: dict[tuple[str, str], PairKind], run_id: str, verdicts: Iterable[TrialVerdict]
) -> tuple[Rerun, ...]:
    """What the trials of run `run_id` say of each flipped cell, in order."""
    counts = {cell: [0, 0] for cell in cells}
    for verdict in verdicts:
        count = counts.get((verdict.key.agent, verdict.key.scenario))
        if count is not None and verdict.counts:
            count[0] += verdict.passed
            count[1] += 1
    return tuple(Rerun(run_id, *cell, kind, *counts[cell]) for cell, kind in sorted(cells.items()))
