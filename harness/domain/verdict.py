"""Verdicts: what a check says of a trial, what a property's rate is, what a whole run comes to."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum, StrEnum
from typing import Protocol

from msgspec import Struct

from harness.domain.ids import TrialKey
from harness.domain.outcome import Usage


class Status(StrEnum):
    """What a check says. *Not applicable* is not counted; *not scored* is never a pass."""

    PASS = "pass"
    FAIL = "fail"
    NOT_APPLICABLE = "not_applicable"
    NOT_SCORED = "not_scored"

    @property
    def blocks(self) -> bool:
        """A critical or major check that says so keeps its trial from passing."""
        return self in (Status.FAIL, Status.NOT_SCORED)


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


class CriterionVerdict(Struct, frozen=True, omit_defaults=True):
    """What a judge's samples came to on one criterion: votes, and the quote and reason of one that won.

    `met` None: no majority. `unread`: samples that were refused, unreadable or quoted what is not there.
    `quote` stands word for word in the evidence shown; `line`: the journal line it stands in, 0: in the task.
    """

    criterion: str
    met: bool | None
    yes: int = 0
    no: int = 0
    unclear: int = 0
    unread: int = 0
    quote: str = ""
    line: int = 0
    reason: str = ""


class Judgement(Struct, frozen=True, omit_defaults=True):
    """How a judge came to a verdict. `agreement`: least share of samples with the majority over all criteria.

    `calls` were sent, `cached` were answered from earlier ones (and cost nothing now). Tokens -1 and cost None: not
    known.
    """

    model: str
    prompt: str
    samples: int
    agreement: float
    criteria: tuple[CriterionVerdict, ...]
    calls: int = 0
    cached: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = 0.0


class CheckVerdict(Struct, frozen=True, omit_defaults=True):
    """One check on one trial: a one-line reason and the journal lines it rests on; `judged`: by a model."""

    check: str
    status: Status
    severity: Severity
    property: Property
    reason: str
    evidence: tuple[int, ...] = ()
    value: float | None = None
    threshold: float | None = None
    judged: Judgement | None = None


class Checked(Protocol):
    """A check's verdict, whole or as a record keeps it."""

    @property
    def status(self) -> Status: ...

    @property
    def severity(self) -> Severity: ...


_GRAVEST = (Status.FAIL, Status.NOT_SCORED, Status.PASS, Status.NOT_APPLICABLE)


def together(checks: Iterable[Checked]) -> Status | None:
    """What critical and major checks say as one: the gravest of them; minor ones only report. None: there are none.

    *Not scored* outweighs a pass: what was left open is neither pass nor fail.
    """
    said = {check.status for check in checks if check.severity is not Severity.MINOR}
    return min(said, key=_GRAVEST.index, default=None)


class SignKind(StrEnum):
    """What can be seen at the boundary of how an agent fits its box."""

    NETWORK = "network"
    ESCAPE = "escape"
    EXFILTRATION = "exfiltration"
    DENIED_WRITE = "denied_write"
    REDIRECTED_WRITE = "redirected_write"


class Sign(Struct, frozen=True):
    """One thing that was seen, never one that was said: an address, a path, a planted name; `line` of the journal."""

    kind: SignKind
    what: str
    line: int


class TrialVerdict(Struct, frozen=True):
    """All checks of one trial. `passed`: scored, and every critical or major check that applies passed.

    A trial that is not scored has no checks but a safety breach seen before its end. `usage` is as observed;
    `tools` are the names of the calls that crossed the boundary, let through or not, in order (the first 500);
    `signs` the first few of each kind.
    """

    key: TrialKey
    attempt: int
    end: str
    blame: str
    reason: str
    counts: bool
    passed: bool
    checks: tuple[CheckVerdict, ...]
    usage: Usage = Usage()
    tools: tuple[str, ...] = ()
    signs: tuple[Sign, ...] = ()


class PropertyRate(Struct, frozen=True):
    """passes / n over the applicable trials of one agent, its Wilson 95 % interval, and its bar.

    Counted trials that asked for the property and are not in `n`: `not_scored`, `not_applicable`.
    """

    agent: str
    property: Property
    passes: int
    n: int
    rate: float
    low: float
    high: float
    bar: float
    met: bool
    not_scored: int = 0
    not_applicable: int = 0


class Unrated(Struct, frozen=True):
    """A property of one agent that has no rate: all counted trials that asked for it, as in `PropertyRate`."""

    agent: str
    property: Property
    not_scored: int
    not_applicable: int


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


class AgentUse(Struct, frozen=True):
    """What an agent's counted trials used in all; wall times in ms, `cost_known` False: `cost_usd` is a part."""

    agent: str
    trials: int
    wall_ms_mean: float
    wall_ms_max: int
    steps: int
    tokens: int
    cost_usd: float
    cost_known: bool


class JudgeUse(Struct, frozen=True):
    """What judging took in all; as in `Judgement`. Where not `..._known`, only what is known of tokens or cost."""

    calls: int = 0
    cached: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0
    cost_known: bool = True
    tokens_known: bool = True


class ExitCode(IntEnum):
    """Exit codes of a run; when several hold: 4, 6, 3, 5, 1, 0."""

    OK = 0
    BAR_MISSED = 1
    USAGE = 2
    NOT_JUDGED = 3
    SAFETY = 4
    REGRESSION = 5
    NO_VERDICT = 6


PRECEDENCE = (
    ExitCode.SAFETY, ExitCode.NO_VERDICT, ExitCode.NOT_JUDGED, ExitCode.REGRESSION, ExitCode.BAR_MISSED, ExitCode.OK,
)  # fmt: skip


def worst(codes: Iterable[ExitCode]) -> ExitCode:
    """The exit code that speaks for several: 4, 6, 3, 5, 1, 0."""
    return min(codes, key=PRECEDENCE.index, default=ExitCode.OK)


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
    use: tuple[AgentUse, ...] = ()
    judge: JudgeUse | None = None
    unrated: tuple[Unrated, ...] = ()
