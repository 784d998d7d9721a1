"""Stored runs as the command line looks at them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from harness.app import logs
from harness.app.scored import yardstick
from harness.domain.events import Event
from harness.domain.ids import TrialKey
from harness.domain.run import RunPlan, RunState, RunSummary
from harness.domain.verdict import CheckVerdict, RunVerdict
from harness.errors import UsageError
from harness.report.view import RunView, build_view
from harness.store.run import StoredRun
from harness.store.scorings import FIRST
from harness.store.store import Store
from harness.store.verify import VerifyReport, verify_run

__all__ = ["ScenarioRow", "ScoringRow", "ShownRun", "VerifyReport", "audit", "show", "summaries", "transcript"]


class ScenarioRow(Struct, frozen=True):
    """One scenario by one agent: trials scored, how many passed, and how many ended in which way."""

    agent: str
    scenario: str
    trials: int
    passed: int
    ends: dict[str, int]


class ScoringRow(Struct, frozen=True):
    """One scoring of a run: `judge` is the model, None: rules alone; `exit_code` None: it came to no verdict.

    `other_pack`: by another pack than the run was made with. `outdated`: the run went on after it.
    """

    number: int
    created: str | None
    harness: str
    judge: str | None
    other_pack: bool
    outdated: bool
    exit_code: int | None
    note: str = ""


class ShownRun(Struct, frozen=True):
    """A run and what it came to by `scoring`. `verdict` and `view` only where that scoring has a verdict."""

    summary: RunSummary
    plan: RunPlan
    scenarios: tuple[ScenarioRow, ...]
    verdict: dict[str, Any] | None
    view: RunView | None
    scoring: int
    scorings: tuple[ScoringRow, ...]


def audit(root: Path, ref: str) -> VerifyReport:
    """Recompute the evidence of a run. UsageError where there is no such run."""
    return verify_run(Store(root).locate(ref))


def summaries(root: Path) -> Iterator[RunSummary]:
    """Every run of a store, newest first."""
    logs.configure()
    return Store(root).list_runs()


def show(root: Path, ref: str, scoring: int | None = None) -> ShownRun:
    """What a run came to by this scoring (None: the newest), from its verdicts, read one by one.

    AuditMismatch where it is not as it was sealed.
    """
    logs.configure()
    store = Store(root)
    run = store.open_run(ref)
    run.hold_seal()
    summary = store.summary(run)
    newest = run.newest_scoring()
    number = scoring or (newest.number if newest is not None else FIRST)
    verdict = _verdict(run, summary.state, number)
    view = None if verdict is None else _view(run, msgspec.convert(verdict, RunVerdict), number)
    return ShownRun(summary, run.plan, _scenarios(run, number), verdict, view, number, _scorings(run, summary.state))


def _verdict(run: StoredRun, state: RunState, number: int) -> dict[str, Any] | None:
    if number != FIRST:
        return run.scoring(number).verdict
    head = run.head()
    return head.verdict if head is not None and state is not RunState.RUNNING else None


def _view(run: StoredRun, verdict: RunVerdict, number: int) -> RunView:
    """By the pack beside the run; a run of an older version, which has none, is shown without what only a pack says."""
    try:
        stick = yardstick(run.pack(), run.plan)
    except UsageError:
        pack = run.plan.pack
        return build_view(run.run_id, f"{pack.name} {pack.version}", verdict, run.scores(number))
    return stick.view(verdict, run.scores(number))


def _scorings(run: StoredRun, state: RunState) -> tuple[ScoringRow, ...]:
    """The run's own scoring, then the later ones."""
    head, plan, seal = run.head(), run.plan, run.seal_digest()
    own = ScoringRow(
        number=FIRST,
        created=head.ended if head is not None else None,
        harness=plan.harness,
        judge=plan.judge.ref.model if plan.judge is not None else None,
        other_pack=False,
        outdated=False,
        exit_code=(_verdict(run, state, FIRST) or {}).get("exit_code"),
    )
    later = (
        ScoringRow(
            number=one.number,
            created=one.created,
            harness=one.harness,
            judge=one.judge.ref.model if one.judge is not None else None,
            other_pack=one.other_pack,
            outdated=one.seal != seal,
            exit_code=one.verdict.get("exit_code"),
            note=one.note,
        )
        for one in run.scorings()
    )
    return (own, *later)


def _scenarios(run: StoredRun, number: int) -> tuple[ScenarioRow, ...]:
    rows: dict[tuple[str, str], ScenarioRow] = {}
    for verdict in run.scores(number):
        where = (verdict.key.agent, verdict.key.scenario)
        row = rows.get(where) or ScenarioRow(*where, trials=0, passed=0, ends={})
        ends = {**row.ends, verdict.end: row.ends.get(verdict.end, 0) + 1}
        rows[where] = ScenarioRow(*where, row.trials + 1, row.passed + verdict.passed, ends)
    return tuple(rows[where] for where in sorted(rows))


class Transcript(Struct, frozen=True):
    """What happened in a trial, and what its checks say by the newest scoring: none where it has no verdict."""

    run_id: str
    events: Iterator[Event]
    checks: tuple[CheckVerdict, ...]


def transcript(root: Path, ref: str, trial: str) -> Transcript:
    """Of a trial given as `agent/scenario/n`; UsageError where it is not there.

    The events raise AuditMismatch where the journal is cut off or changed, after all that is whole.
    """
    run = Store(root).open_run(ref)
    agent, _, rest = trial.partition("/")
    scenario, _, number = rest.partition("/")
    key = TrialKey(agent, scenario, int(number)) if re.fullmatch("[0-9]{1,9}", number) else None
    if key is None or not any(key == planned for planned in run.plan.cells()):
        remedy = f"give AGENT/SCENARIO/N; fumehood runs show {run.run_id} lists them"
        raise UsageError(f"run {run.run_id} has no trial {trial[:200]!r}", remedy)
    if not run.journal(key).is_file():
        raise UsageError(f"trial {key} of run {run.run_id} has not been run yet", "fumehood run --resume RUN runs it")
    verdict = next((one for one in run.scores() if one.key == key), None)
    return Transcript(run.run_id, run.events(key), verdict.checks if verdict is not None else ())
