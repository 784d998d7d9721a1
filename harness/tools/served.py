"""Tools of which some are answered by servers, and the others from the pack's script."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from msgspec import UNSET

from harness.domain.pack import Tool
from harness.ports import ToolAnswer, ToolLater
from harness.tools.mcp import McpServer
from harness.tools.scripted import ScriptedTools


class ServedTools:
    """The tools of one trial (a `harness.ports.ToolProvider`). Scripted replies come first, then a tool's server."""

    def __init__(self, scripted: ScriptedTools, tools: Mapping[str, Tool], servers: Mapping[str, McpServer]) -> None:
        self._scripted = scripted
        self._server_of = {name: servers[tool.server] for name, tool in tools.items() if tool.server is not UNSET}

    def call(self, name: str, arguments: Mapping[str, Any]) -> ToolAnswer | ToolLater:
        """PackFault where neither a reply matches nor a server is named."""
        server = self._server_of.get(name)
        if server is None:
            return self._scripted.call(name, arguments)
        return self._scripted.find(name, arguments) or ToolLater(partial(server.call, name, arguments))
