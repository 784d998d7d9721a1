"""What must hold of tools and their scripted replies beyond their form."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from harness.domain.ids import is_safe_id
from harness.domain.pack import Problem, ToolName
from harness.packs.nodes import Node
from harness.packs.schema_rules import (
    name_problems,
    schema_problems,
    subset_problems,
    validator_of,
    value_problems,
)
from harness.packs.words import bad_regex, did_you_mean, kind, show, unsafe


def usable_schemas(tools: Node) -> dict[str, Node]:
    """The input schemas arguments can be held against, by tool."""
    schemas = {name: tool.get("input_schema") for name, (_, tool) in tools.fields.items()}
    return {name: node for name, node in schemas.items() if isinstance(node.data, dict) and not schema_problems(node)}


def tool_problems(tools: Node, schemas: dict[str, Node]) -> Iterator[Problem]:
    """Names, schemas and replies of a pack's `tools`."""
    for name, (mark, tool) in tools.fields.items():
        try:
            msgspec.convert(name, ToolName)
        except msgspec.ValidationError:
            yield mark.problem(f"tool name {name[:100]!r}: letters, digits and _.- only, starting with a letter or _")
        yield from schema_problems(tool.get("input_schema"))
        for reply in tool.get("replies").items:
            yield from reply_problems(reply, schemas.get(name))


def server_problems(servers: Node, tools: Node) -> Iterator[Problem]:
    """Names of a pack's `tool_servers`, and the tools that name one."""
    for name, (mark, _) in servers.fields.items():
        if not is_safe_id(name):
            yield mark.problem(unsafe("tool server", name))
    asked = [tool.get("server") for _, tool in tools.fields.values()]
    for server in asked:
        if server.text is not None and server.text not in servers.fields:
            near = did_you_mean(server.text, servers.fields)
            yield server.mark.problem(f"unknown server {show(server.text)}: not in tool_servers{near}")
    for name, (mark, _) in servers.fields.items():
        if name not in {server.text for server in asked}:
            yield mark.problem(f"tool server {show(name)} is named by no tool")


def reply_problems(reply: Node, schema: Node | None) -> Iterator[Problem]:
    """One reply; `schema` None: the tool has none that could be used."""
    if not isinstance(reply.data, dict):
        return
    error = reply.get("error").data if "error" in reply.fields else None
    if ("return" in reply.fields) == (error is not None):
        what = "both" if error is not None else "neither"
        yield reply.mark.problem(f"a reply needs exactly one of 'return' and 'error'; this one has {what}")
    when = reply.get("when")
    if reply.get("match").data == "regex":
        yield from _regex_problems(when)
    if schema is None or not isinstance(when.data, dict):
        return
    if reply.get("match").data == "regex":
        yield from name_problems(when, schema.data)
    elif reply.get("match").data == "exact":
        yield from name_problems(when, schema.data)
        yield from value_problems(when, validator_of(schema.data))
    else:
        yield from subset_problems(when, schema.data, validator_of(schema.data))


def _regex_problems(when: Node) -> Iterator[Problem]:
    for name, (_, child) in when.fields.items():
        if child.text is None:
            yield child.mark.problem(f"{name}: with match: regex, must be a regular expression, not {kind(child.data)}")
        elif why := bad_regex(child.text):
            yield child.mark.problem(f"{name}: {why}")
