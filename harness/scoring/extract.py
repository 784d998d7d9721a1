"""The data of an answer: given as such, or found in its text by a fallback that has a name."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from harness.scoring.text import TEXT_CAP
from harness.scoring.trial import Answer
from harness.scoring.values import quote, same

MAX_DEPTH = 64
"""Levels of nesting read out of a text; the protocol allows data no more."""

_FENCE = re.compile(r"^[ \t]*```[ \t]*(\w*)[^\n`]*\n(.*?)^[ \t]*```", re.DOTALL | re.MULTILINE)
_MARKS = re.compile(r'\\.|["{}]', re.DOTALL)


class Data(Struct, frozen=True):
    """`value` holds where `problem` is empty; `note` names the fallback, for the reason."""

    value: Any = None
    note: str = ""
    problem: str = ""


def data_of(answer: Answer) -> Data:
    """output.data; without it what the text holds, by the first fallback that finds anything.

    json_text: the whole text is JSON. fenced_json: a code block that is JSON (one labelled json has to be).
    embedded_object: an object among the words. Several different ones are a problem: nobody picks the best for
    an agent. So is one that is broken: parts of it are never looked at on their own.
    """
    if answer.data is not None:
        size = len(json.dumps(answer.data, ensure_ascii=False))
        return Data(answer.data) if size <= TEXT_CAP else _too_long()
    text = answer.text or ""
    if len(text) > TEXT_CAP:
        return _too_long()
    try:
        value = _parse(text)
    except ValueError as error:
        if "{" not in text and "```" not in text:
            return Data(problem=f"no data and a text that is not JSON: {quote(text)}")
        return _search(text, str(error))
    return Data(value, " (fallback json_text: no data, the text was parsed as JSON)")


def _too_long() -> Data:
    return Data(problem=f"one of more than {TEXT_CAP} characters")


def _search(text: str, whole: str) -> Data:
    for name, find in (("fenced_json", _fenced), ("embedded_object", _embedded)):
        try:
            values = list(find(text))
        except ValueError as error:
            return Data(problem=f"no data and JSON in the text that cannot be read ({name}): {error}")
        others = [value for value in values[1:] if not same(values[0], value)]
        if others:
            return Data(problem=f"no data and different JSON values in the text ({name}), so none of them counts")
        if values:
            return Data(values[0], f" (fallback {name}: no data, it was found in the text)")
    return Data(problem=f"no data and a text that is not JSON ({whole}): {quote(text)}")


def _fenced(text: str) -> Iterator[Any]:
    for block in _FENCE.finditer(text):
        label = block[1].lower()
        if label == "json" or (not label and block[2].lstrip()[:1] in ("{", "[")):
            yield _parse(block[2])


def _embedded(text: str) -> Iterator[Any]:
    """Every outermost {...} that starts like an object; other braces are prose."""
    for start, end in _outermost(text):
        inner = text[start + 1 : end - 1].lstrip()
        if inner[:1] in ('"', ""):
            yield _parse(text[start:end])


def _outermost(text: str) -> Iterator[tuple[int, int]]:
    """Places of outermost braces with their closing ones, in linear time; braces in strings do not count."""
    depth, start, quoted = 0, 0, False
    for mark in _MARKS.finditer(text):
        char = mark[0]
        if depth and char == '"':
            quoted = not quoted
        elif char == "{" and not quoted:
            start = start if depth else mark.start()
            depth += 1
        elif char == "}" and depth and not quoted:
            depth -= 1
            if not depth:
                yield start, mark.end()
    if depth and text[start + 1 :].lstrip()[:1] == '"':
        raise ValueError("an object without its end")


def _parse(text: str) -> Any:
    """JSON without NaN, infinities, keys that come twice, or nesting too deep. ValueError says what is wrong."""
    try:
        value = json.loads(text, object_pairs_hook=_no_key_twice, parse_constant=_no_constant, parse_float=_finite)
    except RecursionError as error:
        raise ValueError(f"nested deeper than {MAX_DEPTH}") from error
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [item for held in level for item in _items(held)]
        if not level:
            return value
    raise ValueError(f"nested deeper than {MAX_DEPTH}")


def _items(value: Any) -> list[Any]:
    return list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []


def _no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key comes twice in one object")
    return found


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _finite(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise ValueError("a number too large")
    return value
