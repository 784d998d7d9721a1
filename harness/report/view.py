"""What a report of a run shows, gathered in one pass over its verdicts and bounded in size."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct, field

from harness.domain.outcome import Blame
from harness.domain.spec import AgentRef
from harness.domain.verdict import CheckVerdict, Judgement, Property, RunVerdict, Severity, Status, TrialVerdict
from harness.report.sweep import Gatherer, Sweep
from harness.report.terminal import one_line
from harness.report.words import Result, gravity, result_of
from harness.stats.intervals import wilson

MAX_FAILURES = 200
"""Failing scenarios shown; the rest are counted."""
MAX_JUDGES = 5
"""Names of judging models shown."""


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
    judged: Judgement | None = None


class ScenarioFailure(Struct, frozen=True):
    """A scenario of which `failed` of `trials` trials failed; 0 where only minor checks did, or none was scored.

    `not_scored` trials neither passed nor failed, as a check that decides could not be scored.
    """

    agent: str
    scenario: str
    failed: int
    trials: int
    checks: tuple[CheckFailure, ...]
    not_scored: int = 0


class FamilyRate(Struct, frozen=True):
    """passes / n over an agent's trials of one family that passed or failed, and its Wilson 95 % interval."""

    agent: str
    family: str
    passes: int
    n: int
    rate: float
    low: float
    high: float
    not_scored: int


class EndCount(Struct, frozen=True):
    """Trials of an agent that are no quality: how they ended, how many, and the first one's reason and key."""

    agent: str
    end: str
    blame: str
    count: int
    reason: str
    journal: str


class RunView(Struct, frozen=True):
    """A run as reports show it; text from agents is as it came, and made inert where it is rendered.

    `unscored`: trials that neither passed nor failed, as a check that decides could not be scored. `families` only
    where there is more than one. `judges`: the models that judged. `sweep` only where agents ran the same scenarios.
    """

    run_id: str
    pack: str
    verdict: RunVerdict
    failures: tuple[ScenarioFailure, ...]
    more_failures: int
    friction: tuple[EndCount, ...]
    inconclusive: tuple[EndCount, ...]
    unscored: int = 0
    families: tuple[FamilyRate, ...] = ()
    judges: tuple[str, ...] = ()
    sweep: Sweep | None = None


class _Cell(Struct):
    trials: int = 0
    failed: int = 0
    not_scored: int = 0
    uncounted: int = 0
    checks: dict[tuple[str, Status], CheckFailure] = field(default_factory=dict)


def build_view(
    run_id: str,
    pack: str,
    verdict: RunVerdict,
    verdicts: Iterable[TrialVerdict],
    families: Mapping[str, str] | None = None,
    agents: Sequence[AgentRef] = (),
) -> RunView:
    """`verdicts`: all trials of the run, read once; `families`: of each scenario, as the pack has them in order."""
    beside = Gatherer()
    judges: set[str] = set()
    cells: dict[tuple[str, str], _Cell] = {}
    ends: dict[tuple[str, str, str], EndCount] = {}
    for trial in verdicts:
        beside.add(trial)
        if not trial.counts:
            _count_end(ends, trial)
        if trial.counts or trial.checks:
            cell = cells.setdefault((trial.key.agent, trial.key.scenario), _Cell())
            _add_trial(cell, trial)
        judges.update(check.judged.model for check in trial.checks if check.judged is not None)
    failures = [
        ScenarioFailure(agent, scenario, cell.failed, cell.trials, _gravest_first(cell), cell.not_scored)
        for (agent, scenario), cell in sorted(cells.items(), key=_worst_first)
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
        unscored=sum(cell.not_scored for cell in cells.values()),
        families=_families(cells, families or {}),
        judges=tuple(sorted(judges)[:MAX_JUDGES]),
        sweep=beside.sweep(agents, families or ()),
    )


def run_json(view: RunView) -> dict[str, Any]:
    """The view as plain JSON values, every string inert on a terminal."""
    found: dict[str, Any] = inert(msgspec.to_builtins(view))
    return found


def how_many(failure: ScenarioFailure) -> str:
    """How many trials of a scenario failed or were not scored."""
    open_ = f", {failure.not_scored} not scored" if failure.not_scored else ""
    minor = "" if failure.failed or failure.not_scored else " (only minor checks failed)"
    return f"{failure.failed} of {failure.trials} trials failed{open_}{minor}"


def _worst_first(item: tuple[tuple[str, str], _Cell]) -> tuple[str, int, str]:
    """Agent by agent: failing scenarios, then those that are not scored, then those with minor failures alone."""
    (agent, scenario), cell = item
    return agent, 0 if cell.failed else 1 if cell.not_scored else 2, scenario


def _gravest_first(cell: _Cell) -> tuple[CheckFailure, ...]:
    return tuple(sorted(cell.checks.values(), key=lambda check: gravity(check.severity)))


def _families(cells: Mapping[tuple[str, str], _Cell], families: Mapping[str, str]) -> tuple[FamilyRate, ...]:
    found: dict[tuple[str, str], tuple[int, int, int]] = {}
    for (agent, scenario), cell in cells.items():
        where = (agent, families.get(scenario, "unknown"))
        passes, n, not_scored = found.get(where, (0, 0, 0))
        tried = cell.trials - cell.uncounted - cell.not_scored
        failed = cell.failed - cell.uncounted
        found[where] = (passes + tried - failed, n + tried, not_scored + cell.not_scored)
    if len({family for _, family in found}) < 2:
        return ()
    return tuple(
        FamilyRate(*where, passes, n, passes / n if n else 0.0, *wilson(passes, n), not_scored)
        for where, (passes, n, not_scored) in sorted(found.items())
    )


def _count_end(ends: dict[tuple[str, str, str], EndCount], trial: TrialVerdict) -> None:
    key = (trial.key.agent, trial.end, trial.blame)
    known = ends.get(key, EndCount(*key, count=0, reason=trial.reason, journal=str(trial.key)))
    ends[key] = msgspec.structs.replace(known, count=known.count + 1)


def _add_trial(cell: _Cell, trial: TrialVerdict) -> None:
    cell.trials += 1
    cell.uncounted += not trial.counts
    result = result_of(trial)
    cell.not_scored += result is Result.NOT_SCORED
    cell.failed += result not in (Result.PASS, Result.NOT_SCORED)
    bad: dict[tuple[str, Status], CheckVerdict] = {}
    for check in trial.checks:  # a scenario may hold one check twice: the trial failed it once
        if check.status.blocks:
            bad.setdefault((check.check, check.status), check)
    for key, check in bad.items():
        known = cell.checks.get(key) or _first(check, str(trial.key))
        cell.checks[key] = msgspec.structs.replace(known, trials=known.trials + 1)


def _first(check: CheckVerdict, journal: str) -> CheckFailure:
    return CheckFailure(
        check=check.check,
        status=check.status,
        severity=check.severity,
        property=check.property,
        trials=0,
        reason=check.reason,
        journal=journal,
        lines=check.evidence,
        judged=check.judged,
    )


def inert(value: Any) -> Any:
    """A JSON value, every string and key of it inert on a terminal."""
    if isinstance(value, str):
        return one_line(value)
    if isinstance(value, dict):
        return {one_line(key): inert(item) for key, item in value.items()}
    return [inert(item) for item in value] if isinstance(value, list | tuple) else value
