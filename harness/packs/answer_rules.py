"""What must hold of `expected` and of a scenario's scripted replies beyond their form."""

from __future__ import annotations

from collections.abc import Iterator

from harness.domain.flat import is_flat
from harness.domain.pack import Problem
from harness.packs.nodes import Node
from harness.packs.schema_rules import schema_problems
from harness.packs.tool_rules import reply_problems
from harness.packs.words import bad_regex, did_you_mean, kind, show
from harness.ports import CheckCatalogue

_NEEDS = {"exact": "value", "contains": "value", "regex": "value", "schema": "schema", "refusal": None}


def expected_problems(expected: Node, catalogue: CheckCatalogue) -> Iterator[Problem]:
    """`value` or `schema` as the type asks for, and nothing that would be ignored."""
    wanted = expected.get("type").text
    if wanted not in _NEEDS:
        return
    needed = _NEEDS[wanted]
    for field in ("value", "schema"):
        if field in expected.fields and field != needed:
            yield expected.key(field).problem(f"expected of type {wanted} has no use for {field!r}")
    if needed is None:
        return
    node = expected.get(needed)
    if not node.exists or node.data is None:
        yield expected.mark.problem(f"expected of type {wanted} needs {needed!r}")
    elif wanted == "schema":
        yield from _schema(node, catalogue)
    elif wanted == "regex":
        yield from _regex(node, "value")
    elif wanted == "contains":
        yield from _contains(node)


def _schema(node: Node, catalogue: CheckCatalogue) -> Iterator[Problem]:
    """A schema of either dialect that the check it becomes can use."""
    if not isinstance(node.data, dict) or is_flat(node.data):
        return
    if own := schema_problems(node):
        yield from own
        return
    for path, message in catalogue.problems("schema_validity", {"schema": node.data}, ()):
        yield node.mark_of(path[1:]).problem(message)


def _contains(node: Node) -> Iterator[Problem]:
    """Text or a list of texts; an empty one stands in every answer and so proves nothing."""
    for item in node.items or [node]:
        if not item.text:
            yield item.mark.problem(
                f"value of contains must be text that is not empty, or a list of it, not {kind(item.data)}"
            )


def replies_problems(replies: Node, tools: Node, schemas: dict[str, Node]) -> Iterator[Problem]:
    """Scripted answers to `ask` and `model_call`, and the scenario's own replies of tools."""
    for reply in replies.get("ask").items:
        yield from _regex(reply.get("when"), "when")
    for turn in replies.get("model").items:
        yield from _regex(turn.get("when"), "when")
        yield from _turn(turn)
    for name, (mark, listed) in replies.get("tools").fields.items():
        if name not in tools.fields:
            yield mark.problem(f"replies for unknown tool {show(name)}" + did_you_mean(name, tools.fields))
        for reply in listed.items:
            yield from reply_problems(reply, schemas.get(name))


def _turn(turn: Node) -> Iterator[Problem]:
    if not isinstance(turn.data, dict):
        return
    says = bool(turn.data.get("content") is not None or turn.data.get("tool_calls"))
    fails = turn.data.get("error") is not None
    if says == fails:
        what = "both" if says else "neither"
        yield turn.mark.problem(f"a model turn is either content and tool_calls, or an error; this one has {what}")


def _regex(node: Node, name: str) -> Iterator[Problem]:
    if node.text is not None:
        if why := bad_regex(node.text):
            yield node.mark.problem(f"{name}: {why}")
    elif node.exists and node.data is not None:
        yield node.mark.problem(f"{name} must be a regular expression, not {kind(node.data)}")
