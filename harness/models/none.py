"""No model at all: every call is refused, and the agent may go on as it can."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.ports import ModelAnswer


class NoModel:
    """A `harness.ports.ModelProvider` that has nothing to give; 403, which clients do not try again."""

    async def complete(self, request: Mapping[str, Any]) -> ModelAnswer:
        return ModelAnswer(None, 0, 0, 0.0, error="this run gives agents no model", status=403)
