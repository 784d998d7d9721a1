"""Servers of tools, put together: whoever talks with each, and the box it runs in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec.structs import replace

from harness.boundary.environment import SCRATCH, container_env
from harness.domain.limits import Limits
from harness.domain.pack import Scenario, ToolServer
from harness.domain.spec import TrialSpec
from harness.ports import ContainerSpec, ImageInfo
from harness.runs.servers import Served
from harness.tools.mcp import Caps, McpServer


def tool_servers(spec: TrialSpec) -> dict[str, McpServer]:
    """Whoever talks with each server of a trial; none where its tools are all scripted."""
    scenario, limits = spec.scenario, spec.limits
    made = {}
    for name, server in (scenario.servers or {}).items():
        tools = frozenset(tool for tool, one in scenario.tools.items() if one.server == name)
        caps = Caps(
            line=limits.max_line_bytes,
            stdout=limits.max_stdout_bytes,
            stderr=limits.max_stderr_bytes,
            start_ms=limits.startup_ms,
            answer_ms=server.timeout_ms,
        )
        made[name] = McpServer(name, tools, caps)
    return made


def served_in(
    agents: ContainerSpec,
    scenario: Scenario,
    servers: Mapping[str, McpServer],
    images: Mapping[str, ImageInfo],
    fill: Callable[[Any], Any],
) -> tuple[Served, ...]:
    """Each with a box like the agent's: the same hardening, its own image and environment, nothing shared with it."""
    asked = scenario.servers or {}
    return tuple(
        Served(name, _box(agents, asked[name], images[asked[name].image], fill), server)
        for name, server in servers.items()
    )


def _box(agents: ContainerSpec, asked: ToolServer, image: ImageInfo, fill: Callable[[Any], Any]) -> ContainerSpec:
    own = replace(image, entrypoint=(), command=tuple(asked.command)) if asked.command else image
    usual, limits = Limits(), agents.limits
    return replace(
        agents,
        image=own,
        env={**container_env(image.env, {}), **fill(asked.env)},
        # What one agent is held to must not be what a server, which is the pack's, dies of.
        limits=replace(
            limits,
            memory_bytes=max(limits.memory_bytes, usual.memory_bytes),
            pids=max(limits.pids, usual.pids),
            nofile=max(limits.nofile, usual.nofile),
        ),
        policy=replace(agents.policy, writable="strict", extra_paths=()),
        writable=(SCRATCH,),
        workspace=None,
    )
