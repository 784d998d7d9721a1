"""Counts of a run kept while its verdicts stream by: nothing here grows with the number of trials."""

from __future__ import annotations

from collections import Counter

from msgspec import Struct, field

from harness.domain.outcome import Blame
from harness.domain.verdict import CheckVerdict, Property, Severity, Status, TrialVerdict


class PropertyTally(Struct):
    """Of one agent's property: counted trials it applied to, and what bars cannot excuse.

    `critical` counts trials with a failed critical check, also those that are not counted in `n`.
    """

    passes: int = 0
    n: int = 0
    critical: int = 0
    first_critical: str = ""
    not_scored: int = 0


class AgentTally(Struct):
    """Of one agent: `cells` has the scored trials of each scenario that had any at all, `passes` the passed ones."""

    trials: int = 0
    scored: int = 0
    friction: Counter[str] = field(default_factory=Counter)
    inconclusive: Counter[str] = field(default_factory=Counter)
    cells: Counter[str] = field(default_factory=Counter)
    passes: Counter[str] = field(default_factory=Counter)
    properties: dict[Property, PropertyTally] = field(default_factory=dict)


class Tally(Struct):
    """A whole run so far."""

    trials: int = 0
    scored: int = 0
    passed: int = 0
    not_scored: int = 0
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
        elif verdict.blame == Blame.INTEGRATION:
            agent.friction[verdict.end] += 1
        else:
            # Whatever the blame says, it is not counted and not friction: no verdict can rest on it.
            agent.inconclusive[verdict.end] += 1
        by_property: dict[Property, list[CheckVerdict]] = {}
        for check in verdict.checks:
            by_property.setdefault(check.property, []).append(check)
        for prop, checks in by_property.items():
            _add_property(agent.properties.setdefault(prop, PropertyTally()), verdict, checks)


def _add_property(tally: PropertyTally, verdict: TrialVerdict, checks: list[CheckVerdict]) -> None:
    """A trial passes a property when none of its critical and major checks failed; minor ones only report.

    One that failed none but left one unscored is neither pass nor fail: it stays out of `n`, and the run gets
    exit code 3. One with no applicable critical or major check stays out of `n` too.
    """
    failed_critical = [c for c in checks if c.status is Status.FAIL and c.severity is Severity.CRITICAL]
    if failed_critical:
        tally.critical += 1
        tally.first_critical = tally.first_critical or f"{verdict.key}: {failed_critical[0].reason}"
    said = {check.status for check in checks if check.severity is not Severity.MINOR}
    tally.not_scored += any(check.status is Status.NOT_SCORED for check in checks)
    if not verdict.counts:
        return
    if Status.FAIL in said:
        tally.n += 1
    elif Status.PASS in said and Status.NOT_SCORED not in said:
        tally.n += 1
        tally.passes += 1
