"""Checks of the answer's structure against JSON Schema (Draft 2020-12), bounded against hostile data."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from functools import cache
from typing import Any

from msgspec import Struct

from harness.domain.flat import TYPES, is_flat, to_json_schema
from harness.domain.json_schema import bounded
from harness.errors import FumehoodError
from harness.scoring.check import Path, PathProblem, Result, failed, passed, pattern_problem
from harness.scoring.extract import data_of
from harness.scoring.text import no_answer
from harness.scoring.trial import Trial
from harness.scoring.values import quote

MAX_KEYWORDS = 300_000
"""Keywords evaluated on one answer before giving up: bounds recursive schemas on deep data."""

_work: ContextVar[list[int]] = ContextVar("keywords left")
_SILENT_KEYWORDS = ("$schema", "$id", "$defs", "$comment", "definitions", "title", "description", "default", "examples")
_LITERAL_KEYWORDS = ("const", "enum", "default", "examples")


class SchemaValidity(Struct, frozen=True, forbid_unknown_fields=True):
    schema: dict[str, Any]


def schema_validity(trial: Trial, params: SchemaValidity) -> Result:
    """`schema`, JSON Schema or flat `field: type`, holds for output.data, or for JSON found in the text.

    What was found in the text is named in the reason with how it was found.
    """
    answer = trial.answer
    if answer is None:
        return no_answer(trial, "an answer that fits the schema")
    schema = to_json_schema(params.schema) if is_flat(params.schema) else params.schema
    if unknown := _no_keywords(schema):
        raise FumehoodError(unknown)
    data = data_of(answer)
    problem = data.problem or first_error(schema, data.value)
    if problem:
        return failed(f"expected an answer that fits the schema, came {problem}{data.note}", (answer.line,))
    return passed(f"expected an answer that fits the schema, came {quote(data.value)}{data.note}", (answer.line,))


def examine_schema(params: SchemaValidity, tools: Sequence[str]) -> Iterable[PathProblem]:
    """The schema is one, its patterns compile, its references stay inside it and lead somewhere."""
    from jsonschema import Draft202012Validator

    if is_flat(params.schema):
        return
    if unknown := _no_keywords(params.schema):
        yield ("schema",), unknown
        return
    meta = Draft202012Validator(Draft202012Validator.META_SCHEMA)
    errors = [(("schema", *error.absolute_path), error.message[:200]) for error in meta.iter_errors(params.schema)]
    yield from errors
    if not errors:
        yield from _walk(params.schema, ("schema",), params.schema)


def _no_keywords(schema: dict[str, Any]) -> str:
    """Why `schema` is in neither dialect: a mistyped flat one would be JSON Schema that anything fits."""
    from jsonschema import Draft202012Validator

    keywords = {*Draft202012Validator.VALIDATORS, *_SILENT_KEYWORDS}
    if not schema or any(key in keywords for key in schema):
        return ""
    return f"expected JSON Schema, or `field: type` with types out of {', '.join(TYPES)}; came {quote(schema)}"


def first_error(schema: dict[str, Any], data: Any) -> str:
    """What is wrong with `data`, with its place, or an empty text; bounded, see MAX_KEYWORDS."""
    token = _work.set([MAX_KEYWORDS])
    try:
        error = next(_bounded()(schema).iter_errors(data), None)
    finally:
        _work.reset(token)
    if error is None:
        return ""
    came = error.message if error.validator == "additionalProperties" else error.instance
    return f"{quote(came)} at {error.json_path[:80]} where {error.validator} is {quote(error.validator_value)}"


def _step(instance: Any) -> None:
    left = _work.get()
    left[0] -= 1
    if left[0] < 0:
        raise FumehoodError(f"the schema took more than {MAX_KEYWORDS} steps on this answer")


@cache
def _bounded() -> Callable[[Mapping[str, Any]], Any]:
    return bounded(_step)


def _walk(schema: Any, path: Path, root: dict[str, Any]) -> Iterator[PathProblem]:
    if isinstance(schema, list):
        for index, item in enumerate(schema):
            yield from _walk(item, (*path, index), root)
    elif isinstance(schema, dict):
        for key, value in schema.items():
            yield from _keyword(key, value, (*path, key), root)
            if key not in _LITERAL_KEYWORDS:
                yield from _walk(value, (*path, key), root)


def _keyword(key: str, value: Any, path: Path, root: dict[str, Any]) -> Iterator[PathProblem]:
    if key in ("$ref", "$dynamicRef") and isinstance(value, str):
        if not value.startswith("#"):
            yield path, f"expected a reference inside this schema ('#/...'), came {quote(value)}: nothing is fetched"
        elif not _leads_somewhere(root, value):
            yield path, f"expected a reference that leads somewhere, came {quote(value)}"
    elif key == "$schema" and isinstance(value, str) and (len(path) > 2 or "2020-12" not in value):
        yield path, f"expected Draft 2020-12, named at the top of the schema or nowhere, came {quote(value)}"
    elif key == "pattern" and isinstance(value, str):
        problem = pattern_problem(value)
        if problem:
            yield path, problem
    elif key == "patternProperties" and isinstance(value, dict):
        for pattern in value:
            problem = pattern_problem(pattern)
            if problem:
                yield (*path, pattern), problem
    elif key == "unevaluatedProperties" and "patternProperties" in json.dumps(root):
        # The stock keyword runs the patterns on the answer's keys without a clock.
        yield path, "unevaluatedProperties cannot stand beside patternProperties here; use additionalProperties"


def _leads_somewhere(root: dict[str, Any], reference: str) -> bool:
    from referencing import Registry
    from referencing.exceptions import Unresolvable
    from referencing.jsonschema import DRAFT202012

    try:
        Registry().with_resource("", DRAFT202012.create_resource(root)).crawl().resolver("").lookup(reference)
    except Unresolvable:
        return False
    return True
