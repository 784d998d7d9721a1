"""Limits from the command line: `key=value`, each refused by its name."""

from __future__ import annotations

import math
from collections.abc import Sequence
from difflib import get_close_matches

import msgspec

from harness.domain.limits import Limits
from harness.errors import UsageError


def limits_from(given: Sequence[str], base: Limits = Limits()) -> Limits:  # noqa: B008  frozen
    """`base` with the given ones changed. UsageError for an unknown name, or 0, negative, infinite and NaN."""
    values = msgspec.to_builtins(base)
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or name not in values:
            near = get_close_matches(name, values, 1)
            hint = f"did you mean {near[0]}={value or 'VALUE'}?" if near else f"one of {', '.join(values)}"
            raise UsageError(f"--limit wants KEY=VALUE with a known key, came {text[:80]!r}", hint)
        values[name] = _number(name, value)
    try:
        return msgspec.convert(values, Limits)
    except msgspec.ValidationError as error:
        raise UsageError(f"--limit {error}", "see docs/limits.md") from error


def _number(name: str, text: str) -> int | float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number) or number <= 0:
        raise UsageError(f"--limit {name} wants a positive, finite number, came {text[:40]!r}", "see docs/limits.md")
    return int(number) if number.is_integer() else number
