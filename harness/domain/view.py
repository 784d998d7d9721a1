"""What an agent is shown: structs without a field for anything it must not see."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from harness.domain.limits import Budget
from harness.domain.pack import ChatTurn


class ToolView(Struct, frozen=True):
    """A tool without its replies."""

    name: str
    description: str
    input_schema: dict[str, Any]


class LimitsView(Struct, frozen=True):
    max_line_bytes: int


class AgentView(Struct, frozen=True):
    """All an agent is told. Has no field for expected values, checks, thresholds, goal, tags or severity."""

    run_id: str
    case_id: str
    trial: int
    input: str | tuple[ChatTurn, ...]
    context: dict[str, Any]
    tools: tuple[ToolView, ...]
    budget: Budget
    limits: LimitsView
    workspace: str | None = None
