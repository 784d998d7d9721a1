"""The parts of one trial, put together: where concrete rules, tools and models meet."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

import msgspec
from msgspec import UNSET

from harness.app import owner
from harness.app.models import SCRIPTED, Models, TrialModels
from harness.app.tool_servers import served_in, tool_servers
from harness.boundary.budgets import Ledger
from harness.boundary.canary import masked, plant, substitute, unmasked
from harness.boundary.environment import SCRATCH, WORKSPACE, container_env, redirect_targets, scratch_dirs, verify_env
from harness.boundary.gate import Gate
from harness.boundary.redaction import Scrubber
from harness.boundary.retries import RetryTracker
from harness.boundary.view import agent_view
from harness.boundary.workspace import laid_out
from harness.domain.ids import OWNER_LABEL
from harness.domain.pack import Scenario
from harness.domain.spec import TrialSpec
from harness.domain.traces import CanaryWatch
from harness.domain.workspace import Taken, WorkArea
from harness.ports import ContainerSpec, ImageInfo, Journal, ToolProvider
from harness.runs.trial import Kit
from harness.runs.verify import Box, Verification
from harness.session.rules import Rules
from harness.tools.scripted import ScriptedTools
from harness.tools.served import ServedTools, ServerTools
from harness.tools.user import ScriptedUser

OpenJournal = Callable[[TrialSpec, Scrubber], Journal]


def make_kit(
    spec: TrialSpec,
    image: ImageInfo,
    open_journal: OpenJournal,
    operator_secrets: dict[str, str],
    verify_images: Mapping[str, ImageInfo] = MappingProxyType({}),
    models: Models = SCRIPTED,
) -> Kit:
    """Fresh parts for one trial. `operator_secrets`: what of our own environment must never be stored.

    `verify_images`: those of hidden tests and tool servers, by the name that packs call them.
    """
    scenario = spec.scenario
    canaries = plant(scenario.canaries, spec.seed, f"{spec.run_id}/{spec.key}/{spec.attempt}")
    fill = partial(substitute, canaries=canaries)
    scrubber = Scrubber({**operator_secrets, **{f"canary:{name}": value for name, value in canaries.items()}})
    trial = _trial_models(spec, fill, canaries, scrubber)
    recorder, player = models.recorder(trial), models.tool_player(trial)
    servers = tool_servers(spec) if player is None else {}
    scripted = ScriptedTools(scenario.tools, scenario.replies.tools, fill)
    rules = Rules(
        view=agent_view(spec, fill),
        gate=Gate(scenario.tools, scenario.disallowed_tools),
        ledger=Ledger(scenario.budget),
        retries=RetryTracker(scenario.budget.max_retries_per_tool),
        canaries=CanaryWatch(canaries),
        tools=_tools(
            scripted,
            scenario,
            player or ServerTools(scenario.tools, servers, None if recorder is None else recorder.put_tool),
        ),
        model=models.broker(trial, recorder),
        user=ScriptedUser(scenario.replies.ask, fill),
        limits=spec.limits,
        told=_told(scenario, canaries),
        workspace=None if scenario.workspace is UNSET else scenario.workspace,
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
        workspace=None if scenario.workspace is UNSET else WorkArea(WORKSPACE, scenario.workspace),
    )
    verification = _verification(scenario, container, verify_images)
    served = served_in(container, scenario, servers, verify_images, fill)
    return Kit(rules, container, open_journal(spec, scrubber), scrubber.scrub_text, verification, served)


def _tools(scripted: ScriptedTools, scenario: Scenario, source: ToolProvider) -> ToolProvider:
    served = [name for name, tool in scenario.tools.items() if tool.server is not UNSET]
    return ServedTools(scripted, served, source) if served else scripted


def _verification(scenario: Scenario, agents: ContainerSpec, images: Mapping[str, ImageInfo]) -> Verification | None:
    """The hidden tests, in a box like the agent's: same limits, same hardening, its own image and environment."""
    if scenario.workspace is UNSET or scenario.verify is UNSET:
        return None
    original, asked = scenario.workspace, scenario.verify
    found = images[asked.image]

    def box(left: Taken) -> Box:
        laid = laid_out(original, left, asked)
        container = msgspec.structs.replace(
            agents,
            image=msgspec.structs.replace(found, entrypoint=(), command=asked.command),
            env=verify_env(found.env),
            writable=(SCRATCH,),
            workspace=WorkArea(WORKSPACE, laid.files, take_out=False),
            workdir=WORKSPACE,
        )
        return Box(container, laid.taken, laid.refused)

    return Verification(asked.image, found.digest, asked.command, asked.timeout_ms, box)


def _trial_models(
    spec: TrialSpec, fill: Callable[[Any], Any], canaries: Mapping[str, str], scrubber: Scrubber
) -> TrialModels:
    def clean(value: Any) -> Any:
        return scrubber.scrub_json(masked(value, canaries))

    restored = partial(unmasked, canaries=canaries)
    return TrialModels(str(spec.key), spec.scenario.replies.model, fill, clean, restored, spec.agent.model_names)


def _told(scenario: Scenario, canaries: Iterable[str]) -> frozenset[str]:
    """Canaries that stand in the scenario's own texts, or that its servers have, and so may reach the agent from us."""
    text = msgspec.json.encode(msgspec.structs.replace(scenario, workspace=UNSET, verify=UNSET))
    return frozenset(name for name in canaries if f"{{{{canary:{name}}}}}".encode() in text)
