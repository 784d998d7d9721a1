"""Settings from the command line: `key=value`, each refused by its name."""

from __future__ import annotations

import math
from collections.abc import Sequence
from difflib import get_close_matches
from typing import TypeVar

import msgspec

from harness.errors import UsageError

Settings = TypeVar("Settings", bound=msgspec.Struct)


def overridden(given: Sequence[str], base: Settings, option: str, doc: str) -> Settings:
    """`base` with the given numbers changed. UsageError, naming `option`, for an unknown name or a value out of range.

    `doc` is where the names are written down.
    """
    values = msgspec.to_builtins(base)
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or name not in values:
            near = get_close_matches(name, values, 1)
            hint = f"did you mean {near[0]}={value or 'VALUE'}?" if near else f"one of {', '.join(values)}"
            raise UsageError(f"{option} wants KEY=VALUE with a known key, came {text[:80]!r}", hint)
        values[name] = _number(option, name, value, doc)
    try:
        return msgspec.convert(values, type(base))
    except msgspec.ValidationError as error:
        raise UsageError(f"{option} {error}", f"see {doc}") from error


def _number(option: str, name: str, text: str, doc: str) -> int | float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number) or number < 0:
        raise UsageError(f"{option} {name} wants a positive, finite number, came {text[:40]!r}", f"see {doc}")
    return int(number) if number.is_integer() else number
