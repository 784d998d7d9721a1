"""Arguments against a tool's `input_schema`: JSON Schema 2020-12, bounded in work, and never fetching anything."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import islice
from threading import Lock
from typing import Any

from harness.domain.json_schema import bounded, shown_key
from harness.domain.patterns import refuse_unbounded
from harness.errors import PackFault

MAX_DEPTH = 64
MAX_NODES = 10_000
MAX_INT_BITS = 512
MAX_WORK = 50_000
"""Keywords applied in one check, each weighed by the size of what it looks at (1 per 4096 characters); 1 s at most."""
MAX_ERRORS = 3
MAX_REASON = 600

_WEIGHT_CHARS = 4096
_SHOWN_RULES = frozenset(
    {"type", "enum", "const", "required", "dependentRequired", "pattern", "uniqueItems", "multipleOf", "minimum"}
    | {"maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength", "minItems", "maxItems"}
    | {"minProperties", "maxProperties"}
)


class TooMuch(Exception):
    """A value or a check of it is beyond the bounds; the message says which."""


def sizes(value: Any) -> dict[int, int]:
    """Characters by id() of every node of a JSON value. TooMuch beyond MAX_DEPTH, MAX_NODES or MAX_INT_BITS."""
    by_id: dict[int, int] = {}
    nodes = 0

    def walk(node: Any, depth: int) -> int:
        nonlocal nodes
        nodes += 1
        if depth > MAX_DEPTH:
            raise TooMuch(f"nested deeper than {MAX_DEPTH}")
        if nodes > MAX_NODES:
            raise TooMuch(f"more than {MAX_NODES} values")
        size = 8
        if isinstance(node, str):
            size += len(node)
        elif isinstance(node, int) and node.bit_length() > MAX_INT_BITS:
            raise TooMuch(f"a number of more than {MAX_INT_BITS} bits")
        elif isinstance(node, dict):
            size += sum(walk(key, depth) + walk(item, depth + 1) for key, item in node.items())
        elif isinstance(node, list):
            size += sum(walk(item, depth + 1) for item in node)
        by_id[id(node)] = size
        return size

    walk(value, 0)
    return by_id


class ArgumentCheck:
    """A tool's compiled schema. Building it raises PackFault for a schema that cannot be used."""

    def __init__(self, tool: str, schema: Mapping[str, Any]) -> None:
        self._tool = tool
        self._lock = Lock()
        self._work = 0
        self._sizes: dict[int, int] = {}
        self._validator = self._build(schema)
        if self.problem({}) is not None and self._work > MAX_WORK:
            raise self._fault("takes too long to check even for no arguments at all")

    def problem(self, arguments: Any) -> str | None:
        """Why `arguments` break the schema, in at most MAX_REASON characters; None: they hold."""
        with self._lock:  # the meter below belongs to one call at a time; trials share this, from several threads
            return self._problem(arguments)

    def _problem(self, arguments: Any) -> str | None:
        import referencing.exceptions

        try:
            self._sizes, self._work = sizes(arguments), 0
            errors = list(islice(self._validator.iter_errors(arguments), MAX_ERRORS + 1))
        except TooMuch as err:
            return f"arguments cannot be checked: {err}"
        except RecursionError:
            self._work = MAX_WORK + 1
            return "arguments cannot be checked: the check nests too deeply"
        except referencing.exceptions.Unresolvable as err:
            raise self._fault(f"refers to {str(getattr(err, 'ref', '?'))[:100]!r}, which it does not hold") from err
        except ArithmeticError:
            return "arguments cannot be checked: a number is out of range"
        finally:
            self._sizes = {}
        if not errors:
            return None
        more = "; and more" if len(errors) > MAX_ERRORS else ""
        return _cut("; ".join(_describe(error) for error in errors[:MAX_ERRORS]), MAX_REASON - len(more)) + more

    def _build(self, schema: Mapping[str, Any]) -> Any:
        from jsonschema import Draft202012Validator
        from jsonschema.exceptions import SchemaError

        try:
            sizes(schema)
            Draft202012Validator.check_schema(schema)
            refuse_unbounded(schema)
        except (TooMuch, ValueError) as err:
            raise self._fault(f"cannot be used: {err}") from err
        except RecursionError as err:
            raise self._fault("cannot be used: it nests too deeply") from err
        except SchemaError as err:
            raise self._fault(f"is no JSON Schema: {err.json_path}: {err.message[:200]}") from err
        return bounded(self._spend)(schema)

    def _spend(self, instance: Any) -> None:
        self._work += 1 + self._sizes.get(id(instance), 0) // _WEIGHT_CHARS
        if self._work > MAX_WORK:
            raise TooMuch("too large for this tool's schema")

    def _fault(self, what: str) -> PackFault:
        return PackFault(f"input_schema of tool {self._tool!r} {what}", "correct the pack")


def _describe(error: Any) -> str:
    """Path, rule, and what the schema (which the agent has) asks for; never a value from anywhere else."""
    path = "arguments" + "".join(
        f"[{part}]" if isinstance(part, int) else f".{shown_key(part)}" for part in islice(error.absolute_path, 12)
    )
    rule = str(error.validator)
    if rule == "additionalProperties":
        return f"{path} breaks {rule}: unknown {error.message}"
    if rule not in _SHOWN_RULES:
        return f"{path} breaks {rule}"
    return f"{path} breaks {rule}: {_cut(json.dumps(error.validator_value), 120)}"


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 3] + "..."
