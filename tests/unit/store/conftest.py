"""Runs made by the real store, small and quick."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import structlog

from harness.boundary.redaction import Scrubber
from harness.domain.ids import TrialKey
from harness.domain.limits import Limits
from harness.domain.outcome import Blame, End, Outcome, Usage
from harness.domain.pack import Pack, SelfTest
from harness.domain.run import PackRef, PlanRow, RunPlan
from harness.domain.spec import AgentRef, Policy
from harness.domain.verdict import CheckVerdict, Property, PropertyRate, Severity, Status, TrialVerdict
from harness.stats.intervals import wilson
from harness.store.run import RunWriter, StoredRun
from harness.store.store import Store
from tests.support import scenario

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


def add_run(
    store: Store, day: int, outcomes: dict[str, str], *, agent: str = "good", pack: str = "core", **more: Any
) -> StoredRun:
    """A sealed run; `outcomes`: per scenario a letter for each trial, p(ass), f(ail) or x (not counted)."""
    cost, probes, complete = more.get("cost", 0.0), more.get("probes", False), more.get("complete", True)
    plan = msgspec.structs.replace(
        plan_of(),
        created=f"2026-01-{day:02}T00:00:00+00:00",
        pack=PackRef(pack, "1", "sha256:aa", "p"),
        agents=(AgentRef(agent, agent, "sha256:bb"),),
        rows=tuple(PlanRow(agent, name, len(letters)) for name, letters in outcomes.items()),
        only=more.get("only", ()),
    )
    selftest = SelfTest(probe="healthy", end="completed", blame="agent") if probes else None
    content = tuple(scenario(id=name, selftest=selftest) for name in outcomes)
    run = store.create_run(plan, Pack(pack, "1", "", "sha256:aa", "p", content))
    passes = n = 0
    with run.lock():
        writer = RunWriter(run, NO_SECRETS)
        for name, letters in outcomes.items():
            for number, letter in enumerate(letters, 1):
                key = TrialKey(agent, name, number)
                run_trial(writer, key)
                verdict = verdict_of(key, letter == "p")
                usage = Usage(wall_ms=1000 * number, tokens=10, cost_usd=cost, cost_known=cost is not None)
                writer.put_verdict(msgspec.structs.replace(verdict, counts=letter != "x", usage=usage))
                n, passes = n + (letter != "x"), passes + (letter == "p")
        low, high = wilson(passes, n)
        rate = PropertyRate(agent, Property.CORRECTNESS, passes, n, passes / n, low, high, 0.9, passes / n >= 0.9)
        writer.seal("2026-01-31T00:00:00Z", complete, {"exit_code": 0, "rates": msgspec.to_builtins([rate])})
    return run
