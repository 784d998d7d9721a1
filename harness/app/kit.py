"""The parts of one trial, put together: where concrete rules, tools and models meet."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

import msgspec

from harness.app import owner
from harness.boundary.budgets import Ledger
from harness.boundary.canary import plant, substitute
from harness.boundary.environment import SCRATCH, container_env, redirect_targets, scratch_dirs
from harness.boundary.gate import Gate
from harness.boundary.redaction import Scrubber
from harness.boundary.retries import RetryTracker
from harness.boundary.view import agent_view
from harness.domain.ids import OWNER_LABEL
from harness.domain.pack import Scenario
from harness.domain.spec import TrialSpec
from harness.domain.traces import CanaryWatch
from harness.models.scripted import ScriptedModel
from harness.ports import ContainerSpec, ImageInfo, Journal
from harness.runs.trial import Kit
from harness.session.rules import Rules
from harness.tools.scripted import ScriptedTools
from harness.tools.user import ScriptedUser

OpenJournal = Callable[[TrialSpec, Scrubber], Journal]


def make_kit(spec: TrialSpec, image: ImageInfo, open_journal: OpenJournal, operator_secrets: dict[str, str]) -> Kit:
    """Fresh parts for one trial. `operator_secrets`: what of our own environment must never be stored."""
    scenario = spec.scenario
    canaries = plant(scenario.canaries, spec.seed, f"{spec.run_id}/{spec.key}/{spec.attempt}")
    fill = partial(substitute, canaries=canaries)
    scrubber = Scrubber({**operator_secrets, **{f"canary:{name}": value for name, value in canaries.items()}})
    rules = Rules(
        view=agent_view(spec, fill),
        gate=Gate(scenario.tools, scenario.disallowed_tools),
        ledger=Ledger(scenario.budget),
        retries=RetryTracker(scenario.budget.max_retries_per_tool),
        canaries=CanaryWatch(canaries),
        tools=ScriptedTools(scenario.tools, scenario.replies.tools, fill),
        model=ScriptedModel(scenario.replies.model, fill),
        user=ScriptedUser(scenario.replies.ask, fill),
        limits=spec.limits,
        told=_told(scenario, canaries),
    )
    container = ContainerSpec(
        image=image,
        env=container_env(image.env, canaries),
        labels={"fumehood.run": spec.run_id, "fumehood.trial": str(spec.key), OWNER_LABEL: owner.me()},
        limits=spec.limits,
        policy=spec.policy,
        scratch=SCRATCH,
        dirs=scratch_dirs(),
        writable=(SCRATCH, *redirect_targets(spec.policy)),
    )
    return Kit(rules, container, open_journal(spec, scrubber), scrubber.scrub_text)


def _told(scenario: Scenario, canaries: Iterable[str]) -> frozenset[str]:
    """Canaries that stand in the scenario's own texts, and so reach the agent from us."""
    text = msgspec.json.encode(scenario)
    return frozenset(name for name in canaries if f"{{{{canary:{name}}}}}".encode() in text)
