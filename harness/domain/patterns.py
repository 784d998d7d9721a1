"""Regular expressions of packs, searched in hostile text: RE2, so that time is linear and nothing can hang."""

from __future__ import annotations

from functools import lru_cache
from typing import Any


@lru_cache(maxsize=512)
def compile_pattern(pattern: str) -> Any:
    """`pattern` compiled by RE2. ValueError where RE2 cannot: bad syntax, look-around, back references.

    RE2 differs from `re` in that `$` is the very end of the text, and \\d \\w \\s \\b know ASCII only.
    """
    import re2  # type: ignore[import-untyped]  # a C extension, loaded by the first pattern only

    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options=options)
    except re2.error as err:
        said = err.args[0] if err.args else err
        said = said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
        raise ValueError(
            f"regular expression {pattern[:100]!r} cannot be used: {said[:200]} "
            "(look-around and back references are not supported, as they can hang)"
        ) from err
    except UnicodeEncodeError as err:
        raise ValueError("a regular expression holds a lone surrogate") from err


def found(pattern: str, text: str) -> bool:
    """True where `pattern` is found anywhere in `text`. ValueError for a pattern RE2 cannot compile."""
    compiled = compile_pattern(pattern)
    try:
        return compiled.search(text) is not None
    except UnicodeEncodeError:
        return False  # a lone surrogate is no text: nothing is found in it


def refuse_unbounded(schema: Any) -> None:
    """ValueError where a JSON Schema holds a pattern that cannot be searched in linear time."""
    if isinstance(schema, list):
        for item in schema:
            refuse_unbounded(item)
    if not isinstance(schema, dict):
        return
    if "patternProperties" in schema and "unevaluatedProperties" in schema:
        raise ValueError("unevaluatedProperties beside patternProperties is not supported; use additionalProperties")
    if isinstance(schema.get("pattern"), str):
        compile_pattern(schema["pattern"])
    if isinstance(schema.get("patternProperties"), dict):
        for pattern in schema["patternProperties"]:
            compile_pattern(pattern)
    for item in schema.values():
        refuse_unbounded(item)
