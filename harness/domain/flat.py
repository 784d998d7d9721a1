"""The flat schema dialect, `field: type`, turned into JSON Schema."""

from __future__ import annotations

from typing import Any

TYPES: dict[str, Any] = {
    **dict.fromkeys(("string", "str", "text"), "string"),
    **dict.fromkeys(("integer", "int"), "integer"),
    **dict.fromkeys(("number", "float"), "number"),
    **dict.fromkeys(("boolean", "bool"), "boolean"),
    **dict.fromkeys(("array", "list"), "array"),
    **dict.fromkeys(("object", "dict"), "object"),
    **dict.fromkeys(("null", "none"), "null"),
    "any": None,
}
"""Type names of the dialect, and what they are in JSON Schema; `any` is anything, but there."""


def is_flat(schema: Any) -> bool:
    """Every value is a type name, a list of one flat type (of its items), or a flat object.

    Two are JSON Schema all the same, as they are written that way far more often: `{}` and `{type: NAME}`.
    """
    if not isinstance(schema, dict) or not schema or set(schema) == {"type"}:
        return False
    return all(_is_type(value) for value in schema.values())


def to_json_schema(flat: dict[str, Any]) -> dict[str, Any]:
    """Every field is required, others are free; a dotted name is a field of a nested object."""
    return {"type": "object", "allOf": [_field(name.split("."), kind) for name, kind in flat.items()]}


def _is_type(value: Any) -> bool:
    if isinstance(value, list):
        return len(value) == 1 and _is_type(value[0])
    return is_flat(value) or (isinstance(value, str) and value.lower() in TYPES)


def _field(path: list[str], kind: Any) -> dict[str, Any]:
    inner = _schema(kind) if len(path) == 1 else {"type": "object", **_field(path[1:], kind)}
    return {"properties": {path[0]: inner}, "required": [path[0]]}


def _schema(kind: Any) -> dict[str, Any]:
    if isinstance(kind, dict):
        return to_json_schema(kind)
    if isinstance(kind, list):
        return {"type": "array", "items": _schema(kind[0])}
    name = TYPES[kind.lower()]
    return {} if name is None else {"type": name}
