"""JSON Schema 2020-12 as hostile data meets it: patterns under a clock, all work counted, nothing fetched.

The jsonschema library validates; a few of its keywords are replaced, as data can make them run for hours: patterns
backtrack, uniqueItems compares all pairs.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from harness.domain.canonical import canonical
from harness.domain.patterns import found

Keyword = Callable[[Any, Any, Any, Any], Iterator[Any] | None]


def bounded(spend: Callable[[Any], None]) -> Callable[[Mapping[str, Any]], Any]:
    """Makes `jsonschema` validators that call `spend` with what a keyword looks at, each time; it may raise.

    Their error on `additionalProperties: false` has the names, as `shown_key` shows them, for its message.
    """
    from jsonschema import Draft202012Validator, validators
    from referencing import Registry

    rules = {name: _metered(rule, spend) for name, rule in {**Draft202012Validator.VALIDATORS, **_OWN}.items()}
    extend: Callable[..., Any] = validators.extend
    validator = extend(Draft202012Validator, rules)

    def make(schema: Mapping[str, Any]) -> Any:
        # A reference to a root that names its `$schema` would bring the stock keywords back.
        own = {key: value for key, value in schema.items() if key != "$schema"}
        # A registry of its own: the default one fetches remote references from the network.
        return validator(own, registry=Registry())

    return make


def shown_key(key: str) -> str:
    """A key as it can stand in a message: at most 80 ASCII characters."""
    if key.isascii() and key.isidentifier() and len(key) <= 60:
        return key
    text = json.dumps(key[:60])
    return text if len(text) <= 80 else text[:77] + "..."


def _metered(rule: Keyword, spend: Callable[[Any], None]) -> Keyword:
    def run(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[Any]:
        spend(instance)
        yield from rule(validator, value, instance, schema) or ()

    return run


def _pattern(validator: Any, pattern: str, instance: Any, schema: Any) -> Iterator[Any]:
    from jsonschema import ValidationError

    if isinstance(instance, str) and not found(pattern, instance):
        yield ValidationError("does not match")


def _pattern_properties(validator: Any, patterns: dict[str, Any], instance: Any, schema: Any) -> Iterator[Any]:
    for pattern, subschema in patterns.items() if isinstance(instance, dict) else ():
        for key, item in instance.items():
            if found(pattern, key):
                yield from validator.descend(item, subschema, path=key, schema_path=pattern)


def _additional_properties(validator: Any, rule: Any, instance: Any, schema: Any) -> Iterator[Any]:
    from jsonschema import ValidationError

    if not isinstance(instance, dict):
        return
    known, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    extras = [key for key in instance if key not in known and not any(found(pattern, key) for pattern in patterns)]
    if rule is False and extras:
        yield ValidationError(", ".join(shown_key(key) for key in extras[:5]))
    elif isinstance(rule, dict):
        for key in extras:
            yield from validator.descend(instance[key], rule, path=key)


def _unique_items(validator: Any, rule: Any, instance: Any, schema: Any) -> Iterator[Any]:
    from jsonschema import ValidationError

    # The library compares each with each where items cannot be sorted: quadratic.
    if rule and isinstance(instance, list) and len({canonical(item) for item in instance}) < len(instance):
        yield ValidationError("items repeat")


_OWN: dict[str, Keyword] = {
    "pattern": _pattern,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional_properties,
    "uniqueItems": _unique_items,
}
