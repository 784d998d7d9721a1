"""A run: what was planned, and what can be said of it at a glance."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

from msgspec import Struct

from harness.domain.ids import TrialKey
from harness.domain.judge import JudgeSpec
from harness.domain.limits import Limits
from harness.domain.model import ModelSpec
from harness.domain.spec import AgentRef, Policy


class PackRef(Struct, frozen=True):
    """Which pack, exactly; `path` is where it was loaded from."""

    name: str
    version: str
    digest: str
    path: str


class CassetteRef(Struct, frozen=True):
    """A file of recorded answers, exactly: its absolute path, and its sha256."""

    path: str
    digest: str

    def __str__(self) -> str:
        """What a comparison of two runs calls it: without the path, which says nothing of quality."""
        return f"cassette:{self.digest[:12]}"


class PlanRow(Struct, frozen=True):
    """Trials 1 to `trials` of one scenario by one agent."""

    agent: str
    scenario: str
    trials: int


class RunPlan(Struct, frozen=True):
    """Everything a run was asked to do; written once, before the first trial.

    `created` is ISO 8601 in UTC. `rows` say who runs what how often (not always every agent every scenario: a
    self-test scenario has its own probe). An empty `run_id` is filled in by the store.
    `rerun_of`: the run whose flips this one only runs again.
    `model` None: agents' model calls are answered by the pack's turns. `verify_images`: the digests
    of the images of hidden tests and tool servers, by the names packs call them.
    `tools`: what answers in place of tool servers, none of which is then run.
    """

    created: str
    harness: str
    protocols: tuple[str, ...]
    pack: PackRef
    agents: tuple[AgentRef, ...]
    rows: tuple[PlanRow, ...]
    seed: int
    jobs: int
    policy: Policy
    limits: Limits
    holdout: bool = False
    only: tuple[str, ...] = ()
    run_id: str = ""
    judge: JudgeSpec | None = None
    rerun_of: str = ""
    model: ModelSpec | None = None
    verify_images: dict[str, str] = {}
    tools: CassetteRef | None = None

    @property
    def planned(self) -> int:
        """How many trials there are to run."""
        return sum(row.trials for row in self.rows)

    def cells(self) -> Iterator[TrialKey]:
        """Every trial to run, row by row."""
        for row in self.rows:
            for trial in range(1, row.trials + 1):
                yield TrialKey(row.agent, row.scenario, trial)


class RunState(StrEnum):
    """Read off the files: locked by a living process; sealed as complete; neither."""

    RUNNING = "running"
    FINISHED = "finished"
    INTERRUPTED = "interrupted"


class RunSummary(Struct, frozen=True):
    """One line on a run. `done`: trials with a finished journal; `exit_code` None: no verdict yet."""

    run_id: str
    pack: str
    agents: tuple[str, ...]
    state: RunState
    planned: int
    done: int
    passed: int
    exit_code: int | None
    created: str
    ended: str | None = None
