"""The gate: which tool calls may run, by exact name and by arguments; what is not granted is denied."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from harness.boundary.schema import ArgumentCheck
from harness.domain.events import Violation
from harness.domain.pack import Tool
from harness.ports import Decision

_SHOWN_NAME = 80


class Gate:
    """The tools granted to one trial. Names are compared as they are: no case, width or white space is folded."""

    def __init__(self, tools: Mapping[str, Tool], disallowed: Sequence[str]) -> None:
        self._tools = tools
        self._disallowed = frozenset(disallowed)
        self._checks: dict[str, ArgumentCheck] = {}

    def decide(self, name: str, arguments: Mapping[str, Any]) -> Decision:
        """Denied beats invalid beats allowed; a name that is both granted and disallowed is denied.

        The reason of a denial is the same for forbidden and for unknown names, so that it tells nothing of
        what the scenario watches for. PackFault where the tool's schema itself cannot be used.
        """
        if name in self._disallowed:
            return _denied(name, Violation.DISALLOWED_TOOL)
        if name not in self._tools:
            return _denied(name, Violation.UNGRANTED_TOOL)
        problem = self._check(name).problem(arguments)
        return Decision("allowed") if problem is None else Decision("invalid", problem)

    def _check(self, name: str) -> ArgumentCheck:
        if name not in self._checks:
            self._checks[name] = _compiled(name, json.dumps(self._tools[name].input_schema, sort_keys=True))
        return self._checks[name]


@lru_cache(maxsize=512)
def _compiled(name: str, schema: str) -> ArgumentCheck:
    """One check per tool for all trials of a process: compiling costs more than a short trial's other rules."""
    return ArgumentCheck(name, json.loads(schema))


def _denied(name: str, violation: Violation) -> Decision:
    shown = json.dumps(name[:_SHOWN_NAME])
    return Decision("denied", f"tool {shown} is not available to you", violation)
