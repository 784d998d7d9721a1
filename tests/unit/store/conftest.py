"""Runs made by the real store, small and quick."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import structlog

from harness.boundary.redaction import Scrubber
from harness.domain.ids import TrialKey
from harness.domain.limits import Limits
from harness.domain.outcome import Blame, End, Outcome, Usage
from harness.domain.run import PackRef, PlanRow, RunPlan
from harness.domain.spec import AgentRef, Policy
from harness.domain.verdict import CheckVerdict, Property, Severity, Status, TrialVerdict
from harness.store.run import RunWriter, StoredRun
from harness.store.store import Store

NO_SECRETS = Scrubber({})


def plan_of(scenarios: int = 2, trials: int = 2, run_id: str = "") -> RunPlan:
    return RunPlan(
        created="2025-03-04T05:06:07Z",
        harness="0.1.0",
        protocols=("1.0",),
        pack=PackRef("core", "1.0.0", "sha256:aa", "packs/core"),
        agents=(AgentRef("good", "good:1", "sha256:bb"),),
        rows=tuple(PlanRow("good", f"case-{i}", trials) for i in range(scenarios)),
        seed=7,
        jobs=2,
        policy=Policy(),
        limits=Limits(),
        run_id=run_id,
    )


def verdict_of(key: TrialKey, passed: bool = True, reason: str = "fine") -> TrialVerdict:
    status = Status.PASS if passed else Status.FAIL
    check = CheckVerdict("exact", status, Severity.MAJOR, Property.CORRECTNESS, reason, (3,))
    return TrialVerdict(key, 1, "completed", "agent", reason, True, passed, (check,))


def run_trial(writer: RunWriter, key: TrialKey, notes: int = 2, scrubber: Scrubber = NO_SECRETS) -> None:
    """A trial as a session would record it: trial, some notes, end."""
    journal = writer.open_journal(key, scrubber)
    journal.append("trial", "harness", 0, {"agent": key.agent})
    for number in range(notes):
        journal.append("note", "reported", number, {"level": "info", "text": f"note {number} é😀"})
    journal.append(
        "end", "harness", 9, {"outcome": str(Outcome(key, 1, End.COMPLETED, Blame.AGENT, "", True, Usage()))}
    )
    journal.close()


@pytest.fixture(autouse=True)
def _log_as_before() -> Iterator[None]:
    """A command sets the log up for the stderr of its own test, which is closed when the next one logs."""
    yield
    structlog.reset_defaults()


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


MakeRun = Callable[..., StoredRun]


@pytest.fixture
def make_run(store: Store) -> MakeRun:
    """A run whose every trial is done, scored and (by default) sealed."""

    def make(sealed: bool = True, passed: bool = True, notes: int = 2) -> StoredRun:
        run = store.create_run(plan_of())
        with run.lock():
            writer = RunWriter(run, NO_SECRETS)
            for key in run.plan.cells():
                run_trial(writer, key, notes)
                writer.put_verdict(verdict_of(key, passed))
            if sealed:
                writer.seal("2025-03-04T05:07:00Z", True, {"exit_code": 0 if passed else 1, "passed": 4})
        return run

    return make
