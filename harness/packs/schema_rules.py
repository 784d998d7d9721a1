"""JSON Schemas in packs: whether one is valid and self-contained, and what it says of a value."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

from harness.domain.pack import Problem
from harness.domain.patterns import refuse_unbounded
from harness.packs.nodes import Node
from harness.packs.words import did_you_mean

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

_OPENING = ("$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if", "patternProperties", "dependentSchemas")
"""Keywords by which a schema may know more properties than it lists."""


@cache
def _meta() -> Any:
    from jsonschema import Draft202012Validator

    return Draft202012Validator(Draft202012Validator.META_SCHEMA, format_checker=Draft202012Validator.FORMAT_CHECKER)


def validator_of(schema: dict[str, Any]) -> Validator:
    """A validator that resolves references inside `schema` only."""
    from jsonschema import Draft202012Validator

    return Draft202012Validator(schema)


def schema_problems(node: Node) -> list[Problem]:
    """All that keeps a schema from being used; references must start with '#' and lead somewhere."""
    if not isinstance(node.data, dict):
        return []
    problems = list(_references(node, node))
    try:
        problems += [
            node.mark_of(list(error.absolute_path)).problem(f"not a valid JSON Schema: {error.message[:200]}")
            for error in _meta().iter_errors(node.data)
        ]
        if not problems:
            refuse_unbounded(node.data)
            validator_of(node.data).is_valid({})
    except RecursionError:
        problems.append(node.mark.problem("not a usable JSON Schema: it refers to itself without end"))
    except (OverflowError, ValueError) as error:
        problems.append(node.mark.problem(f"not a usable JSON Schema: {error}"))
    return problems


def _references(node: Node, root: Node) -> Iterator[Problem]:
    for name, (_, child) in node.fields.items():
        target = child.text
        if name in ("$ref", "$dynamicRef") and target is not None:
            if not target.startswith("#"):
                yield child.mark.problem(
                    f"{name} {target[:100]!r}: only references inside the schema ('#...') are allowed"
                )
            elif not _leads_somewhere(target, root.data):
                yield child.mark.problem(f"{name} {target[:100]!r} leads nowhere")
        if name == "$id" and target is not None:
            # It moves the base that '#...' starts from, even to another document.
            yield child.mark.problem("$id: a schema in a pack has no address of its own")
        if name == "$schema" and target is not None and (node is not root or "2020-12" not in target):
            # Inside a schema it brings keywords back that nothing bounds.
            yield child.mark.problem("$schema: only JSON Schema 2020-12, and only at the root")
        yield from _references(child, root)
    for child in node.items:
        yield from _references(child, root)


def _leads_somewhere(reference: str, schema: dict[str, Any]) -> bool:
    from referencing import Registry
    from referencing.exceptions import Unresolvable
    from referencing.jsonschema import DRAFT202012

    try:
        registry: Registry[Any] = Registry().with_resource("", DRAFT202012.create_resource(schema))
        registry.resolver("").lookup(reference)
    except (Unresolvable, ValueError, TypeError, AttributeError):
        return False
    return True


def subset_problems(node: Node, schema: Any, validator: Validator) -> Iterator[Problem]:
    """Why a mapping can be no part of a value `schema` allows: unknown names, values that never fit."""
    yield from name_problems(node, schema)
    known = schema.get("properties") if isinstance(schema, dict) else None
    for name, (_, child) in node.fields.items():
        rule = known.get(name) if isinstance(known, dict) else None
        if isinstance(rule, dict) and isinstance(child.data, dict):
            yield from subset_problems(child, rule, validator)
        elif isinstance(rule, dict):
            yield from value_problems(child, validator.evolve(schema=rule))


def name_problems(node: Node, schema: Any) -> Iterator[Problem]:
    """Names a schema with listed properties does not know; silent where it may know more than it lists."""
    known = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(known, dict) or any(word in schema for word in _OPENING):
        return
    if schema.get("additionalProperties", False) is not False:
        return
    for name, (mark, _) in node.fields.items():
        if name not in known:
            yield mark.problem(f"{name!r} is no argument of this tool" + did_you_mean(name, known))


def value_problems(node: Node, validator: Validator) -> Iterator[Problem]:
    """Why a value can never be given; unknown names are left to `name_problems`."""
    try:
        errors = [error for error in validator.iter_errors(node.data) if error.validator != "additionalProperties"]
    except (RecursionError, OverflowError):
        yield node.mark.problem("cannot be compared with the tool's input_schema")
        return
    for error in errors:
        place = node.locate(list(error.absolute_path)).mark
        yield place.problem(f"can never match the tool's input_schema: {error.message[:200]}")
