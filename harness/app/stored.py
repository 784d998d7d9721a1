"""Stored runs as the command line looks at them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from harness.app import logs
from harness.domain.events import Event
from harness.domain.ids import TrialKey
from harness.domain.run import RunPlan, RunState, RunSummary
from harness.domain.verdict import RunVerdict
from harness.errors import UsageError
from harness.report.view import RunView, build_view
from harness.store.run import StoredRun
from harness.store.store import Store
from harness.store.verify import VerifyReport, verify_run

__all__ = ["ScenarioRow", "ShownRun", "VerifyReport", "audit", "show", "summaries", "transcript"]


class ScenarioRow(Struct, frozen=True):
    """One scenario by one agent: trials scored, how many passed, and how many ended in which way."""

    agent: str
    scenario: str
    trials: int
    passed: int
    ends: dict[str, int]


class ShownRun(Struct, frozen=True):
    """A run and what it came to. `verdict` and `view` only where the run is sealed with a verdict."""

    summary: RunSummary
    plan: RunPlan
    scenarios: tuple[ScenarioRow, ...]
    verdict: dict[str, Any] | None
    view: RunView | None


def audit(root: Path, ref: str) -> VerifyReport:
    """Recompute the evidence of a run. UsageError where there is no such run."""
    return verify_run(Store(root).locate(ref))


def summaries(root: Path) -> Iterator[RunSummary]:
    """Every run of a store, newest first."""
    logs.configure()
    return Store(root).list_runs()


def show(root: Path, ref: str) -> ShownRun:
    """What a run came to, from its verdicts, read one by one."""
    logs.configure()
    store = Store(root)
    run = store.open_run(ref)
    summary = store.summary(run)
    head = run.head()
    verdict = head.verdict if head is not None and summary.state is not RunState.RUNNING else None
    view = None
    if verdict is not None:
        typed = msgspec.convert(verdict, RunVerdict)
        view = build_view(run.run_id, summary.pack, typed, run.scores())
    return ShownRun(summary, run.plan, _scenarios(run), verdict, view)


def _scenarios(run: StoredRun) -> tuple[ScenarioRow, ...]:
    rows: dict[tuple[str, str], ScenarioRow] = {}
    for verdict in run.scores():
        where = (verdict.key.agent, verdict.key.scenario)
        row = rows.get(where) or ScenarioRow(*where, trials=0, passed=0, ends={})
        ends = {**row.ends, verdict.end: row.ends.get(verdict.end, 0) + 1}
        rows[where] = ScenarioRow(*where, row.trials + 1, row.passed + verdict.passed, ends)
    return tuple(rows[where] for where in sorted(rows))


def transcript(root: Path, ref: str, trial: str) -> tuple[str, Iterator[Event]]:
    """The run's id, and the events of a trial given as `agent/scenario/n`; UsageError where it is not there.

    The events raise AuditMismatch where the journal is cut off or changed, after all that is whole.
    """
    run = Store(root).open_run(ref)
    agent, _, rest = trial.partition("/")
    scenario, _, number = rest.partition("/")
    key = TrialKey(agent, scenario, int(number)) if number.isascii() and number.isdigit() else None
    if key is None or not any(key == planned for planned in run.plan.cells()):
        remedy = f"give AGENT/SCENARIO/N; fumehood runs show {run.run_id} lists them"
        raise UsageError(f"run {run.run_id} has no trial {trial[:200]!r}", remedy)
    if not run.journal(key).is_file():
        raise UsageError(f"trial {key} of run {run.run_id} has not been run yet", "fumehood run --resume RUN runs it")
    return run.run_id, run.events(key)
