"""Agents x scenarios x trials, as specs made one by one: memory does not grow with the plan."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence

import msgspec

from harness.domain.ids import TrialKey
from harness.domain.limits import Limits
from harness.domain.pack import Pack, Scenario
from harness.domain.spec import AgentRef, Policy, TrialSpec
from harness.errors import UsageError


class Choice(msgspec.Struct, frozen=True):
    """What of a pack is run, and how often. `only`: glob patterns over ids, families, buckets and tags."""

    trials: int | None = None
    holdout: bool = False
    only: tuple[str, ...] = ()


def chosen(pack: Pack, choice: Choice) -> tuple[Scenario, ...]:
    """The scenarios to run. UsageError where none is left: a run of nothing must not look like a pass."""
    from fnmatch import fnmatchcase

    def wanted(scenario: Scenario) -> bool:
        names = (scenario.id, scenario.family, scenario.bucket, *scenario.tags)
        return not choice.only or any(fnmatchcase(name, glob) for glob in choice.only for name in names)

    found = tuple(s for s in pack.scenarios if (choice.holdout or not s.holdout) and wanted(s))
    if not found:
        what = f"--only {' '.join(choice.only)}" if choice.only else "the pack (all its scenarios are held out)"
        raise UsageError(
            f"no scenario is left to run by {what}", "fumehood pack show lists them; --holdout adds held-out ones"
        )
    return found


def specs(
    agents: Sequence[AgentRef],
    scenarios: Sequence[Scenario],
    choice: Choice,
    make: Callable[[TrialKey, AgentRef, Scenario], TrialSpec],
) -> Iterator[TrialSpec]:
    """Every trial once, scenario by scenario. A self-test scenario runs on its own probe alone."""
    for scenario in scenarios:
        for agent in agents:
            if scenario.selftest is not None and agent.name != probe_agent(scenario.selftest.probe):
                continue
            for trial in range(1, (choice.trials or scenario.trials) + 1):
                yield make(TrialKey(agent.name, scenario.id, trial), agent, scenario)


def probe_agent(probe: str) -> str:
    """The name under which a probe takes part in a run."""
    return f"probe-{probe}"


def trial_seed(seed: int, key: TrialKey) -> int:
    """One seed per trial, independent of the order they run in."""
    return int.from_bytes(hashlib.sha256(f"{seed}/{key}".encode()).digest()[:8], "big")


class SpecMaker(msgspec.Struct, frozen=True):
    """Turns a cell of the plan into a spec."""

    run_id: str
    policy: Policy
    limits: Limits
    seed: int

    def __call__(self, key: TrialKey, agent: AgentRef, scenario: Scenario) -> TrialSpec:
        policy = self.policy
        if scenario.writable is not None:
            policy = msgspec.structs.replace(policy, writable=scenario.writable)
        return TrialSpec(self.run_id, key, agent, scenario, policy, self.limits, trial_seed(self.seed, key))
