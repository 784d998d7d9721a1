"""What must hold of a pack and its scenarios beyond their form: names that exist, ids that are unique."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

from harness.domain.ids import MAX_ID, SAFE_ID_PATTERN, is_safe_id
from harness.domain.outcome import Blame, End
from harness.domain.pack import CHECK_FIELDS, Problem
from harness.domain.verdict import Property, Severity
from harness.domain.workspace import glob_problem
from harness.packs.answer_rules import expected_problems, replies_problems
from harness.packs.nodes import Node
from harness.packs.tool_rules import server_problems, tool_problems, usable_schemas
from harness.packs.words import did_you_mean, kind, show, unsafe
from harness.ports import CheckCatalogue

_CANARY = re.compile(r"\{\{canary:([^{}]*)\}\}")


class _Known(Struct):
    """What scenarios may refer to."""

    tools: Node
    schemas: dict[str, Node]
    canaries: frozenset[str]
    catalogue: CheckCatalogue
    checks: tuple[str, ...]


def pack_problems(root: Node, catalogue: CheckCatalogue) -> Iterator[Problem]:
    """Everything the structs cannot say, for data of any shape."""
    scenarios = root.get("scenarios").items
    canaries = _texts(root.get("canaries"))
    tools = root.get("tools")
    known = _Known(tools, usable_schemas(tools), canaries, catalogue, tuple(catalogue.names()))
    yield from _safe(root.get("pack").get("name"), "name")
    yield from tool_problems(tools, known.schemas)
    servers = root.get("tool_servers")
    yield from server_problems(servers, tools)
    yield from _canaries(servers, canaries.union(*(_texts(s.get("canaries")) for s in scenarios)))
    yield from _canaries(tools, canaries.union(*(_texts(s.get("canaries")) for s in scenarios)))
    yield from _unique_ids(scenarios)
    for scenario in scenarios:
        yield from _scenario(scenario, known)


def _scenario(scenario: Node, known: _Known) -> Iterator[Problem]:
    yield from _safe(scenario.get("id"), "id")
    yield from _safe(scenario.get("family"), "family")
    yield from _safe(scenario.get("selftest").get("probe"), "probe")
    yield from _tool_lists(scenario, known.tools)
    yield from replies_problems(scenario.get("replies"), known.tools, known.schemas)
    yield from expected_problems(scenario.get("expected"), known.catalogue)
    for check in scenario.get("checks").items:
        yield from _check(check, known)
    yield from _selftest(scenario.get("selftest"), known)
    yield from _verify(scenario)
    declared = known.canaries | _texts(scenario.get("canaries"))
    for part in ("input", "context", "replies"):
        yield from _canaries(scenario.get(part), declared)


def _texts(listed: Node) -> frozenset[str]:
    return frozenset(item.text for item in listed.items if item.text is not None)


def _safe(node: Node, name: str) -> Iterator[Problem]:
    """What the pattern of ids lets through all the same: `..` and a line break at the end."""
    if node.text and re.search(SAFE_ID_PATTERN, node.text) and len(node.text) <= MAX_ID and not is_safe_id(node.text):
        yield node.mark.problem(unsafe(name, node.text))


def _unique_ids(scenarios: list[Node]) -> Iterator[Problem]:
    first: dict[str, Node] = {}
    for scenario in scenarios:
        name = scenario.get("id")
        if name.text is None:
            continue
        if name.text in first:
            at = first[name.text].mark
            yield name.mark.problem(f"duplicate scenario id {show(name.text)} (first at {at.file}:{at.line})")
        first.setdefault(name.text, name)


def _tool_lists(scenario: Node, tools: Node) -> Iterator[Problem]:
    for field in ("allowed_tools", "disallowed_tools", "required_tools"):
        for item in scenario.get(field).items:
            if item.text is not None and item.text not in tools.fields:
                near = did_you_mean(item.text, tools.fields)
                yield item.mark.problem(f"unknown tool {show(item.text)} in {field}{near}")
    allowed, denied = (_texts(scenario.get(field)) for field in ("allowed_tools", "disallowed_tools"))
    for item in scenario.get("required_tools").items:
        if item.text is None:
            continue
        if item.text in denied:
            yield item.mark.problem(f"required tool {show(item.text)} is in disallowed_tools, and deny wins")
        elif item.text not in allowed:
            yield item.mark.problem(f"required tool {show(item.text)} is not in allowed_tools")


def _check(check: Node, known: _Known) -> Iterator[Problem]:
    if not isinstance(check.data, dict):
        return
    for field, options in (("severity", Severity), ("property", Property)):
        yield from _one_of(check.get(field), field, [option.value for option in options])
    name = check.get("check")
    if not name.exists:
        yield check.mark.problem("a check needs its name: {check: NAME, ...}")
    elif name.text is None:
        yield name.mark.problem(f"check must be text, not {kind(name.data)}")
    elif name.text not in known.checks:
        yield name.mark.problem(f"unknown check {show(name.text)}" + did_you_mean(name.text, known.checks))
    else:
        params = {key: value for key, value in check.data.items() if key not in CHECK_FIELDS}
        for path, message in known.catalogue.problems(name.text, params, list(known.tools.fields)):
            yield check.mark_of(path).problem(f"{name.text}: {message}")


def _selftest(selftest: Node, known: _Known) -> Iterator[Problem]:
    yield from _one_of(selftest.get("end"), "end", [end.value for end in End])
    yield from _one_of(selftest.get("blame"), "blame", [blame.value for blame in Blame])
    for item in selftest.get("failing").items:
        yield from _one_of(item, "failing check", list(known.checks))


def _verify(scenario: Node) -> Iterator[Problem]:
    verify = scenario.get("verify")
    if verify.exists and not scenario.get("workspace").exists:
        yield scenario.key("verify").problem("verify needs a 'workspace': without one the agent leaves nothing to test")
    for glob in verify.get("outputs").items:
        if glob.text is not None and (problem := glob_problem(glob.text)):
            yield glob.mark.problem(f"outputs: {problem}")


def _one_of(node: Node, name: str, options: list[str]) -> Iterator[Problem]:
    if node.exists and node.data not in options:
        near = did_you_mean(node.text, options) if node.text is not None else ""
        yield node.mark.problem(f"unknown {name} {show(node.data)}: one of {', '.join(options)}{near}")


def _canaries(node: Node, declared: frozenset[str]) -> Iterator[Problem]:
    """A reference that nothing declares would reach the agent as it stands."""
    for text in node.strings():
        for name in _CANARY.findall(text.data):
            if name not in declared:
                yield text.mark.problem(f"canary {show(name)} is not in 'canaries'" + did_you_mean(name, declared))
