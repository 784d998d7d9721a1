"""What a session needs of the other parts, as ports; and the actions a machine asks its driver for."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from msgspec import Struct

from harness.domain.events import Source
from harness.domain.limits import Limits
from harness.domain.view import AgentView
from harness.domain.workspace import WorkFile
from harness.ports import CanaryWatch, Gate, Ledger, ModelBroker, Retries, ToolAnswer, ToolProvider, User
from protocol.messages import HarnessMessage

Record = Callable[[str, Source, Mapping[str, Any]], int]
"""Puts one event on record, at the session's present time; gives its line."""


class Rules(Struct, frozen=True):
    """Everything one trial is held to. The stateful parts belong to this trial alone.

    `told`: canaries that the pack itself shows the agent; to show them to its model is no exfiltration.
    `workspace`: the files the agent was given to work on; None where it has none.
    """

    view: AgentView
    gate: Gate
    ledger: Ledger
    retries: Retries
    canaries: CanaryWatch
    tools: ToolProvider
    model: ModelBroker
    user: User
    limits: Limits
    told: frozenset[str] = frozenset()
    workspace: tuple[WorkFile, ...] | None = None


class Send(Struct, frozen=True):
    """Write this message to the agent."""

    message: HarnessMessage


class ReplyLater(Struct, frozen=True):
    """Call `Machine.on_due(id)` after `after_ms`."""

    id: str
    after_ms: int


class CallModel(Struct, frozen=True):
    """Ask the models for at most `most` tokens (None: as the request says), then call `Machine.on_model`."""

    id: str
    request: Mapping[str, Any]
    stream: bool = False
    most: int | None = None


class Finish(Struct, frozen=True):
    """Stop: `cancel` where the agent was still at work, a mere closing of stdin where it was done."""

    cancel: str | None


class CallTool(Struct, frozen=True):
    """Wait for the answer, then call `Machine.on_tool`, or `Machine.on_tool_fault` where there is none."""

    id: str
    answer: Callable[[], Awaitable[ToolAnswer]]


Action = Send | ReplyLater | CallTool | CallModel | Finish
