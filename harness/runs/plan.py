"""Agents x scenarios x trials; specs are made one by one, so that memory does not grow with the plan."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

import msgspec

from harness.domain.ids import TrialKey
from harness.domain.pack import Pack, Scenario
from harness.domain.run import PlanRow, RunPlan
from harness.domain.spec import AgentRef, TrialSpec
from harness.errors import UsageError


class Choice(msgspec.Struct, frozen=True):
    """What of a pack is run, and how often. `only`: glob patterns over ids, families, buckets and tags.

    `id:GLOB` is over ids alone, and so for `family:`, `bucket:` and `tag:`.
    """

    trials: int | None = None
    holdout: bool = False
    only: tuple[str, ...] = ()


def chosen(pack: Pack, choice: Choice) -> tuple[Scenario, ...]:
    """The scenarios to run. UsageError where none is left: a run of nothing must not look like a pass."""
    from fnmatch import fnmatchcase

    def wanted(scenario: Scenario) -> bool:
        named = [("id", scenario.id), ("family", scenario.family), ("bucket", scenario.bucket)]
        named += [("tag", tag) for tag in scenario.tags]
        return not choice.only or any(
            fnmatchcase(name, glob) or fnmatchcase(f"{kind}:{name}", glob)
            for glob in choice.only
            for kind, name in named
        )

    found = tuple(s for s in pack.scenarios if (choice.holdout or not s.holdout) and wanted(s))
    if not found:
        what = f"--only {' '.join(choice.only)}" if choice.only else "the pack (all its scenarios are held out)"
        raise UsageError(
            f"no scenario is left to run by {what}", "fumehood pack show lists them; --holdout adds held-out ones"
        )
    return found


def rows(agents: Sequence[AgentRef], scenarios: Sequence[Scenario], choice: Choice) -> tuple[PlanRow, ...]:
    """Who runs what how often, scenario by scenario. A self-test scenario is for its own probe alone."""
    return tuple(
        PlanRow(agent.name, scenario.id, choice.trials or scenario.trials)
        for scenario in scenarios
        for agent in agents
        if scenario.selftest is None or agent.name == probe_agent(scenario.selftest.probe)
    )


def specs(plan: RunPlan, scenarios: Sequence[Scenario]) -> Iterator[TrialSpec]:
    """Every trial of the plan once, made when it is asked for."""
    by_id = {scenario.id: scenario for scenario in scenarios}
    agents = {agent.name: agent for agent in plan.agents}
    for key in plan.cells():
        scenario = by_id[key.scenario]
        agent = agents[key.agent]
        policy = agent.policy(plan.policy)
        if scenario.writable is not None:
            policy = msgspec.structs.replace(policy, writable=scenario.writable)
        seed = trial_seed(plan.seed, key)
        yield TrialSpec(plan.run_id, key, agent, scenario, policy, agent.limits.over(plan.limits), seed)


def probe_agent(probe: str) -> str:
    """The name under which a probe takes part in a run."""
    return f"probe-{probe}"


def trial_seed(seed: int, key: TrialKey) -> int:
    """One seed per trial, independent of the order they run in."""
    return int.from_bytes(hashlib.sha256(f"{seed}/{key}".encode()).digest()[:8], "big")
