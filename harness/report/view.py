"""What a report of a run shows, gathered in one pass over its verdicts and bounded in size."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import Struct, field

from harness.domain.outcome import Blame
from harness.domain.verdict import CheckVerdict, Property, RunVerdict, Severity, Status, TrialVerdict
from harness.report.terminal import one_line

MAX_FAILURES = 200
"""Failing scenarios shown; the rest are counted."""

_BAD = (Status.FAIL, Status.NOT_SCORED)


class CheckFailure(Struct, frozen=True):
    """One check of a scenario that failed or was not scored in `trials` trials; the rest is of the first.

    `journal` (agent/scenario/trial) and its `lines` say where the evidence stands.
    """

    check: str
    status: Status
    severity: Severity
    property: Property
    trials: int
    reason: str
    journal: str
    lines: tuple[int, ...]


class ScenarioFailure(Struct, frozen=True):
    """A scenario of which `failed` of `trials` trials failed; 0 where only minor checks did."""

    agent: str
    scenario: str
    failed: int
    trials: int
    checks: tuple[CheckFailure, ...]


class EndCount(Struct, frozen=True):
    """Trials of an agent that are no quality: how they ended, how many, and the first one's reason and key."""

    agent: str
    end: str
    blame: str
    count: int
    reason: str
    journal: str


class RunView(Struct, frozen=True):
    """A run as reports show it; text from agents is as it came, and made inert where it is rendered."""

    run_id: str
    pack: str
    verdict: RunVerdict
    failures: tuple[ScenarioFailure, ...]
    more_failures: int
    friction: tuple[EndCount, ...]
    inconclusive: tuple[EndCount, ...]


class _Cell(Struct):
    trials: int = 0
    failed: int = 0
    checks: dict[tuple[str, Status], CheckFailure] = field(default_factory=dict)


def build_view(
    run_id: str,
    pack: str,
    verdict: RunVerdict,
    verdicts: Iterable[TrialVerdict],
) -> RunView:
    """`verdicts`: all trials of the run, read once."""
    cells: dict[tuple[str, str], _Cell] = {}
    ends: dict[tuple[str, str, str], EndCount] = {}
    for trial in verdicts:
        if not trial.counts:
            _count_end(ends, trial)
        if trial.counts or trial.checks:
            cell = cells.setdefault((trial.key.agent, trial.key.scenario), _Cell())
            _add_trial(cell, trial)
    failures = [
        ScenarioFailure(agent, scenario, cell.failed, cell.trials, tuple(cell.checks.values()))
        for (agent, scenario), cell in sorted(cells.items(), key=lambda item: (item[0][0], not item[1].failed, item[0]))
        if cell.checks
    ]
    apart = [ends[key] for key in sorted(ends)]
    return RunView(
        run_id=run_id,
        pack=pack,
        verdict=verdict,
        failures=tuple(failures[:MAX_FAILURES]),
        more_failures=max(0, len(failures) - MAX_FAILURES),
        friction=tuple(end for end in apart if end.blame == Blame.INTEGRATION),
        inconclusive=tuple(end for end in apart if end.blame != Blame.INTEGRATION),
    )


def run_json(view: RunView) -> dict[str, Any]:
    """The view as plain JSON values, every string inert on a terminal."""
    found: dict[str, Any] = _inert(msgspec.to_builtins(view))
    return found


def _count_end(ends: dict[tuple[str, str, str], EndCount], trial: TrialVerdict) -> None:
    key = (trial.key.agent, trial.end, trial.blame)
    known = ends.get(key, EndCount(*key, count=0, reason=trial.reason, journal=str(trial.key)))
    ends[key] = msgspec.structs.replace(known, count=known.count + 1)


def _add_trial(cell: _Cell, trial: TrialVerdict) -> None:
    cell.trials += 1
    cell.failed += not trial.passed
    bad: dict[tuple[str, Status], CheckVerdict] = {}
    for check in trial.checks:  # a scenario may hold one check twice: the trial failed it once
        if check.status in _BAD:
            bad.setdefault((check.check, check.status), check)
    for key, check in bad.items():
        known = cell.checks.get(key) or _first(check, str(trial.key))
        cell.checks[key] = msgspec.structs.replace(known, trials=known.trials + 1)


def _first(check: CheckVerdict, journal: str) -> CheckFailure:
    return CheckFailure(
        check.check, check.status, check.severity, check.property, 0, check.reason, journal, check.evidence
    )


def _inert(value: Any) -> Any:
    if isinstance(value, str):
        return one_line(value)
    if isinstance(value, dict):
        return {one_line(key): _inert(item) for key, item in value.items()}
    return [_inert(item) for item in value] if isinstance(value, list | tuple) else value
