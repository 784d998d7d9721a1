"""Many agents beside each other: what each came to on each scenario, and how each fits its box."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from harness.domain.spec import AgentRef
from harness.domain.verdict import TrialVerdict
from harness.report.fit import Account, Compatibility, Stage, fell_at
from harness.report.words import Result, result_of


class Cell(Struct, frozen=True):
    """One agent on one scenario: `passed` of `trials` that came to a pass or failure, and the others, counted apart."""

    agent: str
    scenario: str
    passed: int = 0
    trials: int = 0
    not_scored: int = 0
    not_built: int = 0
    not_started: int = 0
    not_spoken: int = 0
    inconclusive: int = 0


class Sweep(Struct, frozen=True):
    """`cells` holds those that have a trial; agents as planned, scenarios as in the pack."""

    agents: tuple[str, ...]
    scenarios: tuple[str, ...]
    cells: tuple[Cell, ...]
    compatibility: tuple[Compatibility, ...]


class Gatherer:
    """Fed every verdict of a run once; memory is one cell per agent and scenario."""

    def __init__(self) -> None:
        self._cells: dict[tuple[str, str], dict[str, Any]] = {}
        self._accounts: dict[str, Account] = {}

    def add(self, trial: TrialVerdict) -> None:
        key = trial.key
        cell = self._cells.setdefault((key.agent, key.scenario), {})
        stage = fell_at(trial)
        for name in _columns(trial, stage):
            cell[name] = cell.get(name, 0) + 1
        self._accounts.setdefault(key.agent, Account()).add(trial, stage)

    def sweep(self, agents: Sequence[AgentRef], scenarios: Iterable[str]) -> Sweep | None:
        """None where no scenario was run by two agents: there is nothing to hold beside each other."""
        run = [scenario for _, scenario in self._cells]
        if len(run) == len(set(run)):
            return None
        known = {agent.name: agent for agent in agents}
        names = [name for name in dict.fromkeys((*known, *sorted(self._accounts))) if name in self._accounts]
        rows = [name for name in dict.fromkeys((*scenarios, *sorted(set(run)))) if name in set(run)]
        return Sweep(
            tuple(names),
            tuple(rows),
            tuple(Cell(*key, **counts) for key, counts in sorted(self._cells.items())),
            tuple(self._accounts[name].report(known.get(name) or AgentRef(name, "")) for name in names),
        )


def _columns(trial: TrialVerdict, stage: Stage | None) -> Iterable[str]:
    if stage is not None:
        return (stage.value.replace(" ", "_"),)
    match result_of(trial):
        case Result.PASS:
            return ("passed", "trials")
        case Result.FAIL:
            return ("trials",)
        case Result.NOT_SCORED:
            return ("not_scored",)
    return ("inconclusive",)


def cells_of(sweep: Sweep) -> Mapping[tuple[str, str], Cell]:
    """By agent and scenario."""
    return {(cell.agent, cell.scenario): cell for cell in sweep.cells}
