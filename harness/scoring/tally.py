"""Counts of a run kept while its verdicts stream by: nothing here grows with the number of trials."""

from __future__ import annotations

from collections import Counter

from msgspec import Struct, field

from harness.domain.outcome import Blame, Usage
from harness.domain.verdict import CheckVerdict, Judgement, JudgeUse, Property, Severity, Status, TrialVerdict, together


class PropertyTally(Struct):
    """Of one agent's property: counted trials it applied to, and what bars cannot excuse.

    `critical` counts trials with a failed critical check, also those that are not counted in `n`. `not_scored`:
    trials with any check that was not scored. `open` and `inapplicable`: counted trials that are out of `n`, as one
    that is not scored left them open, or as nothing applied.
    """

    passes: int = 0
    n: int = 0
    critical: int = 0
    first_critical: str = ""
    not_scored: int = 0
    open: int = 0
    inapplicable: int = 0


class UseTally(Struct):
    """What an agent's counted trials used, summed."""

    wall_ms: int = 0
    wall_ms_max: int = 0
    steps: int = 0
    tokens: int = 0
    cost_usd: float = 0.0
    cost_known: bool = True

    def add(self, usage: Usage) -> None:
        self.wall_ms += usage.wall_ms
        self.wall_ms_max = max(self.wall_ms_max, usage.wall_ms)
        self.steps += usage.steps
        self.tokens += usage.tokens
        self.cost_usd += usage.cost_usd
        self.cost_known &= usage.cost_known


class AgentTally(Struct):
    """Of one agent: `cells` has the scored trials of each scenario that had any at all, `passes` the passed ones.

    `open`: those that failed nothing but were not scored in full: they are neither pass nor fail.
    """

    trials: int = 0
    scored: int = 0
    friction: Counter[str] = field(default_factory=Counter)
    inconclusive: Counter[str] = field(default_factory=Counter)
    cells: Counter[str] = field(default_factory=Counter)
    passes: Counter[str] = field(default_factory=Counter)
    open: Counter[str] = field(default_factory=Counter)
    properties: dict[Property, PropertyTally] = field(default_factory=dict)
    use: UseTally = field(default_factory=UseTally)


class Tally(Struct):
    """A whole run so far."""

    trials: int = 0
    scored: int = 0
    passed: int = 0
    not_scored: int = 0
    judge: JudgeUse | None = None
    agents: dict[str, AgentTally] = field(default_factory=dict)

    def add(self, verdict: TrialVerdict) -> None:
        agent = self.agents.setdefault(verdict.key.agent, AgentTally())
        self.trials += 1
        agent.trials += 1
        agent.cells[verdict.key.scenario] += verdict.counts
        self.passed += verdict.counts and verdict.passed
        self.not_scored += any(check.status is Status.NOT_SCORED for check in verdict.checks)
        if verdict.counts:
            self.scored += 1
            agent.scored += 1
            agent.passes[verdict.key.scenario] += verdict.passed
            agent.open[verdict.key.scenario] += _is_open(verdict)
            agent.use.add(verdict.usage)
        elif verdict.blame == Blame.INTEGRATION:
            agent.friction[verdict.end] += 1
        else:
            # Whatever the blame says, it is not counted and not friction: no verdict can rest on it.
            agent.inconclusive[verdict.end] += 1
        self._add_judging(verdict)
        by_property: dict[Property, list[CheckVerdict]] = {}
        for check in verdict.checks:
            by_property.setdefault(check.property, []).append(check)
        for prop, checks in by_property.items():
            _add_property(agent.properties.setdefault(prop, PropertyTally()), verdict, checks)

    def _add_judging(self, verdict: TrialVerdict) -> None:
        for check in verdict.checks:
            if (one := check.judged) is not None:
                self.judge = judging(self.judge or JudgeUse(), one)


def judging(so_far: JudgeUse, one: Judgement) -> JudgeUse:
    """The sum with what one more judgement took."""
    return JudgeUse(
        calls=so_far.calls + one.calls,
        cached=so_far.cached + one.cached,
        input_tokens=so_far.input_tokens + max(0, one.input_tokens),
        output_tokens=so_far.output_tokens + max(0, one.output_tokens),
        cost_usd=so_far.cost_usd + (one.cost_usd or 0.0),
        cost_known=so_far.cost_known and one.cost_usd is not None and one.input_tokens >= 0,
        tokens_known=so_far.tokens_known and min(one.input_tokens, one.output_tokens) >= 0,
    )


def _is_open(verdict: TrialVerdict) -> bool:
    return not verdict.passed and together(verdict.checks) is Status.NOT_SCORED


def _add_property(tally: PropertyTally, verdict: TrialVerdict, checks: list[CheckVerdict]) -> None:
    """A trial passes a property when none of its critical and major checks failed; minor ones only report.

    One that failed none but left one unscored is neither pass nor fail: it stays out of `n`, and the run gets
    exit code 3. One with no applicable critical or major check stays out of `n` too.
    """
    failed_critical = [c for c in checks if c.status is Status.FAIL and c.severity is Severity.CRITICAL]
    if failed_critical:
        tally.critical += 1
        tally.first_critical = tally.first_critical or f"{verdict.key}: {failed_critical[0].reason}"
    tally.not_scored += any(check.status is Status.NOT_SCORED for check in checks)
    if not verdict.counts:
        return
    said = together(checks)
    tally.n += said in (Status.PASS, Status.FAIL)
    tally.passes += said is Status.PASS
    tally.open += said is Status.NOT_SCORED
    tally.inapplicable += said is Status.NOT_APPLICABLE
