"""Tools of which some are answered by servers, or by what stands for them, and the others from the pack's script."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from functools import partial
from typing import Any

from msgspec import UNSET

from harness.domain.pack import Tool
from harness.ports import ToolAnswer, ToolLater, ToolProvider
from harness.tools.mcp import McpServer
from harness.tools.scripted import ScriptedTools

Keep = Callable[[int, str, Mapping[str, Any], ToolAnswer], Awaitable[None]]
"""Takes down the number of a call, its tool and arguments, and the answer."""


class ServerTools:
    """The tools that servers answer (a `harness.ports.ToolProvider`); `keep` is told of each answer that came."""

    def __init__(self, tools: Mapping[str, Tool], servers: Mapping[str, McpServer], keep: Keep | None = None) -> None:
        self._server_of = {name: servers[tool.server] for name, tool in tools.items() if tool.server is not UNSET}
        self._keep = keep
        self._calls = 0

    def call(self, name: str, arguments: Mapping[str, Any]) -> ToolLater:
        self._calls += 1
        return ToolLater(partial(self._answer, self._calls, name, arguments))

    async def _answer(self, call: int, name: str, arguments: Mapping[str, Any]) -> ToolAnswer:
        answer = await self._server_of[name].call(name, arguments)
        if self._keep is not None:
            await self._keep(call, name, arguments, answer)
        return answer


class ServedTools:
    """The tools of one trial (a `harness.ports.ToolProvider`). Scripted replies come first.

    What none of them answers of the tools in `served` goes to `source`: their servers, or a recording of them.
    """

    def __init__(self, scripted: ScriptedTools, served: Collection[str], source: ToolProvider) -> None:
        self._scripted = scripted
        self._served = frozenset(served)
        self._source = source

    def call(self, name: str, arguments: Mapping[str, Any]) -> ToolAnswer | ToolLater:
        """PackFault where neither a reply matches nor a server is named."""
        if name not in self._served:
            return self._scripted.call(name, arguments)
        return self._scripted.find(name, arguments) or self._source.call(name, arguments)
