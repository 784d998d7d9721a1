"""What a run or a baseline comes to, ready to compare: who ran what how, and one frozen row per trial."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from enum import StrEnum
from typing import Literal

from msgspec import Struct

from harness.domain.ids import TrialKey
from harness.domain.judge import JudgeSpec
from harness.domain.limits import Limits
from harness.domain.outcome import Blame, Usage
from harness.domain.spec import AgentRef, Policy
from harness.domain.verdict import ExitCode, Property, PropertyRate, Severity, Status, together

Trust = Literal["candidate", "reviewed", "golden"]


class CheckRow(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What is kept of one check: no reason, as it may quote the agent. `value` is finite."""

    check: str
    status: Status
    severity: Severity
    property: Property
    value: float | None = None


class Standing(StrEnum):
    """What a trial is to a comparison. Only a pass and a fail can be compared."""

    PASS = "pass"
    FAIL = "fail"
    NOT_JUDGED = "not judged"
    FRICTION = "friction"
    INCONCLUSIVE = "inconclusive"


class TrialRow(Struct, frozen=True, forbid_unknown_fields=True):
    """One trial. A tool's name that no pack could have (the agent made it up) stands as `?` and a short digest."""

    key: TrialKey
    family: str
    bucket: str
    end: str
    blame: str
    counts: bool
    passed: bool
    checks: tuple[CheckRow, ...]
    usage: Usage
    tools: tuple[str, ...]

    @property
    def standing(self) -> Standing:
        """A trial that failed nothing, but for a check that could not be scored, is *not judged*: never a fail."""
        if not self.counts:
            return Standing.FRICTION if self.blame == Blame.INTEGRATION else Standing.INCONCLUSIVE
        if self.passed:
            return Standing.PASS
        return Standing.NOT_JUDGED if together(self.checks) is Status.NOT_SCORED else Standing.FAIL

    def holds(self, prop: Property) -> bool | None:
        """Whether a counted trial keeps a property, as `harness.scoring.tally` counts it; None: it does not say."""
        said = together(check for check in self.checks if check.property is prop) if self.counts else None
        return said is Status.PASS if said in (Status.PASS, Status.FAIL) else None

    def labelled(self) -> Iterator[tuple[str, CheckRow]]:
        """Each check with its name; the second one of a name is `name#2`, and so on, in the pack's order."""
        seen: Counter[str] = Counter()
        for check in self.checks:
            seen[check.check] += 1
            yield check.check if seen[check.check] == 1 else f"{check.check}#{seen[check.check]}", check


class Summary(Struct, frozen=True, forbid_unknown_fields=True):
    """A `RunVerdict` without its reasons, which may quote agents."""

    rates: tuple[PropertyRate, ...]
    trials: int
    scored: int
    passed: int
    friction: int
    inconclusive: int
    missing: int
    not_scored: int
    exit_code: ExitCode


class PackId(Struct, frozen=True, forbid_unknown_fields=True):
    """Which pack, without where it was loaded from."""

    name: str
    version: str
    digest: str


class Header(Struct, frozen=True, forbid_unknown_fields=True):
    """Everything of a run or baseline but its trials.

    `name`: of the baseline, or the run's id. `judged_by`: model and prompt of every judge that took part, from the
    verdicts. `tools`: what answered in place of tool servers. `git`: commit of the work tree it was saved from.
    `trust` None: a run, not a baseline. `doubts`: why no verdict can rest on it; of a baseline `accepted` says why it
    was saved all the same.
    """

    name: str
    run_id: str
    created: str
    harness: str
    pack: PackId
    agents: tuple[AgentRef, ...]
    policy: Policy
    limits: Limits
    policy_digest: str
    seed: int
    holdout: bool
    only: tuple[str, ...]
    bars: dict[Property, float]
    summary: Summary
    judge: JudgeSpec | None = None
    judged_by: tuple[str, ...] = ()
    model: str | None = None
    tools: str | None = None
    git: str | None = None
    trust: Trust | None = None
    doubts: tuple[str, ...] = ()
    accepted: str = ""


class Record(Struct, frozen=True, forbid_unknown_fields=True):
    """What is compared. `trials` are sorted by key, one per key."""

    header: Header
    trials: tuple[TrialRow, ...]
