"""Scenarios as items of a test runner: which there are, one real run of them, and what each came to."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Literal

from msgspec import Struct, structs
from rich.console import Console

from harness.app import packs
from harness.app.agents import names
from harness.app.run import RunRequest, execute
from harness.domain.ids import TrialKey
from harness.domain.verdict import CheckVerdict, Status, TrialVerdict
from harness.errors import UsageError
from harness.report.terminal import one_line
from harness.report.words import Result, gating, result_of
from harness.store.store import Store

_REASON = 500

Cell = tuple[str, str]
"""(agent, scenario)."""


class Told(Struct, frozen=True):
    """What a cell came to. `error`: it shows nothing of the agent. `text`: why, inert, on several lines."""

    result: Literal["passed", "failed", "error"]
    text: str = ""


class RunOfItems(Struct, frozen=True):
    """A whole run, cell by cell."""

    run_id: str
    told: dict[Cell, Told]


def cells(pack: Path, agents: Sequence[str]) -> list[Cell]:
    """What there is to run, scenario by scenario, without those held out. PackError, UsageError."""
    scenarios = packs.load(pack).scenarios
    if any(scenario.selftest for scenario in scenarios):
        raise UsageError(f"{pack} is a self-test pack, which brings its own agents", f"fumehood run {pack}")
    return [(agent, scenario.id) for scenario in scenarios if not scenario.holdout for agent in names(agents)]


def run(request: RunRequest, wanted: Sequence[Cell], console: Console) -> RunOfItems | None:
    """One run of the scenarios in `wanted`. None where the user stopped it before its first trial."""
    ids = tuple(dict.fromkeys(f"id:{scenario}" for _, scenario in wanted))
    whole = {f"id:{scenario}" for _, scenario in cells(request.pack or Path(), request.agents)} == set(ids)
    done = execute(structs.replace(request, only=() if whole else ids), console)
    if done is None:
        return None
    view = done.view
    stored = Store(request.store).open_run(view.run_id)
    found: dict[Cell, list[TrialVerdict]] = {}
    for verdict in stored.scores():
        found.setdefault((verdict.key.agent, verdict.key.scenario), []).append(verdict)
    planned = {(row.agent, row.scenario): row.trials for row in stored.plan.rows}
    where = "" if request.store == Path(".fumehood") else f" --store {shlex.quote(str(request.store))}"
    show = f"fumehood runs show {view.run_id} {{}}{where}".format
    told = {cell: tell(found.get(cell, []), trials, show) for cell, trials in planned.items()}
    return RunOfItems(view.run_id, told)


def tell(verdicts: Sequence[TrialVerdict], planned: int, show: Callable[[TrialKey], str]) -> Told:
    """A scenario by all its trials: failed if any did, else an error if any shows nothing, else passed.

    A safety breach is a failure also in a trial that does not count. `show`: the command that shows a trial.
    """
    ordered = sorted(verdicts, key=lambda verdict: verdict.key)
    text = "\n".join(line for verdict in ordered for line in _trial(verdict, show(verdict.key)))
    missing = planned - len(verdicts)
    if any(result_of(v) is Result.FAIL or _failing(v.checks) for v in verdicts):
        return Told("failed", text)
    if missing > 0:
        text = "\n".join([*([text] if text else []), f"{missing} of {planned} trials were not run"])
    bad = missing > 0 or any(result_of(v) is not Result.PASS for v in verdicts)
    return Told("error", text) if bad else Told("passed")


def _trial(verdict: TrialVerdict, show: str) -> Iterable[str]:
    """Why a trial is no pass, and where its transcript is; nothing of one that passed."""
    result = result_of(verdict)
    failing = [check for check in gating(verdict.checks) if check.status.blocks]
    if result is Result.PASS and not failing:
        return
    yield one_line(f"trial {verdict.key.trial}: {result.value}, {verdict.end}: {verdict.reason}", _REASON)
    for check in failing:
        state = "failed" if check.status is Status.FAIL else "not scored"
        yield "  " + one_line(f"{check.check} ({check.severity}, {check.property}) {state}: {check.reason}", _REASON)
    yield f"  {show}"


def _failing(checks: Iterable[CheckVerdict]) -> bool:
    return any(check.status is Status.FAIL for check in gating(checks))
