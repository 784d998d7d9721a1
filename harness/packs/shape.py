"""Whether data has the form of a struct of ours: every unknown, missing and mistyped field at once."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, TypeVar

import msgspec

from harness.domain.ids import SAFE_ID_PATTERN
from harness.domain.pack import PACK_FORMAT, PackFile, Problem
from harness.packs.nodes import Node
from harness.packs.words import did_you_mean, kind, show, unsafe

T = TypeVar("T", bound=msgspec.Struct)
_Error = Any
"""A jsonschema ValidationError, whose stubs call every attribute possibly unset."""
_TYPES = {
    "object": "a mapping",
    "array": "a list",
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "null": "empty",
}
_BOUNDS = {
    "minimum": "must be at least {}",
    "maximum": "must be at most {}",
    "exclusiveMinimum": "must be greater than {}",
    "minLength": "must have at least {} characters",
    "maxLength": "must have at most {} characters",
    "minItems": "must have at least {} items",
    "pattern": "must match {}",
}


def read_shape(root: Node) -> tuple[PackFile | None, list[Problem]]:
    """The pack as structs, or every way in which its data cannot be one."""
    return read_struct(root, PackFile, "the pack")


def read_struct(root: Node, form: type[T], title: str) -> tuple[T | None, list[Problem]]:
    """The data as `form`, or every way in which it cannot be one; `title` is what messages call the whole.

    msgspec decides; it stops at the first mistake, so that the JSON Schema it generates finds them all.
    """
    try:
        return msgspec.convert(root.data, form), []
    except msgspec.ValidationError as error:
        refused = str(error)
    explain = _Explainer(root, title)
    problems = [p for error in _validator(form).iter_errors(root.data) for p in explain(error)]
    return None, problems or [root.mark.problem(refused)]


@cache
def _validator(form: type[msgspec.Struct]) -> Any:
    from jsonschema import Draft202012Validator
    from jsonschema.validators import extend

    whole = lambda _, value: isinstance(value, int) and not isinstance(value, bool)  # noqa: E731
    checker = Draft202012Validator.TYPE_CHECKER.redefine("integer", whole)
    strict: Any = extend(Draft202012Validator, type_checker=checker)  # type: ignore[no-untyped-call]
    return strict(msgspec.json.schema(form))


class _Explainer:
    """Puts errors of a JSON Schema into an author's words, each at its place."""

    def __init__(self, root: Node, title: str) -> None:
        self._root = root
        self._title = title

    def __call__(self, error: _Error) -> Iterator[Problem]:
        if error.validator == "anyOf":
            yield from self._union(error)
            return
        root, path = self._root, list(error.absolute_path)
        node = root.locate(path)
        name = self._name(path)
        if error.validator == "additionalProperties":
            known = list(error.schema.get("properties", {}))
            for key in sorted(set(error.instance) - set(known)):
                yield node.key(key).problem(f"unknown field {key!r} in {name}" + did_you_mean(key, known))
        elif error.validator == "required":
            for key in sorted(set(error.validator_value) - set(error.instance)):
                yield root.mark_of(path).problem(f"{name}: field {key!r} is missing")
        elif "propertyNames" in error.relative_schema_path:
            yield node.key(error.instance).problem(_message(f"key of {name}", error))
        elif path == ["fumehood"]:
            what = f"unsupported version {show(node.data)}; this Fumehood reads {PACK_FORMAT}"
            yield node.mark.problem(f"fumehood: {what}")
        else:
            yield node.mark.problem(_message(name, error))

    def _union(self, error: _Error) -> Iterator[Problem]:
        """Speak of the alternative the author meant: the one whose type the value has."""
        branches: dict[Any, list[_Error]] = {}
        for cause in error.context or ():
            branches.setdefault(cause.relative_schema_path[0], []).append(cause)
        for causes in branches.values():
            if not any(cause.validator == "type" and not cause.relative_path for cause in causes):
                for cause in causes:
                    yield from self(cause)
                return
        path = list(error.absolute_path)
        wanted = [str(c.validator_value) for causes in branches.values() for c in causes if not c.relative_path]
        message = _type_message(self._name(path), [w for w in wanted if w != "null"], error.instance)
        yield self._root.locate(path).mark.problem(message)

    def _name(self, path: list[str | int]) -> str:
        """The key a path ends in; a list item is called after its list."""
        names = [step for step in path if isinstance(step, str)]
        if not names:
            return self._title
        return f"item of {names[-1]}" if isinstance(path[-1], int) else names[-1]


def _message(name: str, error: _Error) -> str:
    if error.validator == "type":
        return _type_message(name, [str(error.validator_value)], error.instance)
    if error.validator == "enum":
        return _enum(name, error)
    if error.validator_value == SAFE_ID_PATTERN:
        return unsafe(name, error.instance)
    if error.validator == "pattern" and (said := error.schema.get("description")):
        return f"{name} must be {said}, not {show(error.instance)}"
    rule = _BOUNDS.get(str(error.validator))
    if rule is None:
        return f"{name}: {error.message}"
    return f"{name} {rule.format(error.validator_value)}, not {show(error.instance)}"


def _type_message(name: str, wanted: list[str], value: Any) -> str:
    expected = " or ".join(_TYPES.get(word, word) for word in wanted)
    hint = "; put it in quotes" if "string" in wanted and isinstance(value, int | float) else ""
    return f"{name} must be {expected}, not {kind(value)}{hint}"


def _enum(name: str, error: _Error) -> str:
    options = [str(option) for option in error.validator_value]
    near = did_you_mean(error.instance, options) if isinstance(error.instance, str) else ""
    return f"{name} must be one of {', '.join(options)}, not {show(error.instance)}{near}"
