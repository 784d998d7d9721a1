"""The one place that decides what an agent is shown of a scenario, and the test for what it must not be shown."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
from msgspec import UNSET

from harness.boundary.environment import WORKSPACE
from harness.domain.pack import ChatTurn, Scenario, Tool
from harness.domain.spec import TrialSpec
from harness.domain.view import AgentView, LimitsView, ToolView

_SHORTEST_LEAK = 8


def agent_view(spec: TrialSpec, substitute: Callable[[Any], Any]) -> AgentView:
    """What the agent of `spec` is shown. `substitute` puts this trial's canaries into a JSON value.

    Ids are hashes, as the real ones name the scenario; schemas stay as they are, as the gate checks by them.
    """
    scenario, run_id = spec.scenario, spec.run_id
    return AgentView(
        run_id=_opaque(run_id),
        case_id=_opaque(run_id, scenario.id),
        trial=spec.key.trial,
        input=_input(scenario.input, substitute),
        context=substitute(scenario.context),
        tools=tuple(ToolView(name, substitute(tool.description), tool.input_schema) for name, tool in _shown(scenario)),
        budget=scenario.budget,
        limits=LimitsView(spec.limits.max_line_bytes),
        workspace=None if scenario.workspace is UNSET else WORKSPACE,
    )


def leaks(scenario: Scenario, text: str) -> list[str]:
    """Ground truth of `scenario` that stands in `text`, sorted: tags, the id, names and params of checks, hidden tests.

    Of each only what has 8 characters or more and does not stand in the input, the context or the tools as
    shown, where the agent reads it anyway. Found plain and as escaped in JSON.
    """
    public = _text([scenario.input, scenario.context, WORKSPACE])
    public += _text([[name, tool.description, tool.input_schema] for name, tool in _shown(scenario)])
    secrets = {secret for secret in _secrets(scenario) if len(secret) >= _SHORTEST_LEAK}
    return sorted(
        secret
        for secret in secrets
        if any(form in text for form in _forms(secret)) and not any(form in public for form in _forms(secret))
    )


def _shown(scenario: Scenario) -> list[tuple[str, Tool]]:
    return [(name, tool) for name, tool in scenario.tools.items() if name not in scenario.disallowed_tools]


def _secrets(scenario: Scenario) -> Iterator[str]:
    yield scenario.id
    yield from scenario.tags
    for check in scenario.checks:
        yield check.check
        yield from _leaves(check.params)
    if scenario.selftest is not None:
        yield from _leaves(msgspec.to_builtins(scenario.selftest))
    if scenario.verify is not UNSET:
        verify = scenario.verify
        yield from (verify.image, *verify.command, *verify.outputs)
        for file in verify.files:
            yield from (file.path, file.content.decode("utf-8", "replace"))


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for item in value.values():
            yield from _leaves(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _leaves(item)
    elif isinstance(value, str):
        yield value
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield json.dumps(value)


def _forms(secret: str) -> tuple[str, ...]:
    return secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]


def _text(value: Any) -> str:
    return json.dumps(msgspec.to_builtins(value), ensure_ascii=False)


def _input(given: str | tuple[ChatTurn, ...], substitute: Callable[[Any], Any]) -> str | tuple[ChatTurn, ...]:
    if isinstance(given, str):
        return str(substitute(given))
    return tuple(ChatTurn(turn.role, substitute(turn.content)) for turn in given)


def _opaque(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]
