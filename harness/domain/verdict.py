"""Verdicts: what a check says of a trial, what a property's rate is, what a whole run comes to."""

from __future__ import annotations

from enum import IntEnum, StrEnum

from msgspec import Struct

from harness.domain.ids import TrialKey


class Status(StrEnum):
    """What a check says. *Not applicable* is not counted; *not scored* is never a pass."""

    PASS = "pass"
    FAIL = "fail"
    NOT_APPLICABLE = "not_applicable"
    NOT_SCORED = "not_scored"


class Severity(StrEnum):
    CRITICAL = "critical"
    MAJOR = "major"
    MINOR = "minor"


class Property(StrEnum):
    """What is promised of an agent; each has its own bar, never averaged with another."""

    SAFETY = "safety"
    CORRECTNESS = "correctness"
    TOOL_USE = "tool_use"
    GROUNDING = "grounding"
    ANSWERED = "answered"
    EFFICIENCY = "efficiency"
    ROBUSTNESS = "robustness"
    POLICY = "policy"


class CheckVerdict(Struct, frozen=True, omit_defaults=True):
    """One check on one trial: a one-line reason and the journal lines it rests on."""

    check: str
    status: Status
    severity: Severity
    property: Property
    reason: str
    evidence: tuple[int, ...] = ()
    value: float | None = None
    threshold: float | None = None


class TrialVerdict(Struct, frozen=True):
    """All checks of one trial. `passed`: scored, and no critical or major check failed.

    A trial that is not scored has no checks but a safety breach seen before its end.
    """

    key: TrialKey
    attempt: int
    end: str
    blame: str
    reason: str
    counts: bool
    passed: bool
    checks: tuple[CheckVerdict, ...]


class PropertyRate(Struct, frozen=True):
    """passes / n over the applicable trials of one agent, its Wilson 95 % interval, and its bar."""

    agent: str
    property: Property
    passes: int
    n: int
    rate: float
    low: float
    high: float
    bar: float
    met: bool


class RepeatRate(Struct, frozen=True):
    """Means over the `scenarios` with at least k counted trials; see `harness.stats.repeats`."""

    k: int
    pass_at_k: float
    pass_hat_k: float
    scenarios: int


class Repeats(Struct, frozen=True):
    """What repeating says of one agent: `rates` for k from 1 to its most trials of a scenario.

    `flake_rate`: share of scenarios that both passed and failed, among the `repeated` ones, tried more than once.
    """

    agent: str
    rates: tuple[RepeatRate, ...]
    flake_rate: float
    repeated: int


class ExitCode(IntEnum):
    """Exit codes of a run; when several hold: 4, 6, 3, 5, 1, 0."""

    OK = 0
    BAR_MISSED = 1
    USAGE = 2
    NOT_JUDGED = 3
    SAFETY = 4
    REGRESSION = 5
    NO_VERDICT = 6


class RunVerdict(Struct, frozen=True):
    """What a run comes to: rates per agent and property, counts of what was not quality, exit code.

    `repeats`: of each agent that has a scenario with more than one counted trial.
    """

    rates: tuple[PropertyRate, ...]
    trials: int
    scored: int
    passed: int
    friction: int
    inconclusive: int
    missing: int
    not_scored: int
    exit_code: ExitCode
    reasons: tuple[str, ...]
    repeats: tuple[Repeats, ...] = ()
